/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roster.
 *
 * Notes: a blob is, with sizes in bytes: version 1, rails 1, key 8, the host's
 * name (length 1, bytes); then per rail GUID 8, LID 2, LMC 1, number 1 and
 * address (length 1, bytes); if there are no rails, the reason (length 1,
 * bytes).
 */
#include "config.h"
#include "probe/roster.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/alloc.h"
#include "util/text.h"

enum { ROSTER_VERSION = 3, RAIL_SIZE = 12 /* without its address */ };

size_t roster_pack (uint8_t buf[COORD_BLOB_MAX], const char *host,
                    uint64_t key, const struct transport *transport,
                    const void *t, const char *why)
{
    size_t rails = t ? transport->rails (t) : 0;
    uint8_t *p = buf + 10;

    buf[0] = ROSTER_VERSION;
    buf[1] = (uint8_t)rails;
    wire_put (buf + 2, key, 8);
    p = wire_put_bytes (p, host, strlen (host), 63);
    for (size_t i = 0; i < rails; i++) {
        const struct transport_address *a = transport->address (t, i);

        wire_put (p, a->guid, 8);
        wire_put (p + 8, a->lid, 2);
        p[10] = a->lmc;
        p[11] = a->number;
        p = wire_put_bytes (p + RAIL_SIZE, a->data, a->len,
                            TRANSPORT_ADDRESS_MAX);
    }
    if (rails == 0)
        p = wire_put_bytes (p, why, strlen (why), 255);
    return (size_t)(p - buf);
}

static void take_address (struct wire_in *in, struct transport_address *a)
{
    const uint8_t *data;
    size_t len;

    a->guid = wire_take (in, 8);
    a->lid = (uint16_t)wire_take (in, 2);
    a->lmc = (uint8_t)wire_take (in, 1);
    a->number = (uint8_t)wire_take (in, 1);
    in->bad |= a->lmc > TRANSPORT_LMC_MAX || a->number >= TRANSPORT_RAILS_MAX;
    data = wire_take_bytes (in, TRANSPORT_ADDRESS_MAX, &len);
    a->len = data ? (uint8_t)len : 0;
    if (data)
        memcpy (a->data, data, len);
}

/* Return the number of rails written to peer; 0 with rank->why set. */
static size_t unpack (struct roster_rank *rank, const struct coord_blob *blob,
                      struct transport_address *peer)
{
    struct wire_in in = { blob->data, blob->len, false };
    size_t rails;

    strcpy (rank->why, "did not answer");
    rank->silent = blob->len == 0 || blob->len > COORD_BLOB_MAX;
    if (rank->silent)
        return 0;
    strcpy (rank->why, "answered what makes no sense");
    if (wire_take (&in, 1) != ROSTER_VERSION)
        return 0;
    rails = wire_take (&in, 1);
    rank->key = wire_take (&in, 8);
    wire_take_text (&in, rank->host, sizeof (rank->host));
    if (in.bad || rails > TRANSPORT_RAILS_MAX
        || !text_is_hostname (rank->host)) {
        rank->host[0] = '\0';
        return 0;
    }
    for (size_t i = 0; i < rails; i++) {
        take_address (&in, &peer[i]);
        peer[i].node = rank->host;
    }
    if (in.bad)
        return 0;
    rank->why[0] = '\0';
    if (rails == 0) {
        wire_take_text (&in, rank->why, sizeof (rank->why));
        text_clean (rank->why);
    }
    return rails;
}

/* Whether the first member can send messages to all rails of a rank: to each
 * from its own rail at the same position, or from its first rail if it has
 * fewer. If not, set rank->why.
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

/* One step of a hash like FNV-1a, eight bytes at a time. */
static uint64_t mix (uint64_t key, uint64_t value)
{
    return (key ^ value) * UINT64_C (0x100000001b3);
}

struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              struct coord *coord)
{
    struct roster *r = xcalloc (1, sizeof (*r));
    uint32_t npeers = 0;

    r->nranks = nranks;
    r->rank = xcalloc (nranks, sizeof (*r->rank));
    r->member = xcalloc (nranks, sizeof (*r->member));
    r->first = xcalloc (nranks + 1, sizeof (*r->first));
    r->peer = xcalloc (nranks * TRANSPORT_RAILS_MAX, sizeof (*r->peer));
    for (size_t i = 0; i < nranks; i++) {
        struct roster_rank *rank = &r->rank[i];
        size_t rails = unpack (rank, &blob[i], r->peer + npeers);

        rank->member = ROSTER_NONE;
        if (!rank->host[0] && coord)
            snprintf (rank->host, sizeof (rank->host), "%s",
                      coord_host (coord, (unsigned int)i));
        if (rails == 0 || !agrees (r, rank, transport, npeers, rails))
            continue;
        r->key = mix (mix (r->key, i), rank->key);
        rank->member = (int)r->nmembers;
        r->member[r->nmembers] = (unsigned int)i;
        r->first[r->nmembers++] = npeers;
        npeers += (uint32_t)rails;
        r->first[r->nmembers] = npeers;
    }
    return r;
}

void roster_destroy (struct roster *r)
{
    if (!r)
        return;
    free (r->rank);
    free (r->member);
    free (r->first);
    free (r->peer);
    free (r);
}
