/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PARUS matrices: written line by line as PARUS does, read again, hostile
 * files.
 */
#include "config.h"
#include "compare/series/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static struct series *sample (uint64_t l0, uint64_t l1, uint64_t l2)
{
    struct series *s = series_create (SERIES_NOISE_BLOCKING);
    uint64_t length[3] = { l0, l1, l2 };

    s->noise_length = 4096;
    s->noise_messages = 5;
    s->noise_processes = 2;
    s->repeats = 100;
    series_add_process (s, NULL, "n1", NULL);
    series_add_process (s, "n2:0", "n2", NULL);
    for (int k = 0; k < 3; k++) {
        struct series_row p = { .b = 1, .count = 100, .length = length[k] };

        for (int i = 0; i < SERIES_STATS; i++)
            p.time_ns[i] = 1000 * (k + 1) + i;
        series_add (s, &p, NULL);
    }
    series_sort (s, NULL);
    return s;
}

static char *written (const struct series *s, int file, struct error *err)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    int rc = parus_write (s, &parus_files[file], fp, err);

    fclose (fp);
    if (rc == 0)
        return text;
    free (text);
    return NULL;
}

static struct series *read_text (const char *text, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct series *s = parus_read (fp, "file", err);

    fclose (fp);
    return s;
}

#define HOSTS "\nhosts:\nn1\nn2:0\n"
#define HEAD(type, end, step) "processors 2\n" \
    "test type \"test_noise_blocking\"\ndata type \"" type "\"\n" \
    "begin message length 0\nend message length " end "\n" \
    "step length " step "\nnoise message length 4096\n" \
    "number of noise messages 5\nnumber of noise processes 2\n" \
    "number of repeats 100\n"
#define MATRIX(length, time) "\nMessage length " length "\n0 " time \
    "\nNaN 0\n"

static void test_written (void)
{
    static const char *const expected[PARUS_FILES] = {
        HEAD ("average", "300", "100") HOSTS MATRIX ("0", "1.005e-06")
        MATRIX ("100", "2.005e-06") MATRIX ("200", "3.005e-06"),
        HEAD ("median", "300", "100") HOSTS MATRIX ("0", "1.002e-06")
        MATRIX ("100", "2.002e-06") MATRIX ("200", "3.002e-06"),
        HEAD ("deviation", "300", "100") HOSTS MATRIX ("0", "1.006e-06")
        MATRIX ("100", "2.006e-06") MATRIX ("200", "3.006e-06"),
        HEAD ("min", "300", "100") HOSTS MATRIX ("0", "1e-06")
        MATRIX ("100", "2e-06") MATRIX ("200", "3e-06"),
    };
    struct series *s = sample (0, 100, 200);
    struct error err;
    char *text;

    for (int i = 0; i < PARUS_FILES; i++) {
        text = written (s, i, &err);
        ok (text && !strcmp (text, expected[i]), "%s: line by line",
            parus_files[i].name);
        free (text);
    }
    series_destroy (s);

    s = sample (0, 100, 1000);
    text = written (s, 3, &err);
    ok (text && strstr (text, HEAD ("min", "1001", "0")) == text,
        "lengths that are not in even steps");
    free (text);
    series_destroy (s);
}

static void test_round_trip (void)
{
    struct series *s = sample (0, 7, 200);
    struct error err;

    for (int i = 0; i < PARUS_FILES; i++) {
        char *text = written (s, i, &err);
        struct series *again = read_text (text, &err);
        char *twice = again ? written (again, i, &err) : NULL;
        const struct series_row *p
            = again ? series_at (again, 0, 1, 7) : NULL;
        int others = 0;

        ok (twice && !strcmp (text, twice), "%s: read and written again",
            parus_files[i].name);
        for (int k = 0; p && k < SERIES_STATS; k++)
            others += !isnan (p->time_ns[k]);
        ok (series_measured (p) && p->count == 100 && others == 1
                && fabs (p->time_ns[parus_files[i].stat]
                         - (2000 + parus_files[i].stat))
                       < 1e-6,
            "with that statistic alone");
        ok (again && again->npairs == 3
                && !strcmp (again->process[1].label, "n2:0")
                && !strcmp (again->process[1].host, "n2"),
            "and what was not measured is not there");
        free (text);
        free (twice);
        series_destroy (again);
    }
    series_destroy (s);
}

