#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# From audits to drains, a step at a time, by hand, in a real Slurm whose SlurmUser
# is not root. What this test alone shows: what pmm policy act, pmm policy explain
# and pmm why say at each step, with Action=report and Action=drain; a node that root
# has drained keeps its own reason, who resumes it is believed; a slow switch cable
# and a common cause drain nobody, and it is said why; nothing is done without
# slurmctld or with a damaged ledger. (What drains, in all its cases, without a Slurm:
# prolog/test/stories. The service, which does all this by itself: t0863, t0895.)

. "$(dirname "$0")/lib.sh"
. "$srcdir/tests/policy.sh"

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
with_cluster h0001,h0002,h0005,h0006,h0009,h0010,h0013,h0014 \
    --slurm-user slurm
emu_up fabric
configure Action=report MaxDrainPerDay=3

reason () { sinfo -h -p main -n "$1" -o %E; }
idle () { [[ $(sinfo -h -p main -n "$1" -o %T) == idle ]]; }
in_service ()
{
    scontrol update nodename="$1" state=resume
    within 10 idle "$1"
}

audit "$nodes" >said && audit "$nodes" >>said
ok $? "two audits of healthy cables" || diag "$(<said)"
is "$(act)" "" "of which there is nothing to say"
like "$(pmm_slurm policy explain)" \
    '^[0-9]+ nodes, 2 audits, the newest at 20.*: no node is suspected$' \
    "... which explain says"
like "$(pmm_slurm policy explain h0005)" '^h0005: none: nothing was found' \
    "nor of any node"

# report
emu slow h0005/1 +1000
audit "$nodes" >said
is $? 1 "a host cable gets slow: FAIL" || diag "$(<said)"
like "$(act)" '^h0005: wait: FAIL in audit 3: waits for another, 1 s later' \
    "which waits for another audit"
is "$(act)" "" "and is said once"
audit "$nodes" >said
like "$(act)" '^h0005: note: .* FAIL in audits 3 and 4, .* would be drained' \
    "Action=report only says so"
is "$(drained)" "" "and drains nobody"
pmm_slurm policy explain h0005 >said
link=$(pmm path -f fabric --json h0005 h0001 | jq -r '.forward[0]')
like "$(<said)" "audit 4 .* FAIL $link \+[0-9]+ ns over its baseline" \
    "explain has the grounds"
like "$(pmm_slurm why h0005)" "^h0005: note: .*do: reseat h0005's cable .*: pmm ledger rebase $link.  audit .*.measured last: 20" \
    "why has them, and what to do"
like "$(pmm_slurm why "$link")" "^h0005 .* -- .* \\($link\\).suspected by 2\
 audits.do: see pmm why h0005; after a repair pmm ledger rebase $link.audit 3 " \
    "... for its cable"
is "$(pmm_slurm why "$(pmm_slurm why "$link" | sed -n '1s/ -- .*//p')")" \
    "$(pmm_slurm why "$link")" "... by the name of its port"
like "$(pmm_slurm why 4)" "^audit 4 .* FAIL .*h0005: note: .*do: reseat h0005's cable " \
    "... for an audit, too"
is "$(pmm_slurm why h0005 --json | jq -c '[.kind, .nodes[0].node, .measured > 0]')" \
    '["why","h0005",true]' "as JSON: for a node"
is "$(pmm_slurm why "$link" --json | jq -c '[(.audits | length), .cable.a.port > 0]')" \
    '[2,true]' "... for a cable"
is "$(pmm_slurm why 4 --json | jq -c '[.audit.id, .nodes[0].node]')" \
    '[4,"h0005"]' "... for an audit"
is "$(pmm_slurm policy explain --json | jq -c '[.action, .after, .stopped,
    [.nodes[] | [.node, .decision, .link, (.findings | length)]]]')" \
    "[\"report\",4,false,[[\"h0005\",\"note\",\"$link\",3]]]" "as JSON, too"

# drain
configure Action=drain Resume=yes MaxDrainPerDay=3
"$workdir/bin/pmm" policy act --conf "$workdir/conf" 2>said
is "$?$(drained)" 2 "root is not who drains" || diag "$(<said)"
act >said
like "$(<said)" "h0005: drained: pmm: h0005 .*'s cable is " \
    "Action=drain drains its node" || diag "$(<said)"
is "$(drained)" h0005 "it, and no other"
like "$(reason h0005)" \
    "^pmm: h0005 .*'s cable is .* slow: reseat it, then swap it; audit 4, \
link $link, \+[0-9]+ ns over its [0-9]+ ns$" \
    "with the reason in sinfo"
is "$(act | grep -c drained:)$(drained)" 0h0005 "once"
like "$(pmm_slurm why h0005)" "do: reseat .*; pmm audit --drained" "why says what comes next"

# others' drains
others=$(sed 's/h0005,//' <<<"$nodes")
emu heal all
emu slow h0009/1 +1000
audit "$others" >said
audit "$others" >>said
scontrol update nodename=h0009 state=drain reason=disk
like "$(act)" 'h0009: left: it FAILs, but is drained by root \(disk\)' \
    "one that root drained meanwhile is left alone" || diag "$(<said)"
is "$(reason h0009)" disk "with root's reason"
in_service h0009
like "$(act)" 'h0009: lifted: it is back in service' "who resumes it is seen"
audit "$others" >said
act >>said
is "$(drained)" h0005 "and believed" || diag "$(<said)"

# what is no host's
emu heal all
emu slow "$(pmm path -f fabric --json h0001 h0013 | jq -r '.forward[1]')" \
    +1000
audit "$others" >said
audit "$others" >>said
like "$(<said)" 'FAIL' "a slow switch cable" || diag "$(<said)"
act >said
is "$(drained)" h0005 "drains nobody" || diag "$(<said)"

emu heal all
for host in h0002 h0010; do
    emu slow "$host/1" +1000
done
audit "$others" >said
audit "$others" >>said
act >>said
is "$(drained)" h0005 "nor do several hosts at once" || diag "$(<said)"
like "$(<said)" 'counts against no host: so many of its hosts FAIL' \
    "and it is said why" || diag "$(<said)"

# resume
emu heal all
audit "$nodes" >said
act >>said
like "$(<said)" 'h0005: wait: we drained it .* was clean in 1 audit since' \
    "the cable is mended" || diag "$(<said)"
is "$(drained)" h0005 "which one audit does not show"
audit "$nodes" >said
act >>said
like "$(<said)" 'h0005: resumed' "two do: the node is resumed" \
    || diag "$(<said)"
is "$(drained)" "" "and in service"

# nothing is known
emu slow h0006/1 +1000
audit "$others" >said
audit "$others" >>said
sed 's/^SlurmctldPort=.*/SlurmctldPort=1/' "$SLURM_CONF" >nowhere.conf
echo MessageTimeout=2 >>nowhere.conf
as_slurm env SLURM_CONF="$workdir/nowhere.conf" "$workdir/bin/pmm" \
    policy act --conf "$workdir/conf" >said 2>&1
is $? 3 "without slurmctld"
like "$(<said)" '^pmm policy act: slurmctld: ' "nothing is done"
cp -a state/ledger kept
dd if=/dev/zero of=state/ledger bs=4096 seek=1 count=30 conv=notrunc \
    2>/dev/null
rm -f state/ledger-wal
act >said 2>&1
is $? 3 "nor with a damaged ledger" || diag "$(<said)"
like "$(<said)" '^pmm policy act: .*ledger is damaged: ' "in one sentence"
is "$(drained)" "" "nobody is drained"

done_testing
