/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Observations: one RTT with its variance per measured row, out of the
 * quantiles that both initiators took. What the solver and the judge read
 * samples through.
 */
#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/samples.h"
#include "util/error.h"

/* In place of a quantile: RTT_MIDDLE, the mean of median and quartiles. It
 * scatters less than the median and is moved as little by what disturbs less
 * than a quarter of the repeats. RTT_FASTEST, the least of all repeats from both
 * sides, since traffic only ever adds: as sure as two sides' least repeats agree
 * in the run, and less so where the median of the better side is far above it:
 * then the least repeat may have waited, too (doubt_ns). A single repeat far
 * below others that agree is a step of a clock, and not the least.
 */
enum { RTT_MIDDLE = RTT_COUNT, RTT_FASTEST };

/* All samples of one pair in one round (RTT_FASTEST: in all rounds), taken
 * together: the mean of those
 * that agree with the lowest within four standard deviations, weighted. What
 * disturbs an RTT makes it longer, so a side that stands above the other is
 * the side that was disturbed.
 */
struct observation {
    uint32_t a, b;
    uint32_t round;      /* of the plan */
    uint32_t rounds;     /* of RTT_FASTEST: that it was measured in */
    uint32_t repeats;    /* that came back */
    double rtt_ns;
    double var;          /* of rtt_ns, ns^2 */
    double doubt_ns;     /* of RTT_FASTEST, and within var: what others'
                            traffic may have added to all repeats alike */
    bool tight;          /* of RTT_FASTEST: no traffic shows in its repeats */
    size_t n;            /* entries of the row */
    const uint32_t *link;
    const uint8_t *count;
    const uint8_t *forth;
};

struct observations {
    struct observation *v;
    size_t n;
    double sigma_ns;     /* of one repeat, pooled; 0: none seen */
    uint64_t sent, lost; /* repeats, over all samples */
    size_t silent;       /* rows of which nothing came back: not in v */
    uint32_t *link;      /* the rows' storage */
    uint8_t *count;
    uint8_t *forth;
};

/* How well an RTT is measured at best, as instruments say it: to so many ns,
 * and to a share of a usual reading (the median). Both count, as independent
 * errors; repeats do not make them smaller. { 0 }: as the repeats say.
 */
struct accuracy {
    double ns;
    double of_reading;
};

/* Take samples of endpoints of ps, of each a quantile or RTT_MIDDLE. The
 * variance comes from the samples' own quartiles and the pooled ones; it is at
 * least what the accuracy says, and 1 everywhere where neither gives any.
 * Return 0, or -1 with err; observations_clear is due in both cases.
 */
int observe (struct observations *o, const struct pathset *ps,
             const struct samples *samples, int quantile,
             const struct accuracy *accuracy, struct error *err);
void observations_clear (struct observations *o);

/* What an endpoint's loopbacks took over a run, as RTT_FASTEST. */
struct loopback_time {
    double ns; /* NAN: it has none */
    double sd;
};

/* Fill time [endpoints of ps]. */
void observe_loopbacks (const struct samples *samples, size_t nendpoints,
                        struct loopback_time *time);

/* Fill in the rows of observations whose endpoints are known. Return 0, or -1
 * with err.
 */
int observe_rows (struct observations *o, const struct pathset *ps,
                  struct error *err);

#endif /* CORE_OBSERVE_H */
