#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Comments of jobs, in a real slurmdbd: what other tools wrote stays, however
# long it is, nothing is lost while slurmdbd is away, and 200 jobs (a quarter of them
# by default) that end at once all get theirs while slurmctld goes on answering.

. "$(dirname "$0")/lib.sh"
[[ -x $builddir/prolog/test/remark ]] || skip_all "built without Slurm"
need jq sacctmgr sacct sdiag sbatch salloc scontrol
id slurm &>/dev/null || skip_all "no user slurm"
# Where summer ends, scontrol takes "now" for an hour later: two hours have the same
# name.
export TZ=UTC
workdir
install -m 755 "$builddir/prolog/test/remark" "$workdir"
ledger=$workdir/ledger/ledger
install -d -o slurm "$workdir/ledger"

# The plugin, with a probe that has always measured, and what puts its outcome
# into the job's Comment.
install -m 755 "$builddir/spank/spank_pmm.so" \
    "$builddir/prolog/pmm-comment" "$workdir"
cat >"$workdir/probe" <<'X'
#!/bin/bash
[ "$SLURM_PROCID" = 0 ] || exit 0
while (($# > 1)) && [[ $1 != --nonce ]]; do shift; done
echo "{}"
echo "pmm-result 1 FAIL $2 a cable is 412 ns slow: h0002's [kind=host" \
    "link=0002c90000000013/1 node=h0002 excess=+412]"
X
printf '#!/bin/sh\nexec sleep 100\n' >"$workdir/hung"
chmod 755 "$workdir/probe" "$workdir/hung"
words="probe=$workdir/probe jobcomment=$workdir/pmm-comment"
words="$words timeout=$((10 * patience))"
echo "optional $workdir/spank_pmm.so $words" >"$workdir/plugstack"
with_cluster 2 --cpus 256 --slurm-user slurm \
    --plugstack "$workdir/plugstack"
plugstack=$workdir/slurm/etc/plugstack.conf

# comment_of JOB: its AdminComment, in one piece.
comment_of () { sacct -X -n -P -j "$1" -o admincomment; }

remark () { as_slurm "$workdir/remark" "$ledger" "$@"; }

# queue JOB TEXT [SUBMITTED]
queue () { echo "$1 ${3:-0} $2" | remark queue; }

flush () { remark flush 300; }

# The state of queued comments: how many are done, and what was said of them.
queued ()
{
    entries export -L "$ledger" \
        | jq -r "select(.kind == \"comment\") | $1"
}

# known JOB STATE: until slurmdbd knows it to be in that state.
known ()
{
    is_in () { [[ $(sacct -X -n -P -j "$1" -o state,partition) == "$2|main" ]]; }
    within 30 is_in "$@" || diag "job $1 does not get $2"
}

# theirs JOB TEXT: another tool's comment.
theirs ()
{
    sacctmgr -i -Q modify job where jobid="$1" set admincomment="$2" \
        >/dev/null
}

# until_there N: flush until N in all have been put there.
until_there ()
{
    local sum=0 n end=$((SECONDS + 240 * patience))
    while ((sum < $1 && SECONDS < end)); do
        n=$(flush 2>/dev/null) || n=0
        ((sum += n))
        ((sum == $1)) || sleep 0.3
    done
    echo "$sum"
}

# ended JOB N: until slurmdbd knows it, of N tasks or parts. The comments of
# those that have not ended wait longer each time.
ended ()
{
    have_ended ()
    {
        [[ $(sacct -X -n -P -j "$1" -o end,partition \
            | grep -cv 'Unknown\||$') == "$2" ]]
    }
    within $((30 + 2 * $2)) have_ended "$@" || diag "job $1 does not end"
}

#
# What other tools wrote
#
job=$(sbatch --parsable -o /dev/null --wrap true)
array=$(sbatch --parsable -o /dev/null --array=1-2 --wrap true)
het=$(sbatch --parsable -o /dev/null -N1 : -N1 --wrap true)
ended "$job" 1
ended "$array" 2
ended "$het" 2
line="pmm: audit 1 FAIL slow: h0001's [links=4 rounds=2 worst=h0001/1"
line+=" to=leaf1/1 kind=host link=0002c90000000012/1 node=h0001 excess=+412]"
# sacctmgr makes capitals small
other=$'js1:h4si== \\ 100%; \xc3\xa9'
theirs "$job" "$other"
queue "$job" "$line"
is "$(until_there 1)" 1 "a comment is put there"
is "$(comment_of "$job")" "$other; $line" "... behind that of another tool"
queue "$job" "$line"
queue "$job" "pmm: audit 2 OK"
is "$(until_there 1)" 1 "another of the same job"
is "$(comment_of "$job")" "$other; $line; pmm: audit 2 OK" "... is behind it"

long=$(head -c 60000 /dev/zero | tr '\0' x)
theirs "$job" "$long"
queue "$job" "pmm: audit 3 OK"
until_there 1 >/dev/null
is "$(comment_of "$job" | md5sum)" "$(echo "$long; pmm: audit 3 OK" | md5sum)" \
    "60,000 characters stay, and ours is behind them"
long=$(head -c 65530 /dev/zero | tr '\0' y)
theirs "$job" "$long"
queue "$job" "pmm: audit 4 OK"
is "$(flush)" 0 "where there is no room for ours"
is "$(comment_of "$job" | md5sum)" "$(echo "$long" | md5sum)" \
    "... nothing of theirs is cut off"
like "$(queued 'select(.text == "pmm: audit 4 OK") | "\(.done) \(.error)"')" \
    '^[0-9]+ given up: .* too long' "... which is said, and given up"

#
# Whose comment it is
#
queue "$array" "pmm: audit 5 OK"
is "$(until_there 1) $(comment_of "$array" | sort | tr '\n' '|')" \
    "1 |pmm: audit 5 OK|" "one task of an array, whose number is the array's"

queue "$het" "pmm: audit 6 OK"
is "$(until_there 1) $(comment_of "$het" | tr '\n' '|')" "1 pmm: audit 6 OK||" \
    "one part of a heterogeneous job"

job=$(sbatch --parsable -o /dev/null --requeue \
    --wrap 'sleep $((300 - 300 * (SLURM_RESTART_COUNT > 0)))')
submitted=$(date +%s -d "$(scontrol show job "$job" \
    | sed -n 's/.*SubmitTime=\([^ ]*\).*/\1/p')")
queue "$job" "pmm: audit 7 OK" "$submitted"
is "$(flush) $(comment_of "$job")" "0 " "a job that has not ended: later"
known "$job" RUNNING
scontrol requeue "$job"
known "$job" PENDING
sleep 1.5 # a slurmd starts none again within the second in which it ended it
scontrol update jobid="$job" starttime=now
known "$job" COMPLETED # before another try, as the one after it waits for longer
queue "$job" "pmm: audit 8 OK" $((submitted - 86400))
is "$(until_there 1)" 1 "one that was requeued"
is "$(sacct -X -D -n -P -j "$job" -o state,admincomment | tail -n 1)" \
    "COMPLETED|pmm: audit 7 OK" "... has it at its last run, and no other's"

#
# The user's own check, in the job's Comment
#
as_user true
check="pmm: check FAIL a cable is 412 ns slow: h0002's [kind=host"
check+=" link=0002c90000000013/1 node=h0002 excess=+412]"

cat >"$workdir/home/show" <<'X'
#!/bin/bash
[[ ${SLURM_PROCID:-0} != 0 ]] \
    || scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Comment=//p' >out
X
chmod 755 "$workdir/home/show"

# shown COMMAND...: the Comment of a job of the user's that runs ./show.
shown ()
{
    rm -f "$workdir/home/out"
    (cd "$workdir/home" && as_user timeout 600 "$@") >"$workdir/said" 2>&1
    echo "$? $(sed 's/ *$//' "$workdir/home/out")"
}

is "$(shown srun -N2 --comment='user; own' --pmm-check ./show)" \
    "0 user; own; $check" "srun: what the check said is behind the user's own"
is "$(shown sbatch -W -o said -N2 --comment='user; own' --pmm-check show)" \
    "0 user; own; $check" "... sbatch"
is "$(shown salloc -Q -N2 --comment='user; own' --pmm-check \
    bash -c 'srun ./show; srun ./show')" \
    "0 user; own; $check" "... salloc, once for its two sruns"
is "$(shown srun -N2 --pmm-check=off ./show)" "0 " "not checked: no comment"
long=$(head -c 1000 /dev/zero | tr '\0' c)
is "$(shown srun -N2 --comment="$long" --pmm-check ./show)" "0 $long" \
    "no room: the user's stays as it is, and the job runs"

sed -i "s,jobcomment=[^ ]*,jobcomment=$workdir/hung," "$plugstack"
is "$(shown srun -N2 --comment=own --pmm-check ./show)" "0 own" \
    "a hung pmm-comment is ended, and the job runs"
sed -i "s,jobcomment=[^ ]*,jobcomment=," "$plugstack"
is "$(shown srun -N2 --comment=own --pmm-check ./show)" "0 own" \
    "switched off: no comment"

#
# Reading them back
#
# (audits 1 to 4 are gone with the long comment)
worst="worst=h0001/1 to=leaf1/1 kind=host link=0002c90000000012/1 node=h0001"
queue "$array" "pmm: audit 9 FAIL slow [links=4 rounds=2 $worst excess=+412]"
queue "$het" "pmm: audit 10 FAIL slow [links=4 rounds=2 $worst excess=+512]"
until_there 2 >/dev/null
# sacctmgr makes capitals small
sacctmgr -i -Q modify job where jobid="$job" \
    set comment="pmm: check fail slow [link=0002c90000000013/1 node=h0002 excess=+9]" \
    >/dev/null
pmm report --sacct --since 1h >"$workdir/report"
is "$? $(grep --no-group-separator -A1 -E '^(links|nodes|switches)' \
    "$workdir/report" | sed 's/ on [^;]*;/ on DAY;/')" "0 links
  0002c90000000012/1 (h0001/1 -- leaf1/1): 2 audits: 2 FAIL; on DAY; up to \
+512 ns
nodes
  h0001: 2 audits: 2 FAIL; on DAY; up to +512 ns
switches
  leaf1: 2 audits: 2 FAIL; on DAY; up to +512 ns" \
    "pmm report --sacct: link, node and switch that were suspected twice"
like "$(head -n 1 "$workdir/report")" \
    ': 5 audits: 2 FAIL, 3 OK; 4 checks: 4 FAIL$' "... all audits and checks"
like "$(<"$workdir/report")" $'\n  h0002: 4 checks: 4 FAIL; on ' \
    "... and what users' checks say, apart"
is "$(pmm report --sacct --json \
    | jq -c '[.kind, .audits.FAIL, .links[0].name, (.links[0].max_ns == 512),
              [.links[0].seen[].audit]]')" \
    '["history",2,"0002c90000000012/1",true,[9,10]]' "... as JSON"
pmm report --sacct --since tomorrow 2>/dev/null
is $? 2 "... not since a time that is none"
env -u SLURM_CONF pmm report --sacct 2>"$workdir/said"
is "$? $(wc -l <"$workdir/said")" "3 1" "... and without a Slurm: one sentence"

#
# Many jobs of one node at once, and slurmdbd killed while they are commented
#
jobs=$(trials 200)
echo '# none' >"$plugstack"
sdiag -r >/dev/null
array=$(sbatch --parsable -o /dev/null -w h0001 --mem=1 --array=1-"$jobs" \
    --wrap true)
ended "$array" "$jobs"
mapfile -t ends < <(sacct -X -n -P -j "$array" -o end | sort)
diag "$jobs jobs ended from ${ends[0]} to ${ends[jobs - 1]}"
before=$(sdiag)
sacct -X -n -P -j "$array" -o jobidraw \
    | awk '{ print $1, 0, "pmm: audit " 100 + NR " OK links=4 rounds=2" }' \
    >"$workdir/lines"
remark queue <"$workdir/lines"

dbd=$(cut -d' ' -f1 "$workdir/slurm/pid/slurmdbd")
kill -STOP "$dbd" # some are done with it in less than one second
flush >"$workdir/flushed" 2>&1 &
sleep 1
kill -KILL "$dbd"
wait $!
like "$? $(<"$workdir/flushed")" '^3 slurmdbd: ' "slurmdbd is killed meanwhile"
is "$(queued 'select(.done == null) | .job' | sort -u | wc -l)" $((jobs + 1)) \
    "... nothing is lost"
"$srcdir/contrib/cluster/cluster" start "$workdir/slurm" slurmdbd

slowest=0
until_there "$jobs" >"$workdir/sum" &
while kill -0 $! 2>/dev/null; do
    start=${EPOCHREALTIME/[.,]/}
    { scontrol ping && squeue -h; } >/dev/null || diag "no answer"
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 1000))
    ((took <= slowest)) || slowest=$took
    sleep 0.5
