/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/exchange/exchange.h"

#include <string.h>

static int round_trip (const struct comm *comm, void *c, uint32_t peer,
                       bool first, size_t len, unsigned int n, int64_t *ns,
                       struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc;

    for (unsigned int i = 0; i < n; i++) {
        if (first && (rc = comm->send (c, peer, len, err)) <= 0)
            return rc;
        if ((rc = comm->recv (c, peer, len, err)) <= 0)
            return rc;
        if (!first && (rc = comm->send (c, peer, len, err)) <= 0)
            return rc;
    }
    if (first)
        *ns = comm->now_ns (c) - start;
    return 1;
}

static int many (int (*fn) (void *c, uint32_t peer, size_t len,
                            struct error *err),
                 void *c, uint32_t peer, size_t len, unsigned int n,
                 struct error *err)
{
    int rc = 1;

    for (unsigned int i = 0; i < n && rc > 0; i++)
        rc = fn (c, peer, len, err);
    return rc;
}

static int one_way (const struct comm *comm, void *c, uint32_t peer,
                    bool first, size_t len, unsigned int n, int64_t *ns,
                    struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc = many (first ? comm->send : comm->recv, c, peer, len, n, err);

    if (rc > 0)
        rc = many (first ? comm->recv : comm->send, c, peer, len, n, err);
    if (first)
        *ns = comm->now_ns (c) - start;
    return rc;
}

/* n messages each way, `width` of them at once. */
static int at_once (const struct comm *comm, void *c, uint32_t peer,
                    bool first, size_t len, unsigned int n,
                    unsigned int width, int64_t *ns, struct error *err)
{
    int64_t start = comm->now_ns (c);
    int rc = 1;

    for (unsigned int i = 0; i < n && rc > 0; i += width) {
        unsigned int now = n - i < width ? n - i : width;
        int started = many (comm->start_recv, c, peer, len, now, err);

        if (started > 0)
            started = many (comm->start_send, c, peer, len, now, err);
        if (started < 0 || (rc = comm->wait_all (c, err)) < 0)
            return -1;
        if (started == 0)
            rc = 0;
    }
    if (first)
        *ns = comm->now_ns (c) - start;
    return rc;
}

static int both_ways (const struct comm *comm, void *c, uint32_t peer,
                      bool first, size_t len, unsigned int n, int64_t *ns,
                      struct error *err)
{
    return at_once (comm, c, peer, first, len, n, 1, ns, err);
}

static int async (const struct comm *comm, void *c, uint32_t peer, bool first,
                  size_t len, unsigned int n, int64_t *ns, struct error *err)
{
    return at_once (comm, c, peer, first, len, n, COMM_WINDOW / 2, ns, err);
}

static const struct comm_exchange generic[] = {
    { "round-trip", "a message there, then one back", round_trip, false },
    { "one-way", "all messages there, then as many back", one_way, false },
    { "both-ways", "a message each way at once", both_ways, true },
    { "async", "many messages each way at once", async, true },
    { 0 },
};

static const struct comm_exchange *look (const struct comm_exchange *table,
                                         const char *name)
{
    for (; table && table->name; table++)
        if (!strcmp (table->name, name))
            return table;
    return NULL;
}

const struct comm_exchange *exchange_at (const struct comm *comm, size_t i)
{
    size_t own = 0;

    while (comm->exchanges && comm->exchanges[own].name)
        own++;
    if (i < own)
        return &comm->exchanges[i];
    for (const struct comm_exchange *ex = generic; ex->name; ex++)
        if (!look (comm->exchanges, ex->name) && i-- == own)
            return ex;
    return NULL;
}

const struct comm_exchange *exchange_find (const struct comm *comm,
                                           const char *name,
                                           struct error *err)
{
    const struct comm_exchange *ex;
    char names[256] = "";
    size_t len = 0;

    for (size_t i = 0; (ex = exchange_at (comm, i)); i++) {
        if (!strcmp (ex->name, name))
            return ex;
        if (len < sizeof (names))
            len += (size_t)snprintf (names + len, sizeof (names) - len,
                                     "%s%s", i ? ", " : "", ex->name);
    }
    error_input (err, "'%.40s' is no exchange; there are %s", name, names);
    return NULL;
}
