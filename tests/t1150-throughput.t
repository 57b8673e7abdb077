#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What links carry: rounds of flows are planned that fill them, and a link of
# less rate is named, of hosts and of switches, and no other. Then what switches
# and halves can carry at most, and what each verb must refuse.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
pmm plan -f fabric --throughput -v -o plan 2>said
ok $? "a plan for all links of 128 hosts"
like "$(<said)" 'fill 384 of 384 links' "... each of which a round fills"
pmm plan -f fabric --check plan
ok $? "... which the checker finds true"
is "$(jq -r '[.method, (.targets | length)] | @tsv' plan)" "throughput	384" \
    "... as the file has it"

# Flows that are in one round in the file are one link's too much.
jq -c '.rounds = [[.rounds[][] | select (.a == "h0001" or .b == "h0001")]]
    | .measurements = (.rounds[0] | length) | .extra_rounds = 1' plan >wrong
pmm plan -f fabric --check wrong 2>said
is $? 2 "a host in two flows of a round"
like "$(<said)" 'h0001 is in two flows' "... is named"
jq -c 'del (.rounds[1:][]) | .measurements = (.rounds[0] | length)
    | .extra_rounds = 1' plan >wrong
pmm plan -f fabric --check wrong 2>said
like "$(<said)" 'no round fills' "a round that is missing leaves links unfilled"

pmm-compare simulate -f fabric --plan plan -o series
ok $? "what it measures"
pmm-compare rates -f fabric --plan plan --series series >table
ok $? "nothing is slow"
is "$(grep -cE '( 200\.0   ){4} 200\.0 ' table)" 384 \
    "... each link has its nominal rate beside it"

is "$(grep -cE '^[0-9a-f]{16} +800\.0 +[0-9]+\.[0-9]  s[123]-' table)" 80 \
    "... each switch what can go through it beside what did"

# rates LINK=GBPS...: judge what a plan measures where these links are slow.
rates ()
{
    pmm-compare simulate -f fabric --plan plan "${@/#/--rate=}" -o slow &&
        pmm-compare rates -f fabric --plan plan --series slow --json >rates
}
host=$(pmm path -f fabric h0003 h0128 --json | jq -r '.forward[0]')
first=$(pmm path -f fabric h0003 h0128 --json | jq -r '.forward[1]')
second=$(pmm path -f fabric h0003 h0128 --json | jq -r '.forward[2]')
rates "$host=50"
is $? 1 "a host end of a quarter of its rate: exit 1"
is "$(jq -c '.findings[] | [.level, .kind, .suspects, .nodes,
    (.carried_gbps, .nominal_gbps | floor)]' rates)" \
    "[\"FAIL\",\"host end\",[\"$host\"],[\"h0003\"],50,200]" \
    "... that link, and its rate"
rates "$first=100" "$second=50"
is "$(jq -c '[.findings[].suspects[]] | sort' rates)" \
    "$(jq -nc '$ARGS.positional | sort' --args "$first" "$second")" \
    "two switch links on one way: both"
is "$(jq -c --arg id "$second" '.links[] | select (.id == $id)
    | [.nominal_gbps, ([.carried_gbps[]] | min) | floor]' rates)" '[200,50]' \
    "... with the rates that they have"

# Cables of twice the hosts' rate need two hosts on either side.
pmm fabric export -f fabric --format ibnetdiscover -o wires
pmm fabric export -f fabric --format lfts -o tables
sed '/"H-/s/4xHDR/4xEDR/; /^Ca/,/^$/s/4xHDR/4xEDR/' wires >slower
pmm fabric import slower tables -o mixed
pmm plan -f mixed --throughput -v -o plan2 2>said
like "$(<said)" 'fill 384 of 384 links' "hosts of half the cables' rate"
pmm plan -f mixed --check plan2 &&
    pmm-compare simulate -f mixed --plan plan2 --rate "$first=120" -o slow
pmm-compare rates -f mixed --plan plan2 --series slow --json >rates
is "$(jq -c '[.findings[] | .suspects, (.carried_gbps,
    .nominal_gbps | floor)]' rates)" \
    "[[\"$first\"],120,200]" \
    "... one that carries more than a host, and less than two, is named"

