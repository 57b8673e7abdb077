/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests as a program runs them: from its words to what it prints and leaves.
 */
#include "config.h"
#include "compare/exchange/program.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare/test/inproc.h"
#include "tests/tap.h"

enum { N = 6, LATENCY = 1000, TIMEOUT = 1000000, WORDS = 16, TEXT = 1 << 16 };

static char dir[] = "/tmp/pmm-program.XXXXXX";
static char results[64], plan_file[64], printed[64];

struct task {
    const char *const *label, *const *host; /* NULL: as they are */
    int rc[INPROC_MAX];
    struct error err[INPROC_MAX];
    const char *const *word; /* the test's name first; NULL ends them */
};

/* A program with a plan of its own: two rounds. */
static struct plan *own_plan (void *data, char *fabric, struct error *err)
{
    struct plan *plan = plan_create ("pmm");

    (void)data;
    (void)err;
    strcpy (fabric, "f1");
    plan_add (plan, 0, 0, 1);
    plan_add (plan, 0, 2, 3);
    plan_add (plan, 1, 1, 2);
    return plan;
}

static size_t runs_after; /* that the program was shown */

static int look_after (void *data, const struct exchange_session *x,
                       struct error *err)
{
    (void)data;
    (void)err;
    runs_after = x->runs.n;
    return 0;
}

/* ... and a test of its own, with options of its own, and of the program's. */
static struct own {
    int size, size_of_all;
    bool loud;
} own;

static const struct opt own_options[] = {
    { "size", 0, "N", opt_int, offsetof (struct own, size), "" },
    { 0 },
};

static const struct opt program_options[] = {
    { "loud", 0, NULL, opt_true, offsetof (struct own, loud), "" },
    { 0 },
};

static int run_own (struct exchange_session *x, struct error *err)
{
    if (x->args->how.repeats != 7 || !own.loud)
        return error_input (err, "not what was asked for");
    if (x->party.comm->barrier (x->party.c, err) < 0)
        return -1;
    own.size_of_all += own.size;
    return 0;
}

static const struct exchange_test own_tests[] = {
    { .name = "own", .help = "a test of this program",
      .options = own_options, .data = &own, .run = run_own },
    { 0 },
};

static const struct opt_group own_groups[] = { { program_options, &own }, { 0 } };

static const struct exchange_program program = {
    .name = "pmm-test",
    .options = own_groups,
    .data = &own,
    .tests = own_tests,
    .plan = own_plan,
    .after = look_after,
};

static int parse (const char *const *word, struct exchange_args *args,
                  struct error *err)
{
    char *argv[WORDS + 1];
    int argc = 0;

    for (; argc < WORDS && word[argc]; argc++)
        argv[argc] = (char *)word[argc];
    argv[argc] = NULL;
    return exchange_parse (&program, argc, argv, args, err);
}

static int run_task (void *c, void *arg)
{
    struct task *task = arg;
    struct party p = inproc_party (c);
    uint32_t me = p.me;
    struct error *err = &task->err[me];
    struct exchange_args args;
    int rc = parse (task->word, &args, err);

    if (task->label) {
        p.label = task->label;
        p.host = task->host;
    }
    if (rc == 0)
        rc = exchange_run (&program,
                           exchange_test_find (&program, task->word[0]),
                           &args, &p, err);
    args_clear (&args);
    task->rc[me] = rc;
    return rc != 0;
}

static char *slurp (const char *path)
{
    static char text[TEXT];
    FILE *fp = fopen (path, "r");
    size_t n = fp ? fread (text, 1, sizeof (text) - 1, fp) : 0;

    text[n] = '\0';
    if (fp)
        fclose (fp);
    return text;
}

/* Run, what is printed going to a file. Returns how many did well. */
static size_t run (struct inproc *w, struct task *task)
{
    int saved = dup (STDOUT_FILENO);
    size_t well;

    fflush (stdout);
    if (saved < 0 || !freopen (printed, "w", stdout))
        exit (1);
    well = inproc_run (w, run_task, task);
    fflush (stdout);
    dup2 (saved, STDOUT_FILENO);
    close (saved);
    return well;
}

