/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/lines.h"
#include "ibquery/links/fewer.h"
#include "ibquery/links/kinds.h"
#include "ibquery/links/rails.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    NOTES_MAX = 20, /* of a sort; more are only counted */
    GROUND = 64 + RATES_TEXT,
    LINK_TEXT = 2 * FABRIC_PORT_NAME + 40,
};

/* Why the growth of a port's counters is not known. */
enum reason { NO_REASON, NO_ANSWER, NOT_BEFORE, WAS_RESET, AT_END, REASONS };

static const char *const reason_text[REASONS] = {
    [NO_ANSWER] = "did not tell their counters",
    [NOT_BEFORE] = "did not tell their counters before",
    [WAS_RESET] = "had their counters reset in between",
    [AT_END] = "have counters that stand at their ends",
};

struct checking {
    const struct fabric *f;
    const struct counters *before, *now;
    struct link_check *c;
    double seconds;
    struct kinds kinds;
    size_t meant;     /* links below what both ends may, as many are */
    struct slower *slower;
    size_t nslower;
    struct {
        size_t n;
        uint32_t first; /* port */
    } untold[REASONS];
};

static void add_link_finding (struct link_check *c, struct link_finding **list,
                              size_t *n, const struct link_finding *finding,
                              char *why)
{
    *list = pool_grow (c->pool, *list, *n, sizeof (**list));
    (*list)[*n] = *finding;
    (*list)[(*n)++].why = text_clean (why);
}

static void add_text (struct link_check *c, char ***list, size_t *n, char *text)
{
    *list = pool_grow (c->pool, *list, *n, sizeof (**list));
    (*list)[(*n)++] = text_clean (text);
}

/* The list of a check, and what is to be said. */
#define add_found(c, list, finding, ...) \
    add_link_finding ((c), &(c)->list, &(c)->n##list##s, (finding), \
                      pool_printf ((c)->pool, __VA_ARGS__))
#define add_limit(c, ...) \
    add_text ((c), &(c)->limit, &(c)->nlimits, \
              pool_printf ((c)->pool, __VA_ARGS__))
#define add_note(c, ...) \
    add_text ((c), &(c)->note, &(c)->nnotes, \
              pool_printf ((c)->pool, __VA_ARGS__))

/*
 * Width and speed
 */

/* A link that is slower than most, and need not be at fault. */
enum slower_why { SLOWER_REACHED, SLOWER_SET, SLOWER_UNTOLD, SLOWER_ALIKE };

struct slower {
    enum slower_why why;
    uint32_t kind, product[2]; /* the greater number is first */
    struct rates active, usual;
    uint32_t link;
};

static int compare_notes (const struct slower *a, const struct slower *b)
{
    const uint64_t x[] = { a->why, a->kind, a->product[0], a->product[1],
                           rates_order (&a->active), rates_order (&a->usual) };
    const uint64_t y[] = { b->why, b->kind, b->product[0], b->product[1],
                           rates_order (&b->active), rates_order (&b->usual) };
    size_t i = 0;

    while (i < 5 && x[i] == y[i])
        i++;
    return util_compare (x[i], y[i]);
}

static int compare_slower (const void *va, const void *vb)
{
    const struct slower *a = va, *b = vb;
    int order = compare_notes (a, b);

    return order != 0 ? order : util_compare (a->link, b->link);
}

static void add_slower (struct checking *x, size_t link, enum slower_why why,
                        const struct kind_usual *u)
{
    const struct fabric_link *l = &x->f->link[link];
    uint32_t a = x->kinds.product[x->f->port[l->a].node];
    uint32_t b = x->kinds.product[x->f->port[l->b].node];

    x->slower = pool_grow (x->c->pool, x->slower, x->nslower,
                           sizeof (*x->slower));
    x->slower[x->nslower++] = (struct slower){
        .why = why, .kind = l->kind,
        .product = { a > b ? a : b, a > b ? b : a }, .active = fabric_rate (l),
        .usual = fabric_rate (&x->f->link[u->link]), .link = link,
    };
}

