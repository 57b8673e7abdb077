/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm compare: how much the pairs of two series differ. */
#include "config.h"

#include <math.h>

#include "compare/series/compare.h"
#include "pmm/verb.h"
#include "util/json.h"

enum { LISTED = 10 }; /* pairs in only one series, in the text */

static struct compare_words {
    int stat, run[2];
    double within;
} given = { .stat = SERIES_MEDIAN, .run = { 1 }, .within = -1 };

#define FIELD(name) offsetof (struct compare_words, name)
static const struct opt options[] = {
    { "stat", 0, "NAME", inputs_stat, FIELD (stat),
      "compare this of each pair: min, p25, median (default), mean, ..." },
    { "run-a", 0, "N", opt_int, FIELD (run[0]), "the N-th run of A: 1" },
    { "run-b", 0, "N", opt_int, FIELD (run[1]),
      "the N-th of B: 1; where there is no B, of A: 2" },
    { "within", 0, "PERCENT", opt_double, FIELD (within),
      "exit with 1 where a pair deviates by more" },
    { 0 },
};
#undef FIELD

/* The two series. */
struct sides {
    const struct series *s[2];
    const char *name[2]; /* of the files, */
    int run[2];          /* ... and runs in them; 0: the only one */
};

static json_t *pair_json (const struct series *s, const struct series_pair *p)
{
    return json_pack ("{s:s, s:s, s:I}", "a", s->process[p->a].label, "b",
                      s->process[p->b].label, "length",
                      (json_int_t)p->length);
}

static json_t *number (double x)
{
    return isnan (x) ? json_null () : json_real (x);
}

static json_t *deviation_json (const struct series *s,
                               const struct deviation *d)
{
    return json_pack ("{s:o, s:o, s:o, s:o, s:o}", "mean", number (d->mean),
                      "absolute", number (d->absolute), "quadratic",
                      number (d->quadratic), "max", number (d->max), "at",
                      d->at ? pair_json (s, d->at) : json_null ());
}

static json_t *only_json (const struct series *s,
                          const struct series_pair *const *pair, size_t n)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        json_add (list, pair_json (s, pair[i]));
    return list;
}

static int write_json (const struct sides *of,
                       const struct series_comparison *c, FILE *fp,
                       struct error *err)
{
    json_t *members = json_pack (
        "{s:s, s:I, s:o, s:o, s:o, s:o}", "stat", series_stat_name (c->stat),
        "pairs", (json_int_t)c->n, "deviation_ns",
        deviation_json (of->s[0], &c->ns), "relative",
        deviation_json (of->s[0], &c->relative), "only_a",
        only_json (of->s[0], c->only[0], c->nonly[0]), "only_b",
        only_json (of->s[1], c->only[1], c->nonly[1]));

    return json_write_file ("comparison", NULL, members, fp, err);
}

static void print_row (const char *what, double ns, double relative, FILE *fp)
{
    fprintf (fp, "%-26s %+14.3f ns", what, ns);
    if (!isnan (relative))
        fprintf (fp, " %+10.3f %%", 100 * relative);
    fprintf (fp, "\n");
}

static void print_deviations (const struct sides *of,
                              const struct series_comparison *c, FILE *fp)
{
    const struct series_process *process = of->s[0]->process;
    const struct series_pair *at = c->ns.at;

    print_row ("mean deviation", c->ns.mean, c->relative.mean, fp);
    print_row ("mean absolute deviation", c->ns.absolute,
               c->relative.absolute, fp);
    print_row ("quadratic mean deviation", c->ns.quadratic,
               c->relative.quadratic, fp);
    print_row ("maximum deviation", c->ns.max, c->relative.max, fp);
    fprintf (fp, "    in ns: %s %s, %ju bytes\n", process[at->a].label,
             process[at->b].label, (uintmax_t)at->length);
    if ((at = c->relative.at))
        fprintf (fp, "    in %%: %s %s, %ju bytes\n", process[at->a].label,
                 process[at->b].label, (uintmax_t)at->length);
}

