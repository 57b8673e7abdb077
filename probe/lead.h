/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The leader's own work in a check: from the published snapshot and the roster
 * to a plan, and from the samples to a verdict.
 *
 * The result file is for the tasks of the job: the outcome of the check, the
 * verdict, and the latency of each pair: JSON, kind "result". The job's user
 * writes it, so it is advice: nobody else should trust it. Pairs: if there is a
 * solution and there are at most LEAD_ENDS_MAX endpoints, all pairs whose
 * latency the samples determine; otherwise the measured pairs, with half the
 * median of their round trips.
 */
#ifndef PROBE_LEAD_H
#define PROBE_LEAD_H

#include <stdbool.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "probe/step.h"
#include "util/error.h"

enum { LEAD_ENDS_MAX = 256 };

enum lead_rates { LEAD_NO_RATES, LEAD_RATES_HOSTS, LEAD_RATES_ALL };

struct lead_options {
    const char *nonce;  /* up to 32 lower-case hex digits */
    const char *plan;   /* file with a plan to use; NULL: make one */
    const char *output; /* directory for plan, samples, verdict; NULL: none */
    const char *result; /* the result file; NULL: none */
    bool relay;         /* show progress to the program that reads the report */
    bool audit;         /* judged again elsewhere: print the plan, too */
    int rates;          /* of which links, if the site allows it: lead_rates */
};

struct lead_result {
    enum verdict_status status;
    char sentence[256]; /* with facts for comments, if it is no audit's */
    char *plan;    /* JSON, one line; NULL if not wanted */
    char *samples; /* likewise; NULL if nothing was measured */
    bool left;     /* the samples are in the output directory, too */
};

/* Lead the check of a step, which may have no group: then no member has a
 * transport. The report for people goes to `report`, with warnings, such as a
 * file that cannot be written. The members are dismissed in any case. Return 0,
 * or -1 with err if there is no verdict; result has the samples if there are
 * any. Call lead_result_clear in both cases.
 */
int lead (struct step *step, const struct lead_options *opts,
          FILE *report, struct lead_result *result, struct error *err);
void lead_result_clear (struct lead_result *result);

#endif /* PROBE_LEAD_H */
