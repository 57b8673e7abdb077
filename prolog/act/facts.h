/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts: the inputs of the policy, from the ledger, the fabric and the nodes as
 * Slurm shows them.
 *
 * The audits are those that found something in the last ConfirmWithin (at least
 * a day). If a drain of ours stands, what was found of that node's links since
 * then is included. For each host link that is suspected in that time, or
 * belongs to such a node, the audits that found it clean or did not judge it
 * are included too. So the facts grow with the number of faults, not with the
 * ledger.
 *
 * Host of a link: a link belongs to the host that the fabric has at its end
 * now, but only in audits whose routes over it all ended at that host, since a
 * cable can be moved to another host and keep its id. The node of a host is
 * given by NodeMap; without an entry it has the host's name.
 *
 * Clean: an audit measured and judged the link and did not suspect it, and the
 * ledger had a baseline of it before (without one, a slow link is at most found
 * slow for its class). If an audit did not measure everything, or if it FAILs
 * or is UNKNOWN for more than host ends and links that it did not judge, the
 * link is clean, but this does not prove that it is repaired. If an audit is
 * UNKNOWN and does not name the links, the link is not clean. A host that is
 * slow without its link does not matter. A link that was measured but not
 * judged is UNKNOWN.
 *
 * Anything not understood, such as a finding of a later version, and anything
 * above the limits below makes the facts unreadable: then the policy changes
 * nothing.
 */
#ifndef PROLOG_FACTS_H
#define PROLOG_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/ledger/ledger.h"
#include "prolog/policy/policy.h"
#include "util/error.h"

enum {
    FACTS_AUDITS_MAX = 1 << 16,
    FACTS_LINKS_MAX = 1 << 14, /* of interest */
};

struct facts {
    struct policy_input input; /* for the policy */
    char unreadable[sizeof (((struct error *)0)->text)];
    struct pool *pool; /* all other memory */
};

/* Read the ledger in one consistent state. The fabric, the map (NULL: none) and
 * `self` are borrowed, and rows of the ledger, up to ledger_forget. Return 0, or -1 with err; call facts_clear in both
 * cases.
 */
int facts_read (struct facts *facts, struct ledger *ledger,
                const struct fabric *fabric, const struct nodemap *map,
                const char *self, int64_t now,
                const struct policy_config *cfg, struct error *err);
void facts_clear (struct facts *facts);

/* Add the nodes as Slurm shows them after facts_read; borrowed. A resume that
 * was intended but not applied, because the node still shows our drain, is
 * removed from the input.
 */
void facts_nodes (struct facts *facts, const struct policy_node *node,
                  size_t n);

/* Set why the facts are unreadable; only the first sentence counts. */
void facts_doubt (struct facts *facts, const char *sentence);

#endif /* PROLOG_FACTS_H */
