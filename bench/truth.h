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

/* What a faulty link does to messages, each time that one crosses it.
 *   slow       adds the excess
 *   tail       adds 1 to 10 us to a share; to less than a tenth, 2 to 20 us
 *   alternate  adds the excess to those of every other round trip
 *   warm       adds up to the excess, more in each round of the first stage
 *   drop       loses a share
 */
enum ailment { AILS_SLOW, AILS_TAIL, AILS_ALTERNATE, AILS_WARM, AILS_DROP };

/* What happens that is not a fault. N: a number after the name; "host": of the
 * job, not the faulty one.
 *   profileN     N hosts are 1 us slower each way, their loopbacks too
 *   fecN         N % of the links take 100 to 200 ns more
 *   longN        N % of the links are 30 m longer
 *   firmware     a switch takes 50 ns more
 *   lftN         N % of the tables' entries differ
 *   missedN,     an upgrade left out N hosts: the loopbacks of all others are
 *   fasterN,       700 ns slower, or their round trips 800 ns faster,
 *   slowerN        or slower
 *   loophalfN    a host's round trips are N ns slower, its loopback by half of
 *                that
 *   recableN     N cables between switches take up to 300 ns more or less
 *   warmN        during the first stage links get slower by N ns
 *   stageN       round trips of the second stage take N ns more
 *   repairedN    a cable between switches was N ns slower and is mended
 *   badbaseN     it was, and still is
 *   leafN        the switch of the faulty host, or of one, takes N ns more
 *   spineN       so does a switch without hosts
 */
enum change { CHANGE_NONE, CHANGE_PROFILE, CHANGE_FEC, CHANGE_LENGTH,
              CHANGE_FIRMWARE, CHANGE_ROUTES, CHANGE_MISSED, CHANGE_FASTER,
              CHANGE_SLOWER, CHANGE_LOOPBACK, CHANGE_RECABLE, CHANGE_WARM,
              CHANGE_STAGE, CHANGE_REPAIRED, CHANGE_BASELINE, CHANGE_LEAF,
              CHANGE_SPINE };

struct condition {
    const char *name;
    int faults;
    enum fault kind;
    enum ailment ails;
    double excess_ns;
    double lost;  /* share of the messages that are slow or lost */
    bool blind; /* no baseline */
    bool busy;
    bool bend; /* also a wrong route that crosses the fault */
    bool flows, stay; /* others' flows; they are the same in all audits */
    bool uneven; /* the directions of links differ */
    const struct noise_kind *noise;
    enum change change;
    double amount; /* the number of the change */
};

/* Parse "NOISE/WORD", or with both a change and a fault: "NOISE/WORD/WORD"; the
 * text is borrowed. Besides the noises of simulate, "flows" and "flows-stay" are
 * calm days with truth_flows, new ones in each audit or not; on "asym60", a calm
 * day, directions of links differ by 60 ns. False: no such case.
 */
bool condition_parse (struct condition *c, const char *text);

struct truth {
    struct fabric *f;      /* the snapshot */
    struct fabric *actual; /* the same, except for tables that changed */
    const struct network *net;
    bool moved; /* messages follow `actual` */
    struct rng rng;
    double *latency;  /* [nlinks] */
    double *arc;      /* [2 * nlinks] what each direction takes more */
    double *loopback; /* [nendpoints] */
    struct emu_model *others; /* their flows; NULL: none */
    struct background *background; /* as that has it; NULL */
    uint32_t past;   /* cable that was slow before; NETWORK_NONE: none */
    uint32_t ailing; /* link; NETWORK_NONE: none */
    const struct condition *now; /* what has begun; NULL: nothing has */
};

void truth_open (struct truth *t, const struct network_case *net,
                 enum routing routing, uint64_t seed);
void truth_close (struct truth *t);

/* Draw the latencies of cables and loopbacks, as the condition has it before
 * anything changes. Nothing has begun.
 */
void truth_draw (struct truth *t, const struct condition *c,
                 struct pathset *job);

/* A cable between switches that a job uses. */
uint32_t truth_cable (struct truth *t, struct pathset *job);

/* Make the links of a host slower, and its loopback. */
void truth_slow_host (struct truth *t, const char *host, double ns,
                      double loopback_ns);

/* Begin the change, except that of the tables, and how the ailing link delays or
 * loses messages. Hosts of the job, the faulty one first.
 */
void truth_begin (struct truth *t, const struct condition *c,
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
