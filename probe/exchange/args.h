/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of the tests, the same in all programs that run them. */
#ifndef PROBE_EXCHANGE_ARGS_H
#define PROBE_EXCHANGE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compare/series/series.h"
#include "probe/exchange/measure.h"
#include "util/error.h"
#include "util/options.h"

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

/* The tables: of all tests, of those that leave a series, and of each. */
extern const struct opt args_common[], args_series[], args_pairs[],
    args_topology[], args_noise[];

/* Defaults; and what was given, freed. */
void args_init (struct exchange_args *a);
void args_clear (struct exchange_args *a);

/* What only makes sense together. Return 0, or -1 with err. */
int args_check (const struct exchange_args *a, struct error *err);

/* The next name of a list with commas between them, of less than max bytes;
 * *list moves on. False at its end.
 */
bool args_next (const char **list, char *name, size_t max);

#endif /* PROBE_EXCHANGE_ARGS_H */
