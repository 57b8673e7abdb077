#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes of four rails, in a real Slurm, over the emulated wire. A job of one node
# is checked by the node's rails alone, and its slow rail is named. Of three
# nodes one is drained for a slow rail; when that is repaired, and both others
# are busy, the service has the node measure itself, and resumes it.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
pmm audit --help 2>/dev/null | grep -q -e --serve \
    || skip_all "built without the service"
[[ -e $builddir/spank/spank_pmm.so ]] || skip_all "there is no plugin"
. "$srcdir/tests/policy.sh"

pmm fabric generate fat-tree --ports 8 --levels 2 --rails 4 -o fabric
built_to "$workdir/bin" spank/spank_pmm.so
install -d -o slurm -m 700 spool
configure Spool="$workdir/spool" Timeout=$((15 * patience)) AuditEvery=0 \
    AuditsPerHour=100 Action=drain Resume=yes
echo "required $workdir/bin/spank_pmm.so conf=$workdir/conf" >plugstack
with_cluster h0001,h0002,h0003 --slurm-user slurm \
    --plugstack "$workdir/plugstack"
emu_up fabric

# job NODE OPTION...: a job of one node, of an ordinary user
job ()
{
    within 20 ended
    as_user srun -N1 -w "$1" "${@:2}" echo task 2>&1
}
state () { sinfo -h -N -p main -n "$1" -o "${2-%T}"; }

audit "$nodes" >said && audit "$nodes" >>said
ok $? "two audits of twelve rails" || diag "$(<said)"
like "$(audit h0002)" '^audit 3 OK 8 links by .*, 1 node' \
    "one node is audited, too"
job h0002 --pmm-check >said
like "$? $(<said)" '^0 pmm: OK: nothing is slow.*8 links of 1 node.*task$' \
    "a job of one node: its rails measure each other"

# A rail is slow

link=$(pmm path -f fabric --json h0002:3 h0001:3 | jq -r '.forward[0]')
emu slow "$link" +1000
job h0002 --pmm-check >said
like "$(<said)" "FAIL: a cable is [0-9.]+ [nu]s slow: h0002 mlx5_2/1's, or" \
    "one of its rails gets slow"
like "$(grep -A2 'FAIL: a cable' said | tail -n 1)" \
    "pmm:   h0002 mlx5_2/1 -- s1-0003/2  \($link\): \+1?[0-9]{3} ns" \
    "... which is named"
job h0002 --pmm-check=require >said
is "$? $(grep -c ^task said)" "1 0" "... and a job that requires it does not run" \
    || diag "$(<said)"
like "$(audit h0002)" '^audit 4 FAIL .*h0002 mlx5_2/1' "an audit finds it, too"
like "$(pmm_slurm policy act)" 'h0002: (note|wait)' "... and confirms nothing"
audit "$nodes" >said
audit "$nodes" >>said
like "$(<said)" "FAIL a cable is .* slow: h0002 mlx5_2/1's$" \
    "with others it is no cable of a switch" || diag "$(<said)"
like "$(pmm_slurm policy act)" 'h0002: drained: ' "... and its node is drained"
like "$(state h0002 '%T %E')" \
    "^drain(ed|ing) pmm: h0002 mlx5_2/1's cable .* link $link," "... for this rail"

# It is repaired; at first nobody is idle

like "$(audit h0002)" '^audit [0-9]+ FAIL .*, or ' "it measures itself"
emu heal all
srun -p main -w h0001,h0003 -N2 --exclusive sleep 1000 2>/dev/null &
busy=$!
within 20 eval '[[ $(state h0001) == alloc* && $(state h0003) == alloc* ]]'
# shellcheck disable=SC2016
as_slurm sh -c 'echo $$ >"$0"; exec "$@"' "$workdir/state/pid" \
    "$workdir/bin/pmm" audit --serve --conf "$workdir/conf" 2>log &
served=$!
within 20 grep -q '^h0002: wait: we drained it' log
sleep 3
is "$(state h0002 | cut -c1-7) $(grep -c 'h0002 is audited again' log)" \
    "drained 0" "its own rails alone do not resume it" || diag "$(<log)"
is "$(state h0001 | cut -c1-5)$(state h0003 | cut -c1-5)" allocalloc \
    "... and the others' jobs are left alone"
kill $busy
wait $busy
within 90 eval '[[ $(state h0002) == idle* ]]'
ok $? "with others it is found repaired, and resumed" || diag "$(<log)"
kill "$(<state/pid)"
wait $served

done_testing
