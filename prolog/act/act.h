/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Act: carry out what the policy decides.
 *
 * A round looks at the ledger, then at the nodes, decides, and does it. It can
 * be killed at any point, and be made again at any time:
 *
 *   drain    is recorded, then done, then noted as done. A node that does not
 *            show a drain that was recorded is one that somebody resumed: so
 *            none is drained twice, and one that was never tried costs
 *            DrainAgainAfter.
 *   resume   likewise, but it is tried again while the node still shows our
 *            drain, and the policy still wants it.
 *   left,    are recorded, whatever Action is: they are what was seen, and
 *   lifted   hold back.
 *
 * The other side looks at the node once more before it changes it; one that is
 * not as it was keeps its state and its Reason.
 *
 * Where the ledger cannot be read nothing is done, and where slurmctld does
 * not answer nothing more. One round at a time, and none during an audit
 * (ledger_lock), by who may write the ledger.
 */
#ifndef PROLOG_ACT_H
#define PROLOG_ACT_H

#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "prolog/act/facts.h"
#include "prolog/ledger/ledger.h"
#include "prolog/policy/policy.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"

/* Slurm, or what a test puts in its place: as prolog/slurm/controller.h has
 * them. self: the name of who drains. say: a line for the log.
 */
struct act_world {
    int (*self) (void *arg, char name[CONTROLLER_NAME], struct error *err);
    int (*nodes) (void *arg, struct controller_nodes *nodes,
                  struct error *err);
    void (*nodes_clear) (struct controller_nodes *nodes);
    int (*drain) (void *arg, const char *node, const char *reason,
                  struct error *err);
    int (*resume) (void *arg, const char *node, const char *reason,
                   struct error *err);
    void (*say) (void *arg, const char *line);
    void *arg;
};

#ifdef HAVE_SLURM
/* The real one; say and arg are the caller's to set. */
extern const struct act_world act_slurm;
#endif

/* What was looked at, decided and done. */
struct act_report {
    char self[CONTROLLER_NAME];
    struct nodemap *map;
    struct facts facts;
    struct controller_nodes nodes;
    struct decisions decisions; /* their texts are in the above */
    size_t drained, resumed;    /* in this round */
    bool busy;                  /* another audits or acts: nothing was done */
    void (*nodes_clear) (struct controller_nodes *nodes);
};

/* Look and decide, and change nothing. What Slurm or the node map do not tell
 * is in the decisions, as a remark. Return 0, or -1 with err where the ledger
 * cannot be read, or memory is short; act_report_clear is due in both cases.
 */
int act_look (struct act_report *report, const struct act_world *world,
              const struct site *site, struct ledger *ledger,
              const struct fabric *fabric, int64_t now, struct error *err);

/* A round. Say each decision and each remark when it is new or has changed in
 * more than its numbers, also if another process said it last. Return 0, or -1
 * with err where something could not be read, recorded or done: what had not
 * been done by then is left for the next round. act_report_clear is due in
 * both cases.
 */
int act_round (struct act_report *report, const struct act_world *world,
               const struct site *site, struct ledger *ledger,
               const struct fabric *fabric, int64_t now, struct error *err);
void act_report_clear (struct act_report *report);

/* Whether there is anything to tell of a node. */
bool act_is_news (const struct decision *d);

#endif /* PROLOG_ACT_H */
