/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the site's page shows (report/page/site.js).
 *
 * Notes. All is from the ledger, the snapshots and Slurm's nodes, in one pass over
 * the cables; nothing is solved. So an excess is that of a finding, in the newest
 * audit that measured the cable, and one of several suspects is known in sums only.
 * Whoever may read the page need not know who runs what: jobs are there by their
 * ids, without users; and no word that begins with a slash.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/compare/cabling.h"
#include "prolog/audit/parts.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/json.h"
#include "util/map.h"
#include "util/sort.h"
#include "util/text.h"

enum {
    AUDITS = 500,    /* the newest of the ledger: more have pages, but no line */
    FINDINGS = 200,  /* that are shown; more are counted */
};

/* What is known of a cable, as in the map. */
enum cell { CELL_WELL, CELL_OPEN, CELL_SUM, CELL_FOUND, CELL_DOWN };

struct wrong {
    int64_t audit, seq, ended;
    uint32_t link;         /* one that is still suspected */
    char by[32];           /* "audit 57" */
    struct finding finding;
};

struct sitepage {
    struct pool *pool; /* has all but the findings */
    const struct reports *in;
    int64_t now;
    const uint64_t *pages; /* audits that have a page, ascending */
    size_t npages;
    int64_t *ended;        /* [link] of its newest audit; 0: never measured */
    enum cell *cell;       /* [link] */
    struct ledger_rate *rate; /* [link] in the direction with the least share of
                              what was expected, which is 0 if it was not
                              measured; NULL: none was */
    struct wrong *wrong;
    struct words_case *cases; /* of their tickets */
    size_t nwrong;
    size_t unshown;
    uint32_t *wrong_of;    /* [link] the first of its findings; FABRIC_NONE */
};

/*
 * Texts
 */

char *page_plain (const char *text)
{
    char *clean = xarray (2 * strlen (text) + 1, 1), *to = clean;

    for (const char *s = text; *s; s++) {
        bool begins = s == text || strchr (" \"'(=:,", s[-1]);

        *to++ = *s;
        if (*s != '/' || !begins || s[1] <= ' ')
            continue;
        to = stpcpy (to - 1, "...");
        while (s[1] && !strchr (" \"'):,;", s[1]))
            s++;
    }
    *to = '\0';
    return clean;
}

json_t *page_text (const char *text)
{
    char *clean = page_plain (text);
    json_t *json = xcheck (json_string (text_clean (clean)));

    free (clean);
    return json;
}

/*
 * Nodes
 */

static const struct policy_node *node_named (const struct reports *in,
                                             const char *name)
{
    for (size_t i = 0; in->nodes && name && i < in->nodes->n; i++)
        if (!strcmp (in->nodes->v[i].name, name))
            return &in->nodes->v[i];
    return NULL;
}

/* What Slurm calls a host of the fabric. */
static const char *node_of (const struct reports *in, const char *host)
{
    uint32_t h = fabric_host_named (in->fabric, host);
    const char *name
        = h != FABRIC_NONE ? in->node_of[in->fabric->host[h].first] : NULL;

    return name ? name : host;
}

/*
 * Cables
 */

/* Take what the newest audit of each link says of it; `wrong` gets the findings,
 * without their words yet.
 */
static int note_links (struct sitepage *p, struct error *err)
{
    const struct fabric *f = p->in->fabric;
    struct ledger_rows rows;
    int rc = ledger_list (p->in->ledger, LEDGER_LINKS, 0, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_link *row = &rows.link[i];
        uint32_t link = fabric_find_link (f, row->link);
        struct wrong *last = p->nwrong > 0 ? &p->wrong[p->nwrong - 1] : NULL;

        if (link == FABRIC_NONE)
            continue;
        if (row->ended > p->ended[link])
            p->ended[link] = row->ended;
        if (row->open && p->cell[link] == CELL_WELL)
            p->cell[link] = CELL_OPEN;
        if (row->finding < 0)
            continue;
        if (row->level == VERDICT_UNKNOWN) /* others' traffic */
            p->cell[link] = CELL_OPEN;
        else if (p->cell[link] < CELL_FOUND)
            p->cell[link] = row->suspects > 1 ? CELL_SUM : CELL_FOUND;
        if (last && last->audit == row->audit && last->seq == row->finding)
            continue;
        p->wrong = pool_grow (p->pool, p->wrong, p->nwrong,
                              sizeof (*p->wrong));
        p->wrong[p->nwrong++] = (struct wrong){
            .audit = row->audit, .seq = row->finding, .link = link,
            .ended = row->ended,
        };
    }
    for (size_t i = 0; i < f->nlinks; i++)
        if (!fabric_is_up (f, &f->link[i]))
            p->cell[i] = CELL_DOWN;
    return rc;
}

