/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/exchange/program.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compare/pattern/pattern.h"
#include "compare/series/formats.h"
#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum { NUMBERS_MAX = 3, WORD_MAX = 40 };

static int set_exchange_seed (void *field, const char *value, struct error *err)
{
    struct exchange_args *a = field;

    a->shuffle = true;
    if (text_u64 (value, 0, INT64_MAX, &a->seed) < 0)
        return error_input (err, "'%.40s' is not a number from 0 to %jd", value,
                            (intmax_t)INT64_MAX);
    return 0;
}

/*
 * Lengths
 */

static int add_exchange_length (struct lengths *l, uint64_t length,
                                struct error *err)
{
    if (l->n > 0 && length <= l->v[l->n - 1])
        return error_input (err, "the lengths do not ascend");
    if (l->n == SERIES_LENGTHS_MAX)
        return error_input (err, "more than %d lengths", SERIES_LENGTHS_MAX);
    l->v = xgrow (l->v, l->n, sizeof (*l->v));
    l->v[l->n++] = length;
    return 0;
}

static int bad_length (const char *text, struct error *err)
{
    return error_input (err, "'%.40s' is not a length of 0 to %d bytes, nor "
                             "FROM:TO:STEP or FROM:TO:xFACTOR",
                        text, ARGS_LENGTH_MAX);
}

/* Add a length, or a range: from, to, and xFACTOR or a step. With a factor, 1
 * follows 0.
 */
static int add_lengths (struct lengths *l, char *text, struct error *err)
{
    char whole[WORD_MAX * NUMBERS_MAX];
    uint64_t v[NUMBERS_MAX];
    bool by_factor = false;
    char *rest = NULL;
    int n = 0;

    snprintf (whole, sizeof (whole), "%s", text);
    for (char *s = strtok_r (text, ":", &rest); s;
         s = strtok_r (NULL, ":", &rest), n++) {
        by_factor = n == 2 && *s == 'x';
        if (n == NUMBERS_MAX
            || text_bytes (s + by_factor, ARGS_LENGTH_MAX, &v[n]) < 0)
            return bad_length (whole, err);
    }
    if (n == 1)
        return add_exchange_length (l, v[0], err);
    if (n != NUMBERS_MAX || v[2] < 1U + by_factor || v[0] > v[1])
        return bad_length (whole, err);
    for (uint64_t x = v[0]; x <= v[1];
         x = !by_factor ? x + v[2] : x ? x * v[2] : 1)
        if (add_exchange_length (l, x, err) < 0)
            return -1;
    return 0;
}

static int set_lengths (void *field, const char *value, struct error *err)
{
    struct lengths *l = field;
    char word[WORD_MAX * NUMBERS_MAX];

    l->n = 0;
    while (args_next (&value, word, sizeof (word)))
        if (add_lengths (l, word, err) < 0)
            return -1;
    return l->n > 0 ? 0 : error_input (err, "empty list");
}

static int set_bytes (void *field, const char *value, struct error *err)
{
    return text_bytes (value, ARGS_LENGTH_MAX, field) < 0
               ? bad_length (value, err)
               : 0;
}

/*
 * Names
 */

bool args_next (const char **list, char *name, size_t max)
{
    size_t len = strcspn (*list, ",");

    if (**list == '\0')
        return false;
    snprintf (name, max, "%.*s", (int)len, *list);
    *list += len + ((*list)[len] == ',');
    return true;
}

static int set_patterns (void *field, const char *value, struct error *err)
{
    const char *list = value;
    char name[WORD_MAX];

    if (!*value)
        return error_input (err, "empty list");
    while (args_next (&list, name, sizeof (name))) {
        int kind = pattern_find (name);

        if (kind < 0 && strcmp (name, "pmm"))
            return error_input (err, "'%s' is not a pattern; 'pmm-compare "
                                     "pattern' lists them", name);
        if (kind >= 0 && pattern_whole ((enum pattern_kind)kind)
            && kind != PATTERN_ALL_TO_ALL)
            return error_input (err, "%s is a topology, not a pattern of "
                                     "pairs", name);
    }
    return opt_string (field, value, err);
}

