/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partners: who is audited beside a node that the audit is about.
 *
 * The cable of a host that is alone on its switch looks like the one by which
 * that switch sends what is for the host, were this slow in that direction.
 * Only messages between two hosts of one switch tell them apart: so some of the
 * partners are on the node's own switch, if any of them is idle. The others are
 * from all over, so that no more than one slow host is expected among them.
 */
#ifndef PROLOG_PARTNERS_H
#define PROLOG_PARTNERS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "probe/nodemap.h"
#include "util/error.h"
#include "util/text.h"

enum { PARTNERS_NEAR = 3 }; /* on the node's switch, at most */

/* Choose at most `most` of the idle nodes, sorted by strcmp, as partners of a
 * node, into partner: names borrowed from idle. Another turn chooses others,
 * where there are more. map NULL: nodes are called as the fabric's hosts. A
 * node that is not in the fabric has partners from all over. Who is in
 * `former` (NULL: nobody) is chosen only where there are too
 * few others: so that two audits of a node share no more than they must. Return
 * how many, or -1 with err.
 */
int partners_choose (const struct fabric *f, const struct nodemap *map,
                     const char *node, const struct hostlist *idle,
                     const struct hostlist *former, uint64_t turn,
                     char **partner, size_t most, struct error *err);

/* Which of n nodes leads an audit: at each turn another, but neither the one
 * that it is about nor the one that led before, if there is a third (NULL:
 * there is none such). NULL where n is 0.
 */
const char *partners_leader (const char *const *node, size_t n,
                             const char *about, const char *before,
                             uint64_t turn);

#endif /* PROLOG_PARTNERS_H */
