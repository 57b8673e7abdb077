# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vm.sh - what in_vm (lib.sh) gives the scripts that run inside the machine:
#
#   network SNAPSHOT [OPTION]...
#                       builds it, and leaves map and show of contrib/vm/fabric
#   fabric VERB...      contrib/vm/fabric
#   begin NAME [OPTION]...
#                       starts a check: a pmm-probe for each of $hosts, by
#                       `conf`; own[HOST] are options of one host, once, and
#                       with[HOST] a command that runs it
#   begin_test NAME TEST [OPTION]...
#                       the same of a test, which leaves its series as
#                       NAME/series.json
#   ready HOST          waits until it has met the others
#   finish              waits for the check's end; leaves NAME/, with what
#                       --output does, standard output and error and status as
#                       HOST.out, .err and .status, and in `seconds` how long
#                       it took, of the machine's time
#
# A check's processes are in pid[HOST], and device[HOST] is a first DEVICE/PORT.

# shellcheck disable=SC2154,SC2094

# The programs that they run are no such scripts.
unset BASH_ENV

declare -A own with pid device
hosts=()

fabric () { "$srcdir/contrib/vm/fabric" "$@"; }

clock () { local up rest; read -r up rest </proc/uptime; echo "$up"; }

network ()
{
    local host name
    # Most of what a check takes to start it reads drivers: one is enough.
    mount -t tmpfs drivers /etc/libibverbs.d \
        && echo driver rxe >/etc/libibverbs.d/rxe.driver || exit
    fabric up "$@" && fabric map >map && fabric show >show || exit
    mapfile -t hosts < <(cut -d' ' -f1 map | sort -u)
    while read -r host _ name; do
        device[$host]=${device[$host]-$name}
    done <map
}

# launch NAME COMMAND...: for each host, with what it adds
launch ()
{
    local i host
    check=$1
    began=$(clock)
    mkdir "/run/$check"
    shift
    for i in "${!hosts[@]}"; do
        host=${hosts[i]}
        # shellcheck disable=SC2086
        ${with[$host]-} "$@" --conf conf ${own[$host]-} \
            --coord "local:$i:${#hosts[@]}:$host:/run/$check/socket" \
            >"/run/$check/$host.out" 2>"/run/$check/$host.err" &
        pid[$host]=$!
    done
    own=() with=()
}

begin () { launch "$1" pmm-probe --output "/run/$1" "${@:2}"; }

begin_test ()
{
    launch "$1" pmm-compare-probe "$2" --output "/run/$1/series.json" "${@:3}"
}

# Then its queue pair is ready to send.
ready ()
{
    local tries
    for ((tries = 0; tries < 10000; tries++)); do
        ! rdma resource show qp link "${device[$1]}" 2>/dev/null \
            | grep -q "type UD state RTS .*pid ${pid[$1]} " || return 0
        kill -0 "${pid[$1]}" 2>/dev/null || break
        sleep 0.01
    done
    echo "$1 does not get ready" >&2
    return 1
}

finish ()
{
    local host
    for host in "${hosts[@]}"; do
        # Who was killed is no news.
        wait "${pid[$host]}" 2>/dev/null
        echo $? >"/run/$check/$host.status"
    done
    awk -v from="$began" -v to="$(clock)" 'BEGIN { print to - from }' \
        >"/run/$check/seconds"
    rm -f "/run/$check/socket"
    cp -r "/run/$check" . && rm -r "/run/${check:?}"
}
