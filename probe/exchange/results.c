/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Results.
 *
 * Notes: format of a collected record, little-endian, sizes in bytes: peer 4,
 * exchanges 4, lost exchanges 4, then SERIES_STATS times in ns, doubles of 8.
 *
 * A signal handler may do little, and the process may hang in a library. So a
 * thread waits for the handler and saves the series.
 */
#include "config.h"
#include "probe/exchange/results.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/wire.h"
#include "util/alloc.h"
#include "util/sort.h"

enum { RECORD = 12 + 8 * SERIES_STATS };

struct repeats { /* with a peer */
    double *time; /* [count - lost] */
    uint32_t count, lost;
};

struct results {
    bool receives;
    uint32_t n;
    uint32_t used;         /* peers that have repeats */
    struct repeats with[]; /* [n] */
};

struct results *results_create (uint32_t n, bool receives)
{
    struct results *r
        = xcalloc (1, sizeof (*r) + n * sizeof (struct repeats));

    r->n = n;
    r->receives = receives;
    return r;
}

static void clear (struct results *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        free (r->with[i].time);
        r->with[i] = (struct repeats){ 0 };
    }
    r->used = 0;
}

void results_destroy (struct results *r)
{
    if (r)
        clear (r);
    free (r);
}

static struct repeats *begin (struct results *r, uint32_t peer)
{
    if (r->with[peer].count++ == 0)
        r->used++;
    return &r->with[peer];
}

void results_add_lost (struct results *r, uint32_t peer)
{
    begin (r, peer)->lost++;
}

void results_add (struct results *r, uint32_t peer, double time_ns)
{
    struct repeats *x = begin (r, peer);
    size_t n = x->count - x->lost - 1;

    x->time = xgrow (x->time, n, sizeof (*x->time));
    x->time[n] = time_ns;
}

static void pack (uint8_t *p, uint32_t peer, struct repeats *x)
{
    double time[SERIES_STATS] = { 0 };

    if (x->lost < x->count)
        series_stats (x->time, x->count - x->lost, time);
    wire_put (p, peer, 4);
    wire_put (p + 4, x->count, 4);
    wire_put (p + 8, x->lost, 4);
    for (int k = 0; k < SERIES_STATS; k++) {
        uint64_t bits;

        memcpy (&bits, &time[k], sizeof (bits));
        wire_put (p + 12 + 8 * k, bits, 8);
    }
}

/* Return false if it is invalid. */
static bool unpack (const uint8_t *p, uint32_t n, uint32_t *peer,
                    struct series_pair *pair)
{
    bool sane = true;

    *peer = (uint32_t)wire_get (p, 4);
    pair->count = (uint32_t)wire_get (p + 4, 4);
    pair->lost = (uint32_t)wire_get (p + 8, 4);
    for (int k = 0; k < SERIES_STATS; k++) {
        uint64_t bits = wire_get (p + 12 + 8 * k, 8);

        memcpy (&pair->time_ns[k], &bits, sizeof (bits));
        sane = sane && isfinite (pair->time_ns[k]) && pair->time_ns[k] >= 0;
    }
    return sane && *peer < n && pair->lost <= pair->count;
}

/* Add the results of one process to the series. */
static int take (const struct results *r, const struct party *p,
                 uint32_t from, const struct comm_blob *blob,
                 uint64_t length, struct series *s, struct error *err)
{
    if (!blob->data) {
        s->process[from].lost = true;
        s->complete = false;
        return 0;
    }
    for (size_t at = 0; at < blob->len; at += RECORD) {
        struct series_pair pair = { .length = length };
        uint32_t peer;

        if (blob->len - at < RECORD
            || !unpack (blob->data + at, p->n, &peer, &pair))
            return error_world (err, "%s sent results that make no sense",
                                p->comm->label (p->c, from));
        pair.a = r->receives ? peer : from;
        pair.b = r->receives ? from : peer;
        if (series_add_pair (s, &pair, err) < 0)
            return -1;
        s->complete = s->complete && series_measured (&pair);
    }
    return 0;
}

int results_collect (struct results *r, const struct party *p,
                     uint64_t length, struct series *s, struct error *err)
{
    size_t len = (size_t)r->used * RECORD;
    struct comm_blob *all = s ? xcalloc (p->n, sizeof (*all)) : NULL;
    uint8_t *data = xarray (len, 1);
    uint8_t *at = data;
    int rc = -1;

    for (uint32_t i = 0; i < r->n; i++)
        if (r->with[i].count > 0) {
            pack (at, i, &r->with[i]);
            at += RECORD;
        }
    if (p->comm->collect (p->c, data, len, all, err) < 0)
        goto error;
    rc = 0;
    keep_lock (p->keep);
    for (uint32_t i = 0; s && i < p->n; i++) {
        if (rc == 0)
            rc = take (r, p, i, &all[i], length, s, err);
        free (all[i].data);
    }
    keep_unlock (p->keep);
    clear (r);
error:
    free (data);
    free (all);
    return rc;
}

/*
 * The worst pairs
 */

