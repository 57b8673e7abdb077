/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: results of audits. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pmm/doctor.h"
#include "ibquery/nodemap.h"
#include "prolog/audit/missed.h"
#include "prolog/ledger/ledger.h"
#include "util/text.h"

enum { DAY_S = 86400 };

static enum verdict_status say_audits (int64_t begun, const json_t *failed,
                                       char *text)
{
    const json_t *most = json_array_get (failed, 0);
    const char *node = json_string_value (json_object_get (most, "node"));
    int64_t n = 0;
    size_t i;
    json_t *v;

    json_array_foreach (failed, i, v) n
        += json_integer_value (json_object_get (v, "audits"));
    if (n > begun) /* an audit counts once per node at fault */
        n = begun;
    if (n == 0)
        return say_ok (text, "%jd in the last day", (intmax_t)begun);
    return doctor_say (text, 4 * n > begun ? VERDICT_WARN : VERDICT_OK,
                       "%jd of %jd in the last day have no result, most for "
                       "%s%s%.200s: pmm ledger missed",
                       (intmax_t)n, (intmax_t)begun, node ? node : "",
                       node && *node ? ": " : "",
                       json_string_value (json_object_get (most, "cause")));
}

/* Whether there are no audits to check. Errors of the ledger itself are
 * reported by doctor_ledger.
 */
static bool is_none (const struct doctor_site *p, char *text)
{
    bool bad = doctor_ledger (p, text) != VERDICT_OK;
    bool none = !bad && access (p->site.ledger, F_OK) < 0;

    if (bad || none)
        say_ok (text, "%s",
                none ? "none was made yet" : "no ledger to look into");
    return bad || none;
}

enum verdict_status doctor_audits (const struct doctor_site *p, char *text)
{
    int64_t now = (int64_t)p->now;
    struct error err;
    struct ledger *l;
    enum verdict_status level = VERDICT_UNKNOWN;
    json_t *failed = NULL, *begun = NULL;

    if (is_none (p, text))
        return VERDICT_OK;
    if ((l = ledger_open (p->site.ledger, LEDGER_READ, &err))
        && (failed = ledger_failed (l, now - DAY_S, &err)))
        begun = ledger_begun (l, now - DAY_S, now + DAY_S, &err);
    if (!begun)
        doctor_say (text, level, "%s", err.text);
    else
        level = say_audits ((int64_t)json_array_size (begun), failed, text);
    json_decref (failed);
    json_decref (begun);
    ledger_close (l);
    return level;
}

static enum verdict_status say_nodes (const struct hostlist *missed,
                                      const json_t *faulty, int64_t now,
                                      char *text)
{
    const char *out = NULL;
    size_t n = 0;
    char *list;
    const char *node;
    json_t *v;

    json_object_foreach ((json_t *)faulty, node,
                         v) if (ledger_is_out (faulty, node, now))
    {
        out = node;
        n++;
    }
    if (missed->count > 0) {
        list = hostlist_fold ((const char *const *)missed->name, missed->count);
        say_warn (text, "not audited for a day or more: %s: %.200s",
                  COUNTED (missed->count, "node"), list ? list : "");
        free (list);
        return VERDICT_WARN;
    }
    if (n > 0)
        return doctor_say (text, VERDICT_WARN,
                           "%zu left out for a while, as %s: %.200s", n, out,
                           json_string_value (json_object_get (
                               json_object_get (faulty, out), "cause")));
    return say_ok (text, "none is overdue or left out");
}

enum verdict_status doctor_nodes_audited (const struct doctor_site *p,
                                          char *text)
{
    int64_t now = (int64_t)p->now;
    struct controller_nodes nodes = { 0 };
    struct hostlist missed = { 0 };
    struct nodemap *map = NULL;
    json_t *faulty = NULL;
    struct error err;
    struct ledger *l;
    enum verdict_status level = VERDICT_UNKNOWN;

    if (is_none (p, text))
        return VERDICT_OK;
    if (!p->fabric)
        return doctor_say (text, level, "not checked: no snapshot");
    if (!(l = ledger_open (p->site.ledger, LEDGER_READ, &err))
        || (*p->site.node_map && !(map = nodemap_load (p->site.node_map, &err)))
        || !(faulty = ledger_faulty (l, now, &err))
        || controller_nodes (&nodes, &err) < 0
        || missed_nodes (&missed, l, &p->site, p->fabric, map, &nodes, now,
                         &err)
               < 0)
        doctor_say (text, level, "%s", err.text);
    else
        level = say_nodes (&missed, faulty, now, text);
    hostlist_clear (&missed);
    controller_nodes_clear (&nodes);
    nodemap_destroy (map);
    json_decref (faulty);
    ledger_close (l);
    return level;
}
