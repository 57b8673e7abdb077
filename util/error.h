/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one-sentence error.
 *
 * A function that can fail in a way that a person must act upon takes a last
 * argument `struct error *err`. It returns -1 or NULL and leaves one clear
 * sentence there, without a newline and without the program's name. err may
 * be NULL. Only entry points (main, the SPANK callbacks, the hooks) print it.
 */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

#include <stdarg.h>

/* Whose fault it is; also the exit status of the commands. */
enum error_fault {
    ERROR_INPUT = 2, /* usage, or a file that is bad */
    ERROR_WORLD = 3, /* no device, no SM, node lost, out of memory */
};

struct error {
    enum error_fault fault;
    char text[512];
};

/* Set the sentence, cutting it where it is too long and cleaning it of
 * control characters. Always return -1, so that `return error_input (...)`
 * reads well. errno is kept.
 */
int error_input (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));
int error_world (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* As error_world, with ": " and strerror (errno) behind the sentence. */
int error_errno (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Out of memory: error_world with the one sentence for it. */
int error_nomem (struct error *err);

/* Put "PREFIX: " before the sentence that err holds. Return -1. */
int error_prefix (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

#endif /* UTIL_ERROR_H */
