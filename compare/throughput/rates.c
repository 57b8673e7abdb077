/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/rates.h"

#include <math.h>
#include <stdlib.h>

#include "util/json.h"
#include "util/text.h"

#define GIGA 1e9

enum { SUSPECTS_SHOWN = 8, NAME_BYTES = 2 * FABRIC_NAME_MAX };

static double nominal (const struct fabric *f, size_t link)
{
    return fabric_network (f)->link[link].rate;
}

/* Whether the usual rate is far below nominal; false if no rate is known. */
static bool is_low (const struct rates_measured *m, double much)
{
    double known = 0;

    for (size_t l = 0; l < m->carry->nlinks; l++)
        known = fmax (known, nominal (m->fabric, l));
    return known > 0 && m->carry->usual < 1 - much;
}

enum verdict_status rates_status (const struct rates_measured *m, double much)
{
    const struct carry *c = m->carry;

    if (c->nfindings > 0)
        return VERDICT_FAIL;
    if (c->lost > 0 || c->flows == 0 || !m->complete)
        return VERDICT_UNKNOWN;
    return c->unexplained > 0 || is_low (m, much) ? VERDICT_WARN : VERDICT_OK;
}

/* The limits, one sentence each; false after the last one. */
static bool limit (const struct rates_measured *m, double much, int i,
                   char *buf, size_t size)
{
    const struct carry *c = m->carry;
    int n = 0;

    if (c->lost > 0 && n++ == i)
        snprintf (buf, size, "%zu of %zu flows were not measured", c->lost,
                  c->lost + c->flows);
    else if (!m->complete && c->lost == 0 && n++ == i)
        snprintf (buf, size, "the series is not complete");
    else if (c->unexplained > 0 && n++ == i)
        snprintf (buf, size, "%s slow, though all links on the way carried"
                  " more at other times", COUNTED (c->unexplained, "flow"));
    else if (is_low (m, much) && n++ == i)
        snprintf (buf, size, "flows have %.0f %% of what the links allow, at"
                  " the median: a link that is slow by less than that does"
                  " not show", 100 * c->usual);
    else if (c->nfindings == CARRY_FINDINGS_MAX && n++ == i)
        snprintf (buf, size, "more findings than %d are left out",
                  CARRY_FINDINGS_MAX);
    else
        return false;
    return true;
}

static const char *kind (const struct fabric *f,
                         const struct carry_finding *finding)
{
    for (size_t i = 0; i < finding->nlinks; i++)
        if (f->link[finding->link[i]].kind != LINK_HOST)
            return "switch link";
    return "host end";
}

static bool is_measured (const struct carry_link *l)
{
    return l->carried[0] > 0 || l->carried[1] > 0;
}

/* The direction that carried less of its offered rate. */
static int worse (const struct carry_link *l)
{
    if (l->carried[0] == 0 || l->carried[1] == 0)
        return l->carried[0] == 0;
    return l->carried[1] * l->offered[0] < l->carried[0] * l->offered[1];
}

static void ends (const struct fabric *f, uint32_t link, char *a, char *b)
{
    fabric_port_name (f, f->link[link].a, a, NAME_BYTES);
    fabric_port_name (f, f->link[link].b, b, NAME_BYTES);
    text_clean (a);
    text_clean (b);
}

static void print_finding (const struct rates_measured *m,
                           const struct carry_finding *f, FILE *fp)
{
    const struct carry_link *l = &m->carry->link[f->link[0]];
    char a[NAME_BYTES], b[NAME_BYTES];

    fprintf (fp, "pmm: FAIL: %s", kind (m->fabric, f));
    if (f->nlinks > 1)
        fprintf (fp, ", one of %zu", f->nlinks);
    fprintf (fp, ", carried %.1f", l->carried[worse (l)] / GIGA);
    if (nominal (m->fabric, f->link[0]) > 0)
        fprintf (fp, " of %.1f", nominal (m->fabric, f->link[0]) / GIGA);
    fprintf (fp, " Gb/s; %s had %.0f %% of the fair share\n",
             COUNTED (f->flows, "slow flow"), 100 * f->share);
    for (size_t i = 0; i < f->nlinks; i++) {
        if (i == SUSPECTS_SHOWN) {
            fprintf (fp, "pmm:   or %zu more, listed in the JSON report\n",
                     f->nlinks - i);
            return;
        }
        ends (m->fabric, f->link[i], a, b);
        fprintf (fp, "pmm:   %s%s -- %s  (%s)\n", i > 0 ? "or " : "", a, b,
                 m->fabric->link[f->link[i]].id);
    }
}

static void switch_name (const struct fabric *f, uint32_t node, char *buf)
{
    snprintf (buf, NAME_BYTES, "%s", f->node[node].name);
    text_clean (buf);
}

