/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination of processes on one machine, for tests: no daemon, no Slurm.
 * Argument: RANK:SIZE:HOST:SOCKET. Rank 0 listens at SOCKET. The others send it
 * their host names and blobs, and receive those of all ranks.
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
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    HOST_MAX = 64,
    HELLO_SIZE = 4 + HOST_MAX + COORD_BLOB_MAX, /* rank 2, length 2, host,
                                                   blob */
    RETRY_MS = 10,
    WAIT_PART = 2, /* rank 0 waits for the time-out divided by this */
};

struct local {
    struct coord coord; /* first */
    char (*host)[HOST_MAX];
    int64_t deadline_ms, own_deadline_ms;
    struct sockaddr_un sa;
    int fd;    /* rank 0: the listening socket; others: to rank 0 */
    int *peer; /* rank 0: [size] sockets; -1: none */
};

static int left_ms (int64_t deadline_ms)
{
    int64_t left = deadline_ms - clock_ms ();

    return left > 0 ? (int)left : 0;
}

static void local_close (struct coord *coord)
{
    struct local *c = (struct local *)coord;

    for (unsigned int i = 0; c->peer && i < coord->size; i++)
        if (c->peer[i] >= 0)
            close (c->peer[i]);
    if (c->fd >= 0) {
        close (c->fd);
        if (coord->rank == 0)
            unlink (c->sa.sun_path);
    }
    free (c->peer);
    free (c->host);
    free (c);
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
    c->host = xcalloc (size, sizeof (*c->host));
    c->peer = xarray (size, sizeof (*c->peer));
    c->coord.rank = rank;
    c->coord.size = size;
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

/* Rank 0 listens. */
static int be_reached (struct local *c, struct error *err)
{
    if (bind (c->fd, (struct sockaddr *)&c->sa, sizeof (c->sa)) == 0
        && listen (c->fd, (int)c->coord.size) == 0)
        return 0;
    error_errno (err, "%s", c->sa.sun_path);
    close (c->fd); /* and keep the file: it may be another's */
    c->fd = -1;
    return -1;
}

static struct coord *local_open (const char *arg, int timeout_ms,
                                 struct error *err)
{
    struct local *c = xcalloc (1, sizeof (*c));
    int rc;

    c->fd = -1;
    c->deadline_ms = clock_ms () + timeout_ms;
    c->own_deadline_ms = clock_ms () + timeout_ms / WAIT_PART;
    if ((rc = parse (c, arg, err)) == 0) {
        c->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        rc = c->fd < 0             ? error_errno (err, "socket")
             : c->coord.rank > 0   ? reach_rank_0 (c, err)
                                   : be_reached (c, err);
    }
    if (rc == 0)
        return &c->coord;
    local_close (&c->coord);
    return NULL;
}

static const char *local_host (struct coord *coord, unsigned int rank)
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

/* Return the rank, or -1 if the message is invalid. */
static int unpack (struct local *c, struct coord_blob *blob,
                   const uint8_t *buf)
{
    unsigned int rank = (unsigned int)wire_get (buf, 2);
    size_t len = wire_get (buf + 2, 2);

    if (rank >= c->coord.size || len > COORD_BLOB_MAX || buf[4 + HOST_MAX - 1])
        return -1;
    memcpy (c->host[rank], buf + 4, HOST_MAX);
    blob[rank].len = len;
    memcpy (blob[rank].data, buf + 4 + HOST_MAX, len);
    return (int)rank;
}

static void gather (struct local *c, struct coord_blob *blob, uint8_t *buf)
{
    for (unsigned int missing = c->coord.size - 1; missing > 0;) {
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

static int local_exchange (struct coord *coord, const uint8_t *data,
                           size_t len, struct coord_blob *blob,
                           struct error *err)
{
    struct local *c = (struct local *)coord;
    uint8_t buf[HELLO_SIZE];

    blob[c->coord.rank].len = len;
    memcpy (blob[c->coord.rank].data, data, len);
    if (c->coord.rank == 0) {
        gather (c, blob, buf);
        for (unsigned int to = 1; to < coord->size; to++)
            for (unsigned int i = 0; i < coord->size && c->peer[to] >= 0; i++) {
                pack (c, i, &blob[i], buf);
                if (coord_transfer (c->peer[to], buf, sizeof (buf), POLLOUT,
                                    c->deadline_ms) < 0)
                    break;
            }
        return 0;
    }
    pack (c, c->coord.rank, &blob[c->coord.rank], buf);
    if (coord_transfer (c->fd, buf, sizeof (buf), POLLOUT, c->deadline_ms) < 0)
        return error_world (err, "rank 0 is gone");
    for (unsigned int i = 0; i < c->coord.size; i++)
        if (coord_transfer (c->fd, buf, sizeof (buf), POLLIN, c->deadline_ms)
                < 0
            || unpack (c, blob, buf) < 0)
            return error_world (err, "rank 0 is gone");
    return 0;
}

const struct coord_means coord_local = {
    .name = "local",
    .takes_arg = true,
    .open = local_open,
    .close = local_close,
    .host = local_host,
    .exchange = local_exchange,
};
