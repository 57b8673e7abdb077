#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Rates of a check over real verbs, in a virtual machine: four hosts at one switch,
# whose cables carry 200 Mbit/s. What this test alone shows: the verdict tells a cable
# at half of that from a host that is as slow by itself, over RC.
#
# Packets are of 4096 bytes, for which the machine's one processor has time. The
# limited host's process waits before what it sends and receives in bursts, as if its
# adapter were slow; so its loopback is, too.

# shellcheck disable=SC2154 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need pmm pmm-probe jq
type cc >/dev/null 2>&1 || skip_all "there is no C compiler"
with_vm
make_seal
# What ports of soft RoCE say that they are.
pmm fabric generate fat-tree --ports 4 --levels 1 | sed s/4xHDR/1xFDR10/ |
    ./seal >net
cat >conf <<END
Snapshot=$PWD/net
NodeMap=$PWD/map
Transport=verbs
Repeats=5
RoundTrip=3000
Rates=all
WarnExcess=20000
FailExcess=30000
Timeout=100
END

cat >slow.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <time.h>

static struct ibv_context_ops device;
static double sent_ns, received_ns;

static void wait_for (double *due_ns, double bytes)
{
    struct timespec at;
    double now;

    clock_gettime (CLOCK_MONOTONIC, &at);
    now = at.tv_sec * 1e9 + at.tv_nsec;
    if (*due_ns < now)
        *due_ns = now;
    at.tv_sec = *due_ns / 1e9;
    at.tv_nsec = *due_ns - at.tv_sec * 1e9;
    clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
    *due_ns += bytes * 8e9 / 100e6;
}

static int post_send (struct ibv_qp *qp, struct ibv_send_wr *wr,
                      struct ibv_send_wr **bad)
{
    if (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
        wait_for (&sent_ns, wr->sg_list->length);
    return device.post_send (qp, wr, bad);
}

static int poll_cq (struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    int n = device.poll_cq (cq, most, wc);

    for (int i = 0; i < n; i++)
        if (wc[i].opcode == IBV_WC_RECV_RDMA_WITH_IMM)
            wait_for (&received_ns, wc[i].byte_len);
    return n;
}

struct ibv_qp *ibv_create_qp (struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *(*create) (struct ibv_pd *, struct ibv_qp_init_attr *)
        = (struct ibv_qp *(*) (struct ibv_pd *, struct ibv_qp_init_attr *))dlsym (
            RTLD_NEXT, "ibv_create_qp");

    if (!device.post_send) {
        device = pd->context->ops;
        pd->context->ops.post_send = post_send;
        pd->context->ops.poll_cq = poll_cq;
    }
    return create (pd, attr);
}
END
cc -O -shared -fPIC -o slow.so slow.c -ldl
is $? 0 "what makes a host slow" || exit

cat >inside <<'END'
network net --latency random:100000:100000
cp slow.so /run
for host in e1 e2 e3 e4; do
    ip link set $host mtu 4200
done
for port in s1p1 s1p2 s1p3 s1p4; do
    ip -n pmm-fabric link set $port mtu 4200
done
for host in "${hosts[@]}"; do
    fabric rate "$host/1" 200mbit
done
begin well --rates all
finish
fabric rate h0003/1 100mbit
begin cable --rates all
finish
fabric rate h0003/1 200mbit
with[h0003]="env LD_PRELOAD=/run/slow.so"
begin host --rates all
finish
END
in_vm 300 inside >out 2>err
is "$? $(<out)$(<err)" "0 " "four processes, thrice" || exit

# said NAME: the record, without its nonce
said () { sed -n 's/^pmm-result 1 \([A-Z]*\) [0-9a-f]* /\1 /p' "$1/h0001.out"; }
# most NAME FILTER: in Mbit/s, of bursts that FILTER chooses, but for crowds: bursts
# here are so short that what a host sends to several goes out one flow after the other,
# and each has the whole cable while it lasts.
most () {
    jq ".bursts.flows | map(select(.crowd == 0)) | [$2] | max / 1e6 | floor" \
        "$1/samples.json"
}
sent='.[] | if .a == .b then 0 elif .a == "h0003" then .there_best
    elif .b == "h0003" then .back_best else 0 end'
loopback='.[] | select(.a == "h0003" and .b == "h0003") | .there_best'

for check in well cable host; do
    is "$(jq '[.bursts.flows[] | .there_lost + .back_lost] | add' \
        $check/samples.json)" 0 "$check: no burst is lost" ||
        diag "$(cat $check/*.err)"
done
like "$(said well)" '^OK 4 links .* 4 nodes' "all is well" ||
    diag "$(<well/h0001.err)"
like "$(most well "$sent")" '^(19|20).$' "... at what its cables carry"
like "$(<well/h0001.err)" 'limit: ports of one kind: most carry .*4 hosts alike' \
    "... less than ports could, all alike, which is said"

like "$(said cable)" '^WARN cable h0003 -- s1-0001/3: 0\.1 of 0\.[12][0-9]* Gb/s,'\
' loopback [0-9.]* \[kind=host .*node=h0003 ' "a cable at half: named, and no other" ||
    diag "$(<cable/h0001.err)"
like "$(most cable "$sent") $(most cable "$loopback")" '^(9.|10.) ([4-9]..|....)$' \
    "... its host's loopback is as fast as before"

like "$(said host)" '^WARN h0003: 0\.[01][0-9]* of 0\.[12][0-9]* Gb/s, in loopback,'\
' too \[kind=host .*node=h0003 ' "a host at half: named, and no other" ||
    diag "$(<host/h0001.err)"
like "$(most host "$sent") $(most host "$loopback")" '^(9.|10.) ([1-9].|10.)$' \
    "... whose loopback is as slow"

done_testing
