/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Watchdog: ends the process in time if anything hangs, here or in a library:
 * with a result record if this process prints one, else with a sentence on
 * standard error.
 */
#ifndef PROBE_WATCHDOG_H
#define PROBE_WATCHDOG_H

#include <signal.h>
#include <stdint.h>

/* Set it before the start. */
extern struct watchdog {
    int64_t timeout_ms;
    int status;              /* exit status if no record is printed */
    const char *nonce;       /* of the record; borrowed */
    void (*at_record) (void); /* called before the record, in the signal
                                 handler; may be NULL */
    volatile sig_atomic_t prints; /* this process prints the record; may change
                                     at any time */
} watchdog;

/* Start it, in the phase "it started". */
void watchdog_start (void);

/* Set what is done from now on, and by which host ("": not known yet), for the
 * sentence.
 */
void watchdog_phase (const char *host, const char *phase);

/* The time left, less a tenth, so that a process can end in order before the
 * watchdog does, and say what it waited for.
 */
int64_t watchdog_left_ns (void);

#endif /* PROBE_WATCHDOG_H */
