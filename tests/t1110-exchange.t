#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The tests of pmm-compare-probe over pmm-emu: 16 processes, each exchange, pattern and
# topology. All pairs as one-factor measures them and as PMM predicts them are
# the same; who shares a link with noise is slower, and nobody else; what gets
# lost or dies is said, and the rest is kept.

# shellcheck disable=SC2016,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-compare-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

all=(h0003 h0011 h0017 h0018 h0040 h0061 h0077 h0090 h0091 h0092 h0113
    h0128 h0055 h0023 h0100 h0001)
hosts=("${all[@]}")

start () { rm -f out.json; start_probes "$@" --timeout $((60 * patience)); }
run () { start "$@" -o out.json; finish_probes; }
# what FILTER: of the last run's first series
what () { head -n 1 out.json | jq -c "$1"; }

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
emu_conf
emu_up fabric

# All pairs, by one-factor and by PMM

# beside: what is printed of pmm: pairs known, quadratic mean and maximum in ns
beside () { awk '$1 == "pmm" { print $6, $9, $10 }' stdout; }
run pairs --pattern one-factor,pmm --repeats 3
is $? 0 "all pairs, by one-factor and by PMM" || diag "$(<stderr)"
is "$(jq -c '[.pattern, .complete, (.pairs | length)]' out.json | head -n 1)" \
    '["one-factor",true,240]' "... both directions of 120"
is "$(what '[.steps, .probes]')" '[30,240]' "... in 30 steps"
read -r known quadratic max < <(beside)
is "$known ${quadratic#-} ${max#-}" "240 0.0 0.0" \
    "... PMM knows of all pairs, and the same"
head -n 1 out.json >measured
pmm-compare infer measured --against fabric >against 2>stderr
is "$? $(head -n 1 against)" \
    "0 7 hosts on 3 switches compared, 3 ways between these as in the snapshot" \
    "... and the topology inferred of them is the snapshot's" ||
    diag "$(<stderr)"
emu noise 50
run pairs --pattern one-factor,pmm --repeats 20
read -r known quadratic max < <(beside)
is "$known $(jq -n "$quadratic > 0 and $quadratic < 25")" "240 true" \
    "with noise of 50 ns: the same within that: $quadratic ns"
emu noise 0

# Every exchange, pattern and topology

hosts=("${all[@]:0:6}")
for exchange in round-trip one-way both-ways async; do
    run pairs --exchange $exchange --lengths 0,1000,100000 --repeats 2 \
        --exchanges 5
    is "$? $(what '[.complete, (.pairs | length), ([.pairs[].lost] | add)]')" \
        '0 [true,90,0]' "$exchange, three lengths" || diag "$(<stderr)"
done
for pattern in bisection by-host by-host-bisection one-to-one all-to-all pmm; do
    run pairs --pattern $pattern --repeats 2 --retest 3
    is "$? $(what '[.pattern, .complete]')" "0 [\"$pattern\",true]" \
        "pattern $pattern" || diag "$(<stderr)"
done
for n in 3 4 6; do
    hosts=("${all[@]:0:n}")
    run topology --lengths 1000,100000 --repeats 2
    is "$? $(what '[.complete, (.topologies | length),
        ([.topologies[].lost] | add)]')" '0 [true,12,0]' \
        "$n processes: star, complete and ring, one way and both ways" \
        || diag "$(<stderr)"
done

# Rates: a link's shows in what passes it, and nowhere else

hosts=(h0001 h0002 h0017 h0021 h0090 h0091)
link=$(pmm path -f fabric h0001 h0017 --json | jq -r '.forward[1]')
emu rate "$link" 10
run pairs --exchange one-way --lengths 262144 --repeats 2
what '[.processes[].label] as $name
    | .pairs[] | select(.length / .time_ns.median * 8 < 100)
    | [$name[.a], $name[.b]] | sort' | jq -sc 'unique' >slow
