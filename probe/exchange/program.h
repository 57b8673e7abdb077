/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that runs tests: pmm-probe, pmm-probe-mpi.
 *
 *     PROGRAM TEST [OPTION]...
 *
 * Its first word names a test (exchange_test_find); it reads the options
 * (exchange_parse), opens its comm and runs the test (exchange_run). Tests that
 * are the same everywhere: pairs, topology, noise.
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
        size_t n;    /* 0: the test's own */
    } length;
    struct measure_how how;
    enum series_stat stat;  /* that tables speak of */
    bool shuffle;           /* by the seed */
    uint64_t seed;
    const char *output, *format; /* NULL: standard output, as tables */
    bool append;
    const char *exchange;   /* NULL: the test's own */
    /* pairs */
    const char *pattern;    /* names, with commas between them */
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

/* Defaults; and what was given, freed. */
void args_init (struct exchange_args *a);
void args_clear (struct exchange_args *a);

/* The next name of a list with commas between them, of less than max bytes;
 * *list moves on. False at its end.
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
    /* what the test asked for, by its row or the options */
    const struct comm_exchange *ex; /* NULL: none */
    struct lengths length;
    uint32_t *by_host; /* [n] the party's */
    uint32_t *host;    /* [n] of each process, the first one on its host */
    struct series_list runs; /* at process 0 */
    struct session_pair *compared; /* [ncompared] what to print side by side */
    size_t ncompared;
};

struct exchange_test {
    const char *name, *help;
    const struct opt *options; /* of its own; NULL: none */
    void *data;                /* which they set; NULL: exchange_args */
    bool no_series;            /* it leaves none, nor takes their options */
    /* Of the session, where the options do not say: the kind of exchange, NULL:
     * it needs none; bytes of messages, for which the comm is made ready.
     */
    const char *exchange;
    struct lengths length;
    /* By all processes. What process 0 leaves in the session's runs is printed
     * and saved. Return 0, or -1 with err.
     */
    int (*run) (struct exchange_session *x, struct error *err);
};

struct exchange_program {
    const char *name;
    const struct opt *options; /* of all tests, in this program; may be NULL */
    void *data;                /* which they set */
    /* Further tests; end in a row whose name is NULL. May be NULL. */
    const struct exchange_test *tests;
    /* At process 0, the plan of pattern pmm, between processes, which the
     * caller destroys, and in fabric, of PLAN_FABRIC bytes, the hash of what it
     * is for. NULL with err. May be NULL: a file is needed.
     */
    struct plan *(*plan) (void *data, char *fabric, struct error *err);
    /* At process 0, when the runs have been printed: to say more of them.
     * Return 0, or -1 with err. May be NULL.
     */
    int (*after) (void *data, const struct exchange_session *x,
                  struct error *err);
};

/* A test of this name, or NULL. */
const struct exchange_test *
exchange_test_find (const struct exchange_program *program, const char *name);

/* Read argv[1..], argv[0] being the test's name; args_clear is due. Return 0,
 * OPTIONS_HELP where that was asked for (then exchange_help prints it), or -1
 * with err.
 */
int exchange_parse (const struct exchange_program *program, int argc,
                    char **argv, struct exchange_args *args,
                    struct error *err);
void exchange_help (const struct exchange_program *program,
                    const struct exchange_test *test, FILE *fp);

/* Run a test over what was opened. Return 0, ERROR_WORLD at process 0 where
 * something that was to be measured is missing, or -1 with err.
 */
int exchange_run (const struct exchange_program *program,
                  const struct exchange_test *test,
                  const struct exchange_args *args, const struct comm *comm,
                  void *c, struct error *err);

/* At process 0, a new series of all processes with the words that describe
 * this run, one of the session's runs; elsewhere *s is NULL. Return 0, or
 * -1 with err.
 */
int session_series (struct exchange_session *x, enum series_test test,
                    const char *pattern, const char *exchange,
                    struct series **s, struct error *err);

/* Have two of the runs, sorted, printed side by side after all tables, called
 * by what[2]: a line for each pair that both have, by length, what it took in
 * either, in microseconds, and how much longer in the second. Elsewhere than at
 * process 0 nothing happens.
 */
void session_compare (struct exchange_session *x, const struct series *a,
                      const struct series *b, const char *const what[2]);

/* The options of each test; and the tests. */
extern const struct opt args_pairs[], args_topology[], args_noise[];
extern const struct exchange_test exchange_pairs, exchange_topology,
    exchange_noise;

#endif /* PROBE_EXCHANGE_PROGRAM_H */
