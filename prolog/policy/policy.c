/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decide which nodes are drained or resumed, and give the reason.
 *
 * Notes. Each node goes through the table of rules, and the first rule that
 * returns true decides. The rules that prevent a drain stand before the drain
 * at the end.
 */
#include "config.h"
#include "prolog/policy/policy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/policy/evidence.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/text.h"

enum {
    DAY_S = 24 * 3600, NAMES_SHOWN = 160, CLEAN_WANTED = 2, REMARK_MAX = 1024,
};

const char *policy_block_name (enum policy_block block)
{
    static const char *const name[] = {
        [POLICY_FREE] = "",
        [POLICY_STOPPED] = "stopped",
        [POLICY_REPORTS] = "reports",
        [POLICY_COMMON] = "common_cause",
        [POLICY_UNAVAILABLE] = "unavailable",
        [POLICY_BEFORE] = "drained_before",
    };

    return name[block];
}

void policy_config (struct policy_config *cfg, const struct site *site)
{
    *cfg = (struct policy_config){
        .act = !strcmp (site->action, "drain")     ? POLICY_ACT_DRAIN
               : !strcmp (site->action, "comment") ? POLICY_ACT_COMMENT
                                                   : POLICY_ACT_REPORT,
        .confirm_after_s = (site->confirm_after_ms + 999) / 1000,
        .confirm_within_s = site->confirm_within_ms / 1000,
        .again_after_s = (site->drain_again_after_ms + 999) / 1000,
        .max_drain = (size_t)site->max_drain_per_day,
        .max_drain_percent = site->max_drain_share,
        .max_unavailable_percent = site->max_unavailable,
        .fail_ns = site->fail_ns, .fail_latency_ns = site->fail_latency_ns,
        .resume = site->resume,
    };
}

int64_t policy_retry (int64_t since, size_t n, int64_t now,
                      const struct policy_config *cfg)
{
    int64_t span = cfg->confirm_after_s;
    int64_t most = span > POLICY_RETRY_MAX_S ? span : POLICY_RETRY_MAX_S;

    while (n-- > 0 && span < most)
        span *= 2;
    if (span > most)
        span = most;
    return since > now || since + span < now ? now : since + span;
}

/* When to audit a node again, after the audit with that time and id. Audits of
 * the node since then put it off.
 */
static int64_t retry (const struct node_state *w, int64_t time, uint64_t audit)
{
    const struct site_state *s = w->site;
    size_t n = 0;

    for (size_t i = 0; i < s->in->tried.n; i++) {
        const struct ledger_audit *t = &s->in->tried.audit[i];

        if (t->id <= (int64_t)audit || strcmp (t->node, w->node->name))
            continue;
        n++;
        if (n == 1 || t->begun > time)
            time = t->begun;
    }
    return policy_retry (time, n, s->in->now, s->cfg);
}

/* Set the decision and its sentence. */
__attribute__ ((format (printf, 3, 4))) static bool
set_decision (struct decision *d, enum policy_kind kind, const char *fmt, ...)
{
    d->kind = kind;
    TEXT_PRINT (d->why, sizeof (d->why), fmt);
    text_clean (d->why);
    return true;
}

struct span_text {
    char text[32];
};

static struct span_text time_span_text (int64_t s)
{
    static const struct {
        int64_t from, unit;
        const char *name;
    } units[] = {
        { 2 * DAY_S, DAY_S, "days" },
        { 2 * 3600, 3600, "h" },
        { 2 * 60, 60, "min" },
        { INT64_MIN, 1, "s" },
    };
    struct span_text span;
    size_t i = 0;

    while (s < units[i].from)
        i++;
    snprintf (span.text, sizeof (span.text), "%" PRId64 " %s",
              s / units[i].unit, units[i].name);
    return span;
}

/* --- rules --------------------------------------------------------------- */

static bool rule_stop (const struct node_state *w, struct decision *d)
{
    const char *why = w->site->stop      ? w->site->stop
                      : w->node->unknown ? "Slurm does not tell its state"
                                         : NULL;

    return why && set_decision (d, POLICY_NONE, "nothing is changed: %s", why);
}

