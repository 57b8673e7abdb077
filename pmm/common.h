/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verbs share: exit status; options and errors for those with a runner
 * of their own.
 */
#ifndef PMM_COMMON_H
#define PMM_COMMON_H

#include "core/judge/verdict.h"
#include "util/error.h"
#include "util/options.h"
#include "util/text.h"

enum {
    EXIT_OK = 0,        /* OK or WARN */
    EXIT_FAIL = 1,      /* the verdict is FAIL */
    EXIT_BAD_INPUT = 2, /* usage, or a bad file */
    EXIT_WORLD = 3,     /* UNKNOWN, or a system error */
};

/* The exit status of a verdict. */
int exit_status (enum verdict_status status);

/* Parse argv[1..] by the table into data. Setters get data + offset. `args`
 * names the operands in the usage line; there must be between min and max of
 * them. Returns the index of the first operand (operands are moved to the end),
 * or -1 if the verb must end with *status: after --help, or after a usage
 * error, which is already printed.
 */
int options_parse (const struct opt *table, void *data, int argc, char **argv,
                   const char *args, int min, int max, int *status);

/* Print that the word is not a verb of `of`, "pmm" or "pmm fabric", and suggest
 * a similar one. Return the exit status.
 */
int no_verb (const char *of, const struct text_guess *guess);

/* Print "pmm VERB: sentence" and return the matching exit status. */
int fail (const char *verb, const struct error *err);

/* For options whose values are names: set *field to the index of the value in
 * names, which end with NULL. Return 0, or -1 with err.
 */
int set_name (const char *const *names, int *field, const char *value,
              struct error *err);

#endif /* PMM_COMMON_H */
