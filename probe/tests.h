/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tests of pmm-probe: pairs, topology, noise (probe/exchange), between the
 * nodes of a job step, over verbs or the emulator. With a snapshot, pattern pmm
 * needs no plan, and its predictions for all pairs are compared with the
 * measurements of other patterns in the same run.
 */
#include <stdbool.h>

/* Whether this is the name of a test; run the test argv[0] with its options,
 * and return the exit status.
 */
bool tests_named (const char *name);
int tests_main (int argc, char *argv[]);
