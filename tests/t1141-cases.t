#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Topologies that can be drawn by hand, inferred from matrices, series and
# PARUS' files; latencies that overlap; somebody who was lost.

. "$(dirname "$0")/lib.sh"
need pmm jq awk
workdir
cd "$workdir" || exit 1

# matrix N EXPRESSION: of nodes n1 .. nN, the latency of i and j, counted from
# 0 and i < j, by an expression of awk
matrix ()
{
    awk -v n="$1" "BEGIN {
        srand (7)
        for (i = 0; i < n; i++)
            for (j = i + 1; j < n; j++)
                d[i, j] = d[j, i] = $2
        for (i = 0; i < n; i++) {
            printf \"n%d\", i + 1
            for (j = 0; j < n; j++)
                printf \" %s\", i == j ? 0 : d[i, j]
            print \"\"
        }
    }"
}

# run COMMAND...: its output is in out, what it says in err
run ()
{
    "$@" >out 2>err
    status=$?
}

# edges FILE: of a JSON topology, a line each
edges ()
{
    jq -r '.edges[] | "\(.a) \(.b) \(.latency_ns * 100 | round / 100)"' "$1"
}

matrix 9 'int (i / 3) == int (j / 3) ? 2 : 4' >nine
pmm-compare infer --json -o nine.json nine
is "$(jq '.switches' nine.json)" 4 "nine hosts in threes: four switches"
is "$(edges nine.json | awk '$NF == 1' | wc -l)" 12 \
    "twelve edges of length 1"
pmm-compare infer --format tgf nine | awk '/^#/ { e = 1; next } e' >edges.tgf
is "$(wc -l <edges.tgf)" 12 "as TGF"
is "$(awk '$3 == "l:" && $4 == 1' edges.tgf | wc -l)" 12 "of length 1"
is "$(pmm-compare infer --format dot nine | grep -c -- ' -- ')" 12 "as DOT"


matrix 12 'int (j / 3) == int (i / 3) ? 2 : \
           (int (j / 3) - int (i / 3)) % 2 ? 4 : 6' >ring
pmm-compare infer --json ring >ring.json
is "$(edges ring.json | grep -c '^switch')" 4 "a ring has no diagonals"

matrix 16 '400 + 200 * rand () + (i < 8 && j >= 8 ? 100 : 0)' >overlap
run pmm-compare infer overlap
is "$status" 3 "latencies overlap: exit status 3"
like "$(<err)" 'cannot tell: .*latencies overlap' "and it is said"
is "$(wc -c <out)" 0 "nothing else is"

# a series of the ring, in ns from 1,000 on, by two lengths; the last process
# was lost
series ()
{
    jq -Rnc '[inputs | split (" ")] as $m | ($m | length) as $n |
        def times: { min: (. * 500), p25: null, median: (. * 500),
                     p75: null, max: (. * 500), mean: (. * 500), sd: 1 };
        { kind: "series", version: 1, test: "one_to_one",
          pattern: "one-to-one", exchange: "round-trip", transport: "emu",
          seed: 1, repeats: 1, noise_length: 0, noise_messages: 0,
          noise_processes: 0, steps: 1, probes: 1, seconds: 1,
          complete: false,
          processes: [range ($n) | { label: $m[.][0], host: "h",
                                     lost: (. == $n - 1) }],
          pairs: [(0, 64) as $l | range ($n) as $a | range ($n) as $b |
              select ($a != $b and $a < $n - 1 and $b < $n - 1) |
              { a: $a, b: $b, length: $l, count: 1, lost: 0, time_ns:
                ($m[$a][$b + 1] | tonumber | . + $l | times) }],
          topologies: [] }' "$1"
}
series ring >series
run pmm-compare infer --json series
is "$status" 3 "a process was lost: exit status 3"
is "$(edges out | grep -c '^n')" 11 "the others are kept"
is "$(edges out | grep '^switch' | awk '$NF == 1000' | wc -l)" 4 \
    "of the shortest length, in ns"
run pmm-compare infer series
is "$(<err)" "pmm-compare infer: not measured: n12" "and it is named"
run pmm-compare infer --length 7 series
is "$status" 2 "of no length, there is nothing"

pmm-compare series series --format parus -o parus >/dev/null 2>&1
run pmm-compare infer --json parus_average.txt
is "$(edges out | grep -c '^switch')" 4 "from a matrix of PARUS"

for bad in 'a 0 1' 'a 0 x
b 1 0' ''; do
    printf '%s' "$bad" >bad
    run pmm-compare infer bad
    is "$status" 2 "refused: $(head -n 1 err)"
done

done_testing
