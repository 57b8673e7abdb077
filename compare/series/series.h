/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series: measurements of a test of pairs, of whole topologies or of noise,
 * over any transport.
 *
 * Made by compare/exchange (pmm-compare-probe, pmm-probe-mpi) and by the readers of other
 * programs' files. Read by formats, line and compare, by infer and throughput.
 * File: JSON, kind "series", one run per line, so a run is appended as a line
 * (pmm-files(5)).
 */
#ifndef COMPARE_SERIES_H
#define COMPARE_SERIES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum series_stat {
    SERIES_MIN,
    SERIES_P25,
    SERIES_MEDIAN,
    SERIES_P75,
    SERIES_MAX,
    SERIES_MEAN,
    SERIES_SD, /* of the single repeats; 0 if there was one */
    SERIES_STATS,
};

enum series_test {
    SERIES_ONE_TO_ONE,       /* pairs, one message under way */
    SERIES_ASYNC_ONE_TO_ONE, /* pairs, both directions at once */
    SERIES_ALL_TO_ALL,       /* every process to every process, itself
                                included */
    SERIES_NOISE,            /* goal pairs while others exchange */
    SERIES_NOISE_BLOCKING,   /* the same, by blocking calls */
    SERIES_TOPOLOGY,         /* star, ring, complete */
    SERIES_TESTS,
};

enum series_shape {
    SERIES_PAIR,     /* no topology, and without a name */
    SERIES_STAR,     /* process 0 with each of the others: n - 1 exchanges */
    SERIES_COMPLETE, /* every process with every other: n (n - 1) / 2;
                        "chaos" */
    SERIES_RING,     /* every process with the next: n */
    SERIES_SHAPES,
};

enum {
    SERIES_WORD_MAX = 127,         /* bytes of a label, host or name */
    SERIES_PROCESSES_MAX = 1 << 20,
    SERIES_PAIRS_MAX = 1 << 22,    /* over all lengths */
    SERIES_LENGTHS_MAX = 1 << 16,
    SERIES_TOPOLOGIES_MAX = 1 << 16,
    SERIES_COUNT_MAX = 1 << 30,
};

struct series_process {
    char *label; /* "host" or "host:core"; need not be unique */
    char *host;
    bool lost;   /* died or stopped answering: its pairs are missing */
};

/* All repeats at one length: of a pair, which a initiates, or of a topology. A
 * time of a pair is half the duration of an exchange, whatever the exchange: of
 * a round trip that is the latency; the rate for L bytes is L / time. A time of
 * a topology is the duration of one pass over it. A time that is not known (a
 * file of means has no median) is NAN here and null in the file.
 */
struct series_row {
    enum series_shape shape;
    uint32_t a, b;        /* processes of a pair; the same one in all-to-all */
    bool both_ways;       /* of a topology: the "i" columns */
    uint32_t count, lost; /* exchanges or passes begun; not ended */
    uint64_t length;      /* bytes of a message */
    double time_ns[SERIES_STATS]; /* meaningless if lost == count */
};

struct series {
    enum series_test test;
    /* words of the program that measured; "" if not known */
    char pattern[SERIES_WORD_MAX + 1];
    char exchange[SERIES_WORD_MAX + 1];
    char transport[SERIES_WORD_MAX + 1];
    char fabric[SERIES_WORD_MAX + 1]; /* hash of the snapshot, if known */
    uint64_t seed, repeats;
    uint64_t noise_length, noise_messages, noise_processes;
    uint64_t steps, probes; /* of the pattern, repeats not counted */
    double seconds;         /* duration of the run */
    bool complete;          /* nothing that was to be measured is missing */
    struct series_process *process;
    uint32_t nprocesses;
    uint64_t *length; /* of all rows, ascending */
    size_t nlengths;
    struct series_row *row; /* sparse: npairs pairs, then the topologies */
    size_t npairs, nrows;
};

/* Empty, complete. */
struct series *series_create (enum series_test test);
void series_destroy (struct series *s);

/* Append a copy. Processes come first and are numbered from 0; label NULL: the
 * host. Words are 1 to SERIES_WORD_MAX printable bytes without blanks. Return
 * 0, or -1 with err.
 */
int series_add_process (struct series *s, const char *label,
                        const char *host, struct error *err);
int series_add (struct series *s, const struct series_row *row,
                struct error *err);

/* Sort pairs by length, a and b, topologies by length, shape and direction.
 * Call it once, after the last was added. A duplicate is an error. Return 0, or
 * -1 with err.
 */
