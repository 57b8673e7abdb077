#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The virtual machine and its network of soft RDMA devices: the command's
# output and status come out, a deadline and an interruption leave nothing
# behind; packets take the paths of the forwarding tables, for as long as the
# cables' latencies, and the cables can be slowed, made to lose, pulled.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq qemu-system-x86_64 busybox ip bridge tc rdma ibv_rc_pingpong
workdir
vm=$srcdir/contrib/vm/vm
said=$("$vm" --prepare 2>&1) || skip_all "$(tail -n 1 <<<"$said")"
export TMPDIR=$workdir/tmp
mkdir "$TMPDIR" "$workdir/share"
cd "$workdir/share" || exit 1

# Names that this test alone has.
machines () { grep -lsa "[p]ath=$TMPDIR" /proc/[0-9]*/cmdline | wc -l; }

"$vm" --share "$workdir/nosuch" true 2>err
is "$? $(wc -l <err)" "125 1" "no such directory: 125, and one sentence"
"$vm" --timeout 2 sleep 1000 >out 2>err
is "$? $(<err)" "124 vm: stopped after 2 s" "the deadline: 124, saying so"
is "$(ls "$TMPDIR") $(machines)" " 0" "... and nothing is left"

"$vm" sleep 1000 &
runs () { [[ $(machines) != 0 ]]; }
within 10 runs
ok $? "a machine runs"
kill $!
wait $!
is "$? $(ls "$TMPDIR") $(machines)" "143  0" "terminated: nothing is left"

# The network: 8 hosts, 4 leaves, 2 spines, every cable another latency.
pmm fabric generate fat-tree --ports 4 --levels 2 --routing random --seed 3 \
    -o net
pmm fabric show -f net --json >net.json
jq -r '.hosts[].name' net.json | while read -r a; do
    jq -r '.hosts[].name' net.json | while read -r b; do
        [[ $a == "$b" ]] || pmm path -f net "$a" "$b" --json \
            | jq -r --arg a "$a" --arg b "$b" \
                '[$a, $b, (.forward | length), .forward[]] | @tsv'
    done
done >paths
is "$(wc -l <paths)" 56 "the paths of 56 pairs"

cat >inside <<'END'
fabric=$1/contrib/vm/fabric
slow=h0003/1
set -e
"$fabric" up net --latency random:100000:200000:7
for verb in map hosts show; do "$fabric" $verb >$verb; done
rdma link >rdma

declare -A address
while read -r node _ ip; do
    address[$node]=$ip
    nodes+=" $node"
done <hosts

