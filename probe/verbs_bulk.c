/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bursts of one port of an RDMA device.
 *
 * Notes: a message is large enough for few completions and small enough that
 * its buffer stays in the processor's cache. The buffer has a place for the
 * messages of each queue pair of a flow, and one that all are sent from.
 *
 * Receives are posted when the queue pairs are made, and again whenever one is
 * used, so that who begins late does not delay the other. Each write counts:
 * its immediate data is its number. What comes before the burst that it is of
 * counts for that; a number that does not fit spoils the pair.
 *
 * A user's message is one write, or several, by the first queue pair.
 *
 * A burst that was lost leaves messages under way. So its queue pairs are not
 * used again: the next preparation makes others, and the peer, which hears of
 * them, does, too. The first one with a peer may be lost because a switch
 * between has a smaller MTU than both ports: the next is tried with less.
 */
#include "config.h"
#include "probe/verbs_bulk.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/local.h"
#include "probe/bulk.h"
#include "probe/cpu.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/rates.h"
#include "util/rng.h"
#include "util/text.h"

enum {
    PAIRS_KEPT = 32, /* a loopback has two */
    OUTSTANDING = 4, /* writes of a queue pair */
    RECEIVES = 64,   /* posted for each: a process that is away for less than
                          1.3 ms loses nothing at 400 Gb/s */
    SIZE_LARGE = 18, /* of a message, as a power of two */
    REMADE_MAX = 64, /* pairs, because of what one peer told */
    /* codes of the InfiniBand specification */
    BULK_TIMEOUT = 14, /* 67 ms */
    BULK_RETRIES = 7,
    BULK_RNR_RETRIES = 6,
    MESSAGES_MAX = 65532, /* of a queue pair in a burst */
    MESSAGES_UNIT = 4,    /* three quarters are whole messages */
    LOOK_NS = 20000,
    IDLE_NS = 1000000, /* sleep no longer, where others are served */
    LOOKS_MAX = 16,
};

/* Below these rates two queue pairs, and small messages, are enough. */
#define FEW_BELOW 2e11
#define SMALL_BELOW 1e11

struct bulk_qp {
    struct ibv_qp *qp;
    uint64_t id;         /* wr_id of its requests: no other ever had it */
    uint32_t sent, out; /* writes so far; after this burst, ... */
    uint32_t came, in;  /* ... those of the peer; modulo 2^32 */
};

struct bulk_pair {
    struct verbs_bulk_end end;
    unsigned int half; /* of a loopback: 1: it receives */
    uint64_t used;     /* when it was prepared, in preparations; 0: never */
    struct bulk_qp qp[VERBS_BULK_PAIRS];
    struct verbs_meet meet;
    bool spoiled;   /* make it anew */
    int64_t due_ns; /* do not tell before */
    /* as both ends agreed */
    uint8_t sl, mtu, size_log, qps;
    uint32_t rkey;
    uint64_t address;
};

struct bulk_peer {
    uint8_t mtu_most; /* 0: the port's */
    bool proven;      /* a burst came at that MTU */
    uint8_t remade;
};

struct verbs_bulk {
    const struct verbs_device *device;
    uint64_t key;
    uint32_t self;
    struct ibv_comp_channel *channel;
    struct ibv_cq *sends, *receives;
    struct ibv_cq_ex *stamped; /* the same as receives; NULL: no stamps */
    uint8_t *memory;       /* places to receive, then the one to send from */
    uint8_t size_log, qps; /* at most */
    struct ibv_mr *target[2], *source[2]; /* by strict */
    bool relaxed;
    struct bulk_pair *pair; /* [npairs] */
    size_t npairs;
    struct bulk_peer *peer; /* [peers] */
    uint32_t made;          /* of the last pair */
    uint64_t uses, ids;
    uint8_t mtu;          /* of bursts that came; 0: none yet */
    struct error trouble; /* text "": none */
};

static const char no_memory[] = "memory for bursts cannot be registered";

static void note_bulk_trouble (struct verbs_bulk *b,
                               const struct verbs_bulk_end *end,
                               const char *what)
{
    if (!b->trouble.text[0])
        error_world (&b->trouble, "%s: no bursts with %s of %s: %s",
                     b->device->name, end->at->name, end->at->node, what);
}

/*
 * Opening
 */

static double port_bits (const struct verbs_device *d)
{
    struct rates r = rates_of_masks (d->attr.active_width, 0);

    /* the same order, from bit 0 on */
    r.speeds = (uint16_t)(d->attr.active_speed << 1);
    return rates_data_bits (&r);
}

