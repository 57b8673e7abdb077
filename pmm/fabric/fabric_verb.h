/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What verbs of `pmm fabric` share. */
#ifndef PMM_FABRIC_VERB_H
#define PMM_FABRIC_VERB_H

#include <jansson.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "pmm/verb.h"
#include "util/error.h"

extern const struct verb verb_fabric_cabling, verb_fabric_check,
    verb_fabric_counters, verb_fabric_diff, verb_fabric_export,
    verb_fabric_generate, verb_fabric_import, verb_fabric_netdisc,
    verb_fabric_read, verb_fabric_show;

/* An error if the snapshot of that name is only a part of a fabric. Return 0,
 * or -1 with err.
 */
int fabric_need_whole (const struct fabric *f, const char *path,
                       struct error *err);

/* Write a fabric to the verb's output. Return 0, or -1 with err. */
typedef int (*fabric_write_f) (const struct fabric *f, FILE *fp,
                               struct error *err);
int fabric_save (const struct fabric *f, struct inputs *in,
                 fabric_write_f write, struct error *err);

/* A node in JSON, {"guid", "name"}; a port, with "port" as well. */
json_t *fabric_node_json (const struct fabric *f, uint32_t node);
json_t *fabric_port_json (const struct fabric *f, uint32_t port);

#endif /* PMM_FABRIC_VERB_H */
