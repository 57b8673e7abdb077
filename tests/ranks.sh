# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Ranks for pmm-compare map, sourced by tests and bench/map-mpi: a job of 16 nodes in an
# 8-port 3-tree, and who talks to whom among 64 ranks.

# A job as a busy cluster has nodes free: in 7 of the 8 pods
job_nodes='h[0003,0011,0017-0018,0040,0061,0077,0090-0092,0113,0128,0055,0023'
job_nodes+=',0100,0001]'

# solved NAME LIST [OPTION]...: what a check of these hosts would know of pairs
solved ()
{
    pmm plan -f fabric --hosts "$2" -o "$1.plan" 2>/dev/null &&
        pmm simulate -f fabric --plan "$1.plan" "${@:3}" -o "$1.samples" &&
        pmm solve -f fabric --plan "$1.plan" --samples "$1.samples" --pairs \
            -o "$1"
}

# ranks_of_job [LIST]: ./fabric, its ./latency, ./job (a solution), its ./pairs (A B NS),
# ./nodes, the orders
# ./block and ./cyclic, and the graphs ./ring, ./stencil and ./random
ranks_of_job ()
{
    local i
    pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
    pmm fabric show -f fabric --json | jq -r '.links | to_entries[] |
        "\(.value.id) \(100 + .key * 7919 % 1900)"' >latency
    solved job "${1:-$job_nodes}" --latency latency || return
    jq -r '.pairs[] | "\(.a) \(.b) \(.rtt_ns / 2)"' job >pairs
    jq -r '[.pairs[] | .a, .b] | unique[]' job >nodes
    for ((i = 0; i < 64; i++)); do sed -n $((i / 4 + 1))p nodes; done >block
    for ((i = 0; i < 64; i++)); do sed -n $((i % 16 + 1))p nodes; done >cyclic

    awk 'BEGIN { for (i = 0; i < 64; i++) print i, (i + 1) % 64, 1 }' >ring
    awk 'BEGIN {
        print "# from to messages"
        for (x = 0; x < 8; x++)
            for (y = 0; y < 8; y++) {
                if (y < 7) print 8 * x + y, 8 * x + y + 1, 1
                if (x < 7) print 8 * x + y, 8 * x + y + 8, 1
            }
        }' >stencil
    awk 'BEGIN {
        for (i = 0; i < 64; i++) {
            for (j = 0; j < 64; j++) {
                x = (x * 1103515245 + 12345) % 2147483648
                printf "%d ", int (x / 65536) % 11 == 0 ? 1 + x % 4 : 0
            }
            print ""
        }
        }' >random # a matrix
}

# messages GRAPH PAIRS ORDER...: two ranks a line that send each other a message,
# and the latency between their nodes in each order; sorted so that each rank has
# one message in a round, the first number. PAIRS: lines A B NS.
messages ()
{
    {
        sed 's/^/pair /' "$2"
        paste "${@:3}" | sed 's/^/nodes /'
        sed -n 's/^[0-9]/edge &/p' "$1"
    } | awk '
        function add (a, b, n, i, round)
        {
            for (; n > 0; n--) {
                for (round = 0; (a, round) in busy || (b, round) in busy; )
                    round++
                busy[a, round] = busy[b, round] = 1
                printf "%d %d %d", round, a, b
                for (i = 1; i <= orders; i++)
                    printf " %.3f", ns[node[a, i], node[b, i]]
                print ""
            }
        }
        $1 == "pair" { ns[$2, $3] = ns[$3, $2] = $4 }
        $1 == "nodes" {
            for (i = 2; i <= NF; i++)
                node[rank + 0, i - 1] = $i
            rank++
            orders = NF - 1
        }
        $1 == "edge" && NF == 4 { add($2, $3, $4) }
        $1 == "edge" && NF > 4 {
            for (i = 2; i <= NF; i++)
                add(row + 0, i - 2, $i)
            row++
        }' | sort -n
}
