#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two subnets, each of eight hosts that have a port in both, each with an ibsim
# and an opensm of its own: one snapshot a subnet, one check of both, one verdict
# that finds a slow cable in either.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq ibsim opensm
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

mapfile -t hosts < <(printf 'h%04d\n' {1..8})
both=$PWD/snapshot,$PWD/snapshot-fe80000000000002

# The snapshots

for s in 1 2; do
    pmm fabric generate fat-tree --ports 4 --levels 2 --subnet $s --netfile \
        -o net$s
    must "subnet $s" "$srcdir/contrib/cluster/fabric" up "$workdir/subnet$s" \
        net$s --routing minhop --conf "subnet_prefix 0xfe8000000000000$s"
    cleanup fabric_down "$workdir/subnet$s"
done
publish ()
{
    "$srcdir/contrib/cluster/fabric" run "$workdir/subnet$1" h0002 -- \
        pmm fabric read --publish --conf "$PWD/site.conf" 2>err
}
echo "Snapshot=$both" >site.conf
publish 1 && publish 2
is "$? $(echo snapshot*)" \
    "0 snapshot snapshot-fe80000000000002 snapshot-fe80000000000002.lock snapshot.lock" \
    "a snapshot of each subnet" || diag "$(<err)"
before=$(stat -c %i snapshot snapshot-*2)
publish 2 && publish 1
is "$? $(stat -c %i snapshot snapshot-*2)" "0 $before" \
    "... is found by the next publisher" || diag "$(<err)"
echo "Snapshot=$PWD/named-fe80000000000002, $PWD/named-fe80000000000001" \
    >site.conf
publish 1 && publish 2
is "$? $(grep ^subnet named-*[12])" "0 named-fe80000000000001:subnet \
fe80000000000001
named-fe80000000000002:subnet fe80000000000002" "... or in files named so"
rm named-*
echo "Snapshot=$both" >site.conf
pmm fabric show --conf site.conf >shown
is "$(grep -c '^subnet fe8000000000000[12]$' shown) $(sed -n '/hosts/p' shown)" \
    "2 8 hosts (16 ports), 12 switches, 32 cables" "... joined to one fabric"
