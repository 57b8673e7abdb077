#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nodes are drained and resumed by SlurmUser, who is not root, and never against
# anybody else's word; a drained node is measured; slurmctld hangs or is gone.

. "$(dirname "$0")/lib.sh"

need salloc srun pgrep pkill
workdir
[[ -x $builddir/prolog/test/ask ]] || skip_all "built without Slurm"
id slurm &>/dev/null || skip_all "no user slurm"
cp "$builddir/prolog/test/ask" "$workdir/ask"
echo MessageTimeout=2 >"$workdir/conf"
with_cluster 5 --slurm-user slurm --conf "$workdir/conf"

ask () { as_slurm timeout 600 "$workdir/ask" "$@"; }
# A node's line of ask.
node () { ask nodes | grep "^$1 "; }
updated () { scontrol update nodename="$1" "${@:2}"; }
quietly () { "$@" >/dev/null 2>&1; }

is "$(ask user)" "$(id -u slurm) slurm" "who SlurmUser is"
is "$(ask idle audit | xargs)" "h0001 h0002 h0003 h0004 h0005" "all are idle"
like "$(ask idle none)" "no partition none" "of a partition that there is"

# Drain
ours='pmm: host end h0002 mlx5_0/1 (0000000000000001/1) +412 ns, audit 57'
is "$(ask drain h0002 "$ours")" "done" "a node is drained"
is "$(node h0002)" "h0002 drained by=slurm $ours" "the Reason is whole"
is "$(ask drain h0002 'pmm: again')" kept "it is not drained again"
is "$(node h0002)" "h0002 drained by=slurm $ours" "nor its Reason changed"
is "$(ask drained)" h0002 "it is ours"

updated h0003 state=drain reason='pmm: by hand'
is "$(ask drain h0003 "$ours")" kept "one that root drained is left alone"
is "$(node h0003)" "h0003 drained by=root pmm: by hand" "with root's Reason"
is "$(ask resume h0003 'pmm: by hand')" kept "and not resumed"

like "$(ask drain h0099 "$ours")" "no node h0099|node name" \
    "no node of another name"

# A drained node is measured with partners that a job holds.
measure ()
{
    as_slurm timeout 600 salloc -Q -KKILL --immediate=100 --exclusive --no-bell \
        -t 2 -p audit -N 2 -w h0004,h0005 \
        srun -Q --no-allocate "--mpi=$mpi" --propagate=NONE --export=NONE -K1 \
        -N 3 -n 3 --ntasks-per-node=1 -w h0002,h0004,h0005 /bin/sh -c "$1"
}
# shellcheck disable=SC2016
is "$(measure 'echo $SLURMD_NODENAME ${PMIX_RANK-$PMI_RANK}' | sort | xargs)" \
    "h0002 0 h0004 1 h0005 2" "a step runs on a drained node and its partners"
is "$(node h0002)" "h0002 drained by=slurm $ours" "which stays drained"
like "$(scontrol -o show job)" 'Partition=audit .* NodeList=h\[0004-0005\]' \
    "the partners were held"

mkdir -m 1777 "$workdir/at"
measure "echo >$workdir/at/\$SLURMD_NODENAME; /bin/sleep 200" &>/dev/null &
measuring=$!
running () { [[ -e $workdir/at/h0002 ]]; }
within 30 running
ok $? "a step that does not end"
pkill -P "$(pgrep -P $measuring -x timeout)" -x salloc
wait $measuring
free () { [[ $(ask idle audit | xargs) == "h0001 h0004 h0005" ]]; }
within 30 free
ok $? "frees its partners when salloc is asked to end"

quietly as_user timeout 600 srun --no-allocate -N 1 -n 1 -w h0002 /bin/true
ok $((! $?)) "no other user starts anything there"

# Resume
is "$(ask resume h0002 "${ours% 57}")" kept "a Reason that is not to the letter"
updated h0002 reason="$ours (cable ordered)"
is "$(ask resume h0002 "$ours")" kept "an edited Reason"
updated h0002 reason="$ours"
is "$(ask resume h0002 "$ours")" kept "ours, but given by root"
like "$(node h0002)" "drained by=root" "is root's drain"
updated h0002 state=resume
is "$(ask resume h0002 "$ours")" kept "one in service"
up () { [[ $(node h0002) == "h0002 by= " ]]; }
within 30 up
is "$(ask drain h0002 "$ours")" "done" "drained again"
is "$(ask resume h0002 "$ours")" "done" "and resumed"
within 30 up
ok $? "it is in service, without a Reason"

# How nodes are
updated h0004 state=down reason='no power'
like "$(node h0004)" "^h0004 down by=root no power" "a node that is down"
scontrol create reservation reservationname=r users=root nodes=h0005 \
    starttime=now duration=10 >/dev/null
reserved () { [[ $(node h0005) == "h0005 reserved by= " ]]; }
within 30 reserved
ok $? "a reserved one"
sbatch -w h0001 -o /dev/null --wrap 'sleep 1000' >/dev/null
busy () { [[ $(ask idle audit | xargs) == h0002 ]]; }
within 30 busy
ok $? "idle is what is neither busy, drained, down nor reserved"
is "$(ask drain h0001 "$ours")" "done" "a busy node is drained"
is "$(ask drained)" "" "but not to be measured while its job runs"

# Jobs of ours, by name
for who in as_slurm as_user; do
    quietly $who sbatch -H -J pmm-audit-7 -D / -o /dev/null --wrap true
done
quietly as_slurm sbatch -H -J pmm-audit-70 -D / -o /dev/null --wrap true
is "$(ask cancel pmm-audit-7) $(ask cancel pmm-audit-7)" "1 0" \
    "a job is cancelled by its name"
is "$(squeue -h -t PD -o '%u %j' | sort | xargs)" \
    "$test_user pmm-audit-7 slurm pmm-audit-70" "and no other, nor another's"

# Who may not
like "$(as_user timeout 600 "$workdir/ask" drain h0002 "$ours")" \
    "^slurmctld: Invalid user" "an ordinary user may not drain"
like "$(node h0002)" "^h0002 by= " "and has not"

# slurmctld
read -r pid _ <"$workdir/slurm/pid/slurmctld"
kill -STOP "$pid"
like "$(ask nodes)" "^slurmctld: .*timed out" "slurmctld hangs"
like "$(ask drain h0002 "$ours")" "^slurmctld: .*timed out" "a drain meanwhile"
kill -CONT "$pid"
within 30 up
ok $? "did not come about"
kill "$pid"
within 20 gone "$pid"
like "$(ask nodes)" "^slurmctld: Unable to contact" "slurmctld is gone"

done_testing
