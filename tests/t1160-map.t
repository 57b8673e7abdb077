#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm-compare map: a ring, a stencil and a random graph of 64 ranks on a job of 16 nodes
# cost less than in the orders that Slurm gives; where block order is the best, it
# is left. Over the emulator, the messages take what the check's result let expect.
# A real Slurm starts the ranks where the file says.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-compare-probe pmm-emu jq
. "$srcdir/tests/ranks.sh"
workdir
cd "$workdir" && ranks_of_job || exit 1

solved rack 'h[0001-0016]'

# cost PAIRS GRAPH ORDER...: latency summed over messages, in each order
cost ()
{
    messages "$2" "$1" "${@:3}" | awk '
        { for (i = 4; i <= NF; i++) sum[i] += $i; n = NF }
        END { for (i = 4; i <= n; i++) printf "%.0f ", sum[i] }'
}

for graph in ring stencil random; do
    pmm-compare map $graph --series job -o order 2>said
    is "$? $(wc -l <order) $(sort order | uniq -c | awk '{ print $1 }' | uniq)" \
        "0 64 4" "$graph: 64 ranks, four on each of 16 nodes"
    read -r new block cyclic <<<"$(cost pairs $graph order block cyclic)"
    ((new < block && new < cyclic))
    ok $? "... $new costs less than block order, $block, and cyclic, $cyclic"
    is "$(pmm-compare map $graph --series job --json | jq -r '.nodes[]')" "$(<order)" \
        "... as JSON, too"
    is "$(awk '/ order / { printf "%.4g ", $5 }' said)" \
        "$(printf '%.4g ' "$block" "$cyclic" "$new")" "... which it says, too"
    is "$(awk '/ order / { printf "%.5g ", $8 }' said)" \
        "$(messages $graph pairs block cyclic order | awk '{
            for (i = 4; i <= 6; i++) if ($i > far[i]) far[i] = $i }
            END { printf "%.5g %.5g %.5g ", far[4], far[5], far[6] }')" \
        "... and how far apart the farthest two that talk are"
    is "$(awk '/ order / { print $8 }' said | sort -g | head -n 1)" \
        "$(awk '/this order / { print $8 }' said)" "... who are not farther"
    cp order $graph.order
done
pmm-compare map ring --series job -o order 2>said
is "$(cksum <order)" "$(cksum <ring.order)" "the same once more: the same order"

pmm-compare map ring --series rack -o order 2>said
is "$? $(uniq -c order | awk '{ printf "%s*%d ", $2, $1 }')" \
    "0 $(seq -f 'h%04.0f*4' -s' ' 16) " \
    "a ring on nodes side by side, all cables alike: block order"
like "$(<said)" 'no order was found that costs less than block order' \
    "... and it says that none is better"
pmm-compare map stencil -f fabric --hosts "$job_nodes" --tasks 8 -o order 2>said
is "$? $(sort order | uniq -c | awk '$1 > 8' | wc -l)" "0 0" \
    "by the links between nodes, up to 8 ranks on each"
like "$(<said)" 'links +all messages' "... which it says"

# What a check knows of the pairs is what messages take

emu_up fabric --latency latency
mapfile -t hosts <nodes
emu_conf Baseline= "Timeout=$((20 * patience))"
start_probes --result result.json
finish_probes
is $? 0 "a check of the 16 nodes, over the emulator" || diag "$(<stderr)"
start_probes pairs --pattern one-factor --repeats 2 -o series
finish_probes
is $? 0 "... and all pairs, measured" || diag "$(<stderr)"
jq -r '.processes as $p | .pairs[] |
    "\($p[.a].host) \($p[.b].host) \(.time_ns.median)"' series >measured
for graph in ring stencil random; do
    pmm-compare map $graph --series result.json -o order 2>said
    read -r new block cyclic <<<"$(cost measured $graph order block cyclic)"
    ((new > 0 && new < block && new < cyclic))
    ok $? "$graph: one after the other, its messages take $new ns, not $block"
done
emu_down

# refuse REASON OPTION...
refuse ()
{
    pmm-compare map "${@:2}" -o never 2>err
    is $? 2 "${*:2}: exit 2"
    like "$(<err)" "$1" "... and why"
}
refuse '--series FILE or --fabric FILE is missing' ring
refuse '--series cannot be combined with --fabric' ring --series job -f fabric
refuse '--length needs --series FILE' ring -f fabric --length 8
refuse '64 ranks, and 16 nodes of 3 tasks have 48 places' ring --series job \
    --tasks 3
refuse 'no latency of h0002 was measured' ring --series job --hosts h0001,h0002
echo 0 >graph
refuse '^pmm-compare map: graph:1: not FROM TO' graph --series job
[[ ! -e never ]]
ok $? "... and nothing was written"

# Slurm starts each rank where the file says

with_cluster 4
cd "$workdir" || exit 1
printf 'h%04d\n' 3 1 1 4 2 4 3 2 >order
is "$(SLURM_HOSTFILE=order srun -N4 -n8 --distribution=arbitrary --overcommit \
    sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' 2>err | sort -n | cut -d' ' -f2)" \
    "$(<order)" "srun --distribution=arbitrary: the ranks of a hostfile" ||
    diag "$(<err)"

done_testing
