/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Corroborate: hold a verdict of latencies against what else is known of the
 * links, its signs.
 *
 *   counter  a port of it counts more errors than a healthy one,
 *   width    it has fewer lanes than it could,
 *   speed    or slower ones: what is slower than its class beside such a sign
 *            is no long cable, and FAILs where it is beyond the judge's
 *            figures for that. The suspects that have a sign come first; they
 *            stay as many.
 *   wait     messages waited at a port of it while it was measured
 *            (PortXmitWait grew), or it leads to one that was full, so that
 *            others' traffic may be what is slow: no FAIL, but UNKNOWN.
 */
#ifndef CORE_CORROBORATE_H
#define CORE_CORROBORATE_H

#include <stddef.h>
#include <stdint.h>

#include "core/judge/judge.h"
#include "core/judge/verdict.h"

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

#endif /* CORE_CORROBORATE_H */
