/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which node is drained, which is resumed, and why no other is.
 *
 * Notes: nodes, tracks of evidence and actions are sorted by node and walked
 * side by side. Each node then goes through the table of rules, and the first
 * that has something to say decides; those that hold back stand before the
 * drain at its end. Names compare as strings everywhere, so that the order of
 * the inputs does not matter.
 */
#include "config.h"
#include "prolog/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/evidence.h"
#include "util/text.h"

enum { DAY_S = 24 * 3600, NAMES_SHOWN = 160, CLEAN_WANTED = 2 };

/* A node, and all that is known of it. */
struct ward {
    const struct policy_node *node;
    struct track *track; /* of its links */
    size_t ntracks;
    const struct policy_action **action; /* oldest first */
    size_t nactions;
    const struct track *worst; /* not muted; NULL: there is none */
    bool muted;                /* a muted link FAILs */
};

struct scene {
    const struct policy_input *in;
    const struct policy_config *cfg;
    struct evidence evidence;
    struct ward *ward; /* by name */
    size_t nwards;
    const struct policy_action **action; /* by node, oldest first */
    const char **broad; /* hosts that FAIL or were drained within a day */
    size_t nbroad;
    size_t limit;       /* on these */
    size_t counted;     /* nodes neither powered down nor reserved */
    size_t unavailable; /* of these */
    const char *stop;   /* why nothing at all is changed; NULL: go on */
};

const char *policy_kind_name (enum policy_kind kind)
{
    static const char *const name[] = {
        [POLICY_NONE] = "none",     [POLICY_NOTE] = "note",
        [POLICY_WAIT] = "wait",     [POLICY_DRAIN] = "drain",
        [POLICY_RESUME] = "resume", [POLICY_LEFT] = "left",
        [POLICY_LIFTED] = "lifted",
    };

    return name[kind];
}

void policy_config (struct policy_config *cfg, const struct site *site)
{
    static const struct {
        const char *word;
        enum policy_act act;
    } acts[] = {
        { "report", POLICY_ACT_REPORT },
        { "comment", POLICY_ACT_COMMENT },
        { "drain", POLICY_ACT_DRAIN },
    };

    *cfg = (struct policy_config){
        .act = POLICY_ACT_REPORT,
        .confirm_after_s = (site->confirm_after_ms + 999) / 1000,
        .confirm_within_s = site->confirm_within_ms / 1000,
        .again_after_s = (site->drain_again_after_ms + 999) / 1000,
        .max_drain = (size_t)site->max_drain_per_day,
        .max_drain_percent = site->max_drain_share,
        .max_unavailable_percent = site->max_unavailable,
        .fail_ns = site->fail_ns,
        .fail_latency_ns = site->fail_latency_ns,
        .resume = site->resume,
    };
    for (size_t i = 0; i < sizeof (acts) / sizeof (acts[0]); i++)
        if (!strcmp (site->action, acts[i].word))
            cfg->act = acts[i].act;
}

/* Decide, and have something to say. */
__attribute__ ((format (printf, 3, 4))) static bool
say (struct decision *d, enum policy_kind kind, const char *fmt, ...)
{
    va_list ap;

    d->kind = kind;
    va_start (ap, fmt);
    vsnprintf (d->why, sizeof (d->why), fmt, ap);
    va_end (ap);
    text_clean (d->why);
    return true;
}

struct span {
    char text[32];
};

static struct span span_of (int64_t s)
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
    struct span span;
    size_t i = 0;

    while (s < units[i].from)
        i++;
    snprintf (span.text, sizeof (span.text), "%" PRId64 " %s",
              s / units[i].unit, units[i].name);
    return span;
}

/* What bears a time of the future lies within any span. */
static bool within (int64_t time, int64_t span, int64_t now)
{
    return time >= 0 && (time > now || now - time < span);
}

