#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bench/paper, at a small size: what docs/paper.md says comes out of it.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq awk make
workdir
make -s -C "$builddir" bench/paper_plan bench/planner >"$workdir/made" 2>&1
ok $? "the programs are built" || diag "$(<"$workdir/made")"
builddir=$builddir "$srcdir/bench/paper" --smallest "$workdir/out" \
    >"$workdir/said" 2>&1
ok $? "the paper's experiments are run" || diag "$(tail -n 5 "$workdir/said")"
cd "$workdir" || exit 1

# row TEXT: the rest of the rows that begin with it
row () { sed -n "s/^| $1 | \(.*\) |\$/\1/p" said; }

is "$(row paper-first) $(row paper) $(row pmm)" "5 3 3" \
    "rounds on the sample network, the paper's first set, its best, pmm"
# measured or not
is "$(sed -nE 's/^[|] h([1-6]) h([1-6]) .*[|] ([0-9.]+) [|]$/\1\2=\3/p' said |
    tr '\n' ' ')" "12=16 13=37 14=36 15=18 16=17 23=39 24=38 25=20 26=19\
 34=25 35=41 36=40 45=40 46=39 56=21 " "... and its round trips"

like "$(row '4-port 2-tree | dmodk')" \
    '^8 [|] 16 [|] 28 [|] 15 [|] . [|] 0 [|]' \
    "d-mod-k hides the links of a 4-port tree"
like "$(row '4-port 2-tree | minhop')" '[|] 16 [|] . [|] 16 [|]' \
    "... min-hop does not"
# the worst of each list of what was solved without noise
is "$(cat out/pairs-*k.tsv out/pairs-*p.tsv | awk -F '\t' '
    $1 == "pair" { n++; d = ($5 - $4) / $4; if (d * d > 1e-18) bad++ }
    END { print n, bad + 0 }')" "552 0" "every pair is as it was drawn"
like "$(row '8-port 2-tree')" \
    '32 [|] 496 [|] 31 [|] 64 [|] 49 [|] [0-9]+ [|] [4-6] [|] 4 [|]' \
    "rounds of one after the other, in parallel, minimal, the paper's, pmm's"

is "$(row 'minhop' | awk -F ' *[|] *' '
    { printf "%s ", $2; worse += NR > 1 && $4 >= last; last = $4 }
    END { print last < .6, worse + 0 }')" \
    "64 64 93 1 0" "redundant rounds make a minimal plan good"
is "$(sed -nE 's/^[|] [^|]* [|] [0-9]* ns [|] (.*) [|]$/\1/p' said)" \
    "$(printf '%s\n' 'OK | []' 'FAIL | ["0002c90100000010/5"]' 'OK | []')" \
    "a link gets slower, and is repaired"
if type -P ibsim opensm >/dev/null; then
    like "$(row dead)" '^63 [|] 63 .* lost s1-0001/5 - s2-0001/1;' \
        "... or dies"
else
    skip "... or dies" "no ibsim or opensm"
fi

for plot in "$srcdir"/docs/paper-*.svg; do
    plot=out/${plot##*/}
    [[ $(head -c 5 "$plot") == '<svg ' && $(tail -n 1 "$plot") == '</svg>' ]] \
        && ! grep -Eiq '[^a-z]-?(nan|inf)[^a-z]' "$plot" \
        && grep -Eq '<circle|h0' "$plot"
    ok $? "${plot##*/} is drawn"
done
done_testing
