# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sourced by tests of the plugin, after lib.sh: a real Slurm of four nodes with it,
# and a script that plays pmm-probe.

# shellcheck disable=SC2034,SC2154
need jq perl srun sbatch salloc scancel squeue sinfo
plugin=$builddir/spank/spank_pmm.so
[[ -r $plugin ]] || skip_all "no $plugin"
workdir

# An ordinary user must reach the plugin and the probe.
install -m 755 "$plugin" "$workdir/spank_pmm.so"
acts=$workdir/acts
mkdir -m 1777 "$acts" "$acts/log"
ln -s "$(type -P sleep)" "$acts/hang"

# The fake pmm-probe: every task logs itself; $acts/act says what it does.
cat >"$workdir/probe" <<X
#!/bin/bash
acts=$acts
X
cat >>"$workdir/probe" <<'X'
me=$acts/log/$SLURM_JOB_ID.$SLURM_STEP_ID.$SLURM_PROCID
(umask 0; echo "$@" >"$me"; env >"$me.env")
nonce=
for ((i = 1; i <= $#; i++)); do
    [ "${!i}" = --nonce ] && i=$((i + 1)) && nonce=${!i}
done
act=$(cat "$acts/act")
case $act in
hang) exec "$acts/hang" 1000 ;;
nothing) exit 0 ;;
die) [ "$SLURM_PROCID" = 1 ] && exit 1; exec "$acts/hang" 1000 ;;
esac
[ "$SLURM_PROCID" = 0 ] || exit 0
if [ "$act" = slow ]; then
    act=OK
    for i in 1 2 3 4; do
        echo "pmm-progress $i 9" >&2
        sleep 0.6
    done
fi
[ "$act" != none ] \
    || { echo "pmm-result 1 OK $nonce one node, one rail"; exit; }
echo "the report" >&2
echo "{}"
echo "pmm-result 1 $act $nonce it is $act"
X
chmod 755 "$workdir/probe"

words="probe=$workdir/probe timeout=$((5 * patience))"
words="$words emusocket=$workdir/some.sock"
echo "required $workdir/spank_pmm.so $words" >"$workdir/plugstack"
with_cluster 4 --plugstack "$workdir/plugstack"
plugstack=$workdir/slurm/etc/plugstack.conf
plugstack () { echo "$1 $workdir/spank_pmm.so $2" >"$plugstack"; }

as_user mkdir -p "$workdir/home/work"
home=$workdir/home/work

act () { echo "$1" >"$acts/act"; }

# The tasks of pmm-probe that ran since the last look.
probed ()
{
    find "$acts/log" -type f ! -name '*.env' | wc -l
    rm -f "$acts"/log/*
}

# run USER COMMAND...: its output, both streams, in $out; status in $rc.
run ()
{
    local user=$1
    shift
    if [[ $user == root ]]; then
        out=$(cd "$workdir" && timeout -k 5 900 "$@" 2>&1)
    else
        out=$(cd "$home" && as_user timeout -k 5 900 "$@" 2>&1)
    fi
    rc=$?
    # The job before may not be quite gone.
    out=$(grep -vE '^srun: job [0-9]+ (queued|has been alloc)' <<<"$out")
}

# batch USER ARGUMENT...: $workdir/home/work/script as a batch job.
batch ()
{
    local user=$1
    shift
    rm -f "$home"/out.*
    run "$user" sbatch --parsable --chdir="$home" --output="$home/out.%a" "$@" \
        "$home/script"
    finished "$(tail -n 1 <<<"$out")"
    rc=$?
    out=$(cat "$home"/out.* 2>/dev/null)
}

left ()
{
    squeue -h -s -o %i
    pgrep -f "^$acts/hang "
}

script ()
{
    { echo '#!/bin/bash'; cat; } >"$home/script"
    chmod 755 "$home/script"
}