for ((i = 0; i < ${#hosts[@]}; i++)); do
    for ((j = i + 1; j < ${#hosts[@]}; j++)); do
        pmm path -f fabric "${hosts[i]}" "${hosts[j]}" --json \
            | jq -c --arg link "$link" '
                select(.forward + .reverse | index($link)) | [.a, .b]'
    done
done | jq -sc 'unique' >through
is "$(<slow)" "$(<through)" "a link of 10 Gb/s: pairs through it are slow" \
    || diag "$(<stdout)"
is "$(jq 'length > 3 and length < 8' slow)" true "... not the others"

# Noise

# goal WAYS NOISE [OPTION]...: how much slower the pair is, beside itself alone
goal ()
{
    run noise --goal h0001,h0017 --noise-on "$1" --noise-length 65536 \
        --noise-messages 100 --lengths 65536,131072 --exchanges 10 \
        --repeats 10 "${@:2}"
    jq -sc '[.[].pairs] | transpose
        | map(.[1].time_ns.median / .[0].time_ns.median)' out.json
}
emu rate "$link" 50
for way in '' --blocking; do
    crosses=$(goal h0002,h0021 $way)
    apart=$(goal h0090,h0091 $way)
    is "$(jq -n "$crosses | length == 2 and all(. > 1.3)")" true \
        "noise${way:+, $way}: slower where it crosses the link: $crosses"
    is "$(jq -n "$apart | length == 2 and all(. < 1.02)")" true \
        "... not where it does not: $apart"
done
run noise --noise-processes 2 --goals 20 --repeats 10
is "$(jq -sc '[.[].pairs] | transpose
    | map(.[1].time_ns.median / .[0].time_ns.median)
    | length == 20 and all(. > 0.9 and . < 3)' out.json)" true \
    "... by default as many exchanges as make sense" || diag "$(<stdout)"
emu heal all

# What gets lost

emu loss 0.02
run pairs --lengths 0,50000 --repeats 20
is "$? $(what '.complete')" "0 true" "2 % loss: all is measured" \
    || diag "$(<stderr)"
is "$(what '[.pairs[] | select(.length == 0) | .lost] | add > 0')" true \
    "... pings that were lost are counted"
is "$(what '[.pairs[] | select(.length > 0) | .lost] | add')" 0 \
    "... messages arrive"
run topology --lengths 50000 --repeats 3
is "$? $(what '[.complete, ([.topologies[].lost] | add)]')" "0 [true,0]" \
    "... topologies, too"
emu loss 0

# Who dies

# kill_in_midst I TEST [OPTION]...: that process, when much has been sent
kill_in_midst ()
{
    in_midst start "${@:2}" -o out.json
    kill -KILL "${pids[$1]}"
    finish_probes
}
kill_in_midst 3 pairs --pattern one-factor,pmm --repeats 5000
is $? 3 "a process that is killed: exit 3"
is "$(what '[.complete, (.processes | map(select(.lost) | .label))]')" \
    '[false,["h0021"]]' "... it is named" || diag "$(<stdout)$(<stderr)"
is "$(what '[.pairs[] | select(.a != 3 and .b != 3)
    | .lost == 0 and .count == 5000] | [length, all]')" '[20,true]' \
    "... all pairs of others are measured"
like "$(<stdout)" 'lost: process 3, h0021' "... which is said"
kill_in_midst 4 topology --lengths 65536 --repeats 1000
is "$? $(what '[.complete, (.processes | map(select(.lost) | .label))]')" \
    '3 [false,["h0090"]]' "... in a topology" || diag "$(<stdout)$(<stderr)"

# What is not as it should be

hosts=(h0001 h0999 h0017)
run pairs --repeats 2
is "$? $(what '[.processes[].label]')" '3 ["h0001","h0017"]' \
    "a host that is not in the fabric: the others are measured, exit 3"
like "$(<stderr)" 'h0999: h0999 is not in the fabric' "... it is named"
hosts=(h0001 h0017)
run topology
is $? 2 "a topology of two: exit 2"
run pairs --pattern pmm --set Snapshot="$workdir/nosuch"
is "$? $([[ $(<stderr) == *nosuch* ]] && echo named)" "2 named" \
    "pattern pmm without a snapshot: exit 2"
run pairs --pattern nosuch
is $? 2 "no such pattern: exit 2"
run pairs --exchange nosuch
is $? 2 "no such exchange: exit 2"
run pair
is "$? $(head -n 1 stderr)" \
    "2 pmm: unknown test 'pair'; 'pmm-compare-probe --help' lists them" \
    "no such test: exit 2"
run pairs --bytes 5
is $? 2 "no such option: exit 2"
pmm-compare-probe pairs --help | grep -q -- --retest
ok $? "help"

done_testing
