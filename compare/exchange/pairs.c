/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "pairs".
 *
 * Notes: process 0 tells all a plan by three words for each probe: round, and
 * the two processes; pairs have no round.
 */
#include "config.h"
#include "compare/exchange/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/file.h"
#include "util/map.h"
#include "util/sort.h"

enum { GATHER_STEPS = 64, NAME_MAX_BYTES = 256, RETEST_MAX = 1 << 20 };

/*
 * Measuring
 */

int pairs_finish (const struct party *p, int64_t start, uint64_t steps,
                  uint64_t probes, struct series *s, struct error *err)
{
    int rc;

    if (!s)
        return 0;
    party_lock (p);
    s->steps = steps;
    s->probes = probes;
    s->seconds = (double)(p->comm->now_ns (p->c) - start) / 1e9;
    rc = series_sort (s, err);
    party_unlock (p);
    return rc;
}

int pairs_run (struct party *p, const struct pattern *pattern,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               bool again_and_again, struct series *s, struct error *err)
{
    uint64_t steps = pattern_steps (pattern);
    struct probe *pair = xarray (pattern_width (pattern), sizeof (*pair));
    struct results *r = results_create (p->n, false);
    int64_t start = p->comm->now_ns (p->c);
    uint64_t probes = 0;
    int rc = -1;

    for (size_t k = 0; k < nlengths; k++) {
        probes = 0;
        for (uint64_t i = 0; i < steps; i++) {
            uint32_t n = pattern_step (pattern, i, pair);

            if (measure_step (p, ex, pair, n, length[k], how, r, err) < 0)
                goto error;
            probes += n;
            progress_show (&p->progress, k * steps + i + 1, nlengths * steps);
            if ((i + 1 == steps
                 || (!again_and_again && (i + 1) % GATHER_STEPS == 0))
                && results_collect (r, p, length[k], s, err) < 0)
                goto error;
        }
    }
    rc = pairs_finish (p, start, steps, probes, s, err);
error:
    progress_hide (&p->progress);
    results_destroy (r);
    free (pair);
    return rc;
}

/* One pass: a message from and to each process, this one first. */
static int pass_all (const struct party *p, size_t len,
                     struct comm_messages *m, struct error *err)
{
    for (uint32_t i = 0; i < p->n; i++) {
        m[2 * i] = (struct comm_messages){ .peer = (p->me + p->n - i) % p->n,
                                           .n = 1 };
        m[2 * i + 1] = (struct comm_messages){ .peer = (p->me + i) % p->n,
                                               .sends = true, .n = 1 };
    }
    return p->comm->barrier (p->c, err) < 0
               ? -1
               : p->comm->run (p->c, m, 2 * (size_t)p->n, len, err);
}

int pairs_run_all (struct party *p, const uint64_t *length, size_t nlengths,
                   const struct measure_how *how, struct series *s,
                   struct error *err)
{
    struct results *r = results_create (p->n, true);
    struct comm_messages *m = xarray (2 * (size_t)p->n, sizeof (*m));
    unsigned int passes = how->warm_up + how->repeats;
    int64_t start = p->comm->now_ns (p->c);
    int rc = -1;

    if (p->comm->reserve (p->c, length[nlengths - 1], NULL, err) < 0)
        goto error;
    for (size_t l = 0; l < nlengths; l++) {
        for (unsigned int i = 0; i < passes; i++) {
            if (pass_all (p, length[l], m, err) < 0)
                goto error;
            for (uint32_t k = 0; i >= how->warm_up && k < 2 * p->n; k += 2)
                if (m[k].lost)
                    results_add_lost (r, m[k].peer);
                else
                    results_add (r, m[k].peer, (double)m[k].ns);
            progress_show (&p->progress, l * passes + i + 1,
                           nlengths * passes);
        }
        if (results_collect (r, p, length[l], s, err) < 0)
            goto error;
    }
    rc = pairs_finish (p, start, 1, (uint64_t)p->n * p->n, s, err);
error:
    progress_hide (&p->progress);
    results_destroy (r);
    free (m);
    return rc;
}

