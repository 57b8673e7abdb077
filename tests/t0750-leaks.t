#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Nothing is left of a check, however its processes end: over real verbs, in a
# virtual machine, random members of 20 checks (1,000 under PMM_LONG=1) are
# killed at a random time, by SIGKILL, SIGTERM or SIGINT. Then the others are
# to end, and the kernel's tables to be as before: protection domains,
# completion queues, queue pairs, memory regions and contexts as rdma(8) counts
# them, address handles as made and destroyed by the driver (probes on the
# kernel's functions), processes, sockets and files.
#
# PMM_SEED=N draws other members, times and signals.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq
with_vm
seed=${PMM_SEED:-1} runs=20 limit=600
[[ ! ${PMM_LONG-} ]] || { runs=1000; limit=10000; }

# Four nodes, of one rail or of two, which are other hosts' in the snapshot.
pmm fabric generate fat-tree --ports 4 --levels 2 -o net
guids=$(pmm fabric show -f net --json | jq -r '.hosts[].endpoints[].guid')
awk '{ print "n" int((NR + 1) / 2), $1, "rxe" NR "/1" }' <<<"$guids" >two
awk 'NR % 2 == 1' two >one
cat >conf <<END
Snapshot=/run/leaks/net
Baseline=
Transport=verbs
Polling=event
RoundTrip=2000
Repeats=1
ExtraRounds=0
Timeout=15
END

echo "seed=$seed runs=$runs" >given
cat >inside <<'SCRIPT'
. ./given
RANDOM=$seed
dir=/run/leaks
bound=2000 # cs: Timeout, and some more
modes=("ud one" "rc one" "ud two" "rc two")
network net --latency random:50000:90000:1
# From memory: to wait for the host's files takes the machine's time.
mkdir $dir && cp net one two conf "$(type -P pmm-probe)" $dir || exit

traced=/sys/kernel/tracing
busybox mount -t tracefs tracefs $traced
echo 'p:made rxe_create_ah' >$traced/kprobe_events
echo 'p:gone rxe_destroy_ah' >>$traced/kprobe_events
echo 1 >$traced/events/kprobes/enable

