/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric cabling: which plug goes where, for a technician. */
#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/compare/cabling.h"
#include "pmm/common.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

enum { NAME = 600 };

struct options {
    const char *fabric, *output;
    bool json, partial;
};

/* What is to be done, in the order of the table's lines. */
struct work {
    const struct cabling *c;
    const char *file;
    bool partial;
    const struct cable_move **move; /* by line; NULL: none is due */
    bool *missing;                  /* by line */
};

static int work_init (struct work *w, struct error *err)
{
    const struct cabling *c = w->c;

    w->move = calloc (c->nlines, sizeof (*w->move));
    w->missing = calloc (c->nlines, sizeof (*w->missing));
    if (!w->move || !w->missing)
        return error_nomem (err);
    for (size_t i = 0; i < c->found.nmoves; i++)
        w->move[c->found.move[i].cable.after] = &c->found.move[i];
    for (size_t i = 0; i < c->found.nadded; i++)
        w->missing[c->found.added[i]] = true;
    return 0;
}

static void work_clear (struct work *w)
{
    free (w->move);
    free (w->missing);
}

/* A cable that the table should know: not one inside a chassis. */
static bool is_unexpected (const struct work *w, size_t lost)
{
    return !w->partial && !w->c->f->link[w->c->found.lost[lost]].internal;
}

static bool is_absent (const struct cabling *c, uint32_t port)
{
    return port >= c->f->nports;
}

/* The line that the other of two exchanged cables is in; 0: none. */
static unsigned int swap_line (const struct work *w, size_t line)
{
    const struct cable_move *m = w->move[line];

    return m->swap == CABLES_NONE
               ? 0
               : w->c->line[w->c->found.move[m->swap].cable.after].number;
}

static bool is_clean (const struct work *w)
{
    for (size_t i = 0; i < w->c->found.nlost; i++)
        if (is_unexpected (w, i))
            return false;
    return w->c->found.nmoves + w->c->found.nadded == 0;
}

/*
 * For people
 */

struct names {
    char stays[NAME], from[NAME], to[NAME];
};

static void name_move (const struct cabling *c, const struct cable_move *m,
                       struct names *n)
{
    cabling_port_name (c, m->stays, n->stays, NAME);
    cabling_port_name (c, m->from, n->from, NAME);
    cabling_port_name (c, m->to, n->to, NAME);
}

static void put_move (const struct work *w, size_t line, FILE *fp)
{
    const struct cable_move *m = w->move[line];
    struct names n, other;

    name_move (w->c, m, &n);
    if (m->swap == CABLES_NONE) {
        fprintf (fp, "wrong: move the plug in %s to %s; its other end is %s",
                 n.from, n.to, n.stays);
        return;
    }
    name_move (w->c, &w->c->found.move[m->swap], &other);
    fprintf (fp, "swapped: exchange the plugs in %s and %s, so that %s is at "
                 "%s, and %s at %s (line %u)",
             n.from, n.to, n.stays, n.to, other.stays, n.from,
             swap_line (w, line));
}

static void put_missing (const struct cabling *c, const struct cabling_line *l,
                         FILE *fp)
{
    char a[NAME], b[NAME];

    cabling_port_name (c, l->a, a, NAME);
    cabling_port_name (c, l->b, b, NAME);
    fprintf (fp, "missing: %s - %s", a, b);
}

/* Of a swap, the first line tells. */
static bool is_told (const struct work *w, size_t line)
{
    unsigned int other = w->move[line] ? swap_line (w, line) : 0;

    return other != 0 && other < w->c->line[line].number;
}

static void put_line (const struct work *w, size_t line, FILE *fp)
{
    const struct cabling_line *l = &w->c->line[line];

    if (!(w->move[line] || w->missing[line]) || is_told (w, line))
        return;
    fprintf (fp, "%s:%u: ", SHOWN (w->file), l->number);
    if (*l->label)
        fprintf (fp, "%s: ", l->label);
    if (w->move[line])
        put_move (w, line, fp);
    else
        put_missing (w->c, l, fp);
    fputc ('\n', fp);
}

/* The nodes that are in the table alone: their cables may be in order. */
static int put_absent (const struct cabling *c, FILE *fp, struct error *err)
{
    char *names;

    if (c->nabsent == 0)
        return 0;
    names = hostlist_fold ((const char *const *)c->absent_node, c->nabsent);
    if (!names)
        return error_nomem (err);
    fprintf (fp, "not in the fabric: %s\n", names);
    free (names);
    return 0;
}

