/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/explain.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { ENOUGH = 4 }; /* samples with losses: at least two probes */

#define RATE 0.05
/* Natural logs of odds: needed to find a link (plus the log of the number of
 * links), and the range in which other links are suspects, too.
 */
#define EVIDENCE 8.0
#define MARGIN 3.0

/* Quantile of the normal distribution for a bound that holds in 99.9 %. */
#define BOUND 3.09

struct tally {
    uint64_t sent, lost;
    size_t samples; /* that lost messages */
};

static bool is_missing (const struct samples *s, const char *host)
{
    for (size_t i = 0; i < s->nmissing; i++)
        if (!strcmp (s->missing[i], host))
            return true;
    return false;
}

static void add (struct tally *t, const struct sample *s)
{
    t->sent += s->sent;
    t->lost += s->lost;
    t->samples += s->lost > 0;
}

/* Count messages sent and lost across each link, by column, and in total. */
static int count (struct pathset *ps, const struct samples *samples,
                  struct tally *link, struct tally *all, struct error *err)
{
    for (size_t i = 0; i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];
        struct row row;

        if (is_missing (samples, pathset_endpoint (ps, s->a)->host)
            || is_missing (samples, pathset_endpoint (ps, s->b)->host))
            continue;
        if (pathset_row (ps, s->a, s->b, &row, err) < 0)
            return -1;
        add (all, s);
        for (size_t p = 0; p < row.n; p++)
            add (&link[pathset_column (ps, row.link[p])], s);
    }
    return 0;
}

static double log_likelihood (uint64_t lost, uint64_t sent)
{
    double k = (double)lost;
    double n = (double)sent;

    if (k == 0 || k == n)
        return 0;
    return k * log (k / n) + (n - k) * log (1 - k / n);
}

static double evidence (const struct tally *link, const struct tally *all)
{
    uint64_t sent = all->sent - link->sent;
    uint64_t lost = all->lost - link->lost;
    double rate = (double)link->lost / (double)link->sent;

    if (link->samples < ENOUGH || rate < RATE
        || rate * (double)sent <= (double)lost)
        return 0;
    return log_likelihood (link->lost, link->sent) + log_likelihood (lost, sent)
           - log_likelihood (all->lost, all->sent);
}

/* A lower bound of the share that is lost. A host that pauses loses a burst, so
 * what is counted is samples with losses, as a Poisson variable; each stands for
 * as many messages as they lost on average. The bound of a Poisson variable's
 * mean is Wilson and Hilferty's, which for few events is too low.
 */
static double least_share (const struct tally *t)
{
    double events = (double)t->samples;
    double root = 1 - 1 / (9 * events) - BOUND / (3 * sqrt (events));

    if (t->samples == 0 || root <= 0)
        return 0;
    return pow (root, 3) * (double)t->lost / (double)t->sent;
}

int loss_find (struct loss *loss, struct pathset *ps,
               const struct samples *samples, struct error *err)
{
    struct tally all = { 0 };
    struct tally *tally;
    const uint32_t *link;
    size_t best = 0;
    double most;
    size_t m;
    int rc;

    *loss = (struct loss){ 0 };
    if (!(link = pathset_links (ps, &m, err)))
        return -1;
    tally = xcalloc (m, sizeof (*tally));
    rc = count (ps, samples, tally, &all, err);
    for (size_t k = 0; k < m; k++)
        if (evidence (&tally[k], &all) > evidence (&tally[best], &all))
            best = k;
    most = m > 0 ? evidence (&tally[best], &all) : 0;
    if (rc == 0 && most > EVIDENCE + log ((double)m)) {
        loss->link = xarray (m, sizeof (*loss->link));
        loss->link[loss->n++] = link[best];
        for (size_t k = 0; k < m; k++)
            if (k != best && evidence (&tally[k], &all) >= most - MARGIN)
                loss->link[loss->n++] = link[k];
        loss->sent = tally[best].sent;
        loss->lost = tally[best].lost;
        all.sent -= loss->sent;
        all.lost -= loss->lost;
        all.samples -= tally[best].samples;
    }
    loss->other_sent = all.sent;
    loss->other_lost = all.lost;
    loss->other_least = least_share (&all);
    free (tally);
    return rc;
}