/* Take what links carried when that was last measured. */
static int note_rates (struct sitepage *p, struct error *err)
{
    const struct fabric *f = p->in->fabric;
    struct ledger_rows rows;
    int rc = ledger_list (p->in->ledger, LEDGER_RATES, 0, 0, &rows, err);

    if (rows.n > 0)
        p->rate = pool_alloc (p->pool, f->nlinks, sizeof (*p->rate));
    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_rate *row = &rows.rate[i];
        uint32_t link = fabric_find_link (f, row->link);
        struct ledger_rate *r = link == FABRIC_NONE ? NULL : &p->rate[link];

        if (r && row->expected > 0
            && (!(r->expected > 0)
                || row->bits * r->expected < r->bits * row->expected))
            *r = *row;
    }
    return rc;
}

static int compare_wrong (const void *va, const void *vb)
{
    const struct wrong *a = va, *b = vb;
    int order = util_compare (b->finding.level, a->finding.level);
    double x = isnan (a->finding.excess_ns) ? 0 : a->finding.excess_ns;
    double y = isnan (b->finding.excess_ns) ? 0 : b->finding.excess_ns;

    if (order == 0)
        order = util_compare (y, x);
    if (order == 0)
        order = util_compare (b->audit, a->audit);
    return order ? order : util_compare (a->seq, b->seq);
}

/* Take a finding from its verdict; false if none of its suspects is in the fabric any
 * more, or it is of others' traffic.
 */
static bool move_finding (struct wrong *w, struct verdict *v)
{
    struct finding *x = w->seq < (int64_t)v->nfindings ? &v->finding[w->seq]
                                                       : NULL;
    if (!x || x->basis == BASIS_TRAFFIC || x->nsuspects == 0)
        return false;
    for (size_t i = 0; i < x->nfacts; i++)
        for (int k = 0; k < FACT_NAMES; k++) {
            const char *name = x->fact[i].name[k];
            char *plain = name ? page_plain (name) : NULL;

            x->fact[i].name[k] = pool_strdup (v->pool, plain);
            free (plain);
        }
    w->finding = *x;
    snprintf (w->by, sizeof (w->by), "audit %" PRId64, w->audit);
    return true;
}

/* Read the findings of `wrong`, and sort them; those of others' traffic go. */
static int read_findings (struct sitepage *p, struct error *err)
{
    struct ledger_result r = { .id = 0 };
    size_t n = 0;

    for (size_t i = 0; i < p->nwrong; i++) {
        struct wrong w = p->wrong[i];

        if (w.audit != r.id
            && ledger_result (p->in->ledger, w.audit, p->in->fabric, true, &r,
                              err) < 0)
            return -1;
        if (move_finding (&w, r.verdict))
            p->wrong[n++] = w;
    }
    p->nwrong = n;
    sort_array (p->wrong, n, compare_wrong);
    for (; p->nwrong > FINDINGS; p->unshown++)
        p->nwrong--;
    for (size_t i = p->nwrong; i-- > 0;) { /* the worst is said last */
        const struct finding *x = &p->wrong[i].finding;

        for (size_t k = 0; k < x->nsuspects + x->noneway; k++) {
            uint32_t link = k < x->nsuspects ? x->suspect[k]
                                             : x->oneway[k - x->nsuspects];

            if (p->cell[link] >= CELL_SUM) /* a newer audit clears it */
                p->wrong_of[link] = (uint32_t)i;
        }
    }
    return 0;
}

static bool has_page (const struct sitepage *p, uint64_t audit)
{
    return find_sorted (&audit, p->pages, p->npages, compare_u64);
}

