/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "report/page/page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/linear/stats.h"
#include "core/solve/solve.h"
#include "ibquery/compare/cabling.h"
#include "ibquery/snapshot.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/pool.h"
#include "util/sort.h"
#include "util/terminal.h"

enum {
    CABLES_MAX = 256,    /* of a finding that are described */
    JOBS_MAX = 50,       /* of a finding */
    LINKS_EXACT = 4000,  /* up to so many with standard errors */
    PROBES_WALKED = 4000, /* up to so many with their paths; those of more are
                             found by the page, from the snapshot */
};

/* Whole ns: more digits only take room. */
static json_t *rounded_json (double x)
{
    return isfinite (x) ? json_integer (llround (x)) : json_null ();
}

static json_t *page_guid_json (uint64_t guid)
{
    return json_sprintf ("%016" PRIx64, guid);
}

/*
 * Writing
 */

static int put_ascii (const char *s, size_t n, void *fp)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '<' || s[i] == '>' || s[i] == '&')
            fprintf (fp, "\\u%04x", (unsigned int)s[i]);
        else
            fputc (s[i], fp);
    return 0;
}

int page_put_json (const json_t *json, FILE *fp, struct error *err)
{
    /* what ends a line for some, U+2028, is no ASCII */
    return json_dump_callback (json, put_ascii, fp,
                               JSON_COMPACT | JSON_ENSURE_ASCII) < 0
               ? error_nomem (err)
               : 0;
}

int page_put_bytes (const void *bytes, size_t n, FILE *fp, struct error *err)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789+/";
    uLongf len = compressBound (n);
    unsigned char *v = xarray (len + 2, 1);

    if (compress (v, &len, bytes, n) != Z_OK) {
        free (v);
        return error_nomem (err);
    }
    v[len] = v[len + 1] = 0;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t w = (uint32_t)v[i] << 16 | (uint32_t)v[i + 1] << 8 | v[i + 2];

        fputc (digit[w >> 18], fp);
        fputc (digit[w >> 12 & 63], fp);
        fputc (i + 1 < len ? digit[w >> 6 & 63] : '=', fp);
        fputc (i + 2 < len ? digit[w & 63] : '=', fp);
    }
    free (v);
    return 0;
}

/*
 * The head: the verdict, and the cables that it names
 */

/* One end of a cable, with what its counters say. */
static json_t *page_end_json (const struct page *p, uint32_t port)
{
    const struct fabric_port *at = &p->fabric->port[port];
    const struct fabric_node *n = &p->fabric->node[at->node];
    const struct port_counters *pc
        = p->counters ? counters_find (p->counters, n->guid, at->num) : NULL;
    json_t *end, *counts = xcheck (json_object ());

    end = json_pack ("{s:s, s:s, s:s, s:o, s:i, s:s, s:i, s:s}", "name",
                     PORT_NAME (p->fabric, port), "node", n->name, "desc",
                     n->desc, "guid", page_guid_json (n->guid), "port", at->num,
                     "type", fabric_type_name (n->type), "level", n->level,
                     "state", fabric_state_name (at->state));
    xcheck (end);
    if (n->type != NODE_SWITCH && n->host != FABRIC_NONE)
        json_put (end, "host", json_string (p->fabric->host[n->host].name));
    if (n->system)
        json_put (end, "system", page_guid_json (n->system));
    for (int i = 0; pc && i < COUNTERS; i++)
        if (pc->told & 1u << i)
            json_put (counts, counter_name (i),
                      json_integer ((json_int_t)pc->value[i]));
    json_put (end, "counters", counts);
    return end;
}

static const char *label_of (const struct page *p, uint32_t link)
{
    const struct fabric_link *l = &p->fabric->link[link];

    for (size_t i = 0; p->cabling && i < p->cabling->nlines; i++) {
        const struct cabling_line *c = &p->cabling->line[i];

        if ((c->a == l->a && c->b == l->b) || (c->a == l->b && c->b == l->a))
            return c->label;
    }
    return "";
}

