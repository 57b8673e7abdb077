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

struct path {
    uint32_t from, to; /* ends */
    uint32_t link[PATH_MAX_HOPS];
    int n;
};

static int walk (const struct fabric *f, struct path *p, uint32_t from,
                 uint32_t to, struct error *err)
{
    p->from = from;
    p->to = to;
    p->n = fabric_walk (f, from, to, p->link, err);
    if (p->n < 0)
        return error_prefix (err, "%s to %s", f->end[from].name,
                             f->end[to].name);
    for (int i = 0; i < p->n; i++)
        p->link[i] = arc_link (p->link[i]);
    return 0;
}

static json_t *path_json (const struct fabric *f, const struct path *p)
{
    json_t *list = json_array ();

    for (int i = 0; i < p->n; i++)
        json_add (list, json_string (f->link[p->link[i]].id));
    return list;
}

static int write_json (const struct fabric *f, const struct path *there,
                       const struct path *back, FILE *fp, struct error *err)
{
    json_t *members = json_pack ("{s:s, s:s, s:o, s:o}", "a",
                                 f->end[there->from].name, "b",
                                 f->end[there->to].name, "forward",
                                 path_json (f, there), "reverse",
                                 path_json (f, back));

    return json_write_file ("path", f->hash, members, fp, err);
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

static void print_line (const struct fabric *f, const struct path *p, FILE *fp)
{
    fprintf (fp, "%s %s", f->end[p->from].name, f->end[p->to].name);
    for (int i = 0; i < p->n; i++)
        fprintf (fp, " %s", f->link[p->link[i]].id);
    putc ('\n', fp);
}

static int find_ends (const struct fabric *f, const char *const name[2],
                      uint32_t end[2], struct error *err)
{
    for (int i = 0; i < 2; i++) {
        end[i] = fabric_find_end (f, name[i]);
        if (end[i] == FABRIC_NONE)
            return error_input (err, "not in the fabric: %.80s", name[i]);
    }
    if (f->end[end[0]].endpoint == f->end[end[1]].endpoint)
        return error_input (err, "both ends are %.80s", name[0]);
    return 0;
}

static int one_pair (struct inputs *in, struct error *err)
{
    const struct fabric *f = in->fabric;
    const char *const name[] = { in->operand[0], in->operand[1] };
    struct path there, back;
    uint32_t end[2];
    FILE *fp;

    if (find_ends (f, name, end, err) < 0
        || walk (f, &there, end[0], end[1], err) < 0
        || walk (f, &back, end[1], end[0], err) < 0
        || !(fp = inputs_output (in, err)))
        return -1;
    if (in->json)
        return write_json (f, &there, &back, fp, err);
    print_path (f, &there, fp);
    print_path (f, &back, fp);
    return 0;
}

/* Read a line "A B" of a file of pairs. */
static int pair_of_line (const struct fabric *f, char *line, FILE *fp,
                         struct error *err)
{
    const char *name[2];
    struct path path;
    uint32_t end[2] = { 0 };
    char *rest;

    name[0] = strtok_r (line, " \t\n", &rest);
    name[1] = strtok_r (NULL, " \t\n", &rest);
    if (!name[0] || !name[1] || strtok_r (NULL, " \t\n", &rest))
        return error_input (err, "a pair is two names");
    if (find_ends (f, name, end, err) < 0
        || walk (f, &path, end[0], end[1], err) < 0)
        return -1;
    print_line (f, &path, fp);
    return 0;
}

static int pairs_of_file (const struct fabric *f, FILE *in, const char *name,
                          FILE *out, struct error *err)
{
    char line[4 * FABRIC_NAME_MAX];

    for (unsigned long n = 1; fgets (line, sizeof (line), in); n++)
        if (pair_of_line (f, line, out, err) < 0)
            return error_prefix (err, "%s:%lu", name, n);
    if (ferror (in))
        return error_errno (err, "cannot read %s", name);
    return 0;
}

static int many_pairs (struct inputs *in, struct error *err)
{
    const char *name = strcmp (pairs, "-") ? pairs : "standard input";
    FILE *fp = file_open_input (pairs, err);
    FILE *out = fp ? inputs_output (in, err) : NULL;
    int rc = out ? pairs_of_file (in->fabric, fp, name, out, err) : -1;

    if (fp)
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
    .name = "path",
    .help = "the links between two hosts, there and back",
    .needs = TAKES_FABRIC,
    .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "[A B]",
    .max = 2,
    .options = options,
    .given = &pairs,
    .check = check,
    .run = run,
};
