#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pmm-probe over pmm-emu: 16 processes on this machine, then steps of a real
# Slurm, with PMIx and with PMI-2. What this test alone shows: without a plugin or a
# job, round trips are what the emulator planted, faults are found and named, and
# whatever dies or hangs, the check ends with a result record. (What a job's user sees
# of that: t0600.)

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

hosts=(h0003 h0011 h0017 h0018 h0040 h0061 h0077 h0090 h0091 h0092 h0113
    h0128 h0055 h0023 h0100 h0001)

nonce=c0ffee
start () { start_probes --nonce "$nonce" "$@"; }
run () { start "$@"; finish_probes; }
result () { tail -n 1 stdout; }

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
emu_conf "Baseline=$workdir/baseline.json" "Timeout=$((20 * patience))"
emu_up fabric --stall 2
mkdir out

# Exactness: the same latency both ways, so that a row says it all

emu show | jq -r '.links[] | "\(.id) \(.latency_ns | floor)"' >latency
emu_down
emu_up fabric --stall 2 --latency latency
run --output out
is $? 0 "16 processes over the emulator"
like "$(result)" "^pmm-result 1 OK $nonce " "... the result record"
is "$(wc -l <stdout)" 2 "... the samples before it, and nothing else"
head -n 1 stdout | cmp -s - out/samples.json
ok $? "... the same as in the file"
start_probes --output out
finish_probes
is "$? $(wc -l <stdout)" "0 1" "... which are not printed as well for a person"
is "$(jq -c '.nodes | [(.answered | length), .missing]' out/samples.json)" \
    '[16,[]]' "... all nodes answered"
jq -c '.rounds[0][1] = .rounds[0][0]' out/plan.json >twice.json
run --plan twice.json
is $? 3 "a plan with a probe twice in a round is refused"
like "$(result)" "an endpoint has two probes in round 0 of the plan$" \
    "... and says so"
emu show >show
emu show 2>stderr >/dev/full
is "$? $(cat stderr)" \
    '3 pmm-emu: cannot write the answer: No space left on device' \
    "an answer that cannot be written"
jq -n --slurpfile show show --slurpfile plan out/plan.json \
    --slurpfile samples out/samples.json '
    ($show[0].links | map({key: .id, value: .latency_ns}) | from_entries)
        as $ns
    | [$plan[0].rounds[][] | {key: "\(.a) \(.b)", value: .row}]
    | from_entries as $rows
    | [$samples[0].probes[] | . as $p | $rows["\(.a) \(.b)"]
        | [to_entries[] | .value * $ns[.key]] | add
        | {want: ., got: [$p.rtt_ns.min, $p.rtt_ns.max]}]' >rtts
is "$(jq '[.[] | select(.got != [.want, .want])] | length' rtts)" 0 \
    "every round trip is the sum of its links' latencies"
is "$(jq 'length > 100' rtts)" true "... of more than 100"
pmm solve -f fabric --plan out/plan.json --samples out/samples.json -o solution
is $? 0 "... and the files fit the verbs"
is "$(jq -c '[(.loopbacks | group_by(.end) | map([.[0].end, length])),
        ([.loopbacks[].rtt_ns | .min, .max] | unique)]' out/samples.json)" \
    "[$(jq -c '[.nodes.answered | sort[] | [., 3]]' out/samples.json),[1200]]" \
    "each endpoint has three loopbacks, without a cable"