static const char *or_unknown (const char *s)
{
    return s ? s : "unknown";
}

static bool shows (const char *have, const char *want)
{
    return have && want && !strcmp (have, want);
}

struct hand_text {
    char text[160];
};

static struct hand_text in_hand_text (const struct policy_node *n)
{
    struct hand_text p;

    if (n->drained)
        snprintf (p.text, sizeof (p.text), "drained by %.32s (%.100s)",
                  n->by ? n->by : "somebody",
                  n->reason ? n->reason : "no reason");
    else
        snprintf (p.text, sizeof (p.text), "%s",
                  n->reserved ? "reserved" : "down");
    return p;
}

/* Whether all links are clean that must be for a resume. If not, *t is a link
 * that is not clean; NULL if nothing is known about the link of the drain.
 */
static bool is_repaired (const struct node_state *w,
                         const struct ledger_action *drain,
                         const struct track **t, struct clean_audits *clean)
{
    bool found = false;

    *t = NULL;
    for (size_t i = 0; i < w->ntracks; i++) {
        const struct track *track = &w->track[i];
        uint64_t reset = state_reset (w->site, track->link);
        uint64_t after = (uint64_t)drain->after;
        uint64_t from = reset > after ? reset : after + 1;
        bool own = shows (track->link, drain->link);

        if (!own && (!track->failing || track->muted))
            continue;
        *clean = track_clean (track, from, own && drain->cause == CAUSE_RATE,
                              w->site->cfg);
        found = found || own;
        if (!clean->enough) {
            *t = track;
            return false;
        }
    }
    *clean = (struct clean_audits){ 0 };
    return found;
}

static bool decide_resume (const struct node_state *w,
                           const struct ledger_action *drain,
                           struct decision *d)
{
    const struct site_state *s = w->site;
    const struct track *t;
    struct clean_audits clean;
    const char *by = drain->cause == CAUSE_RATE ? "the rate of link" : "link";

    if (!s->cfg->resume || s->cfg->act != POLICY_ACT_DRAIN)
        return set_decision (
            d, POLICY_NONE,
            "we drained it after audit %" PRId64 "; %s, so a person "
            "resumes it",
            drain->after,
            s->cfg->resume ? "Action is not drain" : "Resume is not set");
    if (w->node->down || w->node->powered_down || w->node->reserved)
        return set_decision (d, POLICY_NONE,
                             "we drained it after audit %" PRId64
                             "; it is down or "
                             "reserved",
                             drain->after);
    if (is_repaired (w, drain, &t, &clean))
        return set_decision (
            d, POLICY_RESUME,
            "we drained it after audit %" PRId64 ", and its link was "
            "clean in audits %s apart since",
            drain->after, time_span_text (s->cfg->confirm_after_s).text);
    if (clean.shared) {
        d->when = policy_retry (clean.last->time, clean.n - CLEAN_WANTED,
                                s->in->now, s->cfg);
        return set_decision (
            d, POLICY_WAIT,
            "we drained it after audit %" PRId64 "; %s %s was clean "
            "in %s since, but %s: needs another leader and other "
            "partners",
            drain->after, by, t->link, COUNTED (clean.n, "audit"), clean.shared);
    }
    d->when = clean.n > 0
                  ? retry (w, clean.last->time, clean.last->audit)
                  : retry (w, drain->intended, (uint64_t)drain->after);
    return set_decision (d, POLICY_WAIT,
                         "we drained it after audit %" PRId64
                         "; %s %s was clean in "
                         "%s since, and must be in %d, %s apart",
                         drain->after, by, t ? t->link : or_unknown (drain->link),
                         COUNTED (clean.n, "audit"), CLEAN_WANTED,
                         time_span_text (s->cfg->confirm_after_s).text);
}

