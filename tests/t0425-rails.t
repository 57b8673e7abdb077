#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes of eight rails, rail i of each at leaf i of its unit, over pmm-emu: 4, 16
# and in the long run 64 of them, and a node alone. Slow rails are named as their nodes name
# them, and it is said if they are all the same one. Bursts fill one rail of a slot
# at once.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 16 --levels 3 --rails 8 -o fabric
emu_conf "Baseline=$workdir/baseline.json" Rates=all "Timeout=$((20 * patience))"
emu_up fabric
emu noise 20

run () { start_probes --nonce c0ffee "$@"; finish_probes; }
result () { tail -n 1 stdout; }
link () { pmm path -f fabric --json "$1" "${1/*:/h0001:}" | jq -r '.forward[0]'; }

for n in 4 16 ${PMM_LONG:+64}; do
    mapfile -t hosts < <(seq -f 'h%04.0f' "$n")
    rm -f baseline.json
    run
    is "$? $(result | cut -d' ' -f3)" "0 OK" "$n nodes of eight rails" \
        || diag "$(<stderr)"
    is "$(head -n 1 stdout | jq '[.probes[] | .a, .b] | unique | length')" \
        $((8 * n)) "... all rails of them are measured"
    head -n 1 stdout >baseline.json
    for host in h0002 h0003; do
        emu slow "$(link $host:6)" +1000
    done
    run
    like "$(result)" "^pmm-result 1 FAIL c0ffee a cable is .* slow: h000[23] \
mlx5_5/1's, and 1 more finding of this rail \[kind=host .* excess=\+[0-9]+\]$" \
        "... slow rails are found, and named" || diag "$(<stderr)"
    is "$(sed -n 's/^pmm:   all //p' stderr)" "2 findings are of rail mlx5_5/1" \
        "... which are the same one"
    emu heal all
done

# What rails carry: each is judged by itself.
mapfile -t hosts < <(seq -f 'h%04.0f' 4)
run --rates all
is "$? $(head -n 1 stdout | jq -c '.bursts | [.left, (.flows | map(.a, .b) |
    unique | length)]')" "0 [0,32]" "rates of all rails of 4 nodes" || diag "$(<stderr)"
emu rate "$(link h0002:6)" 100
emu pcie h0003 16x8/16x16
run --rates all
is "$(grep -c 'WARN: cable h0002 mlx5_5/1 -- .*: 9[0-9] of 19[0-9] Gb/s, loop' stderr) \
$(grep -o 'FAIL: h0003 mlx5_./1: PCIe runs at x8 of x16' stderr | sort -u | wc -l)" \
    "1 8" "... one with a cable at half, eight of a host whose PCIe lost lanes" ||
    diag "$(<stderr)"
emu heal all

hosts=(h0003)
emu slow "$(link h0003:4)" +1000
run
is $? 1 "a node alone"
like "$(result)" "FAIL c0ffee a cable is .* slow: h0003 mlx5_3/1's, or .* \
\[kind=link link=[^ ]* or=1 " "... finds its slow rail" || diag "$(<stderr)"
is "$(grep -A1 '^pmm:   h0003 mlx5_3/1' stderr | tail -n 1 | cut -c1-18)" \
    "pmm:   or s1-0004/" "... or the one cable on all of its paths"
emu heal all
run
is $? 0 "... and is well without it" || diag "$(<stderr)"

# Its rails are of one process, whose clock times each direction. Here all
# messages to h0003:4 come by one cable and leave by others.
emu_down
pmm fabric generate fat-tree --ports 8 --levels 2 --rails 4 --routing minhop \
    -o fabric
emu_up fabric
emu noise 20
run
head -n 1 stdout >baseline.json
is "$(jq -c '[.probes[] | .way_ns.there + .way_ns.back <= .rtt_ns.min]
    | [length, all]' baseline.json)" "[20,true]" \
    "each probe has the times of both directions" || diag "$(<stderr)"
slow=$(link h0003:2)
for way in +1000 +1000:+0 +0:+1000; do
    emu slow "$slow" "$way"
    run
    like "$(grep -A3 FAIL: stderr | tail -n 2 | tr '\n' ' ')" \
        "h0003 mlx5_1/1 -- .* 3 probes across it show [+]\
$([[ $way == *:* ]] && echo '[45]' || echo '(99|100)')" \
        "a cable slow by $way" || diag "$(<stderr)"
done

# Adapters in one slot
emu_down
pmm fabric generate fat-tree --ports 8 --levels 2 --rails 4 -o fabric
emu_up fabric
sed -i /^Baseline/d conf
hosts=(h0001 h0002 h0003)
# at_once NODE: the most of its rails that are in a round's bursts
at_once ()
{
    run --rates all
    head -n 1 stdout | jq --arg node "$1:" '[.bursts.flows[] | select(.a != .b)
        | {round, rail: (.a, .b)} | select(.rail | startswith($node))] | unique
        | [group_by(.round)[] | length] | max'
}
is "$(at_once h0002)" 4 "bursts fill all rails at once" || diag "$(<stderr)"
emu pcie h0002 together
is "$(at_once h0002)" 1 "... but one of a node whose rails are in one slot" \
    || diag "$(<stderr)"

done_testing
