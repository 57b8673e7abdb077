/* SPDX-License-Identifier: GPL-2.0-or-later */
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

static void *option_field (const struct conf_option *opt, void *data)
{
    return (char *)data + opt->offset;
}

static bool is_string (const struct conf_option *opt)
{
    return opt->type == CONF_STRING || opt->type == CONF_PATH;
}

static bool key_equal (const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn (a, "_-");
        b += strspn (b, "_-");
        if (text_lower (*a) != text_lower (*b))
            return false;
        if (!*a)
            return true;
    }
}

static const struct conf_option *
find_conf_option (const struct conf_option *table, const char *key,
                  struct error *err)
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

static int set_string (const struct conf_option *opt, void *data,
                       const char *value, struct error *err)
{
    char **p = option_field (opt, data);
    char *copy;

    if (opt->words && !text_listed (opt->words, value))
        return error_input (err, "option %s: '%s' is not one of %s", opt->key,
                            value, opt->words);
    if (opt->min > 0 && !*value)
        return error_input (err, "option %s: must not be empty", opt->key);
    if (!(copy = strdup (value)))
        return error_nomem (err);
    free (*p);
    *p = copy;
    return 0;
}

static bool parse_bool (const char *value, double *x)
{
    static const char *const words[]
        = { "no", "yes", "false", "true", "off", "on", "0", "1" };

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++)
        if (!strcasecmp (words[i], value)) {
            *x = i % 2;
            return true;
        }
    return false;
}

/* A time in milliseconds. */
static bool parse_seconds (const char *value, double *ms)
{
    static const char units[] = "smh";
    static const double unit_ms[] = { 1e3, 60e3, 3600e3 };
    size_t len = strlen (value);
    const char *unit = len > 0 ? strchr (units, value[len - 1]) : NULL;
    double factor = unit ? unit_ms[unit - units] : 1e3;
    char digits[32];

    len -= unit != NULL;
    if (len >= sizeof (digits))
        return false;
    memcpy (digits, value, len);
    digits[len] = '\0';
    if (text_double (digits, 0, INT_MAX / factor, ms) < 0)
        return false;
    *ms *= factor;
    return true;
}

static int set_conf_option (const struct conf_option *opt, void *data,
                            const char *value, struct error *err)
{
    const char *wanted = NULL;
    double x = 0;
    uint64_t n = 0;

    switch (opt->type) {
    case CONF_STRING:
    case CONF_PATH:
        for (const char *s = value; *s && !wanted; s++)
            if (*s < 0x20 || *s > 0x7e)
                wanted = "printable ASCII";
        if (!wanted && opt->type == CONF_PATH && *value && *value != '/')
            wanted = "an absolute path";
        break;
    case CONF_BOOL:
        wanted = parse_bool (value, &x) ? NULL : "yes or no";
        break;
    case CONF_INT:
        wanted = text_u64 (value, 0, INT_MAX, &n) == 0 ? NULL
                                                       : "a whole number";
        x = (double)n;
        break;
    case CONF_DOUBLE:
        wanted = text_double (value, 0, DBL_MAX, &x) == 0 ? NULL : "a number";
        break;
    case CONF_SECONDS:
        wanted = parse_seconds (value, &x)
                     ? NULL : "a time such as 60, 0.5, 90s, 10m, 2h";
    }
    if (!wanted && is_string (opt))
        return set_string (opt, data, value, err);
    if (!wanted && opt->max == 0 && x < opt->min)
        wanted = "more than 0";
    if (wanted)
        return error_input (err, "option %s: '%s' is not %s", opt->key, value,
                            wanted);
    if (opt->max > 0 && (x < opt->min || x > opt->max))
        return error_input (err, "option %s: '%s' is not from %g to %g",
                            opt->key, value, opt->min, opt->max);
    if (opt->type == CONF_DOUBLE)
        *(double *)option_field (opt, data) = x;
    else
        *(int *)option_field (opt, data) = (int)(x + 0.5);
    return 0;
}

int conf_defaults (const struct conf_option *table, void *data)
{
    /* before anything can fail, so that conf_clear is always safe */
    for (const struct conf_option *opt = table; opt->key; opt++)
        if (is_string (opt))
            *(char **)option_field (opt, data) = NULL;
    for (const struct conf_option *opt = table; opt->key; opt++)
        if (set_conf_option (opt, data, opt->value ? opt->value : "", NULL) < 0)
            return -1;
    return 0;
}

int conf_set (const struct conf_option *table, void *data, const char *key,
              const char *value, struct error *err)
{
    const struct conf_option *opt = find_conf_option (table, key, err);

    return opt ? set_conf_option (opt, data, value, err) : -1;
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

static int read_conf_line (const struct conf_option *table, void *data,
                           char *line, bool *seen, struct error *err)
{
    char *key = trim (line);
    const struct conf_option *opt;
    char *value;

    if (!*key || *key == '#')
        return 0;
    if (!(value = strchr (key, '=')) || value == key)
        return error_input (err, "not 'key = value'");
    *value++ = '\0';
    if (!(opt = find_conf_option (table, trim (key), err)))
        return -1;
    if (!(value = unquote (value)))
        return error_input (err, "option %s: quotes do not match", opt->key);
    if (seen[opt - table])
        return error_input (err, "option %s is given twice", opt->key);
    seen[opt - table] = true;
    return set_conf_option (opt, data, value, err);
}

int conf_read (const struct conf_option *table, void *data, FILE *fp,
               const char *name, struct error *err)
{
    size_t count = 0;
    char line[LINE_BYTES];
    int rc = 0;
    bool *seen;

    while (table[count].key)
        count++;
    if (!(seen = calloc (count + 1, sizeof (*seen))))
        return error_nomem (err);
    for (int n = 1; rc == 0 && fgets (line, sizeof (line), fp); n++) {
        rc = strchr (line, '\n') || feof (fp)
                 ? read_conf_line (table, data, line, seen, err)
                 : error_input (err, "longer than %d bytes, or no text",
                                LINE_BYTES - 2);
        if (rc < 0)
            error_prefix (err, "%s:%d", name, n);
    }
    if (rc == 0 && ferror (fp))
        rc = error_errno (err, "%s: cannot read", name);
    free (seen);
    return rc;
}

void conf_clear (const struct conf_option *table, void *data)
{
    int saved_errno = errno;

    for (; table->key; table++)
        if (is_string (table)) {
            char **p = option_field (table, data);

            free (*p);
            *p = NULL;
        }
    errno = saved_errno;
}

void conf_help (const struct conf_option *table, FILE *fp)
{
    for (; table->key; table++)
        fprintf (fp, "  %-18s %s%s%s%s\n", table->key, table->help,
                 table->value && *table->value ? " (default: " : "",
                 table->value ? table->value : "",
                 table->value && *table->value ? ")" : "");
}
