/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judge: explain what is slower than expected by the fewest slow links.
 *
 * The model. A round trip i takes, in ns,
 *
 *     y_i = sum_l a_il x_l + o_h(i) + o_k(i) + w_i + e_i .
 *
 *   a_il  how often its path crosses link l, there and back (0, 1, 2)
 *   x_l   latency of l: the mean of its class +- the spread within the class;
 *         the baselines' rows determine it better
 *   o_h   offset of host h in this run, and in each baseline: a process on
 *         another core or socket, a power profile. With loopbacks (messages of
 *         a host to itself, over no cable) it is their difference +-20 ns;
 *         without, it is 0 +-80 ns. Loopbacks that the host's round trips do
 *         not follow at all are ignored
 *   w_i   others' traffic, which only adds: exponential waits. If all n repeats
 *         waited, the least of them waited for 1/n of the mean. The first
 *         quartile of the repeats estimates that mean, so three times the
 *         estimate over n bounds the wait in a row's least repeat
 *         (samples/observe)
 *   e_i   noise of the least repeat, from the difference of the two sides
 *
 * Everything but w is a linear Gaussian model (judge/model); w enters as the
 * standard deviation that bounds it. So the excess r of the rows above the
 * expected values has a covariance V. A cause (judge/cause) is a column d over
 * the rows; generalised least squares estimate it as d'V^-1 r / d'V^-1 d, and
 * it reduces chi square by (d'V^-1 r)^2 / d'V^-1 d. Causes are added one by one
 * while this is more than the best of so many candidates reaches by chance once
 * in 20 checks (judge/explain): host ends, links, one direction of a link, a
 * switch, a class, a wrong route, a row. Links, directions and switches only
 * add; hosts, classes, routes and rows may have either sign.
 *
 * Findings. e is a link's excess in one direction; s is its standard error,
 * including what traffic may have added to all of its rows alike.
 *
 *   found       WARN if e > WarnExcess and e > WarnSpread s. FAIL if e >
 *               FailExcess, e > FailSpread s, e - 3 s is still a WARN, and the
 *               excess is above a baseline: a link that is slow only compared
 *               with its class may be a long cable. Not a FAIL if a slow switch
 *               is as likely, or if a host without a loopback may run
 *               differently than before
 *   sound       e + 2 s <= FailExcess, with all causes in the model
 *   not judged  neither of these. A limit names such links, and the verdict is
 *               UNKNOWN if one is a host end, or if they are more than
 *               NotJudgedShare
 *
 * A host whose loopback got slower by FailExcess is a finding of its own
 * (software, PCIe or adapter), a WARN. So is a wrong route: where a link
 * carries the messages of one endpoint alone, the likelier of the two is found
 * (judge/route). If a whole class differs by FailExcess, the runs differ, and
 * nothing FAILs. A link that loses messages is a WARN.
 *
 * If switches routed the messages adaptively, here or in a baseline, only the
 * links at their ends are known: any other cause is a limit, not a finding.
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

/* A host link that carried so much of others' traffic while it was measured
 * that round trips over it tell nothing. The same holds for links that this
 * traffic may have filled on its way. They are not judged, and the host link is
 * an UNKNOWN finding with the sentence `why`.
 */
struct busy_link {
    uint32_t link;
    char why[192];
    uint32_t *way; /* links that the traffic may have filled: round trips */
    size_t nway;   /* over them give no baseline */
};

/* Sigma is the standard deviation that the excess would have on a healthy
 * fabric: from noise, here and in the baseline, and for basis class from the
 * spread within the class (1.4826 MAD if it can be estimated, else 100 ns).
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

/* The defaults given above; those of a site. */
extern const struct judge_options judge_defaults;
struct judge_options judge_site_options (const struct site *site);

/* Whether an excess above the baseline is a FAIL. */
bool judge_fails (const struct judge_options *opts, double excess_ns,
                  double stderr_ns);

/* Earlier samples of the same fabric, from one run or several, with the path
 * set that they refer to. The newest come first: hosts' offsets are relative to
 * them, and if there are too many rows, theirs are kept.
 */
struct baseline {
    const struct samples *samples;
    const struct pathset *ps;
};

/* Judge the samples of a plan. NULL with err if a path is broken or the rows
 * are too ill-conditioned; everything that the samples lack is a limit of the
 * verdict instead. opts NULL: judge_defaults.
 */
struct verdict *judge (struct pathset *ps, const struct plan *plan,
                       const struct samples *samples,
                       const struct baseline *baseline, size_t nbaselines,
                       const struct judge_options *opts, struct error *err);

/* What looks slow, or different from the expected value, before it is
 * confirmed; then the links that are in doubt. A confirm stage is planned from
 * these. The suspects of one explain an excess equally well, the likeliest
 * first.
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
