/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare a fabric with a table of the cables that it should have.
 *
 * Made by cabling_read; read by `pmm fabric cabling`. The table is text with
 * one cable per line, as spreadsheets write it (CSV):
 *
 *     NODE,PORT,NODE,PORT[,LABEL[,...]]
 *
 * A comma, a semicolon or a tab ends a field. Inside double quotes they belong
 * to the field, and a quote is written twice. Blanks around a field are
 * ignored. Empty lines and lines that start with # are skipped, and so is the
 * first line if neither of its ports contains a digit (a headline). LABEL is
 * the text on the cable's label; the rest of the line is ignored.
 *
 * NODE is a host name, a NodeDescription or a GUID of 16 digits. PORT is a
 * number. For a host it may also be "mlx5_0" or "HCA-1" (the rest of the
 * description), "mlx5_0/1", or empty, if only one port fits, or only one of
 * those that fit has a cable.
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
    char *label;         /* "" if there is none */
};

/* Ports 0 .. f->nports - 1 are the fabric's. They are followed by the ports
 * that the table names on nodes that are not in the fabric.
 */
struct cabling {
    const struct fabric *f;    /* the caller's */
    struct cabling_line *line; /* the cables wanted */
    size_t nlines;
    char **absent;             /* ports of no node, as "NODE/PORT" */
    char **absent_node;        /* the node of each of them */
    size_t nabsent;
    struct cables found;       /* from the actual links to the wanted */
};

/* Read a table and compare. The fabric must outlive the result. Return NULL
 * with err, "NAME:LINE: message", if a line is not a line of a table, a node
 * does not have the port, two nodes or ports have the name, or a port is named
 * twice.
 */
struct cabling *cabling_read (const struct fabric *f, FILE *fp,
                              const char *name, struct error *err);
void cabling_destroy (struct cabling *c);

/* Write "h0001 mlx5_0/1" or "leaf 1/12", in the fabric or not. */
void cabling_port_name (const struct cabling *c, uint32_t port, char *buf,
                        size_t size);

#endif /* IBQUERY_CABLING_H */