static uint64_t larger (uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- what is known of each node ------------------------------------------ */

static int compare_nodes (const void *a, const void *b)
{
    return strcmp (((const struct ward *)a)->node->name,
                   ((const struct ward *)b)->node->name);
}

static int compare_actions (const void *va, const void *vb)
{
    const struct policy_action *a = *(const struct policy_action *const *)va;
    const struct policy_action *b = *(const struct policy_action *const *)vb;
    int order = strcmp (a->node, b->node);

    return order ? order : (a->id > b->id) - (a->id < b->id);
}

static int compare_names (const void *a, const void *b)
{
    return strcmp (*(const char *const *)a, *(const char *const *)b);
}

/* Sort the names and drop those that are there twice. Return their number. */
static size_t sort_names (const char **name, size_t n)
{
    size_t kept = 0;

    qsort (name, n, sizeof (*name), compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp (name[kept - 1], name[i]))
            name[kept++] = name[i];
    return kept;
}

static bool has_name (const char *const *name, size_t n, const char *key)
{
    return n > 0 && bsearch (&key, name, n, sizeof (*name), compare_names);
}

static int make_wards (struct scene *s)
{
    const struct policy_input *in = s->in;
    size_t t = 0;
    size_t a = 0;

    s->ward = calloc (in->nnodes + 1, sizeof (*s->ward));
    s->action = malloc ((in->nactions + 1) * sizeof (*s->action));
    if (!s->ward || !s->action)
        return -1;
    s->nwards = in->nnodes;
    for (size_t i = 0; i < in->nnodes; i++)
        s->ward[i].node = &in->node[i];
    qsort (s->ward, s->nwards, sizeof (*s->ward), compare_nodes);
    for (size_t i = 0; i < in->nactions; i++)
        s->action[i] = &in->action[i];
    qsort (s->action, in->nactions, sizeof (*s->action), compare_actions);
    for (size_t i = 0; i < s->nwards; i++) {
        struct ward *w = &s->ward[i];
        const char *name = w->node->name;

        while (t < s->evidence.ntracks
               && strcmp (s->evidence.track[t].host, name) < 0)
            t++;
        w->track = &s->evidence.track[t];
        while (t + w->ntracks < s->evidence.ntracks
               && !strcmp (w->track[w->ntracks].host, name))
            w->ntracks++;
        while (a < in->nactions && strcmp (s->action[a]->node, name) < 0)
            a++;
        w->action = &s->action[a];
        while (a + w->nactions < in->nactions
               && !strcmp (w->action[w->nactions]->node, name))
            w->nactions++;
    }
    return 0;
}

/* The newest action; NULL: none. */
static const struct policy_action *last_action (const struct ward *w)
{
    return w->nactions > 0 ? w->action[w->nactions - 1] : NULL;
}

/* The drain that action i ended, or that it is; NULL: there is no record. */
static const struct policy_action *drain_of (const struct ward *w, size_t i)
{
    for (size_t k = i + 1; k-- > 0;)
        if (w->action[k]->kind == POLICY_DRAIN)
            return w->action[k];
    return NULL;
}

static bool is_own_drain (const struct ward *w)
{
    const struct policy_action *a = last_action (w);

    return a && a->kind == POLICY_DRAIN;
}

static bool is_of (const struct policy_reset *r, const char *link)
{
    return !r->link || (link && !strcmp (r->link, link));
}

/* The audit before the newest reset of a link's baseline; 0: none. */
static uint64_t reset_after (const struct scene *s, const char *link)
{
    uint64_t after = 0;

    for (size_t i = 0; i < s->in->nresets; i++)
        if (is_of (&s->in->reset[i], link))
            after = larger (after, s->in->reset[i].after);
    return after;
}

/* Whether it was reset after a drain or so of ours, which was made for newer
 * audits than any reset before it.
 */
static bool is_reset (const struct scene *s, const char *link, uint64_t since)
{
    bool found = false;

    for (size_t i = 0; i < s->in->nresets; i++)
        found = found || (is_of (&s->in->reset[i], link)
                          && s->in->reset[i].after >= since);
    return found;
}

static bool is_muted (const struct scene *s, const struct track *t)
{
    for (size_t i = 0; i < s->in->nmutes; i++) {
        const struct policy_mute *m = &s->in->mute[i];

        if ((m->until == 0 || m->until > s->in->now) && (m->link || m->node)
            && (!m->link || !strcmp (m->link, t->link))
            && (!m->node || !strcmp (m->node, t->host)))
            return true;
    }
    return false;
}

/* The one that the sentence is about: the gravest, then the slowest, then the
 * likeliest, then the first by its id.
 */
static bool is_worse (const struct track *a, const struct track *b)
{
    if (a->standing != b->standing)
        return a->standing > b->standing;
    if (!a->last || !b->last)
        return a->last != NULL;
    if (a->last->excess_ns != b->last->excess_ns)
        return a->last->excess_ns > b->last->excess_ns;
    return a->last->place < b->last->place;
}

/* What was found before a drain was ended counts no more. */
static uint64_t newest_end (const struct ward *w)
{
    uint64_t after = 0;

    for (size_t i = 0; i < w->nactions; i++)
        if (w->action[i]->kind == POLICY_RESUME
            || w->action[i]->kind == POLICY_LIFTED)
            after = larger (after, w->action[i]->after);
    return after;
}

static void judge_tracks (struct scene *s)
{
    for (size_t i = 0; i < s->nwards; i++)
        for (size_t k = 0; k < s->ward[i].ntracks; k++)
            s->ward[i].track[k].floor = newest_end (&s->ward[i]);
    for (size_t i = 0; i < s->evidence.ntracks; i++) {
        struct track *t = &s->evidence.track[i];

        t->muted = is_muted (s, t);
        t->floor = larger (t->floor, reset_after (s, t->link));
        track_stand (t, s->in->now, s->cfg);
    }
    for (size_t i = 0; i < s->nwards; i++) {
        struct ward *w = &s->ward[i];

        for (size_t k = 0; k < w->ntracks; k++)
            if (w->track[k].muted)
                w->muted = w->muted || w->track[k].failing;
            else if (!w->worst || is_worse (&w->track[k], w->worst))
                w->worst = &w->track[k];
    }
}

/* --- the site ------------------------------------------------------------ */

static bool in_service (const struct policy_node *n)
{
    return !n->unknown && !n->down && !n->powered_down && !n->reserved
           && !n->drained;
}

static const struct ward *find_ward (const struct scene *s, const char *name)
{
    const struct policy_node node = { .name = name };
    const struct ward key = { .node = &node };

    return bsearch (&key, s->ward, s->nwards, sizeof (*s->ward),
                    compare_nodes);
}

/* A host that FAILs counts while it is in service, and for a day where it is
 * not; one that we drained, for a day from then.
 */
static bool counts_as_broad (const struct scene *s, const struct track *t)
{
    const struct ward *w = find_ward (s, t->host);

    if (t->muted || !t->failing || (w && is_own_drain (w)))
        return false;
    return (w && in_service (w->node))
           || within (t->bad_time, DAY_S, s->in->now);
}

/* A FAIL of one of several hosts is of one that is counted anyway, or else of
 * one more.
 */
static const char *one_more (const struct scene *s,
                             const struct policy_audit *a,
                             const struct policy_finding *f, size_t counted)
{
    const struct track *t = NULL;
    bool alone;
    const char *host;

    if (a->user || f->level != VERDICT_FAIL || f->kind != FINDING_HOST_END
        || !(host = finding_host (f, &alone)) || alone)
        return NULL;
    for (size_t i = 0; i < f->nsuspects; i++) {
        const struct policy_suspect *p = &f->suspect[i];

        if (has_name (s->broad, counted, p->host))
            return NULL;
        if (!strcmp (p->host, host))
            t = evidence_find (&s->evidence, host, p->link);
    }
    return t && !t->muted && a->id > t->since
                   && within (a->time, DAY_S, s->in->now)
               ? host
               : NULL;
}

static int make_broad (struct scene *s)
{
    const struct policy_input *in = s->in;
    size_t most = in->nactions + s->evidence.ntracks;
    size_t counted;

    for (size_t i = 0; i < in->naudits; i++)
        most += in->audit[i].nfindings;
    if (!(s->broad = malloc ((most + 1) * sizeof (*s->broad))))
        return -1;
    for (size_t i = 0; i < in->nactions; i++)
        if (in->action[i].kind == POLICY_DRAIN
            && within (in->action[i].time, DAY_S, in->now))
            s->broad[s->nbroad++] = in->action[i].node;
    for (size_t i = 0; i < s->evidence.ntracks; i++)
        if (counts_as_broad (s, &s->evidence.track[i]))
            s->broad[s->nbroad++] = s->evidence.track[i].host;
    counted = s->nbroad = sort_names (s->broad, s->nbroad);
    for (size_t i = 0; i < in->naudits; i++)
        for (size_t k = 0; k < in->audit[i].nfindings; k++) {
            const struct policy_audit *a = &in->audit[i];
            const char *host = one_more (s, a, &a->finding[k], counted);

            if (host)
                s->broad[s->nbroad++] = host;
        }
    s->nbroad = sort_names (s->broad, s->nbroad);
    return 0;
}

static void count_nodes (struct scene *s)
{
    double share
        = floor (s->cfg->max_drain_percent * (double)s->nwards / 100);

    for (size_t i = 0; i < s->nwards; i++) {
        const struct policy_node *n = s->ward[i].node;

        if (!n->powered_down && !n->reserved) {
            s->counted++;
            s->unavailable += n->unknown || n->down || n->drained;
        }
    }
    s->limit = s->cfg->max_drain;
    if (share < (double)s->limit)
        s->limit = share > 1 ? (size_t)share : 1;
}

static bool is_broad (const struct scene *s)
{
    return s->nbroad > s->limit;
}

static bool is_short (const struct scene *s)
{
    return 100 * (double)s->unavailable
           > s->cfg->max_unavailable_percent * (double)s->counted;
}

static void check_state (struct scene *s)
{
    const struct policy_input *in = s->in;

    if (in->unreadable)
        s->stop = in->unreadable;
    else if (in->nnodes == 0)
        s->stop = "Slurm shows no nodes";
    else if (in->now < 0)
        s->stop = "the clock stands before 1970";
    else if (!in->self)
        s->stop = "it is not known who drains here";
    else if (s->evidence.twice)
        s->stop = "two audits have one number";
    for (size_t i = 1; i < s->nwards && !s->stop; i++)
        if (compare_nodes (&s->ward[i - 1], &s->ward[i]) == 0)
            s->stop = "Slurm's list has a node twice";
}

/* --- the rules ----------------------------------------------------------- */

static bool rule_stop (const struct scene *s, const struct ward *w,
                       struct decision *d)
{
    (void)w;
    return s->stop && say (d, POLICY_NONE, "nothing is changed: %s", s->stop);
}

static bool rule_unknown (const struct scene *s, const struct ward *w,
                          struct decision *d)
{
    (void)s;
    return w->node->unknown
           && say (d, POLICY_NONE,
                   "nothing is changed: Slurm does not tell its state");
}

static const char *or_unknown (const char *s)
{
    return s ? s : "unknown";
}

static bool shows (const char *have, const char *want)
{
    return have && want && !strcmp (have, want);
}

/* What happens to it before it is in service again may well mend it. */
static bool is_in_hand (const struct policy_node *n)
{
    return n->drained || n->reserved || n->down;
}

struct phrase {
    char text[160];
};

static struct phrase in_hand_text (const struct policy_node *n)
{
    struct phrase p;

    if (n->drained)
        snprintf (p.text, sizeof (p.text), "drained by %.32s (%.100s)",
                  n->by ? n->by : "somebody",
                  n->reason ? n->reason : "no reason");
    else
        snprintf (p.text, sizeof (p.text), "%s",
                  n->reserved ? "reserved" : "down");
    return p;
}

/* Whether all links that must be are clean; if not, *t is one that is not, or
 * NULL where nothing is known of the link of the drain.
 */
static bool is_mended (const struct scene *s, const struct ward *w,
                       const struct policy_action *drain,
                       const struct track **t, size_t *clean)
{
    bool found = false;

    *t = NULL;
    *clean = 0;
    for (size_t i = 0; i < w->ntracks; i++) {
        const struct track *track = &w->track[i];
        uint64_t floor = larger (drain->after, reset_after (s, track->link));
        bool own = shows (track->link, drain->link);
        bool enough;
        size_t n;

        if (!own && (!track->failing || track->muted))
            continue;
        n = track_clean (track, floor, s->cfg, &enough);
        found = found || own;
        if (!enough) {
            *t = track;
            *clean = n;
            return false;
        }
    }
    return found;
}

static bool decide_resume (const struct scene *s, const struct ward *w,
                           const struct policy_action *drain,
                           struct decision *d)
{
    const struct track *t;
    size_t clean;

    if (!s->cfg->resume || s->cfg->act != POLICY_ACT_DRAIN)
        return say (d, POLICY_NONE,
                    "we drained it after audit %" PRIu64 "; %s, so a person "
                    "resumes it", drain->after,
                    s->cfg->resume ? "Action is not drain"
                                   : "Resume is not set");
    if (w->node->down || w->node->powered_down || w->node->reserved)
        return say (d, POLICY_NONE,
                    "we drained it after audit %" PRIu64 "; it is down or "
                    "reserved", drain->after);
    if (is_mended (s, w, drain, &t, &clean))
        return say (d, POLICY_RESUME,
                    "we drained it after audit %" PRIu64 ", and its link was "
                    "clean in audits %s apart since", drain->after,
                    span_of (s->cfg->confirm_after_s).text);
    d->when = s->in->now;
    return say (d, POLICY_WAIT,
                "we drained it after audit %" PRIu64 "; link %s was clean in "
                "%zu audit%s since, and must be in %d, %s apart", drain->after,
                t ? t->link : or_unknown (drain->link), clean,
                clean == 1 ? "" : "s", CLEAN_WANTED,
                span_of (s->cfg->confirm_after_s).text);
}

/* Somebody else's hands are on the node, or were when we last looked. */
static bool rule_left (const struct scene *s, const struct ward *w,
                       struct decision *d)
{
    const struct policy_action *a = last_action (w);

    (void)s;
    if (!a || a->kind != POLICY_LEFT)
        return false;
    d->link = a->link;
    if (is_in_hand (w->node))
        return say (d, POLICY_NONE, "it is %s: left alone",
                    in_hand_text (w->node).text);
    return say (d, POLICY_LIFTED,
                "it is back in service: what was found before does not count "
                "any more");
}

static bool rule_own_drain (const struct scene *s, const struct ward *w,
                            struct decision *d)
{
    const struct policy_action *drain = last_action (w);

    if (!is_own_drain (w))
        return false;
    d->link = drain->link;
    if (!w->node->drained)
        return say (d, POLICY_LIFTED,
                    "somebody else ended our drain of audit %" PRIu64 ": what "
                    "was found before does not count any more", drain->after);
    if (!shows (w->node->reason, drain->reason)
        || !shows (w->node->by, s->in->self))
        return say (d, POLICY_NONE, "our drain was taken over, it is %s: left "
                    "alone", in_hand_text (w->node).text);
    return decide_resume (s, w, drain, d);
}

static bool rule_nothing (const struct scene *s, const struct ward *w,
                          struct decision *d)
{
    const struct track *t = w->worst;

    (void)s;
    if (w->muted && (!t || t->standing < STANDING_FAIL))
        return say (d, POLICY_NONE, "it FAILs, but that is muted");
    if (!t || t->standing == STANDING_NONE)
        return say (d, POLICY_NONE, "nothing was found against it");
    d->link = t->link;
    if (t->standing == STANDING_CLEAN)
        return say (d, POLICY_NONE, "clean in audit %" PRIu64,
                    t->last->audit);
    if (t->standing == STANDING_UNSURE)
        return say (d, POLICY_NONE,
                    "audit %" PRIu64 " could not tell: UNKNOWN drains nobody",
                    t->last->audit);
    return false;
}

static const char *sign_text (const struct event *e)
{
    static const char *const text[] = {
        [SIGN_COUNTER] = "its error counters grow",
        [SIGN_WIDTH] = "its link has lost width",
        [SIGN_SPEED] = "its link has lost speed",
    };

    return text[e->sign];
}

/* What is found, but is not enough however often it is. */
static bool rule_less (const struct scene *s, const struct ward *w,
                       struct decision *d)
{
    const struct track *t = w->worst;
    const struct event *last = t->last;

    (void)s;
    switch (t->standing) {
    case STANDING_WARN:
        if (last->seen & SEEN_SIGN)
            return say (d, POLICY_NOTE, "%s, but no audit says FAIL",
                        sign_text (last));
        return say (d, POLICY_NOTE,
                    "WARN in audit %" PRIu64 ", which drains nobody",
                    last->audit);
    case STANDING_AMONG:
        return say (d, POLICY_NOTE,
                    "one of several that the FAIL of audit %" PRIu64
                    " may be of", last->audit);
    case STANDING_DOUBT:
        return say (d, POLICY_NOTE,
                    "FAIL in audit %" PRIu64 ", which does not count: %s",
                    last->audit, doubt_text (last->doubt));
    default:
        return false;
    }
}

static bool rule_not_ours (const struct scene *s, const struct ward *w,
                           struct decision *d)
{
    (void)s;
    if (is_in_hand (w->node))
        return say (d, POLICY_LEFT, "it FAILs, but is %s: left alone",
                    in_hand_text (w->node).text);
    return w->node->powered_down
           && say (d, POLICY_NOTE, "it FAILs, but is powered down");
}

static bool rule_again (const struct scene *s, const struct ward *w,
                        struct decision *d)
{
    for (size_t i = w->nactions; i-- > 0;) {
        const struct policy_action *a = w->action[i];
        const struct policy_action *drain = drain_of (w, i);

        if (a->kind == POLICY_LIFTED
            && within (a->time, s->cfg->again_after_s, s->in->now))
            return say (d, POLICY_NOTE,
                        "it FAILs again, but who put it back in service is "
                        "believed for %s",
                        span_of (s->cfg->again_after_s).text);
        if (a->kind == POLICY_RESUME
            && !is_reset (s, a->link, drain ? drain->after : a->after))
            return say (d, POLICY_NOTE,
                        "it FAILs again after we drained and resumed it: it "
                        "comes and goes, and is not drained before the "
                        "baseline of %s is reset",
                        or_unknown (a->link));
    }
    return false;
}

static bool rule_wait (const struct scene *s, const struct ward *w,
                       struct decision *d)
{
    const struct track *t = w->worst;
    const char *old = t->last->time > s->in->now ? ", by a clock ahead of ours"
                                                 : ", which is long ago";

    if (t->standing == STANDING_CONFIRMED)
        return false;
    d->when = t->when;
    return say (d, POLICY_WAIT,
                "FAIL in audit %" PRIu64 "%s: waits for another, %s later, to "
                "confirm it", t->last->audit, t->last->fresh ? "" : old,
                span_of (s->cfg->confirm_after_s).text);
}

static bool rule_broad (const struct scene *s, const struct ward *w,
                        struct decision *d)
{
    (void)w;
    return is_broad (s)
           && say (d, POLICY_NOTE,
                   "its FAIL is confirmed, but so many hosts FAIL or were "
                   "drained within a day (%zu, of which MaxDrainPerDay allows "
                   "%zu) that none is drained", s->nbroad, s->limit);
}

static bool rule_short (const struct scene *s, const struct ward *w,
                        struct decision *d)
{
    (void)w;
    return is_short (s)
           && say (d, POLICY_NOTE,
                   "its FAIL is confirmed, but %zu of %zu nodes are "
                   "unavailable, and MaxUnavailable is %g %%",
                   s->unavailable, s->counted,
                   s->cfg->max_unavailable_percent);
}

static void write_reason (const struct track *t, char *buf, size_t size)
{
    const struct event *e = t->last;
    char over[32] = "";

    if (isfinite (e->expected_ns))
        snprintf (over, sizeof (over), " over its %.0f ns",
                  fmin (e->expected_ns, 1e9));
    snprintf (buf, size,
              "pmm: host end %.63s%s%.32s (%.32s) +%.0f ns%s, audit %" PRIu64,
              t->host, *e->port ? " " : "", e->port, t->link,
              fmin (e->excess_ns, 1e9), over, e->audit);
    text_clean (buf);
}

static bool rule_drain (const struct scene *s, const struct ward *w,
                        struct decision *d)
{
    const struct track *t = w->worst;
    bool drains = s->cfg->act == POLICY_ACT_DRAIN;
    const char *would = drains ? "" : ", and would be drained if Action "
                                      "were drain";

    if (drains)
        write_reason (t, d->reason, sizeof (d->reason));
    if (t->first)
        return say (d, drains ? POLICY_DRAIN : POLICY_NOTE,
                    "host end FAIL in audits %" PRIu64 " and %" PRIu64
                    ", %s apart%s", t->first->audit, t->last->audit,
                    span_of (t->last->time - t->first->time).text, would);
    return say (d, drains ? POLICY_DRAIN : POLICY_NOTE,
                "host end FAIL in audit %" PRIu64 ", and %s%s",
                t->last->audit, sign_text (t->sign), would);
}

/* The first to return true has decided; the last one always does. */
static bool (*const rules[]) (const struct scene *, const struct ward *,
                              struct decision *) = {
    rule_stop,     rule_unknown, rule_own_drain, rule_left,
    rule_nothing,  rule_less,    rule_not_ours,  rule_again,
    rule_wait,     rule_broad,   rule_short,     rule_drain,
};

/* --- remarks ------------------------------------------------------------- */

__attribute__ ((format (printf, 2, 3))) static int
remark (struct decisions *d, const char *fmt, ...)
{
    char **grown = realloc (d->remark, (d->nremarks + 1) * sizeof (*grown));
    va_list ap;
    int rc;

    if (!grown)
        return -1;
    d->remark = grown;
    va_start (ap, fmt);
    rc = vasprintf (&grown[d->nremarks], fmt, ap);
    va_end (ap);
    if (rc < 0)
        return -1;
    text_clean (grown[d->nremarks++]);
    return 0;
}

static int remark_broad (struct decisions *d, const struct scene *s)
{
    char *names = hostlist_fold (s->broad, s->nbroad);
    int rc;

    if (!names)
        return -1;
    rc = remark (d, "%zu hosts FAIL or were drained by us within a day, and "
                 "MaxDrainPerDay allows %zu: a common cause, a wrong snapshot "
                 "or baseline? none is drained: %.*s%s", s->nbroad, s->limit,
                 NAMES_SHOWN, names,
                 strlen (names) > NAMES_SHOWN ? "..." : "");
    free (names);
    return rc;
}

static int remark_hosts (struct decisions *d, const struct scene *s)
{
    const char *first = NULL;
    const char *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < s->evidence.ntracks; i++) {
        const struct track *t = &s->evidence.track[i];

        if (t->failing && !find_ward (s, t->host)
            && (!last || strcmp (last, t->host))) {
            n++;
            last = t->host;
            first = first ? first : t->host;
        }
    }
    return n > 0 ? remark (d, "%zu host%s that FAIL%s no node of Slurm: "
                           "%.63s%s", n, n > 1 ? "s" : "",
                           n > 1 ? " are" : "s is", first,
                           n > 1 ? ", ..." : "")
                 : 0;
}

