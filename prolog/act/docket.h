/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Docket: all that the policy looks at, put together from the ledger, the
 * fabric and what Slurm shows of its nodes.
 *
 * Of audits it holds those that found something in the last ConfirmWithin (a
 * day at least), and where a drain of ours stands, what was found of that
 * node's links since; and for each host link that is of interest so, the
 * audits of that time that found it clean. So it grows with what is wrong, not
 * with the ledger.
 *
 * Who is who: a link is of the host that the fabric has at its end now, and
 * only in audits whose routes over it all ended there, since a cable's id may
 * go to another host when it is moved. A host is the node that NodeMap says,
 * or has its name.
 *
 * Clean is a link that an audit measured, judged and did not suspect, of which
 * the ledger had a baseline before (else a slow one would be found slow by its
 * class at most). In an audit that did not measure all, or FAILs or is UNKNOWN
 * for more than host ends and links that it did not judge, it is clean, but
 * that does not prove it mended; in one that is UNKNOWN, and does not say of
 * which links, it is not. What is slow of its host beside it does not matter. A
 * link that was measured but not judged is UNKNOWN.
 *
 * What it does not understand, like a finding of a later version, or more than
 * it holds, makes it unreadable: then the policy changes nothing.
 */
#ifndef PROLOG_DOCKET_H
#define PROLOG_DOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/ledger/ledger.h"
#include "prolog/policy/policy.h"
#include "util/error.h"

enum {
    DOCKET_AUDITS_MAX = 1 << 16,
    DOCKET_LINKS_MAX = 1 << 14, /* of interest */
};

/* An action that was intended, and of which it is not noted that it was
 * done.
 */
struct docket_open {
    int64_t id;
    enum policy_kind kind;
    const char *node;
    const char *reason; /* of the drain that it is, or is to end; NULL */
    bool pending;       /* RESUME: the node still shows that drain */
};

struct docket {
    struct policy_input input; /* what the policy gets */
    struct policy_action *action; /* the input's */
    struct docket_open *open;  /* [nopen] */
    size_t nopen;
    char unreadable[sizeof (((struct error *)0)->text)];
    json_t *rows;              /* where most texts are */
    void **block;              /* all other memory */
    size_t nblocks;
};

/* Read the ledger, as of one moment. The fabric, the map (NULL: there is none)
 * and `self` are borrowed. Return 0, or -1 with err;
 * docket_clear is due in both cases.
 */
int docket_make (struct docket *d, struct ledger *ledger,
                 const struct fabric *fabric, const struct nodemap *map,
                 const char *self, int64_t now,
                 const struct policy_config *cfg, struct error *err);
void docket_clear (struct docket *d);

/* The nodes as Slurm shows them after docket_make, borrowed. A resume that was
 * intended but did not come about, since the node still shows our drain, is
 * taken out of the input and stays open.
 */
void docket_nodes (struct docket *d, const struct policy_node *node,
                   size_t n);

/* Say that something could not be read; what was said first counts. */
void docket_doubt (struct docket *d, const char *sentence);

#endif /* PROLOG_DOCKET_H */
