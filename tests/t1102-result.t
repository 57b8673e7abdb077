#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The result of a check for the job's own tasks, in a real Slurm over the emulator.
# What this test alone shows: `srun --pmm-check --pmm-output=FILE.json` leaves one
# file, as the user, before the tasks start; they read the latency of each pair in it.

. "$(dirname "$0")/lib.sh"
need jq
workdir
cd "$workdir" || exit 1
with_plugin
pmm fabric show -f fabric --json |
    jq -r '.links | to_entries[] | "\(.value.id) \(100 + 37 * .key)"' >latency
emu_up fabric --latency latency
with_cluster 5 --plugstack plugstack

# checked OPTION...: a job of an ordinary user, of five nodes, whose first task
# prints the file; what srun says goes to said
file=$workdir/home/result.json
as_user true
checked ()
{
    (cd / && as_user srun -Q -N5 --ntasks-per-node=1 --pmm-check \
        --pmm-output="$file" "$@" \
        sh -c "[ \$SLURM_PROCID != 0 ] || cat $file") 2>said
}

checked >read
is $? 0 "a job of five nodes"
is "$(jq -c '[.kind, .status, (.nodes.answered | length), .nodes.missing,
    .verdict.kind, .verdict.status == .status]' read)" \
    "$(jq -c '["result", .status, 5, [], "verdict", true]' "$file")" \
    "its task reads the result of the check"
like "$(<said)" "pmm: $(jq -r .status read)" "... which says what srun said"
is "$(stat -c %U "$file")" "$test_user" "the file is the user's"
is "$(jq -c '[.all_pairs, (.pairs | length)]' read)" '[true,10]' \
    "all pairs are in it, measured or not"

# that of a pair is the mean of its paths, there and back
jq -r '.pairs[] | "\(.a) \(.b) \(.latency_ns)"' read | while read -r a b ns; do
    pmm path -f fabric "$a" "$b" --json | jq -r '(.forward + .reverse)[]' |
        awk -v ns="$ns" -v pair="$a $b" 'FNR == NR { l[$1] = $2; next }
            { sum += l[$1] }
            END { d = sum / 2 - ns
                if (d > 1 || d < -1) print pair, sum / 2, ns }' latency -
done >off
is "$(<off)" "" "... each with the latency of its links"

before=$(jq .job read)
sed -i "s|^Snapshot .*|Snapshot = $workdir/nothing|" pmm.conf
checked >read
like "$(<said)" "nothing" "a check that cannot run says so"
like "$(<said)" "pmm: removed $file, the result of an earlier check" \
    "... and what it took away, and not before it had to"
is "$(jq -c '[.kind, .status, .pairs, .job > '"$before"']' read)" \
    '["result","UNKNOWN",[],true]' "... and leaves no result of another job"
like "$(jq -r .sentence read)" "nothing" "... but one that says why"

sed -i "s|^Snapshot .*|Snapshot = $workdir/fabric|" pmm.conf
file=$workdir/home/none/result.json
checked >read
like "$(<said)" "home/none" "a file that cannot be written is said"
like "$(<said)" "pmm: (OK|UNKNOWN|WARN)" "... and the check is good"

done_testing
