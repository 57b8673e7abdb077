/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Observations: one RTT with its variance per measured row, from the quantiles
 * that both initiators measured. The solver and the judge read samples through
 * this.
 */
#ifndef CORE_OBSERVE_H
#define CORE_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/samples.h"
#include "util/error.h"

#define SWITCH_FIGURE 150.0 /* ns: about what a switch and a few metres take */

/* Two more values besides the quantiles. RTT_MIDDLE is the mean of median and
 * quartiles, which scatters less than the median. RTT_FASTEST is the least of
 * all repeats from both sides, since traffic only adds; its variance comes from
 * how well the two sides agree, and from how far the first quartile is above it
 * (doubt_ns). A single repeat far below others that agree is a clock step, and
 * is ignored. If middles scatter clearly less, it is estimated from the middles
 * of the rounds without traffic.
 */
enum { RTT_MIDDLE = RTT_COUNT, RTT_FASTEST };

/* All samples of one pair in one round (RTT_FASTEST: in all rounds): the
 * weighted mean of those that agree with the lowest within four standard
 * deviations. A disturbance only makes an RTT longer: the higher side was
 * disturbed.
 *
 * RTT_FASTEST: where the ends share a clock, each direction is an observation
 * of its own: twice the time from a to b, with the row that has each of these
 * crossings twice. So its numbers compare with those of round trips. Both
 * together say what the round trip does, and by how much the ways differ.
 */
struct observation {
    uint32_t a, b;
    bool oneway;         /* from a to b, the other direction is next to it */
    uint32_t round;      /* of the plan */
    uint32_t rounds;     /* for RTT_FASTEST: in which it was measured */
    uint32_t repeats;    /* that were not lost */
    double rtt_ns;
    double var;          /* of rtt_ns, ns^2 */
    double doubt_ns;     /* for RTT_FASTEST, included in var: what others'
                            traffic may have added to all repeats */
    bool tight;          /* for RTT_FASTEST: no traffic in its repeats */
    bool quiet;          /* likewise: none in a quarter of those of a round */
    size_t n;            /* entries of the row */
    const uint32_t *link;
    const uint8_t *count;
    const uint8_t *forth;
    double within;       /* cables that it crosses within places, on average:
                            they are not in the row */
    double apart;        /* with those that are certain ones of a bundle */
    uint64_t ends;       /* if apart > 0: rows with the same cross the same of
                            these cables */
};

struct observations {
    struct observation *v;
    size_t n;
    double sigma_ns;     /* of one repeat, pooled; 0: not known */
    uint64_t sent, lost; /* repeats, over all samples */
    size_t silent;       /* rows without any answer: not in v */
    size_t pairs;        /* RTT_FASTEST: in v */
    uint32_t *link;      /* storage of the rows */
    uint8_t *count;
    uint8_t *forth;
};

/* The instrument's accuracy: in ns, and as a share of the median RTT;
 * independent errors that repeats do not reduce. { 0 }: from the repeats alone.
 */
struct accuracy {
    double ns;
    double of_reading;
};

/* What the judge and baselines assume of it. */
extern const struct accuracy observe_accuracy;

/* Make observations from samples of endpoints of ps: of a quantile, RTT_MIDDLE
 * or RTT_FASTEST. The variance comes from the samples' own quartiles and the
 * pooled ones, and is at least what the accuracy gives; 1 if there is neither.
 * ps NULL: without their rows, which combine_add does not need. 0, or -1 with
 * err; then observations_clear.
 */
int observe (struct observations *o, const struct pathset *ps,
             const struct samples *samples, int quantile,
             const struct accuracy *accuracy, struct error *err);
void observations_clear (struct observations *o);

/* By pairs; of a pair its round trip, or the way from its smaller end, then that
 * back: RTT_FASTEST's and combine's are sorted so.
 */
int compare_observations (const void *va, const void *vb);

/* By how much all round trips take longer in rounds from `first` on: the median
 * over pairs that were measured before, too, of the whole; or of what it is per
 * crossing of a link and time, in units of the rounds before, if that scatters
 * less. 0 if they do not show it, with three standard deviations. 0, or -1 with
 * err.
 */
struct stage_shift {
    double ns, drift_ns; /* one of them is 0 */
};
int observe_stage (struct stage_shift *shift, const struct pathset *ps,
                   const struct samples *samples, size_t first,
                   struct error *err);

/* Time of an endpoint's loopbacks over a run, as RTT_FASTEST. */
struct loopback_time {
    double ns; /* NAN: it has none */
    double sd;
};

/* Fill time [endpoints of ps]. */
void observe_loopbacks (const struct samples *samples, size_t nendpoints,
                        struct loopback_time *time);

/* Fill in the rows of observations whose endpoints are set. Return 0, or -1
 * with err.
 */
int observe_rows (struct observations *o, const struct pathset *ps,
                  struct error *err);

/* Combine: merge observations of many times into one per row. Links that no
 * single set determines can then be solved from all together.
 */
struct combine;
struct combine *combine_create (void);
void combine_destroy (struct combine *c);

/* Add observations between endpoints of one set of paths, with a share, 0 <
 * share <= 1, of their weight, for data that may be out of date. An RTT that is
 * within four standard deviations of nothing is left out: others' traffic took
 * most of it, and links that no other row determines are better in sums.
 */
void combine_add (struct combine *c, const struct observations *o,
                  double share);

/* One observation per pair, in the order of their ends, so that rows of
 * neighbours are next to each other: the weighted mean, in round 0, with its
 * variance, increased for all if the typical pair scatters more. If only a few
 * do, something changed: that shows in their means. 0, or -1 with err; then
 * observations_clear.
 */
int combine_finish (const struct combine *c, const struct pathset *ps,
                    struct observations *o, struct error *err);

#endif /* CORE_OBSERVE_H */
