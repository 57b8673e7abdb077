/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What audits and signs show about each link of a host.
 *
 * Notes. Each suspect of a finding that has a host becomes an event. After
 * sorting, the events of a link are contiguous: its track. Several events of
 * one audit are merged into one with all their flags: a link that an audit
 * calls both clean and slow is cleared for a drain, but not clean for a resume.
 * Findings that do not count against a host become events too, since they must
 * block: otherwise additional findings of less weight could cause a drain.
 */
#include "config.h"
#include "prolog/policy/evidence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum { MANY = 4 /* more than one in so many hosts */ };

static const double sure = 3; /* standard errors */

/* A link that an audit suspects, of any host or of none. */
struct suspected_link {
    const char *link;
    uint64_t audit;
    const struct policy_finding *finding;
    bool explains; /* it may be why something became slow; false for links that
                      always were */
    bool fails;    /* it is in a fresh FAIL */
};

const char *doubt_text (enum doubt doubt)
{
    static const char *const text[] = {
        [DOUBT_NONE] = "",
        [DOUBT_NUMBERS] = "its figures are no numbers",
        [DOUBT_LOSSY] = "half of its messages or more were lost",
        [DOUBT_INCOMPLETE] = ("it did not come to its end, or many of its "
                              "hosts did not answer"),
        [DOUBT_COMMON] = "it found a switch or a route at fault, too",
        [DOUBT_MANY] = ("so many of its hosts FAIL that it is a common "
                        "cause, or our error"),
    };

    return text[doubt];
}

static bool has_rate (const struct policy_finding *f)
{
    return f && finding_has_rate (&f->x);
}

const char *finding_host (const struct policy_finding *f, bool *alone)
{
    const char *first = NULL;

    *alone = f->x.kind == FINDING_HOST_END
             || (f->x.kind == FINDING_NODE && has_rate (f));
    if (!*alone && f->x.kind != FINDING_SWITCH_LINK)
        return NULL;
    for (size_t i = 0; i < f->nsuspects; i++) {
        const char *host = f->suspect[i].host;
        int order = host && first ? strcmp (host, first) : 0;

        *alone = *alone && host && order == 0;
        if (host && (!first || order < 0))
            first = host;
    }
    return first;
}

static bool is_audit_recent (int64_t time, int64_t now,
                             const struct policy_config *cfg)
{
    return time >= 0 && time <= now && now - time <= cfg->confirm_within_s;
}

/* Whether it is of what a link carries: neither its latency would FAIL, nor does it
 * lose messages.
 */
static bool is_of_rate (const struct policy_finding *f,
                        const struct policy_config *cfg)
{
    bool latency = f->x.kind != FINDING_NODE && f->x.basis != BASIS_CLASS
                   && f->x.basis != BASIS_SLOW && f->x.excess_ns > cfg->fail_ns;

    return f->x.basis == BASIS_RATE
           || (has_rate (f) && !latency && f->x.basis != BASIS_LOSS);
}

/* What a switch or a route that an audit finds at fault takes more, ns, the most
 * of several; 0: there is none. Whether one carries less. A host beside it may look
 * slow by as much.
 */
struct common_fault {
    double ns;
    bool rate;
};

static struct common_fault common_fault (const struct policy_audit *a)
{
    struct common_fault most = { 0 };

    for (size_t i = 0; i < a->nfindings; i++) {
        const struct policy_finding *f = &a->finding[i];

        if (f->x.level < VERDICT_UNKNOWN
            || (f->x.kind != FINDING_SWITCH && f->x.kind != FINDING_ROUTE))
            continue;
        most.rate |= has_rate (f);
        if (f->x.basis != BASIS_RATE)
            most.ns = isfinite (f->x.excess_ns)
                          ? fmax (most.ns, fabs (f->x.excess_ns)) : INFINITY;
    }
    return most;
}

/* Whether a finding's excess above that of a common cause would FAIL, too. */
static bool fails_beyond_common (const struct policy_finding *f,
                                 struct common_fault common,
                                 const struct policy_config *cfg)
{
    if (is_of_rate (f, cfg))
        return !common.rate;
    return common.ns == 0
           || f->x.excess_ns - sure * f->x.stderr_ns - common.ns > cfg->fail_ns;
}