/*
 * Process 0 sends all processes the pairs of each step
 */

/* Compare a process's host with a host whose name has len letters. */
static int compare_process_host (const struct party *p, uint32_t process,
                                 const char *name, size_t len)
{
    const char *host = p->host[process];
    int order = strncmp (host, name, len);

    return order ? order : host[len] != '\0';
}

/* In a label, ':' ends the host's name. */
uint32_t pairs_process (const struct party *p, const char *name)
{
    size_t len = strcspn (name, ":");
    uint32_t first = 0, end = p->n;

    while (first < end) {
        uint32_t mid = first + (end - first) / 2;

        if (compare_process_host (p, p->by_host[mid], name, len) < 0)
            first = mid + 1;
        else
            end = mid;
    }
    for (; end < p->n && !compare_process_host (p, p->by_host[end], name, len);
         end++)
        if (!strcmp (p->label[p->by_host[end]], name))
            return p->by_host[end];
    return end > first && name[len] == '\0' ? p->by_host[first] : p->n;
}

/* As party_tell, but it is an error if there is nothing. */
static uint32_t *broadcast_words (const struct party *p, const uint32_t *word,
                                  size_t *n, struct error *err)
{
    uint32_t *told = party_tell (p, word, n, err);

    if (!told || *n > 0)
        return told;
    error_world (err, "process 0 has nothing to measure");
    free (told);
    return NULL;
}

struct pattern *pairs_tell (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err)
{
    uint32_t *word = xarray (2 * n, sizeof (*word)), *told;
    struct pattern *pattern = NULL;
    struct probe *all;

    for (size_t i = 0; p->me == 0 && i < n; i++) {
        word[2 * i] = pair[i].a;
        word[2 * i + 1] = pair[i].b;
    }
    n = 2 * n;
    if ((told = broadcast_words (p, word, &n, err))) {
        n /= 2;
        all = xarray (n, sizeof (*all));
        for (size_t i = 0; i < n; i++)
            all[i] = (struct probe){ told[2 * i], told[2 * i + 1] };
        pattern = pattern_of_pairs (all, n, p->n, NULL, err);
        free (all);
    }
    free (word);
    free (told);
    return pattern;
}

/* All get process 0's plan between processes; others have none. NULL with err.
 */
static struct plan *tell_plan (const struct party *p, const struct plan *plan,
                               struct error *err)
{
    size_t n = 0, count;
    uint32_t *word = xarray (plan ? 3 * plan_probes (plan) : 0, sizeof (*word));
    struct plan *of = NULL;
    uint32_t *told;

    for (size_t r = 0; plan && r < plan_rounds (plan); r++) {
        const struct probe *pair = plan_round (plan, r, &count);

        for (size_t i = 0; i < count; i++) {
            word[n++] = (uint32_t)r;
            word[n++] = pair[i].a;
            word[n++] = pair[i].b;
        }
    }
    if ((told = broadcast_words (p, word, &n, err)))
        of = plan_create ("pmm");
    for (size_t i = 0; of && i + 3 <= n; i += 3)
        if (told[i] > plan_rounds (of) || told[i + 1] >= p->n
            || told[i + 2] >= p->n) {
            error_world (err, "process 0 names pairs that do not exist");
            plan_destroy (of);
            of = NULL;
        }
        else
            plan_add (of, told[i], told[i + 1], told[i + 2]);
    free (word);
    free (told);
    return of;
}

/*
 * Plans
 */

/* Find the process of an endpoint, whose name may end in a rail. */
static int find_end (const void *arg, const char *name, struct error *err)
{
    const struct party *p = arg;
    uint32_t process = pairs_process (p, name);
    char host[NAME_MAX_BYTES];

    if (process == p->n) {
        snprintf (host, sizeof (host), "%.*s", (int)strcspn (name, ":"), name);
        process = pairs_process (p, host);
    }
    return process < p->n ? (int)process
                          : error_input (err, "no process is on '%s'", name);
}

