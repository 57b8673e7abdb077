/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate of a burst, from when its bytes arrived; for all transports. */
#ifndef PROBE_BULK_H
#define PROBE_BULK_H

#include <stddef.h>
#include <stdint.h>

struct bulk_point {
    int64_t ns;     /* by this time, */
    uint64_t bytes; /* so many bytes of the burst had arrived */
};

/* Note that more bytes have arrived by this time: append a point to n others,
 * for which there is room, or, if the time is not later than the last point's,
 * add them to that.
 */
void bulk_arrive (struct bulk_point *p, size_t *n, int64_t ns, uint64_t bytes);

/* The rate in bits per second of the best contiguous three quarters of a burst:
 * n points, as bulk_arrive makes them; the last has all bytes. Between points,
 * bytes count as evenly spread. If three quarters do not fit between the first
 * point and the last, the rate is that between these; 0: there is no time
 * between them.
 */
double bulk_best (const struct bulk_point *p, size_t n);

#endif /* PROBE_BULK_H */