static struct series_list load (void)
{
    struct series_list list = { 0 };
    FILE *fp = fopen (results, "r");
    struct error err;

    if (fp && series_read (&list, fp, results, &err) < 0)
        diag ("%s", err.text);
    if (fp)
        fclose (fp);
    unlink (results);
    return list;
}

static struct inproc world (void)
{
    return (struct inproc){ .n = N, .per_host = 2, .latency_ns = LATENCY,
                            .ns_per_byte = 1, .timeout_ns = TIMEOUT };
}

#define SAY(...) (const char *const[]){ __VA_ARGS__, NULL }
#define OUT "--output", results

static const struct {
    const char *what;
    const char *word[WORDS];
    size_t runs;
    enum series_test test; /* of the last run */
    const char *pattern, *exchange;
    uint64_t steps, probes;
    size_t lengths;
    const char *prints, *fabric;
} table[] = {
    { "all pairs", { "pairs", "-n2" }, 1, SERIES_ONE_TO_ONE, "one-factor",
      "round-trip", 10, 30, 1, "Latency: 1", "" },
    { "patterns one behind the other",
      { "pairs", "-p", "one-factor,by-host", "-n2", "-x", "async" }, 2,
      SERIES_ASYNC_ONE_TO_ONE, "by-host", "async", 12, 24, 1, "by-host", "" },
    { "the program's own plan", { "pairs", "--pattern=pmm", "-n2" }, 1,
      SERIES_ONE_TO_ONE, "pmm", "round-trip", 4, 6, 1, "pmm", "f1" },
    { "a plan's file", { "pairs", "--plan", plan_file, "-n2" }, 1,
      SERIES_ONE_TO_ONE, "by-host", "round-trip", 6, 8, 1, "by-host",
      "f2" },
    { "a sweep", { "pairs", "-l", "0:16:x2", "-n2" }, 1, SERIES_ONE_TO_ONE,
      "one-factor", "round-trip", 10, 30, 6, "16", "" },
    { "a retest", { "pairs", "--retest", "3", "-n2" }, 2, SERIES_ONE_TO_ONE,
      "one-factor-again", "round-trip", 3, 3, 1, "first, us", "" },
    { "all to all", { "pairs", "-p", "all-to-all", "-n2" }, 1,
      SERIES_ALL_TO_ALL, "all-to-all", "async", 1, 36, 1, "all_to_all", "" },
    { "topologies", { "topology", "-l", "1024", "-n2" }, 1, SERIES_TOPOLOGY,
      "topology", "", 6, 2 * (5 + 6 + 15), 1, "iChaos", "" },
    { "two topologies", { "topology", "--shapes", "ring,istar", "-n2" }, 1,
      SERIES_TOPOLOGY, "topology", "", 6, 3 * (5 + 6), 3, "iStar", "" },
    { "noise", { "noise", "-n2", "--goals", "7" }, 2, SERIES_NOISE, "noise",
      "both-ways", 7, 7, 1, "noise, us", "" },
    { "blocking noise", { "noise", "-n2", "--goals=3", "--blocking" }, 2,
      SERIES_NOISE_BLOCKING, "noise", "round-trip", 3, 3, 1, "alone, us", "" },
};

