/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the leader of a check does beyond what every member does: from the
 * published snapshot and the roster to a plan, from the samples to a verdict.
 */
#ifndef PROBE_LEAD_H
#define PROBE_LEAD_H

#include <stdbool.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "probe/group.h"
#include "probe/roster.h"
#include "util/error.h"
#include "util/site.h"

/* In place of the nonce in the lines on traffic that members remark: each
 * process of a check by hand has one of its own.
 */
#define LEAD_REMARK "0"

/* The result file is for the tasks of the job: what came of the check, the
 * verdict, and the latency of each pair: JSON, kind "result". It is made in the
 * job, as its user: advice, nothing that anybody else should believe.
 *
 * Pairs: all of which the samples tell the latency, by a solution; of more than
 * LEAD_ENDS_MAX endpoints, or where there is no solution, those that were
 * measured, by half the median of their round trips.
 */
enum { LEAD_ENDS_MAX = 256 };

struct lead_options {
    const struct site *site;
    const char *nonce;  /* up to 32 lower-case hex digits */
    const char *plan;   /* file with a plan to use; NULL: make one */
    const char *output; /* directory for plan, samples, verdict; NULL: none */
    const char *result; /* the result file; NULL: none */
    bool relay;         /* the progress, to the program that reads the report */
    bool audit;         /* it is judged again elsewhere: print the plan, too */
};

struct lead_result {
    enum verdict_status status;
    char sentence[256];
    char *plan;    /* JSON, one line; NULL where it is not wanted */
    char *samples; /* likewise; NULL where nothing was measured */
};

/* Lead the group's check (g NULL: no member has a transport). The report for
 * people goes to `report`, along with what was odd, such as a file that cannot
 * be written.
 * The members are sent home in any case. Return 0, or -1 with err where there
 * is no verdict, with the samples if there are any; lead_result_clear is due
 * in both cases.
 */
int lead (struct group *g, const struct roster *roster,
          const struct fabric *f, const struct lead_options *opts,
          FILE *report, struct lead_result *result, struct error *err);
void lead_result_clear (struct lead_result *result);

/* Remove what an earlier check left at path, if it is a file. True if it was
 * one and is gone. A handler of signals may call it.
 */
bool lead_drop_file (const char *path);

#endif /* PROBE_LEAD_H */