static void close_memory (struct verbs_bulk *b)
{
    for (int strict = 0; strict < 2; strict++) {
        if (b->target[strict])
            ibv_dereg_mr (b->target[strict]);
        if (b->source[strict])
            ibv_dereg_mr (b->source[strict]);
        b->target[strict] = b->source[strict] = NULL;
    }
    free (b->memory);
    b->memory = NULL;
}

/* Register the buffer; -1 with errno. */
static int register_buffer (struct verbs_bulk *b, bool strict,
                            unsigned int order)
{
    size_t all = (size_t)b->qps << b->size_log;
    struct ibv_pd *pd = b->device->pd;

    if (!(b->target[strict] = ibv_reg_mr (
              pd, b->memory, all,
              IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | order)))
        return -1;
    b->source[strict]
        = ibv_reg_mr (pd, b->memory + all, (size_t)1 << b->size_log, order);
    return b->source[strict] ? 0 : -1;
}

/* Relaxed if the device takes it; less memory if there is not enough. */
static int open_buffer (struct verbs_bulk *b, struct error *err)
{
    for (;;) {
        size_t size = ((size_t)b->qps + 1) << b->size_log;

        b->memory = verbs_device_memory (&size);
        b->relaxed
            = register_buffer (b, false, IBV_ACCESS_RELAXED_ORDERING) == 0;
        if (b->relaxed)
            return 0;
        if (errno != ENOMEM) {
            if (b->target[0])
                ibv_dereg_mr (b->target[0]);
            if (register_buffer (b, false, 0) == 0)
                return 0;
        }
        if (errno != ENOMEM || b->size_log <= VERBS_BULK_SIZE_LOG)
            return verbs_device_failed (b->device, no_memory, errno, err);
        close_memory (b);
        b->size_log = VERBS_BULK_SIZE_LOG;
    }
}

static int open_queues (struct verbs_bulk *b, struct error *err)
{
    const struct verbs_device *d = b->device;
    struct ibv_cq_init_attr_ex attr = {
        .cqe = (uint32_t)b->npairs * b->qps * RECEIVES,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM
                    | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
    };

    if (!(b->channel = ibv_create_comp_channel (d->context)))
        return verbs_device_failed (d, "no completion channel", errno, err);
    attr.channel = b->channel;
    if (d->clock_khz && (b->stamped = ibv_create_cq_ex (d->context, &attr)))
        b->receives = ibv_cq_ex_to_cq (b->stamped);
    else
        b->receives
            = ibv_create_cq (d->context, (int)attr.cqe, NULL, b->channel, 0);
    if (b->receives)
        b->sends = ibv_create_cq (d->context,
                                  (int)b->npairs * b->qps * OUTSTANDING, NULL,
                                  b->channel, 0);
    return b->sends
               ? 0
               : verbs_device_failed (d, "no completion queue", errno, err);
}

struct verbs_bulk *verbs_bulk_open (const struct verbs_device *d, uint64_t key,
                                    uint32_t self, size_t n, bool talks,
                                    struct error *err)
{
    struct verbs_bulk *b = xcalloc (1, sizeof (*b));
    double bits = port_bits (d);

    b->device = d;
    b->key = key;
    b->self = self;
    b->peer = xcalloc (n, sizeof (*b->peer));
    b->npairs = talks ? n : PAIRS_KEPT;
    b->pair = xcalloc (b->npairs, sizeof (*b->pair));
    b->qps = talks                          ? 1
             : bits > 0 && bits < FEW_BELOW ? VERBS_BULK_PAIRS / 2
                                            : VERBS_BULK_PAIRS;
    b->size_log
        = bits > 0 && bits < SMALL_BELOW ? VERBS_BULK_SIZE_LOG : SIZE_LARGE;
    if (open_buffer (b, err) == 0 && open_queues (b, err) == 0)
        return b;
    verbs_bulk_close (b);
    return NULL;
}

/*
 * Pairs
 */

static void close_pair (struct bulk_pair *p)
{
    for (int i = 0; i < VERBS_BULK_PAIRS; i++)
        if (p->qp[i].qp)
            ibv_destroy_qp (p->qp[i].qp);
    *p = (struct bulk_pair){
        .end = p->end, .half = p->half, .used = p->used, .due_ns = p->due_ns,
    };
}

