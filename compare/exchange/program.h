/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that runs tests: pmm-compare-probe, pmm-probe-mpi.
 *
 *     PROGRAM TEST [OPTION]...
 *
 * Its first word names a test. The program reads the words (exchange_begin),
 * opens its comm and runs the test (exchange_run).
 * All programs have the tests pairs, topology and noise.
 */
#ifndef COMPARE_EXCHANGE_PROGRAM_H
#define COMPARE_EXCHANGE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/pattern/pattern.h"
#include "compare/series/series.h"
#include "core/plan/plan.h"
#include "compare/exchange/comm.h"
#include "compare/exchange/exchange.h"
#include "util/error.h"
#include "util/options.h"

/* The options of the tests, the same in all programs that run them. */
enum { ARGS_LENGTH_MAX = 1 << 30 };

struct exchange_args {
    struct lengths {
        uint64_t *v; /* ascending */
        size_t n;    /* 0: the test's default */
    } length;
    struct measure_how how;
    double batch_ms;        /* becomes how.batch_ns */
    enum series_stat stat;  /* shown in tables */
    bool shuffle;           /* with the seed */
    uint64_t seed;
    const char *output, *format; /* NULL: standard output, as tables */
    bool append;
    const char *exchange;   /* NULL: the test's default */
    /* pairs */
    const char *pattern;    /* comma-separated names */
    const char *plan;       /* a file */
    int retest;
    /* topology */
    bool shape[SERIES_SHAPES][2]; /* [shape][both ways]; none: all */
    /* noise */
    bool blocking;
    int noise_processes;
    uint64_t noise_length, noise_messages;
    uint64_t goals;
    const char *goal;       /* two labels */
    const char *noise_on;   /* labels */
};

/* Set the defaults; free what was given. */
void args_init (struct exchange_args *a);
void args_clear (struct exchange_args *a);

/* The next name of a comma-separated list, shorter than max bytes; *list
 * advances. False at the end.
 */
bool args_next (const char **list, char *name, size_t max);

/*
 * Tests
 */

struct exchange_program;

/* A test that is running. */
struct exchange_session {
    const struct exchange_program *program;
    const struct exchange_args *args;
    struct party party;
    /* requested by the test's row or the options */
    const struct comm_exchange *ex; /* NULL: none */
    struct lengths length;
    uint32_t *by_host; /* [n] the party's */
    uint32_t *host;    /* [n] of each process, the first process on its host */
    struct series_list runs; /* at process 0 */
};

struct exchange_test {
    const char *name, *help;
    const struct opt *options; /* its own; NULL: none */
    const struct opt_rule *rules; /* of these */
    void *data;                /* set by them; NULL: exchange_args */
    bool no_series;            /* no series, and none of their options */
    /* The session's defaults: the kind of exchange (NULL: it needs none), and
     * the lengths of messages, for which the comm is prepared.
     */
    const char *exchange;
    struct lengths length;
    /* Called by all processes. The runs that process 0 leaves in the session
     * are printed and saved. Return 0, or -1 with err.
     */
    int (*run) (struct exchange_session *x, struct error *err);
};

enum { OWN_GROUPS = 2 };

struct exchange_program {
    const char *name;
    const char *launcher; /* how it is started, for the usage line */
    /* of all tests, in this program: up to OWN_GROUPS tables */
    const struct opt_group *options;
    void *data; /* of the calls below */
    /* Further tests; ends in a row whose name is NULL. May be NULL. */
    const struct exchange_test *tests;
    /* At process 0, return the plan of pattern pmm, between processes, which
     * the caller destroys; copy the hash of its fabric to fabric[PLAN_FABRIC].
     * NULL with err. May be NULL: a file is needed.
     */
    struct plan *(*plan) (void *data, char *fabric, struct error *err);
    /* Called at process 0 after the runs have been printed, to print more about
     * them. Return 0, or -1 with err. May be NULL.
     */
    int (*after) (void *data, const struct exchange_session *x,
                  struct error *err);
};

/* A test of this name, or NULL. */
const struct exchange_test *
exchange_test_find (const struct exchange_program *program, const char *name);

/* Print how to call the program, and a line for each test. */
void exchange_usage (const struct exchange_program *program, FILE *fp);

/* Read the words of a program that has one at least, up to NULL: a test and its
 * options, or what prints help or the version. Call args_clear afterwards. Return
 * 0; OPTIONS_HELP if that is all there is to do; or -1 with err.
 */
int exchange_begin (const struct exchange_program *program, char **argv,
                    const struct exchange_test **test,
                    struct exchange_args *args, struct error *err);

