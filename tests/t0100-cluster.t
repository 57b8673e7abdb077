#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The ground that the other system tests stand on: a simulated fabric and a
# Slurm cluster that start, work for root and for an ordinary user, and leave
# nothing behind.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need ibnetdiscover pmm
workdir
cd "$workdir" || exit 1

for routing in minhop ftree; do
    with_fabric 4 2 $routing
    is "$(on_host h0003 ibnetdiscover | grep -c ^Ca)" 8 \
        "$routing: ibnetdiscover sees 8 hosts"
done
on_host h0003 sh -c 'exit 7'
is $? 7 "the exit status of a program comes through"
echo hello >greeting
is "$(on_host h0003 cat ./greeting)" hello "... and so do the caller's files"
is "$(on_host h0003 echo greeting --to=greeting)" "greeting --to=greeting" \
    "... but not each word that names one"
is "$(on_host h0003 ibnetdiscover | grep -c '4xHDR$')" 32 "cables are 4xHDR"
"$srcdir/contrib/cluster/fabric" console "$fabric" 'Unlink "s2-0001"[1]' >said
is "$? $(on_host h0003 ibnetdiscover | grep -c '4xHDR$')" "0 30" \
    "a cable can be pulled"
on_host h0009 true 2>err
like "$? $(<err)" '^2 .*h0009: no such host' "an unknown host is refused"
is "$(ls -d sys-* 2>/dev/null)" "" "no litter in the working directory"
"$srcdir/contrib/cluster/fabric" up broken greeting 2>err
is "$? $(wc -l <err)" "2 1" "a netfile without nodes is refused"
fabric_down "$fabric"

echo 'KillWait=7' >conf
with_cluster h0003,h0017,h0040,h0128 --conf "$workdir/conf"
where="printenv SLURMD_NODENAME"
all=$(tr , '\n' <<<"$nodes")
is "$(srun -N4 $where | sort)" "$all" "root's job runs on the four nodes"
is "$(as_user srun -N4 "--mpi=$mpi" $where | sort)" "$all" "... and a user's"
is "$(as_user srun -N1 id -un)" "$test_user" "... with the user's rights"
as_user sbatch -W -N2 -o "$workdir/home/out" --wrap "srun $where" >/dev/null
is $? 0 "a batch job ends well"
is "$(wc -l <home/out)" 2 "... having run on two nodes"
is "$(srun -p audit -N4 $where | wc -l)" 4 "the audit partition works"
is "$(scontrol show config | awk '$1 == "KillWait" { print $3 }')" 7 \
    "a setting of ours is in force"

is "$(scontrol show config | sed -n 's/^ClusterName *= //p')" \
    "pmm$(sed -n 's/^SlurmctldPort=//p' "$SLURM_CONF")" \
    "no other cluster on this machine has its name"

# Slurmctld tells slurmdbd about new jobs every five seconds.
seen () { [[ $(sacct -aXn -o user,state | grep -c COMPLETED) == 5 ]]; }
within 20 seen
ok $? "sacct shows the jobs"

said=$("$srcdir/contrib/cluster/cluster" status slurm)
is "$? $(grep -c idle <<<"$said")" "0 4" "status: all daemons run, all nodes idle"

mkdir own
ln -s "$(type -P sleep)" own/sleep
srun -N2 sh -c 'setsid own/sleep 1000 & env -i "$PWD/own/sleep" 1000' \
    &>/dev/null &
disown
running () { [[ $(pgrep -c -f "^$workdir/own/sleep 1000") == 2 ]]; }
within 20 running
ok $? "a job of two nodes runs"
cluster_down "$workdir/slurm"
ok $? "down, in the middle of a job"
unset SLURM_CONF
# The pattern comes in a file, so that grep does not find itself.
echo "$workdir/slurm" >pattern
is "$(cd / && grep -lsFf "$workdir/pattern" /proc/[0-9]*/{environ,cmdline})" "" \
    "no process is left that knows of the cluster"
is "$(ls -d slurm fabric broken 2>/dev/null)" "" "... and no directory"

"$srcdir/contrib/cluster/cluster" up slurm --nodes h0001 \
    --conf <(echo 'AuthType=auth/none-such') 2>err
is "$?" 1 "a cluster that cannot start says so"
like "$(head -n 1 err)" '^cluster: slurmctld did not start$' "... and why"
is "$(ls -d slurm 2>/dev/null)" "" "... and cleans up"

done_testing