void verbs_bulk_close (struct verbs_bulk *b)
{
    if (!b)
        return;
    for (size_t i = 0; i < b->npairs; i++)
        close_pair (&b->pair[i]);
    if (b->sends)
        ibv_destroy_cq (b->sends);
    if (b->receives)
        ibv_destroy_cq (b->receives);
    if (b->channel)
        ibv_destroy_comp_channel (b->channel);
    close_memory (b);
    free (b->pair);
    free (b->peer);
    free (b);
}

/* The pair of this end; NULL: it is not prepared. */
static struct bulk_pair *find_pair (struct verbs_bulk *b,
                                    const struct verbs_bulk_end *end,
                                    unsigned int half)
{
    for (size_t i = 0; i < b->npairs; i++) {
        struct bulk_pair *p = &b->pair[i];

        if (p->used && p->end.peer == end->peer && p->half == half
            && p->end.strict == end->strict
            && !memcmp (&p->end.way, &end->way, sizeof (end->way)))
            return p;
    }
    return NULL;
}

static int post_bulk_receive (const struct bulk_qp *q)
{
    struct ibv_recv_wr wr = { .wr_id = q->id };
    struct ibv_recv_wr *bad;

    return ibv_post_recv (q->qp, &wr, &bad);
}

static int open_qp (struct verbs_bulk *b, struct bulk_qp *q, struct error *err)
{
    const struct verbs_device *d = b->device;
    struct ibv_qp_init_attr attr = {
        .send_cq = b->sends,
        .recv_cq = b->receives,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {
            .max_send_wr = OUTSTANDING, .max_recv_wr = RECEIVES,
            .max_send_sge = 1, .max_recv_sge = 1,
        },
    };
    int rc = 0;

    if (!(q->qp = ibv_create_qp (d->pd, &attr)))
        return verbs_device_failed (d, "no RC queue pair for bursts", errno,
                                    err);
    q->id = ++b->ids;
    if (verbs_device_init_qp (d, q->qp, IBV_ACCESS_REMOTE_WRITE, err) < 0)
        return -1;
    for (int i = 0; rc == 0 && i < RECEIVES; i++)
        rc = post_bulk_receive (q);
    return rc == 0
               ? 0
               : verbs_device_failed (d, "receiving bursts failed", rc, err);
}

/* Find or make the pair of this end, with its queue pairs, instead of the one
 * that was not used for longest. NULL with err.
 */
static struct bulk_pair *make_pair (struct verbs_bulk *b,
                                    const struct verbs_bulk_end *end,
                                    unsigned int half, struct error *err)
{
    struct bulk_pair *p = find_pair (b, end, half);

    if (!p) {
        p = b->pair;
        for (size_t i = 1; i < b->npairs; i++)
            if (b->pair[i].used < p->used)
                p = &b->pair[i];
        close_pair (p);
        *p = (struct bulk_pair){ .end = *end, .half = half };
    }
    p->used = ++b->uses;
    if (p->spoiled)
        close_pair (p);
    if (p->meet.made)
        return p;
    if (end->strict && b->relaxed && !b->target[1]
        && register_buffer (b, true, 0) < 0) {
        verbs_device_failed (b->device, no_memory, errno, err);
        return NULL;
    }
    for (int i = 0; i < b->qps; i++)
        if (open_qp (b, &p->qp[i], err) < 0) {
            close_pair (p);
            return NULL;
        }
    p->meet.made = ++b->made;
    return p;
}

/* What this end tells the other. */
static void describe_pair (struct verbs_bulk *b, const struct bulk_pair *p,
                           uint8_t sl, bool asks, struct verbs_bulk_info *info)
{
    const struct verbs_bulk_end *end = &p->end;
    const struct ibv_mr *target = b->target[end->strict && b->target[1]];
    uint8_t most = b->peer[end->peer].mtu_most;

    *info = (struct verbs_bulk_info){
        .made = p->meet.made, .knows = p->meet.other, .asks = asks,
        .strict = end->strict, .way = end->way, .sl = sl,
        .mtu = most ? most : (uint8_t)b->device->attr.active_mtu,
        .size_log = b->size_log, .qps = b->qps, .rkey = target->rkey,
        .address = (uintptr_t)target->addr,
    };
    for (int i = 0; i < b->qps; i++)
        info->qpn[i] = p->qp[i].qp->qp_num;
}

/* The first packet sequence number from one queue pair to another: that of no
 * earlier one.
 */
static uint32_t bulk_psn (const struct verbs_bulk *b, uint32_t from,
                          uint32_t made, int i)
{
    uint64_t which
        = (uint64_t)from << 32 | (made * VERBS_BULK_PAIRS + (uint32_t)i);

    return (uint32_t)(rng_mix (b->key ^ rng_mix (which)) >> 40);
}

