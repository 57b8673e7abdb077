/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carry out the decisions of the policy.
 *
 * Notes. The ledger keeps the logged messages, without their numbers. So an
 * unchanged decision is not logged again for each audit. A line is logged
 * before it is recorded, so a crash in between logs it twice.
 */
#include "config.h"
#include "prolog/act/act.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/json.h"
#include "util/text.h"

enum { LINE_MAX_BYTES = 1024 };

/* A running round. */
struct policy_round {
    struct act_report *report;
    const struct act_world *world;
    struct ledger *ledger;
    int64_t now;
    struct error *err;
};

__attribute__ ((format (printf, 2, 3))) static void
say (struct policy_round *r, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (line, sizeof (line), fmt, ap);
    va_end (ap);
    r->world->say (r->world->arg, text_clean (line));
}

/* --- look ---------------------------------------------------------------- */

/* Read Slurm's part, last. Without an answer nothing is changed. */
static void ask (struct act_report *r, const struct act_world *w)
{
    struct error err;

    if (w->self (w->arg, r->self, &err) < 0
        || w->nodes (w->arg, &r->nodes, &err) < 0) {
        facts_doubt (&r->facts, err.text);
        return;
    }
    facts_nodes (&r->facts, r->nodes.v, r->nodes.n);
}

int act_look (struct act_report *r, const struct act_world *world,
              const struct site *site, struct ledger *ledger,
              const struct fabric *fabric, int64_t now, struct error *err)
{
    struct policy_config cfg;
    struct error doubt = { .text = "" };

    *r = (struct act_report){ .nodes_clear = world->nodes_clear };
    policy_config (&cfg, site);
    if (*site->node_map)
        r->map = nodemap_load_trusted (site->node_map, geteuid (),
                                       &doubt);
    if (facts_read (&r->facts, ledger, fabric, r->map, r->self, now, &cfg,
                     err) < 0)
        return -1;
    if (*site->node_map && !r->map)
        facts_doubt (&r->facts, doubt.text);
    ask (r, world);
    policy_decide (&r->decisions, &r->facts.input, &cfg);
    return 0;
}

void act_report_clear (struct act_report *r)
{
    int saved_errno = errno;

    policy_clear (&r->decisions);
    if (r->nodes_clear)
        r->nodes_clear (&r->nodes);
    facts_clear (&r->facts);
    nodemap_destroy (r->map);
    *r = (struct act_report){ .drained = 0 };
    errno = saved_errno;
}

/* --- say ----------------------------------------------------------------- */

bool act_is_news (const struct decision *d)
{
    return d->kind != POLICY_NONE || d->link;
}

/* Take the numbers out of a text, in place. */
static void drop_numbers (char *s)
{
    char *to = s;

    for (; *s; s++)
        if (*s < '0' || *s > '9')
            *to++ = *s;
    *to = '\0';
}

/* Identifies a remark or a decision: its text without the numbers. */
struct said_words {
    char text[LEDGER_TEXT_MAX + 1];
};

static struct said_words words_of_remark (const char *remark)
{
    struct said_words words;

    snprintf (words.text, sizeof (words.text), "%s", remark);
    drop_numbers (words.text);
    return words;
}

static struct said_words words_of (const struct decision *d)
{
    struct said_words words;

    snprintf (words.text, sizeof (words.text), "%s %s %s",
              policy_kind_name (d->kind), d->link ? d->link : "", d->why);
    drop_numbers (words.text);
    return words;
}

/* The logged messages that still hold: {node: words, ...}; about the site,
 * {words of the remark: remark, ...}. NULL with err.
 */
static json_t *said_of (struct policy_round *r, bool site)
{
    json_t *rows = ledger_list (r->ledger, LEDGER_SAID, 0, 0, r->err);
    json_t *said = rows ? xcheck (json_object ()) : NULL;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        const char *node = json_string_value (json_object_get (row, "node"));
        json_t *words = json_object_get (row, "words");

        if (site == !*node)
            json_put (said,
                      site ? words_of_remark (json_string_value (words)).text
                           : node,
                      json_incref (words));
    }
    json_decref (rows);
    return said;
}

static int keep (struct policy_round *r, const char *node, const char *words,
                 bool on)
{
    return ledger_say (r->ledger, node, words, on, r->err);
}

static int say_remarks (struct policy_round *r)
{
    const struct decisions *d = &r->report->decisions;
    json_t *said = said_of (r, true);
    int rc = said ? 0 : -1;
    const char *words;
    json_t *v;

    for (size_t i = 0; rc == 0 && i < d->nremarks; i++)
        if (json_object_del (said, words_of_remark (d->remark[i]).text) < 0) {
            say (r, "%s", d->remark[i]);
            rc = keep (r, "", d->remark[i], true);
        }
    /* a stopped round cannot determine whether they still hold */
    json_object_foreach (said, words, v)
        if (rc == 0 && !d->stopped) {
            say (r, "no longer so: %s", json_string_value (v));
            rc = keep (r, "", json_string_value (v), false);
        }
    json_decref (said);
    return rc;
}