/* Others handle the node, or did so in the last round. */
static bool rule_left (const struct node_state *w, struct decision *d)
{
    const struct ledger_action *a = w->last;

    if (!a || a->kind != POLICY_LEFT)
        return false;
    d->link = a->link;
    if (node_in_hand (w->node))
        return set_decision (d, POLICY_NONE, "it is %s: left alone",
                             in_hand_text (w->node).text);
    return set_decision (
        d, POLICY_LIFTED,
        "it is back in service: what was found before does not count "
        "any more");
}

static bool rule_own_drain (const struct node_state *w, struct decision *d)
{
    const struct ledger_action *drain = w->last;

    if (!node_is_drained_by_us (w))
        return false;
    d->link = drain->link;
    if (!w->node->drained)
        return set_decision (
            d, POLICY_LIFTED,
            drain->done < 0 ? "our drain of audit %" PRId64
                            " was not applied, or "
                            "someone else ended it: what was found before "
                            "does not count any more"
                          : "someone else ended our drain of audit %" PRId64
                            ": what was found before does not count any more",
            drain->after);
    if (!shows (w->node->reason, drain->reason)
        || !shows (w->node->by, w->site->in->self))
        return set_decision (d, POLICY_NONE,
                             "our drain was taken over, it is %s: left "
                             "alone",
                             in_hand_text (w->node).text);
    return decide_resume (w, drain, d);
}

static bool rule_nothing (const struct node_state *w, struct decision *d)
{
    const struct track *t = w->worst;

    if (w->muted && (!t || t->standing < STANDING_AMONG))
        return set_decision (d, POLICY_NONE, "it FAILs, but that is muted");
    if (!t || t->standing == STANDING_NONE)
        return set_decision (d, POLICY_NONE, "nothing was found against it");
    d->link = t->link;
    if (t->standing == STANDING_CLEAN)
        return set_decision (d, POLICY_NONE, "clean in audit %" PRIu64,
                             t->last->audit);
    if (t->standing == STANDING_UNSURE)
        return set_decision (d, POLICY_NONE,
                             "audit %" PRIu64
                             " could not tell: UNKNOWN drains no node",
                             t->last->audit);
    return false;
}

static const char *const sign_words[] = {
    [SIGN_COUNTER] = "its error counters grow",
    [SIGN_WIDTH] = "its link has lost width",
    [SIGN_SPEED] = "its link has lost speed",
};

static const char *sign_text (const struct link_event *e)
{
    return sign_words[e->sign];
}

/* Findings that never cause a drain, however often they are seen. */
static bool rule_less (const struct node_state *w, struct decision *d)
{
    const struct track *t = w->worst;
    const struct link_event *last = t->last;

    switch (t->standing) {
    case STANDING_NODE:
        return set_decision (
            d, POLICY_NOTE,
            "its software, PCIe or adapter is slow, says audit %" PRIu64
            ", which drains no node",
            last->audit);
    case STANDING_WARN:
        if (!last->a)
            return set_decision (d, POLICY_NOTE, "%s, but no audit says FAIL",
                                 sign_text (last));
        return set_decision (d, POLICY_NOTE,
                             "WARN in audit %" PRIu64 ", which drains no node",
                             last->audit);
    case STANDING_AMONG:
        return !t->early
               && set_decision (d, POLICY_NOTE,
                                "one of several that the FAIL of audit %" PRIu64
                                " may be of",
                                last->audit);
    case STANDING_DOUBT:
        return set_decision (d, POLICY_NOTE,
                             "FAIL in audit %" PRIu64
                             ", which does not count: %s",
                             last->audit, doubt_text (last->doubt));
    default:
        return false;
    }
}

static bool rule_not_ours (const struct node_state *w, struct decision *d)
{
    if (node_in_hand (w->node))
        return set_decision (d, POLICY_LEFT, "it FAILs, but is %s: left alone",
                             in_hand_text (w->node).text);
    return w->node->powered_down
           && set_decision (d, POLICY_NOTE, "it FAILs, but is powered down");
}

/* A drain was due to audits newer than any earlier reset of the baseline, so a
 * reset after it is one that is not before its `after`.
 */
