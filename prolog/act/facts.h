/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Facts: all that the policy looks at, put together from the ledger, the
 * fabric and what Slurm shows of its nodes.
 *
 * Of audits these are those that found something in the last ConfirmWithin (a
 * day at least), and where a drain of ours stands, what was found of that
 * node's links since; and for each host link that is of interest so, the
 * audits of that time that found it clean. So they grow with what is wrong,
 * not with the ledger.
 *
 * Whose link it is: a link is of the host that the fabric has at its end now,
 * and only in audits whose routes over it all ended there, since a cable's id
 * may go to another host when it is moved. A host is the node that NodeMap
 * says, or has its name.
 *
 * Clean is a link that an audit measured, judged and did not suspect, of which
 * the ledger had a baseline before (else a slow one would be found slow by its
 * class at most). In an audit that did not measure all, or FAILs or is UNKNOWN
 * for more than host ends and links that it did not judge, it is clean, but
 * that does not prove it repaired; in one that is UNKNOWN, and does not say of
 * which links, it is not. What is slow of its host apart from it does not
 * matter. A link that was measured but not judged is UNKNOWN.
 *
 * What is not understood, like a finding of a later version, or more than fits,
 * makes the facts unreadable: then the policy changes nothing.
 */
#ifndef PROLOG_FACTS_H
#define PROLOG_FACTS_H

#include <stdbool.h>
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

/* An action that was intended, and of which it is not noted that it was
 * done.
 */
struct open_action {
    int64_t id;
    enum policy_kind kind;
    const char *node;
    const char *reason; /* of the drain that it is, or is to end; NULL */
    bool pending;       /* RESUME: the node still shows that drain */
};

struct facts {
    struct policy_input input; /* what the policy gets */
    struct policy_action *action; /* the input's */
    struct open_action *open;  /* [nopen] */
    size_t nopen;
    char unreadable[sizeof (((struct error *)0)->text)];
    struct ledger_pool pool;   /* all memory */
};

/* Read the ledger, as of one moment. The fabric, the map (NULL: there is none)
 * and `self` are borrowed. Return 0, or -1 with err; facts_clear is due in
 * both cases.
 */
int facts_read (struct facts *facts, struct ledger *ledger,
                const struct fabric *fabric, const struct nodemap *map,
                const char *self, int64_t now,
                const struct policy_config *cfg, struct error *err);
void facts_clear (struct facts *facts);

/* The nodes as Slurm shows them after facts_read, borrowed. A resume that was
 * intended but did not come about, since the node still shows our drain, is
 * taken out of the input and stays open.
 */
void facts_nodes (struct facts *facts, const struct policy_node *node,
                  size_t n);

/* Say that something could not be read; what was said first counts. */
void facts_doubt (struct facts *facts, const char *sentence);

#endif /* PROLOG_FACTS_H */
