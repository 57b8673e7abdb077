/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric check: cables that are wrong according to their ports. */
#include "config.h"


#include "ibquery/links/accepted.h"
#include "ibquery/links/check.h"
#include "ibquery/links/overview.h"
#include "pmm/verb.h"

static struct check_words {
    const char *counters, *since;
} given;

#define FIELD(name) offsetof (struct check_words, name)
static const struct opt options[] = {
    { "counters", 0, "FILE", opt_string, FIELD (counters),
      "the newest reading of the counters" },
    { "since", 0, "FILE", opt_string, FIELD (since),
      "an older reading of the counters" },
    { 0 },
};

static const struct opt_rule rules[] = {
    { "since", OPT_NEEDS, "counters" },
    { 0 },
};

static int run_fabric_check (struct inputs *in)
{
    struct link_check *c = need (check_load (in->fabric, given.counters,
                                             given.since, &fault));
    char *path = verb_keep (accepted_path (in->fabric_path));
    struct accepted accepted;
    int status;

    need_ok (accepted_load (&accepted, path, &fault));
    accepted_apply (&accepted, c, in->fabric);
    accepted_clear (&accepted);
    status = exit_status (check_status (c));
    need_ok (in->json ? check_write (c, in->fabric, inputs_output (in), &fault)
                      : overview_write (in->fabric, c, inputs_output (in),
                                        &fault));
    check_destroy (c);
    return status;
}

/* pmm judge --signs reads its JSON. */
const struct verb verb_fabric_check = {
    .name = "check", .help = "find bad cables by width, speed and counters",
    .needs = TAKES_FABRIC, .may = TAKES_FILES | TAKES_JSON | TAKES_OUTPUT,
    .operands = "[FILE]...", .max = -1,
    .options = options, .given = &given, .rules = rules,
    .run = run_fabric_check,
};
