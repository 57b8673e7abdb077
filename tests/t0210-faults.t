#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What can happen to a fabric while it is read: cables, switches and hosts go
# and come back, a switch loses MADs, counters and widths change, the subnet
# manager sweeps, dies or has only begun. A reading is the fabric as it was at
# one moment of it, by the simulator's own word, or an error that names the
# cause; never anything else. Each once; PMM_FULL: 3 times, PMM_LONG: 20 times.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibsim opensm ibportstate
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

rounds=${PMM_LONG:+20}
rounds=${rounds:-$(trials 3)}
RANDOM=${SEED:=$RANDOM}
diag "SEED=$SEED"
sim=$srcdir/contrib/cluster/fabric
net=$workdir/netfile
log=$workdir/fabric/log/ibsim.out
exec {never}<> <(:)

# nap SECONDS, without a process
nap () { read -rt $1 -u $never; }

# less than 0.1 s
moment () { nap 0.0$((RANDOM % 10)); }

console () { printf '%s\n' "$1" >"$fabric/console"; }

# Ask the simulator for its state, all the time.
watch ()
{
    while :; do
        echo Dump
        nap 0.02
    done >"$fabric/console" &
    watcher=$!
}
unwatch ()
{
    [[ ! $watcher ]] || { kill $watcher; wait $watcher; } 2>/dev/null
    watcher=
}
cleanup unwatch

# look [whole]: one reading; if not of the whole, then every other time of four
# hosts' part. Sets status and true, which is not empty where it is one; counts
# readings, those that are refused, and those that are neither.
look ()
{
    local start said part=()
    [[ ${1-} ]] || ((turn ^= 1)) || part=(--hosts "$job" --hint ./whole)
    start=$(stat -c %s $log)
    true=
    rm -f seen
    on_host h0002 pmm fabric read --smps 1 "${part[@]}" -o seen 2>err
    status=$?
    ((readings++))
    nap 0.05
    if ((status)); then
        ((refused++))
        [[ $status == 3 && ! -e seen && $(wc -l <err) == 1 ]] \
            && grep -Eq "$causes" err && return
        said="exit $status: $(<err)"
    else
        said=$(tail -c +$((start > 65536 ? start - 65536 : 1)) $log \
            | awk -v host=h0002 -v part=${part:+1} \
                -f "$srcdir/tests/state.awk" $net seen -)
        true=1
        [[ $said != true ]] || return
    fi
    true=
    ((wrong++))
    diag "$said"
}
causes='[0-9a-f]{16}|while it is read|subnet manager|not in the fabric: h0009'
job=h0002,h0005,h0009,h0016
turn=0

begin ()
{
    readings=0 refused=0 wrong=0 late=0
}

# finish WHAT
finish ()
{
    is $wrong 0 "$1: a true fabric, or the cause"
    is $late 0 "... and the whole one in the end"
    diag "$1: $readings readings, $refused refused"
}

# count: nodes and cables of the last reading
count ()
{
    awk '$1 == "switch" || $1 == "ca" { nodes++ } $1 == "cable" { cables++ }
        END { print nodes, cables }' seen
}

# settle NODES CABLES: a reading of so many, soon
settle ()
{
    local end=$((SECONDS + 20 * patience))
    until look whole; [[ $true && $(count) == "$*" ]]; do
        ((SECONDS < end)) || { ((late++)); return; }
        nap 0.1
    done
}

# change COMMAND NODES CABLES: while it is read, and after it
change ()
{
    { moment; console "$1"; } &
    look
    wait $!
    settle $2 $3
}

# fault WHAT COMMAND NODES CABLES UNDO
fault ()
{
    local i
    begin
    for ((i = 0; i < rounds; i++)); do
        change "$2" $3 $4
        look
        change "$5" 36 48
    done
    finish "$1"
}