is "$(jq -c --arg boot "$(</proc/sys/kernel/random/boot_id)" \
    --arg kernel "$(uname -r)" '[.version, ([.nodes.known[].host]
        == .nodes.answered), ([.nodes.known[] | [.boot == $boot,
            .kernel == $kernel, (.adapter_numa // "none")]] | unique)]' \
    out/samples.json)" '[2,true,[[true,true,"none"]]]' "... and what each node is"

# Software

emu slow-host h0061 +700
cp out/samples.json calm.json
run --plan out/plan.json --output out
is "$(jq --slurpfile calm calm.json -c '[.probes | to_entries[]
        | [([.value.a, .value.b] | any (. == "h0061")),
            .value.rtt_ns.min - $calm[0].probes[.key].rtt_ns.min]] | unique' \
    out/samples.json)" '[[false,0],[true,700]]' \
    "slow software of a host: in its round trips"
is "$(jq -c '[.loopbacks[] | [.end == "h0061", .rtt_ns.max]] | unique' \
    out/samples.json)" '[[false,1200],[true,1900]]' "... and in its loopback"
is "$(emu show | jq -c '.slow_hosts[] | [.host, .excess_ns]')" '["h0061",700]' \
    "... is shown"
emu heal all && emu noise repin600
run --output out
is "$(jq -c '[.loopbacks | group_by(.end)[] | map(.rtt_ns.median) | add / 3
    | (. - 1200) / 600 | round] | unique | [length > 1, . - [-1, 0, 1]]' \
    out/samples.json)" '[true,[]]' \
    "a day like a site's: who runs elsewhere has another loopback"
is "$(emu show | jq -c .noise)" '"repin600"' "... is shown"
said=$(emu noise sunny 2>&1)
is $? 2 "no such day: exit 2"
like "$said" "'sunny' is neither a time .* one of calm, site" "... and a sentence"
emu noise 0
run --output out

# Faults

cp out/samples.json baseline.json
emu noise 50 && emu outliers 0.01:2000
run --output out
is "$(result | cut -d' ' -f 3)" OK "noise and outliers alone: OK"
is "$(jq '(.confirm_rounds // 0) <= 2' out/plan.json)" true \
    "... and nothing to confirm but routes that are off by chance"
host=${hosts[RANDOM % 16]}
emu slow "$host/1" +1000
run --output out
is $? 1 "a slow host cable: exit 1"
like "$(result)" "^pmm-result 1 FAIL $nonce .*$host" "... it is named"
# The rows of a host alone on its leaf may be those of one more link.
is "$(jq -c '[.findings[] | (.suspects | length) <= 2, .nodes]' \
    out/verdict.json)" "[true,[\"$host\"]]" "... and no other node"
is "$(jq '.confirm_rounds > 0' out/plan.json)" true \
    "... after a second stage, with other partners"
is "$(jq -c '[.probes | length, (map(.round) | max)]' out/samples.json)" \
    "$(jq -c '[2 * .measurements, (.rounds | length) - 1]' out/plan.json)" \
    "... whose samples are in the record"
pmm plan -f fabric --check out/plan.json
ok $? "... by a plan that is sound"
pmm judge -f fabric --plan out/plan.json --samples out/samples.json \
    --baseline baseline.json | cmp - out/verdict.json
ok $? "... and from the files the verdict is the same"
other=${hosts[0]}
[[ $other != "$host" ]] || other=${hosts[1]}
emu slow-host "$other" +2000
run --output out
# Who is alone on its leaf shares its rows with the leaf's links.
is "$(jq -c '[.findings[] | [.level, .kind == "software, PCIe or adapter",
        .nodes[0]]] | sort' out/verdict.json)" \
    "[[\"FAIL\",false,\"$host\"],[\"WARN\",true,\"$other\"]]" \
    "and slow software of another: each is called what it is" \
    || diag "$(jq -c .findings out/verdict.json)"
run --set ConfirmRounds=9
is $? 2 "more rounds than there may be: exit 2"
emu heal all
link=$(pmm path -f fabric "${hosts[0]}" "${hosts[11]}" --json \
    | jq -r '.forward[2]')
emu slow "$link" +1000
run --output out
is $? 1 "a slow switch cable: exit 1"
like "$(jq -r '.findings[].suspects[]' out/verdict.json)" "$link" \
    "... it is among the suspects"
is "$(jq -c '[.findings[].kind]' out/verdict.json)" '["switch link"]' \
    "... of one finding"
emu heal all
run
is $? 0 "healed: exit 0"
emu delay "$host/1" 0.3:1000
is "$(emu show | jq -c '.delays[] | [.share, .ns]')" '[0.3,1000]' \
    "a cable that delays messages is shown"
run --output out
is $? 0 "a host cable that delays 30 % of its messages: exit 0"
is "$(jq -c '[.findings[] | [.level, .basis, .nodes[0], .excess_ns]]' \
    out/verdict.json)" "[[\"WARN\",\"delay\",\"$host\",null]]" \
    "... it is named, as a WARN" || diag "$(jq -c .findings out/verdict.json)"
