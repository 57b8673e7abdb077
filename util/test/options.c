/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/options.h"

#include <stdbool.h>
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

static const struct opt choices[] = {
    { "method", 0, "fast|slow|PATTERN", opt_string,
      offsetof (struct mine, file), "g" },
    { "shuffle", 0, NULL, opt_true, offsetof (struct mine, quiet), "h" },
    { "all", 0, NULL, opt_true, offsetof (struct mine, quiet), "i" },
    { "some", 0, "LIST", opt_string, offsetof (struct mine, file), "j" },
    { "why", 0, "TEXT", opt_string, offsetof (struct mine, file), "k" },
    { 0 },
};
static const struct opt_rule rules[] = {
    { NULL, OPT_NEEDS, "LINK all some" },
    { "shuffle", OPT_NEEDS, "method=PATTERN" },
    { "method=slow", OPT_NEEDS, "B why" },
    { "LINK all some", OPT_EXCLUDES, NULL },
    { "all why", OPT_EXCLUDES, "method=fast|slow method=ring" },
    { 0 },
};

enum { WORDS = 8 };

/* By the rules. */
static int go (const char *const *word, struct error *err)
{
    struct mine m = { 0 };
    const struct opt_group group[] = { { choices, &m, rules }, { NULL } };
    char *argv[WORDS + 1] = { (char *)"test" };
    int argc = 1;

    for (; argc < WORDS && word[argc - 1]; argc++)
        argv[argc] = (char *)word[argc - 1];
    return options_get (group, "[LINK [B]]", argc, argv, err);
}

static const struct {
    const char *word[WORDS];
    const char *why; /* NULL: nothing is wrong */
} together[] = {
    { { "--shuffle", "--method", "ring", "--some", "x" }, NULL },
    { { "s1/1", "B", "--method", "slow" }, NULL },
    { { "--shuffle" }, "LINK, --all or --some LIST is missing" },
    { { "--all", "--shuffle" }, "--shuffle needs --method PATTERN" },
    { { "--some=x", "--shuffle", "--method=fast" },
      "--shuffle needs --method PATTERN" },
    { { "--some=x", "--method=slow" },
      "--method slow needs B or --why TEXT" },
    { { "--some=x", "--all" }, "--all cannot be combined with --some" },
    { { "--some=x", "s1/1" }, "LINK cannot be combined with --some" },
    { { "--all", "--method=ring" },
      "--all cannot be combined with --method ring" },
};
static const char help_end[] =
    "\n"
    "LINK, --all or --some LIST is needed\n"
    "--shuffle needs --method PATTERN\n"
    "--method slow needs B or --why TEXT\n"
    "Only one of LINK, --all and --some can be given\n"
    "--all and --why cannot be combined with --method fast|slow or --method"
    " ring\n";

static int get (struct mine *m, const char *const *word, struct error *err)
{
    const struct opt_group group[]
        = { { mine, m }, { others, m }, { NULL } };
    char *argv[WORDS + 1] = { (char *)"test" };
    int argc = 1;

    for (; argc < WORDS && word[argc - 1]; argc++)
        argv[argc] = (char *)word[argc - 1];
    return options_get (group, NULL, argc, argv, err);
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
    { { "-f", "" }, "--file: the value is empty" },
    { { "--word=" }, "--word: the value is empty" },
    { { "--file" }, "'--file' takes an argument" },
    { { "--help=me" }, "'--help=me' takes no argument" },
};

int main (void)
{
    struct mine m = { 0 };
    struct error err = { .text = "" };
    char *text;
    size_t size;
    FILE *fp;
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
    for (size_t i = 0; i < sizeof (together) / sizeof (together[0]); i++) {
        const char *why = together[i].why;

        strcpy (err.text, "");
        first = go (together[i].word, &err);
        ok ((first < 0) == !!why && !strcmp (err.text, why ? why : ""),
            "together: %s", why ? err.text : "nothing is wrong");
    }
    fp = open_memstream (&text, &size);
    options_help ((const struct opt_group[]){ { choices, &m, rules },
                                              { NULL } }, fp);
    fclose (fp);
    ok (strstr (text, help_end) != NULL, "the help has a sentence for each rule");
    free (text);
    return done_testing ();
}
