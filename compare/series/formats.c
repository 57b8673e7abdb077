/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/series/line.h"
#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/file.h"

#define BLANKS " \t\r\n"

enum { NS_PER_US = 1000 };

/* 1 byte per ns is 1 GB/s */
#define MB_PER_GB 1000.0

static int done (FILE *fp, struct error *err)
{
    return ferror (fp) ? error_errno (err, "cannot write") : 0;
}

static void write_lost (const struct series *s, FILE *fp)
{
    uint64_t lost = 0;

    for (size_t i = 0; i < s->npairs; i++)
        lost += s->pair[i].lost;
    for (size_t i = 0; i < s->ntopologies; i++)
        lost += s->topology[i].lost;
    for (uint32_t i = 0; i < s->nprocesses; i++)
        if (s->process[i].lost)
            fprintf (fp, "lost: process %ju, %s\n", (uintmax_t)i,
                     s->process[i].label);
    if (lost > 0)
        fprintf (fp, "lost: %ju exchanges\n", (uintmax_t)lost);
    if (!s->complete)
        fprintf (fp, "incomplete: not all was measured\n");
}

static void write_word (const char *name, const char *word, FILE *fp)
{
    if (word[0])
        fprintf (fp, ", %s %s", name, word);
}

static void write_head (const struct series *s, enum series_stat stat,
                        FILE *fp)
{
    fprintf (fp, "test %s", series_test_name (s->test));
    write_word ("pattern", s->pattern, fp);
    write_word ("exchange", s->exchange, fp);
    write_word ("transport", s->transport, fp);
    fprintf (fp, "\n%ju processes", (uintmax_t)s->nprocesses);
    if (s->steps > 0)
        fprintf (fp, ", %ju probes in %ju steps, %.3f s",
                 (uintmax_t)s->probes, (uintmax_t)s->steps, s->seconds);
    fprintf (fp, "; %s", series_stat_name (stat));
    if (s->repeats > 0)
        fprintf (fp, " of %ju repeats", (uintmax_t)s->repeats);
    fprintf (fp, "\n");
    if (s->noise_processes > 0)
        fprintf (fp, "noise: %ju processes, %ju messages of %ju bytes\n",
                 (uintmax_t)s->noise_processes, (uintmax_t)s->noise_messages,
                 (uintmax_t)s->noise_length);
    write_lost (s, fp);
}

/* Write a number in its column; "-" if it is not known. */
static void write_number (double x, FILE *fp)
{
    if (isnan (x))
        fprintf (fp, " %12s", "-");
    else
        fprintf (fp, " %12.3f", x);
}

/* MB/s; NAN if the statistic is not a time but a spread. */
static double rate (uint64_t bytes, double ns, enum series_stat stat)
{
    return ns > 0 && series_stat_is_time (stat)
               ? MB_PER_GB * (double)bytes / ns
               : NAN;
}

/* The latency is the time of the least length. If such messages have bytes,
 * that is shown.
 */
static void write_pairs_head (uint64_t length, double ns,
                              enum series_stat stat, FILE *fp)
{
    if (series_stat_is_time (stat)) {
        fprintf (fp, "Latency: %.3f microseconds", ns / NS_PER_US);
        if (length > 0)
            fprintf (fp, ", with %ju bytes", (uintmax_t)length);
        fprintf (fp, "\n");
    }
    fprintf (fp,
             "\n%12s %12s %12s %12s %12s  %s\n"
             "%12s %12s %12s %12s %12s\n",
             "Size", "Transfer", "Time", "Fastest", "Slowest",
             "Slowest pair", "bytes", "MB/s", "us", "us", "us");
}

/* A row for the pairs of each length. */
static void write_pairs (const struct series *s, enum series_stat stat,
                         FILE *fp)
{
    double *ns = xarray (s->npairs, sizeof (*ns));
    bool first = true;

    for (size_t i = 0; i < s->npairs;) {
        uint64_t length = s->pair[i].length;
        const struct series_pair *slowest = NULL;
        size_t n = 0;
        double median;

        for (; i < s->npairs && s->pair[i].length == length; i++) {
            const struct series_pair *p = &s->pair[i];

            if (!series_measured (p) || isnan (p->time_ns[stat]))
                continue;
            ns[n++] = p->time_ns[stat];
            if (!slowest || ns[n - 1] > slowest->time_ns[stat])
                slowest = p;
        }
        if (n == 0)
            continue;
        stats_sort (ns, n);
        median = stats_quantile (ns, n, 0.5);
        if (first)
            write_pairs_head (length, median, stat, fp);
        first = false;
        fprintf (fp, "%12ju", (uintmax_t)length);
        write_number (rate (length, median, stat), fp);
        write_number (median / NS_PER_US, fp);
        write_number (ns[0] / NS_PER_US, fp);
        write_number (ns[n - 1] / NS_PER_US, fp);
        fprintf (fp, "  %s %s\n", s->process[slowest->a].label,
                 s->process[slowest->b].label);
    }
    free (ns);
}

