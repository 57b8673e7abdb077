/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix of PARUS; what was accepted is written, and read again as it was. */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "compare/series/formats.h"

enum { MATRIX_MAX = 64 }; /* processes: larger ones only take long */

static char *written (const struct series *s)
{
    enum series_stat stat = series_stat_known (s, SERIES_MEAN);
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    for (int i = 0; i < PARUS_FILES; i++)
        if (parus_files[i].stat == stat
            && parus_write (s, &parus_files[i], fp, NULL) < 0)
            abort ();
    if (fclose (fp) != 0)
        abort ();
    return text;
}

static struct series *read_again (const char *text)
{
    FILE *fp = fuzz_file ((const uint8_t *)text, strlen (text));
    struct series *s = parus_read (fp, "again", NULL);

    fclose (fp);
    return s;
}

static void again (const struct series *s)
{
    char *text = written (s);
    struct series *copy = read_again (text);
    char *twice = copy ? written (copy) : NULL;

    if (!twice || strcmp (text, twice))
        abort ();
    series_destroy (copy);
    free (text);
    free (twice);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct series *s = parus_read (fp, "input", NULL);

    fclose (fp);
    if (s && s->npairs > 0 && s->nprocesses <= MATRIX_MAX)
        again (s);
    series_destroy (s);
    return 0;
}