/* Since when, in how many audits, which jobs led to these. */
static int put_since (const struct sitepage *p, const struct wrong *w,
                      json_t *about, struct error *err)
{
    struct ledger_rows seen;
    int rc = ledger_suspected (p->in->ledger, p->in->fabric->link[w->link].id,
                               &seen, err);
    json_t *jobs = xcheck (json_array ());

    for (size_t i = seen.n; i-- > 0;)
        page_add_job (jobs, seen.seen[i].job);
    json_put (about, "jobs", jobs);
    json_put (about, "since",
              json_integer (seen.n > 0 ? seen.seen->begun : w->ended));
    json_put (about, "first",
              json_integer (seen.n > 0 ? seen.seen->audit : w->audit));
    json_put (about, "audits", json_integer ((json_int_t)seen.n));
    return rc;
}

/* What the policy's newest decision says of a node; "": nothing new. */
static const char *news_of (const struct reports *in, const char *node)
{
    for (size_t i = 0; i < in->nnews; i++)
        if (!strcmp (in->news[i].node, node))
            return in->news[i].words;
    return "";
}

static json_t *suspect_nodes (const struct sitepage *p, const struct finding *x)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < x->nnodes; i++) {
        const char *name = node_of (p->in, x->node[i]);
        const struct policy_node *v = node_named (p->in, name);
        const char *state = v ? page_state (v) : NULL;

        json_add (list, json_pack ("{s:s, s:s, s:o}", "node", name, "state",
                                   !p->in->nodes ? "state not known"
                                   : !v          ? "not a node of Slurm"
                                   : state       ? state
                                                 : "not drained",
                                   "said", page_text (news_of (p->in, name))));
    }
    return list;
}

/* The mute of a finding, NULL: none. */
static const struct ledger_mute *
find_finding_mute (const struct sitepage *p, const struct wrong *w,
                   const struct ledger_rows *mutes)
{
    const struct fabric *f = p->in->fabric;

    for (size_t i = 0; i < mutes->n; i++) {
        const struct ledger_mute *v = &mutes->mute[i];

        if ((v->until == 0 || v->until > p->now)
            && (!*v->link || !strcmp (v->link, f->link[*w->finding.suspect].id))
            && (!*v->node
                || (w->finding.nnodes > 0
                    && !strcmp (v->node, node_of (p->in, *w->finding.node)))))
            return v;
    }
    return NULL;
}

/* For its ticket; it borrows. */
static struct words_case case_of (const struct wrong *w, const json_t *about)
{
    const json_t *muted = json_object_get (about, "muted");

    return (struct words_case){
        .about = w->by, .since = json_int (about, "since", 0), .seen = w->ended,
        .audits = (size_t)json_int (about, "audits", 0),
        .muted = muted ? json_text (muted, "why") : NULL,
        .jobs = json_object_get (about, "jobs"),
        .nodes = json_object_get (about, "nodes"),
    };
}

/* What the page says of each finding besides the finding. */
static json_t *about_json (struct sitepage *p, struct error *err)
{
    struct ledger_rows mutes;
    json_t *list;

    if (ledger_list (p->in->ledger, LEDGER_MUTES, 0, 0, &mutes, err) < 0)
        return NULL;
    list = xcheck (json_array ());
    p->cases = pool_alloc (p->pool, p->nwrong, sizeof (*p->cases));
    for (size_t i = 0; list && i < p->nwrong; i++) {
        const struct wrong *w = &p->wrong[i];
        const struct ledger_mute *mute = find_finding_mute (p, w, &mutes);
        json_t *about = xcheck (
            json_pack ("{s:I, s:b, s:I, s:o}", "audit", (json_int_t)w->audit,
                       "page", has_page (p, (uint64_t)w->audit), "seen",
                       (json_int_t)w->ended, "nodes",
                       suspect_nodes (p, &w->finding)));

        json_add (list, about);
        if (mute)
            json_put (about, "muted",
                      json_pack ("{s:o, s:I}", "why", page_text (mute->why),
                                 "until", (json_int_t)mute->until));
        if (put_since (p, w, about, err) < 0) {
            json_decref (list);
            list = NULL;
        }
        else
            p->cases[i] = case_of (w, about);
    }
    return list;
}

/*
 * The map: columns of nodes and of cables
 */

