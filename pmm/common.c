/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/common.h"

#include <stdio.h>

int options_parse (const struct opt *table, void *data, int argc, char **argv,
                   const char *args, int min, int max, int *status)
{
    const struct opt_group group[] = { { table, data }, { NULL, NULL } };
    struct error err;
    int first = options_get (group, argc, argv, &err);

    *status = EXIT_BAD_INPUT;
    if (first == OPTIONS_HELP) {
        printf ("Usage: pmm %s [OPTION]...%s%s\n\n", argv[0],
                *args ? " " : "", args);
        options_help (group, stdout);
        *status = EXIT_OK;
        return -1;
    }
    if (first < 0) {
        *status = fail (argv[0], &err);
        return -1;
    }
    if (argc - first < min || argc - first > max) {
        fprintf (stderr, "pmm %s: %s argument; usage: pmm %s [OPTION]... %s\n",
                 argv[0], argc - first < min ? "missing" : "unexpected",
                 argv[0], args);
        return -1;
    }
    return first;
}

int no_verb (const char *of, const struct text_guess *guess)
{
    struct error err;

    error_input (&err, "unknown verb '%.40s'; %s%s%s'%s --help' lists them",
                 guess->word, guess->best ? "did you mean " : "",
                 guess->best ? guess->best : "", guess->best ? "? " : "", of);
    fprintf (stderr, "%s: %s\n", of, err.text);
    return EXIT_BAD_INPUT;
}

int fail (const char *verb, const struct error *err)
{
    fprintf (stderr, "pmm %s: %s\n", verb, err->text);
    return err->fault == ERROR_WORLD ? EXIT_WORLD : EXIT_BAD_INPUT;
}