static uint8_t lesser (uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Connect a pair to the other end as that is described. */
static int connect_pair (struct verbs_bulk *b, struct bulk_pair *p, uint8_t sl,
                         const struct verbs_bulk_info *told, struct error *err)
{
    struct verbs_bulk_info own;

    describe_pair (b, p, sl, false, &own);
    p->sl = sl;
    p->mtu = lesser (own.mtu, told->mtu);
    p->size_log = lesser (own.size_log, told->size_log);
    p->qps = lesser (own.qps, told->qps);
    p->rkey = told->rkey;
    p->address = told->address;
    for (int i = 0; i < p->qps; i++) {
        struct verbs_rc rc = {
            .to = p->end.at, .way = p->end.way, .sl = sl, .qpn = told->qpn[i],
            .psn_in = bulk_psn (b, p->end.peer, told->made, i),
            .psn_out = bulk_psn (b, b->self, p->meet.made, i), .mtu = p->mtu,
            .timeout = BULK_TIMEOUT, .retries = BULK_RETRIES,
            .rnr_retries = BULK_RNR_RETRIES,
        };

        if (verbs_device_connect (b->device, p->qp[i].qp, &rc, err) < 0)
            return -1;
    }
    p->meet.other = told->made;
    return 0;
}

static int prepare_loopback (struct verbs_bulk *b,
                             const struct verbs_bulk_end *end, uint8_t sl,
                             struct error *err)
{
    struct bulk_pair *p[2];
    struct verbs_bulk_info info[2];

    for (unsigned int half = 0; half < 2; half++)
        if (!(p[half] = make_pair (b, end, half, err)))
            return -1;
    if (p[0]->meet.other == p[1]->meet.made
        && p[1]->meet.other == p[0]->meet.made && p[0]->sl == sl)
        return 1;
    for (unsigned int half = 0; half < 2; half++) {
        if (p[half]->meet.other) {
            close_pair (p[half]);
            if (!make_pair (b, end, half, err))
                return -1;
        }
        describe_pair (b, p[half], sl, false, &info[half]);
    }
    for (unsigned int half = 0; half < 2; half++)
        if (connect_pair (b, p[half], sl, &info[!half], err) < 0) {
            p[0]->spoiled = p[1]->spoiled = true;
            return -1;
        }
    return 1;
}

int verbs_bulk_prepare (struct verbs_bulk *b, const struct verbs_bulk_end *end,
                        uint8_t sl, int64_t again_ns,
                        struct verbs_bulk_info *tell, struct error *err)
{
    struct bulk_pair *p;
    int64_t now;

    *tell = (struct verbs_bulk_info){ 0 };
    if (end->peer == b->self)
        return prepare_loopback (b, end, sl, err);
    if (!(p = make_pair (b, end, 0, err)))
        return -1;
    if (p->meet.other && p->sl != sl) {
        p->spoiled = true;
        if (!(p = make_pair (b, end, 0, err)))
            return -1;
    }
    if (p->meet.ready)
        return 1;
    if ((now = clock_ns ()) >= p->due_ns) {
        p->due_ns = now + again_ns;
        describe_pair (b, p, sl, true, tell);
    }
    return 0;
}

bool verbs_bulk_take (struct verbs_bulk *b, const struct verbs_bulk_end *end,
                      uint8_t sl, const struct verbs_bulk_info *told,
                      struct verbs_bulk_info *answer)
{
    struct bulk_pair *p = end->peer == b->self ? NULL : find_pair (b, end, 0);
    struct error why;

    if (!p)
        return false;
    if (p->spoiled || verbs_meet_is_past (&p->meet, told->made)) {
        if (b->peer[end->peer].remade == REMADE_MAX)
            return false;
        b->peer[end->peer].remade++;
        p->spoiled = true;
        if (!make_pair (b, end, 0, &why)) {
            note_bulk_trouble (b, end, why.text);
            return false;
        }
    }
    if (p->meet.made && verbs_meet_may_connect (&p->meet, told->knows)
        && connect_pair (b, p, told->asks ? told->sl : sl, told, &why) < 0) {
        note_bulk_trouble (b, end, why.text);
        p->spoiled = true;
    }
    verbs_meet_hear (&p->meet, told->made, told->knows);
    if (!told->asks || !p->meet.made || p->spoiled)
        return false;
    describe_pair (b, p, sl, false, answer);
    return true;
}

/*
 * Bursts
 */

/* One burst of a rail, which may have several. */
struct flight {
    struct verbs_bulk *b;
    struct bulk_pair *out, *in; /* the same, but for a loopback; NULL: none */
    uint32_t pieces;            /* writes of a message, the last one shorter */
    uint32_t tail;              /* bytes of that */
    size_t sends, receives;     /* still to come */
    struct bulk_point *point;   /* NULL: messages */
    size_t points;
    uint64_t seen; /* bytes without a stamp, since the last point */
    int64_t there_ns;
    bool failed;
};

/* A completion of a receive. */
struct bulk_event {
    uint64_t id;
    enum ibv_wc_status status;
    uint32_t imm, bytes;
    int64_t ns; /* 0: no stamp */
};

static void fail_flight (struct flight *f, const char *why)
{
    note_bulk_trouble (f->b, &f->out->end, why);
    f->out->spoiled = f->in->spoiled = f->failed = true;
}

static void fail_by_status (struct flight *f, enum ibv_wc_status status)
{
    fail_flight (f, status == IBV_WC_RETRY_EXC_ERR ? "it does not answer"
                    : status == IBV_WC_RNR_RETRY_EXC_ERR
                        ? "its process was away for too long"
                        : ibv_wc_status_str (status));
}

static struct bulk_qp *find_qp (struct bulk_pair *p, uint64_t id)
{
    for (int i = 0; i < VERBS_BULK_PAIRS; i++)
        if (p->qp[i].qp && p->qp[i].id == id)
            return &p->qp[i];
    return NULL;
}

/* The bytes of a write behind which so many are left of the burst. */
static uint32_t write_size (const struct flight *f, uint32_t left)
{
    return left % f->pieces == 0 ? f->tail : 1U << f->out->size_log;
}

/* Send the next write of a queue pair, if there is one. */
static void post_write (struct flight *f, struct bulk_qp *q)
{
    const struct bulk_pair *p = f->out;
    const struct ibv_mr *source
        = f->b->source[p->end.strict && f->b->source[1]];
    struct ibv_sge sge
        = { (uintptr_t)source->addr, write_size (f, q->out - q->sent - 1),
            source->lkey };
    struct ibv_send_wr wr = {
        .wr_id = q->id,
        .sg_list = &sge,
        .num_sge = sge.length > 0,
        .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
        .imm_data = htonl (q->sent),
        .wr.rdma = {
            .remote_addr = p->address
                           + ((uint64_t)(q - p->qp) << p->size_log),
            .rkey = p->rkey,
        },
    };
    struct ibv_send_wr *bad;
    int rc;

    if (q->sent == q->out || f->failed)
        return;
    if ((rc = ibv_post_send (q->qp, &wr, &bad)) != 0)
        fail_flight (f, strerror (rc));
    q->sent++;
}

/* The bursts under way. */
struct flights {
    struct flight flight[TRANSPORT_RAILS_MAX];
    size_t n;
};

/* Whether it is the first of its rail. */
static bool is_first_flight (const struct flights *all, size_t i)
{
    size_t k = 0;

    while (all->flight[k].b != all->flight[i].b)
        k++;
    return k == i && all->flight[i].b;
}

/* The burst of a queue pair that sends, or receives; NULL: none has it now. */
static struct flight *find_flight (struct flights *all, struct verbs_bulk *b,
                                   uint64_t id, bool sends, struct bulk_qp **q)
{
    for (size_t i = 0; i < all->n; i++) {
        struct flight *f = &all->flight[i];

        if (f->b == b && (*q = find_qp (sends ? f->out : f->in, id)))
            return f;
    }
    return NULL;
}

static void fail_flights (struct flights *all, struct verbs_bulk *b)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->flight[i].b == b && !all->flight[i].failed)
            fail_flight (&all->flight[i], strerror (EIO));
}

