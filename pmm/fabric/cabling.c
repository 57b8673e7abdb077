/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric cabling: which plug belongs where, for a technician. */
#include "config.h"

#include <stdlib.h>

#include "ibquery/compare/cabling.h"
#include "pmm/fabric/fabric_verb.h"
#include "util/alloc.h"
#include "util/json.h"

enum { NAME = 600 };

static bool partial;

static const struct opt options[] = {
    { "partial", 0, NULL, opt_true, 0,
      "the table is not about all cables: others are not unexpected" },
    { 0 },
};

/* The work to do, in the order of the table's lines. */
struct cable_work {
    const struct cabling *c;
    const char *file;
    const struct cable_move **move; /* by line; NULL: no move */
    bool *missing;                  /* by line */
};

static void find_work (struct cable_work *w)
{
    const struct cabling *c = w->c;

    w->move = xcalloc (c->nlines, sizeof (*w->move));
    w->missing = xcalloc (c->nlines, sizeof (*w->missing));
    for (size_t i = 0; i < c->found.nmoves; i++)
        w->move[c->found.move[i].cable.after] = &c->found.move[i];
    for (size_t i = 0; i < c->found.nadded; i++)
        w->missing[c->found.added[i]] = true;
}

/* Whether the table should contain this cable: a cable inside a chassis need
 * not be there.
 */
static bool is_unexpected (const struct cable_work *w, size_t lost)
{
    return !partial && !w->c->f->link[w->c->found.lost[lost]].internal;
}

static bool is_absent (const struct cabling *c, uint32_t port)
{
    return port >= c->f->nports;
}

/* The line of the other of two exchanged cables; 0: none. */
static unsigned int swap_line (const struct cable_work *w, size_t line)
{
    const struct cable_move *m = w->move[line];

    return m->swap == CABLES_NONE
               ? 0
               : w->c->line[w->c->found.move[m->swap].cable.after].number;
}

static bool is_clean (const struct cable_work *w)
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

static void put_move (const struct cable_work *w, size_t line, FILE *fp)
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

/* Of a swap, only the first line is reported. */
static bool is_told (const struct cable_work *w, size_t line)
{
    unsigned int other = w->move[line] ? swap_line (w, line) : 0;

    return other != 0 && other < w->c->line[line].number;
}

static void put_line (const struct cable_work *w, size_t line, FILE *fp)
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

/* Nodes that are only in the table. Their cables may be correct. */
static void put_absent (const struct cabling *c, FILE *fp)
{
    char *names;

    if (c->nabsent == 0)
        return;
    names = xcheck (hostlist_fold ((const char *const *)c->absent_node,
                                   c->nabsent));
    fprintf (fp, "not in the fabric: %s\n", names);
    free (names);
}

static int write_text (const struct cable_work *w, FILE *fp, struct error *err)
{
    const struct cabling *c = w->c;

    (void)err;
    put_absent (c, fp);
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

static json_t *wrong_json (const struct cable_work *w)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < w->c->nlines; i++) {
        const struct cable_move *m = w->move[i];

        if (m)
            json_add (
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

static json_t *missing_json (const struct cable_work *w)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < w->c->nlines; i++)
        if (w->missing[i])
            json_add (out, line_json (w->c, &w->c->line[i]));
    return out;
}

static json_t *unexpected_json (const struct cable_work *w)
{
    const struct cabling *c = w->c;
    json_t *out = json_array ();

    for (size_t i = 0; i < c->found.nlost; i++) {
        const struct fabric_link *l = &c->f->link[c->found.lost[i]];

        if (is_unexpected (w, i))
            json_add (
                out, json_pack ("{s:o, s:o}", "a", port_json (c, l->a), "b",
                                port_json (c, l->b)));
    }
    return out;
}

static json_t *absent_json (const struct cabling *c)
{
    json_t *out = json_array ();

    for (size_t i = 0; i < c->nabsent; i++)
        json_add (out, json_string (c->absent_node[i]));
    return out;
}

static int write_json (const struct cable_work *w, FILE *fp, struct error *err)
{
    json_t *rest = json_pack (
        "{s:b, s:I, s:o, s:o, s:o, s:o}", "as_wanted", is_clean (w), "right",
        (json_int_t)w->c->found.nsame, "wrong", wrong_json (w), "missing",
        missing_json (w), "unexpected", unexpected_json (w), "absent",
        absent_json (w->c));

    return json_write_file ("cabling", w->c->f->hash, rest, fp, err);
}

/* Compare, and write the work to do. Returns the exit status, or -1 with err.
 */
static int compare (struct inputs *in, FILE *table, struct error *err)
{
    struct cable_work w = { .file = in->operand[0] };
    struct cabling *c = cabling_read (in->fabric, table, w.file, err);
    int status = -1;
    FILE *fp;

    if (!c)
        return -1;
    w.c = c;
    find_work (&w);
    if ((fp = inputs_output (in, err))
        && (in->json ? write_json : write_text) (&w, fp, err) == 0)
        status = is_clean (&w) ? EXIT_OK : EXIT_FAIL;
    free (w.move);
    free (w.missing);
    cabling_destroy (c);
    return status;
}

static int run (struct inputs *in, struct error *err)
{
    FILE *fp;
    int status;

    if (fabric_need_whole (in->fabric, in->fabric_path, err) < 0
        || !(fp = file_open_input (in->operand[0], err)))
        return -1;
    status = compare (in, fp, err);
    file_close_input (fp);
    return status;
}

const struct verb verb_fabric_cabling = {
    .name = "cabling",
    .needs = TAKES_FABRIC,
    .may = TAKES_JSON | TAKES_OUTPUT,
    .operands = "CSV",
    .min = 1,
    .max = 1,
    .options = options,
    .given = &partial,
    .run = run,
};
