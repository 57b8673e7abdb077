/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Model: what links, their classes and earlier samples let one expect of the
 * RTTs of a job, as a linear Gaussian model. The judge's first half; the
 * mathematics is in model.c.
 *
 * Columns 0 .. m-1 are the links of the job (pathset_links, in order), rows
 * 0 .. nrows-1 its observations. r is RTT - expected RTT, V its covariance.
 */
#ifndef CORE_MODEL_H
#define CORE_MODEL_H

#include <stdint.h>

#include "core/observe.h"
#include "core/paths.h"
#include "util/error.h"

struct model {
    size_t m;
    size_t nrows;
    const uint32_t *link;  /* [m] of the network */
    const struct observations *obs;
    size_t *row_start;     /* [nrows + 1] */
    uint32_t *row_col;     /* columns of a row; counts are obs's */
    size_t *col_start;     /* [m + 1] */
    uint32_t *col_row;     /* rows of a column, rising */
    uint8_t *col_count;

    double *z;             /* [nrows] V^-1 r */
    double *row_info;      /* [nrows] diagonal of V^-1 */
    double *col_info;      /* [m] diagonal of A' V^-1 A */
    uint32_t *class_of;    /* [m] numbered from 0 */
    size_t nclasses;
    double *spread;        /* [m] standard deviation within the class, ns */
    double *expected;      /* [m] latency, before the job's samples, ns */
    size_t uncovered;      /* links that no baseline row crosses */

    size_t n;              /* unknowns of the model */
    double *prior;         /* Cholesky factor of their precision before the
                              job's samples */
    double *inverse;       /* their covariance after */
};

/* Make the model of a job from its observations and those of nbase baselines
 * (none is fine). obs is borrowed. Return 0, or -1 with err; model_clear is
 * due in both cases.
 */
int model_make (struct model *model, struct pathset *ps,
                const struct observations *obs,
                const struct observations *base, size_t nbase,
                struct error *err);
void model_clear (struct model *model);

/* p = V^-1 d, both over the rows. Return 0, or -1 with errno ENOMEM. */
int model_whiten (const struct model *model, const double *d, double *p);

/* d += column `col` over the rows. */
void model_add_column (const struct model *model, uint32_t col, double *d);

/* Sum of column `col` times v, v over the rows. */
double model_dot (const struct model *model, uint32_t col, const double *v);

/* Variance of the combination u (over the job's columns) of latencies, before
 * the job's samples. NAN with errno ENOMEM.
 */
double model_prior_variance (const struct model *model, const double *u);

#endif /* CORE_MODEL_H */
