/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judge: explain what is slower than expected by the fewest slow links.
 *
 * The model. A round trip i takes, in ns,
 *
 *     y_i = sum_l a_il x_l + o_h(i) + o_k(i) + w_i + e_i .
 *
 *   a_il  how often its path crosses link l, there and back (0, 1, 2)
 *   x_l   latency of l: the mean of its class +- the spread within the class;
 *         the baseline's rows determine it better
 *   o_h   offset of host h in this run, and in each of the baseline: with
 *         loopbacks (messages of a host to itself) their difference +-20 ns,
 *         else 0 +-80 ns
 *   w_i   others' traffic, which only adds: exponential waits, bounded by how
 *         far the first quartile of the repeats is above the least
 *         (samples/observe)
 *   e_i   noise of the least repeat, from the difference of the two sides
 *
 * All but w is a linear Gaussian model (judge/model); w is a standard deviation
 * that bounds it. The excess r of the rows over the expected values has the
 * covariance V. A cause (judge/cause) is a column d over the rows; generalised
 * least squares estimate it as d'V^-1 r / d'V^-1 d. Causes are added one by one
 * while they explain more than the best of so many candidates does by chance
 * once in 20 checks (judge/explain). Links, directions and switches only add;
 * hosts, classes, routes and rows may have either sign.
 *
 * Findings. e is a link's excess in one direction; s is its standard error,
 * including what traffic may have added to all of its rows alike.
 *
 *   found       WARN if e > WarnExcess and e > WarnSpread s. FAIL if e >
 *               FailExcess, e > FailSpread s, e - 3 s is still a WARN, and the
 *               excess is above a baseline. Not a FAIL if a slow switch is as
 *               likely, or a host without a loopback may run differently,
 *               others' traffic met all messages across it, its loopback
 *               shows two fifths of it, it grew from round to round, or a
 *               class differs as a whole by so much: nothing FAILs that is
 *               not slower than it was itself
 *   sound       e + 2 s <= FailExcess, with all causes in the model
 *   not judged  neither. A limit names these links; the verdict is UNKNOWN if
 *               one is a host end, or if they are more than NotJudgedShare
 *
 * A host whose loopback got slower by FailExcess, a wrong route (judge/route),
 * and a link that loses or delays some messages (judge/share) are WARNs; one that
 * loses more than one in 50, as sure as 99.9 %, is a FAIL. If a whole class differs
 * by FailExcess, the runs differ: what does not FAIL is UNKNOWN.
 *
 * Where switches spread messages (adaptive or hashed routing), here or in a
 * baseline, all this is done on the network of places, with what all messages
 * of a pair cross: host ends, and cables without others beside them. A cable
 * that only some flows cross is found by their share (judge/mixture).
 *
 * What links carried in bursts, where these were measured: judge/rates.
 *
 * Sources: generalised least squares, A. C. Aitken 1935; forward selection by
 * orthogonal least squares, Chen, Billings, Luo 1989; least of n exponentials,
 * A. Renyi 1953.
 */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include <stdbool.h>

#include "core/baseline/baseline.h"
#include "core/judge/cause.h"
#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "util/error.h"
#include "util/site.h"

struct model;

/* A host link that carried so much of others' traffic meanwhile that round
 * trips tell nothing of it, nor of links that this traffic may have filled. It
 * becomes an UNKNOWN finding with this fact.
 */
struct busy_link {
    uint32_t link;
    struct fact carries;
    uint32_t *way; /* links that the traffic may have filled: round trips */
    size_t nway;   /* over them give no baseline */
};

/* Sigma: of the excess on a healthy fabric, from noise and, for basis class,
 * the spread within the class.
 */
struct judge_options {
    double warn_ns;     /* 100: WARN where the excess is more than this */
    double warn_spread; /* 6: and more than this many sigma */
    double fail_ns;     /* 300: FAIL where it is more than this, */
    double fail_spread; /* 10: and more than this many sigma, and three */
                        /* standard errors less would still WARN */
    double open_share;  /* 20: the verdict is UNKNOWN where more of the links,
                           as a percentage, or any host end, is not judged */
    const struct busy_link *busy;
    size_t nbusy;
    struct model *last; /* of an earlier judgement of the same job, or empty: this
                           one takes half the time (judge/explain); NULL */
};

