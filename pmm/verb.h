/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of pmm (verb/verb.h), and what they alone share. To add one, write
 * verb_<name>.c; declare its row here and list it in main.c; describe it in its
 * group's page in man/, and make options.
 */
#ifndef PMM_VERB_H
#define PMM_VERB_H

#include "prolog/ledger/ledger.h"
#include "verb/verb.h"

/* Where pmm --help lists it. */
enum verb_group {
    VERBS_SITE, VERBS_FABRIC, VERBS_REPLAY, VERBS_PLUMBING, VERBS_GROUPS,
};

extern const struct verb verb_audit, verb_baseline, verb_check,
    verb_confirm, verb_doctor, verb_judge, verb_ledger, verb_ledger_solve,
    verb_path, verb_plan, verb_policy, verb_rates, verb_report, verb_setup,
    verb_simulate, verb_solve, verb_why;
extern const struct verb verb_fabric_accept, verb_fabric_cabling,
    verb_fabric_check, verb_fabric_counters, verb_fabric_diff,
    verb_fabric_export, verb_fabric_generate, verb_fabric_import,
    verb_fabric_netdisc, verb_fabric_read, verb_fabric_show;

/* Who runs this, for others; valid until the next call. */
const char *user_name (void);

/* Open the ledger of -L, or the Ledger of pmm.conf. */
void inputs_ledger (struct inputs *in, enum ledger_mode mode);

void close_ledger (struct inputs *in);

/*
 * JSON
 */

/* A node, {"guid", "name"}; how a switch spreads messages, null: not known; a
 * port, as a node with "port"; the two ports of a link, {"a", "b"}.
 */
json_t *fabric_node_json (const struct fabric *f, uint32_t node);
json_t *fabric_spread_json (const struct fabric_spread *s);
json_t *fabric_port_json (const struct fabric *f, uint32_t port);
json_t *fabric_link_json (const struct fabric *f, uint32_t link);

#endif /* PMM_VERB_H */
