/* SPDX-License-Identifier: GPL-2.0-or-later */
/* key=value options, by table.
 *
 * One table serves pmm.conf, the words of plugstack.conf and --help; unknown
 * keys are rejected. A program declares
 *
 *     static const struct conf_option table[] = {
 *         { "Timeout", CONF_SECONDS, offsetof (struct my, timeout_ms), "60",
 *           "how long a check may take" },
 *         ...
 *         { 0 },
 *     };
 *
 * and owns a `struct my` that conf_defaults fills. Keys are compared without
 * case, '_' and '-': Timeout, timeout, time_out are the same.
 */
#ifndef UTIL_CONF_H
#define UTIL_CONF_H

#include <stdio.h>

#include "util/error.h"

enum conf_type {
    CONF_STRING,  /* char *, owned by the struct; "" is kept as "" */
    CONF_PATH,    /* as CONF_STRING, absolute */
    CONF_BOOL,    /* int: yes|no|true|false|on|off|1|0 */
    CONF_INT,     /* int, >= 0 */
    CONF_DOUBLE,  /* double, >= 0 */
    CONF_SECONDS, /* int, in milliseconds: "60", "0.5", "90s", "10m", "2h" */
};

struct conf_option {
    const char *key;
    enum conf_type type;
    size_t offset;      /* of the field in the owner's struct */
    const char *value;  /* default, as written in a file; NULL is "" */
    const char *help;   /* one line */
    const char *words;  /* of a string: the allowed words, "off, on" */
    double min, max;    /* of a number, or of milliseconds; max 0: no limit, and
                           min is 0 or 1: more than 0. Of a string, min 1: not
                           empty */
};

/* Set every field to its default. Return 0, or -1 with errno ENOMEM. */
int conf_defaults (const struct conf_option *table, void *data);

/* Set one option from "key=value" or from key and value. Return 0, or -1
 * with err naming the key; the field is then unchanged.
 */
int conf_set_word (const struct conf_option *table, void *data,
                   const char *word, struct error *err);
int conf_set (const struct conf_option *table, void *data, const char *key,
              const char *value, struct error *err);

/* Read "key = value" lines; '#' starts a comment, blank lines are skipped, a
 * value may be in double quotes. A key twice is an error. Return 0, or -1 with
 * err as "NAME:LINE: sentence", which gives the allowed values; `data` may then
 * be partly set, and conf_clear still works.
 */
int conf_read (const struct conf_option *table, void *data, FILE *fp,
               const char *name, struct error *err);

/* Free the strings. */
void conf_clear (const struct conf_option *table, void *data);

/* Print the table as help, one option per line. */
void conf_help (const struct conf_option *table, FILE *fp);

#endif /* UTIL_CONF_H */