/* [link] [carried, expected], Mb/s; 0: not measured */
static json_t *map_rates_json (const struct sitepage *p)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < p->in->fabric->nlinks; i++)
        json_add (list, p->rate[i].expected > 0
                            ? json_pack ("[I, I]",
                                         (json_int_t)(p->rate[i].bits / 1e6),
                                         (json_int_t)(p->rate[i].expected / 1e6))
                            : json_integer (0));
    return list;
}

static json_t *map_json (const struct sitepage *p)
{
    static const char *const keys[]
        = { "names", "guids", "levels", "nodes", "a", "ap", "b", "bp", "when",
            "cell", "wrong" };
    enum { NAMES, GUIDS, LEVELS, NODES, A, AP, B, BP, WHEN, CELL, WRONG, N };
    const struct fabric *f = p->in->fabric;
    json_t *map = xcheck (json_object ()), *v[N];
    json_t *times = xcheck (json_array ());
    struct map seen = { 0 };

    for (int i = 0; i < N; i++)
        v[i] = xcheck (json_array ());
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];
        const char *name = n->type != NODE_SWITCH && n->host != FABRIC_NONE
                               ? p->in->node_of[f->host[n->host].first]
                               : NULL;

        json_add (v[NAMES], json_string (n->name));
        json_add (v[GUIDS], json_sprintf ("%" PRIx64, n->guid));
        json_add (v[LEVELS],
                  json_integer (n->type == NODE_SWITCH ? n->level : -1));
        json_add (v[NODES],
                  name && strncmp (name, n->name, strcspn (n->name, " "))
                      ? json_string (name)
                      : json_integer (0));
    }
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_port *a = &f->port[f->link[i].a];
        const struct fabric_port *b = &f->port[f->link[i].b];
        uint32_t at = map_find (&seen, (uint64_t)p->ended[i]);

        if (p->ended[i] && at == MAP_NONE) {
            at = (uint32_t)json_array_size (times);
            map_put (&seen, (uint64_t)p->ended[i], at);
            json_add (times, json_integer (p->ended[i]));
        }
        json_add (v[A], json_integer (a->node));
        json_add (v[AP], json_integer (a->num));
        json_add (v[B], json_integer (b->node));
        json_add (v[BP], json_integer (b->num));
        json_add (v[WHEN], json_integer (p->ended[i] ? (json_int_t)at : -1));
        json_add (v[CELL], json_integer (p->cell[i]));
        if (p->wrong_of[i] != FABRIC_NONE)
            json_add (v[WRONG], json_pack ("[i, i]", (int)i, p->wrong_of[i]));
    }
    map_clear (&seen);
    if (p->rate)
        json_put (map, "rates", map_rates_json (p));
    for (int i = 0; i < N; i++)
        json_put (map, keys[i], v[i]);
    json_put (map, "times", times);
    return map;
}

/*
 * What else is wrong: cables that are down, nodes that we drained
 */

static json_t *down_json (const struct sitepage *p)
{
    const struct fabric *f = p->in->fabric;
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < f->nlinks && json_array_size (list) < FINDINGS; i++)
        if (p->cell[i] == CELL_DOWN)
            json_add (list,
                      json_pack ("{s:s, s:s, s:s, s:s}", "link", f->link[i].id,
                                 "a", PORT_NAME (f, f->link[i].a), "b",
                                 PORT_NAME (f, f->link[i].b), "state",
                                 fabric_state_name (
                                     f->port[f->link[i].a].state
                                             != PORT_ACTIVE
                                         ? f->port[f->link[i].a].state
                                         : f->port[f->link[i].b].state)));
    return list;
}

static json_t *drained_json (const struct reports *in)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; in->nodes && i < in->nodes->n; i++) {
        const struct policy_node *v = &in->nodes->v[i];
        const char *state = page_state (v);

        if (state && !strcmp (state, WORDS_DRAINED))
            json_add (list, json_pack ("{s:s, s:o}", "node", v->name, "reason",
                                       page_text (v->reason
                                                  + strlen (CONTROLLER_OURS))));
    }
    return list;
}

/*
 * Audits
 */

