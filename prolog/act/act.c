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

#include "util/alloc.h"
#include "util/text.h"

enum { LINE_MAX_BYTES = 1024 };

/* A running round. */
struct policy_round {
    struct act_report *report;
    struct ledger *ledger;
    int64_t now;
    act_say_f say;
    void *arg;
    struct error *err;
};

__attribute__ ((format (printf, 3, 4))) static void
report_policy_line (struct policy_round *r, enum policy_kind kind,
                    const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];

    TEXT_PRINT (line, sizeof (line), fmt);
    r->say (r->arg, kind, text_clean (line));
}

/* --- look ---------------------------------------------------------------- */

int act_look (struct act_report *r, const struct site *site,
              struct ledger *ledger, const struct fabric *fabric, int64_t now,
              struct error *err)
{
    struct policy_config cfg;
    struct error doubt = { .text = "" };
    struct error unanswered;
    uid_t uid;

    *r = (struct act_report){ .drained = 0 };
    policy_config (&cfg, site);
    if (*site->node_map)
        r->map = nodemap_load_trusted (site->node_map, geteuid (), &doubt);
    if (facts_read (&r->facts, ledger, fabric, r->map, r->self, now, &cfg,
                     err) < 0)
        return -1;
    if (*site->node_map && !r->map)
        facts_doubt (&r->facts, doubt.text);
    /* Slurm's part last; without an answer nothing is changed */
    if (controller_user (&uid, r->self, &unanswered) < 0
        || controller_nodes (&r->nodes, &unanswered) < 0)
        facts_doubt (&r->facts, unanswered.text);
    else
        facts_nodes (&r->facts, r->nodes.v, r->nodes.n);
    policy_decide (&r->decisions, &r->facts.input, &cfg);
    return 0;
}

