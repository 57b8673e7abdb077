/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pattern: which processes exchange messages in each step.
 *
 * Made from options, a plan or given pairs. Read by compare/exchange and by `pmm
 * plan`. It has no file: its kind, the hosts and the seed determine it. Steps
 * are computed on request and never stored.
 *
 * n processes are the integers 0 .. n-1. In a pair, a initiates. No process is
 * in two pairs of a step, except in the whole topologies, which are a single
 * step with all their pairs. The other kinds run twice: in the second half of
 * the steps, the roles of each pair are swapped.
 *
 * The kinds (h = floor(n/2)):
 *
 *   one-factor         every pair once in n-1 steps of h pairs; n odd: in n
 *                      steps, in each of which another process is idle
 *   bisection          each of the first h processes with each of the others
 *                      once, in n-h steps of h pairs; n odd: one of the others
 *                      is idle in each step
 *   by-host            groups are the processes of a host. In a step, each
 *                      group exchanges with one other group. One-factor pairs
 *                      the groups; a pair of groups takes as many steps as the
 *                      larger one has processes. A pair of groups that ends
 *                      before the others of its turn is idle. Pairs within a
 *                      host are left out
 *   by-host-bisection  the same, with groups paired by bisection
 *   one-to-one         every pair once, one per step, ordered as one-factor
 *   all-to-all         whole: every process to every process, itself included
 *   star               whole: the first process to each of the others
 *   ring               whole: each process to the next, the last to the first
 *   complete           whole: every pair, from the lower to the higher one
 *
 * Sources: one-factors by the circle method (Kirkman, "On a problem in
 * combinations", 1847).
 */
#ifndef COMPARE_PATTERN_H
#define COMPARE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "util/error.h"
#include "util/rng.h"

enum pattern_kind {
    PATTERN_ONE_FACTOR, PATTERN_BISECTION, PATTERN_BY_HOST,
    PATTERN_BY_HOST_BISECTION, PATTERN_ONE_TO_ONE, PATTERN_ALL_TO_ALL,
    PATTERN_STAR, PATTERN_RING, PATTERN_COMPLETE, PATTERN_KINDS,
};

enum { PATTERN_PROCESSES_MAX = 65535 };

struct pattern_options {
    uint64_t seed;
    /* Number the processes in an order drawn from the seed, within each host
     * and hosts among each other, and order the steps in the same way. The
     * processes that a plan or given pairs name stay as they are.
     */
    bool shuffle;
};

struct pattern;

/* The name of a kind; the kind with a name, -1 if there is none; one line of
 * help for it; whether it is a whole topology.
 */
const char *pattern_name (enum pattern_kind kind);
int pattern_find (const char *name);
const char *pattern_help (enum pattern_kind kind);
bool pattern_whole (enum pattern_kind kind);

/* A pattern of n processes, 2 to PATTERN_PROCESSES_MAX. host[i] is the number
 * of the host of process i, any number; NULL: each process has its own host.
 * opts NULL: nothing is shuffled. NULL with err.
 */
struct pattern *pattern_create (enum pattern_kind kind, uint32_t n,
                                const uint32_t *host,
                                const struct pattern_options *opts,
                                struct error *err);

/* The rounds of a plan as steps, "pmm". The plan is borrowed. process[e], which
 * is copied, is the process of endpoint e < nendpoints. NULL with err, for
 * example if a process would be in two pairs of a round.
 */
struct pattern *pattern_of_plan (const struct plan *plan,
                                 const uint32_t *process, size_t nendpoints,
                                 uint32_t n,
                                 const struct pattern_options *opts,
                                 struct error *err);

/* Given pairs, copied, one per step, as they are: there are no steps with
 * swapped roles. NULL with err.
 */
struct pattern *pattern_of_pairs (const struct probe *pair, size_t npairs,
                                  uint32_t n,
                                  const struct pattern_options *opts,
                                  struct error *err);

void pattern_destroy (struct pattern *p);

uint32_t pattern_processes (const struct pattern *p);

/* Number of steps, those with swapped roles included; 0 if there are no pairs,
 * as in by-host with a single host.
 */
uint64_t pattern_steps (const struct pattern *p);

/* Number of steps before the roles are swapped: step s + pattern_turn () has
 * the pairs of step s, swapped. Equals pattern_steps () if they never are.
 */
uint64_t pattern_turn (const struct pattern *p);

/* The greatest number of pairs in a step: the size that pair[] of pattern_step
 * needs.
 */
uint32_t pattern_width (const struct pattern *p);

/* The pairs of a step, step < pattern_steps (). Returns their number, at least
 * 1. Takes time in proportion to pattern_width.
 */
uint32_t pattern_step (const struct pattern *p, uint64_t step,
                       struct probe *pair);

/* The processes of a pass of a noise test: a goal pair is measured while noise
 * processes exchange messages among themselves, all to all; the other processes
 * are idle.
 *
 * Each pass is drawn independently, from n >= 2 processes: process[0] and
 * process[1] are the goal pair, of which the first initiates; the next nnoise,
 * at most n-2, are the noise processes; the rest, up to process[n - 1], are
 * idle. goal NULL: the pair is drawn as well. The same seed and pass give the
 * same result. Return 0, or -1 with err.
 */
int noise_draw (uint32_t n, uint32_t nnoise, const struct probe *goal,
                uint64_t seed, uint64_t pass, uint32_t *process,
                struct error *err);

/* The steps of a pattern as the rounds of a plan, so that the schedules by
 * which other tools measure all pairs can be simulated, measured and solved for
 * comparison with ours.
 */
enum {
    SCHEDULE_PORTS_MAX = 4096,
    SCHEDULE_PROBES_MAX = 1 << 19, /* all pairs of 1,024 ports */
};

/* A plan whose method is the name of a kind, not a whole topology. Its
 * processes are the ports of the set, each by its first endpoint, grouped by
 * host. Roles are not swapped, as each probe is measured from both sides. Its
 * probes may share links. Its rank is that of the rows it measures; it is
 * maximal if it equals the rank of all pairs. A set of fewer than two ports
 * gives an empty plan. NULL with err.
 */
struct plan *schedule_make (struct pathset *ps, enum pattern_kind kind,
                            const struct pattern_options *opts,
                            struct error *err);

/* Order: a permutation of 0 .. n-1 from a seed. Numbers are computed one at a
 * time and not stored, for steps that are too many for an array.
 *
 * It is a balanced Feistel network (Luby, Rackoff, "How to construct
 * pseudorandom permutations from pseudorandom functions", 1988) over the least
 * even number of bits that holds n numbers. It is applied until the result is
 * below n (Black, Rogaway, "Ciphers with arbitrary finite domains", 2002):
 * fewer than four times on average. Its keys have 1,024 bits in total.
 */
enum { ORDER_ROUNDS = 16 };

struct order {
    uint64_t n;
    unsigned int half; /* bits of either half of a number */
    uint64_t key[ORDER_ROUNDS];
};

/* Draw a permutation of n numbers, n below 2^62. */
void order_draw (struct order *o, uint64_t n, struct rng *rng);

/* The number at place i, i < n. */
uint64_t order_at (const struct order *o, uint64_t i);

#endif /* COMPARE_PATTERN_H */
