#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Prolog, epilog, health check and SPANK hooks in a real Slurm, while what they
# look at is missing, old, hostile or hangs: jobs run, nodes stay as they are.
# Then a site without a snapshot, whose users ask for checks.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu srun sinfo ibsim opensm
((EUID == 0)) || skip_all "needs root"
workdir
cd "$workdir" || exit 1
mkdir hooks lib log
chmod 777 log

built_to "$workdir" probe/pmm-probe spank/spank_pmm.so \
    spank/spank_pmm_hooks.so

# What slurmd runs: ours, with what this test makes of a machine; of each run a
# line "JOB NODE STATUS what it said" in log/NAME, its environment beside it.
for hook in pmm-prolog pmm-epilog pmm-healthcheck; do
    cat >hooks/$hook <<X
#!/bin/bash
env >$workdir/log/$hook.env
said=\$([ ! -e $workdir/full ] || ulimit -S -f 0
    exec timeout 300 $builddir/prolog/$hook --conf $workdir/pmm.conf \\
    --sysfs $workdir/sys "\$@" 2>&1)
status=\$?
echo "\$SLURM_JOB_ID \$SLURMD_NODENAME \$status \$said" >>$workdir/log/$hook
exit \$status
X
    chmod 755 hooks/$hook
done

port=sys/mlx5_0/ports/1
mkdir -p $port/gids $port/counters
echo fe80:0000:0000:0000:ec0d:9a03:00ec:8240 >$port/gids/0
echo InfiniBand >$port/link_layer
echo "4: ACTIVE" >$port/state
echo "100 Gb/sec (4X EDR)" >$port/rate
echo 0 >$port/counters/symbol_error

conf ()
{
    cat >pmm.conf <<X
Local       = $workdir/lib/local
Verdicts    = $workdir/lib/verdicts
Run         = $workdir/run
Snapshot    = $workdir/lib/fabric
LiveFabric  = $workdir/live/fabric
Pmm         = $workdir/reader
Baseline    =
Probe       = $workdir/pmm-probe
Transport   = emu
EmuSocket   = $workdir/emu
Timeout     = $((30 * patience))
X
    printf '%s\n' "$@" >>pmm.conf
}
conf

verdicts ()
{
    printf '%s\n' "pmm-verdicts 1 $(date +%s)" "$@" end >lib/verdicts
}

# The live fabric, and who reads it, counted.
with_fabric 4 2 minhop
cat >reader <<X
#!/bin/bash
PATH=$PATH
echo "\$*" >>$workdir/log/reads
exec $srcdir/contrib/cluster/fabric run $fabric h0001 -- $builddir/pmm/pmm "\$@"
X
chmod 755 reader

cat >slurm.lines <<X
Prolog=$workdir/hooks/pmm-prolog
Epilog=$workdir/hooks/pmm-epilog
HealthCheckProgram=$workdir/hooks/pmm-healthcheck
HealthCheckInterval=2
X
cat >plugstack <<X
required $workdir/spank_pmm.so conf=$workdir/pmm.conf
required $workdir/spank_pmm_hooks.so
X
with_cluster 4 --plugstack plugstack --conf slurm.lines

# Until the epilogs of all jobs have ended.
no_job () { [ -z "$(squeue -h)" ]; }
settle () { within 60 no_job; }

ended () { [ "$(grep -c . log/pmm-epilog 2>/dev/null)" = 4 ]; }

given_up () { grep -qs "has not ended in" log/pmm-prolog log/pmm-epilog; }

# ran NAME [OPTION...]: an ordinary user's job on all nodes runs, the hooks end
# with 0 on each of them, and no node is drained. On a busy machine hooks may give
# up a look that nothing holds up: then another job runs.
ran ()
{
    local name=$1 out
    shift
    for _ in 1 2 3 4 5; do
        settle
        rm -f log/pmm-prolog log/pmm-epilog
        out=$(cd / && as_user timeout 600 srun -Q -N4 "$@" /bin/echo it runs \
            2>&1)
        settle
        [ ! -p $port/state ] && given_up || break
    done
    is "$(grep -c '^it runs$' <<<"$out")" 4 "$name: the job runs" \
        || diag "$out"
    within 10 ended
    is "$(cat log/pmm-prolog log/pmm-epilog | cut -d' ' -f3 | sort | uniq -c \
        | xargs)" "8 0" "... after 4 prologs, before 4 epilogs"
    is "$(sinfo -h -t drain,drng,down,fail -o %N)" "" \
        "... no node is drained" || exit 1
}

