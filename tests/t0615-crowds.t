#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Crowds over pmm-emu: processes on this machine, others' flow that never pauses, and a
# cable between switches at half. What this test alone shows: one flow over each carries
# the same, and a check tells which is which, as several hosts send over it at once.

. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq
workdir
cd "$workdir" || exit 1

# three hosts at each of four leaves; others have h0004 and h0005
hosts=(h0001 h0002 h0003 h0006 h0007 h0008 h0009 h0010 h0011 h0013 h0014 h0015)
pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
emu_conf Baseline= Rates=all "Timeout=$((20 * patience))"
emu_up fabric --seed 1 --rate-noise .01
mkdir out

# The cable up from the leaf of one host, on the way to another.
cable () { pmm path -f fabric --json "$1" "$2" | jq -r '.forward[1]'; }
busy=$(cable h0004 h0005)
slow=$(cable h0001 h0006)
ok "$([[ $slow != "$busy" ]]; echo $?)" "two cables up from a leaf: $slow, $busy"

# check WHAT: ./found has the level and links of each finding
check ()
{
    start_probes --output out --rates all
    finish_probes
    jq -c '[.findings[] | [.level, [.suspects[]]]]' out/verdict.json >found
    is "$(jq '.nodes.answered | length' out/samples.json)" 12 "$1: all answer" ||
        diag "$(<stderr)"
}
# How many rounds had crowds.
crowds () { jq '[.bursts.flows[] | select(.crowd == 1).round] | unique | length' \
    out/samples.json; }

check "all is well"
is "$(<found) $(crowds)" "[] 0" "... no finding, and no crowd"

emu background h0004,h0005:1
check "others use a cable"
is "$(<found)" "[]" "... which is no finding" || diag "$(jq -c .findings out/verdict.json)"
like "$(crowds)" '^[1-9]' "... as crowds say"
like "$(jq -r '.limits[]' out/verdict.json)" 'could not be judged' "... a limit"

emu rate "$slow" 100
check "... and another is at half"
is "$(<found)" "[[\"WARN\",[\"$slow\"]]]" "... that alone is found" ||
    diag "$(jq -c .findings out/verdict.json)"
like "$(jq -r '.findings[].why' out/verdict.json)" \
    'at once, through different ports, (9[0-9]|100) Gb/s' "... and why"
emu heal all

emu rate "$busy" 100
check "the one that others use is at half"
is "$(<found)" "[[\"WARN\",[\"$busy\"]]]" "... it is found" ||
    diag "$(jq -c .findings out/verdict.json)"
emu background off
check "nobody uses it"
is "$(<found)" "[[\"WARN\",[\"$busy\"]]]" "... it is found" ||
    diag "$(jq -c .findings out/verdict.json)"
emu heal all

emu crash h0006
start_probes --output out --rates all
finish_probes
is "$(grep -o 'limit: rates.*' stderr)" \
    "limit: rates: not those of h0006: no answer during the bursts" \
    "a process dies among bursts: one sentence says so" || diag "$(<stderr)"
is "$(jq '.nodes.answered | length' out/samples.json)" 12 "... and its round trips stay"
done_testing
