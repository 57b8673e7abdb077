#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm map: a ring, a stencil and a random graph of 64 ranks on a job of 16 nodes
# cost less than in the orders that Slurm gives; where block order is the best, it
# is left. Over the emulator, the messages take what the check's result let expect.
# A real Slurm starts the ranks where the file says.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

# A job of 16 nodes as a busy cluster has them free: in 7 of the 8 pods
list='h[0003,0011,0017-0018,0040,0061,0077,0090-0092,0113,0128,0055,0023,0100,0001]'
pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
pmm fabric show -f fabric --json |
    jq -r '.links | to_entries[] | "\(.value.id) \(100 + .key * 7919 % 1900)"' \
    >latency

# solved NAME LIST [OPTION]...: what a check of these hosts would know of pairs
solved ()
{
    pmm plan -f fabric --hosts "$2" -o "$1.plan" 2>/dev/null &&
        pmm simulate -f fabric --plan "$1.plan" "${@:3}" -o "$1.samples" &&
        pmm solve -f fabric --plan "$1.plan" --samples "$1.samples" --pairs \
            -o "$1"
}
solved job "$list" --latency latency
solved rack 'h[0001-0016]'

awk 'BEGIN { for (i = 0; i < 64; i++) print i, (i + 1) % 64, 100 }' >ring
awk 'BEGIN {
    print "# from to messages"
    for (x = 0; x < 8; x++)
        for (y = 0; y < 8; y++) {
            if (y < 7) print 8 * x + y, 8 * x + y + 1, 100
            if (x < 7) print 8 * x + y, 8 * x + y + 8, 100
        }
    }' >stencil
awk 'BEGIN {
    for (i = 0; i < 64; i++) {
        for (j = 0; j < 64; j++) {
            x = (x * 1103515245 + 12345) % 2147483648
            printf "%d ", int (x / 65536) % 11 == 0 ? x % 200 : 0
        }
        print ""
    }
    }' >random # a matrix

# cost GRAPH HOSTFILE [SERIES]: latency summed over messages, by the solution of
# the job, or as measured
cost ()
{
    if [[ $3 ]]; then
        jq -r '.processes as $p | .pairs[] | "pair \($p[.a].host) " +
            "\($p[.b].host) \(.time_ns.median)"' "$3"
    else
        jq -r '.pairs[] | "pair \(.a) \(.b) \(.rtt_ns / 2)"' job
    fi |
        cat - <(sed 's/^/host /' "$2") <(sed -n 's/^[0-9]/edge &/p' "$1") |
        awk '$1 == "pair" { ns[$2, $3] = ns[$3, $2] = $4 }
            $1 == "host" { host[n++] = $2 }
            $1 == "edge" && NF == 4 { sum += $4 * ns[host[$2], host[$3]] }
            $1 == "edge" && NF > 4 {
                for (i = 2; i <= NF; i++)
                    sum += $i * ns[host[row + 0], host[i - 2]]
                row++
            }
            END { printf "%.0f\n", sum }'
}
jq -r '[.pairs[] | .a, .b] | unique[]' job >nodes
for ((i = 0; i < 64; i++)); do sed -n $((i / 4 + 1))p nodes; done >block
for ((i = 0; i < 64; i++)); do sed -n $((i % 16 + 1))p nodes; done >cyclic

for graph in ring stencil random; do
    pmm map $graph --series job -o order 2>said
    is "$? $(wc -l <order) $(sort order | uniq -c | awk '{ print $1 }' | uniq)" \
        "0 64 4" "$graph: 64 ranks, four on each of 16 nodes"
    read -r new block cyclic <<<"$(cost $graph order) $(cost $graph block) $(
        cost $graph cyclic)"
    ((new < block && new < cyclic))
    ok $? "... $new costs less than block order, $block, and cyclic, $cyclic"
    is "$(awk '/ order / { printf "%.4g ", $5 }' said)" \
        "$(printf '%.4g ' "$block" "$cyclic" "$new")" "... which it says, too"
    cp order $graph.order
done
pmm map ring --series job -o order 2>said
is "$(cksum <order)" "$(cksum <ring.order)" "the same once more: the same order"

pmm map ring --series rack -o order 2>said
is "$? $(uniq -c order | awk '{ printf "%s*%d ", $2, $1 }')" \
    "0 $(seq -f 'h%04.0f*4' -s' ' 16) " \
    "a ring on nodes side by side, all cables alike: block order"
like "$(<said)" 'no order was found that costs less than block order' \
    "... and it says that none is better"
pmm map stencil -f fabric --hosts "$list" --tasks 8 -o order 2>said
is "$? $(sort order | uniq -c | awk '$1 > 8' | wc -l)" "0 0" \
    "by the links between nodes, up to 8 ranks on each"
like "$(<said)" 'links +all messages' "... which it says"

# What a check knows of the pairs is what messages take

emu_up fabric --latency latency
mapfile -t hosts <nodes
cat >conf <<END
Snapshot=$workdir/fabric
Baseline=
Transport=emu
EmuSocket=$workdir/emu
Timeout=$((20 * patience))
END
start_probes --result result.json
finish_probes
is $? 0 "a check of the 16 nodes, over the emulator" || diag "$(<stderr)"
start_probes pairs --pattern one-factor --repeats 2 -o measured
finish_probes
is $? 0 "... and all pairs, measured" || diag "$(<stderr)"
for graph in ring stencil random; do
    pmm map $graph --series result.json -o order 2>said
    read -r new block cyclic <<<"$(cost $graph order measured) $(
        cost $graph block measured) $(cost $graph cyclic measured)"
    ((new > 0 && new < block && new < cyclic))
    ok $? "$graph: one after the other, its messages take $new ns, not $block"
done
emu_down

# refuse REASON OPTION...
refuse ()
{
    pmm map "${@:2}" -o never 2>err
    is $? 2 "${*:2}: exit 2"
    like "$(<err)" "$1" "... and why"
}
refuse 'where are the nodes' ring
refuse 'where are the nodes' ring --series job -f fabric
refuse 'go with --series' ring -f fabric --length 8
refuse '64 ranks, and 16 nodes of 3 tasks have 48 places' ring --series job \
    --tasks 3
refuse 'no latency of h0002 was measured' ring --series job --hosts h0001,h0002
echo 0 >graph
refuse '^pmm map: graph:1: not FROM TO' graph --series job
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
