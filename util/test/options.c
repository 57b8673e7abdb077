/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/options.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

struct mine {
    const char *file;
    int times;
    uint64_t seed;
    double rate;
    bool quiet;
    struct strings word;
};

static const struct opt mine[] = {
    { "file", 'f', "FILE", opt_string, offsetof (struct mine, file), "a" },
    { "times", 0, "N", opt_int, offsetof (struct mine, times), "b", 1, 99 },
    { "seed", 0, "N", opt_u64, offsetof (struct mine, seed), "c" },
    { "rate", 0, "X", opt_double, offsetof (struct mine, rate), "d" },
    { "quiet", 'q', NULL, opt_true, offsetof (struct mine, quiet), "e" },
    { 0 },
};

static const struct opt others[] = {
    { "word", 'w', "WORD", opt_append, offsetof (struct mine, word), "f" },
    { 0 },
};

enum { WORDS = 8 };

static int get (struct mine *m, const char *const *word, struct error *err)
{
    const struct opt_group group[]
        = { { mine, m }, { others, m }, { NULL, NULL } };
    char *argv[WORDS + 1] = { (char *)"test" };
    int argc = 1;

    for (; argc < WORDS && word[argc - 1]; argc++)
        argv[argc] = (char *)word[argc - 1];
    return options_get (group, argc, argv, err);
}

static const struct {
    const char *word[WORDS];
    const char *why;
} bad[] = {
    { { "--times", "many" }, "--times: 'many' is not a number from 0 to "
                             "2147483647" },
    { { "--times", "0" }, "--times: '0' is not from 1 to 99" },
    { { "--times", "100" }, "--times: '100' is not from 1 to 99" },
    { { "--seed", "-1" }, "--seed: '-1' is not a whole number" },
    { { "--rate=x" }, "--rate: 'x' is not a number of at least 0" },
    { { "--nothing" }, "'--nothing' is not an option" },
    { { "--sed=1" }, "'--sed=1' is not an option; did you mean --seed?" },
    { { "--hepl" }, "'--hepl' is not an option; did you mean --help?" },
    { { "-q\xff" }, "'-q?' is not an option" },
    { { "-x" }, "-x is not an option" },
    { { "-f" }, "-f takes an argument" },
    { { "--file" }, "'--file' takes an argument" },
    { { "--help=me" }, "'--help=me' takes no argument" },
};

int main (void)
{
    struct mine m = { 0 };
    struct error err = { .text = "" };
    int first = get (&m, (const char *[]){ "-qf", "x", "stay", "--times=3",
                                           "-w", "a", "-wb", NULL }, &err);

    ok (first == 7, "what is no option comes last: %d %s", first, err.text);
    ok (m.quiet && m.file && !strcmp (m.file, "x") && m.times == 3,
        "letters run together, and words behind '='");
    ok (m.word.n == 2 && !strcmp (m.word.v[0], "a")
            && !strcmp (m.word.v[1], "b"),
        "an option of another table may be given twice");
    free (m.word.v);

    memset (&m, 0, sizeof (m));
    first = get (&m, (const char *[]){ "--seed", "0x10", "--rate", "1.5",
                                       NULL }, &err);
    ok (first == 5 && m.seed == 16 && m.rate == 1.5, "numbers");
    first = get (&m, (const char *[]){ "-q", "-h", NULL }, &err);
    ok (first == OPTIONS_HELP && m.quiet, "help is asked for");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        memset (&m, 0, sizeof (m));
        first = get (&m, bad[i].word, &err);
        ok (first == -1 && !strcmp (err.text, bad[i].why), "%s", err.text);
    }
    return done_testing ();
}
