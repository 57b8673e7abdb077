/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Say which nodes audits have not measured for long: each when it becomes one
 * of them, and once a day while it is.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <stdlib.h>
#include <time.h>

#include "prolog/audit/missed.h"

enum { DAY_S = 86400 };

static void say (const struct service *s, const char *const *node, size_t n)
{
    char *list = n > 0 ? hostlist_fold (node, n) : NULL;

    if (list)
        service_log (s, "not audited for a day or more: %s: %.400s (pmm ledger "
                        "missed)", COUNTED (n, "node"), list);
    free (list);
}

/* Keep of those that were said what is still so. */
static int note (struct service *s, const struct hostlist *missed, int64_t now,
                 struct error *err)
{
    const char **node = calloc (missed->count + 1, sizeof (*node));
    json_t *said = json_object ();
    size_t n = 0;
    int rc = node && said ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < missed->count; i++) {
        json_t *old = json_object_get (s->missed, missed->name[i]);

        if (old && llabs (now - json_integer_value (old)) < DAY_S)
            rc = json_object_set (said, missed->name[i], old);
        else {
            node[n++] = missed->name[i];
            rc = json_object_set_new (said, missed->name[i],
                                      json_integer (now));
        }
    }
    if (rc == 0) {
        say (s, node, n);
        json_decref (s->missed);
        s->missed = said;
    }
    else {
        json_decref (said);
        error_nomem (err);
    }
    free (node);
    return rc;
}

int duty_missed (struct service *s, struct error *err)
{
    int64_t now = (int64_t)time (NULL);
    struct controller_nodes nodes;
    struct hostlist missed;
    int rc;

    if (controller_nodes (&nodes, err) < 0)
        return -1;
    rc = missed_nodes (&missed, s->ledger, &s->site, s->fabric, s->map, &nodes,
                       now, err);
    if (rc == 0)
        rc = note (s, &missed, now, err);
    hostlist_clear (&missed);
    controller_nodes_clear (&nodes);
    return rc;
}