static const char *link_text (const struct fabric *f, uint32_t link,
                              char buf[LINK_TEXT])
{
    const struct fabric_link *l = &f->link[link];

    snprintf (buf, LINK_TEXT, "%s -- %s (%s)", PORT_NAME (f, l->a),
              PORT_NAME (f, l->b), l->id);
    return buf;
}
#define LINK_SHOWN(f, link) link_text ((f), (link), (char[LINK_TEXT]){ 0 })

/* A note for all links of the same products, rate and reason. */
static void note_slower (struct checking *x)
{
    static const char *const why[] = {
        [SLOWER_REACHED] = "the ends can do no more",
        [SLOWER_SET] = ("the ends can do more, but so many are alike that they "
                        "seem to be set so"),
        [SLOWER_UNTOLD] = "what the ends can do is not known",
        [SLOWER_ALIKE] = "so do others between the same products",
    };
    size_t notes = 0, more = 0;

    if (x->nslower > 0)
        qsort (x->slower, x->nslower, sizeof (*x->slower), compare_slower);
    for (size_t i = 0, end; i < x->nslower; i = end) {
        const struct slower *s = &x->slower[i];
        char others[40] = "";

        for (end = i + 1; end < x->nslower
                          && compare_notes (s, &x->slower[end]) == 0; end++)
            ;
        if (notes++ >= NOTES_MAX) {
            more += end - i;
            continue;
        }
        if (end - i > 1)
            snprintf (others, sizeof (others), " and %s",
                      COUNTED (end - i - 1, "other"));
        add_note (x->c, "%s at %s, where most of the kind run at %s; %s: %s%s",
                  COUNTED (end - i, "link"), RATES_SHOWN (&s->active),
                  RATES_SHOWN (&s->usual), why[s->why],
                  LINK_SHOWN (x->f, s->link), others);
    }
    if (more > 0)
        add_note (x->c, "... and %s that are slower than most of the kind",
                  COUNTED (more, "more link"));
}

static bool is_less (const struct rates *a, const struct rates *b)
{
    return rates_narrower (a, b) || rates_slower (a, b);
}

static bool is_known (const struct rates *r)
{
    return r->lanes != 0 && r->speeds != 0;
}

/* What training falls back to; but old products are made for SDR. */
static bool has_fallen (const struct fabric_link *l)
{
    return l->width == 1 || strcmp (l->speed, "SDR") == 0;
}

enum answer { RATE_GOOD, RATE_DOUBT, RATE_BAD };

/* A link that is slower than u, which is usual: whether it should run at *want,
 * for the reason in ground.
 */
static enum answer judge_slower (struct checking *x, size_t link,
                                 const struct kind_usual *u, bool same,
                                 struct rates *want, char ground[GROUND])
{
    const struct fabric_link *l = &x->f->link[link];
    const struct rates *a = &x->f->port[l->a].rates.supported;
    const struct rates *b = &x->f->port[l->b].rates.supported;
    const struct rates usual = fabric_rate (&x->f->link[u->link]);
    const struct rates active = fabric_rate (l), can = rates_common (a, b);
    bool known = is_known (a) && is_known (b);

    *want = (struct rates){
        rates_narrower (&can, &usual) ? can.lanes : usual.lanes,
        rates_slower (&can, &usual) ? can.speeds : usual.speeds,
    };
    strcpy (ground, "most links of its kind run at");
    if (is_less (want, &usual))
        snprintf (ground, GROUND, "most links of its kind run at %s, and both "
                                  "ends can run at", RATES_SHOWN (&usual));
    if (!is_less (&active, want))
        return add_slower (x, link, SLOWER_REACHED, u), RATE_GOOD;
    if (!known && u == &x->kinds.alike[link] && has_fallen (l))
        return RATE_BAD;
    if (kinds_meant (u))
        return add_slower (x, link, known ? SLOWER_SET : SLOWER_UNTOLD, u),
               RATE_GOOD;
    if (known)
        return RATE_BAD;
    if (same)
        return RATE_DOUBT;
    return add_slower (x, link, SLOWER_UNTOLD, u), RATE_GOOD;
}