/* Parse names of shapes: "star", or "istar" for both ways. */
static int set_shapes (void *field, const char *value, struct error *err)
{
    bool (*shape)[2] = field;
    char name[WORD_MAX];

    memset (shape, 0, SERIES_SHAPES * sizeof (*shape));
    while (args_next (&value, name, sizeof (name))) {
        bool both_ways = name[0] == 'i';
        int i = series_find (series_shape_names, name + both_ways);

        if (i <= SERIES_PAIR)
            return error_input (err, "'%s' is none of star, complete, ring, "
                                     "istar, icomplete, iring", name);
        shape[i][both_ways] = true;
    }
    return 0;
}

#define FIELD(x) offsetof (struct exchange_args, x)

static const struct opt args_common[] = {
    { "repeats", 'n', "N", opt_int, FIELD (how.repeats),
      "number of measurements of each (default: 100)", 1, MEASURE_REPEATS_MAX },
    { "warm-up", 0, "N", opt_int, FIELD (how.warm_up),
      "exchanges before, which do not count (default: 2)", 0,
      MEASURE_REPEATS_MAX },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "also write the results to this file" },
    { 0 },
};

static const struct opt args_series[] = {
    { "lengths", 'l', "LIST", set_lengths, FIELD (length),
      "bytes of a message: N, FROM:TO:STEP, FROM:TO:xFACTOR" },
    { "exchanges", 0, "N", opt_int, FIELD (how.exchanges),
      "exchanges per repeat, timed together (default: 1, pairs both ways 16)",
      1, MEASURE_EXCHANGES_MAX },
    { "batch-ms", 0, "MS", opt_double, FIELD (batch_ms),
      "increase exchanges until a repeat takes this long", 0, 1e6 },
    { "seed", 0, "N", set_exchange_seed, 0,
      "seed to shuffle steps and processes by" },
    { "stat", 0, "NAME", NULL, FIELD (stat),
      "statistic of the repeats in tables (default: median)",
      OPT_ROWS (series_stat_names) },
    { "append", 0, NULL, opt_true, FIELD (append),
      "append to the output" },
    { "format", 0, SERIES_FORMATS, opt_string, FIELD (format),
      "format of the output (default: json; without --output, table)" },
    { 0 },
};

static const struct opt_rule series_rules[] = {
    { "append format=parus", OPT_NEEDS, "output" },
    { "append", OPT_EXCLUDES, "format=parus" },
    { 0 },
};

const struct opt args_pairs[] = {
    { "pattern", 'p', "NAMES", set_patterns, FIELD (pattern),
      "patterns of pairs, one after the other (default: one-factor)" },
    { "plan", 0, "FILE", opt_string, FIELD (plan),
      "the plan for pattern pmm" },
    { "exchange", 'x', "NAME", opt_string, FIELD (exchange),
      "one-way, both-ways, async, ... (default: round-trip)" },
    { "retest", 0, "N", opt_int, FIELD (retest),
      "measure the N worst pairs again, alone" },
    { 0 },
};

const struct opt args_topology[] = {
    { "shapes", 0, "NAMES", set_shapes, FIELD (shape),
      "star, complete, ring; istar, ... both ways (default: all)" },
    { 0 },
};

const struct opt args_noise[] = {
    { "exchange", 'x', "NAME", opt_string, FIELD (exchange),
      "exchange of the goal pair (default: both-ways, or round-trip if "
      "blocking)" },
    { "blocking", 0, NULL, opt_true, FIELD (blocking),
      "the goal pair exchanges by blocking messages" },
    { "noise-processes", 0, "N", opt_int, FIELD (noise_processes),
      "number of processes that make noise (default: all others)" },
    { "noise-length", 0, "BYTES", set_bytes, FIELD (noise_length),
      "length of noise's messages (default: 8192)" },
    { "noise-messages", 0, "N", opt_u64, FIELD (noise_messages),
      "messages of noise to each of the others, in a repeat (default: 10)", 0,
      MEASURE_REPEATS_MAX },
    { "goals", 0, "N", opt_u64, FIELD (goals),
      "number of goal pairs (default: all)" },
    { "goal", 0, "A,B", opt_string, FIELD (goal), "the one goal pair" },
    { "noise-on", 0, "LIST", opt_string, FIELD (noise_on),
      "the processes that make noise (default: drawn)" },
    { 0 },
};