static void test_runs (void)
{
    for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++) {
        const char *word[WORDS + 1] = { NULL };
        struct task task = { .word = word };
        struct inproc w = world ();
        struct series_list list;
        const struct series *s = NULL;
        size_t n = 0, well;

        for (; table[i].word[n]; n++)
            word[n] = table[i].word[n];
        word[n++] = "-o";
        word[n] = results;
        runs_after = 0;
        well = run (&w, &task);
        list = load ();
        if (list.n > 0)
            s = list.run[list.n - 1];
        ok (well == N && list.n == table[i].runs && list.n == runs_after,
            "%s: %zu do well, %zu runs %s", table[i].what, well, list.n,
            task.err[0].text);
        ok (s && s->test == table[i].test && s->complete
                && !strcmp (s->pattern, table[i].pattern)
                && !strcmp (s->exchange, table[i].exchange)
                && !strcmp (s->transport, "inproc") && s->repeats == 2
                && !strcmp (s->fabric, table[i].fabric),
            "... %s, %s %s", s ? series_test_names[s->test] : "",
            s ? s->pattern : "", s ? s->exchange : "");
        ok (s && s->steps == table[i].steps && s->probes == table[i].probes
                && s->nlengths == table[i].lengths,
            "... %d steps, %d probes, %zu lengths", s ? (int)s->steps : 0,
            s ? (int)s->probes : 0, s ? s->nlengths : 0);
        ok (s && s->nprocesses == N && !strcmp (s->process[3].label, "h01:1")
                && !strcmp (s->process[3].host, "h01"),
            "... processes have labels and hosts");
        ok (strstr (slurp (printed), table[i].prints) != NULL,
            "... prints '%s'", table[i].prints);
        series_list_clear (&list);
    }
}

/* Alone a message each way takes 1100 ns, both at once; noise makes them wait
 * where all share one wire: that of process 0 is first, then come two of 1000
 * bytes of each of three, then that of process 5.
 */
static const struct {
    const char *what;
    bool hub;
    double alone, noisy;
} wires[] = {
    { "noise is none where nothing is shared", false, 1100, 1100 },
    { "noise on the same wire", true, 1200, 7200 },
};

static void test_noise (void)
{
    for (size_t i = 0; i < sizeof (wires) / sizeof (wires[0]); i++) {
        struct task task = {
            .word = SAY ("noise", "--goal", "h00:0,h02:1", "--noise-on",
                         "h01:0,h01:1,h02:0", "--noise-length=1000", "-n3",
                         "-l100", "--noise-messages=2", "--warm-up=0",
                         "--exchanges=1", OUT),
        };
        struct inproc w = world ();
        struct series_list list;
        const struct series_row *x, *y;
        size_t well;

        w.hub = wires[i].hub;
        well = run (&w, &task);
        list = load ();
        x = list.n == 2 ? series_at (list.run[0], 0, 5, 100) : NULL;
        y = list.n == 2 ? series_at (list.run[1], 0, 5, 100) : NULL;
        ok (well == N && x && y && x->count == 3 && y->count == 3, "%s",
            wires[i].what);
        ok (x && 2 * x->time_ns[SERIES_MAX] == wires[i].alone,
            "... %g ns alone", x ? 2 * x->time_ns[SERIES_MAX] : 0);
        ok (y && 2 * y->time_ns[SERIES_MIN] == wires[i].noisy,
            "... %g ns", y ? 2 * y->time_ns[SERIES_MIN] : 0);
        ok (list.n == 2 && list.run[1]->noise_processes == 3
                && list.run[1]->noise_length == 1000
                && list.run[1]->noise_messages == 2,
            "... and the series tells of it");
        series_list_clear (&list);
    }
}

/* Who makes noise, and how much: from the log, between two barriers. */
static void test_drawn (void)
{
    struct task task = { .word = SAY ("noise", "--goal=h00:0,h02:1",
                                      "--noise-processes=2", "-n20",
                                      "--warm-up=0", "--noise-messages=3") };
    struct inproc w = world ();
    bool noisy[N] = { false };
    size_t sends = 0, well = run (&w, &task);

    for (size_t i = 0; i < w.nlog; i++)
        if (w.log[i].what == 's' && w.log[i].rank != 0 && w.log[i].rank != 5) {
            noisy[w.log[i].rank] = true;
            sends += w.log[i].peer != 0 && w.log[i].peer != 5;
        }
    ok (well == N && sends == 20 * 2 * 3,
        "two noise processes, afresh: %zu messages", sends);
    ok (noisy[1] && noisy[2] && noisy[3] && noisy[4],
        "... each of the four comes to it");
}

