#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The story of contrib/demo, unattended: the audit after a job, the one that
# confirms it, the drain with its reason, the comment, the repaired cable, the
# resume, and how the site is told of it; and a slow cable between switches, which drains nobody. The jobs are
# an ordinary user's, SlurmUser is not root.

. "$(dirname "$0")/lib.sh"
need pmm jq srun slurmctld slurmd slurmdbd mariadbd munged ibsim opensm
[ "$(id -u)" = 0 ] || skip_all "not root"
pmm audit --help | grep -q -e --serve || skip_all "built without the service"
id slurm &>/dev/null || skip_all "no user slurm"
workdir

seed=${SEED:-$RANDOM}
diag "seed $seed"
export PMM_TMPDIR=$workdir/tmp
mkdir "$PMM_TMPDIR"
"$srcdir/contrib/demo" --parts story --nodes 8 --seed "$seed" \
    --output "$workdir/demo" >"$workdir/demo.log" 2>&1
ok $? "the story ends well" || diag "$(<"$workdir/demo.log")"

# step KEY FILTER: of the last step of that key that was right.
step ()
{
    jq -r --arg k "$1" '[.story[] | select (.step == $k and .right)] | last
        | .saw' "$workdir/demo/demo.json"
}

is "$(jq -r '[.story[].step] | join (" ")' "$workdir/demo/demo.json")" \
    "healthy fail drain comment resume notify metrics page switch-fail \
switch-fail switch-comment switch-no-drain" "... with all its steps"
like "$(step healthy)" '^OK ' "a job ends, and its audit finds all well"
like "$(step fail)" '^FAIL host end ' "a host cable is slow: FAIL after a job"
like "$(step drain)" \
    '^drained pmm: host end h[0-9]+ mlx5_0/1 \([0-9a-f]{16}/[0-9]+\) \+[0-9]+ ns' \
    "... and after the audit that confirms it the node is drained, for this"
host=$(step fail | cut -d' ' -f4)
like "$(step drain)" " $host " "... that very node"
like "$(cat "$workdir"/demo/reports/audit-*.html)" \
    "\"status\":\"FAIL\",\"sentence\":\"host end $host " \
    "... a page says what to touch"
like "$(step comment)" '^pmm: audit [0-9]+ FAIL .* kind=host ' \
    "... the job's comment has it"
like "$(step resume)" '^idle ' "the cable is mended, the node resumed"
like "$(step notify)" "^drain: $host was drained: pmm: host end $host .*
\{.*\"event\":\"drain\".*\"node\":\"$host\",.*\}\$" \
    "NotifyProgram was told of the drain, in words and as JSON"
is "$(step metrics)" 'pmm_drains_total{cause="confirmed"} 1' \
    "... Prometheus is"
like "$(step page)" '^[0-9]+$' "... and a page is in the index"
like "$(step switch-fail)" '^FAIL switch link ' \
    "a cable between switches is slow: FAIL"
like "$(step switch-comment)" '^pmm: audit [0-9]+ FAIL .* kind=link ' \
    "... which the job's comment has"
is "$(step switch-no-drain)" "" "... and nobody is drained, after two audits"
is "$(ls "$PMM_TMPDIR")" "" "nothing is left"

done_testing
