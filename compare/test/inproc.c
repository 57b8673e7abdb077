/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comm of threads in virtual time.
 *
 * Notes: a thread that wants something says what (struct want) and hands the
 * turn to the process whose want is fulfilled the earliest; that one goes on at
 * that time. As it is the earliest, no other can still send what would have
 * been there before.
 */
#include "config.h"
#include "compare/test/inproc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"

#define NEVER INT64_MAX

struct message {
    uint32_t from, to;
    size_t len;
    bool note, lost;
    uint8_t data[COMM_NOTE_MAX];
    int64_t left_ns;  /* its sender */
    int64_t there_ns;
    int64_t taken_ns; /* -1: not yet */
    struct message *next; /* of the same two, later */
};

struct pending {
    struct message *sent; /* NULL: a receive */
    uint32_t peer;
    size_t len;
};

enum want_kind { WANT_NOW, WANT_FROM, WANT_TAKEN, WANT_PENDING, WANT_BARRIER };

struct want {
    enum want_kind kind;
    uint32_t peer;
    const struct message *sent;
    int64_t until_ns;
};

struct process {
    struct inproc *w;
    uint32_t rank;
    char label[INPROC_LABEL], host[INPROC_LABEL];
    int64_t clock;
    struct want want;
    pthread_cond_t turn;
    pthread_t thread;
    bool over, dead;
    bool knows_dead[INPROC_MAX];
    struct pending pending[4 * COMM_WINDOW];
    size_t npending;
    int64_t out_free, in_free;
    unsigned int barriers; /* come to */
    struct comm_blob blob;
    int (*fn) (void *c, void *arg);
    void *arg;
    int rc;
};

struct inproc_world {
    pthread_mutex_t lock;
    struct process process[INPROC_MAX];
    struct message *first[INPROC_MAX][INPROC_MAX]; /* [to][from] untaken */
    struct message **last[INPROC_MAX][INPROC_MAX];
    uint64_t count[INPROC_MAX][INPROC_MAX];
    struct message *all[1 << 16];
    size_t nall;
    uint32_t running;
    int64_t barrier_ns[4];
    int64_t hub_free;
};

/*
 * Time
 */

