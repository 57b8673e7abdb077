#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Schedules that others measure by: their steps, to compare by eye, and as plans
# that are simulated and solved beside ours. Then what is refused.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1

pmm-compare pattern by-host --processes 16 --hosts 4 >out
ok $? "16 processes in 4 hosts"
diff - out >&2 <<'END'
by-host: 16 processes, 4 hosts, 12 steps, then the same with roles swapped
host 0: 0 1 2 3
host 1: 4 5 6 7
host 2: 8 9 10 11
host 3: 12 13 14 15
step  1:   4-8    5-9    6-10   7-11   0-12   1-13   2-14   3-15
step  2:   5-8    6-9    7-10   4-11   1-12   2-13   3-14   0-15
step  3:   6-8    7-9    4-10   5-11   2-12   3-13   0-14   1-15
step  4:   7-8    4-9    5-10   6-11   3-12   0-13   1-14   2-15
step  5:   8-0    9-1   10-2   11-3    4-12   5-13   6-14   7-15
step  6:   9-0   10-1   11-2    8-3    5-12   6-13   7-14   4-15
step  7:  10-0   11-1    8-2    9-3    6-12   7-13   4-14   5-15
step  8:  11-0    8-1    9-2   10-3    7-12   4-13   5-14   6-15
step  9:   0-4    1-5    2-6    3-7    8-12   9-13  10-14  11-15
step 10:   1-4    2-5    3-6    0-7    9-12  10-13  11-14   8-15
step 11:   2-4    3-5    0-6    1-7   10-12  11-13   8-14   9-15
step 12:   3-4    0-5    1-6    2-7   11-12   8-13   9-14  10-15
END
ok $? "... their steps, host by host"

# pairs PATTERN OPTION...: how often each ordered pair comes, in all steps
pairs () { pmm-compare pattern "$@" --json | jq -c '[.steps[][] | join ("-")]'; }
is "$(pairs one-factor -n 7 | jq -c '[length, (unique | length)]')" '[42,42]' \
    "one-factor: every ordered pair of 7 once"
is "$(pairs all-to-all -n 7 | jq -c '[length, (unique | length)]')" \
    '[49,49]' "all-to-all: with oneself, too"
is "$(pairs one-factor --seed 4 | jq -c sort)" \
    "$(pairs one-factor | jq -c sort)" "a seed changes the order alone"
[[ $(pairs one-factor --seed 4) != "$(pairs one-factor)" ]]
ok $? "... and does so"
is "$(pmm-compare pattern -o list && wc -l <list)" 9 "a list of the patterns"
pmm-compare pattern >/dev/full 2>err
is $? 3 "... that cannot be written: $(<err)"

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
hosts='h[0001-0012,0065-0070]'
for method in pmm one-factor bisection by-host by-host-bisection one-to-one; do
    make=(pmm-compare plan "$method")
    [[ $method != pmm ]] || make=(pmm plan)
    "${make[@]}" -f fabric --hosts "$hosts" -o "$method" &&
        pmm plan -f fabric --check "$method"
    ok $? "a plan by $method, which the checker finds sound"
    pmm simulate -f fabric --plan "$method" --latency random:100:900 \
        --seed 7 -o "$method.samples" &&
        pmm solve -f fabric --plan "$method" --samples "$method.samples" \
            --pairs -o "$method.solution"
    ok $? "... is simulated and solved"
done
is "$(jq '.rounds | length' one-factor)" 17 "18 hosts by one-factor: 17 rounds"
is "$(jq -c '[.maximal, .rank]' by-host)" "$(jq -c '[.maximal, .rank]' pmm)" \
    "all pairs have the rank that our fewer probes have"
is "$(jq -c .maximal bisection)" false "the halves alone have not"

# latencies SOLUTION: of all pairs, to a nanosecond
latencies ()
{
    jq -c '[.pairs[] | ([.a, .b] | sort) + [.rtt_ns | round]] | sort[]' "$1"
}
is "$(latencies one-factor.solution | wc -l)" 153 "they have all 153 pairs"
is "$(latencies one-factor.solution)" "$(latencies pmm.solution)" \
    "without noise they find the same latency of every pair"

pmm-compare plan one-factor -f fabric --hosts "$hosts" --shuffle --seed 3 \
    -o shuffled
is "$(jq -c '[.rounds[][] | [.a, .b] | sort] | sort' shuffled)" \
    "$(jq -c '[.rounds[][] | [.a, .b] | sort] | sort' one-factor)" \
    "shuffled: the same pairs"
[[ $(jq -c .rounds shuffled) != "$(jq -c .rounds one-factor)" ]]
ok $? "... in another order"

jq '.method = "pmm"' one-factor >bad
pmm plan -f fabric --check bad 2>err
is $? 2 "as a plan of ours, its rounds are refused: exit 2"
like "$(<err)" 'shares link|a rank of' "... and why"
jq '.rank -= 1' bisection >bad
pmm plan -f fabric --check bad 2>err
is $? 2 "a rank that is not that of its rows: exit 2"

# refuse REASON COMMAND...
refuse ()
{
    "${@:2}" -o never 2>err
    is $? 2 "${*:2}: exit 2"
    like "$(<err)" "$1" "... and why"
}
refuse 'not a pattern' pmm-compare pattern two-factor
refuse '2 to 65535' pmm-compare pattern ring -n 1
refuse 'hosts 1 to as many' pmm-compare pattern ring -n 4 --hosts 5
refuse 'hosts 1 to as many' pmm-compare pattern ring -n 4 --hosts 0
refuse '--json needs PATTERN' pmm-compare pattern --json
refuse 'at most are printed' pmm-compare pattern all-to-all -n 65535
refuse 'no schedule' pmm-compare plan star -f fabric
refuse 'two-factor is not a pattern' pmm-compare plan two-factor -f fabric
refuse 'PATTERN is missing' pmm-compare plan -f fabric
[[ ! -e never ]]
ok $? "... and nothing was written"

done_testing
