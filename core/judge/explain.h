/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explain: the fewest causes (judge/cause) for the excess over what a model
 * expects. A decrease is a cause, too, lest it be taken for something else.
 */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/cause.h"
#include "core/linear/lsq.h"
#include "core/linear/sparse.h"
#include "core/samples/samples.h"

/* Model: the RTTs to expect of a job, from links, their classes and earlier
 * samples, as a linear Gaussian model; model.c has the mathematics.
 *
 * Rows 0 .. nrows-1 are the job's observations; r is RTT - expected RTT, V its
 * covariance. Unknowns, in this order: latencies of links (the job's as
 * pathset_links has them, then the baselines'), means of their classes, and the
 * offset of each host in each run (the job's first). Where directions were
 * measured alone, also by how much a link's first one is slower than the mean.
 * Where rows cross cables that the network of places does not tell apart
 * (core/paths/multipath), also the time that these take between each two ends: a
 * way.
 */
struct model {
    struct pool *pool; /* has all but the solvers and the matrices of `own` */
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
    double *unit;        /* [nclasses] ns of latency per unit of LRTL; 0: it is
                            not used */
    double *zero;        /* [nclasses] LRTL of a link of the mean latency */
    uint32_t *offset_of; /* [nlinks] the job's, by host link; NETWORK_NONE */
    size_t noffsets;
    size_t nskews;           /* n where directions were measured, else 0 */
    size_t nways;
    double *apart;  /* [nways] such cables, on average */
    double *offset_mean; /* [noffsets] ns, of round trips */
    double *offset_sd;
    double *expected; /* [model_unknowns] before the job's samples, ns */
    size_t own_offsets; /* the job's: the first */
    double scatter;   /* of the job's rows about the values expected from
                         their classes, in spreads; at least 1 */
    bool *covered;    /* [m] some row of the baseline crosses the link */
    size_t uncovered; /* links that none crosses */

    /* The least squares problem: the baselines' rows, a prior for each unknown
     * (these two are also `prior`), then the job's rows.
     */
    struct sparse *a, *prior;
    double *y, *weight;         /* [rows of a] values, 1 / variance */
    size_t measured;            /* rows of baselines */
    bool alone;                 /* the baselines alone tell the spreads */
    struct lsq *before, *after; /* without and with the job's rows */

    /* If the job has few rows and the problem is small enough to be factorised,
     * `before` keeps the job's unknowns, and these are instead of `after`.
     */
    struct model_own {
        uint32_t *col; /* [n] the job's own unknowns: columns of a, ascending */
        uint32_t *at;  /* [columns of a] NETWORK_NONE: another */
        size_t n;
        double *const *factor; /* [n] a triangle, of K0 for them */
        double *known;         /* [nrows * nrows] V without the rows' own noise, */
        double *inverse;       /* [nrows * nrows] and V^-1 */
    } *own;
    struct model *last; /* gets what is of use to the next one; `before` is its
                           if it was of use to this one; NULL */
};

/* One run's rows and hosts' loopbacks. */
struct model_run {
    struct observations obs;
    struct link_loopback {
        uint32_t link; /* of the host; ascending */
        struct loopback_time time;
    } *loopback;
    size_t nloopbacks;
};

/* Make the model from the job's run and those of nbase baselines; all is
 * borrowed. `last` is of an earlier one that was cleared, or empty, or NULL:
 * what these baselines tell of this job is not worked out again; model_clear it
 * at the end. 0, or -1 with err; then model_clear.
 */
int model_make (struct model *model, struct pathset *ps,
                const struct model_run *job, const struct model_run *base,
                size_t nbase, struct model *last, struct error *err);
void model_clear (struct model *model);

/* The functions below return -1 with errno EDOM if ill-conditioned. */

/* Use the current variances of the job's observations: before model_whiten and
 * model_draw, and again when they change.
 */
int model_reweigh (struct model *model);

/* p = V^-1 d for n vectors, one after the other, to a relative error of p; that
 * of d' p is its square. Eight cost little more than one.
 */
#define MODEL_EXACT 1e-6
#define MODEL_ROUGH 1e-5
int model_whiten (const struct model *model, const double *d, size_t n,
                  double tolerance, double *p);

/* Draw n vectors z over the rows, a multiple of LSQ_LANES, of covariance V^-1.
 */
int model_draw (const struct model *model, uint64_t seed, size_t n, double *z);

/* Variance of combination u [model_unknowns] before the job's samples. */
double model_prior_variance (const struct model *model, const double *u);

/* By how much a row should be slower in `run` than in `base`, by loopbacks, and
 * the standard deviation, ns.
 */
double model_shift (const struct network *net, const struct observation *row,
                    const struct model_run *run, const struct model_run *base,
                    double *sd);

/* The time of a host's loopback in a run; ns NAN: it has none. */
struct loopback_time model_loopback_time (const struct model_run *run,
                                          uint32_t link);

