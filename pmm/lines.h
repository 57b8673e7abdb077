/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON objects as lines of text, for people. */
#ifndef PMM_LINES_H
#define PMM_LINES_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A time, "2026-11-21T18:50:12", in UTC, for use in one printf. */
enum { LINE_DATE = 32 };
const char *line_date (char buf[LINE_DATE], int64_t time);
#define DATE(time) line_date ((char[LINE_DATE]){ 0 }, (time))

/* Print a text in which these stand for a member of the object, "-" if it does
 * not exist:
 *
 *     {key}       a text or an integer; of a list, its length
 *     {@key}      a time
 *     {+key}      a number, signed, without decimals
 *     {:key}      bits per second, as Gb/s
 *     {key probe} how many: "1 probe", "2 probes"
 */
void print_line (const json_t *object, const char *format, FILE *fp);

/* The line of an audit of the ledger; the same with its findings, limits, silent
 * hosts, signs, faults and actions: at most so many of each; these alone.
 */
const char *audit_line (const json_t *audit);
void print_audit (const json_t *audit, size_t most, FILE *fp);
void print_details (const json_t *audit, size_t most, FILE *fp);

/* That a node is left out for a while (ledger_fault_json), after a text. */
void print_left_out (const char *before, const json_t *fault, FILE *fp);

/* The text of a member; "-" if it has none. */
const char *text_of (const json_t *object, const char *key);

#endif /* PMM_LINES_H */
