/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric read|show|generate: make a snapshot of a fabric, look at one. */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/generate.h"
#include "ibquery/snapshot.h"
#if HAVE_IBNETDISC
#include "ibquery/discover.h"
#endif
#include "pmm/common.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/json.h"

typedef int (*write_f) (const struct fabric *f, FILE *fp, struct error *err);

/* Write to path, "-" or NULL being standard output. */
static int save (const struct fabric *f, const char *path, write_f write,
                 struct error *err)
{
    struct outfile *out = file_create (path, err);

    if (!out)
        return -1;
    if (write (f, file_stream (out), err) < 0) {
        file_abort (out);
        return -1;
    }
    return file_commit (out, err);
}

#if HAVE_IBNETDISC
struct read_options {
    struct discover_options discover;
    const char *output;
};

#define FIELD(name) offsetof (struct read_options, name)
static const struct opt read_table[] = {
    { "ca", 'C', "CA", opt_string, FIELD (discover.ca),
      "read through this adapter, not the first that is active" },
    { "port", 'P', "PORT", opt_int, FIELD (discover.port),
      "and this port of it" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write the snapshot here, not to standard output" },
    { "timeout", 't', "MS", opt_int, FIELD (discover.timeout_ms),
      "how long to wait for an answer: 1000" },
    { "retries", 0, "N", opt_int, FIELD (discover.retries),
      "how often to ask again: 3" },
    { "smps", 0, "N", opt_int, FIELD (discover.max_smps),
      "queries in flight: 8" },
    { "mkey", 0, "KEY", opt_u64, FIELD (discover.mkey),
      "the fabric's M_Key (0x...)" },
    { 0 },
};
#undef FIELD

static int check_read_options (const struct read_options *o,
                               struct error *err)
{
    if (o->discover.port > 254)
        return error_input (err, "--port is 1 to 254");
    if (o->discover.timeout_ms < 1 || o->discover.timeout_ms > 60000)
        return error_input (err, "--timeout is 1 to 60000 ms");
    if (o->discover.retries > 100)
        return error_input (err, "--retries is at most 100");
    if (o->discover.max_smps < 1 || o->discover.max_smps > 64)
        return error_input (err, "--smps is 1 to 64");
    return 0;
}

static int fabric_read_live (int argc, char **argv)
{
    struct read_options o = { .discover = discover_defaults };
    struct fabric *f = NULL;
    struct error err;
    int status;

    if (options_parse (read_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (check_read_options (&o, &err) < 0
        || !(f = discover (&o.discover, &err))
        || save (f, o.output, fabric_write, &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}
#else
static int fabric_read_live (int argc, char **argv)
{
    struct error err;

    (void)argc;
    error_world (&err, "this pmm was built without the libraries that read "
                       "live fabrics");
    return fail (argv[0], &err);
}
#endif

static json_t *guid_json (uint64_t guid)
{
    return json_sprintf ("%016" PRIx64, guid);
}

static json_t *host_json (const struct fabric *f, const struct fabric_host *h)
{
    json_t *list = json_array ();

    for (uint32_t i = h->first; i < h->first + h->count; i++) {
        const struct fabric_port *p = &f->port[f->endpoint[i].port];

        json_array_append_new (
            list, json_pack ("{s:o, s:i, s:i, s:i}", "guid",
                             guid_json (p->guid), "port", p->num, "lid",
                             p->lid, "lmc", p->lmc));
    }
    return json_pack ("{s:s, s:o}", "name", h->name, "endpoints", list);
}

static json_t *end_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid", guid_json (n->guid), "port",
                      p->num, "name", n->desc);
}

static json_t *link_json (const struct fabric *f, const struct fabric_link *l)
{
    return json_pack ("{s:s, s:s, s:o, s:o, s:s, s:i, s:s}", "id", l->id,
                      "kind", l->kind == LINK_HOST ? "host" : "switch", "a",
                      end_json (f, l->a), "b", end_json (f, l->b), "speed",
                      l->speed, "width", l->width, "class",
                      f->class_name[l->class_id]);
}

static int write_json (const struct fabric *f, FILE *fp, struct error *err)
{
    json_t *root = json_file ("fabric", f->hash);
    json_t *hosts = json_array (), *switches = json_array ();
    json_t *links = json_array (), *warnings = json_array ();
    int rc;

    for (size_t i = 0; i < f->nhosts; i++)
        json_array_append_new (hosts, host_json (f, &f->host[i]));
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].type == NODE_SWITCH)
            json_array_append_new (
                switches, json_pack ("{s:o, s:s}", "guid",
                                     guid_json (f->node[i].guid), "name",
                                     f->node[i].desc));
    for (size_t i = 0; i < f->nlinks; i++)
        json_array_append_new (links, link_json (f, &f->link[i]));
    for (size_t i = 0; i < f->nwarnings; i++)
        json_array_append_new (warnings, json_string (f->warning[i]));
    if (!root || json_object_set_new (root, "hosts", hosts) < 0
        || json_object_set_new (root, "switches", switches) < 0
        || json_object_set_new (root, "links", links) < 0
        || json_object_set_new (root, "warnings", warnings) < 0
        || json_array_size (links) != f->nlinks
        || json_array_size (hosts) != f->nhosts)
        rc = error_nomem (err);
    else
        rc = json_write (root, fp, err);
    json_decref (root);
    return rc;
}

static int write_text (const struct fabric *f, FILE *fp, struct error *err)
{
    size_t switches = 0, *count;

    count = calloc (f->nclasses + 1, sizeof (*count));
    if (!count)
        return error_nomem (err);
    for (size_t i = 0; i < f->nnodes; i++)
        switches += f->node[i].type == NODE_SWITCH;
    for (size_t i = 0; i < f->nlinks; i++)
        count[f->link[i].class_id]++;
    fprintf (fp, "fabric %s\n", f->hash);
    if (*f->source)
        fprintf (fp, "from %s\n", f->source);
    if (f->time != 0) {
        char when[64];
        time_t t = f->time;

        strftime (when, sizeof (when), "%Y-%m-%d %H:%M:%S UTC", gmtime (&t));
        fprintf (fp, "read %s\n", when);
    }
    fprintf (fp, "%zu hosts (%zu ports), %zu switches, %zu cables\n",
             f->nhosts, f->nendpoints, switches, f->nlinks);
    for (size_t i = 0; i < f->nclasses; i++)
        fprintf (fp, "%8zu  %s\n", count[i], f->class_name[i]);
    for (size_t i = 0; i < f->nwarnings; i++)
        fprintf (fp, "warning: %s\n", f->warning[i]);
    free (count);
    if (ferror (fp))
        return error_errno (err, "cannot write");
    return 0;
}

struct show_options {
    const char *fabric, *output;
    bool json;
};

#define FIELD(name) offsetof (struct show_options, name)
static const struct opt show_table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot to show" },
    { "json", 0, NULL, opt_true, FIELD (json),
      "all hosts, switches and links as JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

static int fabric_show (int argc, char **argv)
{
    struct show_options o = { 0 };
    struct fabric *f = NULL;
    struct error err;
    int status;

    if (options_parse (show_table, &o, argc, argv, "", 0, 0, &status) < 0)
        return status;
    status = EXIT_OK;
    if (!o.fabric) {
        error_input (&err, "-f FABRIC is missing");
        return fail (argv[0], &err);
    }
    if (!(f = fabric_load (o.fabric, &err))
        || save (f, o.output, o.json ? write_json : write_text, &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}

struct generate_options {
    union {
        struct fat_tree tree;
        struct dragonfly dragonfly;
        struct slimfly slimfly;
        struct irregular irregular;
    };
    struct choice how;
    bool netfile;
    const char *output;
};

static int set_routing (void *field, const char *value, struct error *err)
{
    int found = routing_find (value);

    if (found < 0)
        return error_input (err, "'%.40s' is none of dmodk, minhop, random",
                            value);
    *(enum routing *)field = found;
    return 0;
}

#define FIELD(name) offsetof (struct generate_options, name)
/* The end of each family's table; its routes by default. */
#define COMMON(which)                                                         \
    { "routing", 0, "R", set_routing, FIELD (how.routing),                    \
      "dmodk, minhop or random: " which },                                    \
    { "seed", 0, "N", opt_u64, FIELD (how.seed), "of what is drawn: 1" },     \
    { "prune", 0, "PERCENT", opt_int, FIELD (how.prune),                      \
      "of hosts, switches and cables left out: 0" },                          \
    { "netfile", 0, NULL, opt_true, FIELD (netfile),                          \
      "write the cables as a netfile of ibsim" },                             \
    { "output", 'o', "FILE", opt_string, FIELD (output),                      \
      "write here, not to standard output" },                                 \
    { 0 }

static const struct opt tree_table[] = {
    { "ports", 0, "P", opt_int, FIELD (tree.ports),
      "of a switch, even: 2 .. 64" },
    { "levels", 0, "Q", opt_int, FIELD (tree.levels),
      "of switches: 1 .. 6" },
    { "oversubscribe", 0, "K", opt_int, FIELD (tree.oversubscribe),
      "hosts to each up port of a leaf: 1" },
    COMMON ("dmodk"),
};

static const struct opt dragonfly_table[] = {
    { "p", 0, "P", opt_int, FIELD (dragonfly.hosts), "hosts per router" },
    { "a", 0, "A", opt_int, FIELD (dragonfly.routers), "routers per group" },
    { "h", 0, "H", opt_int, FIELD (dragonfly.globals),
      "ports to other groups per router" },
    COMMON ("minhop"),
};

static const struct opt slimfly_table[] = {
    { "q", 0, "Q", opt_int, FIELD (slimfly.q),
      "2 Q^2 routers; a prime power" },
    { "hosts-per-router", 0, "N", opt_int, FIELD (slimfly.hosts),
      "half its neighbours if not given" },
    COMMON ("minhop"),
};

static const struct opt irregular_table[] = {
    { "switches", 0, "S", opt_int, FIELD (irregular.switches),
      "1 .. 4096" },
    { "hosts", 0, "N", opt_int, FIELD (irregular.hosts), "at least 1" },
    { "degree", 0, "D", opt_int, FIELD (irregular.degree),
      "cables to other switches, on average: 8" },
    COMMON ("random"),
};
#undef COMMON
#undef FIELD

static struct fabric *make_tree (struct generate_options *o,
                                 struct error *err)
{
    o->tree.how = o->how;
    return generate_fat_tree (&o->tree, err);
}

static struct fabric *make_dragonfly (struct generate_options *o,
                                      struct error *err)
{
    o->dragonfly.how = o->how;
    return generate_dragonfly (&o->dragonfly, err);
}

static struct fabric *make_slimfly (struct generate_options *o,
                                    struct error *err)
{
    o->slimfly.how = o->how;
    return generate_slimfly (&o->slimfly, err);
}

static struct fabric *make_irregular (struct generate_options *o,
                                      struct error *err)
{
    o->irregular.how = o->how;
    return generate_irregular (&o->irregular, err);
}

static const struct {
    const char *name;
    char *full; /* as errors and usage call it */
    const struct opt *table;
    struct generate_options defaults;
    struct fabric *(*make) (struct generate_options *o, struct error *err);
} families[] = {
    { "fat-tree", "fabric generate fat-tree", tree_table,
      { .how = { ROUTING_DMODK, .seed = 1 } }, make_tree },
    { "dragonfly", "fabric generate dragonfly", dragonfly_table,
      { .how = { ROUTING_MINHOP, .seed = 1 } }, make_dragonfly },
    { "slimfly", "fabric generate slimfly", slimfly_table,
      { .how = { ROUTING_MINHOP, .seed = 1 } }, make_slimfly },
    { "irregular", "fabric generate irregular", irregular_table,
      { .irregular.degree = 8, .how = { ROUTING_RANDOM, .seed = 1 } },
      make_irregular },
};

enum { FAMILIES = sizeof (families) / sizeof (families[0]) };

static int generate_family (size_t family, int argc, char **argv)
{
    struct generate_options o = families[family].defaults;
    struct fabric *f = NULL;
    struct error err;
    int status;

    argv[0] = families[family].full;
    if (options_parse (families[family].table, &o, argc, argv, "", 0, 0,
                       &status)
        < 0)
        return status;
    status = EXIT_OK;
    if (!(f = families[family].make (&o, &err))
        || save (f, o.output, o.netfile ? generate_netfile : fabric_write,
                 &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}

static int fabric_generate (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0;

    for (size_t i = 0; i < FAMILIES; i++)
        if (strcmp (name, families[i].name) == 0)
            return generate_family (i, argc - 1, argv + 1);
    if (!help && *name)
        fprintf (stderr, "pmm fabric generate: '%.40s' is no family\n", name);
    fprintf (help ? stdout : stderr,
             "Usage: pmm fabric generate FAMILY [OPTION]...\n"
             "Families, each with --help:");
    for (size_t i = 0; i < FAMILIES; i++)
        fprintf (help ? stdout : stderr, " %s", families[i].name);
    fprintf (help ? stdout : stderr, "\n");
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}

static const struct {
    const char *name;
    char *full; /* as errors and usage call it */
    verb_f fn;
} verbs[] = {
    { "read", "fabric read", fabric_read_live },
    { "show", "fabric show", fabric_show },
    { "generate", "fabric generate", fabric_generate },
};

int verb_fabric (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0;

    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++)
        if (strcmp (name, verbs[i].name) == 0) {
            argv[1] = verbs[i].full;
            return verbs[i].fn (argc - 1, argv + 1);
        }
    fprintf (help ? stdout : stderr,
             "Usage: pmm fabric read|show|generate [OPTION]...\n"
             "Each has --help.\n");
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}
