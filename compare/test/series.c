/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Series: statistics, what is written is read again, hostile files. */
#include "config.h"
#include "compare/series/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static int close_to (double x, double y)
{
    return fabs (x - y) < 1e-9 * (1 + fabs (y));
}

static void test_stats (void)
{
    double v[5] = { 50, 10, 40, 20, 30 };
    double one[1] = { 7 };
    double out[SERIES_STATS];
    static const double expected[SERIES_STATS]
        = { 10, 20, 30, 40, 50, 30, 15.811388300841896 };
    int same = 1;

    series_stats (v, 5, out);
    for (int i = 0; i < SERIES_STATS; i++)
        same &= close_to (out[i], expected[i]);
    ok (same, "statistics of five");
    series_stats (one, 1, out);
    ok (close_to (out[SERIES_MIN], 7) && close_to (out[SERIES_MEAN], 7)
            && out[SERIES_SD] >= 0 && out[SERIES_SD] <= 0,
        "and of one");
}

static void test_shapes (void)
{
    static const struct {
        enum series_shape shape;
        uint64_t all;
    } shapes[] = {
        { SERIES_STAR, 7 },
        { SERIES_RING, 8 },
        { SERIES_COMPLETE, 28 },
    };

    for (int k = 0; k < 3; k++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < 8; i++)
            sum += series_exchanges_of (shapes[k].shape, 8, i);
        ok (series_exchanges (shapes[k].shape, 8) == shapes[k].all
                && sum == 2 * shapes[k].all,
            "%s of 8: %ju exchanges, two processes each",
            series_shape_names[shapes[k].shape], (uintmax_t)shapes[k].all);
    }
}

static struct series *sample (void)
{
    struct series *s = series_create (SERIES_NOISE);
    struct series_row p = { .a = 2, .b = 0, .count = 9, .lost = 1 };
    struct series_row t = { .shape = SERIES_RING, .count = 1 };
    double v[8] = { 8, 7, 6, 5, 4, 3, 2, 1.25 };

    strcpy (s->pattern, "one-factor");
    strcpy (s->transport, "emu");
    s->seed = 3;
    s->repeats = 9;
    s->noise_length = 4096;
    s->noise_messages = 5;
    s->noise_processes = 2;
    s->steps = 2;
    s->probes = 3;
    s->seconds = 0.25;
    s->complete = false;
    series_add_process (s, NULL, "n1", NULL);
    series_add_process (s, "n1:1", "n1", NULL);
    series_add_process (s, "n2:0", "n2", NULL);
    s->process[2].lost = true;
    series_stats (v, 8, p.time_ns);
    p.length = 1000;
    series_add (s, &p, NULL);
    p.length = 0;
    for (int i = 0; i < SERIES_STATS; i++)
        if (i != SERIES_MEAN)
            p.time_ns[i] = NAN;
    series_add (s, &p, NULL);
    p.a = 1;
    p.lost = p.count;
    series_add (s, &p, NULL);
    series_stats (v, 8, t.time_ns);
    t.length = 64;
    series_add (s, &t, NULL);
    t.shape = SERIES_STAR;
    t.both_ways = true;
    series_add (s, &t, NULL);
    return s;
}

static char *written (const struct series *s, int times)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    for (int i = 0; i < times; i++)
        if (series_write (s, fp, NULL) < 0)
            abort ();
    fclose (fp);
    return text;
}

static int read_text (struct series_list *list, const char *text,
                      struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    int rc = series_read (list, fp, "file", err);

    fclose (fp);
    return rc;
}

static void check_fields (const struct series *s)
{
    const struct series_row *p = series_at (s, 2, 0, 1000);
    const struct series_row *t;

    ok (s->test == SERIES_NOISE && !strcmp (s->pattern, "one-factor")
            && s->exchange[0] == '\0' && s->noise_length == 4096
            && s->noise_messages == 5 && s->noise_processes == 2
            && s->seed == 3 && s->repeats == 9 && s->steps == 2
            && s->probes == 3 && close_to (s->seconds, 0.25) && !s->complete,
        "how it was measured");
    ok (s->nprocesses == 3 && !strcmp (s->process[0].label, "n1")
            && !strcmp (s->process[1].label, "n1:1")
            && !strcmp (s->process[1].host, "n1") && !s->process[1].lost
            && s->process[2].lost,
        "by whom");
    ok (s->nlengths == 3 && s->length[0] == 0 && s->length[1] == 64
            && s->length[2] == 1000,
        "lengths ascend");
    ok (series_measured (p) && p->count == 9 && p->lost == 1
            && close_to (p->time_ns[SERIES_MEDIAN], 4.5),
        "a pair is found");
    p = series_at (s, 2, 0, 0);
    ok (series_measured (p) && isnan (p->time_ns[SERIES_MEDIAN])
            && close_to (p->time_ns[SERIES_MEAN], 4.53125),
        "one of which only the mean is known");
    p = series_at (s, 1, 0, 0);
    ok (p && !series_measured (p), "one that came to no end");
    ok (!series_at (s, 0, 2, 1000) && !series_at (s, 2, 0, 64)
            && !series_measured (NULL),
        "what was not measured is not there");
    t = series_topology_at (s, SERIES_STAR, true, 64);
    ok (t && t->count == 1 && close_to (t->time_ns[SERIES_MAX], 8)
            && !series_topology_at (s, SERIES_STAR, false, 64),
        "topologies");
}

