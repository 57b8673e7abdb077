#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin in a real Slurm, with a script that plays pmm-probe. What this test
# alone shows: which jobs are checked, once, before their tasks, by srun, sbatch and
# salloc, as root and as an ordinary user, in arrays and heterogeneous jobs, required
# and optional; vetoes; the words of plugstack.conf; a Slurm without PMIx. (What goes
# wrong: t0501. What pmm-probe measures: t0400.)

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=plugin.sh
. "$srcdir/tests/plugin.sh"

#
# srun
#
for user in root "$test_user"; do
    act OK
    run "$user" srun -N4 --pmm-check sh -c 'echo "task $PMM_CHECK"'
    is "$rc $(probed)" "0 4" "srun as $user: a probe on each node"
    like "$out" '^pmm: the report' "... whose report is shown"
    is "$(grep -c '^task pmm-check 1 .* OK it is OK$' <<<"$out")" 4 \
        "... before the tasks start, which know the outcome"

    act FAIL
    run "$user" srun -N4 --pmm-check echo task
    is "$rc $(grep -c '^task$' <<<"$out")" "0 4" "FAIL, report: goes on"
    run "$user" srun -N4 --pmm-check=require echo task
    is "$rc $(grep -c '^task$' <<<"$out")" "1 0" "FAIL, require: does not run"
    like "$out" 'pmm: check FAILED: it is FAIL; the job does not start' \
        "... and says why"
    act WARN
    run "$user" srun -N4 --pmm-check=require echo task
    is "$rc" 0 "WARN, require: goes on"
    act UNKNOWN
    run "$user" srun -N4 --pmm-check=require echo task
    is "$rc" 0 "UNKNOWN, require: goes on"
    probed >/dev/null
done

# Slow: the progress, on a terminal only.
act slow
run user env TERM=xterm script -qec "srun -N2 --pmm-check echo task" /dev/null
like "$rc $out" $'^0 .*\rpmm: [0-9]+ s, step 3 of 9' "a terminal shows the progress"
like "$out" $'\r {21,}\rpmm: the report\r' "... until something is said"
run user srun -N2 --pmm-check echo task
is "$rc $(grep -c '[[:cntrl:]]' <<<"$out") $(grep -v task <<<"$out")" \
    "0 0 pmm: the report" "without a terminal nothing shows it"
probed >/dev/null

act OK
run user srun -N4 echo task
is "$rc $(probed) $(sort -u <<<"$out")" "0 0 task" "not asked: not checked"
run user srun -N2 -n3 -c1 --mem=100 --gres=none --label --exact --unbuffered \
    --export=X=1 --job-name=mine --cpu-bind=none --pmm-check=report \
    --kill-on-bad-exit=0 /bin/echo task
is "$rc $(find "$acts/log" -type f ! -name '*.env' | wc -l)" "0 2" \
    "what the user gives srun does not reach the check"