static int64_t later (int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct message *head (const struct process *p, uint32_t from)
{
    return p->w->world->first[p->rank][from];
}

/* The message for the receive that is pending at place i. */
static struct message *for_pending (const struct process *p, size_t i)
{
    struct message *m = head (p, p->pending[i].peer);

    for (size_t k = 0; k < i && m; k++)
        if (!p->pending[k].sent && p->pending[k].peer == p->pending[i].peer)
            m = m->next;
    return m;
}

/* When a message is being received, as its sender sees it. */
static int64_t accepted (const struct inproc *w, const struct message *m)
{
    const struct process *to = &w->world->process[m->to];

    if (!w->synchronous || m->lost)
        return 0;
    if (m->taken_ns >= 0)
        return m->taken_ns;
    for (size_t i = 0; i < to->npending; i++)
        if (!to->pending[i].sent && to->pending[i].peer == m->from
            && for_pending (to, i) == m)
            return m->there_ns;
    return to->dead ? 0 : NEVER;
}

static int64_t arrival (const struct message *m)
{
    return m && !m->lost ? m->there_ns : NEVER;
}

static int64_t when_pending (const struct process *p, size_t i)
{
    const struct pending *x = &p->pending[i];

    return x->sent ? later (x->sent->left_ns, accepted (p->w, x->sent))
                   : arrival (for_pending (p, i));
}

static int64_t when_barrier (const struct process *p)
{
    const struct inproc_world *v = p->w->world;

    for (uint32_t i = 0; i < p->w->n; i++)
        if (!v->process[i].dead && !v->process[i].over
            && v->process[i].barriers < p->barriers)
            return NEVER;
    return v->barrier_ns[p->barriers % 4];
}

/* When a process can go on; NEVER: not as things stand. */
static int64_t when (const struct process *p)
{
    const struct want *want = &p->want;
    int64_t t = NEVER;

    switch (want->kind) {
    case WANT_NOW:
        t = 0;
        break;
    case WANT_FROM:
        t = arrival (head (p, want->peer));
        break;
    case WANT_TAKEN:
        t = accepted (p->w, want->sent);
        break;
    case WANT_PENDING:
        for (size_t i = 0; i < p->npending; i++)
            if (when_pending (p, i) < t)
                t = when_pending (p, i);
        break;
    case WANT_BARRIER:
        t = when_barrier (p);
        break;
    }
    if (t > want->until_ns)
        t = want->until_ns;
    t = later (t, p->clock);
    if (p->w->dies_ns[p->rank] > 0 && t > p->w->dies_ns[p->rank])
        t = later (p->clock, p->w->dies_ns[p->rank]);
    return t;
}

/* Hand the turn to who is the earliest. */
static void pass_turn (struct inproc *w)
{
    struct inproc_world *v = w->world;
    struct process *best = NULL;

    for (uint32_t i = 0; i < w->n; i++) {
        struct process *p = &v->process[i];

        if (!p->over && !p->dead && (!best || when (p) < when (best)))
            best = p;
    }
    if (!best)
        return;
    if (when (best) == NEVER)
        w->stuck = true;
    v->running = best->rank;
    pthread_cond_signal (&best->turn);
}

/* Wait for a want, and be at its time. Return 0, -1 where that never comes, or
 * the process has died.
 */
static int until (struct process *p, struct want want)
{
    struct inproc_world *v = p->w->world;
    int64_t t;

    if (p->dead)
        return -1;
    p->want = want;
    pass_turn (p->w);
    while (v->running != p->rank)
        pthread_cond_wait (&p->turn, &v->lock);
    if (p->w->stuck)
        return -1;
    t = when (p);
    p->dead = p->w->dies_ns[p->rank] > 0 && t >= p->w->dies_ns[p->rank];
    p->clock = t;
    p->want.kind = WANT_NOW;
    return p->dead ? -1 : 0;
}

static int now (struct process *p)
{
    return until (p, (struct want){ .kind = WANT_NOW, .until_ns = NEVER });
}

static int stuck (struct error *err)
{
    return error_world (err, "all wait for one another, or this is dead");
}

static void note (struct process *p, char what, uint32_t peer)
{
    if (p->w->nlog < INPROC_LOG)
        p->w->log[p->w->nlog++]
            = (struct inproc_event){ p->clock, p->rank, peer, what };
}

/*
 * Messages
 */

/* Put a message on its way. */
static struct message *post (struct process *p, uint32_t to, size_t len)
{
    struct inproc_world *v = p->w->world;
    struct process *q = &v->process[to];
    int64_t bytes = (int64_t)((double)len * p->w->ns_per_byte);
    int64_t *wire = p->w->hub ? &v->hub_free : &p->out_free;
    struct message *m = xcalloc (1, sizeof (*m));

    if (v->nall == sizeof (v->all) / sizeof (v->all[0]))
        abort ();
    v->all[v->nall++] = m;
    note (p, 's', to);
    *m = (struct message){ .from = p->rank, .to = to, .len = len,
                           .taken_ns = -1 };
    *wire = later (p->clock, *wire);
    m->there_ns = *wire + p->w->latency_ns;
    if (p->w->more_ns)
        m->there_ns += p->w->more_ns (p->rank, to);
    if (bytes > 0)
        m->there_ns = q->in_free = later (m->there_ns, q->in_free) + bytes;
    *wire += bytes;
    m->left_ns = *wire;
    m->lost = q->dead
              || (p->w->loses
                  && p->w->loses (p->rank, to, v->count[to][p->rank]));
    v->count[to][p->rank]++;
    *v->last[to][p->rank] = m;
    v->last[to][p->rank] = &m->next;
    return m;
}

static void take (struct process *p, struct message *m)
{
    struct inproc_world *v = p->w->world;

    m->taken_ns = p->clock;
    v->first[p->rank][m->from] = m->next;
    if (!m->next)
        v->last[p->rank][m->from] = &v->first[p->rank][m->from];
    if (!m->lost)
        note (p, 'r', m->from);
}

/* Until when to wait for something from a peer. */
static int64_t patience (const struct process *p, uint32_t peer)
{
    return p->clock + (p->knows_dead[peer] ? 0 : p->w->timeout_ns);
}

/* It waited in vain for a peer. */
static void lose (struct process *p, uint32_t peer)
{
    if (p->w->world->process[peer].dead)
        p->knows_dead[peer] = true;
    if (head (p, peer))
        take (p, head (p, peer));
}

static int finish_send (struct process *p, const struct message *m,
                        struct error *err)
{
    struct want want = { .kind = WANT_TAKEN, .sent = m, .until_ns = NEVER };

    if (p->w->synchronous && until (p, want) < 0)
        return stuck (err);
    p->clock = later (p->clock, m->left_ns);
    return 1;
}

static int send_message (struct process *p, uint32_t to, size_t len,
                         const void *data, struct error *err)
{
    struct message *m;

    if (now (p) < 0)
        return stuck (err);
    if (p->knows_dead[to])
        return 0;
    m = post (p, to, len);
    m->note = data != NULL;
    if (data)
        memcpy (m->data, data, len);
    return finish_send (p, m, err);
}

static int recv_message (struct process *p, uint32_t from, size_t len,
                         void *data, struct error *err)
{
    struct message *m;

    if (until (p, (struct want){ .kind = WANT_FROM, .peer = from,
                                 .until_ns = patience (p, from) }) < 0)
        return stuck (err);
    m = head (p, from);
    if (arrival (m) > p->clock) {
        lose (p, from);
        return 0;
    }
    if (m->len != len || m->note != (data != NULL))
        return error_world (err, "%u: %zu bytes from %u, not %zu", p->rank,
                            m->len, from, len);
    if (data)
        memcpy (data, m->data, len);
    take (p, m);
    return 1;
}

static int do_send (void *c, uint32_t to, size_t len, struct error *err)
{
    return send_message (c, to, len, NULL, err);
}

static int do_recv (void *c, uint32_t from, size_t len, struct error *err)
{
    return recv_message (c, from, len, NULL, err);
}

static int do_send_note (void *c, uint32_t to, const void *data, size_t len,
                         struct error *err)
{
    return send_message (c, to, len, data, err);
}

static int do_recv_note (void *c, uint32_t from, void *data, size_t len,
                         struct error *err)
{
    return recv_message (c, from, len, data, err);
}

static int do_start_send (void *c, uint32_t to, size_t len, struct error *err)
{
    struct process *p = c;
    struct message *m;

    if (now (p) < 0)
        return stuck (err);
    if (p->knows_dead[to])
        return 0;
    m = post (p, to, len);
    p->pending[p->npending++] = (struct pending){ m, to, len };
    return 1;
}

static int do_start_recv (void *c, uint32_t from, size_t len,
                          struct error *err)
{
    struct process *p = c;

    if (now (p) < 0)
        return stuck (err);
    p->pending[p->npending++] = (struct pending){ NULL, from, len };
    return 1;
}

static void remove_pending (struct process *p, size_t i)
{
    memmove (&p->pending[i], &p->pending[i + 1],
             (--p->npending - i) * sizeof (p->pending[0]));
}

static int end_pending (struct process *p, size_t i, bool lost,
                        struct pending *x, struct error *err)
{
    struct message *m;

    *x = p->pending[i];
    m = x->sent ? NULL : for_pending (p, i);
    remove_pending (p, i);
    if (lost)
        lose (p, x->peer);
    else if (m && m->len != x->len)
        return error_world (err, "%u: %zu bytes from %u, not %zu", p->rank,
                            m->len, x->peer, x->len);
    else if (m)
        take (p, m);
    return 1;
}

/* Wait until one of those that were started is done; 0: none is left. */
static int wait_pending (struct process *p, struct pending *done, bool *lost,
                         struct error *err)
{
    int64_t until_ns = 0;

    if (p->npending == 0)
        return 0;
    for (size_t i = 0; i < p->npending; i++)
        until_ns = later (until_ns, patience (p, p->pending[i].peer));
    if (until (p, (struct want){ .kind = WANT_PENDING,
                                 .until_ns = until_ns }) < 0)
        return stuck (err);
    for (size_t i = 0; i < p->npending; i++)
        if (when_pending (p, i) <= p->clock) {
            *lost = false;
            return end_pending (p, i, false, done, err);
        }
    *lost = true;
    return end_pending (p, 0, true, done, err);
}

static int start_rows (struct process *p, struct comm_messages *m, size_t n,
                       bool sends, size_t len, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned int k = 0; m[i].sends == sends && k < m[i].n; k++) {
            int rc = (sends ? do_start_send : do_start_recv) (p, m[i].peer, len,
                                                              err);

            if (rc < 0)
                return -1;
            m[i].lost = m[i].lost || rc == 0;
        }
    return 0;
}

