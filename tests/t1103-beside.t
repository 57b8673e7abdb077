#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm-probe measures by plans of others' schedules as by ours, over the emulator:
# steps, probes, and that the latencies of all pairs agree within noise.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
pmm fabric show -f fabric --json |
    jq -r '.links | to_entries[] | "\(.value.id) \(100 + 7 * .key)"' >latency
printf '%s\n' "Snapshot=$workdir/fabric" Baseline= Transport=emu \
    "EmuSocket=$workdir/emu" Timeout=$((20 * patience)) >conf
emu_up fabric --latency latency --noise 20
hosts=(h00{01..16})

# measure METHOD: 16 hosts by it; what came of it is in METHOD.json
measure ()
{
    local make=(pmm-compare plan "$1")
    [[ $1 != pmm ]] || make=(pmm plan)
    "${make[@]}" -f fabric --hosts 'h[0001-0016]' -o plan
    start_probes --nonce ab --plan plan --output "$1" --result "$1.json"
    finish_probes
}

for method in pmm one-factor by-host; do
    measure "$method"
    is "$(jq -c '[.all_pairs, (.pairs | length)]' "$method.json")" \
        '[true,120]' "16 hosts by $method: all pairs"
    pmm plan -f fabric --check "$method/plan.json"
    ok $? "... by a plan that is sound, with what was measured again"
done
is "$(jq .basis_rounds one-factor/plan.json)" 15 "one-factor in 15 steps"
ok $(($(jq .basis_rounds pmm/plan.json) >= 15)) "... ours in fewer"
for method in one-factor by-host; do
    is "$(jq -n --slurpfile a pmm.json --slurpfile b "$method.json" '
        [$a[0], $b[0] | .pairs | map({key: "\(.a) \(.b)",
                                      value: .latency_ns}) | from_entries]
        | .[1] as $b | [.[0] | to_entries[] | .value - $b[.key] | fabs]
        | max < 100')" true "pair latencies by $method as by ours"
done

done_testing
