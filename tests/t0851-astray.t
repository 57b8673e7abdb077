#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Audits that go wrong, as t0850 has those that go well. What this test alone
# shows: what hangs, is killed, is in a node's way, full or damaged, or sets the
# clock back, leaves one sentence, an audit with an end, and no job; and whose fault
# it was is known.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=audit.sh
. "$srcdir/tests/audit.sh"

act slow
try >first &
first=$!
within 20 auditing
is "$(try)" \
    "3 not audited: another audit or a round of the policy is running" \
    "two at once"
read -r pid _ <slurm/pid/slurmctld
kill "$pid"
within 20 gone "$pid"
printf '%s\n' PreemptType=preempt/partition_prio PreemptMode=requeue \
    >>slurm/etc/slurm.conf
"$srcdir/contrib/cluster/cluster" start slurm slurmctld
touch go
wait $first
like "$(<first)" '^0 audit 1 OK' "slurmctld is restarted in an audit"
within 30 idle 6
like "$(try)" '^3 not audited: jobs in partition audit would preempt those in' \
    "... with a configuration by which audits would preempt jobs"
scontrol update partitionname=audit prioritytier=1

conf $((4 * patience)) >conf # in a quarter of which they have to meet
act unmet
within 20 idle 6
like "$(try)" '^0 .*audit [0-9]+: nobody came; once more.*audit [0-9]+ OK .* 6 nodes' \
    "processes do not meet, as Slurm lost a message: once more"
conf $((40 * patience)) >conf

act killed
within 20 idle 6
like "$(try)" '^0 .*searching.*left out: h0006.*audit [0-9]+ OK .* 5 nodes' \
    "srun does not tell whose fault it is: halves do"
act once
within 20 idle 6
sed 's|state/ledger|state/other|' conf >conf.other
like "$(as_slurm bin/pmm audit --conf "$workdir/conf.other" --hosts "$nodes" 2>&1)
$(pmm ledger missed -L state/other --json | jq -c .faulty)" \
    'searching for the node.*not measured.*[{][}]$' \
    "what does not happen again is no node's fault"
act exit
within 20 idle 6
# srun ends the others once it hears of the first; those come in a second try,
# or never
like "$(try)" \
    '^3 .*audit [0-9]+ UNKNOWN not measured: (all of the nodes|node h.*): the pro' \
    "what befalls all nodes"
is "$(ledger missed --json | jq -c '.faulty | keys')" '["h0006"]' \
    "... is no node's fault"
conf 2 >conf
act hang
within 20 idle 6
like "$(try)" '^3 audit [0-9]+ UNKNOWN not measured: no result within 2 s$' \
    "an audit beyond its deadline, after a search within the hour"
within 20 idle 6
ok $? "... leaves no job"
act exit
try >/dev/null
act hang
like "$(as_slurm bin/pmm doctor --conf conf)" \
    'WARN +audits: the last [0-9]+ have no result: ' \
    "doctor: the last audits had no result"
conf $((40 * patience)) >conf

rm go
act slow
audit --hosts "$nodes" >/dev/null 2>&1 &
within 20 auditing
kill -KILL "$(pgrep -f -x "$workdir/bin/pmm .*")"
wait $! 2>/dev/null
is "$(begun)" 1 "pmm is killed in an audit"
within 20 idle 6
ok $? "... its job goes with it"
act measure
killed=$(ledger show --json | jq '.audits[0].id')
like "$(try)" '^0 audit [0-9]+ OK' "... the next is in order"
is "$(begun) $(ledger show "$killed" --json | jq -r .sentence)" \
    "0 its process was killed" "... and ends it"

# What keeps a node from being measured

