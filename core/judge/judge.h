/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Judge: explain what is slower than expected by the fewest slow links.
 *
 * Expected is what the baseline and the links' classes let one expect of each
 * RTT, with its variance: see judge.c. A finding has
 *
 *   basis baseline  where earlier samples constrain the expected RTTs of its
 *                   paths: WARN or FAIL;
 *   basis class     where they do not: WARN at most, since the length of a
 *                   cable alone makes links of a class differ;
 *   basis loss      where messages were lost on it: WARN at most;
 *   basis traffic   where others' messages filled it: UNKNOWN.
 *
 * An excess becomes a finding only if it is confirmed: the rows of the plan's
 * confirm rounds show it, and all others, each on their own; its rows agree,
 * both initiators saw it and the fastest repeats show it too, which they do
 * not for the traffic of others. Else a limit says so, and one of more than
 * fail_ns makes the verdict UNKNOWN. So do missing nodes, lost probes and
 * incomplete samples.
 *
 * What one direction of a switch link explains as well is no host end. What a
 * switch explains as well is UNKNOWN. A switch link that carries one endpoint's
 * messages alone is taken for a wrong route where a detour would add as much
 * (judge/route). A wrong route is UNKNOWN, the links that should be on it are
 * its suspects, and all that shares one with these is UNKNOWN too. Where all
 * links of a class are slower by fail_ns than the baseline lets expect, that is
 * a limit, and nothing fails.
 *
 * Where switches routed the messages adaptively, here or in a baseline, nobody
 * knows which links they crossed, but those at their ends: what is no host end
 * is no finding then, but a limit.
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

/* Earlier samples of the same fabric, with the set that they refer to. */
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