/* Log the decision on a node if it differs from the logged one, `said`; NULL:
 * none.
 */
static int say_decision (struct policy_round *r, const struct decision *d,
                         const char *said)
{
    struct said_words now = words_of (d);
    bool news = act_is_news (d);

    if (news ? said && !strcmp (now.text, said) : !said)
        return 0;
    say (r, "%s: %s: %s", d->node, policy_kind_name (d->kind), d->why);
    if (said && keep (r, d->node, said, false) < 0)
        return -1;
    return news ? keep (r, d->node, now.text, true) : 0;
}

static int say_decisions (struct policy_round *r)
{
    const struct decisions *d = &r->report->decisions;
    json_t *said = said_of (r, false);
    int rc = said ? 0 : -1;
    const char *node;
    json_t *words;

    for (size_t i = 0; rc == 0 && i < d->n; i++) {
        rc = say_decision (r, &d->v[i], json_string_value (json_object_get (
                                            said, d->v[i].node)));
        json_object_del (said, d->v[i].node);
    }
    json_object_foreach (said, node, words) /* no longer known to Slurm */
        if (rc == 0)
            rc = keep (r, node, json_string_value (words), false);
    json_decref (said);
    return rc;
}

/* --- do ------------------------------------------------------------------ */

/* Mark intended actions as done if their outcome is known. */
static int settle (struct policy_round *r)
{
    const struct facts *d = &r->report->facts;

    for (size_t i = 0; i < d->nopen; i++)
        if (!d->open[i].pending
            && ledger_done (r->ledger, r->now, d->open[i].id, r->err) < 0)
            return -1;
    return 0;
}

/* The Reason of our newest drain of a node. */
static const char *drain_reason (const struct facts *d, const char *node)
{
    const struct policy_input *in = &d->input;

    for (size_t i = in->nactions; i-- > 0;)
        if (in->action[i].kind == POLICY_DRAIN
            && !strcmp (in->action[i].node, node))
            return in->action[i].reason;
    return "";
}

/* Act in Slurm. Return 1, 0 if the node's state has changed, or -1 with err. A
 * pure observation needs no action: it is done when it is recorded.
 */
static int do_it (struct policy_round *r, const struct decision *d)
{
    const struct act_world *w = r->world;
    int rc = 1;

    if (d->kind == POLICY_DRAIN
        && (rc = w->drain (w->arg, d->node, d->reason, r->err)) == 1) {
        say (r, "%s: drained: %s", d->node, d->reason);
        r->report->drained++;
    }
    else if (d->kind == POLICY_RESUME
             && (rc = w->resume (w->arg, d->node,
                                 drain_reason (&r->report->facts, d->node),
                                 r->err)) == 1) {
        say (r, "%s: resumed", d->node);
        r->report->resumed++;
    }
    return rc;
}

/* Record the action, act, and mark it as done. If the node's state has changed,
 * the record stays open, and the next round checks the outcome.
 */
static int carry_out (struct policy_round *r, const struct decision *d)
{
    const struct ledger_action action = {
        .node = d->node,
        .link = d->link,
        .kind = policy_kind_name (d->kind),
        .reason = d->reason,
        .why = d->why,
    };
    int64_t id = ledger_intend (r->ledger, r->now, &action, r->err);
    int rc = id < 0 ? -1 : do_it (r, d);

    if (rc == 0)
        say (r, "%s: no %s: it is not as it was any more", d->node,
             action.kind);
    return rc == 1 ? ledger_done (r->ledger, r->now, id, r->err) : rc;
}

static int carry_out_all (struct policy_round *r)
{
    static const enum policy_kind order[] = {
        POLICY_LEFT, POLICY_LIFTED, POLICY_RESUME, POLICY_DRAIN,
    };
    const struct decisions *d = &r->report->decisions;

    for (size_t k = 0; k < sizeof (order) / sizeof (order[0]); k++)
        for (size_t i = 0; i < d->n; i++)
            if (d->v[i].kind == order[k] && carry_out (r, &d->v[i]) < 0)
                return -1;
    return 0;
}

static int look_and_act (struct policy_round *r, const struct site *site,
                         const struct fabric *fabric)
{
    struct act_report *report = r->report;

    if (act_look (report, r->world, site, r->ledger, fabric, r->now, r->err)
            < 0
        || say_remarks (r) < 0)
        return -1;
    if (report->decisions.stopped)
        return 0;
    return say_decisions (r) < 0 || settle (r) < 0 || carry_out_all (r) < 0
               ? -1
               : 0;
}

int act_round (struct act_report *report, const struct act_world *world,
               const struct site *site, struct ledger *ledger,
               const struct fabric *fabric, int64_t now, struct error *err)
{
    struct policy_round r = { report, world, ledger, now, err };
    int lock;
    int rc = ledger_lock (ledger, &lock, err);

    *report = (struct act_report){ .busy = rc == 0 };
    if (rc != 1)
        return rc;
    rc = look_and_act (&r, site, fabric);
    close (lock);
    return rc;
}