static json_t *cable_json (const struct page *p, uint32_t link)
{
    const struct fabric_link *l = &p->fabric->link[link];
    char rate[RATES_TEXT], plugs[FABRIC_PLUGS];
    json_t *cable;

    fabric_rate_name (l, rate);
    cable = json_pack ("{s:s, s:o, s:o, s:s, s:s, s:b, s:s, s:s, s:O?}", "id",
                       l->id, "a", page_end_json (p, l->a), "b",
                       page_end_json (p, l->b), "kind",
                       l->kind == LINK_HOST ? "host" : "switch", "rate", rate,
                       "internal", l->internal, "label", label_of (p, link),
                       "plugs", fabric_plugs (p->fabric, link, plugs),
                       "history", json_object_get (p->history, l->id));
    return xcheck (cable);
}

static json_t *cables_json (const struct page *p, const uint32_t *link,
                            size_t n, json_t *cables)
{
    json_t *ids = xcheck (json_array ());

    for (size_t i = 0; i < n && i < CABLES_MAX; i++) {
        const char *id = p->fabric->link[link[i]].id;

        json_add (ids, json_string (id));
        if (!json_object_get (cables, id))
            json_put (cables, id, cable_json (p, link[i]));
    }
    return ids;
}

void page_add_job (json_t *jobs, int64_t job)
{
    json_t *v;
    size_t i;

    json_array_foreach (jobs, i, v)
        if (json_integer_value (v) == job)
            return;
    if (job > 0 && json_array_size (jobs) < JOBS_MAX)
        xcheck (json_array_insert_new (jobs, 0, json_integer (job)) == 0
                    ? jobs : NULL);
}

/* Since when audits suspect the finding's likeliest cable without a break, and
 * in *jobs (new) the jobs whose nodes these measured, the newest last; 0: not known.
 */
static int64_t since_of (const struct page *p, const struct finding *f,
                         json_t **jobs)
{
    const json_t *past = json_object_get (
        p->history, f->nsuspects > 0 ? p->fabric->link[*f->suspect].id : "");
    int64_t since = 0;

    *jobs = xcheck (json_array ());
    for (size_t i = json_array_size (past); i-- > 0;) {
        const json_t *row = json_array_get (past, i);

        if (!strcmp (json_text (row, "level"),
                     verdict_status_name (VERDICT_OK)))
            break;
        since = json_int (row, "begun", 0);
        page_add_job (*jobs, json_int (row, "job", 0));
    }
    return since;
}

/* [{node, state}] of a finding's nodes. */
static json_t *node_states (const struct page *p, const struct finding *f)
{
    json_t *list = p->drained ? xcheck (json_array ()) : NULL;

    for (size_t i = 0; list && i < f->nnodes; i++)
        json_add (list, json_pack ("{s:s, s:s}", "node", f->node[i], "state",
                                   json_is_true (json_object_get (
                                       p->drained, f->node[i]))
                                       ? WORDS_DRAINED : ""));
    return list;
}

static char *ticket_of (const struct page *p, const struct finding *f)
{
    size_t n = f->nsuspects + f->noneway;
    const char **label = xarray (n, sizeof (*label));
    json_t *jobs = NULL, *nodes = NULL;
    struct words_case c = { .about = p->about ? p->about : "" };
    char *text;

    if (p->cases)
        c = p->cases[f - p->verdict->finding];
    else {
        c.since = since_of (p, f, &jobs);
        c.jobs = jobs;
        c.nodes = nodes = node_states (p, f);
    }
    for (size_t i = 0; i < n; i++)
        label[i] = label_of (p, i < f->nsuspects
                                    ? f->suspect[i]
                                    : f->oneway[i - f->nsuspects]);
    c.label = label;
    text = words_ticket (f, p->fabric, &c);
    json_decref (jobs);
    json_decref (nodes);
    free (label);
    return text;
}

static void put_words (json_t *json, const char *key, char *text)
{
    json_put (json, key, json_string (text));
    free (text);
}

/* [what is carried, of what], Mb/s */
static json_t *rate_json (double bits, double expected)
{
    return json_pack ("[o, o]", rounded_json (bits / 1e6),
                      rounded_json (expected / 1e6));
}

