#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rooms of the tree: each includes what CONTRIBUTING's table says and no other;
# no two include each other, no struct tag is defined twice, each test is in a
# list, no word is misspelt, and documents are free of phrases that are not plain
# English.

. "$(dirname "$0")/lib.sh"
workdir
cd "$srcdir" || exit 1

# Rows of the table "folder | holds | may include": room, then what it may.
awk -F'|' '/^\| folder \| holds \| may include/ { on = 1; next }
    on && !/^\|/ { exit }
    on && match ($2, /`[a-z\/]+\/`/) {
        room = substr ($2, RSTART + 1, RLENGTH - 3)
        gsub (/,/, "", $4)
        print room, $4
    }' CONTRIBUTING.md >"$workdir/table"
rooms=$(cut -d' ' -f1 "$workdir/table")

# Headers of the product that the product's files include, as "room other file".
for room in $rooms; do
    find "$room" \( -name '*.c' -o -name '*.h' \) ! -path '*/test/*' \
        -exec grep -HoE '^#include "[^"]+/[^"/]+"' {} +
done | tr -d '"' | awk -v rooms="$rooms" '
    BEGIN { n = split (rooms, name, /[ \n]/) }
    function room(path, i, best) {
        for (i = 1; i <= n; i++)
            if (index (path, name[i] "/") == 1)
                best = name[i]
        return best != "" ? best : path
    }
    { at = index ($0, ":#include ")
      from = substr ($0, 1, at - 1); to = substr ($0, at + 10)
      print room(from), room(to), from }' |
    sort -u >"$workdir/includes"

ok "$([ "$(wc -l <"$workdir/table")" -ge 9 ] &&
    [ "$(wc -l <"$workdir/includes")" -gt 200 ]; echo $?)" \
    "$(echo $rooms | wc -w) rooms in the table"
awk 'NR == FNR { for (i = 2; i <= NF; i++) may[$1, $i] = 1; next }
    $1 != $2 && !(($1, $2) in may) { print $3 " includes " $2 "/" }' \
    "$workdir/table" "$workdir/includes" >"$workdir/wrong"
ok "$([ ! -s "$workdir/wrong" ]; echo $?)" "each includes what the table says" ||
    diag "$(cat "$workdir/wrong")"
awk '{ for (i = 2; i <= NF; i++) print $1, $i }' "$workdir/table" |
    awk '($2, $1) in seen { print $1, $2 } { seen[$1, $2] = 1 }' \
    >"$workdir/mutual"
ok "$([ ! -s "$workdir/mutual" ]; echo $?)" "no two include each other" ||
    diag "$(cat "$workdir/mutual")"
find $rooms \( -name '*.c' -o -name '*.h' \) ! -path '*/test/*' \
    -exec grep -hoE '^(static )?(const )?struct [a-z0-9_]+ \{' {} + |
    sed 's/.*struct //' | sort | uniq -d >"$workdir/twice"
ok "$([ ! -s "$workdir/twice" ]; echo $?)" "no struct tag is defined twice" ||
    diag "$(cat "$workdir/twice")"

grep -nwEi "told apart|lets expect|nobody|somebody|mended|to be mended|of the\
 future|will not do|all is as|is no audit's" README.md CONTRIBUTING.md docs/*.md \
    man/*.in \
    >"$workdir/phrases"
ok "$([ ! -s "$workdir/phrases" ]; echo $?)" "documents are plain" ||
    diag "$(cat "$workdir/phrases")"

# Lines of each room of what is installed, at most: what it had when the rooms were
# put in order, and 2 %. A commit that raises one says why.
most="
    compare/cmd 1926
    compare/exchange 4263
    compare/export 413
    compare/infer 4159
    compare/map 856
    compare/mpi 1515
    compare/pattern 919
    compare/series 2339
    compare/throughput 1016
    core/baseline 2215
    core/check 678
    core/judge 9927
    core/linear 2500
    core/paths 1531
    core/plan 4177
    core/rate 4240
    core/samples 2895
    core/solve 1610
    ibquery 6555
    ibquery/compare 1479
    ibquery/export 1344
    ibquery/import 3255
    ibquery/links 4103
    ibquery/model 1236
    ibquery/read 4095
    pmm 7184
    pmm/fabric 1908
    probe 11748
    prolog 91
    prolog/act 1000
    prolog/audit 4148
    prolog/ledger 4590
    prolog/node 1362
    prolog/policy 2360
    prolog/serve 4969
    prolog/slurm 1486
    report 2963
    report/page 949
    spank 1701
    util 6120
    verb 1105
"
is "$(find $rooms -mindepth 1 \( -name '*.c' -o -name '*.h' \) ! -path '*/test/*' \
        ! -path 'tests/*' -exec wc -l {} + | awk -v most="$most" '
    BEGIN { n = split (most, row); for (i = 1; i < n; i += 2) may[row[i]] = row[i + 1] }
    $2 == "total" { next }
    { n = split ($2, part, "/"); has[n > 2 ? part[1] "/" part[2] : part[1]] += $1 }
    END {
        for (room in has)
            if (has[room] > may[room])
                print room " has " has[room] " lines, not " may[room] + 0
    }' | sort)" "" "no room is larger than it may be"

# Each test is one of the lists' (tests/Makefile.inc, the rooms' for unit tests).
for file in tests/t*.t; do
    grep -qwF "$file" tests/Makefile.inc || echo "$file"
done >"$workdir/unlisted"
ok "$([ ! -s "$workdir/unlisted" ]; echo $?)" "each system test is listed" ||
    diag "$(cat "$workdir/unlisted")"

if git ls-files >"$workdir/files" 2>/dev/null && type -P codespell >/dev/null; then
    words=nin,nam,nknown,nnumber,repeates,sanpshot,snapshoot,iif,fo,paln,reprot
    is "$(grep -v -e COPYING -e /uplot/ "$workdir/files" |
        xargs codespell -L "$words,repport,raed")" "" "no word is misspelt"
else
    skip "no word is misspelt" "no git checkout, or not installed: codespell"
fi

done_testing
