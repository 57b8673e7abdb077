/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan for ClusterKit. */
#include "config.h"
#include "compare/export/clusterkit.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

/* The hosts of a round, each of which may be there once. */
static int check_round (const struct probe *p, size_t n, size_t round,
                        const struct pathset *ps, const char **host,
                        struct error *err)
{
    for (size_t i = 0; i < n; i++) {
        host[2 * i] = pathset_endpoint (ps, p[i].a)->host;
        host[2 * i + 1] = pathset_endpoint (ps, p[i].b)->host;
    }
    qsort (host, 2 * n, sizeof (*host), text_compare);
    for (size_t i = 1; i < 2 * n; i++)
        if (strcmp (host[i - 1], host[i]) == 0)
            return error_input (err, "round %zu: %s is in it twice, by two"
                                " rails; plan one rail for ClusterKit",
                                round + 1, host[i]);
    return 0;
}

int clusterkit_write (const struct plan *plan, const struct pathset *ps,
                      FILE *fp, struct error *err)
{
    const char **host = xarray (pathset_ports (ps) + 2, sizeof (*host));
    const struct probe *p;
    size_t n;
    int rc = 0;

    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        p = plan_round (plan, r, &n);
        rc = check_round (p, n, r, ps, host, err);
    }
    for (size_t r = 0; r < plan_rounds (plan) && rc == 0; r++) {
        p = plan_round (plan, r, &n);
        for (size_t i = 0; i < n; i++)
            fprintf (fp, "%zu %s %s\n", r + 1,
                     pathset_endpoint (ps, p[i].a)->host,
                     pathset_endpoint (ps, p[i].b)->host);
    }
    free (host);
    return rc;
}
