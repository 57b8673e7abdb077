/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model: the RTTs to expect of a job, from links, their classes and earlier
 * samples, as a linear Gaussian model of any size. The judge's first half;
 * model.c has the mathematics.
 *
 * Rows 0 .. nrows-1 are the job's observations. r is RTT - expected RTT, V its
 * covariance. The unknowns are, in this order, the latencies of links (those of
 * the job as pathset_links has them, then those of the baselines), the means of
 * their classes, and the offset of each host in each run (the job's first).
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "util/error.h"

struct model {
    size_t nrows;
    const struct observations *obs;

    size_t m;           /* links of the job */
    size_t n;           /* with those that only the baselines have */
    uint32_t *link;     /* [n] of the network */
    uint32_t *column;   /* [nlinks] where a link is, NETWORK_NONE */
    uint32_t *class_of; /* [n] numbered from 0 */
    size_t nclasses;
    uint32_t *class_id;  /* [nclasses] the network's */
    double differ;       /* typical difference of links within a class, ns */
    double mean_sd;      /* of classes' means, a priori */
    double *spread;      /* [nclasses] standard deviation within, ns */
    uint32_t *offset_of; /* [nlinks] the job's, by host link; NETWORK_NONE */
    size_t noffsets;
    double *offset_mean; /* [noffsets] ns, of round trips */
    double *offset_sd;
    double *expected; /* [model_unknowns] before the job's samples, ns */
    double scatter;   /* of the job's rows about the values expected from
                         their classes, in spreads; at least 1 */
    bool *covered;    /* [m] some row of the baseline crosses the link */
    size_t uncovered; /* links that none crosses */
    size_t baseline_rows;
    size_t far_rows; /* baseline rows that were left out, see model.c */

    /* The least squares problem, see model.c: the rows of the baselines, then
     * the priors, one for each unknown (these two are also a problem of their
     * own), then the job's rows.
     */
    struct sparse *a, prior;
    double *weight;             /* [rows of a] 1 / variance */
    size_t measured;            /* rows of baselines */
    struct lsq *before, *after; /* without and with the job's rows */
};

/* One run's rows and hosts' loopbacks. */
struct model_run {
    struct observations obs;
    struct loopback_time *loopback; /* [nlinks] by host link; NULL: none */
};

/* Make the model of a job from its run and those of nbase baselines (may be 0).
 * All is borrowed. Return 0, or -1 with err; call model_clear in both cases.
 */
int model_make (struct model *model, struct pathset *ps,
                const struct model_run *job, const struct model_run *base,
                size_t nbase, struct error *err);
void model_clear (struct model *model);

/* The functions below return -1 with errno EDOM if the rows are too
 * ill-conditioned.
 */

/* Use the current variances of the job's observations. */
int model_reweigh (struct model *model);

/* p = V^-1 d for n vectors over the rows, one after the other, to a relative
 * error of p; that of d' p is its square. Eight at a time cost little more than
 * one.
 */
#define MODEL_EXACT 1e-8
#define MODEL_ROUGH 1e-5
int model_whiten (const struct model *model, const double *d, size_t n,
                  double tolerance, double *p);

/* Draw n vectors z over the rows, a multiple of LSQ_LANES, of covariance V^-1:
 * whitened residuals of a healthy fabric.
 */
int model_draw (const struct model *model, uint64_t seed, size_t n, double *z);

/* The variance of the combination u [model_unknowns] before the job's samples;
 * INFINITY: too ill-conditioned.
 */
double model_prior_variance (const struct model *model, const double *u);

/* By how much a row should be slower in `run` than in `base` according to its
 * hosts' loopbacks, ns, and the standard deviation of this.
 */
double model_shift (const struct network *net, const struct observation *row,
                    const struct model_run *run, const struct model_run *base,
                    double *sd);

/* By how much the loopback of the host at a link is slower than in the
 * baseline, ns of round trip. False: not known.
 */
bool model_loopback (const struct model *model, uint32_t link, double *ns,
                     double *sd);

/* The excess r, over the rows. */
void model_residual (const struct model *model, double *r);

static inline size_t model_unknowns (const struct model *m)
{
    return m->n + m->nclasses + m->noffsets;
}

/* The index of a job's row in a. */
static inline size_t model_row (const struct model *m, size_t row)
{
    return m->prior.nrows + row;
}

/* u [model_unknowns]: sum of weights v (over the rows) times the rows. */
void model_transpose (const struct model *model, const double *v, double *u);

/* The expected latency of any link of the network before the job's samples, and
 * its standard deviation: at most the larger of its class's spread and the
 * scatter of the job's rows.
 */
void model_link (const struct model *model, const struct network *net,
                 uint32_t link, double *ns, double *spread);

#endif /* CORE_MODEL_H */
