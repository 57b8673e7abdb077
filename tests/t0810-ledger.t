#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The ledger by hand: audits enter and nothing else does, a baseline comes out
# of it, a cable that gets slow shows in its trend, is muted, repaired and
# forgotten.

. "$(dirname "$0")/lib.sh"
need jq entries
pmm ledger --help >/dev/null 2>&1 || skip_all "built without the ledger"
workdir
cd "$workdir" || exit 1
hosts='h[0001-0012]'

# the end of audit NONCE, measured with these options of simulate
measured ()
{
    local nonce=$1 base=()
    shift
    [[ ! -e base ]] || base=(--baseline base)
    pmm plan -f fabric --hosts "$hosts" -o plan \
        && pmm simulate -f fabric --plan plan --noise 20 "$@" -o first \
        && pmm confirm -f fabric --plan plan --samples first "${base[@]}" \
            -o both \
        && pmm simulate -f fabric --plan both --noise 20 "$@" \
            | jq -c --arg n "$nonce" '.nonce = $n' >samples \
        || return 9
    entries add -L ledger -f fabric --plan both --samples samples \
        "${base[@]}"
}

audited ()
{
    measured "$(entries begin -L ledger -f fabric --hosts "$hosts" \
        --job 41)" "$@"
}

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
for seed in 1 2 3; do
    audited --seed $seed
done
ok $? "three audits of healthy cables"
is "$(pmm ledger show -L ledger | cut -d' ' -f1,2,4-7)" \
    "audit 3 OK hosts=12 job=41 by=hand
audit 2 OK hosts=12 job=41 by=hand
audit 1 OK hosts=12 job=41 by=hand" "are shown, the newest first"

measured 0123456789abcdef --seed 4 2>said
is $? 2 "the result of a check is refused"
like "$(<said)" 'ledger: .*no audit that was begun' "in words"
entries add -L ledger -f fabric --plan both --samples first 2>/dev/null
is $? 2 "and so is one without a name"

entries baseline -L ledger -f fabric -o base
ok $? "a baseline comes out"
audited --seed 5 --slow h0003/1=+900
is $? 1 "a cable gets slow: FAIL"
link=$(pmm ledger show -L ledger 4 --json \
    | jq -r '.findings[0].suspects[0].id')
is "$(pmm path -f fabric --json h0003 h0004 | jq -r '.forward[0]')" "$link" \
    "and it is the suspect"
is "$(pmm ledger trend -L ledger -f fabric h0003/1 --json | jq -c '[.trend[]
    | [.audit, .level, .change_ns > 800]]')" \
    '[[1,"OK",false],[2,"OK",false],[3,"OK",false],[4,"FAIL",true]]' \
    "which its trend shows"
entries baseline -L ledger -f fabric -o again
# known FILE: runs; rows that cross it
known ()
{
    pmm baseline show -f fabric "$1" --json \
        | jq -r --arg l "$link" '"\(.runs) \(.crossed[$l])"'
}
before=$(known base)
is "$before" "3 ${before#* }" "a baseline of three audits"
is "$(known again)" "4 ${before#* }" \
    "a fourth, in which nothing that was measured of it counts"

pmm ledger mute -L ledger "$link" --why $'known\e[1m'
is "$(pmm ledger mute -L ledger --json | jq -r '.mutes[0] | .link, .why')" \
    "$link
known?[1m" "it is muted, with a clean reason"
pmm ledger mute -L ledger -f fabric h0003/1 --off
is "$?$(pmm ledger mute -L ledger)" 0 "and heard of again"
pmm ledger mute -L ledger --node h0003 --why rack
pmm ledger mute -L ledger --node h0003 "$link" --why both
is "$(pmm ledger mute -L ledger | sed 's/ 20[^ ]*//; s/ by .*:/:/')" \
    "h0003: rack
$link at h0003: both" "a node is muted as well, or a link at it"
pmm ledger mute -L ledger --node h0003 --off
pmm ledger mute -L ledger --node h0003 "$link" --off
is "$?$(pmm ledger mute -L ledger)" 0 "until they are not"
pmm ledger mute -L ledger h0003/1 --why x 2>said
is $? 2 "a name needs a snapshot"

pmm ledger rebase -L ledger -f fabric h0003/1 --why 'new cable'
audited --seed 6
entries baseline -L ledger -f fabric -n 2 -o base
is "$(known base)" "2 $((${before#* } / 3))" \
    "a repaired cable has a baseline of its own"
is "$(entries export -L ledger | jq -r .kind | sort | uniq -c | xargs)" \
    "5 audit 1 rebase" "all that is there, as JSON lines"

pmm ledger prune -L ledger --keep 2
is "$(pmm ledger show -L ledger --json | jq -c '[.audits[].id]')" '[5,4]' \
    "two are kept"
pmm ledger check -L ledger
ok $? "it is sound"
dd if=/dev/zero of=ledger bs=4096 seek=5 count=3 conv=notrunc 2>/dev/null
pmm ledger check -L ledger 2>said
is $? 3 "damage is the world's fault"
like "$(<said)" '^pmm ledger check: ledger is damaged: ' "in one sentence"
is "$(wc -l <said)" 1 "of one line"
pmm ledger salvage -L ledger new && pmm ledger check -L new
ok $? "what is left is salvaged"
pmm ledger salvage -L ledger new 2>said
is $? 2 "but into a new one only"
pmm ledger show -L nowhere/ledger 2>/dev/null
is $? 2 "no such directory"

done_testing
