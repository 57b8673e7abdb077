/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process, for libraries and file systems that may hang,
 * print, or end their process. Changes that the child makes in its memory are
 * lost. Its answer comes back as bytes, for most calls a list of strings, each
 * with its NUL.
 */
#ifndef PROLOG_CHILD_H
#define PROLOG_CHILD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

enum { CHILD_OUT_MAX = 1 << 28 }; /* bytes of an answer, at most */

/* The function to call; it writes its answer to out and returns 0, or -1 with
 * err.
 */
typedef int (*child_f) (FILE *out, const void *arg, struct error *err);

/* In the child: add a string to the answer; NULL is "". */
void child_put (FILE *out, const char *s);
void child_put_number (FILE *out, uint64_t n);

struct child_answer {
    char *text; /* len bytes and a NUL */
    size_t len;
    char **v;   /* [n] the strings in it */
    size_t n;
};

/* Call fn (out, arg, err) in a child that is killed after timeout_ms, or when
 * the caller dies. It has no open files except /dev/null as standard input, and
 * no signals blocked, handled or ignored.
 *
 * Return 0 with the answer. Otherwise return -1 without an answer; err is fn's
 * own, or an ERROR_WORLD: the child did not end in time, or how it ended, with
 * the last line that it printed.
 */
int child_call (child_f fn, const void *arg, int timeout_ms,
                struct child_answer *answer, struct error *err);
void child_clear (struct child_answer *answer);

/* A string of the answer as a number. */
uint64_t child_number (const struct child_answer *answer, size_t i);

#endif /* PROLOG_CHILD_H */
