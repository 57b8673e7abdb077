#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Plans and latencies as other programs read them: ClusterKit, LogGOPSim and
# Scotch, whose own tester looks at what it is given where it is installed.
# Then what is refused.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1

hosts='h[0001-0008,0017-0024]'
pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
pmm plan -f fabric --hosts "$hosts" -o plan
pmm simulate -f fabric --plan plan -o samples
pmm solve -f fabric --plan plan --samples samples --pairs -o solution

pmm-compare export --format clusterkit -f fabric --plan plan -o lines
ok $? "a plan for ClusterKit"
is "$(<lines)" "$(jq -r '.rounds | to_entries[] | .key as $round | .value[]
    | "\($round + 1) \(.a) \(.b)"' plan)" "... its rounds, a line a pair"

is "$(pmm-compare export --format loggopsim --series solution --overhead 100)" \
    "-L $(jq '[.pairs[].rtt_ns / 2] | sort | .[length / 2 | floor]
        | . - 200 | round' solution) -o 100" "LogGOPSim's options"
pmm-compare export --format loggopsim-pairs --series solution --order nodes -o pairs
ok $? "... of all pairs"
is "$(wc -l <pairs) $(head -1 pairs | wc -w)" '16 16' \
    "... a matrix of as many as there are hosts"
# the one of two hosts, by the order of the nodes
read -r row column < <(awk '/^h0002$/ { a = NR } /^h0024$/ { b = NR }
    END { print a, b }' nodes)
is "$(awk "NR == $row { print \$$column }" pairs)" \
    "$(jq '.pairs[] | select (([.a, .b] | sort) == ["h0002", "h0024"])
        | .rtt_ns / 2 | round' solution)" "... with half of the round trips"

is "$(pmm-compare export --format scotch-tleaf -f fabric)" \
    "$(printf 'tleaf\t3\t8 2\t4 2\t4 2')" \
    "a fabric as a tree: 8 pods of 4 leaves of 4 hosts"
is "$(pmm-compare export --format scotch-tleaf --series solution)" \
    "$(printf 'tleaf\t3\t2 300\t2 300\t4 800')" \
    "the same of a job, by its latencies"
pmm-compare export --format scotch-deco --series solution -o deco
ok $? "a job as it is"
if type -P atst >/dev/null; then
    like "$(atst deco)" 'nbr=16.*max=1400' "... which Scotch finds good"
else
    skip "... which Scotch finds good" "no atst"
fi

# What is measured again is a few of the pairs, alone.
jq -c '{kind: "series", version, test: "one_to_one", pattern: "one-factor",
    seed: 1, repeats: 1, noise_length: 0, noise_messages: 0,
    noise_processes: 0, steps: 1, probes: 1, seconds: 1, complete: true,
    processes: [[.pairs[] | .a, .b] | unique[]
        | {label: ., host: ., lost: false}],
    topologies: []} as $run
    | ([.pairs[] | .a, .b] | unique) as $name
    | [.pairs[] | (.rtt_ns / 2) as $ns | {a: (.a as $a | $name | index ($a)),
        b: (.b as $b | $name | index ($b)), length: 0, count: 1, lost: 0,
        time_ns: (["min", "p25", "median", "p75", "max", "mean"]
            | map ({key: ., value: $ns}) | from_entries + {sd: 0})}]
        as $pairs
    | $run + {pairs: $pairs}, $run + {pattern: "one-factor-again",
        pairs: $pairs[:1]}' solution >series
is "$(wc -l <series) $(pmm-compare export --format loggopsim --series series)" \
    "2 $(pmm-compare export --format loggopsim --series solution)" \
    "pairs that were measured again, alone, are not the series"
is "$(pmm-compare infer series --format tgf)" "$(pmm-compare infer solution --format tgf)" \
    "... nor what a topology is inferred of"
pmm-compare series solution --format parus -o text
is "$(pmm-compare export --format loggopsim --series text_min.txt)" \
    "$(pmm-compare export --format loggopsim --series solution)" \
    "a matrix of PARUS, which has one statistic alone"

# refuse REASON OPTION...
refuse ()
{
    pmm-compare export "${@:2}" -o never 2>err
    is $? 2 "${*:2}: exit 2"
    like "$(<err)" "$1" "... and why"
}
refuse '--format NAME is missing' -f fabric
refuse 'is none of clusterkit, loggopsim' --format nix
refuse '--format clusterkit needs --plan FILE' --format clusterkit -f fabric
refuse '--plan needs --fabric FILE' --format clusterkit --plan plan
refuse '--format loggopsim needs --series FILE' --format loggopsim -f fabric
refuse '--series cannot be combined with --fabric' --format scotch-deco -f fabric --series solution
refuse '--series cannot be combined with --hosts' --format loggopsim --series solution \
    --hosts h0001
refuse 'less than twice' --format loggopsim --series solution --overhead 9999
refuse 'no tree of equal groups' --format scotch-tleaf -f fabric \
    --hosts 'h[0001-0005]'
refuse 'no pair was measured by messages of 64' --format loggopsim \
    --series solution --length 64
refuse '--stat needs --series FILE' --format scotch-deco -f fabric --stat min
refuse '--overhead needs --format loggopsim' --format scotch-deco -f fabric \
    --overhead 5
refuse '--eps needs --format scotch-tleaf' --format scotch-deco -f fabric --eps .1
refuse '^pmm-compare export: --length needs --series FILE$' --format scotch-deco \
    -f fabric --length 8
[[ ! -e never ]]
ok $? "... and nothing was written"
jq -c '.pairs |= .[:-1]' solution >less
is "$(pmm-compare export --format loggopsim-pairs --series less 2>err)" "" \
    "a pair that is not known: nothing of the others is written"
like "$(<err)" 'is not known' "... and why"
pmm-compare export --format scotch-tleaf -f fabric -o never --order none/order 2>err
is "$? $(ls never 2>&1 | grep -c 'No such')" "3 1" \
    "an order that cannot be written: exit 3, and nothing is"

done_testing
