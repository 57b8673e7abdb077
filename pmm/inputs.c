/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/inputs.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "util/alloc.h"
#include "util/site.h"
#include "util/text.h"

enum {
    LIST_BYTES_MAX = 1 << 24,
    HOSTS_MAX = 1 << 20,
};

struct samples *inputs_samples (const struct fabric *fabric, const char *path,
                                struct pathset **ps, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct samples *s;

    if (!fp)
        return NULL;
    s = samples_read (fp, path, fabric->hash, fabric_resolve, (void *)fabric,
                      ps, err);
    file_close_input (fp);
    return s;
}

static int load_plan (struct inputs *in, const char *path, struct error *err)
{
    FILE *fp = file_open_input (path, err);

    if (!fp)
        return -1;
    in->plan = plan_read (fp, path, in->fabric->hash, fabric_resolve,
                          in->fabric, &in->ps, err);
    file_close_input (fp);
    return in->plan ? 0 : -1;
}

int inputs_load (struct inputs *in, const char *fabric, const char *plan,
                 const char *samples, struct error *err)
{
    in->fabric_path = fabric;
    if (!plan)
        return error_input (err, "--plan PLAN is missing");
    if (inputs_fabric (in, err) < 0 || load_plan (in, plan, err) < 0)
        return -1;
    if (samples
        && !(in->samples = inputs_samples (in->fabric, samples, &in->ps,
                                           err)))
        return -1;
    return 0;
}

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

FILE *inputs_output (struct inputs *in, struct error *err)
{
    if (!in->out)
        in->out = file_create (in->output, err);
    return in->out ? file_stream (in->out) : NULL;
}

void inputs_clear (struct inputs *in)
{
    file_abort (in->out);
    baselines_clear (&in->base);
    samples_destroy (in->samples);
    plan_destroy (in->plan);
    pathset_destroy (in->ps);
    fabric_destroy (in->fabric);
    free (in->baseline.v);
    free (in->snapshot);
    *in = (struct inputs){ 0 };
}

int inputs_series (struct series_list *list, const char *path,
                   struct error *err)
{
    FILE *fp = file_open_input (path, err);
    int rc;

    *list = (struct series_list){ 0 };
    if (!fp)
        return -1;
    rc = series_read (list, fp, path, err);
    file_close_input (fp);
    return rc;
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
    *b = (struct baselines){ 0 };
    b->samples = xcalloc (n, sizeof (*b->samples));
    b->ps = xcalloc (n, sizeof (*b->ps));
    b->v = xcalloc (n, sizeof (*b->v));
    for (; b->n < n; b->n++) {
        size_t i = b->n;

        b->samples[i] = inputs_samples (fabric, path[i], &b->ps[i], err);
        if (!b->samples[i]) {
            pathset_destroy (b->ps[i]);
            return -1;
        }
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
    else if (hl.count == 0) /* none, not all */
        ps = fabric_resolve (NULL, 0, (void *)fabric, err);
    else
        ps = make (fabric, (const char *const *)hl.name, hl.count, err);
    hostlist_clear (&hl);
    free (text);
    return ps;
}
