/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare: what compares with other programs. */
#include "config.h"

#include "compare/cmd/cmd.h"

static const struct verb *const verbs[] = {
    &verb_pattern, &compare_plan, &compare_simulate, &verb_series,
    &verb_compare, &compare_rates, &verb_infer, &verb_map, &compare_report,
    &verb_export, NULL,
};

static const struct verb_gone gone[] = {
    { "series", "format=json", "--json" },
    { "infer", "format=json", "--json" },
    { 0 },
};

static const char *const headings[] = { "", NULL };

static const struct verb_command pmm_compare = {
    .name = "pmm-compare", .verbs = verbs, .groups = headings, .gone = gone,
};

int main (int argc, char **argv)
{
    return command_run (&pmm_compare, argc, argv);
}
