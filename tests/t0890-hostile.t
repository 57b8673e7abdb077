#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An ordinary user who means harm: with checks, jobs, environments and files of
# all kinds there is no drain, nothing in the ledger but our audits, and no
# program of the user's that runs as anybody else. (That they cause no storm of
# MADs is t0840's.)

. "$(dirname "$0")/lib.sh"
need cc sacct pmm pmm-probe pmm-emu jq srun sbatch scontrol
pmm audit --help >/dev/null 2>&1 || skip_all "built without Slurm or the ledger"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1

# The site: h0005 is the victim.
pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
nodes=h0001,h0002,h0005,h0006,h0009,h0013
install -d -o slurm state spool
built_to "$workdir/bin" probe/pmm-probe pmm/pmm prolog/pmm-epilogslurmctld
install -m 755 "$builddir/spank/spank_pmm.so" .
cat >pmm.conf <<X
Snapshot=$workdir/fabric
Ledger=$workdir/state/ledger
Baseline=$workdir/state/baseline.json
Spool=$workdir/spool
Verdicts=$workdir/state/verdicts
Probe=$workdir/bin/pmm-probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=$((20 * patience))
AuditEvery=0
AuditAgainAfter=0
Action=drain
ConfirmAfter=1
MaxUnavailable=50
X
printf '%s\n' '#!/bin/sh' "exec $workdir/bin/pmm-epilogslurmctld --conf \
$workdir/pmm.conf" >bin/epilogslurmctld
chmod 755 bin/*
echo "required $workdir/spank_pmm.so conf=$workdir/pmm.conf" >plugstack
cat >conf <<X
EpilogSlurmctld=$workdir/bin/epilogslurmctld
PartitionName=audit Nodes=ALL MaxTime=10 PriorityTier=100 RootOnly=YES
X
with_cluster $nodes --slurm-user slurm --plugstack "$workdir/plugstack" \
    --conf "$workdir/conf"

# emulate NAME SNAPSHOT OPTION...: an emulator at that socket
emulate ()
{
    local name=$1
    pmm-emu -f "$2" --socket "$workdir/$name" \
        --control "$workdir/$name.control" "${@:3}" >"$name.log" 2>&1 &
    cleanup kill $!
    within 10 grep -qs 'pmm-emu:' "$name.log"
    chmod 666 "$workdir/$name"
}
emulate emu fabric
emu () { pmm-emu --control "$workdir/emu.control" "$@"; }

audits=0
# audit: one more, of all nodes
audit ()
{
    ((audits++))
    as_slurm bin/pmm audit --conf "$workdir/pmm.conf" --hosts $nodes 2>&1
}
act () { as_slurm bin/pmm policy act --conf "$workdir/pmm.conf" 2>&1; }
ledger () { as_slurm bin/pmm ledger "$1" -L state/ledger "${@:2}"; }
drained () { sinfo -h -N -p main -t drain -o '%N %E'; }
quiet () { [[ ! $(squeue -h) ]]; }

# harmless NAME: none of it drained a node, or is in the ledger.
harmless ()
{
    within 30 quiet
    is "$(act | grep -v 'UNKNOWN drains no node$')$(drained) $(ledger show --json | jq '.audits | length')" \
        " $audits" "$1: no drain, and nothing in the ledger"
}

audit >said && audit >>said && audit >>said
is "$(grep -c ' OK ' said)" 3 "three audits of a healthy fabric"
harmless "to begin with"

# What the user has: a library and programs that tell as whom they run.
mkdir -m 1777 told
install -d -o "$test_user" evil
cat >evil.c <<X
#include <stdio.h>
#include <unistd.h>
__attribute__ ((constructor)) static void tell (void)
{
    char path[256];
    FILE *fp;

    snprintf (path, sizeof (path), "$workdir/told/%d-%d", (int)geteuid (),
              (int)getpid ());
    if ((fp = fopen (path, "w")))
        fclose (fp);
}
X
cc -shared -fPIC -o evil/evil.so evil.c
for program in srun sh bash id pmm pmm-probe scontrol mv; do
    printf '%s\n' '#!/bin/sh' "/usr/bin/touch $workdir/told/\$(/usr/bin/id \
-u)-\$\$" "exec /usr/bin/$program \"\$@\"" >evil/$program
done
chmod 755 evil/*
evil_env=(LD_PRELOAD="$workdir/evil/evil.so" LD_LIBRARY_PATH="$workdir/evil"
    PATH="$workdir/evil:$PATH" BASH_ENV="$workdir/evil/sh"
    SLURM_PMIX_TIMEOUT=1 TMPDIR="$workdir/evil"
    SPANK_PMM_MODE=off SQLITE_TMPDIR="$workdir/evil")
hostile=$'$(touch told/name)`id`\n../../x; DROP TABLE audit;-- \e[2J'

# Checks
as_user env "${evil_env[@]}" /usr/bin/srun -N 4 -J "$hostile" \
    --comment "pmm: audit 57 FAIL [links=4 rounds=1 worst=h0005 excess=+900]" \
    --pmm-check /bin/true 2>said
like "$(<said)" 'pmm: OK' "a check, with a hostile environment and name"
harmless "a check"
like "$(cat spool/[0-9]* | tr '\n' ' ')" \
    "^pmm-spool 1 job [0-9]+ .*uid $(id -u "$test_user") .*checked 1 .* end " \
    "the job is in the spool, without its name"
serve () { as_slurm bin/pmm audit --conf pmm.conf --serve --once 2>&1; }
serve >log
((audits++))
like "$(<log)" 'audit 4 of 4 nodes: OK' "the service audits it"
commented ()
{
    serve >>log
    [[ $(sacct -n -X -P -j 4 -o admincomment,comment) =~ \
        ^'pmm: audit 4 OK '[^|]*'|pmm: audit 57 FAIL '.*$ ]]
}
within 30 commented
ok $? "... and has its line apart from the user's"
said=$(pmm report --sacct)
like "$said" '^1 jobs? with comments' "which pmm report reads"
! grep -q 'FAIL\|h0005' <<<"$said"
ok $? "... and not the user's"
! LC_ALL=C grep -q '[^ -~]' log
ok $? "... and says so in plain words"
ls told | sed 's/-.*//' | sort -u >uids
is "$(<uids)" "$(id -u "$test_user")" "the user's programs ran as the user only"
grep -rqF -e 'DROP' -e 'touch' spool state
ok $((! $?)) "the job's name is nowhere"

