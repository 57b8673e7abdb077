/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm audit: measure nodes by a job of our own, and write the result to the
 * ledger.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "prolog/audit/audit.h"
#include "prolog/serve/serve.h"
#include "prolog/slurm/controller.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"
#include "util/terminal.h"

enum { SIZE = 64 };

static struct audit_words {
    const char *hosts;
    int size;
    bool idle, all, drained, serve, once;
} given = { .size = SIZE };

#define FIELD(name) offsetof (struct audit_words, name)
static const struct opt options[] = {
    { "hosts", 'w', "LIST", opt_string, FIELD (hosts),
      "audit these nodes, " LIST_HELP },
    { "idle", 0, NULL, opt_true, FIELD (idle),
      "audit the idle nodes, in one audit" },
    { "all", 0, NULL, opt_true, FIELD (all),
      "audit all idle nodes, --size of them at a time" },
    { "drained", 0, NULL, opt_true, FIELD (drained),
      "audit the nodes that slurm-pmm drained, with idle partners" },
    { "size", 0, "N", opt_int, FIELD (size),
      "number of nodes in each audit of --all or --drained (default: 64)",
      AUDIT_NODES_MIN,
      AUDIT_NODES_MAX },
    { "serve", 0, NULL, opt_true, FIELD (serve),
      "run the audit service: audit nodes of ended jobs, drain and resume" },
    { "once", 0, NULL, opt_true, FIELD (once),
      "with --serve: do what is due, then end" },
    { 0 },
};
static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "hosts idle all drained serve" },
    { "hosts idle all drained serve", OPT_EXCLUDES, NULL },
    { "size", OPT_NEEDS, "all drained" },
    { "once", OPT_NEEDS, "serve" },
    { "serve", OPT_EXCLUDES, "json" },
    { 0 },
};

/* State of a run of the verb. */
struct auditing {
    const struct site *site;
    const char *conf;       /* absolute, for pmm-probe; NULL: default */
    struct hostlist nodes;
    const volatile sig_atomic_t *stop;
};

/* Add idle partners after the drained nodes, until the audit has --size nodes,
 * but at least as many partners as drained nodes.
 */
static void add_partners (struct auditing *w)
{
    struct hostlist *to = &w->nodes, from = { 0 };
    size_t size = (size_t)given.size;

    if (size < 2 * to->count)
        size = 2 * to->count;
    if (to->count == 0)
        die_world ("no node was drained by slurm-pmm: nothing to measure");
    need_ok (controller_idle (&from, w->site->audit_partition, &fault));
    to->name = xrealloc (to->name, size, sizeof (*to->name));
    while (from.count > 0 && to->count < size)
        to->name[to->count++] = from.name[--from.count];
    hostlist_clear (&from);
}

static void prepare_audit (struct auditing *w, struct inputs *in)
{
    w->site = verb_site (w->conf, true);
    in->fabric = need (fabric_load_trusted (w->site->snapshot, geteuid (),
                                            &fault));
    in->ledger = need (ledger_open (w->site->ledger, LEDGER_CREATE, &fault));
    if (given.hosts)
        w->nodes = inputs_hostlist ("hosts", given.hosts, CONTROLLER_NODES_MAX);
    else if (given.drained) {
        need_ok (controller_drained (&w->nodes, &fault));
        add_partners (w);
    }
    else
        need_ok (controller_idle (&w->nodes, w->site->audit_partition, &fault));
}

static void print_audit_result (struct inputs *in, const struct audit_result *r,
                                bool measured)
{
    const char *status = verdict_status_name (r->status);
    const char *shown = terminal_level (status);

    if (in->json)
        need_ok (json_write_file (
            "audit", NULL,
            r->id > 0 ? need (ledger_audit (in->ledger, r->id, &fault))
                      : json_pack ("{s:n, s:s, s:s}", "id", "status", status,
                                   "sentence", r->sentence),
            stdout, &fault));
    else if (r->id > 0)
        printf ("audit %jd %s %s%s\n", (intmax_t)r->id, shown,
                measured ? "" : "not measured: ", r->sentence);
    else
        printf ("not audited: %s\n", r->sentence);
}

/* The fewest audits with at most this many nodes each, all of about equal size.
 * Return the worst exit status: EXIT_FAIL, then EXIT_WORLD.
 */
static int run_all (struct auditing *w, struct inputs *in)
{
    size_t n = w->nodes.count;
    size_t size = given.all ? (size_t)given.size : AUDIT_NODES_MAX;
    size_t audits = n > 0 ? (n + size - 1) / size : 1;
    struct audit audit = {
        .site = w->site, .conf = w->conf, .ledger = in->ledger,
        .fabric = in->fabric, .stop = w->stop, .report = stderr,
        .anyway = given.hosts || given.drained, .cause.why = LEDGER_BY_HAND,
    };
    int worst = EXIT_OK;

    for (size_t i = 0; i < audits && !*w->stop; i++) {
        size_t first = i * n / audits;
        struct audit_result result;
        int rc;

        audit.node = (const char *const *)w->nodes.name + first;
        audit.n = (i + 1) * n / audits - first;
        rc = need_ok (audit_run (&audit, &result, &fault));
        print_audit_result (in, &result, rc == 1);
        ledger_forget (in->ledger);
        if (exit_status (result.status) != EXIT_OK && worst != EXIT_FAIL)
            worst = exit_status (result.status);
    }
    return worst;
}

static int run_audit (struct inputs *in)
{
    struct auditing w = { 0 };
    char conf[PATH_MAX];
    int status;

    if (in->conf && !realpath (in->conf, conf))
        need_ok (error_errno (&fault, "%s", in->conf));
    w.conf = in->conf ? conf : NULL;
    if (given.serve)
        terminal_end (); /* it has a log */
    if (given.serve)
        return need_ok (serve (w.conf, given.once, stderr, &fault));
    w.stop = verb_stop ();
    prepare_audit (&w, in);
    status = run_all (&w, in);
    hostlist_clear (&w.nodes);
    return status;
}

const struct verb verb_audit = {
    .group = VERBS_SITE, .name = "audit",
    .help = "measure nodes by a job of its own, or run the audit service",
    .may = TAKES_CONF | TAKES_JSON | TAKES_COLOUR,
    .options = options, .given = &given, .rules = rules, .run = run_audit,
};
