#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What no sanitizer sees: nothing depends on memory that was never written, in our
# code or in what the libraries get from it. Valgrind finds nothing, and nothing
# is suppressed, in unit programs that take less than half a second (with
# --long, in all), and in an audit of four nodes, in pmm and in the probe.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need valgrind
# shellcheck source=audit.sh
. "$srcdir/tests/audit.sh"
mkdir -m 1777 logs found

# check LOGS COMMAND...: under valgrind, which writes what it finds to
# LOGS.PROCESS
memcheck ()
{
    local logs=$1
    shift
    valgrind -q --leak-check=no --max-threads=2000 --log-file="$logs.%p" "$@"
}

# found LOGS: whether there is anything
found () { [[ $(cat "$1".*) ]]; }

mapfile -t programs < <(make -s -C "$builddir" print-unit-tests | tr ' ' '\n')
quick () { timeout "$most" "./$1" >/dev/null 2>&1; [[ $? != 124 ]]; }
unit ()
{
    local logs=$workdir/logs/${1//\//-}
    cd "$builddir" || return
    quick "$1" || return 0
    memcheck "$logs" "./$1" >"$logs" 2>&1
    # children that were to end badly leave nothing either
    ! found "$logs" || echo "$1" >"$workdir/found/${1//\//-}"
}
export -f memcheck found quick unit
export builddir workdir
export most=${PMM_LONG:+1000}
most=${most:-0.5}
printf '%s\n' "${programs[@]}" |
    xargs -P "$(nproc)" -I{} bash -c 'unit "$1"' unit {}
ran=(logs/*.t)
[[ ${#ran[@]} -gt $((${#programs[@]} / 2)) ]]
ok $? "${#ran[@]} of ${#programs[@]} unit programs"
for name in found/*; do
    [[ -e $name ]] || continue
    ok 1 "$(<"$name")"
    diag "$(cat "logs/${name#*/}".* | head -n 40)"
done

# An audit

sed -i "s|^exec |&valgrind -q --leak-check=no --log-file=$workdir/logs/probe.%p |" \
    bin/probe
as_slurm valgrind -q --leak-check=no --log-file="$workdir/logs/audit.%p" \
    "$workdir/bin/pmm" audit --conf "$workdir/conf" \
    --hosts h0001,h0002,h0005,h0009 >said 2>&1
is "$?" 0 "an audit of four nodes" || diag "$(<said)"
ls logs/probe.* >probes
is "$(wc -l <probes)" 4 "... with four probes"
for what in audit probe; do
    ! found "logs/$what"
    ok $? "... finds nothing in $what" || diag "$(cat logs/$what.* | head -n 60)"
done

done_testing
