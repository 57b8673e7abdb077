/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text files with a checksum: printable ASCII, one item per line, words
 * separated by one space. The first line is a magic word and a version, the
 * last one "end" and a digest of all lines before it. The digest detects
 * damage, not forgery.
 *
 * Errors of a file that is read are "NAME:LINE: sentence".
 */
#ifndef IBQUERY_LINES_H
#define IBQUERY_LINES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/digest.h"
#include "util/error.h"

enum { LINES_MAX = 1200 }; /* bytes of a line, including its end */

/* Write: begin, put lines, end. lines_end returns 0, or -1 with err. */
struct lines_out {
    FILE *fp;
    struct digest digest;
};
void lines_begin (struct lines_out *out, FILE *fp, const char *magic,
                  unsigned int version);
void lines_put (struct lines_out *out, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));
int lines_end (struct lines_out *out, struct error *err);

/* A time as in files, UTC: "2026-11-22T01:00:00Z". lines_parse_time returns 0,
 * or -1 with err.
 */
enum { LINES_TIME = 32 };
char *lines_format_time (int64_t when, char text[LINES_TIME]);
int lines_parse_time (const char *s, int64_t *when, struct error *err);

/* Read a line word by word. words_next returns "" after the last word. The
 * others return 0, or -1 with err; they read a number of `digits` lower-case
 * hexadecimal digits, a GUID (16 digits), a decimal number without leading
 * zeros, GUID/PORT, the end of the line.
 */
struct words {
    char *next;  /* the rest of the line */
    size_t file; /* bytes of all lines */
};
char *words_next (struct words *w);
int words_hex (struct words *w, int digits, const char *what,
               uint64_t *value, struct error *err);
int words_guid (struct words *w, uint64_t *guid, struct error *err);
int words_number (struct words *w, uint64_t max, const char *what,
                  uint64_t *value, struct error *err);
int words_port (struct words *w, uint64_t *guid, unsigned int *port,
                struct error *err);
int words_end (const struct words *w, struct error *err);

/* Read a file of at most max bytes. fn gets each line except the first and the
 * last, in order, and then, if the file is complete, NULL. Return 0, or -1 with
 * err: fn failed, or the file is cut short, damaged, of another version or of
 * another kind. `what` is for errors: "fabric snapshot".
 */
struct lines_format {
    const char *magic, *what;
    unsigned int version;
    size_t max;
};
typedef int (*lines_f) (void *arg, struct words *w, struct error *err);
int lines_read (FILE *fp, const char *name, const struct lines_format *format,
                lines_f fn, void *arg, struct error *err);

#endif /* IBQUERY_LINES_H */
