# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sourced by tests from audits to drains, after lib.sh: programs that SlurmUser,
# who is not root, runs over an emulated wire; two audits are enough for a drain.
# They make ./fabric and start Slurm and the emulator.

# shellcheck disable=SC2154
need pmm pmm-probe pmm-emu jq srun sinfo scontrol
pmm policy --help >/dev/null 2>&1 \
    || skip_all "built without Slurm or the ledger"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1
built_to "$workdir/bin" probe/pmm-probe pmm/pmm
install -d -o slurm -m 755 state reports

# configure KEY=VALUE...: writes ./conf
configure ()
{
    cat >conf <<END
Snapshot=$workdir/fabric
Ledger=$workdir/state/ledger
Baseline=$workdir/state/baseline.json
Probe=$workdir/bin/pmm-probe
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=$((20 * patience))
ConfirmAfter=1s
MaxDrainShare=50
MaxUnavailable=50
END
    printf '%s\n' "$@" >>conf
}
pmm_slurm () { as_slurm "$workdir/bin/pmm" "$@" --conf "$workdir/conf"; }
ended () { [[ -z $(sinfo -h -p main -t completing,alloc -o %N) ]]; }
now_ms () { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
later_on () { (($(now_ms) > before + 1000)); }
before=0
# audit LIST: ConfirmAfter behind the one before
audit ()
{
    local status
    within 20 ended
    within 10 later_on
    pmm_slurm audit --hosts "$1"
    status=$?
    before=$(now_ms)
    return $status
}
act () { pmm_slurm policy act; }
drained () { sinfo -h -p main -N -t drain -o %N | xargs; }
