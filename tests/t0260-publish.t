#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The published snapshot of a simulated fabric: written once, looked at for a
# fraction of the queries, replaced where a cable is pulled, the last few kept,
# by one publisher at a time.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibsim opensm flock
with_fabric 8 2 ftree
mkdir "$workdir/site" && cd "$workdir/site" || exit 1
cat >pmm.conf <<X
Snapshot=$workdir/site/snapshot
SnapshotsKept=2
X

# shellcheck disable=SC2016
publish ()
{
    on_host h0002 bash -c 'echo $$ >"$0"; exec "$@"' "$workdir/pid" \
        pmm fabric read --publish --conf "$workdir/site/pmm.conf" -v "$@" \
        2>"${said:-err}"
}
queries () { sed -n 's/.*, \([0-9]*\) queries$/\1/p' err; }
hash () { pmm fabric show -f "$1" | sed -n 1p; }
cables () { pmm fabric show -f snapshot --json | jq '.links | length'; }
console ()
{
    "$srcdir/contrib/cluster/fabric" console "$fabric" "$1" >/dev/null
}
# renewed N: the snapshot has so many cables, once opensm has seen it.
renewed () { publish && [[ $(cables) == "$1" ]]; }

(umask 077 && publish)
ok $? "published" || diag "$(<err)"
is "$(stat -c %a snapshot) $(cables)" "644 64" "whole, and for all to read"
whole=$(queries)
like "$(grep '^subnet' snapshot)" '^subnet fe80000000000000$' "... of its subnet"

before=$(stat -c '%i %Y' snapshot)
touch -d '1 hour ago' snapshot.lock
publish
is "$? $(stat -c '%i %Y' snapshot)" "0 $before" "no change: not written again"
like "$(<err)" 'snapshot: no change, [0-9]+ queries$' "... says so"
((3 * $(queries) < whole))
ok $? "... for $(queries) queries, not $whole"
((EPOCHSECONDS - $(stat -c %Y snapshot.lock) < 60))
ok $? "... and the lock has the time of the look"

is "$(stat -c %a snapshot.lock)" 600 "... which others cannot open"

# By the rights that the unit leaves, in a directory of another user's.
units=$srcdir/contrib/systemd
rights=$(sed -n 's/^CapabilityBoundingSet=//p' "$units/pmm-fabric.service.in")
if [[ $(id -u) == 0 ]] && type -P setpriv >/dev/null; then
    mkdir theirs && chown nobody theirs
    sed "s|^Snapshot=.*|Snapshot=$workdir/site/theirs/snapshot|" pmm.conf \
        >theirs.conf
    on_host h0002 setpriv --no-new-privs --inh-caps=-all \
        "--bounding-set=-all,+${rights#CAP_}" \
        "$builddir/pmm/pmm" fabric read --publish --conf ./theirs.conf 2>err
    is "$? $(stat -c %a theirs/snapshot)" "0 644" \
        "published with $rights alone" || diag "$(<err)"
else
    skip "published with $rights alone" "needs root and setpriv"
fi
for unit in pmm-fabric pmm-audit; do
    sed 's|@man_bindir@|/usr/bin|' "$units/$unit.service.in" >$unit.service
    if systemd-analyze security --help 2>&1 | grep -q -e --threshold; then
        systemd-analyze security --no-pager --offline=yes --threshold=25 \
            "$PWD/$unit.service" >err 2>&1
        ok $? "$unit has few rights" || diag "$(tail -n 2 err)"
    else
        skip "$unit has few rights" "no systemd-analyze"
    fi
done

echo 'ReadEvery=0' >>pmm.conf
publish
is "$? $(stat -c '%i %Y' snapshot)" "0 $before" "read whole, the same: not written"
like "$(<err)" 'snapshot: the same, [0-9]+ queries$' "... says so"
sed -i '/ReadEvery/d' pmm.conf

hash=$(hash snapshot)
console 'Unlink "s1-0003"[6]'
within 20 renewed 63
ok $? "a cable is pulled: a new snapshot" || diag "$(<err)"
like "$(ls)" 'snapshot\.[0-9]{8}T[0-9]{6}Z' "... the old one is kept"
is "$(hash snapshot.*Z)" "$hash" "... as it was"
pmm fabric diff snapshot.*Z snapshot >out
is "$? $(grep -c '^  lost ' out)" "1 1" "... and diff tells what happened"
like "$(<out)" 's1-0003/6' "... where"

# Earlier ones are named by the second in which they were read.
for links in 62 61 60; do
    sleep 1
    console "Unlink \"s1-0004\"[$((links - 54))]"
    within 20 renewed $links || diag "$links cables: $(<err)"
done
is "$(find . -name 'snapshot.*Z' | wc -l) $(cables)" "2 60" \
    "of four earlier ones, two are left beside the newest"

exec {lock}>>snapshot.lock
flock $lock
publish {lock}>&- &
sleep 1
kill -0 $!
ok $? "who finds the lock taken waits"
exec {lock}>&-
wait $!
is "$?" 0 "... for it"
for i in 1 2 3; do
    { said=said.$i publish; echo $? >status.$i; } &
done
wait
is "$(sort -u status.*)" 0 "three at once, one after the other" \
    || diag "$(cat said.*)"

hash=$(hash snapshot)
console 'ReLink "s1-0003"[6]'
rm "$workdir/pid"
publish --rate 50 &
within 10 test -s "$workdir/pid"
sleep 1
kill -KILL "$(<"$workdir/pid")"
wait
is "$(hash snapshot)" "$hash" "one is killed: the old snapshot stays"
within 20 renewed 61
ok $? "... and the next one publishes" || diag "$(<err)"

# The same ports in another subnet: its file is beside the first one's.
hash=$(hash snapshot)
echo 'subnet_prefix 0xfec0000000000001' >>"$fabric/sm-conf"
must "another subnet manager" "$srcdir/contrib/cluster/fabric" route \
    "$fabric" minhop
publish
is "$? $(hash snapshot)" "0 $hash" "another subnet: the first one's is left" \
    || diag "$(<err)"
is "$(grep '^subnet' snapshot-fec0000000000001)" 'subnet fec0000000000001' \
    "... and it has its own"

publish -o out
is "$?" 2 "--publish and -o: exit 2"
publish --hosts h0001,h0003
is "$?" 2 "--publish and --hosts: exit 2"
echo "Snapshot=$workdir/none/snapshot" >pmm.conf
publish
is "$?" 3 "no such directory: exit 3"
like "$(<err)" "$workdir/none/snapshot" "... saying where"

done_testing
