#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Traffic that saturates the links of idle hosts drains none of them, and is
# said of them; a cable that is slow under it is found when it has ended, and
# most of those that are slow elsewhere before. With PMM_LONG=1 fifty times on a
# fabric with 64 idle hosts, else twice on one with 16.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu
flood=$builddir/prolog/test/flood
[[ -x $flood ]] || skip_all "built without Slurm or the ledger"
workdir
cd "$workdir" || exit 1

read -r ports trials seed <<<"8 2 1"
[[ ! ${PMM_LONG-} ]] || read -r ports trials seed <<<"16 ${PMM_TRIALS:-50} $RANDOM"
seed=${PMM_SEED:-$seed}
pmm fabric generate fat-tree --ports "$ports" --levels 2 -o fabric
cat >conf <<END
Snapshot=$workdir/fabric
Ledger=$workdir/ledger
Baseline=
Srun=$workdir/srun
Probe=$(type -P pmm-probe)
Transport=emu
EmuSocket=$workdir/emu
AuditTimeout=60
Action=drain
ConfirmAfter=1s
MaxDrainPerDay=1000
MaxDrainShare=100
MaxUnavailable=100
END

# In srun's place: a probe for each node of the list, on this machine.
cat >srun <<'END'
#!/bin/bash
label= verbose=
while [[ $1 == -* ]]; do
    case $1 in
    --nodelist=*) list=${1#*=} ;;
    --label) label=1 ;;
    --verbose) verbose=1 ;;
    esac
    shift
done
nodes=()
part='^([^],[]+)(\[([^]]*)])?,?(.*)$'
while [[ $list =~ $part ]]; do
    prefix=${BASH_REMATCH[1]} ranges=${BASH_REMATCH[3]} list=${BASH_REMATCH[4]}
    for range in ${ranges//,/ }; do
        low=${range%-*}
        for ((i = 10#$low; i <= 10#${range#*-}; i++)); do
            nodes+=("$prefix$(printf '%0*d' ${#low} $i)")
        done
    done
    [[ $ranges ]] || nodes+=("$prefix")
done
rm -f rendezvous
n=${#nodes[@]}
for ((i = 0; i < n; i++)); do
    [[ ! $verbose ]] || echo "srun: launching StepId=1.0 on host" \
        "${nodes[i]}, 1 tasks: $i" >&2
done
for ((i = 0; i < n; i++)); do
    if [[ $label ]]; then
        # pipes, which the end waits for, not >(...): all that was said comes
        { SLURMD_NODENAME=${nodes[i]} "$@" \
            --coord "local:$i:$n:${nodes[i]}:$PWD/rendezvous" 2>&1 >&3 \
            | sed -u "s/^/$i: /" >&2; } 3>&1 | sed -u "s/^/$i: /" &
    else
        SLURMD_NODENAME=${nodes[i]} "$@" \
            --coord "local:$i:$n:${nodes[i]}:$PWD/rendezvous" &
    fi
done
wait
END
chmod +x srun

emu_up fabric --noise 3
diag "seed $seed"
"$flood" "$trials" "$seed"
