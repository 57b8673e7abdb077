/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/program.h"

#include <stdlib.h>
#include <string.h>

#include "probe/exchange/beside.h"

static const struct exchange_test *const everywhere[] = {
    &exchange_pairs,
    &exchange_topology,
    &exchange_noise,
};

enum { EVERYWHERE = sizeof (everywhere) / sizeof (everywhere[0]) };

const struct exchange_test *
exchange_test_find (const struct exchange_program *program, const char *name)
{
    for (int i = 0; i < EVERYWHERE; i++)
        if (!strcmp (everywhere[i]->name, name))
            return everywhere[i];
    for (const struct exchange_test *t = program->tests; t && t->name; t++)
        if (!strcmp (t->name, name))
            return t;
    return NULL;
}

enum { GROUPS = 5 };

/* The tables of a test, its own first. */
static void list_options (const struct exchange_program *program,
                          const struct exchange_test *test,
                          struct exchange_args *args,
                          struct opt_group group[GROUPS])
{
    int n = 0;

    if (test->options)
        group[n++] = (struct opt_group){ test->options,
                                         test->data ? test->data : args };
    group[n++] = (struct opt_group){ args_common, args };
    if (!test->no_series)
        group[n++] = (struct opt_group){ args_series, args };
    if (program->options)
        group[n++] = (struct opt_group){ program->options, program->data };
    group[n] = (struct opt_group){ NULL, NULL };
}

int exchange_parse (const struct exchange_program *program, int argc,
                    char **argv, struct exchange_args *args,
                    struct error *err)
{
    struct opt_group group[GROUPS];
    int first;

    args_init (args);
    list_options (program, exchange_test_find (program, argv[0]), args,
                  group);
    first = options_get (group, argc, argv, err);
    if (first < 0)
        return first;
    if (first < argc)
        return error_input (err, "'%.80s' is no option", argv[first]);
    return args_check (args, err);
}

void exchange_help (const struct exchange_program *program,
                    const struct exchange_test *test, FILE *fp)
{
    struct opt_group group[GROUPS];

    fprintf (fp, "Usage: %s %s [OPTION]...\n%s\n\n", program->name,
             test->name, test->help);
    list_options (program, test, NULL, group);
    options_help (group, fp);
}

int session_series (struct exchange_session *x, enum series_test test,
                    const char *pattern, const char *exchange,
                    struct series **series, struct error *err)
{
    const struct party *p = &x->party;
    const struct exchange_args *a = x->args;
    struct series *s;
    int rc;

    *series = NULL;
    if (p->me != 0)
        return 0;
    if (!(s = series_create (test)))
        return error_nomem (err);
    snprintf (s->pattern, sizeof (s->pattern), "%s", pattern);
    snprintf (s->exchange, sizeof (s->exchange), "%s", exchange);
    snprintf (s->transport, sizeof (s->transport), "%s", p->comm->name);
    s->seed = a->seed;
    s->repeats = a->how.repeats;
    for (uint32_t i = 0; i < p->n; i++)
        if (series_add_process (s, p->comm->label (p->c, i),
                                p->comm->host (p->c, i), err) < 0) {
            series_destroy (s);
            return -1;
        }
    keep_lock (p->keep);
    rc = series_list_add (&x->runs, s, err);
    keep_unlock (p->keep);
    if (rc < 0)
        series_destroy (s);
    else
        *series = s;
    return rc;
}

struct beside {
    const struct series *a, *b;
    const char *const *what;
};

int session_beside (struct exchange_session *x, const struct series *a,
                    const struct series *b, const char *const what[2],
                    struct error *err)
{
    struct beside *v;

    if (x->party.me != 0)
        return 0;
    if (!(v = realloc (x->beside, (x->nbeside + 1) * sizeof (*v))))
        return error_nomem (err);
    x->beside = v;
    v[x->nbeside++] = (struct beside){ a, b, what };
    return 0;
}

static int compare_hosts (const struct party *p, uint32_t a, uint32_t b)
{
    return strcmp (p->comm->host (p->c, a), p->comm->host (p->c, b));
}

