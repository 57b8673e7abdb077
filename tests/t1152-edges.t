#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Whether a switch carries what the edges of its nodes allow: pairs of two leaf
# switches exchange alone, then half of all at a time, over the emulator, where a
# switch is planted that passes half of it. By a snapshot, and by a topology that
# was inferred from latencies.

. "$(dirname "$0")/lib.sh"
need pmm pmm-compare-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

hosts=(h000{1..8})

# run FILE OPTION...: messages between pairs, into that; the leader's status
run ()
{
    local file=$1
    shift
    rm -f "$file"
    start_probes pairs --timeout 600 -o "$file" "$@"
    finish_probes
}
exchanges=(--pattern 'one-to-one,one-factor' --exchange both-ways
    --lengths 131072 --repeats 3 --exchanges 4)

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
emu_conf
emu_up fabric

run latencies --pattern one-to-one --lengths 0 --repeats 20
pmm-compare infer latencies --format tgf >tgf
ok $? "a topology by latencies"

run series "${exchanges[@]}"
ok $? "each pair alone, then half of all" || diag "$(<stderr)"
pmm-compare rates -f fabric --series series >out
is "$? $(head -n 1 out)" \
    "0 pmm: OK: 8 nodes at 2 switches, exchanges of 131072 bytes" \
    "nothing limits them"
emu rate s1-0001 400
run series "${exchanges[@]}"
pmm-compare rates -f fabric --series series --json >rates
is "$? $(jq -c '[.status, [.switches[] | [.name, (.nodes | length),
    (.share > .9)]]]' rates)" \
    '1 ["FAIL",[["s1-0001",4,false],["s1-0002",4,true]]]' \
    "a switch that passes less: that one"
pmm-compare rates -f fabric --series series >out
like "$(<out)" 'pmm: FAIL: s1-0001: its nodes got [56][0-9] % of what' \
    "... is named"
pmm-compare rates -f fabric --series series --below .6 >out
is $? 0 "... if it lacks more than is much"

pmm-compare rates --graph tgf --series series >out
is "$? $(grep -c '^pmm: FAIL: switch 1: its nodes' out)" "1 1" \
    "by a graph of pmm-compare infer, without a snapshot"

sed -n '2,$p' series >several
pmm-compare rates -f fabric --series several >out
is "$? $(sed -n 2p out)" "3 pmm: no run has one pair at a time, which tells what \
edges carry: --pattern one-to-one,one-factor" "no pair was ever alone: exit 3"
head -n 1 series >alone
pmm-compare rates -f fabric --series alone >out
is "$? $(sed -n 2p out)" "3 pmm: not judged, as no run has several of their \
pairs at a time, are 2 of the switches: --pattern one-to-one,one-factor" \
    "... or all were"
jq -c '.test = "one_to_one"' alone >one
pmm-compare rates -f fabric --series one 2>said
is "$? $(<said)" "2 pmm-compare rates: one: no run of exchanges both ways at once, of \
messages with a byte" "one message at a time"
pmm-compare rates -f fabric --graph tgf --series series 2>said
is "$? $(<said)" "2 pmm-compare rates: --graph cannot be combined with --fabric" "two topologies"
sed -i 's/h000/x000/' tgf
pmm-compare rates --graph tgf --series series 2>said
is "$? $(<said)" "2 pmm-compare rates: series: no process of the series is at a switch \
of the topology" "another graph's nodes"

done_testing
