/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Step: how a process of a job step comes to a group: it joins the step, opens
 * its transport, meets the others, and forms a group with all that could do the
 * same. It tells the watchdog what it waits for.
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
    /* set by the caller */
    const struct site *site;
    const char *coordination; /* argument of coord_open */
    bool pads;                /* messages need pads */
    const char *leader;       /* the host that should lead; NULL: any */

    struct coord *coord;
    const struct transport *transport;
    void *t;
    unsigned int rank, size;
    char host[64]; /* "": unknown */
    struct roster *roster;
    struct group *group;   /* NULL: no member */
    struct fabric *fabric; /* NULL: not loaded */
};

/* Join the step; open the transport and meet the others: all processes do this
 * together. Return 0, or -1 with err; call step_clear in any case.
 */
int step_join (struct step *s, struct error *err);
int step_meet (struct step *s, struct error *err);

/* The rank that leads: that of the chosen host, if it is a member; else the
 * first member, or 0 if there is no member.
 */
unsigned int step_leader (const struct step *s);

/* Join the group, if this process can be a member. Return 0, or -1 with err. */
int step_form_group (struct step *s, struct error *err);

/* Load the snapshot, or the one that this node's prolog has read, unless it is
 * loaded already; step_load_and_serve serves the other members meanwhile.
 * Return 0, or -1 with err.
 */
int step_load (struct step *s, struct error *err);
int step_load_and_serve (struct step *s, struct error *err);

/* Print a message about a host; "": unknown. */
void step_say (const char *host, const char *text);

void step_clear (struct step *s);

#endif /* PROBE_STEP_H */
