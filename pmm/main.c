/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm: one verb per step of the pipeline. */
#include "config.h"

#include "pmm/verb.h"

static const struct verb *const fabric_verbs[] = {
    &verb_fabric_read,
    &verb_fabric_cabling,
    &verb_fabric_diff,
    &verb_fabric_show,
    &verb_fabric_counters,
    &verb_fabric_check,
    &verb_fabric_accept,
    &verb_fabric_generate,
    &verb_fabric_import,
    &verb_fabric_export,
    &verb_fabric_netdisc,
    NULL,
};
static const struct verb fabric = {
    .group = VERBS_FABRIC, .name = "fabric",
    .help = "read, show or generate a fabric snapshot", .verbs = fabric_verbs,
};

/* In each group in this order. */
static const struct verb *const verbs[] = {
#ifdef HAVE_SLURM
    &verb_doctor,
    &verb_setup,
    &verb_check,
#endif
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
    &verb_baseline,
    &verb_audit,
    &verb_policy,
    &verb_why,
#endif
    &verb_report,
#ifdef HAVE_LEDGER
    &verb_ledger,
#endif
    &fabric,
    &verb_path,
    &verb_rates,
    &verb_plan,
    &verb_simulate,
    &verb_solve,
    &verb_judge,
    &verb_confirm,
    NULL,
};

static const struct verb_gone gone[] = {
    { "plan", "links", "plan for the hosts around them, with --hosts" },
    { "plan", "switch", "plan for the hosts around it, with --hosts" },
    { "plan", "separate", "a plan with more hosts resolves more, with --hosts" },
    { "plan", "method=paper", "bench/paper_plan has it" },
    { "plan", "method=paper-first", "bench/paper_plan --first has it" },
    { "judge", "text", "pmm report shows the verdict that --output wrote" },
    { "ledger export", NULL, "pmm ledger show AUDIT --json" },
    { "ledger begin", NULL, "pmm audit begins audits" },
    { "ledger add", NULL, "pmm audit enters results" },
    /* what compares with other programs */
    { "plan", "method", "pmm-compare plan PATTERN", true },
    { "plan", "shuffle", "pmm-compare plan PATTERN --shuffle", true },
    { "simulate", "rate", "pmm-compare simulate --rate", true },
    { "report", "series", "pmm-compare report --series FILE", true },
    { "rates", "series", "pmm-compare rates --series FILE", true },
    { "rates", "plan", "pmm-compare rates --plan FILE", true },
    { "rates", "below", "pmm-compare rates --below SHARE", true },
    { "rates", "graph", "pmm-compare rates --graph TGF", true },
    { "compare", NULL, "pmm-compare compare", true },
    { "export", NULL, "pmm-compare export", true },
    { "infer", NULL, "pmm-compare infer", true },
    { "map", NULL, "pmm-compare map", true },
    { "pattern", NULL, "pmm-compare pattern", true },
    { "series", NULL, "pmm-compare series", true },
    { 0 },
};

static const char *const group_names[VERBS_GROUPS + 1] = {
    [VERBS_SITE] = "Check cables, run a site: pmm-site(1)",
    [VERBS_FABRIC] = "The fabric: pmm-fabric(1)",
    [VERBS_REPLAY] = "A check, replayed or simulated: pmm-replay(1)",
    [VERBS_PLUMBING] = "For scripts and other programs: pmm-plumbing(1)",
};

static const struct verb_command pmm = {
    .name = "pmm", .verbs = verbs, .groups = group_names, .gone = gone,
#ifdef HAVE_LEDGER
    .clear = close_ledger,
#endif
};

int main (int argc, char **argv)
{
    return command_run (&pmm, argc, argv);
}
