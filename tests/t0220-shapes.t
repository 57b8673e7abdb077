#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Fabrics of the shapes that sites have, read live through opensm: who is a
# host, what is a link, that a slow one is named, and that what is exported is
# the same fabric again.

# shellcheck disable=SC2154,SC2317 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm jq ibsim opensm
workdir
cd "$workdir" || exit 1

# A netfile out of lines "switch|ca|router GUID SYSTEM PORTS DESCRIPTION" and
# "GUID/PORT GUID/PORT RATE".
netfile ()
{
    awk '
        function put(a, port, b, far, rate) {
            cables[a] = cables[a] sprintf("[%s]\t\"n%s\"[%s]\t# " \
                "lid 0 lmc 0 \"x\" lid 0 %s\n", port, b, far, rate)
        }
        $1 ~ /^(switch|ca|router)$/ {
            guid[++n] = $2
            type[n] = $1
            system_[n] = $3
            ports[n] = $4
            $1 = $2 = $3 = $4 = ""
            desc[n] = substr($0, 5)
        }
        $1 ~ /\// {
            split($1, a, "/")
            split($2, b, "/")
            put(a[1], a[2], b[1], b[2], $3)
            put(b[1], b[2], a[1], a[2], $3)
        }
        END {
            word["switch"] = "Switch"
            word["ca"] = "Ca"
            word["router"] = "Rt"
            for (i = 1; i <= n; i++)
                printf "vendid=0x2c9\ndevid=0xcf08\nsysimgguid=0x%s\n" \
                    "%sguid=0x%s\n%s %s \"n%s\"\t# \"%s\"%s\n%s\n",
                    system_[i], type[i] == "router" ? "rt" : type[i], guid[i],
                    word[type[i]], ports[i], guid[i], desc[i],
                    type[i] == "switch" ? " enhanced port 0 lid 0 lmc 0" : "",
                    cables[guid[i]]
        }'
}

# hosts SWITCH FIRST N NAME [SYSTEM]: hosts NAME1 .. with one adapter each, on
# the switch's ports from FIRST on
hosts ()
{
    local i guid
    for ((i = 1; i <= $3; i++)); do
        guid=$(printf '%s%02x' "$1" "$i")
        echo "ca $guid $guid 1 $4$i mlx5_0"
        echo "$guid/1 $1/$(($2 + i - 1)) 4xHDR"
    done
}

rails () # each host has a card on either rail, which the spines join
{
    local i leaf port=0
    for leaf in a1 a2 b1 b2; do
        echo "switch $leaf $leaf 12 leaf-$leaf"
        echo "$leaf/9 c1/$((++port)) 4xHDR"
        echo "$leaf/10 c2/$port 4xHDR"
    done
    echo "switch c1 c1 12 spine-1"
    echo "switch c2 c2 12 spine-2"
    for ((i = 1; i <= 8; i++)); do
        for leaf in a b; do
            echo "ca ${leaf}0$i ${leaf}0$i 1 n$i mlx5_$((16#$leaf - 10))"
            echo "${leaf}0$i/1 $leaf$(((i + 3) / 4))/$((i % 4 + 1)) 4xHDR"
        done
    done
}

chassis () # four lines and two spines in a box, a switch beside it; SHARP
{
    local i
    for i in 1 2 3 4; do
        echo "switch a$i 9000 12 line-$i"
        echo "a$i/9 b1/$i 4xEDR"
        echo "a$i/10 b2/$i 4xEDR"
        hosts "a$i" 1 3 "n$i"
    done
    for i in 1 2; do
        echo "switch b$i 9000 12 spine-$i"
        echo "ca b${i}0 9000 1 Mellanox Technologies Aggregation Node"
        echo "b${i}0/1 b$i/12 4xEDR"
        echo "c1/$((9 + i)) a$i/12 4xHDR"
    done
    echo "switch c1 c1 12 edge"
    hosts c1 1 3 n5
}

odd () # what else there is
{
    local leaf i
    for leaf in 1 2 3; do
        echo "switch a$leaf a$leaf 16 leaf-$leaf"
        hosts "a$leaf" 1 4 "n$leaf"
        for i in 1 2; do # two cables each
            echo "a$leaf/$((10 + i)) b$i/$leaf 4xHDR"
            echo "a$leaf/$((12 + i)) b$i/$((leaf + 3)) 4xHDR"
        done
    done
    echo "switch b1 b1 16 spine-1"
    echo "switch b2 b2 16 spine-2"
    echo "switch b3 b3 16 nobody's"
    echo "b3/1 b1/16 4xHDR"
    echo "ca 11 11 1 ufm mlx5_0"               # at a spine
    echo "11/1 b2/15 4xEDR"
    echo "ca 12 12 1 twin mlx5_0"              # two of a name
    echo "12/1 a1/5 4xHDR"
    echo "ca 13 13 1 twin mlx5_0"
    echo "13/1 a2/5 4xHDR"
    echo "ca 14 14 1 localhost mlx5_0"         # of no name
    echo "14/1 a3/5 4xHDR"
    echo "ca 50 50 2 dual HCA-1"               # two ports
    echo "50/1 a1/6 4xHDR"
    echo "50/2 a2/6 4xHDR"
    echo "router 60 60 2 storage gateway"
    echo "60/1 a1/7 4xQDR"
    echo "ca 70 70 1 old mlx5_0"               # slower than the others
    echo "70/1 a3/6 4xDDR"
}

