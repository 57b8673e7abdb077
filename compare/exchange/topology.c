/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The test "topology".
 *
 * Notes: a process that has lost a message exchanges no more messages and only
 * takes part in the barriers. After every BLOCK repeats all processes tell
 * process 0 how many repeats succeeded, and it tells all whether to go on. So
 * the others wait for a dead process only a few times.
 */
#include "config.h"
#include "compare/exchange/program.h"

#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/alloc.h"

enum {
    BLOCK = 8,
    WORD = 4, /* bytes of a number that is told */
};

/*
 * One pass. Return values are those of a comm's calls; 0: something was lost.
 */

typedef int (*pass_f) (const struct party *p, size_t len, struct error *err);

static int run_one (const struct party *p, uint32_t peer, bool sends,
                    size_t len, struct error *err)
{
    struct comm_messages m = { .peer = peer, .sends = sends, .n = 1 };

    return p->comm->run (p->c, &m, 1, len, err);
}

/* A message from each of the processes first .. end-1 but this one. */
static size_t add_messages (const struct party *p, struct comm_messages *m,
                            bool sends, uint32_t first, uint32_t end)
{
    size_t n = 0;

    for (uint32_t i = first; i < end; i++)
        if (i != p->me)
            m[n++] = (struct comm_messages){ i, sends, .n = 1 };
    return n;
}

static int star (const struct party *p, size_t len, struct error *err)
{
    struct comm_messages *m;
    int rc = 1;

    if (p->me != 0) {
        rc = run_one (p, 0, false, len, err);
        return rc <= 0 ? rc : run_one (p, 0, true, len, err);
    }
    for (uint32_t i = 1; i < p->n && rc > 0; i++)
        rc = run_one (p, i, true, len, err);
    m = xarray (p->n, sizeof (*m));
    if (rc > 0)
        rc = p->comm->run (p->c, m, add_messages (p, m, false, 1, p->n), len,
                           err);
    free (m);
    return rc;
}

static int exchange_complete (const struct party *p, size_t len,
                              struct error *err)
{
    struct comm_messages *m = xarray (p->n, sizeof (*m));
    size_t n;
    int rc = 1;

    for (uint32_t i = p->me + 1; i < p->n && rc > 0; i++)
        rc = run_one (p, i, true, len, err);
    n = add_messages (p, m, false, 0, p->me);
    if (rc > 0 && n > 0)
        rc = p->comm->run (p->c, m, n, len, err);
    n = add_messages (p, m, true, 0, p->me);
    n += add_messages (p, m + n, false, p->me + 1, p->n);
    if (rc > 0)
        rc = p->comm->run (p->c, m, n, len, err);
    free (m);
    return rc;
}

/* Send to one neighbour while receiving from the other. */
static int shift (const struct party *p, uint32_t to, uint32_t from,
                  size_t len, struct error *err)
{
    struct comm_messages m[] = { { .peer = from, .n = 1 },
                                 { .peer = to, .sends = true, .n = 1 } };

    return p->comm->run (p->c, m, 2, len, err);
}

static int ring (const struct party *p, size_t len, struct error *err)
{
    uint32_t right = (p->me + 1) % p->n;
    uint32_t left = (p->me + p->n - 1) % p->n;
    int rc = shift (p, right, left, len, err);

    return rc <= 0 ? rc : shift (p, left, right, len, err);
}

/* A message from and to each of n peers, all at once: the i-th that is received
 * is not the i-th that is sent to, so that all processes have the same share of
 * them at a time.
 */
static int exchange_with_peers (const struct party *p, const uint32_t *peer,
                                uint32_t n, size_t len, struct error *err)
{
    struct comm_messages *m = xarray (2 * (size_t)n, sizeof (*m));
    int rc;

    for (uint32_t i = 0; i < n; i++) {
        m[2 * i] = (struct comm_messages){ .peer = peer[n - 1 - i], .n = 1 };
        m[2 * i + 1] = (struct comm_messages){ .peer = peer[i], .sends = true,
                                               .n = 1 };
    }
    rc = p->comm->run (p->c, m, 2 * (size_t)n, len, err);
    free (m);
    return rc;
}

