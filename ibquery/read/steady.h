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

/* What the subnet manager does. */
struct steady_sm {
    uint64_t guid;       /* 0: none answers as master */
    uint32_t act_count;  /* MADs that it had sent */
    uint32_t own;        /* of them, to each of our questions: 0 or 1 */
};

/* Ask the subnet manager of the own port, until it sends nothing but answers
 * to us, or for wait_ms. Return 1 where it is quiet, 0 where it is not or there
 * is none (sm->guid is 0), -1 with err: the own port does not answer, a limit
 * of the engine is met.
 */
int steady_sm_wait (struct mads *m, unsigned int wait_ms,
                    struct steady_sm *sm, struct error *err);

/* Whether it is the same, and has sent nothing since but the answer to us.
 * *sm is what it is now. Return 1, 0 where that cannot be said, -1 with err.
 */
int steady_sm_same (struct mads *m, struct steady_sm *sm, struct error *err);

#endif /* IBQUERY_STEADY_H */
