/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric check: cables that are wrong according to their ports. */
#include "config.h"

#include "ibquery/links/check.h"
#include "pmm/verb.h"

static struct check_words {
    const char *counters, *since;
} given;

#define FIELD(name) offsetof (struct check_words, name)
static const struct opt options[] = {
    { "counters", 0, "FILE", opt_string, FIELD (counters),
      "counters that were read last" },
    { "since", 0, "FILE", opt_string, FIELD (since),
      "and those that were read before" },
    { 0 },
};

static int check (const struct inputs *in, struct error *err)
{
    (void)in;
    if (given.since && !given.counters)
        return error_input (err, "--since takes --counters as well");
    return 0;
}

static int run (struct inputs *in, struct error *err)
{
    struct counters *now = NULL, *then = NULL;
    struct link_check *c = NULL;
    int status = -1;
    FILE *fp;

    if ((!given.counters || (now = counters_load (given.counters, err)))
        && (!given.since || (then = counters_load (given.since, err)))
        && (c = check_links (in->fabric, then, now, err))
        && (fp = inputs_output (in, err))
        && (in->json ? check_write : check_write_text) (c, in->fabric, fp, err)
               == 0)
        status = exit_status (check_status (c));
    check_destroy (c);
    counters_destroy (then);
    counters_destroy (now);
    return status;
}

/* pmm judge --signs reads its JSON. */
const struct verb verb_fabric_check = {
    .name = "check",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .options = options, .given = &given, .check = check, .run = run,
};
