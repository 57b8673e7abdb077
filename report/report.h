/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of a verdict as text. verdict_write makes the JSON form. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

/* Write the report for people; each line starts with "pmm: ". Of each finding a
 * line says what is wrong (report/words), the next what to do; then both ends of
 * its suspects, its excess and the reason. What was measured comes last, and the
 * limits.
 */
void report_text (const struct verdict *v, const struct fabric *f, FILE *fp);

#endif /* REPORT_REPORT_H */
