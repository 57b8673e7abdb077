/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Record: the output of an audit's step (pmm-probe --audit), read by the audit
 * that judges it: a line with the plan, one with the samples, and the result
 *
 *     pmm-result 1 <OK|WARN|FAIL|UNKNOWN> <nonce> <one sentence>
 *
 * or the result alone, whose sentence says why nothing was measured. Nothing in
 * it is trusted: rows must be those of the given snapshot, endpoints those of
 * the requested nodes. The step's own verdict counts only if it is UNKNOWN:
 * then something failed that the samples do not show.
 *
 * Slurm truncates labelled lines of more than 1 KB. So plan and samples come in
 * pieces, each a line that begins with '+'; a '+' alone ends them.
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

struct audit_record {
    struct pathset *ps;
    struct plan *plan;       /* NULL: nothing was measured, */
    struct samples *samples; /* ... likewise */
    bool unknown;            /* the step's verdict is UNKNOWN, */
    char sentence[256];      /* ... and why; "" if there is no result */
};

/* Read the len bytes at text, which are modified. node_of[endpoint of the
 * fabric] is the node of that endpoint if the node is audited, else NULL: the
 * record may be of no others. Return 0, or -1 with err if it is not such a
 * record; call record_clear in both cases.
 */
int record_read (struct audit_record *r, char *text, size_t len,
                 const char *nonce, const struct fabric *f,
                 const char *const *node_of, struct error *err);
void record_clear (struct audit_record *r);

/* Whether a line, without its newline, is the result with that nonce. If it is,
 * *sentence is the text after the nonce, and *unknown is whether it is UNKNOWN.
 */
bool record_is_result (const char *line, const char *nonce, bool *unknown,
                       const char **sentence);

#endif /* PROLOG_RECORD_H */