static bool is_below (const struct checking *x, size_t link,
                      const struct kind_usual *u)
{
    const struct rates active = fabric_rate (&x->f->link[link]);
    struct rates usual;

    if (u->link == FABRIC_NONE)
        return false;
    usual = fabric_rate (&x->f->link[u->link]);
    return rates_bits (&active) < rates_bits (&usual);
}

/* The rate at which the link should run, and the reason. */
static enum answer judge_rate (struct checking *x, size_t link,
                               struct rates *want, char ground[GROUND])
{
    const struct fabric_link *l = &x->f->link[link];
    const struct port_rates *a = &x->f->port[l->a].rates;
    const struct port_rates *b = &x->f->port[l->b].rates;
    const struct rates active = fabric_rate (l);
    const struct rates may = rates_common (&a->enabled, &b->enabled);
    const struct rates can = rates_common (&a->supported, &b->supported);
    enum answer answer = RATE_GOOD;
    bool same, low = is_less (&active, &may);
    const struct kind_usual *u = kinds_usual (&x->kinds, x->f, link, &same);
    const struct kind_usual *wide = &x->kinds.level[link];
    bool meant = low && kinds_meant (u);

    x->meant += meant;
    *want = may;
    strcpy (ground, "both ends may run at");
    if (low && !meant)
        return RATE_BAD;
    if (!meant && is_below (x, link, u))
        answer = judge_slower (x, link, u, same, want, ground);
    else if (!meant && is_below (x, link, wide))
        add_slower (x, link, SLOWER_ALIKE, wide);
    if (answer != RATE_GOOD)
        return answer;
    *want = (struct rates){ can.lanes, active.speeds };
    strcpy (ground, "both ends can run at");
    return l->width == 1 && is_less (&active, want) ? RATE_BAD : RATE_GOOD;
}

/* ": leaf 1/3 is set to 1xSDR" if an end keeps the link below a rate; else "".
 */
static void say_setting (const struct fabric *f, const struct fabric_link *l,
                         const struct rates *want, char *buf, size_t size)
{
    const uint32_t end[] = { l->a, l->b };
    size_t len = 0;

    *buf = '\0';
    for (size_t i = 0; i < 2; i++) {
        const struct port_rates *r = &f->port[end[i]].rates;
        const struct rates best = rates_common (&r->supported, &r->supported);
        bool can = !is_less (&r->supported, want);

        if (can && !is_less (&r->enabled, want))
            continue;
        len += snprintf (buf + len, size - len, "%s %s %s %s",
                         len > 0 ? "," : ":", PORT_NAME (f, end[i]),
                         can ? "is set to" : "can do no more than",
                         RATES_SHOWN (can ? &r->enabled : &best));
    }
}

static void check_rate (struct checking *x, size_t link)
{
    const struct fabric_link *l = &x->f->link[link];
    const struct rates active = fabric_rate (l);
    char setting[2 * (FABRIC_PORT_NAME + RATES_TEXT + 32)];
    struct link_check *c = x->c;
    char ground[GROUND];
    struct rates want;
    enum answer answer = judge_rate (x, link, &want, ground);
    bool bad = answer == RATE_BAD;

    if (answer == RATE_GOOD)
        return;
    say_setting (x->f, l, &want, setting, sizeof (setting));
    for (enum sign_kind sign = SIGN_WIDTH; sign <= SIGN_SPEED; sign++) {
        const struct link_finding finding = {
            .link = link, .sign = sign, .port = FABRIC_NONE,
            .limit_per_hour = NAN,
        };

        if (sign == SIGN_WIDTH ? rates_narrower (&active, &want)
                               : rates_slower (&active, &want))
            add_link_finding (c, bad ? &c->finding : &c->doubt,
                              bad ? &c->nfindings : &c->ndoubts, &finding,
                              pool_printf (c->pool, "it runs at %s, %s %s%s",
                                           RATES_SHOWN (&active), ground,
                                           RATES_SHOWN (&want), setting));
    }
}

