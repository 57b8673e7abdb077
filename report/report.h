/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of a verdict. Its JSON form is verdict_write's. */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

/* Write text for people, every line starting with "pmm: ": one or two lines if
 * all is well; else each finding with both ends of its suspects, the excess,
 * who repairs it, and what could not be determined.
 */
void report_text (const struct verdict *v, const struct fabric *f, FILE *fp);

#endif /* REPORT_REPORT_H */