/* At process 0: get the plan of pattern pmm and the hash of its fabric. Probes
 * in a file are between endpoints: each stands for the process with this label,
 * or else for the first process of the host.
 */
static struct plan *get_plan (const struct exchange_session *x, char *fabric,
                              struct error *err)
{
    const char *path = x->args->plan;
    struct plan *plan = NULL;
    FILE *fp;

    if (path) {
        if ((fp = file_open_input (path, err)))
            plan = plan_read_probes (fp, path, find_end, &x->party, fabric,
                                     err);
        file_close_input (fp);
        return plan;
    }
    if (x->program->plan)
        return x->program->plan (x->program->data, fabric, err);
    error_input (err, "pattern pmm needs a --plan");
    return NULL;
}

/* A pattern, and its plan, if any; the plan's method is the pattern's name. */
struct pairs_schedule {
    const char *name;
    struct pattern *pattern;
    struct plan *plan;
    char fabric[PLAN_FABRIC]; /* at process 0; "": unknown */
};

/* Get process 0's plan in all processes. If there is none, err is the reason at
 * process 0; at the others it is only that there is none.
 */
static int schedule_plan (const struct exchange_session *x,
                          struct pairs_schedule *s, struct error *err)
{
    const struct party *p = &x->party;
    struct plan *plan = p->me == 0 ? get_plan (x, s->fabric, err) : NULL;
    uint32_t *process = xarray (p->n, sizeof (*process));
    struct error why;

    for (uint32_t i = 0; i < p->n; i++)
        process[i] = i;
    if (plan)
        s->name = plan_method (plan);
    s->plan = tell_plan (p, plan, p->me == 0 && !plan ? &why : err);
    if (s->plan)
        s->pattern = pattern_of_plan (s->plan, process, p->n, p->n, NULL, err);
    free (process);
    plan_destroy (plan);
    return s->pattern ? 0 : -1;
}

/*
 * The test
 */

/* Measure the pairs of the pattern `name` in a new series. */
static int run_pairs (struct exchange_session *x, enum series_test test,
                      const char *name, const struct pairs_schedule *schedule,
                      struct series **s, struct error *err)
{
    if (session_series (x, test, name, x->ex->name, s, err) < 0)
        return -1;
    if (*s)
        snprintf ((*s)->fabric, sizeof ((*s)->fabric), "%s", schedule->fabric);
    return pairs_run (&x->party, schedule->pattern, x->ex, x->length.v,
                      x->length.n, &x->args->how, schedule->plan != NULL, *s,
                      err);
}

struct bad_pair {
    uint64_t key;       /* the same for both directions */
    struct probe pair;  /* the worse one */
    double factor;      /* its median over that of all pairs */
};

static int worse_first (const void *x, const void *y)
{
    const struct bad_pair *a = x, *b = y;
    int order = util_compare (b->factor, a->factor);

    return order ? order : util_compare (a->key, b->key);
}

static bool counts_as_measured (const struct series_row *r)
{
    return series_measured (r) && r->a != r->b;
}

