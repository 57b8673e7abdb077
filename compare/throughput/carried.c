/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/throughput/carried.h"

#include <math.h>

#include "util/json.h"
#include "util/text.h"

#define GIGA 1e9

enum { SUSPECTS_SHOWN = 8 };

static double nominal (const struct fabric *f, size_t link)
{
    return fabric_network (f)->link[link].rate;
}

/* Whether the usual rate is far below nominal; false if no rate is known. */
static bool is_low (const struct carried_report *r)
{
    double known = 0;

    for (size_t l = 0; l < r->carry->nlinks; l++)
        known = fmax (known, nominal (r->most.fabric, l));
    return known > 0 && r->carry->usual < 1 - r->much;
}

enum verdict_status carried_status (const struct carried_report *r)
{
    const struct carry *c = r->carry;

    if (c->nfindings > 0)
        return VERDICT_FAIL;
    if (c->lost > 0 || c->flows == 0 || !r->complete)
        return VERDICT_UNKNOWN;
    return c->unexplained > 0 || is_low (r) ? VERDICT_WARN : VERDICT_OK;
}

/* The limits, one sentence each; false after the last one. */
static bool limit (const struct carried_report *r, int i, char *buf, size_t size)
{
    const struct carry *c = r->carry;
    int n = 0;

    if (c->lost > 0 && n++ == i)
        snprintf (buf, size, "%zu of %zu flows were not measured", c->lost,
                  c->lost + c->flows);
    else if (!r->complete && c->lost == 0 && n++ == i)
        snprintf (buf, size, "the series is not complete");
    else if (c->unexplained > 0 && n++ == i)
        snprintf (buf, size, "%s slow, though all links on the way carried"
                  " more at other times", COUNTED (c->unexplained, "flow"));
    else if (is_low (r) && n++ == i)
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

static const char *finding_kind_text (const struct fabric *f,
                                      const struct carry_finding *finding)
{
    for (size_t i = 0; i < finding->nlinks; i++)
        if (f->link[finding->link[i]].kind != LINK_HOST)
            return "switch link";
    return "host end";
}

static bool is_link_measured (const struct carry_link *l)
{
    return l->carried[0] > 0 || l->carried[1] > 0;
}

/* The direction that carried less of its offered rate. */
static int slower_direction (const struct carry_link *l)
{
    if (l->carried[0] == 0 || l->carried[1] == 0)
        return l->carried[0] == 0;
    return l->carried[1] * l->offered[0] < l->carried[0] * l->offered[1];
}

static void ends (const struct fabric *f, uint32_t link, char *a, char *b)
{
    fabric_port_name (f, f->link[link].a, a, RATES_NAME);
    fabric_port_name (f, f->link[link].b, b, RATES_NAME);
    text_clean (a);
    text_clean (b);
}

/*
 * Text
 */

static void print_rate_finding (const struct carried_report *r,
                                const struct carry_finding *f, FILE *fp)
{
    const struct carry_link *l = &r->carry->link[f->link[0]];
    char a[RATES_NAME], b[RATES_NAME];

    fprintf (fp, "pmm: FAIL: %s", finding_kind_text (r->most.fabric, f));
    if (f->nlinks > 1)
        fprintf (fp, ", one of %zu", f->nlinks);
    fprintf (fp, ", carried %.1f", l->carried[slower_direction (l)] / GIGA);
    if (nominal (r->most.fabric, f->link[0]) > 0)
        fprintf (fp, " of %.1f", nominal (r->most.fabric, f->link[0]) / GIGA);
    fprintf (fp, " Gb/s; %s had %.0f %% of the fair share\n",
             COUNTED (f->flows, "slow flow"), 100 * f->share);
    for (size_t i = 0; i < f->nlinks; i++) {
        if (i == SUSPECTS_SHOWN) {
            fprintf (fp, "pmm:   or %zu more, listed in the JSON report\n",
                     f->nlinks - i);
            return;
        }
        ends (r->most.fabric, f->link[i], a, b);
        fprintf (fp, "pmm:   %s%s -- %s  (%s)\n", i > 0 ? "or " : "", a, b,
                 r->most.fabric->link[f->link[i]].id);
    }
}

void carried_print (double rate, FILE *fp)
{
    if (rate > 0)
        fprintf (fp, " %8.1f", rate / GIGA);
    else
        fprintf (fp, " %8s", "-");
}

int carried_text (const struct carried_report *r, FILE *fp, struct error *err)
{
    const struct carry *c = r->carry;
    char text[256], a[RATES_NAME], b[RATES_NAME];

    fprintf (fp, "pmm: %s: %s of %s", verdict_status_name (carried_status (r)),
             COUNTED (c->flows, "flow"), COUNTED (r->length, "byte"));
    if (c->flows > 0)
        fprintf (fp, ", %zu of them slow", c->slow);
    fprintf (fp, "\n");
    for (size_t i = 0; i < c->nfindings; i++)
        print_rate_finding (r, &c->finding[i], fp);
    for (int i = 0; limit (r, i, text, sizeof (text)); i++)
        fprintf (fp, "pmm: %s\n", text);
    fprintf (fp, "%-20s %8s %8s  Gb/s each way, in a round\n", "# switch",
             "halves", "through");
    for (size_t i = 0; i < r->most.nswitches; i++) {
        uint32_t node = r->most.sw[i].node;

        fprintf (fp, "%016jx    ", (uintmax_t)r->most.fabric->node[node].guid);
        carried_print (r->most.sw[i].through.rate, fp);
        carried_print (c->through[node], fp);
        fprintf (fp, "  %s\n", rates_switch_name (r->most.fabric, node, a));
    }
    fprintf (fp, "%-20s %8s %8s %8s %8s %8s  Gb/s, of what was offered\n",
             "# link", "nominal", "there", "of", "back", "of");
    for (uint32_t l = 0; l < c->nlinks; l++) {
        if (!is_link_measured (&c->link[l]))
            continue;
        fprintf (fp, "%-20s", r->most.fabric->link[l].id);
        carried_print (nominal (r->most.fabric, l), fp);
        for (int way = 0; way < 2; way++) {
            carried_print (c->link[l].carried[way], fp);
            carried_print (c->link[l].offered[way], fp);
        }
        ends (r->most.fabric, l, a, b);
        fprintf (fp, "  %s -- %s\n", a, b);
    }
    return ferror (fp) ? error_errno (err, "output") : 0;
}

/*
 * JSON
 */

static json_t *carried_links_json (const struct carried_report *r)
{
    json_t *out = json_array ();

    for (uint32_t i = 0; i < r->carry->nlinks; i++) {
        const struct carry_link *l = &r->carry->link[i];
        const struct fabric_link *of = &r->most.fabric->link[i];
        double most = nominal (r->most.fabric, i);

        if (!is_link_measured (l))
            continue;
        json_add (out, json_pack (
            "{s:s, s:s, s:o, s:[o, o], s:[o, o], s:[i, i], s:b}",
            "id", of->id,
            "kind", of->kind == LINK_HOST ? "host" : "switch",
            "nominal_gbps", rates_gbps (most),
            "offered_gbps", rates_gbps (l->offered[0]),
            rates_gbps (l->offered[1]),
            "carried_gbps", rates_gbps (l->carried[0]),
            rates_gbps (l->carried[1]),
            "rounds", (int)l->rounds[0], (int)l->rounds[1],
            "filled", most > 0 && fmax (l->offered[0], l->offered[1])
                                      >= most * (1 - 1e-6)));
    }
    return out;
}

static json_t *carried_findings_json (const struct carried_report *r)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < r->carry->nfindings; i++) {
        const struct carry_finding *f = &r->carry->finding[i];
        const struct carry_link *l = &r->carry->link[f->link[0]];
        json_t *suspects = json_array ();
        json_t *nodes = json_array ();

        for (size_t k = 0; k < f->nlinks; k++) {
            uint32_t link = f->link[k];
            const char *host = fabric_network (r->most.fabric)->link[link].host;

            json_add (suspects, json_string (r->most.fabric->link[link].id));
            if (host)
                json_add (nodes, json_string (host));
        }
        json_add (out, json_pack (
            "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:f}",
            "level", "FAIL",
            "kind", finding_kind_text (r->most.fabric, f),
            "suspects", suspects,
            "nodes", nodes,
            "nominal_gbps", rates_gbps (nominal (r->most.fabric, f->link[0])),
            "offered_gbps", rates_gbps (l->offered[slower_direction (l)]),
            "carried_gbps", rates_gbps (l->carried[slower_direction (l)]),
            "flows", (json_int_t)f->flows,
            "share", f->share));
    }
    return out;
}

int carried_json (const struct carried_report *r, FILE *fp, struct error *err)
{
    const struct carry *c = r->carry;
    json_t *limits = json_array (), *rest;
    char text[256];

    for (int i = 0; limit (r, i, text, sizeof (text)); i++)
        json_add (limits, json_string (text));
    rest = json_pack (
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
        "status", verdict_status_name (carried_status (r)),
        "length", (json_int_t)r->length,
        "flows", (json_int_t)c->flows,
        "lost", (json_int_t)c->lost,
        "slow", (json_int_t)c->slow,
        "unexplained", (json_int_t)c->unexplained,
        "usual", c->flows > 0 ? json_real (c->usual) : json_null (),
        "findings", carried_findings_json (r),
        "limits", limits,
        "switches", rates_switches_json (&r->most, c->through),
        "links", carried_links_json (r));
    return json_write_file ("rates", r->most.fabric->hash, rest, fp, err);
}
