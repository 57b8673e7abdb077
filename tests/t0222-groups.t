#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How switches spread messages and over which ports, in a snapshot: shown,
# compared, checked, and refused if it contradicts itself.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq cc
workdir
cd "$workdir" || exit 1
make_seal

pmm fabric generate fat-tree --ports 4 --levels 2 -o fabric
leaf=0002c90100000010

# spreads FILE HASHED [LINE...]: a snapshot whose switches are adaptive for RC
# on all service levels, and hashed on some; with these lines after the table of
# the first leaf.
spreads ()
{
    awk -v hashed="$2" -v more="$(printf '%s\n' "${@:3}")" -v leaf="$leaf" '
        leaf_lft && /^(lft|end) / { print more; leaf_lft = 0 }
        /^lft / && $2 == leaf { leaf_lft = 1 }
        { print }
        /^switch / {
            print "adaptive", $2, "0000", "ffff"
            print "hashed", $2, hashed
        }' fabric | ./seal >"$1"
}

# Messages that leave the leaf may take both of its ports up.
groups=("groups $leaf 2" "group 0 2" "group 1 18" "3-14 1001")
spreads before ffff "${groups[@]}"
spreads after 00ff "groups $leaf 1" "group 0 10" "3-12 1000" static "5 02"

like "$(pmm fabric show -f before)" \
    'adaptive: 6 of 6 switches, SL 0-15 \(RC only\); hashed: 6, SL 0-15' \
    "what switches spread is shown"
ok "$(! pmm fabric show -f fabric | grep -q adaptive; echo $?)" \
    "... not where none has reported it"
is "$(pmm fabric show -f before --json | jq -c --arg leaf "$leaf" \
    '.switches | map (select (.guid == $leaf))[].adaptive
        | [.ud, .rc, .hashed, .fast_recovery, .private_lfts, .groups]')" \
    '[0,65535,65535,false,false,2]' \
    "... as JSON"

pmm fabric diff before after >said
is $? 1 "they are compared"
like "$(cat said)" 's1-0001 \(0002c90100000010\), hashed on SL 0-7, was 0-15' \
    "... the service levels: $(grep -c hashed said)"
like "$(cat said)" 's1-0001 \(0002c90100000010\): 12 LIDs' "... and the groups"
is "$(pmm fabric diff --json before after | jq -c \
    '.nodes.changed | [length, (.[0] | .was, .is | .adaptive.hashed)]')" \
    '[6,65535,255]' "... as JSON"
pmm fabric diff before before >said
is $?-$(wc -c <said) 0-0 "... with themselves"

like "$(pmm fabric check -f after)" \
    'note: s1-0001: the static ports of adaptive routing are not those of the forwarding table for 1 LID, first LID 5: port 2, and [34] in the table' \
    "a static port that is not the table's is a note"
ok "$(! pmm fabric check -f before | grep -q 'static port'; echo $?)" \
    "... if it is, there is none"

# refused LINE... ERROR
refused ()
{
    spreads bad ffff "${@:1:$#-1}"
    like "$(pmm fabric show -f bad 2>&1)" "bad:[0-9]+: ${*: -1}" "${*: -1}"
}
refused "groups $leaf 1" "group 0 2" "3-14 1001" \
    "LID 3 of switch $leaf goes to group 1 of 1"
refused "groups $leaf 2" "group 0 2" "3-14 1001" \
    "LID 3 of switch $leaf goes to group 1, which has no ports"
refused "groups $leaf 1" "group 0 22" \
    "group 0 of switch $leaf has port 5, and the switch ports 1 to 4"
refused "group 0 2" "a group without a table of groups"
refused "${groups[@]}" "${groups[@]}" "switch $leaf has two tables of groups"

done_testing
