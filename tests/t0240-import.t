#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the stock tools say of a fabric, imported, is what pmm reads; and what
# pmm exports is the same fabric again under ibsim and opensm.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm ibnetdiscover dump_fts ibroute ibsim opensm jq
workdir
mkdir "$workdir/here" && cd "$workdir/here" || exit 1

hash_of () { sed -n 's/^hash //p' "$1"; }

# Whatever opensm writes beside the tables, it writes with these.
dumps=(--conf 'log_flags 0x43')

# same NAME FILE...: they are the fabric that was read.
same ()
{
    local name=$1
    shift
    rm -f imported
    pmm fabric import "$@" -o imported 2>err
    is "$(hash_of imported)$(pmm fabric diff live imported 2>&1)" \
        "$(hash_of live)" "$name: $*" || diag "$(<err)"
}

# The fabric that is up, read by all means.
compare ()
{
    on_host h0001 pmm fabric read -o live || return
    on_host h0001 ibnetdiscover >net
    on_host h0001 ibnetdiscover -f >net-f
    on_host h0001 ibnetdiscover -g >net-g
    on_host h0001 dump_fts >fts 2>/dev/null
    on_host h0001 dump_fts -n >fts-n 2>/dev/null
    cp "$fabric"/opensm/opensm{-subnet.lst,-lfts.dump,.fdbs} .
    same "$1" net fts
    same "$1" net-f fts-n
    same "$1" net-g opensm.fdbs
    same "$1" opensm-subnet.lst opensm-lfts.dump
    same "$1" opensm-subnet.lst opensm.fdbs
}

with_fabric 8 2 ftree '' "${dumps[@]}"
compare "a fat tree"
: >routes
while read -r lid; do
    on_host h0001 ibroute "$lid" >>routes </dev/null
done < <(sed -n 's/^Switch.* lid \([0-9]*\) lmc.*/\1/p' net)
same "... switch by switch" net routes

# The names that a node-name-map has for a switch and for an adapter.
pmm fabric show -f live --json | jq -r '[.links[] | .a, .b] |
    (map(select(.name | test("s1-0001"))), map(select(.name | test("h0002")))) |
    .[0].guid' | { read -r s; read -r h; printf '# by GUID\n0x%s "leaf A"\n' "$s"
    printf '0x%s "first mlx5_0"\n0x99 "sold"\n' "$h"; } >map
echo "NodeNameMap = $PWD/map" >conf
on_host h0001 pmm fabric read --node-name-map "$PWD/map" >named
on_host h0001 pmm fabric read --conf "$PWD/conf" >named2
pmm fabric import --node-name-map map net fts -o named3
pmm fabric import --conf conf net fts -o named4
for file in named named2 named3 named4; do
    is "$(hash_of $file) $(pmm path -f $file first h0001 | grep -c 'leaf A')" \
        "$(hash_of live) 4" "$file: the fabric, with names of a node-name-map"
done
on_host h0001 pmm fabric read --node-name-map "$PWD/map" --hosts first,h0001 >named5
like "$(pmm path -f named5 first h0001)" 'leaf A' "... and a part of it"
echo 'leaf A' >>map
pmm fabric import --conf conf net fts -o none 2>err
is "$? $(<err)" "2 pmm fabric import: $PWD/map:5: not 0xGUID \"NAME\"" \
    "a line of no map"
pmm fabric export -f live --format ibnetdiscover -o net2
pmm fabric export -f live --format lfts -o fts2
same "exported" net2 fts2
# Vendors aside, what the stock tools print.
plain () { grep -v '^#\|^vendid\|^devid' "$1" | sort; }
is "$(plain net2 | md5sum)" "$(plain net | md5sum)" \
    "... as ibnetdiscover prints it"
routes () { sed '/^Unicast/s/ switch .* guid/ switch guid/' "$1" | sort; }
is "$(routes fts2 | md5sum)" "$(routes fts | md5sum)" "... as dump_fts does"

# Some other host's LID, at the first switch.
lid=$(sed -n 's/^\(0x....\) 00. : (Channel.*h0007 .*/\1/p;T;q' fts)
sed "0,/^$lid /s/^$lid 00./$lid 063/" fts >fts3
pmm fabric import net fts3 -o none 2>err
is "$?" 2 "a route that does not fit the cables is refused"
like "$(<err)" "fts3:1: switch .* to port 63, which leads nowhere" \
    "... and named"
pmm fabric import net -o cables 2>err
like "$? $(<err)" "^0 warning: no file has forwarding tables: names, cables" \
    "cables alone are a fabric without routes"
