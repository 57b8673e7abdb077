#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Audits in a real Slurm, over the emulated wire: healthy ones give a baseline,
# a cable that gets slow is found against it; what is not there, is busy or is
# killed leaves one sentence, an audit with an end, and no job.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq srun squeue
pmm audit --help >/dev/null 2>&1 || skip_all "built without Slurm or the ledger"
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
with_cluster h0001,h0002,h0005,h0006,h0009,h0013

# SlurmUser must reach the programs wherever the tree is.
mkdir bin
"$builddir/libtool" --quiet --mode=install install -m 755 \
    "$builddir/probe/pmm-probe" "$builddir/pmm/pmm" "$workdir/bin/" >/dev/null
mkdir -m 755 state
cat >conf <<END
Snapshot=$workdir/fabric
Ledger=$workdir/state/ledger
Baseline=$workdir/state/baseline.json
Probe=$workdir/bin/pmm-probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=20
END

pmm-emu -f fabric --socket "$workdir/emu" --control "$workdir/control" \
    >emu.log 2>&1 &
cleanup kill $!
for _ in {1..100}; do
    grep -qs 'pmm-emu:' emu.log && break
    sleep 0.05
done
chmod 666 emu control 2>/dev/null
emu () { pmm-emu --control "$workdir/control" "$@"; }

audit () { "$workdir/bin/pmm" audit --conf "$workdir/conf" "$@" 2>stderr; }
left () { squeue -h -o %i | wc -l; }
open_audits ()
{
    pmm ledger show -L state/ledger --json \
        | jq '[.audits[] | select(.ended == null)] | length'
}

out=$(audit --nodes "$nodes,stranger" --json)
is $? 0 "an audit of healthy cables"
is "$(<stderr)" "pmm audit: not in the snapshot, and left out: stranger" \
    "... of those that are in the snapshot"
is "$(jq -c '[.id, .status, .complete, .why, .job > 0, (.hosts | length),
    ([.hosts[].answered] | add)]' <<<"$out")" '[1,"OK",1,"hand",true,6,6]' \
    "... is in the ledger, with all hosts"
is "$(jq '.probes | length > 20' <<<"$out")" true "... and its samples"
like "$(audit --nodes h0001,nobody)" '^not audited: there are no two nodes' \
    "one node is none to audit"
audit --nodes "$nodes" >/dev/null && audit --idle >/dev/null
ok $? "two more, one of the idle nodes"
pmm judge --help | grep -q baseline
is "$(jq -r .kind state/baseline.json)" samples "... publish a baseline"

emu slow h0005/1 +1000
out=$(audit --nodes "$nodes" --json)
is $? 1 "a cable gets slow: FAIL"
is "$(jq -c '[.findings[] | [.level, .basis, (.suspects | length)]]' \
    <<<"$out")" '[["FAIL","baseline",1]]' "... against the baseline"
is "$(jq -r '.findings[0].suspects[0].id' <<<"$out")" \
    "$(pmm path -f fabric --json h0005 h0001 | jq -r '.forward[0]')" \
    "... it, and no other"
emu heal all

srun -N1 -w h0006 --exclusive sleep 100 &
cleanup kill $!
until [[ $(squeue -h -t R -o %N) == h0006 ]]; do sleep 0.1; done
out=$(audit --nodes "$nodes")
is $? 3 "a node is busy"
like "$out" '^audit 5 UNKNOWN not measured: srun: error: .*' \
    "... which the audit ends with"
is "$(left)" 1 "... and nothing waits"
like "$(audit --idle)" '^audit 6 OK .* 5 nodes' "those that are idle are audited"
is "$(open_audits)" 0 "all audits have ended"

done_testing
