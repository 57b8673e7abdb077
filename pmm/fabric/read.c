/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read: make a snapshot of the live fabric. */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "ibquery/snapshot.h"
#if HAVE_UMAD
#include "ibquery/read/discover.h"
#include "ibquery/read/netdisc.h"
#include "pmm/fabric/live.h"
#include "pmm/fabric/publish.h"
#endif
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "pmm/inputs.h"
#include "util/text.h"

#if HAVE_UMAD
struct read_options {
    struct live_options live;
    const char *output, *hosts, *hint, *conf;
    bool publish;
};

#define FIELD(name) offsetof (struct read_options, name)
static const struct opt read_table[] = {
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the snapshot here, not to standard output" },
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "only what these hosts' messages use, node[01-16] or @FILE" },
    { "hint", 0, "FILE", opt_string, FIELD (hint),
      "a snapshot that may still know where they are" },
    { "publish", 0, NULL, opt_true, FIELD (publish),
      "keep the site's snapshot fresh: read where a look sees a change" },
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "the pmm.conf that says where that is" },
    LIVE_OPTIONS (struct read_options, live),
    { 0 },
};
#undef FIELD

static struct fabric *read_fabric (const struct live_options *o,
                                   const struct reach_hosts *hosts,
                                   struct error *err)
{
    struct discover_options opts = {
        .hosts = hosts,
        .ca = o->ca,
        .port = o->port,
    };
    struct mads_counts counts;
    struct fabric *f;

    if (live_mads (o, &opts.mads, err) < 0)
        return NULL;
    f = discover (&opts, &counts, err);
    if (f)
        live_report (o, counts);
    return f;
}

static struct fabric *read_part (const struct read_options *o,
                                 struct error *err)
{
    struct hostlist hl = { 0 };
    struct reach_hosts hosts = { 0 };
    struct fabric *f = NULL, *hint = NULL;
    char *text = inputs_text (o->hosts, err);

    if (!text || hostlist_parse (&hl, text, FABRIC_MAX_LID, err) < 0)
        error_prefix (err, "--hosts");
    else if (hl.count == 0)
        error_input (err, "--hosts names nobody");
    else if (!o->hint || (hint = fabric_load (o->hint, err))) {
        hosts.name = (const char *const *)hl.name;
        hosts.n = hl.count;
        hosts.hint = hint;
        f = read_fabric (&o->live, &hosts, err);
    }
    fabric_destroy (hint);
    hostlist_clear (&hl);
    free (text);
    return f;
}

static int check_options (const struct read_options *o, struct error *err)
{
    if (o->hint && !o->hosts)
        return error_input (err, "--hint goes with --hosts");
    if (o->publish && (o->hosts || o->output))
        return error_input (err, "--publish is of all, to where pmm.conf says");
    if (o->conf && !o->publish)
        return error_input (err, "--conf goes with --publish");
    return 0;
}

int fabric_verb_read (int argc, char **argv)
{
    struct read_options o = { .live = live_defaults () };
    struct fabric *f = NULL;
    struct error err;
    int status;

    if (options_parse (read_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_options (&o, &err) < 0)
        return fail (argv[0], &err);
    if (o.publish)
        return fabric_publish (argv[0], &o.live, o.conf);
    if (!(f = o.hosts ? read_part (&o, &err)
                      : read_fabric (&o.live, NULL, &err))
        || fabric_save (f, o.output, fabric_write, &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}

int fabric_verb_netdisc (int argc, char **argv)
{
    static const struct opt none[] = { { 0 } };
    struct error err;
    int status;

    if (options_parse (none, NULL, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = netdisc_answer ();
    if (status == EXIT_BAD_INPUT) {
        error_input (&err, "this is for pmm fabric read alone");
        return fail (argv[0], &err);
    }
    return status;
}
#else
int fabric_verb_read (int argc, char **argv)
{
    struct error err;

    (void)argc;
    error_world (&err, "this pmm was built without the libraries that read "
                       "live fabrics");
    return fail (argv[0], &err);
}

int fabric_verb_netdisc (int argc, char **argv)
{
    return fabric_verb_read (argc, argv);
}
#endif
