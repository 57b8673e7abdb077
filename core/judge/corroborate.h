/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Corroborate: compare a verdict from latencies with the signs of its links.
 *
 *   counter  a port of the link counts more errors than a healthy one,
 *   width    the link has fewer lanes than it could have,
 *   speed    or a lower speed. A link that is slower than its class and has
 *            such a sign is not just a long cable: it FAILs if its excess is
 *            above the judge's thresholds for a FAIL. Suspects that have a sign
 *            come first; none is removed.
 *   wait     messages waited at a port of the link while it was measured
 *            (PortXmitWait grew), or it leads to a port that was full. Others'
 *            traffic may be the reason, so a FAIL becomes UNKNOWN.
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
