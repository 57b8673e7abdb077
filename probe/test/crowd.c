/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members in step, up to as many as a large job has: what a barrier costs each,
 * and that nobody leaves it before all have come. A thread is a member, and
 * the clock stands still, so that nobody is asked twice.
 */
#include "config.h"
#include "probe/group.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { BARRIERS = 3, MEMBERS_MAX = 800, STACK_BYTES = 256 * 1024, KEY = 42,
       GAP_NS = 1000 };

struct letter {
    struct letter *next;
    struct packet packet;
};

struct crowd;

struct member {
    struct transport_handle handle; /* first */
    struct crowd *crowd;
    uint32_t me;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct letter *first, **last;
    uint32_t sent;
    bool failed;
};

struct crowd {
    size_t n;
    uint32_t first[MEMBERS_MAX + 1];
    atomic_size_t entered[BARRIERS];
    struct member member[MEMBERS_MAX];
};

static int64_t now_ns (const void *t)
{
    (void)t;
    return 0;
}

static int send_letter (void *t, uint32_t rail, uint32_t peer,
                        const uint8_t *data, size_t len,
                        struct transport_timing *timing, struct error *err)
{
    struct member *from = t;
    struct member *to = &from->crowd->member[peer];
    struct letter *letter = calloc (1, sizeof (*letter));

    (void)rail;
    (void)timing;
    if (!letter)
        return error_nomem (err);
    letter->packet.peer = from->me;
    letter->packet.len = len;
    memcpy (letter->packet.data, data, len);
    from->sent++;
    pthread_mutex_lock (&to->lock);
    *to->last = letter;
    to->last = &letter->next;
    pthread_cond_signal (&to->changed);
    pthread_mutex_unlock (&to->lock);
    return 0;
}

static int receive (void *t, int64_t deadline_ns, struct packet *packet,
                    struct error *err)
{
    struct member *m = t;
    struct letter *letter;

    (void)err;
    pthread_mutex_lock (&m->lock);
    while (!m->first && deadline_ns > now_ns (t))
        pthread_cond_wait (&m->changed, &m->lock);
    if ((letter = m->first) && !(m->first = letter->next))
        m->last = &m->first;
    pthread_mutex_unlock (&m->lock);
    if (!letter)
        return 0;
    *packet = letter->packet;
    free (letter);
    return 1;
}

static const struct transport transport = {
    .name = "crowd",
    .now_ns = now_ns,
    .send = send_letter,
    .recv = receive,
};

static void *run_member (void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    struct group *g
        = group_create (&transport, m, KEY, c->n, m->me, c->first);

    m->handle.gap_ns = GAP_NS;
    m->failed = !g;
    for (int i = 0; i < BARRIERS && !m->failed; i++) {
        atomic_fetch_add (&c->entered[i], 1);
        m->failed = group_barrier (g, NULL) < 0
                    || atomic_load (&c->entered[i]) < c->n;
    }
    group_destroy (g);
    return NULL;
}

static bool start (struct crowd *c)
{
    pthread_attr_t attr;
    size_t started = 0;

    pthread_attr_init (&attr);
    pthread_attr_setstacksize (&attr, STACK_BYTES);
    while (started < c->n
           && pthread_create (&c->member[started].thread, &attr, run_member,
                              &c->member[started]) == 0)
        started++;
    pthread_attr_destroy (&attr);
    return started == c->n;
}

static struct crowd *make (size_t n)
{
    struct crowd *c = calloc (1, sizeof (*c));

    if (!c)
        return NULL;
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        struct member *m = &c->member[i];

        c->first[i + 1] = (uint32_t)i + 1;
        m->crowd = c;
        m->me = (uint32_t)i;
        m->last = &m->first;
        pthread_mutex_init (&m->lock, NULL);
        pthread_cond_init (&m->changed, NULL);
    }
    return c;
}

static void clear (struct crowd *c)
{
    for (size_t i = 0; i < c->n; i++)
        while (c->member[i].first) {
            struct letter *letter = c->member[i].first;

            c->member[i].first = letter->next;
            free (letter);
        }
    free (c);
}

static const struct {
    size_t n;
    uint32_t steps; /* log2 of it, rounded up */
} crowds[] = {
    { 1, 0 }, { 2, 1 }, { 3, 2 }, { 16, 4 }, { 17, 5 }, { 100, 7 },
    { MEMBERS_MAX, 10 },
};

int main (void)
{
    for (size_t i = 0; i < sizeof (crowds) / sizeof (crowds[0]); i++) {
        struct crowd *c = make (crowds[i].n);
        size_t failed = 0;
        size_t other = 0;

        if (!c || !start (c))
            return 1; /* those that run wait for ever */
        for (size_t k = 0; k < c->n; k++) {
            pthread_join (c->member[k].thread, NULL);
            failed += c->member[k].failed;
            other += c->member[k].sent != BARRIERS * crowds[i].steps;
        }
        ok (failed == 0, "%zu members: nobody leaves before all have come",
            c->n);
        ok (other == 0, "... by %u messages each, every time",
            crowds[i].steps);
        clear (c);
    }
    return done_testing ();
}