is "$(pmm fabric show -f "${both#*,},${both%,*}" | head -1)" \
    "$(head -1 shown)" "... in any order"
pmm path -f "$both" h0001:1 h0008:2 2>err
is "$? $(<err)" "2 pmm path: h0001:1 and h0008:2 are in different subnets" \
    "there is no path between them"

# What does not go together

pmm fabric show -f snapshot,snapshot 2>err
is "$?" 2 "a subnet twice: exit 2"
like "$(<err)" "^pmm fabric show: snapshot and snapshot are both of subnet fe80000000000001: [^.]*$" \
    "... in a sentence"
pmm fabric generate fat-tree --ports 4 --levels 2 -o bare
pmm fabric show -f snapshot,bare 2>err
is "$?" 2 "a snapshot without a prefix: exit 2"
like "$(<err)" "^pmm fabric show: bare does not say of which subnet it is: " \
    "... in a sentence"

# Counters: read by subnet, judged for all

counted ()
{
    for s in 1 2; do
        "$srcdir/contrib/cluster/fabric" run "$workdir/subnet$s" h0002 -- \
            pmm fabric counters -f "$PWD/snapshot$([[ $s == 1 ]] \
            || echo -fe80000000000002)" -o "$1$s" 2>err || return
    done
}
counted before && sleep 1 && counted now
ok $? "counters of each" || diag "$(<err)"
pmm fabric check -f "$both" --counters now1,now2 --since before1,before2 >said
like "$? $(<said)" "^0 .*next: nothing is wrong here" "... are checked together"
pmm fabric check -f "$both" --counters now1 --since before1 >said
like "$(<said)" "ports did not tell their counters.* and 31 others" "... and those of one are not enough"

# The check

cat >conf <<END
Snapshot=$both
Baseline=
Transport=emu
EmuSocket=$workdir/emu
Timeout=$((20 * patience))
END
emu_up "$both"
check () { start_probes --nonce ab "$@"; finish_probes; }
check --output out
is "$? $(tail -n 1 stdout | cut -d' ' -f 1-4)" "0 pmm-result 1 OK ab" \
    "both are healthy: one verdict" || diag "$(<stderr)"
is "$(jq -c '[.links, (.endpoints | length)]' out/plan.json)" "[32,16]" \
    "... on all cables of both"
pmm plan --check out/plan.json -f "$both"
ok $? "... by a plan that the checker accepts"
for s in 1 2; do
    pmm plan -f "snapshot$([[ $s == 1 ]] || echo -fe80000000000002)"
done >plans
is "$(jq -c '[.rank, .basis_rounds]' out/plan.json)" \
    "$(jq -cs '[(map(.rank) | add), (map(.basis_rounds) | max)]' plans)" \
    "... in as many rounds as the larger of them needs"
is "$(jq -c '[.rounds[][] | [.a, .b | sub(".*:"; "")] | unique | length]
    | unique' out/plan.json)" "[1]" "... each of whose probes stays in one"

# link KIND S: one cable of that kind in subnet S
link ()
{
    pmm fabric show -f "snapshot$([[ $2 == 1 ]] || echo -fe80000000000002)" \
        --json | jq -r "[.links[] | select (.kind == \"$1\")][3].id"
}
for s in 1 2; do
    for kind in switch host; do
        slow=$(link $kind $s)
        emu slow "$slow" +1000
        check --output out
        is "$(tail -n 1 stdout | cut -d' ' -f 3) $(jq -r \
            '[.findings[].suspects[]] | unique | join(" ")' out/verdict.json)" \
            "WARN $slow" "a slow $kind cable in subnet $s is found, alone" \
            || diag "$(<stderr)"
        emu slow "$slow" +0
    done
done

# A snapshot of one subnet: the ports of the other one are left out.
sed -i "s|^Snapshot=.*|Snapshot=$PWD/snapshot|" conf
emu slow "$(link host 2)" +1000
check --output out
is "$(tail -n 1 stdout | cut -d' ' -f 3) $(jq .links out/plan.json)" "OK 16" \
    "with one snapshot, one subnet is checked"
is "$(grep -c 'not in the fabric snapshot' stderr)" 0 \
    "... without a word on the ports of the other" || diag "$(<stderr)"
emu slow "$(link host 2)" +0

# Doctor's line instead: the ports of a node

# kernel DEVICE GUID SUBNET STATE: a port as the kernel shows it
kernel ()
{
    local port=sys/$1/ports/1
    mkdir -p "$port/gids"
    sed 's/..../&:/g; s/:$//' <<<"$3$2" >"$port/gids/0"
    echo "$4" >"$port/state"
    echo InfiniBand >"$port/link_layer"
}
kernel mlx5_0 0002c90002000011 fe80000000000001 '4: ACTIVE'
kernel mlx5_1 0002c90004000011 fe80000000000002 '4: ACTIVE'
kernel mlx5_8 0002c90000000011 fe80000000000000 '2: INIT'
pmm doctor --conf conf --sysfs sys >said
is "$(grep "  ports:" said)" "OK       ports: 1 of this machine's 3 are measured; \
not measured: mlx5_1/1 (its subnet has no snapshot), mlx5_8/1 (Init)" \
    "... but one of doctor's"
kernel mlx5_4 0002c90000000012 fe80000000000001 '4: ACTIVE'
pmm doctor --conf conf --sysfs sys >said
like "$(grep "  ports:" said)" "^WARN .* mlx5_4/1 \(not in the snapshot: read" \
    "... which warns of a port that the snapshot lacks"

# The first node has no port in the first subnet: it leads nevertheless.
sed -i "s|^Snapshot=.*|Snapshot=$both|" conf
"$srcdir/contrib/cluster/fabric" console "$workdir/subnet1" \
    'Unlink "h0001"[1]' >/dev/null
lacks () { publish 1 && [[ $(pmm fabric show -f snapshot) == *" 15 cables"* ]]; }
within 20 lacks
ok $? "a port less in one" || diag "$(<err)"
emu_down
emu_up "$both"
slow=$(link host 1)
emu slow "$slow" +1000
check --output out
is "$(tail -n 1 stdout | cut -d' ' -f 3) $(jq -r \
    '[.findings[].suspects[]] | unique | join(" ")' out/verdict.json)" \
    "WARN $slow" "the other hosts' cables in that are checked" \
    || diag "$(<stderr)"

hosts=(h0002)
check
is "$(tail -n 1 stdout)" "pmm-result 1 OK ab one node without two rails in one \
subnet: nothing to measure" "one node, with a port in each"

# Two nodes that have no subnet in common
"$srcdir/contrib/cluster/fabric" console "$workdir/subnet2" \
    'Unlink "h0003"[1]' >/dev/null
lacks () { publish 2 && [[ $(pmm fabric show -f "${both#*,}") == *" 15 cables"* ]]; }
within 20 lacks || diag "$(<err)"
emu_down
emu_up "$both"
hosts=(h0001 h0003)
check
is "$(tail -n 1 stdout)" \
    "pmm-result 1 UNKNOWN ab no two ports of the job are in one subnet" \
    "two nodes with no subnet in common"

done_testing
