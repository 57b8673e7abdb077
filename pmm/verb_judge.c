/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm judge: what got slower, and who is suspect. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/judge/corroborate.h"
#include "core/judge/judge.h"
#include "ibquery/links/check.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "report/report.h"
#include "util/file.h"

struct options {
    const char *fabric, *plan, *samples, *signs, *conf, *output;
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
    { "signs", 0, "FILE", opt_string, FIELD (signs),
      "what pmm fabric check --json found of the links" },
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

static int save (const struct verdict *v, const struct fabric *f,
                 const struct options *o, struct error *err)
{
    struct outfile *out = file_create (o->output, err);
    int rc = 0;

    if (!out)
        return -1;
    if (o->text)
        report_text (v, f, file_stream (out));
    else
        rc = verdict_write (v, fabric_network (f), file_stream (out), err);
    return file_finish (out, rc, err);
}

/* Hold the verdict against a file of signs; NULL: there is none. */
static int add_signs (struct verdict *v, const struct fabric *f,
                      const char *path, const struct judge_options *opts,
                      struct error *err)
{
    struct check_signs signs;
    FILE *fp = path ? file_open_input (path, err) : NULL;
    int rc;

    if (!fp)
        return path ? -1 : 0;
    rc = check_read_signs (&signs, fp, path, f, err);
    if (rc == 0)
        corroborate (v, signs.v, signs.n, opts);
    check_clear_signs (&signs);
    file_close_input (fp);
    return rc;
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
    else if (inputs_thresholds (&opts, o.conf, &err) < 0
             || inputs_load (&in, o.fabric, o.plan, o.samples, &err) < 0
             || baselines_read (&base, in.fabric, o.baseline.v, o.baseline.n,
                                &err) < 0
             || !(v = judge (in.ps, in.plan, in.samples, base.v, base.n,
                             &opts, &err))
             || add_signs (v, in.fabric, o.signs, &opts, &err) < 0
             || save (v, in.fabric, &o, &err) < 0)
        status = fail (argv[0], &err);
    else
        status = status_of[v->status];
    verdict_destroy (v);
    baselines_clear (&base);
    inputs_clear (&in);
    free (o.baseline.v);
    return status;
}
