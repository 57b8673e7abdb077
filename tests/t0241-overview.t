#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A fabric on one page, from the output of ibnetdiscover alone, as faults are
# planted in it.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm
workdir
cd "$workdir" || exit 1

pmm fabric generate fat-tree --ports 8 --levels 2 --rails 2 -o tree
pmm fabric export -f tree --format ibnetdiscover -o net
is "$(pmm fabric check net | head -n 3)" "16 hosts: 16 with 2 ports
12 switches: 8 of level 1, 4 of level 2
64 cables: 32 host 4xHDR, 32 switch 1-2 4xHDR" "what it has" ||
    diag "$(pmm fabric check net)"
like "$(pmm fabric check net)" "rails at s1-[^:]*: 4 mlx5_[01]/1" "rails by leaf"
like "$(pmm fabric check net)" "next: give the forwarding tables, too" \
    "nothing is wrong: what else could be known"

# cut FILE GUID PORT: both ends of the cable at a switch's port
cut_cable ()
{
    awk -v guid="$2" -v port="$3" '
        /^(Switch|Ca)/ { at = $0; sub(/^[^"]*"/, "", at); sub(/".*/, "", at) }
        index($0, "[" port "]") == 1 && at == "S-" guid { next }
        index($0, "\"S-" guid "\"[" port "]") { next }
        { print }' "$1"
}
leaf=$(sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*"s1-0003.*/\1/p' net | head -n 1)
cut_cable net "$leaf" 5 >fault
pmm fabric check fault >out
like "$? $(<out)" "^0 .*missing: s1-0003[^ ]* has 3 cables to the level above, 7\
 of 8 switches of its level have 4; others have more to s2-0001" "a cable between switches is missing"
like "$(<out)" "next: find the cables that s1-0003[^ ]* lacks" "... find it"
leaf=$(sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*"s1-0005.*/\1/p' net | head -n 1)
cut_cable fault "$leaf" 6 >fault2
pmm fabric check fault2 >out
like "$(<out)" "missing: s1-0003 .* 6 of 8 .* more to s2-0001
missing: s1-0005 has .* more to s2-0002" "... two switches lack one"

pmm fabric generate dragonfly --p 2 --a 4 --h 2 -o routers
pmm fabric export -f routers --format ibnetdiscover -o routers.net
router=$(sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*"s3-0002.*/\1/p' routers.net)
cut_cable routers.net "$router" 4 >fault
pmm fabric check fault >out
like "$(<out)" "missing: s3-0002 has 4 cables to its own level, 34 of 36 switches\
 of its level have 5" "a router lacks a cable"

sed 's/"h0007 mlx5/"h0008 mlx5/' net >fault
pmm fabric check fault >out
like "$(<out)" "15 hosts: 1 with 4 ports, 14 with 2 ports" "one name for two hosts"
like "$(<out)" "duplicated: h0008 has mlx5_0/1 twice: two hosts have this name" \
    "... is told"
like "$(<out)" "next: give the hosts that are both called h0008 names" "... mend it"

# Each adapter a card of its own, as most are
awk '/^(sysimg|ca)guid/ { $0 = sprintf("sysimgguid=0x%016x", 65536 + n++) } { print }' \
    fault >cards
pmm fabric check cards >out
like "$(<out)" "duplicated: 2 adapters are called h0008 mlx5_0, at s1-0003/[0-9]+,\
 s1-0003/[0-9]+: 2 hosts have this name" "... of adapters on cards of their own"
like "$(<out)" "next: give the hosts that are both called h0008 names" "... mend it"

sed '/"h0007 mlx5_1" lid/d; /^Ca.*"h0007 mlx5_1"/,/^$/d' net >fault
pmm fabric check fault >out
like "$? $(<out)" "^0 .*note: h0007 has no rail mlx5_1/1, where 3 of its 3 peers" \
    "a host lacks a rail"
like "$(<out)" "next: look for mlx5_1/1 of h0007: its adapter" "... look for it"
pmm fabric import fault -o lack 2>/dev/null
pmm fabric accept -f lack h0007 --why 'slot broken'
pmm fabric check lack >out
like "$? $(<out)" "^0 .*note: accepted by .* on 20..-..-..: slot broken: h0007 has 1\
 of 2 rails" "... which can be accepted"
like "$(grep -c h0007 out) $(<out)" "^1 .*next: give the forwarding" "... and that is all"
like "$(pmm fabric accept -f lack)" "^rails 1/2  h0007  20..-..-..  .*: slot broken" \
    "... it is listed"
pmm fabric accept -f lack h0008 2>err
is "$? $(<err)" "2 pmm fabric accept: pmm fabric check finds nothing at h0008" \
    "... and nothing is accepted that is not found"
pmm fabric accept -f lack h0007 --off
like "$(pmm fabric check lack)" "note: h0007 has no rail" "... it is undone"

sed 's/"s2-000[0-9]"/"SwitchX"/' net >fault
like "$(pmm fabric check fault)" "duplicated: 4 switches are called SwitchX" \
    "switches without names of their own"

{ echo '[root@mgmt ~]# ibnetdiscover'; cat net; } >fault
pmm fabric check fault 2>err
is "$? $(<err)" "2 pmm fabric check: fault:1: this is not a line of ibnetdiscover's:\
 take it out, if ibnetdiscover did not print it" "a copy of a terminal"

sed 's/"\(h[0-9]*\) mlx5/"\1.site.example.org mlx5/' net >fault
like "$(pmm fabric export fault --format topology.conf)" \
    "without their domain \(site.example.org\).*=pod-1 Nodes=h\[0001-0004\]" \
    "names with a domain: Slurm's"
like "$(pmm fabric export fault --format topology.conf \
    --hosts h0001.site.example.org)" "Nodes=h0001.site.example.org" "... or as listed"

for rails in 2 4; do
    pmm fabric generate fat-tree --ports 12 --levels 2 --rails "$rails" -o tree
    pmm fabric export -f tree --format ibnetdiscover -o net
    sed -e 's/"h0006 mlx5_0"/"h0006 swap"/; s/"h0006 mlx5_1"/"h0006 mlx5_0"/' \
        -e 's/"h0006 swap"/"h0006 mlx5_1"/' net >fault
    pmm fabric check fault >out
    like "$(<out)" "h0006 mlx5_1/1 is cabled to s1-000[^ ]*, where" \
        "of $rails rails two are swapped"
    like "$(<out)" "next: look where h0006 mlx5_[01]/1 is plugged in" \
        "... look there"
done

sed '/"h0005 mlx5_1" lid/s/4xHDR/1xHDR/; /^\[1\].*(.*"h0005/s/4xHDR/1xHDR/' net |
    awk '/^Ca/ { in_it = /"h0005 mlx5_1"/ } in_it { sub(/4xHDR/, "1xHDR") }
        { print }' >fault
pmm fabric check fault >out
is "$?" 1 "a cable with one lane: the exit status"
like "$(<out)" "next: look at .*h0005 mlx5_[01]/1" "... look at it first"

sed '/"h0005 mlx5_1" lid/s/4xHDR/1xHDR/' net >fault
pmm fabric check fault >out
like "$? $(<out)" "^1 .*note: the rates that both ends tell differ for 1 cable, the\
 first in fault:[0-9]+: the lower is taken" "one end says so"
guid=$(sed -n 's/^Switch.*"S-\([0-9a-f]*\)".*"s1-0003.*/\1/p' net | head -n 1)
awk -v end="\"S-$guid\"[8]" '/^Switch/ { at = index($0, "S-'"$guid"'") }
    index($0, end) || (at && index($0, "[8]") == 1) { sub(/4xHDR/, "4xEDR") }
    { print }' net >fault
pmm fabric check fault >out
like "$? $(<out)" "^3 .*next: look at s1-0003" "a slow cable between switches"
done_testing
