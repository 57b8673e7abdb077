/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the duties of the audit service share. */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prolog/serve/intake.h"

enum { HOUR_S = 3600, DAY_S = 24 * HOUR_S };

void service_log (const struct service *s, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;
    int n;

    va_start (ap, fmt);
    n = vasprintf (&text, fmt, ap);
    va_end (ap);
    if (n < 0)
        return;
    fprintf (s->log, "%s\n", text_clean (text));
    fflush (s->log);
    free (text);
}

enum verdict_status service_status (const json_t *obj, const char *key)
{
    const char *word = json_string_value (json_object_get (obj, key));

    for (int i = VERDICT_OK; word && i <= VERDICT_FAIL; i++)
        if (!strcmp (word, verdict_status_name ((enum verdict_status)i)))
            return (enum verdict_status)i;
    return VERDICT_UNKNOWN;
}

int service_may_audit (const struct service *s, enum ledger_why reason,
                       char why[QUEUE_WHY_MAX], struct error *err)
{
    int64_t now = (int64_t)time (NULL);
    struct queue_audit *audit = NULL;
    size_t n;
    int rc = intake_begun (s->ledger, now - HOUR_S, now + HOUR_S, &audit, &n,
                           err);

    if (rc == 0)
        rc = queue_may (audit, n, reason, (size_t)s->site.audits_per_hour,
                        now, why);
    free (audit);
    return rc;
}

void service_keep (struct service *s, enum kept who, const char *why)
{
    static const char *const names[] = {
        [KEPT_JOBS] = "jobs wait for their audits",
        [KEPT_USER] = "jobs wait for their audits",
        [KEPT_CONFIRM] = "nodes wait for an audit that confirms what was "
                         "found",
        [KEPT_AGAIN] = "drained nodes wait for an audit that finds them "
                       "mended",
    };

    if (!strcmp (s->kept[who], why))
        return;
    if (*why)
        service_log (s, "%s: %s", names[who], why);
    else
        service_log (s, "no longer so: %s: %s", names[who], s->kept[who]);
    strcpy (s->kept[who], why);
}

int service_leave_out (const struct service *s, struct hostlist *nodes,
                       struct error *err)
{
    int64_t now = (int64_t)time (NULL);
    json_t *faulty = ledger_faulty (s->ledger, now, err);
    size_t n = 0;

    if (!faulty)
        return -1;
    for (size_t i = 0; i < nodes->count; i++)
        if (ledger_is_out (faulty, nodes->name[i], now))
            free (nodes->name[i]);
        else
            nodes->name[n++] = nodes->name[i];
    nodes->count = n;
    json_decref (faulty);
    return 0;
}

int service_audit (struct service *s, const struct hostlist *nodes,
                   const struct ledger_cause *cause, const char *before,
                   struct audit_result *result, struct error *err)
{
    const struct audit audit = {
        .site = &s->site,
        .conf = s->conf,
        .ledger = s->ledger,
        .fabric = s->fabric,
        .stop = s->stop,
        .report = s->log,
    };
    const char *node[AUDIT_NODES_MAX];
    struct audit_request request = { .node = node, .cause = *cause,
                                     .before = before };
    int rc;

    request.n = nodes->count < AUDIT_NODES_MAX ? nodes->count
                                               : AUDIT_NODES_MAX;
    for (size_t i = 0; i < request.n; i++)
        node[i] = nodes->name[i * nodes->count / request.n];
    rc = audit_run (&audit, &request, result, err);
    if (rc > 0)
        service_log (s, "audit %" PRId64 " of %s: %s: %s", result->id,
                     COUNTED (request.n, "node"),
                     verdict_status_name (result->status),
                     result->sentence);
    else if (rc == 0)
        service_log (s, "no audit: %s", result->sentence);
    return rc;
}

int duty_prune (struct service *s, struct error *err)
{
    int64_t now = (int64_t)time (NULL);
    int64_t n;

    if (s->site.ledger_days == 0)
        return 0;
    n = ledger_prune (s->ledger, now - (int64_t)s->site.ledger_days * DAY_S,
                      INT64_MAX, err);
    if (n > 0)
        service_log (s, "%s of more than %s ago forgotten",
                     COUNTED ((uint64_t)n, "audit"),
                     COUNTED ((uint64_t)s->site.ledger_days, "day"));
    return n < 0 ? -1 : 0;
}
