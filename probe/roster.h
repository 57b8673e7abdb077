/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Roster: what the processes of a step tell one another through coord before
 * they can use the transport, and the members and peers that follow from it.
 * All processes see the same blobs, so all see the same roster. Where they do
 * not, because a node answered only some, their rosters have other keys, and
 * they are strangers to each other on the transport.
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
    char host[64];  /* "" where not even that is known */
    char why[256];  /* why it is no member; "" for a member */
    bool silent;    /* it has told nothing at all */
    int member;     /* ROSTER_NONE: it is none */
    uint64_t key;   /* its draw */
};

struct roster {
    struct roster_rank *rank; /* [nranks] */
    size_t nranks;
    uint64_t key;             /* of the session: of all members' draws */
    size_t nmembers;
    unsigned int *member;     /* [nmembers] rank */
    uint32_t *first;          /* [nmembers + 1] peer */
    struct transport_address *peer; /* [first[nmembers]] */
};

/* Write this rank's blob: its host, a key, and the rails of t, or where t is
 * NULL, why there are none. Returns the length.
 */
size_t roster_pack (uint8_t buf[COORD_BLOB_MAX], const char *host,
                    uint64_t key, const struct transport *transport,
                    const void *t, const char *why);

/* Read everyone's blobs. A blob that makes no sense makes its rank no member,
 * as do addresses to which messages of the first member cannot go, rail by
 * rail; where a blob does not name its host, coord does (NULL: nothing does).
 */
struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              struct coord *coord);
void roster_destroy (struct roster *r);

#endif /* PROBE_ROSTER_H */