/* Return whether there were any. */
static bool take_sends (struct flights *all, struct verbs_bulk *b)
{
    struct ibv_wc wc;
    bool came = false;
    int rc;

    while ((rc = ibv_poll_cq (b->sends, 1, &wc)) > 0) {
        struct bulk_qp *q;
        struct flight *f = find_flight (all, b, wc.wr_id, true, &q);

        came = true;
        if (!f || f->failed)
            continue;
        if (wc.status != IBV_WC_SUCCESS)
            fail_by_status (f, wc.status);
        else {
            f->sends--;
            post_write (f, q);
        }
    }
    if (rc < 0)
        fail_flights (all, b);
    return came;
}

/* Take one completion. Return 1, 0 if there is none, or -1. */
static int poll_bulk (struct verbs_bulk *b, struct bulk_event *e)
{
    struct ibv_cq_ex *ex = b->stamped;
    struct ibv_poll_cq_attr none = { 0 };
    struct ibv_wc wc;
    int rc;

    if (!ex) {
        if ((rc = ibv_poll_cq (b->receives, 1, &wc)) > 0)
            *e = (struct bulk_event){ wc.wr_id, wc.status, ntohl (wc.imm_data),
                                      wc.byte_len, 0 };
        return rc;
    }
    if ((rc = ibv_start_poll (ex, &none)) != 0)
        return rc == ENOENT ? 0 : -1;
    *e = (struct bulk_event){ .id = ex->wr_id, .status = ex->status };
    if (e->status == IBV_WC_SUCCESS) {
        e->imm = ntohl (ibv_wc_read_imm_data (ex));
        e->bytes = ibv_wc_read_byte_len (ex);
        if (b->device->clock_khz)
            e->ns = verbs_device_stamp_ns (b->device,
                                           ibv_wc_read_completion_ts (ex));
    }
    ibv_end_poll (ex);
    return 1;
}