static void test_own (void)
{
    struct task task = { .word = SAY ("own", "--size=2", "-n7", "--loud") };
    struct inproc w = world ();
    size_t well = run (&w, &task);
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    ok (well == N && own.size_of_all == 2 * N, "a program has tests too");
    exchange_help (&program, exchange_test_find (&program, "own"), fp);
    fclose (fp);
    ok (!strncmp (text, "Usage: pmm-test own [OPTION]...\n", 32)
            && strstr (text, "--size N") && strstr (text, "--repeats N")
            && strstr (text, "--loud"),
        "... of which the help has all options");
    ok (!exchange_test_find (&program, "other"), "... and no others");
    free (text);
}

static const struct {
    const char *word[WORDS];
    const char *why;
} bad[] = {
    { { "pairs", "more" }, "'more' is not an option" },
    { { "pairs", "-p", "nothing" },
      "--pattern: 'nothing' is not a pattern; 'pmm-compare pattern' lists them" },
    { { "pairs", "-p", "ring" },
      "--pattern: ring is a topology, not a pattern of pairs" },
    { { "pairs", "-p", "" }, "--pattern: the value is empty" },
    { { "pairs", "-n0" }, "--repeats: '0' is not from 1 to 1000000" },
    { { "pairs", "-l", "5:1:1" }, "--lengths: '5:1:1' is not a length of 0 to "
      "1073741824 bytes, nor FROM:TO:STEP or FROM:TO:xFACTOR" },
    { { "pairs", "-l", "0,0" }, "--lengths: the lengths do not ascend" },
    { { "pairs", "-l", "" }, "--lengths: the value is empty" },
    { { "pairs", "--append" }, "--append needs --output FILE" },
    { { "pairs", "--format=parus" }, "--format parus needs --output FILE" },
    { { "pairs", "--format=parus", "--output=-" }, "--format: parus makes four "
      "files: give a prefix of their names" },
    { { "pairs", "--seed", "9223372036854775808" }, "--seed: "
      "'9223372036854775808' is not a number from 0 to 9223372036854775807" },
    { { "pairs", "--stat=best" }, "--stat: 'best' is none of "
      "min, p25, median, p75, max, mean, sd" },
    { { "topology", "--shapes", "line" }, "--shapes: 'line' is none of star, "
      "complete, ring, istar, icomplete, iring" },
    { { "topology", "--retest", "1" }, "'--retest' is not an option" },
    { { "noise", "--noise-on=h00" }, "--noise-on needs --goal A,B" },
};

static void test_bad (void)
{
    struct exchange_args args;
    struct error err;

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        int rc = parse (bad[i].word, &args, &err);

        ok (rc == -1 && !strcmp (err.text, bad[i].why), "%s", err.text);
        args_clear (&args);
    }
}

/* What only shows when the processes are known. */
static const struct {
    const char *word[WORDS];
    const char *why;
    const char *theirs; /* of the other processes; NULL: the same */
} worse[] = {
    { { "pairs", "-x", "loud" }, "'loud' is not an exchange; there are "
      "round-trip, one-way, both-ways, async", NULL },
    { { "noise", "--goal", "h00:0" }, "--goal: a pair is two processes",
      NULL },
    { { "noise", "--goal", "h00:0,h09" }, "--goal: no process is 'h09'",
      NULL },
    { { "noise", "--goal", "h00:0,h01", "--noise-on", "h01:0,h02" },
      "--noise-on: the goal pair makes no noise", NULL },
    { { "noise", "--noise-processes=5" },
      "a goal pair and 5 noise processes are more than 6", NULL },
    { { "noise", "--batch-ms=1" },
      "--batch-ms: noise does not wait; say how many --exchanges", NULL },
    { { "pairs", "--plan", "/none" },
      "cannot open /none: No such file or directory",
      "process 0 has nothing to measure" },
};

