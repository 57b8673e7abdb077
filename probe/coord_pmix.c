/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination by PMIx, in a step of `srun --mpi=pmix`.
 *
 * Notes: the only cost is one fence. Slurm's daemons have a race in the first
 * fence of an ordinary user's step: a credential is decoded while a peer's
 * slurmstepd still runs with the user's id, and then the fence hangs until
 * SLURM_PMIX_TIMEOUT. This has not been seen with SETTLE_MS between PMIx_Init
 * and the fence, and never as root, which does not wait.
 *
 * A fence that not all ranks reach fails for all and does not tell which ranks
 * are missing. Then the blobs that were published are read rank by rank.
 */
#include "config.h"
#include "probe/coord.h"

#include <pmix.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/clock.h"
#include "util/site.h"
#include "util/text.h"

enum {
    SETTLE_MS = 400,
    ASK_S = 1,   /* for what a rank has published, after a failed fence */
    POLL_MS = 1, /* until the answers are here */
};

static const char blob_key[] = "pmm.blob";

struct pmix;

struct ask { /* a request for what a rank has published */
    struct pmix *c;
    struct coord_blob blob;
};

struct pmix {
    struct coord coord; /* first */
    pmix_proc_t me;
    int fence_s;
    int64_t start_ms;

    /* of the exchange: PMIx calls back in a thread of its own */
    pthread_mutex_t lock;
    struct ask *ask; /* [size] */
    unsigned int pending, got;
};

static int set_pmix_error (struct error *err, const char *what,
                           pmix_status_t rc)
{
    return error_world (err, "PMIx: %s: %s", what, PMIx_Error_string (rc));
}

static void pmix_close (struct coord *coord)
{
    struct pmix *c = (struct pmix *)coord;

    PMIx_Finalize (NULL, 0);
    pthread_mutex_destroy (&c->lock);
    free (c->ask);
    free (c);
}

static pmix_proc_t proc_of (const struct pmix *c, pmix_rank_t rank)
{
    pmix_proc_t proc = c->me;

    proc.rank = rank;
    return proc;
}

static struct coord *pmix_open (const char *arg, int timeout_ms,
                                struct error *err)
{
    struct pmix *c = xcalloc (1, sizeof (*c));
    pmix_value_t *value;
    pmix_proc_t all;
    pmix_status_t rc;

    (void)arg;
    if ((rc = PMIx_Init (&c->me, NULL, 0)) != PMIX_SUCCESS) {
        set_pmix_error (err, "this is not a step of srun --mpi=pmix", rc);
        free (c);
        return NULL;
    }
    c->start_ms = clock_ms ();
    pthread_mutex_init (&c->lock, NULL);
    c->fence_s = site_meet_timeout_s (timeout_ms);
    all = proc_of (c, PMIX_RANK_WILDCARD);
    rc = PMIx_Get (&all, PMIX_JOB_SIZE, NULL, 0, &value);
    if (rc != PMIX_SUCCESS) {
        set_pmix_error (err, "the size of the step", rc);
        goto error;
    }
    c->coord.rank = c->me.rank;
    c->coord.size = value->type == PMIX_UINT32 ? value->data.uint32 : 0;
    PMIX_VALUE_RELEASE (value);
    if (c->coord.size > COORD_RANKS_MAX || c->coord.rank >= c->coord.size) {
        error_world (err, "PMIx: rank %u of %u", c->coord.rank, c->coord.size);
        goto error;
    }
    c->ask = xcalloc (c->coord.size, sizeof (*c->ask));
    return &c->coord;
error:
    pmix_close (&c->coord);
    return NULL;
}

static void pmix_ask_host (struct coord *coord, unsigned int rank,
                           char host[COORD_HOST])
{
    pmix_proc_t proc = proc_of ((struct pmix *)coord, rank);
    pmix_value_t *value = NULL;

    if (PMIx_Get (&proc, PMIX_HOSTNAME, NULL, 0, &value) != PMIX_SUCCESS)
        return;
    if (value->type == PMIX_STRING && value->data.string
        && text_is_hostname (value->data.string))
        strcpy (host, value->data.string);
    PMIX_VALUE_RELEASE (value);
}

/* Callback of PMIx: an answer, or a status that there is none. */
static void answered (pmix_status_t status, pmix_value_t *value, void *arg)
{
    struct ask *ask = arg;
    struct pmix *c = ask->c;

    pthread_mutex_lock (&c->lock);
    if (status == PMIX_SUCCESS && value && value->type == PMIX_BYTE_OBJECT
        && value->data.bo.size <= COORD_BLOB_MAX) {
        ask->blob.len = value->data.bo.size;
        memcpy (ask->blob.data, value->data.bo.bytes, ask->blob.len);
        c->got++;
    }
    c->pending--;
    pthread_mutex_unlock (&c->lock);
}

/* Get what each rank has published, at most for timeout_s, because a Get for a
 * node that is gone may never return. Return the number of answers. The
 * requests stay valid for late ones.
 */
static unsigned int fetch_all_blobs (struct pmix *c, int timeout_s,
                                     struct coord_blob *blob)
{
    int64_t until_ms = clock_ms () + timeout_s * 1000;
    unsigned int got;

    c->pending = c->coord.size;
    for (unsigned int i = 0; i < c->coord.size; i++) {
        pmix_proc_t proc = proc_of (c, i);

        c->ask[i].c = c;
        if (PMIx_Get_nb (&proc, blob_key, NULL, 0, answered, &c->ask[i])
            != PMIX_SUCCESS)
            answered (PMIX_ERROR, NULL, &c->ask[i]);
    }
    pthread_mutex_lock (&c->lock);
    while (c->pending > 0 && clock_ms () < until_ms) {
        pthread_mutex_unlock (&c->lock);
        poll (NULL, 0, POLL_MS);
        pthread_mutex_lock (&c->lock);
    }
    for (unsigned int i = 0; i < c->coord.size; i++)
        blob[i] = c->ask[i].blob;
    got = c->got;
    pthread_mutex_unlock (&c->lock);
    return got;
}

static int pmix_exchange (struct coord *coord, const uint8_t *data,
                          size_t len, struct coord_blob *blob,
                          struct error *err)
{
    struct pmix *c = (struct pmix *)coord;
    pmix_value_t value;
    pmix_info_t info[2];
    bool collect = true;
    pmix_status_t fence, rc;
    unsigned int got;
    int64_t left;

    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = (char *)data;
    value.data.bo.size = len;
    if ((rc = PMIx_Put (PMIX_GLOBAL, blob_key, &value)) != PMIX_SUCCESS
        || (rc = PMIx_Commit ()) != PMIX_SUCCESS)
        return set_pmix_error (err, "publishing the endpoint", rc);
    while (geteuid () != 0
           && (left = c->start_ms + SETTLE_MS - clock_ms ()) > 0)
        poll (NULL, 0, (int)left);
    PMIX_INFO_LOAD (&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD (&info[1], PMIX_TIMEOUT, &c->fence_s, PMIX_INT);
    fence = PMIx_Fence (NULL, 0, info, 2);
    got = fetch_all_blobs (c, fence == PMIX_SUCCESS ? c->fence_s : ASK_S, blob);
    if (fence != PMIX_SUCCESS && got < 2)
        return set_pmix_error (err, "no other node answered", fence);
    return 0;
}

const struct coord_means coord_pmix = {
    .name = "pmix", .mark = "PMIX_RANK", .open = pmix_open, .close = pmix_close,
    .ask_host = pmix_ask_host, .exchange = pmix_exchange,
};
