/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record: what the step of an audit printed (pmm-probe --audit), read by the
 * audit that judges it: a line with the plan, one with the samples, and the
 * result
 *
 *     pmm-result 1 <OK|WARN|FAIL|UNKNOWN> <nonce> <one sentence>
 *
 * or the result alone, whose sentence says why nothing was measured. Nothing
 * in it is trusted: rows must be those of the snapshot at hand, endpoints those
 * of the nodes that were asked for. The step's own verdict counts as far as it
 * is UNKNOWN: there something went wrong that the samples do not show.
 *
 * Slurm cuts lines of more than 1 KB where it labels them. So plan and samples
 * come in pieces, each a line that begins with '+', and a '+' alone ends them.
 */
#ifndef PROLOG_RECORD_H
#define PROLOG_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "util/error.h"

enum {
    RECORD_MAX = 64 << 20, /* bytes */
};

/* What a record may be of: node[endpoint of the fabric] is the node that has
 * it, if that is audited; else NULL.
 */
struct record_scope {
    const char *nonce;
    const struct fabric *fabric;
    const char *const *node;
};

struct audit_record {
    struct pathset *ps;
    struct plan *plan;       /* NULL: nothing was measured, */
    struct samples *samples; /* ... likewise */
    bool unknown;            /* the step says so, */
    char sentence[256];      /* ... and why; "" where there is no result */
};

/* Read the len bytes at text, which are changed. Return 0, or -1 with err where
 * it is no such record; record_clear is due in both cases.
 */
int record_read (struct audit_record *r, char *text, size_t len,
                 const struct record_scope *scope, struct error *err);
void record_clear (struct audit_record *r);

/* Whether a line, without its end, is the result with that nonce. Then what
 * comes after the nonce is in *sentence, and whether it is UNKNOWN in *unknown.
 */
bool record_is_result (const char *line, const char *nonce, bool *unknown,
                       const char **sentence);

#endif /* PROLOG_RECORD_H */
