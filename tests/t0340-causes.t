#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a snapshot says of cables tells causes apart: how long they are, and
# which plugs are in one cage.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq cc
workdir
cd "$workdir" || exit 1
make_seal

# Cables of 0 to 400 ns, which both ends measure in units of 4 ns, there and
# back, with an error of one; all of four NDR lanes.
pmm fabric generate fat-tree --ports 8 --levels 3 -o hdr
awk '/^cable/ { print $2, 150 + NR * 7919 % 400 }' hdr >lengths
sed s/4xHDR/4xNDR/ hdr | ./seal >plain
awk 'FILENAME == "lengths" { ns[$1] = $2; next }
     FILENAME == "plain" && /^cable/ {
         lrtl[$2] = lrtl[$3] = int (50 + ns[$2] / 2) + FNR % 3 - 1
     }
     FILENAME == "plain" { next }
     /^cable/ && !n++ { for (i in lrtl) print "lrtl", i, lrtl[i] }
     { print }' lengths plain hdr | sed s/4xHDR/4xNDR/ | ./seal >fabric
is "$(grep -c ^lrtl fabric)" "$((2 * $(grep -c ^cable hdr)))" \
    "each cable's ends know its round trip"

like "$(pmm fabric show -f fabric)" \
    "LinkRoundTripLatency: of 384 of 384 cables" "... as fabric show says"
is "$(pmm fabric show -f fabric --json | jq -r '.links[] | .id as $id
    | (.a, .b) | "lrtl \(.guid)/\(.port) \(.lrtl)"' | sort)" \
    "$(grep ^lrtl fabric | sort)" "... of each --json"

pmm plan -f fabric --hosts 'h[0001-0008,0030-0041,0090-0101]' -o plan
slow=$(pmm path -f fabric h0003 h0095 --json | jq -r '.forward[1]')
measure ()
{
    pmm simulate -f fabric --plan plan --latency lengths --noise 30 "$@"
}
measure -o healthy
for f in plain fabric; do
    pmm judge -f $f --plan plan --samples healthy -o verdict
    is "$(jq -c '[.status, .findings]' verdict)" '["OK",[]]' \
        "healthy, no baseline: $f"
done
like "$(jq -r '.limits[]' verdict)" \
    "compared with their classes, [0-9]* of the [0-9]* by their LinkRoundTrip" \
    "... and it says by what"
measure --slow "$slow=+300" -o samples
pmm judge -f plain --plan plan --samples samples -o verdict
is "$(jq -c .findings verdict)" '[]' "+300 ns is within what lengths cause"
pmm judge -f fabric --plan plan --samples samples -o verdict
is "$(jq -c '.findings | map ([.level, .suspects])' verdict)" \
    "[[\"WARN\",[\"$slow\"]]]" "... and is found where these are known"
like "$(jq -r '.findings[].why' verdict)" \
    "above cables of its class and LinkRoundTripLatency" "... and why"

cage="both in cage 1 of switch s1-0001 (0002c90100000010): one transceiver"
for pair in "h0001 h0002 2" "h0002 h0003 0"; do
    read -r a b n <<<"$pair"
    measure --slow "$a/1=+1000" --slow "$b/1=+1000" -o samples
    pmm judge -f fabric --plan plan --samples samples --baseline healthy \
        -o verdict
    is "$(jq -c "[(.findings | length), (.findings | map (select (.why
        | contains (\"$cage\"))) | length)]" verdict)" "[2,$n]" \
        "$a and $b are slow: in one cage, say so many"
done

done_testing
