/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write metrics for a textfile collector.
 *
 * Notes. Labels are those of infiniband_exporter, so that its metrics and these
 * can be joined: `guid` and `port` are those of a cable's end at a switch, the
 * first one if both ends are; `uplink_guid` and `uplink_port` are the other end's.
 * Everything comes from the ledger, the snapshot and the state of the service, so
 * counters do not start again with it.
 *
 * A cable's status is that of the worst finding that suspects it in the newest
 * audit that measured it. A finding of several cables is said of each of them.
 * What it carries: in its newest audit that measured that. Of a cable that is OK
 * no more than that is said: whoever reads 35,000 cables
 * has to keep each line.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/paths/tree.h"
#include "ibquery/links/accepted.h"
#include "ibquery/links/fewer.h"
#include "ibquery/ports.h"
#include "ibquery/publish.h"
#include "ibquery/spread.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"

enum { DAY_S = 24 * 3600, HOUR_MS = 3600 * 1000 };

/* A cable that was measured. */
struct metrics_link {
    bool measured;
    int64_t ended;
    enum verdict_status level;    /* of the cable */
    enum verdict_status end;      /* of its host end */
    double excess_ns;             /* NAN: not known */
    double bits[2], expected[2];  /* that it carries from its first end, and to
                                     it; 0: not known */
    int64_t rated;                /* when that audit ended */
    int64_t suspects;             /* of the finding of this level */
};

struct metrics {
    const struct service *s;
    struct ledger *ledger;
    const struct service_state *state;
    FILE *fp;
    int64_t now;
    struct metrics_link *link;    /* [nlinks] */
};

