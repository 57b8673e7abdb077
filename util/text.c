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

enum { NAME_MAX_LEN = 63, DIGITS_MAX = 18 };

/* <ctype.h> depends on the locale, which is the user's inside srun. */
static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alnum (char c)
{
    return is_digit (c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
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
static size_t distance (const char *a, const char *b)
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

    if (n > 0)
        qsort (name, n, sizeof (*name), compare_strings);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || strcmp (name[kept - 1], name[i]))
            name[kept++] = name[i];
    return kept;
}

const char *const *text_find (const char *const *sorted, size_t n,
                              const char *name)
{
    return n > 0 ? bsearch (&name, sorted, n, sizeof (*sorted), compare_strings)
                 : NULL;
}

bool hostlist_has (const struct hostlist *sorted, const char *name)
{
    return text_find ((const char *const *)sorted->name, sorted->count, name);
}

void text_guess (struct text_guess *guess, const char *name)
{
    size_t d = distance (guess->word, name);

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
    snprintf (number, sizeof (number), "%.*s", (int)(len - (unit != NULL)),
              s);
    if (text_u64 (number, 0, max >> shift, &n) < 0)
        return -1;
    *bytes = n << shift;
    return 0;
}

/* Notes: each entry of a list is expanded depth first; `done` is the expanded
 * text before the current bracket. So a short input cannot use more memory than
 * `max` names need.
 */
static int add_name (struct hostlist *hl, size_t max, const char *name,
                     struct error *err)
{
    if (hl->count >= max)
        return error_input (err, "more than %zu hosts", max);
    if ((hl->count & (hl->count + 1)) == 0) {
        size_t size = (hl->count + 1) * 2;
        char **p = realloc (hl->name, size * sizeof (*p));

        if (!p)
            return error_nomem (err);
        hl->name = p;
    }
    if (!(hl->name[hl->count] = strdup (name)))
        return error_nomem (err);
    hl->count++;
    return 0;
}

/* Scan digits at *s into *n. Return how many; 0 if there are none or too many.
 */
static int scan_digits (const char **s, uint64_t *n)
{
    int width = 0;

    *n = 0;
    for (; is_digit (**s) && width <= DIGITS_MAX; (*s)++, width++)
        *n = *n * 10 + (uint64_t)(**s - '0');
    return width > DIGITS_MAX ? 0 : width;
}

static int expand (struct hostlist *hl, size_t max, const char *done,
                   const char *rest, struct error *err)
{
    char name[NAME_MAX_LEN + DIGITS_MAX + 3];
    size_t plain = strcspn (rest, "[]");
    size_t len = strlen (done) + plain;
    const char *close;

    if (len > NAME_MAX_LEN)
        return error_input (err, "a host name is longer than %d bytes",
                            NAME_MAX_LEN);
    snprintf (name, sizeof (name), "%s%.*s", done, (int)plain, rest);
    rest += plain;
    if (!*rest)
        return add_name (hl, max, name, err);
    if (*rest == ']' || !(close = strpbrk (rest + 1, "[]")) || *close != ']')
        return error_input (err, "brackets do not match in a host list");
    do {
        uint64_t lo, hi;
        int width;

        rest++;
        width = scan_digits (&rest, &lo);
        hi = lo;
        if (width && *rest == '-') {
            rest++;
            if (!scan_digits (&rest, &hi) || hi < lo)
                width = 0;
        }
        if (!width || (rest != close && *rest != ','))
            return error_input (err, "bad range in brackets after '%s'", name);
        for (uint64_t n = lo; n <= hi; n++) {
            snprintf (name + len, sizeof (name) - len, "%0*" PRIu64, width, n);
            if (expand (hl, max, name, close + 1, err) < 0)
                return -1;
            name[len] = '\0';
        }
    } while (rest != close);
    return 0;
}

static int check_names (const struct hostlist *hl, struct error *err)
{
    const char **v = malloc ((hl->count + 1) * sizeof (*v));
    int rc = 0;

    if (!v)
        return error_nomem (err);
    for (size_t i = 0; i < hl->count && rc == 0; i++)
        if (!text_is_hostname (v[i] = hl->name[i]))
            rc = error_input (err, "'%s' is not a host name", v[i]);
    if (rc == 0)
        qsort (v, hl->count, sizeof (*v), compare_strings);
    for (size_t i = 1; i < hl->count && rc == 0; i++)
        if (!strcmp (v[i - 1], v[i]))
            rc = error_input (err, "host %s is listed twice", v[i]);
    free (v);
    return rc;
}