/* By how much a host's loopback is slower than in the baseline, ns of a round
 * trip. False: not known.
 */
bool model_loopback (const struct model *model, uint32_t link, double *ns,
                     double *sd);

/* The excess r, over the rows. */
void model_residual (const struct model *model, double *r);

/* The index of the first offset among the unknowns. */
static inline size_t model_offsets (const struct model *m)
{
    return m->n + m->nclasses + m->nskews + m->nways;
}

static inline size_t model_unknowns (const struct model *m)
{
    return model_offsets (m) + m->noffsets;
}

/* The index of a job's row in a. */
static inline size_t model_row (const struct model *m, size_t row)
{
    return m->prior->nrows + row;
}

/* u [model_unknowns]: sum of weights v (over the rows) times the rows. */
void model_transpose (const struct model *model, const double *v, double *u);

/* Any link's expected latency before the job's samples, and its standard
 * deviation: its class's spread or, if larger, the scatter of the job's rows.
 */
void model_link (const struct model *model, const struct network *net,
                 uint32_t link, double *ns, double *spread);

/*
 * Explanations
 */

enum { CAUSES_MAX = 64 };

struct cause {
    size_t signature; /* of struct causes */
    double excess_ns; /* of its simplest member */
    double stderr_ns; /* scaled, and with what others' traffic may have added to
                         all its rows alike */
    double t;         /* its excess in standard errors of the model's noise */
    double *p;        /* V^-1 of its signature */
};

struct explanation {
    struct pool *pool; /* has all but what the causes have */
    const struct model *model;
    const struct causes *causes;
    struct cause cause[CAUSES_MAX];
    size_t n;
    bool full;           /* there were more causes than fit */
    double *z;           /* V^-1 of the residual, over the rows */
    double *unexplained; /* V^-1 r, before any cause */
    double scale;        /* residual noise over the model's, at least 1 */
    double *row_info;    /* [rows] diagonal of V^-1, approximate */
    double *info;        /* [causes->n] d' V^-1 d of signatures d: rough, */
    bool *exact;         /* or exact */
    double *score;       /* [causes->n] of the last search */
    double *h;           /* factor of H_SS, see explain.c */
    double chance[SUSPECT_KINDS]; /* z that a kind's best has by chance */
};

/* Explain; model and causes are borrowed. A healthy run shows `alarms` causes
 * on average. Then call explanation_clear. Like the functions below: -1 with
 * errno EDOM if the rows are too ill-conditioned.
 */
int explain (struct explanation *ex, const struct model *model,
             const struct causes *causes, double alarms);
void explanation_clear (struct explanation *ex);

/* Signatures that a chi square test does not separate from cause number c, its
 * own first, then the best. Return *n, which the caller frees, or NULL.
 */
struct rival {
    size_t signature;
    double less;      /* chi square that c explains and it does not */
    double excess_ns; /* of its simplest member, in place of c */
    double stderr_ns;
};
struct rival *explain_suspects (struct explanation *ex, size_t c, size_t *n);

/* Replace the signature of cause number c. */
int explain_swap (struct explanation *ex, size_t c, size_t signature);

/* upper[k], for signatures of links: the most, at sd standard errors, that the
 * simplest member may be slow, with all causes in the model; exact if more than
 * half of `enough`. INFINITY: not determined.
 */
int explain_bounds (struct explanation *ex, double sd, double enough,
                    double *upper);

/* judge/route: find what cause c stands for, in *face. Usually itself; a route
 * or a link between switches becomes the most likely of all such that explain
 * it as well, NULL if none would have such an excess. Links are more likely if
 * their excess is above fail_ns.
 */
int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face);

/* Switches that may have the wrong route of cause c, at most `most`, into sw,
 * the likeliest first. Return how many.
 */
int route_switches (struct explanation *ex, size_t c, const struct pathset *ps,
                    uint32_t *sw, size_t most);

/* judge/share: the link that loses messages, or delays some. Two rates, across
 * it and elsewhere, are the most likely compared with one (a likelihood ratio
 * test, S. S. Wilks 1938).
 */
enum share_kind { SHARE_LOST, SHARE_SLOW };

enum { SHARE_LINKS_MAX = 8 };
struct share {
    uint32_t link[SHARE_LINKS_MAX]; /* of the network, the likeliest first */
    size_t n;                /* 0: no link stands out */
    uint64_t sent, affected; /* messages across it, */
    double least;            /* ... lower bound of the share that is affected */
    uint64_t other_sent, other_affected; /* all other messages */
    double more_ns;     /* that slow ones take more than the least */
    double other_least; /* lower bound of the share of these that is affected */
};

/* Find it, without nodes that did not answer: they lose everything. first: those
 * to be measured again, by less evidence. 0, or -1 with err. */
int share_find (struct share *share, struct pathset *ps,
                const struct samples *samples, enum share_kind kind,
                bool first, struct error *err);

#endif /* CORE_EXPLAIN_H */
