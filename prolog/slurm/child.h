/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process, for libraries and file systems that may hang,
 * print, or end their process. Changes that the child makes in its memory are
 * lost, so it need not free any; only its answer is in memory that it shares.
 */
#ifndef PROLOG_CHILD_H
#define PROLOG_CHILD_H

#include <pwd.h>
#include <stddef.h>
#include <sys/mman.h>

#include "util/error.h"

enum { CHILD_OUT_MAX = 1 << 28 }; /* bytes of an answer, at most */

/* The function to call. It fills its answer, which is zero, and returns 0; or -1
 * with err. What the answer points to is child_alloc's.
 */
typedef int (*child_f) (const void *arg, void *answer, struct error *err);

/* In the child: zeroed room for n elements of `size` bytes. If there is none
 * left, the child ends, and child_call fails.
 */
void *child_alloc (size_t n, size_t size) __attribute__ ((returns_nonnull));

/* In the child: a copy of a text; NULL if it is NULL or "". If it is not UTF-8,
 * bytes that are not ASCII become '?'.
 */
char *child_text (const char *s);

/* In a child of root's: go on as this user, in the user's groups. */
int child_become (const struct passwd *pw, struct error *err);

/* Call fn (arg, answer, err) in a child that is ended after timeout_ms, or when
 * the caller dies. It runs as util/program.h says.
 *
 * Return the answer, of `size` bytes, which child_free releases with all that it
 * points to. Otherwise NULL; err is fn's own, or an ERROR_WORLD: the child did not
 * end in time, or how it ended, with the last line that it printed.
 */
void *child_call (child_f fn, const void *arg, size_t size, int timeout_ms,
                  struct error *err);

static inline void child_free (void *answer) /* NULL: nothing */
{
    if (answer)
        munmap (answer, CHILD_OUT_MAX);
}

/* The same of a function without an answer. Return 0, or -1 with err. */
int child_try (child_f fn, const void *arg, int timeout_ms, struct error *err);

#endif /* PROLOG_CHILD_H */
