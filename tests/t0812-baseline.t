#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is expected of cables: the site's Baseline is published from a run and
# from the ledger, shown, and compared with what was measured later. What a
# baseline must not be made of is refused, and the file stays.

. "$(dirname "$0")/lib.sh"
need jq cc
pmm baseline --help >/dev/null 2>&1 || skip_all "built without Slurm or the ledger"
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
mkdir site
cat >conf <<END
Snapshot=$workdir/fabric
Baseline=$workdir/site/baseline.json
Ledger=$workdir/site/ledger
END
baseline () { pmm baseline "$1" --conf conf "${@:2}"; }

# run DIR OPTION...: what pmm-probe --output DIR would leave, both stages
run ()
{
    local dir=$1 base=() hosts=()
    shift
    mkdir "$dir"
    [[ ${1-} != --hosts ]] || { hosts=("${@:1:2}"); shift 2; }
    [[ ! -e site/baseline.json ]] || base=(--baseline site/baseline.json)
    pmm plan -f fabric "${hosts[@]}" -o plan \
        && pmm simulate -f fabric --plan plan --noise 20 "$@" -o first \
        && pmm confirm -f fabric --plan plan --samples first "${base[@]}" \
            -o "$dir/plan.json" \
        && pmm simulate -f fabric --plan "$dir/plan.json" --noise 20 "$@" \
            -o "$dir/samples.json"
}

# A run

run healthy
out=$(umask 077; baseline publish healthy)
is $? 0 "the samples of a run are published"
like "$out" "published $workdir/site/baseline.json: 64 of 64 links, 32 hosts" \
    "... which says of what they are"
like "$out" 'pmm: OK' "... and what the judge says of them"
is "$(stat -c %a site/baseline.json)" 644 "all may read it, whatever the umask is"
known () { baseline show "$@" --json | jq -c 'del (.file, .written)'; }
is "$(known)" "$(known healthy)" "they are what was measured"
cp site/baseline.json kept
like "$(baseline publish healthy)" ' has the same already$' \
    "again, there is nothing to do"
is "$(baseline show --json | jq -c '[.links, .many, .hosts, .runs, .without]')" \
    '[64,64,32,1,[]]' "it is shown"
like "$(baseline show)" \
    '^/.*/site/baseline.json: 64 of 64 links, 32 hosts, [0-9]+ round trips in 1 run, written 20' \
    "... for people"
touch -d '2026-01-02 03:04:05 UTC' healthy/samples.json
like "$(baseline show healthy)" '^healthy: 64 of .* written 2026-01-02T03:04:05$' \
    "so is a run"
ln -s healthy $'name \xff\e'
is "$(baseline show --json $'name \xff\e' | jq -r .file)" "name ??" \
    "... of any name"

# What changed

run again --seed 2
out=$(baseline compare again)
is "$? $out" "0 0 changed, of 64 links that both resolve (before: 64 links, now: 64 links)" \
    "nothing changed since"
run slow --seed 3 --slow h0003/1=+800
link=$(pmm path -f fabric --json h0003 h0004 | jq -r '.forward[0]')
out=$(baseline compare slow --json)
is "$? $(jq -c '[.changed[] | [.link, .change_ns > 700]]' <<<"$out")" \
    "1 [[\"$link\",true]]" "a cable got slower: exit 1, that cable"
like "$(baseline compare slow healthy | tail -n 1)" \
    "^$link .*h0003.*: [0-9.]+ ns, -[78][0-9]+\.[0-9] \(\+-" \
    "... and faster, the other way round"

# Nodes that have their leaf switches alone resolve no cable.
for seed in 4 5; do
    pmm plan -f fabric --hosts h0001,h0005,h0009,h0013 -o plan
    pmm simulate -f fabric --plan plan --noise 20 --seed $seed \
        $( ((seed == 4)) || echo --slow h0005/1=+800) -o "few$seed"
done
out=$(baseline compare few4 few5)
is "$? $(head -n 1 <<<"$out")" "1 1 changed, of 0 links and 4 groups that both resolve (before: 8 links, now: 8 links)" \
    "what cannot be resolved is compared by its sum"
like "$out" 'h0005.* and 1 other: [0-9.]+ ns, \+[78][0-9]+' "... which is named"

# What is no baseline

out=$(baseline publish slow 2>said)
is $? 1 "a FAIL is refused"
like "$(tail -n 1 said)" \
    '^pmm baseline publish: not published: the verdict is FAIL: ' \
    "... in a sentence"
