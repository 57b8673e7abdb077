/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-probe-mpi: the tests of pmm-compare-probe over MPI, and the cost of MPI's
 * operations. Built once for each MPI; see compare/exchange/program.h and
 * operations.c.
 *
 * If all processes come to their end, as after bad arguments, only one of them
 * reports the error. Otherwise a process that cannot continue reports it and
 * ends the others as well.
 */
#include "config.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "compare/mpi/comm_mpi.h"

enum {
    FAST_REPEATS_MAX = 1000000,
    PROCESSES_MIN = 2,
    POLL_US = 500,
    GRACE_S = 2, /* in which the others may come to their end as well */
    TIMEOUT_MAX = 1 << 24,
};

static const char name[] = "pmm-probe-mpi";

/* The values of this program's own options. */
static struct own {
    struct comm_mpi_options comm;
    uint64_t fast_repeats;
    int timeout_s; /* 0: none */
} own = { .fast_repeats = 1000 };

static int run_operations (struct exchange_session *x, struct error *err)
{
    return operations_run (x, own.fast_repeats, err);
}

/*
 * The program
 */

static const struct opt own_options[] = {
    { "label", 0, "WHAT", NULL, offsetof (struct own, comm.naming),
      "labels of processes (default: any)",
      OPT_ROWS (place_namings) },
    { "timeout", 0, "SECONDS", opt_int, offsetof (struct own, timeout_s),
      "then stop, and keep what was measured", 1, TIMEOUT_MAX },
    { "buffer", 0, "BYTES", opt_u64, offsetof (struct own, comm.buffer),
      "room for buffered sends (default: enough for the longest message)" },
    { 0 },
};

static const struct opt operations_options[] = {
    { "fast-repeats", 0, "N", opt_u64, offsetof (struct own, fast_repeats),
      "calls of the fastest operations in each repeat (default: 1000)", 1,
      FAST_REPEATS_MAX },
    { 0 },
};

static const struct exchange_test own_tests[] = {
    { .name = "operations", .help = "what MPI's operations cost",
      .options = operations_options, .data = &own, .no_series = true,
      .run = run_operations },
    { 0 },
};

static const struct opt_group own_groups[] = { { own_options, &own }, { 0 } };

static const struct exchange_program program = {
    .name = name, .launcher = "srun|mpirun ...", .options = own_groups,
    .data = &own, .tests = own_tests,
};

static int check_size (const struct exchange_test *test, struct error *err)
{
    char mpi[100];
    int size;

    MPI_Comm_size (MPI_COMM_WORLD, &size);
    if (size >= PROCESSES_MIN)
        return 0;
    comm_mpi_describe (mpi, sizeof (mpi));
    return error_input (err, "%s needs %d processes, this is %d: start more, "
                        "by a launcher that knows %s", test->name,
                        PROCESSES_MIN, size, mpi);
}

/*
 * The watchdog. It sends SIGTERM, as a launcher does that has lost a process:
 * process 0 then saves its results (compare/exchange/program.c). The others'
 * timer is a second longer, to give it time for that.
 */

static void on_timeout (union sigval arg)
{
    if (arg.sival_int == 0)
        fprintf (stderr, "%s: timed out after %d s\n", name, own.timeout_s);
    kill (getpid (), SIGTERM);
}

static int start_watchdog (struct error *err)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD,
                              .sigev_notify_function = on_timeout };
    struct itimerspec when = { .it_value.tv_sec = own.timeout_s };
    timer_t timer;

    if (own.timeout_s == 0)
        return 0;
    MPI_Comm_rank (MPI_COMM_WORLD, &event.sigev_value.sival_int);
    when.it_value.tv_sec += event.sigev_value.sival_int > 0;
    if (timer_create (CLOCK_MONOTONIC, &event, &timer) < 0
        || timer_settime (timer, 0, &when, NULL) < 0)
        return error_errno (err, "cannot have a timer");
    return 0;
}

static int run_mpi_test (const struct exchange_test *test,
                         const struct exchange_args *args, struct error *err)
{
    struct comm_mpi *c;
    struct party party;
    int rc;

    if (start_watchdog (err) < 0 || check_size (test, err) < 0
        || !(c = comm_mpi_open (MPI_COMM_WORLD, &own.comm, err)))
        return -1;
    party = comm_mpi_party (c);
    if (party.me == 0 && *c->shared.text)
        fprintf (stderr, "%s: warning: %s\n", name, c->shared.text);
    rc = exchange_run (&program, test, args, &party, err);
    comm_mpi_close (c);
    return rc;
}

/* Return the lowest rank that failed; INT_MAX: none. A process that did not
 * fail waits for all others; one that failed waits for GRACE_S at most, then
 * returns -1.
 */
static int first_in_trouble (int me, bool trouble)
{
    const struct timespec pause = { .tv_nsec = 1000L * POLL_US };
    double end = MPI_Wtime () + GRACE_S;
    int mine = trouble ? me : INT_MAX;
    MPI_Request request;
    int done = 0;
    int first;

    MPI_Iallreduce (&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD,
                    &request);
    while (MPI_Test (&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS
           && !done && (!trouble || MPI_Wtime () < end))
        nanosleep (&pause, NULL);
    return done ? first : -1;
}

/* If a process exits before MPI_Finalize, as when it runs out of memory
 * (util/alloc.h), it has printed the reason: end the others as well.
 */
static bool ended;

static void end_all (void)
{
    if (!ended)
        MPI_Abort (MPI_COMM_WORLD, ERROR_WORLD);
}

/* Return the exit status. */
static int finish_mpi (int rc, const struct error *err)
{
    int first, me;

    MPI_Comm_rank (MPI_COMM_WORLD, &me);
    first = first_in_trouble (me, rc < 0);
    if (rc < 0 && (first < 0 || first == me))
        fprintf (stderr, "%s: %s\n", name, err->text);
    ended = true;
    if (first < 0)
        MPI_Abort (MPI_COMM_WORLD, err->fault);
    MPI_Finalize ();
    return rc < 0 ? (int)err->fault : rc;
}

int main (int argc, char **argv)
{
    struct error err = { .fault = ERROR_WORLD };
    const struct exchange_test *test;
    struct exchange_args args;
    int rc;

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    if (argc < 2) {
        exchange_usage (&program, stderr);
        return ERROR_INPUT;
    }
    rc = exchange_begin (&program, argv, &test, &args, &err);
    if (rc == OPTIONS_HELP)
        return 0;
    MPI_Init (&argc, &argv);
    atexit (end_all);
    if (rc == 0)
        rc = run_mpi_test (test, &args, &err);
    rc = finish_mpi (rc, &err);
    args_clear (&args);
    return rc;
}
