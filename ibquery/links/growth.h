/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth: what a port has counted between two readings, and whether that is
 * more than a healthy cable's.
 *
 * Counters are anyone's to reset, and stop at their ends, so that growth may
 * be known from below only:
 *
 *   a counter that went back was reset, and has grown by what it shows, or
 *   more; where one of a port did, the others may have been reset, too, and
 *   have grown by the difference, or more;
 *   one that stands at its end has grown by the difference, or more;
 *   of one that stood there before, nothing is known.
 *
 * Limits. SymbolErrorCounter is held against a bit error rate,
 *
 *   errors an hour = BER * lanes * signalling rate of a lane * 3600 s
 *
 * since at such rates a bad bit is a bad symbol. The BER is 1e-12 without
 * error correction: less is what the InfiniBand specification asks of a link
 * (so NVIDIA's cabling guide, "Mixing Widths and Rates", and ibdiagnet's
 * default for --ber_thresh). With it, what is still counted was not corrected,
 * for which the specification has no figure: 1e-15 is what the same guide says
 * that cables are tested to. HDR and faster always correct; below, a port that
 * does not tell is taken as one that does not. Of a healthy link at the limit
 * the count has a Poisson distribution: a sign is what exceeds its mean by
 * five standard deviations and two errors.
 *
 * The others count events for which there is no standard, so many to a time
 * as the health check of a node lets pass (ibquery/local): one recovery,
 * local integrity error or buffer overrun an hour, ten receive errors an hour,
 * two times down in 12 hours; and as many again, since the time may begin in
 * the middle. What is counted for packets that were damaged elsewhere, for
 * congestion or for configuration is no sign of a cable.
 */
#ifndef IBQUERY_GROWTH_H
#define IBQUERY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/links/counters.h"
#include "util/rates.h"

enum growth_known {
    GROWTH_UNTOLD,   /* one of the readings does not have it */
    GROWTH_AT_END,   /* at least so much: it has stopped counting */
    GROWTH_RESET,    /* at least so much: it was reset in between */
    GROWTH_EXACT,
};

struct growth {
    enum growth_known known;
    uint64_t count;
};

/* Of one port; NULL: it is not in that reading. */
struct growth growth_of (const struct port_counters *before,
                         const struct port_counters *now,
                         enum counter_id id);

/* Seconds between two readings of any port, at most: from the earliest of one
 * to the latest of the other. 0 where `before` is not the earlier one.
 */
double growth_seconds (const struct counters *before,
                       const struct counters *now);

/* Whether growth of the counter is held against a limit. */
bool growth_is_limited (enum counter_id id);

/* How many a healthy port counts an hour at most, and how many in so many
 * seconds are no sign yet. rate is the cable's; NAN: none to be held against,
 * or the rate is not known.
 */
double growth_limit_per_hour (enum counter_id id, const struct rates *rate,
                              enum fec fec);
double growth_allowed (enum counter_id id, const struct rates *rate,
                       enum fec fec, double seconds);

#endif /* IBQUERY_GROWTH_H */
