/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roster: what the processes of a step publish through coord before they can
 * use the transport, and the members and peers that follow from it. All
 * processes see the same blobs, so all have the same roster. If they do not,
 * because a node answered only some of them, their rosters have different keys,
 * and they ignore each other's messages.
 *
 * A rank without a transport says why and is no member.
 */
#ifndef PROBE_ROSTER_H
#define PROBE_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/coord.h"
#include "probe/transport.h"
#include "util/error.h"

enum { ROSTER_NONE = -1 };

struct roster_rank {
    char host[64];  /* "" if unknown */
    char why[256];  /* why it is no member; "" for a member */
    bool silent;    /* it published nothing */
    int member;     /* ROSTER_NONE: it is none */
    uint64_t key;   /* its random draw */
};

struct roster {
    struct roster_rank *rank; /* [nranks] */
    size_t nranks;
    uint64_t key;             /* of the session: from all members' draws */
    size_t nmembers;
    unsigned int *member;     /* [nmembers] rank */
    uint32_t *first;          /* [nmembers + 1] first peer of each */
    struct transport_address *peer; /* [first[nmembers]] */
};

/* Write this rank's blob: its host, a key, and the rails of t, or, if t is
 * NULL, why there are none. Return the length.
 */
size_t roster_pack (uint8_t buf[COORD_BLOB_MAX], const char *host,
                    uint64_t key, const struct transport *transport,
                    const void *t, const char *why);

/* Read the blobs of all ranks. A rank is no member if its blob is invalid, or
 * if messages from the first member cannot reach its addresses, rail by rail.
 * If a blob does not name its host, coord is asked for it (NULL: nothing to
 * ask).
 */
struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              struct coord *coord);
void roster_destroy (struct roster *r);

#endif /* PROBE_ROSTER_H */
