/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination: how the processes of a step find one another, before they can
 * use the transport.
 *
 * A plug point. To add one, write coord_<name>.c, declare its table here and
 * list it in coord.c.
 */
#ifndef PROBE_COORD_H
#define PROBE_COORD_H

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

struct coord {
    const char *name;
    const char *mark; /* an environment variable of its steps; NULL: it is not
                         chosen by itself */

    /* Join the step; `arg` is the coordination's own (coord_local.c). NULL
     * with err.
     */
    void *(*open) (const char *arg, int timeout_ms, struct error *err);
    void (*close) (void *c);

    unsigned int (*rank) (const void *c);
    unsigned int (*size) (const void *c);

    /* Name of the node that a rank runs on, "" where it is not known. */
    const char *(*host) (void *c, unsigned int rank);

    /* Give a blob, get everyone's: blob[size]. To be called once. Return 0,
     * or -1 with err where not even the others' can be had.
     */
    int (*exchange) (void *c, const uint8_t *data, size_t len,
                     struct coord_blob *blob, struct error *err);
};

extern const struct coord coord_pmix;
extern const struct coord coord_pmi2;
extern const struct coord coord_local;

/* The coordination called "NAME" or "NAME:ARG"; *arg is what follows the
 * colon, or "". COORD_AUTO is the first one that this step has. NULL with err.
 */
const struct coord *coord_find (const char *text, const char **arg,
                                struct error *err);

/* For those with a socket: send (POLLOUT) or receive (POLLIN) all of buf until
 * deadline_ms, as program_now_ms has it. 0, or -1 with errno: ETIMEDOUT; 0
 * where the other end is closed.
 */
int coord_transfer (int fd, void *buf, size_t size, short events,
                    int64_t deadline_ms);

#endif /* PROBE_COORD_H */