static void take_message (struct flight *f, struct bulk_qp *q,
                          const struct bulk_event *e)
{
    uint32_t left = q->in - q->came;
    bool early = left - 1 >= (uint32_t)INT32_MAX;
    int rc;

    if (e->status != IBV_WC_SUCCESS)
        fail_by_status (f, e->status);
    else if (e->imm != q->came
             || (!early && e->bytes != write_size (f, left - 1)))
        fail_flight (f, "it sent what is not of this burst");
    else if ((rc = post_bulk_receive (q)) != 0)
        fail_flight (f, strerror (rc));
    else {
        q->came++;
        if (early)
            return;
        f->receives--;
        if (!f->point)
            return;
        if (e->ns)
            bulk_arrive (f->point, &f->points, e->ns, e->bytes);
        else
            f->seen += e->bytes;
    }
}

/* Count what comes to a pair that has no burst now. */
static void take_early (struct verbs_bulk *b, const struct bulk_event *e)
{
    struct bulk_qp *q = NULL;
    size_t i = 0;

    while (i < b->npairs && !(q = find_qp (&b->pair[i], e->id)))
        i++;
    if (!q)
        return;
    if (e->status == IBV_WC_SUCCESS && e->imm == q->came
        && post_bulk_receive (q) == 0)
        q->came++;
    else
        b->pair[i].spoiled = true;
}

/* Take all that have come. Return whether there were any. */
static bool drain_messages (struct flights *all, struct verbs_bulk *b)
{
    struct bulk_event e;
    bool came = false;
    int rc;

    while ((rc = poll_bulk (b, &e)) > 0) {
        struct bulk_qp *q;
        struct flight *f = find_flight (all, b, e.id, false, &q);

        came = true;
        if (f && !f->failed)
            take_message (f, q, &e);
        else if (!f)
            take_early (b, &e);
    }
    if (rc < 0)
        fail_flights (all, b);
    return came;
}

/* Without stamps, what is seen has come by now. Return whether there is any. */
static bool note_seen (struct flights *all, const struct verbs_bulk *b,
                       bool take, int64_t now)
{
    bool any = false;

    for (size_t i = 0; i < all->n; i++) {
        struct flight *f = &all->flight[i];

        if (f->b != b || !f->point)
            continue;
        any |= f->seen > 0;
        /* the first point has what came before this end began */
        if (take && (f->seen || !f->points))
            bulk_arrive (f->point, &f->points, now, f->seen);
        if (take)
            f->seen = 0;
    }
    return any;
}

/* The same of a rail. What is seen had come by then, and no more, if it did not take
 * long to see it.
 */
static bool take_messages (struct flights *all, struct verbs_bulk *b)
{
    bool came = false;

    for (int i = 0; i < LOOKS_MAX; i++) {
        int64_t began = clock_ns ();
        int64_t now;
        bool any = drain_messages (all, b);

        came |= any;
        now = clock_ns ();
        if (!any || !note_seen (all, b, false, now) || now - began < LOOK_NS) {
            note_seen (all, b, true, now);
            break;
        }
    }
    return came;
}