static int remark_doubts (struct decisions *d, const struct scene *s)
{
    const struct evidence *e = &s->evidence;

    for (enum doubt k = DOUBT_INCOMPLETE; k <= DOUBT_MANY; k++)
        if (e->doubted[k] > 0) {
            char more[48] = "";

            if (e->doubted[k] > 1)
                snprintf (more, sizeof (more), " (and %zu more like it)",
                          e->doubted[k] - 1);
            if (remark (d, "audit %" PRIu64 "%s counts against no host: %s",
                        e->doubted_last[k], more, doubt_text (k)) < 0)
                return -1;
        }
    return 0;
}

static int make_remarks (struct decisions *d, const struct scene *s)
{
    size_t future = s->evidence.future;

    if (s->stop)
        return remark (d, "nothing is changed: %s", s->stop);
    if (is_broad (s) && remark_broad (d, s) < 0)
        return -1;
    if (is_short (s)
        && remark (d, "%zu of %zu nodes are unavailable, and MaxUnavailable is "
                   "%g %%: none is drained", s->unavailable, s->counted,
                   s->cfg->max_unavailable_percent)
               < 0)
        return -1;
    if (future > 0
        && remark (d, "%zu audit%s a time of the future: the clock stepped "
                   "back; %s confirm%s nothing", future,
                   future > 1 ? "s bear" : " bears", future > 1 ? "they" : "it",
                   future > 1 ? "" : "s")
               < 0)
        return -1;
    return remark_doubts (d, s) < 0 ? -1 : remark_hosts (d, s);
}

