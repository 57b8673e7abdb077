/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Command line options, by table: long names, some with a letter, each with a
 * setter for a field of the owner's struct.
 */
#ifndef UTIL_OPTIONS_H
#define UTIL_OPTIONS_H

#include <stddef.h>
#include <stdio.h>

#include "util/error.h"

/* One option. A table ends in a row whose name is NULL. */
struct opt {
    const char *name; /* long name without "--" */
    char letter;      /* short form, or 0; not 'h' */
    const char *arg;  /* name of its argument; NULL: takes none */
    /* Called for each use, in order; value is NULL if it takes none. Return 0,
     * or -1 with err.
     */
    int (*set) (void *data, const char *value, struct error *err);
    size_t offset;    /* for the opt_* setters: of the field in data */
    const char *help;
    double min, max;  /* of a number; max 0: as its setter */

    /* set NULL: the value is the name of one of these rows, whose index becomes
     * the int at `offset`. Rows begin with their name (const char *) and end
     * with one whose name is NULL.
     */
    const void *rows;
    size_t row_size;
#define OPT_ROWS(table) .rows = (table), .row_size = sizeof (*(table))
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

/* Which options go together. A table ends in a row of kind 0.
 *
 * `of` and `with` are lists with blanks between: names of options without "--",
 * and operands as the usage line has them, in capitals. "format=dot|svg" is the
 * option with one of these values; a value in capitals is any that the option's
 * argument does not name: of "pmm|paper|PATTERN", PATTERN.
 */
struct opt_rule {
    const char *of;   /* each of these; NULL: the command */
    enum { OPT_NEEDS = 1, OPT_EXCLUDES } kind; /* one of `with`; all of them */
    const char *with; /* NULL: the others of `of` */
};

/* The tables of a command's options, each with the data that it sets; ends in a
 * row whose table is NULL.
 */
struct opt_group {
    const struct opt *table;
    void *data;
    const struct opt_rule *rules; /* NULL: none */
};

/* Parse argv[1..] by the tables. operands: their names as in the usage line, or
 * NULL. Setters get data + offset. Returns the index of the first operand
 * (operands are moved to the end), OPTIONS_HELP if help was requested, or -1
 * with err.
 */
enum { OPTIONS_HELP = -2 };
int options_get (const struct opt_group *group, const char *operands, int argc,
                 char **argv, struct error *err);

/* The lines of --help; of a row of names, these are its argument. A sentence
 * for each rule comes last, not indented.
 */
void options_help (const struct opt_group *group, FILE *fp);

#endif /* UTIL_OPTIONS_H */
