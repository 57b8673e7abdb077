/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm rates: what switches and the hosts' halves can carry at most. */
#include "config.h"


#include "core/rate/across.h"
#include "pmm/verb.h"
#include "report/rates.h"

static struct rates_words {
    const char *hosts;
    uint64_t seed;
} given = { .seed = 1 };

#define FIELD(name) offsetof (struct rates_words, name)
static const struct opt options[] = {
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "hosts that could send, " LIST_HELP " (default: all)" },
    { "seed", 0, "N", opt_u64, FIELD (seed),
      "seed of the halves and pairs that are looked at (default: 1)" },
    { 0 },
};

static int run_rates (struct inputs *in)
{
    struct rates_report r = { .fabric = in->fabric };
    double *rate;

    in->ps = inputs_hosts (in->fabric, "hosts", given.hosts, false);
    if (pathset_ports (in->ps) < 2)
        die_input ("one host has no other to send to: name two or more");
    if (!across_known (in->ps))
        die_world ("the snapshot has no link's width and speed: what they can"
                   " carry is not known");
    rate = verb_keep (across_rates (in->ps));
    r.sw = verb_keep (
        need (rates_switches (in->fabric, in->ps, &r.nswitches, &fault)));
    need_ok (cut_find (in->ps, rate, given.seed, &r.cut, &fault));
    need_ok ((in->json ? rates_json : rates_text) (&r, inputs_output (in),
                                                   &fault));
    return EXIT_OK;
}

const struct verb verb_rates = {
    .group = VERBS_FABRIC, .name = "rates",
    .help = "show what switches and halves of the hosts can carry at most",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .options = options, .given = &given, .run = run_rates,
};
