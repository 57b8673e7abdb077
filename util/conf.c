/* SPDX-License-Identifier: GPL-2.0-or-later */
/* key=value options, by table. */
#include "config.h"
#include "util/conf.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/text.h"

enum { LINE_BYTES = 4096, KEY_BYTES = 64 };

static void *field (const struct conf_option *opt, void *data)
{
    return (char *)data + opt->offset;
}

static bool is_string (const struct conf_option *opt)
{
    return opt->type == CONF_STRING || opt->type == CONF_PATH;
}

static bool key_equal (const char *a, const char *b)
{
    for (;;) {
        a += strspn (a, "_-");
        b += strspn (b, "_-");
        if (text_lower (*a) != text_lower (*b))
            return false;
        if (!*a)
            return true;
        a++;
        b++;
    }
}

static const struct conf_option *find (const struct conf_option *table,
                                       const char *key, struct error *err)
{
    struct text_guess guess = { .word = key };

    for (; table->key; table++) {
        if (key_equal (table->key, key))
            return table;
        text_guess (&guess, table->key);
    }
    error_input (err, "unknown key '%.64s'%s%s%s", key,
                 guess.best ? "; did you mean " : "",
                 guess.best ? guess.best : "", guess.best ? "?" : "");
    return NULL;
}

static int bad (const struct conf_option *opt, const char *value,
                const char *what, struct error *err)
{
    return error_input (err, "option %s: '%s' is not %s", opt->key, value,
                        what);
}

/* Return 0 if x is in the option's range, else -1 with err. */
static int check_number (const struct conf_option *opt, double x,
                         const char *value, struct error *err)
{
    if (x >= opt->min && (opt->max == 0 || x <= opt->max))
        return 0;
    if (opt->max == 0)
        return bad (opt, value, "more than 0", err);
    return error_input (err, "option %s: '%s' is not from %g to %g", opt->key,
                        value, opt->min, opt->max);
}

/* True if value is one of the comma-separated words. */
static bool is_word (const char *words, const char *value)
{
    size_t len = strlen (value);

    while (*words) {
        size_t n = strcspn (words, ",");

        if (n == len && !memcmp (words, value, n))
            return true;
        words += n;
        words += strspn (words, ", ");
    }
    return false;
}

static int set_string (const struct conf_option *opt, void *data,
                       const char *value, struct error *err)
{
    char **p = field (opt, data);
    char *copy;

    for (const char *s = value; *s; s++)
        if (*s < 0x20 || *s > 0x7e)
            return bad (opt, value, "printable ASCII", err);
    if (opt->words && !is_word (opt->words, value))
        return error_input (err, "option %s: '%s' is not one of %s", opt->key,
                            value, opt->words);
    if (opt->type == CONF_PATH && *value && *value != '/')
        return bad (opt, value, "an absolute path", err);
    if (opt->min > 0 && !*value)
        return error_input (err, "option %s: must not be empty", opt->key);
    if (!(copy = strdup (value)))
        return error_nomem (err);
    free (*p);
    *p = copy;
    return 0;
}