/* Writes of each queue pair: three quarters of them are whole ones. */
static uint32_t writes_each (const struct bulk_pair *p, uint64_t bytes)
{
    uint64_t unit = (uint64_t)MESSAGES_UNIT * p->qps << p->size_log;
    uint64_t units = bytes / unit + (bytes % unit > 0);

    if (units == 0)
        units = 1;
    return units < MESSAGES_MAX / MESSAGES_UNIT
               ? (uint32_t)units * MESSAGES_UNIT
               : MESSAGES_MAX;
}

/* What a queue pair will send and receive; some may be here. */
static void expect_writes (struct flight *f, int i, uint32_t out, uint32_t in)
{
    struct bulk_qp *q = &f->in->qp[i];
    uint32_t early = q->came - q->in;

    early = early < in ? early : in;
    f->seen += (uint64_t)early << f->in->size_log;
    f->receives += in - early;
    q->in += in;
    f->sends += out;
    f->out->qp[i].out += out;
}

static void begin_flight (struct flight *f, struct verbs_bulk *b,
                          struct transport_burst *burst)
{
    struct verbs_bulk_end end
        = { burst->peer, NULL, burst->way, burst->strict };
    struct bulk_pair *out = b ? find_pair (b, &end, 0) : NULL;
    struct bulk_pair *in
        = b && burst->peer == b->self ? find_pair (b, &end, 1) : out;
    bool messages = burst->out + burst->in > 0;
    uint32_t each;

    burst->lost = true;
    burst->bits = 0;
    f->failed = true;
    if (!out || !in || !out->meet.other || !in->meet.other || out->spoiled
        || in->spoiled)
        return;
    *f = (struct flight){
        .b = b, .out = out, .in = in, .pieces = 1, .tail = 1U << out->size_log,
    };
    if (messages) {
        f->pieces = (uint32_t)((burst->bytes + f->tail - 1) >> out->size_log);
        f->pieces += f->pieces == 0;
        f->tail = (uint32_t)(burst->bytes
                             - ((uint64_t)(f->pieces - 1) << out->size_log));
        if ((uint64_t)(burst->out + burst->in) * f->pieces > INT32_MAX)
            fail_flight (f, "more messages than can be counted");
        else
            expect_writes (f, 0, burst->out * f->pieces,
                           burst->in * f->pieces);
        return;
    }
    each = writes_each (out, burst->bytes);
    f->point = xcalloc ((size_t)each * out->qps + 1, sizeof (*f->point));
    if (b->device->clock_khz)
        bulk_arrive (f->point, &f->points, verbs_device_now_ns (b->device), 0);
    for (int i = 0; i < out->qps; i++)
        expect_writes (f, i, each, each);
}

static void begin_writes (struct flight *f)
{
    for (int k = 0; k < OUTSTANDING && f->b; k++)
        for (int i = 0; i < f->out->qps; i++)
            post_write (f, &f->out->qp[i]);
}

/* Note which MTU reaches the peer. */
static void learn_mtu (struct verbs_bulk *b, const struct bulk_pair *p,
                       bool came)
{
    struct bulk_peer *peer = &b->peer[p->end.peer];

    if (came && !peer->proven && peer->mtu_most)
        error_world (&b->trouble, "%s: packets of more than %d bytes are lost "
                                  "on the way to %s of %s", b->device->name,
                     128 << p->mtu, p->end.at->name, p->end.at->node);
    if (came) {
        peer->proven = true;
        if (b->mtu < p->mtu)
            b->mtu = p->mtu;
    }
    else if (!peer->proven && p->mtu > VERBS_MTU && p->end.peer != b->self)
        peer->mtu_most = p->mtu - 1;
}

static void end_flight (struct flight *f, struct transport_burst *burst)
{
    if (!f->b)
        return;
    if (f->receives == 0 && f->point) {
        if (f->seen)
            bulk_arrive (f->point, &f->points, clock_ns (), f->seen);
        burst->bits = bulk_best (f->point, f->points);
    }
    if (!f->failed && f->sends + f->receives > 0)
        fail_flight (f, "not all of a burst came in time");
    burst->lost = f->point ? f->receives > 0 : f->failed;
    burst->there_ns = f->there_ns;
    learn_mtu (f->b, f->out, !f->failed);
    free (f->point);
}

