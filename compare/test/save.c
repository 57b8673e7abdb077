/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saving: each format, several runs, appending, all files or none. */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct series *run (double mean_ns)
{
    struct series *s = series_create (SERIES_ONE_TO_ONE);
    struct series_row p = { .b = 1, .count = 1 };

    series_add_process (s, NULL, "n1", NULL);
    series_add_process (s, NULL, "n2", NULL);
    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_MEAN ? mean_ns : NAN;
    series_add (s, &p, NULL);
    return s;
}

/* Lines of a file; -1: it is not there. */
static int lines (const char *path)
{
    FILE *fp = fopen (path, "r");
    int n = 0;
    int c;

    if (!fp)
        return -1;
    while ((c = getc (fp)) != EOF)
        n += c == '\n';
    fclose (fp);
    return n;
}

static void test_formats (struct series_list *runs)
{
    static const struct {
        const char *format;
        int once, twice; /* lines of two runs; appended again */
    } formats[] = { { "table", 16, 32 }, { "csv", 3, 5 }, { "json", 2, 4 } };
    struct error err;

    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++) {
        struct series_save to = {
            .format = formats[i].format,
            .path = formats[i].format,
            .stat = SERIES_MEDIAN,
        };

        ok (series_save (runs, &to, &err) == 0
                && lines (to.path) == formats[i].once,
            "%s: two runs", to.format);
        to.append = true;
        ok (series_save (runs, &to, &err) == 0
                && lines (to.path) == formats[i].twice,
            "and two more");
    }
}

static void test_parus (struct series_list *runs)
{
    static const char *const names[] = {
        "p_average.txt",   "p_median.txt",   "p_deviation.txt",
        "p_min.txt",       "p-2_average.txt", "p-2_median.txt",
        "p-2_deviation.txt", "p-2_min.txt",
    };
    struct series_save to = { .format = "parus", .path = "p" };
    struct series_list many = { 0 };
    struct error err;
    int missing = 0;

    ok (series_save (runs, &to, &err) == 0,
        "parus");
    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        missing += lines (names[i]) != 18;
    ok (missing == 0, "four files for each run");
    to.append = true;
    ok (series_save (runs, &to, &err) < 0, "%s", err.text);
    to.append = false;
    to.path = NULL;
    ok (series_save (runs, &to, &err) < 0, "%s", err.text);

    /* the second run cannot be written: there is nothing of the first */
    to.path = "q";
    series_list_add (&many, run (1), &err);
    series_list_add (&many, run (1), &err);
    for (int i = 0; i < 2048; i++)
        series_add_process (many.run[1], NULL, "n", &err);
    ok (series_save (&many, &to, &err) < 0 && lines ("q_average.txt") < 0,
        "%s", err.text);
    series_list_clear (&many);
}

static struct series *star (void)
{
    struct series *s = series_create (SERIES_TOPOLOGY);
    struct series_row t = { .shape = SERIES_STAR, .count = 1,
                                 .length = 8,
                                 .time_ns = { [SERIES_MEAN] = 9 } };

    series_add_process (s, NULL, "n1", NULL);
    series_add (s, &t, NULL);
    return s;
}

/* Formats that do not tell of all runs. */
static void test_some (struct series_list *pairs)
{
    struct series_list mixed = { 0 };
    struct series_row p = { .b = 1, .length = 8, .count = 1,
                             .time_ns = { [SERIES_MEAN] = 9 } };
    struct series_save to = { .stat = SERIES_MEAN };
    static const struct {
        const char *format, *path;
        int lines; /* of a star, a run at two lengths, one at one */
    } rows[] = {
        { "rates", "rates", 2 },
        { "fit", "fit", 3 },
        { "parus", "m_min.txt", 18 + 4 },
    };
    struct error err;

    series_list_add (&mixed, star (), &err);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        to.format = to.path = rows[i].format;
        if (i < 2)
            ok (series_save (pairs, &to, &err) < 0 && lines (to.path) < 0,
                "%s", err.text);
        else
            ok (series_save (&mixed, &to, &err) < 0, "%s", err.text);
    }
    series_list_add (&mixed, run (1000), &err);
    series_add (mixed.run[1], &p, &err);
    series_list_add (&mixed, run (1000), &err);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        to.format = rows[i].format;
        to.path = i < 2 ? rows[i].path : "m";
        ok (series_save (&mixed, &to, &err) == 0
                && lines (rows[i].path) == rows[i].lines,
            "%s: of the runs that it is made for", to.format);
    }
    ok (lines ("m-2_min.txt") == 18 && lines ("m-3_min.txt") < 0,
        "matrices are numbered without gaps");
    series_list_clear (&mixed);
}

static void put (const char *path, const char *text)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
}

/* What is appended never spoils a file. */
static void test_append (const struct series_list *runs)
{
    static const struct {
        const char *held, *format;
        int good;
    } rows[] = {
        { "", "json", 1 },
        { "", "csv", 1 },
        { " {}\n", "json", 1 },
        { "{}", "json", 0 },
        { "{}\n", "csv", 0 },
        { "{}\n", "table", 0 },
        { "test one_to_one\n", "table", 1 },
        { "test one_to_one\n", "json", 0 },
        { "test one_to_one\n", "csv", 0 },
        { "test,pattern,a\n", "csv", 1 },
        { "test,pattern,a\n", "table", 0 },
        { "test,pattern,a\nx", "csv", 0 },
        { "processors 2\n", "json", 0 },
        { "processors 2\n", "table", 0 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct series_save to = { .format = rows[i].format, .path = "held",
                                  .append = true };
        struct error err = { .text = "appended" };
        int rc;

        put ("held", rows[i].held);
        rc = series_save (runs, &to, &err);
        ok (rows[i].good ? rc == 0 && lines ("held") > 1
                         : rc < 0 && lines ("held") < 2,
            "%s to append, %zu: %s", rows[i].format, i, err.text);
    }
}

int main (void)
{
    char dir[] = "/tmp/pmm-save.XXXXXX";
    struct series_list runs = { 0 };
    struct series_save to = { .format = "x" };
    struct error err;
    int rc;

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    series_list_add (&runs, run (1000), &err);
    series_list_add (&runs, run (2000), &err);
    test_formats (&runs);
    test_parus (&runs);
    test_some (&runs);
    test_append (&runs);
    ok (series_save (&runs, &to, &err) < 0,
        "%s", err.text);
    ok (series_stat_known (runs.run[0], SERIES_MEDIAN) == SERIES_MEAN
            && series_stat_known (runs.run[0], SERIES_MEAN) == SERIES_MEAN,
        "the statistic that there is");
    series_list_clear (&runs);
    rc = done_testing ();
    if (chdir ("/") == 0) {
        char cmd[64];

        snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
        if (system (cmd) != 0)
            rc = 1;
    }
    return rc;
}
