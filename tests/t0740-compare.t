#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Round trips over real verbs, in a virtual machine. Beside those of perftest's
# ib_send_lat and of ibv_ud_pingpong and ibv_rc_pingpong, all waiting for
# events, taking turns between the same two hosts: ours are as long as theirs;
# with PMM_LONG, over short cables too, which is only shown.
# And beside one another: two probes at once that share no cable take as long
# as each alone, and two that share one, which a plan never has, take longer.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq ib_send_lat ibv_ud_pingpong ibv_rc_pingpong
with_vm

# The hosts' cables have 100 us, but those of the last two, of a leaf, 1 us.
pmm fabric generate fat-tree --ports 4 --levels 2 -o net
jq -rn 'range(1; 7) | "h000\(.)/1 100000", if . > 4 then
    "h000\(. + 2)/1 1000" else empty end' >latency
pmm fabric show -f net --json >net.json
cat >conf <<END
Snapshot=/run/compare/net
Baseline=
NodeMap=/run/compare/map
Transport=verbs
Polling=event
ExtraRounds=0
ConfirmRounds=1
Timeout=300
END

# Probes, as a plan has them.
probe ()
{
    pmm path -f net $1 $2 --json | jq -c --arg a $1 --arg b $2 '
        {$a, $b, row: (.forward + .reverse | group_by(.)
            | map({key: .[0], value: length}) | from_entries)}'
}
hosts="h0001 h0002 h0003 h0005 h0006"
# The first two share a cable on the way there, the first and the last none.
for pair in "h0001 h0003" "h0002 h0005" "h0002 h0006"; do
    probe $pair
done >probes
shared=$(pmm path -f net h0001 h0003 --json | jq -r '.forward[1]')
other=$(pmm path -f net h0002 h0006 --json | jq -r '.forward[1]')
is "$(pmm path -f net h0002 h0005 --json | jq -r '.forward[1]')" "$shared" \
    "two probes by one cable, $shared"
is "$(jq -sc '.[0].row as $row | .[2].row | keys | map(select($row[.]))' \
    probes)" '[]' "... and two that share none"
