/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan: which round trips to measure, in which rounds.
 *
 * Made by plan/basis and plan/rounds (plan_make), and by core/pattern for other
 * schedules. Read by probe/ and the solver. File: JSON, kind "plan"
 * (pmm-files(5)).
 *
 * No two probes of a round share a link. The first plan_basis_rounds () rounds
 * hold a maximal independent set of the rows of all pairs, as many rows as the
 * rank. If that was too much work to find, they hold an independent set that
 * crosses every link of the job (plan_maximal). The rounds after them are
 * redundant. The last of these are the confirm stage (judge/confirm), if a
 * first stage left suspects.
 *
 * Schedules that are not made for links are plans with other rules, given by
 * their method (plan_rules).
 */
#ifndef CORE_PLAN_H
#define CORE_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "util/error.h"

struct probe {
    uint32_t a, b; /* endpoints of the pathset; a initiates first */
};

enum { PLAN_BUDGET_MAX = 1000 * 1000 };

struct plan_options {
    unsigned int extra_rounds; /* redundant rounds: 2 */
    uint64_t seed;
    /* Time to search for fewer rounds, about so many seconds: counted in work,
     * not timed, so that the plan is the same everywhere. 0: at most some tenths
     * of a second. Also bounds the work to find the rank, at least a second or
     * two.
     */
    double budget;             /* at most PLAN_BUDGET_MAX */
    bool at_once;              /* search for none: a check measures a round in
                                  milliseconds */
};

/* The rules for a plan's rounds, by its method. */
struct plan_rules {
    const char *method;
    /* Probes of a round may share links, and the rows of the basis rounds (all
     * rounds but the confirm stage) may depend on each other: the rank is
     * theirs. If the plan is not maximal, it may leave out links.
     */
    bool schedule;
    /* Probes are flows, and rounds fill links, as described in
     * core/rate/flows.h, which also checks them. The plan has no basis rounds.
     * Its targets are links that are filled, or that are not.
     */
    bool flows;
};

/* The rules of a method; NULL: unknown method. */
const struct plan_rules *plan_rules (const char *method);

struct plan;

/* Plan the measurement of all links that the set's paths use. A set of fewer
 * than two ports gives an empty plan (rank 0). The same seed and budget give
 * the same plan on every machine. If the plan is maximal, its rank is proven to
 * be that of all pairs (plan/span). NULL with err.
 */
struct plan *plan_make (struct pathset *ps, const struct plan_options *opts,
                        struct error *err);

/* Build a plan by hand: an empty plan, whose method is a string that outlives
 * it; add a probe to a round (rounds grow as needed).
 */
struct plan *plan_create (const char *method);
void plan_destroy (struct plan *plan);
void plan_add (struct plan *plan, size_t round, uint32_t a, uint32_t b);
void plan_set_rank (struct plan *plan, size_t links, size_t rank,
                    size_t basis_rounds);
/* Whether the basis rounds determine everything that the pairs can: initially
 * true.
 */
void plan_set_maximal (struct plan *plan, bool maximal);
/* The last n rounds are the confirm stage. */
void plan_set_confirm (struct plan *plan, size_t n);

/* A link that flows are to fill, and whether they do. */
struct plan_target {
    uint32_t link;
    bool filled;
};
void plan_add_target (struct plan *plan, uint32_t link, bool filled);
const struct plan_target *plan_targets (const struct plan *plan, size_t *n);

/* A copy that can be extended. */
struct plan *plan_copy (const struct plan *plan);

const char *plan_method (const struct plan *plan);
size_t plan_links (const struct plan *plan);  /* m: columns of the job */
size_t plan_rank (const struct plan *plan);
bool plan_maximal (const struct plan *plan);
size_t plan_rounds (const struct plan *plan);
size_t plan_basis_rounds (const struct plan *plan);
size_t plan_confirm_rounds (const struct plan *plan);
size_t plan_probes (const struct plan *plan); /* over all rounds */
const struct probe *plan_round (const struct plan *plan, size_t round,
                                size_t *n);

/* The least number of rounds that n ports need for a basis of that rank:
 * ceil(rank / floor(n/2)).
 */
static inline size_t plan_least_rounds (size_t n, size_t rank)
{
    return n < 2 ? 0 : (rank + n / 2 - 1) / (n / 2);
}

/* Check a plan without trusting its maker: endpoints in range, no port and no
 * link in two probes of a round, no empty round, the basis rounds independent,
 * their rank that of the plan and of all pairs of the set (computed again by
 * another elimination, over another prime), the links those of all pairs. If it
 * is not maximal, they must cross all links, instead of having the rank of all
 * pairs. What plan_rules allow is not checked; plans of flows are not accepted.
 * Return 0, or -1 with err.
 */
int plan_check (struct pathset *ps, const struct plan *plan,
                struct error *err);

/* Write; extra may be NULL. Return 0, or -1 with err. */
struct plan_file_extra { /* keys that only the planner knows; 0 omits one */
    double stderr_rms, stderr_max; /* predicted, in units of one RTT's */
    double seconds;
    double peak_rss_mb;
};
int plan_write (const struct plan *plan, struct pathset *ps,
                const struct plan_file_extra *extra, FILE *fp,
                struct error *err);

/* Read a plan that was made for the network with this fabric_hash. `resolve`
 * turns its "endpoints" into a pathset; it is called once with all names. *ps
 * is that set; the caller owns it, also on failure (then it may be NULL).
 *
 * Nothing in the file is trusted: names, every row and every number must agree
 * with the set's paths; err names the file and the place. Shared links and the
 * rank are checked by plan_check.
 */
typedef struct pathset *(*pathset_resolve_f) (const char *const *name,
                                              size_t n, void *arg,
                                              struct error *err);
struct plan *plan_read (FILE *fp, const char *name, const char *fabric_hash,
                        pathset_resolve_f resolve, void *arg,
                        struct pathset **ps, struct error *err);

/* Read the rounds alone, for callers without a fabric. `find` maps the names of
 * endpoints to numbers; it returns -1 with err for an unknown name. A probe
 * from an endpoint to itself is an error; rows, ranks and targets are not read.
 * fabric, of PLAN_FABRIC bytes, gets the hash of the network that the plan was
 * made for. NULL with err.
 */
enum { PLAN_FABRIC = 64 };
typedef int (*plan_find_f) (const void *arg, const char *name,
                            struct error *err);
struct plan *plan_read_probes (FILE *fp, const char *name, plan_find_f find,
                               const void *arg, char *fabric,
                               struct error *err);

#endif /* CORE_PLAN_H */