/* Sleep until something has come, or the deadline. */
static void await_flights (const struct flights *all, int64_t deadline_ns)
{
    struct pollfd pfd[TRANSPORT_RAILS_MAX];
    int64_t left = deadline_ns - clock_ns ();
    struct timespec ts = { left / 1000000000, left % 1000000000 };
    struct ibv_cq *cq;
    void *context;

    if (left <= 0)
        return;
    for (size_t i = 0; i < all->n; i++)
        pfd[i] = (struct pollfd){ is_first_flight (all, i)
                                      ? all->flight[i].b->channel->fd
                                      : -1,
                                  POLLIN, 0 };
    if (ppoll (pfd, all->n, &ts, NULL) <= 0)
        return;
    for (size_t i = 0; i < all->n; i++)
        if (pfd[i].revents
            && ibv_get_cq_event (all->flight[i].b->channel, &cq, &context) == 0)
            ibv_ack_cq_events (cq, 1);
}

bool verbs_bulk_run (struct verbs_bulk *const *b, struct transport_burst *burst,
                     size_t n, int64_t deadline_ns, bool spins,
                     bool (*idle) (void *arg), void *arg)
{
    struct flights all = { .n = n };
    struct flight *f = all.flight;
    bool armed = false, well = true;

    for (size_t i = 0; i < n; i++)
        begin_flight (&f[i], b[i], &burst[i]);
    for (size_t i = 0; i < n; i++)
        if (is_first_flight (&all, i))
            take_messages (&all, f[i].b);
    for (size_t i = 0; i < n; i++)
        begin_writes (&f[i]);
    for (;;) {
        int64_t now = clock_ns ();
        bool late = now >= deadline_ns;
        bool came = false;
        bool done = true;

        for (size_t i = 0; i < n; i++)
            if (is_first_flight (&all, i)) {
                came |= take_sends (&all, f[i].b);
                came |= take_messages (&all, f[i].b);
            }
        for (size_t i = 0; i < n; i++) {
            done &= f[i].failed || f[i].sends + f[i].receives == 0;
            if (f[i].receives == 0 && f[i].there_ns == 0)
                f[i].there_ns = clock_ns ();
        }
        if (done || late || !(well = came || !idle || idle (arg)))
            break;
        if (came || spins)
            continue;
        if (armed)
            await_flights (&all, idle && now + IDLE_NS < deadline_ns
                                     ? now + IDLE_NS
                                     : deadline_ns);
        /* what comes before this is seen before it sleeps */
        for (size_t i = 0; !armed && i < n; i++)
            if (is_first_flight (&all, i)) {
                ibv_req_notify_cq (f[i].b->sends, 0);
                ibv_req_notify_cq (f[i].b->receives, 0);
            }
        armed = !armed;
    }
    for (size_t i = 0; i < n; i++)
        end_flight (&f[i], &burst[i]);
    return well;
}

/*
 * The port
 */

/* What an adapter counts of its device or of a port; UINT64_MAX: not known. */
static uint64_t read_hw_counter (const struct verbs_device *d, const char *name)
{
    const char *device = ibv_get_device_name (d->context->device);
    char path[256], line[32];
    uint64_t value;

    snprintf (path, sizeof (path), LOCAL_SYSFS "/%s/ports/%u/hw_counters/%s",
              device, d->port, name);
    cpu_read_line (path, line, sizeof (line));
    if (!line[0]) {
        snprintf (path, sizeof (path), LOCAL_SYSFS "/%s/hw_counters/%s", device,
                  name);
        cpu_read_line (path, line, sizeof (line));
    }
    return text_u64 (line, 0, UINT64_MAX - 1, &value) == 0 ? value : UINT64_MAX;
}

void verbs_bulk_port (const struct verbs_device *d, const struct verbs_bulk *b,
                      struct transport_port *port)
{
    static const char *const repeats[] = {
        "out_of_sequence",
        "packet_seq_err",
        "duplicate_request",
        "implied_nak_seq_err",
        "local_ack_timeout_err",
        "rnr_nak_retry_err",
        /* soft RoCE */
        "out_of_seq_request",
        "rcvd_seq_err",
    };

    *port = (struct transport_port){
        .bits = port_bits (d),
        .mtu = 128U << (b && b->mtu ? b->mtu : d->attr.active_mtu),
        .relaxed = b && b->relaxed, .retries = UINT64_MAX,
    };
    for (size_t i = 0; i < sizeof (repeats) / sizeof (repeats[0]); i++) {
        uint64_t value = read_hw_counter (d, repeats[i]);

        if (value != UINT64_MAX)
            port->retries
                = value + (port->retries == UINT64_MAX ? 0 : port->retries);
    }
}

const char *verbs_bulk_trouble (const struct verbs_bulk *b)
{
    return b && b->trouble.text[0] ? b->trouble.text : NULL;
}