exec {never}<> <(:)
pause () { read -rt "$1" -u $never; }
now () { read -r up _ </proc/uptime; up=$((10#${up/./})); } # cs

# Address handles that there are, and all that were made.
handles ()
{
    awk '{ n[$1] = $2 } END { print n["made"] - n["gone"], n["made"] }' \
        $traced/kprobe_profile
}

# What there is that a check may leave behind.
tables ()
{
    local file name processes=0 files=($dir/* /dev/shm/*)
    for file in /proc/[0-9]*/comm; do
        { read -r name <"$file"; } 2>/dev/null
        [[ $name != pmm-probe ]] || ((processes++))
    done
    rdma res show | awk -v processes=$processes -v files=${#files[@]} '
        FILENAME == "-" {
            for (i = 3; i < NF; i += 2)
                n[$i] += $(i + 1)
        }
        $1 == "made" { n["ah"] += $2 }
        $1 == "gone" { n["ah"] -= $2 }
        /leaks.rendezvous/ { n["sockets"]++ }
        END {
            n["processes"] = processes
            n["files"] = files
            kinds = split("pd cq qp mr ctx ah processes sockets files", kind)
            for (i = 1; i <= kinds; i++)
                printf "%s %d ", kind[i], n[kind[i]]
            print ""
        }' - $traced/kprobe_profile /proc/net/unix
}

# start SERVICE RAILS: a check of four, its pids in $pids
start ()
{
    local i
    pids=()
    for i in 0 1 2 3; do
        env --default-signal=INT $dir/pmm-probe --conf $dir/conf \
            --set Service=$1 --set NodeMap=$dir/$2 \
            --coord local:$i:4:n$((i + 1)):$dir/rendezvous \
            >/run/out.$i 2>/run/err.$i &
        pids[i]=$!
    done
}

# Waits for all, and kills who does not end; sets $statuses, and how many there
# were of those.
collect ()
{
    local i end
    now
    end=$((up + bound)) statuses=() outlived=0
    for i in 0 1 2 3; do
        while kill -0 ${pids[i]} && now && ((up < end)); do
            pause 0.2
        done
        kill -KILL ${pids[i]} && ((outlived++))
        wait ${pids[i]}
        statuses[i]=$?
    done 2>/dev/null
}

tables >/dev/null # reads the programs
start ud one
collect
clean=$(tables)
echo "$clean" >clean

# Unharmed, and how long that takes, in cs.
took=()
for mode in "${modes[@]}"; do
    now
    begun=$up
    start $mode
    collect
    now
    took+=($((up - begun)))
    echo "$outlived ${statuses[*]:1}" "$(head -n 1 /run/out.0 \
        | jq '[.nodes.answered, .nodes.missing | length] | @csv')"
done >unharmed
echo "${took[*]}" >took

# The tables do show what there is.
start rc two
for ((i = 0; i < 100; i++)); do
    pause 0.05
    [[ $(handles) == 0\ * ]] || break
done
kill -STOP "${pids[@]}"
tables >running
kill -KILL "${pids[@]}"
collect
rm -f $dir/rendezvous
tables >stopped

signals=(KILL TERM INT)
for ((run = 0; run < runs; run++)); do
    mode=${modes[run % 4]}
    # Early more often: the leader ends before the others.
    after=$((RANDOM % took[run % 4] * (RANDOM % 100) / 100))
    mask=$((RANDOM % 15 + 1))
    hit=''
    now
    begun=$up
    start $mode
    pause $((after / 100)).$(printf %02d $((after % 100)))
    for i in 0 1 2 3; do
        signal=${signals[RANDOM % 3]}
        if ((mask >> i & 1)); then
            # Who has ended is out of its reach.
            kill -$signal ${pids[i]} 2>/dev/null && hit+=${signal::1} || hit+=.
        else
            hit+=-
        fi
    done
    collect
    now
    result=$(grep '^pmm-result 1 [A-Z]* ' /run/out.0)
    # A leader that is killed, by its own watchdog, too, cannot remove it.
    [[ $hit != [KTI]* && $result != *" timed out after "* ]] \
        || rm -f $dir/rendezvous
    left=$(tables)
    [[ $left != "$clean" ]] || left=clean
    echo "$run ${mode/ /,} $after $hit $((up - begun)) $outlived" \
        "$(IFS=,; echo "${statuses[*]}") $left, ${result#* * }"
done >killed
handles >handles

# A device that goes finds what was not destroyed.
for ((i = 1; i <= 8; i++)); do
    ip link del e$i
done
for ((i = 0; i < 100; i++)); do
    rdma link >links
    [[ -s links ]] || break
    pause 0.05
done
busybox dmesg | grep -E 'WARNING|BUG|leak|Oops' >complaints
true
SCRIPT
before=$(date +%s)
in_vm $limit inside >out 2>err
is "$? $(<out)$(<err)" "0 " "$runs checks, from seed $seed"
diag "$(($(date +%s) - before)) s of wall time"

is "$(uniq -c unharmed)" '      4 0 0 0 0 "4,0"' \
    "unharmed, all end: by UD and RC, over one rail and two"
is "$(<stopped)" "$(<clean)" "nothing is left of one whose members are killed"
for kind in pd cq qp mr ctx ah processes sockets files; do
    n=$(grep -o "$kind [0-9]*" running)
    [[ ${n#* } -gt $(grep -o "$kind [0-9]*" clean | cut -d' ' -f2) ]]
    ok $? "... of which there was, before: $n"
done

# Lines: run, mode, when, who was hit, until when, how many outlived the bound,
# statuses, tables, result.
is "$(wc -l <killed)" "$runs" "$runs checks, of whose members some are killed:"
is "$(grep -v ' clean, ' killed)" "" "... the tables are as before" \
    || diag "clean is: $(<clean)"
is "$(awk '$6 != 0' killed)" "" "... nobody outlives the check's time-out"
is "$(awk '$4 !~ /^[KTI]/ && /, $/' killed)" "" \
    "... a leader that lives has a result"
# One that could not even join, because the leader was gone, says so.
is "$(awk '{
        split($7, status, ",")
        for (i = 2; i <= 4; i++)
            if (substr($4, i, 1) !~ /[KTI]/ && status[i] != 0 \
                && ($4 !~ /^[KTI]/ || status[i] != 3))
                print
    }' killed)" "" "... who lives and does not lead exits 0"
read -r leaders members none last < <(awk '
    $4 ~ /^[KTI]/ { leaders++ }
    $4 ~ /^.+[KTI]/ { members++ }
    $4 !~ /[KTI]/ { none++ }
    $5 > last { last = $5 }
    END { print leaders + 0, members + 0, none + 0, last / 100 }' killed)
((leaders >= runs / 10 && members >= runs / 10))
ok $? "... $leaders leaders, and others in $members; too late in $none"
diag "unharmed a check takes $(awk -v OFS=', ' '
    { print $1 / 100, $2 / 100, $3 / 100, $4 / 100 }' took) s," \
    "after a kill up to $last s"
read -r left made <handles
((left == 0 && made > runs))
ok $? "$made address handles were made, and all destroyed"
is "$(<links)$(<complaints)" "" "devices go without a complaint of the kernel's"

done_testing
