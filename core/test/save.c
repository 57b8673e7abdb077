/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Saving: each format, several runs, appending, all files or none. */
#include "config.h"
#include "core/series/save.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct series *run (double mean_ns)
{
    struct series *s = series_create (SERIES_ONE_TO_ONE);
    struct series_pair p = { .b = 1, .count = 1 };

    series_add_process (s, NULL, "n1", NULL);
    series_add_process (s, NULL, "n2", NULL);
    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_MEAN ? mean_ns : NAN;
    series_add_pair (s, &p, NULL);
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
    } formats[] = { { "table", 16, 32 }, { "rates", 0, 0 }, { "csv", 3, 5 },
                    { "json", 2, 4 } };
    struct error err;

    for (size_t i = 0; i < sizeof (formats) / sizeof (formats[0]); i++) {
        struct series_save to = {
            .format = formats[i].format,
            .path = formats[i].format,
            .stat = SERIES_MEDIAN,
        };

        ok (series_format_known (to.format)
                && series_save (runs, &to, &err) == 0
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
    struct series_list none = { 0 };
    struct error err;
    int missing = 0;

    ok (series_format_known ("parus") && series_save (runs, &to, &err) == 0,
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
    series_list_add (&none, run (1), &err);
    series_list_add (&none, series_create (SERIES_TOPOLOGY), &err);
    ok (series_save (&none, &to, &err) < 0 && lines ("q_average.txt") < 0,
        "%s", err.text);
    series_list_clear (&none);
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
    ok (!series_format_known ("x") && series_save (&runs, &to, &err) < 0,
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
