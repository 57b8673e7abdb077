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

enum { OPTIONS_MAX = 64, LEFT = 30, RULE = 3, WIDTH = 80 };

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
        bool used;
        const char *value; /* of the last use */
    } found[OPTIONS_MAX];
    size_t n;
    const char *operands;  /* of the usage line */
    int noperands;
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
            k->found[k->n++] = (struct found){ .opt = o,
                                                .data = group->data };
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
static int find_option_row (const struct opt *opt, const char *name, int *index,
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

/* Return 0, or -1 with err if the value is empty, as that of a script's variable
 * that is not set, or a number that is out of range.
 */
static int check_value (const struct opt *opt, const char *value,
                        struct error *err)
{
    double x;

    if (value && !*value)
        return error_input (err, "the value is empty");
    if (opt->max == 0 || text_double (value, -DBL_MAX, DBL_MAX, &x) < 0
        || (x >= opt->min && x <= opt->max))
        return 0;
    return error_input (err, "'%.40s' is not from %.10g to %.10g", value,
                        opt->min, opt->max);
}

/*
 * Rules
 */

enum { WORD = 128, SENTENCE = 320, RULE_BYTES = 2 * SENTENCE + 32 };

/* Copy the next word of the list, up to one of these characters. Return false
 * if there is none.
 */
static bool split_word (const char **list, const char *ends, char word[WORD])
{
    size_t len;

    *list += strspn (*list, ends);
    len = strcspn (*list, ends);
    snprintf (word, WORD, "%.*s", (int)len, *list);
    *list += len;
    return len > 0;
}

static bool is_operand (const char *word)
{
    return *word >= 'A' && *word <= 'Z';
}

/* The option of a word, or NULL. */
static const struct found *find_word (const struct option_known *k,
                                      const char *word)
{
    size_t len = strcspn (word, "=");

    for (size_t i = 0; i < k->n; i++)
        if (strlen (k->found[i].opt->name) == len
            && !strncmp (k->found[i].opt->name, word, len))
            return &k->found[i];
    return NULL;
}

/* Whether a value is among these, "dot|svg|PATTERN", of all that the argument
 * names.
 */
static bool is_among (const char *value, const char *these, const char *all)
{
    bool other = false, named = false;
    char word[WORD];

    while (split_word (&these, "|", word)) {
        if (!strcmp (word, value))
            return true;
        other |= is_operand (word);
    }
    while (split_word (&all, "|", word))
        named |= !strcmp (word, value);
    return other && !named;
}

/* Whether the command line has what the word stands for. */
static bool has_word (const struct option_known *k, const char *word)
{
    const char *list = k->operands ? k->operands : "";
    const struct found *f = find_word (k, word);
    char operand[WORD];

    for (int i = 0; i < k->noperands && is_operand (word)
                    && split_word (&list, " [].", operand); i++)
        if (!strcmp (operand, word))
            return true;
    return f && f->used
           && (!strchr (word, '=')
               || is_among (f->value, strchr (word, '=') + 1, f->opt->arg));
}

/* Add the word to a sentence as a person writes it; value: with the one that
 * was given; arg: with the name of its argument.
 */
static void say_word (const struct option_known *k, const char *word,
                      bool value, bool arg, char s[SENTENCE])
{
    const struct found *f = find_word (k, word);
    size_t len = strlen (s), name = strcspn (word, "=");
    const char *more = "";

    if (word[name])
        more = value && f ? f->value : word + name + 1;
    else if (arg && f && f->opt->arg && !strchr (f->opt->arg, '|'))
        more = f->opt->arg;
    snprintf (s + len, SENTENCE - len, "%s%.*s%s%.40s",
              is_operand (word) ? "" : "--", (int)name, word, *more ? " " : "",
              more);
}

/* Add a list of words, "A, B or C". Return how many there are. */
static int say_list (const struct option_known *k, const char *list,
                     const char *last, bool arg, char s[SENTENCE])
{
    char word[WORD];
    int n = 0;

    while (split_word (&list, " ", word)) {
        size_t len = strlen (s);
        bool more = list[strspn (list, " ")];

        if (n++ > 0)
            snprintf (s + len, SENTENCE - len, "%s", more ? ", " : last);
        say_word (k, word, false, arg, s);
    }
    return n;
}

/* Find the first word of the list that the command line has. */
static bool find_any (const struct option_known *k, const char *list,
                      char word[WORD])
{
    while (split_word (&list, " ", word))
        if (has_word (k, word))
            return true;
    return false;
}

static int check_rule (const struct option_known *k,
                       const struct opt_rule *rule, struct error *err)
{
    const char *of = rule->of ? rule->of : "";
    char word[WORD], with[WORD], a[SENTENCE] = "", b[SENTENCE] = "";

    if (!rule->of && !find_any (k, rule->with, with)) {
        say_list (k, rule->with, " or ", true, b);
        return error_input (err, "%s is missing", b);
    }
    while (split_word (&of, " ", word)) {
        bool any = find_any (k, rule->with ? rule->with : of, with);

        if (!has_word (k, word) || any == (rule->kind == OPT_NEEDS))
            continue;
        say_word (k, word, true, false, a);
        if (any)
            say_word (k, with, true, false, b);
        else
            say_list (k, rule->with, " or ", true, b);
        if (*a != '-' && *b != '-' && !any) /* two operands */
            return error_input (err, "%s is missing: there is only %s", b, a);
        return error_input (err, any ? "%s cannot be combined with %s"
                                     : "%s needs %s", a, b);
    }
    return 0;
}

static int check_rules (const struct option_known *k,
                        const struct opt_group *group, int kind,
                        struct error *err)
{
    for (; group->table; group++)
        for (const struct opt_rule *r = group->rules; r && r->kind; r++)
            if ((int)r->kind == kind && check_rule (k, r, err) < 0)
                return -1;
    return 0;
}

/* What --help says of it. */
static void rule_sentence (const struct option_known *k,
                           const struct opt_rule *rule, char s[RULE_BYTES])
{
    bool needs = rule->kind == OPT_NEEDS;
    char of[SENTENCE] = "", with[SENTENCE] = "";
    int n = rule->of ? say_list (k, rule->of, " and ", false, of) : 0;

    if (rule->with)
        say_list (k, rule->with, " or ", needs, with);
    if (!rule->of)
        sprintf (s, "%s is needed", with);
    else if (!rule->with)
        sprintf (s, "Only one of %s can be given", of);
    else
        sprintf (s, "%s %s %s", of, !needs  ? "cannot be combined with"
                                    : n > 1 ? "need"
                                            : "needs", with);
}

/*
 * Parsing
 */

int options_get (const struct opt_group *group, const char *operands, int argc,
                 char **argv, struct error *err)
{
    struct option_known k = { .operands = operands };
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
        k.found[i].used = true;
        k.found[i].value = optarg;
        if (check_value (opt, optarg, err) < 0
            || (opt->set ? opt->set (field, optarg, err)
                         : find_option_row (opt, optarg, field, err)) < 0)
            return error_prefix (err, "--%s", opt->name);
    }
    k.noperands = argc - optind;
    return check_rules (&k, group, OPT_EXCLUDES, err) < 0
                   || check_rules (&k, group, OPT_NEEDS, err) < 0 ? -1 : optind;
}

