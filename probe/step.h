/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step: how a process of a job step comes to a group: it joins, opens its
 * transport, meets the others, and is a member with all that could do the same.
 * It tells the watchdog what it waits for.
 */
#ifndef PROBE_STEP_H
#define PROBE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "ibquery/fabric.h"
#include "probe/coord.h"
#include "probe/group.h"
#include "probe/roster.h"
#include "probe/transport.h"
#include "util/error.h"
#include "util/site.h"

struct step {
    /* the caller's */
    const struct site *site;
    const char *coordination; /* as coord_open has it */
    bool pads;                /* messages are to have some */
    const char *leader;       /* the host that is to lead; NULL: any */

    struct coord *coord;
    const struct transport *transport;
    void *t;
    unsigned int rank, size;
    char host[64]; /* "" where it is not known */
    struct roster *roster;
    struct group *group;   /* NULL: no member */
    struct fabric *fabric; /* NULL: not loaded */
};

/* Join the step; open the transport and meet the others, which all do together.
 * Return 0, or -1 with err; step_clear is due in any case.
 */
int step_join (struct step *s, struct error *err);
int step_meet (struct step *s, struct error *err);

/* The rank that leads: that of the host that is to, if it is a member; else
 * the first member, or where there is none, 0.
 */
unsigned int step_leader (const struct step *s);

/* Be a member, if that can be. Return 0, or -1 with err. */
int step_form_group (struct step *s, struct error *err);

/* Load the snapshot, or what the prolog of this node has read, unless that was
 * done; step_load_and_serve is there for the other members meanwhile. Return
 * 0, or -1 with err.
 */
int step_load (struct step *s, struct error *err);
int step_load_and_serve (struct step *s, struct error *err);

/* Tell people about a host; "": it is not known. */
void step_say (const char *host, const char *text);

void step_clear (struct step *s);

#endif /* PROBE_STEP_H */
