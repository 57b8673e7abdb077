/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric import and export: the file formats of other programs. */
#include "config.h"

#include <string.h>

#include "ibquery/export/formats.h"
#include "ibquery/import/import.h"
#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "util/site.h"
#include "util/text.h"

/*
 * Import
 */

static struct import_words {
    struct strings files; /* "FORMAT:FILE" */
    const char *counters;
} imports;

static const struct opt import_options[] = {
    { "format", 0, "FORMAT:FILE", opt_append,
      offsetof (struct import_words, files),
      "one more FILE, read as FORMAT: ibnetdiscover, lst "
      "(opensm-subnet.lst, ibdiagnet), lfts (dump_fts, ibroute, "
      "opensm-lfts.dump), fdbs (opensm.fdbs, ibdiagnet), far, plft, db_csv or "
      "net_dump_ext (ibdiagnet)" },
    { "counters", 0, "FILE", opt_string,
      offsetof (struct import_words, counters),
      "also write ibdiagnet's counters and bit error rates to FILE" },
    { 0 },
};

static const struct opt_rule import_rules[] = {
    { NULL, OPT_NEEDS, "FILE format" },
    { 0 },
};

static void write_counters (struct import *d, const struct fabric *f)
{
    struct counters *c = need (import_counters (d, f, &fault));
    struct outfile *out = need (file_create (imports.counters, &fault));

    need_ok (file_finish (out, counters_write (c, file_stream (out), &fault),
                          &fault));
    counters_destroy (c);
}

static int run_import (struct inputs *in)
{
    char source[FABRIC_NAME_MAX]; /* "import net fts" */
    size_t n = in->noperands;
    size_t len = snprintf (source, sizeof (source), "import");
    struct node_names *names = inputs_names (in, in->names);
    struct import *d = import_create (names);

    for (size_t i = 0; i < n + imports.files.n; i++) {
        const char *name = i < n ? in->operand[i] : imports.files.v[i - n];
        const char *slash = strrchr (name, '/');
        const char *colon = i < n ? NULL : strchr (name, ':');
        const char *path = colon ? colon + 1 : name;
        char *format = NULL;
        FILE *fp;

        if (len < sizeof (source))
            len += snprintf (source + len, sizeof (source) - len, " %s",
                             slash ? slash + 1 : name);
        if (i >= n && !colon)
            die_input ("'%.80s' is not FORMAT:FILE", name);
        if (colon)
            format = verb_text ("%.*s", (int)(colon - name), name);
        fp = need (file_open_input (path, &fault));
        need_ok (import_file (d, fp, strcmp (path, "-") == 0 ? "standard input"
                                                             : path,
                              format, &fault));
        file_close_input (fp);
    }
    in->fabric = need (import_finish (d, source, &fault));
    for (size_t i = 0; i < in->fabric->nwarnings; i++)
        fprintf (stderr, "warning: %s\n", in->fabric->warning[i]);
    need_ok (fabric_write (in->fabric, inputs_output (in), &fault));
    if (imports.counters)
        write_counters (d, in->fabric);
    import_destroy (d);
    names_destroy (names);
    return EXIT_OK;
}

const struct verb verb_fabric_import = {
    .name = "import", .help = "make a snapshot of other programs' files",
    .may = TAKES_FILES | TAKES_CONF | TAKES_OUTPUT,
    .operands = "FILE...", .max = -1,
    .options = import_options, .rules = import_rules, .given = &imports,
    .run = run_import,
};

/*
 * Export
 */

static const struct fabric_format {
    const char *name;
    /* NULL: Slurm's topology, of several subnets and of chosen ports, too */
    int (*write) (const struct fabric *f, FILE *fp, struct error *err);
    bool yaml;
} formats[] = {
    { "netfile", netfile_write_lids, false },
    { "ibnetdiscover", netdiscover_write, false },
    { "lfts", lfts_write, false },
    { "topology.conf", NULL, false },
    { "topology.yaml", NULL, true },
    { 0 },
};

static struct fabric_export_words {
    int format; /* of formats; -1: not given */
    const char *hosts, *rails;
} exports = { .format = -1 };

