#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The audit service, unattended, as SlurmUser: jobs that end are audited by
# rule, what they cause is durable before their record goes, and nobody waits
# for it when it, or slurmctld, is dead.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq pgrep srun sacct squeue strace
pmm audit --help | grep -q -e --serve || skip_all "built without the service"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
built_to "$workdir/bin" probe/pmm-probe pmm/pmm prolog/pmm-epilogslurmctld
install -d -o slurm -m 755 state
install -d -o slurm -m 700 spool
cat >conf <<END
Snapshot=$workdir/fabric
Ledger=$workdir/state/ledger
Baseline=$workdir/state/baseline.json
Spool=$workdir/spool
Verdicts=$workdir/state/verdicts
Metrics=$workdir/state/pmm.prom
NotifyProgram=$workdir/bin/notify
Probe=$workdir/bin/pmm-probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=$((20 * patience))
AuditMinNodes=4
AuditEvery=0
AuditsPerHour=100
AuditsPerUser=100
AuditAgainAfter=0
ChecksPerUser=1
Action=comment
END
cat >bin/notify <<END
#!/bin/sh
{ cat; echo; } >>$workdir/state/told
END
chmod 755 bin/notify
cat >epilog <<END
#!/bin/sh
exec $workdir/bin/pmm-epilogslurmctld --conf $workdir/conf
END
chmod 755 epilog
echo "EpilogSlurmctld=$workdir/epilog" >slurm.conf
install -m 755 "$builddir/spank/spank_pmm.so" spank_pmm.so
echo "required $workdir/spank_pmm.so conf=$workdir/conf" >plugstack
with_cluster h0001,h0002,h0005,h0006,h0009 --slurm-user slurm \
    --conf "$workdir/slurm.conf" --plugstack "$workdir/plugstack"

emu_up fabric
mkfifo state/baseline.json # which nobody ever writes to

# As often as a busy machine needs.
serve ()
{
    as_slurm "${@:2}" "$workdir/bin/pmm" audit --serve --conf "$workdir/conf" \
        $1 2>>log
}
start ()
{
    : >log
    # shellcheck disable=SC2016
    serve '' sh -c 'echo $$ >"$0"; exec "$@"' "$workdir/state/pid" &
    waited=$!
    within 20 said 'the audit service has started'
}
finish () { kill -s "$1" "$(<state/pid)" && wait $waited; }
service_down ()
{
    [[ ! -s state/pid ]] || kill -KILL "$(<state/pid)" 2>/dev/null
}
cleanup service_down
said () { grep -q -e "$1" log; }

# A job that has ended, as its hook tells of it: NUMBER NODES [asked]
ended ()
{
    env -i SLURM_JOB_ID="$1" SLURM_JOB_UID=4711 \
        SLURM_JOB_PARTITION=main SLURM_JOB_NODELIST="$2" \
        ${3:+SPANK__SLURM_SPANK_OPTION_pmm_pmm_check=(null)} \
        setpriv --reuid=slurm --regid="$(id -g slurm)" --init-groups \
        "$workdir/epilog"
}
export () { pmm ledger export -L state/ledger; }
# What the ledger has of a job: results, comments.
of_job ()
{
    export | jq -s -c --argjson job "$1" '
        [([.[] | select(.kind == "audit" and .about == $job and .job)]
            | length),
         ([.[] | select(.kind == "comment" and .job == $job)] | length)]'
}
audited () { [[ $(of_job "$1") == '[1,1]' ]]; }
open_audits ()
{
    export | jq -s '[.[] | select(.kind == "audit" and .ended == null)]
        | length'
}
spool () { (cd spool && echo ${1-*}); }
shopt -s nullglob extglob

# Whose it is
"$workdir/bin/pmm" audit --serve --conf "$workdir/conf" 2>err
is "$? $(<err)" "2 pmm audit: it must not run as root: run it as SlurmUser" \
    "not root's"
as_user "$workdir/bin/pmm" audit --serve --conf "$workdir/conf" 2>err
like "$? $(<err)" "^3 pmm audit: .*spool is not trusted|^3 .*cannot open" \
    "nor a user's"
start
ok $? "SlurmUser's"
serve --once
is $? 3 "one service"
like "$(tail -n 1 log)" 'another audit service runs' "... and no more"

# By rule
srun -N4 true
within 30 audited 1
ok $? "a job of AuditMinNodes is audited, and has a comment"
regular () { [[ -f state/baseline.json ]]; }
within 30 regular
ok $? "a pipe for a Baseline holds nobody, and is replaced"
comment ()
{
    [[ $(sacct -n -P -j 1 -X -o admincomment) =~ ^'pmm: audit 1 OK' ]]
}
within 20 comment
ok $? "... in sacct"
two="srun -w h0001,h0002"
as_user $two true
as_user $two --pmm-check=off true
as_user $two --pmm-check true 2>/dev/null
checked () { said 'is audited since its user asked for a check' && said 'audit 2 of 2 nodes'; }
within 30 checked
as_user $two --pmm-check true 2>/dev/null
over () { said 'is not audited: checks of user 65534 had 1 audit in'; }
within 30 over
ok $? "of a user's checks as many as the quota allows"
is "$(export | jq -s -c '[.[] | select(.kind == "audit" and .why == "check")
    | .uid, .hosts | if type == "array" then length else . end]')" \
    "[$(id -u "$test_user"),2]" "... bring about an audit"