/* Print a text in lines of WIDTH columns, the first of which has `at`, others
 * an indent.
 */
static void wrap_text (FILE *fp, int at, int indent, const char *text)
{
    size_t len;

    for (; *text; text += len + (text[len] == ' ')) {
        len = strcspn (text, " ");
        if (at + 1 + (int)len >= WIDTH)
            at = fprintf (fp, "\n%*s", indent, "") - 1;
        at += fprintf (fp, "%s%.*s", at ? " " : "", (int)len, text);
    }
    fputc ('\n', fp);
}

/* Print the left column, and the text beside it. */
static void put_help (FILE *fp, const char *left, const char *text)
{
    int at = fprintf (fp, "  %-*s", LEFT - 2, left);

    wrap_text (fp, strlen (left) + 2 >= LEFT ? WIDTH : at, LEFT, text);
}

void options_help (const struct opt_group *group, FILE *fp)
{
    const struct opt_group *first = group;
    struct option_known k = { .n = 0 };
    bool any = false;

    learn (&k, group);
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
    for (group = first; group->table; group++)
        for (const struct opt_rule *r = group->rules; r && r->kind; r++) {
            char s[RULE_BYTES];

            if (!any)
                fputc ('\n', fp);
            any = true;
            rule_sentence (&k, r, s);
            wrap_text (fp, 0, RULE, s);
        }
}