static json_t *newest_site_audits (const struct sitepage *p, struct error *err)
{
    struct ledger_rows rows;
    json_t *list;

    if (ledger_list (p->in->ledger, LEDGER_AUDITS, AUDITS, 0, &rows, err) < 0)
        return NULL;
    list = xcheck (json_array ());
    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_audit *a = &rows.audit[i];

        json_add (list, json_pack ("{s:I, s:I, s:s?, s:s, s:I, s:I, s:o, s:b}",
                                   "id", (json_int_t)a->id, "begun",
                                   (json_int_t)a->begun, "status",
                                   a->status > VERDICT_FAIL
                                       ? NULL
                                       : verdict_status_name (a->status),
                                   "why", ledger_why_name (a->why), "about",
                                   (json_int_t)a->about, "hosts",
                                   (json_int_t)a->hosts, "sentence",
                                   page_text (a->sentence ? a->sentence : ""),
                                   "page", has_page (p, (uint64_t)a->id)));
    }
    return list;
}

static json_t *remarks_json (const struct sitepage *p, struct error *err)
{
    struct ledger_rows rows;
    json_t *list;

    if (ledger_list (p->in->ledger, LEDGER_SAID, 0, 0, &rows, err) < 0)
        return NULL;
    list = xcheck (json_array ());
    for (size_t i = 0; i < rows.n; i++)
        if (!*rows.said[i].node)
            json_add (list, page_text (rows.said[i].words));
    return list;
}

static bool put_list (json_t *site, const char *key, json_t *list)
{
    if (list)
        json_put (site, key, list);
    return list != NULL;
}

static int fill_page (struct sitepage *p, struct page *page, struct verdict *v,
                      struct error *err)
{
    json_t *site = page->site = xcheck (json_pack (
        "{s:I, s:b}", "every",
        (json_int_t)p->in->site->audit_every_ms / 1000, "slurm",
        p->in->nodes != NULL));
    int rc = -1;

    if (note_links (p, err) == 0 && note_rates (p, err) == 0
        && read_findings (p, err) == 0
        && put_list (site, "about", about_json (p, err))
        && put_list (site, "remarks", remarks_json (p, err))
        && put_list (site, "missed", missed_json (p->in, p->now, err))
        && put_list (site, "changed", changed_json (p->in, p->now, err))
        && put_list (site, "audits", newest_site_audits (p, err)))
        rc = 0;
    json_put (site, "unshown", json_integer ((json_int_t)p->unshown));
    json_put (site, "down", down_json (p));
    json_put (site, "drained", drained_json (p->in));
    page->map = map_json (p);
    page->cases = p->cases;
    v->finding = pool_alloc (v->pool, p->nwrong, sizeof (*v->finding));
    v->nfindings = p->nwrong;
    for (size_t i = 0; i < p->nwrong; i++)
        v->finding[i] = p->wrong[i].finding;
    p->nwrong = 0;
    v->status = v->nfindings > 0 ? v->finding[0].level : VERDICT_UNKNOWN;
    for (size_t i = 0; i < p->in->fabric->nlinks; i++) {
        v->links += p->ended[i] > 0;
        if (p->ended[i] > 0 && v->status == VERDICT_UNKNOWN)
            v->status = VERDICT_OK;
    }
    v->separable = v->links;
    return rc;
}

int sitepage_write (const struct reports *in, const uint64_t *pages,
                    size_t npages, FILE *fp, struct error *err)
{
    size_t n = in->fabric->nlinks;
    struct sitepage p = {
        .in = in, .now = clock_date (), .pages = pages, .npages = npages,
        .pool = pool_create (),
    };
    struct verdict *v = verdict_create ();
    struct page page = {
        .fabric = in->fabric, .verdict = v, .made = p.now,
    };
    char *odd;
    struct cabling *cabling = reports_cabling (in->site, in->fabric, &odd);
    int rc;

    p.ended = pool_alloc (p.pool, n, sizeof (*p.ended));
    p.cell = pool_alloc (p.pool, n, sizeof (*p.cell));
    p.wrong_of = memset (pool_alloc (p.pool, n, sizeof (*p.wrong_of)), 0xff,
                         n * sizeof (*p.wrong_of));
    page.cabling = cabling;
    rc = fill_page (&p, &page, v, err);
    if (odd)
        json_put (page.site, "cabling", page_text (odd));
    free (odd);
    if (rc == 0)
        rc = page_write (&page, fp, err);
    json_decref (page.site);
    json_decref (page.map);
    verdict_destroy (v);
    cabling_destroy (cabling);
    pool_destroy (p.pool);
    return rc;
}
