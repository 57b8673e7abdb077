/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step: how a process of a job step comes to a group: it joins the step, opens
 * its transport, meets the others, and forms a group with all that could do the
 * same. Functions with err return 0, or -1 with err.
 */
#ifndef PROBE_STEP_H
#define PROBE_STEP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "probe/coord.h"
#include "probe/group.h"
#include "probe/transport.h"
#include "util/error.h"
#include "util/options.h"
#include "util/site.h"

/* The watchdog ends the process in time if anything hangs, here or in a
 * library: with a result record if this process prints one, else with a
 * sentence on standard error. Set it before the start.
 */
extern struct watchdog {
    int64_t timeout_ms;
    int status;         /* exit status if no record is printed */
    const char *nonce;  /* of the record; borrowed */
    const char *result; /* the result file, removed before the record; NULL:
                           none */
    volatile sig_atomic_t prints; /* this process prints the record; may change
                                     at any time */
} watchdog;

void watchdog_start (void);

/* Roster: what the processes publish before they can use the transport, and the
 * members and peers that follow from it. All see the same blobs, so all have
 * the same roster. If they do not, because a node answered only some of them,
 * their rosters have different keys, and they ignore each other's messages. A
 * rank without a transport says why and is no member.
 */
enum { ROSTER_NONE = -1 };

struct roster_rank {
    char host[COORD_HOST]; /* "" if unknown */
    char why[256];         /* why it is no member; "" for a member */
    bool silent;           /* it published nothing */
    int member;            /* ROSTER_NONE: it is none */
    uint64_t key;          /* its random draw */
};

struct roster {
    struct pool *pool;        /* of it */
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
                    uint64_t key, const struct transport_handle *t,
                    const char *why);

/* Read the blobs of all ranks. A rank is no member if its blob is invalid, or
 * if messages from the first member cannot reach its addresses, rail by rail;
 * those of other subnets than the first member's do not count if one is
 * reached. If a blob does not name its host, coord is asked for it (NULL:
 * nothing to ask).
 */
struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              struct coord *coord);
void roster_destroy (struct roster *r);

struct step {
    /* set by the caller: the arguments of --conf, --set and --coord */
    const char *conf; /* NULL: the usual file */
    struct strings set;
    const char *coordination;
    struct site site;   /* by step_read_site */
    bool talks;         /* for messages of users */
    const char *leader; /* the host that should lead; NULL: any */

    struct coord *coord;
    const struct transport *transport;
    struct transport_handle *t;
    unsigned int rank, size;
    char host[COORD_HOST]; /* "": unknown */
    struct roster *roster;
    struct group *group;   /* NULL: no member */
    struct fabric *fabric; /* NULL: not loaded */
};

extern const struct opt step_options[];

/* Read pmm.conf and the options set. The caller then calls site_check. */
int step_read_site (struct step *s, struct error *err);

/* Join the step; open the transport and meet the others: all processes do this
 * together. Call step_clear in any case.
 */
int step_join (struct step *s, struct error *err);
int step_meet (struct step *s, struct error *err);
void step_clear (struct step *s);

/* The rank that leads: that of the chosen host, if it is a member; else the
 * first member, or 0 if there is no member.
 */
unsigned int step_leader (const struct step *s);

/* Join the group, if this process can be a member, until the watchdog's time.
 */
int step_form_group (struct step *s, struct error *err);

/* Load the snapshot, or the one that this node's prolog has read, unless it is
 * loaded already.
 */
int step_load (struct step *s, struct error *err);

/* Print a message about a host; "": unknown. */
void step_say (const char *host, const char *text);

#endif /* PROBE_STEP_H */
