#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rates in a real Slurm, over the emulated wire. What this test alone shows: a user
# who asks by --pmm-check=rates has the job's links filled, beside the round trips;
# what each fault does to what arrives; where the site does not allow it, or bursts
# are not possible, latency is checked all the same, and a sentence says why.

. "$(dirname "$0")/lib.sh"
workdir
cd "$workdir" || exit 1
with_plugin
echo "Rates = all" >>pmm.conf
emu_up fabric --seed 1 --rate-noise .01
with_cluster 8 --plugstack plugstack
install -d -m 1777 out

idle () { [[ $(sinfo -h -p main -t idle -o %D) == 8 ]]; }
conf () { sed -i "s|^$1 .*|$1 = $2|" pmm.conf; }

# checked NAME WORDS [TASKS]: an ordinary user's job of all nodes asks for them, and
# so many tasks run (all); ./said has what it is told, ./bursts what was measured
checked ()
{
    within 30 idle
    rm -rf out/check
    (cd / && as_user srun -Q -N8 --ntasks-per-node=1 --pmm-check="$2" \
        --pmm-output="$workdir/out/check" /bin/echo it runs) >said 2>&1
    is "$(grep -c '^it runs$' said)" "${3-8}" "$1: so many tasks run" ||
        diag "$(<said)"
    jq .bursts out/check/samples.json >bursts
    is "$(jq -c '[(.nodes.answered | length), (.probes | length > 8)]' \
        out/check/samples.json)" '[8,true]' "... and all round trips are there"
}

# slow GBPS: the hosts of which none of the flows brought as much: [what they
# receive, what they send]
says () { like "$(<said)" "$1" "... which is said: $1"; }
slow ()
{
    jq -c --argjson gbps "$1" '[.flows[] | select(.a != .b)] as $flows
        | def low(f): [$flows[] | f] | group_by(.host)
            | map(select(map(.best) | max < $gbps * 1e9)[0].host);
        [low({host: .b, best: .there_best}, {host: .a, best: .back_best}),
        low({host: .a, best: .there_best}, {host: .b, best: .back_best})]' bursts
}
loopback () # HOST: Gb/s
{
    jq --arg h "$1" '[.flows[] | select(.a == $h and .b == $h) | .there_best]
        | max / 1e9 | floor' bursts
}
port () { jq -c --arg h "$1" ".ports[] | select(.end == \$h) | $2" bursts; }

checked "all is well" rates
is "$(jq -c '[.left, ([.flows[] | select(.a == .b)] | length),
    ([.flows[] | .a, .b] | unique | length),
    ([.flows[] | .there_lost, .back_lost] | add),
    ([.ports[] | .mtu, .bits] | unique)]' bursts)" \
    '[0,8,8,0,[4096,200000000000]]' "... flows and loopbacks of all hosts"
is "$(slow 190)" '[[],[]]' "... which carry what they should"
is "$(jq '[.flows[] | select(.a != .b) | .a, .b] | group_by(.)
    | map(length) | min >= 2' bursts)" true "... each in two flows"

emu pcie h0006 16x8/16x16
checked "PCIe at half, required" require,rates 0
says "pmm: FAIL: h0006: PCIe runs at x8 of x16: 11[0-9] of 19[0-9] Gb/s, in \
loopback, too"
says "check FAILED: h0006: PCIe .*; the job does not start"
is "$(slow 150)" '[["h0006"],["h0006"]]' "... one host carries less"
like "$(loopback h0006) $(loopback h0005)" '^112 19' "... in loopback, too"
is "$(port h0006 '[.able_lanes, .now_lanes, .could_lanes, .now_mts]')" \
    '[16,8,16,16000]' "... and its PCIe says so"
emu heal all

emu rate h0006/1 100
checked "a cable at half" again,rates
is "$(slow 150)" '[["h0006"],["h0006"]]' "... one host carries less"
like "$(loopback h0006)" '^19' "... but not in loopback"
says "pmm: WARN: cable h0006 -- s1-0002/2: 9[0-9] of 19[0-9] Gb/s, loopback 19"
is "$(jq '[.flows[] | select(.a != .b and (.a == "h0006" or .b == "h0006"))
    | .there_kept + .there_lost] | max' bursts)" 5 "... which is looked at again"
emu heal all

emu width h0006/1 1
checked "a port that came up at one lane of four" rates
says "pmm: FAIL: cable h0006 -- s1-0002/2: [45][0-9] of 19[0-9] Gb/s, loopback 19"
says "; the port came up at 50 of 200 Gb/s"
emu heal all

emu rate h0006/1 200:100
checked "a cable at half in one direction" rates
is "$(slow 150)" '[["h0006"],[]]' "... one host receives less"
says "pmm: WARN: cable h0006 -- s1-0002/2: 9[0-9] of 19[0-9] Gb/s received"
emu heal all

emu order h0006 .5:.95
checked "a host that is better without relaxed ordering" rates
is "$(port h0006 .order) $(port h0005 .order)" "2 0" "... which is known of it"
like "$(<said)" '^pmm: OK' "... and is no fault"
emu heal all

emu retries h0006/1 .1
checked "a cable that repeats" rates
is "$(port h0006 '.retries > 0') $(jq '[.ports[].retries] | min' bursts)" \
    "true 0" "... is counted"
emu heal all

emu rate h0006/1 .5
checked "a cable that is hardly one" rates
is "$(jq '[.flows[] | select(.a == "h0006" and .b == "h0006" | not)
    | .there_lost, .back_lost] | add > 2' bursts)" true "... loses bursts"
emu heal all

conf Rates audits
checked "rates for audits alone" rates
is "$(<bursts)" "$(jq -n '{left: 1, flows: [], ports: []}')" "... are not measured"
says "limit: rates were not measured: the site does not allow it here .Rates in pmm.conf."
checked "... nor does who does not ask hear of it" report
is "$(<bursts)" null "... or has any"
conf Rates all
done_testing
