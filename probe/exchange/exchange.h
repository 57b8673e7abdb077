/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of exchange between two processes, over any comm's messages.
 *
 *     round-trip  a message there, and when it is there one back
 *     one-way     all messages there, then as many back: one direction at a
 *                 time
 *     both-ways   a message each way at once, and wait for both
 *     async       as both-ways, but many of them at once
 *
 * Of one exchange alone the first two are the same, and so are the last two.
 * Half of the duration of a round trip without bytes is the latency; N
 * exchanges of L bytes in T have the rate 2 N L / T.
 */
#ifndef PROBE_EXCHANGE_EXCHANGE_H
#define PROBE_EXCHANGE_EXCHANGE_H

#include <stdio.h>

#include "probe/exchange/comm.h"

/* The kind of this name: the comm's own, or else the generic one. NULL with
 * err, which names all that there are.
 */
const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err);

/* Kind i of a comm, its own first; NULL: there are no more. */
const struct comm_exchange *exchange_at (const struct comm *comm, size_t i);

#endif /* PROBE_EXCHANGE_EXCHANGE_H */
