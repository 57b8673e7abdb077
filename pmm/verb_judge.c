/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm judge: which links got slower; names the suspect cables. */
#include "config.h"

#include "core/judge/corroborate.h"
#include "core/judge/judge.h"
#include "ibquery/links/check.h"
#include "pmm/verb.h"
#include "report/report.h"

static struct judge_words {
    const char *signs;
    bool text;
} given;

#define FIELD(name) offsetof (struct judge_words, name)
static const struct opt options[] = {
    { "signs", 0, "FILE", opt_string, FIELD (signs),
      "what pmm fabric check --json found of the links" },
    { "text", 0, NULL, opt_true, FIELD (text),
      "the same as --format text; JSON is the default" },
    { 0 },
};

/* Compare the verdict with a file of signs; NULL: there is none. */
static int add_signs (struct verdict *v, const struct inputs *in,
                      const char *path, struct error *err)
{
    struct check_signs signs;
    FILE *fp = path ? file_open_input (path, err) : NULL;
    int rc;

    if (!fp)
        return path ? -1 : 0;
    rc = check_read_signs (&signs, fp, path, in->fabric, err);
    if (rc == 0)
        corroborate (v, signs.v, signs.n, &in->thresholds);
    check_clear_signs (&signs);
    file_close_input (fp);
    return rc;
}

static int save (const struct verdict *v, struct inputs *in,
                 struct error *err)
{
    FILE *fp = inputs_output (in, err);

    if (!fp)
        return -1;
    if (in->json && !given.text)
        return verdict_write (v, fabric_network (in->fabric), fp, err);
    report_text (v, in->fabric, fp);
    return 0;
}

static int run (struct inputs *in, struct error *err)
{
    struct verdict *v = judge (in->ps, in->plan, in->samples, in->base.v,
                               in->base.n, &in->thresholds, err);
    int rc = -1;

    if (v && add_signs (v, in, given.signs, err) == 0
        && save (v, in, err) == 0)
        rc = exit_status (v->status);
    verdict_destroy (v);
    return rc;
}

const struct verb verb_judge = {
    .name = "judge", .help = "what got slower, and who is suspect",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES,
    .may = TAKES_BASELINES | TAKES_JSON | TAKES_OUTPUT, .json = true,
    .options = options, .given = &given, .run = run,
};
