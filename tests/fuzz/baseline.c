/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A baseline of fuzz_fabric with changes: each is three bytes of input, where
 * and what; the last byte, if one is left, cuts it. It is read as a whole, and
 * by a job of all hosts; what was accepted is written.
 */
#include "config.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "core/baseline/baseline.h"
#include "core/samples/simulate.h"

enum { SOME = 20 };

static uint8_t *valid;
static size_t valid_len;

/* A run of all hosts. */
static struct pathset *make (struct fabric *f)
{
    struct plan_options opts = { .extra_rounds = 2 };
    struct simulate_options sim = { .repeats = 3, .noise_ns = 20 };
    double *latency = calloc (f->nlinks, sizeof (*latency));
    struct pathset *ps = fabric_pathset (f, NULL, 0, NULL);
    struct plan *plan = plan_make (ps, &opts, NULL);
    struct samples *s = simulate (ps, plan, latency, &sim, NULL);
    struct baseline *b = baseline_of (s, ps, NULL);
    FILE *fp = open_memstream ((char **)&valid, &valid_len);

    if (!fp || baseline_write (b, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    baseline_destroy (b);
    samples_destroy (s);
    plan_destroy (plan);
    free (latency);
    return ps;
}

static void use (struct baseline *b)
{
    char *text = NULL;
    size_t len;
    FILE *fp;

    if (!b)
        return;
    fp = open_memstream (&text, &len);
    if (!fp || baseline_write (b, fp, NULL) < 0 || fclose (fp) != 0)
        abort ();
    free (text);
    baseline_destroy (b);
}

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size)
{
    static struct pathset *job;
    struct fabric *f = fuzz_fabric ();
    FILE *fp = tmpfile ();
    struct error err;
    uint8_t *bytes;
    size_t len;

    if (!job)
        job = make (f);
    bytes = malloc (valid_len);
    memcpy (bytes, valid, valid_len);
    for (size_t i = 0; i + 3 <= size; i += 3)
        bytes[(data[i] | (size_t)data[i + 1] << 8) % valid_len] = data[i + 2];
    len = size % 3 == 1 ? valid_len * data[size - 1] / 256 : valid_len;
    if (!fp || fwrite (bytes, 1, len, fp) != len || fflush (fp) != 0)
        abort ();
    free (bytes);
    rewind (fp);
    use (baseline_read (fp, "input", fabric_network (f), fabric_resolve, f,
                        &err));
    rewind (fp);
    use (baseline_near (fp, "input", job, SOME, fabric_resolve, f, &err));
    fclose (fp);
    return 0;
}
