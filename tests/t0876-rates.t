#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What links carry, from audits to a drain and back, in a real Slurm over the
# emulated wire: the ledger, its page, pmm why, the Reason. PCIe at half its width
# drains its host after two audits; an audit without rates does not resume it.

. "$(dirname "$0")/lib.sh"
. "$srcdir/tests/policy.sh"

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
with_cluster h0001,h0002,h0005,h0006,h0009,h0010,h0013,h0014 \
    --slurm-user slurm
emu_up fabric --rate-noise 0.01
rates () # WHO
{
    configure Rates="$1" AuditRates=all Action=drain Resume=yes \
        Reports="$workdir/reports"
}
rates audits

audit "$nodes" >said && audit "$nodes" >>said
ok $? "two audits of healthy hosts" || diag "$(<said)"
is "$(pmm_slurm ledger show 2 --json | jq '[.rates[] |
    select (.bits > .95 * .expected)] | length >= 16')" true \
    "the ledger has what links carried"

emu pcie h0005 16x8
audit "$nodes" >said
is $? 1 "PCIe at half its width: FAIL" || diag "$(<said)"
like "$(<said)" "h0005: PCIe runs at x8 of x16: 11[0-9] of 19[0-9] Gb/s" \
    "... which the audit says"
like "$(grep -o '"says":"[^"]*' reports/audit-3.html)" \
    "h0005: PCIe runs at x8 of x16" "... and its page"
like "$(act)" '^h0005: wait: FAIL in audit 3' "one audit drains nobody"
audit "$nodes" >said
act >said
like "$(<said)" "h0005: drained: pmm: h0005 mlx5_0/1: PCIe runs at x8 of x16: \
11[0-9] of 19[0-9] Gb/s, in loopback, too: reseat the adapter in its slot; audit 4" \
    "two do" || diag "$(<said)"
is "$(drained)" h0005 "it, and no other"
like "$(pmm_slurm why h0005)" "carried from h0005 .*: 11[0-9] of 19[0-9] Gb/s \
\\(audit 4\\)" "pmm why says what it carried"
is "$(pmm_slurm policy explain h0005 --json |
    jq '[.nodes[0].findings[] | select (.basis == "rate")] | length')" 2 \
    "explain has the grounds"

emu heal all
rates off
audit "$nodes" >said && audit "$nodes" >>said
ok $? "healed, but not measured" || diag "$(<said)"
like "$(act)" "the rate of link .* was clean in 0 audits since" \
    "... it stays drained"
rates audits
audit "$nodes" >said && audit "$nodes" >>said
ok $? "healed, and measured" || diag "$(<said)"
act >said
is "$(drained)" "" "... it is resumed" || diag "$(<said)"

done_testing
