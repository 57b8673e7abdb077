/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Baselines of audits. */
#include "config.h"
#include "prolog/audit/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"

enum { FROM_LEDGER, FROM_FILE, FILE_MAX = 256 << 20 };

int baseline_sift (struct samples *s, const struct pathset *ps,
                   const bool *reset, uint32_t *times, struct error *err)
{
    const struct network *net = pathset_network (ps);
    size_t n = s->nsamples, nloopbacks = s->nloopbacks;
    bool cable = false; /* between switches was reset */
    struct row row;

    for (size_t l = 0; reset && l < net->nlinks; l++)
        cable |= reset[l] && net->link[l].kind == LINK_SWITCH;
    s->nsamples = s->nloopbacks = 0;
    for (size_t i = 0; i < n; i++) {
        struct sample *sample = &s->sample[i];
        bool keep = true;

        if (pathset_row (ps, sample->a, sample->b, &row, err) < 0)
            return -1;
        for (size_t k = 0; k < row.n; k++)
            keep &= !reset || !reset[row.link[k]];
        for (size_t k = 0; k < row.n && keep; k++)
            times[row.link[k]] += sample->lost < sample->sent;
        if (!keep || cable) {
            free (sample->flow_ns);
            sample->flow_ns = NULL;
            sample->nflows = 0;
        }
        if (keep)
            s->sample[s->nsamples++] = *sample;
    }
    for (size_t i = 0; i < nloopbacks; i++) {
        uint32_t arc;

        net->attach (net->net, pathset_endpoint (ps, s->loopback[i].end)->id,
                     &arc);
        if (!reset || arc == NETWORK_NONE || !reset[arc_link (arc)])
            s->loopback[s->nloopbacks++] = s->loopback[i];
    }
    return 0;
}

/* Set reset[link] for each link whose baseline was reset (rebase). */
static int find_reset (struct ledger *ledger, const struct fabric *f,
                       bool *reset, struct error *err)
{
    json_t *list = ledger_list (ledger, LEDGER_REBASES, 0, 0, err);
    json_t *v;
    size_t i;

    if (!list)
        return -1;
    json_array_foreach (list, i, v) {
        uint32_t link = fabric_find_link (f, json_text (v, "link"));

        if (link != FABRIC_NONE)
            reset[link] = true;
    }
    json_decref (list);
    return 0;
}

/* Read the published file. A missing file counts as no baseline. So does a file
 * that cannot be used, for example of another fabric: set->odd is the reason.
 */
static void gather_file (struct baseline_set *set, const struct fabric *f,
                         const char *path)
{
    struct error err;
    FILE *fp;

    if (!*path)
        return;
    if ((fp = file_open_trusted (path, geteuid (), &err))) {
        set->samples[FROM_FILE]
            = samples_read (fp, path, f->hash, fabric_resolve, (void *)f,
                            &set->ps[FROM_FILE], &err);
        fclose (fp);
    }
    else if (errno == ENOENT)
        return;
    if (!set->samples[FROM_FILE])
        snprintf (set->odd, sizeof (set->odd), "%.250s", err.text);
}

/* Choose which of the two baselines count. times[i][link] is the number of
 * samples of baseline i that cross the link.
 */
static void choose (struct baseline_set *set, uint32_t *const times[2],
                    size_t nlinks)
{
    bool any = false, all = true; /* the ledger knows a link; all of the file */

    for (size_t i = 0; i < nlinks; i++) {
        bool known = times[FROM_LEDGER][i] >= BASELINE_ENOUGH;

        any |= known;
        all &= known || times[FROM_FILE][i] < BASELINE_ENOUGH;
    }
    set->publish = all && any;
    for (int i = 0; i < 2; i++)
        if (set->samples[i] && (i == FROM_LEDGER || !all))
            set->v[set->n++] = (struct baseline){ set->samples[i], set->ps[i] };
}

int baseline_gather (struct baseline_set *set, struct ledger *ledger,
                     const struct fabric *f, const char *path,
                     struct error *err)
{
    bool *reset = xcalloc (f->nlinks, sizeof (*reset));
    uint32_t *times[2];
    int rc;

    *set = (struct baseline_set){ 0 };
    for (int i = 0; i < 2; i++)
        times[i] = xcalloc (f->nlinks, sizeof (*times[i]));
    set->samples[FROM_LEDGER]
        = ledger_baseline (ledger, f->hash, BASELINE_LAST, fabric_resolve,
                           (void *)f, &set->ps[FROM_LEDGER], err);
    rc = set->samples[FROM_LEDGER] || errno == ENOENT ? 0 : -1;
    if (rc == 0) {
        gather_file (set, f, path);
        rc = find_reset (ledger, f, reset, err);
    }
    for (int i = 0; i < 2 && rc == 0; i++)
        if (set->samples[i])
            rc = baseline_sift (set->samples[i], set->ps[i],
                                i == FROM_FILE ? reset : NULL, times[i], err);
    if (rc == 0)
        choose (set, times, f->nlinks);
    free (reset);
    free (times[0]);
    free (times[1]);
    return rc;
}

void baseline_clear (struct baseline_set *set)
{
    for (int i = 0; i < 2; i++) {
        samples_destroy (set->samples[i]);
        pathset_destroy (set->ps[i]);
    }
    *set = (struct baseline_set){ 0 };
}

/*
 * Publishing
 */

int baseline_put (const struct samples *s, const struct pathset *ps,
                  const char *path, struct error *err)
{
    char *text = NULL, *old = NULL;
    size_t len, old_len = 0;
    FILE *fp = xcheck (open_memstream (&text, &len));
    struct outfile *out;
    int rc = samples_write (s, ps, fp, err);

    xcheck (fclose (fp) == 0 ? text : NULL);
    /* a file that is missing or cannot be trusted is replaced */
    if (rc == 0 && (fp = file_open_trusted (path, geteuid (), NULL))) {
        old = file_slurp (fp, FILE_MAX, &old_len, NULL);
        file_close_input (fp);
    }
    if (rc == 0 && (!old || old_len != len || memcmp (old, text, len))) {
        if ((out = file_create_public (path, err)))
            fwrite (text, 1, len, file_stream (out)); /* file_commit checks */
        rc = !out || file_commit (out, err) < 0 ? -1 : 1;
    }
    free (old);
    free (text);
    return rc;
}

int baseline_publish (struct ledger *ledger, const struct fabric *f,
                      const char *path, struct error *err)
{
    struct baseline_set set;
    int rc = baseline_gather (&set, ledger, f, path, err);

    if (rc == 0 && set.publish && *path)
        rc = baseline_put (set.samples[FROM_LEDGER], set.ps[FROM_LEDGER], path,
                           err);
    baseline_clear (&set);
    return rc;
}
