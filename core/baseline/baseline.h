/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Baseline: what round trips took in earlier runs, for the judge to compare
 * with.
 *
 * Made of the samples of a step, or of a site's audits (prolog/ledger), each of
 * which is a run. Of a run there is one row for each pair that it measured:
 * what observe says of its fastest repeats, worked out once from all samples of
 * the run. So a part of the rows is as good as it is among all: a job reads
 * those that are close to its links, and no more (baseline_near).
 *
 * File: baseline_file.c has its layout. A site's is merged with each new audit.
 */
#ifndef CORE_BASELINE_H
#define CORE_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/observe.h"
#include "core/samples/samples.h"
#include "util/error.h"

struct baseline_row { /* a site has many: kept small */
    uint32_t a, b;    /* endpoints of the set */
    float rtt_ns, doubt_ns; /* as of an observation, */
    float sd_ns;      /* ... whose variance is sd^2 + doubt^2 */
    float more_ns;    /* what twice the way from a to b takes more than rtt_ns;
                         NAN: the ways were not measured */
    float median_ns;  /* of its repeats, for people, and */
    float median_sd;  /* its standard deviation */
    uint32_t flow;    /* the first of its flows */
    uint32_t nflows;  /* of both sides; 0: not kept */
    uint8_t nlinks;   /* that it crosses */
    bool tight;
};

/* The rows that cross a link, ascending, as in a file: each as its difference
 * from the one before, 7 bits a byte, the lowest first; all but the last byte
 * have the top bit.
 */
struct baseline_crossings {
    uint8_t *v;
    uint32_t n, room; /* bytes */
    uint32_t last;    /* row */
};

struct baseline_loopback {
    uint32_t end; /* endpoint of the set */
    struct loopback_time time;
};

struct baseline_rate {    /* of an arc in a run with bursts (core/rate/carry) */
    int64_t audit;        /* that run's */
    uint32_t arc;         /* of the network */
    float bits, expected; /* what it carried at most, and what was offered then,
                              by nominal rates */
};

struct baseline_run {
    int64_t audit;   /* of a ledger; 0: of none */
    uint64_t level, rc, spread; /* as of samples */
    size_t row;      /* its first row; it has all up to the next run's */
    size_t loopback; /* likewise */
};

struct baseline {
    struct pathset *ps;
    struct baseline_run *run; /* the newest first: hosts' offsets are relative
                                 to it */
    size_t nruns;
    struct baseline_row *row;
    size_t nrows;
    struct baseline_loopback *loopback;
    size_t nloopbacks;
    struct baseline_crossings *crossed; /* by rows: */
    size_t nlinks;    /* all of the network */
    double *flow_ns;  /* NAN: lost */
    size_t nflows;
    struct baseline_rate *rate; /* by arcs, of each the newest first */
    size_t nrates;
    int64_t open;     /* audits from this one on had no result yet when the
                         newest run was added; 0: all had */
};

/* Empty, of endpoints of ps, which baseline_destroy destroys, too. */
struct baseline *baseline_create (struct pathset *ps);
void baseline_destroy (struct baseline *b);

/* Append a run of these endpoints, older than all others, to one that was
 * neither read nor merged. 0, or -1 with err.
 */
int baseline_add (struct baseline *b, const struct samples *samples,
                  int64_t audit, struct error *err);

/* Of one run; it gets a set of its own. NULL with err. */
struct baseline *baseline_of (const struct samples *samples,
                              const struct pathset *ps, struct error *err);

/* The first row, or loopback, that is not run i's. */
size_t baseline_rows_end (const struct baseline *b, size_t i);
size_t baseline_loopbacks_end (const struct baseline *b, size_t i);

/* The newest run whose messages were spread; NULL: none were. */
const struct baseline_run *baseline_spread (const struct baseline *b);

/* [endpoints of the baseline] a job's number of each, or one beyond its own; the
 * caller frees it.
 */
uint32_t *baseline_numbers (const struct baseline *b,
                            const struct pathset *job);

/* The rows of run i as observations over the paths of `on`, the baseline's set
 * or the same endpoints on a network of the same numbers; sorted by pairs, and
 * with these numbers of endpoints. 0, or -1 with err; then observations_clear.
 */
