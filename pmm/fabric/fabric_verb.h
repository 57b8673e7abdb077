/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb of `pmm fabric`: to add one, write pmm/fabric/<name>.c, declare it
 * here, list it in verb_fabric.c.
 */
#ifndef PMM_FABRIC_VERB_H
#define PMM_FABRIC_VERB_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "util/error.h"

/* argv[0] is the verb ("fabric read"). Each returns the exit status. */
int fabric_verb_cabling (int argc, char **argv);
int fabric_verb_diff (int argc, char **argv);
int fabric_verb_check (int argc, char **argv);
int fabric_verb_counters (int argc, char **argv);
int fabric_verb_export (int argc, char **argv);
int fabric_verb_generate (int argc, char **argv);
int fabric_verb_import (int argc, char **argv);
int fabric_verb_read (int argc, char **argv);
int fabric_verb_show (int argc, char **argv);
int fabric_verb_netdisc (int argc, char **argv);

/* As fabric_load, but a snapshot that is a part of a fabric is an error. */
struct fabric *fabric_load_whole (const char *path, struct error *err);

/* Write a fabric by `write` to path, "-" or NULL being standard output, whole
 * or not at all. Return 0, or -1 with err.
 */
typedef int (*fabric_write_f) (const struct fabric *f, FILE *fp,
                               struct error *err);
int fabric_save (const struct fabric *f, const char *path,
                 fabric_write_f write, struct error *err);

/* What JSON calls a node, {"guid", "name"}, and a port, with "port" as well.
 * New references; NULL: out of memory.
 */
json_t *fabric_node_json (const struct fabric *f, uint32_t node);
json_t *fabric_port_json (const struct fabric *f, uint32_t port);

#endif /* PMM_FABRIC_VERB_H */