said () { cat log/pmm-prolog log/pmm-epilog | cut -d' ' -f4- | grep .; }

# checked REGEX: what it said last, with that in it
checked () { tail -n 1 log/pmm-healthcheck 2>/dev/null | grep -E -e "${1-}"; }

# health STATUS REGEX: slurmd has its health check say this.
health ()
{
    within 10 checked "$2"
    like "$(checked)" "^ h000[1-4] $1 pmm $2" "the health check: $1"
}

ran "all is well"
is "$(said)" "" "... and the hooks are silent"
health 0 "OK: 1 of 1 port active \| active=1;;1:;0 'mlx5_0/1 Symbol[a-zA-Z]*'=0c$"
is "$(stat -c '%a %u' lib/local)" "600 0" "the state is root's alone"

verdicts "node h0002 FAIL 57 $(date +%s) host end h0002 +412 ns" \
    "port ec0d9a0300ec8240 4xHDR"
ran "a verdict"
like "$(said)" "CRITICAL: audit 57 FAIL: host end h0002 \+412 ns; .*4xHDR" \
    "... which the node's hook says"

like "$("$builddir/prolog/pmm-healthcheck" --conf pmm.conf --sysfs sys \
    --node 'h|x')" '^pmm UNKNOWN: this node has no name[^|]* \| active=1' \
    "a bar begins the figures"
verdicts "node h0002 FAIL 57 $(date +%s) a | b | active=9"
like "$("$builddir/prolog/pmm-healthcheck" --conf pmm.conf --sysfs sys \
    --node h0002)" \
    "^pmm CRITICAL: audit 57 FAIL: a / b / active=9; [^|]* \| active=1[^|]*\$" \
    "... and no other one"
is "$("$builddir/prolog/pmm-healthcheck" '--x|y')" \
    "pmm UNKNOWN: '--x/y' is not an option, or has no value: see --help" \
    "... nor in an error"

rm lib/local
verdicts "node h0001 FAIL 57 1000 old"
ran "a verdict of long ago"
is "$(said)" "" "... is nothing to speak of"
for trouble in garbage huge other fifo; do
    rm -f lib/verdicts
    case $trouble in
    garbage) head -c 9999 /dev/urandom >lib/verdicts ;;
    huge) { echo pmm-verdicts 1 1; yes; } | head -c 100000000 >lib/verdicts ;;
    other) verdicts; chown "$test_user" lib/verdicts ;;
    fifo) mkfifo lib/verdicts ;;
    esac
    ran "verdicts: $trouble"
    like "$(said)" "^pmm-prolog: job [0-9]+: UNKNOWN: $workdir/lib/verdicts" \
        "... which is said"
    [ "$(said | wc -l)" = 1 ]
    ok $? "... once"
    rm -f lib/verdicts lib/local
done

mv $port/state was
mkfifo $port/state
ran "a driver that hangs"
like "$(said)" "UNKNOWN: the check has not ended in 500 ms" "... which is said"
is "$(pgrep -c -f "prolog/pmm-(pro|epi)log --conf $workdir/")" 0 \
    "... and nothing is left behind"
rm $port/state
mv was $port/state

touch full
ran "a full disk"
health 0 "OK: 1 of 1 port active; cannot write $workdir/lib/local"
rm full
sed -i "s|^Local .*|Local = /proc/none/local|; s|^Run .*|Run = /proc/none|" \
    pmm.conf
ran "no directory for state, nor for locks"
health 0 "OK: 1 of 1 port active; cannot write /proc/none/local"
conf "Nonsense = 1"
ran "a bad pmm.conf"
health 3 "UNKNOWN: $workdir/pmm.conf:12"
rm pmm.conf
mkfifo pmm.conf
ran "a FIFO for pmm.conf"
rm pmm.conf
conf
health 0 "OK: 1 of 1 port active \|" # which knows the counter from now on
echo 500 >$port/counters/symbol_error
ran "errors"
like "$(said)" "WARNING: mlx5_0/1 SymbolErrorCounter \+500 within" \
    "... which are said"
rm lib/local

