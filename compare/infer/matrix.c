/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Latencies of all pairs of nodes; their text file. */
#include "config.h"
#include "compare/infer/matrix.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/file.h"
#include "util/terminal.h"
#include "util/text.h"

static const char blanks[] = " \t\r";

enum { FILE_MAX_BYTES = 1 << 28 };

struct infer_matrix *infer_matrix_create (uint32_t n, struct error *err)
{
    struct infer_matrix *m;

    if (n < 2 || n > INFER_MAX_NODES) {
        error_input (err, "%s, not 2 to %d", COUNTED (n, "node"),
                     INFER_MAX_NODES);
        return NULL;
    }
    m = xcalloc (1, sizeof (*m));
    m->n = n;
    m->ns = xarray ((size_t)n * n, sizeof (*m->ns));
    m->label = xarray (n, sizeof (*m->label));
    for (size_t i = 0; i < (size_t)n * n; i++)
        m->ns[i] = i % (n + 1) ? NAN : 0;
    for (uint32_t i = 0; i < n; i++)
        m->label[i] = xasprintf ("%u", i + 1);
    return m;
}

void infer_matrix_destroy (struct infer_matrix *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; i < m->n; i++)
        free (m->label[i]);
    free (m->label);
    free (m->ns);
    free (m);
}

int infer_matrix_name (struct infer_matrix *m, uint32_t a, const char *label,
                       struct error *err)
{
    char *copy;

    if (!*label || strlen (label) > INFER_MAX_LABEL)
        return error_input (err, "a label has 1 to %d bytes", INFER_MAX_LABEL);
    copy = xstrdup (label);
    text_clean (copy);
    for (char *c = copy; (c = strpbrk (c, " #"));)
        *c = '?';
    for (uint32_t i = 0; i < m->n; i++)
        if (i != a && !strcmp (m->label[i], copy)) {
            free (copy);
            return error_input (err, "two nodes are called %.80s", m->label[i]);
        }
    free (m->label[a]);
    m->label[a] = copy;
    return 0;
}

void infer_matrix_set (struct infer_matrix *m, uint32_t a, uint32_t b,
                       double ns)
{
    m->ns[(size_t)a * m->n + b] = ns;
    m->ns[(size_t)b * m->n + a] = ns;
}

void infer_matrix_mean (struct infer_matrix *m)
{
    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++) {
            double there = infer_matrix_at (m, a, b);
            double back = infer_matrix_at (m, b, a);
            double mean = isnan (there) ? back
                          : isnan (back) ? there
                                         : there / 2 + back / 2;

            infer_matrix_set (m, a, b, mean);
        }
}

size_t infer_matrix_values (const struct infer_matrix *m, double *v)
{
    size_t n = 0;

    for (uint32_t a = 0; a < m->n; a++)
        for (uint32_t b = a + 1; b < m->n; b++)
            if (!isnan (infer_matrix_at (m, a, b)))
                v[n++] = infer_matrix_at (m, a, b);
    return n;
}

uint64_t infer_matrix_unknown (const struct infer_matrix *m)
{
    uint64_t n = 0;

    for (size_t i = 0; i < (size_t)m->n * m->n; i++)
        n += isnan (m->ns[i]);
    return n / 2;
}

static uint32_t count_words (const char *s)
{
    uint32_t n = 0;

    while (*(s += strspn (s, blanks)) && n < UINT32_MAX) {
        s += strcspn (s, blanks);
        n++;
    }
    return n;
}

/* Row a of the matrix, from the words after the label. */
static int read_matrix_row (struct infer_matrix *m, uint32_t a, char *words,
                            double unit_ns, struct error *err)
{
    for (uint32_t b = 0; b < m->n; b++) {
        char *word = strtok_r (NULL, blanks, &words);
        double *ns = &m->ns[(size_t)a * m->n + b];

        if (!word)
            return error_input (err, "%s, not %u", COUNTED (b, "value"), m->n);
        if (a == b || !strcmp (word, "-"))
            continue;
        if (text_double (word, INFER_MIN_NS / unit_ns, INFER_MAX_NS / unit_ns,
                         ns) < 0)
            return error_input (err, "'%.40s' is no latency", word);
        *ns *= unit_ns;
    }
    if (strtok_r (NULL, blanks, &words))
        return error_input (err, "more than %u values", m->n);
    return 0;
}

/* *m: the matrix as far as it was made. */
static int read_matrix_lines (struct infer_matrix **m, char *text,
                              double unit_ns, unsigned long *number,
                              struct error *err)
{
    char *line, *words;
    uint32_t a = 0;

