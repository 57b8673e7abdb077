/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of a fabric: plans for some of its links, and hosts that tell
 * suspects apart. What `pmm plan` does besides planning for a job.
 */
#ifndef PMM_PART_H
#define PMM_PART_H

#include <stdbool.h>

#include "core/plan/plan.h"
#include "ibquery/fabric.h"
#include "util/error.h"

struct part {
    const char *links;   /* LIST or @FILE of links, NULL: those of: */
    const char *at;      /* a switch by GUID or name */
    const char *suspects, *idle; /* LIST or @FILE */
    const char *hosts;   /* to choose from; the job. NULL: all; none */
    const char *output;  /* of part_separate; NULL: standard output */
    bool json;
};

/* Plan the measurement of links or of a switch's; says on standard error what
 * the hosts' paths do not determine. *ps is the caller's. NULL with err.
 */
struct plan *part_plan (const struct fabric *f, const struct part *part,
                        const struct plan_options *opts, struct pathset **ps,
                        struct error *err);

/* The links that are asked for, or a switch's: rising, the caller's, their
 * number in *n. NULL with err.
 */
uint32_t *part_links (const struct fabric *f, const struct part *part,
                      size_t *n, struct error *err);

/* Name the idle hosts that tell the suspects apart. 0, or -1 with err. */
int part_separate (const struct fabric *f, const struct part *part,
                   struct error *err);

#endif /* PMM_PART_H */
