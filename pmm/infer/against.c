/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where an inferred topology and a snapshot differ. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "compare/infer/against.h"
#include "ibquery/snapshot.h"
#include "pmm/infer/infer.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

static bool agree (const struct against *a)
{
    return a->nhosts + a->nways + a->nstrangers == 0;
}

static const char *name_of (const struct against *a, uint32_t node)
{
    return a->f->node[node].name;
}

/*
 * For people
 */

/* "node[01-04]"; the caller frees it. */
static char *fold_hosts (const struct against *a,
                         const struct against_hosts *h)
{
    const char **name = xarray (h->n, sizeof (*name));
    char *folded;

    for (size_t i = 0; i < h->n; i++)
        name[i] = a->f->endpoint[h->endpoint[i]].name;
    folded = xcheck (hostlist_fold (name, h->n));
    free (name);
    return folded;
}

static void put_hosts (const struct against *a, const struct against_hosts *h,
                       FILE *fp)
{
    char *hosts = fold_hosts (a, h);

    fprintf (fp, "%s: on %s in the snapshot, ", hosts, name_of (a, h->at));
    if (h->with == FABRIC_NONE)
        fprintf (fp, "apart from its hosts by latency\n");
    else
        fprintf (fp, "with the hosts of %s by latency\n",
                 name_of (a, h->with));
    free (hosts);
}

static void put_way (const struct against *a, const struct against_way *w,
                     FILE *fp)
{
    fprintf (fp, "%s - %s: ", name_of (a, w->a), name_of (a, w->b));
    if (w->hops == 1)
        fprintf (fp, "a cable in the snapshot, %u cables apart by latency\n",
                 w->seen);
    else if (w->seen == 1)
        fprintf (fp, "%u cables apart in the snapshot, one by latency\n",
                 w->hops);
    else
        fprintf (fp, "%u cables apart in the snapshot, %u by latency\n",
                 w->hops, w->seen);
}

static void put_strangers (const struct topology_model *m,
                           const struct against *a, FILE *fp)
{
    for (size_t i = 0; i < a->nstrangers; i++)
        fprintf (fp, "%s: not in the snapshot\n", m->label[a->stranger[i]]);
}

static int write_text (const struct topology_model *m, const struct against *a,
                       FILE *fp, struct error *err)
{
    (void)err;
    put_strangers (m, a, fp);
    for (size_t i = 0; i < a->nhosts; i++)
        put_hosts (a, &a->hosts[i], fp);
    for (size_t i = 0; i < a->nways; i++)
        put_way (a, &a->way[i], fp);
    fprintf (fp, "%s on %s compared, %s between these as in the snapshot\n",
             COUNTED (a->compared, "host"), COUNTED (a->switches, "switch"),
             COUNTED (a->nclear, "way"));
    if (a->alone > 0)
        fprintf (fp, "cannot tell: %s, no other one was measured on the same "
                     "switch\n",
                 COUNTED (a->alone, "host"));
    if (a->unclear > 0)
        fprintf (fp, "cannot tell: %s, too few are as long in the snapshot, "
                     "or of a latency between others'\n",
                 COUNTED (a->unclear, "way"));
    return 0;
}

/*
 * For programs
 */

static json_t *names_json (const struct against *a,
                           const struct against_hosts *h)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < h->n; i++)
        json_array_append_new (
            out, json_string (a->f->endpoint[h->endpoint[i]].name));
    return out;
}

static json_t *hosts_json (const struct against *a)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < a->nhosts; i++) {
        const struct against_hosts *h = &a->hosts[i];

        json_array_append_new (
            out, json_pack ("{s:o, s:s, s:s?}", "hosts", names_json (a, h),
                            "snapshot", name_of (a, h->at), "latency",
                            h->with == FABRIC_NONE ? NULL
                                                   : name_of (a, h->with)));
    }
    return out;
}

static json_t *ways_json (const struct against *a)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < a->nways; i++) {
        const struct against_way *w = &a->way[i];

        json_array_append_new (
            out, json_pack ("{s:s, s:s, s:i, s:i}", "a", name_of (a, w->a),
                            "b", name_of (a, w->b), "snapshot", w->hops,
                            "latency", w->seen));
    }
    return out;
}

static json_t *strangers_json (const struct topology_model *m,
                               const struct against *a)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < a->nstrangers; i++)
        json_array_append_new (out, json_string (m->label[a->stranger[i]]));
    return out;
}

static int write_json (const struct topology_model *m, const struct against *a,
                       FILE *fp, struct error *err)
{
    json_t *rest = json_pack (
        "{s:b, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I}", "agrees", agree (a),
        "compared", (json_int_t)a->compared, "switches",
        (json_int_t)a->switches, "ways_agree", (json_int_t)a->nclear, "hosts",
        hosts_json (a), "ways", ways_json (a), "not_in_snapshot",
        strangers_json (m, a), "hosts_untold", (json_int_t)a->alone,
        "ways_untold", (json_int_t)a->unclear);

    return json_write_file ("against", a->f->hash, rest, fp, err);
}

static int save (const struct topology_model *m, const struct against *a,
                 bool json, const char *path, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out,
                        (json ? write_json : write_text) (
                            m, a, file_stream (out), err),
                        err);
}

int infer_against (const struct topology_model *m, const char *fabric,
                   bool json, const char *path, bool *agrees,
                   struct error *err)
{
    struct fabric *f = fabric_load (fabric, err);
    struct against *a;
    int rc;

    if (!f)
        return -1;
    a = against_compare (f, m);
    rc = save (m, a, json, path, err);
    *agrees = agree (a);
    against_destroy (a);
    fabric_destroy (f);
    return rc;
}