static void test_worse (void)
{
    for (size_t i = 0; i < sizeof (worse) / sizeof (worse[0]); i++) {
        struct task task = { .word = worse[i].word };
        const char *theirs
            = worse[i].theirs ? worse[i].theirs : worse[i].why;
        struct inproc w = world ();
        size_t said = 0;

        run (&w, &task);
        for (uint32_t k = 1; k < N; k++)
            said += task.rc[k] == -1 && !strcmp (task.err[k].text, theirs);
        ok (task.rc[0] == -1 && !strcmp (task.err[0].text, worse[i].why),
            "%s", task.err[0].text);
        ok (said == N - 1 && !w.stuck, "... and nobody waits: %s",
            task.err[1].text);
    }
}

static const struct {
    const char *text;
    uint64_t length[8];
    size_t n;
} lists[] = {
    { "0", { 0 }, 1 },
    { "0,8,64", { 0, 8, 64 }, 3 },
    { "10:30:10", { 10, 20, 30 }, 3 },
    { "0:9:x3", { 0, 1, 3, 9 }, 4 },
    { "1k:5k:2k,1M", { 1024, 3072, 5120, 1 << 20 }, 4 },
    { "7:8:5", { 7 }, 1 },
};

static void test_lengths (void)
{
    for (size_t i = 0; i < sizeof (lists) / sizeof (lists[0]); i++) {
        struct exchange_args args;
        struct error err = { .text = "" };
        int rc = parse (SAY ("pairs", "--lengths", lists[i].text), &args,
                        &err);

        ok (rc == 0 && args.length.n == lists[i].n
                && !memcmp (args.length.v, lists[i].length,
                            lists[i].n * sizeof (lists[i].length[0])),
            "%s are %zu lengths %s", lists[i].text, args.length.n, err.text);
        args_clear (&args);
    }
}

static const char *const deaths[][WORDS] = {
    { "pairs", "-n5", "-o", results },
    { "pairs", "-n5", "-o", results, "-p", "all-to-all" },
    { "topology", "-n5", "-o", results },
    { "noise", "-n5", "-o", results },
};

static void test_deaths (void)
{
    for (size_t i = 0; i < sizeof (deaths) / sizeof (deaths[0]); i++) {
        struct task task = { .word = deaths[i] };
        struct inproc w = world ();
        struct series_list list;
        size_t well, kept = 0;

        w.dies_ns[4] = 3500;
        well = run (&w, &task);
        list = load ();
        for (size_t k = 0; list.n > 0 && k < list.run[0]->npairs; k++)
            kept += series_measured (&list.run[0]->row[k]);
        ok (well == N - 2 && task.rc[0] == ERROR_WORLD && list.n > 0
                && !list.run[0]->complete && list.run[0]->process[4].lost,
            "%s: one dies, exit 3, and the result says so", deaths[i][0]);
        ok (i == 2 || kept >= 20, "... the other pairs are kept, %zu", kept);
        ok (strstr (slurp (printed), "lost: process 4, h02:0") != NULL,
            "... and printed");
        series_list_clear (&list);
    }
}

static void test_formats (void)
{
    struct task task = { .word = SAY ("pairs", "-n2", "--format", "csv") };
    struct inproc w = world ();
    size_t well = run (&w, &task), lines = 0;
    struct series_list list;

    for (const char *s = slurp (printed); *s; s++)
        lines += *s == '\n';
    ok (well == N && lines == 31, "a format alone is for standard output, %zu",
        lines);
    task.word = SAY ("pairs", "-n2", OUT);
    run (&w, &task);
    task.word = SAY ("pairs", "-n2", "--append", OUT);
    run (&w, &task);
    list = load ();
    ok (list.n == 2, "results are put behind others");
    series_list_clear (&list);
}

/* What cannot be left where it is wanted is not lost. */
static void test_unwritable (void)
{
    struct task task = { .word = SAY ("pairs", "-n2", "-o", "/none/file") };
    struct inproc w = world ();
    size_t well = run (&w, &task);

    ok (well == N - 1 && task.rc[0] == -1
            && strstr (task.err[0].text, "cannot write /none/file"),
        "%s", task.err[0].text);
    ok (strstr (slurp (printed), "Latency: 1") != NULL,
        "... but the results are printed");
}

