/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that runs tests: pmm-probe, pmm-probe-mpi.
 *
 *     PROGRAM TEST [OPTION]...
 *
 * It looks whether its first word is a test (exchange_test_find), reads the
 * options (exchange_parse), opens its comm and runs (exchange_run). Tests that
 * are the same everywhere: pairs, topology, noise.
 */
#ifndef PROBE_EXCHANGE_PROGRAM_H
#define PROBE_EXCHANGE_PROGRAM_H

#include <stdbool.h>
#include <stdio.h>

#include "core/plan/plan.h"
#include "compare/series/save.h"
#include "probe/exchange/args.h"
#include "probe/exchange/comm.h"
#include "probe/exchange/party.h"
#include "util/error.h"
#include "util/options.h"

struct exchange_program;

/* A test that is running. */
struct exchange_session {
    const struct exchange_program *program;
    const struct exchange_args *args;
    struct party party;
    uint32_t *by_host; /* [n] the party's */
    uint32_t *host;    /* [n] of each process, the first one on its host */
    struct series_list runs; /* at process 0 */
    struct beside *beside;   /* [nbeside] what to print side by side */
    size_t nbeside;
};

struct exchange_test {
    const char *name, *help;
    const struct opt *options; /* of its own; NULL: none */
    void *data;                /* which they set; NULL: exchange_args */
    bool no_series;            /* it leaves none, nor takes args_series */
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
 * this run, which the session's runs own; elsewhere *s is NULL. Return 0, or
 * -1 with err.
 */
int session_series (struct exchange_session *x, enum series_test test,
                    const char *pattern, const char *exchange,
                    struct series **s, struct error *err);

/* Have two of the runs printed side by side (beside_write), behind all tables;
 * elsewhere than at process 0 nothing happens. Return 0, or -1 with err.
 */
int session_beside (struct exchange_session *x, const struct series *a,
                    const struct series *b, const char *const what[2],
                    struct error *err);

extern const struct exchange_test exchange_pairs, exchange_topology,
    exchange_noise;

#endif /* PROBE_EXCHANGE_PROGRAM_H */
