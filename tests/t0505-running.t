#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm check in a real Slurm, with a script that plays pmm-probe: a job that runs is
# measured, each time, as its owner, by the owner and by root; nodes are, by a job.
# Who may not is told, as are jobs that do not run. pmm why names it, and no ledger
# changes.

# shellcheck disable=SC2154,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
pmm check --help >/dev/null 2>&1 || skip_all "built without Slurm"
# shellcheck source=plugin.sh
. "$srcdir/tests/plugin.sh"
built_to "$workdir/bin" pmm/pmm

# An srun that leaves what it was started with.
cat >"$workdir/srun" <<X
#!/bin/bash
{ id -u; id -G; pwd; (: </dev/tty) 2>/dev/null && echo terminal; env; } \
    >"$acts/srun.\$(id -u)"
printf 'srun: \e[31mred\n' >&2
exec $(type -P srun) "\$@"
X
chmod 755 "$workdir/srun"
pmm fabric generate fat-tree --ports 8 --levels 2 -o "$workdir/fabric"
cat >"$workdir/conf" <<X
Snapshot = $workdir/fabric
Ledger = $workdir/ledger
Srun = $workdir/srun
Timeout = 50
X

# check USER OPERAND [OPTION]: with what a job, or a user, may have in the environment
check ()
{
    run "$1" env MINE=1 PMM_CHECK="pmm-check 1 $job OK earlier" SLURM_NNODES=1 \
        "$workdir/bin/pmm" check --conf "$workdir/conf" "${@:2}"
}
start () { as_user sbatch --parsable --chdir="$home" -o /dev/null "$@"; }
running () { [[ $(squeue -h -j "$1" -o %T | sort -u) == RUNNING ]]; }
no_jobs () { [[ ! $(squeue -h) ]]; }
owner () { stat -c %U "$acts"/log/*.0; }

act OK
job=$(start -N3 --exclusive --wrap 'srun sleep 1000')
within 30 running "$job"

# By its owner, and again
for _ in first again; do
    check user "$job"
    is "$rc $(owner) $(probed)" "0 $test_user 3" \
        "a job is measured on all its nodes" || diag "$out"
done
like "$out" "^pmm check: this measures beside job $job's own traffic: .* 50 s, .*
.*pmm: the report" "... after what it may disturb"
is "$(wc -l <<<"$out")" 3 "... and nothing else" || diag "$out"

# By root
run root env MINE=1 TERM=xterm script -qec \
    "$workdir/bin/pmm check --conf $workdir/conf $job" /dev/null
is "$rc $(owner) $(probed)" "0 $test_user 3" "root measures it as its owner"
like "$out" 'srun: .\[31mred.*pmm: the report' "... and is told"
is "$(grep -c $'\e' <<<"$out")" 0 "... nothing that moves root's terminal"
left=$acts/srun.$(id -u "$test_user")
is "$(head -n 3 "$left")" "$(id -u "$test_user")
$(id -G "$test_user")
/" "... whose srun has the owner's ids"
is "$(grep -E '^(terminal|MINE|SLURM_NN|PMM_|SUDO)' "$left")" "" \
    "... and neither root's terminal nor variables"

# Root's Ctrl-C
hanging () { pgrep -cf "^$acts/hang "; }
measures () { (($(hanging) == 3)); }
ended () { (($(hanging) == 0)); }
act hang
"$workdir/bin/pmm" check --conf "$workdir/conf" "$job" >"$workdir/said" 2>&1 &
pid=$!
within 30 measures
kill -TERM $pid
wait $pid
is "$? $(grep -c 'pmm: the check was interrupted' "$workdir/said")" "3 1" \
    "a signal ends it" || diag "$(<"$workdir/said")"
within 30 ended
is "$? $(probed) $(squeue -h -j "$job" -o %T)" "0 3 RUNNING" \
    "... and the measurement, not the job"
is "$(squeue -h -s -j "$job" -o %j | grep -c pmm-check)" 0 "... which keeps no step"
act OK

# By others
out=$(setpriv --reuid=daemon --regid=1 --clear-groups "$workdir/bin/pmm" check \
    --conf "$workdir/conf" "$job" 2>&1)
like "$? $(probed) $out" "^2 0 pmm check: job $job is $test_user's: .* \
have $test_user or root run this$" "another user is told who may"

act FAIL
check user "$job"
is "$rc $(probed)" "1 3" "a FAIL: the exit status"
is "$(squeue -h -j "$job" -o %T)" RUNNING "... and the job runs on"
act UNKNOWN
check user "$job"
is "$rc $(probed)" "3 3" "... of an UNKNOWN"
act WARN
run root "$workdir/bin/pmm" check --conf "$workdir/conf" "$job"
is "$rc $(probed)" "0 3" "... of a WARN, to root"
act OK
for probes in 3 0; do
    run user srun --jobid="$job" --overlap -N3 --mem=0 --pmm-check=require true
    is "$rc $(probed)" "0 $probes" "the job's own check, which heeds no such result"
done
check user "$job"
is "$rc $(probed)" "0 3" "... and keeps none from being made"
check user "$job" --rates
is "$rc $(grep -lw -e --rates=all "$acts"/log/*.[0-9] | wc -l) $(probed)" "0 3 3" \
    "of rates, too"

# pmm why
why () { pmm why --conf "$workdir/conf" --job "$1" 2>&1; }
if pmm why --help >/dev/null 2>&1; then
    entries begin -L "$workdir/ledger" -f "$workdir/fabric" >/dev/null
    before=$(entries export -L "$workdir/ledger")
    is "$(why "$job")" "job $job of $test_user runs on 3 nodes: h[0001-0003]
no check of it is recorded
do: to measure it, beside its own traffic: pmm check $job" \
        "why a job that runs: what to do"
    scontrol update job="$job" comment="mine; pmm: check FAIL a cable is slow"
    like "$(why "$job")" "
its check: FAIL a cable is slow
do: to measure it again, .*: pmm check $job$" "... what its check said"
    scontrol update job="$job" comment="pmm: check OK 4 links"
    like "$(why "$job")" "
its check: OK 4 links
do: nothing$" "... where nothing is to be done"
    check user "$job"
    is "$(probed) $(entries export -L "$workdir/ledger")" "3 $before" \
        "no check is in the ledger"
else
    skip "pmm why" "built without the ledger"
fi

# Jobs that do not run
held=$(start -N1 --hold --wrap true)
check root "$held"
is "$rc $out" "2 pmm check: job $held has no nodes yet: srun --pmm-check measures \
before it starts" "a job that waits"
scancel "$job"
within 30 job_over "$job"
check user "$job"
is "$rc $out" "2 pmm check: job $job has ended" "one that has ended"
check user 999999
is "$rc $out" "2 pmm check: Slurm has no job 999999, or does not show it: it has \
ended, or there was none" "none"
job=$(start -N1 --exclusive --wrap 'sleep 1000' : -N1 --exclusive)
within 30 running "$job"
check user "$job"
is "$rc $out" "2 pmm check: job $job is a heterogeneous job, which is not checked" \
    "a heterogeneous one"
scancel "$job"
array=$(start -N2 --array=3,5 --exclusive --wrap 'sleep 1000')
within 30 running "${array}_5"
check user "${array}_5"
is "$rc $(probed)" "0 2" "a task of an array is a job" || diag "$out"
scancel "$array" "$held"
within 30 no_jobs

# Nodes
check user 'h[0001,0003-0004]'
like "$rc $(owner) $(probed) $out" "^0 $test_user 3 pmm check: this is a job of \
yours, which waits until all of .*pmm: the report" "nodes, by a job of one's own"
run user env SLURM_PARTITION=none_such "$workdir/bin/pmm" check \
    --conf "$workdir/conf" h0001
like "$rc $(probed) $out" '^3 0 .*nvalid partition' "... in one's own partition"
act FAIL
check user 'h[0001,0003-0004]'
is "$rc $(probed)" "1 3" "... a FAIL"
act OK
check user 'h[0001'
is "$rc $out" "2 pmm check: brackets do not match in a host list" "no list"
within 30 no_jobs
is "$(squeue -h)$(sinfo -h -R)" "" "no job is left, no node drained"

done_testing
