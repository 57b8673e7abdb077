#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The plugin is of another release, absent, or not to be read, here or on the
# nodes: what Slurm does then with everybody's jobs is what spank_pmm(8) says.

# shellcheck disable=SC2154,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need slurmctld srun perl
[[ -e $builddir/spank/spank_pmm.so ]] || skip_all "there is no plugin"
workdir
cd "$workdir" || exit

echo '# none' >plugstack
with_cluster 2 --plugstack "$workdir/plugstack"
plugin=$workdir/spank_pmm.so
install -m 755 "$builddir/spank/spank_pmm.so" good.so
# shellcheck disable=SC2016
perl -0pe 'BEGIN { ($year, $month, $micro) = shift =~ /(\d+)[.](\d+)[.](\d+)/ }
    $is = pack "C4", $micro, $month, $year, 0;
    $next = pack "C4", $micro, $month, $year + 1, 0;
    s/\Q$is\E/$next/g' "$(scontrol --version)" good.so >other.so
chmod 755 other.so
cmp -s good.so other.so
is $? 1 "the plugin says its release"
release=$(scontrol --version | sed -E 's/.* ([0-9]+)[.]([0-9]+).*/\1\2/')
# since 25.11, of an optional one that is not there
silent='^(task|srun: unrecognized option [^:]*)$'

# try OPTION...: a job of an ordinary user; its status, and whether it ran
try ()
{
    as_user "$@" >out 2>&1
    printf '%s %s' "$?" "$(grep -cx task out)"
}
ended () { [[ ! $(squeue -h) ]]; }
# has KIND: the file of that kind is the plugin
has ()
{
    rm -f "$plugin"
    case $1 in
    absent) ;;
    unreadable) install -m 600 good.so "$plugin" ;;
    *) install -m 755 "$1.so" "$plugin" ;;
    esac
}

for kind in good other absent unreadable; do
    for how in optional required; do
        within 60 ended # they need the plugin, too
        has $kind
        echo "$how $plugin" >"$workdir/slurm/etc/plugstack.conf"
        case $kind-$how in
        good-*) plain='0 1' asked='0 1' says='pmm: not checked: ' ;;
        other-*) says='Incompatible Slurm plugin .*spank_pmm.so' ;;
        absent-*) says='spank_pmm.so: .*No such file or directory' ;;
        unreadable-*) says='spank_pmm.so: .*Permission denied' ;;
        esac
        [[ $kind-$how != @(absent|unreadable)-optional ]] \
            || ((release < 2511)) || says=$silent
        case $kind-$how in
        good-*) ;;
        *-optional) plain='0 1' asked='255 0' ;; # no such option
        *-required) plain='1 0' asked='1 0' ;;
        esac
        is "$(try srun -n1 -t1 echo task)" "$plain" "$how, $kind: srun" \
            || diag "$(<out)"
        [[ $kind = good ]] || like "$(<out)" "$says" "... which says why"
        is "$(try srun -n1 -t1 --pmm-check echo task)" "$asked" \
            "... --pmm-check" || diag "$(<out)"
        like "$(<out)" "$says" "... which says it, too"
        is "$(try sbatch -n1 -t1 -o /dev/null --wrap true)" "${plain% *} 0" \
            "... sbatch" || diag "$(<out)"
    done
done

within 60 ended
is "$(sinfo -h -t drain,drng,down,fail -o %N)" "" "no node is drained" || diag "$(sinfo -R)"

# Only the nodes lack it: who submits sees another file than slurmd does.
unshare -m true 2>/dev/null || { done_testing; exit; }
has other
# shellcheck disable=SC2016
with_good ()
{
    unshare -m bash -c 'mount --bind "$1" "$2" && shift 2 && exec "$@"' - \
        good.so "$plugin" setpriv --reuid="$test_user" \
        --regid="$(id -g "$test_user")" --clear-groups "$@" >out 2>&1
    printf '%s %s' "$?" "$(grep -cx task out)"
}
echo "optional $plugin" >"$workdir/slurm/etc/plugstack.conf"
is "$(with_good srun -n1 -t1 echo task)" "0 1" \
    "optional, other on the nodes: srun" || diag "$(<out)"
is "$(with_good sbatch -W -n1 -t1 -o /dev/null --wrap true)" "0 0" \
    "... a batch job" || diag "$(<out)"
is "$(sinfo -h -t drain,drng,down,fail -o %N)" "" "... no node is drained"
echo "required $plugin" >"$workdir/slurm/etc/plugstack.conf"
ran=$(with_good srun -n1 -t1 echo task) # its status: 0 in 22.05
is "${ran#* }" 0 "required, other on the nodes: srun" || diag "$(<out)"
like "$(<out)" 'launch failed: ' "... which says so"
like "$(cat slurm/log/h*.log)" 'Plugin stack initialization failed' \
    "... and slurmd's log says why"
is "$(sinfo -h -t drain,drng,down,fail -o %N)" "" "... no node is drained"
with_good sbatch -n1 -t1 -o /dev/null --wrap true >status
drained () { [[ $(sinfo -h -o %E) == *'batch job complete f'* ]]; }
within 60 drained
ok $? "... a batch job: Slurm drains the node" || diag "$(sinfo -R)" "$(<out)"

done_testing
