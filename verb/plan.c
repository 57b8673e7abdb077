/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verbs that make plans say of them, and how they write them. */
#include "config.h"
#include "verb/verb.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/paths/multipath.h"
#include "core/solve/solve.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/clock.h"

static void report_filled_links (const struct plan *plan, size_t endpoints)
{
    size_t n, filled = 0;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++)
        filled += t[i].filled;
    verb_say ("%s: %s in %s to fill %zu of %s", COUNTED (endpoints, "endpoint"),
              COUNTED (plan_probes (plan), "flow"),
              COUNTED (plan_rounds (plan), "round"), filled,
              COUNTED (n, "link"));
}

/* The chances that two flows of a round cross one cable, summed over them. */
static double count_meetings (struct multipath *m, const struct pathset *ps,
                              const struct plan *plan)
{
    size_t nlinks = pathset_network (ps)->nlinks;
    double *sum = xarray (nlinks, sizeof (*sum)), meetings = 0;

    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        memset (sum, 0, nlinks * sizeof (*sum));
        for (size_t i = 0; i < n; i++) {
            const struct multipath_share *s;
            size_t cables
                = multipath_shares (m, pathset_endpoint (ps, p[i].a)->id,
                                    pathset_endpoint (ps, p[i].b)->id, &s);

            for (size_t k = 0; k < cables; k++) {
                meetings += sum[s[k].link] * s[k].share;
                sum[s[k].link] += s[k].share;
            }
        }
    }
    free (sum);
    return meetings;
}

/* Where messages are spread, no round keeps probes apart: say how far. */
static void report_path_sharing (const struct inputs *in)
{
    struct traffic_class as = { 0, false };
    struct spread_choice c;
    struct multipath *m;

    need_ok (spread_choose (in->fabric, in->ps, as.rc, as.level, &c, &fault));
    if (c.spread == 0)
        return;
    as.level = c.level;
    m = need (multipath_create ((const struct pathset *const *)&in->ps, 1, &as,
                                &fault));
    verb_say ("%s spread messages over several paths: a flow meets %.2f others "
              "of its round on a cable",
              COUNTED (c.spread, "switch"),
              2 * count_meetings (m, in->ps, in->plan)
                  / (double)plan_probes (in->plan));
    multipath_destroy (m);
}

void plan_say (const struct inputs *in, const struct plan_file_extra *extra)
{
    const struct plan *plan = in->plan;
    size_t n = pathset_ports (in->ps);

    if (n < 2) {
        verb_say ("%s, nothing to measure", COUNTED (n, "endpoint"));
        return;
    }
    if (pathset_size (in->ps) > n)
        verb_say ("by %zu LIDs", pathset_size (in->ps));
    if (plan_rules (plan_method (plan))->flows) {
        report_filled_links (plan, n);
        return;
    }
    verb_say ("%s, %s, rank %zu: %s in %zu + %zu rounds",
              COUNTED (n, "endpoint"), COUNTED (plan_links (plan), "link"),
              plan_rank (plan), COUNTED (plan_probes (plan), "probe"),
              plan_basis_rounds (plan),
              plan_rounds (plan) - plan_basis_rounds (plan));
    if (!plan_maximal (plan))
        verb_say ("not all that the hosts could tell%s",
                  plan_rules (plan_method (plan))->schedule
                      ? ""
                      : ", which takes more than --budget to find; all links "
                        "are probed");
    if (extra->stderr_rms > 0)
        verb_say ("predicted standard errors of links and groups: rms %.2f, "
                  "max %.2f of an RTT's", extra->stderr_rms, extra->stderr_max);
    if (plan_probes (plan) > 0)
        report_path_sharing (in);
    if (plan_maximal (plan) && !plan_rules (plan_method (plan))->schedule)
        verb_say ("%zu rounds at least: %zu probes, %zu to a round",
                  plan_least_rounds (n, plan_rank (plan)), plan_rank (plan),
                  n / 2);
}

void plan_put (struct inputs *in, int64_t start_ns, bool verbose)
{
    struct plan_file_extra extra = {
        .seconds = 1e-9 * (double)(clock_ns () - start_ns),
    };
    struct rusage usage;

    if (getrusage (RUSAGE_SELF, &usage) == 0)
        extra.peak_rss_mb = usage.ru_maxrss / 1024.0;
    if (!plan_rules (plan_method (in->plan))->flows)
        need_ok (solve_predict (in->ps, in->plan, &extra.stderr_rms,
                                &extra.stderr_max, &fault));
    need_ok (plan_write (in->plan, in->ps, &extra, inputs_output (in),
                         &fault));
    if (!verbose)
        return;
    fflush (inputs_output (in)); /* on a terminal, all of the plan first */
    plan_say (in, &extra);
}
