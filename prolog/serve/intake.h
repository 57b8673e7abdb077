/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intake: what the queue looks at, put together from the ledger, the fabric
 * and what Slurm says is idle.
 */
#ifndef PROLOG_INTAKE_H
#define PROLOG_INTAKE_H

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/ledger/ledger.h"
#include "prolog/serve/queue.h"
#include "util/error.h"
#include "util/site.h"

enum { INTAKE_AUDITS_MAX = 4096 }; /* of the last day, the newest */

struct intake {
    struct queue_input input;
    struct queue_audit *audit; /* the input's, as the next */
    struct queue_host *host;
};

/* The rules of a site; the partition's name is borrowed. */
void intake_rules (struct queue_rules *rules, const struct site *site);

/* The audits that begun from one time to another, *v the caller's. Return 0, or
 * -1 with err.
 */
int intake_begun (struct ledger *ledger, int64_t from, int64_t to,
                  struct queue_audit **v, size_t *n, struct error *err);

/* Read the ledger. A node was measured when the oldest of its cables was; which
 * are its own is as the map (NULL: none) and the fabric say. All is borrowed.
 * Return 0, or -1 with err; intake_clear is due in both cases.
 */
int intake_make (struct intake *in, struct ledger *ledger,
                 const struct fabric *fabric, const struct nodemap *map,
                 const struct spool_list *spool, const struct hostlist *idle,
                 int64_t now, struct error *err);
void intake_clear (struct intake *in);

#endif /* PROLOG_INTAKE_H */
