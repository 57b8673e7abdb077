/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collect the counters of both ends of all cables from the live fabric.
 *
 * By LID: PerfMgt's Get alone, so that nothing is reset. Of each switch and of
 * each adapter's port it is first asked who has that LID, since counters do
 * not tell whose they are, and what its agents can: then PortCounters of each
 * port with a cable, unless PortCountersExtended has it all; the latter where
 * there is one; and PortInfoExtended, for the FEC mode, where there is that.
 */
#ifndef IBQUERY_COLLECT_H
#define IBQUERY_COLLECT_H

#include "ibquery/fabric.h"
#include "ibquery/links/counters.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* Of ports that do not answer nothing is told. NULL with err where another
 * node answers than the fabric says, which is out of date then, or where the
 * engine ended.
 */
struct counters *collect (struct mads *m, const struct fabric *f,
                          struct error *err);

#endif /* IBQUERY_COLLECT_H */