/* The process's launcher ends it, in the second length of a sweep. */
static int barriers;

static int barrier_and_end (void *c, struct error *err)
{
    if (inproc_party (c).me == 0 && ++barriers == 50) {
        kill (getpid (), SIGTERM);
        for (;;)
            pause ();
    }
    return comm_inproc.barrier (c, err);
}

static int run_to_end (void *c, void *arg)
{
    struct comm comm = comm_inproc;
    struct party p = inproc_party (c);
    struct exchange_args args;
    struct error err;

    (void)arg;
    comm.barrier = barrier_and_end;
    parse (SAY ("pairs", "-p", "one-to-one", "-n2", "-l", "0,8", OUT), &args,
           &err);
    p.comm = &comm;
    return exchange_run (&program, &exchange_pairs, &args, &p, &err);
}

static void test_ended (void)
{
    struct inproc w = world ();
    struct series_list list;
    int status = 0;
    pid_t pid;

    fflush (stdout);
    if ((pid = fork ()) == 0) {
        if (freopen (printed, "w", stdout))
            inproc_run (&w, run_to_end, NULL);
        _exit (0);
    }
    waitpid (pid, &status, 0);
    list = load ();
    ok (WIFEXITED (status) && WEXITSTATUS (status) == ERROR_WORLD,
        "who is ended exits 3");
    ok (list.n == 1 && !list.run[0]->complete && list.run[0]->npairs == 30
            && list.run[0]->nlengths == 1,
        "... and leaves what was gathered, %zu pairs",
        list.n ? list.run[0]->npairs : 0);
    ok (strstr (slurp (printed), "incomplete") != NULL,
        "... and prints that it is not all");
    series_list_clear (&list);
}

/* Processes that are dealt out to three hosts, of which one's name begins as
 * another's.
 */
static const char *const dealt[N] = { "h1:0", "h11:0", "h:0",
                                      "h1:1", "h11:1", "h:1" };

static const char *const dealt_hosts[N] = { "h1", "h11", "h",
                                            "h1", "h11", "h" };

static const struct {
    const char *word[WORDS];
    size_t pairs;  /* that are measured, */
    uint32_t a, b; /* ... this one among them */
} deals[] = {
    { { "pairs", "-p", "by-host", "-n1", OUT }, 24, 2, 4 },
    { { "noise", "--goal", "h1,h", "-n1", OUT }, 1, 0, 2 },
    { { "noise", "--goal", "h11,h1:1", "-n1", OUT }, 1, 1, 3 },
    { { "noise", "--goal", "h:1,h11:1", "-n1", OUT }, 1, 5, 4 },
};

static void test_dealt (void)
{
    for (size_t i = 0; i < sizeof (deals) / sizeof (deals[0]); i++) {
        struct task task = { .word = deals[i].word, .label = dealt,
                             .host = dealt_hosts };
        struct inproc w = world ();
        size_t well = run (&w, &task), within = 0;
        struct series_list list = load ();
        const struct series *s = list.n > 0 ? list.run[0] : NULL;

        for (size_t k = 0; s && k < s->npairs; k++)
            within += s->row[k].a % 3 == s->row[k].b % 3;
        ok (well == N && s && s->npairs == deals[i].pairs && within == 0
                && series_at (s, deals[i].a, deals[i].b, 0),
            "dealt out to hosts, %s: %zu pairs %s", deals[i].word[2],
            s ? s->npairs : 0, task.err[0].text);
        series_list_clear (&list);
    }
}

/* ... or when it is about to leave what it has: in a pipe, which holds less.
 */
static int run_to_pipe (void *c, void *arg)
{
    struct party p = inproc_party (c);
    struct exchange_args args;
    struct error err;
    int rc;

    (void)arg;
    parse (SAY ("pairs", "-n2", "-l", "0:40:1", OUT), &args, &err);
    rc = exchange_run (&program, &exchange_pairs, &args, &p, &err);
    args_clear (&args);
    return rc;
}

