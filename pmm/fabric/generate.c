/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric generate: a fabric from the parameters of a family. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/export/formats.h"
#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"
#include "ibquery/spread.h"
#include "pmm/verb.h"

struct generate_words {
    union {
        struct fat_tree tree;
        struct dragonfly dragonfly;
        struct slimfly slimfly;
        struct irregular irregular;
    };
    struct choice how;
    bool netfile;
    struct fabric *(*make) (struct generate_words *w, struct error *err);
};

/* How switches spread messages: a row, of those levels ("0-3,5") or of all. */
static int opt_spread (void *field, const char *value, struct error *err)
{
    static const struct {
        const char *name;
        bool ud, rc, hashed;
    } rows[] = {
        { "hashed", false, false, true },
        { "adaptive", true, true, false },
        { "mixed", false, true, true },
    };
    struct fabric_spread *s = field;
    size_t len = strcspn (value, ":"), i = 0;
    unsigned int levels = value[len] ? 0 : 0xffff;
    const char *p = value + len;

    while (i < 3 && (strlen (rows[i].name) != len
                     || strncmp (rows[i].name, value, len) != 0))
        i++;
    while (i < 3 && *p) {
        char *end;
        unsigned long first = strtoul (p + 1, &end, 10);
        unsigned long last = *end == '-' ? strtoul (end + 1, &end, 10) : first;

        if (first > last || last >= SPREAD_LEVELS || (*end && *end != ',')
            || strchr (":,-", end[-1]))
            i = 3;
        else
            levels |= (2U << last) - (1U << first);
        p = end;
    }
    if (i == 3 || levels == 0)
        return error_input (err, "'%.40s' is not hashed, adaptive or mixed, "
                            "with ':' and levels from 0 to %d as 0-3,5",
                            value, SPREAD_LEVELS - 1);
    *s = (struct fabric_spread){
        .known = true, .ud = rows[i].ud ? levels : 0,
        .rc = rows[i].rc ? levels : 0, .hashed = rows[i].hashed ? levels : 0,
    };
    return 0;
}

#define FIELD(name) offsetof (struct generate_words, name)
/* The end of each family's table, with its default routes. */
#define COMMON(which)                                                         \
    { "routing", 0, "NAME", NULL, FIELD (how.routing),                        \
      "how to choose among the shortest paths (default: " which ")",             \
      OPT_ROWS (routing_names) },                                             \
    { "seed", 0, "N", opt_u64, FIELD (how.seed),                              \
      "seed of random choices (default: 1)" },                                \
    { "prune", 0, "PERCENT", opt_int, FIELD (how.prune),                      \
      "number of hosts, switches and cables to leave out (default: 0)" },      \
    { "lmc", 0, "L", opt_int, FIELD (how.lmc),                                \
      "2^L LIDs for each host, each with its own routes (default: 0)" },      \
    { "subnet", 0, "N", opt_int, FIELD (how.subnet),                          \
      "the number of one of several subnets with the same hosts, up to 15" }, \
    { "spread", 0, "HOW[:LEVELS]", opt_spread, FIELD (how.spread),            \
      "how switches spread messages: hashed, adaptive or mixed, of all "      \
      "service levels or these, 0-3,5" },                                     \
    { "netfile", 0, NULL, opt_true, FIELD (netfile),                          \
      "write the cables as a netfile of ibsim" },                             \
    { 0 }

static const struct opt tree_table[] = {
    { "ports", 0, "P", opt_int, FIELD (tree.ports),
      "ports of a switch: even, 2 to 64" },
    { "levels", 0, "Q", opt_int, FIELD (tree.levels),
      "levels of switches: 1 to 6" },
    { "oversubscribe", 0, "K", opt_int, FIELD (tree.oversubscribe),
      "hosts per up port of a leaf (default: 1)" },
    { "rails", 0, "R", opt_int, FIELD (tree.rails),
      "adapters per host, each at another leaf (default: 1)" },
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
      "a prime power: there are 2 Q^2 routers" },
    { "hosts-per-router", 0, "N", opt_int, FIELD (slimfly.hosts),
      "hosts per router (default: half its neighbours)" },
    COMMON ("minhop"),
};

static const struct opt irregular_table[] = {
    { "switches", 0, "N", opt_int, FIELD (irregular.switches),
      "switches: 1 to 4096" },
    { "hosts", 0, "N", opt_int, FIELD (irregular.hosts), "hosts: at least 1" },
    { "degree", 0, "N", opt_int, FIELD (irregular.degree),
      "cables from a switch to others, on average (default: 8)" },
    COMMON ("random"),
};
#undef COMMON

static struct fabric *make_tree (struct generate_words *w, struct error *err)
{
    w->tree.how = w->how;
    return generate_fat_tree (&w->tree, err);
}

static struct fabric *make_dragonfly (struct generate_words *w,
                                      struct error *err)
{
    w->dragonfly.how = w->how;
    return generate_dragonfly (&w->dragonfly, err);
}

static struct fabric *make_slimfly (struct generate_words *w, struct error *err)
{
    w->slimfly.how = w->how;
    return generate_slimfly (&w->slimfly, err);
}

static struct fabric *make_irregular (struct generate_words *w,
                                      struct error *err)
{
    w->irregular.how = w->how;
    return generate_irregular (&w->irregular, err);
}

static int run_generate (struct inputs *in)
{
    struct generate_words *w = in->given;

    in->fabric = need (w->make (w, &fault));
    need_ok ((w->netfile ? netfile_write : fabric_write) (
        in->fabric, inputs_output (in), &fault));
    return EXIT_OK;
}

static struct generate_words given[] = {
    { .how = { ROUTING_DMODK, .seed = 1 }, .make = make_tree },
    { .how = { ROUTING_MINHOP, .seed = 1 }, .make = make_dragonfly },
    { .how = { ROUTING_MINHOP, .seed = 1 }, .make = make_slimfly },
    { .how = { ROUTING_RANDOM, .seed = 1 }, .make = make_irregular,
      .irregular.degree = 8 },
};

static const struct verb families[] = {
    { .name = "fat-tree", .help = "a tree of Q levels of P-port switches",
      .options = tree_table, .given = &given[0],
      .may = TAKES_OUTPUT, .run = run_generate },
    { .name = "dragonfly", .help = "groups of routers, all joined",
      .options = dragonfly_table, .given = &given[1],
      .may = TAKES_OUTPUT, .run = run_generate },
    { .name = "slimfly", .help = "2 Q^2 routers of diameter 2",
      .options = slimfly_table, .given = &given[2],
      .may = TAKES_OUTPUT, .run = run_generate },
    { .name = "irregular", .help = "switches that cables join at random",
      .options = irregular_table, .given = &given[3],
      .may = TAKES_OUTPUT, .run = run_generate },
};

static const struct verb *const verbs[] = {
    &families[0], &families[1], &families[2], &families[3], NULL,
};

const struct verb verb_fabric_generate = {
    .name = "generate", .help = "generate a model fabric", .verbs = verbs,
};