pmm plan -f cables -o none 2>err
like "$? $(<err)" "^2 pmm plan: .* has no forwarding table" "... and no plan"
pmm fabric check net >out
like "$? $(<out)" "^0 [0-9]+ hosts: .*next: give the forwarding tables" \
    "one file is checked as it is"
is "$(pmm fabric check - <net)" "$(<out)" "... from a pipe"
is "$(pmm fabric check -f net)" "$(<out)" "... by -f"
pmm fabric check net fts >out
like "$? $(<out)" "^0 .*next: nothing is wrong here" "... with its tables"
pmm fabric check -f net fts >out 2>err
is "$? $(<err)" "2 pmm fabric check: --fabric cannot be combined with FILE" "... not by both"
pmm fabric show net fts >out
is "$(sed -n 2,3p out)" "$(pmm fabric show -f net,fts | sed -n 2,3p)" \
    "others take files, too"
head -n 20 fts | pmm fabric import net - -o none 2>err
is "$? $(<err)" "2 pmm fabric import: standard input:20: the table above does\
 not say how long it is: lines are missing" "tables cut short, too"
pmm fabric import --format fdbs:fts net -o none 2>err
is "$? $(<err)" "2 pmm fabric import: fts:1: this line does not belong to a forwarding\
 table" "a format that is said is not looked for"
[[ ! -e none ]]
ok $? "... and no file is left"

# As its tables end at LID 64, dump_fts does not say who that is.
pmm fabric generate irregular --switches 20 --hosts 44 --netfile -o net
with_fabric '' '' minhop net "${dumps[@]}"
on_host h0001 ibnetdiscover >net
on_host h0001 dump_fts >fts 2>/dev/null
on_host h0001 pmm fabric read -o live
pmm fabric import net fts 2>err >/dev/null
is "$?" 2 "64 LIDs: what dump_fts leaves out"
like "$(<err)" 'fts:1: LID 64 is left out' "... is noticed"
cp "$fabric/opensm/opensm-lfts.dump" .
same "64 LIDs" net opensm-lfts.dump

pmm fabric generate fat-tree --ports 8 --levels 3 -o model
replay "a fat tree" model h0002
pmm fabric generate irregular --switches 20 --hosts 60 --seed 3 -o model
replay "an irregular fabric" model h0002
pmm fabric generate dragonfly --p 2 --a 4 --h 2 -o model
replay "a dragonfly" model h0002

wiring 4 2 4 4 >rails
with_fabric '' '' updn rails
on_host h0002 pmm fabric read -o rails.live
replay "two rails" rails.live h0002

# Each leaf has two cables to each spine.
for ((leaf = 0; leaf < 3; leaf++)); do
    printf 'Switch 8 "leaf%d"\n[1] "h%04d"[1]\n[2] "h%04d"[1]\n' $leaf \
        $((2 * leaf + 1)) $((2 * leaf + 2))
    for port in 0 1 2 3; do
        echo "[$((port + 3))] \"spine$((port / 2))\"[$((2 * leaf + port % 2 + 1))]"
    done
    printf '\nCa 1 "h%04d"\n[1] "leaf%d"[1]\n\nCa 1 "h%04d"\n[1] "leaf%d"[2]\n\n' \
        $((2 * leaf + 1)) $leaf $((2 * leaf + 2)) $leaf
done >parallel
for spine in 0 1; do
    printf 'Switch 8 "spine%d"\n' $spine
    for port in 0 1 2 3 4 5; do
        echo "[$((port + 1))] \"leaf$((port / 2))\"[$((2 * spine + port % 2 + 3))]"
    done
    echo
done >>parallel
with_fabric '' '' minhop parallel
on_host h0001 pmm fabric read -o parallel.live
replay "parallel cables" parallel.live h0001

# A host at a spine, one of two cards, two that are called alike, one that is
# not called anything, a slow cable, a SHARP node, a router.
cat >odd <<'END'
Switch 8 "leaf" # "a leaf" enhanced port 0
[1] "a"[1] # "" lid 0 4xHDR
[2] "b"[1] # "" lid 0 4xHDR
[3] "c"[1] # "" lid 0 4xHDR
[4] "d"[1] # "" lid 0 1xSDR
[5] "e"[1] # "" lid 0 4xHDR
[7] "spine"[7] # "" lid 0 4xHDR
[8] "spine"[8] # "" lid 0 4xEDR

Switch 8 "spine" # "a spine" enhanced port 0
[1] "f"[1] # "" lid 0 4xHDR
[2] "g"[1] # "" lid 0 4xHDR
[3] "r"[1] # "" lid 0 4xHDR
[7] "leaf"[7] # "" lid 0 4xHDR
[8] "leaf"[8] # "" lid 0 4xEDR

