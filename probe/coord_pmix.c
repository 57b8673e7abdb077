/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination by PMIx, in a step that `srun --mpi=pmix` started.
 *
 * Notes: one fence, which is the whole cost. Slurm's daemons may lose a race
 * in the first fence of an ordinary user's step: a credential is decoded while
 * a peer's slurmstepd still runs with the user's id, and the fence then hangs
 * until SLURM_PMIX_TIMEOUT. It has not been seen where SETTLE_MS lie between
 * PMIx_Init and the fence, nor ever as root, who does not wait.
 */
#include "config.h"
#include "probe/coord.h"

#include <errno.h>
#include <pmix.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/text.h"

enum { SETTLE_MS = 400 };

static const char blob_key[] = "pmm.blob";

struct pmix {
    pmix_proc_t me;
    unsigned int size;
    int timeout_s;
    struct timespec start;
    char *host; /* the last one asked for */
};

static int failed (struct error *err, const char *what, pmix_status_t rc)
{
    return error_world (err, "PMIx: %s: %s", what, PMIx_Error_string (rc));
}

static void pmix_close (void *coord)
{
    struct pmix *c = coord;
    int saved_errno = errno;

    if (!c)
        return;
    PMIx_Finalize (NULL, 0);
    free (c->host);
    free (c);
    errno = saved_errno;
}

static pmix_proc_t proc_of (const struct pmix *c, pmix_rank_t rank)
{
    pmix_proc_t proc = c->me;

    proc.rank = rank;
    return proc;
}

static void *pmix_open (const char *arg, int timeout_ms, struct error *err)
{
    struct pmix *c;
    pmix_value_t *value;
    pmix_proc_t all;
    pmix_status_t rc;

    if (*arg) {
        error_input (err, "pmix takes no argument");
        return NULL;
    }
    if (!(c = calloc (1, sizeof (*c)))) {
        error_nomem (err);
        return NULL;
    }
    if ((rc = PMIx_Init (&c->me, NULL, 0)) != PMIX_SUCCESS) {
        failed (err, "this is no step of srun --mpi=pmix", rc);
        free (c);
        return NULL;
    }
    clock_gettime (CLOCK_MONOTONIC, &c->start);
    c->timeout_s = (timeout_ms + 999) / 1000;
    all = proc_of (c, PMIX_RANK_WILDCARD);
    rc = PMIx_Get (&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS) {
        failed (err, "the size of the step", rc);
        goto error;
    }
    c->size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    PMIX_VALUE_RELEASE (value);
    if (c->size > COORD_RANKS_MAX || c->me.rank >= c->size) {
        error_world (err, "PMIx: rank %u of %u", c->me.rank, c->size);
        goto error;
    }
    return c;
error:
    pmix_close (c);
    return NULL;
}

static unsigned int pmix_rank (const void *coord)
{
    return ((const struct pmix *)coord)->me.rank;
}

static unsigned int pmix_size (const void *coord)
{
    return ((const struct pmix *)coord)->size;
}

static const char *pmix_host (void *coord, unsigned int rank)
{
    struct pmix *c = coord;
    const char *name = rank == c->me.rank ? getenv ("SLURMD_NODENAME") : NULL;
    pmix_proc_t proc = proc_of (c, rank);
    pmix_value_t *value = NULL;

    if (name && text_is_hostname (name))
        return name;
    free (c->host);
    c->host = NULL;
    if (PMIx_Get (&proc, PMIX_HOSTNAME, NULL, 0, &value) == PMIX_SUCCESS) {
        if (value->type == PMIX_STRING && value->data.string
            && text_is_hostname (value->data.string))
            c->host = strdup (value->data.string);
        PMIX_VALUE_RELEASE (value);
    }
    return c->host ? c->host : "";
}

/* Sleep until the daemons have settled; the caller has used part of it. */
static void settle (const struct pmix *c)
{
    struct timespec until = c->start;

    if (geteuid () == 0)
        return;
    until.tv_nsec += SETTLE_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep (CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)
           == EINTR)
        ;
}

static int pmix_exchange (void *coord, const uint8_t *data, size_t len,
                          struct coord_blob *blob, struct error *err)
{
    struct pmix *c = coord;
    pmix_value_t value;
    pmix_info_t info[2];
    bool collect = true;
    pmix_status_t rc;

    memset (blob, 0, c->size * sizeof (*blob));
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)data;
    value.data.bo.size = len;
    if ((rc = PMIx_Put (PMIX_GLOBAL, blob_key, &value)) != PMIX_SUCCESS
        || (rc = PMIx_Commit ()) != PMIX_SUCCESS)
        return failed (err, "publishing the endpoint", rc);
    settle (c);
    PMIX_INFO_LOAD (&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD (&info[1], PMIX_TIMEOUT, &c->timeout_s, PMIX_INT);
    if ((rc = PMIx_Fence (NULL, 0, info, 2)) != PMIX_SUCCESS)
        return failed (err, "the nodes did not all answer", rc);
    for (unsigned int i = 0; i < c->size; i++) {
        pmix_proc_t proc = proc_of (c, i);
        pmix_value_t *got = NULL;

        if (PMIx_Get (&proc, blob_key, &info[1], 1, &got) != PMIX_SUCCESS)
            continue;
        if (got->type == PMIX_BYTE_OBJECT
            && got->data.bo.size <= COORD_BLOB_MAX) {
            blob[i].len = got->data.bo.size;
            memcpy (blob[i].data, got->data.bo.bytes, blob[i].len);
        }
        PMIX_VALUE_RELEASE (got);
    }
    return 0;
}

const struct coord coord_pmix = {
    .name = "pmix",
    .open = pmix_open,
    .close = pmix_close,
    .rank = pmix_rank,
    .size = pmix_size,
    .host = pmix_host,
    .exchange = pmix_exchange,
};
