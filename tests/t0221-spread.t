#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Adaptive and hashed routing, from what a snapshot says to the report. The
# emulator spreads messages as the snapshot says.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe pmm-emu jq cc
workdir
cd "$workdir" || exit 1
make_seal

pmm fabric generate fat-tree --ports 4 --levels 3 -o fabric
hosts=(h0001 h0003 h0006 h0008 h0009 h0012 h0014 h0015)
link=0002c90100000010/3 # the first leaf's, up

# levels UD [HASHED [EVERY [LINE...]]]: a fabric of which every EVERYth switch
# spreads on these levels, with these lines for nodes; and an emulator of it.
levels ()
{
    awk -v ud="$1" -v hashed="${2:-0000}" -v every="${3:-1}" \
        -v more="$(printf '%s\n' "${@:4}")" '
        /^cable / && more { print more; more = "" }
        { print }
        /^switch / && switches++ % every == 0 {
            print "adaptive", $2, ud, ud
            print "hashed", $2, hashed
        }' fabric | ./seal >snapshot && emu_up snapshot
}

cat >conf <<END
Snapshot=$workdir/snapshot
Baseline=$workdir/baseline.json
Transport=emu
EmuSocket=$workdir/emu
Timeout=$((20 * patience))
END

# check DIR [OPTION...]: a check by all hosts
check ()
{
    start_probes --nonce ab --output "$@"
    finish_probes
}

# A link between switches gets slow; what comes of that.
slow ()
{
    rm -rf before after baseline.json
    check before
    cp before/samples.json baseline.json
    emu slow "$link" +2000 >said 2>&1
    ok $? "... a slow $link"
    check after
    emu_down
}

levels 0003
like "$(pmm fabric show -f snapshot)" \
    'adaptive: 20 of 20 switches, SL 0-1; hashed: 0, SL none' \
    "on for levels 0 and 1: shown"
slow
# doctors REGEX: what pmm doctor says of service levels
doctors ()
{
    like "$(pmm doctor --conf conf | grep 'service level: ')" "$1" \
        "... pmm doctor: $1"
}

# pathed REGEX: what pmm path says of them
pathed () { like "$(pmm path -f snapshot h0001 h0015)" "$1" "... pmm path: $1"; }

# measured LEVEL LINE: where nobody spreads, and the link is found
measured ()
{
    is "$(jq -c '[.service_level, .adaptive_switches]' after/samples.json)" \
        "[$1,0]" "... measured on level $1, where nobody spreads"
    is "$(jq -c --arg id "$link" \
        '[.status, (.findings[0].suspects | any (. == $id))]' \
        after/verdict.json)" '["FAIL",true]' "... and the link is found"
    like "$(jq -r '.limits[]' after/verdict.json)" "$2" "... the report: $2"
}
measured 2 'measured on service level 2: on 0, adaptive routing is on at [0-9]+ switches'
doctors '^OK .*probes use service level 2: on 0, adaptive routing is on at 20 '
pathed '(datagrams|connections): probes use service level 2: on 0, adaptive .* 6 switches'

# Half of the fabric
levels 0001 0000 2
slow
measured 1 'measured on service level 1: on 0, adaptive routing is on at 10 switches$'

# Hashed on service level 0 alone
levels 0000 0001
slow
measured 1 'measured on service level 1: on 0, hashed routing is on at [0-9]+ switches$'
pathed 'datagrams: probes use service level 1: on 0, hashed routing is on at 6 sw'

# A level that a port drops is none
levels 0003 0003 1 "drops $link 0004"
slow
measured 3 'measured on service level 3: on 0, adaptive .* switches$'

levels 0000 fffd 1 "drops $link 0002"
slow
is "$(jq -c '[.service_level, .adaptive_switches > 10]' after/samples.json)" \
    '[0,true]' "the free level is dropped: measured on that which is wanted"
like "$(jq -r '.limits[]' after/verdict.json)" \
    'measured on service level 0: on 0, hashed routing is on at [0-9]+ switches; level 1 is free of adaptive and hashed routing, but s1-0001/3 drops it$' \
    "... the report names the port"
doctors '^WARN .*level 1 is free .*but s1-0001/3 drops it: .*in SL2VL'

# Nothing keeps to the tables that were read
levels 0000 0000 1 "private ${link%/*}" "recovery ${link%/*}" \
    "state ${link%/*}/2 init"
check after
emu_down
is "$(jq -c '[.service_level, .adaptive_switches]' after/samples.json)" '[0,1]' \
    "private LFTs at a switch: it may spread messages"
like "$(jq -r '.limits[]' after/verdict.json)" \
    'private LFTs: 1 switch may forward by other tables' "... the report says so"
like "$(jq -r '.limits[]' after/verdict.json)" \
    'fast recovery: the cable at s1-0001/2 is not active' \
    "... and which cable messages may avoid"
like "$(pmm doctor --conf conf)" 'WARN +private LFTs: 1 switch may' \
    "... pmm doctor, too"

levels 0000
doctors '^OK .*messages of service level 0 follow the forwarding tables'
like "$(pmm doctor --conf conf)" 'OK +private LFTs: none' "... none has private ones"
emu_down

levels ffff
slow
is "$(jq -c '[.service_level, .adaptive_switches > 10]' after/samples.json)" \
    '[0,true]' "on for all levels: measured on that which is wanted"
is "$(jq -c --arg id "$link" \
    '[.status, .findings[].kind, (.findings[0].suspects | length, any (. == $id))]' \
    after/verdict.json)" '["FAIL","switch link",2,true]' \
    "... and the link is one of its leaf's two"
like "$(pmm report -f snapshot after/verdict.json)" \
    'limit: measured on service level 0: on 0, adaptive routing is on at [0-9]+ switches; no other level is free' \
    "... the report says why"
doctors '^WARN .*no other level is free .* take a level, as 1, out of ar_sl_mask and hbf_sl_mask'

echo Rates=all >>conf
levels ffff
check after --rates all
is "$(jq -c '[.rates[].link] | unique | map(startswith("0002c9000")) | [length, all]' \
    after/verdict.json)" '[8,true]' "rates are listed of the hosts' cables alone"
like "$(jq -r '.limits[]' after/verdict.json)" \
    'rates were measured of host links alone, as messages are spread' "... and why"

done_testing
