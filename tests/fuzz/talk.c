/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A communication graph; what was accepted is the same from either rank, and
 * when it is written and read again.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/map/talk.h"

/* Of a total that is not too great for "%.17g" to be read. */
static void again (const struct talk *t)
{
    char *text = NULL;
    size_t len, *at = calloc (t->n, sizeof (*at));
    FILE *fp = open_memstream (&text, &len);
    struct talk *copy;

    if (!fp || !at)
        abort ();
    for (uint32_t a = 0; a < t->n; a++)
        for (size_t e = t->with.start[a]; e < t->with.start[a + 1]; e++) {
            uint32_t b = t->with.v[e];
            size_t back = t->with.start[b] + at[b]++;

            if (b == a || t->with.v[back] != a
                || fabs (t->amount[back] - t->amount[e])
                       > 1e-9 * t->amount[e])
                abort ();
            if (b > a)
                fprintf (fp, "%u %u %.17g\n", a, b, t->amount[e]);
        }
    fclose (fp);
    fp = fuzz_file ((const uint8_t *)text, len);
    copy = talk_read (fp, "again", NULL);
    fclose (fp);
    if (!copy || copy->with.start[copy->n] != t->with.start[t->n]
        || memcmp (copy->with.v, t->with.v,
                   t->with.start[t->n] * sizeof (*t->with.v)))
        abort ();
    talk_destroy (copy);
    free (text);
    free (at);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    FILE *fp = fuzz_file (data, size);
    struct talk *t = talk_read (fp, "input", NULL);

    fclose (fp);
    if (t && t->total < 1e17)
        again (t);
    talk_destroy (t);
    return 0;
}
