/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "report/rates.h"

#include <math.h>
#include <stdlib.h>

#include "core/rate/across.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

#define GIGA 1e9

struct rates_switch *rates_switches (const struct fabric *f,
                                     struct pathset *ps, size_t *n,
                                     struct error *err)
{
    const struct network *net = fabric_network (f);
    bool *used = xcalloc (net->nswitches, sizeof (*used));
    struct rates_switch *sw = xcalloc (net->nswitches, sizeof (*sw));
    double *rate = across_rates (ps);
    size_t m;
    const uint32_t *link = pathset_links (ps, &m, err);
    int rc = link ? 0 : -1;

    *n = 0;
    for (size_t i = 0; rc == 0 && i < m; i++)
        for (int k = 0; k < 2; k++)
            if (net->link[link[i]].end[k] != NETWORK_NONE)
                used[net->link[link[i]].end[k]] = true;
    for (uint32_t i = 0; rc == 0 && i < net->nswitches; i++) {
        if (!used[i])
            continue;
        sw[*n].node = i;
        rc = through_switch (ps, i, rate, &sw[*n].through, err);
        if (!across_known (ps))
            sw[*n].through.rate = 0;
        ++*n;
    }
    free (used);
    free (rate);
    if (rc == 0)
        return sw;
    free (sw);
    return NULL;
}

const char *rates_switch_name (const struct fabric *f, uint32_t node,
                               char buf[RATES_NAME])
{
    snprintf (buf, RATES_NAME, "%s", f->node[node].name);
    return text_clean (buf);
}

/*
 * Text
 */

int rates_text (const struct rates_report *r, FILE *fp, struct error *err)
{
    char name[RATES_NAME];

    fprintf (fp, "bisection of %u and %u: at most %.1f Gb/s each way, by"
             " maximum flow; %.1f by these tables, of random pairs\n",
             r->cut.ports[0], r->cut.ports[1], r->cut.most / GIGA,
             r->cut.effective / GIGA);
    fprintf (fp, "%-16s %8s %13s %10s  of\n", "# switch", "subtrees",
             "hosts, halved", "Gb/s");
    for (size_t i = 0; i < r->nswitches; i++) {
        const struct through *t = &r->sw[i].through;
        uint32_t node = r->sw[i].node;

        fprintf (fp, "%016jx %8zu %6u %6u %10.1f  %s\n",
                 (uintmax_t)r->fabric->node[node].guid, t->subtrees,
                 t->ports[0], t->ports[1], t->rate / GIGA,
                 rates_switch_name (r->fabric, node, name));
    }
    return ferror (fp) ? error_errno (err, "output") : 0;
}

/*
 * JSON
 */

json_t *rates_gbps (double rate)
{
    return rate > 0 ? json_real (round (rate / GIGA * 1000) / 1000)
                    : json_null ();
}

json_t *rates_switches_json (const struct rates_report *r, const double *through)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < r->nswitches; i++) {
        const struct through *t = &r->sw[i].through;
        uint32_t node = r->sw[i].node;
        char guid[17], name[RATES_NAME];
        json_t *json;

        snprintf (guid, sizeof (guid), "%016jx",
                  (uintmax_t)r->fabric->node[node].guid);
        json = json_pack ("{s:s, s:s, s:I, s:[i, i], s:o}", "guid", guid,
                          "name", rates_switch_name (r->fabric, node, name),
                          "subtrees", (json_int_t)t->subtrees, "halves",
                          (int)t->ports[0], (int)t->ports[1], "most_gbps",
                          rates_gbps (t->rate));
        if (through)
            json_put (json, "through_gbps", rates_gbps (through[node]));
        json_add (out, json);
    }
    return out;
}

int rates_json (const struct rates_report *r, FILE *fp, struct error *err)
{
    json_t *rest = json_pack (
        "{s:{s:[i, i], s:o, s:o}, s:o}", "bisection", "halves",
        (int)r->cut.ports[0], (int)r->cut.ports[1], "at_most_gbps",
        rates_gbps (r->cut.most), "effective_gbps",
        rates_gbps (r->cut.effective), "switches", rates_switches_json (r, NULL));

    return json_write_file ("rates", r->fabric->hash, rest, fp, err);
}
