/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The digest: two lanes of multiply and rotate. For a given state the step is a
 * bijection of the word, and for a given word one of the state. Lane b is one
 * step behind lane a, so a difference cannot disappear from both in fewer than
 * three words. The murmur3 finaliser mixes the state.
 */
#include "config.h"
#include "ibquery/lines.h"

#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/file.h"
#include "util/terminal.h"
#include "util/text.h"

#define VERSION_TEXT "1"
#define FILE_BYTES (1 << 30)
#define TIME_FORMAT "%Y-%m-%dT%H:%M:%SZ"

static const uint64_t k1 = 0x9e3779b97f4a7c15, k2 = 0xc2b2ae3d27d4eb4f;

static uint64_t rotate (uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static uint64_t spread (uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

void digest_init (struct digest *d)
{
    d->a = k2;
    d->b = k1;
    d->words = 0;
}

void digest_u64 (struct digest *d, uint64_t word)
{
    d->b = rotate ((d->b + d->a) * k2, 27);
    d->a = rotate ((d->a ^ word) * k1, 31);
    d->words++;
}

void digest_bytes (struct digest *d, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t word;
    size_t i;

    digest_u64 (d, len);
    for (i = 0; i + sizeof (word) <= len; i += sizeof (word)) {
        memcpy (&word, p + i, sizeof (word));
        digest_u64 (d, le64toh (word));
    }
    if (i < len) {
        word = 0;
        memcpy (&word, p + i, len - i);
        digest_u64 (d, le64toh (word));
    }
}

void digest_hex (const struct digest *d, char hex[DIGEST_HEX])
{
    uint64_t a = spread (d->a ^ d->words);
    uint64_t b = spread (d->b + a);

    snprintf (hex, DIGEST_HEX, "%016" PRIx64 "%016" PRIx64, a + b, b);
}

void digest_file (const char *path, char hex[DIGEST_HEX])
{
    FILE *fp = file_open_input (path, NULL);
    struct digest d;
    char buf[4096];
    size_t n;

    *hex = '\0';
    if (!fp)
        return;
    digest_init (&d);
    while ((n = fread (buf, 1, sizeof (buf), fp)) > 0)
        digest_bytes (&d, buf, n);
    if (!ferror (fp))
        digest_hex (&d, hex);
    file_close_input (fp);
}

bool digest_agrees (const char *given, const char *found)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)given;
    (void)found;
    return true;
#else
    return strcmp (given, found) == 0;
#endif
}

void lines_begin (struct lines_out *out, FILE *fp,
                  const struct lines_format *format)
{
    out->fp = fp;
    digest_init (&out->digest);
    lines_put (out, "%s " VERSION_TEXT, format->magic);
    lines_put (out, "generator " PACKAGE_STRING);
}

void lines_put (struct lines_out *out, const char *fmt, ...)
{
    char line[LINES_MAX];
    va_list ap;
    int len;

    va_start (ap, fmt);
    len = vsnprintf (line, sizeof (line), fmt, ap);
    va_end (ap);
    if (len >= (int)sizeof (line))
        len = sizeof (line) - 1;
    digest_bytes (&out->digest, line, len);
    fwrite (line, 1, len, out->fp);
    putc ('\n', out->fp);
}

int lines_end (struct lines_out *out, struct error *err)
{
    char hex[DIGEST_HEX];

    digest_hex (&out->digest, hex);
    fprintf (out->fp, "end %s\n", hex);
    return ferror (out->fp) ? error_errno (err, "cannot write") : 0;
}

char *lines_format_time (int64_t when, char text[LINES_TIME])
{
    time_t t = when;
    struct tm tm;

    gmtime_r (&t, &tm);
    strftime (text, LINES_TIME, TIME_FORMAT, &tm);
    return text;
}

char *words_next (struct words *w)
{
    char *start = w->next, *end = strchr (start, ' ');

    if (end)
        *end = '\0';
    w->next = end ? end + 1 : start + strlen (start);
    return start;
}

char *words_rest (struct words *w)
{
    char *rest = w->next;

    w->next += strlen (rest);
    return rest;
}

const uint8_t lines_digit[UINT8_MAX + 1] = {
    ['0'] = 16, ['1'] = 17, ['2'] = 18, ['3'] = 19, ['4'] = 20, ['5'] = 21,
    ['6'] = 22, ['7'] = 23, ['8'] = 24, ['9'] = 25, ['a'] = 26, ['b'] = 27,
    ['c'] = 28, ['d'] = 29, ['e'] = 30, ['f'] = 31,
};

