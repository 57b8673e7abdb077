/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm rates: what links carried beside their nominal rates; or, before anything
 * is measured, what switches and the hosts' halves can carry at most.
 */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "compare/throughput/across.h"
#include "compare/throughput/carry.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/inputs.h"
#include "pmm/verb.h"
#include "compare/throughput/rates.h"
#include "util/alloc.h"
#include "util/file.h"

struct options {
    const char *fabric, *plan, *series, *hosts, *output;
    double much;
    uint64_t seed;
    bool json;
};

/* Unless told otherwise; options that say otherwise are refused where they mean
 * nothing.
 */
static const struct options usual = { .much = .2, .seed = 1 };

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan),
      "the flows: of pmm plan --throughput" },
    { "series", 0, "FILE", opt_string, FIELD (series),
      "what they measured: pairs --plan, --exchange both-ways" },
    { "below", 0, "SHARE", opt_double, FIELD (much),
      "with a plan: a flow is slow that lacks this share: 0.2" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "without a plan: the hosts that could send, or @FILE: all" },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "without a plan: of the halves and pairs that are looked at: 1" },
    { "json", 0, NULL, opt_true, FIELD (json), "as JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

static int check_options (const struct options *o, struct error *err)
{
    if (!o->plan != !o->series)
        return error_input (err, "--plan and --series go together");
    if (o->plan && o->hosts)
        return error_input (err, "--hosts goes without a plan, which has its"
                            " own");
    if (o->plan && o->seed != usual.seed)
        return error_input (err, "--seed goes without a plan");
    if (!o->plan && o->much != usual.much)
        return error_input (err, "--below goes with --plan");
    if (o->much <= 0 || o->much >= 1)
        return error_input (err, "--below: not between 0 and 1");
    return o->fabric ? 0 : error_input (err, "-f FABRIC is missing");
}

/* The last run of exchanges both ways at once by the plan, as far as the runs
 * say by what: pairs that were measured again were so alone.
 */
static const struct series *choose_run (const struct series_list *list,
                                        const struct inputs *in,
                                        struct error *err)
{
    const char *method = plan_method (in->plan);
    const char *hash = in->fabric->hash;
    const struct series *s = NULL;

    for (size_t i = 0; i < list->n; i++) {
        const struct series *run = list->run[i];

        if (run->test == SERIES_ASYNC_ONE_TO_ONE
            && (!*run->pattern || strcmp (run->pattern, method) == 0))
            s = run;
    }
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

static struct carry *judge_series (const struct inputs *in,
                                   const struct series *s, double much,
                                   struct error *err)
{
    const struct carry_options opts = { .much = much };
    double *rate = xarray (plan_probes (in->plan), sizeof (*rate));
    struct carry *c = NULL;

    if (measured_rates (s, in->ps, in->plan, rate, err) == 0)
        c = carry_make (in->ps, in->plan, rate, &opts, err);
    free (rate);
    return c;
}

/* Write the report; returns the exit status, or -1 with err. */
static int write_measured (const struct rates_measured *m,
                           const struct options *o, struct error *err)
{
    static const int status[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_WARN] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    if (file_finish (out,
                     (o->json ? rates_json : rates_text) (
                         m, o->much, file_stream (out), err),
                     err) < 0)
        return -1;
    return status[rates_status (m, o->much)];
}

/* The switches that paths of the set cross, with what goes through them at
 * most: the caller's, their number in *n. NULL with err.
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

static int run_measured (const struct options *o, struct error *err)
{
    struct series_list list = { 0 };
    struct rates_measured m = { 0 };
    const struct series *s;
    struct carry *carry = NULL;
    struct rates_switch *sw = NULL;
    struct inputs in;
    size_t n;
    int rc = -1;

    if (inputs_load (&in, o->fabric, o->plan, NULL, err) == 0
        && inputs_series (&list, o->series, err) == 0) {
        if ((s = choose_run (&list, &in, err))
            && (carry = judge_series (&in, s, o->much, err))
            && (sw = find_switches (in.fabric, in.ps, &n, err))) {
            m = (struct rates_measured){
                .fabric = in.fabric,
                .carry = carry,
                .sw = sw,
                .nswitches = n,
                .length = s->length[s->nlengths - 1],
                .complete = s->complete,
            };
            rc = write_measured (&m, o, err);
        }
        else
            error_prefix (err, "%s", o->series);
    }
    carry_destroy (carry);
    free (sw);
    series_list_clear (&list);
    inputs_clear (&in);
    return rc;
}

static int write_nominal (const struct rates_nominal *n,
                          const struct options *o, struct error *err)
{
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    return file_finish (out,
                        (o->json ? rates_nominal_json : rates_nominal_text) (
                            n, file_stream (out), err),
                        err);
}

static struct pathset *find_hosts (const struct fabric *f, const char *hosts,
                                   struct error *err)
{
    struct pathset *ps = inputs_hosts (f, "hosts", hosts, false, err);

    if (!ps)
        return NULL;
    if (pathset_ports (ps) < 2)
        error_input (err, "two hosts or more are wanted: one has nobody to"
                     " send to");
    else if (!across_known (ps))
        error_world (err, "the snapshot has no link's width and speed: what"
                     " they can carry is not known");
    else
        return ps;
    pathset_destroy (ps);
    return NULL;
}

static int run_nominal (const struct options *o, struct error *err)
{
    struct rates_nominal n = { 0 };
    struct fabric *f = fabric_load (o->fabric, err);
    struct pathset *ps = NULL;
    struct rates_switch *sw = NULL;
    double *rate = NULL;
    int rc = -1;

    n.fabric = f;
    if (f && (ps = find_hosts (f, o->hosts, err))
        && (rate = across_rates (ps))
        && (n.sw = sw = find_switches (f, ps, &n.nswitches, err))
        && cut_find (ps, rate, o->seed, &n.cut, err) == 0)
        rc = write_nominal (&n, o, err);
    free (sw);
    free (rate);
    pathset_destroy (ps);
    fabric_destroy (f);
    return rc;
}

int verb_rates (int argc, char **argv)
{
    struct options o = usual;
    struct error err;
    int status, rc = -1;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    if (check_options (&o, &err) == 0)
        rc = o.plan ? run_measured (&o, &err) : run_nominal (&o, &err);
    return rc < 0 ? fail (argv[0], &err) : rc;
}