# Forged results: the plugin's probe is the site's, so in a step of the user's.
cat >evil/forge <<X
#!/bin/bash
nonce=$(printf '0123456789abcdef%.0s' 1 2)
link=$(pmm path -f fabric --json h0005 h0001 | jq -r '.forward[0]')
echo "pmm-port 1 \$nonce \$link 4 5 4xHDR SymbolErrorCounter=99999999" >&2
echo '{"kind":"samples","version":2,"nonce":"'\$nonce'","complete":true}'
echo "pmm-result 1 FAIL \$nonce host end h0005 +900 ns"
X
chmod 755 evil/forge
as_user srun -Q -N 4 -J "pmm-audit-$((audits + 1))-01234567" evil/forge \
    >/dev/null 2>&1
harmless "a forged record"
as_user bin/pmm plan -f fabric --hosts $nodes -o evil/plan
as_user bin/pmm simulate -f fabric --plan evil/plan --slow h0005/1=+900 \
    -o evil/samples
cp "$builddir/prolog/test/entries" bin/
said=$({
    as_user bin/entries begin -L state/ledger --hosts $nodes -f fabric
    as_user bin/entries add -L state/ledger -f fabric --plan evil/plan \
        --samples evil/samples
} 2>&1)
is "$(grep -c 'ledger' <<<"$said")" 2 "nor is it entered by hand"
is "$(as_user cat state/ledger 2>&1 | grep -c denied)" 1 \
    "the ledger, with its nonces, is not to be read"
