#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The topology.conf that a fabric suggests, in the stock slurmctld: it is taken,
# and Slurm's tree is the fabric's.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm slurmctld scontrol
workdir
cd "$workdir" || exit 1
pmm fabric generate fat-tree --ports 4 --levels 2 -o tree
pmm fabric generate dragonfly --p 1 --a 2 --h 2 -o fly
with_cluster 8
etc=$workdir/slurm/etc

# topology FABRIC: start slurmctld with what it suggests.
topology ()
{
    pmm fabric export -f "$1" --format topology.conf -o "$etc/topology.conf" \
        || return
    grep -q '^TopologyPlugin' "$etc/slurm.conf" \
        || echo 'TopologyPlugin=topology/tree' >>"$etc/slurm.conf"
    scontrol shutdown slurmctld
    within 20 "$srcdir/contrib/cluster/cluster" start "$workdir/slurm" \
        slurmctld 2>err
}
shown () { scontrol show topology | sed -E 's/ LinkSpeed=[0-9]+//' | sort; }

topology tree
ok $? "slurmctld starts with the tree's"
is "$(shown)" "$(sort <<'X'
SwitchName=level2-1 Level=1 Nodes=h[0001-0008] Switches=s1-[0001-0004]
SwitchName=s1-0001 Level=0 Nodes=h[0001-0002]
SwitchName=s1-0002 Level=0 Nodes=h[0003-0004]
SwitchName=s1-0003 Level=0 Nodes=h[0005-0006]
SwitchName=s1-0004 Level=0 Nodes=h[0007-0008]
X
)" "... and has its switches"
is "$(srun -N 2 --switches=1 -w h0003 printenv SLURMD_NODENAME | sort |
    paste -sd,)" h0003,h0004 "... by which it places a job"

[[ ${PMM_LONG-} ]] || done_testing

# Ten hosts, of which Slurm has eight.
topology fly
ok $? "slurmctld starts with a dragonfly's"
like "$(shown)" 'SwitchName=level1-1 Level=1 .*Switches=s1-\[0001-0002\],s2' \
    "... of one group"
is "$(srun -N 8 scontrol show hostnames h1 | wc -l)" 8 "... and runs a job"

done_testing
