/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report of a verdict as text. verdict_write makes the JSON form. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

/* Write the report for people; each line starts with "pmm: ". The first line is
 * a summary; the next says if all findings are of one rail. Then each finding
 * follows with its excess, both ends of its suspects, the reason and who should
 * repair it; then the limits.
 */
void report_text (const struct verdict *v, const struct fabric *f, FILE *fp);

/* "slower than in the baseline": what a finding's excess is against. */
const char *report_against (enum finding_basis basis);

#endif /* REPORT_REPORT_H */