static int do_run (void *c, struct comm_messages *m, size_t n, size_t len,
                   struct error *err)
{
    struct process *p = c;
    int64_t start = p->clock;
    struct pending done;
    bool lost = false;
    int rc = 1;

    for (size_t i = 0; i < n; i++) {
        m[i].lost = false;
        m[i].ns = 0;
    }
    if (n == 1) {
        for (unsigned int k = 0; k < m->n && rc > 0; k++)
            rc = (m->sends ? do_send : do_recv) (c, m->peer, len, err);
        m->lost = rc == 0;
        m->ns = p->clock - start;
        return rc;
    }
    if (start_rows (p, m, n, false, len, err) < 0
        || start_rows (p, m, n, true, len, err) < 0)
        return -1;
    while ((rc = wait_pending (p, &done, &lost, err)) > 0)
        for (size_t i = 0; i < n; i++)
            if (m[i].peer == done.peer && m[i].sends == (done.sent != NULL)) {
                m[i].lost = m[i].lost || lost;
                m[i].ns = p->clock - start;
            }
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        rc |= m[i].lost;
    return !rc;
}

/*
 * All at once
 */

static int do_barrier (void *c, struct error *err)
{
    struct process *p = c;
    struct inproc_world *v = p->w->world;
    int64_t *t;

    if (now (p) < 0)
        return stuck (err);
    note (p, 'b', p->rank);
    t = &v->barrier_ns[++p->barriers % 4];
    *t = later (*t, p->clock);
    v->barrier_ns[(p->barriers + 2) % 4] = 0;
    if (until (p, (struct want){ .kind = WANT_BARRIER,
                                 .until_ns = NEVER }) < 0)
        return stuck (err);
    return 1;
}