static bool rule_again (const struct node_state *w, struct decision *d)
{
    const struct site_state *s = w->site;

    for (size_t i = w->nactions; i-- > 0;) {
        const struct ledger_action *a = w->action[i];
        size_t k = i + 1; /* 1 + the drain that it is, or that it ended */

        while (k > 0 && w->action[k - 1]->kind != POLICY_DRAIN)
            k--;
        if (a->kind == POLICY_LIFTED
            && within_span (a->intended, s->cfg->again_after_s, s->in->now))
            return set_decision (
                d, POLICY_NOTE,
                "it FAILs again, but others put it back in service: "
                "not drained again for %s",
                time_span_text (s->cfg->again_after_s).text);
        if (a->kind == POLICY_RESUME
            && state_reset (s, a->link) <= (uint64_t)w->action[k ? k - 1 : i]->after)
            return set_decision (
                d, POLICY_NOTE,
                "it FAILs again after we drained and resumed it: an "
                "intermittent fault, not drained before the baseline "
                "of %s is reset",
                or_unknown (a->link));
    }
    return false;
}

/* A more likely suspect host of the same FAIL, which is audited first; NULL:
 * none.
 */
static const char *likelier_suspect (const struct site_state *s,
                                     const struct link_event *e)
{
    for (const struct policy_suspect *p = e->finding->suspect; p < e->suspect;
         p++) {
        const struct node_state *w = p->host ? state_find (s, p->host) : NULL;
        const struct track *t
            = w ? evidence_find (&s->evidence, p->host, p->link) : NULL;

        if (t && !t->muted && t->early && strcmp (p->host, e->host)
            && t->standing != STANDING_CONFIRMED && node_in_service (w->node))
            return p->host;
    }
    return NULL;
}

/* Two FAILs that do not confirm each other. */
static bool say_needs (const struct track *t, struct decision *d)
{
    const struct link_event *const *of = t->needs.of;

    if (t->needs.node)
        return set_decision (d, POLICY_WAIT,
                             "FAIL in audits %" PRIu64 " and %" PRIu64
                             ", but %s: "
                             "needs another leader and other partners",
                             of[0]->audit, of[1]->audit, t->needs.node);
    return set_decision (
        d, POLICY_WAIT,
        "FAIL in audits %" PRIu64 " and %" PRIu64 ", but %.63s %s: "
        "needs partners whose paths are without it",
        of[0]->audit, of[1]->audit, t->needs.link,
        t->needs.elsewhere ? "would explain one, and FAILs elsewhere"
                           : "would explain both as well");
}

static bool rule_wait (const struct node_state *w, struct decision *d)
{
    const struct site_state *s = w->site;
    const struct track *t = w->worst;
    const struct link_event *to = t->early ? t->early : t->last;
    const char *old = t->last->time > s->in->now ? ", by a clock ahead of ours"
                                                 : ", which is long ago";
    bool among = t->standing == STANDING_AMONG;
    const struct link_event *of;
    const char *other;

    if (t->standing == STANDING_CONFIRMED)
        return false;
    if (among && (other = likelier_suspect (s, t->last)))
        return set_decision (d, POLICY_NOTE,
                             "one of several that the FAIL of audit %" PRIu64
                             " may be of: waits for %.63s",
                             t->last->audit, other);
    d->when = retry (w, to->time, to->audit);
    of = t->open ? t->open : t->last;
    d->audit = of->audit;
    d->finding = of->finding;
    if (t->needs.node || t->needs.link)
        return say_needs (t, d);
    return set_decision (d, POLICY_WAIT,
                         "FAIL in audit %" PRIu64
                         "%s%s: waits for another, %s later, "
                         "to confirm it",
                         t->last->audit, among ? " of it or others" : "",
                         t->last->fresh ? "" : old,
                         time_span_text (s->cfg->confirm_after_s).text);
}

/* For "none ... drained": "is", or "would be" if Action is not "drain". */
static const char *is_drained (const struct site_state *s)
{
    return s->cfg->act == POLICY_ACT_DRAIN ? "is" : "would be";
}