/* Why an audit counts against no host. *fails: whether it FAILs any. */
static enum doubt doubt_of_audit (const struct policy_audit *a,
                                  struct common_fault common, bool *fails,
                                  const struct policy_config *cfg)
{
    const char **host = xarray (a->nfindings, sizeof (*host));
    bool alone, some = false;
    size_t n = 0;

    for (size_t i = 0; i < a->nfindings; i++) {
        const struct policy_finding *f = &a->finding[i];

        if (f->x.level == VERDICT_FAIL && (host[n] = finding_host (f, &alone))) {
            some |= fails_beyond_common (f, common, cfg);
            n++;
        }
    }
    *fails = n > 0;
    n = text_unique (host, n);
    free (host);
    if (!a->whole || a->asked > a->nodes + a->asked / MANY)
        return DOUBT_INCOMPLETE;
    if ((common.ns > 0 || common.rate) && !some)
        return DOUBT_COMMON;
    return n > 1 && n > a->nodes / MANY ? DOUBT_MANY : DOUBT_NONE;
}

enum doubt audit_doubt (const struct policy_audit *a, int64_t now,
                        const struct policy_config *cfg)
{
    bool fails;
    enum doubt doubt = doubt_of_audit (a, common_fault (a), &fails, cfg);

    return fails && is_audit_recent (a->time, now, cfg) ? doubt : DOUBT_NONE;
}

/* What a finding says about each of its suspects, and in *doubt, why its audit
 * counts against no host, whatever doubt there was of the audit.
 */
static unsigned int seen (const struct policy_audit *a,
                          const struct policy_finding *f,
                          struct common_fault common, enum doubt *doubt,
                          const struct policy_config *cfg)
{
    unsigned int what = f->x.level == VERDICT_FAIL ? SEEN_FAIL : SEEN_WARN;
    bool rate = is_of_rate (f, cfg);
    bool numbers = rate
                       ? has_rate (f) && f->x.rate_bits >= 0
                       : isfinite (f->x.excess_ns) && f->x.excess_ns > 0
                             && isfinite (f->x.stderr_ns) && f->x.stderr_ns >= 0;
    double least = f->x.excess_ns - sure * f->x.stderr_ns;
    bool alone = false, lossy = false;

    if (f->x.level == VERDICT_OK)
        return a->complete ? SEEN_CLEAN : SEEN_CLEAN | SEEN_UNSURE;
    if (f->x.level == VERDICT_UNKNOWN)
        return SEEN_UNSURE;
    if (f->x.kind == FINDING_NODE && (!rate || f->x.level < VERDICT_FAIL))
        return SEEN_NODE;
    for (size_t i = 0; i < f->nsuspects; i++)
        lossy |= f->suspect[i].lossy;
    if ((f->x.basis == BASIS_SLOW && !rate)
        || (f->x.basis == BASIS_LOSS && (lossy || f->x.level < VERDICT_FAIL)))
        return SEEN_WARN;
    if ((!finding_host (f, &alone) || !fails_beyond_common (f, common, cfg))
        && !*doubt)
        *doubt = DOUBT_COMMON;
    if (!numbers && f->x.basis != BASIS_LOSS)
        *doubt = DOUBT_NUMBERS;
    else if (lossy && !*doubt)
        *doubt = DOUBT_LOSSY;
    if (!alone)
        return what == SEEN_FAIL && (rate || f->x.basis != BASIS_CLASS)
                   ? SEEN_AMONG
                   : SEEN_WARN;
    if (f->x.basis == BASIS_CLASS && numbers && !rate) {
        what = SEEN_WARN;
        if (cfg->fail_latency_ns > 0
            && f->x.expected_ns + least > cfg->fail_latency_ns)
            what = SEEN_FAIL;
        else if (least > cfg->fail_ns)
            what = SEEN_WARN | SEEN_STATIC;
    }
    return *doubt && (what & (SEEN_FAIL | SEEN_STATIC)) ? SEEN_DOUBT : what;
}

