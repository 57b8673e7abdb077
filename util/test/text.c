/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text made safe, numbers parsed, host lists parsed and folded. */
#include "config.h"
#include "util/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static void test_clean (void)
{
    static const struct {
        const char *in;
        const char *expected;
    } tab[] = {
        { "", "" },
        { "node01 mlx5_0", "node01 mlx5_0" },
        { "a\nb\tc\x1b[31m", "a?b?c?[31m" },
        { "\x7f\x80\xff~", "???~" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char s[64];

        strcpy (s, tab[i].in);
        ok (!strcmp (text_clean (s), tab[i].expected), "clean: %s",
            tab[i].expected);
    }
}

static void test_count (void)
{
    static const struct {
        uint64_t n;
        const char *noun, *expected;
    } tab[] = {
        { 0, "link", "0 links" },
        { 1, "link", "1 link" },
        { 2, "link", "2 links" },
        { 1, "switch", "1 switch" },
        { 2, "switch", "2 switches" },
        { 3, "process", "3 processes" },
        { 1, "query", "1 query" },
        { 0, "query", "0 queries" },
        { 4, "way", "4 ways" },
        { 1, "more finding", "1 more finding" },
        { 1000, "round trip", "1000 round trips" },
        { UINT64_MAX, "port", "18446744073709551615 ports" },
    };
    char both[64];

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (!strcmp (COUNTED (tab[i].n, tab[i].noun), tab[i].expected), "%s",
            COUNTED (tab[i].n, tab[i].noun));
    snprintf (both, sizeof (both), "%s, %s", COUNTED (1, "node"),
              COUNTED (2, "node"));
    ok (!strcmp (both, "1 node, 2 nodes"), "two in a sentence: %s", both);
}

static void test_shown (void)
{
    char longer[2 * TEXT_SHOWN];

    memset (longer, '\n', sizeof (longer) - 1);
    longer[sizeof (longer) - 1] = '\0';
    ok (!strcmp (SHOWN ("a \033[2J"), "a ?[2J"), "shown clean");
    ok (strlen (SHOWN (longer)) == TEXT_SHOWN - 1, "... and cut");
}

static void test_hostname (void)
{
    static const struct {
        const char *in;
        bool expected;
    } tab[] = {
        { "n", true },
        { "node-01.site_a", true },
        { "", false },
        { "-n", false },
        { ".n", false },
        { "a b", false },
        { "a/b", false },
        { "n\xc3\xa9", false },
        { "123456789012345678901234567890123456789012345678901234567890123",
          true },
        { "1234567890123456789012345678901234567890123456789012345678901234",
          false },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (text_is_hostname (tab[i].in) == tab[i].expected,
            "host name: row %zu", i);
}

static void test_numbers (void)
{
    static const struct {
        const char *in;
        uint64_t min;
        uint64_t max;
        int errnum;
        uint64_t expected;
    } tab[] = {
        { "0", 0, 10, 0, 0 },
        { "10", 0, 10, 0, 10 },
        { "11", 0, 10, ERANGE, 0 },
        { "1", 2, 10, ERANGE, 0 },
        { "0x1F", 0, 100, 0, 31 },
        { "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
        { "18446744073709551616", 0, UINT64_MAX, ERANGE, 0 },
        { "", 0, 10, EINVAL, 0 },
        { " 1", 0, 10, EINVAL, 0 },
        { "1 ", 0, 10, EINVAL, 0 },
        { "-1", 0, 10, EINVAL, 0 },
        { "+1", 0, 10, EINVAL, 0 },
        { "0x", 0, 10, EINVAL, 0 },
        { "0x0x1", 0, 10, EINVAL, 0 },
        { "0x-1", 0, 10, EINVAL, 0 },
        { "1f", 0, 100, EINVAL, 0 },
    };
    static const struct {
        const char *in;
        int errnum;
        double expected;
    } dtab[] = {
        { "1.5", 0, 1.5 },      { "-2e-1", 0, -0.2 }, { "11", ERANGE, 0 },
        { "1e999", ERANGE, 0 }, { "", EINVAL, 0 },    { "nan", EINVAL, 0 },
        { "inf", EINVAL, 0 },   { "0x1", EINVAL, 0 }, { "1.5.2", EINVAL, 0 },
        { " 1", EINVAL, 0 },    { "e", EINVAL, 0 },
    };
    static const struct {
        const char *in;
        int errnum;
        uint64_t expected;
    } btab[] = {
        { "0", 0, 0 },         { "1048576", 0, 1 << 20 },
        { "1048577", ERANGE, 0 }, { "3k", 0, 3 << 10 },
        { "1024K", 0, 1 << 20 },  { "1025k", ERANGE, 0 },
        { "1M", 0, 1 << 20 },     { "0m", 0, 0 },
        { "2m", ERANGE, 0 },      { "k", EINVAL, 0 },
        { "", EINVAL, 0 },        { "1g", EINVAL, 0 },
        { "1kk", EINVAL, 0 },     { "-1k", EINVAL, 0 },
        { "18014398509481985k", ERANGE, 0 },
        { "00000000000000000000000000000001", EINVAL, 0 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        uint64_t n = 0;
        int rc;

        errno = 0;
        rc = text_u64 (tab[i].in, tab[i].min, tab[i].max, &n);
        ok (rc == (tab[i].errnum ? -1 : 0) && errno == tab[i].errnum
                && n == tab[i].expected,
            "number '%s'", tab[i].in);
    }
    for (size_t i = 0; i < sizeof (dtab) / sizeof (dtab[0]); i++) {
        double x = 0;
        int rc = text_double (dtab[i].in, -10, 10, &x);

        ok (rc == (dtab[i].errnum ? -1 : 0) && x == dtab[i].expected
                && (rc == 0 || errno == dtab[i].errnum),
            "real '%s'", dtab[i].in);
    }
    for (size_t i = 0; i < sizeof (btab) / sizeof (btab[0]); i++) {
        uint64_t n = 0;
        int rc;

        errno = 0;
        rc = text_bytes (btab[i].in, 1 << 20, &n);
        ok (rc == (btab[i].errnum ? -1 : 0) && errno == btab[i].errnum
                && n == btab[i].expected,
            "bytes '%s'", btab[i].in);
    }
}

static char *join (const struct hostlist *hl)
{
    static char s[512];

    s[0] = '\0';
    for (size_t i = 0; i < hl->count; i++) {
        strcat (s, i ? " " : "");
        strcat (s, hl->name[i]);
    }
    return s;
}

static void test_parse (void)
{
    static const struct {
        const char *in;
        const char *expected; /* NULL: refused */
        const char *error;
    } tab[] = {
        { "a", "a", NULL },
        { " b,a\n,, c\t", "b a c", NULL },
        { "node[001-003,020],login1", "node001 node002 node003 node020 login1",
          NULL },
        { "n[9-11]", "n9 n10 n11", NULL },
        { "r[1-2]n[0,2]x", "r1n0x r1n2x r2n0x r2n2x", NULL },
        { "n[1]", "n1", NULL },
        { "", NULL, "empty" },
        { " , ", NULL, "empty" },
        { "a,b,a", NULL, "host a is listed twice" },
        { "n[1,1]", NULL, "twice" },
        { "n[1", NULL, "brackets" },
        { "n1]", NULL, "brackets" },
        { "n[[1]]", NULL, "brackets" },
        { "n[]", NULL, "range" },
        { "n[1-]", NULL, "range" },
        { "n[3-1]", NULL, "range" },
        { "n[1,]", NULL, "range" },
        { "n[1 2]", NULL, "range" },
        { "n[a]", NULL, "range" },
        { "n[0-99999999999999999999]", NULL, "range" },
        { "n[0-999999999999999999]", NULL, "more than 8 hosts" },
        { "[0-9][0-9][0-9][0-9]", NULL, "more than 8 hosts" },
        { "n[1-9]", NULL, "more than 8 hosts" },
        { "a;b", NULL, "not a host name" },
        { "-a", NULL, "not a host name" },
        { "1234567890123456789012345678901234567890123456789012345678901[001]",
          NULL, "longer" },
        { "12345678901234567890123456789012345678901234567890123456789012345",
          NULL, "longer" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct hostlist hl;
        struct error err = { 0 };
        int rc = hostlist_parse (&hl, tab[i].in, 8, &err);

        if (tab[i].expected)
            ok (rc == 0 && !strcmp (join (&hl), tab[i].expected), "parse '%s'",
                tab[i].expected);
        else
            ok (rc < 0 && strstr (err.text, tab[i].error) && hl.count == 0
                    && err.fault == ERROR_INPUT,
                "refuse row %zu: %s", i, err.text);
        hostlist_clear (&hl);
    }
}

static void test_fold (void)
{
    static const struct {
        const char *in;
        const char *expected;
    } tab[] = {
        { "a", "a" },
        { "n1", "n1" },
        { "node003 node001 node002 node007", "node[001-003,007]" },
        { "n11 n9 n10", "n[9-11]" },
        { "n08 n09 n10 n11", "n[08-11]" },
        { "n1 n01 n2", "n[01,1-2]" },
        { "a9 a10 a1x a1b5", "a[9-10],a1b5,a1x" },
        { "b a b", "a,b" },
        { "7 8 9", "[7-9]" },
        { "n1 m1 n2 n", "m1,n,n[1-2]" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct hostlist hl = { 0 };
        char copy[256];
        char *name[16];
        size_t n = 0;
        char *s;

        strcpy (copy, tab[i].in);
        for (char *t = strtok (copy, " "); t; t = strtok (NULL, " "))
            name[n++] = t;
        s = hostlist_fold ((const char *const *)name, n);
        ok (s && !strcmp (s, tab[i].expected), "fold to %s", tab[i].expected);
        ok (s && hostlist_parse (&hl, s, 100, NULL) == 0, "and back");
        hostlist_clear (&hl);
        free (s);
    }
    char *s = hostlist_fold (NULL, 0);

    ok (s && !*s, "fold of nothing is empty");
    free (s);
}

static void test_guess (void)
{
    static const char *const names[] = { "plan", "path", "pattern", "report",
                                         "ReportPartitions" };
    static const struct {
        const char *word;
        const char *expected;
    } tab[] = {
        { "plna", "plan" },     { "pla", "plan" },    { "PLANE", "plan" },
        { "paln", "plan" },     { "pth", "path" },    { "paterrn", "pattern" },
        { "reprot", "report" }, { "re", NULL },       { "", NULL },
        { "xxxx", NULL },       { "repport", "report" },
        { "report_partition", "ReportPartitions" },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct text_guess g = { .word = tab[i].word };

        for (size_t k = 0; k < sizeof (names) / sizeof (names[0]); k++)
            text_guess (&g, names[k]);
        ok (tab[i].expected ? g.best && !strcmp (g.best, tab[i].expected)
                            : !g.best,
            "'%s' may mean %s", tab[i].word, g.best ? g.best : "nothing");
    }
}

static void test_paths (void)
{
    static const struct {
        const char *list, *expected; /* each in brackets */
    } tab[] = {
        { "/a", "[/a]" },           { "/a,/b", "[/a][/b]" },
        { " /a , /b c ", "[/a][/b c]" }, { ",,/a,", "[/a]" },
        { "", "" },                 { " , ", "" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *list = tab[i].list;
        char path[TEXT_PATH], got[64] = "";

        while (text_next (&list, path))
            sprintf (got + strlen (got), "[%.20s]", path);
        ok (!strcmp (got, tab[i].expected), "the paths of '%s': %s",
            tab[i].list, got);
    }
}

int main (void)
{
    test_guess ();
    test_clean ();
    test_count ();
    test_shown ();
    test_hostname ();
    test_numbers ();
    test_parse ();
    test_fold ();
    test_paths ();
    return done_testing ();
}
