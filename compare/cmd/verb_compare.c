/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare compare: how much the pairs of two series differ. */
#include "config.h"

#include <math.h>

#include "compare/series/series.h"
#include "compare/cmd/cmd.h"
#include "util/json.h"

enum { LISTED = 10 }; /* pairs in only one series, in the text */

static struct compare_words {
    int stat, run[2];
    double within;
} given = { .stat = SERIES_MEDIAN, .run = { 1 }, .within = -1 };

#define FIELD(name) offsetof (struct compare_words, name)
static const struct opt options[] = {
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of each pair (default: median)",
      OPT_ROWS (series_stat_names) },
    { "run-a", 0, "N", opt_int, FIELD (run[0]), "run N of A (default: 1)" },
    { "run-b", 0, "N", opt_int, FIELD (run[1]),
      "run N of B (default: 1; of A if there is no B: 2)" },
    { "within", 0, "PERCENT", opt_double, FIELD (within),
      "exit with status 1 if a pair deviates by more" },
    { 0 },
};

/* The two series: where they come from. */
struct sides {
    const struct series *s[2];
    const char *name[2]; /* of the files, */
    int run[2];          /* ... and runs in them; 0: the only one */
};

static json_t *pair_json (const struct series *s, const struct series_row *p)
{
    return json_pack ("{s:s, s:s, s:I}", "a", s->process[p->a].label, "b",
                      s->process[p->b].label, "length",
                      (json_int_t)p->length);
}

static json_t *deviation_json (const struct series *s,
                               const struct deviation *d)
{
    return json_pack ("{s:o, s:o, s:o, s:o, s:o}", "mean",
                      number_json (d->mean), "absolute",
                      number_json (d->absolute), "quadratic",
                      number_json (d->quadratic), "max", number_json (d->max),
                      "at", d->at ? pair_json (s, d->at) : json_null ());
}

static json_t *comparison_json (const struct sides *of,
                                const struct series_comparison *c)
{
    json_t *only[2];

    for (int k = 0; k < 2; k++) {
        only[k] = json_array ();
        for (size_t i = 0; i < c->nonly[k]; i++)
            json_add (only[k], pair_json (of->s[k], c->only[k][i]));
    }
    return json_pack ("{s:s, s:I, s:o, s:o, s:o, s:o}", "stat",
                      series_stat_names[c->stat], "pairs", (json_int_t)c->n,
                      "deviation_ns", deviation_json (of->s[0], &c->ns),
                      "relative", deviation_json (of->s[0], &c->relative),
                      "only_a", only[0], "only_b", only[1]);
}

static void print_name (const char *before, const struct sides *of, int which,
                        FILE *fp)
{
    fprintf (fp, "%s%s", before, SHOWN (of->name[which]));
    if (of->run[which] > 0)
        fprintf (fp, " (run %d)", of->run[which]);
}

static void print_pair (const char *before, const struct series *s,
                        const struct series_row *p, FILE *fp)
{
    fprintf (fp, "    %s%s %s, %ju bytes\n", before, s->process[p->a].label,
             s->process[p->b].label, (uintmax_t)p->length);
}

static void print_deviations (const struct sides *of,
                              const struct series_comparison *c, FILE *fp)
{
    const struct {
        const char *what;
        double ns, relative;
    } rows[] = {
        { "mean deviation", c->ns.mean, c->relative.mean },
        { "mean absolute deviation", c->ns.absolute, c->relative.absolute },
        { "quadratic mean deviation", c->ns.quadratic,
          c->relative.quadratic },
        { "maximum deviation", c->ns.max, c->relative.max },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        fprintf (fp, "%-26s %+14.3f ns", rows[i].what, rows[i].ns);
        if (!isnan (rows[i].relative))
            fprintf (fp, " %+10.3f %%", 100 * rows[i].relative);
        fprintf (fp, "\n");
    }
    print_pair ("in ns: ", of->s[0], c->ns.at, fp);
    if (c->relative.at)
        print_pair ("in %: ", of->s[0], c->relative.at, fp);
}

static void print_series_comparison (const struct sides *of,
                                     const struct series_comparison *c,
                                     FILE *fp)
{
    const struct series *x = of->s[0], *y = of->s[1];

    print_name ("", of, 0, fp);
    print_name (" to ", of, 1, fp);
    fprintf (fp, ": the %s of %s in both\n", series_stat_names[c->stat],
             COUNTED (c->n, "pair"));
    /* series of one length each are compared even if the lengths differ */
    if (x->nlengths == 1 && y->nlengths == 1 && x->length[0] != y->length[0])
        fprintf (fp, "by messages of %ju bytes, and of %ju\n",
                 (uintmax_t)x->length[0], (uintmax_t)y->length[0]);
    if (c->n > 0)
        print_deviations (of, c, fp);
    for (int k = 0; k < 2; k++) {
        if (c->nonly[k] == 0)
            continue;
        print_name ("only in ", of, k, fp);
        fprintf (fp, ": %zu\n", c->nonly[k]);
        for (size_t i = 0; i < c->nonly[k] && i < LISTED; i++)
            print_pair ("", of->s[k], c->only[k][i], fp);
        if (c->nonly[k] > LISTED)
            fprintf (fp, "    and %zu more\n", c->nonly[k] - LISTED);
    }
}

static int run_compare (struct inputs *in)
{
    int files = in->noperands, status = EXIT_OK;
    struct series_list list[2] = { 0 };
    struct series_comparison c;
    struct sides of = { 0 };

    if (given.run[1] == 0)
        given.run[1] = files == 1 ? 2 : 1;
    for (int i = 0; i < files; i++)
        list[i] = inputs_series (in->operand[i]);
    for (int i = 0; i < 2; i++) {
        int k = files == 1 ? 0 : i, n = given.run[i];

        of.name[i] = in->operand[k];
        of.run[i] = list[k].n > 1 ? n : 0;
        if (n < 1 || (size_t)n > list[k].n)
            die_input ("%.200s has no run %d", of.name[i], n);
        of.s[i] = list[k].run[n - 1];
    }
    need_ok (series_compare (&c, of.s[0], of.s[1], given.stat, &fault));
    if (c.n == 0)
        status = EXIT_WORLD;
    else if (given.within >= 0
             && (c.boundless || 100 * fabs (c.relative.max) > given.within))
        status = EXIT_FAIL;
    if (in->json)
        inputs_put_json (in, "comparison", NULL, comparison_json (&of, &c));
    else
        print_series_comparison (&of, &c, inputs_output (in));
    comparison_clear (&c);
    series_list_clear (&list[0]);
    series_list_clear (&list[1]);
    return status;
}

const struct verb verb_compare = {
    .name = "compare",
    .help = "print by how much two series or solutions deviate",
    .may = TAKES_JSON | TAKES_OUTPUT, .operands = "A [B]", .min = 1, .max = 2,
    .options = options, .given = &given, .run = run_compare,
};