void act_report_clear (struct act_report *r)
{
    int saved_errno = errno;

    policy_clear (&r->decisions);
    controller_nodes_clear (&r->nodes);
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

struct said_words {
    char text[LEDGER_TEXT_MAX + 1];
};

/* A message without its numbers, and without those of a list of hosts. */
__attribute__ ((format (printf, 1, 2))) static struct said_words
words_of (const char *fmt, ...)
{
    struct said_words words;
    char *to = words.text;

    TEXT_PRINT (words.text, sizeof (words.text), fmt);
    for (const char *s = words.text; *s; s++)
        if (!strchr ("0123456789[,-]", *s))
            *to++ = *s;
    *to = '\0';
    return words;
}

/* A logged message that still holds. The key of a remark, whose node is "", is its
 * words, that of a message about a node is the node.
 */
static bool is_said_of (const struct ledger_said *v, const char *node,
                        const char *remark)
{
    return !strcmp (v->node, node)
           && (*node || !strcmp (words_of ("%s", v->words).text, remark));
}

/* Log the remarks, or the decisions, that differ from the logged ones. */
static int say_changes (struct policy_round *r, bool remarks)
{
    const struct decisions *all = &r->report->decisions;
    struct ledger_rows said;
    int rc = ledger_list (r->ledger, LEDGER_SAID, 0, 0, &said, r->err);
    bool *holds = xcalloc (said.n, sizeof (*holds));

    for (size_t i = 0; rc == 0 && i < (remarks ? all->nremarks : all->n);
         i++) {
        const struct decision *d = remarks ? NULL : &all->v[i];
        const char *node = remarks ? "" : d->node;
        bool news = remarks || act_is_news (d);
        struct said_words now
            = remarks ? words_of ("%s", all->remark[i])
                      : words_of ("%s %s %s", policy_kind_name (d->kind),
                                  d->link ? d->link : "", d->why);
        const char *old = NULL;

        for (size_t k = 0; k < said.n; k++)
            if (!holds[k] && is_said_of (&said.said[k], node, now.text)) {
                old = said.said[k].words;
                holds[k] = true;
            }
        if (news ? !old || strcmp (now.text, words_of ("%s", old).text)
                 : old != NULL) {
            if (remarks)
                report_policy_line (r, POLICY_NOTE, "%s", all->remark[i]);
            else
                report_policy_line (r, POLICY_NOTE, "%s: %s: %s", node,
                                    policy_kind_name (d->kind), d->why);
            if (old)
                rc = ledger_say (r->ledger, node, old, false, r->err);
            if (rc == 0 && news)
                rc = ledger_say (r->ledger, node,
                                 remarks ? all->remark[i] : now.text, true,
                                 r->err);
        }
    }
    /* what does not hold any more, as far as known, or is about an unknown node
     */
    for (size_t k = 0; k < said.n && rc == 0 && !all->stopped; k++)
        if (!holds[k] && remarks == !*said.said[k].node) {
            if (remarks)
                report_policy_line (r, POLICY_NONE, "no longer true: %s",
                                    said.said[k].words);
            rc = ledger_say (r->ledger, said.said[k].node, said.said[k].words,
                             false, r->err);
        }
    free (holds);
    return rc;
}

/* --- do ------------------------------------------------------------------ */

/* Act in Slurm. Return 1, 0 if the node's state has changed, or -1 with err. A
 * pure observation needs no action: it is done when it is recorded.
 */
static int apply_in_slurm (struct policy_round *r, const struct decision *d)
{
    const struct policy_input *in = &r->report->facts.input;
    const char *reason = ""; /* of our newest drain of the node */
    int rc = 1;

    if (d->kind == POLICY_DRAIN
        && (rc = controller_drain (d->node, d->reason, r->err)) == 1) {
        report_policy_line (r, POLICY_DRAIN, "%s: drained: %s", d->node,
                            d->reason);
        r->report->drained++;
    }
    if (d->kind != POLICY_RESUME)
        return rc;
    for (size_t i = 0; i < in->actions.n; i++)
        if (in->actions.action[i].kind == POLICY_DRAIN
            && !strcmp (in->actions.action[i].node, d->node))
            reason = in->actions.action[i].reason;
    if ((rc = controller_resume (d->node, reason, r->err)) == 1) {
        report_policy_line (r, POLICY_RESUME, "%s: resumed", d->node);
        r->report->resumed++;
    }
    return rc;
}

/* Record the action, act, and mark it as done. If the node's state has changed,
 * the record stays open, and the next round checks the outcome.
 */
static int execute_action (struct policy_round *r, const struct decision *d)
{
    const struct ledger_action action = {
        .node = d->node, .link = d->link, .kind = d->kind,
        .reason = d->reason, .why = d->why, .cause = d->cause,
    };
    int64_t id = ledger_intend (r->ledger, r->now, &action, r->err);
    int rc = id < 0 ? -1 : apply_in_slurm (r, d);

    if (rc == 0)
        report_policy_line (r, POLICY_NOTE, "%s: no %s: the node has changed",
                            d->node, policy_kind_name (d->kind));
    return rc == 1 ? ledger_done (r->ledger, r->now, id, r->err) : rc;
}

int act_round (struct act_report *report, const struct site *site,
               struct ledger *ledger, const struct fabric *fabric, int64_t now,
               act_say_f say, void *arg,
               struct error *err)
{
    static const enum policy_kind order[] = {
        POLICY_LEFT, POLICY_LIFTED, POLICY_RESUME, POLICY_DRAIN,
    };
    struct policy_round r = { report, ledger, now, say, arg, err };
    const struct decisions *d = &report->decisions;
    const struct policy_input *in = &report->facts.input;
    int lock;
    int rc = ledger_lock (ledger, &lock, err);

    *report = (struct act_report){ .busy = rc == 0 };
    if (rc != 1)
        return rc;
    rc = act_look (report, site, ledger, fabric, now, err) < 0
                 || say_changes (&r, true) < 0
                 || (!d->stopped && say_changes (&r, false) < 0)
             ? -1
             : 0;
    if (rc == 0 && !d->stopped) {
        /* intended actions whose outcome is known */
        for (size_t i = 0; rc == 0 && i < in->actions.n; i++)
            if (in->actions.action[i].done < 0)
                rc = ledger_done (ledger, now, in->actions.action[i].id, err);
        for (size_t k = 0; k < sizeof (order) / sizeof (order[0]); k++)
            for (size_t i = 0; rc >= 0 && i < d->n; i++)
                if (d->v[i].kind == order[k]
                    && execute_action (&r, &d->v[i]) < 0)
                    rc = -1;
    }
    close (lock);
    return rc;
}
