/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether tables and cables are of one time: a switch that has a route to an
 * adapter's or router's LID sends it there, over whatever other switches. Where
 * a cable was moved between two dumps, or a dump has something else in the
 * place of what could not be read, some do not.
 */
#ifndef IBQUERY_IMPORT_DELIVER_H
#define IBQUERY_IMPORT_DELIVER_H

#include "ibquery/fabric.h"

/* The entry that is wrong: a switch's, and in words what becomes of the LID. */
struct deliver_fault {
    uint32_t node;
    unsigned int lid;
    unsigned int port;
    const char *why;
};

/* f is being built, with its cables and tables; `port` is the port that a LID
 * belongs to, FABRIC_NONE: none's, or a switch's. Return 1 if all is well, 0
 * with the fault where not, -1 with err where there is no memory.
 */
int deliver_check (const struct fabric *f, const uint32_t *port,
                   struct deliver_fault *fault, struct error *err);

#endif /* IBQUERY_IMPORT_DELIVER_H */