harmless "samples of the user's"

# A fabric, a wire and a configuration of the user's own
as_user bin/pmm fabric generate fat-tree --ports 8 --levels 2 -o evil/fabric
emulate evil.sock evil/fabric --slow h0005/1=+9000
as_user srun -N 4 -w h0001,h0005,h0006,h0009 "--mpi=$mpi" bin/pmm-probe \
    --set Snapshot="$workdir/evil/fabric" --set Transport=emu \
    --set EmuSocket="$workdir/evil.sock" >/dev/null 2>said
like "$(<said)" 'h0005' "a wire of the user's, on which h0005 is slow"
harmless "that"
sed "s|EmuSocket=.*|EmuSocket=$workdir/evil.sock|" pmm.conf >evil/pmm.conf
chown "$test_user" evil/pmm.conf
like "$(as_slurm bin/pmm audit --conf evil/pmm.conf --idle 2>&1)" \
    'not trusted' "a pmm.conf of the user's is refused"
chown "$test_user" fabric
like "$(as_slurm bin/pmm audit --conf pmm.conf --idle 2>&1)" 'not trusted' \
    "a snapshot of the user's"
like "$(act)" 'not trusted' "... by what drains, too"
chown root fabric

# The service's own doors
like "$(as_user bin/pmm audit --conf pmm.conf --idle 2>&1)" 'ledger' \
    "the user runs no audit"
like "$(as_user bin/pmm policy act --conf pmm.conf 2>&1)" 'SlurmUser' \
    "nor what drains"
before=$(ls spool | wc -l)
as_user env SLURM_JOB_ID=9 SLURM_JOB_RESTART_COUNT=0 SLURM_JOB_UID=0 \
    SLURM_JOB_PARTITION=main SLURM_JOB_NODELIST=h0005 \
    bin/pmm-epilogslurmctld --conf pmm.conf 2>/dev/null
as_user cp /etc/passwd spool/9.0 2>/dev/null
is "$(ls spool | wc -l)" "$before" "nor leaves a record in the spool"
as_user srun -p audit /bin/true >/dev/null 2>&1
ok $((! $?)) "nor gets into the partition of audits"

# In an audit
audit >first &
auditing () { squeue -h -t R -o %j | grep -q '^pmm-audit'; }
within 20 auditing
job=$(squeue -h -t R -o '%i %j' | grep pmm-audit | cut -d' ' -f1)
as_user srun --jobid="$job" --overlap -N 1 -n 1 /bin/true >/dev/null 2>&1
ok $((! $?)) "nobody joins an audit's job"
as_user scancel "$job" 2>/dev/null
wait $!
((audits++))
like "$(<first)" ' OK ' "nor cancels it"

# Traffic onto the victim's cable
emu background h0005,h0006:0.9
audit >first
audit >second
emu background off
ok "$(cat first second | grep -c FAIL)" "traffic at h0005 is no slow cable"
harmless "traffic"

# What all of it did not bring about is brought about by a slow cable, in a
# fabric whose hosts describe themselves as they like.
# shellcheck disable=SC2016
said='h0005 $(touch told/x)`id`;DROP TABLE audit;--'
make_seal
sed "s|^\(ca [0-9a-f]* 1\) h0005 .*|\1 $said|" fabric | ./seal >described
mv described fabric
is "$(grep -cF "$said" fabric)" 1 "a host describes itself as it likes"
emu slow h0005/1 +1000
audit >first
sleep 1.1
audit >second
is "$(cat first second | grep -c FAIL)" 2 "a slow cable in two audits"
act >said
like "$(drained)" '^h0005 pmm: h0005 .* \+[0-9]+ ns over' \
    "drains its node, with a plain Reason" || diag "$(<said)"
ls told | sed 's/-.*//' | sort -u >uids
is "$(<uids)" "$(id -u "$test_user")" "and nothing of the user's ran as others"

done_testing
