/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Near: endpoints whose paths can separate a link from its neighbours.
 *
 * Read by plan/select. If three paths meet in a switch and use the same links
 * both ways, (a,b) + (a,c) - (b,c) is four times the path from a to that
 * switch. So a link between two switches is determined by an endpoint a whose
 * paths cross it, two more beyond the link's far end, and two that meet its
 * path at the near end; a host link by two more endpoints of its leaf. If no
 * three paths are so symmetric, more endpoints of the same leaves and of
 * further ones can replace them; linear algebra shows how many are needed.
 */
#ifndef CORE_NEAR_H
#define CORE_NEAR_H

#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"

struct near;

/* For the endpoints of a set, which is borrowed. */
struct near *near_create (struct pathset *ps);
void near_destroy (struct near *near);

enum { NEAR_RINGS = 5 };

/* Endpoints around a link, the most promising first; ring 0 .. NEAR_RINGS-1
 * sets how many (the last: all, if there are at most `max`). Those with
 * prefer[i] != 0 (NULL: none) come before equal ones. Return them, owned by
 * near until the next call, and their number in *n (0: the link leads to no
 * endpoint). Cost: a few paths per endpoint.
 */
const uint32_t *near_link (struct near *near, uint32_t link,
                           unsigned int ring, const uint8_t *prefer,
                           size_t max, size_t *n);

#endif /* CORE_NEAR_H */
