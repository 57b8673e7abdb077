#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A job's part of a live fabric, as opensm routes it: its paths are those of
# the whole, at a fraction of the queries; a hint that is wrong changes nothing,
# and what is not there is said.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibsim opensm
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1
seed=${SEED:-$RANDOM}
diag "SEED=$seed"

with_fabric 8 3 minhop
sim () { "$srcdir/contrib/cluster/fabric" console "$fabric" "$1" >/dev/null; }

# queries FILE: how many it took.
queries () { sed -n 's/^\([0-9]*\) queries.*/\1/p' "$1"; }

hash_of () { sed -n 's/^hash //p' "$1"; }

# same_paths PART HOSTS: between all of them, PART's paths are the whole's.
same_paths ()
{
    local a b
    for a in $2; do
        for b in $2; do
            [[ $a == "$b" ]] || echo "$a $b"
        done
    done >pairs
    pmm path -f "$1" --pairs pairs >of.part && pmm path -f whole \
        --pairs pairs >of.whole && cmp -s of.part of.whole && [[ -s of.part ]]
}

on_host h0001 pmm fabric read -v -o whole 2>err
ok $? "the whole fabric: $(<err)"
all=$(queries err)

row=$(seq -f 'h%04.0f' -s ' ' 8)
on_host h0001 pmm fabric read --hosts 'h[0001-0008]' --hint ./whole -v \
    -o part 2>err
ok $? "eight hosts in a row: $(<err)"
(($(queries err) * 16 <= all))
ok $? "... at their share of the queries at most"
same_paths part "$row"
ok $? "... have the paths of the whole"
like "$(pmm fabric show -f part)" 'a part:.*8 hosts \(8 ports\)' "... and no more"
echo "Snapshot = $PWD/part" >pmm.conf
like "$(pmm doctor --conf "$PWD/pmm.conf" 2>&1)" \
    'FAIL +snapshot: [^ ]*/part is a part of the fabric, of 8 hosts' \
    "... and not for publishing"
pmm plan -f part -o plan && pmm simulate -f part --plan plan -o samples \
    && pmm judge -f part --plan plan --samples samples >/dev/null
ok $? "... are planned and judged"

drawn=$(seq -f 'h%04.0f' 2 128 | sort -R --random-source=<(yes "$seed") |
    head -n 12 | sort)
list=$(paste -sd, <<<"$drawn")
on_host h0001 pmm fabric read --hosts "$list" --hint ./whole -v -o drawn 2>err
ok $? "twelve hosts that were drawn, read by another: $(<err)"
same_paths drawn "$drawn"
ok $? "... have the paths of the whole"
echo "$list" >list
on_host h0001 pmm fabric read --hosts "@$PWD/list" -v -o again 2>err
ok $? "the same without a hint: $(<err)"
is "$(hash_of again)" "$(hash_of drawn)" "... are the same"

# Another fabric's LIDs.
pmm fabric generate fat-tree --ports 8 --levels 3 -o model
on_host h0001 pmm fabric read --hosts "$list" --hint ./model -v -o again 2>err
ok $? "the same by a hint that is wrong: $(<err)"
is "$(hash_of again)" "$(hash_of drawn)" "... are the same"

# The leaf of the last host: all that is asked goes through the reader's own, and
# of so many messages one would be lost too often.
leaf=$(pmm path -f drawn "$(tail -n 1 <<<"$drawn")" "${drawn%%$'\n'*}" --json |
    jq -r '.forward[1]' | cut -d/ -f1)
leaf=$(pmm fabric show -f drawn --json |
    jq -r --arg g "$leaf" '.switches[] | select (.guid == $g) | .name')
sim "Error \"$leaf\" 30"
on_host h0001 pmm fabric read --hosts "$list" --hint ./whole -v -o again 2>err
ok $? "30 % loss at $leaf: $(<err)"
is "$(hash_of again)" "$(hash_of drawn)" "... the same"
sim "Error \"$leaf\" 0"

rm again
on_host h0001 pmm fabric read --hosts h0001,h0999 --hint ./whole -o again 2>err
is "$? $(<err)" "3 pmm fabric read: not in the fabric: h0999" \
    "a host that is not there"
on_host h0001 pmm fabric read --hosts "$list" --hint ./whole --max-smps 20 \
    -o again 2>err
is "$?" 3 "a limit: $(<err)"
pmm fabric read --hint whole -o again 2>err
is "$? $(<err)" "2 pmm fabric read: --hint needs --hosts LIST" "a hint alone"
on_host h0001 pmm fabric read --hosts h0001 --hint ./err -o again 2>err2
is "$?" 2 "a hint that is no snapshot: $(<err2)"

# A cable is pulled and plugged in, and opensm routes anew, while the part is
# read: it is as it was, as it will be, or refused.
if [[ $PMM_LONG ]]; then
    was=$(hash_of drawn)
    wrong=0 refused=0 changed=0
    for ((i = 0; i < 20; i++)); do
        ((i % 2)) && act=ReLink || act=Unlink
        sim "$act \"$leaf\"[5]"
        sleep 0.$((RANDOM % 5))
        rm -f torn
        if on_host h0001 pmm fabric read --hosts "$list" --hint ./whole -o torn \
            2>err; then
            torn=$(hash_of torn)
        else
            torn=
            ((refused++))
            diag "$(<err)"
        fi
        sleep 2
        on_host h0001 pmm fabric read --hosts "$list" --hint ./whole -o now
        now=$(hash_of now)
        [[ ! $torn || $torn == "$was" || $torn == "$now" ]] || ((wrong++))
        [[ $now == "$was" ]] || ((changed++))
        was=$now
    done
    is "$wrong" 0 "$changed changes at $leaf: never another part, $refused refused"
    ((changed > 1))
    ok $? "... which the part has seen"
fi

# A host is pulled: it is gone, or its leaf says so, never elsewhere.
gone=$(tail -n 1 <<<"$drawn")
sim "Unlink \"$gone\""
on_host h0001 pmm fabric read --hosts "$list" --hint ./whole -o again 2>err
is "$?" 3 "a host is pulled: $(<err)"
[[ ! -e again ]]
ok $? "... and there is no file"

done_testing
