#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A process of an MPI test is lost in a real Slurm, which then ends the others:
# the first process leaves what there is, says that it is not all, and exits 3.
# srun does not wait for what is still under way to its own standard output once
# a task was ended by a signal: nodes write it to files here.

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need srun jq
with_mpi_cluster 4
cd "$workdir" || exit 1

# Whether a process minds SIGTERM, as the one does that keeps the results.
keeps ()
{
    local mask
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    ((16#${mask:-0} & 16#4000))
}

# Sets keeper and another process of a program, once all is under way.
find_processes ()
{
    local pid
    keeper='' another=''
    for pid in $(pgrep -f "^$1 pairs"); do
        if keeps "$pid"; then keeper=$pid; else another=$pid; fi
    done
    [[ $keeper && $another ]]
}

for mpi in openmpi:pmix mpich:pmi2; do
    pmi=${mpi#*:}
    mpi=${mpi%:*}
    srun --mpi=list 2>&1 | grep -qw "$pmi" \
        || { skip "$mpi" "this Slurm has no $pmi"; continue; }
    probe=$(type -P "pmm-probe-mpi.$mpi") \
        || { skip "$mpi" "pmm-probe-mpi was not built for it"; continue; }
    install -m 755 "$probe" "$workdir/probe.$mpi" # where only ours run
    probe=$workdir/probe.$mpi
    [[ $mpi != openmpi || $(ompi_info --version) != *v[5-9].* ]] || {
        skip "$mpi" "Open MPI ends all processes at once since 5"
        continue
    }
    timeout 600 srun -Q -o "$mpi.%t" --mpi="$pmi" -N4 -n4 -K1 \
        "$probe" pairs -l 0,1M -n 100000 -o "$mpi" 2>err &
    srun=$!
    within 20 find_processes "$probe"
    kill -KILL "$another"
    wait $srun
    like "$(<err)" "task 0: Exited with exit code 3" \
        "$mpi: one is lost, the first exits 3"
    is "$(jq -c '[.complete, (.processes | length)]' "$mpi")" "[false,4]" \
        "... the results say that they are not all"
    like "$(<"$mpi.0")" "incomplete: not all was measured" "... and the table"
done

done_testing
