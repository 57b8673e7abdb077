/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/parus.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/text.h"

enum {
    TEXT_MAX = 255, /* length of a word */
    MATRIX_MAX = 2048, /* processes: SERIES_PAIRS_MAX is their square */
};

#define SECONDS_MAX 1e6
#define NS 1e9

const struct parus_file parus_files[PARUS_FILES] = {
    { "average", "average", SERIES_MEAN },
    { "median", "median", SERIES_MEDIAN },
    { "deviation", "deviation", SERIES_SD },
    { "min", "minimum", SERIES_MIN },
};

/* The lengths of PARUS: for (l = begin; l < end; l += step). */
struct length_sweep {
    uint64_t begin, end, step;
};

static struct length_sweep sweep_of (const struct series *s)
{
    const uint64_t *length = s->length;
    size_t n = s->nlengths;
    struct length_sweep sweep = { .step = n > 1 ? length[1] - length[0] : 1 };

    for (size_t i = 2; i < n; i++)
        if (length[i] - length[i - 1] != sweep.step)
            sweep.step = 0;
    sweep.begin = length[0];
    sweep.end = length[n - 1] + (sweep.step ? sweep.step : 1);
    return sweep;
}

static void write_head (const struct series *s, const char *type, FILE *fp)
{
    struct length_sweep sweep = sweep_of (s);

    fprintf (fp, "processors %ju\n", (uintmax_t)s->nprocesses);
    fprintf (fp, "test type \"%s\"\n", series_test_name (s->test));
    fprintf (fp, "data type \"%s\"\n", type);
    fprintf (fp, "begin message length %ju\n", (uintmax_t)sweep.begin);
    fprintf (fp, "end message length %ju\n", (uintmax_t)sweep.end);
    fprintf (fp, "step length %ju\n", (uintmax_t)sweep.step);
    fprintf (fp, "noise message length %ju\n", (uintmax_t)s->noise_length);
    fprintf (fp, "number of noise messages %ju\n",
             (uintmax_t)s->noise_messages);
    fprintf (fp, "number of noise processes %ju\n",
             (uintmax_t)s->noise_processes);
    fprintf (fp, "number of repeats %ju\n", (uintmax_t)s->repeats);
    fprintf (fp, "\nhosts:\n");
    for (uint32_t i = 0; i < s->nprocesses; i++)
        fprintf (fp, "%s\n", s->process[i].label);
}

static void write_matrix (const struct series *s, enum series_stat stat,
                          uint64_t length, FILE *fp)
{
    fprintf (fp, "\nMessage length %ju\n", (uintmax_t)length);
    for (uint32_t a = 0; a < s->nprocesses; a++) {
        for (uint32_t b = 0; b < s->nprocesses; b++) {
            const struct series_pair *p = series_at (s, a, b, length);
            const char *gap = b > 0 ? " " : "";

            if (series_measured (p) && !isnan (p->time_ns[stat]))
                fprintf (fp, "%s%.12g", gap, p->time_ns[stat] / NS);
            else
                fprintf (fp, "%s%s", gap, a == b && !p ? "0" : "NaN");
        }
        fprintf (fp, "\n");
    }
}

int parus_write (const struct series *s, const struct parus_file *file,
                 FILE *fp, struct error *err)
{
    if (s->npairs == 0)
        return error_input (err, "no pairs, of which a matrix could be made");
    if (s->nprocesses > MATRIX_MAX)
        return error_input (err, "%ju processes: a matrix has up to %d",
                            (uintmax_t)s->nprocesses, MATRIX_MAX);
    write_head (s, file->name, fp);
    for (size_t i = 0; i < s->nlengths; i++)
        write_matrix (s, file->stat, s->length[i], fp);
    return ferror (fp) ? error_errno (err, "cannot write") : 0;
}

/*
 * Read words between blanks; line ends do not matter. Quotes are part of a
 * word.
 */

struct parus_scan {
    FILE *fp;
    const char *name;
    unsigned long line;
    char word[TEXT_MAX + 1];
    struct error *err;
};

