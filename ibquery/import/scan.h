/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of a text that another program wrote, one after the other, in
 * memory that does not grow with the text; and words and numbers out of them.
 */
#ifndef IBQUERY_IMPORT_SCAN_H
#define IBQUERY_IMPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/* Where something is said. */
struct place {
    const char *file; /* its name; NULL: nowhere */
    uint64_t line;    /* from 1; 0 before the first */
};

struct scan {
    struct place at; /* of the line that scan_line gave last */
    FILE *fp;
    char *buf;
    size_t start, end; /* what of buf is not yet given */
    bool eof;
};

/* Read fp, from where it is; `name` is for people and must live as long as
 * what is read. scan_close leaves fp open.
 */
void scan_open (struct scan *s, FILE *fp, const char *name);
void scan_close (struct scan *s);

/* The next line, without its end, for the caller to change until the next
 * call. Return 1, 0 at the end, or -1 with err: longer than any real line, a
 * NUL byte, a last line without an end.
 */
int scan_line (struct scan *s, char **line, struct error *err);

/* The beginning of what is not yet given, at most 64 KB, as a string. */
const char *scan_peek (struct scan *s, struct error *err);

/* Put "FILE:LINE: " before the sentence that err holds, or that is given as for
 * error_input. Return -1.
 */
int place_error (const struct place *at, struct error *err);
int place_input (const struct place *at, struct error *err, const char *fmt,
                 ...) __attribute__ ((format (printf, 3, 4)));

/* Take something from *p. True if it is there, and *p is behind it; else *p is
 * anywhere. Numbers are at most max; scan_number takes hex after 0x.
 */
bool scan_text (char **p, const char *text);
bool scan_decimal (char **p, uint64_t max, uint64_t *value);
bool scan_hex (char **p, uint64_t max, uint64_t *value);
bool scan_number (char **p, uint64_t max, uint64_t *value);
void scan_blanks (char **p);

/* As scan_text, but looking for the first, or the last, time that it is there.
 */
bool scan_to (char **p, const char *text);
bool scan_to_last (char **p, char c);

#endif /* IBQUERY_IMPORT_SCAN_H */
