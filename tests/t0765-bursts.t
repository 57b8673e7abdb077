#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Bursts over real verbs, in a virtual machine: what RC carries between two
# processes, beside ib_write_bw; over a cable that is limited; on two rails at
# once, and in a loopback. Then what can go wrong: each is one sentence, and what
# was lost is connected anew.

# shellcheck disable=SC2154,SC2086 source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
PATH=$builddir/probe/test:$PATH
need pmm bursts ib_write_bw
type cc >/dev/null 2>&1 || skip_all "there is no C compiler"
with_vm
pmm fabric generate fat-tree --ports 4 --levels 2 -o net

cat >fault.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

static int has_fault (const char *name)
{
    return strcmp (getenv ("FAULT"), name) == 0;
}

struct ibv_qp *ibv_create_qp (struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *(*create) (struct ibv_pd *, struct ibv_qp_init_attr *)
        = (struct ibv_qp *(*) (struct ibv_pd *, struct ibv_qp_init_attr *))dlsym (
            RTLD_NEXT, "ibv_create_qp");

    if (has_fault ("rc") && attr->qp_type == IBV_QPT_RC) {
        errno = EPERM;
        return NULL;
    }
    return create (pd, attr);
}

struct ibv_mr *ibv_reg_mr_iova2 (struct ibv_pd *pd, void *addr, size_t size,
                                 uint64_t iova, unsigned int access)
{
    struct ibv_mr *(*reg) (struct ibv_pd *, void *, size_t, uint64_t,
                           unsigned int)
        = (struct ibv_mr *(*) (struct ibv_pd *, void *, size_t, uint64_t,
                               unsigned int))dlsym (RTLD_NEXT,
                                                    "ibv_reg_mr_iova2");

    if (has_fault ("relaxed") && access & IBV_ACCESS_RELAXED_ORDERING) {
        errno = EOPNOTSUPP;
        return NULL;
    }
    return reg (pd, addr, size, iova, access);
}
END
cc -O -shared -fPIC -o fault.so fault.c -ldl
is $? 0 "what makes a device refuse" || exit

cat >inside <<'END'
network net --latency random:20000:20000:7
cp "$(type -P bursts)" fault.so /run
write_bw ()
{
    ib_write_bw -d rxe1 -x 1 -F --report_gbits -b -s 65536 -q 2 -t 4 -n 100 \
        >/dev/null &
    until grep -q ':4853 0*:0000 0A ' /proc/net/tcp*; do # port 18515
        sleep 0.1
    done
    ib_write_bw -d rxe2 -x 1 -F --report_gbits -b -s 65536 -q 2 -t 4 -n 100 \
        localhost | awk '$1 == 65536 { print $4 * 500 }'
    wait
}
# burst NAME [OPTION]... DEVICES DEVICES
burst () { timeout 100 "${run[@]}" /run/bursts "${@:2}" >"$1" 2>&1; }
run=()
for i in 1 2 3; do
    burst whole.$i -n 3 -b 8388608 -d 3000 rxe1 rxe2
    write_bw >>perftest
done
burst loopback -l -n 3 rxe1 rxe2
burst strict -s -n 3 rxe1 rxe2
fabric rate h0001/1 100mbit
burst limited -n 3 rxe1 rxe2
burst rails -n 3 rxe1,rxe3 rxe2,rxe4
burst crowd -n 3 -b 2000000 rxe1 rxe2,rxe4
fabric heal all
burst killed -k 1 -n 3 rxe1 rxe2
burst away -z 1 -n 4 -b 25000000 -d 5000 rxe1 rxe2
for fault in rc relaxed; do
    run=(env FAULT=$fault LD_PRELOAD=/run/fault.so)
    burst $fault -n 2 rxe1 rxe2
