/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"
#include "util/file.h"

#define BLANKS " \t\r\n"
#define MB 1e6

enum { NS_PER_US = 1000 };

/* 1 byte per ns is 1 GB/s */
#define MB_PER_GB 1000.0

/* Write a number in its column; "-" if it is not known. */
static void write_number (double x, FILE *fp)
{
    if (isnan (x))
        fprintf (fp, " %12s", "-");
    else
        fprintf (fp, " %12.3f", x);
}

/* MB/s: of a pair; of a topology R(avg). NAN: not known, or the statistic is
 * not a time but a spread.
 */
static double rate (const struct series_row *r, enum series_stat stat)
{
    double per_exchange = !r || r->shape == SERIES_PAIR ? 1 : 2;

    if (!series_measured (r) || !series_stat_is_time (stat)
        || !(r->time_ns[stat] > 0))
        return NAN;
    return per_exchange * (MB_PER_GB * (double)r->length / r->time_ns[stat]);
}

/*
 * Tables
 */

static void write_table_head (const struct series *s, enum series_stat stat,
                              FILE *fp)
{
    const struct {
        const char *name, *word;
    } words[] = {
        { "pattern", s->pattern },
        { "exchange", s->exchange },
        { "transport", s->transport },
    };
    uint64_t lost = 0;

    fprintf (fp, "test %s", series_test_names[s->test]);
    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (words[i].word[0])
            fprintf (fp, ", %s %s", words[i].name, words[i].word);
    fprintf (fp, "\n%ju processes", (uintmax_t)s->nprocesses);
    if (s->steps > 0)
        fprintf (fp, ", %ju probes in %ju steps, %.3f s",
                 (uintmax_t)s->probes, (uintmax_t)s->steps, s->seconds);
    fprintf (fp, "; %s", series_stat_names[stat]);
    if (s->repeats > 0)
        fprintf (fp, " of %ju repeats", (uintmax_t)s->repeats);
    fprintf (fp, "\n");
    if (s->noise_processes > 0)
        fprintf (fp, "noise: %ju processes, %ju messages of %ju bytes\n",
                 (uintmax_t)s->noise_processes, (uintmax_t)s->noise_messages,
                 (uintmax_t)s->noise_length);
    for (uint32_t i = 0; i < s->nprocesses; i++)
        if (s->process[i].lost)
            fprintf (fp, "lost: process %ju, %s\n", (uintmax_t)i,
                     s->process[i].label);
    for (size_t i = 0; i < s->nrows; i++)
        lost += s->row[i].lost;
    if (lost > 0)
        fprintf (fp, "lost: %ju exchanges\n", (uintmax_t)lost);
    if (!s->complete)
        fprintf (fp, "incomplete: not all was measured\n");
}

/* The latency is the time of the least length. If such messages have bytes,
 * that is shown.
 */
static void write_pairs_head (const struct series_row *median,
                              enum series_stat stat, FILE *fp)
{
    if (series_stat_is_time (stat)) {
        fprintf (fp, "Latency: %.3f microseconds",
                 median->time_ns[stat] / NS_PER_US);
        if (median->length > 0)
            fprintf (fp, ", with %ju bytes", (uintmax_t)median->length);
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
        struct series_row median = {
            .shape = SERIES_PAIR, .count = 1, .length = s->row[i].length,
        };
        const struct series_row *slowest = NULL;
        size_t n = 0;

        for (; i < s->npairs && s->row[i].length == median.length; i++) {
            const struct series_row *p = &s->row[i];

            if (!series_measured (p) || isnan (p->time_ns[stat]))
                continue;
            ns[n++] = p->time_ns[stat];
            if (!slowest || ns[n - 1] > slowest->time_ns[stat])
                slowest = p;
        }
        if (n == 0)
            continue;
        stats_sort (ns, n);
        median.time_ns[stat] = stats_quantile (ns, n, 0.5);
        if (first)
            write_pairs_head (&median, stat, fp);
        first = false;
        fprintf (fp, "%12ju", (uintmax_t)median.length);
        write_number (rate (&median, stat), fp);
        write_number (median.time_ns[stat] / NS_PER_US, fp);
        write_number (ns[0] / NS_PER_US, fp);
        write_number (ns[n - 1] / NS_PER_US, fp);
        fprintf (fp, "  %s %s\n", s->process[slowest->a].label,
                 s->process[slowest->b].label);
    }
    free (ns);
}

/* R(avg) of all topologies in columns, by their customary names; then all rates
 * of each.
 */