static void print_name (const struct sides *of, int which, FILE *fp)
{
    fputs (SHOWN (of->name[which]), fp);
    if (of->run[which] > 0)
        fprintf (fp, " (run %d)", of->run[which]);
}

/* If each series has one length, they are compared even if the lengths differ.
 */
static void print_lengths (const struct sides *of, FILE *fp)
{
    const struct series *x = of->s[0];
    const struct series *y = of->s[1];

    if (x->nlengths == 1 && y->nlengths == 1 && x->length[0] != y->length[0])
        fprintf (fp, "by messages of %ju bytes, and of %ju\n",
                 (uintmax_t)x->length[0], (uintmax_t)y->length[0]);
}

static void print_only (const struct sides *of,
                        const struct series_comparison *c, int which,
                        FILE *fp)
{
    const struct series *s = of->s[which];
    size_t n = c->nonly[which];

    if (n == 0)
        return;
    fprintf (fp, "only in ");
    print_name (of, which, fp);
    fprintf (fp, ": %zu\n", n);
    for (size_t i = 0; i < n && i < LISTED; i++) {
        const struct series_pair *p = c->only[which][i];

        fprintf (fp, "    %s %s, %ju bytes\n", s->process[p->a].label,
                 s->process[p->b].label, (uintmax_t)p->length);
    }
    if (n > LISTED)
        fprintf (fp, "    and %zu more\n", n - LISTED);
}

static void print (const struct sides *of, const struct series_comparison *c,
                   FILE *fp)
{
    print_name (of, 0, fp);
    fprintf (fp, " to ");
    print_name (of, 1, fp);
    fprintf (fp, ": the %s of %s in both\n", series_stat_name (c->stat),
             COUNTED (c->n, "pair"));
    print_lengths (of, fp);
    if (c->n > 0)
        print_deviations (of, c, fp);
    print_only (of, c, 0, fp);
    print_only (of, c, 1, fp);
}

static const struct series *nth (const struct series_list *list, int n,
                                 const char *name, struct error *err)
{
    if (n < 1 || (size_t)n > list->n) {
        error_input (err, "%.200s has no run %d", name, n);
        return NULL;
    }
    return list->run[n - 1];
}

/* Without any pair in common, the result is unknown. */
static int status_of (const struct series_comparison *c, double within)
{
    if (c->n == 0)
        return EXIT_WORLD;
    if (within >= 0
        && (c->boundless || 100 * fabs (c->relative.max) > within))
        return EXIT_FAIL;
    return EXIT_OK;
}

static int compare (struct inputs *in, struct sides *of,
                    const struct series_list *const list[2],
                    struct error *err)
{
    struct series_comparison c;
    int status = -1;
    FILE *fp;

    for (int i = 0; i < 2; i++) {
        if (!(of->s[i] = nth (list[i], given.run[i], of->name[i], err)))
            return -1;
        of->run[i] = list[i]->n > 1 ? given.run[i] : 0;
    }
    if (series_compare (&c, of->s[0], of->s[1], given.stat, err) < 0)
        return -1;
    if ((fp = inputs_output (in, err))) {
        status = status_of (&c, given.within);
        if (!in->json)
            print (of, &c, fp);
        else if (write_json (of, &c, fp, err) < 0)
            status = -1;
    }
    comparison_clear (&c);
    return status;
}

static int run (struct inputs *in, struct error *err)
{
    bool alone = in->noperands == 1;
    struct series_list a = { 0 }, b = { 0 };
    struct sides of = { .name = { in->operand[0],
                                  in->operand[in->noperands - 1] } };
    int status = -1;

    if (given.run[1] == 0)
        given.run[1] = alone ? 2 : 1;
    if (inputs_series (&a, of.name[0], err) == 0
        && (alone || inputs_series (&b, of.name[1], err) == 0))
        status = compare (in, &of,
                          (const struct series_list *const[]){
                              &a, alone ? &a : &b },
                          err);
    series_list_clear (&a);
    series_list_clear (&b);
    return status;
}

const struct verb verb_compare = {
    .name = "compare",
    .help = "by how much two series or solutions deviate",
    .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "A [B]",
    .min = 1,
    .max = 2,
    .options = options,
    .given = &given,
    .run = run,
};
