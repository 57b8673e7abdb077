/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a program shows on its own terminal only: at what it works, and colours.
 *
 * Rooms that may work for more than a second say what they do. That costs next
 * to nothing, and has no effect unless the program has called terminal_start:
 * in pipes, logs, hooks and the plugin nothing is ever shown.
 */
#ifndef UTIL_TERMINAL_H
#define UTIL_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Show a progress line (util/progress.h) on standard error if that is a
 * terminal; a thread keeps it up to date. who ("pmm plan") must live as long as
 * the program.
 */
void terminal_start (const char *who);

/* Whether it shows one. */
bool terminal_shows (void);

/* One thread says so: done of `total` units of `what` ("following paths"), a
 * literal, and each takes about as long. total 0: no such units are known, so
 * that only the time so far is shown.
 */
void terminal_work (const char *what, uint64_t done, uint64_t total);

/* Take the line away, before anything is printed: until there is work again
 * (clear), or for good (end).
 */
void terminal_clear (void);
void terminal_end (void);

/* Whether what goes to standard output has colours: never at first;
 * automatically: if it is a terminal that is not dumb, and NO_COLOR is not set.
 */
enum terminal_colour { COLOUR_NEVER, COLOUR_AUTO, COLOUR_ALWAYS };
void terminal_set_colour (enum terminal_colour when);

/* The word for standard output: a level (OK, WARN, FAIL, UNKNOWN) in its colour,
 * which is a constant; any other word is returned.
 */
const char *terminal_level (const char *word);

#endif /* UTIL_TERMINAL_H */
