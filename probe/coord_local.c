/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination of processes on one machine, for tests: no daemon, no Slurm.
 * Argument: RANK:SIZE:HOST:SOCKET. Rank 0 listens at SOCKET, the others send
 * it their host name and blob, and get all of them.
 */
#include "config.h"
#include "probe/coord.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "probe/wire.h"
#include "util/program.h"
#include "util/text.h"

enum {
    HOST_MAX = 64,
    HELLO_SIZE = 4 + HOST_MAX + COORD_BLOB_MAX, /* rank 2, length 2, ... */
    RETRY_MS = 10,
    WAIT_PART = 2, /* rank 0 waits this part of the others' time */
};

struct local {
    unsigned int rank, size;
    char (*host)[HOST_MAX];
    int64_t deadline_ms, own_deadline_ms;
    struct sockaddr_un sa;
    int fd;    /* rank 0: listens; else to rank 0 */
    int *peer; /* rank 0: [size] */
};

static int left_ms (int64_t deadline_ms)
{
    int64_t left = deadline_ms - program_now_ms ();

    return left > 0 ? (int)left : 0;
}

static void local_close (void *coord)
{
    struct local *c = coord;
    int saved_errno = errno;

    if (!c)
        return;
    for (unsigned int i = 0; c->peer && i < c->size; i++)
        if (c->peer[i] >= 0)
            close (c->peer[i]);
    if (c->fd >= 0) {
        close (c->fd);
        if (c->rank == 0)
            unlink (c->sa.sun_path);
    }
    free (c->peer);
    free (c->host);
    free (c);
    errno = saved_errno;
}

static int parse (struct local *c, const char *arg, struct error *err)
{
    unsigned int rank;
    unsigned int size;
    char host[HOST_MAX];
    int pos = 0;

    if (sscanf (arg, "%5u:%5u:%63[^:]:%n", &rank, &size, host, &pos) != 3
        || pos == 0 || size > COORD_RANKS_MAX || rank >= size
        || !text_is_hostname (host)
        || strlen (arg + pos) >= sizeof (c->sa.sun_path) || !arg[pos])
        return error_input (err, "local: '%s' is not RANK:SIZE:HOST:SOCKET",
                            arg);
    if (!(c->host = calloc (size, sizeof (*c->host)))
        || !(c->peer = malloc (size * sizeof (*c->peer))))
        return error_nomem (err);
    c->rank = rank;
    c->size = size;
    for (unsigned int i = 0; i < size; i++)
        c->peer[i] = -1;
    strcpy (c->host[rank], host);
    c->sa.sun_family = AF_UNIX;
    strcpy (c->sa.sun_path, arg + pos);
    return 0;
}

static int reach_rank_0 (struct local *c, struct error *err)
{
    while (connect (c->fd, (struct sockaddr *)&c->sa, sizeof (c->sa)) < 0) {
        if (left_ms (c->deadline_ms) == 0)
            return error_errno (err, "%s", c->sa.sun_path);
        poll (NULL, 0, RETRY_MS);
    }
    return 0;
}

static void *local_open (const char *arg, int timeout_ms, struct error *err)
{
    struct local *c = calloc (1, sizeof (*c));

    if (!c) {
        error_nomem (err);
        return NULL;
    }
    c->fd = -1;
    c->deadline_ms = program_now_ms () + timeout_ms;
    c->own_deadline_ms = program_now_ms () + timeout_ms / WAIT_PART;
    if (parse (c, arg, err) < 0)
        goto error;
    if ((c->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) < 0) {
        error_errno (err, "socket");
        goto error;
    }
    if (c->rank > 0) {
        if (reach_rank_0 (c, err) < 0)
            goto error;
    }
    else if (bind (c->fd, (struct sockaddr *)&c->sa, sizeof (c->sa)) < 0
             || listen (c->fd, (int)c->size) < 0) {
        error_errno (err, "%s", c->sa.sun_path);
        close (c->fd); /* not ours to remove */
        c->fd = -1;
        goto error;
    }
    return c;
error:
    local_close (c);
    return NULL;
}

static unsigned int local_rank (const void *coord)
{
    return ((const struct local *)coord)->rank;
}

static unsigned int local_size (const void *coord)
{
    return ((const struct local *)coord)->size;
}

static const char *local_host (void *coord, unsigned int rank)
{
    return ((struct local *)coord)->host[rank];
}

static void pack (const struct local *c, unsigned int rank,
                  const struct coord_blob *blob, uint8_t *buf)
{
    memset (buf, 0, HELLO_SIZE);
    wire_put (buf, rank, 2);
    wire_put (buf + 2, blob->len, 2);
    memcpy (buf + 4, c->host[rank], HOST_MAX);
    memcpy (buf + 4 + HOST_MAX, blob->data, blob->len);
}

/* Returns the rank, or -1. */
static int unpack (struct local *c, struct coord_blob *blob,
                   const uint8_t *buf)
{
    unsigned int rank = (unsigned int)wire_get (buf, 2);
    size_t len = wire_get (buf + 2, 2);

    if (rank >= c->size || len > COORD_BLOB_MAX || buf[4 + HOST_MAX - 1])
        return -1;
    memcpy (c->host[rank], buf + 4, HOST_MAX);
    blob[rank].len = len;
    memcpy (blob[rank].data, buf + 4 + HOST_MAX, len);
    return (int)rank;
}

static void gather (struct local *c, struct coord_blob *blob, uint8_t *buf)
{
    for (unsigned int missing = c->size - 1; missing > 0;) {
        struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
        int fd;
        int rank;

        if (poll (&pfd, 1, left_ms (c->own_deadline_ms)) <= 0)
            return;
        if ((fd = accept4 (c->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
            continue;
        rank = -1;
        if (coord_transfer (fd, buf, HELLO_SIZE, POLLIN, c->own_deadline_ms)
            == 0)
            rank = unpack (c, blob, buf);
        if (rank <= 0 || c->peer[rank] >= 0) {
            close (fd);
            continue;
        }
        c->peer[rank] = fd;
        missing--;
    }
}

static int local_exchange (void *coord, const uint8_t *data, size_t len,
                           struct coord_blob *blob, struct error *err)
{
    struct local *c = coord;
    uint8_t buf[HELLO_SIZE];

    memset (blob, 0, c->size * sizeof (*blob));
    blob[c->rank].len = len;
    memcpy (blob[c->rank].data, data, len);
    if (c->rank == 0) {
        gather (c, blob, buf);
        for (unsigned int to = 1; to < c->size; to++)
            for (unsigned int i = 0; i < c->size && c->peer[to] >= 0; i++) {
                pack (c, i, &blob[i], buf);
                if (coord_transfer (c->peer[to], buf, sizeof (buf), POLLOUT,
                                    c->deadline_ms) < 0)
                    break;
            }
        return 0;
    }
    pack (c, c->rank, &blob[c->rank], buf);
    if (coord_transfer (c->fd, buf, sizeof (buf), POLLOUT, c->deadline_ms) < 0)
        return error_world (err, "rank 0 is gone");
    for (unsigned int i = 0; i < c->size; i++)
        if (coord_transfer (c->fd, buf, sizeof (buf), POLLIN, c->deadline_ms)
                < 0
            || unpack (c, blob, buf) < 0)
            return error_world (err, "rank 0 is gone");
    return 0;
}

const struct coord coord_local = {
    .name = "local",
    .open = local_open,
    .close = local_close,
    .rank = local_rank,
    .size = local_size,
    .host = local_host,
    .exchange = local_exchange,
};