const struct opt_rule args_noise_rules[] = {
    { "noise-on", OPT_NEEDS, "goal" },
    { 0 },
};

void args_init (struct exchange_args *a)
{
    *a = (struct exchange_args){
        .how = { .warm_up = 2, .repeats = 100 }, .stat = SERIES_MEDIAN,
        .noise_processes = -1, .noise_length = 8192, .noise_messages = 10,
        .goals = UINT64_MAX,
    };
}

void args_clear (struct exchange_args *a)
{
    free (a->length.v);
    a->length = (struct lengths){ NULL, 0 };
}

static int check_exchange_args (const struct exchange_args *a,
                                struct error *err)
{
    struct series_save to = { .format = a->format ? a->format : "json",
                              .path = a->output, .append = a->append };

    if (series_save_check (&to, err) < 0)
        return error_prefix (err, "--format");
    return 0;
}

/*
 * Tests
 */

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

void exchange_usage (const struct exchange_program *program, FILE *fp)
{
    const char *name = program->name;
    const struct exchange_test *own = program->tests;

    fprintf (fp, "Usage: %s %s TEST [OPTION]...\n\n", program->launcher, name);
    for (int i = 0; i < EVERYWHERE; i++)
        fprintf (fp, "  %-12s %s\n", everywhere[i]->name, everywhere[i]->help);
    for (; own && own->name; own++)
        fprintf (fp, "  %-12s %s\n", own->name, own->help);
    fprintf (fp, "\n'%s TEST --help' shows a test's options; %s(1) has the "
                 "rest.\n", name, name);
}

enum { GROUPS = 4 + OWN_GROUPS };

/* List the option tables of a test, its own first. */
static void list_options (const struct exchange_program *program,
                          const struct exchange_test *test,
                          struct exchange_args *args,
                          struct opt_group group[GROUPS])
{
    int n = 0;

    if (test->options)
        group[n++] = (struct opt_group){ test->options,
                                         test->data ? test->data : args,
                                         test->rules };
    group[n++] = (struct opt_group){ args_common, args };
    if (!test->no_series)
        group[n++] = (struct opt_group){ args_series, args, series_rules };
    for (const struct opt_group *own = program->options; own->table; own++)
        group[n++] = *own;
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
    first = options_get (group, NULL, argc, argv, err);
    if (first < 0)
        return first;
    if (first < argc)
        return error_input (err, "'%.80s' is not an option", argv[first]);
    args->how.batch_ns = (int64_t)(1e6 * args->batch_ms);
    return check_exchange_args (args, err);
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

int exchange_begin (const struct exchange_program *program, char **argv,
                    const struct exchange_test **test,
                    struct exchange_args *args, struct error *err)
{
    const char *word = argv[1];
    int argc = 0, rc;

    args_init (args);
    if (!strcmp (word, "--help") || !strcmp (word, "-h")) {
        exchange_usage (program, stdout);
        return OPTIONS_HELP;
    }
    if (!strcmp (word, "--version") || !strcmp (word, "-V")) {
        printf ("%s %s\n", program->name, PACKAGE_VERSION);
        return OPTIONS_HELP;
    }
    if (!(*test = exchange_test_find (program, word)))
        return error_input (err, "unknown test '%.40s'; '%s --help' lists "
                                 "them", word, program->name);
    while (argv[1 + argc])
        argc++;
    rc = exchange_parse (program, argc, argv + 1, args, err);
    if (rc == OPTIONS_HELP)
        exchange_help (program, *test, stdout);
    return rc;
}

/*
 * Keep: save the series that process 0 has collected if the run is ended from
 * outside, as launchers do when they lose a process. A signal handler may do
 * little, and the process may hang in a library, so a thread waits for the
 * handler and saves the series.
 */

static const int signals[] = { SIGTERM, SIGINT };

enum { SIGNALS = sizeof (signals) / sizeof (signals[0]) };

static struct keep {
    struct exchange_session *session;
    bool over; /* the series are being saved, which signals do not interrupt */
    pthread_mutex_t lock;
    pthread_t thread;
    struct sigaction before[SIGNALS];
    sem_t signalled; /* posted by the handler, or at the end */
} keep = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void on_program_signal (int sig)
{
    int saved_errno = errno;

    (void)sig;
    sem_post (&keep.signalled);
    errno = saved_errno;
}

static void save_partial_run (struct exchange_session *x);

/* End this process with ERROR_WORLD if a signal comes before the end. */
static void *wait_for_signal (void *arg)
{
    while (sem_wait (&keep.signalled) < 0)
        ;
    pthread_mutex_lock (&keep.lock);
    if (!keep.over) {
        save_partial_run (keep.session);
        _exit (ERROR_WORLD);
    }
    pthread_mutex_unlock (&keep.lock);
    return arg;
}

static int keep_start (struct exchange_session *x, struct error *err)
{
    struct sigaction action = { .sa_handler = on_program_signal,
                                .sa_flags = SA_RESTART };

    keep.session = x;
    keep.over = false;
    sem_init (&keep.signalled, 0, 0);
    if ((errno = pthread_create (&keep.thread, NULL, wait_for_signal, NULL)))
        return error_errno (err, "cannot start a thread");
    x->party.lock = &keep.lock;
    sigemptyset (&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &action, &keep.before[i]);
    return 0;
}

/* Restore the previous signal handling. */
static void keep_stop (struct exchange_session *x)
{
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &keep.before[i], NULL);
    sem_post (&keep.signalled);
    pthread_join (keep.thread, NULL);
    sem_destroy (&keep.signalled);
    x->party.lock = NULL;
}

