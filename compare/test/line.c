/* SPDX-License-Identifier: GPL-2.0-or-later */
/* l + s / t from times that were made of known ones; the message's own time
 * along a path.
 */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/test/tablenet.h"
#include "tests/tap.h"

static struct series *create (int n)
{
    static const char *const label[] = { "k1", "k2", "k3" };
    struct series *s = series_create (SERIES_ONE_TO_ONE);

    for (int i = 0; i < n; i++)
        series_add_process (s, NULL, label[i], NULL);
    return s;
}

static void add (struct series *s, uint32_t a, uint32_t b, uint64_t length,
                 double ns)
{
    struct series_row p = { .a = a, .b = b, .length = length, .count = 1 };

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_SD ? 5 : ns;
    series_add (s, &p, NULL);
}

static int close_to (double x, double y, double relative)
{
    return fabs (x - y) <= relative * fabs (y);
}

static void test_exact (void)
{
    struct series *s = create (3);
    struct error err;
    struct series_fit *v;
    size_t n;

    /* 12.5 GB/s from 1,000 ns; of the other pair, 1 GB/s from 2,000 */
    add (s, 0, 1, 0, 1000);
    add (s, 0, 1, 125000, 11000);
    add (s, 1, 2, 8, 2008);
    add (s, 1, 2, 64, 2064);
    add (s, 1, 2, 1 << 20, 2000 + (1 << 20));
    add (s, 0, 2, 8, 100);
    series_sort (s, &err);
    v = series_fit (s, SERIES_MEDIAN, &n, &err);
    ok (n == 2 && v[0].a == 0 && v[0].b == 1 && v[1].a == 1 && v[1].b == 2,
        "pairs of two lengths and more");
    ok (v[0].n == 2 && close_to (v[0].latency_ns, 1000, 1e-9)
            && close_to (v[0].rate, 12.5e9, 1e-9) && isnan (v[0].stderr_ns),
        "two lengths: the line through both");
    ok (v[1].n == 3 && close_to (v[1].latency_ns, 2000, 1e-6)
            && close_to (v[1].rate, 1e9, 1e-6) && close_to (v[1].r2, 1, 1e-9)
            && v[1].stderr_ns < 0.01,
        "three on a line: that line");
    free (v);
    series_destroy (s);
}

/* The truth is within some standard errors, also where the longest messages'
 * absolute errors are far beyond the latency.
 */
static void test_noise (void)
{
    struct series *s = create (2);
    struct rng rng;
    struct error err;
    struct series_fit *v;
    size_t n;

    rng_seed (&rng, 7);
    for (uint64_t length = 1; length <= 1 << 22; length *= 2)
        add (s, 0, 1, length,
             (1500 + (double)length / 10)
                 * (1 + 0.01 * (rng_uniform (&rng) - 0.5)));
    series_sort (s, &err);
    v = series_fit (s, SERIES_MIN, &n, &err);
    ok (n == 1 && v->n == 23 && close_to (v->latency_ns, 1500, 0.01)
            && close_to (v->rate, 10e9, 0.01)
            && fabs (v->latency_ns - 1500) < 4 * v->stderr_ns
            && v->stderr_ns < 10 && v->r2 > 0.9,
        "1 %% of noise: l = %.1f +- %.1f ns, t = %.3f GB/s", v->latency_ns,
        v->stderr_ns, v->rate / 1e9);
    free (v);
    series_destroy (s);
}

static void test_unknown (void)
{
    struct series *s = create (2);
    struct error err = { 0 };
    struct series_fit *v;
    size_t n;

    add (s, 0, 1, 0, 1000);
    ok (!series_fit (s, SERIES_MEDIAN, &n, &err) && n == 0, "%s", err.text);
    add (s, 0, 1, 1000, 900);
    series_sort (s, &err);
    v = series_fit (s, SERIES_MEDIAN, &n, &err);
    ok (n == 1 && isnan (v->rate), "time that falls tells no throughput");
    free (v);
    ok (!series_fit (s, SERIES_SD, &n, &err) && n == 0, "%s", err.text);
    series_destroy (s);
}

static void test_table (void)
{
    struct series *s = create (2);
    struct error err;
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    add (s, 0, 1, 0, 1000);
    add (s, 0, 1, 125000, 11000);
    series_sort (s, &err);
    ok (series_write_text (s, "fit", SERIES_MEDIAN, fp, &err) == 0 && fclose (fp) == 0
            && strstr (text, "\n     1000.000            -    12500.000"
                             "        1.000            2  k1 k2\n"),
        "a line for each pair");
    free (text);
    series_destroy (s);
}

/* k1 to k2 over three links, back over two, of 8, 4 and 16 Gb/s: 1, 2, 0.5 ns
 * a byte.
 */
static void test_own_time (void)
{
    static const struct {
        enum own_time how;
        double ns;
    } rows[] = {
        { OWN_CUT_THROUGH, 100. * (2 + 2) / 2 },
        { OWN_STORE_AND_FORWARD, 100. * (3.5 + 3) / 2 },
    };
    struct tablenet *net = tablenet_create (2, 3);
    const uint32_t endpoint[] = { 0, 1 };
    struct error err;

    net->info[0].rate = 8e9;
    net->info[1].rate = 4e9;
    net->info[2].rate = 16e9;
    tablenet_path (net, 0, 1, 3, 0, 2, 1);
    tablenet_path (net, 1, 0, 2, 1, 0);
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct series *s = create (2);

        add (s, 0, 1, 0, 1000);
        add (s, 1, 0, 100, 1000);
        series_sort (s, &err);
        ok (series_less_own_time (s, &net->net, endpoint, rows[i].how, &err)
                    == 0
                && close_to (s->row[0].time_ns[SERIES_MIN], 1000, 1e-12)
                && close_to (s->row[1].time_ns[SERIES_MEAN], 1000 - rows[i].ns,
                         1e-12)
                && close_to (s->row[1].time_ns[SERIES_SD], 5, 1e-12),
            "%s: %g ns of 100 bytes",
            rows[i].how == OWN_CUT_THROUGH ? "cut-through"
                                           : "store and forward",
            rows[i].ns);
        for (int k = 0; k < 5; k++)
            series_less_own_time (s, &net->net, endpoint, rows[i].how, &err);
        ok (isnan (s->row[1].time_ns[SERIES_MEAN]),
            "faster than the wire: not known");
        net->info[2].rate = 0;
        ok (series_less_own_time (s, &net->net, endpoint, rows[i].how, &err)
                < 0,
            "%s", err.text);
        net->info[2].rate = 16e9;
        series_destroy (s);
    }
    tablenet_destroy (net);
}

int main (void)
{
    test_exact ();
    test_noise ();
    test_unknown ();
    test_table ();
    test_own_time ();
    return done_testing ();
}
