/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm fabric cabling: which plug belongs where, for a technician. */
#include "config.h"


#include "ibquery/compare/cabling.h"
#include "pmm/verb.h"
#include "util/json.h"

static bool partial;

static const struct opt options[] = {
    { "partial", 0, NULL, opt_true, 0,
      "the table lists some cables only: do not report the others" },
    { 0 },
};

/* A line of the table: right, missing in the fabric, or to be moved. */
struct cable_work {
    const struct cabling_line *line;
    const struct cable_move *move; /* NULL: none */
    unsigned int swap; /* the line of the other of two exchanged cables; 0 */
    bool missing;
};

static struct cable_work *find_work (const struct cabling *c)
{
    const struct cables *found = &c->found;
    struct cable_work *w = verb_array (c->nlines, sizeof (*w));

    for (size_t i = 0; i < c->nlines; i++)
        w[i].line = &c->line[i];
    for (size_t i = 0; i < found->added.n; i++)
        w[found->added.v[i].b].missing = true;
    for (size_t i = 0; i < found->nmoves; i++) {
        const struct cable_move *m = &found->move[i];

        w[m->cable.b].move = m;
        if (m->swap != CABLES_NONE)
            w[m->cable.b].swap
                = c->line[found->move[m->swap].cable.b].number;
    }
    return w;
}

/* The next cable, from the i-th lost one, that the table should contain: one
 * inside a chassis need not be there. NULL: no more.
 */
static const struct fabric_link *next_unexpected (const struct cabling *c,
                                                  size_t *i)
{
    while (!partial && *i < c->found.lost.n) {
        const struct fabric_link *l = &c->f->link[c->found.lost.v[(*i)++].a];

        if (!l->internal)
            return l;
    }
    return NULL;
}

#define PORT(c, port) PORT_NAME ((c)->f, port)

static void write_cabling_text (const struct cabling *c,
                                const struct cable_work *w, const char *file,
                                FILE *fp)
{
    const struct fabric_link *l;

    if (c->nabsent > 0)
        fprintf (fp, "not in the fabric: %s\n",
                 verb_fold ((const char *const *)c->absent, c->nabsent));
    for (size_t i = 0; i < c->nlines; i++) {
        const struct cabling_line *line = w[i].line;
        const struct cable_move *m = w[i].move;

        /* of a swap, only the first line is reported */
        if ((!m && !w[i].missing)
            || (w[i].swap > 0 && w[i].swap < line->number))
            continue;
        fprintf (fp, "%s:%u: %s%s", SHOWN (file), line->number, line->label,
                 *line->label ? ": " : "");
        if (!m)
            fprintf (fp, "missing: %s - %s\n", PORT (c, line->a),
                     PORT (c, line->b));
        else if (w[i].swap == 0)
            fprintf (fp, "wrong: move the plug in %s to %s; its other end is "
                         "%s\n",
                     PORT (c, m->from), PORT (c, m->to), PORT (c, m->stays));
        else
            fprintf (fp, "swapped: exchange the plugs in %s and %s, so that %s "
                         "is at %s, and %s at %s (line %u)\n",
                     PORT (c, m->from), PORT (c, m->to), PORT (c, m->stays),
                     PORT (c, m->to), PORT (c, c->found.move[m->swap].stays),
                     PORT (c, m->from), w[i].swap);
    }
    for (size_t i = 0; (l = next_unexpected (c, &i));)
        fprintf (fp, "unexpected: %s - %s\n", PORT (c, l->a), PORT (c, l->b));
}

static json_t *port_json (const struct cabling *c, uint32_t port)
{
    return fabric_port_json (c->f, port);
}

static json_t *cabling_json (const struct cabling *c,
                             const struct cable_work *w, bool clean)
{
    json_t *wrong = json_array (), *missing = json_array ();
    json_t *unexpected = json_array ();
    const struct fabric_link *l;

    for (size_t i = 0; i < c->nlines; i++) {
        const struct cabling_line *line = w[i].line;
        const struct cable_move *m = w[i].move;

        if (m)
            json_add (wrong, json_pack ("{s:i, s:s, s:o, s:o, s:o, s:i}",
                                        "line", line->number, "label",
                                        line->label, "other_end",
                                        port_json (c, m->stays), "is",
                                        port_json (c, m->from), "wanted",
                                        port_json (c, m->to), "swapped_with",
                                        w[i].swap));
        if (w[i].missing)
            json_add (missing, json_pack ("{s:i, s:s, s:o, s:o}", "line",
                                          line->number, "label", line->label,
                                          "a", port_json (c, line->a), "b",
                                          port_json (c, line->b)));
    }
    for (size_t i = 0; (l = next_unexpected (c, &i));)
        json_add (unexpected, json_pack ("{s:o, s:o}", "a",
                                         port_json (c, l->a), "b",
                                         port_json (c, l->b)));
    return json_pack ("{s:b, s:I, s:o, s:o, s:o, s:o}", "as_wanted", clean,
                      "right", (json_int_t)c->found.same.n, "wrong", wrong,
                      "missing", missing, "unexpected", unexpected, "absent",
                      json_strings (c->absent, c->nabsent));
}

static int run_cabling (struct inputs *in)
{
    const char *path = in->operand[0];
    struct cable_work *w;
    struct cabling *c;
    size_t first = 0;
    bool clean;
    FILE *fp;

    inputs_need_whole (in->fabric, in->fabric_path);
    fp = need (file_open_input (path, &fault));
    c = verb_own_cabling (cabling_read (in->fabric, fp, path, &fault));
    file_close_input (fp);
    w = find_work (c);
    clean = c->found.nmoves + c->found.added.n + c->nabsent == 0
            && !next_unexpected (c, &first);
    if (in->json)
        inputs_put_json (in, "cabling", c->f->hash, cabling_json (c, w, clean));
    else
        write_cabling_text (c, w, path, inputs_output (in));
    return clean ? EXIT_OK : EXIT_FAIL;
}

const struct verb verb_fabric_cabling = {
    .name = "cabling", .help = "compare the cables with a table of them",
    .needs = TAKES_FABRIC, .may = TAKES_JSON | TAKES_OUTPUT, .operands = "CSV",
    .min = 1, .max = 1,
    .options = options, .given = &partial, .run = run_cabling,
};
