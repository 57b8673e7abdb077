#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The solver names a switch whose links are all slow, and none where all is
# well; its robust methods do not believe outliers; a plan says what errors it
# will give.

. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1
seed=${SEED:-$RANDOM}
diag "seed $seed"

# solved OPTION...: simulate with these, and solve
solved ()
{
    pmm simulate -f fabric --plan plan --noise 50 --spread 150 \
        --seed "$seed" "$@" -o samples \
        && pmm solve -f fabric --plan plan --samples samples \
            ${robust:+--robust $robust} -o solution
}

pmm fabric generate fat-tree --ports 8 --levels 3 -o fabric \
    && pmm plan -f fabric -v -o plan 2>said
ok $? "planned"
grep -q 'standard errors .* rms [0-9.]*, max' said
ok $? "the plan says what errors to expect"
is "$(jq '.stderr_rms > 0.3 and .stderr_rms < 1.5
    and .stderr_max > .stderr_rms' plan)" true "and so does its file"

solved
ok $? "solved"
is "$(jq -c '[.switches, .switches_tested, .outliers]' solution)" \
    '[[],80,0]' "80 switches, and none is slow"

switch=$(pmm fabric show --json -f fabric \
    | jq -r --argjson n $((seed % 80)) '.switches[$n].name')
solved --slow-switch "$switch=+300"
is "$(jq -r '.switches[] | "\(.name) \(.links | length)
    \(.excess_ns > 150 and .excess_ns < 450)"' solution)" \
    "$switch 8
    true" "$switch is slow, by all of its links, and no other"

# one RTT of four is far off, and with it one row of sixteen: the lower of both
# sides counts
solved --outliers 0.25:20000 --repeats 1
plain=$(jq .residual_ns solution)
robust=tukey solved --outliers 0.25:20000 --repeats 1
is "$(jq --argjson plain "$plain" '.outliers > 0
    and .residual_ns > $plain' solution)" true \
    "outliers are not believed: a worse fit, knowingly"
robust=median solved 2>said
is "$?" 2 "no such method"
grep -q "none of none, huber, tukey" said
ok $? "and which there are"

done_testing
