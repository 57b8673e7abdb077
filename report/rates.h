/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reports of rates: what switches and halves of the hosts can carry at most. */
#ifndef REPORT_RATES_H
#define REPORT_RATES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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
    struct cut cut;
};

/* The switches that the set's paths cross, with the most that each can carry: *n
 * of them, in an array that the caller frees. NULL with err.
 */
struct rates_switch *rates_switches (const struct fabric *f,
                                     struct pathset *ps, size_t *n,
                                     struct error *err);

/* Write text, or JSON, kind "rates". Return 0, or -1 with err. */
int rates_text (const struct rates_report *r, FILE *fp, struct error *err);
int rates_json (const struct rates_report *r, FILE *fp, struct error *err);

/* Parts: a rate as Gb/s with three decimals; a switch's name, cleaned; the switches,
 * with what passed each ([nodes], NULL: not measured).
 */
enum { RATES_NAME = 2 * FABRIC_NAME_MAX };
json_t *rates_gbps (double rate);
const char *rates_switch_name (const struct fabric *f, uint32_t node,
                               char buf[RATES_NAME]);
json_t *rates_switches_json (const struct rates_report *r, const double *through);

#endif /* REPORT_RATES_H */