/* Add the suspects of a finding: those of a host as events. For an excess, a
 * link that is slow compared with its class was slow before, so it does not
 * explain a new one. A finding UNKNOWN without an excess was not judged, so it
 * does not explain one either.
 */
static void add_link_event (struct evidence *e, const struct policy_audit *a,
                            const struct policy_finding *f,
                            struct common_fault common, enum doubt doubt,
                            bool fresh)
{
    unsigned int what = seen (a, f, common, &doubt, e->cfg);
    bool counts = !(what & (SEEN_DOUBT | SEEN_AMONG));
    bool explains = f->x.level != VERDICT_OK && f->x.basis != BASIS_CLASS
                    && f->x.kind != FINDING_NODE
                    && (f->x.level != VERDICT_UNKNOWN || isfinite (f->x.excess_ns)
                        || has_rate (f));
    bool fails = fresh && f->x.level == VERDICT_FAIL;

    for (size_t i = 0; i < f->nsuspects; i++) {
        const struct policy_suspect *s = &f->suspect[i];

        if (s->host)
            e->event[e->nevents++] = (struct link_event){
                .host = s->host, .link = s->link, .a = a, .finding = f,
                .suspect = s, .audit = a->id, .time = a->time, .seen = what,
                .fresh = fresh, .doubt = counts ? DOUBT_NONE : doubt,
                .rate = is_of_rate (f, e->cfg),
                .excess_ns = isfinite (f->x.excess_ns) ? f->x.excess_ns : 0,
            };
        if (explains || fails)
            e->suspected[e->nsuspected++] = (struct suspected_link){
                .link = s->link, .audit = a->id, .finding = f,
                .explains = explains, .fails = fails,
            };
    }
}

/* By link and audit, then those that explain first. */
static int compare_suspected (const void *va, const void *vb)
{
    const struct suspected_link *a = va;
    const struct suspected_link *b = vb;
    int order = strcmp (a->link, b->link);

    if (!order)
        order = util_compare (a->audit, b->audit);
    return order ? order : (int)b->explains - (int)a->explains;
}

static int compare_event_links (const struct link_event *a,
                                const struct link_event *b)
{
    int order = strcmp (a->host, b->host);

    return order ? order : strcmp (a->link, b->link);
}

/* Events that compare equal become one. */
static int compare_event_places (const struct link_event *a,
                                 const struct link_event *b)
{
    int order = compare_event_links (a, b);

    if (!order)
        order = util_compare (a->audit, b->audit);
    return order ? order : (int)!a->a - (int)!b->a;
}

/* Within an audit the worst comes first; of signs, the newest. */
static int compare_events (const void *va, const void *vb)
{
    const struct link_event *a = va;
    const struct link_event *b = vb;
    const struct policy_finding *f = a->finding, *g = b->finding;
    int order = compare_event_places (a, b);

    if (!order)
        order = util_compare (b->seen, a->seen);
    if (!order)
        order = (int)b->fresh - (int)a->fresh;
    if (!order)
        order = util_compare (b->excess_ns, a->excess_ns);
    if (!order && f && g)
        order = util_compare (a->suspect - f->suspect, b->suspect - g->suspect);
    if (!order)
        order = util_compare (b->time, a->time);
    if (!order)
        order = (int)a->sign - (int)b->sign;
    if (!order && f && g)
        order = util_compare (f->nsuspects, g->nsuspects);
    for (size_t i = 0; !order && f && g && i < f->nsuspects; i++)
        order = strcmp (f->suspect[i].link, g->suspect[i].link);
    return order;
}

/* Merge the events of an audit; the events of a link are a track. */
static void make_tracks (struct evidence *e)
{
    struct link_event *to = e->event;

    e->track = pool_alloc (e->pool, e->nevents, sizeof (*e->track));
    for (size_t i = 0; i < e->nevents; i++) {
        const struct link_event *ev = &e->event[i];

        if (i > 0 && compare_event_places (to - 1, ev) == 0) {
            to[-1].seen |= ev->seen;
            continue;
        }
        if (i == 0 || compare_event_links (to - 1, ev) != 0)
            e->track[e->ntracks++] = (struct track){
                .host = ev->host, .link = ev->link, .event = to,
            };
        *to++ = *ev;
        e->track[e->ntracks - 1].nevents++;
    }
    e->nevents = (size_t)(to - e->event);
}

