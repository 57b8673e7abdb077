#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin in a real Slurm, with a script that plays pmm-probe: srun, salloc
# and sbatch, as root and as an ordinary user, required and optional; vetoes,
# arrays, heterogeneous jobs, hangs, interrupts. What pmm-probe measures is
# t0400's business.

. "$(dirname "$0")/lib.sh"
need jq perl srun sbatch salloc scancel squeue sinfo
plugin=$builddir/spank/spank_pmm.so
[[ -r $plugin ]] || skip_all "no $plugin"
workdir

# An ordinary user must reach the plugin and the probe.
install -m 755 "$plugin" "$workdir/spank_pmm.so"
acts=$workdir/acts
mkdir -m 1777 "$acts" "$acts/log"
ln -s "$(type -P sleep)" "$acts/hang"

# The fake pmm-probe: every task logs itself; $acts/act says what it does.
cat >"$workdir/probe" <<X
#!/bin/bash
acts=$acts
X
cat >>"$workdir/probe" <<'X'
me=$acts/log/$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID
(umask 0; echo "$@" >"$me"; env >"$me.env")
nonce=
for ((i = 1; i <= $#; i++)); do
    [ "${!i}" = --nonce ] && i=$((i + 1)) && nonce=${!i}
done
act=$(cat "$acts/act")
case $act in
hang) exec "$acts/hang" 1000 ;;
nothing) exit 0 ;;
die) [ "$SLURM_PROCID" = 1 ] && exit 1; exec "$acts/hang" 1000 ;;
esac
[ "$SLURM_PROCID" = 0 ] || exit 0
if [ "$act" = slow ]; then
    act=OK
    for i in 1 2 3 4; do
        echo "pmm-progress $i 9" >&2
        sleep 0.6
    done
fi
[ "$act" != none ] \
    || { echo "pmm-result 1 OK $nonce one node, one rail"; exit; }
echo "the report" >&2
echo "{}"
echo "pmm-result 1 $act $nonce it is $act"
X
chmod 755 "$workdir/probe"

words="probe=$workdir/probe timeout=$((5 * patience))"
words="$words emusocket=$workdir/some.sock"
echo "required $workdir/spank_pmm.so $words" >"$workdir/plugstack"
with_cluster 4 --plugstack "$workdir/plugstack"
plugstack=$workdir/slurm/etc/plugstack.conf

as_user mkdir -p "$workdir/home/work"
home=$workdir/home/work

act () { echo "$1" >"$acts/act"; }

# The tasks of pmm-probe that ran since the last look.
probed ()
{
    find "$acts/log" -type f ! -name '*.env' | wc -l
    rm -f "$acts"/log/*
}

# run USER COMMAND...: its output, both streams, in $out; status in $rc.
run ()
{
    local user=$1
    shift
    if [[ $user == root ]]; then
        out=$(cd "$workdir" && timeout -k 5 900 "$@" 2>&1)
    else
        out=$(cd "$home" && as_user timeout -k 5 900 "$@" 2>&1)
    fi
    rc=$?
    # The job before may not be quite gone.
    out=$(grep -vE '^srun: job [0-9]+ (queued|has been alloc)' <<<"$out")
}

# batch USER ARGUMENT...: $workdir/home/work/script as a batch job.
batch ()
{
    local user=$1
    shift
    rm -f "$home"/out.*
    run "$user" sbatch --wait --chdir="$home" --output="$home/out.%a" "$@" \
        "$home/script"
    out=$(cat "$home"/out.* 2>/dev/null)
}

left ()
{
    squeue -h -s -o %i
    pgrep -f "^$acts/hang "
}

script ()
{
    { echo '#!/bin/bash'; cat; } >"$home/script"
    chmod 755 "$home/script"
}

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
like "$env" 'PMM_CHECK_NESTED=1' "... and the mark of a nested step"
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
like "$rc $out" '^[1-9].*takes report, require or off' "a mode that is none"
run user sbatch --pmm-check=bogus --wrap true
like "$rc $out" '^[1-9].*takes report, require or off' "... for sbatch"

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
plugstack () { echo "$1 $workdir/spank_pmm.so $2" >"$plugstack"; }
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
plugstack required "$words timeout=5"
run user srun -N3 --pmm-check echo task
like "$rc $out" '^0 pmm: not checked: no result within 5 s.*task' \
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
no_job () { [[ ! $(squeue -h) ]]; }
within 20 no_job
within 10 nothing_left
is "$(grep -c '^script' "$home/out.cancel")$(left)" 0 \
    "scancel of a batch job in its check: nothing is left"
is "$(sinfo -h -R)" "" "no node was drained"

done_testing
