/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination of processes on one machine, for tests: no daemon, no Slurm.
 * Argument: RANK:SIZE:HOST:SOCKET. Rank 0 listens at SOCKET. The others send it
 * their ranks and blobs, and receive the blobs of all.
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

#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum {
    RETRY_MS = 10,
    WAIT_PART = 2, /* rank 0 waits for the time-out divided by this */
};

struct local {
    struct coord coord; /* first */
    char host[64];
    int64_t deadline_ms, own_deadline_ms;
    struct sockaddr_un sa;
    int fd;    /* rank 0: the listening socket; others: to rank 0 */
    int *peer; /* rank 0: [size] sockets; -1: none */
};

struct hello {
    uint32_t rank;
    struct coord_blob blob;
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
    free (c);
}

static int parse (struct local *c, const char *arg, struct error *err)
{
    int pos = 0;

    if (sscanf (arg, "%5u:%5u:%63[^:]:%n", &c->coord.rank, &c->coord.size,
                c->host, &pos) != 3
        || pos == 0 || c->coord.size > COORD_RANKS_MAX
        || c->coord.rank >= c->coord.size || !text_is_hostname (c->host)
        || strlen (arg + pos) >= sizeof (c->sa.sun_path) || !arg[pos])
        return error_input (err, "local: '%s' is not RANK:SIZE:HOST:SOCKET",
                            arg);
    c->sa.sun_family = AF_UNIX;
    strcpy (c->sa.sun_path, arg + pos);
    return 0;
}

/* Reach rank 0, or be reached. */
static int join (struct local *c, struct error *err)
{
    const struct sockaddr *sa = (const struct sockaddr *)&c->sa;

    c->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return error_errno (err, "socket");
    while (c->coord.rank > 0 && connect (c->fd, sa, sizeof (c->sa)) < 0) {
        if (left_ms (c->deadline_ms) == 0)
            return error_errno (err, "%s", c->sa.sun_path);
        poll (NULL, 0, RETRY_MS);
    }
    if (c->coord.rank > 0
        || (bind (c->fd, sa, sizeof (c->sa)) == 0
            && listen (c->fd, (int)c->coord.size) == 0))
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

    c->fd = -1;
    c->deadline_ms = clock_ms () + timeout_ms;
    c->own_deadline_ms = clock_ms () + timeout_ms / WAIT_PART;
    if (parse (c, arg, err) == 0 && join (c, err) == 0)
        return &c->coord;
    local_close (&c->coord);
    return NULL;
}

static const char *local_host (struct coord *coord, unsigned int rank)
{
    return rank == coord->rank ? ((struct local *)coord)->host : "";
}

/* Rank 0: take the blobs of the others that come in time. */
static void gather (struct local *c, struct coord_blob *blob)
{
    for (unsigned int missing = c->coord.size - 1; missing > 0;) {
        struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
        struct hello hello;
        int fd;

        if (poll (&pfd, 1, left_ms (c->own_deadline_ms)) <= 0)
            return;
        if ((fd = accept4 (c->fd, NULL, NULL, SOCK_CLOEXEC)) < 0)
            continue;
        if (coord_transfer (fd, &hello, sizeof (hello), POLLIN,
                            c->own_deadline_ms) < 0
            || hello.rank == 0 || hello.rank >= c->coord.size
            || c->peer[hello.rank] >= 0 || hello.blob.len > COORD_BLOB_MAX) {
            close (fd);
            continue;
        }
        blob[hello.rank] = hello.blob;
        c->peer[hello.rank] = fd;
        missing--;
    }
}

static int local_exchange (struct coord *coord, const uint8_t *data,
                           size_t len, struct coord_blob *blob,
                           struct error *err)
{
    struct local *c = (struct local *)coord;
    size_t size = coord->size * sizeof (*blob);
    struct hello hello = { .rank = coord->rank, .blob.len = len };

    memcpy (hello.blob.data, data, len);
    if (coord->rank > 0) {
        if (coord_transfer (c->fd, &hello, sizeof (hello), POLLOUT,
                            c->deadline_ms) == 0
            && coord_transfer (c->fd, blob, size, POLLIN, c->deadline_ms)
                   == 0)
            return 0;
        return error_world (err, "rank 0 is gone");
    }
    blob[0] = hello.blob;
    c->peer = xarray (coord->size, sizeof (*c->peer));
    memset (c->peer, 0xff, coord->size * sizeof (*c->peer));
    gather (c, blob);
    for (unsigned int to = 1; to < coord->size; to++)
        if (c->peer[to] >= 0)
            coord_transfer (c->peer[to], blob, size, POLLOUT, c->deadline_ms);
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
