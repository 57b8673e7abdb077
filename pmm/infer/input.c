/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input of `pmm infer`. */
#include "config.h"
#include "pmm/infer/infer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/infer.h"
#include "compare/infer/join.h"
#include "compare/infer/matrix.h"
#include "compare/infer/graph.h"
#include "compare/series/parus.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

#define NONE TOPOLOGY_NONE

static struct infer_matrix *load_series (FILE *fp, const char *path,
                                         const struct infer_how *how,
                                         struct error *err)
{
    struct infer_matrix *m = NULL;
    struct series_list list;
    const struct series *s;

    if (series_read (&list, fp, path, err) < 0)
        return NULL;
    if (!(s = series_list_pairs (&list)))
        error_input (err, "no run of pairs");
    else
        m = infer_matrix_of_series (s, how->any_length ? s->pair[0].length
                                                       : how->length,
                                    how->stat, err);
    if (!m)
        error_prefix (err, "%s", path);
    series_list_clear (&list);
    return m;
}

/* A file that is not a series is a matrix. */
static bool is_series (const char *text)
{
    return *text == '{'
           || strncmp (text, PARUS_START, strlen (PARUS_START)) == 0;
}

static struct infer_matrix *load_text (const char *text, size_t len,
                                       const char *path,
                                       const struct infer_how *how,
                                       struct error *err)
{
    FILE *fp = fmemopen ((void *)text, len, "r");
    struct infer_matrix *m;

    if (!fp) {
        error_errno (err, "%s", path);
        return NULL;
    }
    m = is_series (text) ? load_series (fp, path, how, err)
                         : infer_matrix_read (fp, path, err);
    fclose (fp);
    return m;
}

struct infer_matrix *infer_load (const char *path, const struct infer_how *how,
                                 struct error *err)
{
    enum { BYTES_MAX = 1 << 30 };
    FILE *fp = file_open_input (path, err);
    struct infer_matrix *m = NULL;
    size_t len;
    char *text;

    if (!fp)
        return NULL;
    if (!(text = file_slurp (fp, BYTES_MAX, &len, err)))
        error_prefix (err, "%s", path);
    else if (len == 0)
        error_input (err, "%s: the file is empty", path);
    else
        m = load_text (text, len, path, how, err);
    free (text);
    file_close_input (fp);
    return m;
}

struct topology_model *infer_model (const struct infer_matrix *w,
                                    const struct infer_how *how,
                                    struct error *err)
{
    return how->basic ? infer_basic (w, how->eps)
                      : infer_switches (w, how->eps, err);
}

static uint32_t find_label (const struct infer_matrix *w, const char *label)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (strcmp (w->label[i], label) == 0)
            return i;
    return NONE;
}

/* The matrix of the nodes label[0 .. n-1]. */
static struct infer_matrix *pick (const struct infer_matrix *w,
                                  const char *const *label, uint32_t n,
                                  struct error *err)
{
    struct infer_matrix *out = infer_matrix_create (n, err);
    uint32_t *from;

    if (!out)
        return NULL;
    from = xarray (n, sizeof (*from));
    for (uint32_t i = 0; i < n; i++) {
        if ((from[i] = find_label (w, label[i])) == NONE) {
            error_input (err, "no latency of %.80s was measured", label[i]);
            goto error;
        }
        if (infer_matrix_name (out, i, label[i], err) < 0)
            goto error;
    }
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (out, a, b, infer_matrix_at (w, from[a],
                                                          from[b]));
    free (from);
    return out;
error:
    free (from);
    infer_matrix_destroy (out);
    return NULL;
}

struct topology_model *infer_graph (const char *path, struct infer_matrix **w,
                                    struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct infer_matrix *picked;
    struct topology_model *m;

    if (!fp)
        return NULL;
    m = tgf_read (fp, path, err);
    file_close_input (fp);
    if (!m)
        return NULL;
    picked = pick (*w, (const char *const *)m->label, m->nnodes, err);
    if (!picked) {
        error_prefix (err, "%s", path);
        topology_destroy (m);
        return NULL;
    }
    infer_matrix_destroy (*w);
    *w = picked;
    return m;
}

/*
 * Models of cores
 */

/* The only process that is not a core of the host. */
static uint32_t find_external (const struct infer_matrix *w, const char *host,
                               struct error *err)
{
    size_t len = strlen (host);
    uint32_t found = NONE;

    for (uint32_t i = 0; i < w->n; i++) {
        if (strncmp (w->label[i], host, len) == 0 && w->label[i][len] == ':')
            continue;
        if (found != NONE) {
            error_input (err, "%s and %s are both no cores of %s",
                         w->label[found], w->label[i], host);
            return NONE;
        }
        found = i;
    }
    if (found == NONE)
        error_input (err, "all processes are cores of %s: one of another "
                          "host is wanted",
                     host);
    return found;
}

/* Infer the model of one host's cores, into the part. Returns as infer_join
 * does.
 */
static int infer_cores (struct join_part *part, const char *host,
                        const char *path, const struct infer_how *how,
                        struct topology_model **cores, struct error *err)
{
    struct infer_matrix *w = infer_load (path, how, err);
    int rc = -1;

    if (!w)
        return -1;
    part->external = find_external (w, host, err);
    if (part->external != NONE && join_external (w, part->external, err) == 0) {
        part->cores = *cores = infer_model (w, how, err);
        rc = *cores != NULL;
    }
    if (rc < 1)
        error_prefix (err, "%s", path);
    part->by = NONE;
    infer_matrix_destroy (w);
    return rc;
}

static int infer_part (const struct topology_model *m, struct join_part *part,
                       const char *word, const struct infer_how *how,
                       struct topology_model **cores, struct error *err)
{
    const char *equals = strchr (word, '=');
    char *host;
    int rc = -1;

    if (!equals)
        return error_input (err, "--cores %.80s: HOST=FILE is wanted", word);
    host = xasprintf ("%.*s", (int)(equals - word), word);
    if ((part->node = topology_find (m, host)) == NONE)
        error_input (err, "--cores %.80s: no such node", word);
    else
        rc = infer_cores (part, host, equals + 1, how, cores, err);
    free (host);
    return rc;
}

int infer_join (struct topology_model **model, const char *const *word,
                size_t n, const struct infer_how *how, struct error *err)
{
    struct join_part *part = xcalloc (n, sizeof (*part));
    struct topology_model **cores = xcalloc (n, sizeof (*cores));
    struct topology_model *joined = NULL;
    int rc = 1;

    for (size_t i = 0; i < n && rc > 0; i++)
        rc = infer_part (*model, &part[i], word[i], how, &cores[i], err);
    if (rc > 0 && !(joined = join_models (*model, part, n, err)))
        rc = -1;
    if (joined) {
        topology_destroy (*model);
        *model = joined;
    }
    for (size_t i = 0; i < n; i++)
        topology_destroy (cores[i]);
    free (cores);
    free (part);
    return rc;
}