/* Add limits for links whose rate is not known, on whose rate the ends
 * disagree, or which run below what both ends may, as many of their kind do.
 */
static void limit_rates (struct checking *x)
{
    const struct fabric *f = x->f;
    size_t unknown = 0, apart = 0;

    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct rates *a = &f->port[l->a].rates.active;
        const struct rates *b = &f->port[l->b].rates.active;

        unknown += l->width == 0 || !*l->speed;
        apart += (a->lanes && b->lanes && a->lanes != b->lanes)
                 || (a->speeds && b->speeds && a->speeds != b->speeds);
    }
    x->c->unknown |= unknown + apart > 0;
    if (x->meant > 0)
        add_limit (x->c, "%zu links run below what both ends may, as many of "
                         "their kind do: whether they could do better",
                   x->meant);
    if (unknown > 0)
        add_limit (x->c, "the width or speed of %s is not known",
                   COUNTED (unknown, "link"));
    if (apart > 0)
        add_limit (x->c, "the two ends of %s do not agree on width and speed",
                   COUNTED (apart, "link"));
}

/*
 * Counters
 */

/* One end of a link. */
static void check_port (struct checking *x, uint32_t port)
{
    static const enum reason reasons[] = {
        [GROWTH_UNTOLD] = NO_ANSWER,
        [GROWTH_AT_END] = AT_END,
        [GROWTH_RESET] = WAS_RESET,
        [GROWTH_EXACT] = NO_REASON,
    };
    const struct fabric_port *p = &x->f->port[port];
    uint64_t guid = x->f->node[p->node].guid;
    const struct port_counters *then = counters_find (x->before, guid, p->num);
    const struct port_counters *now = counters_find (x->now, guid, p->num);
    const struct rates rate = fabric_rate (&x->f->link[p->link]);
    enum fec fec = now ? now->fec : FEC_UNKNOWN;
    const char *name = PORT_NAME (x->f, port);
    enum reason why = NO_REASON;

    for (unsigned int id = 0; id < COUNTERS_COUNTS; id++) {
        bool wait = id == COUNTER_XMIT_WAIT;
        const struct link_finding f = {
            .link = p->link, .sign = wait ? SIGN_WAIT : SIGN_COUNTER,
            .port = port, .counter = id, .growth = growth_of (then, now, id),
            .limit_per_hour = growth_limit_per_hour (id, &rate, fec),
        };
        const char *bound = f.growth.known == GROWTH_EXACT ? "" : "at least ";

        if (wait && f.growth.count > 0)
            add_found (x->c, wait, &f,
                       "PortXmitWait of %s has grown by %s%" PRIu64, name,
                       bound, f.growth.count);
        if (!growth_is_limited (id))
            continue;
        if ((double)f.growth.count
            > growth_allowed (id, &rate, fec, x->seconds))
            add_found (x->c, finding, &f,
                       "%s of %s has grown by %s%" PRIu64 " in %.4g hours, "
                       "where %.3g an hour are healthy", counter_name (id),
                       name, bound, f.growth.count, x->seconds / 3600,
                       f.limit_per_hour);
        else if (why == NO_REASON) {
            why = reasons[f.growth.known];
            if (why == NO_ANSWER && now && now->told)
                why = NOT_BEFORE;
        }
    }
    if (why != NO_REASON && x->untold[why].n++ == 0)
        x->untold[why].first = port;
}

/* The bit error rates of one end, which take no earlier reading. */
static void check_ber (struct checking *x, uint32_t port)
{
    const struct fabric_port *p = &x->f->port[port];
    const struct port_counters *now
        = counters_find (x->now, x->f->node[p->node].guid, p->num);
    const struct rates rate = fabric_rate (&x->f->link[p->link]);

    for (unsigned int id = COUNTERS_COUNTS; now && id < COUNTERS; id++) {
        double limit = counter_ber_limit (id, &rate);
        double ber = now->value[id] * COUNTER_BER_UNIT;
        const struct link_finding f = {
            .link = p->link, .sign = SIGN_COUNTER, .port = port, .counter = id,
            .growth = { GROWTH_EXACT, now->value[id] }, .limit_per_hour = NAN,
        };

        if (now->told >> id & 1 && ber > limit)
            add_found (x->c, finding, &f,
                       "%s of %s is %.2g, where less than %.0g is healthy",
                       counter_name (id), PORT_NAME (x->f, port), ber, limit);
    }
}

