/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verdict as text, and as its file: JSON, kind "verdict". */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "util/error.h"

/* Write the report for people; each line starts with "pmm: ". Of each finding a
 * line says what is wrong (report/words), the next what to do; then both ends of
 * its suspects, its excess and the reason. What was measured comes last, and the
 * limits.
 */
void report_text (const struct verdict *v, const struct fabric *f, FILE *fp);

/* Write the file. Return 0, or -1 with err. */
int verdict_write (const struct verdict *v, const struct network *net, FILE *fp,
                   struct error *err);

/* The same as a JSON object, to which a caller may add members. The caller
 * frees it.
 */
json_t *verdict_json (const struct verdict *v, const struct network *net);

/* Read a verdict that was written for this network. Its `reason` is not in the
 * file. NULL with err, which begins with name.
 */
struct verdict *verdict_read (FILE *fp, const char *name,
                              const struct network *net, struct error *err);

#endif /* REPORT_REPORT_H */
