#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin, with a script that plays pmm-probe, as in t0500. What this test alone
# shows: under the user's limits, when the probe says nothing, dies or hangs, and when
# srun or the job is interrupted at that moment, the job goes on or ends as it should,
# and nothing is left.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=plugin.sh
. "$srcdir/tests/plugin.sh"

#
# Limits of the user's
#
# limited LIMIT CHECK: a job under it
limited ()
{
    run user bash -c "ulimit $1; srun -N2 $2 sh -c 'echo task >&2'"
}
plugstack required "$words mode=report"
act OK
for limit in "-f 0" "-S -f 0" "-n 32" "-t 1" "-v 300000"; do
    limited "$limit" --pmm-check=off
    alone="$rc $(grep -c '^task$' <<<"$out")"
    limited "$limit"
    is "$rc $(grep -c '^task$' <<<"$out") $(grep -c 'not checked' <<<"$out")" \
        "$alone 0" "ulimit $limit: what srun can do, where nobody asked" \
        || diag "$out"
    [[ $alone == "0 2" ]] || continue
    limited "$limit" --pmm-check=require
    [[ $rc == 0 && $(grep -c '^task$' <<<"$out") == 2 ||
        $rc == 1 && $out == *"a check is required and could not run: "* ]]
    ok $? "... and is vetoed only where a check is required" || diag "$rc $out"
done
probed >/dev/null
plugstack required "$words"

#
# What goes wrong
#
act nothing
run user srun -N2 --pmm-check echo task
is "$rc $out" "0 pmm: not checked: the check ended without a result
task
task" "a probe that says nothing"
run user srun -N2 --pmm-check=require echo task
is "$rc $(grep -c '^task$' <<<"$out")" "1 0" "... is not enough for require"
act die
run user srun -N2 --pmm-check echo task
like "$rc $out" '^0 pmm: not checked: .*Exited with exit code 1.*task' \
    "a task that dies"
act hang
plugstack required "$words timeout=2"
run user srun -N3 --pmm-check echo task
like "$rc $out" '^0 pmm: not checked: no result within 2 s.*task' \
    "a hang is ended by the watchdog"
nothing_left () { [[ ! $(left) ]]; }
within 10 nothing_left
ok $? "... and nothing is left" || diag "$(left)"
plugstack required "$words"
probed >/dev/null

# interrupted SIGNAL COMMAND...: send it when the probes run.
interrupted ()
{
    local sig=$1
    shift
    # Bash starts background commands with SIGINT ignored.
    out=$(cd "$home" && as_user setsid bash -c '
        sig=$1 acts=$2; shift 2
        perl -e '\''$SIG{INT} = "DEFAULT"; exec @ARGV'\'' "$@" &
        # All three, and a moment: srun loses what comes while it launches.
        until [ "$(ls "$acts/log" | grep -c env)" = 3 ]; do
            kill -0 $! || break
            sleep 0.05
        done
        sleep 1
        kill -s "$sig" $!
        wait $!' - "$sig" "$acts" "$@" 2>&1)
    rc=$?
    within 10 nothing_left
}
for sig in INT TERM KILL; do
    interrupted $sig srun -N3 --pmm-check echo task
    ((rc != 0)) && [[ $out != *task* && $(left) == "" ]]
    ok $? "SIG$sig in a check ends srun and leaves nothing" \
        || diag "$rc $out $(left)"
    probed >/dev/null
    run user salloc --no-shell -N3
    job=$(squeue -h -t R -o %i)
    interrupted $sig env "SLURM_JOB_ID=$job" srun -N3 --pmm-check echo task
    is "$(left)" "" "... also inside an allocation"
    probed >/dev/null
    scancel "$job"
done

script <<<'echo script'
out=$(cd "$home" && as_user sbatch --parsable -N3 --pmm-check \
    --output="$home/out.cancel" "$home/script")
begun () { [[ $(ls "$acts/log") ]]; }
within 10 begun
scancel "$out"
within 20 job_over "$out"
within 10 nothing_left
is "$(grep -c '^script' "$home/out.cancel")$(left)" 0 \
    "scancel of a batch job in its check: nothing is left"
is "$(sinfo -h -R)" "" "no node was drained"

done_testing
