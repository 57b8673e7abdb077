/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm series: what tests of pairs and topologies measured, in other formats. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/line.h"
#include "compare/series/save.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "util/text.h"

struct options {
    struct series_save to;
    const char *fabric, *lengths;
    int stat, own_time, run;
};

enum { OWN_NONE = -1, ALL_RUNS = -1 };

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
    };

    for (int i = 0; i <= OWN_STORE_AND_FORWARD; i++)
        if (!strcmp (value, names[i])) {
            *(int *)field = i;
            return 0;
        }
    return error_input (err, "'%.40s' is none of cut-through, "
                             "store-and-forward", value);
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "format", 0, "NAME", set_format, FIELD (to.format),
      SERIES_FORMATS "; table is the default" },
    { "stat", 0, "NAME", inputs_stat, FIELD (stat),
      "that tables speak of: min, p25, median (default), mean, ..." },
    { "lengths", 0, "LIST", opt_string, FIELD (lengths),
      "no others than these: bytes, also 64k, with commas between" },
    { "run", 0, "N", opt_int, FIELD (run), "only the N-th of all runs" },
    { "own-time", 0, "NAME", set_own_time, FIELD (own_time),
      "less the message's time on the wire: cut-through, store-and-forward" },
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot, for --own-time" },
    { "output", 'o', "FILE", opt_string, FIELD (to.path),
      "write here, not to standard output; of parus, the files' prefix" },
    { "append", 0, NULL, opt_true, FIELD (to.append),
      "behind what FILE holds already" },
    { 0 },
};
#undef FIELD

/* All runs of all files into one list. */
static int load (struct series_list *all, char **path, int n,
                 struct error *err)
{
    for (int i = 0; i < n; i++) {
        struct series_list list;

        if (inputs_series (&list, path[i], err) < 0)
            return -1;
        for (size_t k = 0; k < list.n; k++) {
            if (series_list_add (all, list.run[k], err) < 0) {
                series_list_clear (&list);
                return -1;
            }
            list.run[k] = NULL;
        }
        series_list_clear (&list);
    }
    return 0;
}

static int select_run (struct series_list *list, int run, struct error *err)
{
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

static int keep_lengths (struct series_list *list, const char *text,
                         struct error *err)
{
    uint64_t *v;
    size_t n = 0;
    int rc = -1;

    if (!text)
        return 0;
    if (!(v = calloc (strlen (text) + 1, sizeof (*v))))
        return error_nomem (err);
    do {
        char word[24];
        size_t len = strcspn (text, ",");

        snprintf (word, sizeof (word), "%.*s", (int)len, text);
        if (len >= sizeof (word) || text_bytes (word, INT64_MAX, &v[n]) < 0) {
            error_input (err, "--lengths: '%.40s' is no number of bytes",
                         text);
            goto done;
        }
        if (!is_there (list, v[n])) {
            error_input (err, "--lengths: nothing was measured by messages "
                              "of %ju bytes", (uintmax_t)v[n]);
            goto done;
        }
        n++;
        text += len;
    } while (*text++);
    for (size_t i = 0; i < list->n; i++)
        series_keep (list->run[i], v, n);
    rc = 0;
done:
    free (v);
    return rc;
}

/* Behind a host's name a label has a core, with MPI, or else a rail. */
static int find_endpoint (const struct fabric *f, const struct series *s,
                          const struct series_process *p, uint32_t *end,
                          struct error *err)
{
    *end = FABRIC_NONE;
    if (strcmp (s->transport, "mpi"))
        *end = fabric_find_end (f, p->label);
    if (*end == FABRIC_NONE)
        *end = fabric_find_end (f, p->host);
    if (*end == FABRIC_NONE)
        return error_input (err, "not in the fabric: %.80s", p->label);
    return 0;
}

static int less_own_time (struct series *s, const struct fabric *f,
                          enum own_time how, struct error *err)
{
    uint32_t *end = calloc (s->nprocesses + 1, sizeof (*end));
    int rc = -1;

    if (!end)
        return error_nomem (err);
    if (s->fabric[0] && strcmp (s->fabric, f->hash)) {
        error_input (err, "measured on another fabric, or on this one before "
                          "it changed");
        goto done;
    }
    for (uint32_t i = 0; i < s->nprocesses; i++)
        if (find_endpoint (f, s, &s->process[i], &end[i], err) < 0)
            goto done;
    rc = series_less_own_time (s, fabric_network (f), end, how, err);
done:
    free (end);
    return rc;
}

static int correct (struct series_list *list, const struct options *o,
                    struct error *err)
{
    struct fabric *f;
    size_t runs = 0;
    int rc = 0;

    if (o->own_time == OWN_NONE)
        return 0;
    if (!o->fabric)
        return error_input (err, "--own-time needs -f FABRIC");
    if (!(f = fabric_load (o->fabric, err)))
        return -1;
    for (size_t i = 0; rc == 0 && i < list->n; i++)
        if (list->run[i]->npairs > 0) {
            rc = less_own_time (list->run[i], f, o->own_time, err);
            runs++;
        }
    if (runs == 0)
        rc = error_input (err, "--own-time is that of pairs: there are none");
    fabric_destroy (f);
    return rc;
}

int verb_series (int argc, char **argv)
{
    struct options o = {
        .to = { .format = "table" },
        .stat = SERIES_MEDIAN,
        .own_time = OWN_NONE,
        .run = ALL_RUNS,
    };
    struct series_list list = { 0 };
    struct error err;
    int operand;
    int status;

    operand = options_parse (table, &o, argc, argv, "FILE...", 1, argc,
                             &status);
    if (operand < 0)
        return status;
    status = EXIT_OK;
    o.to.stat = o.stat;
    if (load (&list, argv + operand, argc - operand, &err) < 0
        || select_run (&list, o.run, &err) < 0
        || keep_lengths (&list, o.lengths, &err) < 0
        || correct (&list, &o, &err) < 0
        || series_save (&list, &o.to, &err) < 0)
        status = fail (argv[0], &err);
    series_list_clear (&list);
    return status;
}
