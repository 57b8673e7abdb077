/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/options.h"

#include <float.h>
#include <getopt.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"

enum { OPTIONS_MAX = 64, LEFT = 30, WIDTH = 80 };

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
        return error_input (err, "'%.40s' is not a number from 0 to %d",
                            value, INT_MAX);
    *(int *)field = v;
    return 0;
}

int opt_u64 (void *field, const char *value, struct error *err)
{
    if (text_u64 (value, 0, UINT64_MAX, (uint64_t *)field) < 0)
        return error_input (err, "'%.40s' is not a whole number", value);
    return 0;
}

int opt_double (void *field, const char *value, struct error *err)
{
    if (text_double (value, 0, DBL_MAX, (double *)field) < 0)
        return error_input (err, "'%.40s' is not a number of at least 0", value);
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

/* The options of all tables for getopt; row i of longs belongs to found[i]. */
struct option_known {
    struct option longs[OPTIONS_MAX + 2];
    char shorts[2 * OPTIONS_MAX + 4];
    struct found {
        const struct opt *opt;
        void *data;
    } found[OPTIONS_MAX];
    size_t n;
};

static void learn (struct option_known *k, const struct opt_group *group)
{
    char *s = k->shorts;

    *s++ = ':'; /* we print the errors, not getopt */
    *s++ = 'h';
    for (; group->table; group++) {
        for (const struct opt *o = group->table;
             o->name && k->n < OPTIONS_MAX; o++) {
            int has_arg = o->arg ? required_argument : no_argument;

            k->longs[k->n] = (struct option){ o->name, has_arg, NULL, 0 };
            k->found[k->n++] = (struct found){ o, group->data };
            if (o->letter) {
                *s++ = o->letter;
                if (o->arg)
                    *s++ = ':';
            }
        }
    }
    k->longs[k->n] = (struct option){ "help", no_argument, NULL, 'h' };
}

/* Set err for an argument that getopt refused. Return -1. */
static int refuse (const struct option_known *k, int c, char **argv,
                   struct error *err)
{
    const char *why = c == ':' ? "takes an argument" : "is not an option";
    const char *word = argv[optind - 1];
    char name[TEXT_SHOWN];
    struct text_guess guess = { .word = name };

    if (optopt > ' ' && optopt <= '~' && optopt != 'h')
        return error_input (err, "-%c %s", optopt, why);
    if (c == ':' || optopt == 'h' || strncmp (word, "--", 2) != 0)
        return error_input (err, "'%.80s' %s", word,
                            optopt == 'h' ? "takes no argument" : why);
    snprintf (name, sizeof (name), "%.*s", (int)strcspn (word + 2, "="),
              word + 2);
    for (const struct option *o = k->longs; o->name; o++)
        text_guess (&guess, o->name);
    return error_input (err, "'%.80s' %s%s%s%s", word, why,
                        guess.best ? "; did you mean --" : "",
                        guess.best ? guess.best : "", guess.best ? "?" : "");
}

/* The name of row i; NULL: it ends there. */
static const char *row_name (const struct opt *opt, int i)
{
    return *(const char *const *)((const char *)opt->rows + i * opt->row_size);
}

enum { ROWS_BYTES = 256 };

static const char *list_rows (const struct opt *opt, const char *between,
                              char list[ROWS_BYTES])
{
    const char *s;
    size_t len = 0;

    for (int i = 0; (s = row_name (opt, i)) && len < ROWS_BYTES; i++)
        len += snprintf (list + len, ROWS_BYTES - len, "%s%s",
                         i ? between : "", s);
    return list;
}

/* Set *index to that of the row with this name. Return 0, or -1 with err, which
 * lists the names.
 */
static int find_row (const struct opt *opt, const char *name, int *index,
                     struct error *err)
{
    char list[ROWS_BYTES] = "";
    const char *s;

    for (int i = 0; (s = row_name (opt, i)); i++)
        if (!strcmp (name, s)) {
            *index = i;
            return 0;
        }
    return error_input (err, "'%.40s' is none of %s", name,
                        list_rows (opt, ", ", list));
}

/* Return 0, or -1 with err if the value is a number that is out of range. */
static int check_range (const struct opt *opt, const char *value,
                        struct error *err)
{
    double x;

    if (opt->max == 0 || text_double (value, -DBL_MAX, DBL_MAX, &x) < 0
        || (x >= opt->min && x <= opt->max))
        return 0;
    return error_input (err, "'%.40s' is not from %.10g to %.10g", value,
                        opt->min, opt->max);
}

int options_get (const struct opt_group *group, int argc, char **argv,
                 struct error *err)
{
    struct option_known k = { .n = 0 };
    const struct opt *opt;
    int c, index = -1;
    void *field;

    learn (&k, group);
    optind = 0;
    opterr = 0;
    while ((c = getopt_long (argc, argv, k.shorts, k.longs, &index)) != -1) {
        size_t i = c == 0 ? (size_t)index : 0;

        if (c == 'h')
            return OPTIONS_HELP;
        if (c == ':' || c == '?')
            return refuse (&k, c, argv, err);
        while (c != 0 && k.found[i].opt->letter != c)
            i++;
        opt = k.found[i].opt;
        field = (char *)k.found[i].data + opt->offset;
        if (check_range (opt, optarg, err) < 0
            || (opt->set ? opt->set (field, optarg, err)
                         : find_row (opt, optarg, field, err)) < 0)
            return error_prefix (err, "--%s", opt->name);
    }
    return optind;
}

/* Print the left column, and the text beside it in lines of WIDTH columns. */
static void put_help (FILE *fp, const char *left, const char *text)
{
    int at = fprintf (fp, "  %-*s", LEFT - 2, left);
    size_t len;

    if (strlen (left) + 2 >= LEFT)
        at = WIDTH;
    for (; *text; text += len + (text[len] == ' ')) {
        len = strcspn (text, " ");
        if (at + 1 + (int)len >= WIDTH)
            at = fprintf (fp, "\n%*s", LEFT, "") - 1;
        at += fprintf (fp, " %.*s", (int)len, text);
    }
    fputc ('\n', fp);
}

void options_help (const struct opt_group *group, FILE *fp)
{
    for (; group->table; group++) {
        for (const struct opt *o = group->table; o->name; o++) {
            char rows[ROWS_BYTES] = "", left[ROWS_BYTES + 64];
            const char *arg = o->rows ? list_rows (o, "|", rows) : o->arg;

            snprintf (left, sizeof (left), "%c%c%s --%s%s%s",
                      o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
                      o->letter ? "," : " ", o->name, arg ? " " : "",
                      arg ? arg : "");
            put_help (fp, left, o->help);
        }
    }
    put_help (fp, "-h, --help", "show this");
}