static void write_metric_header (const struct metrics *m, const char *name,
                                 const char *type, const char *help)
{
    fprintf (m->fp, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_metric (const struct metrics *m, const char *name,
                          const char *help, double value)
{
    write_metric_header (m, name, "gauge", help);
    fprintf (m->fp, "%s %.17g\n", name, value);
}

/* A label, escaped. An empty one would be the same as none. */
static void put_label (const struct metrics *m, char before, const char *name,
                       const char *value)
{
    if (!*value)
        return;
    fprintf (m->fp, "%c%s=\"", before, name);
    for (; *value; value++)
        if (*value == '\n')
            fputs ("\\n", m->fp);
        else
            fprintf (m->fp, "%s%c",
                     *value == '"' || *value == '\\' ? "\\" : "", *value);
    putc ('"', m->fp);
}

/* Counts by name, which is the metric's one label. */
static void write_counts (const struct metrics *m, const char *metric,
                          const char *type, const char *help, const char *label,
                          const char *const *name, const size_t *count, size_t n)
{
    write_metric_header (m, metric, type, help);
    for (size_t i = 0; i < n; i++)
        fprintf (m->fp, "%s{%s=\"%s\"} %zu\n", metric, label, name[i], count[i]);
}

/*
 * What audits have found
 */

static void raise_level (enum verdict_status *level, enum verdict_status to)
{
    if (to > *level)
        *level = to;
}

/* Take what the newest audit of a link says of it. `alone`: all suspects of the
 * finding are of the link's host.
 */
static void update_link_metrics (struct metrics_link *link,
                                 const struct ledger_link *row, bool alone)
{
    if (!link->measured)
        *link = (struct metrics_link){ .measured = true, .excess_ns = NAN };
    if (row->ended > link->ended)
        link->ended = row->ended;
    if (row->open) {
        raise_level (&link->level, VERDICT_UNKNOWN);
        raise_level (&link->end, VERDICT_UNKNOWN);
    }
    if (row->finding < 0 || row->kind == FINDING_ROUTE)
        return;
    raise_level (&link->end, alone || row->kind == FINDING_NODE
                                 ? row->level
                                 : VERDICT_UNKNOWN);
    if (row->kind == FINDING_NODE || row->level < link->level)
        return;
    link->level = row->level;
    link->suspects = row->suspects;
    link->excess_ns = row->excess_ns;
}

static const char *host_of_link_row (const struct fabric *f,
                                     const struct ledger_link *row)
{
    uint32_t link = fabric_find_link (f, row->link);

    return link == FABRIC_NONE ? NULL : fabric_network (f)->link[link].host;
}

/* Take n rows, which are of one finding or a link without any. */
static void update_finding_metrics (struct metrics *m,
                                    const struct ledger_link *row, size_t n)
{
    const struct fabric *f = m->s->fabric;
    const char *host = host_of_link_row (f, row);
    bool alone
        = host && row->kind == FINDING_HOST_END && row->suspects == (int64_t)n;

    for (size_t i = 0; i < n && alone; i++) {
        const char *other = host_of_link_row (f, &row[i]);

        alone = other && !strcmp (host, other);
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t link = fabric_find_link (f, row[i].link);

        if (link != FABRIC_NONE)
            update_link_metrics (&m->link[link], &row[i], alone);
    }
}

static int take_rates (struct metrics *m, struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (m->ledger, LEDGER_RATES, 0, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++) {
        const struct ledger_rate *row = &rows.rate[i];
        uint32_t link = fabric_find_link (m->s->fabric, row->link);

        if (link == FABRIC_NONE || row->way < 0 || row->way > 1
            || !(row->expected > 0))
            continue;
        m->link[link].bits[row->way] = row->bits;
        m->link[link].expected[row->way] = row->expected;
        m->link[link].rated = row->ended;
    }
    return rc;
}

static int take_links (struct metrics *m, struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (m->ledger, LEDGER_LINKS, 0, 0, &rows, err);

    for (size_t i = 0, end; i < rows.n; i = end) {
        const struct ledger_link *row = &rows.link[i];

        for (end = i + 1; end < rows.n && row->finding >= 0
                          && rows.link[end].audit == row->audit
                          && rows.link[end].finding == row->finding;)
            end++;
        update_finding_metrics (m, row, end - i);
    }
    return rc < 0 ? rc : take_rates (m, err);
}

/*
 * Cables
 */

static bool at_switch (const struct fabric *f, uint32_t port)
{
    return f->node[f->port[port].node].type == NODE_SWITCH;
}

static uint64_t guid_of (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];

    return p->guid ? p->guid : f->node[p->node].guid;
}

static void write_port_labels (const struct metrics *m, const char *name,
                               uint32_t port)
{
    fprintf (m->fp, "%s{guid=\"0x%016" PRIx64 "\",port=\"%u\"", name,
             guid_of (m->s->fabric, port), m->s->fabric->port[port].num);
}

static void put_endpoint (const struct metrics *m, const char *name, size_t i)
{
    const struct fabric *f = m->s->fabric;
    uint32_t port = f->endpoint[i].port;

    write_port_labels (m, name, port);
    put_label (m, ',', "hca", f->node[f->port[port].node].desc);
    put_label (m, ',', "node", m->s->node_of[i]);
}

/* A cable, by both ends: the first one is `port`. */
static void put_cable (const struct metrics *m, const char *name, uint32_t port)
{
    const struct fabric *f = m->s->fabric;
    uint32_t far = fabric_far_port (f, port);

    write_port_labels (m, name, port);
    fprintf (m->fp, ",uplink_guid=\"0x%016" PRIx64 "\",uplink_port=\"%u\"",
             guid_of (f, far), f->port[far].num);
}

static void put_info (const struct metrics *m, uint32_t link, uint32_t port)
{
    const struct fabric *f = m->s->fabric;
    const struct link_info *info = &fabric_network (f)->link[link];
    uint32_t far = fabric_far_port (f, port);

    put_cable (m, "pmm_link_info", port);
    put_label (m, ',', at_switch (f, port) ? "switch" : "hca",
               f->node[f->port[port].node].desc);
    put_label (m, ',', "uplink", f->node[f->port[far].node].desc);
    put_label (m, ',', "uplink_type", at_switch (f, far) ? "SW" : "CA");
    put_label (m, ',', "class", info->class_name ? info->class_name : "");
    put_label (m, ',', "link", info->id);
    fputs ("} 1\n", m->fp);
}

enum link_metric { LINK_STATUS, LINK_EXCESS, LINK_SUSPECTS, LINK_INFO,
                   LINK_RATED, LINK_RATE, LINK_EXPECTED, LINK_METRICS };

/* In both directions, as the cable's first port has them. */
static void put_rates (const struct metrics *m, const char *name, uint32_t link,
                       uint32_t port, const double bits[2])
{
    bool turned = m->s->fabric->link[link].a != port;

    for (int out = 1; out >= 0; out--)
        if (m->link[link].expected[(out == 0) != turned] > 0) {
            put_cable (m, name, port);
            fprintf (m->fp, ",way=\"%s\"} %.4g\n", out ? "out" : "in",
                     bits[(out == 0) != turned] / 8);
        }
}

static void write_link_metrics (const struct metrics *m,
                                enum link_metric metric)
{
    static const struct {
        const char *name, *help;
    } family[] = {
        [LINK_STATUS] = { "pmm_link_status",
                          "Of a cable in the newest audit that measured it: 0 "
                          "OK, 1 WARN, 2 FAIL, 3 UNKNOWN." },
        [LINK_EXCESS] = { "pmm_link_excess_seconds",
                          "Latency of the cable in one direction above the "
                          "expected value, if an audit found any." },
        [LINK_SUSPECTS] = { "pmm_link_suspects",
                            "How many cables the finding names of which this "
                            "is one." },
        [LINK_INFO] = { "pmm_link_info",
                        "The cable that is plugged into this port, if it "
                        "is not OK." },
        [LINK_RATED] = { "pmm_link_rate_timestamp_seconds",
                         "When the audit ended that measured what it carried." },
        [LINK_RATE] = { "pmm_link_rate_bytes_per_second",
                        "What the cable carried, out of this port or into it, "
                        "in the newest audit that measured that." },
        [LINK_EXPECTED] = { "pmm_link_rate_expected_bytes_per_second",
                            "What it should have carried then." },
    };
    const struct fabric *f = m->s->fabric;

    write_metric_header (m, family[metric].name, "gauge", family[metric].help);
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct metrics_link *x = &m->link[i];
        uint32_t port = !at_switch (f, l->a) && at_switch (f, l->b) ? l->b
                                                                    : l->a;

        if (!x->measured
            || (metric != LINK_STATUS && x->level == VERDICT_OK)
            || (metric == LINK_EXCESS && (x->level == VERDICT_UNKNOWN
                                          || isnan (x->excess_ns)))
            || (metric == LINK_SUSPECTS && x->suspects == 0)
            || (metric == LINK_RATED && x->rated == 0))
            continue;
        if (metric == LINK_INFO) {
            put_info (m, (uint32_t)i, port);
            continue;
        }
        if (metric >= LINK_RATE) {
            put_rates (m, family[metric].name, (uint32_t)i, port,
                       metric == LINK_RATE ? x->bits : x->expected);
            continue;
        }
        put_cable (m, family[metric].name, port);
        if (metric == LINK_STATUS)
            fprintf (m->fp, "} %d\n", verdict_nagios (x->level));
        else if (metric == LINK_EXCESS)
            fprintf (m->fp, "} %.4g\n", x->excess_ns / 1e9);
        else
            fprintf (m->fp, "} %" PRId64 "\n",
                     metric == LINK_RATED ? x->rated : x->suspects);
    }
}

