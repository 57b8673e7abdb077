# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# lib.sh - what the system tests share.  Sourced first by tests/tNNNN-*.t.
#
# Results (TAP):
#   ok STATUS NAME            passes if STATUS is 0, as in `cmd; ok $? "works"`
#   is GOT WANTED NAME        two strings are the same
#   like GOT REGEX NAME       an extended regular expression is found
#   skip NAME REASON          one result that is not checked
#   diag TEXT                 a comment, on standard error, which prove shows
#   plan N                    at the start, if the count is known
#   skip_all REASON           ends a test that cannot run here
#   done_testing              at the end
#
# Surroundings, all undone at the end of the test, interrupted or not, the last
# first:
#   need PROGRAM...           skips the test, naming what is missing
#   workdir                   makes $workdir, which any user can enter
#   cleanup COMMAND...        runs COMMAND at the end
#   clean_root                first of all: what this test and all that it starts
#                             write to /etc, /opt, /usr and /var nobody else sees,
#                             and it is gone at the end
#   with_fabric PORTS LEVELS ROUTING [NETFILE [OPTION]...]
#                             a fat tree under ibsim and opensm, in $fabric, with
#                             these options of contrib/cluster/fabric
#   on_host HOST COMMAND...   with the umad devices of a host of $fabric
#   replay NAME SNAPSHOT HOST [OPTION]...  export it, simulate that, with
#       with_fabric's OPTIONs, and read it by HOST: two tests, the same fabric
#   wiring LEAVES SPINES EACH [TWINS]
#                             prints a netfile: EACH hosts h0001, ... a leaf, of
#                             which the first of each of the first TWINS leaves
#                             has a second port, at the next leaf
#   with_browser              ends the test where there is no Chromium
#   browse PAGE               does there what standard input says: browser.py
#   with_vm                   skips where no virtual machine can run; goes to a
#                             directory that is shared with it
#   with_wired LEAVES SPINES EACH [TWINS]
#                             such hosts, as the virtual machine is to have them:
#                             opensm routes them, in ./net is their snapshot, in
#                             ./conf what any check of theirs over verbs needs
#   in_vm SECONDS SCRIPT      has bash run it there, with what is in tests/vm.sh
#   with_cluster N|LIST [OPTION]...
#                             a Slurm of hosts h0001 to N or LIST, with these
#                             options of contrib/cluster/cluster; sets $nodes,
#                             SLURM_CONF and $mpi, the best type for srun --mpi
#   as_user COMMAND...        as an ordinary user ($PMM_TEST_USER or nobody) with
#                             a home; what is below /root is out of its reach
#   as_slurm COMMAND...       as SlurmUser of --slurm-user slurm, whose name is
#                             Debian's; with an environment of its own
#   built_to DIR FILE...      copies them out of $builddir to where users reach
#   with_plugin               makes ./fabric, ./pmm.conf and, for with_cluster,
#                             ./plugstack: jobs are checked over the emulator
#
#   emu_up SNAPSHOT [OPTION]...
#                             pmm-emu of it, in $emu, at $workdir/emu; --stall 2
#                             where somebody hangs
#   emu_conf [KEY=VALUE]...   writes ./conf: of ./fabric, over it, and with these
#   emu_down                  ends it
#   emu COMMAND...            has it do that
#   in_midst COMMAND...       COMMAND starts a check; waits until much was sent
#   start_probes [OPTION]...  a pmm-probe with ./conf for each of $hosts, in $pids;
#                             what they say goes to ./stdout and ./stderr; with the
#                             name of a test first, a pmm-compare-probe
#   finish_probes             waits for them; the status of the first
#
#   trials N                  prints how many of the N trials of a campaign to run:
#                             all with PMM_FULL in the environment (contrib/check
#                             --full), a quarter otherwise
#   clock_ahead DAYS          prints what, in a process's environment, has its clock
#                             so many days ahead
#   finished ID               waits for a batch job; the highest status of its parts
#                             (sbatch --wait sleeps for two seconds at a time)
#   gone PID                  whether a process has ended
#   within SECONDS COMMAND... runs COMMAND until it succeeds; false if it did not
#                             by then on a machine $patience times as slow as a
#                             quiet one
#
# A busy machine fails no test: deadlines that should not pass, the product's
# (Timeout), too, are $patience times what a quiet machine takes; those that pass
# are short. Processes are counted by a path below $workdir. Signals are as by
# default, whoever started the test (nohup, a script's &).
#
# $srcdir and $builddir come from make check; by hand, the tree of this file and
# its build/.