done
is "$(<"$workdir/sum")" "$jobs" "slurmdbd is back: all $jobs comments are written"
is "$(sacct -X -n -P -j "$array" -o jobidraw,admincomment | tr '|' ' ' \
    | sort)" \
    "$(sed 's/ 0 / /' "$workdir/lines" | sort)" "... each to its job"
diag "slurmctld answered two questions within $slowest ms all the time; before:"
diag "$(grep -E 'thread count|queue size|Jobs (comp|start)' <<<"$before")"
diag "and after:"
diag "$(sdiag | grep -E 'thread count|queue size|Jobs (comp|start)')"
((slowest < 10000 * patience))
ok $? "slurmctld answers meanwhile"

#
# A site without slurmdbd
#
read -r pid _ <"$workdir/slurm/pid/slurmctld"
kill "$pid"
within 20 gone "$pid"
sed -i '/^AccountingStor/d' "$SLURM_CONF"
"$srcdir/contrib/cluster/cluster" start "$workdir/slurm" slurmctld
queue 99999 "pmm: audit 9 OK"
is "$(flush)" 0 "a site without slurmdbd gets no comments"
like "$(queued 'select(.job == 99999) | "\(.done) \(.error)"')" \
    '^[0-9]+ given up: the site has no slurmdbd' "... and none is tried again"
like "$(pmm report --sacct 2>&1)" 'slurmdbd: the site has none: Account' \
    "... nor read"

done_testing
