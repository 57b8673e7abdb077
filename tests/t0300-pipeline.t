#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The test to read first: a fault is planted, every verb is run on the file of
# the verb before it, and that link, and only that link, is named. Then each
# verb gets what it must refuse: one sentence, the right exit status, no file.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1

hosts='h[0003,0011,0017-0018,0040,0061,0077,0090-0092,0113,0128]'

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
ok $? "a fabric of 128 hosts"
pmm plan -f fabric --hosts "$hosts" --seed 3 -o plan
ok $? "a plan for 12 of them"
pmm plan -f fabric --check plan
ok $? "the checker, which does not trust the planner, finds it sound"

pmm simulate -f fabric --plan plan --latency random:100:900 --seed 1 \
    --noise 50 --outliers 0.01:2000 -o healthy
ok $? "what it measures on a healthy fabric"
pmm solve -f fabric --plan plan --samples healthy --pairs -o solution
ok $? "solved"
is "$(jq '.pairs | length' solution)" 66 "every pair of the job has a latency"

pmm simulate -f fabric --plan plan --latency random:100:900 --seed 1 \
    --noise 50 --outliers 0.01:2000 --repeats 5 -o again
pmm judge -f fabric --plan plan --samples again --baseline healthy -o verdict
is $? 0 "the healthy fabric against itself: exit 0"
is "$(jq -c '[.status, .findings]' verdict)" '["OK",[]]' "... and no finding"

# stages OPTION...: the plan's samples with such a fault, the confirm stage, the
# samples of both
faults=(--latency random:100:900 --seed 1 --noise 50 --outliers 0.01:2000)
stages ()
{
    pmm simulate -f fabric --plan plan "${faults[@]}" "$@" -o slow &&
        pmm confirm -f fabric --plan plan --samples slow \
            --baseline "${before:-healthy}" -o longer &&
        pmm simulate -f fabric --plan longer "${faults[@]}" "$@" -o both
}
judge () { pmm judge -f fabric --plan longer --samples both "$@" -o verdict; }

stages
ok $? "what looks slow is measured again, with other partners"
is "$(jq -c '[.rounds, .confirm_rounds]' longer)" \
    "$(jq -c '[.rounds, null]' plan)" "... nothing does on a healthy fabric"

link=$(pmm path -f fabric h0003 h0128 --json | jq -r '.forward[1]')
stages --slow "$link=+1000"
judge --baseline healthy
is $? 1 "a switch link 1,000 ns slower: exit 1"
is "$(jq -c '[.findings[] | .level, .suspects]' verdict)" \
    "[\"FAIL\",[\"$link\"]]" "... one finding, that link"

# A link that carries one endpoint's messages alone looks like a detour of them
# where links differ by as much.
link=$(pmm path -f fabric h0003 h0128 --json | jq -r '.forward[2]')
stages --slow "$link=+1000"
judge --baseline healthy
is $? 1 "one that only h0128 is reached by: exit 1"
is "$(jq -c '[.findings[] | .level, .kind, .suspects[0], .switches]' verdict)" \
    '["FAIL","switch link","'"$link"'",["0002c90200000040"]]' \
    "... that link, or a wrong route at the switch that it names"
stages --slow "$link=+2000"
judge --baseline healthy
is "$(jq -c '[.findings[] | .level, .suspects]' verdict)" \
    "[\"FAIL\",[\"$link\"]]" "... slower than any detour: that link"

wide=("${faults[@]}")
faults=(--latency random:100:250 --seed 1 --noise 50 --outliers 0.01:2000)
pmm simulate -f fabric --plan plan "${faults[@]}" -o alike
before=alike stages --slow "$link=+1000"
judge --baseline alike
is "$(jq -c '[.findings[] | .level, .suspects]' verdict)" \
    "[\"FAIL\",[\"$link\"]]" "... and where links are much alike"
faults=("${wide[@]}")

stages --misroute s1-0032:h0003=6
judge --baseline healthy
is $? 0 "a switch goes another way to h0003: exit 0"
is "$(jq -c '[.status, (.findings[] | .level, .kind)]' verdict)" \
    '["WARN","WARN","route"]' "... a route, nothing else"
