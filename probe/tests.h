/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of pmm-probe: pairs, topology, noise (probe/exchange), between the
 * nodes of a job step, over verbs or the emulator. With a snapshot, pattern pmm
 * needs no plan, and its predictions for all pairs are compared with the
 * measurements of other patterns in the same run.
 */
#ifndef PROBE_TESTS_H
#define PROBE_TESTS_H

#include <stdbool.h>

/* Whether this is the name of a test. */
bool tests_named (const char *name);

/* Run the test argv[0] with its options. Return the exit status. */
int tests_main (int argc, char *argv[]);

#endif /* PROBE_TESTS_H */
