/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compare a fabric with a table of the cables that it should have.
 *
 * Made by cabling_read; read by `pmm fabric cabling`. The table is text with
 * one cable per line, as spreadsheets write it (CSV):
 *
 *     NODE,PORT,NODE,PORT[,LABEL[,...]]
 *
 * A comma, a semicolon or a tab ends a field: one of them in the whole file,
 * which its first line tells. Inside double quotes they belong to the field,
 * and a quote is written twice. Blanks around a name are ignored. Empty lines
 * and lines that start with # are skipped, and so is the first line if neither
 * of its ports contains a digit (a headline). LABEL is the text on the cable's
 * label; the rest of the line is ignored.
 *
 * NODE is a host name, also without its domain, a NodeDescription, NAME of
 * "MF0;NAME:MODEL/U1", or a GUID of 16 digits. PORT is a number, for a switch
 * also a label as MLNX-OS has it: 1/CAGE/PORT where a cage has two ports, else
 * 1/PORT. For a host it may also be "mlx5_0" or "HCA-1" (the rest of the
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

/* A line with a node that is not in the fabric is not a cable, and what its
 * other end has is not too many.
 */
struct cabling {
    struct pool *pool;         /* of all of it */
    const struct fabric *f;    /* the caller's */
    struct cabling_line *line; /* the cables wanted */
    size_t nlines;
    char **absent;             /* nodes that are not in the fabric */
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

#endif /* IBQUERY_CABLING_H */
