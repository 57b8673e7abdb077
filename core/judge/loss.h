/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loss: the link that loses messages, by likelihood. It is the link for which
 * two loss rates, one across it and one elsewhere, are the most likely compared
 * with one rate everywhere (a likelihood ratio test, S. S. Wilks 1938).
 */
#ifndef CORE_LOSS_H
#define CORE_LOSS_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/samples/samples.h"
#include "util/error.h"

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

#endif /* CORE_LOSS_H */