static int with_others (const struct party *p, size_t len, struct error *err)
{
    uint32_t *peer = xarray (p->n, sizeof (*peer));
    int rc;

    for (uint32_t i = 1; i < p->n; i++)
        peer[i - 1] = (p->me + i) % p->n;
    rc = exchange_with_peers (p, peer, p->n - 1, len, err);
    free (peer);
    return rc;
}

static int star_both (const struct party *p, size_t len, struct error *err)
{
    const uint32_t centre = 0;

    return p->me == centre ? with_others (p, len, err)
                           : exchange_with_peers (p, &centre, 1, len, err);
}

static int ring_both (const struct party *p, size_t len, struct error *err)
{
    const uint32_t peer[] = { (p->me + 1) % p->n,
                              (p->me + p->n - 1) % p->n };

    return exchange_with_peers (p, peer, 2, len, err);
}

static const pass_f passes[SERIES_SHAPES][2] = {
    [SERIES_STAR] = { star, star_both },
    [SERIES_COMPLETE] = { exchange_complete, with_others },
    [SERIES_RING] = { ring, ring_both },
};

/*
 * Repeats
 */

struct passes {
    pass_f pass;
    size_t len;
    unsigned int n; /* passes per repeat */
    bool well;      /* this process has lost nothing yet */
    int64_t ns;     /* of the last repeat */
};

static int repeat_passes (const struct party *p, struct passes *st,
                          struct error *err)
{
    int64_t start;

    if (p->comm->barrier (p->c, err) < 0)
        return -1;
    start = p->comm->now_ns (p->c);
    for (unsigned int i = 0; i < st->n; i++) {
        int rc = st->well ? st->pass (p, st->len, err) : 0;

        if (rc < 0 || p->comm->barrier (p->c, err) < 0)
            return -1;
        st->well = rc > 0;
    }
    st->ns = p->comm->now_ns (p->c) - start;
    return 0;
}

/* Give process 0's word to all processes. */
static int broadcast_word (const struct party *p, uint32_t *word,
                           struct error *err)
{
    size_t n = 1;
    uint32_t *told = party_tell (p, word, &n, err);

    if (told)
        *word = n == 1 ? *told : 0;
    else
        return -1;
    free (told);
    return 0;
}

/* Set *word, in all processes, to the smallest word of those that are alive:
 * how many repeats succeeded everywhere. Process 0 marks dead processes as
 * lost.
 */
static int agree_on_minimum (const struct party *p, uint32_t *word,
                             struct series *s, struct error *err)
{
    struct comm_blob *all = s ? xcalloc (p->n, sizeof (*all)) : NULL;
    uint8_t data[WORD];
    int rc;

    wire_put (data, *word, WORD);
    rc = p->comm->collect (p->c, data, sizeof (data), all, err);
    for (uint32_t i = 0; s && rc >= 0 && i < p->n; i++) {
        uint32_t theirs = all[i].len == WORD
                              ? (uint32_t)wire_get (all[i].data, WORD)
                              : 0;

        if (!all[i].data) {
            s->process[i].lost = true;
            s->complete = false;
        }
        else if (theirs < *word)
            *word = theirs;
        free (all[i].data);
    }
    free (all);
    return rc < 0 ? -1 : broadcast_word (p, word, err);
}

/* Increase the passes per repeat until a repeat takes at least batch_ns. */
static int choose_pass_count (const struct party *p, struct passes *st,
                              int64_t batch_ns, struct error *err)
{
    uint32_t next;

    do {
        if (repeat_passes (p, st, err) < 0)
            return -1;
        next = st->well ? measure_grow (st->n, st->ns, batch_ns) : 0;
        if (broadcast_word (p, &next, err) < 0)
            return -1;
        if (next > 0 && next <= MEASURE_EXCHANGES_MAX)
            st->n = next;
    } while (next > 0);
    return 0;
}

/* Run all repeats, but stop after the block in which one is lost. time[] gets
 * ns per pass. Return the number of repeats in which no process lost anything,
 * or -1 with err.
 */
