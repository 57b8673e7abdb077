/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Act: carry out the decisions of the policy.
 *
 * A round reads the ledger, then the nodes, decides, and acts. It can be killed
 * at any point, and repeated at any time:
 *
 *   drain    is recorded, then done, then recorded as done. If a drain was
 *            recorded and the node does not show it, somebody resumed the node:
 *            so no node is drained twice, and a drain that was never tried
 *            costs DrainAgainAfter.
 *   resume   likewise, but it is tried again while the node still shows our
 *            drain and the policy still wants it.
 *   left,    are recorded with any Action: they are observations, and block
 *   lifted   drains.
 *
 * slurmctld's side reads the node again before it changes it. If the node has
 * changed since, it keeps its state and its Reason.
 *
 * If the ledger cannot be read, nothing is done. If slurmctld does not answer,
 * no node is changed. One round runs at a time, and none during an audit
 * (ledger_lock). Only the owner of the ledger can run one.
 *
 * Tests replace Slurm by functions of their own in place of those of
 * prolog/slurm/controller.h.
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

/* What was read, decided and done. */
struct act_report {
    char self[CONTROLLER_NAME];
    struct nodemap *map;
    struct facts facts;
    struct controller_nodes nodes;
    struct decisions decisions; /* they borrow from the above */
    size_t drained, resumed;    /* in this round */
    bool busy;                  /* another process audits or acts: nothing
                                   done */
};

/* Read and decide, but change nothing. If Slurm or the node map cannot be read,
 * nothing is decided and a remark gives the reason. Return 0, or -1 with err if
 * the ledger cannot be read; call act_report_clear in both cases.
 */
int act_look (struct act_report *report, const struct site *site,
              struct ledger *ledger, const struct fabric *fabric, int64_t now,
              struct error *err);

typedef void (*act_say_f) (void *arg, enum policy_kind kind, const char *line);

/* Run a round. say (arg, kind, line) writes to the log what was decided, and that
 * a node was drained or resumed (POLICY_DRAIN, POLICY_RESUME). A decision or
 * remark is logged when it is new or has changed in more than its numbers, even
 * if another process logged it last. Return 0, or -1 with err if something could
 * not be read, recorded or done: the rest is left for the next round. Call
 * act_report_clear in both cases.
 */
int act_round (struct act_report *report, const struct site *site,
               struct ledger *ledger, const struct fabric *fabric, int64_t now,
               act_say_f say, void *arg,
               struct error *err);
void act_report_clear (struct act_report *report);

/* Whether there is anything to report about a node. */
bool act_is_news (const struct decision *d);

#endif /* PROLOG_ACT_H */
