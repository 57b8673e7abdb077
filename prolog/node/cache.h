/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict cache: what the site knows of each node, in a file that the
 * audit service publishes and that the hooks of every node read in a
 * millisecond or so.
 *
 *     pmm-verdicts 1 <when it was published>
 *     node <name> <OK|WARN|FAIL|UNKNOWN> <audit> <when> <one sentence>
 *     port <GUID> <rate>
 *     ports <name> <number> <when>
 *     end
 *
 * Times are seconds since 1970; a GUID is of 16 hexadecimal digits; a rate is
 * "4xEDR", what the fabric snapshot says of the port's cable. A node's line is
 * of the newest audit that measured it. A node should have so many ports as the
 * snapshot has cables at, or had when it was last seen with more, which counts
 * for CACHE_EXPECT_S: an adapter that fails leaves the next snapshot, too.
 * Order is of no meaning.
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
    uint64_t audit;
    int64_t time;         /* when that ended */
    const char *sentence; /* is cleaned, and cut to CACHE_SENTENCE */
};

struct cache_port {
    uint64_t guid;
    struct local_rate rate;
    bool known; /* cache_read has found it */
};

struct cache_expect {
    char node[64];
    uint64_t ports;
    int64_t seen; /* when the snapshot last had so many */
};

/* What is published. */
struct cache {
    const struct cache_node *node;
    size_t nnodes;
    const struct cache_port *port;
    size_t nports;
    const struct cache_expect *expect;
    size_t nexpect;
};

/* Publish at path, mode 0644, whole or not at all; `now` is the time. What
 * Slurm would call no node is left out: hosts name themselves. Return 0, or -1
 * with err and what was there untouched. The file replaces what is at path, by
 * rename.
 */
int cache_write (const char *path, int64_t now, const struct cache *cache,
                 struct error *err);

/* What it says of one node and its ports. */
struct cache_view {
    int64_t time;
    bool known;        /* the node has a verdict: */
    enum verdict_status level;
    uint64_t audit;
    int64_t when;
    char sentence[CACHE_SENTENCE]; /* printable */
    uint64_t ports;    /* that it should have; 0: not known */
};

/* Read what it says of a node into *view, and the rates of the ports that have
 * the given GUIDs; those found are then known, others are left as they are. The
 * file must be trusted (file_open_trusted by owner). Return 0, or -1 with err,
 * errno ENOENT where there is no such file; view and rates then mean nothing.
 */
int cache_read (const char *path, uid_t owner, const char *node,
                struct cache_view *view, struct cache_port *port,
                size_t nports, struct error *err);

/* How many ports each node should have; the caller frees *v. Otherwise as
 * cache_read.
 */
int cache_read_expect (const char *path, uid_t owner, struct cache_expect **v,
                       size_t *n, struct error *err);

#endif /* PROLOG_CACHE_H */
