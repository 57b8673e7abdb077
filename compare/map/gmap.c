/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scotch's mapping.
 *
 * The nodes are a decomposition ("deco"), which has the distances of all of
 * them: it takes any latencies, where a tree takes those of equal groups only.
 * Scotch gives nodes parts of equal weight, so ranks that talk to none fill the
 * places that are left over. Where its parts differ by a rank, order.c moves
 * that.
 */
#include "config.h"
#include "compare/map/order.h"

#ifdef HAVE_SCOTCH

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#ifdef HAVE_SCOTCH_SCOTCH_H
#include <scotch/scotch.h>
#else
#include <scotch.h>
#endif

#include "compare/export/export.h"
#include "util/alloc.h"

const bool gmap_built = true;

/* Scotch sums amounts times distances in SCOTCH_Num, which may have 31 bits:
 * both directions of AMOUNTS and of one for each pair, by DISTANCE_MAX, fit.
 */
enum { AMOUNTS = 3000000, DISTANCE_MAX = 64 };

/* What Scotch says last, as libscotch has its users define it. */
static char said[256];

void SCOTCH_errorProg (const char *const name)
{
    (void)name;
}

void SCOTCH_errorPrint (const char *const fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (said, sizeof (said), fmt, ap);
    va_end (ap);
}

void SCOTCH_errorPrintW (const char *const fmt, ...)
{
    (void)fmt;
}

/* Latencies over those within a node, which no order saves, as distances. */
static struct infer_matrix *latency_distances (const struct infer_matrix *hosts)
{
    struct infer_matrix *m = infer_matrix_create (hosts->n, NULL);
    double within = 0, far = INFER_MIN_NS;

    for (uint32_t a = 0; a < hosts->n; a++)
        within += infer_matrix_at (hosts, a, a) / hosts->n;
    for (size_t i = 0; i < (size_t)hosts->n * hosts->n; i++)
        far = fmax (far, hosts->ns[i] - within);
    for (size_t i = 0; i < (size_t)hosts->n * hosts->n; i++)
        m->ns[i] = (hosts->ns[i] - within) / far * DISTANCE_MAX;
    return m;
}

static int load_nodes (SCOTCH_Arch *arch, const struct infer_matrix *hosts,
                       struct error *err)
{
    struct infer_matrix *m = latency_distances (hosts);
    char *text = NULL;
    size_t size;
    FILE *fp = xcheck (open_memstream (&text, &size));
    int rc = scotch_write_deco (m, fp, err);

    fclose (fp);
    infer_matrix_destroy (m);
    if (rc == 0) {
        fp = xcheck (fmemopen (text, size, "r"));
        rc = SCOTCH_archLoad (arch, fp) ? -1 : 0;
        fclose (fp);
    }
    free (text);
    return rc;
}

int gmap (const struct talk *t, const struct infer_matrix *hosts,
          uint32_t tasks, uint32_t *node, struct error *err)
{
    uint32_t places = hosts->n * tasks;
    size_t arcs = t->with.start[t->n];
    SCOTCH_Num *vert = xarray (places + 1, sizeof (*vert));
    SCOTCH_Num *edge = xarray (arcs, sizeof (*edge));
    SCOTCH_Num *load = xarray (arcs, sizeof (*load));
    SCOTCH_Num *part = xarray (places, sizeof (*part));
    SCOTCH_Graph graph, bound;
    SCOTCH_Context context; /* the same input gives the same order */
    SCOTCH_Strat how;
    SCOTCH_Arch arch;
    int rc;

    for (uint32_t r = 0; r <= places; r++)
        vert[r] = t->with.start[r < t->n ? r : t->n];
    for (size_t e = 0; e < arcs; e++) {
        edge[e] = t->with.v[e];
        load[e] = 1 + (SCOTCH_Num)(t->amount[e] / t->total * AMOUNTS);
    }
    *said = '\0';
    SCOTCH_contextInit (&context);
    SCOTCH_contextRandomReset (&context);
    SCOTCH_graphInit (&graph);
    SCOTCH_graphInit (&bound);
    SCOTCH_stratInit (&how);
    SCOTCH_archInit (&arch);
    rc = load_nodes (&arch, hosts, err) < 0
         || SCOTCH_graphBuild (&graph, 0, places, vert, NULL, NULL, NULL,
                               arcs, edge, load) != 0
         || SCOTCH_stratGraphMapBuild (&how, SCOTCH_STRATQUALITY, hosts->n,
                                       0.01) != 0
         || SCOTCH_contextOptionSetNum (
                &context, SCOTCH_OPTIONNUMDETERMINISTIC, 1) != 0
         || SCOTCH_contextThreadSpawn (&context, 1, NULL) != 0
         || SCOTCH_contextBindGraph (&context, &graph, &bound) != 0
         || SCOTCH_graphMap (&bound, &arch, &how, part) != 0;
    for (uint32_t r = 0; rc == 0 && r < t->n; r++) {
        rc = part[r] < 0 || part[r] >= (SCOTCH_Num)hosts->n;
        node[r] = (uint32_t)part[r];
    }
    SCOTCH_archExit (&arch);
    SCOTCH_stratExit (&how);
    SCOTCH_graphExit (&bound);
    SCOTCH_graphExit (&graph);
    SCOTCH_contextExit (&context);
    free (vert);
    free (edge);
    free (load);
    free (part);
    return rc == 0 ? 0
                   : error_world (err, "Scotch gives no order: %s",
                                  *said ? said : "no reason is given");
}

#else

const bool gmap_built = false;

int gmap (const struct talk *t, const struct infer_matrix *hosts,
          uint32_t tasks, uint32_t *node, struct error *err)
{
    (void)t, (void)hosts, (void)tasks, (void)node;
    return error_world (err, "built without Scotch");
}

#endif
