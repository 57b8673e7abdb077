/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm path: the links between two hosts, in both directions; or the links from
 * one to the other, for many pairs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/fabric.h"
#include "ibquery/spread.h"
#include "pmm/verb.h"
#include "util/json.h"

static const char *pairs;

static const struct opt options[] = {
    { "pairs", 0, "FILE", opt_string, 0,
      "show the links of each pair in FILE, of lines \"A B\"" },
    { 0 },
};

/* A way between two ends. */
struct path {
    uint32_t from, to;
    uint32_t link[PATH_MAX_HOPS];
    int n;
};

/* Find the way between two different ends. Return 0, or -1 with fault. */
static int find_path (const struct fabric *f, const char *from, const char *to,
                      struct path *p)
{
    const char *const name[] = { from, to };
    uint32_t *const end[] = { &p->from, &p->to };

    for (int i = 0; i < 2; i++)
        if ((*end[i] = fabric_find_end (f, name[i])) == FABRIC_NONE)
            return error_input (&fault, "not in the fabric: %.80s", name[i]);
    if (f->end[p->from].endpoint == f->end[p->to].endpoint)
        return error_input (&fault, "both ends are %.80s", from);
    p->n = fabric_walk (f, p->from, p->to, p->link, &fault);
    if (p->n == 0)
        return error_input (&fault, "%.80s and %.80s are in different subnets",
                            from, to);
    for (int i = 0; i < p->n; i++)
        p->link[i] = arc_link (p->link[i]);
    return p->n >= 0 ? 0 : error_prefix (&fault, "%s to %s",
                                         f->end[p->from].name,
                                         f->end[p->to].name);
}

static json_t *path_json (const struct fabric *f, const struct path *p)
{
    json_t *list = json_array ();

    for (int i = 0; i < p->n; i++)
        json_add (list, json_string (f->link[p->link[i]].id));
    return list;
}

static void print_path (const struct fabric *f, const struct path *p, FILE *fp)
{
    const struct fabric_end *from = &f->end[p->from];
    const struct fabric_end *to = &f->end[p->to];
    uint32_t node = f->port[f->endpoint[from->endpoint].port].node;

    fprintf (fp, "%s to %s (LID %u): %s\n", from->name, to->name, to->lid,
             COUNTED ((uint64_t)p->n, "cable"));
    for (int i = 0; i < p->n; i++) {
        const struct fabric_link *l = &f->link[p->link[i]];
        uint32_t near = f->port[l->a].node == node ? l->a : l->b;
        uint32_t far = near == l->a ? l->b : l->a;

        fprintf (fp, "  %-24s  %-24s  %s\n", PORT_NAME (f, near),
                 PORT_NAME (f, far), l->id);
        node = f->port[far].node;
    }
}

/* Why messages may not follow the two paths on service level 0, and which level
 * is better.
 */
static void print_levels (const struct fabric *f, char *const *name, FILE *fp)
{
    const char *const both[] = { name[0], name[1] };
    struct pathset *ps = verb_own_pathset (fabric_pathset (f, both, 2, &fault));

    for (int rc = 0; rc < 2; rc++) {
        struct spread_choice c;
        char *text;

        need_ok (spread_choose (f, ps, rc, 0, &c, &fault));
        if ((text = verb_keep (spread_text (f, &c))))
            fprintf (fp, "%s: probes use %s\n",
                     rc ? "connections" : "datagrams", text);
    }
}

static void one_pair (struct inputs *in)
{
    const struct fabric *f = in->fabric;
    char *const *name = in->operand;
    struct path there, back;

    need_ok (find_path (f, name[0], name[1], &there));
    need_ok (find_path (f, name[1], name[0], &back));
    if (in->json)
        inputs_put_json (in, "path", f->hash,
                         json_pack ("{s:s, s:s, s:o, s:o}", "a",
                                    f->end[there.from].name, "b",
                                    f->end[there.to].name, "forward",
                                    path_json (f, &there), "reverse",
                                    path_json (f, &back)));
    else {
        print_path (f, &there, inputs_output (in));
        print_path (f, &back, inputs_output (in));
        print_levels (f, name, inputs_output (in));
    }
}

/* The links of each pair in a file of lines "A B". */
static void many_pairs (struct inputs *in)
{
    const char *file = strcmp (pairs, "-") ? pairs : "standard input";
    const struct fabric *f = in->fabric;
    FILE *fp = need (file_open_input (pairs, &fault));
    FILE *out = inputs_output (in);
    char line[4 * FABRIC_NAME_MAX];

    for (unsigned long n = 1; fgets (line, sizeof (line), fp); n++) {
        char *rest, *a = strtok_r (line, " \t\n", &rest);
        char *b = strtok_r (NULL, " \t\n", &rest);
        struct path p;

        if (!a || !b || strtok_r (NULL, " \t\n", &rest))
            die_input ("%s:%lu: a pair is two names", file, n);
        if (find_path (f, a, b, &p) < 0) {
            error_prefix (&fault, "%s:%lu", file, n);
            die ();
        }
        fprintf (out, "%s %s", f->end[p.from].name, f->end[p.to].name);
        for (int i = 0; i < p.n; i++)
            fprintf (out, " %s", f->link[p.link[i]].id);
        putc ('\n', out);
    }
    if (ferror (fp))
        need_ok (error_errno (&fault, "cannot read %s", file));
    file_close_input (fp);
}

static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "A pairs" },
    { "A", OPT_NEEDS, "B" },
    { "pairs", OPT_EXCLUDES, "A json" },
    { 0 },
};

static int run_path (struct inputs *in)
{
    (pairs ? many_pairs : one_pair) (in);
    return EXIT_OK;
}

const struct verb verb_path = {
    .group = VERBS_FABRIC, .name = "path",
    .help = "show the links between two hosts, there and back",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "[A B]", .max = 2,
    .options = options, .given = &pairs, .rules = rules, .run = run_path,
};