# What users have in their environment does not get there, but for what
# SPANK's options are passed on in.
export LD_PRELOAD_X=1 SPANK_PMM=evil SPANK_LD_PRELOAD=/evil \
    SPANK_PMM_CHECK="\$(touch $workdir/log/evil)" \
    SLURM_SPANK_PMM_CHECK=report
ran "an environment" --export=ALL,PATH=/evil,LD_PRELOAD=/evil.so,SLURM_JOB_ID=1
unset LD_PRELOAD_X SPANK_PMM SPANK_LD_PRELOAD SPANK_PMM_CHECK \
    SLURM_SPANK_PMM_CHECK
is "$(grep -hE '^LD_|evil' log/pmm-prolog.env log/pmm-epilog.env)" "" \
    "... does not reach the hooks"
is "$(ls log/evil log/reads 2>/dev/null)" "" "... and nobody reads the fabric"

# A job that asks, where no snapshot is published, has the fabric read; its
# check waits for that. Twenty at a time have it read once.
(cd / && on_host h0001 pmm fabric read -o "$workdir/emulated") || exit 1
emu_up emulated --seed 1
out=$(cd / && as_user srun -Q -N4 --pmm-check=require /bin/echo it runs 2>&1)
is "$(grep -c '^it runs$' <<<"$out")" 4 "a check that needs the live fabric" \
    || diag "$out"
is "$(cat log/reads)" "fabric read --smps 2" "... has it read"
jobs=$(cd / && for _ in $(seq 20); do
    as_user sbatch --parsable -N2 -o /dev/null --pmm-check --wrap true
done)
is "$(wc -w <<<"$jobs")" 20 "twenty jobs that ask"
settle
states ()
{
    sacct -n -X -o state -j "${jobs//$'\n'/,}" | sort | uniq -c | xargs
}
all_run () { [ "$(states)" = "20 COMPLETED" ]; }
within 20 all_run # slurmdbd hears of it a moment later
is "$(states)" "20 COMPLETED" "... all run"
is "$(wc -l <log/reads)" 1 "... and nobody reads it again"

# What is old tells where nodes are, and the job's part alone is read.
touch -d '-1 hour' live/fabric live/fabric.lock
out=$(cd / && as_user srun -Q -N2 --pmm-check=require /bin/echo it runs 2>&1)
is "$(grep -c '^it runs$' <<<"$out")" 2 "a check that needs its part of it" \
    || diag "$out"
is "$(tail -n 1 log/reads)" "fabric read --smps 2 --max-smps 50000 --hosts \
h[0001-0002] --hint $workdir/live/fabric" "... has it read"
like "$(pmm fabric show -f live/fabric.job*)" 'a part:.*2 hosts' \
    "... which it is"
rm live/fabric.job*

# It fails from now on, which is not repeated either.
"$srcdir/contrib/cluster/fabric" down "$fabric"
touch -d '-1 hour' live/fabric live/fabric.lock
out=$(cd / && for _ in 1 2 3; do
    as_user srun -Q -N4 --pmm-check /bin/echo it runs 2>&1
done)
is "$(grep -c '^it runs$' <<<"$out")" 12 "a fabric that cannot be read" \
    || diag "$out"
is "$(grep -c '^pmm: not checked: .*is old: the live fabric could not be read' \
    <<<"$out")" 3 "... is said" || diag "$out"
is "$(tail -n +3 log/reads | sed 's/ --max.*//; s/fabric read //' | xargs)" \
    "--smps 2 --smps 2" \
    "... and a part and all of it are tried once"

# The same hooks by way of the plugin, where slurmd's own are others'.
settle
mkdir ours
mv hooks/pmm-prolog hooks/pmm-epilog ours
ln -s /bin/true hooks/pmm-prolog
ln -s /bin/true hooks/pmm-epilog
echo "required $workdir/spank_pmm_hooks.so Hooks=$workdir/ours" \
    >slurm/etc/plugstack.conf
verdicts "node h0003 WARN 58 $(date +%s) by way of the plugin"
ran "SPANK hooks"
like "$(said)" "WARNING: audit 58 WARN: by way of the plugin" "... say the same"
printf '#!/bin/sh\nexit 1\n' >ours/pmm-prolog
out=$(cd / && as_user srun -Q -N4 /bin/echo it runs 2>&1)
is "$(grep -c '^it runs$' <<<"$out")" 4 "SPANK hooks that fail: the job runs"
is "$(sinfo -h -t drain,drng,down,fail -o %N)" "" "... no node is drained"

done_testing