static void write_topologies (const struct series *s, enum series_stat stat,
                              FILE *fp)
{
    static const struct {
        const char *name;
        enum series_shape shape;
        bool both_ways;
    } columns[] = {
        { "Star", SERIES_STAR, false },  { "Chaos", SERIES_COMPLETE, false },
        { "Ring", SERIES_RING, false },  { "iStar", SERIES_STAR, true },
        { "iChaos", SERIES_COMPLETE, true }, { "iRing", SERIES_RING, true },
    };
    const size_t ncolumns = sizeof (columns) / sizeof (columns[0]);
    uint32_t n = s->nprocesses;

    fprintf (fp, "\n%12s", "Size");
    for (size_t k = 0; k < ncolumns; k++)
        fprintf (fp, " %12s", columns[k].name);
    fprintf (fp, "\n");
    for (size_t i = 0; i < s->nlengths; i++) {
        fprintf (fp, "%12ju", (uintmax_t)s->length[i]);
        for (size_t k = 0; k < ncolumns; k++)
            write_number (rate (series_topology_at (s, columns[k].shape,
                                                    columns[k].both_ways,
                                                    s->length[i]),
                                stat), fp);
        fprintf (fp, "\n");
    }
    fprintf (fp, "\n%12s %12s %12s %12s %12s %12s  %s\n", "Size", "Time us",
             "R(avg)", "R(total)", "R(local) >=", "<=", "Topology");
    for (size_t i = s->npairs; i < s->nrows; i++) {
        const struct series_row *t = &s->row[i];
        double mbs = rate (t, stat), least = INFINITY, most = 0;

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
                 series_shape_names[t->shape]);
    }
}

static int write_table (const struct series *s, enum series_stat stat,
                        FILE *fp, struct error *err)
{
    (void)err;
    write_table_head (s, stat, fp);
    if (s->npairs > 0)
        write_pairs (s, stat, fp);
    if (s->npairs < s->nrows)
        write_topologies (s, stat, fp);
    fprintf (fp, "\n");
    return 0;
}

static int write_rates (const struct series *s, enum series_stat stat,
                        FILE *fp, struct error *err)
{
    uint32_t n = s->nprocesses;

    (void)err;
    for (size_t i = s->npairs; i < s->nrows; i++) {
        const struct series_row *t = &s->row[i];
        double mbs = rate (t, stat);

        if (isnan (mbs))
            continue;
        fprintf (fp, "%s, %s, %ju bytes: R(total) %.3f R(avg) %.3f MB/s\n",
                 series_shape_names[t->shape],
                 t->both_ways ? "both ways" : "one way", (uintmax_t)t->length,
                 mbs * (double)series_exchanges (t->shape, n), mbs);
        for (uint32_t k = 0; k < n; k++)
            fprintf (fp, "    R(local) %.3f MB/s %s\n",
                     mbs * (double)series_exchanges_of (t->shape, n, k),
                     s->process[k].label);
    }
    return 0;
}

static int write_fit (const struct series *s, enum series_stat stat, FILE *fp,
                      struct error *err)
{
    size_t n;
    struct series_fit *v = series_fit (s, stat, &n, err);

    if (!v)
        return -1;
    fprintf (fp, " %12s %12s %12s %12s %12s  %s\n %12s %12s %12s\n",
             "Latency", "Error", "Transfer", "R^2", "Sizes", "Pair", "ns", "ns",
             "MB/s");
    for (size_t i = 0; i < n; i++) {
        write_number (v[i].latency_ns, fp);
        write_number (v[i].stderr_ns, fp);
        write_number (v[i].rate / MB, fp);
        write_number (v[i].r2, fp);
        fprintf (fp, " %12zu  %s %s\n", v[i].n, s->process[v[i].a].label,
                 s->process[v[i].b].label);
    }
    free (v);
    return 0;
}

/*
 * CSV
 */

#define CSV_HEAD                                                              \
    "test,pattern,exchange,transport,shape,both_ways,a,b,length,count,lost,"  \
    "min_ns,p25_ns,median_ns,p75_ns,max_ns,mean_ns,sd_ns,mb_per_s\n"

/* Write a field, in quotes if necessary. */
static void write_field (const char *text, FILE *fp)
{
    bool quoted = text[strcspn (text, ",\"")];

    if (quoted)
        putc ('"', fp);
    for (; *text; text++)
        fprintf (fp, *text == '"' ? "\"\"" : "%c", *text);
    fprintf (fp, quoted ? "\"," : ",");
}