static json_t *finding_json (const struct page *p, const struct finding *f,
                             json_t *cables)
{
    json_t *json = json_pack (
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "level",
        verdict_status_name (f->level), "kind", finding_kind_name (f->kind),
        "basis", finding_basis_name (f->basis), "against",
        words_against (f->basis), "nodes", json_strings (f->node, f->nnodes),
        "suspects", cables_json (p, f->suspect, f->nsuspects, cables), "oneway",
        cables_json (p, f->oneway, f->noneway, cables), "steps",
        words_steps (f, p->fabric));

    xcheck (json);
    put_words (json, "why", words_why (f));
    put_words (json, "says", words_finding (f, p->fabric));
    put_words (json, "ticket", ticket_of (p, f));
    json_put (json, "among", json_integer ((json_int_t)f->nsuspects));
    json_put (json, "excess", rounded_json (f->excess_ns));
    json_put (json, "stderr", rounded_json (f->stderr_ns));
    json_put (json, "expected", rounded_json (f->expected_ns));
    if (finding_has_rate (f))
        json_put (json, "rate", rate_json (f->rate_bits,
                                           f->rate_expected_bits));
    return json;
}

/* A site's page is for more people than a report: it has no path. */
static json_t *page_fabric_json (const struct fabric *f, bool site)
{
    size_t switches = 0;

    for (size_t i = 0; i < f->nnodes; i++)
        switches += f->node[i].type == NODE_SWITCH;
    return json_pack ("{s:s, s:s, s:I, s:I, s:I, s:I}", "hash", f->hash,
                      "source", f->source && !site ? f->source : "", "time",
                      (json_int_t)f->time, "hosts", (json_int_t)f->nhosts,
                      "switches", (json_int_t)switches, "cables",
                      (json_int_t)f->nlinks);
}

static void put_verdict (const struct page *p, json_t *head, json_t *findings,
                         json_t *cables)
{
    const struct verdict *v = p->verdict;
    char *says = v->nfindings > 0 && !verdict_is_limited (v)
                     ? words_sentence (v, p->fabric)
                     : words_headline (v);
    json_t *limits = xcheck (json_array ());

    for (size_t i = 0; i < v->nfindings; i++)
        json_add (findings, finding_json (p, &v->finding[i], cables));
    for (size_t i = 0; i < v->nlimits; i++) {
        char *limit = words_fact (&v->limit[i]);

        json_add (limits, json_string (limit));
        free (limit);
    }
    json_put (head, "limits", limits);
    json_object_update_new (
        head, xcheck (json_pack (
                  "{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "status",
                  verdict_status_name (v->status), "sentence", says, "nodes",
                  (json_int_t)v->nodes, "links", (json_int_t)v->links,
                  "resolved", (json_int_t)v->separable, "probes",
                  (json_int_t)v->probes, "rounds", (json_int_t)v->rounds)));
    free (says);
}

static json_t *head_json (const struct page *p)
{
    json_t *findings = xcheck (json_array ());
    json_t *cables = xcheck (json_object ());
    json_t *head = xcheck (
        json_pack ("{s:s, s:s, s:o, s:[], s:o, s:b, s:b}", "program",
                   PACKAGE_STRING, "about", p->about ? p->about : "",
                   "findings", findings, "limits", "cables", cables, "past",
                   p->history != NULL, "labels", p->cabling != NULL));

    if (p->verdict)
        put_verdict (p, head, findings, cables);
    if (p->site)
        json_put (head, "site", json_incref (p->site));
    if (p->fabric)
        json_put (head, "fabric",
                  page_fabric_json (p->fabric, p->site != NULL));
    if (p->samples)
        json_put (head, "measured",
                  json_pack ("{s:I, s:I, s:I, s:I, s:I, s:I}", "job",
                             (json_int_t)p->samples->job, "late",
                             (json_int_t)p->samples->late, "missing",
                             (json_int_t)p->samples->nmissing, "level",
                             (json_int_t)p->samples->level, "spread",
                             (json_int_t)p->samples->spread, "baselines",
                             (json_int_t)(p->baseline
                                          && p->baseline->nrows > 0)));
    if (p->counters)
        json_put (head, "counted", json_integer (p->counters->time));
    return head;
}

/*
 * The job: its links with their latencies, its probes with their paths
 */

/* Numbers of what is in the page, by that of the fabric. */
struct numbers {
    uint32_t *of; /* FABRIC_NONE: not in the page */
    json_t *list;
};

static struct numbers numbers_create (struct pool *pool, size_t n)
{
    struct numbers v = { pool_alloc (pool, n, sizeof (*v.of)),
                         xcheck (json_array ()) };

    memset (v.of, 0xff, n * sizeof (*v.of));
    return v;
}