static int compare_audits (const void *a, const void *b)
{
    return util_compare ((*(const struct policy_audit *const *)a)->id,
                         (*(const struct policy_audit *const *)b)->id);
}

void evidence_make (struct evidence *e, const struct policy_input *in,
                    const struct policy_config *cfg, struct pool *pool)
{
    size_t suspects = 0;

    *e = (struct evidence){ .cfg = cfg, .pool = pool };
    e->audit = pool_alloc (pool, in->naudits, sizeof (*e->audit));
    for (size_t i = 0; i < in->naudits; i++) {
        const struct policy_audit *a = &in->audit[i];

        if (!a->user)
            e->audit[e->naudits++] = a;
        for (size_t k = 0; k < a->nfindings; k++)
            suspects += a->finding[k].nsuspects;
    }
    e->suspected = pool_alloc (pool, suspects, sizeof (*e->suspected));
    e->event = pool_alloc (pool, suspects + in->signs.n, sizeof (*e->event));
    sort_array (e->audit, e->naudits, compare_audits);
    for (size_t i = 0; i < e->naudits; i++) {
        const struct policy_audit *a = e->audit[i];
        struct common_fault common = common_fault (a);
        bool fails;
        enum doubt doubt = doubt_of_audit (a, common, &fails, cfg);

        for (size_t k = 0; k < a->nfindings; k++)
            add_link_event (e, a, &a->finding[k], common, doubt,
                            is_audit_recent (a->time, in->now, cfg));
    }
    for (size_t i = 0; i < in->signs.n; i++) {
        const struct ledger_sign *s = &in->signs.sign[i];

        e->event[e->nevents++] = (struct link_event){
            .host = s->host, .link = s->link, .audit = (uint64_t)s->audit,
            .time = s->time, .seen = SEEN_SIGN | SEEN_WARN, .sign = s->kind,
            .fresh = is_audit_recent (s->time, in->now, cfg),
        };
    }
    sort_array (e->suspected, e->nsuspected, compare_suspected);
    sort_array (e->event, e->nevents, compare_events);
    make_tracks (e);
}

static int compare_tracks (const void *a, const void *b)
{
    return compare_event_links (((const struct track *)a)->event,
                                ((const struct track *)b)->event);
}

struct track *evidence_find (const struct evidence *e, const char *host,
                             const char *link)
{
    const struct link_event event = { .host = host, .link = link };
    const struct track key = { .event = &event };

    return find_sorted (&key, e->track, e->ntracks, compare_tracks);
}

static void set_failing (struct track *t, const struct link_event *ev)
{
    if (!t->failing || ev->time > t->bad_time)
        t->bad_time = ev->time;
    t->bad_audit = ev->audit;
    t->failing = true;
}

/* The first events of a track that no later one has cleared: in general, and those
 * of its rate, which only an audit clears that measured that.
 */
struct track_start {
    size_t any, rate;
};

static bool is_live (const struct track *t, struct track_start start, size_t i)
{
    return i >= (t->event[i].rate ? start.rate : start.any);
}

/* Set the standing from the events from `start` on, before confirmation. */
static void set_track_standing (struct track *t, struct track_start start,
                                unsigned int counts)
{
    for (size_t i = start.rate; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];
        enum standing standing = STANDING_FAIL;

        if (!is_live (t, start, i) || (!ev->a && !ev->fresh))
            continue;
        t->among += (ev->seen & SEEN_AMONG) != 0;
        if (ev->seen & (counts | SEEN_DOUBT)) {
            t->lone = !t->failing && !(ev->seen & SEEN_DOUBT);
            set_failing (t, ev);
        }
        else if (ev->seen & SEEN_UNSURE)
            t->unsure = ev->audit;
        while (!(ev->seen & counts) && standing > STANDING_NONE
               && !(ev->seen & 1u << standing))
            standing--;
        if (standing > STANDING_NONE && standing >= t->standing) {
            t->standing = standing;
            t->last = ev;
        }
    }
}