/* Fields that are not known are empty. */
static int write_csv (const struct series *s, enum series_stat stat, FILE *fp,
                      struct error *err)
{
    (void)err;
    for (size_t i = 0; i < s->nrows; i++) {
        const struct series_row *r = &s->row[i];
        double mbs = rate (r, stat);

        write_field (series_test_names[s->test], fp);
        write_field (s->pattern, fp);
        write_field (s->exchange, fp);
        write_field (s->transport, fp);
        if (r->shape == SERIES_PAIR) {
            fprintf (fp, ",,");
            write_field (s->process[r->a].label, fp);
            write_field (s->process[r->b].label, fp);
        }
        else
            fprintf (fp, "%s,%s,,,", series_shape_names[r->shape],
                     r->both_ways ? "true" : "false");
        fprintf (fp, "%ju,%ju,%ju,", (uintmax_t)r->length,
                 (uintmax_t)r->count, (uintmax_t)r->lost);
        for (int k = 0; k < SERIES_STATS; k++)
            if (series_measured (r) && !isnan (r->time_ns[k]))
                fprintf (fp, "%.12g,", r->time_ns[k]);
            else
                putc (',', fp);
        if (!isnan (mbs))
            fprintf (fp, "%.6g", mbs);
        putc ('\n', fp);
    }
    return 0;
}

/*
 * Any format to a file
 */

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
    const char *head;  /* of a new file */
    int (*write) (const struct series *s, enum series_stat stat, FILE *fp,
                  struct error *err);
} formats[] = {
    { "table", NULL, "", false, false, "", write_table },
    { "rates", NULL, "topologies", true, false, "", write_rates },
    { "fit", NULL, "pairs at two lengths", false, true, "", write_fit },
    { "csv", "test,pattern,", "", false, false, CSV_HEAD, write_csv },
    { "json", "{", "", false, false, "", write_json },
};

enum { FORMATS = sizeof (formats) / sizeof (formats[0]) };

static const struct series_format *find_series_format (const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (!strcmp (formats[i].name, name))
            return &formats[i];
    return NULL;
}

int series_write_text (const struct series *s, const char *format,
                       enum series_stat stat, FILE *fp, struct error *err)
{
    return find_series_format (format)->write (s, stat, fp, err);
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
        return error_input (err, "%s does not end with a line: cannot append",
                            path);
    if (!strncmp (start, PARUS_START, strlen (PARUS_START)))
        name = "parus";
    for (size_t i = 0; i < FORMATS; i++)
        if (formats[i].start
            && !strncmp (start, formats[i].start, strlen (formats[i].start)))
            name = formats[i].name;
    if (strcmp (name, wanted))
        return error_input (err, "%s holds %s: cannot append %s", path,
                            name, format->name);
    return 0;
}

static int save_runs (const struct series_list *runs,
                      const struct series_format *format,
                      const struct series_save *to, struct error *err)
{
    struct file_held held = { 0 };
    struct outfile *out = to->append ? file_append (to->path, &held, err)
                                     : file_create (to->path, err);
    size_t n = 0;
    int rc;

    if (!out)
        return -1;
    rc = check_held (format, to->path, &held, err);
    if (held.size == 0)
        fputs (format->head, file_stream (out));
    for (size_t i = 0; rc == 0 && i < runs->n; i++) {
        const struct series *s = runs->run[i];

        if ((format->topologies && s->npairs == s->nrows)
            || (format->lines && (s->npairs == 0 || s->nlengths < 2)))
            continue;
        n++;
        rc = format->write (s, series_stat_known (s, to->stat),
                            file_stream (out), err);
    }
    if (rc == 0 && n == 0)
        rc = error_input (err, "format %s needs %s: there are none",
                          format->name, format->of);
    return file_finish (out, rc, err);
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
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < runs->n; i++) {
        bool alone = is_before_noise (runs, i);

        if (runs->run[i]->npairs == 0)
            continue;
        for (int k = 0; rc == 0 && k < PARUS_FILES; k++, n++)
            if (!(out[n] = create_matrices (runs->run[i], run, alone,
                                            &parus_files[k], prefix, err)))
                rc = -1;
        run += !alone;
    }
    if (rc == 0 && n == 0)
        rc = error_input (err, "format parus needs pairs: there are none");
    for (size_t i = 0; i < n; i++)
        if (rc == 0)
            rc = file_commit (out[i], err);
        else
            file_abort (out[i]);
    free (out);
    return rc;
}

int series_save_check (const struct series_save *to, struct error *err)
{
    if (find_series_format (to->format))
        return 0;
    if (strcmp (to->format, "parus"))
        return error_input (err, "'%.40s' is none of " SERIES_FORMATS,
                            to->format);
    if (!to->path || !strcmp (to->path, "-"))
        return error_input (err, "parus makes four files: give a prefix of "
                                 "their names");
    if (to->append)
        return error_input (err, "a file of parus holds one run: cannot"
                                 " append");
    return 0;
}

int series_save (const struct series_list *runs, const struct series_save *to,
                 struct error *err)
{
    const struct series_format *format = find_series_format (to->format);

    if (series_save_check (to, err) < 0)
        return -1;
    return format ? save_runs (runs, format, to, err)
                  : save_matrices (runs, to->path, err);
}
