/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare simulate: the series that a plan of flows would measure. */
#include "config.h"

#include <string.h>

#include "compare/cmd/cmd.h"
#include "compare/throughput/measured.h"
#include "core/rate/across.h"
#include "core/rate/carry.h"

enum { MESSAGE_BYTES = 1 << 20 }; /* of a flow */

#define GBPS_MIN 1e-6
#define GBPS_MAX 1e5

static struct strings given_rates;

static const struct opt options[] = {
    { "rate", 0, "LINK=GBPS", opt_append, 0,
      "limit the rate of a link; may be given several times" },
    { 0 },
};

/* LINK=GBPS: the true rate of the link. */
static void set_rate (const struct fabric *f, const char *word, double *rate)
{
    const char *equals = strrchr (word, '=');
    double gbps;
    uint32_t link;
    char *name;

    if (!equals || text_double (equals + 1, GBPS_MIN, GBPS_MAX, &gbps) < 0)
        die_input ("--rate %.80s: expected LINK=GBPS", word);
    name = verb_text ("%.*s", (int)(equals - word), word);
    link = fabric_find_link (f, name);
    if (link == FABRIC_NONE)
        die_input ("--rate %.80s: no such link", word);
    rate[link] = gbps * 1e9;
}

/* The series of max-min fair rates. */
static int run_compare_simulate (struct inputs *in)
{
    double *rate = verb_array (plan_probes (in->plan), sizeof (*rate));
    double *link = verb_keep (across_rates (in->ps));
    struct series *s;

    if (!plan_rules (plan_method (in->plan))->flows)
        die_input ("no plan of flows: pmm plan --throughput makes these");
    if (!across_known (in->ps))
        die_input ("the snapshot has no link's width and speed, which flows "
                   "could have");
    for (size_t i = 0; i < given_rates.n; i++)
        set_rate (in->fabric, given_rates.v[i], link);
    need_ok (carry_simulate (in->ps, in->plan, link, rate, &fault));
    s = need (measured_series (in->ps, in->plan, rate, MESSAGE_BYTES, &fault));
    need_ok (series_write (s, inputs_output (in), &fault));
    series_destroy (s);
    return EXIT_OK;
}

const struct verb compare_simulate = {
    .name = "simulate",
    .help = "simulate the series that a plan of flows would measure",
    .needs = TAKES_FABRIC | TAKES_PLAN, .may = TAKES_OUTPUT, .options = options,
    .given = &given_rates, .run = run_compare_simulate,
};
