/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm audit: measure nodes by a job of our own, and enter it in the ledger. */
#include "config.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/verb.h"
#include "prolog/audit/audit.h"
#include "prolog/serve/serve.h"
#include "prolog/slurm/controller.h"
#include "util/json.h"
#include "util/site.h"
#include "util/text.h"

enum { SIZE = 64 };

struct options {
    const char *conf, *nodes;
    int size;
    bool idle, all, drained, json, serve, once;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "nodes", 'w', "LIST", opt_string, FIELD (nodes), "audit these nodes" },
    { "idle", 0, NULL, opt_true, FIELD (idle), "audit those that are idle" },
    { "all", 0, NULL, opt_true, FIELD (all),
      "all that are idle, in many audits" },
    { "drained", 0, NULL, opt_true, FIELD (drained),
      "those that we drained, with idle partners" },
    { "size", 0, "N", opt_int, FIELD (size),
      "nodes of an audit of --all or --drained: 64" },
    { "json", 0, NULL, opt_true, FIELD (json), "as the ledger has it" },
    { "serve", 0, NULL, opt_true, FIELD (serve),
      "be the audit service: audit jobs that end, act on what is found" },
    { "once", 0, NULL, opt_true, FIELD (once),
      "with --serve: do what is due, and end" },
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "take this for pmm.conf" },
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

/* What a run of the verb holds. */
struct work {
    const struct options *o;
    struct site site;
    char conf[PATH_MAX];    /* absolute, for pmm-probe */
    struct fabric *fabric;
    struct ledger *ledger;
    struct hostlist nodes, partners;
    int status;             /* to exit with */
};

/* Behind the drained ones as many partners as make an audit full, and no fewer
 * than these.
 */
static int add_partners (struct work *w, struct error *err)
{
    struct hostlist *to = &w->nodes, *from = &w->partners;
    size_t size = (size_t)w->o->size;
    char **name;

    if (size < 2 * to->count)
        size = 2 * to->count;
    if (to->count == 0)
        return error_world (err, "no node is drained by us and to be measured");
    if (controller_idle (from, w->site.audit_partition, err) < 0)
        return -1;
    if (!(name = realloc (to->name, size * sizeof (*name))))
        return error_nomem (err);
    to->name = name;
    while (from->count > 0 && to->count < size)
        to->name[to->count++] = from->name[--from->count];
    return 0;
}

static int find_nodes (struct work *w, struct error *err)
{
    if (w->o->nodes)
        return hostlist_parse (&w->nodes, w->o->nodes, CONTROLLER_NODES_MAX,
                               err);
    if (w->o->drained)
        return controller_drained (&w->nodes, err) < 0
                       || add_partners (w, err) < 0
                   ? -1
                   : 0;
    return controller_idle (&w->nodes, w->site.audit_partition, err);
}

static int prepare (struct work *w, struct error *err)
{
    const struct options *o = w->o;

    if (!!o->nodes + o->idle + o->all + o->drained != 1 || o->once)
        return error_input (err, "one of --nodes, --idle, --all, --drained and "
                                 "--serve is wanted");
    if (o->size < AUDIT_NODES_MIN || o->size > AUDIT_NODES_MAX)
        return error_input (err, "--size: %d to %d is wanted",
                            AUDIT_NODES_MIN, AUDIT_NODES_MAX);
    if (o->conf && !realpath (o->conf, w->conf))
        return error_errno (err, "%s", o->conf);
    if (site_read (&w->site, o->conf, 1, err) < 0
        || !(w->fabric = fabric_load_trusted (w->site.snapshot, geteuid (),
                                              NULL, err))
        || !(w->ledger = ledger_open (w->site.ledger, LEDGER_CREATE, err)))
        return -1;
    return find_nodes (w, err);
}

static int print_json (struct work *w, const struct audit_result *r,
                       struct error *err)
{
    json_t *line = json_file ("audit", NULL);
    json_t *audit = r->id > 0
                        ? ledger_audit (w->ledger, r->id, err)
                        : json_pack ("{s:n, s:s, s:s}", "id", "status",
                                     verdict_status_name (r->status),
                                     "sentence", r->sentence);
    int rc = -1;

    if (audit && line && json_object_update (line, audit) == 0)
        rc = json_write (line, stdout, err);
    else if (audit)
        error_nomem (err);
    json_decref (line);
    json_decref (audit);
    return rc;
}

static int print (struct work *w, const struct audit_result *r, bool measured,
                  struct error *err)
{
    if (w->o->json)
        return print_json (w, r, err);
    if (r->id > 0)
        printf ("audit %jd %s %s%s\n", (intmax_t)r->id,
                verdict_status_name (r->status),
                measured ? "" : "not measured: ", r->sentence);
    else
        printf ("not audited: %s\n", r->sentence);
    return 0;
}

/* What the verb exits with for many is that of the worst: FAIL, then UNKNOWN.
 */
static void take_status (struct work *w, enum verdict_status status)
{
    if (status == VERDICT_FAIL)
        w->status = EXIT_FAIL;
    else if (status == VERDICT_UNKNOWN && w->status != EXIT_FAIL)
        w->status = EXIT_WORLD;
}

static int run_one (struct work *w, char **node, size_t n, struct error *err)
{
    struct audit audit = {
        .site = &w->site,
        .conf = w->o->conf ? w->conf : NULL,
        .ledger = w->ledger,
        .fabric = w->fabric,
        .stop = &stopped,
        .report = stderr,
    };
    struct audit_request request = {
        .node = (const char *const *)node,
        .n = n,
        .anyway = w->o->nodes || w->o->drained,
        .cause.why = LEDGER_BY_HAND,
    };
    struct audit_result result;
    int rc = audit_run (&audit, &request, &result, err);

    if (rc < 0)
        return -1;
    take_status (w, result.status);
    return print (w, &result, rc == 1, err);
}

/* As few audits as hold so many nodes each, all of about the same size. */
static int run_all (struct work *w, struct error *err)
{
    size_t n = w->nodes.count;
    size_t size = w->o->all ? (size_t)w->o->size : AUDIT_NODES_MAX;
    size_t audits = n > 0 ? (n + size - 1) / size : 1;

    for (size_t i = 0; i < audits && !stopped; i++) {
        size_t first = i * n / audits;
        size_t last = (i + 1) * n / audits;

        if (run_one (w, w->nodes.name + first, last - first, err) < 0)
            return -1;
    }
    return 0;
}

static int run_service (const struct options *o, struct error *err)
{
    char conf[PATH_MAX];
    const struct serve_options options = {
        .conf = o->conf ? conf : NULL,
        .once = o->once,
    };

    if (o->nodes || o->idle || o->all || o->drained || o->json)
        return error_input (err, "--serve goes with --conf and --once only");
    if (o->conf && !realpath (o->conf, conf))
        return error_errno (err, "%s", o->conf);
    return serve (&options, stderr, err);
}

int verb_audit (int argc, char **argv)
{
    struct options o = { .size = SIZE };
    struct work w = { .o = &o, .status = EXIT_OK };
    struct error err;
    int status;

    if (options_parse (table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    if (o.serve)
        return run_service (&o, &err) < 0 ? fail (argv[0], &err) : EXIT_OK;
    catch_signals ();
    if (prepare (&w, &err) < 0 || run_all (&w, &err) < 0)
        w.status = fail (argv[0], &err);
    hostlist_clear (&w.nodes);
    hostlist_clear (&w.partners);
    ledger_close (w.ledger);
    fabric_destroy (w.fabric);
    site_clear (&w.site);
    return w.status;
}
