/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collect the counters of both ends of all cables from the live fabric.
 *
 * By LID, with PerfMgt's Get only, so nothing is reset. First each switch and
 * each adapter port is asked for its GUID, because counters do not contain it,
 * and for the capabilities of its agents. Then, for each port with a cable:
 * PortCounters, unless PortCountersExtended contains everything;
 * PortCountersExtended if it exists; and PortInfoExtended, for the FEC mode, if
 * it exists.
 */
#ifndef IBQUERY_COLLECT_H
#define IBQUERY_COLLECT_H

#include "ibquery/fabric.h"
#include "ibquery/links/counters.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* Ports that do not answer have no counters. NULL with err if another node
 * answers than the fabric has there (the fabric is out of date), or if the
 * engine ended.
 */
struct counters *collect (struct mads *m, const struct fabric *f,
                          struct error *err);

#endif /* IBQUERY_COLLECT_H */
