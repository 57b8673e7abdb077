/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process: for libraries and file systems that may hang,
 * print, or end the process that uses them. What the child has changed in its
 * memory is gone; what it found comes back as bytes.
 */
#ifndef PROLOG_CHILD_H
#define PROLOG_CHILD_H

#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

enum { CHILD_OUT_MAX = 1 << 28 }; /* bytes that may come back */

/* What is called; it writes its result to out and returns 0, or -1 with err. */
typedef int (*child_f) (FILE *out, const void *arg, struct error *err);

/* Call fn (out, arg, err) in a child that is killed after timeout_ms, or when
 * the caller dies. It has no open files but /dev/null as standard input, and
 * no signals blocked, handled or ignored.
 *
 * Return 0, the result in *out: *len bytes and a NUL that *len does not count,
 * the caller's to free. Else -1, with fn's own err, or an ERROR_WORLD: that it
 * did not end in time, or how it ended, with the last line that it printed.
 */
int child_call (child_f fn, const void *arg, int timeout_ms, char **out,
                size_t *len, struct error *err);

#endif /* PROLOG_CHILD_H */