# A host that is lost.
jq -c '(.processes | map (.host) | index ("h0005")) as $lost
    | .pairs |= map (select (.a != $lost and .b != $lost))
    | .complete = false' series >part
pmm-compare rates -f fabric --plan plan --series part --json >rates
is $? 3 "a host is lost: exit 3"
is "$(jq -c '[.status, (.lost > 0), (.findings | length)]' rates)" \
    '["UNKNOWN",true,0]' "... it says so, and keeps the rest"

pmm rates -f fabric --json >most
ok $? "what can be carried at most"
is "$(jq -c '[.bisection.halves, (.bisection.at_most_gbps | floor),
    (.switches | length)]' most)" '[[64,64],12800,80]' \
    "... between halves: 64 hosts of 200 Gb/s"
pmm rates -f fabric --hosts 'h[0001,0005-0006,0009-0011,0013-0016]' >table
like "$(grep ' s2-0001$' table)" ' 4 +5 +5 ' \
    "... through a switch above 1, 2, 3 and 4 hosts: 5 and 5"

refused ()
{
    local what=$1
    shift
    "$@" >out 2>said
    is $? 2 "refused: $what"
}
refused "a plan without a series" pmm-compare rates -f fabric --plan plan
is "$(<said)" "pmm-compare rates: --series FILE is missing" "... and why"
refused "latencies of flows" pmm simulate -f fabric --plan plan --noise 5
refused "no such link" pmm-compare simulate -f fabric --plan plan --rate h9999/1=5
refused "a rate that is none" pmm-compare simulate -f fabric --plan plan \
    --rate "$host=fast"
pmm plan -f fabric --hosts 'h[0001-0008]' -o probes
refused "rates of probes" pmm-compare simulate -f fabric --plan probes \
    --rate "$host=50"
jq -c '.targets[3] = "0/0"' plan >bad
refused "a plan for a link that is none" pmm plan -f fabric --check bad
is "$(<said)" "pmm plan: bad: targets[3]: not a link on a path between the hosts" \
    "... and why"
jq -c '.test = "one_to_one"' series >alone
refused "exchanges one way at a time" pmm-compare rates -f fabric --plan plan \
    --series alone
refused "what another plan measured" pmm-compare rates -f fabric --plan probes \
    --series series
is "$(<said)" "pmm-compare rates: series: no run of exchanges both ways at once by a \
plan of method pmm" "... which is said"
jq -c '.pairs[].time_ns |= map_values(1e-300)' series >fast
refused "rates of no link" pmm-compare rates -f fabric --plan plan --series fast --json
like "$(<said)" '^pmm-compare rates: fast: h[0-9]+ to h[0-9]+: .* than any link has$' \
    "... whose pair is named"
refused "the halves of one host" pmm rates -f fabric --hosts h0001
jq -c '.fabric = "other"' series >other
refused "another fabric's" pmm-compare rates -f fabric --plan plan --series other
like "$(<said)" '^pmm-compare rates: other: measured in another fabric' \
    "... by its name"

# No link's width and speed are known.
sed 's/ 4xHDR/ ?????/' wires >unknown
pmm fabric import unknown tables -o blind
pmm rates -f blind >out 2>said
is "$? $(<out)" "3 " "no rate is known: what can be carried is not, either"
like "$(<said)" 'width and speed' "... and why"
refused "flows of no rate" pmm-compare simulate -f blind --plan plan
pmm-compare rates -f blind --plan plan --series series --json >rates
is "$? $(jq -c '[.status, ([.switches[].most_gbps] | unique)]' rates)" \
    '0 ["OK",[null]]' "... nor through a switch, of flows that were measured"

# What is measured again is so alone, and says nothing of links.
jq -c '.pattern = "throughput-again" | .pairs |= .[:2]' series >again
cat series again >both
pmm-compare rates -f fabric --plan plan --series both >table
is "$? $(grep -c 'not measured' table)" "0 0" \
    "pairs that were measured again, alone, do not count"

done_testing