done
chmod 666 /dev/infiniband/*
run=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all
    prlimit --memlock=819200)
burst memlock -n 2 rxe1 rxe2
run=()
for host in e1 e2; do
    ip link set $host mtu 4200
done
burst passes -n 4 -d 500 rxe1 rxe2
ip link set e2 mtu 1500
burst differs -n 2 rxe1 rxe2
END
in_vm 600 inside >out 2>err
is "$? $(<out)$(<err)" "0 " "every run has come to an end" || exit

# rates FILE...: those of all bursts but the first, in Mbit/s, one a line
rates () { awk 'FNR == 1 { n = 0 } /^[0-9]/ && $1 == 0 && n++ { print $2; print $3 }' "$@"; }
mean () { awk '{ sum += $1 } END { printf "%.1f", sum / NR }'; }
# lost FILE: by burst, what of the first rail was lost: sent and received
lost () { awk '/^0 / { printf "%s%s ", $2 == "-" ? "-" : "+", $3 == "-" ? "-" : "+" }' "$1"; }
trouble () { sed -n 's/^trouble: //p' "$1"; }

ours=$(rates whole.* | mean)
theirs=$(mean <perftest)
awk -v a="$ours" -v b="$theirs" 'BEGIN { exit !(a > 0.95 * b && a < 1.05 * b) }'
ok $? "each way $ours Mbit/s, $theirs by ib_write_bw" \
    || diag "$(cat whole.*; cat perftest)"
awk -v a="$(rates loopback | mean)" -v b="$ours" \
    'BEGIN { exit !(a > 1.5 * b) }'
ok $? "a loopback, which goes one way: $(rates loopback | mean) Mbit/s" \
    || diag "$(<loopback)"
awk -v a="$(rates limited | mean)" 'BEGIN { exit !(a > 80 && a < 100) }'
ok $? "a cable of 100 Mbit/s: $(rates limited | mean)" || diag "$(<limited)"
awk -v a="$(rates rails | mean)" \
    -v b="$(awk '/^1 / && n++ { print $2; print $3 }' rails | mean)" \
    'BEGIN { exit !(a > 80 && a < 100 && b > 1.2 * a) }'
ok $? "... on two rails at once, of one" || diag "$(<rails)"
awk -v a="$(rates crowd | mean)" \
    -v b="$(awk '/^1 / && n++ { print $2; print $3 }' crowd | mean)" \
    'BEGIN { exit !(a + b > 80 && a + b < 105 && a > 30 && b > 30) }'
ok $? "two at once from one rail over a cable of 100 Mbit/s: halves" ||
    diag "$(<crowd)"
is "$(lost strict)$(trouble strict)" "++ ++ ++ " "in strict order"
is "$(awk '/^port/ { print $2, $3 }' whole.1 | sort -u)" "1024 1" \
    "the port's MTU, relaxed order"

is "$(lost killed)" "++ -- -- " "a process that dies within a burst: lost" \
    || diag "$(<killed)"
is "$(trouble killed)" "rxe1/1: no bursts with rxe2/1 of second: not all of a\
 burst came in time" "... and said"
like "$(lost away)" '\+\+ [-+]+ \+\+ \+\+ ' \
    "a process that is away: the next bursts come" || diag "$(<away)"
like "$(trouble away)" "its process was away for too long" "... and it is said"
is "$(sort -u rc | grep prepare)" "prepare: rxe1/1: no RC queue pair for bursts:\
 Operation not permitted
prepare: rxe2/1: no RC queue pair for bursts: Operation not permitted" \
    "RC is not allowed: said"
is "$(lost relaxed)$(awk '/^port/ { print $3 }' relaxed | sort -u)" "++ ++ 0" \
    "relaxed order is refused: strict" || diag "$(<relaxed)"
is "$(sort -u memlock | grep prepare)" "prepare: rxe1/1: memory for bursts\
 cannot be registered: Cannot allocate memory, see ulimit -l
prepare: rxe2/1: memory for bursts cannot be registered: Cannot allocate memory,\
 see ulimit -l" "little memory may be locked: said" || diag "$(<memlock)"
is "$(lost passes)" "-- -- ++ ++ " \
    "a switch between has a smaller MTU: the next lower, until one comes" \
    || diag "$(<passes)"
is "$(trouble passes | sort)" "rxe1/1: packets of more than 1024 bytes are lost\
 on the way to rxe2/1 of second
rxe2/1: packets of more than 1024 bytes are lost on the way to rxe1/1 of first" \
    "... and said"
is "$(lost differs)$(trouble differs)" "++ ++ " \
    "ports of different MTU: the lesser" || diag "$(<differs)"

done_testing