with_fabric 4 3 minhop
watch
begin
settle 36 48
finish "a whole fabric"
cp seen whole
hash=$(pmm fabric show -f seen | sed -n 1p)
lid=$(awk '$1 == "switch" && $5 == "s1-0003" { print $4 }' seen)

fault "a cable is pulled, and put back" \
    'Unlink "s2-0003"[2]' 36 47 'ReLink "s2-0003"[2]'
fault "a switch fails, and comes back" \
    'Unlink "s2-0003"' 35 44 'ReLink "s2-0003"'
fault "a host fails, and comes back" \
    'Unlink "h0009"' 35 47 'ReLink "h0009"'

begin
for ((i = 0; i < rounds; i++)); do
    console 'Error "s2-0003" 30'
    look
    look
    console 'Error "s2-0003" 0'
done
settle 36 48
finish "a switch loses three of ten MADs"
is $refused 0 "... which costs time alone"

# symbols: those of the cable
symbols ()
{
    awk '$1 == "columns" { for (i = 2; i <= NF; i++) column[$i] = i }
        $2 == "0002c90100000030/1" { print $(column["SymbolErrorCounter"] + 1) }
        ' counted
}

begin
told=0
for ((i = 0; i < rounds; i++)); do
    console "PerformanceSet \"s1-0003\"[1] \
PortCounters.SymbolErrorCounter=$((1000 + i))"
    look
    settle 36 48
    on_host h0002 pmm fabric counters -f ./seen -o counted
    [[ $(symbols) == $((1000 + i)) ]] && ((told++))
done
finish "a cable has errors"
is $told $rounds "... and they are read"

begin
narrow=0
for ((i = 0; i < rounds; i++)); do
    on_host h0002 ibportstate $lid 1 width 1 >out 2>&1
    look
    settle 36 48
    grep -q '^cable .* 1xHDR$' seen && ((narrow++))
    on_host h0002 ibportstate $lid 1 width 2 >out 2>&1
    look
    settle 36 48
    grep -q '^cable .* 1xHDR$' seen && ((narrow--))
done
finish "a cable trains with one lane, and with four again"
is $narrow $rounds "... and is read so"
is "$(pmm fabric show -f seen | sed -n 1p)" "$hash" \
    "all that was undone: the same fabric"

# Cables come and go faster than the subnet manager can follow.
begin
for ((i = 0; i < rounds; i++)); do
    read -r opensm _ <"$fabric/pid/opensm"
    for ((j = 0; j < 6; j++)); do
        moment
        kill -HUP $opensm
        console "Unlink \"s2-000$((j % 3 + 1))\"[2]"
        moment
        console "ReLink \"s2-000$((j % 3 + 1))\"[2]"
    done &
    look
    look
    wait $!
    settle 36 48
done
finish "the subnet manager sweeps"

# forget PID: the simulator holds a place for a client that was killed.
forget ()
{
    "$sim" console "$fabric" Attached >out
    console "X $(sed -n "s/^Client \([0-9]*\): pid $1 .*/\1/p" out)"
}

begin
for ((i = 0; i < rounds; i++)); do
    read -r opensm _ <"$fabric/pid/opensm"
    console 'Unlink "s2-0003"[2]'
    moment
    kill -9 $opensm
    look
    look
    console 'ReLink "s2-0003"[2]'
    look
    forget $opensm
    "$sim" route "$fabric" minhop || break
    settle 36 48
done
finish "the subnet manager is killed"

begin
for ((i = 0; i < rounds; i++)); do
    unwatch
    "$sim" down "$fabric"
    "$sim" up "$fabric" $net --routing updn &
    up=$!
    until grep -aqs 'simulator ready' $log; do nap 0.01; done
    watch
    look
    until [[ -e $fabric/pid/opensm ]]; do nap 0.01; done
    read -r opensm _ <"$fabric/pid/opensm"
    moment
    kill -STOP $opensm
    { nap 0.5; kill -CONT $opensm; } &
    look
    look
    wait $up
    settle 36 48
done
finish "the subnet manager has only begun"

done_testing
