/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of means of coordination, the preferred one first; and the last of
 * them, of processes on one machine, for tests: no daemon, no Slurm. Argument:
 * RANK:SIZE:HOST:SOCKET. Rank 0 listens at SOCKET. The others send it their
 * ranks and blobs, and receive the blobs of all.
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

static const struct coord_means coord_local;

static const struct coord_means *const coords[] = {
#ifdef HAVE_PMIX
    &coord_pmix,
#endif
    &coord_pmi2,
    &coord_local,
};

enum { COORDS = sizeof (coords) / sizeof (coords[0]) };

/* Choose by the environment. A step inside another one has the marks of both,
 * but SLURM_MPI_TYPE (pmix, pmix_v4, pmi2) is its own.
 */
static const struct coord_means *choose_coord (struct error *err)
{
    const char *type = getenv ("SLURM_MPI_TYPE");
    const struct coord_means *found = NULL;

    for (size_t i = 0; i < COORDS; i++) {
        const char *name = coords[i]->name;

        if (!coords[i]->mark || !getenv (coords[i]->mark))
            continue;
        if (type && !strncmp (type, name, strlen (name)))
            return coords[i];
        if (!found)
            found = coords[i];
    }
    if (!found)
#ifdef HAVE_PMIX
        error_world (err, "this is not a step of srun --mpi=pmix or "
                          "--mpi=pmi2");
#else
        error_world (err, "this is not a step of srun --mpi=pmi2; this "
                          "pmm-probe was built without PMIx");
#endif
    return found;
}

const struct coord_means *coord_find (const char *text, struct error *err)
{
    size_t len = strcspn (text, ":");

    if (!strcmp (text, COORD_AUTO))
        return choose_coord (err);
    for (size_t i = 0; i < COORDS; i++)
        if (strlen (coords[i]->name) == len
            && !strncmp (coords[i]->name, text, len))
            return coords[i];
    if (!strncmp (text, "pmix", len))
        error_world (err, "this pmm-probe was built without PMIx");
    else
        error_input (err, "there is no coordination called '%s'", text);
    return NULL;
}

struct coord *coord_open (const char *text, int timeout_ms, struct error *err)
{
    const char *colon = strchr (text, ':');
    const char *arg = colon ? colon + 1 : "";
    const struct coord_means *means = coord_find (text, err);
    const char *name = getenv ("SLURMD_NODENAME");
    struct coord *c = NULL;

    if (means && *arg && means->mark)
        error_input (err, "%s takes no argument", means->name);
    else if (means && (c = means->open (arg, timeout_ms, err))) {
        c->means = means;
        if (!c->host[0] && name && text_is_hostname (name))
            strcpy (c->host, name);
        if (!c->host[0] && means->ask_host)
            means->ask_host (c, c->rank, c->host);
    }
    return c;
}

int coord_transfer (int fd, void *buf, size_t size, short events,
                    int64_t deadline_ms)
{
    uint8_t *p = buf;

    while (size > 0) {
        struct pollfd pfd = { .fd = fd, .events = events };
        int64_t left = deadline_ms - clock_ms ();
        int rc = poll (&pfd, 1, left > 0 ? (int)left : 0);
        ssize_t n;

        if (rc < 0 && errno == EINTR)
            continue;
        if (rc <= 0) {
            errno = rc == 0 ? ETIMEDOUT : errno;
            return -1;
        }
        n = events == POLLIN ? recv (fd, p, size, MSG_DONTWAIT)
                             : send (fd, p, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            continue;
        if (n <= 0) {
            errno = n == 0 ? 0 : errno;
            return -1;
        }
        p += n;
        size -= (size_t)n;
    }
    return 0;
}

/*
 * Processes on one machine
 */

struct local {
    struct coord coord; /* first */
    int64_t deadline_ms, own_deadline_ms;
    struct sockaddr_un sa;
    int fd;    /* rank 0: the listening socket; others: to rank 0 */
    int *peer; /* rank 0: [size] sockets; -1: none */
};

struct hello {
    uint32_t rank;
    struct coord_blob blob;
};

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

static int parse_coord_arg (struct local *c, const char *arg, struct error *err)
{
    struct coord *coord = &c->coord;
    int pos = 0;

    if (sscanf (arg, "%5u:%5u:%63[^:]:%n", &coord->rank, &coord->size,
                coord->host, &pos) != 3
        || pos == 0 || coord->size > COORD_RANKS_MAX
        || coord->rank >= coord->size || !text_is_hostname (coord->host)
        || strlen (arg + pos) >= sizeof (c->sa.sun_path) || !arg[pos])
        return error_input (err, "local: '%s' is not RANK:SIZE:HOST:SOCKET",
                            arg);
    c->sa.sun_family = AF_UNIX;
    strcpy (c->sa.sun_path, arg + pos);
    return 0;
}

/* Reach rank 0, or be reached. */
static int join_local_coord (struct local *c, struct error *err)
{
    const struct sockaddr *sa = (const struct sockaddr *)&c->sa;

    c->fd = socket (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        return error_errno (err, "socket");
    while (c->coord.rank > 0 && connect (c->fd, sa, sizeof (c->sa)) < 0) {
        if (clock_ms () >= c->deadline_ms)
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
    if (parse_coord_arg (c, arg, err) == 0 && join_local_coord (c, err) == 0)
        return &c->coord;
    local_close (&c->coord);
    return NULL;
}

/* Rank 0: take the blobs of the others that come in time. */
static void gather_blobs (struct local *c, struct coord_blob *blob)
{
    for (unsigned int missing = c->coord.size - 1; missing > 0;) {
        struct pollfd pfd = { .fd = c->fd, .events = POLLIN };
        int64_t left = c->own_deadline_ms - clock_ms ();
        struct hello hello;
        int fd;

        if (poll (&pfd, 1, left > 0 ? (int)left : 0) <= 0)
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
    gather_blobs (c, blob);
    for (unsigned int to = 1; to < coord->size; to++)
        if (c->peer[to] >= 0)
            coord_transfer (c->peer[to], blob, size, POLLOUT, c->deadline_ms);
    return 0;
}

static const struct coord_means coord_local = {
    .name = "local", .open = local_open, .close = local_close,
    .exchange = local_exchange,
};
