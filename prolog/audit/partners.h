/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partners: the nodes that are audited with the one that the audit is about.
 *
 * The cable of a host that is alone on its switch looks like the one by which
 * that switch sends what is for the host, were this slow in that direction.
 * Only messages between two hosts of one switch tell them apart: so some of the
 * partners are on the node's own switch, if any of them is idle. Where an audit
 * found what its cable may not be alone in, some are such that round trips with
 * them are without these other links. The others are from all over, so that no
 * more than one slow host is expected among them.
 */
#ifndef PROLOG_PARTNERS_H
#define PROLOG_PARTNERS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "util/error.h"
#include "util/text.h"

enum {
    PARTNERS_NEAR = 3,   /* on the node's switch, at most */
    PARTNERS_TELL = 2,   /* that tell its cable from each other link, */
    PARTNERS_OTHERS = 64 /* ... of as many */
};

struct partners_wish {
    const char *node;              /* that it is about */
    const struct hostlist *idle;   /* to choose from, sorted by strcmp */
    const struct hostlist *former; /* partners before; NULL: there were none */
    const char *const *suspect;    /* [nsuspects] ids of links, and of what is
                                      none: its own, and others that may be
                                      slow in their place */
    size_t nsuspects;
    uint64_t turn;
};

/* Choose at most `most` of the idle nodes, as partners of a node, into partner:
 * names borrowed from idle. Another turn chooses others, where there are more.
 * map NULL: nodes have the names of the fabric's hosts. A node that is not in
 * the fabric has partners from all over. A former partner is chosen only where
 * there are too few others, so that two audits of a node share no more than
 * they must. *alike is one of the other links that the round trips with all
 * partners cross as well; NULL: there is none. Return how many, or -1 with err.
 */
int partners_choose (const struct fabric *f, const struct nodemap *map,
                     const struct partners_wish *wish, char **partner,
                     size_t most, const char **alike, struct error *err);

/* Which of n nodes leads an audit: at each turn another, but neither the one
 * that it is about nor the one that led before, if there is a third (NULL:
 * there is none such). NULL where n is 0.
 */
const char *partners_leader (const char *const *node, size_t n,
                             const char *about, const char *before,
                             uint64_t turn);

#endif /* PROLOG_PARTNERS_H */
