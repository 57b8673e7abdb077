/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model: what links, their classes and earlier samples let one expect of the
 * RTTs of a job, as a linear Gaussian model of any size. The judge's first
 * half; the mathematics is in model.c.
 *
 * Rows 0 .. nrows-1 are the job's observations. r is RTT - expected RTT, V
 * its covariance. Links of the model are the columns 0 .. n-1, those of the
 * job (pathset_links, in order) before those of the baselines.
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
#include "util/rng.h"

struct model {
    size_t nrows;
    const struct observations *obs;

    size_t m;              /* links of the job */
    size_t n;              /* and of what is kept of the baselines */
    uint32_t *link;        /* [n] of the network */
    uint32_t *column;      /* [nlinks] where a link is, NETWORK_NONE */
    double *expected;      /* [n] latency, before the job's samples, ns */
    uint32_t *class_of;    /* [n] numbered from 0 */
    size_t nclasses;
    uint32_t *class_id;    /* [nclasses] the network's */
    double differ;         /* what links differ by within classes, roughly */
    double mean_sd;        /* of classes' means, before anything is known */
    double *mean;          /* [nclasses] expected of another link of it, ns */
    double *spread;        /* [nclasses] standard deviation within, ns */
    uint32_t *offset_of;   /* [nlinks] the job's, by host link; NETWORK_NONE */
    size_t noffsets;       /* hosts' offsets, of the job and of baselines */
    double *offset_mean;   /* [noffsets] ns, of round trips */
    double *offset_sd;
    double scatter;        /* of the job's rows over what their classes let
                              expect, by the spreads; at least 1 */
    bool *covered;         /* [m] some row of the baseline crosses the link */
    size_t uncovered;      /* links that none does */
    size_t baseline_rows;  /* different ones */
    size_t far_rows;       /* of them left out, see model.c */

    /* the linear model without and with the job's rows, see model.c */
    struct model_side {
        struct sparse *a;  /* columns: links, the classes' means, offsets */
        double *weight;    /* [rows of a] 1 / variance */
        size_t measured;   /* rows of a that are of RTTs */
        struct lsq *lsq;
    } before, after;
    uint32_t *row_of;      /* [nrows] the job's among those of `after` */
};

/* One run's rows, and what loopbacks took, by host link; NULL: there are none.
 */
struct model_run {
    struct observations obs;
    struct loopback_time *loopback; /* [nlinks] */
};

/* Make the model of a job from its run and those of nbase baselines (none is
 * fine). All is borrowed. Return 0, or -1 with err; model_clear is due in both
 * cases.
 */
int model_make (struct model *model, struct pathset *ps,
                const struct model_run *job, const struct model_run *base,
                size_t nbase, struct error *err);
void model_clear (struct model *model);

/* Take the variances of the job's observations as they are now. Return 0, or -1
 * with errno ENOMEM.
 */
int model_reweigh (struct model *model);

/* What a row should take more in `run` than in `base` by what its hosts' loopbacks
 * say, and the standard deviation of that.
 */
double model_shift (const struct network *net, const struct observation *row,
                    const struct model_run *run, const struct model_run *base,
                    double *sd);

/* What a host's loopback takes more than in the baseline, by its link, ns of
 * round trip. False: loopbacks do not tell.
 */
bool model_loopback (const struct model *model, uint32_t link, double *ns,
                     double *sd);

/* r, over the rows. */
void model_residual (const struct model *model, double *r);

/* p = V^-1 d for n vectors over the rows, one behind the other. Eight at once
 * cost little more than one. Return 0, or -1 with errno ENOMEM.
 */
int model_whiten (const struct model *model, const double *d, size_t n,
                  double *p);

/* Draw n vectors z over the rows from a normal distribution of covariance
 * V^-1: what whitened residuals look like where nothing is wrong. Return 0, or
 * -1 with errno ENOMEM.
 */
int model_draw (const struct model *model, struct rng *rng, size_t n,
                double *z);

/* How many columns there are: links, classes, offsets. */
static inline size_t model_unknowns (const struct model *m)
{
    return m->n + m->nclasses + m->noffsets;
}

/* u [model_unknowns]: sum of weights v (over the rows) times the rows. */
void model_transpose (const struct model *model, const double *v, double *u);

/* Variance of the combination u [model_unknowns] of them all, before the job's
 * samples. NAN with errno ENOMEM.
 */
double model_prior_variance (const struct model *model, const double *u);

/* What to expect of the latency of any link of the network, before the job's
 * samples, and by how much it may differ: no more than by its class's spread,
 * or what the job's rows scatter, where that is more.
 */
void model_link (const struct model *model, const struct network *net,
                 uint32_t link, double *ns, double *spread);

#endif /* CORE_MODEL_H */