/* Whether a signal that was sent to a process still waits for one of its threads
 * to run.
 */
static bool pending (pid_t pid)
{
    char path[64], line[256];
    unsigned long long set = 0;
    FILE *fp;

    snprintf (path, sizeof (path), "/proc/%d/status", (int)pid);
    if (!(fp = fopen (path, "r")))
        return false;
    while (fgets (line, sizeof (line), fp)
           && sscanf (line, "ShdPnd: %llx", &set) != 1)
        ;
    fclose (fp);
    return set != 0;
}

static void test_ended_late (void)
{
    struct series_list list = { 0 };
    struct inproc w = world ();
    struct error err = { .text = "" };
    int status = 0;
    FILE *fp;
    pid_t pid;
    int c;

    fflush (stdout);
    if (mkfifo (results, 0600) < 0)
        exit (1);
    if ((pid = fork ()) == 0) {
        bool good = freopen (printed, "w", stdout)
                    && inproc_run (&w, run_to_pipe, NULL) == N;

        _exit (good ? 0 : 1);
    }
    fp = fopen (results, "r");
    c = getc (fp);
    kill (pid, SIGTERM);
    while (pending (pid))
        usleep (1000);
    ungetc (c, fp);
    ok (series_read (&list, fp, results, &err) == 0 && list.n == 1
            && list.run[0]->complete && list.run[0]->npairs == 41 * 30,
        "who is ended while it leaves its results leaves all of them: %s",
        err.text);
    fclose (fp);
    waitpid (pid, &status, 0);
    ok (WIFEXITED (status) && WEXITSTATUS (status) == 0,
        "... and ends as it would have");
    series_list_clear (&list);
    unlink (results);
}

static void write_plan (const char *last)
{
    FILE *fp = fopen (plan_file, "w");

    fprintf (fp, "{\"kind\":\"plan\",\"version\":1,\"fabric\":\"f2\","
             "\"method\":\"by-host\",\"rounds\":[[{\"a\":\"h00\",\"b\":"
             "\"h01:1\"},{\"a\":\"h00:1\",\"b\":\"h02\"}],[{\"a\":\"h00\","
             "\"b\":\"h02:7\"}],[{\"a\":\"h00\",\"b\":\"%s\"}]]}\n", last);
    fclose (fp);
}

/* Plans that these processes cannot be measured by. */
static const struct {
    const char *last, *why;
} strangers[] = {
    { "h0", "rounds[2][0].b: no process is on 'h0'" },
    { "h03:1", "rounds[2][0].b: no process is on 'h03:1'" },
    { "h00:9", "rounds[2][0]: a and b are one endpoint" },
};

static void test_strangers (void)
{
    for (size_t i = 0; i < sizeof (strangers) / sizeof (strangers[0]); i++) {
        struct task task = { .word = SAY ("pairs", "--plan", plan_file) };
        struct inproc w = world ();
        size_t well;

        write_plan (strangers[i].last);
        well = run (&w, &task);
        ok (well == 0 && strstr (task.err[0].text, strangers[i].why),
            "a plan's file: %s", task.err[0].text);
    }
}

int main (void)
{
    if (!mkdtemp (dir))
        return 1;
    snprintf (results, sizeof (results), "%s/results", dir);
    snprintf (plan_file, sizeof (plan_file), "%s/plan", dir);
    snprintf (printed, sizeof (printed), "%s/printed", dir);
    write_plan ("h01:1");
    test_bad ();
    test_lengths ();
    test_runs ();
    test_own ();
    test_noise ();
    test_drawn ();
    test_worse ();
    test_deaths ();
    test_formats ();
    test_unwritable ();
    test_ended ();
    test_ended_late ();
    test_dealt ();
    test_strangers ();
    unlink (plan_file);
    unlink (printed);
    rmdir (dir);
    return done_testing ();
}
