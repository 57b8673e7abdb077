/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watchdog: whatever hangs, here or in a library, ends in time: with a result
 * record where this process prints one, else with a sentence on standard error.
 */
#ifndef PROBE_WATCHDOG_H
#define PROBE_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

struct watchdog {
    int64_t timeout_ms;
    int status;              /* to exit with where no record is printed */
    const char *nonce;       /* of the record, "": there is none */
    void (*at_record) (void); /* called before it, in the signal's handler; may
                                 be NULL */
};

/* Start it, with the phase "it started". The strings stay the caller's. */
void watchdog_start (const struct watchdog *options);

/* Whether this process prints the record. */
void watchdog_set_prints (bool prints);
bool watchdog_prints (void);

/* What is done from now on, by which host ("": not known yet): the sentence
 * tells it.
 */
void watchdog_phase (const char *host, const char *phase);

/* What is left, but for a tenth, so that a process ends in order before it, and
 * says what it waited for.
 */
int64_t watchdog_left_ns (void);

#endif /* PROBE_WATCHDOG_H */
