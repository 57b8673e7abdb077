#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What can go wrong with devices, cables and nodes while real verbs measure, in
# a virtual machine: each fault is one clear sentence, which names the node and
# its port; the rest of the job is measured; where data are missing the verdict
# is UNKNOWN; and no cable fails that is well. PMM_LONG: also by RC, with less
# loss, and killed at any time.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq ibsim opensm
PATH=$builddir/probe/test:$PATH
need intruder
with_vm
with_wired 4 2 3 2
pmm fabric show -f net --json >net.json
cable=$(jq -r '.links[] | select(.kind == "switch") | .id' net.json | head -n 1)

# A round trip takes 1.1 ms at most.
cat >>conf <<END
Baseline=$PWD/baseline.json
RoundTrip=2500
WarnExcess=20000
FailExcess=30000
Timeout=100
END
cat >inside <<'END'
hosts=(h0001 h0002)
: >map
begin nodevice
finish

network net --latency random:100000:120000:7
begin well
finish
cp well/samples.json baseline.json

own[h0005]="--set Device=nosuch --set NodeMap="
own[h0007]="--set GidIndex=7"
own[h0009]="--set GidIndex=0"
own[h0010]="--set PKey=0x8001"
fabric pull h0008/1
begin unusable
finish
fabric heal h0008/1

begin unready
ready h0005
kill -9 "${pid[h0005]}"
finish

begin killed
ready h0005
sleep 1
kill -9 "${pid[h0005]}"
finish

begin stopped
ready h0005
sleep 1
kill -STOP "${pid[h0005]}"
wait "${pid[h0001]}"
kill -9 "${pid[h0005]}"
finish

begin leader
ready h0005
sleep 1
kill -9 "${pid[h0001]}"
finish

# h0001 and h0004 have another rail.
begin pulled
ready h0005
sleep 1
for host in h0001 h0004 h0005; do
    fabric pull $host/1
done
finish
for host in h0001 h0004 h0005; do
    fabric heal $host/1
done

for service in ud rc; do
    fabric loss "$(<cable)" 20
    begin lossy.$service --set Service=$service \
        --set ConfirmRounds=1 --timeout 300
    finish
    fabric heal "$(<cable)"
done

# Their switch's end of it.
port=$(awk -F'\t' '/h0005\/1/ { print $3 }' /run/pmm-fabric/links)
ip netns exec pmm-fabric intruder "$port" 10 30 >forgeries &
intruder=$!
begin forged
finish
wait $intruder

[[ ! -e long ]] || . ./long

begin removed
ready h0005
sleep 1
# Which does not return before nobody has them open.
for host in h0004 h0005; do
    ip link del "$(sed 's,/.*,,; s,rxe,e,' <<<"${device[$host]}")" &
done
finish
END
if [[ ${PMM_LONG-} ]]; then
    cat >long <<'END'
begin killed.rc --set Service=rc
ready h0005
sleep 1
kill -9 "${pid[h0005]}"
finish

for service in ud rc; do
    fabric loss "$(<cable)" 5
    begin few.$service --set Service=$service --set ConfirmRounds=1 \
        --repeats 20 --timeout 600
    finish
    fabric heal "$(<cable)"
done

for tenths in {00..30..3}; do
    begin sweep.$tenths
    ready h0005
    sleep "${tenths:0:1}.${tenths:1}"
    kill -9 "${pid[h0005]}" 2>/dev/null
    finish
done
END
fi
long=${PMM_LONG-}
echo "$cable" >cable
in_vm $((${long:+3}600)) inside >out 2>err
is "$? $(<out)$(<err)" "0 " "every check has come to an end" || exit
for check in */; do
    diag "${check%/}: $(<"$check/seconds") s of the machine's time"
done

# record CHECK: the result's last line, without its nonce
record ()
{
    tail -n 1 $1/h0001.out | sed 's/\(pmm-result 1 [A-Z]*\) [0-9a-f]*/\1/'
}

# missing CHECK HOST...: these and no others
missing ()
{
    local check=$1
    shift
    is "$(jq -r '.nodes.missing | "missing:", .[]' $check/samples.json \
        | paste -sd' ')" "missing:${*:+ $*}" "... missing: ${*:-nobody}"
}

# rest CHECK HOST...: pairs without these are measured, from either side
rest ()
{
    local check=$1
    shift
    jq -e '[.probes[] | select([.a, .b | split(":")[0]]
            - $ARGS.positional | length == 2)]
        | length > 20 and all (.lost == 0 and .rtt_ns.median > 400000)' \
        $check/samples.json --args "$@" >/dev/null
    ok $? "... the others are measured"
}

soon ()
{
    awk '{ exit !($1 < 60) }' $1/seconds
    ok $? "... long before the time-out"
}

# harmless CHECK [NUMBER]: nothing fails, and no more is said to lose messages.
# What is lost and sent again disturbs other times, of which the judge may say
# that it cannot tell.
harmless ()
{
    jq -e --argjson n "${2-0}" '.status != "FAIL"
        and ([.findings[] | select(.basis == "loss")] | length == $n)' \
        $1/verdict.json >/dev/null
    ok $? "... and nothing fails" || diag "$(jq -c . $1/verdict.json)"
}