static void limit_counters (struct checking *x)
{
    for (size_t i = NO_REASON + 1; i < REASONS; i++) {
        char others[40] = "";

        if (x->untold[i].n == 0)
            continue;
        if (x->untold[i].n > 1)
            snprintf (others, sizeof (others), " and %s",
                      COUNTED (x->untold[i].n - 1, "other"));
        add_limit (x->c, "ports %s, so that their errors may be more: %s%s",
                   reason_text[i], PORT_NAME (x->f, x->untold[i].first),
                   others);
        x->c->unknown = true;
    }
}

/*
 * Rails
 */

static void note_rails (struct checking *x)
{
    const struct fabric *f = x->f;
    struct rail_odd *odd;
    size_t n = rails_find_odd (f, x->c->pool, &odd);

    for (size_t i = 0; i < n; i++) {
        const struct fabric_endpoint *e = &f->endpoint[odd[i].endpoint];

        add_note (x->c, "%s is cabled to %s, where %s of %zu of its %zu peers "
                        "is at %s", PORT_NAME (f, e->port),
                  PORT_NAME (f, fabric_far_port (f, e->port)), e->rail,
                  odd[i].agree, odd[i].of, f->node[odd[i].leaf].name);
    }
}

/* Links that carry no messages. */
static void note_down (struct checking *x)
{
    const struct fabric *f = x->f;
    size_t down = 0;

    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        bool a = f->port[l->a].state != PORT_ACTIVE
                 && f->port[l->a].state != PORT_UNKNOWN;
        uint32_t port = a ? l->a : l->b;

        if (!fabric_is_up (f, l) && down++ < NOTES_MAX)
            add_note (x->c, "%s carries no messages: %s is %s",
                      LINK_SHOWN (f, i), PORT_NAME (f, port),
                      fabric_state_name (f->port[port].state));
    }
    if (down > NOTES_MAX)
        add_note (x->c, "... and %s that carry no messages",
                  COUNTED (down - NOTES_MAX, "more link"));
}

/*
 * Static ports
 */

/* Where a port's subnet has what is known of its LIDs. */
static size_t lids_at (const struct fabric *f, uint32_t port)
{
    return (size_t)f->port[port].subnet * (FABRIC_MAX_LID + 1);
}

/* Where the static ports of switches that spread messages are not those of the
 * forwarding table, for LIDs that exist.
 */
static void note_static (struct checking *x)
{
    const struct fabric *f = x->f;
    bool *all = pool_alloc (x->c->pool, f->nsubnets + 1,
                            (FABRIC_MAX_LID + 1) * sizeof (*all));
    size_t more = 0;

    for (size_t i = 0; i < f->nends; i++)
        all[lids_at (f, f->endpoint[f->end[i].endpoint].port)
            + f->end[i].lid] = true;
    for (size_t i = 0; i < f->nnodes; i++)
        all[lids_at (f, f->node[i].first_port) + f->node[i].lid] = true;
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];
        const bool *exists = all + lids_at (f, n->first_port);
        unsigned int count = 0, first = 0;

        for (unsigned int lid = n->spread.entry ? n->lft_top : 0; lid > 0;
             lid--)
            if (exists[lid] && n->spread.entry[lid].port != n->lft[lid]) {
                first = lid;
                count++;
            }
        if (count > 0 && x->c->nnotes >= NOTES_MAX)
            more++;
        else if (count > 0)
            add_note (x->c, "%s: the static ports of adaptive routing are not "
                            "those of the forwarding table for %s, first LID "
                            "%u: port %u, and %u in the table",
                      n->name, COUNTED (count, "LID"), first,
                      n->spread.entry[first].port, n->lft[first]);
    }
    if (more > 0)
        add_note (x->c, "... and for LIDs of %s",
                  COUNTED (more, "more switch"));
}

