/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of means of coordination, the preferred one first. */
#include "config.h"
#include "probe/coord.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/text.h"

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
static const struct coord_means *choose (struct error *err)
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
        return choose (err);
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
    struct coord *c = NULL;

    if (means && *arg && !means->takes_arg)
        error_input (err, "%s takes no argument", means->name);
    else if (means && (c = means->open (arg, timeout_ms, err)))
        c->means = means;
    return c;
}

const char *coord_slurm_host (const struct coord *c, unsigned int rank)
{
    const char *name = rank == c->rank ? getenv ("SLURMD_NODENAME") : NULL;

    return name && text_is_hostname (name) ? name : NULL;
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