args=$(cat "$acts"/log/*.0)
env=$(cat "$acts"/log/*.0.env)
probed >/dev/null
like "$args" "--set emusocket=$workdir/some.sock .*--nonce [0-9a-f]{32}$" \
    "the probe gets plugstack.conf's words and a nonce"
like "$env" 'PMM_CHECK_NESTED=[0-9]+' "... and the mark of a nested step"
is "$(grep -cE '^(SLURM_SPANK|_SLURM_SPANK|SLURM_JOB_NAME=mine|X=)' \
    <<<"$env")" 0 "... and nothing of the user's environment"
run user srun -N2 --pmm-check --pmm-output=some/dir true
like "$(cat "$acts"/log/*.0)" "--output $home/some/dir$" \
    "a relative --pmm-output gets absolute"
probed >/dev/null
run user srun -N2 --pmm-output=dir true
like "$rc $(cat "$acts"/log/*.0)" "^0 .*--output $home/dir$" \
    "--pmm-output asks for a check"
probed >/dev/null
act none
run user srun -N1 --pmm-output=one.json true
is "$rc $(probed) $(jq -r '.kind, .status, .sentence' "$home/one.json")" \
    $'0 1 result\nUNKNOWN\none node, one rail' \
    "the result of a job of one node says that there is no cable"
run user srun --pmm-check=bogus true
like "$rc $out" '^[1-9].*takes report, require, again, rates .* or off' "a mode that is none"
run user sbatch --pmm-check=bogus --wrap true
like "$rc $out" '^[1-9].*takes report, require, again, rates .* or off' "... for sbatch"

run user srun -N1 --pmm-check=require echo task
is "$rc $(probed) $out" $'0 1 pmm: not checked: one node, one rail\ntask' \
    "one node"
act FAIL
run user srun -N1 --pmm-check=require echo task
is "$rc $(probed) $(grep -c '^task' <<<"$out")" "1 1 0" \
    "one node of several rails"
act OK
# Not over PMIx: its plugin in srun 22.05 may wait for ever at the end of a
# heterogeneous step.
run user srun --mpi=none --pmm-check=require -N1 : --mpi=none -N2 echo task
is "$rc $(probed) $(grep -c task <<<"$out")" "0 0 3" "heterogeneous: not checked"
is "$(grep -c 'pmm: not checked: a heterogeneous job' <<<"$out")" 1 \
    "... which is said once"

#
# sbatch
#
script <<'X'
echo "script $PMM_CHECK"
srun -N2 echo first
srun -N1 --pmm-check=require echo second
env -i PATH="$PATH" SLURM_CONF="$SLURM_CONF" \
    srun --jobid="$SLURM_JOB_ID" -N2 --pmm-check echo third
X
for user in root "$test_user"; do
    act OK
    batch "$user" -N3 --pmm-check
    is "$rc $(probed)" "0 3" "sbatch as $user: checked once"
    like "$(head -n2 <<<"$out")" $'^pmm: the report\nscript pmm-check 1 .* OK' \
        "... before the script's first line"
    is "$(grep -cE '^(first|second|third)$' <<<"$out")" 5 "... and all ran"
    act FAIL
    batch "$user" -N3 --pmm-check
    is "$rc $(probed) $(grep -cE '^(script|first|third)' <<<"$out")" "0 3 5" \
        "FAIL, report: goes on, checked once"
    is "$(grep -c second <<<"$out")" 0 "... but for the srun that requires"
    batch "$user" -N3 --pmm-check=require
    is "$rc $(probed) $(grep -c '^script' <<<"$out")" "1 3 0" \
        "FAIL, require: the script does not run"
    like "$out" 'check FAILED: it is FAIL; the job does not start' "... says why"
done
is "$(sinfo -h -R)" "" "no node was drained"

script <<<'echo script'
for export in NONE NIL FOO=1; do
    batch user -N3 --export=$export --pmm-check=require
    is "$rc $(probed) $(grep -c '^script' <<<"$out")" "1 3 0" \
        "--export=$export: require holds" || diag "$out"
    batch user -N3 --export=$export --pmm-check=require,rates
    is "$(cat "$acts"/log/*.0 | grep -c -e ' --rates=all') $(probed)" "1 3" \
        "... and so does rates"
done

script <<<'srun echo "task of $SLURM_ARRAY_TASK_ID"'
act OK
batch user -N2 --array=1-3 --pmm-check
is "$rc $(probed)" "0 6" "each task of an array is checked"
is "$(grep -c '^task of' <<<"$out")" 6 "... and runs"
batch user --pmm-check=require -N1 : -N2
like "$rc $(probed) $out" '^0 0 pmm: not checked: a heterogeneous job' \
    "a heterogeneous batch job runs unchecked, and says so"
act none
batch user --pmm-check -N1
like "$rc $(probed) $out" '^0 1 pmm: not checked: one node' "so does one node"

#
# salloc
#
act OK
run user salloc -Q -N4 --pmm-check sh -c \
    'srun -N2 echo one; srun -N4 echo two;
     (srun -N1 echo three & srun -N1 -r1 echo four; wait)'
is "$rc $(probed) $(grep -cE '^(one|two|three|four)$' <<<"$out")" "0 4 8" \
    "salloc: the first srun checks all nodes, the others do not"
is "$(grep -c 'the report' <<<"$out")" 1 "... one report"
run user salloc -Q -N4 sh -c 'srun -N1 --pmm-check echo one &
    srun -N1 -r1 --pmm-check echo two; wait'
is "$rc $(probed) $(grep -cE '^(one|two)$' <<<"$out")" "0 4 2" \
    "two at the same time check once"
act FAIL
run user salloc -Q -N2 sh -c 'srun --pmm-check=require echo one
    srun --pmm-check=require echo two; timeout 300 srun echo three'
is "$rc $(probed) $(grep -oE '^(one|two|three)$' <<<"$out" | sort -u)" \
    "0 2 three" "a veto is remembered, and keeps no processors"

#
# The site's words
#
act OK
plugstack required "$words requirepartitions=audit"
run user srun -N2 echo task
is "$rc $(probed)" "0 0" "a partition without a default"
act FAIL
run user srun -N2 -p audit echo task
is "$rc $(probed)" "1 2" "a partition that requires checks"
run user srun -N2 -p audit --pmm-check=off echo task
is "$rc $(probed)" "0 0" "... which the user can switch off"
plugstack optional "$words"
run user srun -N2 --pmm-check=require echo task
like "$rc $(probed) $out" "^0 2 .*check FAILED: it is FAIL; the plugin is \
optional in plugstack.conf, so the job starts.*task" \
    "an optional plugin cannot veto, and says so"
batch user -N2 --pmm-check=require
like "$rc $(probed) $out" '^0 2 .*optional in plugstack.conf, so the job starts' \
    "... nor in a batch job"
plugstack required "$words tmeout=5"
run user srun -N2 --pmm-check echo task
like "$rc $(probed) $out" "^0 0 .*pmm: not checked: plugstack.conf: unknown \
key 'tmeout'; did you mean Timeout\?.*task" "a wrong word: said, the job goes on"
run user srun -N2 echo task
is "$rc $(probed) $(sort -u <<<"$out")" "0 0 task" "... to who asked alone"
run user srun -N2 --pmm-output=dir echo task
like "$rc $(probed) $out" "^0 0 .*did you mean Timeout.*task" \
    "... as who wants the output does"
cat >"$workdir/pmm.conf" <<X
Probe = $workdir/probe
Mode = report
X
plugstack required "conf=$workdir/pmm.conf"
act OK
run user srun -N2 echo task
is "$rc $(cat "$acts"/log/*.0 | sed 's/--timeout.*//')" \
    "0 --conf $workdir/pmm.conf " "pmm.conf"
probed >/dev/null
chmod 666 "$workdir/pmm.conf"
run user srun -N2 --pmm-check echo task
like "$rc $(probed) $out" '^0 0 .*is not trusted.*task' \
    "a pmm.conf that others may write"
plugstack required "probe=/nonexistent"
run user srun -N2 --pmm-check echo task
like "$rc $out" '^0 .*pmm: not checked: .*/nonexistent: No such file.*task' \
    "no probe"

#
# Slurms without PMIx
#
# without TYPES WORD: a Slurm that lacks them, and the check's outcome
without ()
{
    printf '#!/bin/bash\nexec srun "${@/#--mpi=%s/--mpi=none_such}"\n' "$1" \
        >"$workdir/srun-without"
    chmod 755 "$workdir/srun-without"
    plugstack required "$words srun=$workdir/srun-without $2"
    run user srun -N2 --pmm-check echo task
    echo "$rc $(probed) $(grep -c '^task$' <<<"$out")" \
        "$(grep -v '^task$' <<<"$out")"
}
is "$(without pmix)" "0 2 2 pmm: the report" "no PMIx: checked by PMI-2"
like "$(without pmi)" "^0 0 2 pmm: not checked: this Slurm has \
(neither PMIx nor PMI-2|no PMI-2) \(srun --mpi=list\)$" "neither: one clear line"
is "$(without pmix mpi=pmix)" "0 0 2 pmm: not checked: this Slurm has no PMIx \
(srun --mpi=list)" "no PMIx, which is asked for"
is "$(without pmi2 mpi=pmi2)" "0 0 2 pmm: not checked: this Slurm has no PMI-2 \
(srun --mpi=list)" "nor PMI-2"
plugstack required "$words"
is "$(sinfo -h -R)" "" "no node was drained"

done_testing