static bool rule_broad (const struct node_state *w, struct decision *d)
{
    const struct site_state *s = w->site;

    return s->is_broad
           && set_decision (
               d, POLICY_NOTE,
               "its FAIL is confirmed, but so many hosts FAIL or were "
               "drained within a day (%zu, of which MaxDrainPerDay allows "
               "%zu) that none %s drained",
               s->nbroad, s->limit, is_drained (s));
}

static bool rule_short (const struct node_state *w, struct decision *d)
{
    const struct site_state *s = w->site;

    return s->is_short
           && set_decision (d, POLICY_NOTE,
                            "its FAIL is confirmed, but %zu of %zu nodes are "
                            "unavailable%s, and MaxUnavailable is %g %%",
                            s->unavailable + s->unknown, s->counted,
                            s->unknown > 0 ? " or not registered yet" : "",
                            s->cfg->max_unavailable_percent);
}

static bool rule_drain (const struct node_state *w, struct decision *d)
{
    const struct track *t = w->worst;
    const struct link_event *e = t->last;
    struct words_drain cable = {
        .host = t->host, .port = e->suspect->port ? e->suspect->port : "",
        .link = t->link, .audit = e->audit, .of = e->finding->x,
    };
    bool drains = w->site->cfg->act == POLICY_ACT_DRAIN;
    enum policy_kind kind = drains ? POLICY_DRAIN : POLICY_NOTE;
    const char *would = drains ? "" : ", and would be drained if Action "
                                      "were drain";
    char *words, *reason;

    cable.of.excess_ns = fmin (e->excess_ns, 1e9);
    if (cable.of.expected_ns > 1e9)
        cable.of.expected_ns = 1e9;
    words = words_cable (&cable);
    reason = words_drain (&cable);
    if (drains) {
        snprintf (d->reason, sizeof (d->reason), "pmm: %s", reason);
        d->cause = !t->first ? CAUSE_COUNTER + t->sign->sign
                   : finding_has_rate (&e->finding->x) ? CAUSE_RATE
                                                       : CAUSE_CONFIRMED;
    }
    text_clean (d->reason);
    if (t->first)
        set_decision (d, kind,
                      "%s; FAIL in audits %" PRIu64 " and %" PRIu64
                      ", %s apart%s%s",
                      words, t->first->audit, t->last->audit,
                      time_span_text (t->last->time - t->first->time).text,
                      (t->first->seen & t->last->seen) & SEEN_FAIL
                          ? ""
                          : ", with no other suspect in both",
                      would);
    else
        set_decision (d, kind, "%s; FAIL in audit %" PRIu64 ", and %s%s", words,
                      t->last->audit, sign_text (t->sign), would);
    free (words);
    free (reason);
    return true;
}

/* The first rule that returns true decides; the last one always does. If it
 * only notes a node, this is why that is not drained.
 */
static const struct {
    bool (*holds) (const struct node_state *, struct decision *);
    enum policy_block block;
} rules[] = {
    { rule_stop, POLICY_FREE },    { rule_own_drain, POLICY_FREE },
    { rule_left, POLICY_FREE },    { rule_nothing, POLICY_FREE },
    { rule_less, POLICY_FREE },    { rule_not_ours, POLICY_FREE },
    { rule_again, POLICY_BEFORE }, { rule_wait, POLICY_FREE },
    { rule_broad, POLICY_COMMON }, { rule_short, POLICY_UNAVAILABLE },
    { rule_drain, POLICY_REPORTS },
};

/* --- remarks ------------------------------------------------------------- */

__attribute__ ((format (printf, 2, 3))) static void
add_policy_remark (struct decisions *d, const char *fmt, ...)
{
    char text[REMARK_MAX];

    TEXT_PRINT (text, sizeof (text), fmt);
    d->remark = pool_grow (d->pool, d->remark, d->nremarks,
                           sizeof (*d->remark));
    d->remark[d->nremarks++] = pool_strdup (d->pool, text_clean (text));
}