/*
 * A run
 */

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
    s = xcheck (series_create (test));
    snprintf (s->pattern, sizeof (s->pattern), "%s", pattern);
    snprintf (s->exchange, sizeof (s->exchange), "%s", exchange);
    snprintf (s->transport, sizeof (s->transport), "%s", p->transport);
    s->seed = a->seed;
    s->repeats = a->how.repeats;
    for (uint32_t i = 0; i < p->n; i++)
        if (series_add_process (s, p->label[i],
                                p->host[i], err) < 0) {
            series_destroy (s);
            return -1;
        }
    party_lock (p);
    rc = series_list_add (&x->runs, s, err);
    party_unlock (p);
    if (rc < 0)
        series_destroy (s);
    else
        *series = s;
    return rc;
}

/* Print a run beside the one before, if it repeats that: for each pair that
 * both have, by length, the time in each, in microseconds, and the factor.
 */
static void print_runs_beside (const struct series *a, const struct series *b,
                               enum series_stat stat, FILE *fp)
{
    bool noise = b->test == SERIES_NOISE || b->test == SERIES_NOISE_BLOCKING;
    size_t len = strlen (a->pattern);

    if (!noise && (strncmp (b->pattern, a->pattern, len)
                   || strcmp (b->pattern + len, SERIES_AGAIN)))
        return;
    fprintf (fp, "%-20s %-20s %10s %12s %12s %8s\n", "from", "to", "bytes",
             noise ? "alone, us" : "first, us",
             noise ? "noise, us" : "again, us", "factor");
    for (size_t i = 0; i < b->npairs; i++) {
        const struct series_row *y = &b->row[i];
        const struct series_row *x = series_at (a, y->a, y->b, y->length);
        double before, now;

        if (!series_measured (x) || !series_measured (y))
            continue;
        before = x->time_ns[stat];
        now = y->time_ns[stat];
        fprintf (fp, "%-20s %-20s %10" PRIu64 " %12.3f %12.3f",
                 b->process[y->a].label, b->process[y->b].label, y->length,
                 before / 1e3, now / 1e3);
        if (before > 0)
            fprintf (fp, " %8.2f", now / before);
        fputc ('\n', fp);
    }
    fputc ('\n', fp);
}

static int compare_party_hosts (const struct party *p, uint32_t a, uint32_t b)
{
    return strcmp (p->host[a], p->host[b]);
}

static int compare_party_processes (const void *va, const void *vb, void *party)
{
    uint32_t a = *(const uint32_t *)va;
    uint32_t b = *(const uint32_t *)vb;
    int order = compare_party_hosts (party, a, b);

    return order ? order : util_compare (a, b);
}

/* Sort the processes by host, and number the hosts, each by its first process.
 */