in_the_way ()
{
    (cd "slurm/tmp/$1" && as_user mkdir -p "${@:2}")
}
if [[ $mpi == pmix ]]; then
    like "$(TZ=UTC as_slurm bin/pmm doctor --conf conf)" \
        'WARN +PMIxCliTmpDirBase: not set: any user can keep' \
        "doctor: Slurm's PMIx uses a directory that is all users'"
    in_the_way h0006 $(seq -f "spmix_appdir_$(id -u slurm)_%.0f.0" 2000)
    within 20 idle 6
    like "$(try)" \
        '^0 .*--mpi=pmix: node h0006: task launch failed.*; --mpi=pmi2 did.*audit [0-9]+ OK .* 6 nodes' \
        "a user's directories stop the task launch by PMIx: PMI-2 does it"
    is "$(ledger missed --json | jq -c .faulty)" '{}' "... and is no fault"
    echo Mpi=pmix >>conf # and nothing else
    within 20 idle 6
    like "$(try)" \
        '^0 .*: task launch failed: .* left out: h0006.*audit [0-9]+ OK .* 5' \
        "a user's directories stop the task launch: on without that node"
    is "$(ledger show --json | jq -c '[.audits[:2][] | .status, .hosts]')" \
        '["OK",5,"UNKNOWN",6]' "... as another audit"
    is "$(ledger missed --json | jq -c '[.failed[] | select(.node == "h0006"
        and (.cause | startswith("task launch failed"))) | .audits],
        (.faulty | map_values([.faults, .until - .since]))' | xargs)" \
        '[1] {h0006:[1,600]}' "... and the ledger has whose fault it was"
    within 20 idle 6
    like "$(audit --idle 2>&1)" \
        'left out: h0006.*audit [0-9]+ OK .* 5 nodes' "... it is left out"
    like "$(as_slurm bin/pmm policy explain --conf conf h0006)" \
        'left out of audits until [^ ]*: task launch failed' "... explained"
    like "$(as_slurm bin/pmm doctor --conf conf)" \
        'WARN +audited nodes: 1 left out for a while, as h0006' \
        "... and doctored"
    within 20 idle 6
    try >/dev/null
    is "$(ledger missed --json | jq -c '.faulty.h0006
        | [.faults, .until - .since > 1200 - 1]')" '[2,true]' \
        "tried by hand it fails again, and is left out for twice as long"
    in_the_way h0005 $(seq -f "spmix_appdir_$(id -u slurm)_%.0f.0" 2000)
    within 20 idle 6
    like "$(try)" '^0 .*audit [0-9]+ OK .* 4 nodes' "two such nodes"
    rm -rf slurm/tmp/h000[56]/spmix_appdir_*
    within 20 idle 6
    like "$(try)" '^0 audit [0-9]+ OK .* 6 nodes' "they work again"
    is "$(ledger missed --json | jq -c .faulty)" '{}' "... and are in again"
    conf $((40 * patience)) >conf
else
    skip "what PMIx leaves to any user" "this Slurm has none"
fi

# The clock

within 20 idle 6
like "$(as_slurm "$(clock_ahead 2)" bin/pmm audit --conf conf --idle 2>&1)" \
    '^audit [0-9]+ OK' "the clock is two days ahead"
like "$(try)" '^0 audit [0-9]+ OK' "... and is set back"
is "$(ledger show --json | jq -c '.audits[:2] | [.[0].id - .[1].id,
    .[0].begun < .[1].begun, map(.ended >= .begun)]')" \
    '[1,true,[true,true]]' \
    "... which numbers tell, not times"

# The ledger

if mount -t tmpfs -o size=600k,mode=755,uid="$(id -u slurm)" none state \
    2>/dev/null; then
    cleanup eval 'umount -l "$workdir/state" 2>/dev/null'
    like "$(try)" '^0 audit 1 OK' "a ledger on a small disk"
    dd if=/dev/zero of=state/full bs=1k 2>/dev/null
    like "$(try)" '^3 pmm audit: .*ledger: ' "... which is full"
    is "$(try | wc -l)$(squeue -h -t PD,R)" 1 "... is one sentence, and no job"
    rm state/full
    like "$(try)" '^0 audit 2 OK' "... and not full any more"
    umount "$workdir/state"
else
    skip "a ledger on a full disk" "cannot mount a file system"
fi
for file in state/ledger state/ledger-wal; do
    dd if=/dev/urandom of=$file bs=4096 seek=1 count=20 conv=notrunc 2>/dev/null
done
like "$(try)" '^3 pmm audit: .*ledger' "a damaged ledger"
is "$(try | wc -l)$(squeue -h -t PD,R)" 1 "... is one sentence, and no job"
as_slurm bin/pmm ledger salvage -L state/ledger state/new 2>/dev/null
mv state/new state/ledger
rm -f state/ledger-*
like "$(try)" '^0 audit [0-9]+ OK' "... and salvaged"

[[ ${PMM_LONG-} ]] || done_testing

conf 4 >conf
act die
like "$(try)" '^3 .*; searching for .* UNKNOWN not measured: .*: Killed$' \
    "its processes are killed, without any of its nodes, too"
act loud
like "$(try)" '^3 audit .* UNKNOWN not measured: ' "a record without an end"
conf 12 >conf
within 20 idle 6

rm -f go
act slow
try >first &
first=$!
task_runs ()
{
    task=$(pgrep -f "$workdir/bin/probe" | sed 's|.*|/proc/&/environ|' \
        | xargs grep -lsz '^SLURMD_NODENAME=h0013' | head -n 1 | tr -dc 0-9)
    [[ $task ]]
}
within 20 task_runs
read -r pid _ <slurm/pid/slurmd.h0013
kill -KILL "$pid" "$(ps -o ppid= "$task")" "$task"
touch go
wait $first
like "$(<first)" '^3 audit .* UNKNOWN .*' "slurmd is killed in an audit"
is "$(begun)" 0 "... which has an end"

done_testing
