#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Small audits of three hosts each, none of which tells what any link's latency
# is: together they do, exactly, and show which link got slower.

. "$(dirname "$0")/lib.sh"
need jq entries
pmm ledger --help >/dev/null 2>&1 || skip_all "built without the ledger"
workdir
cd "$workdir" || exit 1
cables=random:100:300:7

# an audit of these hosts, with these options of simulate
audit ()
{
    local hosts=$1 nonce
    shift
    nonce=$(entries begin -L ledger -f fabric --hosts "$hosts") \
        && pmm plan -f fabric --hosts "$hosts" -o plan \
        && pmm simulate -f fabric --plan plan --latency $cables "$@" \
            | jq -c --arg n "$nonce" '.nonce = $n' >samples \
        && pmm solve -f fabric --plan plan --samples samples \
            | jq -r '.links[] | select (.latency_ns) | .id' >>alone
    entries add -L ledger -f fabric --plan plan --samples samples \
        "${base[@]}"
}

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
pmm plan -f fabric -o all
pmm simulate -f fabric --plan all --latency $cables -o truth
pmm solve -f fabric --plan all --samples truth -o truth.solved
base=()
RANDOM=1
for i in {1..60}; do
    a=$((RANDOM % 32)) # and a neighbour of its, as a rule on the same leaf
    b=$(((a + 1 + RANDOM % 2) % 32))
    c=$(((a + 6 + RANDOM % 20) % 32))
    jobs[i]=$(printf 'h%04d,h%04d,h%04d' $((a + 1)) $((b + 1)) $((c + 1)))
    audit "${jobs[i]}"
done
is "$(wc -l <alone)" 0 "60 audits of three hosts determine no link"
pmm ledger solve -L ledger -f fabric --json >solved
is "$(jq '[.links[] | select (.latency_ns)] | length > 50' solved)" true \
    "together they do: $(pmm ledger solve -L ledger -f fabric | head -1)"
is "$(jq --slurpfile t truth.solved '($t[0].links | map ({(.id): .latency_ns})
    | add) as $true | [.links[] | select (.latency_ns)
    | .latency_ns - $true[.id] | fabs] | max < 1e-6' solved)" true "exactly"
is "$(jq -r '[.kind, .rows == .rank + .dof] | @csv' solved)" \
    '"solution",true' "as a solution"
# a baseline has times of seven digits
is "$(jq '[.links[] | select (.latency_ns) | .change_ns | fabs] | max < .01' \
    solved)" true "and nothing has changed"

link=$(pmm fabric show -f fabric --json | jq -r --slurpfile s solved \
    '[$s[0].links[] | select (.latency_ns) | .id] as $known | .links[]
    | select (.kind == "switch" and (.id | IN ($known[]))) | .id' | head -1)
[[ $link ]] || exit 1
entries baseline -L ledger -f fabric -o base
base=(--baseline base)
for i in {1..20}; do
    audit "${jobs[i]}" --noise 5 --slow "$link=+400"
done
pmm ledger solve -L ledger -f fabric --points 2 >text
is "$(sed -n '2s/ .*//p' text)" "$link" "a cable that gets slow is the first"
like "$(sed -n 2p text)" ' \+[0-9.]+ \(\+-[0-9.]+\) over its baseline$' \
    "with its change"
is "$(pmm ledger solve -L ledger -f fabric --points 2 --json | jq --arg l \
    "$link" '.links[] | select (.id == $l) | .change_ns > 10
    and (.trend | length) == 2 and .trend[0].latency_ns == null')" true \
    "which there was none of a week ago"

pmm ledger solve -L ledger -f fabric --half-life 0 2>said
is $? 2 "a half-life is longer than nothing"
pmm fabric generate fat-tree --ports 4 --levels 2 -o other
pmm ledger solve -L ledger -f other 2>said
is "$?$(<said)" "2pmm ledger solve: ledger: holds no samples of this fabric" \
    "of another fabric there is nothing"

done_testing
