/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Write runs to a file, in any of the formats. */
#ifndef COMPARE_SAVE_H
#define COMPARE_SAVE_H

#include <stdbool.h>

#include "compare/series/series.h"
#include "util/error.h"

#define SERIES_FORMATS "table, rates, fit, csv, json, parus"

struct series_save {
    const char *format;    /* one of SERIES_FORMATS */
    const char *path;      /* NULL, "-": standard output */
    enum series_stat stat; /* that tables show, if it is known */
    bool append;           /* after the contents of the file */
};

/* True if there is such a format. */
bool series_format_known (const char *name);

/* Check the options, as far as this does not depend on runs and files. Return
 * 0, or -1 with err.
 */
int series_save_check (const struct series_save *to, struct error *err);

/* Write all runs that the format can show (at least one), completely or not at
 * all; append only to a file of the same format. The format parus makes four
 * files: PATH_average.txt, PATH_median.txt, PATH_deviation.txt and
 * PATH_min.txt. Those of the second run of pairs are PATH-2_average.txt and so
 * on, those of the goal pairs alone, before a run with noise,
 * PATH-alone_average.txt. It cannot append. Return 0, or -1 with err.
 */
int series_save (const struct series_list *runs, const struct series_save *to,
                 struct error *err);

#endif /* COMPARE_SAVE_H */
