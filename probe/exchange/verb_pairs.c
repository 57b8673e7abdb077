/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "pairs". */
#include "config.h"
#include "probe/exchange/program.h"

#include <stdlib.h>
#include <string.h>

#include "compare/pattern/pattern.h"
#include "probe/exchange/exchange.h"
#include "probe/exchange/pairs.h"
#include "probe/exchange/told.h"
#include "probe/exchange/worst.h"
#include "util/file.h"

enum { NAME_MAX_BYTES = 40, RETEST_MAX = 1 << 20 };

static const uint64_t no_bytes[] = { 0 };

/* Lengths that were asked for, else none but zero. */
static struct lengths lengths_of (const struct exchange_args *a)
{
    return a->length.n > 0 ? a->length
                           : (struct lengths){ (uint64_t *)no_bytes, 1 };
}

/* The plan of pattern pmm, at process 0, and the fabric that it is for. */
static struct plan *get_plan (const struct exchange_session *x, char *fabric,
                              struct error *err)
{
    const char *path = x->args->plan;
    struct plan *plan = NULL;
    FILE *fp;

    if (path) {
        if ((fp = file_open_input (path, err)))
            plan = told_read (&x->party, fp, path, fabric, err);
        file_close_input (fp);
        return plan;
    }
    if (x->program->plan)
        return x->program->plan (x->program->data, fabric, err);
    error_input (err, "pattern pmm needs a --plan");
    return NULL;
}

/* A pattern, and the plan that it is of, if any, whose method is its name. */
struct schedule {
    const char *name;
    struct pattern *pattern;
    struct plan *plan;
    char fabric[PLAN_FABRIC]; /* at process 0; "": not known */
};

static void schedule_clear (struct schedule *s)
{
    pattern_destroy (s->pattern);
    plan_destroy (s->plan);
}

static int schedule_plan (const struct exchange_session *x,
                          struct schedule *s, struct error *err)
{
    const struct party *p = &x->party;
    struct plan *plan = p->me == 0 ? get_plan (x, s->fabric, err) : NULL;
    struct error why; /* of who has no plan is known */

    if (plan)
        s->name = plan_method (plan);
    s->plan = told_plan (p, plan, p->me == 0 && !plan ? &why : err);
    if (s->plan)
        s->pattern = told_pattern (s->plan, p->n, err);
    plan_destroy (plan);
    return s->pattern ? 0 : -1;
}

static int schedule_find (const struct exchange_session *x, const char *name,
                          struct schedule *s, struct error *err)
{
    struct pattern_options opts = { x->args->seed, x->args->shuffle };

    *s = (struct schedule){ .name = name };
    if (!strcmp (name, "pmm"))
        return schedule_plan (x, s, err);
    s->pattern = pattern_create ((enum pattern_kind)pattern_find (name),
                                 x->party.n, x->host, &opts, err);
    return s->pattern ? 0 : -1;
}

/* Measure the worst pairs of a run again, alone, and print both. */
static int retest (struct exchange_session *x, const char *name,
                   const struct comm_exchange *ex, const struct series *s,
                   struct error *err)
{
    static const char *const what[] = { "first, us", "again, us" };
    struct lengths l = lengths_of (x->args);
    int max = x->args->retest < RETEST_MAX ? x->args->retest : RETEST_MAX;
    struct probe *pair = s ? calloc ((size_t)max, sizeof (*pair)) : NULL;
    struct error why;
    int n = pair ? worst_pairs (s, pair, max, err) : 0;
    struct pattern *pattern
        = told_pairs (&x->party, pair, n > 0 ? (size_t)n : 0,
                      n < 0 ? &why : err);
    char word[NAME_MAX_BYTES + sizeof (SERIES_AGAIN)];
    struct series *again;
    int rc = -1;

    snprintf (word, sizeof (word), "%s" SERIES_AGAIN, name);
    if (pattern
        && session_series (x, s ? s->test : SERIES_ONE_TO_ONE, word, ex->name,
                           &again, err) == 0)
        rc = pairs_run (&x->party, pattern, ex, l.v, l.n, &x->args->how,
                        false, again, err);
    if (rc == 0)
        rc = session_beside (x, s, again, what, err);
    pattern_destroy (pattern);
    free (pair);
    return rc;
}

static int run_all (struct exchange_session *x, const char *name,
                    struct error *err)
{
    struct lengths l = lengths_of (x->args);
    struct series *s;

    return session_series (x, SERIES_ALL_TO_ALL, name, "async", &s, err) < 0
               ? -1
               : pairs_run_all (&x->party, l.v, l.n, &x->args->how, s, err);
}

static int run_pattern (struct exchange_session *x, const char *name,
                        const struct comm_exchange *ex, struct error *err)
{
    struct lengths l = lengths_of (x->args);
    struct schedule schedule;
    struct series *s;
    int rc;

    if (!strcmp (name, pattern_name (PATTERN_ALL_TO_ALL)))
        return run_all (x, name, err);
    rc = schedule_find (x, name, &schedule, err);
    if (rc == 0)
        rc = session_series (x, ex->both_ways ? SERIES_ASYNC_ONE_TO_ONE
                                              : SERIES_ONE_TO_ONE,
                             schedule.name, ex->name, &s, err);
    if (rc == 0 && s)
        snprintf (s->fabric, sizeof (s->fabric), "%s", schedule.fabric);
    if (rc == 0)
        rc = pairs_run (&x->party, schedule.pattern, ex, l.v, l.n,
                        &x->args->how, schedule.plan != NULL, s, err);
    if (rc == 0 && x->args->retest > 0)
        rc = retest (x, schedule.name, ex, s, err);
    schedule_clear (&schedule);
    return rc;
}

static int run (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    const struct comm_exchange *ex
        = exchange_find (x->party.comm,
                         a->exchange ? a->exchange : "round-trip", err);
    const char *list = a->pattern ? a->pattern : a->plan ? "pmm"
                                                         : "one-factor";
    struct lengths l = lengths_of (a);
    char name[NAME_MAX_BYTES];

    if (!ex
        || x->party.comm->reserve (x->party.c, l.v[l.n - 1], err) < 0)
        return -1;
    while (args_next (&list, name, sizeof (name)))
        if (run_pattern (x, name, ex, err) < 0)
            return -1;
    return 0;
}

const struct exchange_test exchange_pairs = {
    .name = "pairs",
    .help = "messages between pairs of processes, by any pattern",
    .options = args_pairs,
    .run = run,
};
