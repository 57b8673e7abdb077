#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What tests of pairs measured, as tables, matrices of PARUS and CSV, and back;
# appended; fitted; less what messages themselves take; compared.

. "$(dirname "$0")/lib.sh"
need pmm jq awk
workdir
cd "$workdir" || exit 1

# series BYTE LENGTH...: a run of five hosts, in ns: 1000 + 100 for each host
# that is between two, and BYTE for each byte
series ()
{
    jq -nc --argjson byte "$1" --argjson lengths "$(jq -sc . <<<"${*:2}")" '
        def times: { min: ., p25: ., median: (. + 1), p75: (. + 2),
                     max: (. + 4), mean: (. + 2), sd: 1.5 };
        { kind: "series", version: 1, test: "one_to_one",
          pattern: "one-to-one", exchange: "round-trip", transport: "emu",
          seed: 1, repeats: 10, noise_length: 0, noise_messages: 0,
          noise_processes: 0, steps: 20, probes: 20, seconds: 0.5,
          complete: true,
          processes: [range (1; 6) | "h000\(.)" |
              { label: ., host: ., lost: false }],
          pairs: [$lengths[] as $l | range (5) as $a | range (5) as $b |
              select ($a != $b) |
              { a: $a, b: $b, length: $l, count: 10, lost: 0, time_ns:
                (900 + 100 * ($a - $b | fabs) + $byte * $l | times) }],
          topologies: [] }'
}

# values STAT: of the file s, as parus.awk prints them
values ()
{
    jq -r --arg stat "$1" '[.processes[].label] as $name | .pairs[] |
        "\(.length) \($name[.a]) \($name[.b]) \(.time_ns[$stat])"' s \
        | awk '{ printf "%s %s %s %.3f\n", $1, $2, $3, $4 }' | sort
}

series 0.5 0 1000 2000 3000 >s
pmm-compare series s >table
ok $? "a table"
grep -qx 'Latency: 1.101 microseconds' table
ok $? "the latency, of messages without a byte"
like "$(<table)" ' 2000 +951.928 +2.101 ' "transfer rate by size"
like "$(pmm-compare series s --stat min --lengths 2000)" ' 2000 +952.38[0-9] +2.100 ' \
    "one size alone, by its minimum"

pmm-compare series s --format parus -o p
is "$?:$(ls p_*)" "0:p_average.txt
p_deviation.txt
p_median.txt
p_min.txt" "four files of matrices"
for file in average:mean median:median deviation:sd min:min; do
    name=${file%:*} stat=${file#*:}
    is "$(awk -f "$srcdir/tests/parus.awk" "p_$name.txt" | sort)" \
        "$(values "$stat")" "$name: another reader finds the same"
    pmm-compare series "p_$name.txt" --format parus -o again \
        && cmp "p_$name.txt" "again_$name.txt"
    ok $? "$name: read and written again"
    pmm-compare compare s "p_$name.txt" --stat "$stat" --json >compared
    is "$?:$(jq -c '[.stat, .pairs, (.deviation_ns.max | fabs) < 1e-6,
        .only_a, .only_b]' compared)" "0:[\"$stat\",80,true,[],[]]" \
        "$name: no pair deviates, none is missing"
done

sed 's/^data type "min"/data type "minimum"/' p_min.txt >theirs_min.txt
pmm-compare series theirs_min.txt --format parus -o again && cmp p_min.txt again_min.txt
ok $? "a minimum by its other name"

# A noise test: the goal pairs alone, then with noise
{
    jq -c '.pattern = "alone"' s
    jq -c '.test = "test_noise" | .pattern = "noise" | .noise_processes = 3' s
} >noise
pmm-compare series noise --format parus -o n
is "$?:$(echo n[-_]*average.txt):$(grep -h '^test' n_average.txt n-alone_*ge.txt)" \
    '0:n-alone_average.txt n_average.txt:test type "test_noise"
test type "one_to_one"' "of a noise test, the one with noise is the first"
cat noise noise | pmm-compare series - --format parus -o m
is "$?:$(ls m[-_]*min.txt | sort | tr '\n' ' ')" \
    "0:m-2-alone_min.txt m-2_min.txt m-alone_min.txt m_min.txt " "of two as well"

pmm-compare series s --format csv --append -o csv \
    && pmm-compare series s --format csv --append -o csv
is "$?:$(wc -l <csv):$(grep -c ^test csv)" 0:161:1 \
    "CSV, appended to, has one header"
is "$(sed -n 2p csv)" "one_to_one,one-to-one,round-trip,emu,,,h0001,h0002,0,\
10,0,1000,1000,1001,1002,1004,1002,1.5,0" "and a line for each pair"

