#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Parts of a fabric: a plan for one cable, for one switch, among some hosts;
# hosts that tell suspects apart; and what each must refuse in one sentence.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric
ok $? "a fabric of 128 hosts"
ids () { pmm path -f fabric "$1" "$2" --json | jq -r '.forward | join(",")'; }

pmm plan -f fabric --links h0001/1 -o plan 2>said
ok $? "a plan for the cable of one host"
is "$(jq -c '[.method, (.endpoints | length), .measurements]' plan)" \
    '["links",3,3]' "... takes three hosts and three probes"
is "$(cat said)" "" "... and nothing needs to be said"
pmm plan -f fabric --check plan
ok $? "... passes the checker"

# a switch link is the third cable on the way between pods
link=$(pmm path -f fabric h0001 h0128 --json | jq -r '.forward[2]')
pmm plan -f fabric --links "$link" -o plan && pmm plan -f fabric --check plan
is "$(jq -c '[(.endpoints | length), .measurements]' plan)" '[5,6]' \
    "a cable between switches: five hosts, six probes"
pmm simulate -f fabric --plan plan --latency random:100:900 --seed 3 \
    --slow "$link=+1000" -o samples
pmm solve -f fabric --plan plan --samples samples -o solution
pmm simulate -f fabric --plan plan --latency random:100:900 --seed 3 -o before
pmm solve -f fabric --plan plan --samples before -o earlier
is "$(jq -s --arg id "$link" '[.[].links[] | select(.id == $id).latency_ns]
    | .[0] - .[1] | round' solution earlier)" 1000 \
    "... and its latency is what changed"

switch=$(pmm fabric show -f fabric --json | jq -c '.switches[40]')
guid=$(jq -r .guid <<<"$switch")
pmm plan -f fabric --switch "$guid" -o plan && pmm plan -f fabric --check plan
ok $? "a plan for a switch"
is "$(jq -c '[(.targets | length), .combined, .undetermined]' plan)" \
    '[8,null,null]' "... determines its eight cables"
pmm plan -f fabric --switch "$guid" -o by-guid
pmm plan -f fabric --switch "$(jq -r .name <<<"$switch")" -o by-name
is "$(jq -c '[.rounds]' by-guid by-name | sort -u | wc -l)" 1 \
    "... by GUID or by name"
pmm plan -f fabric --links "@/dev/null" 2>said
is $? 2 "a device is no list"
jq -r '.targets[]' plan >list
pmm plan -f fabric --links @list --extra-rounds 2 -o listed
is "$(jq -c '[(.targets | length), .extra_rounds]' listed)" '[8,2]' \
    "the same by a file of links, with two redundant rounds"
pmm plan -f fabric --check listed
ok $? "... passes the checker"

pmm plan -f fabric --links "$link" --hosts h0001,h0128 -o plan 2>said
ok $? "among two hosts a cable is determined together with others only"
like "$(cat said)" "not determined by these hosts: $link; but .* is" \
    "... which is said"
is "$(jq -c --arg id "$link" '[.targets, (.combined[$id] | has($id))]' plan)" \
    '[[],true]' "... and in the file"
pmm plan -f fabric --check plan
ok $? "... passes the checker"
jq -c '.targets = (.combined | keys) | del(.combined)' plan >proud
pmm plan -f fabric --check proud 2>said
is $? 2 "a plan that promises more does not"
like "$(cat said)" "does not follow" "... for the right reason"

# tampered SENTENCE FILTER: what becomes of that plan
tampered ()
{
    jq -c --arg id "$link" "$2" plan >bad
    pmm plan -f fabric --check bad 2>said
    is $? 2 "$2: exit 2"
    like "$(cat said)" "$1" "... $1"
}
tampered 'no fraction' '.combined[$id][$id] = "1/0"'
tampered 'no fraction' '.combined[$id][$id] = 1'
tampered 'does not follow' '.combined[$id][$id] = "3/1"'
tampered 'not a combination with it' 'del (.combined[$id][$id])'
tampered 'crosses 0/0' '.targets = ["0/0"]'
tampered 'there are none' 'del (.combined)'
tampered 'targets: missing' 'del (.targets)'

pmm plan -f fabric --separate "$(ids h0003 h0128)" --hosts h0003,h0128 \
    --idle 'h[0004-0060]' -o answer
is "$(jq -c '[.sets_before, (.sets | length), (.extra_hosts | length) < 5]' \
    answer)" '[1,6,true]' "hosts that tell six suspects apart"
pmm plan -f fabric --separate "$(ids h0003 h0128)" --hosts h0003,h0128 \
    --idle 'h[0004-0060]' --text >text
is "$(grep -c ^add text)" "$(jq '.extra_hosts | length' answer)" \
    "the same as text"
pmm plan -f fabric --separate "$(ids h0003 h0128)" --hosts h0003,h0128 \
    --idle 'h0127' --text >text
like "$(cat text)" "not resolved, whichever of these hosts is added: .* .*" \
    "what stays together is said"

# refuses STATUS SENTENCE OPTION...
refuses ()
{
    local status=$1 sentence=$2 rc
    shift 2
    rm -f out
    pmm plan -f fabric -o out "$@" >stdout 2>stderr </dev/null
    rc=$?
    is "$rc" "$status" "$sentence: exit $status"
    is "$(wc -l <stderr)" 1 "... one sentence"
    like "$(cat stderr)" "$sentence" "... that says it"
    [ ! -e out ] && [ ! -s stdout ]
    ok $? "... nothing half-written"
}

refuses 2 'no link h0999/1 in the fabric' --links h0999/1
refuses 2 'no links' --links ,
refuses 2 'nowhere' --links @nowhere
refuses 2 'no switch leaf in the fabric' --switch leaf
refuses 2 'h0999' --links h0001/1 --hosts h0001,h0999
refuses 2 'no path between these hosts crosses' --links h0001/1 \
    --hosts h0002,h0003
refuses 2 'no path between these hosts crosses' --links h0001/1 --hosts h0001
refuses 2 'cannot be combined' --links h0001/1 --switch "$guid"
refuses 2 'needs --idle' --separate h0001/1
refuses 2 '--idle needs --separate LIST' --idle h0001
refuses 2 'no link h0999/1' --separate h0999/1 --idle h0001
refuses 2 'h0999' --separate h0001/1 --idle h0999
refuses 2 'h0001 is there twice' --separate h0001/1 --hosts h0001 --idle h0001
refuses 2 '--method' --links h0001/1 --method paper

done_testing
