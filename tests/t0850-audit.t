#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Audits in a real Slurm, by a SlurmUser who is not root, over the emulated wire.
# What this test alone shows: pmm audit by hand, what it says and enters; healthy
# audits give a baseline, a cable that gets slow is found against it, with its
# signs and its page, also on a node that was drained for it, but not while others
# flood it; nodes that are busy are not waited for.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=audit.sh
. "$srcdir/tests/audit.sh"

out=$(audit --hosts "$nodes,stranger" --json 2>stderr)
is $? 0 "an audit of healthy cables"
is "$(<stderr)" "pmm audit: not in the snapshot, and left out: stranger" \
    "... of those that are in the snapshot"
is "$(jq -c '[.id, .status, .complete, .why, .job > 0, (.hosts | length),
    ([.hosts[].answered] | add), (.probes | length > 20)]' <<<"$out")" \
    '[1,"OK",1,"hand",true,6,6,true]' "... is in the ledger, with its samples"
is "$(jq -c '.counters[] | [.name, .value]' <<<"$out")" \
    '["SymbolErrorCounter",7]' "... and the counters of its ports"
like "$(jq -r '.limits[]' <<<"$out")" \
    'measured on service level 1: on 0, adaptive routing is on at [0-9]+ switches' \
    "... and on which service level they were taken, and why"
like "$(audit --hosts h0001,nobody 2>/dev/null)" \
    '^not audited: fewer than two nodes' "one node is none to audit"
audit --hosts "$nodes" >said 2>&1 && within 60 idle 6
ok $? "another one" || diag "$(cat said; sinfo -N)"
act steps
as_slurm TERM=xterm script -qec \
    "$workdir/bin/pmm audit --conf $workdir/conf --idle" /dev/null >shown
ok $? "... of the idle nodes, on a terminal"
like "$(<shown)" $'\rpmm audit: [0-9]+ s, step 3 of 9' "... shows its progress"
like "$(tail -n 1 shown)" $'\r +\raudit 3 \e\\[32mOK\e\\[0m ' "... until it has ended"
act measure
is "$(head -c 7 state/baseline.json)" pmmbase "... publish a baseline"
within 60 idle 6
out=$(audit --all --size 3)
is "$(cut -d' ' -f1-3 <<<"$out" | xargs)" "audit 4 OK audit 5 OK" \
    "all, in two audits"

act forge
within 60 idle 6
out=$(audit --hosts "$nodes" --json)
is "$? $(jq -c '[.status, .signs, (.counters[] | [.name, .value])]' \
    <<<"$out")" '0 ["OK",[],["SymbolErrorCounter",7]]' \
    "a node is not believed about another one's port"
act measure

# A slow cable

within 60 idle 6
emu slow h0005/1 +1000
echo 900 >symbols
out=$(audit --hosts "$nodes" --json)
is $? 1 "a cable gets slow: FAIL"
is "$(jq -c '[.findings[] | [.level, .basis, (.suspects | length)]]' \
    <<<"$out")" '[["FAIL","baseline",1]]' "... against the baseline"
is "$(jq -r '.findings[0].suspects[0].id' <<<"$out")" "$link" \
    "... it, and no other"
is "$(jq -c '.signs[] | [.link, .host, .kind]' <<<"$out")" \
    "[\"$link\",\"h0005\",\"counter\"]" "... and its errors are a sign"
as_slurm scontrol update nodename=h0005 state=drain \
    reason='pmm: host end h0005'
within 20 eval '[[ $(sinfo -h -N -p main -n h0005 -o %T) == drained ]]'
audit --hosts "$nodes" >said
is "$? $(cut -d' ' -f1-3 said)" "1 audit 8 FAIL" "drained, it is measured"
is "$(cd reports && echo *)" \
    "audit-6.html audit-7.html audit-8.html" "pages of the last audits"
like "$(grep -o '"status":"FAIL","sentence":"[^"]*' reports/audit-8.html)" \
    "a cable is .* slow: h0005's" "... which say what it is"
like "$(grep -o '"ticket":"[^"]*' reports/audit-8.html)" \
    "FAIL: a cable is .*Do: .*Where: h0005 .*Since: 20[^ ]* [0-9:]* UTC.*Node:\
 h0005, not drained by pmm .*Found by: audit 8.*Measured: \+" \
    "... with a text for a ticket"
is "$(sinfo -h -N -p main -n h0005 -o '%T %E')" "drained pmm: host end h0005" \
    "... and stays so"
emu background h0007,h0005:1
emu background h0008,h0005:1
jq -c --arg link "$(pmm path -f fabric --json h0006 h0001 |
    jq -r '.forward[0]')" '{kind: "link-check", version: 1, fabric,
    time: (now | floor), findings: [{link: $link, sign: "width"}],
    waits: []}' < <(pmm fabric show -f fabric --json) >state/signs
out=$(audit --hosts "$nodes" --json)
is "$? $(jq -c '[.id, .status]' <<<"$out")" '3 [9,"UNKNOWN"]' \
    "... and does not FAIL while others flood its node"
is "$(jq -r '.findings[] | select(.level == "UNKNOWN") | .why' <<<"$out")" \
    "h0005 mlx5_0/1 carries others' traffic: received 100 % of what its link\
 carries" "... which is said"
is "$(jq -c '.signs[] | [.host, .kind]' <<<"$out")" '["h0006","width"]' \
    "a published sign of a link is one of the audit"
rm state/signs
emu background off
emu heal all
is "$(try --json | sed 's/^0 //' | jq -c '[.status, (.hosts | length)]')" \
    '["OK",6]' "... until the cable is repaired"
within 20 idle 5
like "$(audit --drained) $(audit --hosts h0005)" \
    '^audit 11 OK .* 6 nodes.* fewer than two nodes' "... with idle partners, not alone"
scontrol update nodename=h0005 state=resume
within 20 idle 6

# Others

srun -N1 -w h0006 --exclusive sleep 1000 2>/dev/null &
busy=$!
within 20 eval '[[ $(squeue -h -t R -o %N) == h0006 ]]'
like "$(try)" '^3 audit 12 UNKNOWN not measured: srun: error: Unable to alloc' \
    "a node is busy: it is not waited for"
within 20 idle 5
like "$(audit --idle)" '^audit 13 OK .* 5 nodes' "... the idle ones are audited"
kill $busy
wait $busy 2>/dev/null
within 20 idle 6

like "$(as_user "$workdir/bin/pmm" audit --conf "$workdir/conf" --idle 2>&1)" \
    '^pmm audit: .*ledger: ' "an ordinary user may not enter the ledger"
cp conf mine && chown "$test_user" mine
like "$(as_slurm bin/pmm audit --conf mine --idle 2>&1)" 'mine is not trusted' \
    "... nor say where it is"

done_testing