/* As PARUS writes it: its spelling, zeros, two processes of a name. */
static void test_theirs (void)
{
    static const struct {
        const char *test, *type;
        const char *matrix;
        size_t pairs;
    } rows[] = {
        { "one_to_one", "median", "0 2e-6\n2e-6 0\n", 2 },
        { "all_to_all", "median", "1e-7 2e-6\n2e-6 1e-7\n", 4 },
        { "test_noise", "min", "0.000000 2e-6\n0.000000 0.000000\n", 1 },
        { "test_noise", "minimum", "0.000000 2e-6\n0.000000 0.000000\n", 1 },
        { "test_noise", "average", "-nan 2e-6\nnan 0\n", 1 },
        { "one_to_one", "deviation", "0 0\n0 0\n", 2 },
        { "all_to_all", "deviation", "0 0\n0 0\n", 4 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct error err = { .text = "accepted" };
        struct series *s;
        char text[1024];

        snprintf (text, sizeof (text),
                  "processors 2\ntest type \"%s\"\ndata type \"%s\"\n"
                  "begin message length 0\nend message length 1\n"
                  "step length 1\nnoise message length 0\nnumber of noise "
                  "messages 0\nnumber of noise processes 0\nnumber of "
                  "repeates 3\n\nhosts:\na\na\n\nMessage length 0\n%s",
                  rows[i].test, rows[i].type, rows[i].matrix);
        s = read_text (text, &err);
        ok (s && s->npairs == rows[i].pairs, "%s of %s: %zu pairs, %s",
            rows[i].type, rows[i].test, rows[i].pairs, err.text);
        series_destroy (s);
    }
}

#define GOOD HEAD ("min", "1", "1") HOSTS MATRIX ("0", "1e-06")

static const struct {
    const char *what;
    const char *text;
    int good;
} hostile[] = {
    { "a good one", GOOD, 1 },
    { "without matrices", HEAD ("min", "1", "1") HOSTS, 1 },
    { "on one line",
      "processors 0 test type \"one_to_one\" data type \"min\" begin message "
      "length 0 end message length 0 step length 0 noise message length 0 "
      "number of noise messages 0 number of noise processes 0 number of "
      "repeats 0 hosts:", 1 },
    { "nothing", " \n", 0 },
    { "another file", "{}\n", 0 },
    { "too many processes", "processors 100000\n", 0 },
    { "a negative number", "processors -1\n", 0 },
    { "an unknown test", "processors 2\ntest type \"x\"\n", 0 },
    { "a test of ours", "processors 2\ntest type \"topology\"\n", 0 },
    { "no quotes", "processors 2\ntest type one_to_one\n", 0 },
    { "one quote", "processors 2\ntest type \"\n", 0 },
    { "an unknown statistic", HEAD ("p99", "1", "1") HOSTS, 0 },
    { "a host too few",
      HEAD ("min", "1", "1") "\nhosts:\nn1\n" MATRIX ("0", "1e-06"), 0 },
    { "a host that no terminal should see",
      HEAD ("min", "1", "1") "\nhosts:\nn1\n\033[2J\n", 0 },
    { "a matrix cut short",
      HEAD ("min", "1", "1") HOSTS "Message length 0\n0 1e-06\n", 0 },
    { "a time that is a word",
      HEAD ("min", "1", "1") HOSTS MATRIX ("0", "fast"), 0 },
    { "a negative time",
      HEAD ("min", "1", "1") HOSTS MATRIX ("0", "-1e-06"), 0 },
    { "an endless time",
      HEAD ("min", "1", "1") HOSTS MATRIX ("0", "inf"), 0 },
    { "a length twice", GOOD MATRIX ("0", "1e-06"), 0 },
    { "something behind it", GOOD "\nand more\n", 0 },
};

static void test_hostile (void)
{
    for (size_t i = 0; i < sizeof (hostile) / sizeof (hostile[0]); i++) {
        struct error err = { .text = "accepted" };
        struct series *s = read_text (hostile[i].text, &err);

        ok ((s != NULL) == hostile[i].good, "%s: %s", hostile[i].what,
            err.text);
        series_destroy (s);
    }
}

static void test_refused (void)
{
    struct series *s = series_create (SERIES_TOPOLOGY);
    struct error err;
    char *text = written (s, 0, &err);

    ok (!text, "%s", err.text);
    free (text);
    series_destroy (s);
}

int main (void)
{
    struct error err;
    struct series *s;

    test_written ();
    test_round_trip ();
    test_theirs ();
    test_hostile ();
    test_refused ();
    s = read_text (HEAD ("min", "1", "1") HOSTS MATRIX ("0", "x"), &err);
    ok (!s && !strcmp (err.text, "file:17: 'x' is not a time in seconds"),
        "the line is named: %s", err.text);
    return done_testing ();
}
