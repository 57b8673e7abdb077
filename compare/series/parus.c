/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/series/formats.h"

#include <ctype.h>
#include <math.h>
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

static const char *const lines[] = {
    "begin message length",     "end message length",
    "step length",              "noise message length",
    "number of noise messages", "number of noise processes",
};

enum { LINES = sizeof (lines) / sizeof (lines[0]) };

/* The lengths are those of: for (l = begin; l < end; l += step). */
static void write_parus_head (const struct series *s, const char *type,
                              FILE *fp)
{
    const uint64_t *length = s->length;
    size_t n = s->nlengths;
    uint64_t step = n > 1 ? length[1] - length[0] : 1;
    uint64_t value[LINES] = {
        length[0], length[n - 1], 0,
        s->noise_length, s->noise_messages, s->noise_processes,
    };

    for (size_t i = 2; i < n; i++)
        if (length[i] - length[i - 1] != step)
            step = 0;
    value[1] += step ? step : 1;
    value[2] = step;
    fprintf (fp, "processors %ju\ntest type \"%s\"\ndata type \"%s\"\n",
             (uintmax_t)s->nprocesses, series_test_names[s->test], type);
    for (int i = 0; i < LINES; i++)
        fprintf (fp, "%s %ju\n", lines[i], (uintmax_t)value[i]);
    fprintf (fp, "number of repeats %ju\n\nhosts:\n", (uintmax_t)s->repeats);
    for (uint32_t i = 0; i < s->nprocesses; i++)
        fprintf (fp, "%s\n", s->process[i].label);
}

static void write_matrix (const struct series *s, enum series_stat stat,
                          uint64_t length, FILE *fp)
{
    fprintf (fp, "\nMessage length %ju\n", (uintmax_t)length);
    for (uint32_t a = 0; a < s->nprocesses; a++) {
        for (uint32_t b = 0; b < s->nprocesses; b++) {
            const struct series_row *p = series_at (s, a, b, length);
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
        return error_input (err, "no pairs to make a matrix of");
    if (s->nprocesses > MATRIX_MAX)
        return error_input (err, "%ju processes: a matrix has up to %d",
                            (uintmax_t)s->nprocesses, MATRIX_MAX);
    write_parus_head (s, file->name, fp);
    for (size_t i = 0; i < s->nlengths; i++)
        write_matrix (s, file->stat, s->length[i], fp);
    return 0;
}

/*
 * Read words between blanks; line ends do not matter. Quotes are part of a
 * word.
 */

struct parus_scan {
    FILE *fp;
    unsigned long line;
    char word[TEXT_MAX + 1];
    struct error *err;
};

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
            return error_input (in->err, "a word of more than %d bytes",
                                TEXT_MAX);
        in->word[len++] = (char)c;
    }
    if (c != EOF)
        ungetc (c, in->fp);
    in->word[len] = '\0';
    if (ferror (in->fp))
        return error_errno (in->err, "cannot read");
    if (strlen (in->word) != len)
        return error_input (in->err, "a word with a NUL in it");
    return len > 0;
}

static int next_parus_word (struct parus_scan *in, const char *what)
{
    int rc = next (in);

    if (rc == 0)
        return error_input (in->err, "the file ends, expected %s", what);
    return rc < 0 ? -1 : 0;
}

/* Read the words of `text`, which are separated by single blanks. */
static int expect_parus_words (struct parus_scan *in, const char *text)
{
    while (*text) {
        size_t len = strcspn (text, " ");

        if (next_parus_word (in, text) < 0)
            return -1;
        if (strlen (in->word) != len || strncmp (in->word, text, len))
            return error_input (in->err, "'%.40s', expected '%.*s'",
                                in->word, (int)len, text);
        text += len + (text[len] == ' ');
    }
    return 0;
}

static int read_parus_number (struct parus_scan *in, const char *what,
                              uint64_t max, uint64_t *value)
{
    if (next_parus_word (in, what) < 0)
        return -1;
    if (text_u64 (in->word, 0, max, value) < 0)
        return error_input (in->err, "%s: '%.40s' is not a number from 0 to"
                            " %ju", what, in->word, (uintmax_t)max);
    return 0;
}

/* A word in quotes, without these. */
static int quoted (struct parus_scan *in, const char *what)
{
    size_t len;

    if (expect_parus_words (in, what) < 0 || next_parus_word (in, what) < 0)
        return -1;
    len = strlen (in->word);
    if (len < 3 || in->word[0] != '"' || in->word[len - 1] != '"')
        return error_input (in->err, "%s: '%.40s' is not in quotes", what,
                            in->word);
    memmove (in->word, in->word + 1, len - 2);
    in->word[len - 2] = '\0';
    return 0;
}

