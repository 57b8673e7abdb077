/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm judge: which links got slower; names the suspect cables. */
#include "config.h"

#include "core/judge/judge.h"
#include "ibquery/links/check.h"
#include "pmm/verb.h"
#include "report/report.h"

static struct judge_words {
    const char *signs;
} given;

#define FIELD(name) offsetof (struct judge_words, name)
static const struct opt options[] = {
    { "signs", 0, "FILE", opt_string, FIELD (signs),
      "findings about the links, of pmm fabric check --json" },
    { 0 },
};

static int run_judge (struct inputs *in)
{
    struct verdict *v = verb_own_verdict (judge (
        in->ps, in->plan, in->samples, in->base, &in->thresholds, &fault));

    if (given.signs) {
        FILE *fp = need (file_open_input (given.signs, &fault));
        struct check_signs signs;

        need_ok (check_read_signs (&signs, fp, given.signs, in->fabric,
                                   &fault));
        corroborate (v, signs.v, signs.n, &in->thresholds);
        check_clear_signs (&signs);
        file_close_input (fp);
    }
    need_ok (verdict_write (v, fabric_network (in->fabric),
                            inputs_output (in), &fault));
    return exit_status (v->status);
}

const struct verb verb_judge = {
    .group = VERBS_REPLAY, .name = "judge",
    .help = "judge what got slower, and name the suspects",
    .needs = TAKES_FABRIC | TAKES_PLAN | TAKES_SAMPLES,
    .may = TAKES_BASELINES | TAKES_OUTPUT,
    .options = options, .given = &given, .run = run_judge,
};
