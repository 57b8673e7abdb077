#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The live fabric, read from a simulator that is routed by the stock opensm:
# the paths are ibtracert's, a pulled cable is noticed, and what cannot be read
# whole is an error.

# shellcheck disable=SC2154,SC2086,SC2094 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibtracert ibsim opensm
workdir
# Not $workdir itself: there, "fabric" is a file, for on_host.
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

pairs=200
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
for ((i = 0; i < 100; i++)); do
    grep -aq 'Network simulator ready' ibsim.out && break
    sleep 0.1
done
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
    cat trace.a? | awk '
        function guid(s) { sub(/.*{0x/, "", s); sub(/}.*/, "", s); return s }
        function port(s) { sub(/^[^\[]*\[/, "", s); sub(/\].*/, "", s); return s }
        $1 == "pair" { name = $2 " " $3 }
        $1 == "From" { n = 0; at = guid($0) }
        /^\[/ { out[++n] = at "/" port($1); at = guid($0); to[n] = at
                s = $0; sub(/.*}/, "", s); into[n] = port(s) }
        $1 == "To" {
            to[n] = guid($0)
            printf "%s", name
            for (i = 1; i <= n; i++) {
                far = to[i] "/" into[i]
                printf " %s", out[i] < far ? out[i] : far
            }
            print ""
        }'
}

cables='[.links[] | [.id, .class] + [.a, .b | .guid, .port]]'
for routing in minhop ftree dfsssp; do
    with_fabric $ports 3 $routing net
    on_host h0002 pmm fabric read -o fabric.$routing >out 2>err
    is "$? $(wc -c <out) $(wc -c <err)" "0 0 0" "$routing: read, silently" || exit 1
    pmm fabric show -f fabric.$routing --json >shown
    is "$(jq -r '"\(.hosts | length) \(.switches | length)" +
        " \(.links | length) \(.warnings | length)"' shown)" "128 80 384 0" \
        "$routing: hosts, switches, cables, no warnings"
    is "$(jq -c "$cables" shown | md5sum)" \
        "$(pmm fabric show -f model --json | jq -c "$cables" | md5sum)" \
        "$routing: the cables that the netfile was made of"

    jq -r '.hosts[] | "\(.name) \(.endpoints[0].lid)"' shown |
        awk -v n=$pairs -v seed=$seed '
            { host[NR] = $0 }
            END {
                srand(seed)
                while (n) {
                    a = int(rand() * NR) + 1
                    b = int(rand() * NR) + 1
                    if (a != b && !seen[a, b]++) {
                        print host[a], host[b]
                        n--
                    }
                }
            }' >pairs
    trace <pairs | sort >traced
    while read -r a _ b _; do
        echo "$a $b $(pmm path -f fabric.$routing $a $b --json |
            jq -r '.forward | join(" ")')"
    done <pairs | sort >walked
    is "$(wc -l <traced) $(comm -12 traced walked | wc -l)" "$pairs $pairs" \
        "$routing: $pairs paths are ibtracert's"
done
is "$(for f in fabric.*; do pmm fabric show -f $f | sed -n 1p; done |
    sort -u | wc -l)" 3 "three routings, three hashes"

on_host h0009 pmm fabric read -o again
is "$(pmm fabric show -f again | sed -n 1p)" \
    "$(pmm fabric show -f fabric.dfsssp | sed -n 1p)" \
    "read from elsewhere: the same hash"
on_host h0009 pmm fabric read -C ibsim0 -P 1 --smps 1 --timeout 500 \
    --retries 1 -o again
is "$(pmm fabric show -f again | sed -n 1p)" \
    "$(pmm fabric show -f fabric.dfsssp | sed -n 1p)" \
    "... one query at a time, as well"

# A switch that loses one MAD in five, without a kernel that would ask again.
"$srcdir/contrib/cluster/fabric" console "$fabric" 'Error "s2-0011" 20' >/dev/null
wrong=0 refused=0
for i in 1 2 3 4; do
    rm -f lossy
    if on_host h0002 pmm fabric read -o lossy 2>err; then
        [[ $(pmm fabric show -f lossy | sed -n 1p) \
            == "$(pmm fabric show -f again | sed -n 1p)" ]] || ((wrong++))
    else
        [[ $? == 3 && ! -e lossy && $(wc -l <err) == 1 ]] || ((wrong++))
        grep -Eq '[0-9a-f]{16}|agree' err || ((wrong++))
        ((refused++))
    fi
done
is $wrong 0 "lost MADs: the same fabric, or an error that names the place"
diag "$refused of 4 refused, the last: $(<err)"
"$srcdir/contrib/cluster/fabric" console "$fabric" 'Error "s2-0011" 0' >/dev/null

"$srcdir/contrib/cluster/fabric" console "$fabric" 'Unlink "s2-0003"[2]' >/dev/null
for ((i = 0; i < 50; i++)); do
    on_host h0002 pmm fabric read -o pulled 2>err \
        && pmm fabric show -f pulled --json >shown \
        && [[ $(jq '.links | length' shown) == 383 ]] && break
    sleep 0.2
done
is "$(jq '.links | length' shown)" 383 "a pulled cable is gone"
[[ $(pmm fabric show -f pulled | sed -n 1p) \
    != "$(pmm fabric show -f again | sed -n 1p)" ]]
ok $? "... and the hash is another"

pmm path -f again h0001 h0128 >out
is "$? $(grep -c 'h0128 mlx5_0/1' out)" "0 2" "a path for people"
for args in "h0001 h0999" "h0001 h0001" "h0001 h0002:2"; do
    pmm path -f again $args >out 2>err
    is "$? $(wc -c <out) $(wc -l <err)" "2 0 1" "no path $args: $(<err)"
done
pmm path h0001 h0002 2>err
is "$? $(<err)" "2 pmm path: -f FABRIC is missing" "no fabric given"
head -c 5000 again | pmm fabric show -f - 2>err
is "$?" 2 "a snapshot cut short: exit 2"
like "$(<err)" '^pmm fabric show: standard input:[0-9]+: the file is cut short$' \
    "... with its line"

done_testing
