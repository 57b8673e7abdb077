/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A call in a child process, for libraries and file systems that may hang,
 * print, or end their process. Changes that the child makes in its memory are
 * lost, so it need not free any. Its answer comes back as JSON.
 */
#ifndef PROLOG_CHILD_H
#define PROLOG_CHILD_H

#include <jansson.h>
#include <pwd.h>

#include "util/error.h"

enum { CHILD_OUT_MAX = 1 << 28 }; /* bytes of an answer, at most */

/* The function to call: it returns its answer, or NULL with err. */
typedef json_t *(*child_f) (const void *arg, struct error *err);

/* In the child: a text for the answer; null if it is NULL or "". In text that
 * is not UTF-8, bytes that are not ASCII become '?'.
 */
json_t *child_text (const char *s);

/* In a child of root's: go on as this user, in the user's groups. */
int child_become (const struct passwd *pw, struct error *err);

/* Call fn (arg, err) in a child that is ended after timeout_ms, or when the
 * caller dies. It runs as util/program.h says.
 *
 * Return the answer, which the caller owns. Otherwise NULL; err is fn's own, or
 * an ERROR_WORLD: the child did not end in time, or how it ended, with the last
 * line that it printed.
 */
json_t *child_call (child_f fn, const void *arg, int timeout_ms,
                    struct error *err);

#endif /* PROLOG_CHILD_H */