static uint32_t node_number (const struct fabric *f, struct numbers *nodes,
                             uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    if (nodes->of[node] == FABRIC_NONE) {
        nodes->of[node] = (uint32_t)json_array_size (nodes->list);
        json_add (nodes->list,
                  json_pack ("[o, s, i, i, s]", page_guid_json (n->guid),
                             n->name, n->type == NODE_SWITCH, n->level,
                             n->host == FABRIC_NONE   ? ""
                             : n->type == NODE_SWITCH ? ""
                                                      : f->host[n->host].name));
    }
    return nodes->of[node];
}

/* What samples tell of the links of the network. */
struct latencies {
    double *ns, *stderr_ns; /* [links]; NAN: not resolved */
    struct solution *solution; /* NULL: none */
    uint32_t *group;  /* [links] of which a link is the pivot; NETWORK_NONE */
    bool *in;         /* [links] it is in a group */
    double *open;     /* [links] work of latencies_rtt: zero */
};

/* Of samples; of the baseline if they are NULL. */
static struct latencies latencies_find (const struct page *p, struct pool *pool,
                                        const struct samples *samples)
{
    size_t nlinks = p->fabric->nlinks;
    const struct solve_options opts = {
        .quantile = RTT_MEDIAN, .bare = nlinks > LINKS_EXACT,
    };
    const struct baseline *b = samples ? NULL : p->baseline;
    struct observations o;
    struct latencies v = {
        .ns = pool_alloc (pool, nlinks, sizeof (*v.ns)),
        .stderr_ns = pool_alloc (pool, nlinks, sizeof (*v.stderr_ns)),
        .group = pool_alloc (pool, nlinks, sizeof (*v.group)),
        .in = pool_alloc (pool, nlinks, sizeof (*v.in)),
        .open = pool_alloc (pool, nlinks, sizeof (*v.open)),
    };

    /* of spread messages, the links are those of another network */
    if (p->ps && samples && !samples->spread)
        v.solution = solve (p->ps, samples, &opts, NULL);
    if (b && b->nrows > 0 && !baseline_spread (b)) {
        if (baseline_combine (b, b->ps, &o, NULL) == 0)
            v.solution = solve_observations (b->ps, &o, &opts, NULL);
        observations_clear (&o);
    }
    for (size_t i = 0; i < nlinks; i++) {
        v.ns[i] = v.stderr_ns[i] = NAN;
        v.group[i] = NETWORK_NONE;
    }
    for (size_t i = 0; v.solution && i < v.solution->nlinks; i++) {
        const struct link_estimate *e = &v.solution->link[i];

        v.ns[e->link] = e->latency_ns;
        v.stderr_ns[e->link] = e->stderr_ns;
    }
    for (size_t i = 0; v.solution && i < v.solution->ngroups; i++) {
        const struct link_group *g = &v.solution->group[i];

        v.group[g->member[0].link] = (uint32_t)i;
        for (size_t k = 0; k < g->n; k++)
            v.in[g->member[k].link] = g->member[k].q != 0;
    }
    return v;
}

/* The round trip over a row, NAN where it is not determined: links that are not
 * resolved must cancel but for the sums that are known of them.
 */
static double latencies_rtt (const struct latencies *v, const struct row *row)
{
    double rtt = 0;
    bool left = false;

    for (size_t i = 0; i < row->n; i++) {
        uint32_t link = row->link[i];
        const struct link_group *g;

        if (isfinite (v->ns[link])) {
            rtt += row->count[i] * v->ns[link];
            continue;
        }
        if (!v->in[link])
            rtt = NAN;
        v->open[link] += row->count[i];
        if (v->group[link] == NETWORK_NONE)
            continue;
        g = &v->solution->group[v->group[link]];
        rtt += row->count[i] * g->latency_ns;
        for (size_t k = 0; k < g->n; k++)
            v->open[g->member[k].link]
                -= row->count[i] * (double)g->member[k].p
                   / (double)g->member[k].q;
    }
    for (size_t i = 0; i < row->n; i++) {
        uint32_t link = row->link[i];

        left |= fabs (v->open[link]) > 1e-6;
        v->open[link] = 0;
        if (v->group[link] == NETWORK_NONE)
            continue;
        for (size_t k = 0; k < v->solution->group[v->group[link]].n; k++) {
            uint32_t other
                = v->solution->group[v->group[link]].member[k].link;

            left |= fabs (v->open[other]) > 1e-6;
            v->open[other] = 0;
        }
    }
    return left ? NAN : rtt;
}

