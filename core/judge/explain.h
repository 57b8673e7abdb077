/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explain: the fewest causes (judge/cause) for what a model did not expect.
 * The judge's second half.
 *
 * What got faster is a cause too, so that it is not taken for something else.
 */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/cause.h"
#include "core/judge/model.h"

enum { CAUSES_MAX = 64 };

struct cause {
    size_t signature; /* of struct causes */
    double excess_ns; /* of its simplest member */
    double stderr_ns; /* with the scale, and what others' traffic may have
                         added to all its rows alike */
    double t;         /* its size in standard errors of the model's noise */
    double *p;        /* V^-1 of its signature */
};

struct explanation {
    const struct model *model;
    const struct causes *causes;
    struct cause cause[CAUSES_MAX];
    size_t n;
    bool full;           /* there would have been more causes */
    double *z;           /* V^-1 of what is left over, over the rows */
    double *unexplained; /* V^-1 r, nothing explained */
    double scale;        /* left-over noise over the model's, at least 1 */
    double *row_info;    /* [rows] diagonal of V^-1, about */
    double *info;        /* [causes->n] d' V^-1 d of signatures d: about, */
    bool *exact;         /* or exact */
    double *score;       /* [causes->n] of the last search */
    double *h;           /* factor of H_SS, see explain.c */
    double chance[SUSPECT_KINDS]; /* z that a kind's best reaches by chance */
};

/* Explain; model and causes are borrowed. In a healthy run, `alarms` causes
 * are found on average, over all candidates. explanation_clear is due in any
 * case. Like the others, return -1 with errno EDOM where the rows are too
 * ill-conditioned for it.
 */
int explain (struct explanation *ex, const struct model *model,
             const struct causes *causes, double alarms);
void explanation_clear (struct explanation *ex);

/* Signatures that explain as well as cause number c does, of those that a chi
 * square test does not tell from it, the best first; its own is the first.
 * Return *n of them, which the caller frees, or NULL.
 */
struct rival {
    size_t signature;
    double less;      /* chi square that it does not explain and c does */
    double excess_ns; /* of its simplest member, in the place of c */
    double stderr_ns;
};
struct rival *explain_suspects (struct explanation *ex, size_t c, size_t *n);

/* Let cause number c be another signature. */
int explain_swap (struct explanation *ex, size_t c, size_t signature);

/* upper[k], of signatures that links have: the most that the excess of its
 * simplest member may be beside all causes, to so many standard errors; exact
 * where it is more than half of `enough`. INFINITY: the rows do not tell.
 */
int explain_bounds (struct explanation *ex, double sd, double enough,
                    double *upper);

#endif /* CORE_EXPLAIN_H */