pmm plan -f net --hosts ${hosts// /,} --extra-rounds 0 \
    | jq --slurpfile p probes '
        .rounds = [[$p[0]], [$p[1]], [$p[2]], [$p[0], $p[1]], [$p[0], $p[2]]]
        | .basis_rounds = 3 | .extra_rounds = 2 | .measurements = 7' >plan.json
said=$(pmm plan -f net --check plan.json 2>&1)
is "$?" 2 "such a plan is not sound: ${said#*: }"

pairs=(h0001,h0002 ${PMM_LONG:+h0007,h0008})
echo "shared=$shared other=$other together='$hosts' pairs='${pairs[*]}'" >given
cat >inside <<'END'
. ./given
dir=/run/compare
network net --latency latency
# From memory: to wait for the host's files takes the machine's time.
mkdir $dir && cp net conf map plan.json "$(type -P pmm-probe)" $dir || exit
exec {never}<> <(:)
pause () { read -rt "$1" -u $never; }

bytes=88 # of a message: PingBytes and a header of ours
trips=200

ours ()
{
    local rank host=($2 $3)
    for rank in 0 1; do
        $dir/pmm-probe --conf $dir/conf --set Service=$1 --repeats $trips \
            --set RoundTrip=1000 --set PingBytes=$((bytes - 24)) \
            --coord local:$rank:2:${host[rank]}:$dir/rendezvous \
            >$dir/out.$rank &
    done
    wait
    head -n 1 $dir/out.0 | jq '[.probes[].rtt_ns.median / 1000]
        | add / length'
}

# both A B COMMAND...: the second one's output
both ()
{
    local a=$1 b=$2 port=$((20000 + RANDOM % 10000)) i
    shift 2
    "$@" -d rxe$((10#${a#h})) -p $port >/dev/null 2>&1 &
    for ((i = 0; i < 100; i++)); do
        pause 0.05
        grep -Eq "$(printf ':%04X 0+:0000 0A' $port)" /proc/net/tcp* && break
    done
    "$@" -d rxe$((10#${b#h})) -p $port localhost || kill $!
    wait
}

# Twice what it calls a latency: the median, and the mean in the last.
send_lat ()
{
    both $2 $3 ib_send_lat -e -F -x 1 -c ${1^^} -s $bytes -n $trips \
        | awk -v bytes=$bytes '$1 == bytes { print 2 * $5 }'
}
pingpong ()
{
    both $2 $3 ibv_$1_pingpong -e -g 1 -s $bytes -n $trips \
        | sed -n 's/.* \([0-9.]*\) usec.iter.*/\1/p'
}

for pair in $pairs; do
    for service in ud rc; do
        for ((i = 0; i < 3; i++)); do
            for program in ours send_lat pingpong; do
                echo $pair $service $program \
                    $($program $service ${pair/,/ })
            done
        done
    done
done >rtts 2>said

# Each as if on a machine of its own, or else they would take turns.
fabric rate $shared 500kbit forth
fabric rate $other 500kbit forth
rank=0
for host in $together; do
    echo $rank >$dir/id.$rank
    unshare -m bash -c 'mount --bind $0 /proc/sys/kernel/random/boot_id
        exec "$@"' $dir/id.$rank $dir/pmm-probe --conf $dir/conf \
        --plan $dir/plan.json --repeats 10 --set RoundTrip=20000 \
        --set PingBytes=256 --coord local:$rank:5:$host:$dir/rendezvous \
        >out.$rank 2>>said &
    ((rank++))
done
wait
END
before=$(date +%s)
in_vm 600 inside >out 2>err
is "$? $(<out)$(<err)" "0 " "measured" || diag "$(<said)"
diag "$(($(date +%s) - before)) s of wall time"

# The median of three, and how far they are apart.
sort -k1,3 -k4n rtts | awk '
    { v[$1 " " $2 " " $3] = v[$1 " " $2 " " $3] " " $4 }
    END {
        for (what in v)
            if (split(v[what], us, " ") == 3)
                print what, us[2], us[3] - us[1]
    }' | sort >medians
is "$(wc -l <medians)" $((6 * ${#pairs[@]})) \
    "three programs over two services"
diag "hosts, service: pmm-probe (spread), ib_send_lat -e, ibv_*_pingpong -e"
for pair in "${pairs[@]}"; do
    for service in ud rc; do
        of ()
        {
            awk -v what="$pair $service $1" '$1 " " $2 " " $3 == what {
                print $4, $5 }' medians
        }
        read -r ours spread < <(of ours)
        read -r lat _ < <(of send_lat)
        read -r pong _ < <(of pingpong)
        line=$(awk -v a="$ours" -v b="$lat" -v c="$pong" -v s="$spread" \
            'BEGIN { printf "%.1f (%.1f), %.1f x %.3f, %.1f x %.3f us",
                a, s, b, a / b, c, a / c }')
        diag "$pair $service: $line"
        # Over short cables it is the machine's one processor that is timed:
        # what is done while a message is under way delays it.
        [[ $pair == h0001* ]] || continue
        awk -v a="$ours" -v b="$lat" -v c="$pong" 'BEGIN {
            exit !(a > .95 * b && a < 1.05 * b && a > .95 * c && a < 1.05 * c)
        }'
        ok $? "$service: within 5 % of either: $line"
    done
done

# Medians in us, by round: alone, alone, alone, two by a cable, two apart.
jq -rn 'first(inputs) | .probes[] | [.round, .a + "-" + .b, .initiator, .lost,
    .rtt_ns.median / 1000] | @tsv' out.0 | awk '$1 < 5' >together
is "$(wc -l <together) $(awk '{ lost += $4 } END { print lost }' together)" \
    "14 0" "one probe, or two at once: none is lost" || diag "$(<together)"
diag "$(<together)"
# Those of a round on average, less what they take alone.
read -r meet apart < <(awk '
    { us[$1] += $5 / 2 }
    END {
        print (us[3] - us[0] - us[1]) / 2, (us[4] - us[0] - us[2]) / 2
    }' together)
awk -v us="$apart" 'BEGIN { exit !(us < 10 && us > -10) }'
ok $? "two that share no cable: $apart us more than each alone"
awk -v us="$meet" 'BEGIN { exit !(us > 2000) }'
ok $? "two that share one interfere: $meet us more"

done_testing
