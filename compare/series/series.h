/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series: what a test of pairs, of whole topologies or of noise measured,
 * over any transport.
 *
 * Made by probe/exchange (pmm-probe, pmm-probe-mpi) and by the readers of
 * other programs' files. Read by series/table, csv, parus, compare and fit,
 * by infer and throughput. File: JSON, kind "series", one run a line: to
 * append is to add a line (pmm(1), section FILES).
 *
 * time_ns of a pair is half of an exchange's duration, whatever the exchange:
 * of a round trip that is the latency, and the rate of L bytes is L / time,
 * which is 2 N L / T for N exchanges in T. time_ns of a topology is the
 * duration of one pass over it. A value that is not known (a file of means
 * has no median) is NAN here and null in the file.
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
    SERIES_SD, /* of the single repeats; 0 where there was one */
    SERIES_STATS,
};

enum series_test {
    SERIES_ONE_TO_ONE,       /* pairs, one message under way */
    SERIES_ASYNC_ONE_TO_ONE, /* pairs, both ways at once */
    SERIES_ALL_TO_ALL,       /* everyone to everyone, itself included */
    SERIES_NOISE,            /* goal pairs while others exchange */
    SERIES_NOISE_BLOCKING,   /* the same, by blocking calls */
    SERIES_TOPOLOGY,         /* star, ring, complete */
    SERIES_TESTS,
};

enum series_shape {
    SERIES_STAR,     /* process 0 with each of the others: n - 1 exchanges */
    SERIES_COMPLETE, /* everyone with everyone: n (n - 1) / 2; "chaos" */
    SERIES_RING,     /* everyone with the next: n */
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

/* a initiates. All repeats of one pair at one length. */
struct series_pair {
    uint32_t a, b;        /* processes; the same one in all-to-all */
    uint32_t count, lost; /* exchanges begun; of them without an end */
    uint64_t length;      /* bytes of a message */
    double time_ns[SERIES_STATS]; /* meaningless where lost == count */
};

struct series_topology {
    enum series_shape shape;
    bool both_ways;       /* two-directional: the "i" columns */
    uint32_t count, lost; /* passes */
    uint64_t length;
    double time_ns[SERIES_STATS];
};

struct series {
    enum series_test test;
    /* words of their makers; "" where not known */
    char pattern[SERIES_WORD_MAX + 1];
    char exchange[SERIES_WORD_MAX + 1];
    char transport[SERIES_WORD_MAX + 1];
    char fabric[SERIES_WORD_MAX + 1]; /* hash of the snapshot, where known */
    uint64_t seed, repeats;
    uint64_t noise_length, noise_messages, noise_processes;
    uint64_t steps, probes; /* of the pattern, all repeats aside */
    double seconds;         /* that the run took */
    bool complete;          /* nothing that was to be measured is missing */
    struct series_process *process;
    uint32_t nprocesses;
    uint64_t *length; /* of pairs and topologies, ascending */
    size_t nlengths;
    struct series_pair *pair; /* sparse */
    size_t npairs;
    struct series_topology *topology;
    size_t ntopologies;
};

/* Empty, complete. */
struct series *series_create (enum series_test test);
void series_destroy (struct series *s);

/* Append; what is given is copied. Processes come first and are numbered from
 * 0; label NULL: the host. Words are 1 to SERIES_WORD_MAX printable bytes
 * without a blank. A pair's or topology's length joins the series' lengths.
 * Return 0, or -1 with err.
 */
int series_add_process (struct series *s, const char *label,
                        const char *host, struct error *err);
int series_add_pair (struct series *s, const struct series_pair *pair,
                     struct error *err);
int series_add_topology (struct series *s, const struct series_topology *t,
                         struct error *err);

/* Sort pairs by length, a and b, topologies by length, shape and ways: due
 * once, behind the last that was added. One that is there twice is an error.
 * Return 0, or -1 with err.
 */
int series_sort (struct series *s, struct error *err);

/* Drop pairs and topologies of other lengths than these; the order stays. */
void series_keep (struct series *s, const uint64_t *length, size_t n);

/* The pair in a sorted series; NULL: was not measured. */
const struct series_pair *series_at (const struct series *s, uint32_t a,
                                     uint32_t b, uint64_t length);
const struct series_topology *series_topology_at (const struct series *s,
                                                  enum series_shape shape,
                                                  bool both_ways,
                                                  uint64_t length);

/* Whether there are times: something came to its end. */
static inline bool series_measured (const struct series_pair *pair)
{
    return pair && pair->lost < pair->count;
}

/* The statistic itself where a pair or topology of s has it, else the first
 * that one has (a matrix of PARUS has only one).
 */
enum series_stat series_stat_known (const struct series *s,
                                    enum series_stat stat);

/* Fill out from n > 0 durations; v is sorted in place. Quantiles by linear
 * interpolation (R's type 7); SD with n - 1.
 */
void series_stats (double *v, size_t n, double out[SERIES_STATS]);

/* Exchanges of one pass over a shape of n processes, of all or of process i:
 * N and N_i in R(total) = 2 L N / T, R(local) = 2 L N_i / T; R(avg) is
 * 2 L / T.
 */
uint64_t series_exchanges (enum series_shape shape, uint32_t n);
uint64_t series_exchanges_of (enum series_shape shape, uint32_t n,
                              uint32_t i);

/* Names as in the file: "one_to_one", "star", "p25"; -1: none of them. */
const char *series_test_name (enum series_test test);
const char *series_shape_name (enum series_shape shape);
const char *series_stat_name (enum series_stat stat);
int series_test_find (const char *name);
int series_shape_find (const char *name);
int series_stat_find (const char *name);

/* True if the statistic is a time itself, and no spread of times: only of those
 * there are a latency and a rate.
 */
static inline bool series_stat_is_time (enum series_stat stat)
{
    return stat != SERIES_SD;
}

/* Write one run, a line. Return 0, or -1 with err. */
int series_write (const struct series *s, FILE *fp, struct error *err);

/* The runs of a file, in order, each sorted. */
struct series_list {
    struct series **run;
    size_t n; /* 1 at least, after series_read */
};

/* Append a run, which the list then owns. Return 0, or -1 with err. */
int series_list_add (struct series_list *list, struct series *s,
                     struct error *err);

/* Read all runs of a file, one at least: series, solutions with pairs
 * or matrices of PARUS (series/parus). Return 0, or -1 with
 * err and *list empty.
 */
int series_read (struct series_list *list, FILE *fp, const char *name,
                 struct error *err);
void series_list_clear (struct series_list *list);

/* What the word of a pattern ends in where some of its pairs were measured
 * again, alone.
 */
#define SERIES_AGAIN "-again"

/* The last run of pairs, one of those that were measured again where there is
 * no other; borrowed. NULL: there is none.
 */
const struct series *series_list_pairs (const struct series_list *list);

#endif /* COMPARE_SERIES_H */