/* Gb/s; a dash if it is not known. */
static void print_rate (double rate, FILE *fp)
{
    if (rate > 0)
        fprintf (fp, " %8.1f", rate / GIGA);
    else
        fprintf (fp, " %8s", "-");
}

static void print_link (const struct rates_measured *m, uint32_t link,
                        FILE *fp)
{
    const struct carry_link *l = &m->carry->link[link];
    char a[NAME_BYTES], b[NAME_BYTES];

    fprintf (fp, "%-20s", m->fabric->link[link].id);
    print_rate (nominal (m->fabric, link), fp);
    for (int way = 0; way < 2; way++) {
        print_rate (l->carried[way], fp);
        print_rate (l->offered[way], fp);
    }
    ends (m->fabric, link, a, b);
    fprintf (fp, "  %s -- %s\n", a, b);
}

static void print_switches (const struct rates_measured *m, FILE *fp)
{
    char name[NAME_BYTES];

    fprintf (fp, "%-20s %8s %8s  Gb/s each way, in a round\n", "# switch",
             "halves", "through");
    for (size_t i = 0; i < m->nswitches; i++) {
        uint32_t node = m->sw[i].node;

        fprintf (fp, "%016jx    ", (uintmax_t)m->fabric->node[node].guid);
        print_rate (m->sw[i].through.rate, fp);
        print_rate (m->carry->through[node], fp);
        switch_name (m->fabric, node, name);
        fprintf (fp, "  %s\n", name);
    }
}

int rates_text (const struct rates_measured *m, double much, FILE *fp,
                struct error *err)
{
    const struct carry *c = m->carry;
    char text[256];

    fprintf (fp, "pmm: %s: %s of %s",
             verdict_status_name (rates_status (m, much)),
             COUNTED (c->flows, "flow"), COUNTED (m->length, "byte"));
    if (c->flows > 0)
        fprintf (fp, ", %zu of them slow", c->slow);
    fprintf (fp, "\n");
    for (size_t i = 0; i < c->nfindings; i++)
        print_finding (m, &c->finding[i], fp);
    for (int i = 0; limit (m, much, i, text, sizeof (text)); i++)
        fprintf (fp, "pmm: %s\n", text);
    print_switches (m, fp);
    fprintf (fp, "%-20s %8s %8s %8s %8s %8s  Gb/s, of what was offered\n",
             "# link", "nominal", "there", "of", "back", "of");
    for (uint32_t l = 0; l < c->nlinks; l++)
        if (is_measured (&c->link[l]))
            print_link (m, l, fp);
    return ferror (fp) ? error_errno (err, "output") : 0;
}

/* Gb/s with three decimals. */
static json_t *gbps (double rate)
{
    return rate > 0 ? json_real (round (rate / GIGA * 1000) / 1000)
                    : json_null ();
}

static json_t *switch_json (const struct fabric *f,
                            const struct rates_switch *sw)
{
    const struct through *t = &sw->through;
    char guid[17], name[NAME_BYTES];

    snprintf (guid, sizeof (guid), "%016jx",
              (uintmax_t)f->node[sw->node].guid);
    switch_name (f, sw->node, name);
    return json_pack ("{s:s, s:s, s:I, s:[i, i], s:o}", "guid", guid, "name",
                      name, "subtrees", (json_int_t)t->subtrees, "halves",
                      (int)t->ports[0], (int)t->ports[1], "most_gbps",
                      gbps (t->rate));
}

/* The same, with what passed a switch. */
static json_t *passed_json (const struct rates_measured *m, size_t i)
{
    json_t *json = switch_json (m->fabric, &m->sw[i]);

    if (json
        && json_object_set_new (json, "through_gbps",
                                gbps (m->carry->through[m->sw[i].node])) < 0) {
        json_decref (json);
        return NULL;
    }
    return json;
}

static json_t *link_json (const struct rates_measured *m, uint32_t link)
{
    const struct carry_link *l = &m->carry->link[link];
    double most = nominal (m->fabric, link);

    return json_pack (
        "{s:s, s:s, s:o, s:[o, o], s:[o, o], s:[i, i], s:b}",
        "id", m->fabric->link[link].id,
        "kind", m->fabric->link[link].kind == LINK_HOST ? "host" : "switch",
        "nominal_gbps", gbps (most),
        "offered_gbps", gbps (l->offered[0]), gbps (l->offered[1]),
        "carried_gbps", gbps (l->carried[0]), gbps (l->carried[1]),
        "rounds", (int)l->rounds[0], (int)l->rounds[1],
        "filled", most > 0 && fmax (l->offered[0], l->offered[1])
                                  >= most * (1 - 1e-6));
}

