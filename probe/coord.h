/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination: how the processes of a step exchange addresses before they can
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
    COORD_HOST = 64, /* bytes of a host's name with its NUL */
};

struct coord_blob {
    size_t len; /* 0: this rank did not answer */
    uint8_t data[COORD_BLOB_MAX];
};

/* A process in its step. It is the first member of the struct that each means
 * of coordination defines.
 */
struct coord {
    const struct coord_means *means;
    unsigned int rank, size;
    char host[COORD_HOST]; /* of this process; "": unknown */
};

struct coord_means {
    const char *name;
    const char *mark; /* an environment variable that its steps have; NULL: it
                         is never chosen by "auto", and takes an argument */

    /* Join the step, and set rank and size. Return NULL with err on failure. */
    struct coord *(*open) (const char *arg, int timeout_ms, struct error *err);
    void (*close) (struct coord *c);

    /* Ask for the name of the node that a rank runs on; host stays "" if it is
     * unknown. May be NULL.
     */
    void (*ask_host) (struct coord *c, unsigned int rank,
                      char host[COORD_HOST]);

    /* Publish one blob and get those of all ranks: blob[size], zeroed before.
     * Call it once. Return 0, or -1 with err if not even the others' blobs can
     * be had.
     */
    int (*exchange) (struct coord *c, const uint8_t *data, size_t len,
                     struct coord_blob *blob, struct error *err);
};

extern const struct coord_means coord_pmix;
extern const struct coord_means coord_pmi2;

/* Find the means called "NAME" or "NAME:ARG", and join the step by them.
 * COORD_AUTO selects the first that this step supports. Return NULL with err on
 * failure.
 */
const struct coord_means *coord_find (const char *text, struct error *err);
struct coord *coord_open (const char *text, int timeout_ms, struct error *err);

/* For means with a socket: send (POLLOUT) or receive (POLLIN) all of buf until
 * deadline_ms, a time of clock_ms. Return 0, or -1 with errno: ETIMEDOUT at the
 * deadline, 0 if the other end has closed the socket.
 */
int coord_transfer (int fd, void *buf, size_t size, short events,
                    int64_t deadline_ms);

#endif /* PROBE_COORD_H */
