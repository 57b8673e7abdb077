#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Ports of several LIDs, as opensm gives them out: each LID's path is that of
# ibtracert, a job resolves more links by all of them than by the first, and a
# slow cable is named that nothing tells from others by the first alone: from
# a simulation, and by pmm-probe over the emulator.

# shellcheck disable=SC2154,SC2094,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq ibtracert ibsim opensm
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

pairs=12
[[ ! ${PMM_LONG-} ]] || pairs=300
seed=${SEED:-$RANDOM}
diag "SEED=$seed"

# Two hosts on each of five leaves.
job='h00[01-02,05-06,09-10,13-14,17-18]'
hosts=(h0001 h0002 h0005 h0006 h0009 h0010 h0013 h0014 h0017 h0018)

# resolved SOLUTION: the links whose own latency it has
resolved () { jq -r '.links[] | select (.latency_ns != null) | .id' "$1" | sort; }
# named VERDICT: its suspects, a finding a line
named () { jq -rc '.findings[] | .suspects | join (" ")' "$1"; }

pmm fabric generate fat-tree --ports 8 --levels 2 --netfile -o net
for lmc in 1 2; do
    with_fabric 8 2 minhop net --conf "lmc $lmc"
    on_host h0002 pmm fabric read -o fabric.$lmc >out 2>err
    is "$? $(wc -c <err)" "0 0" "LMC $lmc: read, silently" || exit 1
    is "$(pmm fabric show -f fabric.$lmc --json |
        jq -c '[.hosts[].endpoints[].lmc] | unique')" "[$lmc]" \
        "LMC $lmc: the snapshot has it"

    # By every LID of the second: its name, and the number for ibtracert.
    pmm fabric show -f fabric.$lmc --json |
        jq -r '[.hosts[] | {name, lid: .endpoints[0].lid}] as $h
            | $h[] as $a | $h[] as $b | select ($a.name != $b.name)
            | range (pow (2; '$lmc')) as $k
            | "\($a.name) \($a.lid) \($b.name)~\($k) \($b.lid + $k)"' |
        shuf -n $pairs --random-source=<(yes "$seed") >pairs
    # shellcheck disable=SC2016
    on_host h0002 bash -c 'while read -r a from b to; do
            echo "pair $a $b"
            ibtracert "$from" "$to" || echo failed
        done' <pairs 2>/dev/null | awk -f "$srcdir/tests/ibtracert.awk" >traced
    while read -r a _ b _; do
        echo "$a $b $(pmm path -f fabric.$lmc "$a" "$b" --json |
            jq -r '.forward | join (" ")')"
    done <pairs | cmp - traced >&2
    is "$? $(wc -l <traced)" "0 $pairs" \
        "LMC $lmc: $pairs paths by a LID each are ibtracert's"

    for lids in all first; do
        option=()
        [[ $lids == all ]] || option=(--base-lids)
        pmm plan -f fabric.$lmc --hosts "$job" "${option[@]}" \
            -o $lids.plan && pmm plan -f fabric.$lmc --check $lids.plan
        ok $? "LMC $lmc: a plan by $lids LIDs, checked"
        pmm simulate -f fabric.$lmc --plan $lids.plan --noise 10 \
            -o $lids.samples &&
            pmm solve -f fabric.$lmc --plan $lids.plan \
                --samples $lids.samples -o solution
        resolved solution >$lids.resolved
    done
    first="rank $(jq .rank first.plan), $(wc -l <first.resolved) links resolved"
    all="rank $(jq .rank all.plan), $(wc -l <all.resolved) links resolved"
    diag "LMC $lmc, ${#hosts[@]} hosts: $first by the first LIDs; $all by all"
    (($(jq .rank all.plan) > $(jq .rank first.plan) &&
        $(wc -l <all.resolved) > $(wc -l <first.resolved)))
    ok $? "LMC $lmc: all LIDs resolve more"
    [[ $(jq -r '.rounds[][] | .a, .b' first.plan) != *'~'* ]]
    ok $? "LMC $lmc: ... with --base-lids, no other is in the plan"
done

# One host on each of six leaves, all behind one spine by their first LIDs: no
# path tells a leaf's cable to it from the host's end. Others lead elsewhere.
pmm fabric generate fat-tree --ports 8 --levels 2 --lmc 1 -o fabric
job='h00[01,05,09,13,17,21]'
hosts=(h0001 h0005 h0009 h0013 h0017 h0021)
slow=$(pmm path -f fabric h0001 h0005 --json | jq -r '.forward[1]')
measure () { pmm simulate -f fabric --noise 10 --seed "$1" "${@:2}"; }
for lids in first all; do
    option=()
    [[ $lids == all ]] || option=(--base-lids)
    base=(--baseline "$lids.samples")
    pmm plan -f fabric --hosts "$job" "${option[@]}" -o $lids.plan
    measure 1 --plan $lids.plan -o $lids.samples
    measure 2 --plan $lids.plan --slow "$slow=+1000" -o slow.samples
    pmm confirm -f fabric --plan $lids.plan --samples slow.samples \
        "${base[@]}" -o longer
    measure 2 --plan longer --slow "$slow=+1000" -o slow.samples
    pmm judge -f fabric --plan longer --samples slow.samples "${base[@]}" \
        -o $lids.verdict
done
end=$(pmm path -f fabric h0001 h0005 --json | jq -r '.forward[0]')
is "$(named first.verdict)" "$end $slow" \
    "by the first LIDs a slow cable may be the end of a host"
is "$(named all.verdict)" "$slow" "... by all of them it is not"

# The same on the wire, as far as the emulator is one.
emu_up fabric
emu_conf "Timeout=$((30 * patience))"

# probe OUTPUT OPTION...: a check of the job's hosts
probe ()
{
    start_probes --nonce c0ffee --output "$@"
    finish_probes
}
probe clean
is "$(jq .rank clean/plan.json)" "$(jq .rank all.plan)" \
    "pmm-probe plans by all LIDs"
emu slow "$slow" +1000 >out
echo "Baseline=$PWD/clean/samples.json" >>conf
probe slow
is "$(named slow/verdict.json)" "$slow" "... and names the cable"
probe base --set BaseLids=yes
is "$(jq .rank base/plan.json) $(named base/verdict.json)" \
    "$(jq .rank first.plan) $end $slow" \
    "BaseLids=yes: by no more than the first, one of two"

done_testing
