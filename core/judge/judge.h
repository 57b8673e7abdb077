/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judge: explain what is slower than expected by the fewest slow links.
 *
 * The model. A round trip i takes, in ns,
 *
 *     y_i = sum_l a_il x_l + o_h(i) + o_k(i) + w_i + e_i .
 *
 *   a_il  how often its path crosses link l, there and back (0, 1, 2)
 *   x_l   latency of l: of its class's mean, give or take the spread that the
 *         class shows; the baselines' rows say more of it
 *   o_h   what host h takes more in this run, as in each baseline: its process
 *         on another core or socket, its power profile. With loopbacks (a host's
 *         messages to itself, over no cable) what these differ by, +-20 ns;
 *         without, 0 +-80 ns. Loopbacks that the host's round trips do not
 *         follow at all are left aside, as if there were none
 *   w_i   others' traffic, which only adds: exponential waits. Of n repeats that
 *         all waited, the least waited for 1/n of the mean. That mean is what the
 *         quarter of the repeats says, so that three times that over n bounds
 *         what a row's least repeat may have in it (samples/observe)
 *   e_i   noise of the least repeat, as two sides' differ
 *
 * All of it but w is a linear Gaussian model (judge/model), w goes in as the
 * standard deviation that it is bounded by. So the rows' excess over what is
 * expected has a covariance V, and a cause (judge/cause), a column d over the
 * rows, has by generalised least squares the estimate d'V^-1 r / d'V^-1 d, and
 * improves chi square by (d'V^-1 r)^2 / d'V^-1 d. Causes are added one by one
 * while that is more than the best of so many candidates reaches by chance once
 * in 20 checks (judge/explain): host ends, links, one direction of a link, a
 * switch, a class, a wrong route, a row. Links, directions and switches only add;
 * hosts, classes, routes and rows differ either way.
 *
 * The words. e is a link's excess, one way, s its standard error, with what
 * traffic may have added to all of its rows alike.
 *
 *   found       e > WarnExcess and e > WarnSpread s: WARN. FAIL where e >
 *               FailExcess, e > FailSpread s, and e - 3 s is still worth a WARN,
 *               by the baseline: what is slow beside its class alone may be a
 *               long cable. And not where a switch would do as well, nor where
 *               a host without a loopback may run otherwise than before
 *   sound       e + 2 s <= FailExcess beside all causes
 *   not judged  what is neither: it is said of the links, and the verdict is
 *               UNKNOWN where one is a host end, or more than NotJudgedShare are
 *
 * A host whose loopback got slower by as much as a FAIL is a finding of its own
 * (software, PCIe or adapter), WARN. So is a route that is wrong: where a link
 * carries one endpoint's messages alone, the likelier of the two is found
 * (judge/route). Where a whole class is off by FailExcess, the runs differ, and
 * nothing fails. What loses messages is WARN.
 *
 * Where switches routed the messages adaptively, here or in a baseline, nobody
 * knows which links they crossed, but those at their ends: what is no host end
 * is no finding then, but a limit.
 *
 * Sources: generalised least squares, A. C. Aitken 1935; forward selection by
 * orthogonal least squares, Chen, Billings, Luo 1989; least of n exponentials,
 * A. Renyi 1953.
 */
#ifndef CORE_JUDGE_H
#define CORE_JUDGE_H

#include <stdbool.h>

#include "core/judge/cause.h"
#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "util/error.h"
#include "util/site.h"

/* A host link of the network that carried so much of others' traffic while it
 * was measured that round trips over it tell nothing, nor do those over what
 * that traffic may have filled on its way: they are not judged, and the host
 * link is an UNKNOWN finding, for which `why` is the sentence.
 */
struct busy_link {
    uint32_t link;
    char why[192];
    uint32_t *way; /* links that the traffic may have filled as well: round */
    size_t nway;   /* trips over them give no baseline */
};

/* Sigma is the standard deviation that the excess would have on a healthy
 * fabric: of noise, here and in the baseline, and for basis class of the
 * spread within the class (1.4826 MAD where it can be estimated, 100 ns where
 * it cannot).
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
};

/* The figures above; those of a site. */
extern const struct judge_options judge_defaults;
struct judge_options judge_site_options (const struct site *site);

/* Whether an excess that the baseline shows is a FAIL. */
bool judge_fails (const struct judge_options *opts, double excess_ns,
                  double stderr_ns);

/* Earlier samples of the same fabric, of a run or several, with the set that
 * they refer to. The newest come first: of what a host takes more, they are
 * what others are compared with, and where rows are too many, theirs are kept.
 */
struct baseline {
    const struct samples *samples;
    const struct pathset *ps;
};

/* Judge the samples of a plan. NULL with err where memory is short, a path is
 * broken or there is more than can be judged; everything that the samples
 * lack is a limit of the verdict instead. opts NULL: judge_defaults.
 */
struct verdict *judge (struct pathset *ps, const struct plan *plan,
                       const struct samples *samples,
                       const struct baseline *baseline, size_t nbaselines,
                       const struct judge_options *opts, struct error *err);

/* What looks slow (or just not as expected) before it is confirmed, and behind
 * that links that are in doubt: what a confirm stage is planned from. Suspects
 * are those that explain an excess equally well, the likeliest first.
 */
struct suspicion {     /* a switch link's two directions are there behind it */
    double excess_ns;  /* of the likeliest: one way, the mean of a link's two
                          directions; a route's or row's: of the round trip */
    double stderr_ns;
    struct suspect *suspect;
    size_t n;
    bool vague;        /* nothing looks slow, but it might be by so much */
};

struct suspicions {
    struct suspicion *v;
    size_t n;
};

/* Judge the samples so far of a plan that has not ended. Return 0, or -1 with
 * err; suspicions_clear is due in both cases.
 */
int judge_first (struct suspicions *s, struct pathset *ps,
                 const struct plan *plan, const struct samples *samples,
                 const struct baseline *baseline, size_t nbaselines,
                 const struct judge_options *opts, struct error *err);
void suspicions_clear (struct suspicions *s);

#endif /* CORE_JUDGE_H */
