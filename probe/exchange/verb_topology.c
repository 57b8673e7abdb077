/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "topology". */
#include "config.h"
#include "probe/exchange/program.h"

#include <string.h>

#include "probe/exchange/pairs.h"
#include "probe/exchange/topology.h"

static const uint64_t some_bytes[] = { 1024, 8192, 65536 };

static bool wanted (const struct exchange_args *a, int shape, int both)
{
    static const bool none[SERIES_SHAPES][2];

    return a->shape[shape][both]
           || !memcmp (a->shape, none, sizeof (none));
}

/* All shapes at one length. Return 1, 0 where something was lost, or -1. */
static int run_length (struct exchange_session *x, uint64_t length,
                       struct series *s, struct error *err)
{
    const struct exchange_args *a = x->args;
    int rc = 1;

    for (int both = 0; both <= 1 && rc > 0; both++)
        for (int shape = 0; shape < SERIES_SHAPES && rc > 0; shape++)
            if (wanted (a, shape, both))
                rc = topology_run (&x->party, (enum series_shape)shape, both,
                                   length, &a->how, s, err);
    return rc;
}

static uint64_t count_exchanges (const struct series *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->ntopologies; i++)
        sum += series_exchanges (s->topology[i].shape, s->nprocesses);
    return sum;
}

static int run (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    struct party *p = &x->party;
    const uint64_t *length = a->length.n > 0 ? a->length.v : some_bytes;
    size_t n = a->length.n > 0
                   ? a->length.n
                   : sizeof (some_bytes) / sizeof (some_bytes[0]);
    int64_t start = p->comm->now_ns (p->c);
    struct series *s;
    int rc = 1;

    if (p->n < TOPOLOGY_PROCESSES_MIN)
        return error_input (err, "topologies have %d processes or more, not "
                            "%u", TOPOLOGY_PROCESSES_MIN, p->n);
    if (p->comm->reserve (p->c, length[n - 1], err) < 0
        || session_series (x, SERIES_TOPOLOGY, "topology", "", &s, err) < 0)
        return -1;
    for (size_t i = 0; i < n && rc > 0; i++) {
        rc = run_length (x, length[i], s, err);
        progress_show (&p->progress, i + 1, n);
    }
    progress_hide (&p->progress);
    return rc < 0 ? -1
                  : pairs_finish (p, start, s ? s->ntopologies : 0,
                                  s ? count_exchanges (s) : 0, s, err);
}

const struct exchange_test exchange_topology = {
    .name = "topology",
    .help = "whole topologies at once: star, complete graph, ring",
    .options = args_topology,
    .run = run,
};