/* Add to a link's first finding that a link in the same cage has one, too. */
static void note_cage_findings (const struct checking *x)
{
    const struct fabric *f = x->f;
    bool *bad = pool_alloc (x->c->pool, f->nlinks, sizeof (*bad));

    for (size_t i = 0; i < x->c->nfindings; i++)
        bad[x->c->finding[i].link] = true;
    for (size_t i = 0; i < 2 * x->c->nfindings; i++) {
        struct link_finding *v = &x->c->finding[i / 2];
        const struct fabric_link *l = &f->link[v->link];
        const struct fabric_port *p = &f->port[i % 2 ? l->b : l->a];
        const struct fabric_node *n = &f->node[p->node];
        uint32_t other = n->first_port + ((p->num - 1U) ^ 1U);
        const struct switch_info *sw;
        unsigned int cage = 0;

        if ((i < 2 || v->link != v[-1].link)
            && other < n->first_port + n->nports
            && f->port[other].link != FABRIC_NONE && bad[f->port[other].link])
            cage = network_cage (fabric_network (f), v->link,
                                 f->port[other].link, &sw);
        if (cage > 0)
            v->why = text_clean (pool_printf (
                x->c->pool, "%s; it and %s are both in cage %u of switch %s "
                            "(%s): one transceiver", v->why,
                f->link[f->port[other].link].id, cage, sw->name, sw->id));
    }
}

struct link_check *check_create (void)
{
    struct link_check *c = xcalloc (1, sizeof (*c));

    c->pool = pool_create ();
    return c;
}

struct link_check *check_links (const struct fabric *f,
                                const struct counters *before,
                                const struct counters *now,
                                struct error *err)
{
    struct checking x = { .f = f, .before = before, .now = now };

    if (before && now)
        x.seconds = growth_seconds (before, now);
    if (before && x.seconds == 0) {
        error_input (err, "the earlier reading of the counters is not earlier");
        return NULL;
    }
    x.c = check_create ();
    x.c->time = now ? now->time : f->time;
    x.c->hours = x.seconds > 0 ? x.seconds / 3600 : NAN;
    x.kinds = kinds_find (x.c->pool, f);
    for (size_t i = 0; i < f->nlinks; i++) {
        check_rate (&x, i);
        if (x.seconds > 0) {
            check_port (&x, f->link[i].a);
            check_port (&x, f->link[i].b);
        }
        if (now) {
            check_ber (&x, f->link[i].a);
            check_ber (&x, f->link[i].b);
        }
    }
    note_cage_findings (&x);
    limit_rates (&x);
    note_slower (&x);
    limit_counters (&x);
    note_rails (&x);
    x.c->nfewer = fewer_find (f, x.c->pool, &x.c->fewer);
    note_down (&x);
    note_static (&x);
    if (now && !before) {
        x.c->unknown = true;
        add_limit (x.c,
                   "what has grown takes an earlier reading of the counters");
    }
    return x.c;
}

struct link_check *check_load (const struct fabric *f, const char *now,
                               const char *before, struct error *err)
{
    struct counters *last = now ? counters_load (now, err) : NULL;
    struct counters *first
        = before && (last || !now) ? counters_load (before, err) : NULL;
    struct link_check *c = (now && !last) || (before && !first)
                               ? NULL
                               : check_links (f, first, last, err);

    counters_destroy (first);
    counters_destroy (last);
    return c;
}

void check_note_accepted (struct link_check *c, const struct fabric *f,
                          const struct link_finding *x, const char *who,
                          int64_t when, const char *why)
{
    char date[LINES_TIME];

    add_note (c, "accepted by %s on %.10s%s%s: %s: %s", who,
              lines_format_time (when, date), *why ? ": " : "", why,
              LINK_SHOWN (f, x->link), x->why);
}

