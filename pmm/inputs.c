/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that verbs read and write. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"

enum {
    LIST_BYTES_MAX = 1 << 24,
    HOSTS_MAX = 1 << 20,
};

int inputs_fabric (struct inputs *in, struct error *err)
{
    struct site site = { 0 };

    if (in->fabric)
        return 0;
    if (!in->fabric_path) {
        if (site_read (&site, in->conf, 0, err) == 0)
            in->fabric_path = in->snapshot = xstrdup (site.snapshot);
        site_clear (&site);
        if (!in->snapshot)
            return -1;
        if (access (in->snapshot, F_OK) < 0)
            return error_input (err, "-f FABRIC is missing, and there is no "
                                     "%s", in->snapshot);
    }
    in->fabric = fabric_load (in->fabric_path, err);
    return in->fabric ? 0 : -1;
}

#ifdef HAVE_LEDGER
int inputs_ledger (struct inputs *in, enum ledger_mode mode, struct error *err)
{
    struct site site = { 0 };

    if (in->ledger_path)
        in->ledger = ledger_open (in->ledger_path, mode, err);
    else if (site_read (&site, in->conf, 0, err) == 0)
        in->ledger = ledger_open (site.ledger, mode, err);
    site_clear (&site);
    return in->ledger ? 0 : -1;
}
#endif

/* Samples of the set *ps, which is made by them if it is NULL; the caller owns
 * it in any case. NULL with err.
 */
static struct samples *load_samples (const struct fabric *fabric,
                                     const char *path, struct pathset **ps,
                                     struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct samples *s = fp ? samples_read (fp, path, fabric->hash,
                                           fabric_resolve, (void *)fabric, ps,
                                           err)
                           : NULL;

    file_close_input (fp);
    return s;
}

int inputs_load (struct inputs *in, const char *fabric, const char *plan,
                 const char *samples, struct error *err)
{
    FILE *fp;

    in->fabric_path = fabric;
    if (!plan)
        return error_input (err, "--plan PLAN is missing");
    if (inputs_fabric (in, err) < 0 || !(fp = file_open_input (plan, err)))
        return -1;
    in->plan = plan_read (fp, plan, in->fabric->hash, fabric_resolve,
                          in->fabric, &in->ps, err);
    file_close_input (fp);
    if (in->plan && samples)
        in->samples = load_samples (in->fabric, samples, &in->ps, err);
    return in->plan && (in->samples || !samples) ? 0 : -1;
}

void inputs_clear (struct inputs *in)
{
    file_abort (in->out);
    baselines_clear (&in->base);
    samples_destroy (in->samples);
    plan_destroy (in->plan);
    pathset_destroy (in->ps);
    fabric_destroy (in->fabric);
#ifdef HAVE_LEDGER
    ledger_close (in->ledger);
#endif
    free (in->baseline.v);
    free (in->snapshot);
    *in = (struct inputs){ 0 };
}

FILE *inputs_output (struct inputs *in)
{
    if (!in->out)
        in->out = need (file_create (in->output, &fault));
    return file_stream (in->out);
}

void inputs_put_json (struct inputs *in, const char *kind, const char *fabric,
                      json_t *members)
{
    need_ok (json_write_file (kind, fabric, members, inputs_output (in),
                              &fault));
}

void inputs_need_whole (const struct fabric *f, const char *path)
{
    if (f->part)
        die_input ("%s is a part of a fabric, and says nothing of the rest",
                   path);
}

struct series_list inputs_series (const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct series_list list;

    need_ok (series_read (&list, fp, path, &fault));
    file_close_input (fp);
    return list;
}

struct infer_matrix *inputs_latencies (FILE *fp, const char *path,
                                       const uint64_t *length,
                                       enum series_stat stat)
{
    struct infer_matrix *m;
    struct series_list list;
    const struct series *s;

    need_ok (series_read (&list, fp, path, &fault));
    if (!(s = series_list_pairs (&list)))
        die_input ("%s: no run of pairs", path);
    m = infer_matrix_of_series (s, length ? *length : s->pair[0].length, stat,
                                &fault);
    if (!m)
        error_prefix (&fault, "%s", path);
    series_list_clear (&list);
    return need (m);
}

int inputs_stat (void *field, const char *value, struct error *err)
{
    int stat = series_stat_find (value);

    if (stat < 0)
        return error_input (err, "'%.40s' is none of min, p25, median, p75, "
                                 "max, mean, sd", value);
    *(int *)field = stat;
    return 0;
}

int baselines_read (struct baselines *b, const struct fabric *fabric,
                    const char *const *path, size_t n, struct error *err)
{
    *b = (struct baselines){
        .samples = xcalloc (n, sizeof (*b->samples)),
        .ps = xcalloc (n, sizeof (*b->ps)),
        .v = xcalloc (n, sizeof (*b->v)),
        .n = n,
    };
    for (size_t i = 0; i < n; i++) {
        b->samples[i] = load_samples (fabric, path[i], &b->ps[i], err);
        if (!b->samples[i])
            return -1;
        b->v[i] = (struct baseline){ b->samples[i], b->ps[i] };
    }
    return 0;
}

void baselines_clear (struct baselines *b)
{
    for (size_t i = 0; i < b->n; i++) {
        samples_destroy (b->samples[i]);
        pathset_destroy (b->ps[i]);
    }
    free (b->samples);
    free (b->ps);
    free (b->v);
    *b = (struct baselines){ 0 };
}

int inputs_thresholds (struct judge_options *opts, const char *conf,
                       struct error *err)
{
    struct site site;
    int rc = site_read (&site, conf, 0, err);

    *opts = judge_site_options (&site);
    site_clear (&site);
    return rc;
}

char *inputs_text (const char *list, struct error *err)
{
    char *text;
    size_t len;
    FILE *fp;

    if (*list != '@')
        return xstrdup (list);
    if (!(fp = file_open_input (list + 1, err)))
        return NULL;
    text = file_slurp (fp, LIST_BYTES_MAX, &len, err);
    file_close_input (fp);
    return text;
}

struct pathset *inputs_hosts (const struct fabric *fabric, const char *option,
                              const char *list, bool lids, struct error *err)
{
    struct pathset *(*make) (const struct fabric *f, const char *const *name,
                             size_t n, struct error *err)
        = lids ? fabric_pathset_lids : fabric_pathset;
    struct hostlist hl = { 0 };
    struct pathset *ps = NULL;
    char *text;

    if (!list)
        return make (fabric, NULL, 0, err);
    if (!(text = inputs_text (list, err))
        || hostlist_parse (&hl, text, HOSTS_MAX, err) < 0)
        error_prefix (err, "--%s", option);
    else
        ps = make (fabric, (const char *const *)hl.name, hl.count, err);
    hostlist_clear (&hl);
    free (text);
    return ps;
}

/*
 * JSON
 */

json_t *number_json (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

json_t *fabric_node_json (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    return json_pack ("{s:o, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "name", n->desc);
}

json_t *fabric_port_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "port", p->num,
                      "name", n->desc);
}

json_t *fabric_link_json (const struct fabric *f, uint32_t link)
{
    return json_pack ("{s:o, s:o}", "a",
                      fabric_port_json (f, f->link[link].a), "b",
                      fabric_port_json (f, f->link[link].b));
}