int hostlist_expand (struct hostlist *hl, const char *s, size_t max,
                     struct error *err)
{
    int rc = 0;

    *hl = (struct hostlist){ 0 };
    for (s += strspn (s, ", \t\r\n"); *s && rc == 0;
         s += strspn (s, ", \t\r\n")) {
        size_t len = 0;
        int depth = 0;
        char *entry;

        for (; s[len]; len++) {
            depth += (s[len] == '[') - (s[len] == ']');
            if (!depth && strchr (", \t\r\n", s[len]))
                break;
        }
        entry = strndup (s, len);
        rc = entry ? expand (hl, max, "", entry, err) : error_nomem (err);
        free (entry);
        s += len;
    }
    if (rc < 0)
        hostlist_clear (hl);
    return rc;
}

int hostlist_parse (struct hostlist *hl, const char *s, size_t max,
                    struct error *err)
{
    int rc = hostlist_expand (hl, s, max, err);

    if (rc == 0)
        rc = hl->count > 0 ? check_names (hl, err)
                           : error_input (err, "the host list is empty");
    if (rc < 0)
        hostlist_clear (hl);
    return rc;
}

void hostlist_clear (struct hostlist *hl)
{
    int saved_errno = errno;

    for (size_t i = 0; i < hl->count; i++)
        free (hl->name[i]);
    free (hl->name);
    *hl = (struct hostlist){ 0 };
    errno = saved_errno;
}

/* A name, split into a prefix and the digits at its end. */
struct part {
    const char *name;
    size_t prefix;
    int width; /* number of digits; 0: none */
    uint64_t n;
};

static struct part part_of (const char *name)
{
    size_t len = strlen (name);
    struct part p = { name, len, 0, 0 };
    const char *s;

    while (p.prefix > 0 && is_digit (name[p.prefix - 1])
           && len - p.prefix < DIGITS_MAX)
        p.prefix--;
    s = name + p.prefix;
    p.width = scan_digits (&s, &p.n);
    return p;
}

static int compare_parts (const void *va, const void *vb)
{
    const struct part *a = va;
    const struct part *b = vb;
    size_t len = a->prefix < b->prefix ? a->prefix : b->prefix;
    int order = memcmp (a->name, b->name, len);

    if (order)
        return order;
    if (a->prefix != b->prefix)
        return a->prefix < b->prefix ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return strcmp (a->name, b->name);
}

static bool same_prefix (const struct part *a, const struct part *b)
{
    return a->width && b->width && a->prefix == b->prefix
           && !memcmp (a->name, b->name, a->prefix);
}

/* True if b is the next name after a, in a range of a's width. */
static bool follows (const struct part *a, const struct part *b)
{
    char digits[DIGITS_MAX + 3];

    snprintf (digits, sizeof (digits), "%0*" PRIu64, a->width, a->n + 1);
    return same_prefix (a, b) && !strcmp (digits, b->name + b->prefix);
}

/* Print n names, sorted and different. */
static void put_folded (const struct part *v, size_t n, FILE *fp)
{
    for (size_t i = 0, end; i < n; i = end) {
        bool many;

        for (end = i + 1; end < n && same_prefix (&v[i], &v[end]);)
            end++;
        many = end - i > 1;
        fprintf (fp, "%s%.*s%s", i ? "," : "", (int)v[i].prefix, v[i].name,
                 many ? "[" : "");
        for (size_t k = i, last; k < end; k = last + 1) {
            for (last = k; last + 1 < end && follows (&v[last], &v[last + 1]);)
                last++;
            fprintf (fp, "%s%s", k > i ? "," : "", v[k].name + v[k].prefix);
            if (last > k)
                fprintf (fp, "-%s", v[last].name + v[last].prefix);
        }
        fputs (many ? "]" : "", fp);
    }
}

char *hostlist_fold (const char *const *name, size_t count)
{
    struct part *v = calloc (count + 1, sizeof (*v));
    char *result = NULL;
    size_t size = 0, n = 0;
    FILE *fp = open_memstream (&result, &size);
    bool failed = !v || !fp;

    if (!failed) {
        for (size_t i = 0; i < count; i++)
            v[i] = part_of (name[i]);
        qsort (v, count, sizeof (*v), compare_parts);
        for (size_t i = 0; i < count; i++)
            if (n == 0 || strcmp (v[n - 1].name, v[i].name))
                v[n++] = v[i];
        put_folded (v, n, fp);
        failed = ferror (fp);
    }
    free (v);
    if (fp && fclose (fp) == EOF)
        failed = true;
    if (!failed)
        return result;
    free (result);
    errno = ENOMEM;
    return NULL;
}
