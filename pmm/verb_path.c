/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm path: the links between two hosts, in both directions; or the links from
 * one to the other, for many pairs.
 */
#include "config.h"

#include <string.h>

#include "ibquery/walk.h"
#include "pmm/verb.h"
#include "util/json.h"

static const char *pairs;

static const struct opt options[] = {
    { "pairs", 0, "FILE", opt_string, 0,
      "the links of each pair, of which FILE has a line \"A B\"" },
    { 0 },
};

/* A way between two ends. */
struct path {
    uint32_t from, to;
    uint32_t link[PATH_MAX_HOPS];
    int n;
};

/* Find two different ends by name. */
static int find_ends (const struct fabric *f, char *const name[2],
                      struct path *p, struct error *err)
{
    uint32_t *end[] = { &p->from, &p->to };

    for (int i = 0; i < 2; i++)
        if ((*end[i] = fabric_find_end (f, name[i])) == FABRIC_NONE)
            return error_input (err, "not in the fabric: %.80s", name[i]);
    if (f->end[p->from].endpoint == f->end[p->to].endpoint)
        return error_input (err, "both ends are %.80s", name[0]);
    return 0;
}

static int walk (const struct fabric *f, struct path *p, struct error *err)
{
    p->n = fabric_walk (f, p->from, p->to, p->link, err);
    for (int i = 0; i < p->n; i++)
        p->link[i] = arc_link (p->link[i]);
    return p->n >= 0 ? 0 : error_prefix (err, "%s to %s", f->end[p->from].name,
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
        char here[2 * FABRIC_NAME_MAX], there[2 * FABRIC_NAME_MAX];

        fabric_port_name (f, near, here, sizeof (here));
        fabric_port_name (f, far, there, sizeof (there));
        fprintf (fp, "  %-24s  %-24s  %s\n", here, there, l->id);
        node = f->port[far].node;
    }
}

static int one_pair (struct inputs *in, struct error *err)
{
    const struct fabric *f = in->fabric;
    struct path there, back;
    FILE *fp;

    if (find_ends (f, in->operand, &there, err) < 0)
        return -1;
    back.from = there.to;
    back.to = there.from;
    if (walk (f, &there, err) < 0 || walk (f, &back, err) < 0
        || !(fp = inputs_output (in, err)))
        return -1;
    if (in->json)
        return inputs_put_json (
            in, "path", f->hash,
            json_pack ("{s:s, s:s, s:o, s:o}", "a", f->end[there.from].name,
                       "b", f->end[there.to].name, "forward",
                       path_json (f, &there), "reverse", path_json (f, &back)),
            err);
    print_path (f, &there, fp);
    print_path (f, &back, fp);
    return 0;
}

/* Read a line "A B" of a file of pairs, and print the links. */
static int pair_of_line (const struct fabric *f, char *line, FILE *fp,
                         struct error *err)
{
    char *name[2], *rest;
    struct path p;

    name[0] = strtok_r (line, " \t\n", &rest);
    name[1] = strtok_r (NULL, " \t\n", &rest);
    if (!name[0] || !name[1] || strtok_r (NULL, " \t\n", &rest))
        return error_input (err, "a pair is two names");
    if (find_ends (f, name, &p, err) < 0 || walk (f, &p, err) < 0)
        return -1;
    fprintf (fp, "%s %s", f->end[p.from].name, f->end[p.to].name);
    for (int i = 0; i < p.n; i++)
        fprintf (fp, " %s", f->link[p.link[i]].id);
    putc ('\n', fp);
    return 0;
}

static int many_pairs (struct inputs *in, struct error *err)
{
    const char *name = strcmp (pairs, "-") ? pairs : "standard input";
    FILE *fp = file_open_input (pairs, err);
    FILE *out = fp ? inputs_output (in, err) : NULL;
    char line[4 * FABRIC_NAME_MAX];
    int rc = out ? 0 : -1;

    for (unsigned long n = 1; rc == 0 && fgets (line, sizeof (line), fp); n++)
        if ((rc = pair_of_line (in->fabric, line, out, err)) < 0)
            error_prefix (err, "%s:%lu", name, n);
    if (rc == 0 && ferror (fp))
        rc = error_errno (err, "cannot read %s", name);
    file_close_input (fp);
    return rc;
}

static int check (const struct inputs *in, struct error *err)
{
    if (pairs && (in->noperands > 0 || in->json))
        return error_input (err, "--pairs goes with neither A B nor --json");
    if (!pairs && in->noperands != 2)
        return error_input (err, "a path has two ends");
    return 0;
}

static int run (struct inputs *in, struct error *err)
{
    return pairs ? many_pairs (in, err) : one_pair (in, err);
}

const struct verb verb_path = {
    .name = "path", .help = "the links between two hosts, there and back",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "[A B]", .max = 2,
    .options = options, .given = &pairs, .check = check, .run = run,
};