    for (; (line = text_line (&text, number)); a++) {
        if (!*m && !(*m = infer_matrix_create (count_words (line) - 1, err)))
            return error_prefix (
                err, "wanted is a label and a value for each node");
        if (a == (*m)->n)
            return error_input (err, "more than %u nodes", a);
        if (infer_matrix_name (*m, a, strtok_r (line, blanks, &words), err) < 0
            || read_matrix_row (*m, a, words, unit_ns, err) < 0)
            return -1;
    }
    if (!*m)
        return error_input (err, "there is no matrix");
    if (a < (*m)->n)
        return error_input (err, "%s, not %u", COUNTED (a, "node"), (*m)->n);
    infer_matrix_mean (*m);
    return 0;
}

struct infer_matrix *infer_matrix_read (FILE *fp, const char *name,
                                        double unit_ns, struct error *err)
{
    struct infer_matrix *m = NULL;
    unsigned long number = 0;
    char *text = file_slurp_text (fp, name, FILE_MAX_BYTES, err);

    if (text && read_matrix_lines (&m, text, unit_ns, &number, err) < 0) {
        error_prefix (err, "%s:%lu", name, number);
        infer_matrix_destroy (m);
        m = NULL;
    }
    free (text);
    return m;
}

static bool is_matrix_row_measured (const struct infer_matrix *m, uint32_t a)
{
    for (uint32_t b = 0; b < m->n; b++)
        if (b != a && !isnan (infer_matrix_at (m, a, b)))
            return true;
    return false;
}

struct infer_matrix *infer_matrix_measured (const struct infer_matrix *m,
                                            char ***lost, size_t *nlost,
                                            struct error *err)
{
    uint32_t *kept = xarray (m->n, sizeof (*kept));
    struct infer_matrix *p = NULL;
    uint32_t n = 0;

    *nlost = 0;
    *lost = xarray (m->n, sizeof (**lost));
    for (uint32_t a = 0; a < m->n; a++)
        if (is_matrix_row_measured (m, a))
            kept[n++] = a;
        else
            (*lost)[(*nlost)++] = xstrdup (m->label[a]);
    if (n == 0)
        error_world (err, "no pair was measured");
    else /* two at least: a pair was */
        p = infer_matrix_create (n, err);
    for (uint32_t a = 0; p && a < n; a++) {
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (p, a, b,
                              infer_matrix_at (m, kept[a], kept[b]));
        free (p->label[a]);
        p->label[a] = xstrdup (m->label[kept[a]]);
    }
    free (kept);
    while (!p && *nlost > 0)
        free ((*lost)[--*nlost]);
    if (!p) {
        free (*lost);
        *lost = NULL;
    }
    return p;
}

/* Pairs and paths as a matrix. */

struct infer_matrix *infer_matrix_of_series (const struct series *s,
                                             uint64_t length,
                                             enum series_stat stat,
                                             struct error *err)
{
    struct infer_matrix *m;
    size_t known = 0;

    stat = series_stat_known (s, stat);
    if (!series_stat_is_time (stat)) {
        error_input (err, "the %s of repeats is no time",
                     series_stat_names[stat]);
        return NULL;
    }
    if (!(m = infer_matrix_create (s->nprocesses, err)))
        return NULL;
    for (uint32_t i = 0; i < s->nprocesses; i++)
        if (infer_matrix_name (m, i, s->process[i].label, err) < 0)
            goto error;
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_row *p = &s->row[i];
        double ns = p->time_ns[stat];

        if (p->length != length || p->a == p->b || !series_measured (p)
            || !isfinite (ns) || ns <= 0)
            continue;
        m->ns[(size_t)p->a * m->n + p->b] = ns;
        known++;
    }
    if (known == 0) {
        error_input (err, "no pair was measured by messages of %" PRIu64
                          " bytes", length);
        goto error;
    }
    infer_matrix_mean (m);
    return m;
error:
    infer_matrix_destroy (m);
    return NULL;
}

struct infer_matrix *infer_matrix_of_paths (const struct pathset *ps,
                                            struct error *err)
{
    size_t n = pathset_size (ps);
    uint32_t arc[PATH_MAX_HOPS];
    struct infer_matrix *m;

    if (pathset_one_subnet (ps, err) < 0)
        return NULL;
    if (n > INFER_MAX_NODES) {
        error_input (err, "%zu endpoints: %d at most make a matrix", n,
                     INFER_MAX_NODES);
        return NULL;
    }
    if (!(m = infer_matrix_create (n, err)))
        return NULL;
    for (size_t a = 0; a < n; a++) {
        terminal_work ("following paths", a, n);
        if (infer_matrix_name (m, a, pathset_endpoint (ps, a)->name, err) < 0)
            goto error;
        for (size_t b = 0; b < n; b++) {
            int links = a == b ? 0 : pathset_walk (ps, a, b, arc, err);

            if (links < 0)
                goto error;
            m->ns[a * n + b] = links;
        }
    }
    infer_matrix_mean (m);
    return m;
error:
    infer_matrix_destroy (m);
    return NULL;
}
