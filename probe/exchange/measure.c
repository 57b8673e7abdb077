/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/measure.h"

#include "probe/wire.h"

enum {
    GROWTH_MAX = 16, /* times as many at a time */
    NOTE_BYTES = 4,
};

unsigned int measure_grow (unsigned int n, int64_t ns, int64_t batch_ns)
{
    double wanted = 1.25 * n * (double)batch_ns / (ns > 0 ? (double)ns : 1);
    double most = (double)GROWTH_MAX * n;

    if (ns >= batch_ns || n >= MEASURE_EXCHANGES_MAX)
        return 0;
    if (wanted > most)
        wanted = most;
    if (wanted > MEASURE_EXCHANGES_MAX)
        wanted = MEASURE_EXCHANGES_MAX;
    return wanted > n + 1.0 ? (unsigned int)wanted : n + 1;
}

/* Agree upon how many exchanges a repeat has: the first tries, and tells. */
static int settle (const struct party *p, const struct comm_exchange *ex,
                   uint32_t peer, bool first, size_t len, int64_t batch_ns,
                   unsigned int *n, struct error *err)
{
    for (;;) {
        uint8_t note[NOTE_BYTES] = { 0 };
        uint64_t next = 0;
        int64_t ns;
        int rc = ex->run (p->comm, p->c, peer, first, len, *n, &ns, err);

        if (rc < 0)
            return -1;
        if (first) {
            next = rc > 0 ? measure_grow (*n, ns, batch_ns) : 0;
            wire_put (note, next, NOTE_BYTES);
            rc = p->comm->send_note (p->c, peer, note, NOTE_BYTES, err);
        }
        else {
            rc = p->comm->recv_note (p->c, peer, note, NOTE_BYTES, err);
            next = wire_get (note, NOTE_BYTES);
        }
        if (rc < 0)
            return -1;
        if (rc == 0 || next == 0 || next > MEASURE_EXCHANGES_MAX)
            return 0;
        *n = (unsigned int)next;
    }
}

int measure (const struct party *p, const struct comm_exchange *ex,
             uint32_t peer, bool first, size_t len,
             const struct measure_how *how, struct results *r,
             struct error *err)
{
    unsigned int n = how->exchanges     ? how->exchanges
                     : ex->both_ways ? MEASURE_BOTH_WAYS
                                        : 1;
    int64_t ns;

    if (how->warm_up > 0
        && ex->run (p->comm, p->c, peer, first, len, how->warm_up, &ns, err)
               < 0)
        return -1;
    if (how->batch_ns > 0
        && settle (p, ex, peer, first, len, how->batch_ns, &n, err) < 0)
        return -1;
    for (unsigned int i = 0; i < how->repeats; i++) {
        int rc = ex->run (p->comm, p->c, peer, first, len, n, &ns, err);

        if (rc < 0)
            return -1;
        if (!first)
            continue;
        rc = rc > 0 ? results_add (r, peer, (double)ns / (2.0 * n))
                    : results_add_lost (r, peer);
        if (rc < 0)
            return error_nomem (err);
    }
    return 0;
}
