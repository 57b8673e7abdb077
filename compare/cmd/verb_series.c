/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare series: what tests of pairs and topologies measured, in other
 * formats.
 */
#include "config.h"

#include <string.h>

#include "compare/series/formats.h"
#include "compare/cmd/cmd.h"
#include "util/terminal.h"

enum { OWN_NONE = -1, ALL_RUNS = -1 };

static struct series_words {
    struct series_save to;
    const char *lengths;
    int stat, own_time, run;
} given = {
    .to = { .format = "table" }, .stat = SERIES_MEDIAN, .own_time = OWN_NONE,
    .run = ALL_RUNS,
};

static const char *const own_times[] = {
    [OWN_CUT_THROUGH] = "cut-through",
    [OWN_STORE_AND_FORWARD] = "store-and-forward",
    NULL,
};

#define FIELD(name) offsetof (struct series_words, name)
static const struct opt options[] = {
    { "format", 0, "table|rates|fit|csv|parus", opt_string, FIELD (to.format),
      "format of the output; with parus, -o is a prefix (default: table)" },
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of the repeats in tables (default: median)",
      OPT_ROWS (series_stat_names) },
    { "lengths", 0, "LIST", opt_string, FIELD (lengths),
      "keep only messages of these lengths: bytes, also 64k, separated by "
      "commas" },
    { "run", 0, "N", opt_int, FIELD (run), "keep only run N" },
    { "own-time", 0, "NAME", NULL, FIELD (own_time),
      "subtract a message's own time on the wire",
      OPT_ROWS (own_times) },
    { "append", 0, NULL, opt_true, FIELD (to.append),
      "append to the output" },
    { 0 },
};
static const struct opt_rule rules[] = {
    { "json", OPT_EXCLUDES, "format" },
    { "append format=parus", OPT_NEEDS, "output" },
    { "append", OPT_EXCLUDES, "format=parus" },
    { 0 },
};

/* Load all runs of all files into one list; of these, only --run. */
static struct series_list load_series_runs (const struct inputs *in)
{
    struct series_list all = { 0 };
    size_t run = (size_t)given.run;

    for (int i = 0; i < in->noperands; i++) {
        struct series_list list = inputs_series (in->operand[i]);

        for (size_t k = 0; k < list.n; k++) {
            need_ok (series_list_add (&all, list.run[k], &fault));
            list.run[k] = NULL;
        }
        series_list_clear (&list);
    }
    if (given.run == ALL_RUNS)
        return all;
    if (run == 0 || run > all.n)
        die_input ("--run: there is no run %zu of %zu", run, all.n);
    for (size_t i = 0; i < all.n; i++)
        if (i + 1 != run)
            series_destroy (all.run[i]);
    all.run[0] = all.run[run - 1];
    all.n = 1;
    return all;
}

static bool has_length (const struct series_list *list, uint64_t length)
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < list->run[i]->nlengths; k++)
            if (list->run[i]->length[k] == length)
                return true;
    return false;
}

static void keep_lengths (struct series_list *list, const char *text)
{
    uint64_t *v = verb_array (strlen (text) + 1, sizeof (*v));
    size_t n = 0;

    do {
        char word[24];
        size_t len = strcspn (text, ",");

        snprintf (word, sizeof (word), "%.*s", (int)len, text);
        if (len >= sizeof (word) || text_bytes (word, INT64_MAX, &v[n]) < 0)
            die_input ("--lengths: '%.40s' is not a number of bytes", text);
        if (!has_length (list, v[n]))
            die_input ("--lengths: nothing was measured by messages of %ju "
                       "bytes", (uintmax_t)v[n]);
        n++;
        text += len;
    } while (*text++);
    for (size_t i = 0; i < list->n; i++)
        series_keep (list->run[i], v, n);
}

/* Subtract the time of messages on the wire. */
static void subtract_wire_time (struct series *s, const struct fabric *f)
{
    uint32_t *end = verb_array (s->nprocesses, sizeof (*end));

    if (s->fabric[0] && strcmp (s->fabric, f->hash))
        die_input ("measured on another fabric, or on this one before it "
                   "changed");
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        const struct series_process *p = &s->process[i];

        /* after the host's name, a label has the core (with MPI), or else the
         * rail
         */
        end[i] = strcmp (s->transport, "mpi") ? fabric_find_end (f, p->label)
                                              : FABRIC_NONE;
        if (end[i] == FABRIC_NONE)
            end[i] = fabric_find_end (f, p->host);
        if (end[i] == FABRIC_NONE)
            die_input ("not in the fabric: %.80s", p->label);
    }
    need_ok (series_less_own_time (s, fabric_network (f), end, given.own_time,
                                   &fault));
}

static int run_series (struct inputs *in)
{
    struct series_list list = load_series_runs (in);
    size_t corrected = 0;

    if (given.lengths)
        keep_lengths (&list, given.lengths);
    if (given.own_time != OWN_NONE) {
        inputs_fabric (in);
        for (size_t i = 0; i < list.n; i++)
            if (list.run[i]->npairs > 0) {
                subtract_wire_time (list.run[i], in->fabric);
                corrected++;
            }
        if (corrected == 0)
            die_input ("--own-time is that of pairs: there are none");
    }
    if (in->json)
        given.to.format = "json";
    given.to.path = in->output;
    given.to.stat = given.stat;
    if (in->output)
        terminal_work ("writing", 0, 0);
    need_ok (series_save (&list, &given.to, &fault));
    series_list_clear (&list);
    return EXIT_OK;
}

const struct verb verb_series = {
    .name = "series",
    .help = "write what tests of pairs measured as tables, fits or matrices",
    .may = TAKES_FABRIC | TAKES_JSON | TAKES_OUTPUT,
    .operands = "FILE...", .min = 1, .max = -1,
    .options = options, .rules = rules, .given = &given, .run = run_series,
};