like "$(head -n 1 said)" ': in this run a cable is .* slow: .*: repair it first, .*, \+[0-9]+ ns over its class' \
    "... and one says what is slow in it, without a baseline, too"
like "$out" 'h0003' "... and the cable is named"
jq -c '.complete = false' healthy/samples.json >part
pmm baseline publish --conf conf --plan healthy/plan.json --samples part 2>said
is "$? $(<said)" "2 pmm baseline publish: not published: the run is not complete: measure again, without nodes that do not answer" \
    "a part of a run is refused"
jq -c '.nodes.missing = ["h0032"] | .nodes.answered -= ["h0032"]' \
    healthy/samples.json >part
pmm baseline publish --conf conf --plan healthy/plan.json --samples part 2>said
is $? 2 "... or one that a node is missing from"
like "$(<said)" 'not complete, as of h0032: ' "... which is named"
pmm fabric generate fat-tree --ports 8 --levels 2 --oversubscribe 3 -o other
baseline publish -f other healthy 2>said
is $? 2 "so are samples of another fabric"
like "$(<said)" 'fabric' "... in words: $(<said)"
pmm plan -f other -o foreign.plan &&
    pmm simulate -f other --plan foreign.plan -o foreign
baseline publish -f other --plan foreign.plan --samples foreign 2>said
is "$? $(<said)" "2 pmm baseline publish: not published: other is another fabric than Snapshot's" \
    "... and another fabric's, whole as it is"
run some --hosts 'h00[05-12]' # two leaf switches of eight
baseline publish some >/dev/null 2>said
is $? 1 "a run of some nodes does not replace what is known of all"
like "$(<said)" 'not published: the run lacks [0-9]+ links that /.*/baseline.json has: measure all' \
    "... in a sentence"
baseline publish healthy -L site/ledger 2>said
is "$? $(<said)" "2 pmm baseline publish: --ledger cannot be combined with DIRECTORY" \
    "a run and a ledger"
baseline publish 2>/dev/null
is $? 2 "and a ledger that there is not"
cmp -s kept site/baseline.json
ok $? "the baseline stays as it was"

# The ledger

enter ()
{
    local nonce
    nonce=$(entries begin -L site/ledger -f fabric)
    jq -c --arg n "$nonce" '.nonce = $n' "$1/samples.json" >samples
    entries add -L site/ledger -f fabric --plan "$1/plan.json" \
        --samples samples --baseline kept >/dev/null
}
enter healthy
enter again
out=$(baseline publish)
is $? 0 "the ledger's is published"
like "$out" '^published /.*: 64 of 64 links, 32 hosts$' "... in a line"
like "$(baseline show)" ' in 3 runs, ' "... two audits, and what was published before"

# The story of an audit

enter slow
why () { pmm why --conf conf "$@"; }
out=$(why 3)
is $? 0 "why does audit 3 FAIL"
like "$out" $'^audit 3 begun=.* FAIL .*\nnothing is changed: .*\ndo: .*\n  FAIL ' \
    "... what is wrong and what to do first; how it was measured last"
like "$(grep '^do: ' <<<"$out")" "^do: .* pmm ledger trend $link$" "... and what to do"
make_seal
sed "0,/^cable/s|^cable|plug $link Mellanox serial 7\n&|" fabric | ./seal >plugged
like "$(why -f plugged 3)" $'\n  cable: Mellanox serial 7 -- [?]\ndo: ' \
    "... which the cable's serial number goes with"
is "$(($(wc -l <<<"$out") <= 12))" 1 "... on a screen" || diag "$out"
like "$(why 1 | sed -n 3p)" '^do: nothing$' "nothing about one that is OK"
like "$(why h0003)" $'^measured last: 20.*\nnothing is changed: ' \
    "a node, without Slurm"
why 44 2>said
is "$? $(<said)" \
    "2 pmm why: no audit has this number, or is about this job: 44" \
    "no such audit or job"
nonce=$(entries begin -L site/ledger -f fabric --job 44)
like "$(why 44)" 'audit 4 begun=.* job=44 ' "a job, by its audit"

# Root's file would be none of SlurmUser's.
if ((EUID == 0)) && id slurm >/dev/null 2>&1; then
    rm -f site/baseline.json
    chown slurm: site
    baseline publish healthy >/dev/null
    is "$(stat -c '%U %a' site/baseline.json)" "slurm 644" \
        "root publishes as the owner of the directory"
else
    skip "root publishes as the owner of the directory" "not root, or no slurm"
fi

done_testing