# Bash cannot reset what was ignored when it started: it starts once more, as the
# same process.
[[ ${signals_reset-} == "$$" ]] \
    || signals_reset=$$ exec env --default-signal bash "$0" "$@"
unset signals_reset

srcdir=${srcdir:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
builddir=${builddir:-$srcdir/build}
PATH=$builddir/pmm:$builddir/probe:$builddir/tests/emu:$builddir/compare/cmd:$builddir/compare/exchange:$builddir/compare/mpi:$PATH
PATH=$PATH:$builddir/prolog/test:/usr/sbin:/sbin
test_user=${PMM_TEST_USER:-nobody}
workdir='' fabric='' nodes='' mpi='' emu=''
patience=10
hosts=() pids=()

# Do not use a cluster of the caller's.
unset SLURM_CONF "${!SLURM_@}" "${!PMM_CONF@}"

# Numbers have a point, and other programs' messages are English.
export LC_ALL=C.UTF-8

# gojq begins in a tenth of the time, hundreds of times. It sorts keys.
if command -v gojq >/dev/null; then
    jq () { gojq "$@"; }
    export -f jq
fi

tap_count=0
tap_failed=0
tap_plan=''
cleanups=()

tap_exit ()
{
    local status=$? i
    # Where it is set: no cleanup keeps others from being done.
    set +e
    trap - ERR
    # Do not interrupt the cleanup.
    trap '' INT TERM HUP
    for ((i = ${#cleanups[@]} - 1; i >= 0; i--)); do
        eval "${cleanups[i]}"
    done
    exit "$status"
}
trap tap_exit EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

cleanup () { cleanups+=("$(printf '%q ' "$@")"); }

diag () { printf "%s\n" "$*" | sed "s/^/# /" >&2; }

ok ()
{
    local not=''
    (($1 == 0)) || { not='not '; ((++tap_failed)); }
    echo "${not}ok $((++tap_count)) - $2"
    [[ ! $not ]] || diag "failed: $2"
    return "$1"
}

is ()
{
    [[ $1 == "$2" ]]
    ok $? "$3" || { diag "     got: $1"; diag "expected: $2"; return 1; }
}

like ()
{
    [[ $1 =~ $2 ]]
    ok $? "$3" || { diag "     got: $1"; diag "not like: $2"; return 1; }
}

skip () { echo "ok $((++tap_count)) - $1 # SKIP $2"; }

plan ()
{
    tap_plan=$1
    echo "1..$1"
}

skip_all ()
{
    echo "1..0 # SKIP $*"
    exit 0
}

done_testing ()
{
    [[ $tap_plan ]] || echo "1..$tap_count"
    exit $((tap_failed > 0))
}

need ()
{
    local program missing=()
    for program; do
        type -P "$program" >/dev/null || missing+=("$program")
    done
    ((${#missing[@]} == 0)) || skip_all "not installed: ${missing[*]}"
}

workdir ()
{
    [[ $workdir ]] && return
    # Not in TMPDIR, which other users may be unable to enter.
    workdir=$(mktemp -d /tmp/pmm-test.XXXXXX) || exit 1
    cleanup rm -rf "$workdir"
    chmod 755 "$workdir"
}

clean_root ()
{
    local dir over
    if [[ ${clean_root-} != "$$" ]]; then
        ((EUID == 0)) && unshare -m true 2>/dev/null \
            || skip_all "needs root and a mount namespace"
        clean_root=$$ exec unshare -m bash "$0"
    fi
    unset clean_root
    workdir
    over=$workdir/over
    mkdir "$over"
    mount -t tmpfs -o mode=755 tmpfs "$over" || skip_all "nothing can be mounted"
    cleanup umount -l "$over"
    for dir in etc opt usr var; do
        mkdir -p "$over/$dir" "$over/work/$dir"
        mount -t overlay overlay -o "lowerdir=/$dir,upperdir=$over/$dir,$(:
            )workdir=$over/work/$dir" "/$dir" \
            || skip_all "no overlay file system"
    done
}

# must WHAT COMMAND...: the other tests need this.
must ()
{
    local what=$1 said
    shift
    said=$("$@" 2>&1) && return
    ok 1 "$what" || diag "$said"
    exit 1
}

with_fabric ()
{
    need ibsim opensm pmm
    workdir
    fabric=$workdir/fabric
    [[ ${4-} ]] || pmm fabric generate fat-tree --ports "$1" --levels "$2" \
        --netfile -o "$workdir/netfile" || exit 1
    [[ ! -d $fabric ]] || "$srcdir/contrib/cluster/fabric" down "$fabric"
    must "a fabric, routed by $3" "$srcdir/contrib/cluster/fabric" up \
        "$fabric" "${4:-$workdir/netfile}" --routing "$3" "${@:5}"
    cleanup fabric_down "$fabric"
}

fabric_down ()
{
    [[ ! -d $1 ]] || "$srcdir/contrib/cluster/fabric" down "$1"
}

on_host ()
{
    local host=$1
    shift
    "$srcdir/contrib/cluster/fabric" run "$fabric" "$host" -- "$@"
}

replay ()
{
    local name=$1 snapshot=$2 host=$3
    shift 3
    pmm fabric export -f "$snapshot" --format netfile -o replay.net \
        && pmm fabric export -f "$snapshot" --format lfts -o replay.lfts
    ok $? "$name: exported"
    with_fabric '' '' file,no_fallback replay.net --sm-host "$host" \
        --conf "lfts_file $PWD/replay.lfts" "$@"
    on_host "$host" pmm fabric read -o replayed 2>err
    is "$(sed -n 's/^hash //p' replayed)$(pmm fabric diff "$snapshot" \
        replayed 2>&1)" "$(sed -n 's/^hash //p' "$snapshot")" \
        "$name: replayed, the same fabric" || diag "$(<err)"
}

wiring ()
{
    local leaves=$1 spines=$2 each=$3 twins=${4-0} leaf port last
    for ((leaf = 1; leaf <= leaves; leaf++)); do
        last=$(((leaf + leaves - 2) % leaves + 1))
        echo "Switch $((each + spines + 1)) \"leaf$leaf\""
        for ((port = 1; port <= each; port++)); do
            printf '[%d] "h%04d"[1]\n' $port $(((leaf - 1) * each + port))
        done
        for ((port = 1; port <= spines; port++)); do
            echo "[$((each + port))] \"spine$port\"[$leaf]"
        done
        ((last > twins)) || printf '[%d] "h%04d"[2]\n' \
            $((each + spines + 1)) $(((last - 1) * each + 1))
        echo
    done
    for ((port = 1; port <= spines; port++)); do
        echo "Switch $leaves \"spine$port\""
        for ((leaf = 1; leaf <= leaves; leaf++)); do
            echo "[$leaf] \"leaf$leaf\"[$((each + port))]"
        done
        echo
    done
    for ((port = 0; port < leaves * each; port++)); do
        leaf=$((port / each + 1))
        printf 'Ca %d "h%04d"\n[1] "leaf%d"[%d]\n' \
            $((port % each == 0 && leaf <= twins ? 2 : 1)) $((port + 1)) \
            $leaf $((port % each + 1))
        ((port % each > 0 || leaf > twins)) || printf '[2] "leaf%d"[%d]\n' \
            $((leaf % leaves + 1)) $((each + spines + 1))
        echo
    done
}

with_browser ()
{
    for chromium in "${CHROMIUM-}" chromium chromium-browser google-chrome; do
        command -v "$chromium" >/dev/null && break
        chromium=
    done
    if [ -z "$chromium" ] || ! command -v python3 >/dev/null; then
        skip "the page in a browser" "chromium or python3 is missing"
        done_testing
        exit
    fi
}

browse ()
{
    cat >script
    CHROMIUM=$chromium timeout $((60 * patience)) \
        python3 "$srcdir/tests/browser.py" "$1" script 2>&1
}

with_vm ()
{
    local said
    need qemu-system-x86_64 busybox ip bridge tc rdma
    workdir
    said=$("$srcdir/contrib/vm/vm" --prepare 2>&1) \
        || skip_all "$(tail -n 1 <<<"$said")"
    mkdir "$workdir/share"
    cd "$workdir/share" || exit 1
}

with_wired ()
{
    wiring "$@" >wired
    with_fabric 0 0 ftree "$PWD/wired"
    on_host h0002 pmm fabric read -o net
    cat >conf <<END
Snapshot=$PWD/net
NodeMap=$PWD/map
Transport=verbs
Repeats=5
END
}

in_vm ()
{
    "$srcdir/contrib/vm/vm" --timeout $(($1 * patience)) --share . -- env \
        PATH="$PATH" srcdir="$srcdir" BASH_ENV="$srcdir/tests/vm.sh" bash "$2"
}

with_cluster ()
{
    need munged mariadbd slurmdbd slurmctld slurmd srun
    ((EUID == 0)) || skip_all "a Slurm cluster needs root"
    workdir
    nodes=$1
    shift
    [[ ! $nodes =~ ^[0-9]+$ ]] \
        || nodes=$(seq -f 'h%04.0f' -s, "$nodes")
    must "a cluster of $nodes" "$srcdir/contrib/cluster/cluster" up \
        "$workdir/slurm" --nodes "$nodes" "$@"
    cleanup cluster_down "$workdir/slurm"
    eval "$("$srcdir/contrib/cluster/cluster" env "$workdir/slurm")"
    mpi=pmix
    srun --mpi=list 2>&1 | grep -w pmix >/dev/null || mpi=pmi2
}

# A cluster of that many nodes whose processes talk by MPI, more of them than
# cores. Where TreeWidth is not below the number of nodes, Slurm 22.05 has PMIx
# fences without data wait for nobody on other nodes, and Open MPI gets messages
# before it can take them. All nodes are on one machine, where segments of shared
# memory would be taken for one another's.
with_mpi_cluster ()
{
    workdir
    echo TreeWidth=2 >"$workdir/tree.conf"
    with_cluster "$1" --conf "$workdir/tree.conf"
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,tcp
    export OMPI_MCA_btl_tcp_if_include=lo
}

cluster_down ()
{
    [[ ! -d $1 ]] || "$srcdir/contrib/cluster/cluster" down "$1"
}

as_user ()
{
    local home=$workdir/home
    if [[ ! -d $home ]]; then
        mkdir "$home" && chown "$test_user:" "$home" || return
    fi
    setpriv --reuid="$test_user" --regid="$(id -g "$test_user")" \
        --clear-groups env HOME="$home" USER="$test_user" \
        LOGNAME="$test_user" SHELL=/bin/sh "$@"
}

trials () { echo $((${PMM_FULL:+1}0 ? $1 : ($1 + 3) / 4)); }

clock_ahead ()
{
    local to=$workdir/ahead.$1.so
    must "a clock" cc -O2 -shared -fPIC -DOFFSET_S=$(($1 * 86400)) -o "$to" \
        "$srcdir/tests/clock.c"
    echo "LD_PRELOAD=$to"
}

job_over () { [[ ! $(squeue -h -j "$1" 2>/dev/null) ]]; }

finished ()
{
    within 90 job_over "$1" || return
    return "$(scontrol show job -o "$1" | grep -o ' ExitCode=[0-9]*' \
        | sort -t= -n -k2 | sed -n '$s/.*=//p')"
}

gone () { ! kill -0 "$1" 2>/dev/null; }

within ()
{
    local end=$((SECONDS + $1 * patience)) begun=${EPOCHREALTIME/./} tenths
    shift
    # Who waits long asks seldom: at most a tenth of the time is lost.
    until "$@"; do
        ((SECONDS < end)) || return 1
        tenths=$(((${EPOCHREALTIME/./} - begun) / 1000000))
        ((tenths = tenths < 1 ? 1 : tenths > 9 ? 9 : tenths))
        sleep ".$tenths"
    done
}

as_slurm ()
{
    setpriv --reuid=slurm --regid="$(id -g slurm)" --init-groups \
        env -i PATH="$PATH" SLURM_CONF="$SLURM_CONF" "$@"
}

built_to ()
{
    local dir=$1
    shift
    install -d -m 755 "$dir"
    must "installed: $*" install -m 755 "${@/#/$builddir/}" "$dir/"
}

with_plugin ()
{
    need pmm pmm-probe pmm-emu srun
    built_to "$workdir" probe/pmm-probe spank/spank_pmm.so
    pmm fabric generate fat-tree --ports 8 --levels 2 -o fabric
    cat >pmm.conf <<X
Snapshot  = $workdir/fabric
Baseline  =
Probe     = $workdir/pmm-probe
Transport = emu
EmuSocket = $workdir/emu
Timeout   = $((15 * patience))
X
    echo "required $workdir/spank_pmm.so conf=$workdir/pmm.conf" >plugstack
}

emu_up ()
{
    # Remove the log of an earlier emulator.
    rm -f "$workdir/emu.log"
    pmm-emu -f "$1" --socket "$workdir/emu" --control "$workdir/control" \
        --stall $((2 * patience)) "${@:2}" >"$workdir/emu.log" 2>&1 &
    emu=$!
    cleanup emu_down
    must "an emulator of $1" within 10 grep -qs pmm-emu: "$workdir/emu.log"
}

emu_conf ()
{
    printf '%s\n' "Snapshot=$PWD/fabric" Transport=emu \
        "EmuSocket=$workdir/emu" "$@" >conf
}

emu_down ()
{
    [[ $emu ]] || return 0
    kill "$emu" 2>/dev/null
    wait "$emu" 2>/dev/null
    emu=''
}

emu () { pmm-emu --control "$workdir/control" "$@"; }

emu_sent () { (($(emu stats | jq .messages) > $1)); }

in_midst ()
{
    local before
    before=$(emu stats | jq .messages)
    "$@"
    within 30 emu_sent $((before + 3000))
}

start_probes ()
{
    local i n=${#hosts[@]} program=pmm-probe
    [[ ${1-} != [a-z]* ]] || program=pmm-compare-probe
    pids=()
    rm -f "$workdir/rendezvous"
    : >stdout 2>stderr
    for ((i = 0; i < n; i++)); do
        $program "$@" --conf conf --coord \
            "local:$i:$n:${hosts[i]}:$workdir/rendezvous" \
            >>stdout 2>>stderr &
        pids[i]=$!
    done
}

finish_probes ()
{
    local status pid
    # Bash reports killed processes on stderr.
    wait "${pids[0]}" 2>/dev/null
    status=$?
    for pid in "${pids[@]}"; do
        wait "$pid" 2>/dev/null
    done
    return "$status"
}

# Build ./seal, which copies lines of a snapshot that were edited, and gives
# them their checksum.
make_seal() {
    cat >seal.c <<X
#include <stdio.h>
#include <string.h>
#include "ibquery/lines.h"
int main (void)
{
    char line[1 << 16], hex[DIGEST_HEX];
    struct digest d;

    digest_init (&d);
    while (fgets (line, sizeof (line), stdin) && strncmp (line, "end ", 4)) {
        digest_bytes (&d, line, strlen (line) - 1);
        fputs (line, stdout);
    }
    digest_hex (&d, hex);
    printf ("end %s\n", hex);
    return 0;
}
X
    cc -D_GNU_SOURCE -I"$srcdir" -I"$builddir" -o seal seal.c \
        "$srcdir"/ibquery/lines.c \
        "$srcdir"/util/{error,file,progress,terminal,text}.c -lm
}