void check_accept_rails (struct link_check *c, const struct fabric *f,
                         uint32_t host, const char *who, int64_t when,
                         const char *why)
{
    size_t kept = 0;
    char date[LINES_TIME];

    for (size_t i = 0; i < c->nfewer; i++) {
        const struct rails_fewer *x = &c->fewer[i];

        if (x->host != host) {
            c->fewer[kept++] = *x;
            continue;
        }
        if (i == 0 || x[-1].host != host)
            add_note (c, "accepted by %s on %.10s%s%s: %s has %zu of %s", who,
                      lines_format_time (when, date), *why ? ": " : "", why,
                      f->host[host].name, x->has, COUNTED (x->usual, "rail"));
    }
    c->nfewer = kept;
}

void check_destroy (struct link_check *c)
{
    if (c)
        pool_destroy (c->pool);
    free (c);
}

enum verdict_status check_status (const struct link_check *c)
{
    return c->nfindings > 0               ? VERDICT_FAIL
           : c->unknown || c->ndoubts > 0 ? VERDICT_UNKNOWN
                                          : VERDICT_OK;
}

/*
 * As JSON and as text
 */

#define KIND "link-check"

/* The notes, those of rails first, and their number. */
static char **all_notes (const struct link_check *c, const struct fabric *f,
                         size_t *n)
{
    char **all = pool_alloc (c->pool, c->nnotes + NOTES_MAX + 1, sizeof (*all));
    char *why = pool_printf (c->pool, "... and %s that hosts lack",
                             COUNTED (c->nfewer - NOTES_MAX, "more rail"));

    *n = 0;
    for (size_t i = 0; i < c->nfewer && i < NOTES_MAX; i++)
        all[(*n)++] = pool_keep (c->pool, fewer_text (f, &c->fewer[i]), free);
    if (c->nfewer > NOTES_MAX)
        all[(*n)++] = why;
    for (size_t i = 0; i < c->nnotes; i++)
        all[(*n)++] = c->note[i];
    return all;
}

enum { MAX_FILE = 1 << 28, MAX_SIGNS = 1 << 24 };

static json_t *findings_list_json (const struct link_finding *v, size_t n,
                                   const struct fabric *f, double hours)
{
    json_t *list = json_array ();

    for (const struct link_finding *x = v; x < v + n; x++) {
        const struct fabric_link *l = &f->link[x->link];
        bool counts = x->port != FABRIC_NONE;
        const struct fabric_port *p = &f->port[counts ? x->port : 0];

        json_add (list, json_pack (
            "{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "link",
            l->id, "kind", l->kind == LINK_HOST ? "host" : "switch", "sign",
            sign_name (x->sign), "port",
            counts ? json_sprintf ("%016" PRIx64 "/%u", f->node[p->node].guid,
                                   p->num)
                   : json_null (),
            "counter",
            counts ? json_string (counter_name (x->counter)) : json_null (),
            "count", counts ? json_integer (x->growth.count) : json_null (),
            "exact",
            counts ? json_boolean (x->growth.known == GROWTH_EXACT)
                   : json_null (),
            "per_hour",
            number_json (counts && x->counter < COUNTERS_COUNTS
                             ? x->growth.count / hours
                             : NAN),
            "limit_per_hour", number_json (x->limit_per_hour), "why", x->why));
    }
    return list;
}

/* The sentence of a link that is in doubt, once if it has two signs. NULL: it has
 * been said.
 */
static char *link_doubt_text (const struct link_check *c, size_t i,
                              const struct fabric *f)
{
    const struct link_finding *x = &c->doubt[i];
    char *why = pool_printf (c->pool, "whether %s is as fast as it can be: %s",
                             LINK_SHOWN (f, x->link), x->why);

    return i > 0 && x->link == x[-1].link ? NULL : text_clean (why);
}

static json_t *limits_json (const struct link_check *c, const struct fabric *f)
{
    json_t *list = json_strings (c->limit, c->nlimits);

    for (size_t i = 0; i < c->ndoubts; i++) {
        char *text = link_doubt_text (c, i, f);

        if (text)
            json_add (list, json_string (text));
    }
    return list;
}

