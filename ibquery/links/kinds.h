/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of links: which should run at one rate, and at which most of them do.
 *
 * Links are alike if they have the same products at both ends (VendorID and
 * DeviceID; where these are not known what a switch's description says after
 * its name, MF0;NAME:MODEL/U1, else only the type of node), are both of hosts
 * or both between switches, and of the same levels. If there are fewer than
 * KINDS_MIN of them, a link is compared with all of its levels, whatever their
 * products are: that says less.
 *
 * The link at the lower quartile of the rates stands for all.
 */
#ifndef IBQUERY_KINDS_H
#define IBQUERY_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"

enum {
    KINDS_MIN = 4,   /* links; fewer are not compared with each other */
    KINDS_ALIKE = 3, /* of a kind: more at one rate than so many, */
    KINDS_SHARE = 10, /* ... and this part of it: they are meant to be so */
};

struct kind_usual {
    uint32_t link;  /* typical of its kind; FABRIC_NONE: none is */
    uint32_t alike; /* how many run at this link's rate, including itself, */
    uint32_t peers; /* ... of how many */
};

struct kinds {
    uint32_t *product;        /* [nnodes] a number of its own for each */
    struct kind_usual *alike; /* [nlinks] among those with the same products */
    struct kind_usual *level; /* ... among all of its levels */
};

struct kinds kinds_find (struct pool *pool, const struct fabric *f);

/* What is usual for a link. *same: among links with the same products, which
 * are known.
 */
const struct kind_usual *kinds_usual (const struct kinds *k,
                                      const struct fabric *f, size_t link,
                                      bool *same);

/* Whether so many run at the link's rate that it is meant to be so. */
static inline bool kinds_meant (const struct kind_usual *u)
{
    return u->alike > KINDS_ALIKE && u->alike >= u->peers / KINDS_SHARE;
}

#endif /* IBQUERY_KINDS_H */
