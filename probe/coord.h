/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination: how the processes of a step find one another, before they can
 * use the transport.
 *
 * A plug point. To add one, write coord_<name>.c, declare its table here and
 * list it in coord.c.
 */
#ifndef PROBE_COORD_H
#define PROBE_COORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define COORD_AUTO "auto"

enum {
    COORD_BLOB_MAX = 1024,
    COORD_RANKS_MAX = 65536,
};

struct coord_blob {
    size_t len; /* 0: this rank did not answer */
    uint8_t data[COORD_BLOB_MAX];
};

/* A process in its step; the first member of what its means knows of it. */
struct coord {
    const struct coord_means *means;
    unsigned int rank, size;
};

struct coord_means {
    const char *name;
    const char *mark; /* an environment variable of its steps; NULL: it is not
                         chosen by itself */
    bool takes_arg;

    /* Join the step, and set rank and size. NULL with err. */
    struct coord *(*open) (const char *arg, int timeout_ms, struct error *err);
    void (*close) (struct coord *c);

    /* As coord_host and coord_exchange; blob is zero. */
    const char *(*host) (struct coord *c, unsigned int rank);
    int (*exchange) (struct coord *c, const uint8_t *data, size_t len,
                     struct coord_blob *blob, struct error *err);
};

extern const struct coord_means coord_pmix;
extern const struct coord_means coord_pmi2;
extern const struct coord_means coord_local;

/* The means called "NAME" or "NAME:ARG"; COORD_AUTO is the first one that this
 * step has. NULL with err.
 */
const struct coord_means *coord_find (const char *text, struct error *err);

/* Join the step by these means. NULL with err. */
struct coord *coord_open (const char *text, int timeout_ms, struct error *err);
void coord_close (struct coord *c);

/* Name of the node that a rank runs on, "" where it is not known. */
const char *coord_host (struct coord *c, unsigned int rank);

/* Give a blob, get everyone's: blob[size]. To be called once. Return 0,
 * or -1 with err where not even the others' can be had.
 */
int coord_exchange (struct coord *c, const uint8_t *data, size_t len,
                    struct coord_blob *blob, struct error *err);

/* For the means: Slurm's name of this node; NULL: there is none. */
const char *coord_slurm_host (void);

/* For those with a socket: send (POLLOUT) or receive (POLLIN) all of buf until
 * deadline_ms, as clock_ms has it. 0, or -1 with errno: ETIMEDOUT; 0 where the
 * other end is closed.
 */
int coord_transfer (int fd, void *buf, size_t size, short events,
                    int64_t deadline_ms);

#endif /* PROBE_COORD_H */
