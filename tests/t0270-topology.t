#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The topology.conf that a fabric suggests, in the stock slurmctld: it is taken,
# and Slurm's tree is the fabric's.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm slurmctld scontrol jq
workdir
cd "$workdir" || exit 1
pmm fabric generate fat-tree --ports 4 --levels 2 -o tree
pmm fabric generate fat-tree --ports 8 --levels 2 --rails 2 -o rails
pmm fabric generate dragonfly --p 1 --a 2 --h 2 -o fly
with_cluster 8
etc=$workdir/slurm/etc

# topology FABRIC [FORMAT [OPTION...]]: start slurmctld with what it suggests.
topology ()
{
    local format=${2-topology.conf}
    pmm fabric export -f "$1" --format "$format" "${@:3}" \
        -o "$etc/$format" || return
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

is "$(pmm doctor --json | jq -r '.checks[] | select (.check == "topology")
    | [.level, .text] | @tsv')" "OK	$etc/topology.conf" "the doctor sees it"

if [[ $(scontrol -V) > "slurm-wlm 25.05" ]]; then
    rm "$etc/topology.conf"
    tree=$(shown)
    topology tree topology.yaml
    ok $? "slurmctld starts with a topology.yaml"
    is "$(shown)" "$tree" "... of the same tree"
    is "$(scontrol show topology block | grep -o '^BlockName.*')" "$(cat <<'X'
BlockName=s1-0001 BlockIndex=0 Nodes=h[0001-0002] BlockSize=2
BlockName=s1-0002 BlockIndex=1 Nodes=h[0003-0004] BlockSize=2
BlockName=s1-0003 BlockIndex=2 Nodes=h[0005-0006] BlockSize=2
BlockName=s1-0004 BlockIndex=3 Nodes=h[0007-0008] BlockSize=2
X
)" "... and blocks"
    rm "$etc/topology.yaml"
    topology tree
else
    skip "topology.yaml" "this Slurm does not read it"
fi

# Pods: each host is at two leaves.
topology rails topology.conf --hosts 'h[0001-0008]'
ok $? "slurmctld starts with pods"
is "$(shown)" "$(sort <<'X'
SwitchName=level2-1 Level=1 Nodes=h[0001-0008] Switches=pod-[1-2]
SwitchName=pod-1 Level=0 Nodes=h[0001-0004]
SwitchName=pod-2 Level=0 Nodes=h[0005-0008]
X
)" "... of all nodes"
is "$(srun --immediate=20 -N 4 --switches=1 -w h0006 printenv SLURMD_NODENAME | sort |
    paste -sd,)" h0005,h0006,h0007,h0008 "... by which it places a job"
is "$(srun --immediate=20 -N 8 printenv SLURMD_NODENAME | wc -l)" 8 "... and one of all nodes"

# A node that the file lacks.
sed -i 's/h\[0005-0008\]/h[0005-0007]/' "$etc/topology.conf"
is "$(pmm doctor --json | jq -r '.checks[] | select (.check == "topology")
    | [.level, .text] | @tsv')" "WARN	$etc/topology.conf: no switch has 1 of 8 \
nodes (h0008), and no job with others gets them: pmm fabric export --format \
topology.conf; or add them to a switch" "the doctor names it"

# Chosen hosts and rails, and what is refused.
pmm fabric export -f rails --format topology.conf --hosts 'h[0001-0003,0019-0020]' \
    --rails mlx5_1 2>said | grep ^Switch >chosen
is "$(<chosen)" "$(pmm fabric export -f rails --format topology.yaml \
    --hosts 'h[0001-0003,0019-0020]' --rails 'mlx5_[1-7]/1' 2>/dev/null |
    awk -F'"' '/switch:/ { name = $2 } /nodes:/ { print "SwitchName=" name \
        " Nodes=" $2 } /children:/ { print "SwitchName=" name " Switches=" $2 }
        /block_sizes/ { exit }')" "topology.yaml has the same tree"
is "$(head -n 1 chosen)" "SwitchName=s1-0002 Nodes=h[0001-0003]" \
    "by the rail that was asked for"
is "$(<said)" "pmm fabric export: not in the snapshot: h[0019-0020]" \
    "... and says whom it does not know"
pmm fabric export -f rails --format topology.yaml --rails mlx4_0 2>said
is "$? $(<said)" "2 pmm fabric export: --rails: no host has any of mlx4_0" \
    "no such rail"
pmm fabric export -f rails --format lfts --hosts h0001 2>said
is $? 2 "tables of some hosts"

[[ ${PMM_LONG-} ]] || done_testing

# Ten hosts, of which Slurm has eight.
topology fly
ok $? "slurmctld starts with a dragonfly's"
like "$(shown)" 'SwitchName=level1-1 Level=1 .*Switches=s1-\[0001-0002\],s2' \
    "... of one group"
is "$(srun -N 8 scontrol show hostnames h1 | wc -l)" 8 "... and runs a job"

done_testing
