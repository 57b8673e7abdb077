/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm judge: what got slower, and who is suspect. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/judge.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "report/report.h"
#include "util/file.h"
#include "util/site.h"

struct options {
    const char *fabric, *plan, *samples, *conf, *output;
    struct strings baseline;
    bool text;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "what was measured" },
    { "samples", 0, "FILE", opt_string, FIELD (samples),
      "the round-trip times" },
    { "baseline", 0, "FILE", opt_append, FIELD (baseline),
      "earlier samples; may be given several times" },
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "thresholds from this pmm.conf" },
    { "text", 0, NULL, opt_true, FIELD (text), "for people, not JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

static const int status_of[] = {
    [VERDICT_OK] = EXIT_OK,
    [VERDICT_WARN] = EXIT_OK,
    [VERDICT_UNKNOWN] = EXIT_WORLD,
    [VERDICT_FAIL] = EXIT_FAIL,
};

/* Baselines, each with the set that it was measured on. */
struct baselines {
    struct samples **samples;
    struct pathset **ps;
    struct baseline *v;
    size_t n;
};

static int read_baselines (struct baselines *b, const struct fabric *f,
                           const struct strings *path, struct error *err)
{
    b->samples = calloc (path->n + 1, sizeof (*b->samples));
    b->ps = calloc (path->n + 1, sizeof (*b->ps));
    b->v = calloc (path->n + 1, sizeof (*b->v));
    if (!b->samples || !b->ps || !b->v)
        return error_nomem (err);
    for (; b->n < path->n; b->n++) {
        size_t i = b->n;

        b->samples[i] = inputs_samples (f, path->v[i], &b->ps[i], err);
        if (!b->samples[i]) {
            pathset_destroy (b->ps[i]);
            return -1;
        }
        b->v[i] = (struct baseline){ b->samples[i], b->ps[i] };
    }
    return 0;
}

static void clear_baselines (struct baselines *b)
{
    for (size_t i = 0; i < b->n; i++) {
        samples_destroy (b->samples[i]);
        pathset_destroy (b->ps[i]);
    }
    free (b->samples);
    free (b->ps);
    free (b->v);
}

static int read_thresholds (struct judge_options *opts, const char *conf,
                            struct error *err)
{
    struct site site;
    int rc = site_read (&site, conf, 0, err);

    *opts = (struct judge_options){
        .warn_ns = site.warn_ns,
        .warn_spread = site.warn_spread,
        .fail_ns = site.fail_ns,
        .fail_spread = site.fail_spread,
    };
    site_clear (&site);
    return rc;
}

static int save (const struct verdict *v, const struct fabric *f,
                 const struct options *o, struct error *err)
{
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    if (o->text)
        report_text (v, f, file_stream (out));
    else if (verdict_write (v, fabric_network (f), file_stream (out), err)
             < 0) {
        file_abort (out);
        return -1;
    }
    return file_commit (out, err);
}

int verb_judge (int argc, char **argv)
{
    struct options o = { 0 };
    struct judge_options opts;
    struct baselines base = { 0 };
    struct verdict *v = NULL;
    struct inputs in = { 0 };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0) {
        free (o.baseline.v);
        return status;
    }
    if (!o.samples) {
        error_input (&err, "--samples SAMPLES is missing");
        status = fail (argv[0], &err);
    }
    else if (read_thresholds (&opts, o.conf, &err) < 0
             || inputs_load (&in, o.fabric, o.plan, o.samples, &err) < 0
             || read_baselines (&base, in.fabric, &o.baseline, &err) < 0
             || !(v = judge (in.ps, in.plan, in.samples, base.v, base.n,
                             &opts, &err))
             || save (v, in.fabric, &o, &err) < 0)
        status = fail (argv[0], &err);
    else
        status = status_of[v->status];
    verdict_destroy (v);
    clear_baselines (&base);
    inputs_clear (&in);
    free (o.baseline.v);
    return status;
}