static int compare_processes (const void *va, const void *vb, void *party)
{
    uint32_t a = *(const uint32_t *)va;
    uint32_t b = *(const uint32_t *)vb;
    int order = compare_hosts (party, a, b);

    return order ? order : (a > b) - (a < b);
}

/* Sort the processes by their hosts, and number these. */
static int number_hosts (struct exchange_session *x, struct error *err)
{
    struct party *p = &x->party;
    uint32_t first = 0;

    x->by_host = calloc (p->n, sizeof (*x->by_host));
    x->host = calloc (p->n, sizeof (*x->host));
    if (!x->by_host || !x->host)
        return error_nomem (err);
    for (uint32_t i = 0; i < p->n; i++)
        x->by_host[i] = i;
    qsort_r (x->by_host, p->n, sizeof (*x->by_host), compare_processes, p);
    for (uint32_t i = 0; i < p->n; i++) {
        if (i == 0 || compare_hosts (p, x->by_host[i - 1], x->by_host[i]))
            first = x->by_host[i];
        x->host[x->by_host[i]] = first;
    }
    p->by_host = x->by_host;
    return 0;
}

/* For people. */
static int print (const struct exchange_session *x, struct error *err)
{
    struct series_save to = { .stat = x->args->stat, .format = "table" };

    if (series_save (&x->runs, &to, err) < 0)
        return -1;
    for (size_t i = 0; i < x->nbeside; i++)
        beside_write (x->beside[i].a, x->beside[i].b, x->beside[i].what,
                      x->args->stat, stdout);
    if (fflush (stdout) == EOF)
        return error_errno (err, "standard output");
    return 0;
}

/* Leave the runs where they are wanted. */
static int save (const struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    struct series_save to = { .path = a->output, .stat = a->stat,
                              .append = a->append,
                              .format = a->format ? a->format : "json" };

    if (x->runs.n == 0)
        return 0;
    if ((a->output || a->format) && series_save (&x->runs, &to, err) < 0) {
        print (x, NULL); /* of what was measured at least that is left */
        return -1;
    }
    return a->output || !a->format ? print (x, err) : 0;
}

/* Of a run that comes to no good end what there is is kept. */
static void give_up (void *arg)
{
    struct exchange_session *x = arg;

    for (size_t i = 0; i < x->runs.n; i++) {
        struct series *s = x->runs.run[i];

        if (s->steps > 0)
            continue; /* it was over */
        s->complete = false;
        series_sort (s, NULL);
    }
    x->nbeside = 0;
    save (x, NULL);
}

static bool is_complete (const struct series_list *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (!runs->run[i]->complete)
            return false;
    return true;
}

int exchange_run (const struct exchange_program *program,
                  const struct exchange_test *test,
                  const struct exchange_args *args, const struct comm *comm,
                  void *c, struct error *err)
{
    struct exchange_session x = {
        .program = program,
        .args = args,
        .party = { .comm = comm, .c = c, .me = comm->rank (c),
                   .n = comm->size (c) },
    };
    FILE *terminal = x.party.me == 0 ? stderr : NULL;
    int rc = -1;

    x.party.progress = progress_begin (terminal, "pmm: step");
    if (number_hosts (&x, err) < 0
        || (x.party.me == 0
            && !(x.party.keep = keep_start (give_up, &x, err))))
        goto error;
    rc = test->run (&x, err);
    progress_end (&x.party.progress);
    keep_over (x.party.keep);
    if (rc < 0)
        give_up (&x);
    else if (x.party.me == 0
             && (save (&x, err) < 0
                 || (program->after
                     && program->after (program->data, &x, err) < 0)))
        rc = -1;
    keep_stop (x.party.keep);
    if (rc == 0 && !is_complete (&x.runs))
        rc = ERROR_WORLD;
error:
    series_list_clear (&x.runs);
    free (x.beside);
    free (x.by_host);
    free (x.host);
    return rc;
}
