# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sourced by tests of the audit service, after lib.sh: a Slurm of five nodes over
# an emulated wire, whose EpilogSlurmctld says what jobs have ended; ./conf of the
# service, which is not started yet. What is told goes to state/told, with a
# NotifyProgram that is notify.NAME to state/told.NAME.

# shellcheck disable=SC2154,SC2086
need pmm pmm-probe pmm-emu jq pgrep srun sacct squeue strace cc
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
{ cat; echo; } >>$workdir/state/told\${0#*notify}
END
chmod 755 bin/notify
for name in new small later; do cp -p bin/notify bin/notify.$name; done
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

# serve '' or --once [COMMAND...]: by that command
serve ()
{
    as_slurm "${@:2}" "$workdir/bin/pmm" audit --serve --conf "$workdir/conf" $1
}
once () { serve --once "$@" 2>>log; }
start ()
{
    : >log
    # shellcheck disable=SC2016
    serve '' sh -c 'echo $$ >"$0"; exec "$@"' "$workdir/state/pid" 2>>log &
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
export () { entries export -L state/ledger; }
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