#define EXPORT(name) offsetof (struct fabric_export_words, name)
static const struct opt export_options[] = {
    { "format", 0, "NAME", NULL, EXPORT (format),
      "what to write: a file of ibsim, of ibnetdiscover, of dump_fts for "
      "opensm -R file, or of Slurm", OPT_ROWS (formats) },
    { "hosts", 0, "LIST", opt_string, EXPORT (hosts),
      "the topology of these hosts only, " LIST_HELP " (default: all)" },
    { "rails", 0, "LIST", opt_string, EXPORT (rails),
      "the topology of these adapters, mlx5_[0-7] (default: Device of pmm.conf "
      "if Snapshot is taken)" },
    { 0 },
};

static const struct opt_rule export_rules[] = {
    { NULL, OPT_NEEDS, "format" },
    { "hosts rails", OPT_NEEDS, "format=topology.conf|topology.yaml" },
    { 0 },
};

/* Find the hosts that are listed; say which of the list are not there. */
static void choose_hosts (const struct fabric *f, bool *listed, char **called)
{
    struct hostlist hl = inputs_hostlist ("hosts", exports.hosts,
                                          FABRIC_MAX_NODES);
    const char **gone = verb_array (hl.count, sizeof (*gone));
    size_t n = 0;

    for (size_t i = 0; i < hl.count; i++) {
        uint32_t host = fabric_host_named (f, hl.name[i]);

        if (host == FABRIC_NONE)
            gone[n++] = hl.name[i];
        else if (!listed[host]) {
            listed[host] = true;
            called[host] = pool_strdup (verb_pool, hl.name[i]);
        }
    }
    if (n > 0)
        verb_say ("not in the snapshot: %s", verb_fold (gone, n));
    hostlist_clear (&hl);
}

/* Find the rails that are listed, "mlx5_0/1" or "mlx5_0", and those whose
 * names are not known. Die if none is listed.
 */
static void choose_rails (const struct fabric *f, const char *rails, bool *use)
{
    struct hostlist hl;
    bool found = false;

    if (hostlist_expand (&hl, rails, FABRIC_MAX_NODES, &fault) < 0)
        need_ok (error_prefix (&fault, "--rails"));
    for (size_t e = 0; e < f->nendpoints; e++) {
        const char *rail = f->endpoint[e].rail;
        bool listed = !rail;

        for (size_t i = 0; i < hl.count && !listed; i++) {
            size_t len = strlen (hl.name[i]);

            listed = strncmp (rail, hl.name[i], len) == 0
                     && (!rail[len] || rail[len] == '/');
        }
        use[e] = listed;
        found |= listed;
    }
    hostlist_clear (&hl);
    if (!found)
        die_input ("--rails: no host has any of %.200s", rails);
}

static void export_topology (struct inputs *in, bool yaml)
{
    const struct fabric *f = in->fabric;
    bool *hosts = verb_array (f->nhosts, sizeof (*hosts));
    bool *use = verb_array (f->nendpoints, sizeof (*use));
    char **called = verb_array (f->nhosts, sizeof (*called));
    struct topology_choice choice = {
        .host = exports.hosts ? hosts : NULL,
        .name = (const char *const *)called,
    };
    const char *rails = exports.rails;

    if (!rails && in->snapshot) {
        rails = verb_site (in->conf, false)->device;
        rails = *rails ? rails : NULL;
    }
    if (exports.hosts)
        choose_hosts (f, hosts, called);
    if (rails) {
        choose_rails (f, rails, use);
        choice.use = use;
    }
    need_ok (topology_write (f, &choice, yaml, inputs_output (in), &fault));
    if (choice.left_out)
        verb_say ("left out, with no port at a switch%s: %s",
                  rails ? " by these rails" : "",
                  verb_keep_text (choice.left_out));
}

static int run_export (struct inputs *in)
{
    const struct fabric_format *f = &formats[exports.format];

    if (f->write) {
        inputs_need_one (in->fabric, in->fabric_path);
        need_ok (f->write (in->fabric, inputs_output (in), &fault));
    }
    else
        export_topology (in, f->yaml);
    return EXIT_OK;
}

const struct verb verb_fabric_export = {
    .name = "export", .help = "write a snapshot as a file of other programs",
    .needs = TAKES_FABRIC, .may = TAKES_FILES | TAKES_OUTPUT,
    .operands = "[FILE]...", .max = -1, .options = export_options,
    .rules = export_rules, .given = &exports, .run = run_export,
};