/* The columns of the table of R(avg), with their customary names. */
static const struct {
    const char *name;
    enum series_shape shape;
    bool both_ways;
} columns[] = {
    { "Star", SERIES_STAR, false },   { "Chaos", SERIES_COMPLETE, false },
    { "Ring", SERIES_RING, false },   { "iStar", SERIES_STAR, true },
    { "iChaos", SERIES_COMPLETE, true }, { "iRing", SERIES_RING, true },
};

enum { COLUMNS = sizeof (columns) / sizeof (columns[0]) };

/* R(avg) in MB/s; NAN: not known. */
static double topology_rate (const struct series_topology *t,
                             enum series_stat stat)
{
    if (!t || t->lost == t->count)
        return NAN;
    return 2 * rate (t->length, t->time_ns[stat], stat);
}

static void write_topologies (const struct series *s, enum series_stat stat,
                              FILE *fp)
{
    fprintf (fp, "\n%12s", "Size");
    for (size_t k = 0; k < COLUMNS; k++)
        fprintf (fp, " %12s", columns[k].name);
    fprintf (fp, "\n");
    for (size_t i = 0; i < s->nlengths; i++) {
        fprintf (fp, "%12ju", (uintmax_t)s->length[i]);
        for (size_t k = 0; k < COLUMNS; k++)
            write_number (
                topology_rate (series_topology_at (s, columns[k].shape,
                                                   columns[k].both_ways,
                                                   s->length[i]),
                               stat),
                fp);
        fprintf (fp, "\n");
    }
}

static void write_all_rates (const struct series *s, enum series_stat stat,
                             FILE *fp)
{
    uint32_t n = s->nprocesses;

    fprintf (fp, "\n%12s %12s %12s %12s %12s %12s  %s\n", "Size", "Time us",
             "R(avg)", "R(total)", "R(local) >=", "<=", "Topology");
    for (size_t i = 0; i < s->ntopologies; i++) {
        const struct series_topology *t = &s->topology[i];
        double mbs = topology_rate (t, stat), least = INFINITY, most = 0;

        if (isnan (mbs))
            continue;
        for (uint32_t k = 0; k < n; k++) {
            double local
                = mbs * (double)series_exchanges_of (t->shape, n, k);

            least = fmin (least, local);
            most = fmax (most, local);
        }
        fprintf (fp, "%12ju", (uintmax_t)t->length);
        write_number (t->time_ns[stat] / NS_PER_US, fp);
        write_number (mbs, fp);
        write_number (mbs * (double)series_exchanges (t->shape, n), fp);
        write_number (least, fp);
        write_number (most, fp);
        fprintf (fp, "  %s%s\n", t->both_ways ? "i" : "",
                 series_shape_name (t->shape));
    }
}

int table_write (const struct series *s, enum series_stat stat, FILE *fp,
                 struct error *err)
{
    write_head (s, stat, fp);
    if (s->npairs > 0)
        write_pairs (s, stat, fp);
    if (s->ntopologies > 0) {
        write_topologies (s, stat, fp);
        write_all_rates (s, stat, fp);
    }
    return done (fp, err);
}

int table_write_rates (const struct series *s, enum series_stat stat,
                       FILE *fp, struct error *err)
{
    for (size_t i = 0; i < s->ntopologies; i++) {
        const struct series_topology *t = &s->topology[i];
        double mbs = topology_rate (t, stat);
        uint64_t all = series_exchanges (t->shape, s->nprocesses);

        if (isnan (mbs))
            continue;
        fprintf (fp, "%s, %s, %ju bytes: R(total) %.3f R(avg) %.3f MB/s\n",
                 series_shape_name (t->shape),
                 t->both_ways ? "both ways" : "one way",
                 (uintmax_t)t->length, mbs * (double)all, mbs);
        for (uint32_t k = 0; k < s->nprocesses; k++)
            fprintf (fp, "    R(local) %.3f MB/s %s\n",
                     mbs * (double)series_exchanges_of (t->shape,
                                                        s->nprocesses, k),
                     s->process[k].label);
    }
    return done (fp, err);
}

/*
 * CSV
 */

/* Write a field, in quotes if necessary. */
static void write_field (const char *text, FILE *fp)
{
    if (!text[strcspn (text, ",\"")]) {
        fprintf (fp, "%s,", text);
        return;
    }
    putc ('"', fp);
    for (; *text; text++)
        fprintf (fp, *text == '"' ? "\"\"" : "%c", *text);
    fprintf (fp, "\",");
}

