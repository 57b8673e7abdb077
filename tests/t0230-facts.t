#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ports say of their cables, in a simulated fabric: which have trained low,
# which count errors, what could not be told; and what that is worth beside a
# latency.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibsim opensm ibportstate perfquery script
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

# A cable that is set to DDR, at h0004.
pmm fabric generate fat-tree --ports 8 --levels 2 --netfile -o "$workdir/net"
sed -i '/"h0004"/s/4xHDR/4xDDR/' "$workdir/net"
grep -q '4xDDR' "$workdir/net"
ok $? "a netfile with a cable of DDR"
with_fabric 0 0 minhop "$workdir/net"
console () { "$srcdir/contrib/cluster/fabric" console "$fabric" "$1" >said; }
lid () { jq -r --arg n "$1" '.hosts[] | select(.name == $n)
    .endpoints[0].lid' snapshot.json; }
read_all ()
{
    on_host h0001 pmm fabric read -o snapshot &&
        pmm fabric show -f snapshot --json >snapshot.json
}
# The link of a host's first port, and its findings in check.json.
link () { pmm path -f snapshot "$1" h0016 --json | jq -r '.forward[0]'; }
signs () { jq -c --arg l "$(link "$1")" \
    '[.findings[] | select(.link == $l) | .sign]' check.json; }

shown=$(on_host h0001 env TERM=xterm \
    script -qec "pmm fabric read --rate 100 -o slowly" /dev/null </dev/null)
like "$shown" $'\rpmm fabric read: [0-9]+ s, query [0-9]+ of [0-9]+ *\r' \
    "a terminal shows how far the fabric is read"
read_all
ok $? "the fabric is read"
is "$(jq -c '[.links[].a, .links[].b | select(.active == "-")]' \
    snapshot.json)" "[]" "... with what each port can do and does"
is "$(grep -c '^product .* 0002c9 [0-9a-f]*$' snapshot)" \
    "$(grep -cE '^(ca|switch) ' snapshot)" "... and which product each node is"
# The subnet manager lets the cable of DDR have QDR, and ibsim's ports of such a
# cable say that they can do no more.
pmm fabric check -f snapshot --json -o check.json
is "$? $(jq -c '[.status, .findings]' check.json)" '0 ["OK",[]]' \
    "a cable that is as fast as its ends can be is no finding: exit 0"
pmm fabric check -f snapshot >text
like "$(<text)" '1 link at 4xQDR, .* at 4xHDR; the ends can do no more: .*h0004' \
    "... it is a note"

switch=$(jq '[.links[] | select(.kind == "host")
    | if .a.name | startswith("h0002") then .b
      elif .b.name | startswith("h0002") then .a else empty end][0]' \
    snapshot.json)
sw_lid=$(awk -v g="$(jq -r .guid <<<"$switch")" \
    '$1 == "switch" && $2 == g { print $4 }' snapshot)
on_host h0001 ibportstate "$sw_lid" "$(jq .port <<<"$switch")" width 1 \
    >said 2>&1
ok $? "h0002's port of the switch is set to one lane"
read_all && pmm fabric check -f snapshot --json -o check.json
is "$? $(signs h0002) $(signs h0004)" '1 ["width"] []' \
    "a cable of one lane is a finding"
like "$(jq -r '.findings[] | select(.sign == "width") | .why' check.json)" \
    'it runs at 1x.* is set to 1x' "... and who set it so is named"

on_host h0001 pmm fabric counters -f ./snapshot -v -o before 2>err
ok $? "counters of both ends of each cable: $(<err)"
is "$(grep -c '^port ' before)" "$(jq '2 * (.links | length)' snapshot.json)" \
    "... as many"
sleep 1.1
console 'PerformanceSet "h0003"[1] PortCounters.SymbolErrorCounter=1234'
console 'PerformanceSet "h0005"[1] PortCounters.LinkDownedCounter=255'
console 'PerformanceSet "h0006"[1] PortCounters.PortXmitWait=77'
on_host h0001 pmm fabric counters -o now
ok $? "... once more, of a fabric that is read first"
pmm fabric check -f snapshot --counters now --since before --json \
    -o check.json
is "$? $(signs h0003) $(signs h0005) $(signs h0006)" \
    '1 ["counter"] ["counter"] []' "errors of a cable are a finding"
like "$(jq -r '.findings[] | select(.counter == "SymbolErrorCounter")
    | .why' check.json)" 'h0003 .* has grown by 1234 in' "... with figures"
is "$(jq -c '[.findings[] | select(.counter == "LinkDownedCounter") | .exact,
    .count]' check.json)" '[false,255]' "... a counter at its end: at least"
is "$(jq -c '[.waits[] | .link, .count]' check.json)" \
    "[\"$(link h0006)\",77]" "... who waited is told"

on_host h0001 perfquery -R "$(lid h0003)" 1 >said 2>&1
sleep 1.1
on_host h0001 pmm fabric counters -f ./snapshot -o reset
pmm fabric check -f snapshot --counters before --since now 2>err
is $? 2 "the later of two readings is no earlier one: exit 2"
pmm fabric check -f snapshot --counters reset --since now --json -o check.json
like "$(jq -r '.limits[]' check.json)" 'reset in between.*h0003' \
    "a port whose counters somebody reset could not be told"

# A slow cable, with and without a sign: static, so that it may be a long one.
pmm plan -f snapshot -o plan
slow=(--latency random:100:110 --seed 1 --noise 5 --repeats 5
    --slow "$(link h0003)=+1500")
pmm simulate -f snapshot --plan plan "${slow[@]}" -o first &&
    pmm confirm -f snapshot --plan plan --samples first -o longer &&
    pmm simulate -f snapshot --plan longer "${slow[@]}" -o samples
pmm judge -f snapshot --plan longer --samples samples -o verdict
is "$? $(jq -c '[.findings[] | .level, .basis]' verdict)" \
    '0 ["WARN","class"]' "a cable slower than its class: WARN"
pmm fabric check -f snapshot --counters now --since before --json -o check.json
pmm judge -f snapshot --plan longer --samples samples --signs check.json \
    -o verdict
is "$? $(jq -c '[.findings[] | .level, .basis, .suspects[0]]' verdict)" \
    "1 [\"FAIL\",\"counter\",\"$(link h0003)\"]" \
    "... that counts errors: FAIL by its counter"
jq --arg l "$(link h0003)" '.waits[0].link = $l' check.json >waits.json
pmm judge -f snapshot --plan longer --samples samples --signs waits.json \
    -o verdict
is "$? $(jq -c '[.findings[] | .level]' verdict)" '3 ["UNKNOWN"]' \
    "... where messages waited meanwhile: UNKNOWN"
done_testing
