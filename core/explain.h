/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Explain: the fewest causes for what a model did not expect. The judge's
 * second half.
 *
 * A cause is a link whose latency changed, a class of links that changed all
 * together, or a single row that was disturbed on its own. What got faster is
 * a cause too, so that it is not taken for something else.
 */
#ifndef CORE_EXPLAIN_H
#define CORE_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/model.h"

enum { CAUSES_MAX = 64 };

enum cause_kind {
    CAUSE_LINK,
    CAUSE_CLASS,
    CAUSE_ROW,
};

struct cause {
    enum cause_kind kind;
    uint32_t index;   /* column, class or row of the model */
    double excess_ns; /* of the link's or links' latency, the row's RTT */
    double stderr_ns;
    double *p;        /* V^-1 of its signature */
};

struct explanation {
    struct cause cause[CAUSES_MAX];
    size_t n;
    bool full;    /* there would have been more causes */
    double *z;    /* V^-1 of what is left over, over the rows */
    double scale; /* left-over noise over the model's, at least 1; standard
                     errors have it in them */
};

/* Explain. Causes are significant to one healthy run in 10,000, over all
 * candidates. Return 0, or -1 with errno ENOMEM; explanation_clear is due in
 * both cases.
 */
int explain (const struct model *model, struct explanation *ex);
void explanation_clear (struct explanation *ex);

/* Columns that explain as well as cause number c, a link, does: those with
 * proportional signatures, and all others that a chi square test does not
 * tell from it. The best first; cause c's own column is among them. Return
 * their number in *n and the columns, which the caller frees; NULL with errno
 * ENOMEM.
 */
uint32_t *explain_suspects (const struct model *model,
                            const struct explanation *ex, size_t c,
                            size_t *n);

/* How many links have a signature in the rows that no other link's is
 * proportional to. Return -1 with errno ENOMEM.
 */
int explain_separable (const struct model *model, size_t *n);

#endif /* CORE_EXPLAIN_H */
