/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rate of a burst, from when its bytes arrived.
 *
 * Notes: the shortest time in which three quarters arrive begins or ends at a
 * point, because between points the rate is constant. Several pairs complete
 * messages in turn, often close together; a window of a fixed number of bytes,
 * a multiple of their messages, begins and ends at the same place of a turn.
 */
#include "config.h"
#include "probe/bulk.h"

#include <math.h>

#define BEST_PART .75

void bulk_arrive (struct bulk_point *p, size_t *n, int64_t ns, uint64_t bytes)
{
    if (*n > 0)
        bytes += p[*n - 1].bytes;
    if (*n > 0 && ns <= p[*n - 1].ns)
        p[*n - 1].bytes = bytes;
    else
        p[(*n)++] = (struct bulk_point){ ns, bytes };
}

/* When so many bytes had arrived, which is between two points. */
static double time_of_bytes (const struct bulk_point *a, double bytes)
{
    double step = (double)(a[1].bytes - a[0].bytes);

    return (double)a[0].ns
           + (bytes - (double)a[0].bytes) / step * (double)(a[1].ns - a[0].ns);
}

double bulk_best (const struct bulk_point *p, size_t n)
{
    double all = n > 0 ? (double)(p[n - 1].bytes - p[0].bytes) : 0;
    double want = n > 0 ? fmin (all, BEST_PART * (double)p[n - 1].bytes) : 0;
    double least = INFINITY;

    if (want <= 0)
        return 0;
    for (size_t i = 0, end = 1; end < n; i++) {
        double to = (double)p[i].bytes + want;

        while (end < n && (double)p[end].bytes < to)
            end++;
        if (end < n)
            least = fmin (least,
                          time_of_bytes (&p[end - 1], to) - (double)p[i].ns);
    }
    for (size_t i = n, begin = n - 1; i-- > 0 && begin > 0;) {
        double from = (double)p[i].bytes - want;

        while (begin > 0 && (double)p[begin - 1].bytes > from)
            begin--;
        if (begin > 0)
            least = fmin (least, (double)p[i].ns
                                     - time_of_bytes (&p[begin - 1], from));
    }
    return want * 8e9 / least;
}