static uint8_t *copy (const void *data, size_t len)
{
    uint8_t *p = xcalloc (1, len + 1);

    if (len > 0)
        memcpy (p, data, len);
    return p;
}

static int do_collect (void *c, const void *data, size_t len,
                       struct comm_blob *all, struct error *err)
{
    struct process *p = c;

    p->blob = (struct comm_blob){ copy (data, len), len };
    if (do_barrier (c, err) < 0)
        return -1;
    for (uint32_t i = 0; all && i < p->w->n; i++) {
        struct process *q = &p->w->world->process[i];

        all[i] = (struct comm_blob){ NULL, 0 };
        if (!q->dead && !q->over)
            all[i] = (struct comm_blob){ copy (q->blob.data, q->blob.len),
                                         q->blob.len };
    }
    if (do_barrier (c, err) < 0)
        return -1;
    free (p->blob.data);
    p->blob.data = NULL;
    return 1;
}

static int do_tell (void *c, struct comm_blob *blob, struct error *err)
{
    struct process *p = c;
    struct process *first = &p->w->world->process[0];

    if (p == first)
        p->blob = *blob;
    if (do_barrier (c, err) < 0)
        return -1;
    if (first->dead || first->over)
        return error_world (err, "%s, which leads, is gone", first->label);
    if (p != first)
        *blob = (struct comm_blob){ copy (first->blob.data, first->blob.len),
                                    first->blob.len };
    if (do_barrier (c, err) < 0)
        return -1;
    p->blob.data = NULL;
    return 1;
}

