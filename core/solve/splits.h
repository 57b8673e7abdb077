/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What round trips hardly tell: how a switch's latency is divided between the
 * links below it and those above.
 */
#ifndef CORE_SPLITS_H
#define CORE_SPLITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/linear/sparse.h"
#include "core/paths/paths.h"
#include "util/csr.h"

/* A row for each switch that has links on both sides: 1 for those down, towards
 * the nearest hosts, -1 for the others. Columns are the m links. A message that
 * passes a switch from one side to the other has the sum 0, so only messages
 * that turn there tell. Cost: the links of the network, by its levels.
 */
struct sparse *splits_make (const struct network *net, const uint32_t *link,
                            size_t m);

/* Which of the m links are at each switch; csr_clear it. */
struct csr splits_links (const struct network *net, const uint32_t *link,
                         size_t m);

#endif /* CORE_SPLITS_H */
