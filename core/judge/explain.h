/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explain: the fewest causes (judge/cause) for the excess over what a model
 * expects. The judge's second half.
 *
 * A decrease is a cause, too, so that it is not mistaken for something else.
 */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/cause.h"
#include "core/judge/model.h"
#include "core/samples/samples.h"

enum { CAUSES_MAX = 64 };

struct cause {
    size_t signature; /* of struct causes */
    double excess_ns; /* of its simplest member */
    double stderr_ns; /* scaled, and with what others' traffic may have added to
                         all its rows alike */
    double t;         /* its excess in standard errors of the model's noise */
    double *p;        /* V^-1 of its signature */
};

struct explanation {
    const struct model *model;
    const struct causes *causes;
    struct cause cause[CAUSES_MAX];
    size_t n;
    bool full;           /* there were more causes than fit */
    double *z;           /* V^-1 of the residual, over the rows */
    double *unexplained; /* V^-1 r, before any cause */
    double scale;        /* residual noise over the model's, at least 1 */
    double *row_info;    /* [rows] diagonal of V^-1, approximate */
    double *info;        /* [causes->n] d' V^-1 d of signatures d: rough, */
    bool *exact;         /* or exact */
    double *score;       /* [causes->n] of the last search */
    double *h;           /* factor of H_SS, see explain.c */
    double chance[SUSPECT_KINDS]; /* z that a kind's best has by chance */
};

/* Explain; model and causes are borrowed. In a healthy run, `alarms` causes are
 * found on average, over all candidates. Call explanation_clear in any case.
 * Like the functions below, return -1 with errno EDOM if the rows are too
 * ill-conditioned.
 */
int explain (struct explanation *ex, const struct model *model,
             const struct causes *causes, double alarms);
void explanation_clear (struct explanation *ex);

/* Signatures that explain as well as cause number c does: those that a chi
 * square test does not separate from it, the best first; its own is the first.
 * Return *n of them, which the caller frees, or NULL.
 */
struct rival {
    size_t signature;
    double less;      /* chi square that c explains and it does not */
    double excess_ns; /* of its simplest member, in place of c */
    double stderr_ns;
};
struct rival *explain_suspects (struct explanation *ex, size_t c, size_t *n);

/* Replace the signature of cause number c. */
int explain_swap (struct explanation *ex, size_t c, size_t signature);

/* upper[k], for signatures that links have: an upper limit, at sd standard
 * errors, of the excess of its simplest member, with all causes in the model;
 * exact if it is more than half of `enough`. INFINITY: the rows do not
 * determine it.
 */
int explain_bounds (struct explanation *ex, double sd, double enough,
                    double *upper);

/* judge/route: find what cause c stands for, in *face. For most causes this is
 * the cause itself. For a route or a link between switches it is the most
 * likely of all such that explain it as well, and the cause becomes that one by
 * explain_swap; NULL: none of them would have such an excess. Links are more
 * likely than routes if their excess is above fail_ns. Return 0, or -1 with
 * errno EDOM.
 */
int route_or_link (struct explanation *ex, size_t c, const struct pathset *ps,
                   double fail_ns, const struct member **face);

/* Switches that may send messages the wrong way, if cause c is a route: at most
 * `most` of them into sw, the likeliest first. Return how many, or -1 with
 * errno EDOM.
 */
int route_switches (struct explanation *ex, size_t c, const struct pathset *ps,
                    uint32_t *sw, size_t most);

/* judge/loss: the link that loses messages, by likelihood. It is the link for
 * which two loss rates, one across it and one elsewhere, are the most likely
 * compared with one rate everywhere (a likelihood ratio test, S. S. Wilks
 * 1938).
 */
struct loss {
    uint32_t *link;      /* [n] of the network, the likeliest first */
    size_t n;            /* 0: no link stands out */
    uint64_t sent, lost; /* messages across it */
    uint64_t other_sent, other_lost; /* all other messages */
};

/* Find it. Nodes that did not answer are left out: they lose everything,
 * wherever the fault is. Return 0, or -1 with err; the caller frees loss->link.
 */
int loss_find (struct loss *loss, struct pathset *ps,
               const struct samples *samples, struct error *err);

#endif /* CORE_EXPLAIN_H */
