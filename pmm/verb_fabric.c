/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric VERB: make a snapshot of a fabric, look at one. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "pmm/verb.h"
#include "util/file.h"

struct fabric *fabric_load_whole (const char *path, struct error *err)
{
    struct fabric *f = fabric_load (path, err);

    if (!f || !f->part)
        return f;
    error_input (err, "%s is a part of a fabric, and says nothing of the rest",
                 path);
    fabric_destroy (f);
    return NULL;
}

int fabric_save (const struct fabric *f, const char *path,
                 fabric_write_f write, struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    return file_finish (out, write (f, file_stream (out), err), err);
}

json_t *fabric_node_json (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    return json_pack ("{s:o, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "name", n->desc);
}

json_t *fabric_port_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "port", p->num,
                      "name", n->desc);
}

static const struct {
    const char *name;
    char *full; /* as errors and usage call it */
    verb_f fn;
} verbs[] = {
    { "read", "fabric read", fabric_verb_read },
    { "cabling", "fabric cabling", fabric_verb_cabling },
    { "diff", "fabric diff", fabric_verb_diff },
    { "show", "fabric show", fabric_verb_show },
    { "counters", "fabric counters", fabric_verb_counters },
    { "check", "fabric check", fabric_verb_check },
    { "generate", "fabric generate", fabric_verb_generate },
    { "import", "fabric import", fabric_verb_import },
    { "export", "fabric export", fabric_verb_export },
    { "netdisc", "fabric netdisc", fabric_verb_netdisc },
};

enum { VERBS = sizeof (verbs) / sizeof (verbs[0]) };

static void usage (FILE *fp)
{
    fprintf (fp, "Usage: pmm fabric VERB [OPTION]...\nVerbs, each with --help:");
    for (size_t i = 0; i < VERBS; i++)
        fprintf (fp, " %s", verbs[i].name);
    fprintf (fp, "\n");
}

int verb_fabric (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0;
    struct text_guess guess = { .word = name };

    for (size_t i = 0; i < VERBS; i++) {
        if (strcmp (name, verbs[i].name) == 0) {
            argv[1] = verbs[i].full;
            return verbs[i].fn (argc - 1, argv + 1);
        }
        text_guess (&guess, verbs[i].name);
    }
    if (*name && !help)
        return no_verb ("pmm fabric", &guess);
    usage (help ? stdout : stderr);
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}