static void put_host_ends (const struct metrics *m)
{
    const struct fabric *f = m->s->fabric;

    write_metric_header (
        m, "pmm_host_end_status", "gauge",
        "Of a node's end of its cable (adapter, PCIe, cable, software): 0 "
        "OK, 1 WARN, 2 FAIL, 3 UNKNOWN.");
    for (size_t i = 0; i < f->nendpoints; i++) {
        uint32_t link = f->port[f->endpoint[i].port].link;

        if (link == FABRIC_NONE || !m->link[link].measured)
            continue;
        put_endpoint (m, "pmm_host_end_status", i);
        fprintf (m->fp, "} %d\n", verdict_nagios (m->link[link].end));
    }
}

/* Read PCIe of an endpoint's adapter as the newest audit saw it; all 0 if none
 * did, or it was as it should be.
 */
static int read_lost_pcie (const struct metrics *m, size_t end,
                           unsigned int value[PORTS_PCIE], struct error *err)
{
    const struct fabric *f = m->s->fabric;
    const struct fabric_port *p = &f->port[f->endpoint[end].port];
    struct pcie pcie = { 0 };
    char name[24];
    int64_t begun;
    int rc = p->link != FABRIC_NONE && m->link[p->link].measured;

    snprintf (name, sizeof (name), "%016" PRIx64 "/%u", f->node[p->node].guid,
              p->num);
    for (int i = 0; i < PORTS_PCIE && rc > 0; i++) {
        uint64_t last = 0;

        rc = ledger_counter_last (m->ledger, INT64_MAX, name,
                                  ports_pcie[i].name, &last, &begun, err);
        value[i] = (unsigned int)last;
        memcpy ((char *)&pcie + ports_pcie[i].offset, &value[i],
                sizeof (value[i]));
    }
    if (rc <= 0 || pcie_bits (&pcie.now) >= pcie_bits (&pcie.could))
        memset (value, 0, PORTS_PCIE * sizeof (*value));
    return rc;
}

