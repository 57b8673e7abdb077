/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of rates: what links carried compared with what they should; what
 * switches and halves can carry at most.
 */
#ifndef REPORT_RATES_H
#define REPORT_RATES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/judge/verdict.h"
#include "core/rate/carry.h"
#include "core/rate/cut.h"
#include "ibquery/fabric.h"
#include "util/error.h"

struct rates_switch {
    uint32_t node; /* of the fabric */
    struct through through;
};

struct rates_report {
    const struct fabric *fabric;
    const struct rates_switch *sw; /* with what they can carry at most */
    size_t nswitches;
    struct cut cut;                /* if nothing was measured */
    const struct carry *carry;     /* what was; NULL: nothing */
    double much;                   /* this share less is much less */
    uint64_t length;               /* bytes of a message */
    bool complete;                 /* as the series says */
};

/* The switches that the set's paths cross, with the most that each can carry: *n
 * of them, in an array that the caller frees. NULL with err.
 */
struct rates_switch *rates_switches (const struct fabric *f,
                                     struct pathset *ps, size_t *n,
                                     struct error *err);

/* FAIL if a link is slow; else UNKNOWN if flows were lost, nothing was measured
 * or the series is not complete; else WARN if flows are slow that no link
 * explains, or if the usual rate is much less than nominal.
 */
enum verdict_status rates_status (const struct rates_report *r);

/* Write text: of a measurement, findings as lines that start with "pmm: ", then
 * tables of the switches and links that were measured; else what switches and
 * halves can carry. Or JSON, kind "rates". Return 0, or -1 with err.
 */
int rates_text (const struct rates_report *r, FILE *fp, struct error *err);
int rates_json (const struct rates_report *r, FILE *fp, struct error *err);

/* A rate as Gb/s: in a column, a dash if it is not known; with three decimals. */
void rates_print (double rate, FILE *fp);
json_t *rates_gbps (double rate);

#endif /* REPORT_RATES_H */