static void test_round_trip (void)
{
    struct series *s = sample ();
    struct series_list list;
    struct error err;
    char *text;
    char *again;

    ok (series_sort (s, &err) == 0, "sorted");
    text = written (s, 1);
    ok (strchr (text, '\n') == text + strlen (text) - 1,
        "written on one line");
    ok (read_text (&list, text, &err) == 0 && list.n == 1, "read again");
    check_fields (list.run[0]);
    again = written (list.run[0], 1);
    ok (!strcmp (text, again), "and written again: the same");
    free (again);
    series_list_clear (&list);

    again = written (s, 3);
    ok (read_text (&list, again, &err) == 0 && list.n == 3
            && list.run[2]->npairs == s->npairs,
        "three runs in a file");
    series_list_clear (&list);
    again[strlen (again) - 3] = 'x';
    ok (read_text (&list, again, &err) < 0 && list.n == 0
            && !strncmp (err.text, "file: run 3:", 12),
        "a bad third one: %s", err.text);
    free (again);

    for (size_t len = 1; len + 2 < strlen (text); len += 31) {
        char *cut = strndup (text, len);
        int rc = read_text (&list, cut, &err);

        free (cut);
        if (rc == 0)
            break;
    }
    ok (list.n == 0, "cut short anywhere: refused");
    free (text);
    series_destroy (s);
    series_destroy (NULL);
}

static void test_refused (void)
{
    struct series *s = sample ();
    struct series_row p = { .a = 0, .b = 3 };
    struct series_row t;
    char word[SERIES_WORD_MAX + 2];
    struct error err;

    memset (word, 'x', sizeof (word));
    word[SERIES_WORD_MAX + 1] = '\0';
    ok (series_add (s, &p, &err) < 0, "%s", err.text);
    p.b = 1;
    p.lost = 1;
    ok (series_add (s, &p, &err) < 0, "%s", err.text);
    ok (series_add_process (s, "a b", "n", &err) < 0, "%s", err.text);
    ok (series_add_process (s, "\033[2J", "n", &err) < 0, "%s", err.text);
    ok (series_add_process (s, "", "n", &err) < 0, "%s", err.text);
    ok (series_add_process (s, word, "n", &err) < 0, "%s", err.text);
    ok (s->nprocesses == 3, "nothing was added");
    p = s->row[0];
    series_add (s, &p, &err);
    ok (series_sort (s, &err) < 0, "%s", err.text);
    series_destroy (s);
    s = sample ();
    t = s->row[s->npairs + 1];
    series_add (s, &t, &err);
    ok (series_sort (s, &err) < 0, "%s", err.text);
    series_destroy (s);
}

static void test_keep (void)
{
    static const uint64_t lengths[] = { 64, 7, 0 };
    struct series *s = sample ();

    series_sort (s, NULL);
    series_keep (s, lengths, 3);
    ok (s->nlengths == 2 && s->length[0] == 0 && s->length[1] == 64
            && s->npairs == 2 && s->nrows == 4
            && series_at (s, 2, 0, 0) && !series_at (s, 2, 0, 1000),
        "some lengths alone");
    series_keep (s, lengths, 0);
    ok (s->nlengths + s->nrows == 0, "and none");
    series_destroy (s);
}

#define HEAD "{\"kind\":\"series\",\"version\":1,\"test\":\"one_to_one\"," \
    "\"seed\":1,\"repeats\":1,\"noise_length\":0,\"noise_messages\":0," \
    "\"noise_processes\":0,\"steps\":1,\"probes\":1,\"seconds\":1," \
    "\"complete\":true,"
#define PROCESS(label) "{\"label\":" label ",\"host\":\"h\",\"lost\":false}"
#define PROCESSES "\"processes\":[" PROCESS ("\"p\"") "," \
    PROCESS ("\"q\"") "],"
#define TIMES(min, max, mean) ",\"time_ns\":{\"min\":" min ",\"p25\":2," \
    "\"median\":2,\"p75\":null,\"max\":" max ",\"mean\":" mean ",\"sd\":0}"
#define ROW(a, b, count, lost, times) "{\"a\":" a ",\"b\":" b \
    ",\"length\":8,\"count\":" count ",\"lost\":" lost times "}"
