/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

static void set (struct error *err, enum error_fault fault, const char *fmt,
                 va_list ap)
{
    int saved_errno = errno;

    if (err) {
        err->fault = fault;
        vsnprintf (err->text, sizeof (err->text), fmt, ap);
        text_clean (err->text);
    }
    errno = saved_errno;
}

int error_input (struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    set (err, ERROR_INPUT, fmt, ap);
    va_end (ap);
    return -1;
}

int error_world (struct error *err, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    set (err, ERROR_WORLD, fmt, ap);
    va_end (ap);
    return -1;
}

int error_errno (struct error *err, const char *fmt, ...)
{
    int saved_errno = errno;
    va_list ap;

    if (err) {
        size_t len;

        va_start (ap, fmt);
        set (err, ERROR_WORLD, fmt, ap);
        va_end (ap);
        len = strlen (err->text);
        snprintf (err->text + len, sizeof (err->text) - len, ": %s",
                  strerror (saved_errno));
    }
    errno = saved_errno;
    return -1;
}

int error_nomem (struct error *err)
{
    errno = ENOMEM;
    return error_world (err, "out of memory");
}

int error_prefix (struct error *err, const char *fmt, ...)
{
    int saved_errno = errno;

    if (err) {
        struct error old = *err;
        size_t len;
        va_list ap;

        va_start (ap, fmt);
        set (err, old.fault, fmt, ap);
        va_end (ap);
        len = strlen (err->text);
        snprintf (err->text + len, sizeof (err->text) - len, ": %.400s",
                  old.text);
    }
    errno = saved_errno;
    return -1;
}