/* The median latency of the links of each class; NAN: none is resolved. */
static double *class_medians (struct pool *pool, const struct fabric *f,
                              const double *latency)
{
    double *median = pool_alloc (pool, f->nclasses, sizeof (*median));
    double *work = pool_alloc (pool, f->nlinks, sizeof (*work));

    for (uint32_t c = 0; c < f->nclasses; c++) {
        size_t n = 0;

        for (size_t i = 0; i < f->nlinks; i++)
            if (f->link[i].class_id == c && isfinite (latency[i]))
                work[n++] = latency[i];
        median[c] = n > 0 ? stats_median (work, n) : NAN;
    }
    return median;
}

static void page_add_links (const struct page *p, struct pool *pool,
                            const struct latencies *now,
                            const struct latencies *before,
                            struct numbers *nodes, struct numbers *links,
                            const uint32_t *link, size_t n, json_t *job)
{
    const struct fabric *f = p->fabric;
    double *median = class_medians (pool, f, now->ns);

    for (size_t i = 0; i < n; i++) {
        const struct fabric_link *l = &f->link[link[i]];
        const struct fabric_port *a = &f->port[l->a];
        const struct fabric_port *b = &f->port[l->b];
        bool known = isfinite (before->ns[link[i]]);

        links->of[link[i]] = (uint32_t)i;
        json_add (links->list,
                  json_pack ("[i, i, i, i, i, o, o, o, i]",
                             node_number (f, nodes, a->node), a->num,
                             node_number (f, nodes, b->node), b->num,
                             l->class_id, rounded_json (now->ns[link[i]]),
                             rounded_json (now->stderr_ns[link[i]]),
                             rounded_json (known ? before->ns[link[i]]
                                                : median[l->class_id]),
                             known));
    }
    json_put (job, "links", json_incref (links->list));
}

/* A path, by arcs of the page's links; null if the page can find it. */
static json_t *way_json (const struct page *p, const struct numbers *links,
                         uint32_t a, uint32_t b)
{
    uint32_t arc[PATH_MAX_HOPS];
    json_t *way;
    int n;

    if (p->fabric->nsubnets == 0 && plan_probes (p->plan) > PROBES_WALKED)
        return json_null ();
    way = xcheck (json_array ());
    n = pathset_walk (p->ps, a, b, arc, NULL);
    for (int i = 0; i < n; i++) {
        uint32_t at = links->of[arc_link (arc[i])];

        if (at != FABRIC_NONE)
            json_add (way, json_integer (2 * (json_int_t)at + (arc[i] & 1)));
    }
    return way;
}

static int by_pair (const void *a, const void *b)
{
    const struct sample *x = *(const struct sample *const *)a;
    const struct sample *y = *(const struct sample *const *)b;
    int order = util_compare (x->round, y->round);

    return order ? order : util_compare (pair_key (x->a, x->b),
                                         pair_key (y->a, y->b));
}

/* Both sides of a probe, added to its row: sent, lost, median, least. */
static void put_rtt (json_t *row, const struct sample *probe,
                     const struct sample *const *sorted, size_t n)
{
    const struct sample *const *s = find_sorted (&probe, sorted, n, by_pair);
    json_int_t sent = 0, lost = 0;
    double sum = 0, least = INFINITY;
    int sides = 0;

    while (s && s > sorted && by_pair (s - 1, &probe) == 0)
        s--;
    for (; s && s < sorted + n && by_pair (s, &probe) == 0; s++) {
        sent += (*s)->sent;
        lost += (*s)->lost;
        if ((*s)->lost >= (*s)->sent)
            continue;
        sum += (*s)->rtt_ns[RTT_MEDIAN];
        least = fmin (least, (*s)->rtt_ns[RTT_MIN]);
        sides++;
    }
    json_add (row, json_integer (sent));
    json_add (row, json_integer (lost));
    json_add (row, rounded_json (sides > 0 ? sum / sides : NAN));
    json_add (row, rounded_json (least));
}

/* Latencies by which the page computes the round trips of all pairs: where the
 * probes are a basis of these, and all of them are known, any that fit the sums
 * do. So of links that are not resolved one has the sum, the others 0.
 */