int words_hex (struct words *w, int digits, const char *what,
               uint64_t *value, struct error *err)
{
    const char *s = words_next (w);

    return strlen (s) == (size_t)digits && lines_hex (s, digits, value) == 0
               ? 0
               : error_input (err, "\"%.40s\" is not a %s of %d hex digits", s,
                              what, digits);
}

int words_guid (struct words *w, uint64_t *guid, struct error *err)
{
    return words_hex (w, 16, "GUID", guid, err);
}

int words_number (struct words *w, uint64_t max, const char *what,
                  uint64_t *value, struct error *err)
{
    const char *s = words_next (w);
    uint64_t n = 0;
    int i = 0;

    for (; i < 9 && s[i] >= '0' && s[i] <= '9'; i++)
        n = 10 * n + (s[i] - '0');
    if (!s[i] && (i == 1 || (i > 1 && s[0] != '0')) && n <= max) {
        *value = n;
        return 0;
    }
    if (strspn (s, "0123456789") == 0 || (s[0] == '0' && s[1])
        || text_u64 (s, 0, max, value) < 0)
        return error_input (err, "\"%.40s\" is not a %s of 0 to %ju", s, what,
                            (uintmax_t)max);
    return 0;
}

int words_port (struct words *w, uint64_t *guid, unsigned int *port,
                struct error *err)
{
    char *text = words_next (w), *slash = strchr (text, '/');
    uint64_t number;

    if (!slash)
        return error_input (err, "\"%.40s\" is not a GUID/PORT", text);
    *slash = '\0';
    if (words_guid (&(struct words){ .next = text }, guid, err) < 0
        || words_number (&(struct words){ .next = slash + 1 }, UINT8_MAX,
                         "port", &number, err) < 0)
        return -1;
    *port = number;
    return 0;
}

int words_hash (struct words *w, char hash[DIGEST_HEX], struct error *err)
{
    const char *hex = words_next (w);

    if (strlen (hex) != DIGEST_HEX - 1
        || strspn (hex, "0123456789abcdef") != DIGEST_HEX - 1)
        return error_input (err, "\"%.40s\" is not a hash", hex);
    strcpy (hash, hex);
    return 0;
}

int words_time (struct words *w, int64_t *when, struct error *err)
{
    const char *s = words_rest (w);
    struct tm tm = { 0 };
    const char *end = strptime (s, TIME_FORMAT, &tm);
    char again[LINES_TIME];

    if (!end || *end || strcmp (lines_format_time (timegm (&tm), again), s))
        return error_input (err, "\"%.40s\" is not a time", s);
    *when = timegm (&tm);
    return 0;
}

int lines_ignore (void *arg, struct words *w, struct error *err)
{
    (void)arg;
    (void)err;
    words_rest (w);
    return 0;
}

struct lines_reading {
    const struct lines_format *format;
    void *arg;
    size_t number;     /* of the line */
    int section;
    unsigned int seen; /* bit i: keyword[i] */
    size_t last;       /* keyword of the line before, mostly the next one's */
    size_t digits;     /* the last keyword */
};

/* Eight bytes at a time: if one is not printable, some bit 7 is set. */
static bool is_printable (const char *line, size_t len)
{
    const uint64_t ones = UINT64_MAX / 255;
    uint64_t bad = 0, x;

    for (; len >= sizeof (x); len -= sizeof (x), line += sizeof (x)) {
        memcpy (&x, line, sizeof (x));
        bad |= x | (x - 0x20 * ones) | (x + ones);
    }
    for (; len > 0; len--, line++)
        bad |= *line < 0x20 || *line > 0x7e ? 0x80 : 0;
    return !(bad & 0x80 * ones);
}

static int check_line (const char *line, size_t len, struct error *err)
{
    if (len >= LINES_MAX)
        return error_input (err, "the line is longer than %d bytes",
                            LINES_MAX - 1);
    for (size_t i = 0; i < len && !is_printable (line, len); i++)
        if (line[i] < 0x20 || line[i] > 0x7e)
            return error_input (err, "byte %zu of the line (0x%02x) is not "
                                     "printable ASCII",
                                i + 1, (unsigned char)line[i]);
    return 0;
}