static int set_bool (const struct conf_option *opt, void *data,
                     const char *value, struct error *err)
{
    static const struct {
        const char *word;
        int value;
    } tab[] = {
        { "yes", 1 }, { "true", 1 },  { "on", 1 },  { "1", 1 },
        { "no", 0 },  { "false", 0 }, { "off", 0 }, { "0", 0 },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (!strcasecmp (tab[i].word, value)) {
            *(int *)field (opt, data) = tab[i].value;
            return 0;
        }
    return bad (opt, value, "yes or no", err);
}

static int set_int (const struct conf_option *opt, void *data,
                    const char *value, struct error *err)
{
    uint64_t n;

    if (text_u64 (value, 0, INT_MAX, &n) < 0)
        return bad (opt, value, "a whole number", err);
    if (check_number (opt, (double)n, value, err) < 0)
        return -1;
    *(int *)field (opt, data) = (int)n;
    return 0;
}

static int set_double (const struct conf_option *opt, void *data,
                       const char *value, struct error *err)
{
    double x;

    if (text_double (value, 0, DBL_MAX, &x) < 0)
        return bad (opt, value, "a number", err);
    if (check_number (opt, x, value, err) < 0)
        return -1;
    *(double *)field (opt, data) = x;
    return 0;
}

static int set_seconds (const struct conf_option *opt, void *data,
                        const char *value, struct error *err)
{
    static const char units[] = "smh";
    static const double unit_ms[] = { 1e3, 60e3, 3600e3 };
    size_t len = strlen (value);
    const char *unit = len > 0 ? strchr (units, value[len - 1]) : NULL;
    double factor = unit ? unit_ms[unit - units] : 1e3;
    char digits[32];
    double x;

    if (unit)
        len--;
    if (len >= sizeof (digits))
        return bad (opt, value, "a time", err);
    memcpy (digits, value, len);
    digits[len] = '\0';
    if (text_double (digits, 0, INT_MAX / factor, &x) < 0)
        return bad (opt, value, "a time such as 60, 0.5, 90s, 10m, 2h", err);
    if (check_number (opt, x * factor, value, err) < 0)
        return -1;
    *(int *)field (opt, data) = (int)(x * factor + 0.5);
    return 0;
}

static int set (const struct conf_option *opt, void *data, const char *value,
                struct error *err)
{
    static int (*const setter[]) (const struct conf_option *, void *,
                                  const char *, struct error *) = {
        [CONF_STRING] = set_string, [CONF_PATH] = set_string,
        [CONF_BOOL] = set_bool,     [CONF_INT] = set_int,
        [CONF_DOUBLE] = set_double, [CONF_SECONDS] = set_seconds,
    };

    return setter[opt->type] (opt, data, value, err);
}

int conf_defaults (const struct conf_option *table, void *data)
{
    /* before anything can fail, so that conf_clear is always safe */
    for (const struct conf_option *opt = table; opt->key; opt++)
        if (is_string (opt))
            *(char **)field (opt, data) = NULL;
    for (const struct conf_option *opt = table; opt->key; opt++)
        if (set (opt, data, opt->value ? opt->value : "", NULL) < 0)
            return -1;
    return 0;
}

int conf_set (const struct conf_option *table, void *data, const char *key,
              const char *value, struct error *err)
{
    const struct conf_option *opt = find (table, key, err);

    return opt ? set (opt, data, value, err) : -1;
}

int conf_set_word (const struct conf_option *table, void *data,
                   const char *word, struct error *err)
{
    const char *eq = strchr (word, '=');
    char key[KEY_BYTES];

    if (!eq || eq == word)
        return error_input (err, "'%s' is not key=value", word);
    if ((size_t)(eq - word) >= sizeof (key))
        return error_input (err, "unknown key '%.*s'", (int)(eq - word), word);
    memcpy (key, word, (size_t)(eq - word));
    key[eq - word] = '\0';
    return conf_set (table, data, key, eq + 1, err);
}

static char *trim (char *s)
{
    char *end;

    s += strspn (s, " \t\r\n");
    end = s + strlen (s);
    while (end > s && strchr (" \t\r\n", end[-1]))
        *--end = '\0';
    return s;
}

/* Remove the comment and the quotes of value. NULL if the quotes do not match.
 */
static char *unquote (char *value)
{
    char *end;

    value += strspn (value, " \t");
    if (*value != '"') {
        value[strcspn (value, "#")] = '\0';
        return trim (value);
    }
    if (!(end = strchr (++value, '"')))
        return NULL;
    *end++ = '\0';
    end += strspn (end, " \t\r\n");
    return *end && *end != '#' ? NULL : value;
}

static int read_line (const struct conf_option *table, void *data, char *line,
                      bool *seen, struct error *err)
{
    char *key = trim (line);
    const struct conf_option *opt;
    char *value;

    if (!*key || *key == '#')
        return 0;
    if (!(value = strchr (key, '=')) || value == key)
        return error_input (err, "not 'key = value'");
    *value++ = '\0';
    if (!(opt = find (table, trim (key), err)))
        return -1;
    if (!(value = unquote (value)))
        return error_input (err, "option %s: quotes do not match", opt->key);
    if (seen[opt - table])
        return error_input (err, "option %s is given twice", opt->key);
    seen[opt - table] = true;
    return set (opt, data, value, err);
}

int conf_read (const struct conf_option *table, void *data, FILE *fp,
               const char *name, struct error *err)
{
    size_t count = 0;
    bool *seen;
    char line[LINE_BYTES];
    int lineno = 0;
    int rc = -1;

    while (table[count].key)
        count++;
    if (!(seen = calloc (count + 1, sizeof (*seen))))
        return error_nomem (err);
    while (fgets (line, sizeof (line), fp)) {
        lineno++;
        if (!strchr (line, '\n') && !feof (fp))
            error_input (err, "longer than %d bytes, or no text",
                         LINE_BYTES - 2);
        else if (read_line (table, data, line, seen, err) == 0)
            continue;
        error_prefix (err, "%s:%d", name, lineno);
        goto out;
    }
    if (ferror (fp))
        error_errno (err, "%s: cannot read", name);
    else
        rc = 0;
out:
    free (seen);
    return rc;
}

void conf_clear (const struct conf_option *table, void *data)
{
    int saved_errno = errno;

    for (; table->key; table++)
        if (is_string (table)) {
            char **p = field (table, data);

            free (*p);
            *p = NULL;
        }
    errno = saved_errno;
}

void conf_help (const struct conf_option *table, FILE *fp)
{
    for (; table->key; table++)
        fprintf (fp, "  %-18s %s%s%s%s\n", table->key, table->help,
                 table->value && *table->value ? " [" : "",
                 table->value ? table->value : "",
                 table->value && *table->value ? "]" : "");
}
