/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Report what links carried compared with what they should. */
#ifndef COMPARE_CARRIED_H
#define COMPARE_CARRIED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "core/rate/carry.h"
#include "report/rates.h"
#include "util/error.h"

struct carried_report {
    struct rates_report most;  /* what switches can carry; its cut is not used */
    const struct carry *carry;
    double much;               /* this share less is much less */
    uint64_t length;           /* bytes of a message */
    bool complete;             /* as the series says */
};

/* FAIL if a link is slow; else UNKNOWN if flows were lost, nothing was measured
 * or the series is not complete; else WARN if flows are slow that no link
 * explains, or if the usual rate is much less than nominal.
 */
enum verdict_status carried_status (const struct carried_report *r);

/* Write text: findings as lines that start with "pmm: ", then tables of the
 * switches and links that were measured. Or JSON, kind "rates". Return 0, or -1
 * with err.
 */
int carried_text (const struct carried_report *r, FILE *fp, struct error *err);
int carried_json (const struct carried_report *r, FILE *fp, struct error *err);

/* A rate as Gb/s in a column, a dash if it is not known. */
void carried_print (double rate, FILE *fp);

#endif /* COMPARE_CARRIED_H */