int table_write_csv_header (FILE *fp, struct error *err)
{
    fprintf (fp, "test,pattern,exchange,transport,shape,both_ways,a,b,length,"
                 "count,lost,");
    for (int i = 0; i < SERIES_STATS; i++)
        fprintf (fp, "%s_ns,", series_stat_name (i));
    fprintf (fp, "mb_per_s\n");
    return done (fp, err);
}

static void write_test (const struct series *s, FILE *fp)
{
    write_field (series_test_name (s->test), fp);
    write_field (s->pattern, fp);
    write_field (s->exchange, fp);
    write_field (s->transport, fp);
}

/* Fields that are not known are empty. */
static void write_times (uint64_t length, uint32_t count, uint32_t lost,
                         const double *time_ns, double mbs, FILE *fp)
{
    fprintf (fp, "%ju,%ju,%ju,", (uintmax_t)length, (uintmax_t)count,
             (uintmax_t)lost);
    for (int i = 0; i < SERIES_STATS; i++)
        if (lost < count && !isnan (time_ns[i]))
            fprintf (fp, "%.12g,", time_ns[i]);
        else
            fprintf (fp, ",");
    if (lost < count && !isnan (mbs))
        fprintf (fp, "%.6g", mbs);
    fprintf (fp, "\n");
}

int table_write_csv (const struct series *s, enum series_stat stat, FILE *fp,
                     struct error *err)
{
    for (size_t i = 0; i < s->npairs; i++) {
        const struct series_pair *p = &s->pair[i];

        write_test (s, fp);
        fprintf (fp, ",,");
        write_field (s->process[p->a].label, fp);
        write_field (s->process[p->b].label, fp);
        write_times (p->length, p->count, p->lost, p->time_ns,
                     rate (p->length, p->time_ns[stat], stat), fp);
    }
    for (size_t i = 0; i < s->ntopologies; i++) {
        const struct series_topology *t = &s->topology[i];

        write_test (s, fp);
        fprintf (fp, "%s,%s,,,", series_shape_name (t->shape),
                 t->both_ways ? "true" : "false");
        write_times (t->length, t->count, t->lost, t->time_ns,
                     topology_rate (t, stat), fp);
    }
    return done (fp, err);
}

/*
 * Any format to a file
 */

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

/* Formats with any number of runs per file. */
static const struct series_format {
    const char *name;
    const char *start; /* of its files; NULL: none */
    const char *of;    /* the runs that it can hold: */
    bool topologies;   /* these, */
    bool lines;        /* pairs of several lengths, else any */
    int (*head) (FILE *fp, struct error *err); /* of a new file; or NULL */
    int (*write) (const struct series *s, enum series_stat stat, FILE *fp,
                  struct error *err);
} formats[] = {
    { "table", NULL, "", false, false, NULL, write_table },
    { "rates", NULL, "topologies", true, false, NULL, table_write_rates },
    { "fit", NULL, "pairs at two lengths", false, true, NULL,
      series_fit_write },
    { "csv", "test,pattern,", "", false, false, table_write_csv_header,
      table_write_csv },
    { "json", "{", "", false, false, NULL, write_json },
};

enum { FORMATS = sizeof (formats) / sizeof (formats[0]) };

static const struct series_format *find (const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp (formats[i].name, name))
            return &formats[i];
    return NULL;
}

/* A file may only contain one format and whole lines. */
static int check_held (const struct series_format *format, const char *path,
                       const struct file_held *held, struct error *err)
{
    const char *start = held->start + strspn (held->start, BLANKS);
    const char *wanted = format->start ? format->name : "text";
    const char *name = "text";

    if (held->size == 0)
        return 0;
    if (held->last != '\n')
        return error_input (err, "%s does not end with a line: nothing can "
                                 "be appended", path);
    if (!strncmp (start, PARUS_START, strlen (PARUS_START)))
        name = "parus";
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].start
            && !strncmp (start, formats[i].start, strlen (formats[i].start)))
            name = formats[i].name;
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

        if ((format->topologies && s->ntopologies == 0)
            || (format->lines && (s->npairs == 0 || s->nlengths < 2)))
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

/* A noise test has two runs: the goal pairs alone, then with noise. PARUS only
 * has the second.
 */
static bool is_before_noise (const struct series_list *runs, size_t i)
{
    return !strcmp (runs->run[i]->pattern, "alone") && i + 1 < runs->n
           && (runs->run[i + 1]->test == SERIES_NOISE
               || runs->run[i + 1]->test == SERIES_NOISE_BLOCKING);
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

        if (runs->run[i]->npairs == 0)
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
