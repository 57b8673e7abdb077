/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm series: results of tests of pairs and topologies, in other formats. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/line.h"
#include "compare/series/formats.h"
#include "pmm/verb.h"
#include "util/alloc.h"

enum { OWN_NONE = -1, ALL_RUNS = -1 };

static struct series_words {
    struct series_save to;
    const char *lengths;
    int stat, own_time, run;
} given = {
    .to = { .format = "table" },
    .stat = SERIES_MEDIAN,
    .own_time = OWN_NONE,
    .run = ALL_RUNS,
};

static int set_format (void *field, const char *value, struct error *err)
{
    if (!series_format_known (value))
        return error_input (err, "'%.40s' is none of " SERIES_FORMATS, value);
    *(const char **)field = value;
    return 0;
}

static int set_own_time (void *field, const char *value, struct error *err)
{
    static const char *const names[] = {
        [OWN_CUT_THROUGH] = "cut-through",
        [OWN_STORE_AND_FORWARD] = "store-and-forward",
        NULL,
    };

    return (*(int *)field = FIND_ROW (names, value, err)) < 0 ? -1 : 0;
}

#define FIELD(name) offsetof (struct series_words, name)
static const struct opt options[] = {
    { "format", 0, "NAME", set_format, FIELD (to.format),
      SERIES_FORMATS " (default: table); of parus, -o is a prefix" },
    { "stat", 0, "NAME", inputs_stat, FIELD (stat),
      "that tables speak of: min, p25, median, ... (default: median)" },
    { "lengths", 0, "LIST", opt_string, FIELD (lengths),
      "no others than these: bytes, also 64k, with commas between" },
    { "run", 0, "N", opt_int, FIELD (run), "only the N-th of all runs" },
    { "own-time", 0, "NAME", set_own_time, FIELD (own_time),
      "less the message's time on the wire: cut-through, store-and-forward" },
    { "append", 0, NULL, opt_true, FIELD (to.append),
      "behind what FILE holds already" },
    { 0 },
};

/* Load all runs of all files into one list. */
static int load (struct series_list *all, const struct inputs *in,
                 struct error *err)
{
    int rc = 0;

    for (int i = 0; i < in->noperands && rc == 0; i++) {
        struct series_list list;

        rc = inputs_series (&list, in->operand[i], err);
        for (size_t k = 0; k < list.n && rc == 0; k++) {
            rc = series_list_add (all, list.run[k], err);
            if (rc == 0)
                list.run[k] = NULL;
        }
        series_list_clear (&list);
    }
    return rc;
}

static int select_run (struct series_list *list, struct error *err)
{
    int run = given.run;

    if (run == ALL_RUNS)
        return 0;
    if (run == 0 || (size_t)run > list->n)
        return error_input (err, "--run: there is no run %d of %zu", run,
                            list->n);
    for (size_t i = 0; i < list->n; i++)
        if (i + 1 != (size_t)run)
            series_destroy (list->run[i]);
    list->run[0] = list->run[run - 1];
    list->n = 1;
    return 0;
}

static bool is_there (const struct series_list *list, uint64_t length)
{
    for (size_t i = 0; i < list->n; i++)
        for (size_t k = 0; k < list->run[i]->nlengths; k++)
            if (list->run[i]->length[k] == length)
                return true;
    return false;
}

static int keep_lengths (struct series_list *list, struct error *err)
{
    const char *text = given.lengths;
    uint64_t *v;
    size_t n = 0;
    int rc = 0;

    if (!text)
        return 0;
    v = xarray (strlen (text) + 1, sizeof (*v));
    do {
        char word[24];
        size_t len = strcspn (text, ",");

        snprintf (word, sizeof (word), "%.*s", (int)len, text);
        if (len >= sizeof (word) || text_bytes (word, INT64_MAX, &v[n]) < 0)
            rc = error_input (err, "--lengths: '%.40s' is no number of bytes",
                              text);
        else if (!is_there (list, v[n]))
            rc = error_input (err, "--lengths: nothing was measured by "
                                   "messages of %ju bytes", (uintmax_t)v[n]);
        n++;
        text += len;
    } while (rc == 0 && *text++);
    for (size_t i = 0; i < list->n && rc == 0; i++)
        series_keep (list->run[i], v, n);
    free (v);
    return rc;
}

/* Subtract the time of messages on the wire. */
static int less_own_time (struct series *s, const struct fabric *f,
                          struct error *err)
{
    uint32_t *end;
    int rc = 0;

    if (s->fabric[0] && strcmp (s->fabric, f->hash))
        return error_input (err, "measured on another fabric, or on this one "
                                 "before it changed");
    end = xarray (s->nprocesses, sizeof (*end));
    for (uint32_t i = 0; rc == 0 && i < s->nprocesses; i++) {
        const struct series_process *p = &s->process[i];

        /* after the host's name, a label has the core (with MPI), or else the
         * rail
         */
        end[i] = strcmp (s->transport, "mpi") ? fabric_find_end (f, p->label)
                                              : FABRIC_NONE;
        if (end[i] == FABRIC_NONE)
            end[i] = fabric_find_end (f, p->host);
        if (end[i] == FABRIC_NONE)
            rc = error_input (err, "not in the fabric: %.80s", p->label);
    }
    if (rc == 0)
        rc = series_less_own_time (s, fabric_network (f), end, given.own_time,
                                   err);
    free (end);
    return rc;
}

static int correct (struct series_list *list, struct inputs *in,
                    struct error *err)
{
    size_t runs = 0;

    if (given.own_time == OWN_NONE)
        return 0;
    if (inputs_fabric (in, err) < 0)
        return -1;
    for (size_t i = 0; i < list->n; i++) {
        if (list->run[i]->npairs == 0)
            continue;
        runs++;
        if (less_own_time (list->run[i], in->fabric, err) < 0)
            return -1;
    }
    return runs > 0 ? 0 : error_input (err, "--own-time is that of pairs: there"
                                            " are none");
}

static int run (struct inputs *in, struct error *err)
{
    struct series_list list = { 0 };
    int rc = -1;

    given.to.path = in->output;
    given.to.stat = given.stat;
    if (load (&list, in, err) == 0 && select_run (&list, err) == 0
        && keep_lengths (&list, err) == 0 && correct (&list, in, err) == 0)
        rc = series_save (&list, &given.to, err);
    series_list_clear (&list);
    return rc;
}

const struct verb verb_series = {
    .name = "series", .help = "what tests of pairs measured, as tables, fits",
    .may = TAKES_FABRIC | TAKES_OUTPUT, .operands = "FILE...", .min = 1,
    .max = -1,
    .options = options, .given = &given, .run = run,
};