static bool same_text (const char *a, const char *b)
{
    return a && b && !strcmp (a, b);
}

/* Why one other node may have caused both events; NULL: no node can. */
static const char *shared_cause (const struct link_event *a,
                                 const struct link_event *b)
{
    const char *led_a = a->a->leader, *led_b = b->a->leader;
    const char *peer_a = a->suspect->peer, *peer_b = b->suspect->peer;

    if (!led_a || !led_b)
        return "it is not known who led one of them";
    if (same_text (led_a, a->host) || same_text (led_b, b->host))
        return "it led one of them itself";
    if (same_text (led_a, led_b))
        return "one node led both";
    if (same_text (peer_a, peer_b) || same_text (peer_a, led_b)
        || same_text (led_a, peer_b))
        return "one node had a part in all that they measured of it";
    return NULL;
}

static bool suspects_host (const struct policy_finding *f, const char *host)
{
    size_t i = 0;

    while (i < f->nsuspects && !same_text (f->suspect[i].host, host))
        i++;
    return i < f->nsuspects;
}

/* Whether the audit of an event suspects a link, except of an excess above its
 * class, or of one from which the event's stands out; ev NULL: whether the link
 * is in a fresh FAIL that does not suspect the host.
 */
static bool is_suspected (const struct evidence *e, const char *link,
                          const struct link_event *ev, const char *host)
{
    uint64_t audit = ev ? ev->audit : 0;
    const struct suspected_link key = { .link = link, .audit = audit,
                                        .explains = true };
    size_t lo = 0;
    size_t hi = e->nsuspected;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (compare_suspected (&e->suspected[mid], &key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (const struct suspected_link *s = &e->suspected[lo];
         s < e->suspected + e->nsuspected && !strcmp (s->link, link); s++)
        if (audit > 0 && s->audit != audit)
            break;
        else if (audit > 0 ? s->explains
                                 && !fails_beyond_common (
                                     ev->finding,
                                     (struct common_fault){
                                         fabs (s->finding->x.excess_ns), true },
                                     e->cfg)
                           : s->fails && !suspects_host (s->finding, host))
            return true;
    return false;
}

/* A link of another host or switch that the finding of a suspects, and that the
 * audit of b suspects as well, unless b stands out (b NULL: that a FAIL elsewhere
 * suspects). NULL: none.
 */
static const char *shared_link (const struct evidence *e,
                                const struct link_event *a,
                                const struct link_event *b)
{
    for (size_t i = 0; i < a->finding->nsuspects; i++) {
        const struct policy_suspect *s = &a->finding->suspect[i];

        if (!same_text (s->host, a->host)
            && is_suspected (e, s->link, b, a->host))
            return s->link;
    }
    return NULL;
}

/* Whether two events may confirm each other; if not, keep the reason. */
static bool are_apart (struct track *t, const struct evidence *e,
                       const struct link_event *a, const struct link_event *b)
{
    const char *node = shared_cause (a, b);
    const char *link = shared_link (e, a, b);
    bool elsewhere;

    if (!link)
        link = shared_link (e, b, a);
    elsewhere = !link;
    if (!link && !(link = shared_link (e, a, NULL)))
        link = shared_link (e, b, NULL);
    if (!node && !link)
        return true;
    t->needs.of[0] = a;
    t->needs.of[1] = b;
    t->needs.node = node;
    t->needs.link = link;
    t->needs.elsewhere = elsewhere;
    return false;
}

/* Whether the event is a FAIL of the link, or of one of several suspects that
 * include it.
 */
static bool says_fail (const struct link_event *ev, unsigned int counts)
{
    return ev->fresh
           && (ev->seen & counts || (ev->seen & SEEN_AMONG && !ev->doubt));
}

/* Whether both are of what the link carries, or of something else. */
static bool are_alike (const struct link_event *a, const struct link_event *b)
{
    return a->rate == b->rate
           || (has_rate (a->finding) && has_rate (b->finding));
}

/* The earliest event that is a FAIL, is at least confirm_after_s older than
 * event i, and may confirm it; NULL: none.
 */
static const struct link_event *confirmed_by (struct track *t,
                                              const struct evidence *e,
                                              struct track_start start,
                                              size_t i, unsigned int counts)
{
    const struct link_event *ev = &t->event[i];
    const struct link_event *first = NULL;

    for (size_t k = start.rate; k < i; k++) {
        const struct link_event *old = &t->event[k];

        if (is_live (t, start, k) && says_fail (old, counts)
            && are_alike (old, ev)
            && ev->time - old->time >= e->cfg->confirm_after_s
            && are_apart (t, e, old, ev) && (!first || old->time < first->time))
            first = old;
    }
    return first;
}

/* Find a pair of events that confirm each other; or a FAIL with a sign. The
 * second event must be later by id and by time, so a clock that stepped back
 * confirms nothing. Each event is compared with all earlier ones: at most the
 * audits of a day. If a FAIL of one of several suspects is confirmed, it counts
 * as a FAIL of this link alone.
 */
static void confirm_track (struct track *t, const struct evidence *e,
                           struct track_start start, unsigned int counts)
{
    for (size_t i = start.rate; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];
        const struct link_event *first;

        if (!is_live (t, start, i) || !says_fail (ev, counts))
            continue;
        first = confirmed_by (t, e, start, i, counts);
        if (first
            || (t->sign && (ev->seen & SEEN_FAIL) && !ev->rate && !t->first)) {
            t->standing = STANDING_CONFIRMED;
            t->first = first;
            t->last = ev;
            set_failing (t, ev);
        }
        if (!t->early || ev->time < t->early->time)
            t->early = ev;
        if (ev->a->leader && strcmp (ev->a->leader, ev->host))
            t->open = ev;
    }
}

void track_stand (struct track *t, const struct evidence *e)
{
    unsigned int counts = SEEN_FAIL;
    struct track_start start = { 0 };
    bool rate = false; /* an event of its rate is not cleared yet */

    *t = (struct track){
        .host = t->host, .link = t->link, .event = t->event,
        .nevents = t->nevents, .muted = t->muted, .from = t->from,
        .since = t->from,
    };
    for (size_t i = 0; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];

        if (ev->audit < t->from)
            start = (struct track_start){ i + 1, i + 1 };
        else if (ev->seen & SEEN_CLEAN) {
            start.any = i + 1;
            if (rate && !ev->suspect->rated)
                continue;
            rate = false;
            start.rate = i + 1;
            t->since = ev->audit + 1;
            t->standing = ev->seen & SEEN_NODE ? STANDING_NODE : STANDING_CLEAN;
            t->last = ev;
        }
        else
            rate |= ev->rate;
    }
    for (size_t i = start.any; i < t->nevents; i++)
        if (!t->event[i].a && t->event[i].fresh)
            t->sign = &t->event[i];
    if (t->sign)
        counts |= SEEN_STATIC;
    set_track_standing (t, start, counts);
    confirm_track (t, e, start, counts);
}

static bool says_clean (const struct link_event *ev)
{
    return (ev->seen & ~SEEN_NODE) == SEEN_CLEAN && ev->fresh;
}

struct clean_audits track_clean (const struct track *t, uint64_t from,
                                 bool rate, const struct policy_config *cfg)
{
    const unsigned int bad = SEEN_WARN | SEEN_AMONG | SEEN_DOUBT | SEEN_FAIL;
    const struct link_event *first = t->event; /* since the last that is bad */
    struct clean_audits c = { 0 };

    for (size_t i = 0; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];

        if (ev->audit < from)
            continue;
        if (ev->seen & bad) {
            rate |= has_rate (ev->finding);
            c = (struct clean_audits){ 0 };
            first = ev + 1;
        }
        else if (says_clean (ev) && (!rate || ev->suspect->rated)) {
            for (const struct link_event *old = first; old < ev; old++)
                if (old->audit >= from && says_clean (old)
                    && (!rate || old->suspect->rated)
                    && ev->time - old->time >= cfg->confirm_after_s
                    && !c.enough)
                    c.enough = !(c.shared = shared_cause (old, ev));
            c.last = ev;
            c.n++;
        }
    }
    return c;
}
