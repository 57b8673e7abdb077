/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/common.h"

#include <float.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

enum { OPTIONS_MAX = 32 };

int opt_string (void *field, const char *value, struct error *err)
{
    (void)err;
    *(const char **)field = value;
    return 0;
}

int opt_int (void *field, const char *value, struct error *err)
{
    uint64_t v;

    if (text_u64 (value, 0, INT_MAX, &v) < 0)
        return error_input (err, "'%.40s' is no number from 0 to %d", value,
                            INT_MAX);
    *(int *)field = v;
    return 0;
}

int opt_u64 (void *field, const char *value, struct error *err)
{
    if (text_u64 (value, 0, UINT64_MAX, (uint64_t *)field) < 0)
        return error_input (err, "'%.40s' is no whole number", value);
    return 0;
}

int opt_double (void *field, const char *value, struct error *err)
{
    if (text_double (value, 0, DBL_MAX, (double *)field) < 0)
        return error_input (err, "'%.40s' is no number of at least 0", value);
    return 0;
}

int opt_true (void *field, const char *value, struct error *err)
{
    (void)value;
    (void)err;
    *(bool *)field = true;
    return 0;
}

int opt_append (void *field, const char *value, struct error *err)
{
    struct strings *s = field;
    const char **v = realloc (s->v, (s->n + 1) * sizeof (*v));

    if (!v)
        return error_nomem (err);
    s->v = v;
    s->v[s->n++] = value;
    return 0;
}

static void usage (const struct opt *table, const char *verb,
                   const char *args, FILE *fp)
{
    fprintf (fp, "Usage: pmm %s [OPTION]...%s%s\n\n", verb, *args ? " " : "",
             args);
    for (const struct opt *o = table; o->name; o++) {
        char left[64];

        snprintf (left, sizeof (left), "%c%c%s --%s%s%s",
                  o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                  o->letter ? "," : " ", o->name, o->arg ? " " : "",
                  o->arg ? o->arg : "");
        fprintf (fp, "  %-28s %s\n", left, o->help);
    }
    fprintf (fp, "  -h, --help%18s show this\n", "");
}

int options_parse (const struct opt *table, void *data, int argc, char **argv,
                   const char *args, int min, int max, int *status)
{
    struct option longs[OPTIONS_MAX + 2] = { { 0 } };
    char shorts[2 * OPTIONS_MAX + 4] = "h";
    size_t n = 0, s = 1;
    char *verb = argv[0];
    char name[64];
    int c, index = -1;

    for (; table[n].name && n < OPTIONS_MAX; n++) {
        int has_arg = table[n].arg ? required_argument : no_argument;

        longs[n] = (struct option){ table[n].name, has_arg, NULL, 0 };
        if (table[n].letter) {
            shorts[s++] = table[n].letter;
            if (table[n].arg)
                shorts[s++] = ':';
        }
    }
    longs[n] = (struct option){ "help", no_argument, NULL, 'h' };

    *status = EXIT_BAD_INPUT;
    optind = 0;
    snprintf (name, sizeof (name), "pmm %s", verb);
    for (;;) {
        const struct opt *o = NULL;
        struct error err;

        argv[0] = name; /* getopt's messages begin with it */
        c = getopt_long (argc, argv, shorts, longs, &index);
        argv[0] = verb;
        if (c == -1)
            break;
        if (c == 'h') {
            usage (table, argv[0], args, stdout);
            *status = EXIT_OK;
            return -1;
        }
        if (c == '?')
            return -1; /* getopt has said what is wrong */
        if (c == 0) {
            o = &table[index];
        } else {
            for (size_t i = 0; i < n; i++) {
                if (table[i].letter == c)
                    o = &table[i];
            }
        }
        if (o->set ((char *)data + o->offset, optarg, &err) < 0) {
            error_prefix (&err, "--%s", o->name);
            *status = fail (argv[0], &err);
            return -1;
        }
    }
    if (argc - optind < min || argc - optind > max) {
        fprintf (stderr, "pmm %s: %s argument; usage: pmm %s [OPTION]... %s\n",
                 argv[0], argc - optind < min ? "missing" : "unexpected",
                 argv[0], args);
        return -1;
    }
    return optind;
}

int fail (const char *verb, const struct error *err)
{
    fprintf (stderr, "pmm %s: %s\n", verb, err->text);
    return err->fault == ERROR_WORLD ? EXIT_WORLD : EXIT_BAD_INPUT;
}