# found SHAPE NAMES COUNTS CLASSES: a fabric of the shape is read as that
found ()
{
    local shape=$1
    $shape | netfile >net
    with_fabric 0 0 minhop net
    on_host "$(sed -n 's/^Ca.*# "\(n1[^ ]*\) .*/\1/p' net | head -n 1)" \
        pmm fabric read -o snapshot >out 2>err
    is "$? $(wc -c <out) $(wc -c <err)" "0 0 0" "$shape: read" || exit 1
    pmm fabric show -f snapshot --json >shown
    is "$(jq -r '[.hosts[] | .name + (":" * (.endpoints | length - 1) // "")] |
        join(" ")' shown)" "$2" "... the hosts, and a colon for each more rail"
    is "$(jq -c '[(.switches | length), (.links | length),
        (.warnings | length)]' shown)" "$3" "... switches, links, warnings"
    is "$(jq -r '[.links[].class] | group_by(.) | map("\(length) \(.[0])") |
        join(", ")' shown)" "$4" "... the classes"
}

faults=(--latency random:100:250 --seed 1 --noise 20)

# names LINK: made slow by 1,000 ns, it is what is found, or one of two
names ()
{
    pmm plan -f snapshot -o plan && pmm plan -f snapshot --check plan \
        && pmm simulate -f snapshot --plan plan "${faults[@]}" -o healthy \
        && pmm simulate -f snapshot --plan plan "${faults[@]}" \
            --slow "$1=+1000" -o slow \
        && pmm confirm -f snapshot --plan plan --samples slow \
            --baseline healthy -o longer \
        && pmm simulate -f snapshot --plan longer "${faults[@]}" \
            --slow "$1=+1000" -o both
    ok $? "... planned and measured with a slow $1"
    pmm judge -f snapshot --plan longer --samples both --baseline healthy \
        -o verdict
    is "$(jq -c --arg id "$(link "$1")" '[.findings[] |
        [.level, (.suspects | length <= 2 and any (. == $id))]]' verdict)" \
        '[["FAIL",true]]' "... which is found"
}

# The id of a link by either end.
link ()
{
    jq -r --arg guid "${1%/*}" --argjson port "${1#*/}" '.links[] |
        select((.a, .b) | .guid == $guid and .port == $port) | .id' shown
}

zeros=00000000000000

found rails "n1: n2: n3: n4: n5: n6: n7: n8:" "[6,24,0]" \
    "16 host 4xHDR, 8 switch 1-2 4xHDR"
names "${zeros}a1/2"
names "${zeros}b2/9"
replay rails snapshot n1

found chassis "n11 n12 n13 n21 n22 n23 n31 n32 n33 n41 n42 n43 n51 n52 n53" \
    "[7,27,0]" "15 host 4xHDR, 2 other internal 4xEDR, 2 switch 1-1 4xHDR, \
8 switch 1-2 internal 4xEDR"
is "$(jq -c '[.links[] | select(.internal)] | length' shown)" 10 \
    "... ten links within the box"
names "${zeros}a3/9"
like "$(pmm report -f snapshot verdict)" \
    "line-3/9 -- spine-1/3  \(${zeros}a3/9, no cable: within a chassis" \
    "... of which the report says that it is no cable"
names "${zeros}c1/1"
replay chassis snapshot n11

found odd "0000000000000012 0000000000000013 0000000000000014 dual: n11 n12 \
n13 n14 n21 n22 n23 n24 n31 n32 n33 n34 old ufm" "[6,33,2]" \
    "1 host 4xDDR, 1 host 4xEDR, 17 host 4xHDR, 1 other 4xQDR, \
12 switch 1-2 4xHDR, 1 switch 2-3 4xHDR"
like "$(jq -r '.warnings[]' shown)" "12 and ${zeros}13 are on different cards, \
and both call themselves twin mlx5_0" "... two of a name are told apart"
names "${zeros}a1/11"
names "${zeros}13/1"
replay odd snapshot n11

done_testing
