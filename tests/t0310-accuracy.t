#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Without noise the verbs are exact: on trees of up to 432 hosts, and on each
# other family of fabrics, with latencies drawn at random, the round trip of
# every pair of hosts and the latency of every link or group that the paths
# determine comes out as it went in. The largest tree by one routing alone, by both
# with PMM_FULL.

. "$(dirname "$0")/lib.sh"
need pmm jq awk
workdir
cd "$workdir" || exit 1
seed=${SEED:-$RANDOM}
diag "seed $seed"

# exact WHAT OPTION...: of the plan
exact ()
{
    local what=$1
    shift
    pmm plan -f fabric "$@" -o plan && pmm plan -f fabric --check plan \
        && pmm simulate -f fabric --plan plan --latency latency --repeats 1 \
            -o samples \
        && pmm solve -f fabric --plan plan --samples samples --pairs \
            -o solution
    ok $? "$what: planned, checked, simulated and solved" || return
    jq -r '(.pairs[] | "pair \(.a) \(.b) \(.rtt_ns)"),
        (.links[] | select(.latency_ns) | "link \(.id) \(.latency_ns)"),
        (.groups[] | "group \(.latency_ns) " + (.members | to_entries
            | map("\(.key)=\(.value)") | join(" ")))' solution >found
    is "$(awk -f "$srcdir/tests/exact.awk" latency fabric found 2>said)" \
        "$(jq -r '"\(.hosts * (.hosts - 1) / 2) \(.rank) 1"' plan)" \
        "$what: all pairs, as many links and groups as the rank, exact"
    sed 's/^/# /' said
}

latencies ()
{
    awk -v seed="$((++seed))" 'BEGIN { srand(seed) }
        $1 == "cable" { printf "%s %.6f\n", $2, 100 + 800 * rand() }' \
        fabric >latency
}

# of which jobs leave more to groups
quarter ()
{
    awk -v seed="$seed" 'BEGIN { srand(seed) }
        $1 == "ca" && (rand() < 0.25 || ++others <= 2) { print $4 }' \
        fabric >job
    exact "$1, a quarter of the hosts" --hosts @job
}

for shape in 4:2 8:2 12:2 16:2 4:3 8:3 12:3; do
    for routing in dmodk minhop; do
        [[ $shape$routing != 12:3minhop || ${PMM_FULL-} ]] || continue
        pmm fabric generate fat-tree --ports "${shape%:*}" \
            --levels "${shape#*:}" --routing "$routing" --seed "$seed" \
            -o fabric
        latencies
        exact "$shape, $routing"
    done
    quarter "$shape"
done

while read -r family; do
    # shellcheck disable=SC2086
    pmm fabric generate $family --seed "$seed" -o fabric
    latencies
    exact "$family"
    quarter "$family"
done <<'END_FAMILIES'
dragonfly --p 2 --a 4 --h 2
slimfly --q 5
irregular --switches 30 --hosts 120
fat-tree --ports 8 --levels 3 --routing minhop --prune 10
fat-tree --ports 12 --levels 2 --routing minhop --oversubscribe 2
END_FAMILIES

done_testing
