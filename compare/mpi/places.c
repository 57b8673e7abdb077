/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/mpi/places.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

const char *const place_namings[] = { [PLACE_BY_ANY] = "any",
                                      [PLACE_BY_HOST] = "host",
                                      [PLACE_BY_CORE] = "core", NULL };

/* Order by host, then by set of cores, then by rank. */
static int compare_mpi_places (const void *va, const void *vb)
{
    const struct mpi_place *a = *(const struct mpi_place *const *)va;
    const struct mpi_place *b = *(const struct mpi_place *const *)vb;
    int c = strcmp (a->host, b->host);

    if (c == 0)
        c = memcmp (&a->cores, &b->cores, sizeof (a->cores));
    return c ? c : util_compare (a, b);
}

static const struct mpi_place **sort_places (const struct mpi_place *place,
                                         uint32_t n)
{
    const struct mpi_place **sorted = xarray (n, sizeof (*sorted));

    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &place[i];
    qsort (sorted, n, sizeof (*sorted), compare_mpi_places);
    return sorted;
}

static bool same_host (const struct mpi_place *a, const struct mpi_place *b)
{
    return !strcmp (a->host, b->host);
}

static bool same_cores (const struct mpi_place *a, const struct mpi_place *b)
{
    return same_host (a, b) && CPU_EQUAL (&a->cores, &b->cores);
}

/* The first host with more than one process; NULL: none. */
static const char *find_crowded_host (const struct mpi_place *const *sorted,
                                      uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        if (same_host (sorted[i - 1], sorted[i]))
            return sorted[i]->host;
    return NULL;
}

/* The nth core, from 0; -1: there are not so many. */
static int nth_core (const cpu_set_t *cores, uint32_t nth)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET (i, cores) && nth-- == 0)
            return i;
    return -1;
}

static int name_by_core (const struct mpi_place *place,
                         const struct mpi_place *const *sorted, uint32_t n,
                         struct place_name *name, struct error *err)
{
    const char *host = NULL;
    uint32_t nth = 0, ncores, turn;
    cpu_set_t taken;
    int rc = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct mpi_place *p = sorted[i];
        struct place_name *named = &name[p - place];

        nth = i > 0 && same_cores (sorted[i - 1], p) ? nth + 1 : 0;
        ncores = (uint32_t)CPU_COUNT (&p->cores);
        turn = nth / ncores;
        if (!host || strcmp (host, p->host))
            CPU_ZERO (&taken);
        host = p->host;
        named->core = nth_core (&p->cores, nth % ncores);
        if (turn == 0 && CPU_ISSET (named->core, &taken))
            return error_input (err, "%s: two processes would share core %d: "
                                "bind each to a core of its own", host,
                                named->core);
        CPU_SET (named->core, &taken);
        if (turn == 0) {
            snprintf (named->label, sizeof (named->label), "%s:%d", host,
                      named->core);
            continue;
        }
        snprintf (named->label, sizeof (named->label), "%s:%d.%u", host,
                  named->core, turn + 1);
        if (rc == 0)
            error_input (err, "%s: more processes than the %s that they may "
                              "use: times are wrong", host,
                         COUNTED (ncores, "core"));
        rc = 1;
    }
    return rc;
}

int places_name (const struct mpi_place *place, uint32_t n,
                 enum place_naming naming, struct place_name *name,
                 struct error *err)
{
    const struct mpi_place **sorted = sort_places (place, n);
    const char *several = find_crowded_host (sorted, n);
    int rc = 0;

    if (several && naming == PLACE_BY_HOST)
        rc = error_input (err, "%s has several processes: start one per host, "
                          "or label them by core", several);
    else if (several || naming == PLACE_BY_CORE)
        rc = name_by_core (place, sorted, n, name, err);
    else
        for (uint32_t i = 0; i < n; i++) {
            snprintf (name[i].label, sizeof (name[i].label), "%s",
                      place[i].host);
            name[i].core = -1;
        }
    free (sorted);
    return rc;
}

uint32_t places_hosts (const struct mpi_place *place, uint32_t n)
{
    const struct mpi_place **sorted = sort_places (place, n);
    uint32_t hosts = n > 0;

    for (uint32_t i = 1; i < n; i++)
        hosts += !same_host (sorted[i - 1], sorted[i]);
    free (sorted);
    return hosts;
}