is "$(jq -c .not_judged verdict)" '[]' "... that keeps nothing from being judged"
is "$(jq '.findings[0].switches |
    length <= 3 and any (. == "0002c90100000200")' verdict)" true \
    "... of that switch, or of two others"

link=$(pmm path -f fabric h0061 h0128 --json | jq -r '.forward[0]')
stages --slow "h0061/1=+1000"
is "$(jq '.confirm_rounds >= 1 and .confirm_rounds <= 4' longer)" true \
    "a slow host end: a few rounds more"
is "$(jq --argjson n "$(jq '.rounds | length' plan)" -c '.rounds[:$n]' longer)" \
    "$(jq -c .rounds plan)" "... behind those of the first stage"
pmm plan -f fabric --check longer
ok $? "... sound, says the checker"
is "$(jq --argjson n "$(jq '.probes | length' slow)" -c '.probes[:$n]' both)" \
    "$(jq -c .probes slow)" "... whose samples are the same again"
judge --baseline healthy
is "$(jq -c '[.findings[] | .level, .suspects, .nodes]' verdict)" \
    "[\"FAIL\",[\"$link\"],[\"h0061\"]]" "that host end, and whose it is"
pmm report -f fabric verdict >text
is "$? $(grep -cm1 "slow: h0061's" text)" "1 1" "... for people"
pmm report -f fabric plan 2>said
is "$? $(wc -l <said)" "2 1" "a plan is no verdict"
pmm judge -f fabric --plan plan --samples slow --baseline healthy -o verdict
is $? 1 "by the first stage alone, without a second look: exit 1"
is "$(jq -c '[.findings[] | .level, .suspects]' verdict)" \
    "[\"FAIL\",[\"$link\"]]" "... that link"
judge
is "$(jq '[.findings[] | select(.level == "FAIL")] | length' verdict)" 0 \
    "without a baseline it is not a FAIL"

stages --slow-host h0061=+1500
judge --baseline healthy
is "$? $(jq -c '[.findings[] | .level, .kind, .suspects, .nodes]' verdict)" \
    "0 [\"WARN\",\"software, PCIe or adapter\",[\"$link\"],[\"h0061\"]]" \
    "a host that is slow without its cable, too: WARN, and no link is blamed"
like "$(pmm report -f fabric verdict)" \
    'h0061 itself is 750 ns slow, not its cable' "... for people"
pmm simulate -f fabric --plan plan "${faults[@]}" --loopback 0 -o blind
for excess in 600 1500; do
    before=blind stages --slow h0061/1=+$excess --loopback 0
    judge --baseline blind
    echo "$? $(jq -c '[.findings[] | .level, .suspects,
        (.why | test ("without a loopback, the host.s software"))]' verdict)"
done >told
is "$(<told)" "0 [\"WARN\",[\"$link\"],true]
1 [\"FAIL\",[\"$link\"],false]" \
    "without loopbacks, what a host's software may take is a WARN, and says why"

pmm plan -f fabric --hosts h0003 -o one
is "$(jq -c '[.stderr_rms, .stderr_max]' one)" '[null,null]' \
    "a plan that measures nothing: its errors are null"
jq 'del(.stderr_rms, .stderr_max)' plan >bare
pmm plan -f fabric --check bare
ok $? "... a plan without these keys is read"

# what else can be planted
base=(pmm simulate -f fabric --plan plan --spread 150 --repeats 3)
"${base[@]}" -o calm
is "$("${base[@]}" --slow-oneway h0061/1=+900 | jq -c '.probes | map(.rtt_ns.min)' |
    jq --slurpfile calm calm -c '. as $r | [$calm[0].probes | to_entries[] |
        $r[.key] - .value.rtt_ns.min | round] | unique')" '[0,900]' \
    "one direction of a link is 900 ns slower"
