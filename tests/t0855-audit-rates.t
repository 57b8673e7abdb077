#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rates of audits in a real Slurm, by a SlurmUser who is not root, over the emulated
# wire. What this test alone shows: audits measure what Rates and AuditRates say and
# enter it; a cable between switches is filled once an hour; a host's PCIe at half is
# found, and no other host.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=audit.sh
. "$srcdir/tests/audit.sh"

set_rates () # RATES AUDITRATES
{
    sed -i '/Rates=/d' conf
    printf '%s\n' "Rates=$1" "AuditRates=$2" >>conf
}
# measured OPTION...: an audit of all nodes, in ./said; how many directions of links
# of hosts it has the rates of, and of links between switches
measured ()
{
    within 30 idle 6
    audit --hosts "$nodes" --json "$@" >said 2>stderr || diag "$(<stderr)"
    jq -r '.rates[].link' said | sort >rated
    is "$(jq '.hosts | map(.answered) | add' said)" 6 "... all nodes answer"
}
hosts=$(for h in ${nodes//,/ }; do
    pmm path -f fabric --json "$h" h0016 | jq -r '.forward[0]'
done)
of_hosts () { grep -cxF "$hosts" rated; }
of_others () { grep -cvxF "$hosts" rated; }

measured
is "$(wc -l <rated)" 0 "by default no rates are measured"
set_rates audits hosts
measured
is "$(of_hosts) $(of_others)" "8 0" \
    "rates of hosts: those with a partner at their leaf"
set_rates all all
measured
is "$(of_hosts)" 12 "all: those of all hosts"
like "$(of_others)" '^[1-9]' "... and of links between switches"
measured
is "$(of_hosts) $(of_others)" "8 0" "... of these once an hour"
is "$(jq -r '.status' said)" OK "... and all is well"

emu pcie h0005 16x8/16x16
measured
is "$(jq -c '[.findings[] | [.basis, .level, [.suspects[].id]]]' said)" \
    "[[\"rate\",\"FAIL\",[\"$link\"]]]" "PCIe of a host at half: its link is named" ||
    diag "$(jq -c '.findings, .limits' said)"
like "$(jq -r '.findings[].why' said)" 'PCIe runs at Gen4 x8 of Gen4 x16' \
    "... and why"
emu heal all
set_rates off all
measured
is "$(wc -l <rated)" 0 "Rates = off: none"
done_testing
