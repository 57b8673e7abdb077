/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file of runs: what was accepted is written in all formats, read again, and
 * compared with itself.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/series.h"
#include "compare/series/formats.h"
#include "compare/series/formats.h"

enum { MATRIX_MAX = 64 }; /* processes: larger ones only take long */

static char *written (const struct series *s)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || series_write (s, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    return text;
}

static void again (const struct series *s)
{
    struct series_list list;
    char *text = written (s);
    char *twice;
    FILE *fp = fuzz_file ((const uint8_t *)text, strlen (text));

    if (series_read (&list, fp, "again", NULL) < 0 || list.n != 1)
        abort ();
    fclose (fp);
    twice = written (list.run[0]);
    if (strcmp (text, twice))
        abort ();
    series_list_clear (&list);
    free (text);
    free (twice);
}

static void tables (const struct series *s)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!fp || series_write_text (s, "table", SERIES_MEDIAN, fp, NULL) < 0
        || series_write_text (s, "rates", SERIES_MIN, fp, NULL) < 0
        || series_write_text (s, "csv", SERIES_MEAN, fp, NULL) < 0)
        abort ();
    series_write_text (s, "fit", SERIES_MEDIAN, fp, NULL); /* or none */
    if (s->npairs > 0 && s->nprocesses <= MATRIX_MAX)
        for (int i = 0; i < PARUS_FILES; i++)
            if (parus_write (s, &parus_files[i], fp, NULL) < 0)
                abort ();
    fclose (fp);
    free (text);
}

static void same (const struct series *s)
{
    struct series_comparison c;

    if (series_compare (&c, s, s, SERIES_MEDIAN, NULL) < 0 || c.nonly[0] > 0
        || c.nonly[1] > 0 || (c.n > 0 && (c.ns.max < 0 || c.ns.max > 0)))
        abort ();
    comparison_clear (&c);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct series_list list;

    if (series_read (&list, fp, "input", NULL) == 0)
        for (size_t i = 0; i < list.n; i++) {
            again (list.run[i]);
            tables (list.run[i]);
            same (list.run[i]);
        }
    fclose (fp);
    series_list_clear (&list);
    return 0;
}
