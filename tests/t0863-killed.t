#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The audit service ends at any time. What this test alone shows: comments wait for
# a slurmdbd that is away; ended or killed at any step, also on its way to a drain,
# there is one audit, one comment, one drain and one notice; what ended while it was
# dead is audited; idle nodes are swept, and what it publishes outlives a smaller
# snapshot.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=serve.sh
. "$srcdir/tests/serve.sh"

week () { echo $((($(date +%s) - 4 * 86400 - 7 * 3600) / (7 * 86400))); }
first_week=$(week)

# slurmdbd is away
start
read -r pid _ <slurm/pid/slurmdbd
kill "$pid"
within 20 gone
ended 9003 'h[0001-0002,0005-0006]'
tried ()
{
    [[ $(export | jq 'select(.kind == "comment" and .job == 9003)
        | .tries >= 2') == true ]]
}
within 60 tried
ok $? "slurmdbd is away: a comment is tried again"
"$srcdir/contrib/cluster/cluster" start slurm slurmdbd
within 120 said '^recovered: slurmdbd'
ok $? "... until it is back"
is "$(grep -c '^recovered: slurmdbd' log) $(grep '^slurmdbd' log | sort |
    uniq -d)" "1 " "... which is said once, as what was wrong"

# Ended in an audit
kill -STOP $emu
ended 9002 'h[0001-0002,0005-0006]'
probing () { pgrep -f "^$workdir/bin/pmm-probe" >/dev/null; }
within 30 probing
finish TERM
is $? 0 "SIGTERM ends it in an audit"
is "$(open_audits) $(spool '9002.*.begun.*' | wc -w)" "0 1" \
    "... which has its end, and the record stays"
none () { [[ ! $(squeue -h) ]]; }
within 20 none
ok $? "... and no job is left"
kill -CONT $emu
once
is "$(of_job 9002)" "[1,1]" "it is audited when the service is back"

# Dead
jobs=$(trials 200)
for ((job = 9101; job <= 9100 + jobs; job++)); do
    ended $job 'h[0001-0002,0005-0006]' || break
done
is "$? $(spool '9[123]*' | wc -w)" "0 $jobs" "$jobs jobs end while it is dead"
once
named=$(grep -c 'job 9[12].* ran on its nodes since' log)
is "$(of_job $((9100 + jobs))) $((named <= 21)) $(grep -c \
    "^$((jobs - 21)) more jobs not audited in this hour, the last: .* since" log)" \
    "[1,1] 1 1" "... the last one is audited, some of the others are named"

# Without jobs, but for one that has just ended, and not yet on all its nodes
cp conf conf.was
sed -i "s/AuditMinNodes=4/AuditMinNodes=3/; s/AuditEvery=0/AuditEvery=24h/
    s/^NotifyProgram=.*/&.new/; s|^Ledger=.*|Ledger=$workdir/state/new|" conf
ended 9400 'h[0001-0002,0005,0010]' # which Slurm does not have
once
is "$(entries export -L state/new | jq -s -c '[.[]
    | select(.why == "sweep") | .hosts[].host] | unique')" \
    '["h0006","h0009"]' "what a job has just left is not swept"
rm spool/9400.*
sed 's/AuditEvery=0/AuditEvery=24h/' conf.was >conf
start
rested () { said 'idle nodes are audited, of 0 cables' && known; }
known () { [[ $(grep -c '^node h.* OK ' state/verdicts) == 5 ]]; }
within 40 rested
ok $? "idle nodes are swept, and all nodes have a verdict that is published" \
    || diag "$(<log)"
is "$(export | jq -s -c '[.[] | select(.why == "sweep") | .hosts[].host]
    | index("h0009") != null')" true "... that which no job was on, too"
finish TERM
is $? 0 "it ends"
cp conf conf.was
sed -i "s/^AuditsPerHour=.*/AuditsPerHour=0/; s/^Verdicts=.*/&.later/
    s/^NotifyProgram=.*/&.later/" conf
: >log
once "$(clock_ahead 3)"
said 'not audited for a day or more: 5 nodes: h\[0001-0002,0005-0006,0009\]'
ok $? "nodes that were not audited for long are said" || diag "$(<log)"
mv conf.was conf

sed -i 's/AuditEvery=24h/AuditEvery=0/' conf

# An adapter that has failed leaves the next snapshot, too.
expected () { grep -c "^ports $1 1 " state/verdicts; }
is "$(expected h0009) $(expected h0006)" "1 1" "what is published tells of ports"
pmm fabric generate fat-tree --ports 4 --levels 2 -o small
cp conf conf.was
sed -i "s|^Snapshot=.*|Snapshot=$workdir/small|; s/^NotifyProgram=.*/&.small/
    s|^Ledger=.*|Ledger=$workdir/state/small|" conf
once
is "$(expected h0009) $(expected h0006)" "1 1" \
    "... also of those that were in the snapshot until now"
sed -i 's/^\(ports h0009 1\) .*/\1 1000/' state/verdicts
once
is "$(expected h0009) $(expected h0006)" "0 1" "... for some days"
mv conf.was conf

# Killed before a system call that makes something durable, or that asks Slurm:
# SYSCALL/N is its N-th such call.
all='h[0001-0002,0005-0006,0009]'
recovered ()
{
    once
    audited "$job" && [[ $(spool "$job.*.done.*") ]]
}
killed ()
{
    ended $((++job)) "$all"
    once strace -o /dev/null -e "trace=${1%/*}" \
        -e "inject=${1%/*}:signal=KILL:when=${1#*/}" &
    wait $!
}
job=9500
steps=(renameat/2 fdatasync/4 renameat/3 clone/5)
[[ ! ${PMM_LONG-} ]] \
    || steps=({fdatasync,fsync,clone,pwrite64}/{1..9} renameat/{1..4}
        unlinkat/1)
for at in "${steps[@]}"; do
    killed "$at"
    within 30 recovered || break
done 2>/dev/null
ok $? "killed at any step: one audit, one comment, and its record is done"
is "$(spool '*begun*')" "" "... and none is lost"

# Likewise, on its way to a drain
entries baseline -L state/ledger -f fabric -o base
ok $? "there is a baseline"
sed -i 's/Action=comment/Action=drain\nConfirmAfter=1/' conf
pmm-emu --control "$workdir/control" slow h0006/1 +2000
drained () { [[ $(sinfo -h -R -o %N) == h0006 ]]; }
for n in 5 6 7 8; do
    killed "fdatasync/$n"
    within 30 recovered || break
    drained && break
    sleep 1
done 2>/dev/null
drained
ok $? "a node is drained"
once
is "$(export | jq -s -c '[.[] | .actions[]?, select(.kind == "action")
    | select(.kind == "drain") | .node] | unique')" '["h0006"]' "... it alone"
