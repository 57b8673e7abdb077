/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan: which round trips to measure, in which rounds.
 *
 * Made by plan/basis and plan/rounds (plan_make), and by core/pattern of other
 * schedules. Read by probe/ and the solver. File: JSON, kind "plan" (pmm(1),
 * section FILES).
 *
 * No two probes of a round share a link. The first plan_basis_rounds () rounds
 * hold a maximal independent set of the rows of all pairs: rank many; or, where
 * that was too much work to find, an independent one that crosses every link
 * of the job (plan_maximal). The rounds behind them are redundant; the last of
 * these, where there was a first stage and it left suspects, are the confirm
 * stage (judge/confirm).
 *
 * Schedules that are not made for links are plans by other rules: their method
 * says so (plan_rules).
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
    /* Seconds, about, to look for fewer rounds with: counted in work, not
     * timed, so that the plan is the same everywhere. 0: as long as it takes
     * less time than it may save in measuring. Also bounds the work to find
     * the rank with, a second or two at least.
     */
    double budget;             /* at most PLAN_BUDGET_MAX */
};

/* What holds of a plan's rounds, by its method. */
struct plan_rules {
    const char *method;
    /* Probes of a round may share links, and the rows of the basis rounds,
     * which are all but those of the confirm stage, depend on each other: the
     * rank is theirs. Where the plan is not maximal, links may be left out.
     */
    bool schedule;
    /* Probes are flows, and rounds fill links, as throughput/flows.h says: they
     * are checked by that. There are no basis rounds; targets are links that
     * are filled, and such that are not.
     */
    bool flows;
};

/* Those of a method; NULL: there is no such. */
const struct plan_rules *plan_rules (const char *method);

struct plan;

/* Plan the measurement of all links that the set's paths use. A set of fewer
 * than two ports gives an empty plan (rank 0). The same seed and budget
 * give the same plan on every machine. That its
 * rank is the one of all pairs is proven (plan/span), where the plan says that
 * it is maximal. NULL with err.
 */
struct plan *plan_make (struct pathset *ps, const struct plan_options *opts,
                        struct error *err);

/* Build one by hand: an empty plan, its method a string that outlives it; a
 * probe into a round (rounds grow as needed).
 */
struct plan *plan_create (const char *method);
void plan_destroy (struct plan *plan);
void plan_add (struct plan *plan, size_t round, uint32_t a, uint32_t b);
void plan_set_rank (struct plan *plan, size_t links, size_t rank,
                    size_t basis_rounds);
/* Whether the basis rounds determine all that the pairs can: true at first. */
void plan_set_maximal (struct plan *plan, bool maximal);
/* The last n rounds are the confirm stage. */
void plan_set_confirm (struct plan *plan, size_t n);

/* What a plan of method "links" is for: a link, and the combination of links
 * with it in it that the plan determines, the sum of p/q times their
 * latencies. n == 1: the link alone; n == 0: nothing with it in it. Of flows:
 * a link that they fill, or, with 0, do not.
 */
struct plan_member {
    uint32_t link;
    int64_t p, q;
};
struct plan_target {
    uint32_t link;
    struct plan_member *member;
    size_t n;
};

/* Add a target; members are copied. */
void plan_add_target (struct plan *plan, uint32_t link,
                      const struct plan_member *member, size_t n);
const struct plan_target *plan_targets (const struct plan *plan, size_t *n);

/* A copy, for a plan that grows. */
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

/* Rounds that n ports need for a basis of that rank, at least: ceil (rank /
 * floor (n / 2)).
 */
static inline size_t plan_least_rounds (size_t n, size_t rank)
{
    return n < 2 ? 0 : (rank + n / 2 - 1) / (n / 2);
}

/* Rounds that no plan can go below as far as is known (check/bound), 0 where
 * nothing was said; a file has ceil(rank / floor(n/2)) at least.
 */
size_t plan_bound (const struct plan *plan);
void plan_set_bound (struct plan *plan, size_t rounds);

/* Check a plan without trusting its maker: endpoints in range, no port and
 * no link in two probes of a round, no round empty, the basis rounds
 * independent, their rank that of all pairs of the set (recomputed by another
 * elimination, over another prime), the links those of all pairs, and not
 * fewer rounds than its bound. Of a plan that is not maximal: that the basis
 * rounds cross all links, instead of their rank. What plan_rules excuse is
 * left out. Return 0, or -1 with err.
 */
int plan_check (struct pathset *ps, const struct plan *plan,
                struct error *err);

/* Write; extra may be NULL. 0, or -1 with err. */
struct plan_file_extra { /* keys that only the planner knows; 0 leaves out */
    double stderr_rms, stderr_max; /* in units of one RTT's, predicted */
    double seconds;
    double peak_rss_mb;
};
int plan_write (const struct plan *plan, struct pathset *ps,
                const struct plan_file_extra *extra, FILE *fp,
                struct error *err);

/* Read a plan that was made for the network whose hash is fabric_hash. Its
 * "endpoints" are resolved by the caller's way from names to a pathset, which
 * is called once with all of them; *ps is that set, the caller's also on
 * failure (then perhaps NULL).
 *
 * Nothing in the file is trusted: names, every row and every number must be
 * what the set's paths say; err names the file and the place. Whether links
 * are shared and what the rank is, is for plan_check to say.
 */
typedef struct pathset *(*pathset_resolve_f) (const char *const *name,
                                              size_t n, void *arg,
                                              struct error *err);
struct plan *plan_read (FILE *fp, const char *name, const char *fabric_hash,
                        pathset_resolve_f resolve, void *arg,
                        struct pathset **ps, struct error *err);

/* Read the rounds alone, for who knows no fabric: between what `find` gives for
 * the names of their ends, which is -1 with err where that is nothing. No end
 * is measured with itself; rows, ranks and targets are not looked at. fabric,
 * of PLAN_FABRIC bytes, gets the hash of what the plan was made for. NULL with
 * err.
 */
enum { PLAN_FABRIC = 64 };
typedef int (*plan_find_f) (const void *arg, const char *name,
                            struct error *err);
struct plan *plan_read_probes (FILE *fp, const char *name, plan_find_f find,
                               const void *arg, char *fabric,
                               struct error *err);

#endif /* CORE_PLAN_H */