static int put_pcie (const struct metrics *m, struct error *err)
{
    static const struct {
        const char *name, *help;
        double unit;
    } family[PORTS_PCIE] = {
        { "pmm_pcie_width",
          "Lanes of the PCIe link between an adapter and its host that runs "
          "below what both of its ends are able to.", 1 },
        { "pmm_pcie_speed",
          "Its transfers a second on each lane; an idle link may be slow.",
          1e6 },
        { "pmm_pcie_able_width", "The lanes that it should have.", 1 },
        { "pmm_pcie_able_speed",
          "The transfers a second on each lane that it should have.", 1e6 },
    };
    const struct fabric *f = m->s->fabric;
    unsigned int (*value)[PORTS_PCIE] = xcalloc (f->nendpoints, sizeof (*value));
    int rc = 0;

    for (size_t i = 0; i < f->nendpoints && rc >= 0; i++)
        rc = read_lost_pcie (m, i, value[i], err);
    for (int k = 0; k < PORTS_PCIE; k++) {
        write_metric_header (m, family[k].name, "gauge", family[k].help);
        for (size_t i = 0; i < f->nendpoints; i++)
            if (value[i][k]) {
                put_endpoint (m, family[k].name, i);
                fprintf (m->fp, "} %.17g\n", value[i][k] * family[k].unit);
            }
    }
    free (value);
    return rc < 0 ? -1 : 0;
}

/* Ports of cables that carry no messages, and rails that nodes lack. */
static void put_states (const struct metrics *m)
{
    const struct fabric *f = m->s->fabric;
    struct rails_fewer *fewer;
    size_t n = accepted_fewer (f, m->s->site.snapshot, &fewer);
    char rail[FEWER_RAIL];

    write_metric_header (
        m, "pmm_port_state", "gauge",
        "Of a port that has a cable and is not active: 1 down, 2 init, 3 "
        "armed; 0: a rail that most peers of the node have, and it has not.");
    for (uint32_t i = 0; i < f->nports; i++) {
        const struct fabric_port *p = &f->port[i];

        if (p->link == FABRIC_NONE || p->state == PORT_ACTIVE
            || p->state == PORT_UNKNOWN)
            continue;
        write_port_labels (m, "pmm_port_state", i);
        put_label (m, ',', at_switch (f, i) ? "switch" : "hca",
                   f->node[p->node].desc);
        fprintf (m->fp, "} %u\n", p->state);
    }
    for (size_t i = 0; i < n; i++) {
        const struct fabric_host *h = &f->host[fewer[i].host];
        const char *node = m->s->node_of[h->first];
        bool known = fewer[i].example != FABRIC_NONE;

        fputs ("pmm_port_state", m->fp);
        put_label (m, '{', "node", node ? node : h->name);
        put_label (m, ',', "rail",
                   known ? fewer_rail (f, fewer[i].example, rail) : "");
        fputs ("} 0\n", m->fp);
    }
    free (fewer);
}

/* Of the cables that audits reach, those measured in the last two AuditEvery. */
static void put_coverage (const struct metrics *m)
{
    const struct fabric *f = m->s->fabric;
    int64_t every_s = m->s->site.audit_every_ms / 1000;
    int64_t since = m->now - 2 * (every_s ? every_s : DAY_S);
    size_t measured = 0, reached = 0;

    for (size_t i = 0; m->state->reach && i < f->nlinks; i++)
        if (m->state->reach[i]) {
            reached++;
            measured += m->link[i].measured && m->link[i].ended >= since;
        }
    if (reached > 0)
        write_metric (
            m, "pmm_coverage_ratio",
            "Share of the cables between nodes of AuditPartition that audits "
            "measured in the last two AuditEvery.",
            (double)measured / (double)reached);
}