# a spread of times is no time
pmm-compare series p_deviation.txt >said
is "$?:$(grep -c Latency said):$(sed -n 6p said | tr -s ' ')" \
    "0:0: 0 - 0.002 0.002 0.002 h0001 h0002" \
    "deviations alone: no latency, no rate"
for verb in 'series --format fit' infer 'export --format loggopsim --series'; do
    # shellcheck disable=SC2086
    pmm $verb p_deviation.txt 2>said
    is "$?" 2 "$verb: $(<said)"
done
pmm-compare export --format loggopsim --series p_min.txt >said
is "$?" 0 "of a matrix of minima there are latencies"

for lengths in '' 7 0,7 1k '0,,' x; do
    pmm-compare series s --lengths "$lengths" >said 2>&1
    is "$?" 2 "--lengths '$lengths': $(<said)"
done
series 1 1024 >kib
like "$(pmm-compare series kib --lengths 1k)" \
    'Latency: 2.125 microseconds, with 1024 bytes' "by units"
pmm-compare series s --run 0 2>said
is "$?" 2 "$(<said)"

# appended to another kind of file, or to half a file
cp s half && truncate -s -1 half
cp s json
for to in 'json table' 'json csv' 'csv json' 'p_min.txt json' 'half json'; do
    cp "${to% *}" held
    pmm-compare series s --format "${to#* }" --append -o held 2>said
    is "$?:$(cmp held "${to% *}")" 2: "$(<said)"
done

series 0.55 0 1000 2000 3000 >slower
cp s two
pmm-compare series slower --json --append -o two
is "$?:$(wc -l <two)" 0:2 "a second run behind the first"
like "$(pmm-compare compare two)" '^two \(run 1\) to two \(run 2\): the median of 80' \
    "two runs of a file"
pmm-compare compare two --json >one
pmm-compare compare s slower --json | cmp - one
ok $? "the second beside the first"
is "$(jq -c '[.pairs, .deviation_ns.mean, .deviation_ns.absolute,
    .deviation_ns.quadratic, .deviation_ns.max, .deviation_ns.at]
    | map (if type == "number" then . * 1000 | round else . end)' one)" \
    '[80000,75000,75000,93541,150000,{"a":"h0001","b":"h0002","length":3000}]' \
    "0, 50, 100 and 150 ns more: means and the maximum"
pmm-compare compare slower s >said
is "$?" 0 "the other way around"
like "$(<said)" 'maximum deviation +-150.000 ns +-5.658 %' "is negative"
pmm-compare compare s slower --within 7 >said
is "$?" 0 "within 7 %"
pmm-compare compare s slower --within 5 >said
is "$?" 1 "but not within 5 %"

jq -c '.pairs[].time_ns[] |= 0' s >zero
pmm-compare compare zero s --within 5 >said
is "$?" 1 "from nothing, anything is more than 5 %"
pmm-compare compare zero zero --within 5 >said
is "$?" 0 "but nothing is not"

for length in 0 1000; do
    pmm-compare series s --lengths "$length" --json -o "only$length"
done
is "$(pmm-compare compare only0 only1000 | sed -n 2p)" \
    'by messages of 0 bytes, and of 1000' "lengths that differ are said"
is "$(pmm-compare compare only0 only0 | grep -c messages)" 0 "others are not"

jq -c '.pairs |= map (select (.a != 2 and .length < 3000))' s >part
pmm-compare compare s part >said
is "$?:$(grep -c 'only in s: 32$' said):$(tail -1 said)" \
    "0:1:    and 22 more" "what one alone has is said"
jq -c '.processes |= map (.label |= "x" + .)' s >strangers
pmm-compare compare s strangers >said
is "$?" 3 "nothing in common: cannot tell"
pmm-compare compare s s --run-b 2 2>said
is "$?" 2 "there is no second run"

like "$(pmm-compare series s --format fit)" \
    ' 1001.000 +0.000 +2000.000 +1.000 +4  h0001 h0002' \
    "latency and throughput of a pair, by regression"
like "$(pmm-compare series s --format fit --lengths 0,3000 --stat mean)" \
    ' 1302.000 +- +2000.000 +1.000 +2  h0001 h0005' "and from two sizes"
pmm-compare series s --format fit --lengths 0 2>said
is "$?" 2 "one size is none too many: $(<said)"

# all links have 4 lanes of HDR: 25 GB/s, 0.04 ns a byte; there are two links
# within a switch, four between two
pmm fabric generate fat-tree --ports 4 --levels 2 -o fabric
less ()
{
    pmm-compare series s -f fabric --own-time "$1" --json | jq -c '
        [.pairs[] | select (.a == 0 and .length == 1000) |
         .time_ns.min * 1000 | round]'
}
is "$(pmm fabric show --json -f fabric | jq -c '[.links[] |
    [.width, .speed]] | unique')" '[[4,"HDR"]]' "links of one rate"