__attribute__ ((format (printf, 2, 3))) static int bad (struct parus_scan *in,
                                                        const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    return error_input (in->err, "%.160s:%lu: %s", in->name, in->line, text);
}

/* 1: a word was read; 0: end of the file; -1 with err. */
static int next (struct parus_scan *in)
{
    size_t len = 0;
    int c;

    do {
        c = getc (in->fp);
        in->line += c == '\n';
    } while (isspace (c));
    for (; c != EOF && !isspace (c); c = getc (in->fp)) {
        if (len == TEXT_MAX)
            return bad (in, "a word of more than %d bytes", TEXT_MAX);
        in->word[len++] = (char)c;
    }
    if (c != EOF)
        ungetc (c, in->fp);
    in->word[len] = '\0';
    if (ferror (in->fp))
        return error_errno (in->err, "%.160s: cannot read", in->name);
    if (strlen (in->word) != len)
        return bad (in, "a word with a NUL in it");
    return len > 0;
}

static int need (struct parus_scan *in, const char *what)
{
    int rc = next (in);

    if (rc == 0)
        return bad (in, "the file ends where %s is due", what);
    return rc < 0 ? -1 : 0;
}

/* Read the words of `text`, which are separated by single blanks. */
static int expect (struct parus_scan *in, const char *text)
{
    while (*text) {
        size_t len = strcspn (text, " ");

        if (need (in, text) < 0)
            return -1;
        if (strlen (in->word) != len || strncmp (in->word, text, len))
            return bad (in, "'%.40s' where '%.*s' is due", in->word, (int)len,
                        text);
        text += len + (text[len] == ' ');
    }
    return 0;
}

static int number (struct parus_scan *in, const char *what, uint64_t max,
                   uint64_t *value)
{
    if (need (in, what) < 0)
        return -1;
    if (text_u64 (in->word, 0, max, value) < 0)
        return bad (in, "%s: '%.40s' is no number from 0 to %ju", what,
                    in->word, (uintmax_t)max);
    return 0;
}

/* A word in quotes, without these. */
static int quoted (struct parus_scan *in, const char *what)
{
    size_t len;

    if (expect (in, what) < 0 || need (in, what) < 0)
        return -1;
    len = strlen (in->word);
    if (len < 3 || in->word[0] != '"' || in->word[len - 1] != '"')
        return bad (in, "%s: '%.40s' is not in quotes", what, in->word);
    memmove (in->word, in->word + 1, len - 2);
    in->word[len - 2] = '\0';
    return 0;
}

static struct series *read_test (struct parus_scan *in)
{
    int test;

    if (quoted (in, "test type") < 0)
        return NULL;
    test = series_test_find (in->word);
    if (test < 0 || test == SERIES_TOPOLOGY) {
        bad (in, "test type '%.40s' is not known", in->word);
        return NULL;
    }
    return series_create (test);
}

static int read_stat (struct parus_scan *in, enum series_stat *stat)
{
    if (quoted (in, "data type") < 0)
        return -1;
    for (int i = 0; i < PARUS_FILES; i++)
        if (!strcmp (in->word, parus_files[i].name)
            || !strcmp (in->word, parus_files[i].also)) {
            *stat = parus_files[i].stat;
            return 0;
        }
    return bad (in, "data type '%.40s' is not known", in->word);
}

static int line (struct parus_scan *in, const char *what, uint64_t *value)
{
    if (expect (in, what) < 0)
        return -1;
    return number (in, what, INT64_MAX, value);
}

/* PARUS spells the last word differently. */
static int read_repeats (struct parus_scan *in, uint64_t *repeats)
{
    if (expect (in, "number of") < 0 || need (in, "repeats") < 0)
        return -1;
    if (strcmp (in->word, "repeats") && strcmp (in->word, "repeates"))
        return bad (in, "'%.40s' where 'repeats' is due", in->word);
    return number (in, "number of repeats", INT64_MAX, repeats);
}

