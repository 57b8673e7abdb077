/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "probe/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "ibquery/live.h"
#include "ibquery/snapshot.h"
#include "probe/watchdog.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/text.h"

int step_join (struct step *s, struct error *err)
{
    const struct site *site = s->site;

    watchdog_phase (s->host, "the nodes of the step were starting");
    if (!(s->transport = transport_find (site->transport, err))
        || !(s->coord = coord_open (s->coordination, site->timeout_ms, err)))
        return -1;
    s->rank = s->coord->rank;
    s->size = s->coord->size;
    snprintf (s->host, sizeof (s->host), "%s", coord_host (s->coord, s->rank));
    text_clean (s->host);
    return 0;
}

int step_meet (struct step *s, struct error *err)
{
    struct coord_blob *blob;
    uint8_t buf[COORD_BLOB_MAX];
    struct error why = { .text = "" };
    uint64_t key;
    size_t len;
    int rc;

    if (getrandom (&key, sizeof (key), 0) != sizeof (key))
        return error_errno (err, "getrandom");
    s->t = s->transport->open (s->site, s->host, s->pads, &why);
    len = roster_pack (buf, s->host, key, s->transport, s->t, why.text);
    blob = xarray (s->size, sizeof (*blob));
    watchdog_phase (s->host, "the nodes of the step were meeting");
    rc = coord_exchange (s->coord, buf, len, blob, err);
    if (rc == 0)
        s->roster = roster_create (blob, s->size, s->transport, s->coord);
    free (blob);
    return rc;
}

unsigned int step_leader (const struct step *s)
{
    const struct roster *r = s->roster;

    for (size_t i = 0; s->leader && i < r->nmembers; i++)
        if (!strcmp (r->rank[r->member[i]].host, s->leader))
            return r->member[i];
    return r->nmembers > 0 ? r->member[0] : 0;
}

int step_load (struct step *s, struct error *err)
{
    const struct site *site = s->site;
    const struct live_job job = { .id = getenv ("SLURM_JOB_ID") };
    FILE *fp;

    if (!s->fabric && !live_wanted (site))
        s->fabric = fabric_load (site->snapshot, err);
    else if (!s->fabric
             && (fp = live_open (site, &job, site->timeout_ms / 2, err))) {
        s->fabric = fabric_read (fp, site->live_fabric, err);
        file_close_input (fp);
    }
    return s->fabric ? 0 : -1;
}

static int load (void *arg, struct error *err)
{
    return step_load (arg, err);
}

int step_load_and_serve (struct step *s, struct error *err)
{
    return group_meanwhile (s->group, load, s, err);
}

int step_form_group (struct step *s, struct error *err)
{
    const struct roster *r = s->roster;
    int me = r->rank[s->rank].member;

    watchdog_phase (s->host, "it measured");
    if (me == ROSTER_NONE)
        return 0;
    if (s->transport->connect (s->t, r->key, r->peer, r->first[r->nmembers],
                               r->nmembers, err) < 0)
        return -1;
    s->group = group_create (s->transport, s->t, r->key, r->nmembers,
                             (size_t)me, r->first);
    return 0;
}

void step_say (const char *host, const char *text)
{
    fprintf (stderr, "pmm: %s%s%s\n", host, *host ? ": " : "", text);
}

void step_clear (struct step *s)
{
    group_destroy (s->group);
    if (s->t)
        s->transport->close (s->t);
    coord_close (s->coord);
    roster_destroy (s->roster);
    fabric_destroy (s->fabric);
}

