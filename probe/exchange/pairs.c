/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/pairs.h"

#include <stdlib.h>

#include "probe/exchange/results.h"

enum { GATHER_STEPS = 64 };

/* Take part in a step, if this process is in it. */
static int run_step (const struct party *p, const struct probe *pair,
                     uint32_t npairs, const struct comm_exchange *ex,
                     size_t len, const struct measure_how *how,
                     struct results *r, struct error *err)
{
    if (p->comm->barrier (p->c, err) < 0)
        return -1;
    for (uint32_t i = 0; i < npairs; i++) {
        bool first = pair[i].a == p->me;

        if (first || pair[i].b == p->me)
            return measure (p, ex, first ? pair[i].b : pair[i].a, first, len,
                            how, r, err);
    }
    return 0;
}

/* What process 0 writes down when all is over. */
int pairs_finish (const struct party *p, int64_t start, uint64_t steps,
                  uint64_t probes, struct series *s, struct error *err)
{
    int rc;

    if (!s)
        return 0;
    keep_lock (p->keep);
    s->steps = steps;
    s->probes = probes;
    s->seconds = (double)(p->comm->now_ns (p->c) - start) / 1e9;
    rc = series_sort (s, err);
    keep_unlock (p->keep);
    return rc;
}

int pairs_run (struct party *p, const struct pattern *pattern,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               bool again_and_again, struct series *s, struct error *err)
{
    uint64_t steps = pattern_steps (pattern);
    struct probe *pair = calloc (pattern_width (pattern) + 1, sizeof (*pair));
    struct results *r = results_create (p->n, false);
    int64_t start = p->comm->now_ns (p->c);
    uint64_t probes = 0;
    int rc = -1;

    if (!pair || !r) {
        error_nomem (err);
        goto error;
    }
    for (size_t k = 0; k < nlengths; k++) {
        probes = 0;
        for (uint64_t i = 0; i < steps; i++) {
            uint32_t n = pattern_step (pattern, i, pair);

            if (run_step (p, pair, n, ex, length[k], how, r, err) < 0)
                goto error;
            probes += n;
            progress_show (&p->progress, k * steps + i + 1, nlengths * steps);
            if ((i + 1 == steps
                 || (!again_and_again && (i + 1) % GATHER_STEPS == 0))
                && results_collect (r, p, length[k], s, err) < 0)
                goto error;
        }
    }
    rc = pairs_finish (p, start, steps, probes, s, err);
error:
    progress_hide (&p->progress);
    results_destroy (r);
    free (pair);
    return rc;
}

/* Start a message from and to everyone, oneself first. Those that cannot be
 * started are lost.
 */
static int start_all (const struct party *p, size_t len, struct error *err)
{
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t peer = (p->me + i) % p->n;

        if (p->comm->start_recv (p->c, peer, len, err) < 0
            || p->comm->start_send (p->c, peer, len, err) < 0)
            return -1;
    }
    return 0;
}

/* One pass; time[i] is what the message of process i took, -1: it was lost. */
static int pass_all (const struct party *p, size_t len, double *time,
                     struct error *err)
{
    struct comm_done done;
    int64_t start;
    int rc;

    for (uint32_t i = 0; i < p->n; i++)
        time[i] = -1;
    if (p->comm->barrier (p->c, err) < 0)
        return -1;
    start = p->comm->now_ns (p->c);
    if (start_all (p, len, err) < 0)
        return -1;
    while ((rc = p->comm->wait_one (p->c, &done, err)) > 0)
        if (!done.sent && !done.lost)
            time[done.peer] = (double)(p->comm->now_ns (p->c) - start);
    return rc;
}

static int note_all (struct results *r, const double *time, uint32_t n,
                     struct error *err)
{
    for (uint32_t i = 0; i < n; i++)
        if ((time[i] >= 0 ? results_add (r, i, time[i])
                          : results_add_lost (r, i)) < 0)
            return error_nomem (err);
    return 0;
}

int pairs_run_all (struct party *p, const uint64_t *length, size_t nlengths,
                   const struct measure_how *how, struct series *s,
                   struct error *err)
{
    struct results *r = results_create (p->n, true);
    double *time = calloc (p->n, sizeof (*time));
    unsigned int passes = how->warm_up + how->repeats;
    int64_t start = p->comm->now_ns (p->c);
    int rc = -1;

    if (!r || !time) {
        error_nomem (err);
        goto error;
    }
    for (size_t k = 0; k < nlengths; k++) {
        for (unsigned int i = 0; i < passes; i++) {
            if (pass_all (p, length[k], time, err) < 0
                || (i >= how->warm_up && note_all (r, time, p->n, err) < 0))
                goto error;
            progress_show (&p->progress, k * passes + i + 1,
                           nlengths * passes);
        }
        if (results_collect (r, p, length[k], s, err) < 0)
            goto error;
    }
    rc = pairs_finish (p, start, 1, (uint64_t)p->n * p->n, s, err);
error:
    progress_hide (&p->progress);
    results_destroy (r);
    free (time);
    return rc;
}
