#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Loopbacks over real verbs, in a virtual machine, by UD and by RC: each rail's
# messages to itself cross no cable. A process that takes longer to see what
# has come shows in its own loopback and in no other; a delayed cable shows in
# none. What a node is, is in the samples, too.
#
# The machine has one processor, so that none is far from an adapter: a process
# that is, or is slow, is one that takes its time with each message.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq ibsim opensm
type cc >/dev/null 2>&1 || skip_all "there is no C compiler"
with_vm
# h0001 and h0004 have two rails.
with_wired 4 2 3 2

cat >slow.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <time.h>

static int (*poll_cq) (struct ibv_cq *cq, int n, struct ibv_wc *wc);

static long now_ns (void)
{
    struct timespec ts;

    clock_gettime (CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Whatever has come is seen late. */
static int poll_slowly (struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
    int rc = poll_cq (cq, n, wc);
    long until = now_ns () + atol (getenv ("SLOW_NS"));

    while (rc > 0 && now_ns () < until)
        ;
    return rc;
}

struct ibv_context *ibv_open_device (struct ibv_device *device)
{
    struct ibv_context *(*open) (struct ibv_device *)
        = (struct ibv_context *(*) (struct ibv_device *))dlsym (
            RTLD_NEXT, "ibv_open_device");
    struct ibv_context *context = open (device);

    if (context) {
        poll_cq = context->ops.poll_cq;
        context->ops.poll_cq = poll_slowly;
    }
    return context;
}
END
cc -O -shared -fPIC -o slow.so slow.c -ldl
is $? 0 "what makes a process slow" || exit

cat >>conf <<END
Baseline=$PWD/baseline.json
RoundTrip=2500
WarnExcess=20000
FailExcess=30000
Timeout=200
END
# 100 us more for each message that h0005's process sees; and as much by cable,
# which a round trip crosses twice.
cat >inside <<'END'
network net --latency random:100000:120000:7
uname -r >kernel
cat /proc/sys/kernel/random/boot_id >boot
slow=
pmm-probe ()
{
    if [[ $slow && " $*" == *:$slow:* ]]; then
        SLOW_NS=100000 LD_PRELOAD=$PWD/slow.so command pmm-probe "$@"
    else
        command pmm-probe "$@"
    fi
}
for service in ud rc; do
    begin well.$service --set Service=$service --repeats 20
    finish
    cp well.$service/samples.json baseline.json
    slow=h0005
    begin slow.$service --set Service=$service --repeats 20
    finish
    slow=
    fabric slow h0005/1 +50000
    begin cable.$service --set Service=$service --repeats 20
    finish
    fabric heal h0005/1
    rm baseline.json
done
END
in_vm 600 inside >out 2>err
is "$? $(<out)$(<err)" "0 " "measured" || exit

# Of each endpoint of two runs the fastest loopback, in us.
loopbacks ()
{
    jq -r '.loopbacks | group_by(.end)[]
        | "\(.[0].end) \(map(.rtt_ns.min) | min / 1000)"' $1/samples.json
}

# moved RUN: by how much they differ from those of when all was well, in us:
# those of h0005 at least, and others at most
moved ()
{
    paste -d' ' <(loopbacks $1) <(loopbacks well.${1#*.}) | awk '
        $1 != $3 { print "not the same endpoints"; exit }
        { off = $2 - $4; if (off < 0) off = -off }
        $1 == "h0005" { own = off; next }
        off > most { most = off }
        END { print own + 0, most + 0 }'
}

# found RUN WHAT LEVEL KIND: one finding, of h0005
found ()
{
    is "$(jq -c '[.findings[] | [.level, .kind, .nodes]]' $1/verdict.json)" \
        "[[\"$3\",\"$4\",[\"h0005\"]]]" "${1#*.}: $2" \
        || diag "$(jq -c . $1/verdict.json)"
}

for service in ud rc; do
    samples=well.$service/samples.json
    is "$(jq -c '[.loopbacks | group_by(.end)[] | [.[0].end,
            (map(.round) | unique | length >= 3)]]' $samples)" \
        "$(pmm fabric show -f net --json | jq -c '[.hosts[]
            | .name as $host | .endpoints | length as $n | to_entries[]
            | [if $n > 1 then "\($host):\(.key + 1)" else $host end, true]]')" \
        "$service: each endpoint has loopbacks, in three parts of the run" \
        || diag "$(cat well.$service/*.err)"
    jq -e '([.probes[].rtt_ns.min] | min) as $rtt | .loopbacks | all (
        .rtt_ns.min > 2000 and .rtt_ns.median < 100000
            and .rtt_ns.median < $rtt / 4)' $samples >/dev/null
    ok $? "... of a few us, without a cable" \
        || diag "$(jq -c '.loopbacks[] | [.end, .rtt_ns]' $samples)"
    diag "$service: $(loopbacks well.$service | paste -sd' ')"
    is "$(jq -c --arg kernel "$(<kernel)" --arg boot "$(<boot)" '.nodes
        | [(.answered | length), ([.known[].host] == .answered),
            (.known | all (.kernel == $kernel and .boot == $boot))]' \
        $samples)" '[12,true,true]' "... and what each node is" \
        || diag "$(jq -c '.nodes.known[0]' $samples)"

    read -r own others < <(moved slow.$service)
    awk -v own="$own" -v others="$others" \
        'BEGIN { exit !(own > 95 && own < 115 && others < 10) }'
    ok $? "$service: a slow process: its loopback by $own us, others by $others"
    read -r own others < <(moved cable.$service)
    awk -v own="$own" -v others="$others" \
        'BEGIN { exit !(own < 10 && others < 10) }'
    ok $? "$service: a delayed cable: its loopback by $own us, others by $others"
    found slow.$service "a slow process is no slow cable" \
        WARN "software, PCIe or adapter"
    found cable.$service "a delayed cable is one" FAIL "host end"
done

done_testing