int check_write (const struct link_check *c, const struct fabric *f,
                 FILE *fp, struct error *err)
{
    size_t n;
    char **notes = all_notes (c, f, &n);

    return json_write_file (
        KIND, f->hash,
        json_pack (
            "{s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "status",
            verdict_status_name (check_status (c)), "links",
            (json_int_t)f->nlinks, "time", (json_int_t)c->time, "hours",
            number_json (c->hours), "findings",
            findings_list_json (c->finding, c->nfindings, f, c->hours), "waits",
            findings_list_json (c->wait, c->nwaits, f, c->hours), "notes",
            json_strings (notes, n), "limits", limits_json (c, f)),
        fp, err);
}

int check_write_text (const struct link_check *c, const struct fabric *f,
                      FILE *fp, struct error *err)
{
    size_t n;
    char **notes = all_notes (c, f, &n);

    for (size_t i = 0; i < c->nfindings; i++) {
        const struct link_finding *x = &c->finding[i];

        if (i == 0 || x->link != c->finding[i - 1].link)
            fprintf (fp, "%s\n", LINK_SHOWN (f, x->link));
        fprintf (fp, "  %s: %s\n", sign_name (x->sign), x->why);
    }
    for (size_t i = 0; i < n; i++)
        fprintf (fp, "note: %s\n", notes[i]);
    for (size_t i = 0; i < c->nlimits; i++)
        fprintf (fp, "not told: %s\n", c->limit[i]);
    for (size_t i = 0; i < c->ndoubts; i++) {
        char *text = link_doubt_text (c, i, f);

        if (text)
            fprintf (fp, "not told: %s\n", text);
    }
    return ferror (fp) ? error_errno (err, "cannot write") : 0;
}

/* Reading: only the signs. */

static int add_signs (struct check_signs *signs, const json_t *root,
                      const char *key, const struct fabric *f,
                      struct error *err)
{
    json_t *list, *obj;
    size_t i;

    if (json_get_array (root, NULL, key, MAX_SIGNS, &list, err) < 0)
        return -1;
    signs->v = xrealloc (signs->v, signs->n + json_array_size (list),
                         sizeof (*signs->v));
    json_array_foreach (list, i, obj) {
        const char *link, *kind;
        unsigned int k = 0;
        uint32_t found;
        char where[40];

        snprintf (where, sizeof (where), "%s[%zu]", key, i);
        if (json_get_string (obj, where, "link", &link, err) < 0
            || json_get_string (obj, where, "sign", &kind, err) < 0)
            return -1;
        while (k < SIGNS && strcmp (sign_name (k), kind) != 0)
            k++;
        found = fabric_find_link (f, link);
        if (found == FABRIC_NONE || k == SIGNS)
            return error_input (err, "%s: no sign or no link of this fabric",
                                where);
        signs->v[signs->n++] = (struct sign){ found, k };
    }
    return 0;
}

int check_read_signs (struct check_signs *signs, FILE *fp, const char *name,
                      const struct fabric *f, struct error *err)
{
    json_t *root = json_read (fp, name, KIND, MAX_FILE, err);
    const char *hash;
    uint64_t when;
    int rc = 0;

    *signs = (struct check_signs){ 0 };
    if (!root)
        return -1;
    if (json_get_string (root, NULL, "fabric", &hash, err) < 0
        || json_get_u64 (root, NULL, "time", 0, INT64_MAX, &when, err) < 0
        || (strcmp (hash, f->hash) != 0
            && error_input (err, "it is of another fabric, %.40s", hash) < 0)
        || add_signs (signs, root, "findings", f, err) < 0
        || add_signs (signs, root, "waits", f, err) < 0) {
        check_clear_signs (signs);
        rc = error_prefix (err, "%s", name);
    } else
        signs->time = when;
    json_decref (root);
    return rc;
}

void check_clear_signs (struct check_signs *signs)
{
    free (signs->v);
    *signs = (struct check_signs){ 0 };
}
