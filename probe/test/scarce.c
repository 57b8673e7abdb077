/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each allocation of a test fails once, in whichever process it is: that is an
 * error in words, or something that is missing in the result, never a crash and
 * never a wait for ever.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/exchange/program.h"
#include "probe/test/inproc.h"
#include "tests/scarce.h"
#include "tests/tap.h"

enum { N = 4, WORDS = 12 };

static struct plan *no_plan (void *data, char *fabric, struct error *err)
{
    struct plan *plan = plan_create ("pmm");

    (void)data;
    (void)fabric;
    if (plan && plan_add (plan, 0, 0, 1) == 0 && plan_add (plan, 0, 2, 3) == 0)
        return plan;
    plan_destroy (plan);
    error_nomem (err);
    return NULL;
}

static const struct exchange_program program = { .name = "pmm-test",
                                                 .plan = no_plan };

struct task {
    const char *const *word;
    int rc[N];
    struct error err[N];
};

static int run_task (void *c, void *arg)
{
    struct task *task = arg;
    uint32_t me = comm_inproc.rank (c);
    struct exchange_args args;
    char *argv[WORDS + 1] = { NULL };
    int argc = 0;

    for (; argc < WORDS && task->word[argc]; argc++)
        argv[argc] = (char *)task->word[argc];
    task->rc[me] = exchange_parse (&program, argc, argv, &args,
                                   &task->err[me]);
    if (task->rc[me] == 0)
        task->rc[me] = exchange_run (&program,
                                     exchange_test_find (&program, argv[0]),
                                     &args, &comm_inproc, c, &task->err[me]);
    args_clear (&args);
    return task->rc[me] != 0;
}

static const char *const tests[][WORDS] = {
    { "pairs", "-n2", "-l0,8", "-p", "one-factor,pmm,all-to-all",
      "--retest=1" },
    { "topology", "-n2", "--format=csv" },
    { "noise", "-n2", "--goals=3", "-l8" },
};

/* Returns how many processes did well. What is printed goes nowhere. */
static size_t run (struct task *task, bool *stuck)
{
    struct inproc w = { .n = N, .latency_ns = 1000, .timeout_ns = 50000 };
    size_t well;

    allocations = 0;
    well = inproc_run (&w, run_task, task);
    *stuck = w.stuck;
    return well;
}

int main (void)
{
    int out = dup (STDOUT_FILENO);

    not_counted = &inproc_allocates;
    for (size_t i = 0; i < sizeof (tests) / sizeof (tests[0]); i++) {
        size_t silent = 0, waiting = 0, total;
        bool stuck;

        fflush (stdout);
        if (!freopen ("/dev/null", "w", stdout))
            return 1;
        failing = 0;
        run (&(struct task){ .word = tests[i] }, &stuck);
        total = allocations;
        for (size_t k = 1; k <= total; k++) {
            struct task task = { .word = tests[i] };
            size_t well;

            failing = k;
            well = run (&task, &stuck);
            silent += well == N && allocations >= k;
            waiting += stuck;
        }
        failing = 0;
        fflush (stdout);
        dup2 (out, STDOUT_FILENO);
        ok (waiting == 0, "%s: %zu allocations fail, and nobody is stuck",
            tests[i][0], total);
        ok (silent == 0, "... and somebody says so, %zu times not", silent);
    }
    return done_testing ();
}