is "$(grep -c 'node h0006 reason set to: pmm: ' slurm/log/slurmctld.log)" 1 \
    "... once"
metric () { sed -n "s/^$1 //p" state/pmm.prom; }
is "$(metric 'pmm_drains_total{cause="confirmed"}')" 1 "... as the metrics say"
like "$(grep 'node="h0006"' state/pmm.prom)" '^pmm_host_end_status.* 2$' \
    "... of its host end, too"

events () { jq -r "select(.event == \"$1\") | .node" state/told | xargs; }
is "$(events drain)" h0006 "... and told once, whatever was killed" \
    || diag "$(<state/told)"
# of_weeks FILE: whether it has a digest of each week in which it could be told
of_weeks ()
{
    local digests
    digests=$(grep -c '"event":"digest"' "$1")
    ((digests >= 1 && digests <= $(week) + 1 - first_week))
}
of_weeks state/told && of_weeks state/told.new && of_weeks state/told.small
ok $? "... as was a digest of each ledger, once a week" \
    || diag "$(grep -c . state/told*)"

# The journal has priorities and tokens
: >log
once env JOURNAL_STREAM="$(stat -c %d:%i log)"
like "$(head -n 1 log)" '^<6>pmm-service: the audit service has started' \
    "in the journal, lines have a priority and a token"

# A page of it
dd if=/dev/zero of=state/ledger bs=100 seek=1 count=30 conv=notrunc 2>/dev/null
once
is $? 2 "a damaged ledger: systemd is not to start it again"
like "$(tail -n 1 log)" 'ledger is damaged: .*pmm ledger salvage' \
    "... and what to do is said"

done_testing
