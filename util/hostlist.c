/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of host names.
 *
 * Notes: each entry of a list is expanded depth first; `done` is the expanded
 * text before the current bracket. So a short input cannot use more memory than
 * `max` names need.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"
#include "util/text.h"

enum { NAME_MAX_LEN = 63, DIGITS_MAX = 18 };

bool hostlist_has (const struct hostlist *sorted, const char *name)
{
    return text_find ((const char *const *)sorted->name, sorted->count, name);
}

static int add_host_name (struct hostlist *hl, size_t max, const char *name,
                          struct error *err)
{
    if (hl->count >= max)
        return error_input (err, "more than %zu hosts", max);
    hl->name = xgrow (hl->name, hl->count, sizeof (*hl->name));
    hl->name[hl->count++] = xstrdup (name);
    return 0;
}

/* Scan digits at *s into *n. Return how many; 0 if there are none or too many.
 */
static int scan_host_digits (const char **s, uint64_t *n)
{
    int width = 0;

    *n = 0;
    for (; **s >= '0' && **s <= '9' && width <= DIGITS_MAX; (*s)++, width++)
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
        return add_host_name (hl, max, name, err);
    if (*rest == ']' || !(close = strpbrk (rest + 1, "[]")) || *close != ']')
        return error_input (err, "brackets do not match in a host list");
    do {
        uint64_t lo, hi;
        int width;

        rest++;
        width = scan_host_digits (&rest, &lo);
        hi = lo;
        if (width && *rest == '-') {
            rest++;
            if (!scan_host_digits (&rest, &hi) || hi < lo)
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
    const char **v = xarray (hl->count, sizeof (*v));
    int rc = 0;

    for (size_t i = 0; i < hl->count && rc == 0; i++)
        if (!text_is_hostname (v[i] = hl->name[i]))
            rc = error_input (err, "'%s' is not a host name", v[i]);
    if (rc == 0)
        sort_array (v, hl->count, compare_strings);
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
        entry = xasprintf ("%.*s", (int)len, s);
        rc = expand (hl, max, "", entry, err);
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

    while (p.prefix > 0 && name[p.prefix - 1] >= '0'
           && name[p.prefix - 1] <= '9' && len - p.prefix < DIGITS_MAX)
        p.prefix--;
    s = name + p.prefix;
    p.width = scan_host_digits (&s, &p.n);
    return p;
}

static int compare_host_parts (const void *va, const void *vb)
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
    struct part *v = xcalloc (count, sizeof (*v));
    char *result = NULL;
    size_t size = 0, n = 0;
    FILE *fp = xcheck (open_memstream (&result, &size));

    for (size_t i = 0; i < count; i++)
        v[i] = part_of (name[i]);
    sort_array (v, count, compare_host_parts);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || strcmp (v[n - 1].name, v[i].name))
            v[n++] = v[i];
    put_folded (v, n, fp);
    free (v);
    return xcheck (fclose (fp) == 0 ? result : NULL);
}
