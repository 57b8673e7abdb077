/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a process of a step comes to a group.
 *
 * Notes: a rank's blob is, with sizes in bytes: version 1, rails 1, key 8, the
 * host's name (length 1, bytes); then per rail GUID 8, LID 2, LMC 1, number 1
 * and address (length 1, bytes); if there are no rails, the reason (length 1,
 * bytes).
 */
#include "config.h"
#include "probe/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "ibquery/live.h"
#include "ibquery/snapshot.h"
#include "probe/wire.h"
#include "util/alloc.h"
#include "util/pool.h"
#include "util/conf.h"
#include "util/file.h"
#include "util/rng.h"
#include "util/text.h"

static const struct transport *const transports[] = {
    &transport_emu,
#ifdef HAVE_VERBS
    &transport_verbs,
#endif
};

/*
 * The watchdog
 */

struct watchdog watchdog = { .nonce = "" };

/* Formatted beforehand, because a signal handler may do little. The record
 * starts with a newline, because the samples may be only partly written.
 */
static char record[256];
static char sentence[256];

static void on_alarm (int signum)
{
    bool prints = watchdog.prints;
    ssize_t n;

    (void)signum;
    if (prints && watchdog.result)
        file_remove (watchdog.result);
    n = prints ? write (STDOUT_FILENO, record, strlen (record))
               : write (STDERR_FILENO, sentence, strlen (sentence));
    _exit (prints && n >= 0 ? ERROR_WORLD : watchdog.status);
}

/* Set what is done from now on, and by which host ("": not known yet). */
static void set_phase (const char *host, const char *phase)
{
    double timeout_s = (double)watchdog.timeout_ms / 1000;
    sigset_t mask, old;

    sigemptyset (&mask);
    sigaddset (&mask, SIGALRM);
    sigprocmask (SIG_BLOCK, &mask, &old);
    snprintf (record, sizeof (record),
              "\npmm-result 1 UNKNOWN %s timed out after %g s while %s\n",
              watchdog.nonce, timeout_s, phase);
    snprintf (sentence, sizeof (sentence),
              "pmm: %s%stimed out after %g s while %s\n", host,
              *host ? ": " : "", timeout_s, phase);
    sigprocmask (SIG_SETMASK, &old, NULL);
}

void watchdog_start (void)
{
    struct sigaction sa = { .sa_handler = on_alarm };
    struct itimerval timer = {
        .it_value = { watchdog.timeout_ms / 1000,
                      watchdog.timeout_ms % 1000 * 1000 },
    };

    set_phase ("", "it started");
    sigaction (SIGALRM, &sa, NULL);
    setitimer (ITIMER_REAL, &timer, NULL);
    signal (SIGPIPE, SIG_IGN);
}

/* The time left, less a tenth, so that a process can end in order before the
 * watchdog does, and say what it waited for.
 */
static int64_t time_left_ns (void)
{
    struct itimerval timer;
    int64_t left_us;

    getitimer (ITIMER_REAL, &timer);
    left_us = (int64_t)timer.it_value.tv_sec * 1000000
              + timer.it_value.tv_usec;
    return 900 * left_us;
}

/*
 * The roster
 */

enum { ROSTER_VERSION = 3, RAIL_SIZE = 12 /* without its address */ };

