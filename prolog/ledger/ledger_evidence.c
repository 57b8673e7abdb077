/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the policy asks of the ledger, and what was said of it. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <errno.h>

#include "prolog/ledger/ledger_db.h"

int ledger_hold (struct ledger *l, struct error *err)
{
    return db_begin (l, DB_BEGIN_READ, err);
}

void ledger_release (struct ledger *l)
{
    int saved_errno = errno;

    db_run (l, DB_ROLLBACK, NULL, NULL, 0, NULL);
    errno = saved_errno;
}

json_t *ledger_found (struct ledger *l, int64_t from, const char *link,
                      struct error *err)
{
    return link ? db_list (l, DB_FOUND_OF,
                           VALUES (INT (from), NAME (link)), err)
                : db_list (l, DB_FOUND, VALUES (INT (from)), err);
}

json_t *ledger_suspects (struct ledger *l, int64_t from, struct error *err)
{
    return db_list (l, DB_ALL_SUSPECTS, VALUES (INT (from)), err);
}

json_t *ledger_sights (struct ledger *l, const char *link, const char *host,
                       int64_t from, struct error *err)
{
    return db_list (l, DB_SIGHTS,
                    VALUES (NAME (link), NAME (host), INT (from),
                            NAME (finding_kind_name (FINDING_NODE))), err);
}

json_t *ledger_result (struct ledger *l, int64_t id, struct error *err)
{
    json_t *audit = db_audit (l, DB_RESULT, id, err);
    json_t *findings = audit ? db_findings (l, id, err) : NULL;
    json_t *open = findings
                       ? db_list (l, DB_OPEN, VALUES (INT (id)), err)
                       : NULL;

    if (open && json_object_set (audit, "findings", findings) == 0
        && json_object_set (audit, "not_judged", open) == 0) {
        json_decref (findings);
        json_decref (open);
        return audit;
    }
    if (open)
        error_nomem (err);
    json_decref (findings);
    json_decref (open);
    json_decref (audit);
    return NULL;
}

json_t *ledger_tries (struct ledger *l, int64_t from, struct error *err)
{
    return db_list (l, DB_TRIES, VALUES (INT (from)), err);
}

json_t *ledger_said (struct ledger *l, struct error *err)
{
    return db_list (l, DB_SAID, NULL, 0, err);
}

int ledger_say (struct ledger *l, const char *node, const char *words,
                bool on, struct error *err)
{
    return db_run (l, on ? DB_SAY : DB_UNSAY, NULL,
                   VALUES (NAME (node), TEXT (words)), err);
}
