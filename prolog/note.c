/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What audits leave in the comments of jobs. */
#include "config.h"
#include "prolog/note.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/judge/verdict.h"
#include "report/comment.h"

static const char *text_of (const json_t *row, const char *key)
{
    const char *s = json_string_value (json_object_get (row, key));

    return s ? s : "";
}

static int64_t number_of (const json_t *row, const char *key)
{
    return json_integer_value (json_object_get (row, key));
}

static uint32_t find_switch (const struct fabric *f, const char *id)
{
    const struct network *net = fabric_network (f);
    uint32_t i = 0;

    while (i < net->nswitches && (!net->sw[i].id || strcmp (net->sw[i].id, id)))
        i++;
    return i < net->nswitches ? i : NETWORK_NONE;
}

/* A finding as the judge made it, with memory of its own for its lists. */
struct old {
    struct finding f;
    char *host; /* borrowed, of the fabric */
};

static enum finding_kind kind_of (const json_t *row)
{
    enum finding_kind kind = FINDING_HOST_END;

    while (kind < FINDING_ROUTE
           && strcmp (finding_kind_name (kind), text_of (row, "kind")) != 0)
        kind++;
    return kind;
}

/* Return whether all that it suspects is in the fabric. */
static bool take_suspects (struct old *o, const json_t *suspects,
                           const struct fabric *f)
{
    const json_t *s;
    size_t i;

    json_array_foreach (suspects, i, s) {
        bool sw = !strcmp (text_of (s, "role"), "switch");
        uint32_t n = sw ? find_switch (f, text_of (s, "id"))
                        : fabric_find_link (f, text_of (s, "id"));

        if (n == NETWORK_NONE)
            return false;
        if (sw)
            o->f.sw[o->f.nsw++] = n;
        else if (!strcmp (text_of (s, "role"), "link"))
            o->f.suspect[o->f.nsuspects++] = n;
    }
    return o->f.nsuspects > 0;
}

/* The host that all suspects are of. */
static void take_host (struct old *o, const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    const char *host = net->link[o->f.suspect[0]].host;

    for (size_t i = 0; host && i < o->f.nsuspects; i++) {
        const char *other = net->link[o->f.suspect[i]].host;

        if (!other || strcmp (host, other) != 0)
            return;
    }
    o->host = (char *)host;
    o->f.node = &o->host;
    o->f.nnodes = host != NULL;
}

static int make_comment (struct comment *c, const json_t *audit,
                         const json_t *worst, const struct fabric *f,
                         struct error *err)
{
    const json_t *suspects = json_object_get (worst, "suspects");
    const json_t *excess = json_object_get (worst, "excess_ns");
    size_t n = json_array_size (suspects);
    struct old o = { .f.kind = kind_of (worst) };
    struct verdict v = {
        .status = VERDICT_OK, .finding = &o.f,
        .links = (size_t)number_of (audit, "links"),
        .rounds = (size_t)number_of (audit, "rounds"),
    };
    int rc = 0;

    while (v.status < VERDICT_FAIL
           && strcmp (verdict_status_name (v.status),
                      text_of (audit, "status")) != 0)
        v.status++;
    o.f.excess_ns = json_is_number (excess) ? json_number_value (excess)
                                            : NAN;
    o.f.suspect = calloc (n + 1, sizeof (*o.f.suspect));
    o.f.sw = calloc (n + 1, sizeof (*o.f.sw));
    if (!o.f.suspect || !o.f.sw)
        rc = error_nomem (err);
    else {
        /* else it is UNKNOWN for something that is no finding */
        if (!strcmp (text_of (worst, "level"), text_of (audit, "status"))
            && take_suspects (&o, suspects, f)) {
            take_host (&o, f);
            v.nfindings = 1;
        }
        o.f.level = v.status;
        comment_of_audit (c, number_of (audit, "id"), &v, f);
    }
    free (o.f.suspect);
    free (o.f.sw);
    return rc;
}

static int note_job (struct ledger *l, const struct fabric *f,
                     const json_t *audit, int64_t now, struct error *err)
{
    char text[COMMENT_ENTRY_MAX + 1];
    struct comment c;
    json_t *result = ledger_result (l, number_of (audit, "id"), err);
    int rc = -1;

    if (result
        && make_comment (&c, audit,
                         json_array_get (json_object_get (result, "findings"),
                                         0), f, err) == 0) {
        comment_format (&c, text);
        rc = ledger_comment_add (l, now, (uint64_t)number_of (audit, "job"),
                                 number_of (audit, "submitted"), text, err)
                     < 0
                 ? -1
                 : 0;
    }
    json_decref (result);
    return rc;
}

int64_t note_jobs (struct ledger *l, const struct fabric *f, int64_t from,
                   int64_t now, struct error *err)
{
    json_t *audits = ledger_unnoted (l, from, err);
    size_t n = json_array_size (audits);
    int rc = audits ? 0 : -1;

    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = note_job (l, f, json_array_get (audits, i), now, err);
    json_decref (audits);
    return rc < 0 ? -1 : (int64_t)n;
}
