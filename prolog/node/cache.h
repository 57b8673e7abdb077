/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict cache: what the site knows about each node. The audit service
 * publishes this file, and the hooks of every node read it in about a
 * millisecond.
 *
 *     pmm-verdicts 1 <when it was published>
 *     node <name> <OK|WARN|FAIL|UNKNOWN> <audit> <when> <one sentence>
 *     port <GUID> <rate>
 *     ports <name> <number> <when>
 *     end
 *
 * Times are seconds since 1970. A GUID has 16 hexadecimal digits. A rate, such
 * as "4xEDR", is the one that the fabric snapshot has for the port's cable. A
 * node line holds the newest audit that measured the node. A node should have
 * as many ports as the snapshot has cables for it. If an earlier snapshot had
 * more, that number counts for CACHE_EXPECT_S, because an adapter that fails
 * disappears from the next snapshot too. The order of lines has no meaning.
 */
#ifndef PROLOG_CACHE_H
#define PROLOG_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/judge/verdict.h"
#include "ibquery/local.h"
#include "util/error.h"

enum {
    CACHE_BYTES_MAX = 32 << 20, /* of the file */
    CACHE_SENTENCE = 256,
    CACHE_EXPECT_S = 7 * 24 * 3600,
};

struct cache_node {
    const char *name;
    enum verdict_status level;
    uint64_t audit;       /* 0: no audit has measured it */
    int64_t time;         /* when that ended */
    const char *sentence; /* is cleaned and cut to CACHE_SENTENCE */
    uint64_t ports;       /* 0: not known */
    int64_t seen;         /* when the snapshot last had this many */
};

struct cache_port {
    uint64_t guid;
    struct rates rate;
    bool known; /* cache_read found it */
};

/* The content of the file. */
struct cache {
    const struct cache_node *node;
    size_t nnodes;
    const struct cache_port *port;
    size_t nports;
};

/* Publish at path, mode 0644, by rename, so that readers see the old file or
 * the whole new one; `now` is the time. Names that are no valid node names in
 * Slurm are left out, since hosts choose their own names. Return 0, or -1 with
 * err and the old file unchanged.
 */
int cache_write (const char *path, int64_t now, const struct cache *cache,
                 struct error *err);

/* The entry of one node and its ports. */
struct cache_view {
    int64_t time;
    bool known;        /* the node has a verdict, below */
    enum verdict_status level;
    uint64_t audit;
    int64_t when;
    char sentence[CACHE_SENTENCE]; /* printable */
    uint64_t ports;    /* ports that it should have; 0: not known */
};

/* Read a node's entry into *view, and the rates of the ports that have the
 * given GUIDs. Ports that are found are set to known; others are not changed.
 * The file must be trusted (file_open_trusted by owner). Return 0, or -1 with
 * err, errno ENOENT if there is no such file; view and rates are then
 * undefined.
 */
int cache_read (const char *path, uid_t owner, const char *node,
                struct cache_view *view, struct cache_port *port,
                size_t nports, struct error *err);

#endif /* PROLOG_CACHE_H */
