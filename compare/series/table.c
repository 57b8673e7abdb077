/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/linear/stats.h"
#include "util/alloc.h"

enum { NS_PER_US = 1000 };

/* 1 byte per ns is 1 GB/s */
#define MB_PER_GB 1000.0

static int done (FILE *fp, struct error *err)
{
    return ferror (fp) ? error_errno (err, "cannot write") : 0;
}

static uint64_t sum_lost (const struct series *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->npairs; i++)
        sum += s->pair[i].lost;
    for (size_t i = 0; i < s->ntopologies; i++)
        sum += s->topology[i].lost;
    return sum;
}

static void write_lost (const struct series *s, FILE *fp)
{
    uint64_t lost = sum_lost (s);

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

/* The times of the pairs of one length. */
struct table_row {
    enum series_stat stat;
    double *time_ns; /* sorted */
    size_t n;
    const struct series_pair *slowest;
};

/* Collect the times of the pairs of one length; s->pair[i] is the first.
 * Returns the index of the next length's first pair.
 */
static size_t collect (struct table_row *row, const struct series *s, size_t i)
{
    enum series_stat stat = row->stat;
    uint64_t length = s->pair[i].length;
    double worst = -1;

    row->n = 0;
    for (; i < s->npairs && s->pair[i].length == length; i++) {
        const struct series_pair *p = &s->pair[i];

        if (!series_measured (p) || isnan (p->time_ns[stat]))
            continue;
        row->time_ns[row->n++] = p->time_ns[stat];
        if (p->time_ns[stat] > worst) {
            worst = p->time_ns[stat];
            row->slowest = p;
        }
    }
    stats_sort (row->time_ns, row->n);
    return i;
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

static double median_of (const struct table_row *row)
{
    return stats_quantile (row->time_ns, row->n, 0.5);
}

static void write_row (const struct table_row *row, const struct series *s,
                       FILE *fp)
{
    const struct series_pair *p = row->slowest;
    double median = median_of (row);

    fprintf (fp, "%12ju", (uintmax_t)p->length);
    write_number (rate (p->length, median, row->stat), fp);
    write_number (median / NS_PER_US, fp);
    write_number (row->time_ns[0] / NS_PER_US, fp);
    write_number (row->time_ns[row->n - 1] / NS_PER_US, fp);
    fprintf (fp, "  %s %s\n", s->process[p->a].label,
             s->process[p->b].label);
}

/* The latency is that of the first row, the least length. If such messages have
 * bytes, that is shown.
 */
static void write_latency (const struct table_row *row, FILE *fp)
{
    uint64_t length = row->slowest->length;

    if (!series_stat_is_time (row->stat))
        return;
    fprintf (fp, "Latency: %.3f microseconds", median_of (row) / NS_PER_US);
    if (length > 0)
        fprintf (fp, ", with %ju bytes", (uintmax_t)length);
    fprintf (fp, "\n");
}

static void write_pairs (const struct series *s, enum series_stat stat,
                         FILE *fp)
{
    struct table_row row
        = { .stat = stat, .time_ns = xcalloc (s->npairs, sizeof (double)) };
    bool first = true;

    for (size_t i = 0; i < s->npairs;) {
        i = collect (&row, s, i);
        if (row.n == 0)
            continue;
        if (first) {
            write_latency (&row, fp);
            fprintf (fp,
                     "\n%12s %12s %12s %12s %12s  %s\n"
                     "%12s %12s %12s %12s %12s\n",
                     "Size", "Transfer", "Time", "Fastest", "Slowest",
                     "Slowest pair", "bytes", "MB/s", "us", "us", "us");
        }
        write_row (&row, s, fp);
        first = false;
    }
    free (row.time_ns);
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

/* The least and the greatest R(local) of a process. */
static void local_range (const struct series *s,
                         const struct series_topology *t, double mbs,
                         double range[2])
{
    range[0] = INFINITY;
    range[1] = 0;
    for (uint32_t i = 0; i < s->nprocesses; i++) {
        double local = mbs
                       * (double)series_exchanges_of (t->shape,
                                                      s->nprocesses, i);

        range[0] = fmin (range[0], local);
        range[1] = fmax (range[1], local);
    }
}

static void write_all_rates (const struct series *s, enum series_stat stat,
                             FILE *fp)
{
    fprintf (fp, "\n%12s %12s %12s %12s %12s %12s  %s\n", "Size", "Time us",
             "R(avg)", "R(total)", "R(local) >=", "<=", "Topology");
    for (size_t i = 0; i < s->ntopologies; i++) {
        const struct series_topology *t = &s->topology[i];
        double mbs = topology_rate (t, stat);
        double range[2];

        if (isnan (mbs))
            continue;
        local_range (s, t, mbs, range);
        fprintf (fp, "%12ju", (uintmax_t)t->length);
        write_number (t->time_ns[stat] / NS_PER_US, fp);
        write_number (mbs, fp);
        write_number (mbs * (double)series_exchanges (t->shape,
                                                      s->nprocesses),
                      fp);
        write_number (range[0], fp);
        write_number (range[1], fp);
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