static int read_settings (struct parus_scan *in, struct series *s)
{
    struct length_sweep sweep; /* each matrix has its own length */

    if (line (in, "begin message length", &sweep.begin) < 0
        || line (in, "end message length", &sweep.end) < 0
        || line (in, "step length", &sweep.step) < 0
        || line (in, "noise message length", &s->noise_length) < 0
        || line (in, "number of noise messages", &s->noise_messages) < 0
        || line (in, "number of noise processes", &s->noise_processes) < 0
        || read_repeats (in, &s->repeats) < 0)
        return -1;
    return 0;
}

/* "host:core" is on the host before the colon. */
static int read_host (struct parus_scan *in, struct series *s)
{
    char host[TEXT_MAX + 1];
    struct error err;

    if (need (in, "a host") < 0)
        return -1;
    strcpy (host, in->word);
    if (host[0] != ':')
        host[strcspn (host, ":")] = '\0';
    if (series_add_process (s, in->word, host, &err) < 0)
        return bad (in, "%s", err.text);
    return 0;
}

static struct series *read_head (struct parus_scan *in, enum series_stat *stat)
{
    struct series *s = NULL;
    uint64_t n;

    if (expect (in, "processors") < 0
        || number (in, "processors", MATRIX_MAX, &n) < 0
        || !(s = read_test (in)) || read_stat (in, stat) < 0
        || read_settings (in, s) < 0 || expect (in, "hosts:") < 0)
        goto error;
    for (uint64_t i = 0; i < n; i++)
        if (read_host (in, s) < 0)
            goto error;
    return s;
error:
    series_destroy (s);
    return NULL;
}

/* We write NaN for what was not measured. PARUS leaves 0 there, which is no
 * valid time, but may be a valid deviation.
 */
static bool is_missing (const struct series *s, enum series_stat stat,
                        bool itself, double seconds)
{
    return seconds <= 0
           && (stat != SERIES_SD
               || (itself && s->test != SERIES_ALL_TO_ALL));
}

static int read_time (struct parus_scan *in, struct series *s, uint64_t length,
                      enum series_stat stat, uint32_t a, uint32_t b)
{
    struct series_pair p = { .a = a, .b = b, .length = length };
    struct error err;
    double seconds;

    if (need (in, "a time") < 0)
        return -1;
    if (!strcasecmp (in->word + (in->word[0] == '-'), "nan"))
        return 0;
    if (text_double (in->word, 0, SECONDS_MAX, &seconds) < 0)
        return bad (in, "'%.40s' is no time in seconds", in->word);
    if (is_missing (s, stat, a == b, seconds))
        return 0;
    p.count = s->repeats > 0 && s->repeats < SERIES_COUNT_MAX
                  ? (uint32_t)s->repeats
                  : 1;
    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == (int)stat ? seconds * NS : NAN;
    if (series_add_pair (s, &p, &err) < 0)
        return bad (in, "%s", err.text);
    return 0;
}

/* Read a matrix, after the word "Message". */
static int read_matrix (struct parus_scan *in, struct series *s,
                        enum series_stat stat)
{
    uint64_t length;

    if (strcmp (in->word, "Message"))
        return bad (in, "'%.40s' where 'Message' is due", in->word);
    if (line (in, "length", &length) < 0)
        return -1;
    for (uint32_t a = 0; a < s->nprocesses; a++)
        for (uint32_t b = 0; b < s->nprocesses; b++)
            if (read_time (in, s, length, stat, a, b) < 0)
                return -1;
    return 0;
}

struct series *parus_read (FILE *fp, const char *name, struct error *err)
{
    struct parus_scan in = { .fp = fp, .name = name, .line = 1, .err = err };
    enum series_stat stat = SERIES_MEAN;
    struct series *s = read_head (&in, &stat);
    int rc;

    if (!s)
        return NULL;
    while ((rc = next (&in)) > 0)
        if ((rc = read_matrix (&in, s, stat)) < 0)
            break;
    if (rc == 0 && series_sort (s, err) < 0)
        rc = error_prefix (err, "%.160s", name);
    if (rc < 0) {
        series_destroy (s);
        s = NULL;
    }
    return s;
}
