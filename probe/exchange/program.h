/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that runs tests: pmm-probe, pmm-probe-mpi.
 *
 *     PROGRAM TEST [OPTION]...
 *
 * Its first word names a test (exchange_test_find). The program reads the
 * options (exchange_parse), opens its comm and runs the test (exchange_run).
 * All programs have the tests pairs, topology and noise.
 */
#ifndef PROBE_EXCHANGE_PROGRAM_H
#define PROBE_EXCHANGE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compare/series/series.h"
#include "core/plan/plan.h"
#include "probe/exchange/comm.h"
#include "probe/exchange/exchange.h"
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
    struct session_pair *compared; /* [ncompared] to print side by side */
    size_t ncompared;
};

struct exchange_test {
    const char *name, *help;
    const struct opt *options; /* its own; NULL: none */
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

struct exchange_program {
    const char *name;
    const struct opt *options; /* of all tests, in this program; may be NULL */
    void *data;                /* set by them */
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

/* Read argv[1..]; argv[0] is the test's name. Call args_clear afterwards.
 * Return 0; OPTIONS_HELP if help was requested (then exchange_help prints it);
 * or -1 with err.
 */
int exchange_parse (const struct exchange_program *program, int argc,
                    char **argv, struct exchange_args *args,
                    struct error *err);
void exchange_help (const struct exchange_program *program,
                    const struct exchange_test *test, FILE *fp);

/* Run a test over the open comm. Return 0, ERROR_WORLD at process 0 if some of
 * the measurements are missing, or -1 with err.
 */
int exchange_run (const struct exchange_program *program,
                  const struct exchange_test *test,
                  const struct exchange_args *args, const struct comm *comm,
                  void *c, struct error *err);

/* At process 0, add a new series of all processes to the session's runs, with
 * the words that describe this run; elsewhere *s is NULL. Return 0, or -1 with
 * err.
 */
int session_series (struct exchange_session *x, enum series_test test,
                    const char *pattern, const char *exchange,
                    struct series **s, struct error *err);

/* Print two of the runs, both sorted, side by side after all tables, with the
 * headings what[2]: for each pair that both have, by length, the time in each,
 * in microseconds, and the factor from the first to the second. Does nothing
 * except at process 0.
 */
void session_compare (struct exchange_session *x, const struct series *a,
                      const struct series *b, const char *const what[2]);

/* The options of each test; and the tests. */
extern const struct opt args_pairs[], args_topology[], args_noise[];
extern const struct exchange_test exchange_pairs, exchange_topology,
    exchange_noise;

#endif /* PROBE_EXCHANGE_PROGRAM_H */