like "$(result)" "^pmm-result 1 WARN $nonce .*a cable delays some messages: $host.* excess=delays]$" \
    "... in a sentence"
is "$(jq '[.probes[] | select(.sent > 5) | .slow | length] | unique' -c \
    out/samples.json)" '[4]' "... after many messages of the second stage"
pmm judge -f fabric --plan out/plan.json --samples out/samples.json \
    --baseline baseline.json | cmp - out/verdict.json
ok $? "... and from the files the verdict is the same"
emu heal all
emu loss 0.02
run --output out
is "$(jq '[.probes[].lost] | add > 10' out/samples.json)" true \
    "2 % loss: lost pings are counted"
is "$(jq -c '[.complete, .nodes.missing]' out/samples.json)" '[true,[]]' \
    "... all else is complete"
for share in '0.01 0 WARN|1 FAIL' '0.3 1 FAIL'; do
    read -r p said <<<"$share" # of round trips twice as many
    emu loss "$p"
    run --output out
    like "$? $(jq -r '"\(.status) \(.findings)"' out/verdict.json)" \
        "^($said) \\[\\]$" "$p of all messages are lost: $said"
    like "$(jq -r '.limits[]' out/verdict.json)" "on no link in particular" \
        "... of no link"
done
emu loss 0 && emu noise 0 && emu outliers off
said=$(emu slow h9999/1 +5 2>&1)
is $? 2 "a fault on no link: exit 2"
like "$said" "no link 'h9999/1'" "... and a sentence"

# Interference

save=("${hosts[@]}")
hosts=(h0001 h0002 h0017 h0021) # both pairs leave the first leaf by one cable
pmm plan -f fabric --hosts "$(IFS=,; echo "${hosts[*]}")" --extra-rounds 0 \
    -o apart.json
jq -c '[.rounds[][]] as $all | ["h0001h0017", "h0002h0021"] as $meet
    | .rounds = [[$all[] | select(.a + .b | IN($meet[]))]]
        + [$all[] | select(.a + .b | IN($meet[]) | not) | [.]]
    | .basis_rounds = (.rounds | length)' apart.json >meet.json
mean () { jq '[.probes[].rtt_ns.median] | add / length' out/samples.json; }
run --plan apart.json --output out
apart=$(mean)
emu packet 5000
run --plan apart.json --output out
is "$(mean)" "$apart" "a plan whose probes share no link does not interfere"
run --plan meet.json --output out
is "$(jq -n "$(mean) > $apart + 100")" true \
    "one whose probes meet does: $(mean) ns, not $apart"
emu packet 30
hosts=("${save[@]}")

# What dies or hangs

in_midst start --repeats 200
kill -KILL "${pids[5]}"
finish_probes
is $? 3 "a process that is killed: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*${hosts[5]}" "... it is named"
is "$(head -n 1 stdout | jq -c '.nodes.missing')" "[\"${hosts[5]}\"]" \
    "... it is missing, the others answered"
in_midst start --repeats 200
kill -STOP "${pids[7]}"
wait "${pids[0]}"
is $? 3 "a process that is stopped: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*${hosts[7]}" "... it is named"
kill -KILL "${pids[7]}"
finish_probes
in_midst start --repeats 300
kill -KILL "$emu"
wait "$emu" 2>/dev/null
finish_probes
is $? 3 "the emulator is killed: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*emulator is gone" \
    "... which is said"
run
is $? 3 "no emulator: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*no fabric emulator" \
    "... which is said"
emu_up fabric --stall 2
kill -STOP "$emu"
run --timeout 2
is $? 3 "the emulator hangs: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce timed out after 2 s" \
    "... in time"
kill -CONT "$emu"

# What is not as it should be

save=("${hosts[@]}")
hosts[3]=h0999
run
is $? 0 "a host without a port in the fabric: the others are measured"
like "$(result)" "^pmm-result 1 (OK|WARN) $nonce " "... and judged"
like "$(<stderr)" "h0999 has no InfiniBand port: the other nodes were measured" \
    "... it is named"
is "$(head -n 1 stdout | jq -c '.nodes | [(.answered | length), .missing]')" \
    '[15,[]]' "... and not missing"
