/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/import/scan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

enum { BUFFER = 1 << 16, MAX_LINE = 4096 };

void scan_open (struct scan *s, FILE *fp, const char *name)
{
    *s = (struct scan){ .at = { name, 0 }, .fp = fp,
                        .buf = xarray (BUFFER + 1, 1) };
}

void scan_close (struct scan *s)
{
    free (s->buf);
    s->buf = NULL;
}

/* Read more, after what is not yet returned. */
static int fill (struct scan *s, struct error *err)
{
    s->end -= s->start;
    memmove (s->buf, s->buf + s->start, s->end);
    s->start = 0;
    s->end += fread (s->buf + s->end, 1, BUFFER - s->end, s->fp);
    if (ferror (s->fp))
        return error_errno (err, "%s: cannot be read", s->at.file);
    s->eof = s->end < BUFFER;
    return 0;
}

int scan_line (struct scan *s, char **line, struct error *err)
{
    char *start, *newline;
    size_t len;

    newline = memchr (s->buf + s->start, '\n', s->end - s->start);
    if (!newline && !s->eof) {
        if (fill (s, err) < 0)
            return -1;
        newline = memchr (s->buf, '\n', s->end);
    }
    if (!newline && s->start == s->end)
        return 0;
    s->at.line++;
    start = s->buf + s->start;
    len = (newline ? newline : s->buf + s->end) - start;
    if (len >= MAX_LINE)
        error_input (err, "the line is longer than %d bytes", MAX_LINE - 1);
    else if (!newline)
        error_input (err, "the file is cut short");
    else if (memchr (start, '\0', len))
        error_input (err, "the line has a NUL byte");
    else {
        s->start += len + 1;
        if (len > 0 && start[len - 1] == '\r')
            len--;
        start[len] = '\0';
        *line = start;
        return 1;
    }
    return place_error (&s->at, err);
}

const char *scan_peek (struct scan *s, struct error *err)
{
    if (!s->eof && fill (s, err) < 0)
        return NULL;
    s->buf[s->end] = '\0';
    return s->buf + s->start;
}

int place_error (const struct place *at, struct error *err)
{
    return error_prefix (err, "%s:%" PRIu64, at->file, at->line);
}

int place_input (const struct place *at, struct error *err, const char *fmt,
                 ...)
{
    char text[sizeof (err->text)];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    return error_input (err, "%s:%" PRIu64 ": %s", at->file, at->line, text);
}

bool scan_text (char **p, const char *text)
{
    size_t len = strlen (text);

    if (strncmp (*p, text, len) != 0)
        return false;
    *p += len;
    return true;
}

static int digit_value (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static bool scan_digits (char **p, int base, uint64_t max, uint64_t *value)
{
    const char *start = *p;
    uint64_t v = 0;
    int digit;

    for (; (digit = digit_value (**p)) < base; ++*p) {
        if (v > (max - digit) / base)
            return false;
        v = v * base + digit;
        if (v > max)
            return false;
    }
    *value = v;
    return *p > start;
}

bool scan_decimal (char **p, uint64_t max, uint64_t *value)
{
    return scan_digits (p, 10, max, value);
}

bool scan_hex (char **p, uint64_t max, uint64_t *value)
{
    return scan_digits (p, 16, max, value);
}

bool scan_number (char **p, uint64_t max, uint64_t *value)
{
    return scan_text (p, "0x") ? scan_hex (p, max, value)
                               : scan_decimal (p, max, value);
}

void scan_blanks (char **p)
{
    *p += strspn (*p, " \t");
}

bool scan_to (char **p, const char *text)
{
    char *found = strstr (*p, text);

    if (found)
        *p = found + strlen (text);
    return found;
}

bool scan_to_last (char **p, char c)
{
    char *found = strrchr (*p, c);

    if (found)
        *p = found + 1;
    return found;
}