int series_sort (struct series *s, struct error *err);

/* Drop rows of lengths that are not in this list; the order stays. */
void series_keep (struct series *s, const uint64_t *length, size_t n);

/* The pair or topology in a sorted series; NULL: not measured. */
const struct series_row *series_at (const struct series *s, uint32_t a,
                                    uint32_t b, uint64_t length);
const struct series_row *series_topology_at (const struct series *s,
                                             enum series_shape shape,
                                             bool both_ways, uint64_t length);

/* Whether there are times: at least one exchange ended. */
static inline bool series_measured (const struct series_row *row)
{
    return row && row->lost < row->count;
}

/* The statistic itself if a row of s has it, else the first one that is known
 * (a matrix of PARUS has only one).
 */
enum series_stat series_stat_known (const struct series *s,
                                    enum series_stat stat);

/* Fill out[] from n > 0 durations; v is sorted in place. Quantiles by linear
 * interpolation (R's type 7); SD with n - 1.
 */
void series_stats (double *v, size_t n, double out[SERIES_STATS]);

/* Exchanges of one pass over a shape of n processes: of all processes, N, and
 * of process i, N_i. R(total) = 2 L N / T, R(local) = 2 L N_i / T; R(avg) is 2
 * L / T.
 */
uint64_t series_exchanges (enum series_shape shape, uint32_t n);
uint64_t series_exchanges_of (enum series_shape shape, uint32_t n,
                              uint32_t i);

/* Names as in the file: "one_to_one", "star", "p25"; each list ends in NULL. */
extern const char *const series_test_names[], *const series_shape_names[],
    *const series_stat_names[];

/* The place of a name in such a list; -1: it is not there. */
int series_find (const char *const *names, const char *name);

/* True if the statistic is a time, not a spread of times: only times give a
 * latency and a rate.
 */
static inline bool series_stat_is_time (enum series_stat stat)
{
    return stat != SERIES_SD;
}

/* Write one run as a line. Return 0, or -1 with err. */
int series_write (const struct series *s, FILE *fp, struct error *err);

/* The runs of a file, in order, each sorted. */
struct series_list {
    struct series **run;
    size_t n; /* at least 1, after series_read */
};

/* Append a run, which the list then owns. Return 0, or -1 with err. */
int series_list_add (struct series_list *list, struct series *s,
                     struct error *err);

/* Read all runs of a file, at least one: series, solutions or results with
 * pairs, or matrices of PARUS (series/parus). Return 0, or -1 with err and
 * *list empty.
 */
int series_read (struct series_list *list, FILE *fp, const char *name,
                 struct error *err);
void series_list_clear (struct series_list *list);

/* The end of a pattern's word if some of its pairs were measured again, alone.
 */
#define SERIES_AGAIN "-again"

/* The last run of pairs, borrowed; a run in which pairs were measured again
 * only if there is no other. NULL: there is none.
 */
const struct series *series_list_pairs (const struct series_list *list);

/*
 * Compare two series: by how much the pairs of one deviate from the other's
 */

/* Of d = y - x over the pairs of both. */
struct deviation {
    double mean, absolute, quadratic; /* mean of d, mean of |d|, root mean
                                         square of d */
    double max;                       /* the d of greatest |d|, signed */
    const struct series_row *at;      /* of x, where d is greatest */
};

struct series_comparison {
    enum series_stat stat; /* the statistic that was compared */
    size_t n;              /* number of pairs and lengths that both have */
    struct deviation ns;
    struct deviation relative; /* of d / x, pairs with x > 0 */
    bool boundless;            /* a pair with x = 0 deviates */
    const struct series_row **only[2]; /* those that only x, that only y has */
    size_t nonly[2];
};

/* Compare statistic stat of each pair; if one series does not have it, a
 * statistic that both have; if there is none, it is an error. Processes with
 * the same label are the same; if a label occurs more than once, the first of x
 * is the first of y, and so on. If each series has one length, the lengths may
 * differ: that of a solution is 0. Both must be sorted and outlive the result.
 * Return 0, or -1 with err; call comparison_clear after 0. With n 0 the
 * deviations are NAN.
 */
int series_compare (struct series_comparison *c, const struct series *x,
                    const struct series *y, enum series_stat stat,
                    struct error *err);
void comparison_clear (struct series_comparison *c);

#endif /* COMPARE_SERIES_H */