is "$("${base[@]}" --slow-switch s1-0016=+100 | jq -c '.probes | map(.rtt_ns.min)' |
    jq --slurpfile calm calm -c '. as $r | [$calm[0].probes | to_entries[] |
        $r[.key] - .value.rtt_ns.min | round] | unique | [min, max]')" \
    '[0,400]' "all links of a switch are"
"${base[@]}" --misroute s1-0016:h0003=6 -o other
ok $? "a switch goes another way to a host"
is "$(jq .fabric other)" "$(jq .fabric calm)" "... that the fabric does not say"
[ "$(jq -c .probes other)" != "$(jq -c .probes calm)" ]
ok $? "... and the samples do"
"${base[@]}" --busy 0.2:0.5:500 -o other
is "$(jq -c '.probes | map(.rtt_ns.min)' other | jq --slurpfile calm calm -c '
    . as $r | [$calm[0].probes | to_entries[] | $r[.key] - .value.rtt_ns.min] |
    min >= 0')" true "traffic makes nothing faster"

is "$(jq -c '[(.loopbacks | length / 3), ([.loopbacks[].rtt_ns.max] | unique),
    ([.loopbacks[].round] | unique)] == [([.probes[] | .a, .b] | unique
    | length), [600], [0, (. as $s | [$s.probes[].round] | (max + 1) / 2
    | floor), ([.probes[].round] | max + 1)]]' calm)" true \
    "each endpoint has loopbacks: before the rounds, amid them and behind"
"${base[@]}" --loopback 0 -o other
is "$(jq -c '.loopbacks' other)" '[]' "... or none has any"
is "$(jq -c .probes other | cksum)" "$(jq -c .probes calm | cksum)" \
    "... and the probes are the same"
jq -c 'del (.loopbacks, .nodes.known)' calm >without
is "$(pmm solve -f fabric --plan plan --samples without)" \
    "$(pmm solve -f fabric --plan plan --samples calm)" \
    "... and the same latencies without them"
"${base[@]}" --slow-host h0061=+900 -o other
is "$(jq --slurpfile calm calm -c '[.probes | to_entries[]
        | [([.value.a, .value.b] | any (. == "h0061")),
            (.value.rtt_ns.min - $calm[0].probes[.key].rtt_ns.min | round)]]
    | unique' other)" '[[false,0],[true,900]]' \
    "software of a host: 900 ns more in all of its round trips"
is "$(jq -c '[.loopbacks[] | [.end == "h0061", .rtt_ns.median]] | unique' \
    other)" '[[false,600],[true,1500]]' "... and in its loopback"
"${base[@]}" --noise repin600 --seed 5 -o other
is "$(jq -c '[.loopbacks[].rtt_ns.median / 100 | round] | unique
    | map(. - . % 3) | unique' other)" '[0,6,12]' \
    "a day on which some processes run elsewhere" \
    || diag "$(jq -c '[.loopbacks[] | [.end, .rtt_ns.median]]' other)"
"${base[@]}" --noise repin600 --seed 5 | cmp - other
ok $? "... is the same again by its seed"

# switches that spread messages
pmm fabric generate fat-tree --ports 8 --levels 2 --spread hashed -o hashed
pmm plan -f hashed --hosts 'h[0001-0016]' -o flows
cable=$(pmm path -f hashed --json h0001 h0005 | jq -r '.forward[1]')
spread=(pmm simulate -f hashed --noise 20 --repeats 16)
"${spread[@]}" --plan flows -o quiet
is "$(jq -c '[.adaptive_switches, .service_level, (.probes
    | map (.flow_ns | length) | unique)]' quiet)" '[8,0,[16]]' \
    "where switches hash, each repeat is a flow"
spread+=(--seed 2 --slow "$cable=+1000")
"${spread[@]}" --plan flows -o slow &&
    pmm confirm -f hashed --plan flows --samples slow -o longer &&
    "${spread[@]}" --plan longer -o both
is "$(jq -c '[.probes[] | .sent] | unique' both)" '[16,1536]' \
    "... and in the confirm stage has 24 messages"
