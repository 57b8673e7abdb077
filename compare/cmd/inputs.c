/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/cmd/cmd.h"

#include <string.h>

#include "compare/pattern/pattern.h"
#include "compare/series/formats.h"
#include "util/alloc.h"

enum { LATENCIES_BYTES_MAX = 1 << 30 };

int inputs_pattern (const char *name)
{
    int kind = pattern_find (name);

    if (kind < 0)
        die_input ("%.40s is not a pattern; 'pmm-compare pattern' lists them",
                   name);
    return kind;
}

struct series_list inputs_series (const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct series_list list;

    need_ok (series_read (&list, fp, path, &fault));
    file_close_input (fp);
    return list;
}

/* Those in the last run of a series that has pairs. */
static struct infer_matrix *latencies_of (FILE *fp, const char *path,
                                          const uint64_t *length,
                                          enum series_stat stat)
{
    struct infer_matrix *m;
    struct series_list list;
    const struct series *s;

    need_ok (series_read (&list, fp, path, &fault));
    if (!(s = series_list_pairs (&list)))
        die_input ("%s: no run of pairs", path);
    m = infer_matrix_of_series (s, length ? *length : s->row[0].length, stat,
                                &fault);
    if (!m)
        error_prefix (&fault, "%s", path);
    series_list_clear (&list);
    return m;
}

struct topology_model *inputs_graph (const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct topology_model *m = need (tgf_read (fp, path, &fault));

    file_close_input (fp);
    return m;
}

struct infer_matrix *inputs_latencies (const char *path,
                                       const uint64_t *length,
                                       enum series_stat stat, double unit_ns)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct infer_matrix *m;
    bool plain;
    FILE *text;
    size_t len;
    char *s = verb_keep (file_slurp (fp, LATENCIES_BYTES_MAX, &len, &fault));

    if (!s)
        error_prefix (&fault, "%s", path);
    need (s);
    if (len == 0)
        die_input ("%s: the file is empty", path);
    text = xcheck (fmemopen (s, len, "r"));
    plain = *s != '{' && strncmp (s, PARUS_START, strlen (PARUS_START)) != 0;
    if (!plain && unit_ns != 1)
        die_input ("%s says in which unit it is: --unit is for a plain matrix",
                   path);
    m = plain ? infer_matrix_read (text, path, unit_ns, &fault)
              : latencies_of (text, path, length, stat);
    fclose (text);
    file_close_input (fp);
    return need (m);
}

struct infer_matrix *inputs_pick (const struct infer_matrix *w,
                                  char *const *label, uint32_t n,
                                  const char *of)
{
    struct infer_matrix *out = infer_matrix_create (n, &fault);
    uint32_t *from = verb_array (n, sizeof (*from));
    int rc = out ? 0 : -1;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        for (from[i] = 0; from[i] < w->n; from[i]++)
            if (strcmp (w->label[from[i]], label[i]) == 0)
                break;
        rc = from[i] < w->n
                 ? infer_matrix_name (out, i, label[i], &fault)
                 : error_input (&fault, "no latency of %.80s was measured",
                                label[i]);
    }
    if (rc < 0)
        need_ok (error_prefix (&fault, "%s", of));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (out, a, b, infer_matrix_at (w, from[a], from[b]));
    return out;
}

int inputs_length (void *field, const char *value, struct error *err)
{
    static uint64_t length;

    *(const uint64_t **)field = &length;
    return opt_u64 (&length, value, err);
}
