/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/series/save.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/series/line.h"
#include "core/series/parus.h"
#include "core/series/table.h"
#include "util/file.h"

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

/* Formats of which a file holds any number of runs. */
static const struct format {
    const char *name;
    int (*head) (FILE *fp, struct error *err); /* of a new file, or NULL */
    int (*write) (const struct series *s, enum series_stat stat, FILE *fp,
                  struct error *err);
} formats[] = {
    { "table", NULL, write_table },
    { "rates", NULL, table_write_rates },
    { "fit", NULL, series_fit_write },
    { "csv", table_write_csv_header, table_write_csv },
    { "json", NULL, write_json },
};

static const struct format *find (const char *name)
{
    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++)
        if (!strcmp (formats[i].name, name))
            return &formats[i];
    return NULL;
}

bool series_format_known (const char *name)
{
    return !strcmp (name, "parus") || find (name);
}

static bool knows (const struct series *s, enum series_stat stat)
{
    for (size_t i = 0; i < s->npairs; i++)
        if (series_measured (&s->pair[i])
            && !isnan (s->pair[i].time_ns[stat]))
            return true;
    for (size_t i = 0; i < s->ntopologies; i++)
        if (s->topology[i].lost < s->topology[i].count
            && !isnan (s->topology[i].time_ns[stat]))
            return true;
    return false;
}

enum series_stat series_stat_known (const struct series *s,
                                    enum series_stat stat)
{
    if (!knows (s, stat))
        for (int i = 0; i < SERIES_STATS; i++)
            if (knows (s, i))
                return i;
    return stat;
}

static int save_runs (const struct series_list *runs,
                      const struct format *format,
                      const struct series_save *to, struct error *err)
{
    size_t held = 0;
    struct outfile *out = to->append ? file_append (to->path, &held, err)
                                     : file_create (to->path, err);

    if (!out)
        return -1;
    if (held == 0 && format->head && format->head (file_stream (out), err) < 0)
        goto error;
    for (size_t i = 0; i < runs->n; i++)
        if (format->write (runs->run[i],
                           series_stat_known (runs->run[i], to->stat),
                           file_stream (out), err)
            < 0)
            goto error;
    return file_commit (out, err);
error:
    file_abort (out);
    return -1;
}

static struct outfile *create_matrices (const struct series *s, size_t run,
                                        const struct parus_file *file,
                                        const char *prefix, struct error *err)
{
    struct outfile *out = NULL;
    char number[24] = "";
    char *path;

    if (run > 0)
        snprintf (number, sizeof (number), "-%zu", run + 1);
    if (asprintf (&path, "%s%s_%s.txt", prefix, number, file->name) < 0) {
        error_nomem (err);
        return NULL;
    }
    if ((out = file_create (path, err))
        && parus_write (s, file, file_stream (out), err) < 0) {
        file_abort (out);
        out = NULL;
    }
    free (path);
    return out;
}

/* All are written before the first gets its name. */
static int save_matrices (const struct series_list *runs, const char *prefix,
                          struct error *err)
{
    size_t n = runs->n * PARUS_FILES;
    struct outfile **out = calloc (n, sizeof (*out));
    size_t i;
    int rc = -1;

    if (!out)
        return error_nomem (err);
    for (i = 0; i < n; i++)
        if (!(out[i] = create_matrices (runs->run[i / PARUS_FILES],
                                        i / PARUS_FILES,
                                        &parus_files[i % PARUS_FILES], prefix,
                                        err)))
            goto error;
    for (i = 0, rc = 0; rc == 0 && i < n; i++) {
        rc = file_commit (out[i], err);
        out[i] = NULL;
    }
error:
    for (i = 0; i < n; i++)
        file_abort (out[i]);
    free (out);
    return rc;
}

int series_save (const struct series_list *runs, const struct series_save *to,
                 struct error *err)
{
    const struct format *format = find (to->format);

    if (format)
        return save_runs (runs, format, to, err);
    if (strcmp (to->format, "parus"))
        return error_input (err, "format '%.40s' is none of " SERIES_FORMATS,
                            to->format);
    if (!to->path || !strcmp (to->path, "-"))
        return error_input (err, "parus makes four files: a prefix of their "
                                 "names is wanted");
    if (to->append)
        return error_input (err, "a file of parus holds one run: there is no "
                                 "appending");
    return save_matrices (runs, to->path, err);
}