/* The defaults given above; those of a site. */
extern const struct judge_options judge_defaults;
struct judge_options judge_site_options (const struct site *site);

/* Whether an excess above the baseline is a FAIL. */
bool judge_fails (const struct judge_options *opts, double excess_ns,
                  double stderr_ns);

/* The same endpoints, and a baseline's, on the network of places (core/paths/
 * multipath) if some of the samples were spread; else as they are. baseline may
 * be NULL. 0, or -1 with err; then judge_view_clear.
 */
struct judge_view {
    struct pathset *ps;
    const struct baseline *baseline;
    struct pathset *baseline_ps; /* of its endpoints */
    struct multipath *paths;     /* NULL: nothing was spread */
};
int judge_view_make (struct judge_view *view, struct pathset *ps,
                     const struct samples *samples,
                     const struct baseline *baseline, struct error *err);
void judge_view_clear (struct judge_view *view);

/* Judge the samples of a plan. NULL with err if a path is broken or the rows
 * are too ill-conditioned. baseline NULL: there is none; opts NULL:
 * judge_defaults.
 */
struct verdict *judge (struct pathset *ps, const struct plan *plan,
                       const struct samples *samples,
                       const struct baseline *baseline,
                       const struct judge_options *opts, struct error *err);

/* What looks slow or different before it is confirmed, then links in doubt. The
 * suspects of one explain an excess equally well, the likeliest first.
 */
struct suspicion {     /* a switch link is followed by its two directions */
    double excess_ns;  /* of the likeliest: in one direction, the mean of a
                          link's two; for a route or row, of the round trip */
    double stderr_ns;
    struct suspect *suspect;
    size_t n;
    bool vague;        /* nothing looks slow, but may be by so much */
};

struct suspicions {
    struct suspicion *v;
    size_t n;
    struct probe *pair; /* [npairs] some of whose flows may cross slow cables,
                           those that tell most first */
    size_t npairs;
    bool delays;        /* some link may delay messages: it takes many to tell */
    struct pool *pool;  /* has all but `pair` */
};

/* Judge a plan that has not ended. 0, or -1 with err; then suspicions_clear. */
int judge_first (struct suspicions *s, const struct judge_view *view,
                 const struct plan *plan, const struct samples *samples,
                 const struct judge_options *opts, struct error *err);
void suspicions_clear (struct suspicions *s);

/* Corroborate: compare a verdict from latencies with the signs of its links.
 *
 *   counter  a port of the link counts more errors than a healthy one,
 *   width    the link has fewer lanes than it could have,
 *   speed    or a lower speed. A link that is slower than its class and has
 *            such a sign is not just a long cable: it FAILs if its excess is
 *            above the judge's thresholds for a FAIL. So does one that delays
 *            messages, if it counts errors. Suspects that have a sign come
 *            first; none is removed.
 *            A switch link that carries less than expected and is UNKNOWN for
 *            others' traffic is judged by its rate, if it has one of these.
 *   wait     messages waited at a port of the link while it was measured
 *            (PortXmitWait grew), or it leads to a port that was full. Others'
 *            traffic may be the reason, so a FAIL becomes UNKNOWN.
 */
enum sign_kind { SIGN_COUNTER, SIGN_WIDTH, SIGN_SPEED, SIGN_WAIT, SIGNS };

struct sign {
    uint32_t link; /* of the network */
    enum sign_kind kind;
};

/* "counter", "width", "speed", "wait". */
const char *sign_name (enum sign_kind kind);

/* Change the verdict by n signs, in any order. opts NULL: judge_defaults. */
void corroborate (struct verdict *v, const struct sign *sign, size_t n,
                  const struct judge_options *opts);

#endif /* CORE_JUDGE_H */
