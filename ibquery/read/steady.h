/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A consistent reading of a whole fabric that may change in the meantime.
 *
 * If a subnet manager is busy, the reader waits for it. One reading is enough
 * if nothing can have changed during it: the subnet manager has sent nothing
 * (SMInfo's ActCount), and no switch reports a port that changed (SwitchInfo's
 * PortStateChange) or has another table. If this is not certain, because there
 * is no subnet manager, or it sent something, or a switch reports a change that
 * the subnet manager has not seen, a second reading of everything must be
 * equal.
 *
 * A subnet manager gets time to see a change. If tables still lead to hosts or
 * switches by ports that lead nowhere, the third equal reading is accepted,
 * with a warning.
 */
#ifndef IBQUERY_STEADY_H
#define IBQUERY_STEADY_H

#include "ibquery/fabric.h"
#include "ibquery/read/explore.h"
#include "ibquery/read/mads.h"
#include "util/error.h"

/* Return a finished fabric, or NULL with err (ERROR_WORLD): what is missing, or
 * that no two readings agree. `source` becomes the fabric's source.
 */
struct fabric *steady_read (struct mads *m, const char *source,
                            struct error *err);

/* The same, with a function that requests what one reading needs. `ask` returns
 * 0, -1 with err, or 1 with err if a retry is useless.
 */
struct steady_how {
    int (*ask) (void *arg, struct explore *e, struct error *err);
    void *arg;
};
struct fabric *steady_read_by (struct mads *m, const char *source,
                               const struct steady_how *how,
                               struct error *err);

#endif /* IBQUERY_STEADY_H */