/* --- all of it ----------------------------------------------------------- */

static void decide (const struct scene *s, const struct ward *w,
                    struct decision *d)
{
    size_t i = 0;

    d->node = w->node->name;
    while (!rules[i] (s, w, d))
        i++;
}

static int make_scene (struct scene *s, struct error *err)
{
    if (evidence_make (&s->evidence, s->in, s->cfg, err) < 0)
        return -1;
    if (make_wards (s) < 0)
        return error_nomem (err);
    check_state (s);
    judge_tracks (s);
    if (make_broad (s) < 0)
        return error_nomem (err);
    count_nodes (s);
    return 0;
}

int policy_decide (struct decisions *d, const struct policy_input *in,
                   const struct policy_config *cfg, struct error *err)
{
    struct scene s = { .in = in, .cfg = cfg };
    int rc = -1;

    *d = (struct decisions){ 0 };
    if (make_scene (&s, err) < 0)
        goto out;
    if (!(d->v = calloc (s.nwards + 1, sizeof (*d->v)))
        || make_remarks (d, &s) < 0) {
        error_nomem (err);
        goto out;
    }
    for (d->n = 0; d->n < s.nwards; d->n++)
        decide (&s, &s.ward[d->n], &d->v[d->n]);
    d->after = s.evidence.newest;
    rc = 0;
out:
    evidence_clear (&s.evidence);
    free (s.ward);
    free (s.action);
    free (s.broad);
    return rc;
}

void policy_clear (struct decisions *d)
{
    int saved_errno = errno;

    for (size_t i = 0; i < d->nremarks; i++)
        free (d->remark[i]);
    free (d->remark);
    free (d->v);
    *d = (struct decisions){ 0 };
    errno = saved_errno;
}
