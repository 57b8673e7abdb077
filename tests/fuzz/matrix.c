/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A matrix of latencies; what was accepted is written, and read again as it
 * was. Small ones are also inferred from.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/infer/infer.h"

enum { SMALL = 8 };

static char *written (const struct infer_matrix *m)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    for (uint32_t a = 0; a < m->n; a++) {
        fputs (m->label[a], fp);
        for (uint32_t b = 0; b < m->n; b++)
            fprintf (fp, isnan (infer_matrix_at (m, a, b)) ? " -" : " %.10g",
                     infer_matrix_at (m, a, b));
        putc ('\n', fp);
    }
    if (fclose (fp) != 0)
        abort ();
    return text;
}

static void again (const struct infer_matrix *m)
{
    char *text = written (m), *twice;
    FILE *fp = fuzz_file ((const uint8_t *)text, strlen (text));
    struct infer_matrix *copy = infer_matrix_read (fp, "again", 1, NULL);

    fclose (fp);
    if (!copy || strcmp (text, twice = written (copy)))
        abort ();
    infer_matrix_destroy (copy);
    free (text);
    free (twice);
}

static void infer (const struct infer_matrix *m)
{
    topology_destroy (infer_basic (m, 0));
    topology_destroy (infer_basic (m, 0.1));
    topology_destroy (infer_switches (m, 0, NULL));
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct infer_matrix *m = infer_matrix_read (fp, "input", 1, NULL);

    fclose (fp);
    if (m)
        again (m);
    if (m && m->n <= SMALL)
        infer (m);
    infer_matrix_destroy (m);
    return 0;
}
