#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bench/map-mpi: 64 ranks of MPI, in three orders, get all messages of a graph.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq make
workdir
for mpi in openmpi mpich; do
    [[ ! -x $builddir/compare/mpi/pmm-probe-mpi.$mpi || ! $(type -P mpirun.$mpi) ]] \
        || built=$mpi
done
[[ $built ]] || skip_all "no MPI"
make -s -C "$builddir" "bench/map_mpi.$built" >"$workdir/made" 2>&1
ok $? "the benchmark is built" || diag "$(<"$workdir/made")"
builddir=$builddir "$srcdir/bench/map-mpi" -s 10 -i 2 -n 1 stencil \
    >"$workdir/table" 2>"$workdir/err"
is $? 0 "64 ranks get the messages that are due" || diag "$(<"$workdir/err")"
cd "$workdir" || exit 1
is "$(sed -nE 's/^[|] (stencil [|] [a-z]+ [|] [0-9]+) [|].*/\1/p' table)" \
    "$(printf 'stencil | %s | 224\n' block cyclic map)" "... in each order"
is "$(awk -F ' *[|] *' 'NR > 2 { print $5, $3 }' table | sort -n | head -n 1 |
    cut -d' ' -f2)" map "... of which that by pmm-compare map has the least latency"

# A rank that is not there
program=("mpirun.$built" -n 2 "$builddir/bench/map_mpi.$built" 1 1 1)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
echo "0 2 100" >messages
timeout $((60 * patience)) "${program[@]}" messages block >out 2>&1
ok $((!$?)) "a rank that no process has: it fails"
like "$(<out)" 'messages: no messages of 2 ranks in 1 orders' "... and says so"
done_testing
