# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sourced by t0520 and t0521, after lib.sh: who may do what.

# shellcheck disable=SC2154,SC2317
need jq sacct sbatch sinfo squeue
pmm policy --help >/dev/null 2>&1 && [[ -x $builddir/prolog/test/remark ]] \
    || skip_all "built without Slurm or the ledger"
id slurm &>/dev/null || skip_all "no user slurm"
workdir
cd "$workdir" || exit 1

with_plugin
built_to "$workdir/bin" pmm/pmm prolog/test/remark prolog/pmm-comment
sed -i '/^Baseline/d' pmm.conf
cat >>pmm.conf <<X
Baseline       = $workdir/state/baseline.json
Ledger         = $workdir/state/ledger
JobComment     = $workdir/bin/pmm-comment
AuditTimeout   = $((20 * patience))
ConfirmAfter   = 1s
Action         = drain
MaxDrainShare  = 50
MaxUnavailable = 50
X
emu_up fabric

# as USER COMMAND...
as ()
{
    case $1 in
    root) "${@:2}" ;;
    slurm) as_slurm "${@:2}" ;;
    *) as_user "${@:2}" ;;
    esac
}
verb () { as "$1" bin/pmm "${@:2}" --conf "$workdir/pmm.conf" 2>&1; }
remark () { as "$1" bin/remark state/ledger "${@:2}" 2>&1; }

all_idle () { [[ $(sinfo -h -N -p main -o %t | grep -cx idle) == 6 ]]; }

# check USER COMMAND OPTION: a job of six nodes; its status, how many of its
# tasks ran, and what the check said
check ()
{
    local args=(srun -N6 "$3" echo task) status
    [[ $2 == srun ]] || args=(sbatch --parsable -N6 "$3" -o "$workdir/home/batch"
        --wrap 'srun echo task')
    install -m 666 /dev/null home/batch
    within 20 all_idle
    as "$1" timeout 900 "${args[@]}" >out 2>&1 </dev/null
    status=$?
    [[ $2 == srun ]] || { finished "$(tail -n 1 out)"; status=$?; }
    cat home/batch >>out
    echo "$status $(grep -cx task out)" \
        "$(sed -nE 's/^pmm: (OK|WARN|FAIL|UNKNOWN):.*/\1/p' out | head -n 1)"
}

# What is SlurmUser's, by name: the command, its status, what it says
audit () { within 20 all_idle; verb "$1" audit --hosts "$nodes"; }
act () { verb "$1" policy act; }
comment () { remark "$1" flush 300; }
commands=(
    "audit   1 audit [0-9]+ FAIL a cable is .* slow: h0005's"
    "act     0 h0005: drained: pmm: h0005 mlx5_0/1's cable is "
    "comment 0 1$"
)

# test_users SLURM_USER OTHER...: what is SlurmUser's is none of the others'
test_users ()
{
    local slurm_user=$1 others=("${@:2}")
    as_user true # its home
    install -d -o "$slurm_user" state
    with_cluster h0001,h0002,h0005,h0006,h0009,h0013 \
        --slurm-user "$slurm_user" --plugstack "$workdir/plugstack"
    emu heal all
    for _ in 1 2 3; do
        audit $slurm_user
    done >said
    is "$(grep -c '^audit . OK' said) $(head -c 7 state/baseline.json)" \
        "3 pmmbase" "SlurmUser $slurm_user: audits give a baseline" \
        || diag "$(<said)"

    # CABLES COMMAND OPTION: what is expected of anybody's
    while read -r cables command option expected; do
        [[ $cables != slow ]] || emu slow h0005/1 +1000
        for user in root slurm "$test_user"; do
            is "$(check "$user" "$command" "$option")" "$expected" \
                "... cables are $cables: $command $option as $user" \
                || diag "$(<out)"
        done
    done <<'X'
fine srun --pmm-check 0 6 OK
fine srun --pmm-check=require 0 6 OK
slow srun --pmm-check 0 6 FAIL
slow srun --pmm-check=require 1 0 FAIL
slow sbatch --pmm-check=require 1 0 FAIL
X
    is "$(squeue -h -t all -o '%u %k' | grep -o '.* pmm: check FAIL' |
        sort -u)" \
        "$(printf '%s pmm: check FAIL\n' root slurm "$test_user" | sort)" \
        "... and is in the Comments of their jobs"

    audit $slurm_user >said # which another FAIL is to confirm
    sleep 1 # ConfirmAfter
    job=$(sacct -X -n -P -S now-3600 -o jobid | head -n 1)
    echo "$job 0 pmm: audit 1 OK" | remark $slurm_user queue
    for line in "${commands[@]}"; do
        read -r command status says <<<"$line"
        before=$(entries export -L state/ledger)
        for user in "${others[@]}"; do
            said=$($command "$user")
            like "$? $(wc -l <<<"$said") $said" \
                "^[23] 1 .*: (staff .*sudo|runuser) -u $slurm_user " \
                "... no $command as $user, who is told what to do"
        done
        is "$(entries export -L state/ledger)" "$before" \
            "... nor anything of it in the ledger"
        said=$($command $slurm_user)
        like "$? $said" "^$status .*$says" "... but as SlurmUser"
    done
    is "$(sinfo -h -N -p main -t drain -o '%N %u')" "h0005 $slurm_user" \
        "... by whom the node is drained"
    is "$(sacct -X -n -P -j "$job" -o admincomment)" "pmm: audit 1 OK" \
        "... and the job commented"
    said=$(verb root audit --serve --once)
    like "$? $said" '^2 .*: it must not run as root: run it as SlurmUser: runuser -u slurm -- pmm' \
        "... the service is not root's"
}
