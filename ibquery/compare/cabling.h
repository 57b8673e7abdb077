/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric beside the cables that it should have, which a site keeps in a
 * table.
 *
 * Made by cabling_read; read by `pmm fabric cabling`. The table is text, one
 * cable a line, as spreadsheets write it (CSV):
 *
 *     NODE,PORT,NODE,PORT[,LABEL[,...]]
 *
 * Fields end at a comma, a semicolon or a tab; in double quotes, these are of
 * the field, and a quote is written twice. Blanks around a field do not count.
 * Empty lines and lines that start with # are skipped, and so is the first
 * line if neither of its ports has a digit (a headline). LABEL is what is
 * written on the cable; the rest of the line is not looked at.
 *
 * NODE is a host's name, a NodeDescription or a GUID of 16 digits. PORT is a
 * number; of a host, also "mlx5_0" or "HCA-1" (the rest of the description),
 * "mlx5_0/1", or nothing, where this leaves one port, or one that is connected.
 */
#ifndef IBQUERY_CABLING_H
#define IBQUERY_CABLING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/compare/cables.h"
#include "ibquery/fabric.h"
#include "util/error.h"

struct cabling_line {
    unsigned int number; /* in the file */
    uint32_t a, b;       /* ports */
    char *label;         /* "" where there is none */
};

/* Ports 0 .. f->nports - 1 are the fabric's; behind them are those that the
 * table names, of nodes that the fabric has not.
 */
struct cabling {
    const struct fabric *f;    /* the caller's */
    struct cabling_line *line; /* the cables wanted */
    size_t nlines;
    char **absent;             /* ports of no node, as "NODE/PORT" */
    char **absent_node;        /* of each of them: its node */
    size_t nabsent;
    struct cables found;       /* from what is (links) to what is wanted */
};

/* Read a table and compare. The fabric has to outlive the result. NULL with
 * err, "NAME:LINE: sentence": what is no line of a table, a port that a node
 * does not have, a name that two nodes or ports have, a port twice.
 */
struct cabling *cabling_read (const struct fabric *f, FILE *fp,
                              const char *name, struct error *err);
void cabling_destroy (struct cabling *c);

/* Write "h0001 mlx5_0/1" or "leaf 1/12", in the fabric or not. */
void cabling_port_name (const struct cabling *c, uint32_t port, char *buf,
                        size_t size);

#endif /* IBQUERY_CABLING_H */
