/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/measured.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

#define NO_PROCESS UINT32_MAX
#define RATE_MAX 1e15 /* bits per second: more than any link has */

/* Fill process[] by endpoint: a process is at the endpoint that its label
 * names, else at the first one of its host. Return 0, or -1 with err.
 */
static int find_processes (const struct series *s, const struct pathset *ps,
                           uint32_t *process, struct error *err)
{
    size_t known = 0, n = pathset_size (ps);

    memset (process, 0xff, n * sizeof (*process));
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        int at = pathset_find (ps, s->process[i].label);
        size_t e = at < 0 ? 0 : at;

        while (at < 0 && e < n
               && strcmp (pathset_endpoint (ps, e)->host, s->process[i].host))
            e++;
        if (e == n)
            continue;
        if (process[e] != NO_PROCESS)
            return error_input (err, "two processes of the series are at %s",
                                pathset_endpoint (ps, e)->name);
        process[e] = i;
        known++;
    }
    return known > 0 ? 0
                     : error_input (err, "the series has no process at any"
                                         " endpoint of the plan");
}

int measured_rate (const struct series_row *row, const char *a, const char *b,
                   double *rate, struct error *err)
{
    double ns;

    *rate = NAN;
    if (!series_measured (row))
        return 0;
    ns = row->time_ns[SERIES_MEDIAN];
    if (isnan (ns))
        ns = row->time_ns[SERIES_MEAN];
    if (ns > 0)
        *rate = row->length / 2. * 8 / (ns * 1e-9);
    return *rate > RATE_MAX
               ? error_input (err, "%s to %s: %.3g Gb/s is more than any link"
                              " has", a, b, *rate / 1e9)
               : 0;
}

/* The rate of a pair by its first one's side, of the longest messages. */
static int rate_of (const struct series *s, uint32_t a, uint32_t b,
                    double *rate, struct error *err)
{
    *rate = NAN;
    if (a == NO_PROCESS || b == NO_PROCESS)
        return 0;
    return measured_rate (series_at (s, a, b, s->length[s->nlengths - 1]),
                          s->process[a].label, s->process[b].label, rate, err);
}

int measured_rates (const struct series *s, const struct pathset *ps,
                    const struct plan *plan, double *rate, struct error *err)
{
    uint32_t *process;
    int rc;

    if (s->test != SERIES_ASYNC_ONE_TO_ONE)
        return error_input (err, "this series is of %s, not of exchanges both"
                                 " ways at once", series_test_names[s->test]);
    if (s->nlengths == 0 || s->length[s->nlengths - 1] == 0)
        return error_input (err, "a series of messages without a byte");
    process = xarray (pathset_size (ps), sizeof (*process));
    rc = find_processes (s, ps, process, err);
    for (size_t r = 0, n; r < plan_rounds (plan) && rc == 0; r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n && rc == 0; i++, rate++) {
            uint32_t a = process[p[i].a], b = process[p[i].b];
            double there, back;

            if ((rc = rate_of (s, a, b, &there, err)) == 0
                && (rc = rate_of (s, b, a, &back, err)) == 0)
                *rate = isnan (there)  ? back
                        : isnan (back) ? there
                                       : (there + back) / 2;
        }
    }
    free (process);
    return rc;
}

struct series *measured_series (const struct pathset *ps,
                                const struct plan *plan, const double *rate,
                                uint64_t length, struct error *err)
{
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);
    int rc = 0;

    s->steps = plan_rounds (plan);
    s->probes = plan_probes (plan);
    s->repeats = 1;
    snprintf (s->fabric, sizeof (s->fabric), "%s", pathset_network (ps)->hash);
    snprintf (s->pattern, sizeof (s->pattern), "%s", plan_method (plan));
    snprintf (s->exchange, sizeof (s->exchange), "both-ways");
    snprintf (s->transport, sizeof (s->transport), "simulated");
    for (size_t i = 0; rc == 0 && i < pathset_size (ps); i++)
        rc = series_add_process (s, pathset_endpoint (ps, i)->name,
                                 pathset_endpoint (ps, i)->host, err);
    for (size_t r = 0, n; r < plan_rounds (plan); r++) {
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; rc == 0 && i < n; i++, rate++) {
            struct series_row pair = { .a = p[i].a, .b = p[i].b, .count = 1,
                                       .lost = isnan (*rate),
                                       .length = length };

            for (int k = 0; k < SERIES_STATS; k++)
                pair.time_ns[k]
                    = k == SERIES_SD ? 0 : length / 2. * 8 / *rate * 1e9;
            s->complete = s->complete && !isnan (*rate);
            rc = series_add (s, &pair, err);
        }
    }
    if (rc == 0 && series_sort (s, err) == 0)
        return s;
    series_destroy (s);
    return NULL;
}
