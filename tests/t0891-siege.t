#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One user does all at once that an ordinary user can: 2,000 directories where
# PMIx wants its own, 200 short jobs, locks on whatever can be opened, and a
# flood. The audits of others' nodes go on at half their rate at least, and no
# node is drained.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need flock pmm pmm-probe pmm-emu jq srun
pmm audit --help | grep -q -e --serve || skip_all "built without the service"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1

# Others have h0001 to h0006. The user has h0009 and h0010, makes directories on
# h0010, and floods h0013.
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
Probe=$workdir/bin/pmm-probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=$((20 * patience))
AuditMinNodes=2
AuditEvery=0
AuditAgainAfter=0
AuditsPerHour=16
Action=drain
ConfirmAfter=1
MaxUnavailable=50
END
ledger=state/ledger
with_cluster h0001,h0002,h0005,h0006,h0009,h0010,h0013 --slurm-user slurm
emu_up fabric

# ended JOB UID NODES: slurmctld's hook tells that it has.
ended ()
{
    env -i SLURM_JOB_ID="$1" SLURM_JOB_UID="$2" SLURM_JOB_PARTITION=main \
        SLURM_JOB_NODELIST="$3" setpriv --reuid=slurm \
        --regid="$(id -g slurm)" --init-groups \
        "$workdir/bin/pmm-epilogslurmctld" --conf "$workdir/conf"
}
serve ()
{
    as_slurm "$workdir/bin/pmm" audit --serve --once --conf "$workdir/conf" \
        2>>log
}
quiet () { [[ ! $(squeue -h) ]]; }
# How many of the jobs from one number to another had an audit with a result.
audited ()
{
    entries export -L $ledger | jq -s --argjson from "$1" \
        --argjson to "$2" '[.[] | select(.kind == "audit" and .job
            and .about >= $from and .about <= $to) | .about]
            | unique | length'
}
# others FIRST: eight jobs of four users on the others' nodes, two at a time.
others ()
{
    local i pairs=('h[0001-0002]' 'h[0005-0006]' 'h[0001,0005]' 'h[0002,0006]')
    for ((i = 0; i < 8; i++)); do
        ended $(($1 + i)) $((4001 + i / 2)) "${pairs[i % 4]}"
        ((i % 2 == 0)) || serve
    done
}

others 9001
peace=$(audited 9001 9008)
is "$peace" 8 "in peace, the jobs of others are audited"

# The budget of an hour begins anew with another ledger.
ledger=state/siege
sed -i "s|^Ledger=.*|Ledger=$workdir/$ledger|" conf

# 2,000 directories where PMIx wants its own
base=$workdir/slurm/tmp/h0010/spmix_appdir_$(id -u slurm)
as_user bash -c "mkdir '$base'_{1..2000}.0"
is "$(find "${base%/*}" -maxdepth 1 -user "$test_user" | wc -l)" 2000 \
    "a user makes directories"
# 200 jobs, a few of which run
for job in 1 2 3; do
    as_user srun -w h0009,h0010 --mpi=none true
done
is $? 0 "... has jobs"
for job in {8001..8200}; do
    ended "$job" "$(id -u "$test_user")" 'h[0009-0010]'
done
for job in {8301..8304}; do
    ended "$job" "$(id -u "$test_user")" 'h[0009-0010,0013]'
done
# Shared locks on whatever opens, until the test is over
mapfile -t files < <(find state spool fabric conf)
# shellcheck disable=SC2016
as_user bash -c 'for file; do
        { exec {fd}<"$file" && flock -s "$fd"; } 2>/dev/null
    done
    echo $$
    exec sleep 3600' sh "${files[@]}" >locker &
within 20 test -s locker
ok $? "... holds locks"
cleanup kill "$(<locker)"
# A flood
for from in h0009 h0010 h0014 h0015; do
    emu background "$from,h0013:1"
done

others 9101
siege=$(audited 9101 9108)
((2 * siege >= peace))
ok $? "the audits of others go on at half their rate at least: $siege of $peace" \
    || diag "$(<log)"
is "$(entries export -L $ledger | jq -s -c '[.[] | select(.kind == "audit"
    and .about >= 9101 and .status != "OK") | .status]')" '[]' \
    "... and find them well"
serve
is "$(pmm ledger missed -L $ledger | grep -o h0010 | sort -u)" \
    "$([[ $mpi != pmix ]] || srun --mpi=list 2>&1 | grep -qw pmi2 || echo h0010)" \
    "the node that PMIx cannot reach is audited by PMI-2; without that it is named"
is "$(sinfo -h -N -p main -t drain -o %N)" "" "no node is drained"
within 30 quiet
ok $? "and no job is left"

done_testing