static void number_hosts (struct exchange_session *x)
{
    struct party *p = &x->party;
    uint32_t first = 0;

    x->by_host = xarray (p->n, sizeof (*x->by_host));
    x->host = xarray (p->n, sizeof (*x->host));
    for (uint32_t i = 0; i < p->n; i++)
        x->by_host[i] = i;
    qsort_r (x->by_host, p->n, sizeof (*x->by_host), compare_party_processes,
             p);
    for (uint32_t i = 0; i < p->n; i++) {
        if (i == 0 || compare_party_hosts (p, x->by_host[i - 1], x->by_host[i]))
            first = x->by_host[i];
        x->host[x->by_host[i]] = first;
    }
    p->by_host = x->by_host;
}

/* Print tables for people; if all was measured, runs side by side as well. */
static int print_exchange_tables (const struct exchange_session *x, bool all,
                                  struct error *err)
{
    struct series_save to = { .stat = x->args->stat, .format = "table" };

    if (series_save (&x->runs, &to, err) < 0)
        return -1;
    for (size_t i = 1; all && i < x->runs.n; i++)
        print_runs_beside (x->runs.run[i - 1], x->runs.run[i], x->args->stat,
                           stdout);
    if (fflush (stdout) == EOF)
        return error_errno (err, "standard output");
    return 0;
}

/* Write the runs to the requested output. */
static int save (const struct exchange_session *x, bool all,
                 struct error *err)
{
    const struct exchange_args *a = x->args;
    struct series_save to = { .path = a->output, .stat = a->stat,
                              .append = a->append,
                              .format = a->format ? a->format : "json" };

    if (x->runs.n == 0)
        return 0;
    if ((a->output || a->format) && series_save (&x->runs, &to, err) < 0) {
        print_exchange_tables (
            x, all, NULL); /* at least this is left of the measurement */
        return -1;
    }
    return a->output || !a->format ? print_exchange_tables (x, all, err) : 0;
}

/* If a run fails, save what was measured. */
static void save_partial_run (struct exchange_session *x)
{
    for (size_t i = 0; i < x->runs.n; i++) {
        struct series *s = x->runs.run[i];

        if (s->steps > 0)
            continue; /* this series had ended */
        s->complete = false;
        series_sort (s, NULL);
    }
    save (x, false, NULL);
}

static bool are_runs_complete (const struct series_list *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (!runs->run[i]->complete)
            return false;
    return true;
}

/* Prepare any test: find the kind of exchange and the lengths, and prepare the
 * comm for them.
 */
static int prepare_exchange (struct exchange_session *x,
                             const struct exchange_test *test,
                             struct error *err)
{
    const struct exchange_args *a = x->args;
    const struct party *p = &x->party;
    const char *name = a->exchange   ? a->exchange
                       : a->blocking ? "round-trip"
                                     : test->exchange;

    x->length = a->length.n > 0 ? a->length : test->length;
    x->party.progress.uneven = x->length.n > 1; /* long messages take longer */
    if (test->exchange && !(x->ex = exchange_find (p->comm, name, err)))
        return -1;
    return x->length.n > 0
               ? p->comm->reserve (p->c, x->length.v[x->length.n - 1], x->ex,
                                   err)
               : 0;
}

int exchange_run (const struct exchange_program *program,
                  const struct exchange_test *test,
                  const struct exchange_args *args, const struct party *party,
                  struct error *err)
{
    struct exchange_session x = {
        .program = program, .args = args, .party = *party,
    };
    struct party *p = &x.party;
    int rc = -1;

    p->progress = progress_begin (p->me == 0 ? stderr : NULL, "pmm", "step");
    number_hosts (&x);
    if (p->me == 0 && keep_start (&x, err) < 0)
        goto error;
    rc = prepare_exchange (&x, test, err) < 0 ? -1 : test->run (&x, err);
    progress_end (&p->progress);
    if (p->me == 0) {
        party_lock (p);
        keep.over = true;
        party_unlock (p);
    }
    if (rc < 0)
        save_partial_run (&x);
    else if (p->me == 0
             && (save (&x, true, err) < 0
                 || (program->after
                     && program->after (program->data, &x, err) < 0)))
        rc = -1;
    if (p->me == 0)
        keep_stop (&x);
    if (rc == 0 && !are_runs_complete (&x.runs))
        rc = ERROR_WORLD;
error:
    series_list_clear (&x.runs);
    free (x.by_host);
    free (x.host);
    return rc;
}
