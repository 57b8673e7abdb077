/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/beside.h"

#include <inttypes.h>

void beside_write (const struct series *a, const struct series *b,
                   const char *const what[2], enum series_stat stat,
                   FILE *fp)
{
    fprintf (fp, "%-20s %-20s %10s %12s %12s %8s\n", "from", "to", "bytes",
             what[0], what[1], "factor");
    for (size_t i = 0; i < b->npairs; i++) {
        const struct series_pair *y = &b->pair[i];
        const struct series_pair *x = series_at (a, y->a, y->b, y->length);
        double before, now;

        if (!series_measured (x) || !series_measured (y))
            continue;
        before = x->time_ns[stat];
        now = y->time_ns[stat];
        fprintf (fp, "%-20s %-20s %10" PRIu64 " %12.3f %12.3f",
                 b->process[y->a].label, b->process[y->b].label, y->length,
                 before / 1e3, now / 1e3);
        if (before > 0)
            fprintf (fp, " %8.2f", now / before);
        fputc ('\n', fp);
    }
    fputc ('\n', fp);
}