/* Read argv[1..]; argv[0] is the test's name. Call args_clear afterwards.
 * Return 0; OPTIONS_HELP if help was requested (then exchange_help prints it);
 * or -1 with err.
 */
int exchange_parse (const struct exchange_program *program, int argc,
                    char **argv, struct exchange_args *args,
                    struct error *err);
void exchange_help (const struct exchange_program *program,
                    const struct exchange_test *test, FILE *fp);

/* Run a test as one of a party, whose comm is open. Return 0, ERROR_WORLD at
 * process 0 if some of the measurements are missing, or -1 with err.
 */
int exchange_run (const struct exchange_program *program,
                  const struct exchange_test *test,
                  const struct exchange_args *args, const struct party *party,
                  struct error *err);

/* At process 0, add a new series of all processes to the session's runs, with
 * the words that describe this run; elsewhere *s is NULL. A run that repeats
 * the one before, with noise or of pairs alone (SERIES_AGAIN), is printed
 * next to it as well. Return 0, or -1 with err.
 */
int session_series (struct exchange_session *x, enum series_test test,
                    const char *pattern, const char *exchange,
                    struct series **s, struct error *err);

/*
 * The test "pairs": pairs of processes, step by step
 */

/* Measure the pairs of a pattern, length by length; before each step all
 * processes wait for each other. Process 0, which alone has a series, collects
 * the results now and then, or, if a pair may be in several steps
 * (again_and_again), with all its repeats at the end of a length. In the end
 * the series is sorted and has the number of steps and probes and the duration
 * in seconds. Return 0, or -1 with err.
 */
int pairs_run (struct party *p, const struct pattern *pattern,
               const struct comm_exchange *ex, const uint64_t *length,
               size_t nlengths, const struct measure_how *how,
               bool again_and_again, struct series *s, struct error *err);

/* The same for everyone with everyone, itself included, all at once: each
 * receiver times each message, from the start of all to the wait that completes
 * it. The number of exchanges per repeat is ignored: it is one.
 */
int pairs_run_all (struct party *p, const uint64_t *length, size_t nlengths,
                   const struct measure_how *how, struct series *s,
                   struct error *err);

/* At process 0, complete the series: set the numbers, and the seconds since
 * `start`, and sort it. Elsewhere do nothing. Return 0, or -1 with err.
 */
int pairs_finish (const struct party *p, int64_t start, uint64_t steps,
                  uint64_t probes, struct series *s, struct error *err);

/* All get the n pairs of process 0, as a pattern with one pair per step; the
 * arguments of other processes are ignored. If process 0 has none, all fail.
 * Return NULL with err on failure.
 */
struct pattern *pairs_tell (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err);

/* The process with this label, else the first one on this host; p->n: none. */
uint32_t pairs_process (const struct party *p, const char *name);

/* The n worst pairs of a sorted series, worst first. A pair's badness is the
 * ratio of its median to that of all pairs, at the length where this is
 * largest. Of (a, b) and (b, a) only the worse is included; pairs without any
 * answer are left out. Return the number of pairs written to pair[n].
 */
size_t pairs_worst (const struct series *s, struct probe *pair, size_t n);

/*
 * The test "topology": all exchanges of a star, a ring or a complete graph
 *
 * One-directional, with blocking messages:
 *
 *     star      process 0 sends to all; each of the others receives, then
 *               replies
 *     complete  each sends to all that come after it, in order; it replies to
 *               those before it when all their messages have arrived
 *     ring      each sends to its right and receives from its left; then it
 *               sends to its left and receives from its right
 *
 * Replies of the complete graph and sends of the ring are not waited for one by
 * one, because that could be a deadlock. Two-directional: all receives and
 * sends are started, then waited for.
 */

enum { TOPOLOGY_PROCESSES_MIN = 3 };

/* Measure a shape at one length: how->repeats repeats of as many passes as
 * there are exchanges per repeat. The time of a repeat is the mean of its
 * passes, from when all processes have reached its start to when all have
 * reached its end, by the clock of process 0. Process 0, which alone has a
 * series, adds the result to it. Repeats are lost from the first one in which a
 * process lost something. Return 1; 0, in all processes, if some are lost: then
 * no further topology of all processes is possible; or -1 with err.
 */
int topology_run (const struct party *p, enum series_shape shape,
                  bool both_ways, size_t len, const struct measure_how *how,
                  struct series *s, struct error *err);

/* The options of each test; and the tests. */
extern const struct opt args_pairs[], args_topology[], args_noise[];
extern const struct opt_rule args_noise_rules[];
extern const struct exchange_test exchange_pairs, exchange_topology,
    exchange_noise;

#endif /* COMPARE_EXCHANGE_PROGRAM_H */
