/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of pmm-probe: pairs, topology, noise (probe/exchange), between the
 * nodes of a job step, over verbs or the emulator. With the snapshot at hand
 * pattern pmm needs no plan, and what it tells of all pairs is compared with
 * what other patterns of the same run measured.
 */
#ifndef PROBE_TESTS_H
#define PROBE_TESTS_H

#include <stdbool.h>

/* Whether that is the name of a test. */
bool tests_named (const char *name);

/* Run the test argv[0] with its options. Returns the exit status. */
int tests_main (int argc, char *argv[]);

#endif /* PROBE_TESTS_H */