size_t roster_pack (uint8_t buf[COORD_BLOB_MAX], const char *host,
                    uint64_t key, const struct transport_handle *t,
                    const char *why)
{
    size_t rails = t ? t->rails : 0;
    uint8_t *p = buf + 10;

    buf[0] = ROSTER_VERSION;
    buf[1] = (uint8_t)rails;
    wire_put (buf + 2, key, 8);
    p = wire_put_bytes (p, host, strlen (host), 63);
    for (size_t i = 0; i < rails; i++) {
        const struct transport_address *a = &t->address[i];

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

/* Return the number of rails written to peer; 0 with rank->why set. */
static size_t unpack_rank_blob (struct roster_rank *rank,
                                const struct coord_blob *blob,
                                const struct transport *transport,
                                struct transport_address *peer)
{
    struct wire_in in = { blob->data, blob->len, false };
    size_t rails;

    strcpy (rank->why, "did not answer");
    rank->silent = blob->len == 0 || blob->len > COORD_BLOB_MAX;
    if (rank->silent)
        return 0;
    strcpy (rank->why, "sent an invalid answer");
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
        struct transport_address *a = &peer[i];
        const uint8_t *data;
        size_t len;

        a->node = rank->host;
        a->guid = wire_take (&in, 8);
        a->lid = (uint16_t)wire_take (&in, 2);
        a->lmc = (uint8_t)wire_take (&in, 1);
        a->number = (uint8_t)wire_take (&in, 1);
        in.bad |= a->lmc > TRANSPORT_LMC_MAX
                  || a->number >= TRANSPORT_RAILS_MAX;
        if ((data = wire_take_bytes (&in, TRANSPORT_ADDRESS_MAX, &len))) {
            a->len = (uint8_t)len;
            memcpy (a->data, data, len);
        }
        a->subnet = transport->subnet ? transport->subnet (a) : 0;
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
 * fewer, or from the next one that is in the same subnet. Rails that are in no
 * subnet of the first member's do not count, unless all are. If not, set
 * rank->why.
 */
static bool rank_matches_roster (const struct roster *r,
                                 struct roster_rank *rank,
                                 const struct transport *transport,
                                 uint32_t first, size_t rails)
{
    size_t others = r->nmembers > 0 ? r->first[1] : rails, met = 0;
    struct error err;

    for (size_t i = 0; i < rails && transport->agree; i++) {
        const struct transport_address *a = &r->peer[first + i];
        size_t at = i < others ? i : 0, n = 0;

        while (n < others && r->peer[(at + n) % others].subnet != a->subnet)
            n++;
        if (n == others && (met > 0 || i + 1 < rails))
            continue;
        met++;
        if (transport->agree (&r->peer[(at + n) % others], a, &err) < 0) {
            snprintf (rank->why, sizeof (rank->why), "%.255s", err.text);
            return false;
        }
    }
    return true;
}

struct roster *roster_create (const struct coord_blob *blob, size_t nranks,
                              const struct transport *transport,
                              struct coord *coord)
{
    struct pool *p = pool_create ();
    struct roster *r = pool_alloc (p, 1, sizeof (*r));
    uint32_t npeers = 0;

    r->pool = p;
    r->nranks = nranks;
    r->rank = pool_alloc (p, nranks, sizeof (*r->rank));
    r->member = pool_alloc (p, nranks, sizeof (*r->member));
    r->first = pool_alloc (p, nranks + 1, sizeof (*r->first));
    r->peer = pool_alloc (p, nranks * TRANSPORT_RAILS_MAX, sizeof (*r->peer));
    for (size_t i = 0; i < nranks; i++) {
        struct roster_rank *rank = &r->rank[i];
        size_t rails
            = unpack_rank_blob (rank, &blob[i], transport, r->peer + npeers);

        rank->member = ROSTER_NONE;
        if (!rank->host[0] && coord && coord->means->ask_host)
            coord->means->ask_host (coord, (unsigned int)i, rank->host);
        if (rails == 0
            || !rank_matches_roster (r, rank, transport, npeers, rails))
            continue;
        r->key = rng_mix (rng_mix (r->key ^ i) ^ rank->key);
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
    if (r)
        pool_destroy (r->pool);
}

/*
 * The step
 */

#define FIELD(field) offsetof (struct step, field)

const struct opt step_options[] = {
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "a file to read instead of " PMM_CONF_PATH },
    { "set", 0, "KEY=VALUE", opt_append, FIELD (set),
      "a line of pmm.conf(5) to add; may be given several times" },
    { "coord", 0, "NAME", opt_string, FIELD (coordination),
      "how processes meet: auto, pmix, pmi2 or local:RANK:SIZE:HOST:SOCKET "
      "(default: auto)" },
    { 0 },
};

int step_read_site (struct step *s, struct error *err)
{
    if (site_read (&s->site, s->conf, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < s->set.n; i++)
        if (conf_set_word (site_options, &s->site, s->set.v[i], err) < 0)
            return -1;
    return 0;
}

int step_join (struct step *s, struct error *err)
{
    const char *name = s->site.transport;
    struct coord *c;

    set_phase (s->host, "the nodes of the step were starting");
    for (size_t i = 0; i < sizeof (transports) / sizeof (transports[0]); i++)
        if (!strcmp (transports[i]->name, name))
            s->transport = transports[i];
    if (!s->transport)
        return error_world (err, "this pmm-probe was built without %s", name);
    c = s->coord = coord_open (s->coordination, s->site.timeout_ms, err);
    if (!c)
        return -1;
    s->rank = c->rank;
    s->size = c->size;
    strcpy (s->host, c->host);
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
    s->t = s->transport->open (&s->site, s->host, s->talks, &why);
    len = roster_pack (buf, s->host, key, s->t, why.text);
    blob = xcalloc (s->size, sizeof (*blob));
    set_phase (s->host, "the nodes of the step were meeting");
    rc = s->coord->means->exchange (s->coord, buf, len, blob, err);
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
    const struct site *site = &s->site;
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

int step_form_group (struct step *s, struct error *err)
{
    const struct roster *r = s->roster;
    int me = r->rank[s->rank].member;

    set_phase (s->host, "it measured");
    if (me == ROSTER_NONE)
        return 0;
    if (s->transport->connect (s->t, r->key, r->peer, r->first[r->nmembers],
                               r->nmembers, err) < 0)
        return -1;
    s->group = group_create (s->transport, s->t, r->key, r->nmembers,
                             (size_t)me, r->first);
    s->group->peer = r->peer;
    s->group->deadline = group_now (s->group) + time_left_ns ();
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
    if (s->coord)
        s->coord->means->close (s->coord);
    roster_destroy (s->roster);
    fabric_destroy (s->fabric);
    free (s->set.v);
    site_clear (&s->site);
}
