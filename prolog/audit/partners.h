/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partners: choose the nodes that are audited together with the node that the
 * audit is about.
 *
 * Only messages between two hosts of one switch resolve a host's cable from the
 * cable by which messages for the host reach that switch: so some partners are
 * on the node's own switch. If an earlier audit found that other links may be
 * slow instead, some are chosen so that round trips with them do not cross
 * these links. The others come from the whole site, so that at most one slow
 * host is expected among them.
 */
#ifndef PROLOG_PARTNERS_H
#define PROLOG_PARTNERS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "util/text.h"

enum {
    PARTNERS_NEAR = 3,   /* on the node's switch, at most */
    PARTNERS_TELL = 2,   /* that resolve its cable from each other link, */
    PARTNERS_OTHERS = 64 /* ... and for at most this many links */
};

struct partners_wish {
    const char *node;              /* the node */
    const struct hostlist *idle;   /* to choose from, sorted by strcmp */
    const struct hostlist *former; /* earlier partners; NULL: none */
    const struct hostlist *suspects; /* ids of links, switches etc.: its own,
                                        and others that may be slow instead */
    uint64_t turn;
};

/* Choose up to `most` of the idle nodes as partners of a node, into partner:
 * names borrowed from idle. Another turn chooses others, if there are more.
 * node_of[endpoint] is the endpoint's node. A node that is not in the
 * fabric gets partners from the whole site. A former partner is chosen only if
 * there are too few others, so that two audits of a node share as few as
 * possible. *alike is one of the other links that the round trips with all
 * partners cross as well; NULL: none. Return the number chosen.
 */
int partners_choose (const struct fabric *f, const char *const *node_of,
                     const struct partners_wish *wish, char **partner,
                     size_t most, const char **alike);

/* Choose which of n nodes leads an audit: another at each turn. If there is a
 * third node, neither the node that the audit is about nor the previous leader
 * is chosen (NULL: there is none). NULL if n is 0.
 */
const char *partners_leader (const char *const *node, size_t n,
                             const char *about, const char *before,
                             uint64_t turn);

#endif /* PROLOG_PARTNERS_H */
