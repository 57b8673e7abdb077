/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Communication graphs. */
#include "config.h"
#include "compare/map/talk.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/series.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/sort.h"
#include "util/text.h"

enum { FILE_MAX_BYTES = 1 << 28 };

#define AMOUNT_MAX 1e18

struct talk_arc {
    uint32_t from, to;
    double amount; /* of both directions */
};

struct talk_reader {
    struct talk_arc *arc; /* each pair from both sides */
    size_t narcs;
    uint32_t n;         /* ranks so far */
    double *value;      /* of a line */
    size_t columns;     /* of a matrix; 0: it is a graph, or not known yet */
    size_t rows;        /* lines so far */
};

static int add_talk_arc (struct talk_reader *r, uint32_t a, uint32_t b,
                         double amount, struct error *err)
{
    if (a == b || amount == 0)
        return 0;
    if (r->narcs == 2 * TALK_PAIRS_MAX)
        return error_input (err, "more than %d pairs of ranks", TALK_PAIRS_MAX);
    for (int back = 0; back < 2; back++) {
        r->arc = xgrow (r->arc, r->narcs, sizeof (*r->arc));
        r->arc[r->narcs++] = (struct talk_arc){ back ? b : a, back ? a : b,
                                                amount };
    }
    return 0;
}

static int rank (struct talk_reader *r, double value, uint32_t *a,
                 struct error *err)
{
    if (value >= TALK_RANKS_MAX || value != (uint32_t)value)
        return error_input (err, "%g is not a rank from 0 to %d", value,
                            TALK_RANKS_MAX - 1);
    *a = (uint32_t)value;
    if (r->n <= *a)
        r->n = *a + 1;
    return 0;
}

static int read_talk_line (struct talk_reader *r, char *line, struct error *err)
{
    static const char blanks[] = " \t\r,;";
    char *word, *rest;
    uint32_t a = 0, b = 0;
    size_t n = 0;

    for (word = strtok_r (line, blanks, &rest); word;
         word = strtok_r (NULL, blanks, &rest)) {
        if (n == TALK_RANKS_MAX)
            return error_input (err, "more than %d numbers", TALK_RANKS_MAX);
        r->value = xgrow (r->value, n, sizeof (*r->value));
        if (text_double (word, 0, AMOUNT_MAX, &r->value[n++]) < 0)
            return error_input (err, "%.40s is not an amount from 0 to 1e18",
                                word);
    }
    if (r->rows++ == 0 && n > 3)
        r->columns = n;
    if (r->columns > 0) {
        if (n != r->columns || r->rows > n)
            return error_input (err, "the matrix is not square: line %zu has"
                                     " %s, the first has %zu",
                                r->rows, COUNTED (n, "number"), r->columns);
        for (size_t i = 0; i < n; i++)
            if (add_talk_arc (r, r->rows - 1, i, r->value[i], err) < 0)
                return -1;
        return 0;
    }
    if (n != 2 && n != 3)
        return error_input (err, "not FROM TO [AMOUNT]");
    if (rank (r, r->value[0], &a, err) < 0
        || rank (r, r->value[1], &b, err) < 0)
        return -1;
    return add_talk_arc (r, a, b, n == 3 ? r->value[2] : 1, err);
}

static int read_text (struct talk_reader *r, FILE *fp, const char *name,
                      struct error *err)
{
    unsigned long number = 0;
    char *text = file_slurp_text (fp, name, FILE_MAX_BYTES, err);
    char *rest = text, *line;
    int rc = text ? 0 : -1;

    while (rc == 0 && (line = text_line (&rest, &number)))
        if ((rc = read_talk_line (r, line, err)) < 0)
            error_prefix (err, "%s:%lu", name, number);
    if (rc == 0 && r->columns > r->rows)
        rc = error_input (err, "%s: a matrix of %zu columns has %s", name,
                          r->columns, COUNTED (r->rows, "line"));
    if (r->columns > 0)
        r->n = r->columns;
    free (text);
    return rc;
}

static int read_talk_series (struct talk_reader *r, FILE *fp, const char *name,
                             struct error *err)
{
    struct series_list list;
    const struct series *s;
    int rc = series_read (&list, fp, name, err);

    if (rc < 0)
        return -1;
    s = series_list_pairs (&list);
    if (!s)
        rc = error_input (err, "%s: no run of pairs", name);
    else if (s->nprocesses > TALK_RANKS_MAX)
        rc = error_input (err, "%s: more than %d ranks", name, TALK_RANKS_MAX);
    else
        r->n = s->nprocesses;
    for (size_t i = 0; rc == 0 && i < s->npairs; i++)
        rc = add_talk_arc (r, s->row[i].a, s->row[i].b, s->row[i].count, err);
    series_list_clear (&list);
    return rc;
}

static int compare_arcs (const void *x, const void *y)
{
    const struct talk_arc *p = x, *q = y;

    return p->from != q->from ? util_compare (p->from, q->from)
                              : util_compare (p->to, q->to);
}

/* One arc from each rank to another, in order. */
static struct talk *build_talk (struct talk_reader *r)
{
    struct talk *t = xcalloc (1, sizeof (*t));
    size_t *count = xcalloc (r->n, sizeof (*count)), n = 0;

    qsort (r->arc, r->narcs, sizeof (*r->arc), compare_arcs);
    for (size_t i = 0; i < r->narcs; i++)
        if (n > 0 && compare_arcs (&r->arc[n - 1], &r->arc[i]) == 0)
            r->arc[n - 1].amount += r->arc[i].amount;
        else {
            count[r->arc[i].from]++;
            r->arc[n++] = r->arc[i];
        }
    t->n = r->n;
    t->with = csr_create (r->n, count);
    t->amount = xarray (n, sizeof (*t->amount));
    for (size_t i = 0; i < n; i++) {
        t->with.v[i] = r->arc[i].to;
        t->amount[i] = r->arc[i].amount;
        t->total += t->amount[i] / 2;
    }
    free (count);
    return t;
}

struct talk *talk_read (FILE *fp, const char *name, struct error *err)
{
    struct talk_reader r = { 0 };
    struct talk *t = NULL;
    int c = getc (fp);

    if (c != EOF)
        ungetc (c, fp);
    if ((c == '{' ? read_talk_series : read_text) (&r, fp, name, err) == 0) {
        if (r.narcs > 0)
            t = build_talk (&r);
        else
            error_input (err, "%s: no rank sends to another", name);
    }
    free (r.arc);
    free (r.value);
    return t;
}

void talk_destroy (struct talk *t)
{
    if (!t)
        return;
    csr_clear (&t->with);
    free (t->amount);
    free (t);
}
