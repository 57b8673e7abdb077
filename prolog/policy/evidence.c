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

const char *finding_host (const struct policy_finding *f, bool *alone)
{
    const char *first = NULL;

    *alone = f->kind == FINDING_HOST_END;
    if (f->kind != FINDING_HOST_END && f->kind != FINDING_SWITCH_LINK)
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

static bool is_fresh (int64_t time, int64_t now,
                      const struct policy_config *cfg)
{
    return time >= 0 && time <= now && now - time <= cfg->confirm_within_s;
}

/* The host that a FAIL suspects, or the first of several; NULL: none, or the
 * finding is no FAIL.
 */
static const char *fail_host (const struct policy_finding *f)
{
    bool alone;

    return f->level == VERDICT_FAIL ? finding_host (f, &alone) : NULL;
}

static enum doubt doubt_of (const struct policy_audit *a)
{
    const char **host;
    size_t n = 0;

    if (!a->whole || a->asked > a->nodes + a->asked / MANY)
        return DOUBT_INCOMPLETE;
    for (size_t i = 0; i < a->nfindings; i++)
        if (a->finding[i].level >= VERDICT_UNKNOWN
            && (a->finding[i].kind == FINDING_SWITCH
                || a->finding[i].kind == FINDING_ROUTE))
            return DOUBT_COMMON;
    host = xarray (a->nfindings, sizeof (*host));
    for (size_t i = 0; i < a->nfindings; i++)
        if ((host[n] = fail_host (&a->finding[i])))
            n++;
    n = text_unique (host, n);
    free (host);
    return n > 1 && n > a->nodes / MANY ? DOUBT_MANY : DOUBT_NONE;
}

/* What a finding says about each of its suspects, and in *doubt, why its audit
 * counts against no host, whatever doubt there was of the audit.
 */
static unsigned int seen (const struct policy_audit *a,
                          const struct policy_finding *f, enum doubt *doubt,
                          const struct policy_config *cfg)
{
    unsigned int what = f->level == VERDICT_FAIL ? SEEN_FAIL : SEEN_WARN;
    bool numbers = isfinite (f->excess_ns) && f->excess_ns > 0
                   && isfinite (f->stderr_ns) && f->stderr_ns >= 0;
    double least = f->excess_ns - sure * f->stderr_ns;
    bool alone = false, lossy = false;

    if (f->level == VERDICT_OK)
        return a->complete ? SEEN_CLEAN : SEEN_CLEAN | SEEN_UNSURE;
    if (f->level == VERDICT_UNKNOWN)
        return SEEN_UNSURE;
    if (f->kind == FINDING_NODE)
        return SEEN_NODE;
    if (f->basis == BASIS_LOSS)
        return SEEN_WARN;
    for (size_t i = 0; i < f->nsuspects; i++)
        lossy |= f->suspect[i].lossy;
    if (!finding_host (f, &alone) && !*doubt)
        *doubt = DOUBT_COMMON;
    if (!numbers)
        *doubt = DOUBT_NUMBERS;
    else if (lossy && !*doubt)
        *doubt = DOUBT_LOSSY;
    if (!alone)
        return what == SEEN_FAIL && f->basis != BASIS_CLASS ? SEEN_AMONG
                                                            : SEEN_WARN;
    if (f->basis == BASIS_CLASS && numbers) {
        what = SEEN_WARN;
        if (cfg->fail_latency_ns > 0
            && f->expected_ns + least > cfg->fail_latency_ns)
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
static void add_finding (struct evidence *e, const struct policy_audit *a,
                         const struct policy_finding *f, enum doubt doubt,
                         bool fresh, const struct policy_config *cfg)
{
    unsigned int what = seen (a, f, &doubt, cfg);
    bool counts = !(what & (SEEN_DOUBT | SEEN_AMONG));
    bool explains = f->level != VERDICT_OK && f->basis != BASIS_CLASS
                    && f->kind != FINDING_NODE
                    && (f->level != VERDICT_UNKNOWN
                        || isfinite (f->excess_ns));
    bool fails = fresh && f->level == VERDICT_FAIL && f->basis != BASIS_LOSS;

    for (size_t i = 0; i < f->nsuspects; i++) {
        const struct policy_suspect *s = &f->suspect[i];

        if (s->host)
            e->event[e->nevents++] = (struct link_event){
                .host = s->host, .link = s->link,
                .port = s->port ? s->port : "", .leader = a->leader,
                .peer = s->peer, .finding = f, .audit = a->id,
                .time = a->time, .seen = what, .fresh = fresh,
                .doubt = counts ? DOUBT_NONE : doubt, .place = i,
                .excess_ns = isfinite (f->excess_ns) ? f->excess_ns : 0,
                .expected_ns = f->expected_ns,
            };
        if (explains || fails)
            e->suspected[e->nsuspected++] = (struct suspected_link){
                .link = s->link, .audit = a->id, .finding = f,
                .explains = explains, .fails = fails,
            };
    }
}

static void add_audit (struct evidence *e, const struct policy_input *in,
                       const struct policy_audit *a,
                       const struct policy_config *cfg)
{
    bool fresh = is_fresh (a->time, in->now, cfg);
    enum doubt doubt = doubt_of (a);
    bool fails = false;

    for (size_t i = 0; i < a->nfindings; i++) {
        add_finding (e, a, &a->finding[i], doubt, fresh, cfg);
        fails = fails || fail_host (&a->finding[i]);
    }
    if (a->id > e->newest)
        e->newest = a->id;
    e->future += a->time > in->now;
    if (fails && doubt != DOUBT_NONE && fresh) {
        e->doubted[doubt]++;
        if (a->id > e->doubted_last[doubt])
            e->doubted_last[doubt] = a->id;
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

static int compare_links (const struct link_event *a,
                          const struct link_event *b)
{
    int order = strcmp (a->host, b->host);

    return order ? order : strcmp (a->link, b->link);
}

/* Events that compare equal become one. */
static int compare_places (const struct link_event *a,
                           const struct link_event *b)
{
    int order = compare_links (a, b);

    if (!order)
        order = util_compare (a->audit, b->audit);
    return order ? order
                 : (int)(a->seen == SEEN_SIGN) - (int)(b->seen == SEEN_SIGN);
}

static int compare_events (const void *va, const void *vb)
{
    const struct link_event *a = va;
    const struct link_event *b = vb;
    const struct policy_finding *f = a->finding, *g = b->finding;
    int order = compare_places (a, b);

    /* within an audit the worst comes first; of signs, the newest */
    if (!order)
        order = util_compare (b->seen, a->seen);
    if (!order)
        order = (int)b->fresh - (int)a->fresh;
    if (!order)
        order = util_compare (b->excess_ns, a->excess_ns);
    if (!order)
        order = util_compare (a->place, b->place);
    if (!order)
        order = util_compare (b->time, a->time);
    if (!order)
        order = (int)a->sign - (int)b->sign;
    if (!order && f && g)
        order = util_compare (f->nsuspects, g->nsuspects);
    for (size_t i = 0; !order && f && g && i < f->nsuspects; i++)
        order = strcmp (f->suspect[i].link, g->suspect[i].link);
    return order ? order : strcmp (a->port, b->port);
}

/* Merge the events of an audit; the events of a link are a track. */
static void make_tracks (struct evidence *e)
{
    size_t n = 0;

    for (size_t i = 0; i < e->nevents; i++)
        if (n > 0 && compare_places (&e->event[n - 1], &e->event[i]) == 0)
            e->event[n - 1].seen |= e->event[i].seen;
        else
            e->event[n++] = e->event[i];
    e->nevents = n;
    e->track = xcalloc (n + 1, sizeof (*e->track));
    for (size_t i = 0; i < n; i++) {
        const struct link_event *ev = &e->event[i];

        if (i == 0 || compare_links (ev - 1, ev) != 0)
            e->track[e->ntracks++] = (struct track){
                .host = ev->host, .link = ev->link, .of = e, .event = ev,
            };
        e->track[e->ntracks - 1].nevents++;
    }
}

/* Whether two audits have the same id. */
static bool have_twice (const struct policy_input *in)
{
    uint64_t *id = xarray (in->naudits, sizeof (*id));
    bool twice = false;
    size_t n = 0;

    for (size_t i = 0; i < in->naudits; i++)
        if (!in->audit[i].user)
            id[n++] = in->audit[i].id;
    qsort (id, n, sizeof (*id), compare_u64);
    for (size_t i = 1; i < n; i++)
        twice = twice || id[i - 1] == id[i];
    free (id);
    return twice;
}

void evidence_make (struct evidence *e, const struct policy_input *in,
                    const struct policy_config *cfg)
{
    size_t suspects = 0;

    for (size_t i = 0; i < in->naudits; i++)
        for (size_t k = 0; k < in->audit[i].nfindings; k++)
            suspects += in->audit[i].finding[k].nsuspects;
    *e = (struct evidence){
        .suspected = xarray (suspects, sizeof (*e->suspected)),
        .event = xarray (suspects + in->nsigns, sizeof (*e->event)),
        .twice = have_twice (in),
    };
    for (size_t i = 0; i < in->naudits; i++)
        if (!in->audit[i].user)
            add_audit (e, in, &in->audit[i], cfg);
    for (size_t i = 0; i < in->nsigns; i++)
        e->event[e->nevents++] = (struct link_event){
            .host = in->sign[i].host, .link = in->sign[i].link, .port = "",
            .audit = in->sign[i].after, .time = in->sign[i].time,
            .seen = SEEN_SIGN, .sign = in->sign[i].kind,
            .fresh = is_fresh (in->sign[i].time, in->now, cfg),
        };
    qsort (e->suspected, e->nsuspected, sizeof (*e->suspected),
           compare_suspected);
    qsort (e->event, e->nevents, sizeof (*e->event), compare_events);
    make_tracks (e);
}

void evidence_clear (struct evidence *e)
{
    free (e->suspected);
    free (e->event);
    free (e->track);
}

static int compare_tracks (const void *va, const void *vb)
{
    const struct track *a = va;
    const struct track *b = vb;
    int order = strcmp (a->host, b->host);

    return order ? order : strcmp (a->link, b->link);
}

struct track *evidence_find (const struct evidence *e, const char *host,
                             const char *link)
{
    const struct track key = { .host = host, .link = link };

    return bsearch (&key, e->track, e->ntracks, sizeof (key), compare_tracks);
}

/* The worst first. */
static const struct {
    unsigned int seen;
    enum standing standing;
} standings[] = {
    { SEEN_FAIL, STANDING_FAIL },   { SEEN_AMONG, STANDING_AMONG },
    { SEEN_DOUBT, STANDING_DOUBT }, { SEEN_SIGN, STANDING_WARN },
    { SEEN_WARN, STANDING_WARN },   { SEEN_NODE, STANDING_NODE },
    { SEEN_UNSURE, STANDING_UNSURE },
};

static void set_failing (struct track *t, const struct link_event *ev)
{
    if (!t->failing || ev->time > t->bad_time)
        t->bad_time = ev->time;
    t->bad_audit = ev->audit;
    t->failing = true;
}

/* Set the standing from the events from `start` on, before confirmation. */
static void grade (struct track *t, size_t start, unsigned int counts)
{
    enum { NSTANDINGS = sizeof (standings) / sizeof (standings[0]) };

    for (size_t i = start; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];
        size_t k = 0;

        if (ev->seen == SEEN_SIGN && !ev->fresh)
            continue;
        t->among += (ev->seen & SEEN_AMONG) != 0;
        if (ev->seen & (counts | SEEN_DOUBT)) {
            t->lone = !t->failing && !(ev->seen & SEEN_DOUBT);
            set_failing (t, ev);
        }
        else if (ev->seen & SEEN_UNSURE)
            t->unsure = ev->audit;
        while (k < NSTANDINGS && !(ev->seen & standings[k].seen))
            k++;
        if (ev->seen & counts)
            k = 0;
        if (k < NSTANDINGS && standings[k].standing >= t->standing) {
            t->standing = standings[k].standing;
            t->last = ev;
        }
    }
}

static bool same (const char *a, const char *b)
{
    return a && b && !strcmp (a, b);
}

/* Why one other node may have caused both events; NULL: no node can. */
static const char *shared_cause (const struct link_event *a,
                                 const struct link_event *b)
{
    if (!a->leader || !b->leader)
        return "it is not known who led one of them";
    if (same (a->leader, a->host) || same (b->leader, b->host))
        return "it led one of them itself";
    if (same (a->leader, b->leader))
        return "one node led both";
    if (same (a->peer, b->peer) || same (a->peer, b->leader)
        || same (a->leader, b->peer))
        return "one node had a part in all that they measured of it";
    return NULL;
}

static bool suspects_host (const struct policy_finding *f, const char *host)
{
    size_t i = 0;

    while (i < f->nsuspects && !same (f->suspect[i].host, host))
        i++;
    return i < f->nsuspects;
}

/* Whether an audit suspects a link, except of an excess above its class; audit
 * 0: whether the link is in a fresh FAIL that does not suspect the host.
 */
static bool is_suspected (const struct evidence *e, const char *link,
                          uint64_t audit, const char *host)
{
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
        if (audit > 0)
            return s->audit == audit && s->explains;
        else if (s->fails && !suspects_host (s->finding, host))
            return true;
    return false;
}

/* A link of another host or switch that the finding of a suspects, and that the
 * audit of b suspects as well (b NULL: that a FAIL elsewhere suspects). NULL:
 * none.
 */
static const char *shared_link (const struct evidence *e,
                                const struct link_event *a,
                                const struct link_event *b)
{
    for (size_t i = 0; i < a->finding->nsuspects; i++) {
        const struct policy_suspect *s = &a->finding->suspect[i];

        if (!same (s->host, a->host)
            && is_suspected (e, s->link, b ? b->audit : 0, a->host))
            return s->link;
    }
    return NULL;
}

/* Whether two events may confirm each other; if not, keep the reason. */
static bool are_apart (struct track *t, const struct link_event *a,
                       const struct link_event *b)
{
    const char *node = shared_cause (a, b);
    const char *link = shared_link (t->of, a, b);
    bool elsewhere;

    if (!link)
        link = shared_link (t->of, b, a);
    elsewhere = !link;
    if (!link && !(link = shared_link (t->of, a, NULL)))
        link = shared_link (t->of, b, NULL);
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

/* The earliest event that is a FAIL, is at least confirm_after_s older than
 * event i, and may confirm it; NULL: none.
 */
static const struct link_event *confirmed_by (struct track *t, size_t start,
                                              size_t i, unsigned int counts,
                                              const struct policy_config *cfg)
{
    const struct link_event *ev = &t->event[i];
    const struct link_event *first = NULL;

    for (size_t k = start; k < i; k++) {
        const struct link_event *e = &t->event[k];

        if (says_fail (e, counts) && ev->time - e->time >= cfg->confirm_after_s
            && are_apart (t, e, ev) && (!first || e->time < first->time))
            first = e;
    }
    return first;
}

/* Find a pair of events that confirm each other; or a FAIL with a sign. The
 * second event must be later by id and by time, so a clock that stepped back
 * confirms nothing. Each event is compared with all earlier ones: at most the
 * audits of a day. If a FAIL of one of several suspects is confirmed, it counts
 * as a FAIL of this link alone.
 */
static void confirm (struct track *t, size_t start, unsigned int counts,
                     const struct policy_config *cfg)
{
    for (size_t i = start; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];
        const struct link_event *first;

        if (!says_fail (ev, counts))
            continue;
        first = confirmed_by (t, start, i, counts, cfg);
        if (first || (t->sign && (ev->seen & SEEN_FAIL) && !t->first)) {
            t->standing = STANDING_CONFIRMED;
            t->first = first;
            t->last = ev;
            set_failing (t, ev);
        }
        if (!t->early || ev->time < t->early->time)
            t->early = ev;
        if (ev->leader && strcmp (ev->leader, ev->host))
            t->open = ev;
    }
}

void track_stand (struct track *t, const struct policy_config *cfg)
{
    unsigned int counts = SEEN_FAIL;
    size_t start = 0;

    *t = (struct track){
        .host = t->host, .link = t->link, .of = t->of, .event = t->event,
        .nevents = t->nevents, .muted = t->muted, .floor = t->floor,
        .since = t->floor,
    };
    for (size_t i = 0; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];

        if (ev->audit <= t->floor)
            start = i + 1;
        else if (ev->seen & SEEN_CLEAN) {
            start = i + 1;
            t->since = ev->audit;
            t->standing = ev->seen & SEEN_NODE ? STANDING_NODE
                                               : STANDING_CLEAN;
            t->last = ev;
        }
    }
    for (size_t i = start; i < t->nevents; i++)
        if ((t->event[i].seen & SEEN_SIGN) && t->event[i].fresh)
            t->sign = &t->event[i];
    if (t->sign)
        counts |= SEEN_STATIC;
    grade (t, start, counts);
    confirm (t, start, counts, cfg);
}

size_t track_clean (const struct track *t, uint64_t floor,
                    const struct policy_config *cfg,
                    const struct link_event **last, bool *enough)
{
    const unsigned int bad = SEEN_WARN | SEEN_STATIC | SEEN_AMONG | SEEN_DOUBT
                             | SEEN_FAIL | SEEN_SIGN;
    size_t n = 0;
    int64_t early = 0;

    *enough = false;
    for (size_t i = 0; i < t->nevents; i++) {
        const struct link_event *ev = &t->event[i];

        if (ev->audit <= floor)
            continue;
        if (ev->seen & bad) {
            n = 0;
            *enough = false;
        }
        else if ((ev->seen & ~SEEN_NODE) == SEEN_CLEAN && ev->fresh) {
            if (n > 0 && ev->time - early >= cfg->confirm_after_s)
                *enough = true;
            if (n == 0 || ev->time < early)
                early = ev->time;
            *last = ev;
            n++;
        }
    }
    return n;
}
