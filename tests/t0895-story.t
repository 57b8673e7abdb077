#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# contrib/demo, once, with all that it has. What this test alone shows: that what
# people run first is right, and says so. Checks by root and by an ordinary user, on
# a fabric of 128 hosts: healthy, no finding; a planted cable, a host's and a
# switch's, in the one finding, its suspects no more than the paths force. The whole
# story in one piece, in a Slurm whose SlurmUser is not root: the audit after a job,
# the one that confirms it, the drain with its reason, the comment, the repaired
# cable, the resume, and how the site is told of it; and a slow cable between
# switches, which drains nobody. Nothing stays behind. (Other routing engines and
# more seeds: t0900. What each step does when it goes wrong: t0863, t0870.)

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
demo=$workdir/demo
"$srcdir/contrib/demo" --repeat 1 --seed "$seed" --output "$demo" \
    >"$workdir/demo.log" 2>&1
ok $? "every check was right, and the story ends well" \
    || diag "$(<"$workdir/demo.log")"
of_checks () { jq -c "[.checks[] | $1]" "$demo/demo.json"; }

is "$(of_checks .user)" '["root","nobody","root","nobody"]' \
    "checks by root and an ordinary user"
is "$(of_checks '.planted == null')" '[true,false,false,true]' \
    "... of a healthy fabric, slow cables, and those healed"
is "$(of_checks 'select ((.planted == null) != (.findings == []))')" '[]' \
    "... a finding where there is a fault, and nowhere else"

# step KEY FILTER: of the last step of that key that was right.
step ()
{
    jq -r --arg k "$1" '[.story[] | select (.step == $k and .right)] | last
        | .saw' "$demo/demo.json"
}

is "$(jq -r '[.story[].step] | join (" ")' "$demo/demo.json")" \
    "healthy fail drain comment resume notify metrics page \
pcie-fail pcie-drain pcie-resume \
switch-fail switch-fail switch-comment switch-no-drain" "the story has all its steps"
like "$(step healthy)" '^OK ' "a job ends, and its audit finds all well"
like "$(step fail)" "^FAIL a cable is .* slow: h[0-9]+('| mlx5)" "a host cable is slow: FAIL after a job"
like "$(step drain)" \
    '^drained pmm: h[0-9]+ mlx5_0/1.s cable is .* slow: reseat it, then swap it; audit [0-9]+, link [0-9a-f]{16}/[0-9]+, \+[0-9]+ ns' \
    "... and after the audit that confirms it the node is drained, for this"
host=$(step fail | sed "s/.*slow: \(h[0-9]*\).*/\1/")
like "$(step drain)" " $host " "... that very node"
like "$(cat "$demo"/reports/audit-*.html)" \
    "\"status\":\"FAIL\",\"sentence\":\"a cable is [^\"]*: $host[ ']" \
    "... a page says what to touch"
like "$(cat "$demo"/reports/audit-*.html)" '"ticket":"[^"]*Jobs: [0-9]' \
    "... and which job was there"
like "$(step comment)" '^pmm: audit [0-9]+ FAIL .* kind=host ' \
    "... the job's comment has it"
like "$(step resume)" '^idle ' "the cable is mended, the node resumed"
like "$(step notify)" "^drain: $host was drained: $host .*
\{.*\"event\":\"drain\".*\"node\":\"$host\",.*\}\$" \
    "NotifyProgram was told of the drain, in words and as JSON"
is "$(step metrics)" 'pmm_drains_total{cause="confirmed"} 1' \
    "... Prometheus is"
like "$(step page)" '^[0-9]+$' "... and there is a page, and that of the site"
like "$(step pcie-fail)" '^FAIL h[0-9]+: PCIe runs at x8 of x16: .* in loopback, too' \
    "what small messages do not show: PCIe of another host at half"
other=$(step pcie-fail | sed "s/^FAIL \(h[0-9]*\).*/\1/")
like "$(step pcie-drain)" "^drained pmm: $other .*PCIe runs at x8 of x16" \
    "... drains it, by a second audit"
like "$(step pcie-resume)" '^idle ' "... and it is resumed when PCIe is whole again"
like "$(step switch-fail)" '^FAIL .* slow: s[0-9-]+/' \
    "a cable between switches is slow: FAIL"
like "$(step switch-comment)" '^pmm: audit [0-9]+ FAIL .* kind=link ' \
    "... which the job's comment has"
is "$(step switch-no-drain)" "" "... and nobody is drained, after two audits"
is "$(ls "$PMM_TMPDIR")" "" "nothing is left"

done_testing
