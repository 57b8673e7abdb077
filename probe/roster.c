/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roster: a blob is version 1, rails 1, key 8, length and bytes of the host,
 * then per rail GUID 8, LID 2, LMC 1, number 1, length and bytes of its
 * address; without rails, length and bytes of the reason.
 */
#include "config.h"
#include "probe/roster.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/text.h"

enum { ROSTER_VERSION = 3, RAIL_SIZE = 12 /* without its address */ };

static uint8_t *put_bytes (uint8_t *p, const void *data, size_t len,
                           size_t max)
{
    if (len > max)
        len = max;
    *p++ = (uint8_t)len;
    memcpy (p, data, len);
    return p + len;
}

size_t roster_pack (uint8_t buf[COORD_BLOB_MAX], const char *host,
                    uint64_t key, const struct transport *transport,
                    const void *t, const char *why)
{
    size_t rails = t ? transport->rails (t) : 0;
    uint8_t *p = buf + 10;

    buf[0] = ROSTER_VERSION;
    buf[1] = (uint8_t)rails;
    wire_put (buf + 2, key, 8);
    p = put_bytes (p, host, strlen (host), 63);
    for (size_t i = 0; i < rails; i++) {
        const struct transport_address *a = transport->address (t, i);

        wire_put (p, a->guid, 8);
        wire_put (p + 8, a->lid, 2);
        p[10] = a->lmc;
        p[11] = a->number;
        p = put_bytes (p + RAIL_SIZE, a->data, a->len, TRANSPORT_ADDRESS_MAX);
    }
    if (rails == 0)
        p = put_bytes (p, why, strlen (why), 255);
    return (size_t)(p - buf);
}

struct cursor {
    const uint8_t *p;
    size_t left;
};

static const uint8_t *take (struct cursor *c, size_t len)
{
    const uint8_t *p = c->p;

    if (len > c->left)
        return NULL;
    c->p += len;
    c->left -= len;
    return p;
}

/* A length and as many bytes, at most max of them. */
static const uint8_t *take_bytes (struct cursor *c, size_t max, size_t *len)
{
    const uint8_t *p = take (c, 1);

    if (!p || *p > max)
        return NULL;
    *len = *p;
    return take (c, *len);
}

static bool take_text (struct cursor *c, char *buf, size_t size)
{
    size_t len;
    const uint8_t *p = take_bytes (c, size - 1, &len);

    if (!p)
        return false;
    memcpy (buf, p, len);
    buf[len] = '\0';
    text_clean (buf);
    return true;
}

static bool take_address (struct cursor *c, struct transport_address *a)
{
    const uint8_t *p = take (c, RAIL_SIZE);
    size_t len;

    if (!p || p[10] > TRANSPORT_LMC_MAX || p[11] >= TRANSPORT_RAILS_MAX)
        return false;
    a->guid = wire_get (p, 8);
    a->lid = (uint16_t)wire_get (p + 8, 2);
    a->lmc = p[10];
    a->number = p[11];
    if (!(p = take_bytes (c, TRANSPORT_ADDRESS_MAX, &len)))
        return false;
    a->len = (uint8_t)len;
    memcpy (a->data, p, len);
    return true;
}

/* Returns the rails, put into peer; 0 with rank->why set. */
static size_t unpack (struct roster_rank *rank, const struct coord_blob *blob,
                      struct transport_address *peer)
{
    struct cursor c = { blob->data, blob->len };
    const uint8_t *p;
    size_t rails;

    strcpy (rank->why, "did not answer");
    rank->silent = blob->len == 0 || blob->len > COORD_BLOB_MAX;
    if (rank->silent)
        return 0;
    strcpy (rank->why, "answered what makes no sense");
    if (!(p = take (&c, 10)) || p[0] != ROSTER_VERSION)
        return 0;
    rails = p[1];
    rank->key = wire_get (p + 2, 8);
    if (!take_text (&c, rank->host, sizeof (rank->host))
        || rails > TRANSPORT_RAILS_MAX)
        return 0;
    if (!text_is_hostname (rank->host)) {
        rank->host[0] = '\0';
        return 0;
    }
    for (size_t i = 0; i < rails; i++) {
        if (!take_address (&c, &peer[i]))
            return 0;
        peer[i].node = rank->host;
    }
    if (rails == 0)
        take_text (&c, rank->why, sizeof (rank->why));
    else
        rank->why[0] = '\0';
    return rails;
}

/* Whether messages can go from the first member to a rank, from its rail with
 * the same number where it has one, else from its first.
 */
static bool agrees (const struct roster *r, struct roster_rank *rank,
                    const struct transport *transport, uint32_t first,
                    size_t rails)
{
    size_t others = r->nmembers > 0 ? r->first[1] : rails;
    struct error err;

    for (size_t i = 0; i < rails && transport->agree; i++)
        if (transport->agree (&r->peer[i < others ? i : 0],
                              &r->peer[first + i], &err) < 0) {
            snprintf (rank->why, sizeof (rank->why), "%.255s", err.text);
            return false;
        }
    return true;
}

/* A step of FNV-1a, eight bytes at a time. */
static uint64_t mix (uint64_t key, uint64_t value)
{
    return (key ^ value) * UINT64_C (0x100000001b3);
}

struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              const char *(*host) (void *arg,
                                                   unsigned int rank),
                              void *arg)
{
    struct roster *r = calloc (1, sizeof (*r));
    uint32_t npeers = 0;

    if (!r)
        return NULL;
    r->nranks = nranks;
    if (!(r->rank = calloc (nranks, sizeof (*r->rank)))
        || !(r->member = calloc (nranks, sizeof (*r->member)))
        || !(r->first = calloc (nranks + 1, sizeof (*r->first)))
        || !(r->peer = calloc (nranks * TRANSPORT_RAILS_MAX,
                               sizeof (*r->peer)))) {
        roster_destroy (r);
        errno = ENOMEM;
        return NULL;
    }
    for (size_t i = 0; i < nranks; i++) {
        size_t rails = unpack (&r->rank[i], &blob[i], r->peer + npeers);

        r->rank[i].member = ROSTER_NONE;
        if (!r->rank[i].host[0])
            snprintf (r->rank[i].host, sizeof (r->rank[i].host), "%s",
                      host (arg, (unsigned int)i));
        if (rails == 0
            || !agrees (r, &r->rank[i], transport, npeers, rails))
            continue;
        r->key = mix (mix (r->key, i), r->rank[i].key);
        r->rank[i].member = (int)r->nmembers;
        r->member[r->nmembers] = (unsigned int)i;
        r->first[r->nmembers++] = npeers;
        npeers += (uint32_t)rails;
        r->first[r->nmembers] = npeers;
    }
    return r;
}

void roster_destroy (struct roster *r)
{
    int saved_errno = errno;

    if (!r)
        return;
    free (r->rank);
    free (r->member);
    free (r->first);
    free (r->peer);
    free (r);
    errno = saved_errno;
}
