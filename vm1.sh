# in the VM: $1 = source, $2.. ; builds fabric with 8 hosts, then obeys files in share
fabric=$1/contrib/vm/fabric
cd $SHARE
"$fabric" up net --latency random:100000:300000:7 || exit
"$fabric" map >map
"$fabric" show >show
echo up >state
while :; do
  if [ -e go ]; then mv go going; . ./going >out.log 2>&1; echo "rc $?" >>out.log; mv going done; fi
  [ -e stop ] && break
  sleep 1
done
