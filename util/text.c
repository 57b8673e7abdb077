/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/sort.h"

enum { NAME_MAX_LEN = 63 };

/* <ctype.h> depends on the locale, which is the user's inside srun. */
static bool is_alnum (char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z');
}

char *text_clean (char *s)
{
    for (char *p = s; *p; p++)
        if (*p < 0x20 || *p > 0x7e)
            *p = '?';
    return s;
}

char *text_shown (char *buf, const char *s)
{
    snprintf (buf, TEXT_SHOWN, "%s", s);
    return text_clean (buf);
}

char *text_count (char *buf, uint64_t n, const char *noun)
{
    static const char *const es[] = { "s", "x", "ch", "sh" };
    size_t len = strlen (noun), cut = 0;
    const char *end = noun + len;
    const char *more = "s";

    for (size_t i = 0; i < sizeof (es) / sizeof (es[0]); i++)
        if (len > 2 && !strcmp (end - strlen (es[i]), es[i]))
            more = "es";
    if (len > 2 && end[-1] == 'y' && !strchr ("aeiou", end[-2])) {
        more = "ies";
        cut = 1;
    }
    if (n == 1)
        snprintf (buf, TEXT_COUNT, "1 %s", noun);
    else
        snprintf (buf, TEXT_COUNT, "%" PRIu64 " %.*s%s", n, (int)(len - cut),
                  noun, more);
    return buf;
}

bool text_is_hostname (const char *s)
{
    size_t len = strlen (s);

    if (len == 0 || len > NAME_MAX_LEN || *s == '-' || *s == '.')
        return false;
    for (; *s; s++)
        if (!is_alnum (*s) && !strchr ("-_.", *s))
            return false;
    return true;
}

char text_lower (char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The optimal string alignment distance; SIZE_MAX if a is too long. */
static size_t edit_distance (const char *a, const char *b)
{
    size_t rows[3][NAME_MAX_LEN + 1];
    size_t *row = rows[0], *last = rows[1], *before = rows[2];
    size_t n = strlen (a);

    if (n > NAME_MAX_LEN)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++)
        row[i] = i;
    for (size_t j = 1; b[j - 1]; j++) {
        size_t *free_row = before;

        before = last;
        last = row;
        row = free_row;
        row[0] = j;
        for (size_t i = 1; i <= n; i++) {
            char x = text_lower (a[i - 1]), y = text_lower (b[j - 1]);

            row[i] = last[i - 1] + (x != y);
            if (row[i] > last[i] + 1)
                row[i] = last[i] + 1;
            if (row[i] > row[i - 1] + 1)
                row[i] = row[i - 1] + 1;
            if (i > 1 && j > 1 && x == text_lower (b[j - 2])
                && y == text_lower (a[i - 2])
                && row[i] > before[i - 2] + 1)
                row[i] = before[i - 2] + 1;
        }
    }
    return row[n];
}

bool text_listed (const char *list, const char *word)
{
    size_t len = strlen (word);

    while (*list) {
        size_t n;

        list += strspn (list, ", ");
        n = strcspn (list, ", ");
        if (n == len && n > 0 && !memcmp (list, word, n))
            return true;
        list += n;
    }
    return false;
}

bool text_next (const char **list, char path[TEXT_PATH])
{
    const char *s = *list + strspn (*list, ", ");
    size_t len = strcspn (s, ",");

    *list = s + len;
    while (len > 0 && s[len - 1] == ' ')
        len--;
    snprintf (path, TEXT_PATH, "%.*s", (int)len, s);
    return len > 0;
}

char *text_line (char **rest, unsigned long *number)
{
    char *line;

    while ((line = *rest)) {
        char *end = strchr (line, '\n');

        *rest = end && end[1] ? end + 1 : NULL;
        if (end)
            *end = '\0';
        ++*number;
        line[strcspn (line, "#")] = '\0';
        line += strspn (line, " \t\r");
        if (*line)
            return line;
    }
    return NULL;
}

size_t text_unique (const char **name, size_t n)
{
    size_t kept = 0;

    sort_array (name, n, compare_strings);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp (name[kept - 1], name[i]))
            name[kept++] = name[i];
    return kept;
}

const char *const *text_find (const char *const *sorted, size_t n,
                              const char *name)
{
    return find_sorted (&name, sorted, n, compare_strings);
}

void text_guess (struct text_guess *guess, const char *name)
{
    size_t d = edit_distance (guess->word, name);

    if (d > strlen (name) / 3 || (guess->best && d >= guess->distance))
        return;
    guess->best = name;
    guess->distance = d;
}

static int error_number (int errnum)
{
    errno = errnum;
    return -1;
}

int text_u64 (const char *s, uint64_t min, uint64_t max, uint64_t *value)
{
    int base = 10;
    char *end;
    uint64_t n;

    if (s[0] == '0' && s[1] == 'x') {
        base = 16;
        s += 2;
    }
    if (!is_alnum (*s))
        return error_number (EINVAL);
    /* strtoull would accept a second 0x */
    if (base == 16 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
        return error_number (EINVAL);
    errno = 0;
    n = strtoull (s, &end, base);
    if (end == s || *end)
        return error_number (EINVAL);
    if (errno || n < min || n > max)
        return error_number (ERANGE);
    *value = n;
    return 0;
}

int text_double (const char *s, double min, double max, double *value)
{
    char *end;
    double x;

    if (!*s || strspn (s, "0123456789.eE+-") != strlen (s))
        return error_number (EINVAL);
    x = strtod (s, &end);
    if (end == s || *end)
        return error_number (EINVAL);
    if (!isfinite (x) || x < min || x > max)
        return error_number (ERANGE);
    *value = x;
    return 0;
}

int text_bytes (const char *s, uint64_t max, uint64_t *bytes)
{
    static const char units[] = "kKmM";
    size_t len = strlen (s);
    const char *unit = len > 0 ? strchr (units, s[len - 1]) : NULL;
    unsigned int shift = !unit ? 0 : unit < units + 2 ? 10 : 20;
    char number[32];
    uint64_t n;

    if (len >= sizeof (number))
        return error_number (EINVAL);
    snprintf (number, sizeof (number), "%.*s", (int)(len - (unit != NULL)), s);
    if (text_u64 (number, 0, max >> shift, &n) < 0)
        return -1;
    *bytes = n << shift;
    return 0;
}