# The least of three round trips, in us; none: nothing.
rtt ()
{
    busybox ping -A -W 1 -c 3 -I ${address[$1]} ${address[$2]} >ping || return 0
    while read -r word _ _ ms _; do
        ms=${ms%%/*}
        [[ $word != round-trip ]] || echo $((10#${ms/./}))
    done <ping
}

# Warm: the programs are read from the host the first time.
rtt h0001 h0002 >/dev/null
"$fabric" count >count.0
for pair in "h0001 h0002" "h0001 h0008" "h0006 h0003"; do
    rtt $pair >/dev/null
    "$fabric" count >"count.${pair/ /-}"
done
for a in $nodes; do
    for b in $nodes; do
        [[ $a == $b || $a > $b ]] || echo $a $b $(rtt $a $b)
    done
done >rtt

ibv_rc_pingpong -d rxe8 -g 1 -n 100 >server &
until grep -q ':4853 0*:0000 0A ' /proc/net/tcp*; do # port 18515
    sleep 0.1
done
ibv_rc_pingpong -d rxe1 -g 1 -n 100 localhost >pingpong || touch failed

say () { echo "$* $(rtt h0003 h0004)" >>planted; }
say as built
"$fabric" slow $slow +20000
say slow
"$fabric" slow $slow +50000 back
say slower back
"$fabric" loss $slow 100 forth
say loses
"$fabric" heal all
say healed
"$fabric" rate $slow 10mbit
say limited
"$fabric" pull $slow
sleep 1
say pulled
rdma link show rxe3/1 >pulled
"$fabric" heal $slow
say healed
"$fabric" slow nosuch/1 +1 && exit 1 || echo status $?
echo words
echo more words >&2
exit 77
END
before=$(date +%s)
"$vm" --timeout $((600 * patience)) --share . -- env PATH="$PATH" \
    bash inside "$srcdir" >out 2>err
is "$?" 77 "the command's status"
diag "$(($(date +%s) - before)) s of wall time"
is "$(<out)" $'status 2\nwords' "its output"
is "$(<err)" $'fabric: nosuch/1: no link, or more than one of this name
more words' "its errors"
is "$(ls "$TMPDIR") $(machines)" " 0" "nothing is left"

is "$(cut -d' ' -f1 map | paste -sd' ')" \
    "$(jq -r '.hosts[].name' net.json | paste -sd' ')" "all hosts are mapped"
is "$(cut -d' ' -f2 map | sort)" \
    "$(jq -r '.hosts[].endpoints[].guid' net.json | sort)" "... by port GUID"
is "$(grep -c 'state ACTIVE' rdma)" 8 "8 devices are active"
is "$(cut -d' ' -f1 show)" "$(jq -r '.links[].id' net.json)" \
    "every cable is built"
is "$(cut -d' ' -f2 show | sort -u | wc -l)" 16 "... with another latency"

# Which directions carried three packets more than before, against the paths of
# request and reply: a path leaves a cable's smaller end on its way up.
before=count.0
for pair in h0001-h0002 h0001-h0008 h0006-h0003; do
    awk 'NR == FNR { was[$1] = $2 + $3; next }
        $2 + $3 != was[$1] { print $1, $2 + $3 - was[$1] }' \
        $before count.$pair | sort >carried
    awk -v a=${pair%-*} -v b=${pair#*-} '
        $1 == a && $2 == b || $1 == b && $2 == a {
            for (i = 4; i <= NF; i++)
                carried[$i] += 3
        }
        END { for (id in carried) print id, carried[id] }' paths \
        | sort >expected
    is "$(<carried)" "$(<expected)" "$pair: packets took the tables' paths"
    before=count.$pair
done

# RTT less the latencies of both paths, by the number of cables.
awk -v OFS='\t' '
    FILENAME == "show" { ns[$1] = $2; next }
    FILENAME == "paths" {
        for (i = 4; i <= NF; i++)
            sum[$1, $2] += ns[$i]
        hops[$1, $2] = $3
        next
    }
    { print hops[$1, $2], $3 - (sum[$1, $2] + sum[$2, $1]) / 1000 }' \
    show paths rtt | sort -n >constants
is "$(wc -l <rtt) $(awk 'NF < 3' rtt)" "28 " "all pairs reach each other"
for hops in 2 4; do
    spread=$(awk -v hops=$hops '$1 == hops {
            if (!n++ || $2 < min) min = $2
            if (n == 1 || $2 > max) max = $2
        }
        END { print n, min, max, max - min <= 4 }' constants)
    like "$spread" "^(4|24) .* 1$" \
        "over $hops cables: the sum of latencies and a constant: $spread"
done

[[ ! -e failed ]] && like "$(<pingpong)" "100 iters" \
    "RDMA between two devices"
mapfile -t rtt < <(sed 's/[a-z ]*//' planted)
is "${#rtt[@]}" 8 "a cable that is slowed, lossy, slowed, pulled, healed:"
near () { (($1 - $2 >= -3 && $1 - $2 <= 3)); }
near "${rtt[1]}" $((rtt[0] + 40))
ok $? "slow, in both directions: $(paste -sd, planted)"
near "${rtt[2]}" $((rtt[0] + 70))
ok $? "slower in one"
is "${rtt[3]}" '' "no packet comes through"
near "${rtt[4]}" "${rtt[0]}"
ok $? "healed: as built"
((rtt[5] > rtt[0] + 100))
ok $? "a limited rate takes its time"
is "${rtt[6]}" '' "pulled: no packet comes through"
like "$(<pulled)" "state DOWN" "... and the device sees it"
near "${rtt[7]}" "${rtt[0]}"
ok $? "healed: as built"

done_testing
