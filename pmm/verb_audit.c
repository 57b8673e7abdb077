/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm audit: measure nodes by a job of our own, and write the result to the
 * ledger.
 */
#include "config.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "prolog/audit/audit.h"
#include "prolog/serve/serve.h"
#include "prolog/slurm/controller.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"

enum { SIZE = 64 };

static struct audit_words {
    const char *nodes;
    int size;
    bool idle, all, drained, serve, once;
} given = { .size = SIZE };

#define FIELD(name) offsetof (struct audit_words, name)
static const struct opt options[] = {
    { "nodes", 'w', "LIST", opt_string, FIELD (nodes), "audit these nodes" },
    { "idle", 0, NULL, opt_true, FIELD (idle), "audit those that are idle" },
    { "all", 0, NULL, opt_true, FIELD (all),
      "all that are idle, in many audits" },
    { "drained", 0, NULL, opt_true, FIELD (drained),
      "those that we drained, with idle partners" },
    { "size", 0, "N", opt_int, FIELD (size),
      "nodes of an audit of --all or --drained (default: 64)" },
    { "serve", 0, NULL, opt_true, FIELD (serve),
      "be the audit service: audit jobs that end, act on what is found" },
    { "once", 0, NULL, opt_true, FIELD (once),
      "with --serve: do what is due, and end" },
    { 0 },
};
#undef FIELD

static volatile sig_atomic_t stopped;

static void stop (int sig)
{
    stopped = sig;
}

static void catch_signals (void)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
    struct sigaction action = { .sa_handler = stop };

    for (size_t i = 0; i < sizeof (signals) / sizeof (signals[0]); i++)
        sigaction (signals[i], &action, NULL);
}

/* State of a run of the verb. */
struct auditing {
    bool json;
    struct site site;
    char conf[PATH_MAX];    /* absolute, for pmm-probe; "": default */
    struct fabric *fabric;
    struct ledger *ledger;
    struct hostlist nodes, partners;
    int status;             /* exit status */
};

/* Add idle partners after the drained nodes, until the audit has --size nodes,
 * but at least as many partners as drained nodes.
 */
static int add_partners (struct auditing *w, struct error *err)
{
    struct hostlist *to = &w->nodes, *from = &w->partners;
    size_t size = (size_t)given.size;

    if (size < 2 * to->count)
        size = 2 * to->count;
    if (to->count == 0)
        return error_world (err, "no node is drained by us and to be measured");
    if (controller_idle (from, w->site.audit_partition, err) < 0)
        return -1;
    to->name = xrealloc (to->name, size, sizeof (*to->name));
    while (from->count > 0 && to->count < size)
        to->name[to->count++] = from->name[--from->count];
    return 0;
}

static int find_nodes (struct auditing *w, struct error *err)
{
    if (given.nodes)
        return hostlist_parse (&w->nodes, given.nodes, CONTROLLER_NODES_MAX,
                               err);
    if (given.drained)
        return controller_drained (&w->nodes, err) < 0
                       || add_partners (w, err) < 0
                   ? -1
                   : 0;
    return controller_idle (&w->nodes, w->site.audit_partition, err);
}

static int prepare (struct auditing *w, struct error *err)
{
    if (!!given.nodes + given.idle + given.all + given.drained != 1
        || given.once)
        return error_input (err, "one of --nodes, --idle, --all, --drained and "
                                 "--serve is wanted");
    if (given.size < AUDIT_NODES_MIN || given.size > AUDIT_NODES_MAX)
        return error_input (err, "--size: %d to %d is wanted",
                            AUDIT_NODES_MIN, AUDIT_NODES_MAX);
    if (site_read (&w->site, *w->conf ? w->conf : NULL, 1, err) < 0
        || !(w->fabric = fabric_load_trusted (w->site.snapshot, geteuid (),
                                              NULL, err))
        || !(w->ledger = ledger_open (w->site.ledger, LEDGER_CREATE, err)))
        return -1;
    return find_nodes (w, err);
}

static int print_json (struct auditing *w, const struct audit_result *r,
                       struct error *err)
{
    json_t *audit = r->id > 0
                        ? ledger_audit (w->ledger, r->id, err)
                        : json_pack ("{s:n, s:s, s:s}", "id", "status",
                                     verdict_status_name (r->status),
                                     "sentence", r->sentence);

    return audit ? json_write_file ("audit", NULL, audit, stdout, err) : -1;
}

static int print (struct auditing *w, const struct audit_result *r, bool measured,
                  struct error *err)
{
    if (w->json)
        return print_json (w, r, err);
    if (r->id > 0)
        printf ("audit %jd %s %s%s\n", (intmax_t)r->id,
                verdict_status_name (r->status),
                measured ? "" : "not measured: ", r->sentence);
    else
        printf ("not audited: %s\n", r->sentence);
    return 0;
}

/* The exit status for several audits is that of the worst: FAIL, then UNKNOWN.
 */
static void take_status (struct auditing *w, enum verdict_status status)
{
    if (status == VERDICT_FAIL)
        w->status = EXIT_FAIL;
    else if (status == VERDICT_UNKNOWN && w->status != EXIT_FAIL)
        w->status = EXIT_WORLD;
}

static int run_one (struct auditing *w, char **node, size_t n, struct error *err)
{
    struct audit audit = {
        .site = &w->site,
        .conf = *w->conf ? w->conf : NULL,
        .ledger = w->ledger,
        .fabric = w->fabric,
        .stop = &stopped,
        .report = stderr,
    };
    struct audit_request request = {
        .node = (const char *const *)node,
        .n = n,
        .anyway = given.nodes || given.drained,
        .cause.why = LEDGER_BY_HAND,
    };
    struct audit_result result;
    int rc = audit_run (&audit, &request, &result, err);

    if (rc < 0)
        return -1;
    take_status (w, result.status);
    return print (w, &result, rc == 1, err);
}

/* The fewest audits with at most this many nodes each, all of about equal size.
 */
static int run_all (struct auditing *w, struct error *err)
{
    size_t n = w->nodes.count;
    size_t size = given.all ? (size_t)given.size : AUDIT_NODES_MAX;
    size_t audits = n > 0 ? (n + size - 1) / size : 1;

    for (size_t i = 0; i < audits && !stopped; i++) {
        size_t first = i * n / audits;
        size_t last = (i + 1) * n / audits;

        if (run_one (w, w->nodes.name + first, last - first, err) < 0)
            return -1;
    }
    return 0;
}

static int run_service (const struct inputs *in, const char *conf,
                        struct error *err)
{
    const struct serve_options service = {
        .conf = *conf ? conf : NULL,
        .once = given.once,
    };

    if (given.nodes || given.idle || given.all || given.drained || in->json)
        return error_input (err, "--serve goes with --conf and --once only");
    return serve (&service, stderr, err);
}

static int run (struct inputs *in, struct error *err)
{
    struct auditing w = { .json = in->json, .status = EXIT_OK };

    if (in->conf && !realpath (in->conf, w.conf))
        return error_errno (err, "%s", in->conf);
    if (given.serve)
        return run_service (in, w.conf, err);
    catch_signals ();
    if (prepare (&w, err) < 0 || run_all (&w, err) < 0)
        w.status = -1;
    hostlist_clear (&w.nodes);
    hostlist_clear (&w.partners);
    ledger_close (w.ledger);
    fabric_destroy (w.fabric);
    site_clear (&w.site);
    return w.status;
}

const struct verb verb_audit = {
    .name = "audit",
    .help = "measure nodes by a job of our own",
    .may = TAKES_CONF | TAKES_JSON,
    .options = options,
    .given = &given,
    .run = run,
};
