/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the members of an audit say of their ports: pmm-probe --audit prints
 * it on standard error, a line a port,
 *
 *     pmm-port 1 NONCE GUID/PORT STATE PHYS RATE [COUNTER=VALUE]...
 *
 * by the node's GUID, and states as in PortInfo; the audit that has the nonce
 * enters it in the ledger. Behind what it measured, a line for each port where
 * messages waited meanwhile: by how much PortXmitWait grew.
 *
 *     pmm-wait 1 NONCE GUID/PORT TICKS
 */
#ifndef PROLOG_PORTS_H
#define PROLOG_PORTS_H

#include <stdbool.h>
#include <stdio.h>

#include "prolog/node/local.h"

/* Say it of this node's ports of InfiniBand, as sysfs has them. */
void ports_say (const char *sysfs, const char *nonce, FILE *fp);

/* Whether a line, without its end, is one with that nonce; then *port is what
 * it says. Of the counters those that it does not know are passed over.
 */
bool ports_parse (const char *line, const char *nonce,
                  struct local_port *port);

/* Say who waited, against what n ports were before. */
void ports_say_waits (const char *sysfs, const char *nonce,
                      const struct local_port *before, size_t n, FILE *fp);

/* Whether a line, without its end, says that; then *port is the one that
 * waited, and has how long as its PortXmitWait.
 */
bool ports_parse_wait (const char *line, const char *nonce,
                       struct local_port *port);

#endif /* PROLOG_PORTS_H */
