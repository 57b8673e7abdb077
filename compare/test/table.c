/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables: numbers worked out by hand. */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static struct series *create (enum series_test test, uint32_t n)
{
    static const char *const name[] = { "n1", "n2", "n3", "n4" };
    struct series *s = series_create (test);

    for (uint32_t i = 0; i < n; i++)
        series_add_process (s, NULL, name[i], NULL);
    return s;
}

static void add_pair (struct series *s, uint32_t a, uint32_t b,
                      uint64_t length, double median_ns)
{
    struct series_row p = { .a = a, .b = b, .length = length, .count = 3 };

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_MEDIAN ? median_ns : NAN;
    series_add (s, &p, NULL);
}

static void add_topology (struct series *s, enum series_shape shape,
                          bool both_ways, uint64_t length, double mean_ns)
{
    struct series_row t = {
        .shape = shape,
        .both_ways = both_ways,
        .length = length,
        .count = 10,
        .time_ns = { [SERIES_MEAN] = mean_ns },
    };

    series_add (s, &t, NULL);
}

static char *written (const char *format, struct series *s,
                      enum series_stat stat)
{
    struct error err;
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    if (series_sort (s, &err) < 0 
        || series_write_text (s, format, stat, fp, &err) < 0)
        abort ();
    fclose (fp);
    return text;
}

static int has (const char *text, const char *line)
{
    int found = strstr (text, line) != NULL;

    if (!found)
        diag ("no '%s' in\n%s", line, text);
    return found;
}

static void test_pairs (void)
{
    struct series *s = create (SERIES_ONE_TO_ONE, 3);
    char *text;

    strcpy (s->pattern, "one-factor");
    strcpy (s->exchange, "round-trip");
    s->repeats = 3;
    s->steps = 3;
    s->probes = 3;
    s->seconds = 0.5;
    add_pair (s, 0, 1, 0, 1000);
    add_pair (s, 0, 2, 0, 1250);
    add_pair (s, 1, 2, 0, 3000);
    add_pair (s, 0, 1, 1000, 2000);
    add_pair (s, 0, 2, 1000, 2500);
    text = written ("table", s, SERIES_MEDIAN);
    ok (has (text, "test one_to_one, pattern one-factor, exchange "
                   "round-trip\n3 processes, 3 probes in 3 steps, 0.500 s; "
                   "median of 3 repeats\n"),
        "how it was measured");
    ok (has (text, "\nLatency: 1.250 microseconds\n"),
        "latency: the median over pairs, without a byte");
    ok (has (text, "\n           0        0.000        1.250        1.000"
                   "        3.000  n2 n3\n"),
        "no bytes: time alone, and the slowest pair");
    ok (has (text, "\n        1000      444.444        2.250        2.000"
                   "        2.500  n1 n3\n"),
        "1,000 bytes in 2.25 us: 444 MB/s");
    ok (!strstr (text, "Star") && !strstr (text, "lost"), "and no more");
    free (text);

    s->process[2].lost = true;
    s->row[1].lost = 2;
    s->complete = false;
    text = written ("table", s, SERIES_MEDIAN);
    ok (has (text, "lost: process 2, n3\nlost: 2 exchanges\n"
                   "incomplete: not all was measured\n"),
        "what was lost is said");
    free (text);
    series_destroy (s);
}

/* As a matrix of deviations has it: no time, and of the test little. */
static void test_spread (void)
{
    struct series *s = create (SERIES_ONE_TO_ONE, 2);
    struct series_row p = { .b = 1, .length = 1000, .count = 1 };
    char *text;

    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == SERIES_SD ? 20 : NAN;
    series_add (s, &p, NULL);
    text = written ("table", s, SERIES_SD);
    ok (has (text, "test one_to_one\n2 processes; sd\n\n"),
        "what is not known is not said");
    ok (has (text, "\n        1000            -        0.020        0.020"
                   "        0.020  n1 n2\n")
            && !strstr (text, "Latency"),
        "a spread of times is no latency, and has no rate");
    free (text);
    text = written ("csv", s, SERIES_SD);
    ok (has (text, ",1000,1,0,,,,,,,20,\n"), "nor in CSV");
    free (text);
    s->row[0].time_ns[SERIES_MIN] = 500;
    text = written ("table", s, SERIES_MIN);
    ok (has (text, "\nLatency: 0.500 microseconds, with 1000 bytes\n"),
        "the latency of messages that are not empty says so");
    free (text);
    series_destroy (s);
}

static void test_topologies (void)
{
    struct series *s = create (SERIES_TOPOLOGY, 4);
    char *text;

    add_topology (s, SERIES_STAR, false, 1000, 20000);
    add_topology (s, SERIES_COMPLETE, false, 1000, 40000);
    add_topology (s, SERIES_RING, true, 1000, 10000);
    text = written ("table", s, SERIES_MEAN);
    ok (has (text,
             "\n        Size         Star        Chaos         Ring"
             "        iStar       iChaos        iRing\n"
             "        1000      100.000       50.000            -"
             "            -            -      200.000\n"),
        "R(avg) = 2 L / T");
    ok (has (text, "\n        1000       20.000      100.000      300.000"
                   "      100.000      300.000  star\n"
                   "        1000       40.000       50.000      300.000"
                   "      150.000      150.000  complete\n"
                   "        1000       10.000      200.000      800.000"
                   "      400.000      400.000  iring\n"),
        "R(total) = 2 L N / T, R(local) = 2 L N_i / T of leaves and centre");
    free (text);
    text = written ("rates", s, SERIES_MEAN);
    ok (has (text, "star, one way, 1000 bytes: R(total) 300.000 R(avg) "
                   "100.000 MB/s\n    R(local) 300.000 MB/s n1\n"
                   "    R(local) 100.000 MB/s n2\n"),
        "star: N = 3, of the centre 3, of a leaf 1");
    ok (has (text, "complete, one way, 1000 bytes: R(total) 300.000 R(avg) "
                   "50.000 MB/s\n    R(local) 150.000 MB/s n1\n"),
        "complete: N = 6, of each 3");
    ok (has (text, "ring, both ways, 1000 bytes: R(total) 800.000 R(avg) "
                   "200.000 MB/s\n    R(local) 400.000 MB/s n1\n"),
        "ring: N = 4, of each 2");
    free (text);
    series_destroy (s);
}

static void test_csv (void)
{
    struct series *s = create (SERIES_ONE_TO_ONE, 1);
    char *text;

    series_add_process (s, "\"n\",2", "n2", NULL);
    strcpy (s->pattern, "one-to-one");
    add_pair (s, 0, 1, 500, 2000);
    add_topology (s, SERIES_RING, true, 1000, 10000);
    text = written ("csv", s, SERIES_MEDIAN);
    ok (has (text, "one_to_one,one-to-one,,,,,n1,\"\"\"n\"\",2\",500,3,0,,,"
                   "2000,,,,,250\n"),
        "a pair, its labels quoted");
    free (text);
    text = written ("csv", s, SERIES_MEAN);
    ok (has (text, "one_to_one,one-to-one,,,ring,true,,,1000,10,0,0,0,0,0,0,"
                   "10000,0,200\n"),
        "a topology");
    free (text);
    s->row[0].lost = 3;
    text = written ("csv", s, SERIES_MEDIAN);
    ok (has (text, ",500,3,3,,,,,,,,\n"), "nothing came to its end");
    free (text);
    series_destroy (s);
}

int main (void)
{
    test_pairs ();
    test_spread ();
    test_topologies ();
    test_csv ();
    return done_testing ();
}