static int write_text (const struct work *w, FILE *fp, struct error *err)
{
    const struct cabling *c = w->c;

    if (put_absent (c, fp, err) < 0)
        return -1;
    for (size_t i = 0; i < c->nlines; i++)
        put_line (w, i, fp);
    for (size_t i = 0; i < c->found.nlost; i++) {
        const struct fabric_link *l = &c->f->link[c->found.lost[i]];
        char a[NAME], b[NAME];

        if (!is_unexpected (w, i))
            continue;
        cabling_port_name (c, l->a, a, NAME);
        cabling_port_name (c, l->b, b, NAME);
        fprintf (fp, "unexpected: %s - %s\n", a, b);
    }
    return 0;
}

/*
 * For programs
 */

static json_t *port_json (const struct cabling *c, uint32_t port)
{
    return is_absent (c, port) ? json_string (c->absent[port - c->f->nports])
                               : fabric_port_json (c->f, port);
}

static json_t *line_json (const struct cabling *c,
                          const struct cabling_line *l)
{
    return json_pack ("{s:i, s:s, s:o, s:o}", "line", l->number, "label",
                      l->label, "a", port_json (c, l->a), "b",
                      port_json (c, l->b));
}

static json_t *wrong_json (const struct work *w)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < w->c->nlines; i++) {
        const struct cable_move *m = w->move[i];

        if (m)
            json_array_append_new (
                out, json_pack ("{s:i, s:s, s:o, s:o, s:o, s:i}", "line",
                                w->c->line[i].number, "label",
                                w->c->line[i].label, "other_end",
                                port_json (w->c, m->stays), "is",
                                port_json (w->c, m->from), "wanted",
                                port_json (w->c, m->to), "swapped_with",
                                swap_line (w, i)));
    }
    return out;
}

static json_t *missing_json (const struct work *w)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < w->c->nlines; i++)
        if (w->missing[i])
            json_array_append_new (out, line_json (w->c, &w->c->line[i]));
    return out;
}

static json_t *unexpected_json (const struct work *w)
{
    const struct cabling *c = w->c;
    json_t *out = json_array ();

    for (size_t i = 0; i < c->found.nlost; i++) {
        const struct fabric_link *l = &c->f->link[c->found.lost[i]];

        if (is_unexpected (w, i))
            json_array_append_new (
                out, json_pack ("{s:o, s:o}", "a", port_json (c, l->a), "b",
                                port_json (c, l->b)));
    }
    return out;
}

static json_t *absent_json (const struct cabling *c)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < c->nabsent; i++)
        json_array_append_new (out, json_string (c->absent_node[i]));
    return out;
}

static int write_json (const struct work *w, FILE *fp, struct error *err)
{
    json_t *rest = json_pack (
        "{s:b, s:I, s:o, s:o, s:o, s:o}", "as_wanted", is_clean (w), "right",
        (json_int_t)w->c->found.nsame, "wrong", wrong_json (w), "missing",
        missing_json (w), "unexpected", unexpected_json (w), "absent",
        absent_json (w->c));

    return json_write_file ("cabling", w->c->f->hash, rest, fp, err);
}

static int write_work (const struct work *w, const struct options *o,
                       struct error *err)
{
    struct outfile *out = file_create (o->output, err);

    if (!out)
        return -1;
    return file_finish (out,
                        (o->json ? write_json : write_text) (
                            w, file_stream (out), err),
                        err);
}

/* Compare, and write what is to be done: the exit status. */
static int check (const char *verb, const struct fabric *f, FILE *fp,
                  const char *file, const struct options *o)
{
    struct work w = { .file = file, .partial = o->partial };
    struct cabling *c;
    struct error err;
    int status;

    if (!(w.c = c = cabling_read (f, fp, file, &err))
        || work_init (&w, &err) < 0 || write_work (&w, o, &err) < 0)
        status = fail (verb, &err);
    else
        status = is_clean (&w) ? EXIT_OK : EXIT_FAIL;
    work_clear (&w);
    cabling_destroy (c);
    return status;
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot to check" },
    { "partial", 0, NULL, opt_true, FIELD (partial),
      "the table is not about all cables: others are not unexpected" },
    { "json", 0, NULL, opt_true, FIELD (json), "for programs" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

int fabric_verb_cabling (int argc, char **argv)
{
    struct options o = { 0 };
    struct fabric *f;
    struct error err;
    FILE *fp;
    int status;
    int first = options_parse (table, &o, argc, argv, "CSV", 1, 1, &status);

    if (first < 0)
        return status;
    if (!o.fabric) {
        error_input (&err, "-f FABRIC is missing");
        return fail (argv[0], &err);
    }
    f = fabric_load_whole (o.fabric, &err);
    if (!f || !(fp = file_open_input (argv[first], &err)))
        status = fail (argv[0], &err);
    else {
        status = check (argv[0], f, fp, argv[first], &o);
        file_close_input (fp);
    }
    fabric_destroy (f);
    return status;
}