# says CHECK SENTENCE: as a line of the leader's report
says ()
{
    grep -qxF -e "pmm:   limit: $2" -e "pmm: UNKNOWN: $2" $1/h0001.err
    ok $? "... $2" || diag "$(<$1/h0001.err)"
}

is "$(record nodevice)" \
    "pmm-result 1 UNKNOWN h0001: no RDMA device on this node" "no device"
is "$(<nodevice/h0001.status) $(<nodevice/h0002.status)" "3 0" "... status"

is "$(jq -c '[.nodes.missing, (.messages | add), ([.probes[].lost] | add)]' \
    well/samples.json)" '[[],0,0]' "all well"
like "$(record well)" "^pmm-result 1 OK 22 links" "... and so is the verdict"
harmless well

is "$(record unusable)" "pmm-result 1 UNKNOWN h0005: no RDMA device is called \
nosuch; the first is rxe1" "what cannot be used: the first is the result"
is "$(<unusable/h0001.status)" 3 "... status"
missing unusable h0005 h0007 h0008 h0009 h0010
says unusable "h0005: no RDMA device is called nosuch; the first is rxe1"
says unusable "h0007: rxe9/1: there is no GID at index 7"
says unusable "h0008: rxe10/1: the port is down: no link"
says unusable "h0009: rxe11/1: its GID is IPv6, not IPv4 as that of the first \
node: see GidIndex"
says unusable "h0010: rxe12/1: the port is not in partition 0x8001"
rest unusable
harmless unusable

for check in unready killed stopped ${long:+killed.rc}; do
    is "$(record $check)" "pmm-result 1 UNKNOWN 1 node did not answer: h0005" \
        "$check"
    is "$(<$check/h0001.status) $(<$check/h0005.status)" "3 137" "... status"
    missing $check h0005
    rest $check h0005
    harmless $check
    soon $check
done

is "$(wc -c <leader/h0001.out)" 0 "the leader killed: there is no result"
is "$(cat leader/h*.err | sort | uniq -c | sed 's/^ *//')" \
    "$(for i in {2..12}; do
        printf '1 pmm: h%04d: h0001, which leads the check, does not answer\n' $i
    done)" "... and all others say so"
soon leader

is "$(record pulled)" "pmm-result 1 UNKNOWN h0001: rxe1/1: the port went down \
while it was measuring" "ports that go down: the first is the result"
missing pulled h0005
says pulled "h0001: rxe1/1: the port went down while it was measuring"
says pulled "h0004: rxe5/1: the port went down while it was measuring"
is "$(<pulled/h0005.err)" "pmm: h0005: rxe7/1: the port went down while it was \
measuring" "... and who has no other rail says it itself"
jq -e '[.probes[] | select([.a, .b] | any (. == "h0001:2" or . == "h0004:2"))
        | select([.a, .b] | all (. != "h0001:1" and . != "h0004:1"
            and . != "h0005"))]
    | length > 2 and all (.lost == 0)' pulled/samples.json >/dev/null
ok $? "... the other rails are measured to the end"

for service in ud rc; do
    check=lossy.$service
    is "$(jq -c '[.findings[] | select(.basis == "loss")
        | [.level, .kind, .suspects[0]]]' $check/verdict.json)" \
        "[[\"FAIL\",\"switch link\",\"$cable\"]]" \
        "a fifth of all messages lost, by $service: the cable is found"
    missing $check
    jq -e '[.probes[] | select(.lost == 0)] | length > 20' \
        $check/samples.json >/dev/null
    ok $? "... the others are measured"
done

is "$(awk '{ sent[$1] = $2 } END { print sent["repeated"], sent["nonce"] \
    + sent["sender"] + sent["address"] + sent["type"] }' forgeries)" "10 40" \
    "messages sent again, and forged"
is "$(jq -c '.messages | [.late, .repeated, .foreign]' forged/samples.json)" \
    '[0,10,40]' "... are counted"
like "$(<forged/h0001.err)" "0 late, 10 repeated and 40 foreign messages" \
    "... and said"
like "$(record forged)" "^pmm-result 1 OK 22 links" "... and do no harm"
missing forged
rest forged
harmless forged

for check in ${long:+few.ud few.rc}; do
    is "$(jq -c '[.findings[] | select(.basis == "loss") | .suspects[0]]' \
        $check/verdict.json)" "[\"$cable\"]" \
        "$check: a twentieth of all messages lost: the cable is found"
    missing $check
done

# At the end the node may have told all that it found.
for check in ${long:+sweep.*}; do
    like "$(record $check) $(jq -c .nodes.missing $check/samples.json)" \
        '(UNKNOWN 1 node did not answer: h0005 \["h0005"\]|.* \[\])$' \
        "killed after $check tenths of a second"
    rest $check h0005
    harmless $check
    soon $check
done

gone="the device failed or was removed while it was measuring"
is "$(record removed)" "pmm-result 1 UNKNOWN h0004: rxe5/1: $gone" \
    "devices removed: the first is the result"
missing removed h0005
is "$(<removed/h0005.err)" "pmm: h0005: rxe7/1: $gone" \
    "... and who has no other says it itself"
rest removed h0004 h0005

done_testing
