#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The audit service, unattended, as SlurmUser. What this test alone shows: which
# jobs are audited, by rule and by their users' quota; what a record, a Baseline or
# a second service that is none does; that slurmctld goes away and comes back; that
# the site's page is written.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=serve.sh
. "$srcdir/tests/serve.sh"

mkfifo state/baseline.json # which nobody ever writes to

# Whose it is
"$workdir/bin/pmm" audit --serve --conf "$workdir/conf" 2>err
is "$? $(<err)" "2 pmm audit: it must not run as root: run it as SlurmUser: runuser -u slurm -- pmm ..." \
    "not root's, who is told how"
as_user "$workdir/bin/pmm" audit --serve --conf "$workdir/conf" 2>err
like "$? $(<err)" "^3 pmm audit: .*spool is not trusted|^3 .*cannot open" \
    "nor a user's"
start
ok $? "SlurmUser's"
serve --once 2>second & # waits for the first one to end, and says then:
second=$!

# By rule
srun -N4 true
within 30 audited 1
ok $? "a job of AuditMinNodes is audited, and has a comment"
covered () { grep -qE '^pmm_coverage_ratio (0\.[5-9]|1$)' state/pmm.prom; }
within 30 covered
ok $? "the metrics say how much audits cover between Slurm's nodes" \
    || diag "$(grep coverage state/pmm.prom)"
regular () { [[ -f state/baseline.json ]]; }
within 30 regular
ok $? "a pipe for a Baseline holds nobody, and is replaced"
two="srun -w h0001,h0002"
as_user $two true
as_user $two --pmm-check=off true
as_user $two --pmm-check true 2>/dev/null
checked () { said 'is audited since its user asked for a check' && said 'audit 2 of 2 nodes'; }
within 30 checked
as_user $two --pmm-check true 2>/dev/null
over () { said 'is not audited: checks of user '"$test_user"' had 1 audit in'; }
within 30 over
ok $? "of a user's checks as many as the quota allows"
is "$(export | jq -s -c '[.[] | select(.kind == "audit" and .why == "check")
    | .uid, .hosts | if type == "array" then length else . end]')" \
    "[$(id -u "$test_user"),2]" "... bring about an audit"
empty () { [[ ! $(spool '+([0-9]).+([0-9])') && ! $(spool '*begun*') ]]; }
within 20 empty
ok $? "no other job is, nor are audits"

wait $second
is $? 3 "one service"
like "$(tail -n 1 second)" 'another audit service runs' "... and no more"

echo rubbish >spool/77.0
touch spool/.77.0.1 && mv spool/.77.0.1 spool/78.0
within 20 said 'record 78.0 is refused'
is "$(grep -c 'record 7[78].0 is refused' log) $(spool '7[78].*')" "2 " \
    "what is no record is refused, once"
sed -i 's/AuditMinNodes=4/AuditMinNodes=3/' conf
echo "Reports=$workdir/reports" >>conf
kill -HUP "$(<state/pid)"
within 20 said 'pmm.conf was read again'
ended 9000 'h[0001-0002,0005]'
within 30 audited 9000
ok $? "pmm.conf is reread"
is "$(grep -c '^cannot open .*/reports' log)" 1 \
    "without their directory pages are not written, which is said once"
install -d -o slurm -m 755 reports
on_page () { grep -q '"about":9000' reports/index.html; }
within 30 on_page 2>/dev/null
ok $? "... and the site's page is, once it is there"

comment ()
{
    [[ $(sacct -n -P -j 1 -X -o admincomment) =~ ^'pmm: audit 1 OK' ]]
}
within 20 comment
ok $? "by now the comment of the first one is in sacct"

# slurmctld is away
finish TERM
sed 's/^MessageTimeout=.*/MessageTimeout=2/' "$SLURM_CONF" >soon.conf
SLURM_CONF=$workdir/soon.conf start
read -r pid _ <slurm/pid/slurmctld
kill "$pid"
within 20 gone "$pid"
ended 9001 'h[0001-0002,0005-0006]'
within 60 said '^slurmctld: '
ok $? "it says that slurmctld is away"
"$srcdir/contrib/cluster/cluster" start slurm slurmctld
within 60 audited 9001
ok $? "... and goes on where it was"

done_testing