static int do_reserve (void *c, size_t len, const struct comm_exchange *ex,
                       struct error *err)
{
    (void)c;
    (void)ex;
    if (len > 1 << 30)
        return error_input (err, "messages of %zu bytes are too long", len);
    return 1;
}

static int64_t do_now (void *c)
{
    return ((const struct process *)c)->clock;
}

const struct comm comm_inproc = {
    .reserve = do_reserve,
    .now_ns = do_now,
    .barrier = do_barrier,
    .run = do_run,
    .send_note = do_send_note,
    .recv_note = do_recv_note,
    .collect = do_collect,
    .tell = do_tell,
};

static void *run_process (void *arg)
{
    struct process *p = arg;
    struct inproc_world *v = p->w->world;

    pthread_mutex_lock (&v->lock);
    while (v->running != p->rank)
        pthread_cond_wait (&p->turn, &v->lock);
    p->rc = p->fn (p, p->arg);
    if (p->clock > p->w->end_ns)
        p->w->end_ns = p->clock;
    p->over = true;
    pass_turn (p->w);
    pthread_mutex_unlock (&v->lock);
    return NULL;
}

size_t inproc_run (struct inproc *w, int (*fn) (void *c, void *arg),
                   void *arg)
{
    struct inproc_world *v = xcalloc (1, sizeof (*v));
    uint32_t per_host = w->per_host ? w->per_host : 1;
    size_t well = 0;

    w->world = v;
    w->nlog = 0;
    w->stuck = false;
    w->end_ns = 0;
    pthread_mutex_init (&v->lock, NULL);
    pthread_mutex_lock (&v->lock); /* until all are there */
    for (uint32_t i = 0; i < w->n; i++) {
        struct process *p = &v->process[i];

        p->w = w;
        p->rank = i;
        p->fn = fn;
        p->arg = arg;
        snprintf (p->host, sizeof (p->host), "h%02u", i / per_host);
        snprintf (p->label, sizeof (p->label), per_host > 1 ? "%s:%u" : "%s",
                  p->host, i % per_host);
        w->label[i] = p->label;
        w->host[i] = p->host;
        pthread_cond_init (&p->turn, NULL);
        for (uint32_t k = 0; k < w->n; k++)
            v->last[i][k] = &v->first[i][k];
    }
    for (uint32_t i = 0; i < w->n; i++)
        if (pthread_create (&v->process[i].thread, NULL, run_process,
                            &v->process[i]) != 0)
            abort ();
    pthread_mutex_unlock (&v->lock);
    for (uint32_t i = 0; i < w->n; i++)
        pthread_join (v->process[i].thread, NULL);
    for (uint32_t i = 0; i < w->n; i++) {
        well += v->process[i].rc == 0;
        free (v->process[i].blob.data);
        pthread_cond_destroy (&v->process[i].turn);
    }
    for (size_t i = 0; i < v->nall; i++)
        free (v->all[i]);
    pthread_mutex_destroy (&v->lock);
    free (v);
    w->world = NULL;
    return well;
}

struct party inproc_party (void *c)
{
    struct process *p = c;

    return (struct party){ .transport = "inproc", .comm = &comm_inproc, .c = c,
                           .me = p->rank, .n = p->w->n, .label = p->w->label,
                           .host = p->w->host };
}

struct series *inproc_series (const struct party *p)
{
    struct series *s = p->me == 0 ? series_create (SERIES_ONE_TO_ONE) : NULL;

    for (uint32_t i = 0; s && i < p->n; i++)
        series_add_process (s, p->label[i], p->host[i], NULL);
    return s;
}

const char *inproc_story (const struct inproc *w, uint32_t rank,
                          unsigned int after)
{
    static char text[1024];
    unsigned int barriers = 0;
    size_t len = 0;

    text[0] = '\0';
    for (size_t i = 0; i < w->nlog && len + 16 < sizeof (text); i++) {
        const struct inproc_event *e = &w->log[i];

        if (e->rank != rank)
            continue;
        if (e->what == 'b')
            barriers++;
        else if (barriers == after)
            len += (size_t)snprintf (text + len, sizeof (text) - len,
                                     "%s%c%u", len ? " " : "", e->what,
                                     e->peer);
    }
    return text;
}
