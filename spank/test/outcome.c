/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two lines that carry an outcome: hostile, foreign, cut ones are none. */
#include "config.h"
#include "spank/outcome.h"

#include <string.h>

#include "tests/tap.h"

#define NONCE "0123456789abcdef0123456789abcdef"

static void test_result (void)
{
    static const struct {
        const char *line;
        int status; /* -1: refused */
        const char *text;
    } tab[] = {
        { "pmm-result 1 OK " NONCE " all well", OUTCOME_OK, "all well" },
        { "pmm-result 1 WARN " NONCE " a b  c", OUTCOME_WARN, "a b  c" },
        { "pmm-result 1 FAIL " NONCE " x", OUTCOME_FAIL, "x" },
        { "pmm-result 1 UNKNOWN " NONCE " x", OUTCOME_UNKNOWN, "x" },
        { "pmm-result 1 OK " NONCE " a\x1b[2J\tb\x80", OUTCOME_OK,
          "a?[2J?b?" },
        { "pmm-result 1 OK ffffffffffffffffffffffffffffffff all", -1, NULL },
        { "pmm-result 1 OK " NONCE "0 all well", -1, NULL },
        { "pmm-result 1 OK 0123456789abcdef all well", -1, NULL },
        { "pmm-result 1 OK " NONCE, -1, NULL },
        { "pmm-result 1 OK " NONCE " ", -1, NULL },
        { "pmm-result 2 OK " NONCE " x", -1, NULL },
        { "pmm-result 1 NONE " NONCE " x", -1, NULL },
        { "pmm-result 1 ok " NONCE " x", -1, NULL },
        { "pmm-result 1  OK " NONCE " x", -1, NULL },
        { " pmm-result 1 OK " NONCE " x", -1, NULL },
        { "pmm-result", -1, NULL },
        { "", -1, NULL },
    };
    struct outcome o;
    char line[1024] = "pmm-result 1 OK " NONCE " ";

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        bool good;

        outcome_set (&o, OUTCOME_NONE, "before");
        good = outcome_parse_result (&o, tab[i].line, NONCE);
        if (tab[i].status >= 0)
            ok (good && (int)o.status == tab[i].status
                    && !strcmp (o.text, tab[i].text),
                "result row %zu: %s", i, o.text);
        else
            ok (!good && o.status == OUTCOME_NONE && !strcmp (o.text, "before"),
                "refuse result row %zu", i);
    }
    memset (line + strlen (line), 'a', 900);
    ok (outcome_parse_result (&o, line, NONCE)
            && strlen (o.text) == OUTCOME_TEXT - 1,
        "a long sentence is cut");
}

static void test_record (void)
{
    struct outcome o;
    struct outcome p;
    char line[OUTCOME_LINE];
    int good = 1;

    for (int i = OUTCOME_NONE; i <= OUTCOME_UNKNOWN; i++) {
        outcome_set (&o, (enum outcome_status)i, "why %d", i);
        outcome_format_record (&o, 4294967295u, line);
        good &= outcome_parse_record (&p, line, 4294967295u)
                && p.status == o.status && !strcmp (p.text, o.text);
    }
    ok (good, "records of all kinds are read back: %s", line);
    memset (o.text, 'a', sizeof (o.text) - 1);
    o.text[sizeof (o.text) - 1] = '\0';
    outcome_format_record (&o, 4294967295u, line);
    ok (outcome_parse_record (&p, line, 4294967295u)
            && !strcmp (p.text, o.text),
        "also with the longest sentence");
    ok (!outcome_parse_record (&p, line, 429496729), "another job's is none");
    ok (!outcome_parse_record (&p, "pmm-check 1 7 OK", 7)
            && !outcome_parse_record (&p, "pmm-check 1 7 OK ", 7)
            && !outcome_parse_record (&p, "pmm-check 1 07 OK x", 7)
            && !outcome_parse_record (&p, "pmm-check 1 7 GOOD x", 7)
            && !outcome_parse_record (&p, "", 7),
        "what is cut or odd is none");
}

int main (void)
{
    test_result ();
    test_record ();
    return done_testing ();
}
