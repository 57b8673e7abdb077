/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Repeat offenders are first, an audit counts once, and what users wrote does
 * not pass for what audits found.
 */
#include "config.h"
#include "report/history.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { DAY = 24 * 3600, START = 20000 * DAY }; /* 2024-10-04 */

#define LINK_2 "worst=h0002_mlx5_0/1 to=leaf1/2 kind=host link=" ID_2
#define ID_2 "0002c90000000012/1"
#define ID_3 "0002c90000000013/1"
#define ID_S "0002c90000000001/7"

#define CHECK_3 "slow [link=" ID_3 " node=h0003 excess=+9000]"

static struct error err;

static struct history *make (void)
{
    static const struct {
        uint32_t job;
        int64_t time;
        const char *admin, *comment;
    } tab[] = {
        { 1, START, "pmm: audit 1 OK [links=4 rounds=2]", "" },
        { 2, START + 1, "mine; pmm: audit 2 FAIL [links=4 rounds=2 " LINK_2
                        " node=h0002 excess=+412]", "users own" },
        /* the same audit, of another job */
        { 3, START + 2, "pmm: audit 2 FAIL [links=4 rounds=2 " LINK_2
                        " node=h0002 excess=+412]", "" },
        { 4, START + DAY, "pmm: audit 3 FAIL [links=4 rounds=2 " LINK_2
                          " node=h0002 excess=+500 rate=98.5/197]", "" },
        { 5, START + DAY, "pmm: audit 4 FAIL [worst=leaf1/7 to=spine1/1"
                          " kind=link link=" ID_S " or=1 excess=+300]", "" },
        { 6, START + DAY, "pmm: audit 5 WARN [worst=spine1 kind=switch"
                          " excess=+120]", "" },
        { 7, START + DAY, "pmm: audit 6 UNKNOWN [links=4 rounds=2]", "" },
        /* checks: many, but only users' word */
        { 8, START, "", "x; pmm: check FAIL " CHECK_3 },
        { 9, START, "", "pmm: check FAIL " CHECK_3 "; pmm: check FAIL "
                        CHECK_3 },
        { 10, START, "", "pmm: check OK 4 links" },
        /* each in the other's place */
        { 11, START, "pmm: check FAIL x [node=h0004 link=" ID_3 "]",
          "pmm: audit 99 FAIL [" LINK_2 " node=h0004 excess=+9000]" },
        { 12, START, "", "" },
        /* it may be of either: of no node, and not that link's FAIL */
        { 13, START, "", "pmm: check FAIL x [kind=link link=" ID_2
                         " or=1 excess=+412]" },
    };
    struct history *h = history_create ();

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (history_add (h, tab[i].job, tab[i].time, tab[i].admin,
                         tab[i].comment, &err) < 0)
            diag ("%s", err.text);
    return h;
}

static void test_text (struct history *h)
{
    static const char wanted[] =
        "11 jobs with comments: 6 audits: 3 FAIL, 1 UNKNOWN, 1 WARN, 1 OK; "
        "5 checks: 4 FAIL, 1 OK\n"
        "links\n"
        "  " ID_2 " (h0002_mlx5_0/1 -- leaf1/2): 2 audits: 2 FAIL; "
        "1 check: 1 ambiguous; on 2 days "
        "from 2024-10-04 to 2024-10-05; up to +500 ns; down to 50 % of its "
        "rate\n"
        "  " ID_S " (leaf1/7 -- spine1/1): 1 audit: 1 ambiguous; on 2024-10-05; "
        "up to +300 ns\n"
        "  " ID_3 ": 3 checks: 3 FAIL; on 2024-10-04; up to +9000 ns\n"
        "nodes\n"
        "  h0002: 2 audits: 2 FAIL; on 2 days from 2024-10-04 to 2024-10-05; "
        "up to +500 ns; down to 50 % of its rate\n"
        "  h0003: 3 checks: 3 FAIL; on 2024-10-04; up to +9000 ns\n"
        "switches\n"
        "  leaf1: 3 audits: 2 FAIL, 1 ambiguous; on 2 days from 2024-10-04 to "
        "2024-10-05; up to +500 ns; down to 50 % of its rate\n"
        "  spine1: 2 audits: 1 WARN, 1 ambiguous; on 2024-10-05; up to +300 ns\n"
        "days\n"
        "  2024-10-04: 2 audits: 1 FAIL, 1 OK; 5 checks: 4 FAIL, 1 OK\n"
        "  2024-10-05: 4 audits: 2 FAIL, 1 UNKNOWN, 1 WARN\n";
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    history_text (h, fp);
    fclose (fp);
    ok (!strcmp (text, wanted), "the text");
    if (strcmp (text, wanted))
        fprintf (stderr, "%s", text);
    free (text);
}

static void test_json (struct history *h)
{
    json_t *j = history_json (h);
    const char *name = NULL, *end = NULL;
    int fails = 0, checks = 0, days = 0, jobs = 0;
    json_t *seen = NULL;
    double max = 0;

    ok (json_unpack (j, "{s:i,s:{s:i},s:{s:i},s:[{s:s,s:[s],s:i,s:F,s:o}]}",
                     "jobs", &jobs, "audits", "FAIL", &fails, "checks",
                     "FAIL", &checks, "links", "name", &name, "ends", &end,
                     "days", &days, "max_ns", &max, "seen", &seen) == 0
            && jobs == 11 && fails == 3 && checks == 4 && days == 2
            && max == 500 && !strcmp (name, ID_2)
            && !strcmp (end, "h0002_mlx5_0/1"),
        "JSON: totals, and the worst link");
    ok (json_array_size (seen) == 4, "... with each occasion, of each job");
    ok (json_array_size (json_object_get (j, "links")) == 3
            && json_array_size (json_object_get (j, "nodes")) == 2
            && json_array_size (json_object_get (j, "switches")) == 2
            && json_array_size (json_object_get (j, "days")) == 2,
        "... and all the others");
    json_decref (j);
}

static void test_empty (void)
{
    struct history *h = history_create ();
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    json_t *j = history_json (h);

    history_text (h, fp);
    fclose (fp);
    ok (!strcmp (text, "0 jobs with comments\n"), "nothing: %s", text);
    ok (json_array_size (json_object_get (j, "links")) == 0
            && json_object_get (j, "audits"), "... and as JSON");
    json_decref (j);
    free (text);
    history_destroy (h);
}

/* Nobody can fill the memory by a comment. */
static void test_flood (void)
{
    struct history *h = history_create ();
    static char field[65536];
    size_t len = 0;
    json_t *j;
    int rc = 0;

    while (len + 64 < sizeof (field))
        len += (size_t)sprintf (field + len, "pmm: check FAIL [link=%016zx/1]; ",
                                len);
    rc = history_add (h, 1, START, "", field, &err);
    j = history_json (h);
    ok (rc == 0 && json_array_size (json_object_get (j, "links"))
                       == HISTORY_ENTRIES_MAX,
        "a comment of many entries: %d count", HISTORY_ENTRIES_MAX);
    json_decref (j);
    for (uint32_t i = 0; rc == 0 && i <= HISTORY_RECORDS_MAX; i++)
        rc = history_add (h, i, START, "", field, &err);
    ok (rc < 0 && strstr (err.text, "ask for less time"), "%s", err.text);
    history_destroy (h);
}

int main (void)
{
    struct history *h = make ();

    test_text (h);
    test_json (h);
    history_destroy (h);
    test_empty ();
    test_flood ();
    return done_testing ();
}
