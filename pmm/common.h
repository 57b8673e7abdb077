/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verbs share: their options, their files, their exit status. */
#ifndef PMM_COMMON_H
#define PMM_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

enum {
    EXIT_OK = 0,        /* OK or WARN */
    EXIT_FAIL = 1,      /* the verdict is FAIL */
    EXIT_BAD_INPUT = 2, /* usage, or a bad file */
    EXIT_WORLD = 3,     /* UNKNOWN, or the world is at fault */
};

/* One option of a verb. A table ends in a row whose name is NULL. */
struct opt {
    const char *name; /* long name without "--" */
    char letter;      /* short form, or 0 */
    const char *arg;  /* what to call its argument; NULL: takes none */
    /* Called for each use, in order; value is NULL where it takes none.
     * Return 0, or -1 with err. */
    int (*set) (void *data, const char *value, struct error *err);
    size_t offset;    /* for the opt_* setters: of the field in data */
    const char *help;
};

/* Setters: const char *, int (>= 0), uint64_t, double, bool. They set the
 * field at `offset` of data.
 */
int opt_string (void *field, const char *value, struct error *err);
int opt_int (void *field, const char *value, struct error *err);
int opt_u64 (void *field, const char *value, struct error *err);
int opt_double (void *field, const char *value, struct error *err);
int opt_true (void *field, const char *value, struct error *err);

/* A list of strings, for options that may be given several times. */
struct strings {
    const char **v;
    size_t n;
};
int opt_append (void *field, const char *value, struct error *err);

/* Parse argv[1..] by the table into data. Setters get data + offset. `args`
 * names the operands for the usage line, of which there must be between min
 * and max. Returns the index of the first operand (operands are moved to the
 * end), or -1 when the verb is to end with *status: after --help, or a usage
 * error, which is already printed.
 */
int options_parse (const struct opt *table, void *data, int argc, char **argv,
                   const char *args, int min, int max, int *status);

/* Print "pmm VERB: sentence" and return the exit status that fits. */
int fail (const char *verb, const struct error *err);

#endif /* PMM_COMMON_H */
