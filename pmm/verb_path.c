/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm path: the links between two hosts, there and back; or those from one to
 * the other, of many pairs.
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "ibquery/snapshot.h"
#include "ibquery/walk.h"
#include "pmm/common.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

struct options {
    const char *fabric, *output, *pairs;
    bool json;
};

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric), "the snapshot" },
    { "json", 0, NULL, opt_true, FIELD (json), "the links' ids as JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { "pairs", 0, "FILE", opt_string, FIELD (pairs),
      "the links of each pair, of which FILE has a line \"A B\"" },
    { 0 },
};
#undef FIELD

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
        json_array_append_new (list, json_string (f->link[p->link[i]].id));
    return list;
}

static int write_json (const struct fabric *f, const struct path *there,
                       const struct path *back, FILE *fp, struct error *err)
{
    json_t *root = json_file ("path", f->hash);
    int rc;

    if (!root
        || json_object_set_new (root, "a", json_string (
               f->end[there->from].name)) < 0
        || json_object_set_new (root, "b", json_string (
               f->end[there->to].name)) < 0
        || json_object_set_new (root, "forward", path_json (f, there)) < 0
        || json_object_set_new (root, "reverse", path_json (f, back)) < 0)
        rc = error_nomem (err);
    else
        rc = json_write (root, fp, err);
    json_decref (root);
    return rc;
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

static int print (const struct fabric *f, const struct options *o,
                  const struct path *there, const struct path *back,
                  struct error *err)
{
    struct outfile *out = file_create (o->output, err);
    FILE *fp;
    int rc = 0;

    if (!out)
        return -1;
    fp = file_stream (out);
    if (o->json)
        rc = write_json (f, there, back, fp, err);
    else {
        print_path (f, there, fp);
        print_path (f, back, fp);
    }
    return file_finish (out, rc, err);
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

static int one_pair (const struct fabric *f, const struct options *o,
                     char **operand, struct error *err)
{
    const char *const name[] = { operand[0], operand[1] };
    struct path there, back;
    uint32_t end[2];

    if (find_ends (f, name, end, err) < 0
        || walk (f, &there, end[0], end[1], err) < 0
        || walk (f, &back, end[1], end[0], err) < 0)
        return -1;
    return print (f, o, &there, &back, err);
}

/* A line "A B" of a file of pairs. */
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

static int many_pairs (const struct fabric *f, const struct options *o,
                       struct error *err)
{
    const char *name = strcmp (o->pairs, "-") ? o->pairs : "standard input";
    FILE *in = file_open_input (o->pairs, err);
    struct outfile *out = NULL;
    int rc = -1;

    if (!in)
        return -1;
    out = file_create (o->output, err);
    if (out)
        rc = file_finish (out,
                          pairs_of_file (f, in, name, file_stream (out), err),
                          err);
    file_close_input (in);
    return rc;
}

int verb_path (int argc, char **argv)
{
    struct options o = { 0 };
    struct fabric *f;
    struct error err;
    int status, operand, rc;

    operand = options_parse (table, &o, argc, argv, "[A B]", 0, 2, &status);
    if (operand < 0)
        return status;
    status = EXIT_OK;
    if (!o.fabric) {
        error_input (&err, "-f FABRIC is missing");
        return fail (argv[0], &err);
    }
    if (argc - operand != (o.pairs ? 0 : 2) || (o.pairs && o.json)) {
        error_input (&err, "%s",
                     o.pairs ? "--pairs goes with neither A B nor --json"
                             : "a path has two ends");
        return fail (argv[0], &err);
    }
    f = fabric_load (o.fabric, &err);
    if (!f)
        return fail (argv[0], &err);
    rc = o.pairs ? many_pairs (f, &o, &err)
                 : one_pair (f, &o, argv + operand, &err);
    if (rc < 0)
        status = fail (argv[0], &err);
    fabric_destroy (f);
    return status;
}