static json_t *fitting_json (const struct latencies *v, const uint32_t *link,
                             size_t n)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < n; i++) {
        uint32_t l = link[i];

        json_add (list,
                  rounded_json (isfinite (v->ns[l]) ? v->ns[l]
                               : v->group[l] != NETWORK_NONE
                                   ? v->solution->group[v->group[l]].latency_ns
                               : v->in[l] ? 0
                                          : NAN));
    }
    return list;
}

/* The round trip of a probe by what is known of links; NAN: not enough. */
static double known_rtt (const struct page *p, const struct latencies *v,
                         uint32_t a, uint32_t b)
{
    struct row row = { 0 };

    return v->solution && pathset_row (p->ps, a, b, &row, NULL) == 0
               ? latencies_rtt (v, &row)
               : NAN;
}

static void put_probes (const struct page *p, struct pool *pool,
                        const struct latencies *now,
                        const struct latencies *before,
                        const struct numbers *links, struct numbers *nodes,
                        const uint32_t *link, size_t nlinks, json_t *job)
{
    /* the page walks the paths of a snapshot of one subnet */
    bool all_now = plan_maximal (p->plan) && p->fabric->nsubnets == 0;
    bool all_before = all_now;
    const struct fabric *f = p->fabric;
    size_t nsamples = p->samples ? p->samples->nsamples : 0;
    const struct sample **sorted
        = pool_alloc (pool, nsamples, sizeof (*sorted));
    json_t *ends = xcheck (json_array ());
    json_t *probes = xcheck (json_array ());

    for (size_t i = 0; i < pathset_size (p->ps); i++) {
        const struct endpoint *e = pathset_endpoint (p->ps, i);
        const struct fabric_end *end = &f->end[e->id];
        const struct fabric_port *port
            = &f->port[f->endpoint[end->endpoint].port];

        json_add (ends, json_pack ("[s, i, i, i]", e->name,
                                   node_number (f, nodes, port->node),
                                   port->num, end->lid));
    }
    for (size_t i = 0; i < nsamples; i++)
        sorted[i] = &p->samples->sample[i];
    sort_array (sorted, nsamples, by_pair);
    for (size_t r = 0; r < plan_rounds (p->plan); r++) {
        size_t n;
        const struct probe *probe = plan_round (p->plan, r, &n);

        for (size_t i = 0; i < n; i++) {
            uint32_t a = probe[i].a, b = probe[i].b;
            const struct sample key = { .a = a, .b = b, .round = (uint32_t)r };
            double expected = known_rtt (p, before, a, b);
            json_t *v = json_pack ("[i, i, i, o, o, o]", a, b, (int)r,
                                   way_json (p, links, a, b),
                                   way_json (p, links, b, a),
                                   rounded_json (expected));

            all_before &= isfinite (expected);
            all_now = all_now && isfinite (known_rtt (p, now, a, b));
            put_rtt (v, &key, sorted, nsamples);
            json_add (probes, v);
        }
    }
    json_put (job, "ends", ends);
    json_put (job, "probes", probes);
    if (all_now && now->solution)
        json_put (job, "now", fitting_json (now, link, nlinks));
    if (all_before && before->solution)
        json_put (job, "before", fitting_json (before, link, nlinks));
}

/* The links of the job, or those that the verdict names. */
static uint32_t *links_of (const struct page *p, struct pool *pool, size_t *n)
{
    const struct verdict *v = p->verdict;
    const uint32_t *link = p->ps ? pathset_links (p->ps, n, NULL) : NULL;
    uint32_t *list = pool_alloc (pool, p->fabric->nlinks, sizeof (*list));
    bool *has;

    if (link) {
        if (*n > 0)
            memcpy (list, link, *n * sizeof (*list));
        return list;
    }
    has = pool_alloc (pool, p->fabric->nlinks, sizeof (*has));
    *n = 0;
    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];

        for (size_t k = 0; k < f->nsuspects; k++)
            has[f->suspect[k]] = true;
        for (size_t k = 0; k < f->noneway; k++)
            has[f->oneway[k]] = true;
    }
    for (uint32_t i = 0; i < p->fabric->nlinks; i++)
        if (has[i])
            list[(*n)++] = i;
    return list;
}