static json_t *finding_json (const struct rates_measured *m,
                             const struct carry_finding *f)
{
    const struct carry_link *l = &m->carry->link[f->link[0]];
    json_t *suspects = json_array ();
    json_t *nodes = json_array ();

    for (size_t i = 0; i < f->nlinks; i++) {
        const char *host = fabric_network (m->fabric)->link[f->link[i]].host;

        json_array_append_new (suspects, json_string (
            m->fabric->link[f->link[i]].id));
        if (host)
            json_array_append_new (nodes, json_string (host));
    }
    return json_pack ("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:f}",
                      "level", "FAIL",
                      "kind", kind (m->fabric, f),
                      "suspects", suspects,
                      "nodes", nodes,
                      "nominal_gbps", gbps (nominal (m->fabric, f->link[0])),
                      "offered_gbps", gbps (l->offered[worse (l)]),
                      "carried_gbps", gbps (l->carried[worse (l)]),
                      "flows", (json_int_t)f->flows,
                      "share", f->share);
}

int rates_json (const struct rates_measured *m, double much, FILE *fp,
                struct error *err)
{
    const struct carry *c = m->carry;
    json_t *links = json_array ();
    json_t *findings = json_array ();
    json_t *limits = json_array ();
    json_t *switches = json_array ();
    json_t *rest = NULL;
    char text[256];
    int rc = 0;

    for (uint32_t l = 0; l < c->nlinks && rc == 0; l++)
        if (is_measured (&c->link[l]))
            rc = json_array_append_new (links, link_json (m, l));
    for (size_t i = 0; i < c->nfindings && rc == 0; i++)
        rc = json_array_append_new (findings,
                                    finding_json (m, &c->finding[i]));
    for (size_t i = 0; i < m->nswitches && rc == 0; i++)
        rc = json_array_append_new (switches, passed_json (m, i));
    for (int i = 0; rc == 0 && limit (m, much, i, text, sizeof (text)); i++)
        rc = json_array_append_new (limits, json_string (text));
    if (rc == 0)
        rest = json_pack (
            "{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:O, s:O, s:O, s:O}",
            "status", verdict_status_name (rates_status (m, much)),
            "length", (json_int_t)m->length,
            "flows", (json_int_t)c->flows,
            "lost", (json_int_t)c->lost,
            "slow", (json_int_t)c->slow,
            "unexplained", (json_int_t)c->unexplained,
            "usual", c->flows > 0 ? json_real (c->usual) : json_null (),
            "findings", findings,
            "limits", limits,
            "switches", switches,
            "links", links);
    json_decref (links);
    json_decref (findings);
    json_decref (limits);
    json_decref (switches);
    return json_write_file ("rates", m->fabric->hash, rest, fp, err);
}

int rates_nominal_text (const struct rates_nominal *n, FILE *fp,
                        struct error *err)
{
    const struct cut *cut = &n->cut;
    char name[NAME_BYTES];

    fprintf (fp, "bisection of %u and %u: at most %.1f Gb/s each way, by"
             " maximum flow; %.1f by these tables, of random pairs\n",
             cut->ports[0], cut->ports[1], cut->most / GIGA,
             cut->effective / GIGA);
    fprintf (fp, "%-16s %8s %13s %10s  of\n", "# switch", "subtrees",
             "hosts, halved", "Gb/s");
    for (size_t i = 0; i < n->nswitches; i++) {
        const struct through *t = &n->sw[i].through;

        switch_name (n->fabric, n->sw[i].node, name);
        fprintf (fp, "%016jx %8zu %6u %6u %10.1f  %s\n",
                 (uintmax_t)n->fabric->node[n->sw[i].node].guid, t->subtrees,
                 t->ports[0], t->ports[1], t->rate / GIGA, name);
    }
    return ferror (fp) ? error_errno (err, "output") : 0;
}

int rates_nominal_json (const struct rates_nominal *n, FILE *fp,
                        struct error *err)
{
    json_t *switches = json_array ();
    json_t *rest = NULL;
    int rc = 0;

    for (size_t i = 0; i < n->nswitches && rc == 0; i++)
        rc = json_array_append_new (switches,
                                    switch_json (n->fabric, &n->sw[i]));
    if (rc == 0)
        rest = json_pack (
            "{s:{s:[i, i], s:o, s:o}, s:O}", "bisection", "halves",
            (int)n->cut.ports[0], (int)n->cut.ports[1], "at_most_gbps",
            gbps (n->cut.most), "effective_gbps", gbps (n->cut.effective),
            "switches", switches);
    json_decref (switches);
    return json_write_file ("rates", n->fabric->hash, rest, fp, err);
}