empty () { [[ ! $(spool '+([0-9]).+([0-9])') && ! $(spool '*begun*') ]]; }
within 20 empty
ok $? "no other job is, nor are audits"

echo rubbish >spool/77.0
touch spool/.77.0.1 && mv spool/.77.0.1 spool/78.0
within 20 said 'record 78.0 is refused'
is "$(grep -c 'record 7[78].0 is refused' log) $(spool '7[78].*')" "2 " \
    "what is no record is refused, once"
sed -i 's/AuditMinNodes=4/AuditMinNodes=3/' conf
kill -HUP "$(<state/pid)"
within 20 said 'pmm.conf was read again'
ended 9000 'h[0001-0002,0005]'
within 30 audited 9000
ok $? "pmm.conf is reread"

# What it needs is away
read -r pid _ <slurm/pid/slurmctld
kill "$pid"
within 20 gone "$pid"
ended 9001 'h[0001-0002,0005-0006]'
within 60 said '^slurmctld: '
ok $? "it says that slurmctld is away"
"$srcdir/contrib/cluster/cluster" start slurm slurmctld
within 60 audited 9001
ok $? "... and goes on where it was"
read -r pid _ <slurm/pid/slurmdbd
kill "$pid"
within 20 gone
ended 9003 'h[0001-0002,0005-0006]'
tried ()
{
    [[ $(export | jq 'select(.kind == "comment" and .job == 9003)
        | .tries >= 3') == true ]]
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
serve --once
is "$(of_job 9002)" "[1,1]" "it is audited when the service is back"

# Dead
for job in {9101..9300}; do
    ended $job 'h[0001-0002,0005-0006]' || break
done
is "$? $(spool '9[123]*' | wc -w)" "0 200" "200 jobs end while it is dead"
serve --once
is "$(of_job 9300) $(grep -c 'job 9[12].* ran on its nodes since' log)" \
    "[1,1] 199" "... the last one is audited"

# Without jobs, but for one that has just ended, and not yet on all its nodes
sed -i 's/AuditEvery=0/AuditEvery=24h/; s|^Ledger=.*|Ledger='"$workdir/state/new|" \
    conf
ended 9400 'h[0001-0002,0005,0010]' # which Slurm does not have
serve --once
is "$(pmm ledger export -L state/new | jq -s -c '[.[]
    | select(.why == "sweep") | .hosts[].host] | unique')" \
    '["h0006","h0009"]' "what a job has just left is not swept"
rm spool/9400.*
sed -i "s|^Ledger=.*|Ledger=$workdir/state/ledger|" conf
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
if type -P faketime >/dev/null; then
    cp conf conf.was
    sed -i 's/^AuditsPerHour=.*/AuditsPerHour=0/; s/^Verdicts=.*/&.later/' conf
    : >log
    serve --once faketime -f +3d
    said 'not audited for a day or more: 5 nodes: h\[0001-0002,0005-0006,0009\]'
    ok $? "nodes that were not audited for long are said" || diag "$(<log)"
    mv conf.was conf
else
    skip "nodes that were not audited for long" "not installed: faketime"
fi

sed -i 's/AuditEvery=24h/AuditEvery=0/' conf

# An adapter that has failed leaves the next snapshot, too.
expected () { grep -c "^ports $1 1 " state/verdicts; }
is "$(expected h0009) $(expected h0006)" "1 1" "what is published tells of ports"
pmm fabric generate fat-tree --ports 4 --levels 2 -o small
cp conf conf.was
sed -i "s|^Snapshot=.*|Snapshot=$workdir/small|; s|^Ledger=.*|Ledger=$workdir/state/small|" \
    conf
serve --once
is "$(expected h0009) $(expected h0006)" "1 1" \
    "... also of those that were in the snapshot until now"
sed -i 's/^\(ports h0009 1\) .*/\1 1000/' state/verdicts
serve --once
is "$(expected h0009) $(expected h0006)" "0 1" "... for some days"
mv conf.was conf

# Killed before a system call that makes something durable, or that asks Slurm:
# SYSCALL/N is its N-th such call.
all='h[0001-0002,0005-0006,0009]'
recovered ()
{
    serve --once
    audited "$job" && [[ $(spool "$job.*.done.*") ]]
}
killed ()
{
    ended $((++job)) "$all"
    serve --once strace -o /dev/null -e "trace=${1%/*}" \
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
pmm ledger export -L state/ledger --baseline -f fabric >/dev/null
ok $? "there is a baseline"
sed -i 's/Action=comment/Action=drain\nConfirmAfter=3/' conf
pmm-emu --control "$workdir/control" slow h0006/1 +2000
drained () { [[ $(sinfo -h -R -o %N) == h0006 ]]; }
for n in 5 6 7 8; do
    killed "fdatasync/$n"
    within 30 recovered || break
    drained && break
    sleep 2
done 2>/dev/null
drained
ok $? "a node is drained"
serve --once
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
is "$(events digest)" "null null null" "... as was a digest of each ledger"

# The journal has priorities and tokens
: >log
serve --once env JOURNAL_STREAM="$(stat -c %d:%i log)"
like "$(head -n 1 log)" '^<6>pmm-service: the audit service has started' \
    "in the journal, lines have a priority and a token"

# A page of it
dd if=/dev/zero of=state/ledger bs=100 seek=1 count=30 conv=notrunc 2>/dev/null
serve --once
is $? 2 "a damaged ledger: systemd is not to start it again"
like "$(tail -n 1 log)" 'ledger is damaged: .*pmm ledger salvage' \
    "... and what to do is said"

done_testing