hosts=("${save[@]}")
hosts[0]=h0999
run
like "$? $(<stderr)" "^0 .*h0999 has no InfiniBand port" \
    "... if it is the first, too"
hosts=(h0001)
run
is $? 0 "one node: exit 0"
is "$(result)" "pmm-result 1 OK $nonce \
one node without two rails in one subnet: nothing to measure" "... and why"
hosts=(h0001 h0002)
run --set Transport=verbs
like "$(result)" "UNKNOWN $nonce \
(this pmm-probe was built without verbs|h0001: no RDMA device on this node)" \
    "no verbs, or no device: said"
run --set "Snapshot=$workdir/nowhere"
is $? 3 "no snapshot: exit 3"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*nowhere" "... it is named"
head -c 5000 fabric >cut
run --set "Snapshot=$workdir/cut"
like "$(result)" "^pmm-result 1 UNKNOWN $nonce .*cut:" "a snapshot cut short"
pmm fabric generate fat-tree --ports 4 --levels 2 -o other
hosts=(h0001 h0011)
run --set "Snapshot=$workdir/other"
like "$(result)" "UNKNOWN $nonce h0011 is not in the fabric snapshot" \
    "another fabric's snapshot"
hosts=("${save[@]}")
start --leader "${hosts[4]}" --set "Snapshot=$workdir/nowhere"
wait "${pids[4]}"
led=$?
finish_probes
is "$led $? $(grep -c ^pmm-result stdout)" "3 0 1" \
    "--leader: another leads, and prints the record"
run --leader "${hosts[4]}"
is "$(head -n 1 stdout | jq '.nodes.answered | length') $(wc -l <stdout)" \
    "16 2" "... of all nodes"
run --leader stranger
like "$? $(result)" "^0 pmm-result 1 OK" "... who is not there leads nobody"
jq -c '.fabric = "00000000000000000000000000000000"' baseline.json >foreign
run --set "Baseline=$workdir/foreign"
is $? 0 "the baseline of another fabric: the check goes on"
like "$(<stderr)" 'no baseline: .*another fabric' "... and says so"

# In a Slurm, by PMIx and by PMI-2

with_cluster "$(IFS=,; echo "${hosts[*]}")"
# step [OPTION]...: on the nodes $where, else on any
step ()
{
    srun "--mpi=$mpi" -N8 -n8 ${where:+-w "$where"} --ntasks-per-node=1 -K1 \
        pmm-probe --conf "$workdir/conf" --nonce "$nonce" "$@" 2>stderr \
        | tail -n 1
}
install -m 755 "$(type -P pmm-probe)" "$workdir/" # where users reach
chmod 644 conf baseline.json fabric
PATH=$workdir:$PATH
export -f step
export workdir nonce mpi SLURM_PMIX_TIMEOUT=$((10 * patience))
as_user mkdir -p home/work
types=() where=
for mpi in pmix pmi2; do
    srun --mpi=list 2>&1 | grep -qw $mpi \
        || { skip "$mpi" "this Slurm has none"; continue; }
    types+=("$mpi")
    for run in root:5 "$test_user:15"; do
        good=0 user=${run%:*} runs=${run#*:}
        for ((i = 0; i < runs; i++)); do
            if [[ $user = root ]]; then
                said=$(timeout 600 bash -c step)
            else
                said=$(cd home/work && as_user timeout 600 bash -c step)
            fi
            [[ $said =~ ^pmm-result\ 1\ OK ]] && ((++good))
        done
        is "$good" "$runs" "$mpi: $runs steps of 8 nodes as $user, all OK"
    done
done
emu slow h0003/1 +1000
where=$(IFS=,; echo "${hosts[*]:0:8}")
for mpi in "${types[@]}"; do
    like "$(step --output "$mpi")" "^pmm-result 1 FAIL $nonce .*h0003" \
        "$mpi: a slow host cable"
done
is "$(for mpi in "${types[@]}"; do
    jq -c '[.status, (.findings[] | [.level, .kind, .suspects, .nodes])]' \
        "$mpi/verdict.json"
done | sort -u | wc -l)" 1 "... the same verdict by ${types[*]}"

done_testing
