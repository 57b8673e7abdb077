/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comments of jobs, out of Slurm's accounting: what `pmm report --sacct`
 * does.
 */
#ifndef PMM_SACCT_H
#define PMM_SACCT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

/* Report on jobs that ended since then (0: 30 days ago) to the file, NULL is
 * standard output. Return 0, or -1 with err.
 */
int sacct_report (int64_t since, bool json, const char *output,
                  struct error *err);

#endif /* PMM_SACCT_H */