pmm judge -f hashed --plan longer --samples both --baseline quiet -o verdict
is "$(jq -c --arg cable "$cable" '[.findings[] | .level, .kind,
    (.suspects | length, contains ([$cable]))]' verdict)" \
    '["FAIL","switch link",4,true]' "a slow cable is one of four of its leaf"
pmm fabric generate fat-tree --ports 8 --levels 2 --spread hashed:0 -o free
pmm simulate -f free --plan flows | jq -c '[.adaptive_switches, .service_level,
    (.probes | map (.flow_ns) | unique)]' >told
is "$(<told)" '[0,1,[null]]' "a level that no switch spreads is chosen"

# refuses STATUS SENTENCE COMMAND...: one line that holds SENTENCE, no output
refuses ()
{
    local status=$1 sentence=$2 rc
    shift 2
    rm -f out
    "$@" -o out >stdout 2>stderr </dev/null
    rc=$?
    is "$rc" "$status" "$sentence: exit $status"
    is "$(wc -l <stderr)" 1 "... one sentence"
    like "$(cat stderr)" "$sentence" "... that says it"
    [ ! -e out ] && [ ! -s stdout ]
    ok $? "... nothing half-written"
}

pmm fabric generate fat-tree --ports 8 --levels 3 --routing minhop -o foreign
head -c 20000 fabric >cut
echo hello >text
jq -c '.rounds[0] += [.rounds[0][0]]' plan >twice
jq -c '.hash = 1 | .probes[0].a = "h0002"' healthy >stranger
jq -c '.probes[0].rtt_ns.median = -1' healthy >negative
jq -c '.version = 3' healthy >newer
jq -c '.loopbacks[0].end = "nobody"' healthy >nobodys

refuses 2 'nowhere' pmm plan -f nowhere
refuses 2 'cut:' pmm plan -f cut
refuses 2 'text:1' pmm plan -f text
refuses 2 'h0999' pmm plan -f fabric --hosts h0001,h0999
refuses 2 'twice' pmm plan -f fabric --hosts h0001,h0001
refuses 2 'another fabric' pmm solve -f foreign --plan plan --samples healthy
refuses 2 'twice' pmm solve -f fabric --plan twice --samples healthy
refuses 2 'h0002' pmm solve -f fabric --plan plan --samples stranger
refuses 2 'negative.*median' pmm solve -f fabric --plan plan --samples negative
refuses 2 'another fabric' pmm confirm -f foreign --plan plan --samples slow
refuses 2 'rounds' pmm confirm -f fabric --plan plan --samples slow --rounds 9
refuses 2 'h0999' pmm path -f fabric h0001 h0999
refuses 2 'ports' pmm fabric generate fat-tree --ports 7 --levels 3
refuses 2 'SWITCH:HOST=PORT' pmm simulate -f fabric --plan plan --misroute s1:2
refuses 2 'no such switch' pmm simulate -f fabric --plan plan \
    --slow-switch h0001=+3
refuses 2 'SHARE:P:NS' pmm simulate -f fabric --plan plan --busy 0.2
refuses 2 'below 0' pmm simulate -f fabric --plan plan --slow h0003/1=-900
refuses 2 'noise sideways: expected a number of ns, or one of calm, site, busy, ' \
    pmm simulate -f fabric --plan plan --noise sideways
missing=
for name in $(sed 's/.* one of //; s/,//g' stderr); do
    grep -Eq "^\.BR? .*\b$name\b" "$srcdir/man/pmm-replay.1.in" \
        || missing+=" $name"
done
is "$missing" "" "... and pmm-replay(1) has all of these"
refuses 2 'no such host' pmm simulate -f fabric --plan plan --slow-host s1=+3
refuses 2 "loopback: '-1' is no" pmm simulate -f fabric --plan plan --loopback -1
refuses 2 'version 3 is not known' pmm solve -f fabric --plan plan \
    --samples newer
refuses 2 'endpoint nobody' pmm solve -f fabric --plan plan --samples nobodys

pmm plan -f fabric --hosts h0001 -o one
is "$(jq -c '[.rank, .rounds]' one)" '[0,[]]' \
    "one host: nothing to measure, and no error"

done_testing