struct bad_pair {
    uint32_t low, high; /* of the pair */
    bool swapped;       /* it is (high, low) */
    double factor;      /* its median over that of all pairs */
};

static int worse_first (const void *x, const void *y)
{
    const struct bad_pair *a = x;
    const struct bad_pair *b = y;

    return util_compare (b->factor, a->factor);
}

/* Order by pair; of its two directions the worse one first. */
static int by_pair (const void *x, const void *y)
{
    const struct bad_pair *a = x;
    const struct bad_pair *b = y;

    if (a->low != b->low)
        return util_compare (a->low, b->low);
    if (a->high != b->high)
        return util_compare (a->high, b->high);
    return worse_first (x, y);
}

static bool counts (const struct series_pair *pair)
{
    return series_measured (pair) && pair->a != pair->b;
}

/* Rate n pairs of one length; v has room for n. Return how many count. */
static size_t rate (const struct series_pair *pair, size_t n, double *v,
                    struct bad_pair *bad)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (counts (&pair[i])) {
            bool swapped = pair[i].a > pair[i].b;

            v[count] = pair[i].time_ns[SERIES_MEDIAN];
            bad[count] = (struct bad_pair){ swapped ? pair[i].b : pair[i].a,
                                            swapped ? pair[i].a : pair[i].b,
                                            swapped, v[count] };
            count++;
        }
    qsort (v, count, sizeof (*v), compare_doubles);
    for (size_t i = 0; i < count && v[count / 2] > 0; i++)
        bad[i].factor /= v[count / 2];
    return count;
}

size_t results_worst (const struct series *s, struct probe *pair, size_t n)
{
    struct bad_pair *bad = xarray (s->npairs, sizeof (*bad));
    double *v = xarray (s->npairs, sizeof (*v));
    size_t end, i, count = 0, kept = 0;

    for (i = 0; i < s->npairs; i = end) {
        for (end = i + 1; end < s->npairs
                          && s->pair[end].length == s->pair[i].length; end++)
            ;
        count += rate (&s->pair[i], end - i, v, bad + count);
    }
    qsort (bad, count, sizeof (*bad), by_pair);
    for (i = 0; i < count; i++)
        if (kept == 0 || bad[i].low != bad[kept - 1].low
            || bad[i].high != bad[kept - 1].high)
            bad[kept++] = bad[i];
    qsort (bad, kept, sizeof (*bad), worse_first);
    for (i = 0; i < n && i < kept; i++)
        pair[i] = bad[i].swapped ? (struct probe){ bad[i].high, bad[i].low }
                                 : (struct probe){ bad[i].low, bad[i].high };
    free (bad);
    free (v);
    return i;
}

/*
 * Saving results when the run is ended by a signal
 */

static const int signals[] = { SIGTERM, SIGINT };

enum { SIGNALS = sizeof (signals) / sizeof (signals[0]) };

struct keep {
    void (*fn) (void *arg);
    void *arg;
    bool over;
    pthread_mutex_t lock;
    pthread_t thread;
    struct sigaction before[SIGNALS];
};

static sem_t signalled; /* posted by the handler, or at the end */

static void on_signal (int sig)
{
    int saved_errno = errno;

    (void)sig;
    sem_post (&signalled);
    errno = saved_errno;
}

static void *wait_for_signal (void *arg)
{
    struct keep *k = arg;

    while (sem_wait (&signalled) < 0)
        ;
    pthread_mutex_lock (&k->lock);
    if (!k->over) {
        k->fn (k->arg);
        _exit (ERROR_WORLD);
    }
    pthread_mutex_unlock (&k->lock);
    return NULL;
}

struct keep *keep_start (void (*fn) (void *arg), void *arg,
                         struct error *err)
{
    struct sigaction action = { .sa_handler = on_signal,
                                .sa_flags = SA_RESTART };
    struct keep *k = xcalloc (1, sizeof (*k));

    k->fn = fn;
    k->arg = arg;
    sem_init (&signalled, 0, 0);
    pthread_mutex_init (&k->lock, NULL);
    if ((errno = pthread_create (&k->thread, NULL, wait_for_signal, k)) != 0) {
        error_errno (err, "cannot start a thread");
        pthread_mutex_destroy (&k->lock);
        free (k);
        return NULL;
    }
    sigemptyset (&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &action, &k->before[i]);
    return k;
}

void keep_over (struct keep *k)
{
    if (!k)
        return;
    keep_lock (k);
    k->over = true;
    keep_unlock (k);
}

void keep_stop (struct keep *k)
{
    if (!k)
        return;
    for (int i = 0; i < SIGNALS; i++)
        sigaction (signals[i], &k->before[i], NULL);
    keep_over (k);
    sem_post (&signalled);
    pthread_join (k->thread, NULL);
    pthread_mutex_destroy (&k->lock);
    sem_destroy (&signalled);
    free (k);
}

void keep_lock (struct keep *k)
{
    if (k)
        pthread_mutex_lock (&k->lock);
}

void keep_unlock (struct keep *k)
{
    if (k)
        pthread_mutex_unlock (&k->lock);
}
