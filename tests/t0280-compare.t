#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What a fabric team and a technician read: what has changed between two
# snapshots, and which plug goes where.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq
workdir
cd "$workdir" || exit 1
pmm fabric generate fat-tree --ports 8 --levels 3 -o a
pmm fabric generate fat-tree --ports 8 --levels 3 --prune 10 -o b

is "$(pmm fabric diff a a) $?" " 0" "the same: nothing is said, exit 0"
pmm fabric diff a b >out
is "$?" 1 "another: exit 1"
(($(wc -l <out) < 40))
ok $? "... on one screen" || diag "$(<out)"
gone=$(comm -23 <(pmm fabric show -f a --json | jq -r '.hosts[].name') \
    <(pmm fabric show -f b --json | jq -r '.hosts[].name') | wc -l)
like "$(<out)" "hosts: $gone gone" "... with the hosts that are gone"
(($(pmm fabric diff --all a b | wc -l) > $(wc -l <out)))
ok $? "--all tells more"
pmm fabric diff --json a b | jq -e ".kind == \"diff\" and (.same | not) and
    (.hosts.gone | length) == $gone and .routes.changed > 0" >/dev/null
ok $? "--json"

# LinkRoundTripLatency: of all cables, one of which is another one now.
make_seal
for more in 0 60; do
    awk -v more=$more '
        FNR < NR && /^cable/ && !n++ {
            for (i in lrtl)
                print "lrtl", i, lrtl[i] + (i == end || i == far ? more : 0)
        }
        FNR < NR { print }
        FNR == NR && /^cable/ {
            lrtl[$2] = lrtl[$3] = 200 + FNR % 50
            if (!end) { end = $2; far = $3 }
        }' a a | ./seal >long$more
done
is "$(pmm fabric diff long0 long60 | grep -A1 ^cables)" "cables: 1 replaced
  replaced  h0001 mlx5_0/1 - s1-0001/1: LinkRoundTripLatency 301, was 241" \
    "a cable of another length at the same ports"
is "$(pmm fabric diff --json long0 long60 |
    jq -c '.cables.replaced | map([.a.name, .was, .is])')" \
    '[["h0001 mlx5_0",241,301]]' "... --json"
pmm fabric diff a nosuch 2>err
is "$?" 2 "no such file: exit 2"

pmm fabric show -f a --json |
    jq -r '.links[] | [.a.name, .a.port, .b.name, .b.port] | @csv' >table
is "$(pmm fabric cabling -f a table) $?" " 0" "all as the table has it"
sed '1s/"s1-0001",1/"s1-0001",2/; 2s/"s1-0001",2/"s1-0001",1/; 3d
    4s/h0004 mlx5_0/h9999/' table >wanted
pmm fabric cabling -f a wanted >out
is "$?" 1 "a table that wants other cables: exit 1"
is "$(<out)" "not in the fabric: h9999
wanted:1: swapped: exchange the plugs in s1-0001/1 and s1-0001/2, so that \
h0001 mlx5_0/1 is at s1-0001/2, and h0002 mlx5_0/1 at s1-0001/1 (line 2)
unexpected: h0003 mlx5_0/1 - s1-0001/3" "... each plug with its place"
is "$(pmm fabric cabling --partial -f a wanted | grep -c unexpected)" 0 \
    "--partial: nothing is unexpected"
is "$(pmm fabric cabling --json -f a wanted |
    jq -c '[.right, (.wrong | length), (.unexpected | length), .absent]')" \
    '[380,2,1,["h9999"]]' "--json"
echo 's1-0001,99,h0001,1' >>wanted
pmm fabric cabling -f a wanted 2>err
is "$? $(<err)" "2 pmm fabric cabling: wanted:384: s1-0001 has no port '99'" \
    "a line that is wrong: exit 2, by its number"

done_testing
