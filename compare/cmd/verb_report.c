/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare report: the page of pmm report --html with matrices of pairs. */
#include "config.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "compare/cmd/cmd.h"
#include "report/page/page.h"
#include "util/alloc.h"
#include "util/json.h"

static struct strings given_series;

static const struct opt options[] = {
    { "series", 0, "FILE", opt_append, 0,
      "show matrices of pairs, with or without a verdict" },
    { 0 },
};
static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "series" },
    { "samples", OPT_NEEDS, "plan" },
    { 0 },
};

/* Tenths of a ns, null if it is not known. */
static json_t *tenths_json (double ns)
{
    return isfinite (ns) ? json_integer (llround (10 * ns)) : json_null ();
}

/* As report/page/matrix.js reads it: of each length a list of a, b, time,
 * deviation.
 */
static json_t *matrix_json (const struct series *s, const char *path)
{
    const char *slash = strrchr (path, '/');
    enum series_stat stat = series_stat_known (s, SERIES_MEDIAN);
    bool deviates = series_stat_known (s, SERIES_SD) == SERIES_SD;
    json_t *labels = xcheck (json_array ());
    json_t *lengths = xcheck (json_array ());
    json_t *values = xcheck (json_array ());
    json_t *list = NULL;

    for (uint32_t i = 0; i < s->nprocesses; i++)
        json_add (labels, json_string (s->process[i].label));
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_row *r = &s->row[i];

        if (!list || r->length != s->row[i - 1].length) {
            list = xcheck (json_array ());
            json_add (values, list);
            json_add (lengths, json_integer ((json_int_t)r->length));
        }
        json_add (list, json_integer (r->a));
        json_add (list, json_integer (r->b));
        json_add (list, tenths_json (series_measured (r) ? r->time_ns[stat]
                                                         : NAN));
        json_add (list, tenths_json (deviates && series_measured (r)
                                         ? r->time_ns[SERIES_SD] : NAN));
    }
    return json_pack ("{s:s, s:s, s:b, s:o, s:o, s:o}", "name",
                      SHOWN (slash ? slash + 1 : path), "stat",
                      series_stat_names[stat], "deviation", deviates,
                      "labels", labels, "lengths", lengths, "values", values);
}

static json_t *read_report_series (void)
{
    json_t *all = xcheck (json_array ());

    for (size_t i = 0; i < given_series.n; i++) {
        struct series_list list = inputs_series (given_series.v[i]);
        const struct series *s = series_list_pairs (&list);

        if (!s)
            die_input ("%s: no run of pairs", given_series.v[i]);
        json_add (all, matrix_json (s, given_series.v[i]));
        series_list_clear (&list);
    }
    return all;
}

static int run_compare_report (struct inputs *in)
{
    struct verdict *v
        = in->noperands > 0 ? inputs_result (in, in->operand[0]) : NULL;
    const struct page page = {
        .fabric = in->fabric, .verdict = v, .made = (int64_t)time (NULL),
        .ps = in->ps, .plan = in->plan, .samples = in->samples,
        .baseline = in->base, .series = read_report_series (),
    };

    need_ok (page_write (&page, inputs_output (in), &fault));
    json_decref (page.series);
    return v ? exit_status (v->status) : EXIT_OK;
}

const struct verb compare_report = {
    .name = "report",
    .help = "write a page with matrices of pairs, and with a verdict",
    .may = TAKES_FABRIC | TAKES_OUTPUT | TAKES_PLAN | TAKES_SAMPLES
           | TAKES_BASELINES,
    .operands = "[VERDICT]", .max = 1,
    .options = options, .given = &given_series, .rules = rules,
    .run = run_compare_report,
};