/* The endpoints of nodes whose cable is up; NULL with err. */
static struct pathset *find_live_endpoints (const struct service *s,
                                            const struct hostlist *nodes,
                                            struct error *err)
{
    const struct fabric *f = s->fabric;
    const char **end = xcalloc (f->nendpoints, sizeof (*end));
    struct pathset *ps;
    size_t n = 0;

    for (size_t i = 0; i < f->nendpoints; i++) {
        uint32_t link = f->port[f->endpoint[i].port].link;

        if (link != FABRIC_NONE && fabric_is_up (f, &f->link[link])
            && s->node_of[i] && hostlist_has (nodes, s->node_of[i]))
            end[n++] = f->endpoint[i].name;
    }
    /* without any name it would be all of the fabric */
    ps = n > 0 ? fabric_pathset (f, end, n, err)
               : pathset_create (fabric_network (f), NULL, 0, err);
    free (end);
    return ps;
}

int service_reach (const struct service *s, struct service_state *state,
                   const struct hostlist *nodes, struct error *err)
{
    struct pathset *ps = find_live_endpoints (s, nodes, err);
    struct tree *t;
    struct error broken;

    if (!ps)
        return -1;
    t = tree_create (ps);
    free (state->reach);
    state->reach = xcalloc (s->fabric->nlinks, sizeof (*state->reach));
    for (size_t i = 0; i < pathset_size (ps); i++) {
        tree_grow (t, i, &broken); /* audits report a broken path */
        for (size_t k = 1; k < t->n; k++)
            state->reach[arc_link (t->arc[k])] = true;
    }
    tree_destroy (t);
    pathset_destroy (ps);
    return 0;
}

int duty_reach (const struct service *s, struct ledger *ledger,
                struct service_state *state, struct error *err)
{
    struct controller_partition *part;
    int rc = -1;

    (void)ledger;
    if (!*s->site.metrics || (state->reach && clock_ms () < state->reach_due_ms))
        return 0;
    if ((part = controller_partition (s->site.audit_partition, err)))
        rc = service_reach (s, state, &part->inside, err);
    child_free (part);
    state->reach_due_ms = clock_ms () + HOUR_MS;
    return rc;
}

/*
 * The rest
 */

static int put_audits (const struct metrics *m, struct error *err)
{
    static const char *const results[]
        = { "OK", "WARN", "FAIL", "UNKNOWN", "none" };
    enum { RESULTS = sizeof (results) / sizeof (results[0]) };
    struct ledger_rows totals;
    size_t n[RESULTS] = { 0 };
    int64_t ended;
    int rc = ledger_list (m->ledger, LEDGER_TOTALS, 0, 0, &totals, err) < 0
                 ? -1
                 : ledger_number (m->ledger, LEDGER_SUCCEEDED, 0, NULL, &ended,
                                  err);

    for (size_t i = 0; i < totals.n; i++)
        for (size_t k = 0; k < RESULTS; k++)
            if (!strcmp (totals.total[i].result, results[k]))
                n[k] = (size_t)totals.total[i].audits;
    if (rc >= 0)
        write_counts (m, "pmm_audits_total", "counter",
                      "Audits that ended, by result; none: it has none.",
                      "result", results, n, RESULTS);
    if (rc > 0)
        write_metric (m, "pmm_audit_last_success_timestamp_seconds",
                      "When the newest audit ended that is not UNKNOWN.",
                      (double)ended);
    return rc < 0 ? -1 : 0;
}

static int put_drains (const struct metrics *m, struct error *err)
{
    size_t n[CAUSES + 1] = { 0 }, resumes = 0;
    const char *cause[CAUSES];
    struct ledger_rows rows;
    int rc = ledger_list (m->ledger, LEDGER_ACTIONS, INT64_MAX, 0, &rows, err);

    for (size_t i = 0; i < rows.n; i++)
        if (rows.action[i].done >= 0) {
            resumes += rows.action[i].kind == POLICY_RESUME;
            n[rows.action[i].cause] += rows.action[i].kind == POLICY_DRAIN;
        }
    if (rc < 0)
        return -1;
    for (int i = 0; i < CAUSES; i++)
        cause[i] = drain_cause_name ((enum drain_cause)i);
    write_counts (m, "pmm_drains_total", "counter",
                  "Nodes that were drained; confirmed: by a second audit, rate: "
                  "likewise, of what its link carries; else by this sign.",
                  "cause", cause, n, CAUSES);
    write_metric_header (m, "pmm_resumes_total", "counter",
                         "Nodes that were resumed.");
    fprintf (m->fp, "pmm_resumes_total %zu\n", resumes);
    return 0;
}