is "$(less cut-through)" '[1460000,1560000,1660000,1760000]' \
    "less the message's own time, which the slowest link takes"
is "$(less store-and-forward)" '[1420000,1440000,1540000,1640000]' \
    "or each link again"
pmm-compare series s --own-time cut-through 2>said
is "$?" 2 "$(<said)"
jq -c '.fabric |= "another"' s >other
pmm-compare series other -f fabric --own-time cut-through 2>said
is "$?" 2 "$(<said)"

# a solution beside a test of its pairs
pmm plan -f fabric -o plan \
    && pmm simulate -f fabric --plan plan --noise 1 --seed 1 -o samples \
    && pmm solve -f fabric --plan plan --samples samples --pairs -o solution
jq -c '.pairs as $p | ([$p[].a, $p[].b] | unique) as $name |
    { kind: "series", version: 1, test: "one_to_one", seed: 1, repeats: 1,
      noise_length: 0, noise_messages: 0, noise_processes: 0, steps: 1,
      probes: 1, seconds: 1, complete: true, topologies: [],
      processes: [$name[] | { label: ., host: ., lost: false }],
      pairs: [$p[] | .a as $a | .b as $b | { a: ($name | index ($a)),
          b: ($name | index ($b)), length: 64, count: 1, lost: 0,
          time_ns: { min: null, p25: null, median: (.rtt_ns / 2 + 10),
                     p75: null, max: null, mean: null, sd: null } }] }' \
    solution >pairs
pmm-compare compare solution pairs --json >compared
is "$?:$(jq -c '[.pairs, (.deviation_ns.mean * 1000 | round),
    (.only_a | length), .only_b]' compared)" '0:[28,10000,28,[]]' \
    "a solution's pairs, of which one side was measured"
pmm-compare infer pairs --unit us 2>said
is "$? $(<said)" "2 pmm-compare infer: pairs says in which unit it is: --unit is for a \
plain matrix" "a series has a unit"

jq -c '.processes[4].lost |= true | .pairs[0].lost |= 4 | .complete |= false' \
    s >lost
like "$(pmm-compare series lost)" 'lost: process 4, h0005
lost: 4 exchanges
incomplete: not all was measured' "what was lost is said"

jq -c '.test = "topology" | .pairs = [] | .topologies = [
    { shape: "star", both_ways: false, length: 1000, count: 1, lost: 0,
      time_ns: { min: 8000, p25: 8000, median: 8000, p75: 8000, max: 8000,
                 mean: 8000, sd: 0 } },
    { shape: "ring", both_ways: true, length: 1000, count: 1, lost: 0,
      time_ns: { min: 5000, p25: 5000, median: 5000, p75: 5000, max: 5000,
                 mean: 5000, sd: 0 } }]' s >topologies
is "$(pmm-compare series topologies | sed -n '4,5p' | tr -s ' ')" \
    " Size Star Chaos Ring iStar iChaos iRing
 1000 250.000 - - - - 400.000" "R(avg) of topologies"
is "$(pmm-compare series topologies | sed -n '8,9p' | tr -s ' ')" \
    " 1000 8.000 250.000 1000.000 250.000 1000.000 star
 1000 5.000 400.000 2000.000 800.000 800.000 iring" "and all their rates"
cat s topologies >mixed
is "$(pmm-compare series mixed --format rates | wc -l)" 12 "rates of these runs alone"
is "$(pmm-compare series mixed --format fit | wc -l)" 22 "and lines of the others"
pmm-compare series s --format rates 2>said
is "$?" 2 "$(<said)"
pmm-compare series topologies -f fabric --own-time cut-through 2>said
is "$?" 2 "$(<said)"
is "$(pmm-compare series topologies --format rates | sed -n '1,3p;8,9p')" \
    "star, one way, 1000 bytes: R(total) 1000.000 R(avg) 250.000 MB/s
    R(local) 1000.000 MB/s h0001
    R(local) 250.000 MB/s h0002
    R(local) 800.000 MB/s h0001
    R(local) 800.000 MB/s h0002" "R(local) and R(total) of N = P-1 and P"
pmm-compare series topologies --format parus -o t 2>said
is "$?:$(ls t_* 2>/dev/null)" 2: "topologies are no matrices"

for bad in plan samples /dev/null "$srcdir/README.md"; do
    pmm-compare series "$bad" >said 2>&1
    is "$?" 2 "refused: $(<said)"
done

done_testing