Ca 1 "a" # "h1 mlx5_0"
[1] "leaf"[1] # lid 0 lmc 0 "" lid 0 4xHDR

Ca 1 "b" # "h1 mlx5_1"
[1] "leaf"[2] # lid 0 lmc 0 "" lid 0 4xHDR

Ca 1 "c" # "h2 mlx5_0"
[1] "leaf"[3] # lid 0 lmc 0 "" lid 0 4xHDR

Ca 1 "d" # "h2 mlx5_0"
[1] "leaf"[4] # lid 0 lmc 0 "" lid 0 1xSDR

Ca 1 "e" # "MT4123 ConnectX6 Mellanox Technologies"
[1] "leaf"[5] # lid 0 lmc 0 "" lid 0 4xHDR

Ca 1 "f" # "h3 mlx5_0"
[1] "spine"[1] # lid 0 lmc 0 "" lid 0 4xHDR

Ca 1 "g" # "Mellanox Technologies Aggregation Node"
[1] "spine"[2] # lid 0 lmc 0 "" lid 0 4xHDR

rtguid=0x400000
Rt 1 "r" # "a router"
[1] "spine"[3] # lid 0 lmc 0 "" lid 0 4xHDR
END
with_fabric '' '' minhop odd
on_host h1 pmm fabric read -o odd.live
replay "of all kinds" odd.live h1

with_fabric 4 3 updn '' --conf 'lmc 2' "${dumps[@]}"
compare "four LIDs a port"
cp live lmc.live
replay "four LIDs a port" lmc.live h0001 --conf 'lmc 2'

# What ibdiagnet says of another one.
data=$srcdir/ibquery/test/data
pmm fabric import "$data/tree.ibnetdiscover" "$data/tree.dump_fts" -o tree
pmm fabric import "$data"/tree.{db_csv,ibdiagnet.fdbs} -o csv \
    --counters counters 2>err
is "$? $(hash_of csv) $(<err)" "0 $(hash_of tree) " "a db_csv and its tables"
like "$(pmm fabric show -f csv)" "adaptive.* 5 " "... say how switches route"
pmm fabric check -f csv --counters counters >out
is "$? $(grep -c BER out)" "1 1" "... and a bit error rate is a finding"
like "$(<out)" "EffectiveBER of s1-0002/3 is 3e-12, where less than 1e-13" \
    "... of the right port"
pmm fabric accept -f csv s1-0002/3 --counters counters --why 'until June'
is $? 0 "... and can be accepted"
pmm fabric check -f csv --counters counters >out
like "$? $(<out)" "^3 .*note: accepted by .* on 20..-..-..: until June: .*EffectiveBER" \
    "... then it is a note"
like "$(pmm fabric accept -f csv)" "^EffectiveBER 3e-12 .*s1-0002/3.*: until June" \
    "... that is listed"
pmm fabric accept -f csv s1-0002/3 --off
pmm fabric accept -f csv s1-0002/3 2>err
like "$? $(<err)" "^2 .*finds nothing at s1-0002/3" \
    "... it is undone, and nothing is accepted that is not found"
pmm fabric check -f csv --counters counters --json -o signs.json
pmm plan -f csv -o plan.json
pmm simulate -f csv --plan plan.json --slow 0002c90100000020/3=+1000 \
    -o samples.json
like "$(pmm judge -f csv --plan plan.json --samples samples.json \
    --signs signs.json | jq -r '.findings[0] | .suspects[], .why')" \
    "^0002c90100000020/3.*a port of it counts errors" "... and supports a finding"
pmm fabric import "$data/tree.db_csv" -o alone 2>err
like "$? $(<err)" "^0 warning: no file has forwarding tables" \
    "a db_csv alone: a warning"
pmm path -f alone h0001 h0002 2>err
like "$? $(<err)" "^2 .*has no forwarding table in this snapshot" "... no paths"
pmm fabric import "$data"/tree.{far,ibdiagnet.fdbs,db_csv,net_dump_ext} \
    --counters more -o far
is "$? $(hash_of far) $(grep -c '^groups' far)" "0 $(hash_of tree) 5" \
    "... with groups of ports"
pmm fabric check -f far --counters more >out
is "$? $(grep -c BER out)" "1 3" "... and more bit error rates"
head -n 90 "$data/tree.db_csv" | pmm fabric import - -o none 2>err
is "$? $(<err)" "2 pmm fabric import: standard input:90: section LINKS has no\
 end: the file is cut" "... a cut one is refused"

done_testing