#define TIMED(min, max, mean) ROW ("0", "1", "3", "1", TIMES (min, max, mean))
#define GOOD TIMED ("1", "3", "2")
#define NONE "\"topologies\":[]}\n"
#define PAIRS(rows) HEAD PROCESSES "\"pairs\":[" rows "]," NONE

static const struct {
    const char *what;
    const char *text;
    int good;
} hostile[] = {
    { "a good one", PAIRS (GOOD), 1 },
    { "nobody", HEAD "\"processes\":[],\"pairs\":[]," NONE, 1 },
    { "all lost, without times",
      PAIRS (ROW ("0", "1", "3", "3", "")), 1 },
    { "nothing at all", "\n", 0 },
    { "an array", "[1]\n", 0 },
    { "no test",
      "{\"kind\":\"series\",\"version\":1,\"processes\":[]}\n", 0 },
    { "an unknown test",
      "{\"kind\":\"series\",\"version\":1,\"test\":\"x\"}\n", 0 },
    { "no pairs", HEAD PROCESSES NONE, 0 },
    { "no topologies", HEAD PROCESSES "\"pairs\":[]}\n", 0 },
    { "a label that is a number",
      HEAD "\"processes\":[" PROCESS ("1") "],\"pairs\":[]," NONE, 0 },
    { "a label with a blank",
      HEAD "\"processes\":[" PROCESS ("\"a b\"") "],\"pairs\":[]," NONE, 0 },
    { "a pair that is a number", PAIRS ("1"), 0 },
    { "a process that is not there",
      PAIRS (ROW ("0", "2", "3", "1", TIMES ("1", "3", "2"))), 0 },
    { "a negative process",
      PAIRS (ROW ("-1", "1", "3", "1", TIMES ("1", "3", "2"))), 0 },
    { "more lost than begun",
      PAIRS (ROW ("0", "1", "3", "4", TIMES ("1", "3", "2"))), 0 },
    { "no times", PAIRS (ROW ("0", "1", "3", "1", "")), 0 },
    { "quantiles that fall", PAIRS (TIMED ("3", "3", "3")), 0 },
    { "a maximum below the median", PAIRS (TIMED ("1", "1", "1")), 0 },
    { "a mean beyond the maximum", PAIRS (TIMED ("1", "3", "4")), 0 },
    { "a negative time", PAIRS (TIMED ("-1", "3", "2")), 0 },
    { "a time beyond all times", PAIRS (TIMED ("1", "1e300", "2")), 0 },
    { "a pair twice", PAIRS (GOOD "," GOOD), 0 },
    { "an unknown shape",
      HEAD PROCESSES "\"pairs\":[],\"topologies\":[{\"shape\":\"x\","
      "\"both_ways\":true,\"length\":1,\"count\":0,\"lost\":0}]}\n", 0 },
    { "text behind it", PAIRS ("") "x\n", 0 },
};

static void test_hostile (void)
{
    for (size_t i = 0; i < sizeof (hostile) / sizeof (hostile[0]); i++) {
        struct series_list list;
        struct error err = { .text = "accepted" };
        int rc = read_text (&list, hostile[i].text, &err);

        ok ((rc == 0) == hostile[i].good, "%s: %s", hostile[i].what,
            err.text);
        series_list_clear (&list);
    }
}

/* Runs by their patterns, "" has no pairs; which of them is that of pairs. */
static const struct {
    const char *pattern[3];
    int at; /* -1: none */
} picked[] = {
    { { "one-factor", "pmm", NULL }, 1 },
    { { "one-factor", "one-factor-again", "" }, 0 },
    { { "one-factor-again", "pmm-again", NULL }, 1 },
    { { "again", "-again", NULL }, 1 },
    { { "", NULL, NULL }, -1 },
};

static void test_picked (void)
{
    for (size_t i = 0; i < sizeof (picked) / sizeof (picked[0]); i++) {
        struct series_list list = { 0 };
        const struct series *s;

        for (int k = 0; k < 3 && picked[i].pattern[k]; k++) {
            struct series *run = series_create (SERIES_ONE_TO_ONE);

            series_add_process (run, NULL, "h", NULL);
            snprintf (run->pattern, sizeof (run->pattern), "%s",
                      picked[i].pattern[k]);
            if (*run->pattern)
                series_add (run, &(struct series_row){ .count = 1 },
                                 NULL);
            series_list_add (&list, run, NULL);
        }
        s = series_list_pairs (&list);
        ok (s == (picked[i].at < 0 ? NULL : list.run[picked[i].at]),
            "of %s and so on: run %d", picked[i].pattern[0], picked[i].at);
        series_list_clear (&list);
    }
}

int main (void)
{
    test_stats ();
    test_shapes ();
    test_round_trip ();
    test_refused ();
    test_keep ();
    test_hostile ();
    test_picked ();
    return done_testing ();
}