size_t pairs_worst (const struct series *s, struct probe *pair, size_t n)
{
    struct bad_pair *bad = xarray (s->npairs, sizeof (*bad));
    double *v = xarray (s->npairs, sizeof (*v));
    struct map known = { 0 };
    size_t kept = 0, end;

    for (size_t i = 0; i < s->npairs; i = end) {
        size_t count = 0;
        double usual;

        for (end = i; end < s->npairs
                      && s->row[end].length == s->row[i].length; end++)
            if (counts_as_measured (&s->row[end]))
                v[count++] = s->row[end].time_ns[SERIES_MEDIAN];
        qsort (v, count, sizeof (*v), compare_doubles);
        usual = count > 0 && v[count / 2] > 0 ? v[count / 2] : 1;
        for (const struct series_row *r = &s->row[i]; r < &s->row[end]; r++) {
            uint64_t key = r->a < r->b ? (uint64_t)r->a << 32 | r->b
                                       : (uint64_t)r->b << 32 | r->a;
            struct bad_pair now = { key, { r->a, r->b },
                                    r->time_ns[SERIES_MEDIAN] / usual };
            uint32_t at = map_find (&known, key);

            if (!counts_as_measured (r))
                continue;
            if (at == MAP_NONE) {
                map_put (&known, key, (uint32_t)kept);
                bad[kept++] = now;
            }
            else if (now.factor > bad[at].factor)
                bad[at] = now;
        }
    }
    qsort (bad, kept, sizeof (*bad), worse_first);
    if (n > kept)
        n = kept;
    for (size_t i = 0; i < n; i++)
        pair[i] = bad[i].pair;
    map_clear (&known);
    free (bad);
    free (v);
    return n;
}

/* Measure the worst pairs of a run again, alone, and print both. */
static int retest (struct exchange_session *x, const char *name,
                   const struct series *s, struct error *err)
{
    struct pairs_schedule worst = { .name = name };
    size_t max = (size_t)x->args->retest;
    struct probe *pair;
    struct series *again;
    char *word;
    size_t n;
    int rc;

    if (max > RETEST_MAX)
        max = RETEST_MAX;
    pair = xarray (max, sizeof (*pair));
    n = s ? pairs_worst (s, pair, max) : 0;
    worst.pattern = pairs_tell (&x->party, pair, n, err);
    free (pair);
    if (!worst.pattern)
        return -1;
    word = xasprintf ("%s" SERIES_AGAIN, name);
    rc = run_pairs (x, s ? s->test : SERIES_ONE_TO_ONE, word, &worst, &again,
                    err);
    pattern_destroy (worst.pattern);
    free (word);
    return rc;
}

static int run_pattern (struct exchange_session *x, const char *name,
                        struct error *err)
{
    struct pattern_options opts = { x->args->seed, x->args->shuffle };
    struct pairs_schedule schedule = { .name = name };
    enum pattern_kind kind = (enum pattern_kind)pattern_find (name);
    struct series *s;
    int rc = 0;

    if (kind == PATTERN_ALL_TO_ALL)
        return session_series (x, SERIES_ALL_TO_ALL, name, "async", &s, err)
                       < 0 ? -1
                   : pairs_run_all (&x->party, x->length.v, x->length.n,
                                    &x->args->how, s, err);
    if (!strcmp (name, "pmm"))
        rc = schedule_plan (x, &schedule, err);
    else if (!(schedule.pattern = pattern_create (kind, x->party.n, x->host,
                                                  &opts, err)))
        rc = -1;
    if (rc == 0)
        rc = run_pairs (x, x->ex->both_ways ? SERIES_ASYNC_ONE_TO_ONE
                                            : SERIES_ONE_TO_ONE,
                        schedule.name, &schedule, &s, err);
    if (rc == 0 && x->args->retest > 0)
        rc = retest (x, schedule.name, s, err);
    pattern_destroy (schedule.pattern);
    plan_destroy (schedule.plan);
    return rc;
}

static int run_pairs_test (struct exchange_session *x, struct error *err)
{
    const struct exchange_args *a = x->args;
    const char *list = a->pattern ? a->pattern : a->plan ? "pmm"
                                                         : "one-factor";
    char name[NAME_MAX_BYTES];

    while (args_next (&list, name, sizeof (name)))
        if (run_pattern (x, name, err) < 0)
            return -1;
    return 0;
}

const struct exchange_test exchange_pairs = {
    .name = "pairs",
    .help = "messages between pairs of processes, by any pattern",
    .options = args_pairs, .exchange = "round-trip",
    .length = { (uint64_t[]){ 0 }, 1 }, .run = run_pairs_test,
};