static void put_blocked (const struct metrics *m)
{
    const char *reason[POLICY_BLOCKS];

    for (int i = 0; i < POLICY_BLOCKS; i++)
        reason[i] = policy_block_name ((enum policy_block)i);
    write_counts (m, "pmm_policy_blocked", "gauge",
                  "Nodes whose FAIL is confirmed and that are not drained, by "
                  "reason; stopped: 1 if nothing can be decided.",
                  "reason", reason + 1, m->state->blocked + 1,
                  POLICY_BLOCKS - 1); /* but POLICY_FREE */
}

/* When the snapshot was last known to be right; the oldest, if several. */
static void put_snapshot (const struct metrics *m)
{
    const char *list = m->s->site.snapshot;
    int64_t oldest = INT64_MAX;
    char path[TEXT_PATH];

    while (text_next (&list, path)) {
        int64_t time = publish_time (path);

        oldest = time < oldest ? time : oldest;
    }
    write_metric (
        m, "pmm_fabric_snapshot_timestamp_seconds",
        "When the fabric was last read or polled; 0: there is no snapshot.",
        (double)oldest);
}

static void put_spread (const struct metrics *m)
{
    static const char *const kinds[]
        = { "adaptive", "hashed", "private_lfts", "none" };
    const struct fabric *f = m->s->fabric;
    size_t n[4] = { 0 };

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_spread *s = &f->node[i].spread;

        if (f->node[i].type != NODE_SWITCH)
            continue;
        n[0] += (s->ud | s->rc) != 0;
        n[1] += s->hashed != 0;
        n[2] += s->private_lfts;
        n[3] += !spread_is_on (s) && !s->private_lfts;
    }
    write_counts (m, "pmm_fabric_spread_switches", "gauge",
                  "Switches that spread messages over several ports, by how; "
                  "none: they do not.", "kind", kinds, n, 4);
}

static int put_all (struct metrics *m, struct error *err)
{
    const struct service *s = m->s;
    int rc = 0;

    write_metric (m, "pmm_service_timestamp_seconds",
                  "When the audit service wrote these metrics.",
                  (double)m->now);
    write_metric (m, "pmm_service_failing_duties",
                  "What the audit service does and cannot do now.",
                  (double)m->state->told.ntroubles);
    put_snapshot (m);
    if (m->state->decided)
        put_blocked (m);
    if (s->fabric) {
        put_spread (m);
        put_states (m);
    }
    if (m->ledger && (rc = ledger_hold (m->ledger, err)) == 0) {
        rc = put_audits (m, err) < 0 || put_drains (m, err) < 0 ? -1 : 0;
        if (rc == 0 && s->fabric && (rc = take_links (m, err)) == 0) {
            put_coverage (m);
            put_host_ends (m);
            rc = put_pcie (m, err);
            for (int i = 0; i < LINK_METRICS; i++)
                write_link_metrics (m, (enum link_metric)i);
        }
        ledger_release (m->ledger);
    }
    return rc;
}

int duty_metrics (const struct service *s, struct ledger *ledger,
                  struct service_state *state, struct error *err)
{
    struct metrics m = { s, ledger, state, .now = clock_date () };
    struct outfile *out;
    struct error why;
    int rc;

    if (!*s->site.metrics)
        return 0;
    if (!(out = file_create_public (s->site.metrics, err)))
        return -1;
    m.fp = file_stream (out);
    m.link = xcalloc (s->fabric ? s->fabric->nlinks : 0, sizeof (*m.link));
    rc = put_all (&m, err);
    free (m.link);
    if (file_commit (out, &why) < 0) {
        if (rc == 0)
            *err = why;
        return -1;
    }
    return rc;
}