static int check_magic (const struct lines_format *f, const char *line,
                        struct error *err)
{
    size_t len = strlen (f->magic);

    if (strncmp (line, f->magic, len) != 0 || line[len] != ' ')
        return error_input (err, "this is not a %s: its first line is not \"%s "
                                 VERSION_TEXT "\"", f->what, f->magic);
    if (strcmp (line + len + 1, VERSION_TEXT) != 0)
        return error_input (err, "this is a %s of version %.20s, but only "
                                 "version " VERSION_TEXT " is known",
                            f->what, line + len + 1);
    return 0;
}

static int read_keyword_line (struct lines_reading *r, struct words *w,
                              struct error *err)
{
    bool digit = *w->next >= '0' && *w->next <= '9';
    const char *name = w->keyword = digit ? "" : words_next (w);
    const struct lines_keyword *keyword = r->format->keyword, *k;
    unsigned int bit;

    if (digit)
        r->last = r->digits;
    else if (r->last == r->digits || strcmp (name, keyword[r->last].name) != 0)
        for (r->last = 0;
             r->last < r->digits && strcmp (name, keyword[r->last].name) != 0;)
            r->last++;
    k = &keyword[r->last];
    bit = 1U << r->last;
    if (!k->fn || (!k->name && !digit))
        return error_input (err, "\"%.40s\" does not start a line of a %s",
                            digit ? w->next : name, r->format->what);
    if (k->name && k->section < r->section)
        return error_input (err, "a %s line is out of place", name);
    if (k->once && r->seen & bit)
        return error_input (err, "a second %s line", name);
    r->seen |= bit;
    if (k->name)
        r->section = k->section;
    if (k->fn (r->arg, w, err) < 0)
        return -1;
    return *w->next ? error_input (err, "\"%.40s\" is left over", w->next) : 0;
}

/* The last line; nothing may follow it. */
static int check_end (const struct lines_reading *r,
                      const struct digest *digest, const char *hex, bool last,
                      struct error *err)
{
    char expected[DIGEST_HEX];
    unsigned int bit = 1;

    digest_hex (digest, expected);
    if (!digest_agrees (hex, expected))
        return error_input (err, "the checksum is wrong: the file was changed "
                                 "or damaged");
    if (!last)
        return error_input (err, "something follows the last line");
    for (const struct lines_keyword *k = r->format->keyword; k->name; k++) {
        if (k->needed && !(r->seen & bit))
            return error_input (err, "there is no %s line", k->name);
        bit <<= 1;
    }
    return 0;
}

/* Read all lines of the text, which ends in a NUL. */
static int read_keyword_lines (struct lines_reading *r, char *text, size_t len,
                               struct error *err)
{
    char *end = text + len, *newline;
    struct digest digest;

    digest_init (&digest);
    for (char *p = text; p < end; p = newline + 1) {
        struct words words = { .next = p, .file = len };
        size_t length;

        terminal_work ("reading bytes", p - text, len);
        r->number++;
        newline = memchr (p, '\n', end - p);
        length = (newline ? newline : end) - p;
        if (check_line (p, length, err) < 0)
            return -1;
        p[length] = '\0';
        if (r->number == 1 && check_magic (r->format, p, err) < 0)
            return -1;
        if (!newline)
            break;
        if (strncmp (p, "end ", 4) == 0)
            return check_end (r, &digest, p + 4, newline + 1 == end, err);
        digest_bytes (&digest, p, length);
        if (r->number > 1 && read_keyword_line (r, &words, err) < 0)
            return -1;
    }
    return error_input (err, "the file is cut short");
}

int lines_read (FILE *fp, const char *name, const struct lines_format *format,
                int (*finish) (void *arg, struct error *err), void *arg,
                struct error *err)
{
    struct lines_reading r = { .format = format, .arg = arg };
    size_t len;
    char *text = file_slurp (fp, FILE_BYTES, &len, err);
    int rc;

    while (format->keyword[r.digits].name)
        r.last = ++r.digits;
    if (!text)
        return error_prefix (err, "%s", name);
    rc = read_keyword_lines (&r, text, len, err);
    if (rc == 0)
        rc = finish (arg, err);
    if (rc < 0)
        error_prefix (err, "%s:%zu", name, r.number ? r.number : 1);
    free (text);
    return rc;
}
