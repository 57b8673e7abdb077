#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The live fabric, read from a simulator that is routed by each engine of the
# stock opensm: the paths of all pairs are those of the stock tools, and what
# cannot be read is an error. PMM_LONG: more pairs beside ibtracert, whose
# processes take most of the time.

# shellcheck disable=SC2154,SC2086,SC2094 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq dump_fts ibtracert ibsim opensm
workdir
cd "$workdir" || exit 1

engines="minhop updn ftree dfsssp lash dor nue"
pairs=43
[[ ! ${PMM_LONG-} ]] || pairs=300
ports=8
seed=${SEED:-$RANDOM}
diag "SEED=$seed"

pmm fabric read >out 2>err
is "$? $(wc -c <out) $(wc -l <err)" "3 0 1" "no device: exit 3, one sentence"
like "$(<err)" '^pmm fabric read: no InfiniBand device: ' "... saying so"
pmm fabric read -C nosuch0 -P 1 -o out2 2>err
rc=$?
[[ $rc == 3 && ! -e out2 ]]
ok $? "... and no file"
like "$(<err)" 'no InfiniBand device: nosuch0 port 1 ' "... naming what was asked"

pmm fabric generate fat-tree --ports $ports --levels 3 --netfile -o net
ok $? "a netfile of the 8-port 3-tree"
pmm fabric generate fat-tree --ports $ports --levels 3 -o model

# No subnet manager: the simulator alone.
sim_socket="pmm-test-$$-$RANDOM"
mkfifo console
touch ibsim.out
IBSIM_SOCKNAME=$sim_socket ibsim -s -N 512 -S 512 -P 8192 net <>console \
    >ibsim.out 2>&1 &
sim=$!
stop_sim ()
{
    [[ ! $sim ]] || kill $sim
    sim=
}
cleanup stop_sim
within 10 grep -aq 'Network simulator ready' ibsim.out
for library in /usr/lib{/*,,64}/umad2sim/libumad2sim.so; do
    [[ -r $library ]] && break
done
mkdir client
(cd client && IBSIM_SOCKNAME=$sim_socket SIM_HOST=h0002 LD_PRELOAD=$library \
    exec "$(type -P pmm)" fabric read) >out 2>err
is "$? $(wc -c <out)" "3 0" "no subnet manager: exit 3"
like "$(<err)" 'no subnet manager has configured' "... saying so"
stop_sim

# ibtracert's paths of the pairs on stdin ("NAME LID NAME LID"), four at a time,
# as "NAME NAME LINK..." with a link's smaller end.
trace ()
{
    local part
    split -n l/4 - pairs.
    for part in pairs.a?; do
        # shellcheck disable=SC2016
        on_host h0002 bash -c 'while read -r a from b to; do
                echo "pair $a $b"
                ibtracert "$from" "$to"
            done' <$part >trace.${part##*.} 2>/dev/null &
    done
    wait
    cat trace.a? | awk -f "$srcdir/tests/ibtracert.awk"
}

cables ()
{
    jq -c '.links[] | [.id, .class, (.a, .b | .guid, .port, .name)]'
}

# All pairs of hosts, in lines "NAME NAME".
pmm fabric show -f model --json | jq -r '.hosts[].name' >hosts
awk 'NR == FNR { host[++n] = $1; next }
    { for (i = 1; i <= n; i++) if (host[i] != $1) print $1, host[i] }' \
    hosts hosts >all

with_fabric $ports 3 minhop net
for routing in $engines; do
    [[ $routing == minhop ]] || must "routed by $routing" \
        "$srcdir/contrib/cluster/fabric" route "$fabric" $routing
    on_host h0002 pmm fabric read -o fabric.$routing >out 2>err
    is "$? $(wc -c <out) $(wc -c <err)" "0 0 0" "$routing: read, silently" || exit 1
    pmm fabric show -f fabric.$routing --json >shown
    is "$(jq -r '"\(.hosts | length) \(.switches | length)" +
        " \(.links | length) \(.warnings | length)"' shown)" "128 80 384 0" \
        "$routing: hosts, switches, cables, no warnings"
    is "$(cables <shown | md5sum)" \
        "$(pmm fabric show -f model --json | cables | md5sum)" \
        "$routing: the cables that the netfile was made of"

    on_host h0002 dump_fts >tables.$routing 2>err
    awk -f "$srcdir/tests/walk.awk" net tables.$routing all >walked
    pmm path -f fabric.$routing --pairs all >ours
    is "$(wc -l <ours)" 16256 "$routing: all pairs have a path"
    cmp walked ours >&2
    ok $? "$routing: the paths are those of dump_fts's tables"

    shuf -n $pairs --random-source=<(yes "$seed $routing") all >some
    jq -r '.hosts[] | "\(.name) \(.endpoints[0].lid)"' shown |
        awk 'NR == FNR { lid[$1] = $2; next }
            { print $1, lid[$1], $2, lid[$2] }' - some >pairs
    trace <pairs | sort >traced
    pmm path -f fabric.$routing --pairs some | sort | cmp - traced >&2
    is "$? $(wc -l <traced)" "0 $pairs" "$routing: $pairs are ibtracert's"
done
is "$(for f in fabric.*; do pmm fabric show -f $f | sed -n 1p; done |
    sort -u | wc -l)" "$(md5sum tables.* | cut -c-32 | sort -u | wc -l)" \
    "other tables, another hash"

on_host h0009 pmm fabric read -o again
is "$(pmm fabric show -f again | sed -n 1p)" \
    "$(pmm fabric show -f fabric.$routing | sed -n 1p)" \
    "read from elsewhere: the same hash"
on_host h0009 pmm fabric read -C ibsim0 -P 1 --smps 1 --timeout 500 \
    --retries 1 -o again
is "$(pmm fabric show -f again | sed -n 1p)" \
    "$(pmm fabric show -f fabric.$routing | sed -n 1p)" \
    "... one query at a time, as well"

pmm path -f again h0001 h0128 >out
is "$? $(grep -c 'h0128 mlx5_0/1' out)" "0 2" "a path for people"
for args in "h0001 h0999" "h0001 h0001" "h0001 h0002:2"; do
    pmm path -f again $args >out 2>err
    is "$? $(wc -c <out) $(wc -l <err)" "2 0 1" "no path $args: $(<err)"
done
printf '%s\n' "h0001 h0002" "h0001 h0999" >some
pmm path -f again --pairs some -o pairs.out 2>err
is "$? $(<err)" "2 pmm path: some:2: not in the fabric: h0999" "no such pair"
[[ ! -e pairs.out ]]
ok $? "... and no file"
pmm path h0001 h0002 2>err
like "$? $(<err)" "^2 pmm path: --fabric FILE is missing, and there is no /" \
    "no fabric given"
echo "Snapshot = $PWD/again" >pmm.conf
is "$(pmm path --conf pmm.conf h0001 h0002)" "$(pmm path -f again h0001 h0002)" \
    "no -f: the Snapshot of pmm.conf"
head -c 5000 again | pmm fabric show -f - 2>err
is "$?" 2 "a snapshot cut short: exit 2"
like "$(<err)" '^pmm fabric show: standard input:[0-9]+: the file is cut short$' \
    "... with its line"

done_testing
