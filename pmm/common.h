/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the verbs share: their exit status, and for those with a runner of their
 * own, options and errors.
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
    EXIT_WORLD = 3,     /* UNKNOWN, or the world is at fault */
};

/* The exit status of a verdict. */
int exit_status (enum verdict_status status);

/* Parse argv[1..] by the table into data. Setters get data + offset. `args`
 * names the operands for the usage line, of which there must be between min
 * and max. Returns the index of the first operand (operands are moved to the
 * end), or -1 when the verb is to end with *status: after --help, or a usage
 * error, which is already printed.
 */
int options_parse (const struct opt *table, void *data, int argc, char **argv,
                   const char *args, int min, int max, int *status);

/* Print that the word is no verb of `of`, "pmm" or "pmm fabric", and which one
 * may be meant. Return the exit status.
 */
int no_verb (const char *of, const struct text_guess *guess);

/* Print "pmm VERB: sentence" and return the exit status that fits. */
int fail (const char *verb, const struct error *err);

/* For options whose values are names: *field becomes the index of the value
 * among names, which end in NULL. Return 0, or -1 with err.
 */
int set_name (const char *const *names, int *field, const char *value,
              struct error *err);

#endif /* PMM_COMMON_H */
