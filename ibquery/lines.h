/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text files with a checksum: printable ASCII, one item per line, words
 * separated by one space. The first line is a magic word and a version, the
 * last one "end" and a digest of all lines before it.
 *
 * Errors of a file that is read are "NAME:LINE: sentence".
 */
#ifndef IBQUERY_LINES_H
#define IBQUERY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

/* A fast 128-bit digest: the fabric's hash and these files' checksum. It
 * detects differences, but does not protect against forgery.
 */
enum { DIGEST_HEX = 33 }; /* 32 hex digits and a NUL */

struct digest {
    uint64_t a, b, words;
};

void digest_init (struct digest *d);
void digest_u64 (struct digest *d, uint64_t word);

/* The bytes and their number: {"ab", "c"} is not {"a", "bc"}. */
void digest_bytes (struct digest *d, const void *data, size_t len);

/* The digest of everything so far, in lower case. */
void digest_hex (const struct digest *d, char hex[DIGEST_HEX]);

/* The digest of a file's bytes; "" if it cannot be read. */
void digest_file (const char *path, char hex[DIGEST_HEX]);

/* Whether the digest in a file is the computed one. Always true in builds for
 * fuzzing: a fuzzer cannot guess digests.
 */
bool digest_agrees (const char *given, const char *found);

enum { LINES_MAX = 1200 }; /* bytes of a line, including its end */

/* A line that is read word by word. */
struct words {
    char *next;  /* the rest of the line */
    size_t file; /* bytes of all lines */
    const char *keyword;
};

/* A kind of line begins with its keyword and is read by fn, which gets the rest
 * of the line and takes all of it. fn returns 0, or -1 with err. Sections, from
 * 0, are in ascending order. The last row of a table has no name: its fn reads
 * lines that start with a digit.
 */
typedef int (*lines_f) (void *arg, struct words *w, struct error *err);
struct lines_keyword {
    const char *name;
    int section;
    bool once, needed;
    lines_f fn;
};

struct lines_format {
    const char *magic, *what; /* `what` is for errors: "fabric snapshot" */
    const struct lines_keyword *keyword;
};

/* Read a whole file. Return 0, or -1 with err: fn failed, or the file is cut
 * short, damaged, lacks a line, is of another version or of another kind.
 * `finish` is called after the last line.
 */
int lines_read (FILE *fp, const char *name, const struct lines_format *format,
                int (*finish) (void *arg, struct error *err), void *arg,
                struct error *err);

/* words_next takes a word, "" after the last one; words_rest all of them. The
 * others return 0, or -1 with err; they read a number of `digits` lower-case
 * hexadecimal digits, a GUID (16 digits), a decimal number without leading
 * zeros, GUID/PORT, a time as below.
 */
char *words_next (struct words *w);
char *words_rest (struct words *w);
int words_hex (struct words *w, int digits, const char *what,
               uint64_t *value, struct error *err);
int words_guid (struct words *w, uint64_t *guid, struct error *err);
int words_number (struct words *w, uint64_t max, const char *what,
                  uint64_t *value, struct error *err);
int words_port (struct words *w, uint64_t *guid, unsigned int *port,
                struct error *err);
int words_hash (struct words *w, char hash[DIGEST_HEX], struct error *err);
int words_time (struct words *w, int64_t *when, struct error *err);

/* 16 + the value of a digit as words_hex reads it; 0: it is none. */
extern const uint8_t lines_digit[UINT8_MAX + 1];

/* The value of n digits; -1: one of them is none. */
static inline int lines_hex (const char *digits, size_t n, uint64_t *value)
{
    unsigned int all = 16;

    *value = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned int digit = lines_digit[(uint8_t)digits[i]];

        all &= digit;
        *value = *value << 4 | (digit & 15);
    }
    return all ? 0 : -1;
}

/* Reads nothing: for a keyword whose line is ignored. */
int lines_ignore (void *arg, struct words *w, struct error *err);

/* Write: begin, put lines, end. lines_end returns 0, or -1 with err. */
struct lines_out {
    FILE *fp;
    struct digest digest;
};
void lines_begin (struct lines_out *out, FILE *fp,
                  const struct lines_format *format);
void lines_put (struct lines_out *out, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));
int lines_end (struct lines_out *out, struct error *err);

/* A time as in files, UTC: "2026-11-22T01:00:00Z". */
enum { LINES_TIME = 32 };
char *lines_format_time (int64_t when, char text[LINES_TIME]);

#endif /* IBQUERY_LINES_H */
