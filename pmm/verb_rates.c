/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm rates: what links carried compared with their nominal rates; or, without
 * a measurement, what switches and the hosts' halves can carry at most.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/carry.h"
#include "compare/throughput/rates.h"
#include "pmm/verb.h"
#include "util/alloc.h"

#define MUCH .2
enum { SEED = 1 };

static struct rates_words {
    const char *series, *hosts;
    double much;
    uint64_t seed;
} given = { .much = MUCH, .seed = SEED };

#define FIELD(name) offsetof (struct rates_words, name)
static const struct opt options[] = {
    { "series", 0, "FILE", opt_string, FIELD (series),
      "what the flows of --plan measured: pairs --plan, --exchange both-ways" },
    { "below", 0, "SHARE", opt_double, FIELD (much),
      "with a plan: a flow is slow that lacks this share (default: 0.2)" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "without a plan: the hosts that could send, or @FILE (default: all)" },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "without a plan: of the halves and pairs that are looked at"
      " (default: 1)" },
    { 0 },
};

/* Options without an effect are an error. */
static int check (const struct inputs *in, struct error *err)
{
    if (!in->plan_path != !given.series)
        return error_input (err, "--plan and --series go together");
    if (in->plan_path && given.hosts)
        return error_input (err, "--hosts goes without a plan, which has its"
                            " own");
    if (in->plan_path && given.seed != SEED)
        return error_input (err, "--seed goes without a plan");
    if (!in->plan_path && given.much != MUCH)
        return error_input (err, "--below goes with --plan");
    if (given.much <= 0 || given.much >= 1)
        return error_input (err, "--below: not between 0 and 1");
    return 0;
}

/* The last run of exchanges in both directions at once that used the plan, as
 * far as the runs name their method. Pairs that were measured again were
 * measured alone, so such runs do not count.
 */
static const struct series *choose_run (const struct series_list *list,
                                        const struct inputs *in,
                                        struct error *err)
{
    const char *method = plan_method (in->plan);
    const char *hash = in->fabric->hash;
    const struct series *s = NULL;

    for (size_t i = 0; i < list->n; i++)
        if (list->run[i]->test == SERIES_ASYNC_ONE_TO_ONE
            && (!*list->run[i]->pattern
                || strcmp (list->run[i]->pattern, method) == 0))
            s = list->run[i];
    if (!s)
        error_input (err, "no run of exchanges both ways at once by a plan of"
                     " method %s", method);
    else if (*s->fabric && strcmp (s->fabric, hash) != 0) {
        error_input (err, "measured in another fabric (%.64s, this one is"
                     " %.64s)", s->fabric, hash);
        s = NULL;
    }
    return s;
}

/* The switches that the set's paths cross, with the most that each can carry.
 * The caller frees the list; *n: its length. NULL with err.
 */
static struct rates_switch *find_switches (const struct fabric *f,
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

static int run_measured (struct inputs *in, struct error *err)
{
    struct rates_report m = { .fabric = in->fabric, .much = given.much };
    double *rate = xcalloc (plan_probes (in->plan), sizeof (*rate));
    struct series_list list = { 0 };
    const struct series *s;
    struct carry *carry = NULL;
    struct rates_switch *sw = NULL;
    int status = -1;
    FILE *fp;

    if (inputs_series (&list, given.series, err) < 0)
        goto out;
    if (!(s = choose_run (&list, in, err))
        || measured_rates (s, in->ps, in->plan, rate, err) < 0
        || !(m.carry = carry = carry_make (in->ps, in->plan, rate, given.much,
                                          err))
        || !(m.sw = sw = find_switches (in->fabric, in->ps, &m.nswitches,
                                        err)))
        error_prefix (err, "%s", given.series);
    else if ((fp = inputs_output (in, err))) {
        m.length = s->length[s->nlengths - 1];
        m.complete = s->complete;
        if ((in->json ? rates_json : rates_text) (&m, fp, err) == 0)
            status = exit_status (rates_status (&m));
    }
out:
    carry_destroy (carry);
    free (sw);
    free (rate);
    series_list_clear (&list);
    return status;
}

static int run_nominal (struct inputs *in, struct error *err)
{
    struct rates_report n = { .fabric = in->fabric };
    struct rates_switch *sw = NULL;
    double *rate;
    FILE *fp;
    int rc = -1;

    if (!(in->ps = inputs_hosts (in->fabric, "hosts", given.hosts, false,
                                 err)))
        return -1;
    if (pathset_ports (in->ps) < 2)
        return error_input (err, "two hosts or more are wanted: one has nobody"
                            " to send to");
    if (!across_known (in->ps))
        return error_world (err, "the snapshot has no link's width and speed:"
                            " what they can carry is not known");
    rate = across_rates (in->ps);
    if ((n.sw = sw = find_switches (in->fabric, in->ps, &n.nswitches, err))
        && cut_find (in->ps, rate, given.seed, &n.cut, err) == 0
        && (fp = inputs_output (in, err)))
        rc = (in->json ? rates_json : rates_text) (&n, fp, err);
    free (sw);
    free (rate);
    return rc;
}

static int run (struct inputs *in, struct error *err)
{
    return in->plan ? run_measured (in, err) : run_nominal (in, err);
}

const struct verb verb_rates = {
    .name = "rates", .help = "what links carried, and their nominal rates",
    .needs = TAKES_FABRIC, .may = TAKES_PLAN | TAKES_JSON | TAKES_OUTPUT,
    .options = options, .given = &given, .check = check, .run = run,
};
