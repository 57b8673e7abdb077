/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Growth: what a port has counted between two readings, and whether this is
 * more than a healthy cable's.
 *
 * Anybody may reset counters, and counters stop at their ends, so sometimes
 * only a lower bound is known:
 *
 *   A counter that went back was reset; it has grown by at least its value.
 *   Then the port's other counters may have been reset, too; they have grown
 *   by at least the difference.
 *   A counter at its end has grown by at least the difference.
 *   If it was at its end before, nothing is known.
 *
 * Limits. SymbolErrorCounter is compared with a bit error rate,
 *
 *   errors per hour = BER * lanes * signalling rate of a lane * 3600 s
 *
 * since at such rates one bad bit is one bad symbol. The BER is 1e-12 without
 * error correction: the InfiniBand specification demands less of a link
 * (according to NVIDIA's cabling guide, "Mixing Widths and Rates", and the
 * default of ibdiagnet --ber_thresh). With error correction, the counted errors
 * are those that were not corrected. The specification has no figure for them;
 * 1e-15 is what cables are tested to according to the same guide. HDR and
 * faster always use error correction; a slower port that does not report it
 * counts as without. For a healthy link at the limit the count has a Poisson
 * distribution: it is a sign if it exceeds the mean by five standard deviations
 * plus two errors.
 *
 * The other counters count events for which there is no standard. The limits
 * are those of a node's health check (ibquery/local): one recovery, local
 * integrity error or buffer overrun per hour, ten receive errors per hour, two
 * times down in 12 hours; and the same again, since the interval may begin in
 * the middle of such a period. Counters of packets that were damaged elsewhere,
 * of congestion or of configuration are no sign of a bad cable.
 */
#ifndef IBQUERY_GROWTH_H
#define IBQUERY_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/links/counters.h"
#include "util/rates.h"

enum growth_known {
    GROWTH_UNTOLD,   /* a reading lacks it */
    GROWTH_AT_END,   /* lower bound: it has stopped counting */
    GROWTH_RESET,    /* lower bound: it was reset in between */
    GROWTH_EXACT,
};

struct growth {
    enum growth_known known;
    uint64_t count;
};

/* The growth at one port; NULL: that reading lacks the port. */
struct growth growth_of (const struct port_counters *before,
                         const struct port_counters *now,
                         enum counter_id id);

/* Seconds between two readings of any port, at most: from the earliest answer
 * of one to the latest of the other. 0 if `before` is not the earlier one.
 */
double growth_seconds (const struct counters *before,
                       const struct counters *now);

/* Whether there is a limit for the growth of the counter. */
bool growth_is_limited (enum counter_id id);

/* The most that a healthy port counts per hour, and the most in this number of
 * seconds that is not yet a sign. rate is the cable's. NAN: there is no limit,
 * or the rate is not known.
 */
double growth_limit_per_hour (enum counter_id id, const struct rates *rate,
                              enum fec fec);
double growth_allowed (enum counter_id id, const struct rates *rate,
                       enum fec fec, double seconds);

#endif /* IBQUERY_GROWTH_H */
