/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: by[s] is the first weight, counted from 1, that makes the sum s with
 * some of those before it. Followed back from a sum, these fall, so that no
 * weight is taken twice.
 */
#include "config.h"
#include "compare/throughput/halve.h"

#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

int halve (const uint32_t *weight, size_t n, bool *second, uint32_t *sum,
           struct error *err)
{
    uint64_t total = 0;
    size_t *by;

    for (size_t i = 0; i < n; i++)
        if ((total += weight[i]) > HALVE_SUM_MAX)
            return error_input (err, "more than %d to halve", HALVE_SUM_MAX);
    if (!(by = xcalloc (total / 2 + 1, sizeof (*by))))
        return error_nomem (err);
    for (size_t i = 0; i < n; i++)
        for (uint64_t s = total / 2; s >= weight[i] && s > 0; s--)
            if (by[s] == 0 && (s == weight[i] || by[s - weight[i]] > 0))
                by[s] = i + 1;
    *sum = total / 2;
    while (*sum > 0 && by[*sum] == 0)
        --*sum;
    memset (second, 0, n * sizeof (*second));
    for (uint32_t s = *sum; s > 0; s -= weight[by[s] - 1])
        second[by[s] - 1] = true;
    free (by);
    return 0;
}
