#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Without noise the verbs are exact: on trees of up to 432 hosts, and on each
# other family of fabrics, with latencies drawn at random, the round trip of every pair of hosts and the latency of
# every link or group that the paths determine comes out as it went in. The
# truth is computed here, from the latencies and the snapshot's own text.

. "$(dirname "$0")/lib.sh"
need pmm jq awk
workdir
cd "$workdir" || exit 1
seed=${SEED:-$RANDOM}
diag "seed $seed"

# The worst relative error of what "pair A B NS", "link ID NS" and "group NS
# ID=P/Q ..." lines say, and how many of each there are.
cat >compare.awk <<'END_AWK'
BEGIN {
    for (i = 0; i < 256; i++)
        value[sprintf("%02x", i)] = i
}
FILENAME == "latency" { ns[$1] = $2; next }
FILENAME == "fabric" && $1 == "ca" { name[$2] = $4 }
FILENAME == "fabric" && $1 == "port" {
    split($2, end, "/")
    port[name[end[1]]] = $2
    lid[name[end[1]]] = $4
}
FILENAME == "fabric" && $1 == "cable" {
    link[$2] = link[$3] = $2
    far[$2] = $3
    far[$3] = $2
}
FILENAME == "fabric" && $1 == "lft" { table = $2; next }
FILENAME == "fabric" && $1 ~ /^[0-9]+$/ {
    for (i = 0; i < length($2) / 2; i++)
        out[table, $1 + i] = value[substr($2, 2 * i + 1, 2)]
}
FILENAME == "fabric" && $1 ~ /^[0-9]+-/ {
    split($1, range, "-")
    for (i = range[1]; i <= range[2]; i++)
        out[table, i] = value[$2]
}
FILENAME == "fabric" { next }

# time from a port over its cable and on to a LID; hosts have no tables
function walk (from, to,    end)
{
    split(far[from], end, "/")
    if (!((end[1], to) in out))
        return ns[link[from]]
    if (!((end[1], to) in rest))
        rest[end[1], to] = walk(end[1] "/" out[end[1], to], to)
    return ns[link[from]] + rest[end[1], to]
}
function compare (what, got, want,    error)
{
    count[what]++
    error = (got - want) / want
    if (error < 0)
        error = -error
    if (!(error <= worst))
        worst = error
}
$1 == "pair" {
    compare($1, $4, walk(port[$2], lid[$3]) + walk(port[$3], lid[$2]))
}
$1 == "link" { compare($1, $3, ns[$2]) }
$1 == "group" {
    sum = 0
    for (i = 3; i <= NF; i++) {
        split($i, member, "=")
        split(member[2], part, "/")
        sum += ns[member[1]] * part[1] / (part[2] ? part[2] : 1)
    }
    compare($1, $2, sum)
}
END {
    print count["pair"] + 0, count["link"] + count["group"], worst < 1e-9
    printf "worst relative error %.2g, %d links, %d groups\n", worst,
        count["link"], count["group"] >"/dev/stderr"
}
END_AWK

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
    is "$(awk -f compare.awk latency fabric found 2>said)" \
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
