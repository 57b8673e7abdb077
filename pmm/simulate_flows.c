/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/simulate_flows.h"

#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/carry.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

enum { MESSAGE = 1 << 20 }; /* bytes, of which times are told */

#define GBPS_MAX 1e5

static int set_rate (const struct fabric *f, const char *word, double *rate,
                     struct error *err)
{
    const char *equals = strrchr (word, '=');
    char *name = equals ? strndup (word, equals - word) : NULL;
    uint32_t link = name ? fabric_find_link (f, name) : FABRIC_NONE;
    double gbps;

    free (name);
    if (!equals || text_double (equals + 1, 1e-6, GBPS_MAX, &gbps) < 0)
        return error_input (err, "--rate %.80s: LINK=GBPS is wanted", word);
    if (link == FABRIC_NONE)
        return error_input (err, "--rate %.80s: no such link", word);
    rate[link] = gbps * 1e9;
    return 0;
}

static int save (struct series *s, const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out, series_write (s, file_stream (out), err), err);
}

int simulate_flows (const struct inputs *in, const struct strings *rates,
                    const char *path, struct error *err)
{
    double *rate = xarray (plan_probes (in->plan), sizeof (*rate));
    double *link = across_rates (in->ps);
    struct series *s = NULL;
    int rc = 0;

    if (!across_known (in->ps))
        rc = error_input (err, "the snapshot has no link's width and speed,"
                          " which flows could have");
    for (size_t i = 0; i < rates->n && rc == 0; i++)
        rc = set_rate (in->fabric, rates->v[i], link, err);
    if (rc == 0)
        rc = carry_simulate (in->ps, in->plan, link, rate, err);
    if (rc == 0
        && !(s = measured_series (in->ps, in->plan, rate, MESSAGE, err)))
        rc = -1;
    if (rc == 0)
        rc = save (s, path, err);
    series_destroy (s);
    free (rate);
    free (link);
    return rc;
}