/* [link, way, as rate_json] */
static json_t *link_rates_json (const struct page *p,
                                const struct numbers *links)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < p->verdict->nrates; i++) {
        const struct verdict_rate *r = &p->verdict->rate[i];
        uint32_t link = links->of[arc_link (r->arc)];

        if (link != FABRIC_NONE)
            json_add (list, json_pack ("[i, i, o]", (int)link,
                                       (int)(r->arc % 2),
                                       rate_json (r->bits, r->expected)));
    }
    return list;
}

static json_t *job_json (const struct page *p)
{
    const struct fabric *f = p->fabric;
    struct pool *pool = pool_create ();
    struct numbers nodes = numbers_create (pool, f->nnodes);
    struct numbers links = numbers_create (pool, f->nlinks);
    json_t *job = xcheck (json_object ());
    json_t *open = xcheck (json_array ());
    size_t n;
    uint32_t *link = links_of (p, pool, &n);
    struct latencies now = latencies_find (p, pool, p->samples);
    struct latencies before = latencies_find (p, pool, NULL);

    page_add_links (p, pool, &now, &before, &nodes, &links, link, n, job);
    if (p->ps && p->plan)
        put_probes (p, pool, &now, &before, &links, &nodes, link, n, job);
    solution_destroy (now.solution);
    solution_destroy (before.solution);
    for (size_t i = 0; i < p->verdict->nopen; i++)
        if (links.of[p->verdict->open[i]] != FABRIC_NONE)
            json_add (open, json_integer (links.of[p->verdict->open[i]]));
    if (p->verdict->nrates > 0)
        json_put (job, "rates", link_rates_json (p, &links));
    json_put (job, "classes", json_strings (f->class_name, f->nclasses));
    json_put (job, "open", open);
    json_put (job, "nodes", nodes.list);
    json_decref (links.list);
    pool_destroy (pool);
    return job;
}

/*
 * The page
 */

static int put_compressed (const json_t *json, FILE *fp, struct error *err)
{
    char *text = xcheck (json_dumps (json, JSON_COMPACT | JSON_ENSURE_ASCII));
    int rc = page_put_bytes (text, strlen (text), fp, err);

    free (text);
    return rc;
}

/* Of several subnets there is no one file. */
static int page_write_fabric (const struct page *p, FILE *fp, struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *mem;
    int rc;

    if (!p->fabric || p->fabric->nsubnets > 0 || p->site)
        return 0;
    mem = xcheck (open_memstream (&text, &size));
    rc = fabric_write (p->fabric, mem, err);
    if (fclose (mem) != 0 && rc == 0)
        rc = error_nomem (err);
    if (rc == 0)
        rc = page_put_bytes (text, size, fp, err);
    free (text);
    return rc;
}

static const char made[] = "<script type=\"text/plain\" id=\"made\">";
enum { MADE_DIGITS = 20 };

bool page_is_same (const char *a, const char *b)
{
    size_t from = page_begin_size + sizeof (made) - 1;

    return strlen (a) == strlen (b) && strlen (a) > from + MADE_DIGITS
           && !memcmp (a, b, from)
           && !strcmp (a + from + MADE_DIGITS, b + from + MADE_DIGITS);
}

int page_write (const struct page *p, FILE *fp, struct error *err)
{
    json_t *head = head_json (p), *job;
    int rc;

    terminal_work ("making the page", 0, 0);
    job = p->site      ? json_incref (p->map)
          : p->verdict ? job_json (p)
                       : NULL;
    terminal_work ("compressing the page", 0, 0);
    fwrite (page_begin, 1, page_begin_size, fp);
    fprintf (fp, "%s%0*" PRId64 "</script>\n", made, MADE_DIGITS, p->made);
    fputs ("<script type=\"application/json\" id=\"head\">", fp);
    rc = page_put_json (head, fp, err);
    json_decref (head);
    fputs ("</script>\n<script type=\"text/plain\" id=\"job\">", fp);
    if (rc == 0 && job)
        rc = put_compressed (job, fp, err);
    json_decref (job);
    fputs ("</script>\n<script type=\"text/plain\" id=\"fabric\">", fp);
    if (rc == 0)
        rc = page_write_fabric (p, fp, err);
    fputs ("</script>\n<script type=\"text/plain\" id=\"series\">", fp);
    if (rc == 0 && p->series)
        rc = put_compressed (p->series, fp, err);
    fputs ("</script>\n", fp);
    fwrite (page_end, 1, page_end_size, fp);
    return rc;
}
