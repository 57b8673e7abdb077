/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric generate: a fabric out of a family's parameters. */
#include "config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ibquery/export/netfile.h"
#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"

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
    { "lmc", 0, "L", opt_int, FIELD (how.lmc),                                \
      "2^L LIDs for each host, with routes of their own: 0" },                \
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
        || fabric_save (f, o.output, o.netfile ? netfile_write : fabric_write,
                 &err) < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}

int fabric_verb_generate (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0;
    struct text_guess guess = { .word = name };

    for (size_t i = 0; i < FAMILIES; i++) {
        if (strcmp (name, families[i].name) == 0)
            return generate_family (i, argc - 1, argv + 1);
        text_guess (&guess, families[i].name);
    }
    if (*name && !help)
        return no_verb ("pmm fabric generate", &guess);
    fprintf (help ? stdout : stderr,
             "Usage: pmm fabric generate FAMILY [OPTION]...\n"
             "Families, each with --help:");
    for (size_t i = 0; i < FAMILIES; i++)
        fprintf (help ? stdout : stderr, " %s", families[i].name);
    fprintf (help ? stdout : stderr, "\n");
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}
