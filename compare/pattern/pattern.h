/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pattern: who exchanges messages with whom, step by step.
 *
 * Made by options, or of a plan or of given pairs. Read by probe/exchange and
 * by `pmm plan`. No file of its own: it follows from its kind, the hosts and
 * the seed; steps are computed when asked for and never stored.
 *
 * n processes are the integers 0 .. n-1. In a pair, a initiates. No process
 * is in two pairs of a step, save in the whole topologies, which are one step
 * of all their pairs. The other kinds come twice: in the second half of the
 * steps, the roles of each pair are swapped.
 *
 * What each kind is (h = floor(n/2)):
 *
 *   one-factor         every pair once in n-1 steps of h pairs; n odd: in n
 *                      steps, in each of which another process has a bye
 *   bisection          the first h processes with each of the others once, in
 *                      n-h steps of h pairs; n odd: one of those has a bye
 *   by-host            groups are the processes of a host. All of a group
 *                      exchange with one other group in a step; groups are
 *                      paired by one-factor, and their pairs iterated over as
 *                      many steps as the larger one has processes. A pair of
 *                      groups that is done before the others of its turn is
 *                      idle. Pairs within a host are left out
 *   by-host-bisection  the same, groups paired by bisection
 *   one-to-one         every pair once, one a step, in the order of one-factor
 *   all-to-all         whole: everyone to everyone, itself included
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

#include "core/plan/plan.h"
#include "util/error.h"

enum pattern_kind {
    PATTERN_ONE_FACTOR,
    PATTERN_BISECTION,
    PATTERN_BY_HOST,
    PATTERN_BY_HOST_BISECTION,
    PATTERN_ONE_TO_ONE,
    PATTERN_ALL_TO_ALL,
    PATTERN_STAR,
    PATTERN_RING,
    PATTERN_COMPLETE,
    PATTERN_KINDS,
};

enum { PATTERN_PROCESSES_MAX = 65535 };

struct pattern_options {
    uint64_t seed;
    /* Number the processes in an order by the seed, within hosts and hosts
     * among each other too, and take the steps in one. Which processes a plan
     * or given pairs name stays as it is.
     */
    bool shuffle;
};

struct pattern;

/* The name of a kind; the kind of a name, -1 where there is none; one line
 * about it; whether it is a whole topology.
 */
const char *pattern_name (enum pattern_kind kind);
int pattern_find (const char *name);
const char *pattern_help (enum pattern_kind kind);
bool pattern_whole (enum pattern_kind kind);

/* A pattern of n processes, 2 to PATTERN_PROCESSES_MAX. host[i] is the number
 * of the host of process i, any number; NULL: each has a host of its own.
 * opts NULL: nothing is shuffled. NULL with err.
 */
struct pattern *pattern_create (enum pattern_kind kind, uint32_t n,
                                const uint32_t *host,
                                const struct pattern_options *opts,
                                struct error *err);

/* The rounds of a plan as steps, "pmm". The plan is borrowed; process[e], which
 * is copied, is the process of its endpoint e < nendpoints. NULL with err, also
 * where a process would be in two pairs of a round.
 */
struct pattern *pattern_of_plan (const struct plan *plan,
                                 const uint32_t *process, size_t nendpoints,
                                 uint32_t n,
                                 const struct pattern_options *opts,
                                 struct error *err);

/* Given pairs, copied, one a step, as they are: no step with roles swapped.
 * NULL with err.
 */
struct pattern *pattern_of_pairs (const struct probe *pair, size_t npairs,
                                  uint32_t n,
                                  const struct pattern_options *opts,
                                  struct error *err);

void pattern_destroy (struct pattern *p);

uint32_t pattern_processes (const struct pattern *p);

/* Steps, with those where roles are swapped; 0 where there are no pairs, as
 * between the processes of a single host by-host.
 */
uint64_t pattern_steps (const struct pattern *p);

/* Steps before the roles are swapped: step s + pattern_turn () has the pairs
 * of step s, swapped. As many as pattern_steps () where they never are.
 */
uint64_t pattern_turn (const struct pattern *p);

/* Pairs of a step at most: how many pair[] of pattern_step must hold. */
uint32_t pattern_width (const struct pattern *p);

/* The pairs of a step, step < pattern_steps (); their number, at least 1.
 * Takes time in proportion to pattern_width.
 */
uint32_t pattern_step (const struct pattern *p, uint64_t step,
                       struct probe *pair);

/* Who measures in a pass of a noise test, and who disturbs: a goal pair is
 * measured while noise processes exchange messages among themselves, all to
 * all; the other processes are idle.
 *
 * Draw for a pass, each afresh, of n processes, 2 at least: process[0] and
 * process[1] are the goal pair, of which the first initiates; the nnoise
 * behind them, n-2 at most, are the noise processes; the rest, up to
 * process[n - 1], are idle. goal NULL: the pair is drawn as well. The same seed
 * and pass draw the same. Return 0, or -1 with err.
 */
int noise_draw (uint32_t n, uint32_t nnoise, const struct probe *goal,
                uint64_t seed, uint64_t pass, uint32_t *process,
                struct error *err);

#endif /* COMPARE_PATTERN_H */
