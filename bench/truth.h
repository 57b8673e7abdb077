/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth: a 3-tree whose cables and hosts take what was drawn, on days with
 * a noise, and what happens to it. localise and drains measure it.
 */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/samples/noise.h"
#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "util/rng.h"

struct network_case {
    const char *name;
    unsigned int ports; /* of a 3-tree */
    size_t hosts;       /* of a job; 0: all */
};

/* The last has no name. */
extern const struct network_case network_cases[];

/* NULL: there is none of that name. */
const struct network_case *network_case_find (const char *name);

/* A faulty cable is one between switches. */
enum fault { FAULT_LINK, FAULT_ARC, FAULT_SWITCH, FAULT_ROUTE, FAULT_HOST_END,
             FAULT_CABLE };

/* Changes that are not faults. profile1, profile4: so many hosts are 1 us slower each way,
 * their loopbacks too; fec5, fec100: so many percent of the links take 100 to
 * 200 ns more; long2: 2 % of the links are 30 m longer; firmware: a switch
 * takes 50 ns more; lft5: 5 % of the tables' entries are others.
 */
enum change { CHANGE_NONE, CHANGE_PROFILE, CHANGE_FEC, CHANGE_LENGTH,
              CHANGE_FIRMWARE, CHANGE_ROUTES };

struct condition {
    const char *name;
    int faults;
    enum fault kind;
    double excess_ns;
    bool blind; /* no baseline */
    bool busy;
    bool bend; /* and a route that is wrong crosses the fault */
    const struct noise_kind *noise;
    enum change change;
    double share; /* of what changes; profiles: how many */
};

/* Read "NOISE/FAULT"; the word is borrowed. False: it names no case. */
bool condition_parse (struct condition *c, const char *word);

struct truth {
    struct fabric *f;      /* the snapshot */
    struct fabric *actual; /* the same, but for tables that are others */
    const struct network *net;
    bool moved; /* messages go by `actual` */
    struct rng rng;
    double *latency;  /* [nlinks] */
    double *loopback; /* [nendpoints] */
};

void truth_open (struct truth *t, const struct network_case *net,
                 enum routing routing, uint64_t seed);
void truth_close (struct truth *t);

/* Draw what cables and loopbacks take, by hosts of several kinds where
 * `mixed`.
 */
void truth_draw (struct truth *t, bool mixed);

/* A cable between switches that a job uses. */
uint32_t truth_cable (struct truth *t, struct pathset *job);

/* Make the links of a host slower, and its loopback. */
void truth_slow_host (struct truth *t, const char *host, double ns,
                      double loopback_ns);

/* Make a change that is not a fault, but that of the tables: to the first of these
 * hosts, to a switch of the job, to links anywhere.
 */
void truth_change (struct truth *t, const struct condition *c,
                   struct pathset *job, const char *const *host, size_t n);

/* Measure by a plan, on a day of this noise (NULL: what sim has), which knows
 * loopbacks or not.
 */
struct samples *truth_measure (const struct truth *t, const struct pathset *ps,
                               const struct plan *plan,
                               const struct noise_kind *noise, bool loopbacks,
                               struct simulate_options sim);

/* For main: an argument; one that names nothing ends the program. */
enum routing routing_argument (const char *word);
_Noreturn void no_case (const char *word);

#endif /* BENCH_TRUTH_H */