static int read_parus_head (struct parus_scan *in, struct series *s,
                            enum series_stat *stat)
{
    uint64_t unread, n; /* each matrix has its own length */
    uint64_t *const value[LINES] = {
        &unread, &unread, &unread,
        &s->noise_length, &s->noise_messages, &s->noise_processes,
    };
    int test, file = 0;

    if (expect_parus_words (in, "processors") < 0
        || read_parus_number (in, "processors", MATRIX_MAX, &n) < 0
        || quoted (in, "test type") < 0)
        return -1;
    test = series_find (series_test_names, in->word);
    if (test < 0 || test == SERIES_TOPOLOGY)
        return error_input (in->err, "test type '%.40s' is not known",
                            in->word);
    s->test = test;
    if (quoted (in, "data type") < 0)
        return -1;
    while (file < PARUS_FILES && strcmp (in->word, parus_files[file].name)
           && strcmp (in->word, parus_files[file].also))
        file++;
    if (file == PARUS_FILES)
        return error_input (in->err, "data type '%.40s' is not known",
                            in->word);
    *stat = parus_files[file].stat;
    for (int i = 0; i < LINES; i++)
        if (expect_parus_words (in, lines[i]) < 0
            || read_parus_number (in, lines[i], INT64_MAX, value[i]) < 0)
            return -1;
    /* PARUS spells the last word differently */
    if (expect_parus_words (in, "number of") < 0
        || next_parus_word (in, "repeats") < 0)
        return -1;
    if (strcmp (in->word, "repeats") && strcmp (in->word, "repeates"))
        return error_input (in->err, "'%.40s', expected 'repeats'", in->word);
    if (read_parus_number (in, "number of repeats", INT64_MAX, &s->repeats) < 0
        || expect_parus_words (in, "hosts:") < 0)
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        char host[TEXT_MAX + 1];

        if (next_parus_word (in, "a host") < 0)
            return -1;
        strcpy (host, in->word); /* "host:core" */
        if (host[0] != ':')
            host[strcspn (host, ":")] = '\0';
        if (series_add_process (s, in->word, host, in->err) < 0)
            return -1;
    }
    return 0;
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

static int read_parus_time (struct parus_scan *in, struct series *s,
                            uint64_t length, enum series_stat stat, uint32_t a,
                            uint32_t b)
{
    struct series_row p = { .shape = SERIES_PAIR, .a = a, .b = b, .count = 1,
                            .length = length };
    double seconds;

    if (next_parus_word (in, "a time") < 0)
        return -1;
    if (!strcasecmp (in->word + (in->word[0] == '-'), "nan"))
        return 0;
    if (text_double (in->word, 0, SECONDS_MAX, &seconds) < 0)
        return error_input (in->err, "'%.40s' is not a time in seconds",
                            in->word);
    if (is_missing (s, stat, a == b, seconds))
        return 0;
    if (s->repeats > 0 && s->repeats < SERIES_COUNT_MAX)
        p.count = (uint32_t)s->repeats;
    for (int i = 0; i < SERIES_STATS; i++)
        p.time_ns[i] = i == (int)stat ? seconds * NS : NAN;
    return series_add (s, &p, in->err);
}

static int read_matrices (struct parus_scan *in, struct series *s,
                          enum series_stat stat)
{
    uint64_t length;
    int rc;

    while ((rc = next (in)) > 0) {
        if (strcmp (in->word, "Message"))
            return error_input (in->err, "'%.40s', expected 'Message'",
                                in->word);
        if (expect_parus_words (in, "length") < 0
            || read_parus_number (in, "length", INT64_MAX, &length) < 0)
            return -1;
        for (uint32_t a = 0; a < s->nprocesses; a++)
            for (uint32_t b = 0; b < s->nprocesses; b++)
                if (read_parus_time (in, s, length, stat, a, b) < 0)
                    return -1;
    }
    return rc;
}

struct series *parus_read (FILE *fp, const char *name, struct error *err)
{
    struct parus_scan in = { .fp = fp, .line = 1, .err = err };
    struct series *s = series_create (SERIES_ONE_TO_ONE);
    enum series_stat stat = SERIES_MEAN;

    if (read_parus_head (&in, s, &stat) < 0 || read_matrices (&in, s, stat) < 0)
        error_prefix (err, "%.160s:%lu", name, in.line);
    else if (series_sort (s, err) < 0)
        error_prefix (err, "%.160s", name);
    else
        return s;
    series_destroy (s);
    return NULL;
}
