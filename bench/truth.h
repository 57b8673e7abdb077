/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The truth: a 3-tree with drawn latencies of cables and hosts, on days with a
 * kind of noise, and its changes. localise and drains measure it.
 */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "util/rng.h"

struct network_case {
    const char *name;
    unsigned int ports; /* of a 3-tree; 0: a dragonfly of 72 hosts */
    size_t hosts;       /* of a job; 0: all */
    unsigned int prune; /* percentage of the cables that lack */
};

/* The last has no name. */
extern const struct network_case network_cases[];

/* NULL: there is no such name. */
const struct network_case *network_case_find (const char *name);

/* A faulty cable is one between switches. */
enum fault { FAULT_LINK, FAULT_ARC, FAULT_SWITCH, FAULT_ROUTE, FAULT_HOST_END,
             FAULT_CABLE };

/* Changes that are not faults. profile1, profile4: this many hosts are 1 us
 * slower each way, their loopbacks too; fec5, fec100: this percentage of the
 * links takes 100 to 200 ns more; long2: 2 % of the links are 30 m longer;
 * firmware: a switch takes 50 ns more; lft5: 5 % of the tables' entries differ.
 * missed1, faster1, slower1: an upgrade left out this many hosts of the job; the
 * loopbacks of all others are 700 ns slower, or their links take 400 ns less, or
 * more, each way.
 */
enum change { CHANGE_NONE, CHANGE_PROFILE, CHANGE_FEC, CHANGE_LENGTH,
              CHANGE_FIRMWARE, CHANGE_ROUTES, CHANGE_MISSED, CHANGE_FASTER,
              CHANGE_SLOWER };

struct condition {
    const char *name;
    int faults;
    enum fault kind;
    double excess_ns;
    bool blind; /* no baseline */
    bool busy;
    bool bend; /* also a wrong route that crosses the fault */
    bool flows, stay; /* others' flows; they are the same in all audits */
    const struct noise_kind *noise;
    enum change change;
    double share; /* share of what changes; hosts: how many */
};

/* Parse "NOISE/FAULT"; the word is borrowed. Besides the noises of simulate,
 * "flows" and "flows-stay" are calm days with truth_flows, new ones in each audit
 * or not. False: no such case.
 */
bool condition_parse (struct condition *c, const char *word);

struct truth {
    struct fabric *f;      /* the snapshot */
    struct fabric *actual; /* the same, except for tables that changed */
    const struct network *net;
    bool moved; /* messages follow `actual` */
    struct rng rng;
    double *latency;  /* [nlinks] */
    double *loopback; /* [nendpoints] */
    struct emu_model *others; /* their flows; NULL: none */
};

void truth_open (struct truth *t, const struct network_case *net,
                 enum routing routing, uint64_t seed);
void truth_close (struct truth *t);

/* Draw the latencies of cables and loopbacks; `mixed`: for hosts of several
 * kinds.
 */
void truth_draw (struct truth *t, bool mixed);

/* A cable between switches that a job uses. */
uint32_t truth_cable (struct truth *t, struct pathset *job);

/* Make the links of a host slower, and its loopback. */
void truth_slow_host (struct truth *t, const char *host, double ns,
                      double loopback_ns);

/* Make a change that is not a fault, except that of the tables: to the first of
 * these hosts, to a switch of the job, to any links.
 */
void truth_change (struct truth *t, const struct condition *c,
                   struct pathset *job, const char *const *host, size_t n);

/* Begin 49 to 112 flows among hosts outside a job, in place of others; each
 * offers a share of .2 to 1 of its host's link. Messages wait for them as in the
 * emulator.
 */
void truth_flows (struct truth *t, const struct pathset *job);
void truth_no_flows (struct truth *t);

/* Measure by a plan, on a day with this noise (NULL: that of sim), with or
 * without loopbacks.
 */
struct samples *truth_measure (const struct truth *t, const struct pathset *ps,
                               const struct plan *plan,
                               const struct noise_kind *noise, bool loopbacks,
                               struct simulate_options sim);

/* For main: parse an argument; an unknown word ends the program. */
enum routing routing_argument (const char *word);
_Noreturn void no_case (const char *word);

#endif /* BENCH_TRUTH_H */
