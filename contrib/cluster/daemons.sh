# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# shellcheck disable=SC2015,SC2154,SC2317
#
# daemons.sh - start, watch and stop daemons that live in a private directory.
#
# Sourced by fabric and cluster, which set $prog (their name) and $dir (the
# directory, absolute).  A daemon NAME logs to $dir/log/NAME.out and is known by
# $dir/pid/NAME: its process id and start time, so that a recycled id is never
# signalled.

die () { printf '%s: %s\n' "$prog" "$*" >&2; exit 2; }

usage ()
{
    printf 'usage: %s\n' "$usage" >&2
    exit 2
}

# Sets started, the start time of process $1 in clock ticks; fails if there is no
# such process. Without a process of its own: all daemons are asked many times.
start_time ()
{
    local stat
    started=''
    { read -r -d '' stat <"/proc/$1/stat"; } 2>/dev/null
    [[ $stat ]] || return 1
    # The second field, the command in parentheses, may hold anything.
    read -r -a stat <<<"${stat##*) }"
    [[ ${stat[0]} != Z ]] && started=${stat[19]}
}

# Is daemon $1 of this directory alive?  Sets pid.
alive ()
{
    local ticks started
    { read -r pid ticks <"$dir/pid/$1"; } 2>/dev/null \
        && start_time "$pid" && [[ $started == "$ticks" ]]
}

# start NAME COMMAND...: in a session of its own, so that a Ctrl-C meant for
# the caller does not reach it, and without the caller's open files, so that
# nobody who reads the caller's output waits for it.  Standard input is $stdin.
start ()
{
    local name=$1 fd started
    shift
    (
        for fd in /proc/self/fd/*; do
            fd=${fd##*/}
            ((fd > 2 && fd != 255)) && eval "exec $fd>&-"
        done
        cd "$dir/log" && exec setsid "$@"
    ) <>"${stdin:-/dev/null}" >"$dir/log/$name.out" 2>&1 &
    start_time $!
    echo "$! $started" >"$dir/pid/$name"
    disown $!
}

# How long what starts may take, on a busy machine, too; what ends is noticed.
patience=600

# within SECONDS COMMAND...: run COMMAND until it succeeds.
within ()
{
    local end=$((SECONDS + $1))
    shift
    until "$@" &>/dev/null; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# ready NAME COMMAND...: until COMMAND succeeds, given up when daemon NAME ends.
ready ()
{
    local name=$1
    shift
    ready_or_dead () { "$@" || ! alive "$name"; }
    within "$patience" ready_or_dead "$@" && alive "$name"
}

# stop SECONDS NAME...: SIGTERM, and SIGKILL for those that take longer than that.
stop ()
{
    local seconds=$1 name pid
    shift
    for name; do alive "$name" && kill "$pid" 2>/dev/null; done
    none_alive ()
    {
        local name
        for name; do alive "$name" && return 1; done
        return 0
    }
    within "$seconds" none_alive "$@" && return
    for name; do alive "$name" && kill -KILL "$pid" 2>/dev/null; done
    within 5 none_alive "$@"
}

# failed SENTENCE LOG...: the sentence, and the end of the logs that are there.
failed ()
{
    printf '%s: %s\n' "$prog" "$1" >&2
    shift
    local log
    for log; do
        [[ -s $log ]] || continue
        printf '%s: the end of %s:\n' "$prog" "$log" >&2
        tail -n 12 "$log" | sed 's/^/    /' >&2
    done
    exit 1
}

need ()
{
    local program
    for program; do
        type -P "$program" >/dev/null || die "$program is not installed"
    done
}

# claim DIR: make it ours.  It may exist only if it is empty.
claim ()
{
    mkdir -p "$1" 2>/dev/null && dir=$(cd "$1" && pwd -P) \
        || die "$1: cannot be created"
    [[ $dir =~ ^[A-Za-z0-9/._-]+$ ]] \
        || die "$dir: only letters, digits and /._- may be in this path"
    [[ -z $(ls -A "$dir") ]] || die "$dir: not empty"
    echo "$prog" >"$dir/made-by"
    mkdir "$dir"/{log,pid}
    chmod 755 "$dir" "$dir/log"
}

# owned DIR: one that claim made.
owned ()
{
    dir=$(cd "$1" 2>/dev/null && pwd -P) \
        && [[ $(cat "$dir/made-by" 2>/dev/null) == "$prog" ]] \
        || die "$1: not a directory made by $prog up"
}
