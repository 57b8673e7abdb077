/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

/* Set the sentence, and `after` behind it; keep errno. */
static void set_error_text (struct error *err, enum error_fault fault,
                            const char *after, const char *fmt, va_list ap)
{
    int saved_errno = errno;
    size_t len;

    if (err) {
        err->fault = fault;
        vsnprintf (err->text, sizeof (err->text), fmt, ap);
        text_clean (err->text);
        len = strlen (err->text);
        if (after)
            snprintf (err->text + len, sizeof (err->text) - len, ": %.400s",
                      after);
    }
    errno = saved_errno;
}

int error_input (struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    set_error_text (err, ERROR_INPUT, NULL, fmt, ap);
    va_end (ap);
    return -1;
}

int error_world (struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    set_error_text (err, ERROR_WORLD, NULL, fmt, ap);
    va_end (ap);
    return -1;
}

int error_errno (struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    set_error_text (err, ERROR_WORLD, strerror (errno), fmt, ap);
    va_end (ap);
    return -1;
}

int error_nomem (struct error *err)
{
    errno = ENOMEM;
    return error_world (err, "out of memory");
}

int error_prefix (struct error *err, const char *fmt, ...)
{
    struct error old = { 0 };
    va_list ap;

    if (err)
        old = *err;
    va_start (ap, fmt);
    set_error_text (err, old.fault, old.text, fmt, ap);
    va_end (ap);
    return -1;
}
