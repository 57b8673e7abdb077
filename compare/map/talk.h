/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which ranks of a program send how much to which: its communication graph.
 *
 * Read by map/order. File: text, a graph or a matrix. '#' starts a comment;
 * lines may be empty; blanks, commas or semicolons separate numbers. Ranks
 * start from 0. Amounts are messages, or bytes.
 *
 *     # from to amount (default: 1)     # or from each rank, to each:
 *     0 1 1000                          0 1000 0 0
 *     1 2 1000                          0 0 1000 0
 *     ...                               ...
 *
 * A line of a matrix has 4 numbers or more. Or the file is a series, whose
 * processes are the ranks, and whose pairs exchanged messages.
 */
#ifndef COMPARE_TALK_H
#define COMPARE_TALK_H

#include <stdint.h>
#include <stdio.h>

#include "util/csr.h"
#include "util/error.h"

enum { TALK_RANKS_MAX = 1 << 16, TALK_PAIRS_MAX = 1 << 23 };

struct talk {
    uint32_t n;      /* ranks */
    struct csr with; /* [n] the ranks that each sends to or receives from */
    double *amount;  /* beside with.v: in both directions together */
    double total;    /* of all pairs */
};

/* NULL with err as "NAME:LINE: sentence". */
struct talk *talk_read (FILE *fp, const char *name, struct error *err);
void talk_destroy (struct talk *t);

#endif /* COMPARE_TALK_H */
