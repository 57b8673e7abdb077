/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Party: one process among those of a test. Which functions take one are
 * called by all processes at the same time, with the same arguments but for
 * what only process 0 has.
 */
#ifndef PROBE_EXCHANGE_PARTY_H
#define PROBE_EXCHANGE_PARTY_H

#include <stdint.h>

#include "probe/exchange/comm.h"
#include "probe/exchange/keep.h"
#include "util/progress.h"

struct party {
    const struct comm *comm;
    void *c;
    uint32_t me, n;           /* of n processes this is me */
    const uint32_t *by_host;  /* [n] all, those of a host together: sorted by
                                 its name, then by number */
    struct progress progress; /* at process 0, on a terminal */
    struct keep *keep;        /* at process 0, of the series; or NULL */
};

#endif /* PROBE_EXCHANGE_PARTY_H */