/* Hosts that FAIL, and that Slurm does not know. */
static void remark_hosts (struct decisions *d, const struct site_state *s)
{
    const char *first = NULL;
    const char *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->evidence.ntracks; i++) {
        const struct track *t = &s->evidence.track[i];

        if (t->failing && !state_find (s, t->host)
            && (!last || strcmp (last, t->host))) {
            n++;
            last = t->host;
            first = first ? first : t->host;
        }
    }
    if (n > 0)
        add_policy_remark (d,
                           "%zu host%s that FAIL%s no node of Slurm: %.63s%s",
                           n, n > 1 ? "s" : "", n > 1 ? " are" : "s is", first,
                           n > 1 ? ", ..." : "");
}

/* Audits with a time stamp in the future, and those that count against no host.
 */
static void remark_audits (struct decisions *d, const struct site_state *s)
{
    const struct evidence *e = &s->evidence;
    size_t future = 0, n[DOUBT_MANY + 1] = { 0 };
    uint64_t last[DOUBT_MANY + 1];

    for (size_t i = 0; i < e->naudits; i++) {
        enum doubt k = audit_doubt (e->audit[i], s->in->now, s->cfg);

        future += e->audit[i]->time > s->in->now;
        last[k] = e->audit[i]->id;
        n[k]++;
    }
    if (future > 0)
        add_policy_remark (
            d,
            "%zu audit%s a time stamp in the future: the clock stepped "
            "back; %s confirm%s nothing",
            future, future > 1 ? "s have" : " has", future > 1 ? "they" : "it",
            future > 1 ? "" : "s");
    for (enum doubt k = DOUBT_INCOMPLETE; k <= DOUBT_MANY; k++) {
        char more[48] = "";

        if (n[k] > 1)
            snprintf (more, sizeof (more), " (and %zu more like it)", n[k] - 1);
        if (n[k] > 0)
            add_policy_remark (d,
                               "audit %" PRIu64 "%s counts against no host: %s",
                               last[k], more, doubt_text (k));
    }
}

static void make_remarks (struct decisions *d, const struct site_state *s)
{
    if (s->stop) {
        add_policy_remark (d, "nothing is changed: %s", s->stop);
        return;
    }
    if (s->is_broad) {
        char *names = hostlist_fold (s->broad, s->nbroad);

        add_policy_remark (
            d,
            "%zu hosts FAIL or were drained by us within a day, and "
            "MaxDrainPerDay allows %zu: a common cause, a wrong snapshot "
            "or baseline? none %s drained: %.*s%s",
            s->nbroad, s->limit, is_drained (s), NAMES_SHOWN, names,
            strlen (names) > NAMES_SHOWN ? "..." : "");
        free (names);
    }
    if (s->is_known_short)
        add_policy_remark (
            d,
            "%zu of %zu nodes are unavailable, and MaxUnavailable is "
            "%g %%: no other %s drained",
            s->unavailable, s->counted, s->cfg->max_unavailable_percent,
            is_drained (s));
    remark_audits (d, s);
    remark_hosts (d, s);
}

/* --- decisions ----------------------------------------------------------- */

void policy_decide (struct decisions *d, const struct policy_input *in,
                    const struct policy_config *cfg)
{
    struct pool *pool = pool_create ();
    struct site_state s;

    state_make (&s, in, cfg, pool);
    *d = (struct decisions){
        .v = pool_alloc (pool, s.nnodes, sizeof (*d->v)), .n = s.nnodes,
        .stopped = s.stop != NULL, .pool = pool,
    };
    if (s.evidence.naudits > 0)
        d->after = s.evidence.audit[s.evidence.naudits - 1]->id;
    make_remarks (d, &s);
    for (size_t i = 0; i < s.nnodes; i++) {
        size_t k = 0;

        d->v[i].node = s.node[i].node->name;
        d->v[i].cause = CAUSES;
        while (!rules[k].holds (&s.node[i], &d->v[i]))
            k++;
        if (d->v[i].kind == POLICY_NOTE)
            d->v[i].block = rules[k].block;
    }
}

void policy_clear (struct decisions *d)
{
    pool_destroy (d->pool);
    *d = (struct decisions){ 0 };
}
