/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One consistent reading of a whole fabric that may change meanwhile.
 *
 * A subnet manager that is at work is waited for. A reading is good where
 * nothing can have changed during it: the subnet manager has sent nothing
 * (SMInfo's ActCount), and no switch tells of a port that changed (SwitchInfo's
 * PortStateChange) or has another table. Where these cannot tell, because
 * there is no subnet manager, or it sent something, or a switch has a change
 * that it has not seen, a second reading of everything must be equal.
 *
 * A subnet manager that has not seen a change yet is given time to; and where
 * tables still lead to hosts or switches by ports that lead nowhere, the third
 * equal reading is good, with a warning.
 */
#ifndef IBQUERY_STEADY_H
#define IBQUERY_STEADY_H

#include "ibquery/fabric.h"
#include "ibquery/read/explore.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* Returns a finished fabric, or NULL with err (ERROR_WORLD): what is missing,
 * or that no two readings agree. `source` is for the fabric.
 */
struct fabric *steady_read (struct mads *m, const char *source,
                            struct error *err);

/* The same of what one reading is to ask for. `ask` returns 0, -1 with err, or
 * 1 with err where it is no use trying again.
 */
struct steady_how {
    int (*ask) (void *arg, struct explore *e, struct error *err);
    void *arg;
};
struct fabric *steady_read_by (struct mads *m, const char *source,
                               const struct steady_how *how,
                               struct error *err);

#endif /* IBQUERY_STEADY_H */