static int64_t run_shape_repeats (const struct party *p, struct passes *st,
                                  unsigned int repeats, double *time,
                                  struct series *s, struct error *err)
{
    uint32_t done = 0, well = 0;

    while (done < repeats && well == done) {
        for (unsigned int i = 0; i < BLOCK && done < repeats; i++) {
            if (repeat_passes (p, st, err) < 0)
                return -1;
            time[done++] = (double)st->ns / st->n;
            well += st->well;
        }
        if (agree_on_minimum (p, &well, s, err) < 0)
            return -1;
    }
    return well;
}

int topology_run (const struct party *p, enum series_shape shape,
                  bool both_ways, size_t len, const struct measure_how *how,
                  struct series *s, struct error *err)
{
    struct series_row t = { .shape = shape, .both_ways = both_ways,
                            .length = len, .count = how->repeats };
    struct passes st = { .pass = passes[shape][both_ways], .len = len,
                         .well = true, .n = how->warm_up };
    double *time = xarray (how->repeats, sizeof (*time));
    int64_t well = -1;
    int rc = st.n > 0 ? repeat_passes (p, &st, err) : 0;

    st.n = how->exchanges > 0 ? how->exchanges : 1;
    if (rc == 0 && how->batch_ns > 0)
        rc = choose_pass_count (p, &st, how->batch_ns, err);
    if (rc == 0
        && (well = run_shape_repeats (p, &st, how->repeats, time, s, err)) < 0)
        rc = -1;
    if (rc == 0 && s) {
        t.lost = how->repeats - (uint32_t)well;
        if (well > 0)
            series_stats (time, (size_t)well, t.time_ns);
        party_lock (p);
        s->complete = s->complete && t.lost == 0;
        rc = series_add (s, &t, err);
        party_unlock (p);
    }
    free (time);
    return rc < 0 ? -1 : well == how->repeats;
}

/*
 * The test
 */

static bool is_shape_selected (const struct exchange_args *a, int shape,
                               int both)
{
    static const bool none[SERIES_SHAPES][2];

    return a->shape[shape][both]
           || !memcmp (a->shape, none, sizeof (none));
}

/* Run the wanted shapes at one length. Return 1, 0 if something was lost, or -1
 * with err.
 */
static int run_length (struct exchange_session *x, uint64_t length,
                       struct series *s, struct error *err)
{
    const struct exchange_args *a = x->args;
    int rc = 1;

    for (int both = 0; both <= 1 && rc > 0; both++)
        for (int shape = SERIES_STAR; shape < SERIES_SHAPES && rc > 0; shape++)
            if (is_shape_selected (a, shape, both))
                rc = topology_run (&x->party, (enum series_shape)shape, both,
                                   length, &a->how, s, err);
    return rc;
}

static uint64_t count_exchanges (const struct series *s)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < s->nrows; i++)
        sum += series_exchanges (s->row[i].shape, s->nprocesses);
    return sum;
}

static int run_test (struct exchange_session *x, struct error *err)
{
    struct party *p = &x->party;
    const struct lengths *l = &x->length;
    int64_t start = p->comm->now_ns (p->c);
    struct series *s;
    int rc = 1;

    if (p->n < TOPOLOGY_PROCESSES_MIN)
        return error_input (err, "topologies have %d processes or more, not "
                            "%u", TOPOLOGY_PROCESSES_MIN, p->n);
    if (session_series (x, SERIES_TOPOLOGY, "topology", "", &s, err) < 0)
        return -1;
    for (size_t i = 0; i < l->n && rc > 0; i++) {
        rc = run_length (x, l->v[i], s, err);
        progress_show (&p->progress, i + 1, l->n);
    }
    progress_hide (&p->progress);
    return rc < 0 ? -1
                  : pairs_finish (p, start, s ? s->nrows : 0,
                                  s ? count_exchanges (s) : 0, s, err);
}

const struct exchange_test exchange_topology = {
    .name = "topology",
    .help = "whole topologies at once: star, complete graph, ring",
    .options = args_topology,
    .length = { (uint64_t[]){ 1024, 8192, 65536 }, 3 }, .run = run_test,
};
