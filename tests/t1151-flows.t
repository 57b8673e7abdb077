#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What links carry, measured: the flows of a plan for throughput are run by
# pmm-compare-probe over the emulator, where a link of less rate is planted, of a host
# and of a switch. Cables take two hosts, so that one alone does not show it.

. "$(dirname "$0")/lib.sh"
need pmm pmm-compare-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

hosts=(h000{1..4} h000{5..8} h0009 h001{0..2})

# run: the plan's flows, both ways, into the file series; its leader's status
run ()
{
    rm -f series
    start_probes pairs --plan plan --exchange both-ways --lengths 131072 \
        --repeats 3 --exchanges 8 --timeout 600 -o series
    finish_probes
}

# rates: judge them; prints status and suspects
rates ()
{
    pmm-compare rates -f fabric --plan plan --series series --json >rates
    echo "$? $(jq -c '[.findings[].suspects]' rates)"
}

# Hosts of 100 Gb/s on cables of 200.
pmm fabric generate fat-tree --ports 8 --levels 2 --routing minhop -o whole
pmm fabric export -f whole --format ibnetdiscover -o wires
pmm fabric export -f whole --format lfts -o tables
sed -i '/"H-/s/4xHDR/4xEDR/; /^Ca/,/^$/s/4xHDR/4xEDR/' wires
pmm fabric import wires tables -o fabric
pmm plan -f fabric --throughput --hosts "$(IFS=,; echo "${hosts[*]}")" \
    -o plan
ok $? "a plan for ${#hosts[@]} hosts: $(jq -c '.rounds | map (length)' plan)"
emu_conf
emu_up fabric

run
ok $? "its flows are measured" || diag "$(<stderr)"
is "$(jq -c '[.test, .exchange, .complete, (.pairs | length)]' series)" \
    "[\"async_one_to_one\",\"both-ways\",true,$(
        jq '2 * .measurements' plan)]" "... from both sides"
is "$(rates)" '0 []' "... nothing is slow"

# A cable that two flows share.
link=$(jq -r '[.rounds[][].row | to_entries[].key] as $all | .targets[]
    | select (test ("^0002c901"))' plan | head -n 1)
emu rate "$link" 100
run
is "$(rates)" "1 [[\"$link\"]]" \
    "a switch link of half its rate, which each host alone has: it is named"
carried=$(jq '.findings[0].carried_gbps' rates)
is "$(jq -n "$carried > 50 and $carried <= 100")" true \
    "... with what it carries, $carried Gb/s"
emu rate "$link" 200

emu rate h0007/1 30
run
is "$(rates)" \
    "1 [[\"$(pmm path -f fabric h0007 h0001 --json | jq -r '.forward[0]')\"]]" \
    "a host end of less rate: it is named"
is "$(jq -c '.findings[0] | [.kind, .nodes]' rates)" '["host end",["h0007"]]' \
    "... as its host's"

done_testing
