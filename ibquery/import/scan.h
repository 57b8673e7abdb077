/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read a text that another program wrote, line by line, in memory that does not
 * grow with the text; and take words and numbers from the lines.
 */
#ifndef IBQUERY_IMPORT_SCAN_H
#define IBQUERY_IMPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/* Where something was read. */
struct place {
    const char *file; /* its name; NULL: nowhere */
    uint64_t line;    /* from 1; 0 before the first */
};

struct scan {
    struct place at; /* of the line that scan_line returned last */
    FILE *fp;
    char *buf;
    size_t start, end; /* the part of buf that is not yet returned */
    bool eof;
};

/* Read fp from its current position. `name` is for messages and must outlive
 * everything that was read. scan_close leaves fp open.
 */
void scan_open (struct scan *s, FILE *fp, const char *name);
void scan_close (struct scan *s);

/* The next line, without its line end. The caller may change it; it is valid
 * until the next call. Return 1, 0 at the end, or -1 with err: a line longer
 * than any real one, a NUL byte, or a last line without an end.
 */
int scan_line (struct scan *s, char **line, struct error *err);

/* What is not yet returned, at most 64 KB of it, as a string. */
const char *scan_peek (struct scan *s, struct error *err);

/* Put "FILE:LINE: " before the message in err; place_input also makes the
 * message, as error_input does. Both return -1.
 */
int place_error (const struct place *at, struct error *err);
int place_input (const struct place *at, struct error *err, const char *fmt,
                 ...) __attribute__ ((format (printf, 3, 4)));

/* Take something from *p. If it is there, return true and move *p after it;
 * else the position of *p is undefined. Numbers are at most max; scan_number
 * reads hex after 0x.
 */
bool scan_text (char **p, const char *text);
bool scan_decimal (char **p, uint64_t max, uint64_t *value);
bool scan_hex (char **p, uint64_t max, uint64_t *value);
bool scan_number (char **p, uint64_t max, uint64_t *value);
void scan_blanks (char **p);

/* As scan_text, but search for the first, or the last, occurrence. */
bool scan_to (char **p, const char *text);
bool scan_to_last (char **p, char c);

#endif /* IBQUERY_IMPORT_SCAN_H */
