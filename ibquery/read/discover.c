/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/read/discover.h"

#include <stdio.h>

#include "ibquery/read/device.h"
#include "ibquery/read/look.h"
#include "ibquery/read/steady.h"

struct fabric *discover (const struct discover_options *opts,
                         struct mads_counts *counts, struct error *err)
{
    char source[FABRIC_NAME_MAX];
    struct device_port used;
    struct fabric *f;
    struct mads *m;

    m = device_open (opts->ca, opts->port, &opts->mads, &used, err);
    if (!m)
        return NULL;
    snprintf (source, sizeof (source), "%s/%d", used.ca, used.port);
    f = opts->hosts ? reach_read (m, source, opts->hosts, err)
                    : steady_read (m, source, err);
    if (counts)
        *counts = mads_counts (m);
    mads_destroy (m);
    return f;
}

int discover_changed (const struct fabric *f,
                      const struct discover_options *opts, uint64_t turn,
                      struct mads_counts *counts, struct error *why,
                      struct error *err)
{
    struct device_port used;
    struct mads *m;
    int rc;

    m = device_open (opts->ca, opts->port, &opts->mads, &used, err);
    if (!m)
        return -1;
    rc = look_changed (m, f, turn, why, err);
    if (counts)
        *counts = mads_counts (m);
    mads_destroy (m);
    return rc;
}