int baseline_observe (const struct baseline *b, size_t i,
                      const struct pathset *on, const uint32_t *number,
                      struct observations *o, struct error *err);

/* Walk over the rows that cross a link: baseline_next goes to the next one.
 * false: there is none, or what follows, from `at` on, is damaged.
 */
struct baseline_walk {
    const uint8_t *v;
    size_t n, at; /* bytes */
    uint32_t row;
};
static inline struct baseline_walk baseline_walk (const struct baseline *b,
                                                  uint32_t link)
{
    return (struct baseline_walk){ b->crossed[link].v, b->crossed[link].n,
                                   0, 0 };
}
bool baseline_next (struct baseline_walk *w);

/* Say that a row crosses a link, as no later one does so far. */
void baseline_cross (struct baseline *b, uint32_t link, uint32_t row);

/* Append a rate; baseline_add does it for what the samples' bursts carried, as
 * baseline_add_bursts, which needs no more of b than ps and nlinks. The order: by
 * arcs, of each the newest audit first.
 */
int baseline_add_bursts (struct baseline *b, const struct bursts *bursts,
                         int64_t audit, struct error *err);
void baseline_add_rate (struct baseline *b, const struct baseline_rate *rate);
int compare_baseline_rates (const void *va, const void *vb);

/* How many rows cross each link, [nlinks]; the caller frees it. */
uint32_t *baseline_times (const struct baseline *b);

/* How many runs cross a link. */
size_t baseline_runs (const struct baseline *b, uint32_t link);

/* The medians of all runs combined to one observation per pair of a set, its own
 * or one of more endpoints: for the solver. 0, or -1 with err; then
 * observations_clear.
 */
int baseline_combine (const struct baseline *b, const struct pathset *on,
                      struct observations *o, struct error *err);

/* Forget what links took before they were reset: runs of audits before[link],
 * by network number, and of none; 0: it was not reset. Rows that cross such a
 * link go, loopbacks of a host end, and, where any cable between switches was
 * reset, all flows of that time, since any of them may have crossed it.
 * Rates of such links go, too.
 */
void baseline_reset (struct baseline *b, const int64_t *before);

/* Merge two of one network, which are destroyed, into one of all endpoints of
 * both, which resolve makes of their names as for plan_read. A run that both
 * have is taken from `newer`; the runs of audits come first, the newest at the
 * top, then those of none. Of each link the newest n runs that cross it are
 * kept (0: all), with all their rows over it: a plan has few more rows than
 * separate its links. Runs whose messages were spread on another service level
 * or transport than the newest's are left out. Of each arc the newest n rates are
 * kept. NULL with err.
 */
struct baseline *baseline_merge (struct baseline *newer,
                                 struct baseline *older, size_t n,
                                 pathset_resolve_f resolve, void *arg,
                                 struct error *err);

/*
 * Files
 */

/* Write it: the same bytes for the same baseline. 0, or -1 with err. */
int baseline_write (const struct baseline *b, FILE *fp, struct error *err);

/* Read a file; or of it what is close to a job, at most `most` rows
 * (baseline_enough of the number of the job's). These are, first, rows that
 * share a link with the job, those first that have the fewest other links; then
 * those that share one with these; and so on. Leaving out rows adds no bias.
 * What is done grows with what is read.
 *
 * A file of samples (core/samples) is a baseline of one run. Names are resolved
 * as by plan_read. Nothing in the file is trusted. NULL with err, which begins
 * with name.
 */
static inline size_t baseline_enough (size_t rows)
{
    return 2048 + rows;
}

struct baseline *baseline_read (FILE *fp, const char *name,
                                const struct network *net,
                                pathset_resolve_f resolve, void *arg,
                                struct error *err);
struct baseline *baseline_near (FILE *fp, const char *name,
                                struct pathset *job, size_t most,
                                pathset_resolve_f resolve, void *arg,
                                struct error *err);

/* What baseline_near would read of it, if it were in a file. */
struct baseline *baseline_part (const struct baseline *b, struct pathset *job,
                                size_t most, pathset_resolve_f resolve,
                                void *arg, struct error *err);

#endif /* CORE_BASELINE_H */
