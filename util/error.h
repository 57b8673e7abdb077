/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The one-sentence error.
 *
 * A function whose failure needs action by a person has `struct error *err` as
 * its last argument. It returns -1 or NULL and sets err to one clear sentence,
 * without a newline and without the program's name. err may be NULL. Only entry
 * points (main, the SPANK callbacks, the hooks) print it.
 */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

/* The kind of error; also the exit status of the commands. */
enum error_fault {
    ERROR_INPUT = 2, /* usage, or an invalid file */
    ERROR_WORLD = 3, /* no device, no SM, node lost, out of memory */
};

struct error {
    enum error_fault fault;
    char text[512];
};

/* Set the sentence; it is cut if it is too long, and control characters are
 * replaced. Always return -1, for `return error_input (...)`. errno is kept.
 */
int error_input (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));
int error_world (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* As error_world, with ": " and strerror (errno) appended. */
int error_errno (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

/* Out of memory: error_world with the standard sentence. */
int error_nomem (struct error *err);

/* Put "PREFIX: " before the sentence that err holds. Return -1. */
int error_prefix (struct error *err, const char *fmt, ...)
    __attribute__ ((format (printf, 2, 3)));

#endif /* UTIL_ERROR_H */
