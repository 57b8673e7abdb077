/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/save.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/line.h"
#include "compare/series/parus.h"
#include "compare/series/table.h"
#include "util/alloc.h"
#include "util/file.h"

#define BLANKS " \t\r\n"

static int write_table (const struct series *s, enum series_stat stat,
                        FILE *fp, struct error *err)
{
    if (table_write (s, stat, fp, err) < 0)
        return -1;
    fprintf (fp, "\n");
    return 0;
}

static int write_json (const struct series *s, enum series_stat stat,
                       FILE *fp, struct error *err)
{
    (void)stat;
    return series_write (s, fp, err);
}

static bool any (const struct series *s)
{
    (void)s;
    return true;
}

static bool has_topologies (const struct series *s)
{
    return s->ntopologies > 0;
}

static bool has_pairs (const struct series *s)
{
    return s->npairs > 0;
}

static bool has_lines (const struct series *s)
{
    return s->npairs > 0 && s->nlengths > 1;
}

/* Formats with any number of runs per file. */
static const struct series_format {
    const char *name;
    const char *start; /* of its files; NULL: none */
    const char *of;    /* the runs that it can hold, */
    bool (*has) (const struct series *s); /* whether a run is one of these */
    int (*head) (FILE *fp, struct error *err); /* of a new file; or NULL */
    int (*write) (const struct series *s, enum series_stat stat, FILE *fp,
                  struct error *err);
} formats[] = {
    { "table", NULL, "", any, NULL, write_table },
    { "rates", NULL, "topologies", has_topologies, NULL, table_write_rates },
    { "fit", NULL, "pairs at two lengths", has_lines, NULL, series_fit_write },
    { "csv", "test,pattern,", "", any, table_write_csv_header,
      table_write_csv },
    { "json", "{", "", any, NULL, write_json },
};

enum { FORMATS = sizeof (formats) / sizeof (formats[0]) };

static const struct series_format *find (const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp (formats[i].name, name))
            return &formats[i];
    return NULL;
}

/* The format of a file that starts like this. */
static const char *name_of (const char *start)
{
    if (!strncmp (start, PARUS_START, strlen (PARUS_START)))
        return "parus";
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].start
            && !strncmp (start, formats[i].start, strlen (formats[i].start)))
            return formats[i].name;
    return "text";
}

/* A file may only contain one format and whole lines. */
static int check_held (const struct series_format *format, const char *path,
                       const struct file_held *held, struct error *err)
{
    const char *name = name_of (held->start + strspn (held->start, BLANKS));
    const char *wanted = format->start ? format->name : "text";

    if (held->size == 0)
        return 0;
    if (held->last != '\n')
        return error_input (err, "%s does not end with a line: nothing can "
                                 "be appended", path);
    if (strcmp (name, wanted))
        return error_input (err, "%s holds %s: no %s can be appended", path,
                            name, format->name);
    return 0;
}

bool series_format_known (const char *name)
{
    return !strcmp (name, "parus") || find (name);
}

static int save_runs (const struct series_list *runs,
                      const struct series_format *format,
                      const struct series_save *to, struct error *err)
{
    struct file_held held = { 0 };
    struct outfile *out = to->append ? file_append (to->path, &held, err)
                                     : file_create (to->path, err);
    size_t n = 0;

    if (!out)
        return -1;
    if (check_held (format, to->path, &held, err) < 0
        || (held.size == 0 && format->head
            && format->head (file_stream (out), err) < 0))
        goto error;
    for (size_t i = 0; i < runs->n; i++) {
        const struct series *s = runs->run[i];

        if (!format->has (s))
            continue;
        n++;
        if (format->write (s, series_stat_known (s, to->stat),
                           file_stream (out), err)
            < 0)
            goto error;
    }
    if (n == 0) {
        error_input (err, "%s tells of %s: there are none", format->name,
                     format->of);
        goto error;
    }
    return file_commit (out, err);
error:
    file_abort (out);
    return -1;
}

static bool is_noise (const struct series *s)
{
    return s->test == SERIES_NOISE || s->test == SERIES_NOISE_BLOCKING;
}

/* A noise test has two runs: the goal pairs alone, then with noise. PARUS only
 * has the second.
 */
static bool is_before_noise (const struct series_list *runs, size_t i)
{
    return !strcmp (runs->run[i]->pattern, "alone") && i + 1 < runs->n
           && is_noise (runs->run[i + 1]);
}

static struct outfile *create_matrices (const struct series *s, size_t run,
                                        bool alone,
                                        const struct parus_file *file,
                                        const char *prefix, struct error *err)
{
    struct outfile *out = NULL;
    char number[24] = "";
    char *path;

    if (run > 0)
        snprintf (number, sizeof (number), "-%zu", run + 1);
    path = xasprintf ("%s%s%s_%s.txt", prefix, number, alone ? "-alone" : "",
                      file->name);
    if ((out = file_create (path, err))
        && parus_write (s, file, file_stream (out), err) < 0) {
        file_abort (out);
        out = NULL;
    }
    free (path);
    return out;
}

/* All files are written before the first one is renamed to its final name. */
static int save_matrices (const struct series_list *runs, const char *prefix,
                          struct error *err)
{
    struct outfile **out = xcalloc (runs->n * PARUS_FILES, sizeof (*out));
    size_t n = 0, run = 0;
    int rc = -1;

    for (size_t i = 0; i < runs->n; i++) {
        bool alone = is_before_noise (runs, i);

        if (!has_pairs (runs->run[i]))
            continue;
        for (int k = 0; k < PARUS_FILES; k++, n++)
            if (!(out[n] = create_matrices (runs->run[i], run, alone,
                                            &parus_files[k], prefix, err)))
                goto error;
        run += !alone;
    }
    if (n == 0) {
        error_input (err, "parus tells of pairs: there are none");
        goto error;
    }
    rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        rc = file_commit (out[i], err);
        out[i] = NULL;
    }
error:
    for (size_t i = 0; i < n; i++)
        file_abort (out[i]);
    free (out);
    return rc;
}

int series_save_check (const struct series_save *to, struct error *err)
{
    if (!series_format_known (to->format))
        return error_input (err, "format '%.40s' is none of " SERIES_FORMATS,
                            to->format);
    if (find (to->format))
        return 0;
    if (!to->path || !strcmp (to->path, "-"))
        return error_input (err, "parus makes four files: a prefix of their "
                                 "names is wanted");
    if (to->append)
        return error_input (err, "a file of parus holds one run: there is no "
                                 "appending");
    return 0;
}

int series_save (const struct series_list *runs, const struct series_save *to,
                 struct error *err)
{
    const struct series_format *format = find (to->format);

    if (series_save_check (to, err) < 0)
        return -1;
    return format ? save_runs (runs, format, to, err)
                  : save_matrices (runs, to->path, err);
}
