/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. For each destination, the arcs that messages may take from place to
 * place are followed from where its senders are attached. Places to which one
 * place sends messages for the same destination are made one. That repeats
 * until each place has a single next place for each destination, and no
 * messages return to a place that they have left. Two destinations at each
 * switch come first: mostly the others change nothing, and are followed once.
 */
#include "config.h"
#include "core/paths/multipath.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/map.h"
#include "util/pool.h"
#include "util/rng.h"
#include "util/sets.h"

enum { PORTS_MAX = 256 }; /* of a switch */

/* Where messages for a destination go from a place. ARRIVED: to their end. */
#define ARRIVED (NETWORK_NONE - 1)

struct multipath_work {
    struct pool *pool; /* has all but the maps and `next` */
    struct link_info *link;
    uint32_t *one;     /* [nswitches] another of the same place, or itself */
    struct map number; /* of an endpoint */
    uint32_t *end;     /* [n] the network's numbers */
    size_t n;
    uint32_t *sender;  /* [nsenders] of them, two ports of each switch at most:
                          messages of all others take the same ways */
    size_t nsenders;
    struct map by_places;  /* bundles, by their two places */
    uint32_t *place;   /* [nswitches] number of a place, by its first switch */
    size_t nplaces;
    uint32_t *next;    /* [n * nplaces] the next place; NETWORK_NONE */
    bool *taken;       /* [nlinks] by messages */
    bool *only;        /* [nlinks] by all of a sender's, for some end */

    /* of one destination */
    uint32_t sweep;
    uint32_t *seen;    /* [nswitches] the last sweep that came here */
    uint32_t *reached; /* [nreached] switches */
    size_t nreached;
    uint32_t *to;      /* [nswitches] the next place, by the first switch, */
    uint32_t *known;   /* and the sweep that found it */
    double *mass[2];   /* [nswitches] of messages that are here */
    double *share;     /* [nlinks] */
    struct multipath_share *list; /* [nlist] */
    size_t nlist;
};

static uint32_t arc_head (const struct network *net, uint32_t arc)
{
    return net->link[arc_link (arc)].end[arc % 2 ^ 1];
}

/* Find the arcs by which a message may leave a place. Return their number; 0:
 * the place has no route.
 */
static size_t next_arcs (const struct network *net,
                         const struct traffic_class *as, uint32_t place,
                         uint32_t to, uint32_t *arc)
{
    size_t n = net->hops ? net->hops (net->net, as, place, to, arc, PORTS_MAX)
                         : 0;

    if (n > 0)
        return n;
    return net->hop (net->net, place, to, arc) != NETWORK_NONE
           && *arc != NETWORK_NONE;
}

static int no_route (const struct network *net, uint32_t place,
                     struct error *err)
{
    const struct switch_info *sw
        = place < net->nswitches && net->sw[place].id ? &net->sw[place] : NULL;

    return error_input (err, "switch %s (%s) does not forward all messages",
                        sw ? sw->name : "?", sw ? sw->id : "?");
}

/* Whether messages go between two endpoints. */
static bool are_pair (const struct network *net, uint32_t a, uint32_t b)
{
    return net->place (net->net, a) != net->place (net->net, b)
           && (!net->subnet
               || net->subnet (net->net, a) == net->subnet (net->net, b));
}

/* The place to which an arc leads. */
static uint32_t next_place (struct multipath *m, uint32_t arc)
{
    uint32_t next = arc_head (m->under, arc);

    return next == NETWORK_NONE ? ARRIVED : sets_find (m->work->one, next);
}

/* Make one what a place sends messages to, by each of its arcs. Return whether
 * a place was changed.
 */
static bool merge_next_places (struct multipath *m, uint32_t at, uint32_t arc)
{
    struct multipath_work *w = m->work;
    uint32_t place = sets_find (w->one, at), next = next_place (m, arc), was;

    w->taken[arc_link (arc)] = true;
    if (next == place)
        return false;
    was = w->known[place] == w->sweep ? w->to[place] : next;
    if (was != ARRIVED)
        was = sets_find (w->one, was);
    w->known[place] = w->sweep;
    w->to[place] = next;
    if (was == next)
        return false;
    /* some messages arrive from here while others go on */
    if (next == ARRIVED || was == ARRIVED)
        return sets_unite (w->one, place, next == ARRIVED ? was : next);
    return sets_unite (w->one, was, next);
}

/* Follow all messages to endpoint number `end`. Return whether a place was
 * changed, or -1 with err.
 */
static int follow_messages (struct multipath *m, uint32_t end,
                            struct error *err)
{
    struct multipath_work *w = m->work;
    const struct network *net = m->under;
    uint32_t to = w->end[end], arc[PORTS_MAX], last;
    size_t senders;
    int changed = 0;

    net->attach (net->net, to, &last);
    w->sweep++;
    w->nreached = 0;
    for (size_t i = 0; i < w->nsenders; i++) {
        uint32_t at = net->attach (net->net, w->sender[i], arc);

        if (w->seen[at] == w->sweep || !are_pair (net, w->sender[i], to))
            continue;
        w->seen[at] = w->sweep;
        w->reached[w->nreached++] = at;
    }
    senders = w->nreached;
    for (size_t i = 0; i < w->nreached; i++) {
        uint32_t at = w->reached[i];
        size_t n = next_arcs (net, &m->as, at, to, arc);

        if (n == 0)
            return no_route (net, at, err);
        if (n == 1 && i < senders)
            w->only[arc_link (arc[0])] = true;
        for (size_t k = 0; k < n; k++) {
            uint32_t next = arc_head (net, arc[k]);

            if (next == NETWORK_NONE && arc[k] != (last ^ 1))
                return no_route (net, at, err); /* another endpoint's port */
            changed |= merge_next_places (m, at, arc[k]);
            if (next == NETWORK_NONE || w->seen[next] == w->sweep)
                continue;
            w->seen[next] = w->sweep;
            w->reached[w->nreached++] = next;
        }
    }
    return changed;
}

/* Make one the places between which messages go around. */
static bool break_loops (struct multipath_work *w)
{
    bool changed = false;

    for (size_t i = 0; i < w->nreached; i++) {
        uint32_t way[PATH_MAX_HOPS], at = sets_find (w->one, w->reached[i]);
        int n = 0;

        /* where messages only go around, no way out is known */
        for (; at != ARRIVED && n < PATH_MAX_HOPS && w->known[at] == w->sweep;
             at = w->to[at] == ARRIVED ? ARRIVED
                                       : sets_find (w->one, w->to[at])) {
            for (int k = 0; k < n; k++)
                if (way[k] == at)
                    changed |= sets_unite (w->one, at, way[n - 1]);
            if (changed)
                return true;
            way[n++] = at;
        }
    }
    return changed;
}

/* Keep where messages to an endpoint go from each place that they reach. */
static void keep_next (struct multipath *m, uint32_t end)
{
    struct multipath_work *w = m->work;

    for (size_t i = 0; i < w->nreached; i++) {
        uint32_t place = sets_find (w->one, w->reached[i]);

        if (w->known[place] == w->sweep)
            w->next[end * w->nplaces + w->place[place]] = w->to[place];
    }
}

/* Number the places that are reached. Return whether one is new. */
static bool number_places (struct multipath_work *w)
{
    size_t n = w->nplaces;

    for (size_t i = 0; i < w->nreached; i++) {
        uint32_t place = sets_find (w->one, w->reached[i]);

        if (w->place[place] == NETWORK_NONE)
            w->place[place] = (uint32_t)w->nplaces++;
    }
    return w->nplaces > n;
}

/* Make places until no destination changes one: of all, which are kept, or with
 * `first` of these.
 */
static int make_places (struct multipath *m, const bool *first,
                        struct error *err)
{
    struct multipath_work *w = m->work;
    bool changed;

    do {
        changed = false;
        if (!first) {
            w->next = xrealloc (w->next, w->n * w->nplaces, sizeof (*w->next));
            memset (w->next, 0xff, w->n * w->nplaces * sizeof (*w->next));
        }
        for (uint32_t end = 0; end < w->n; end++) {
            int rc = first && !first[end] ? 0 : follow_messages (m, end, err);

            if (rc < 0)
                return -1;
            if (first && !first[end])
                continue;
            changed |= rc > 0 || break_loops (w) || number_places (w);
            if (!first && !changed)
                keep_next (m, end);
        }
    } while (changed);
    return 0;
}

/*
 * Bundles
 */

static void make_bundles (struct multipath *m)
{
    struct multipath_work *w = m->work;
    const struct network *u = m->under;

    for (uint32_t end = 0, arc; end < w->n; end++)
        if (u->attach (u->net, w->end[end], &arc) != NETWORK_NONE)
            w->taken[arc_link (arc)] = true;
    for (uint32_t l = 0; l < u->nlinks; l++) {
        const uint32_t *of = u->link[l].end;
        uint32_t a, b;

        if (!w->taken[l])
            continue;
        m->bundle[l] = l;
        if (of[0] != NETWORK_NONE && of[1] != NETWORK_NONE) {
            a = sets_find (w->one, of[0]);
            b = sets_find (w->one, of[1]);
            if (a == b) {
                m->bundle[l] = NETWORK_NONE;
                m->uneven = true;
                continue;
            }
            m->bundle[l] = map_find (&w->by_places, pair_key (a, b));
            if (m->bundle[l] == MAP_NONE)
                map_put (&w->by_places, pair_key (a, b), m->bundle[l] = l);
        }
        m->cables[m->bundle[l]]++;
    }
    for (uint32_t l = 0; l < u->nlinks; l++)
        m->apart |= w->only[l] && m->bundle[l] != NETWORK_NONE
                    && !multipath_is_single (m, l);
}

/*
 * The network of places
 */

static int places_walk (const void *net, uint32_t from, uint32_t to,
                        uint32_t *arc, struct error *err)
{
    const struct multipath *m = net;
    const struct network *u = m->under;
    uint32_t end = u->place (u->net, to);
    uint32_t at = m->network.attach (net, from, arc);
    int n = 1;

    if (!are_pair (u, from, to))
        return 0;
    while (at != end) {
        if (n == PATH_MAX_HOPS || at == NETWORK_NONE)
            return error_input (err, "messages go around in a loop, or are "
                                     "not forwarded");
        at = m->network.hop (net, at, to, &arc[n++]);
    }
    return n;
}

static uint32_t places_place (const void *net, uint32_t endpoint)
{
    const struct multipath *m = net;

    return m->under->place (m->under->net, endpoint);
}

static uint32_t places_subnet (const void *net, uint32_t endpoint)
{
    const struct multipath *m = net;

    return m->under->subnet (m->under->net, endpoint);
}

static uint32_t places_card (const void *net, uint32_t endpoint)
{
    const struct multipath *m = net;

    return m->under->card (m->under->net, endpoint);
}

static uint32_t places_attach (const void *net, uint32_t endpoint,
                               uint32_t *arc)
{
    const struct multipath *m = net;
    uint32_t at = m->under->attach (m->under->net, endpoint, arc);

    return at < m->under->nswitches ? sets_find (m->work->one, at) : at;
}

static uint32_t places_hop (const void *net, uint32_t place, uint32_t to,
                            uint32_t *arc)
{
    const struct multipath *m = net;
    struct multipath_work *w = m->work;
    uint32_t end = map_find (&w->number, to), number, next, bundle;

    if (end == MAP_NONE || place >= m->under->nswitches
        || (number = w->place[place = sets_find (w->one, place)]) == NETWORK_NONE
        || (next = w->next[end * w->nplaces + number]) == NETWORK_NONE)
        return NETWORK_NONE;
    if (next == ARRIVED) {
        m->under->attach (m->under->net, to, arc);
        *arc ^= 1;
        return m->under->place (m->under->net, to);
    }
    bundle = map_find (&w->by_places, pair_key (place, next));
    *arc = 2 * bundle
           + (sets_find (w->one, m->under->link[bundle].end[0]) != place);
    return next;
}

/* Let links lead from place to place. A place of several switches is not a
 * switch.
 */
static void make_network (struct multipath *m)
{
    const struct network *u = m->under;
    struct multipath_work *w = m->work;
    bool *several = xcalloc (u->nswitches, sizeof (*several));

    w->link = pool_alloc (w->pool, u->nlinks, sizeof (*w->link));
    for (uint32_t p = 0; p < u->nswitches; p++)
        if (sets_find (w->one, p) != p)
            several[sets_find (w->one, p)] = true;
    for (size_t l = 0; l < u->nlinks; l++) {
        w->link[l] = u->link[l];
        for (int e = 0; e < 2; e++) {
            uint32_t *end = &w->link[l].end[e];

            if (*end != NETWORK_NONE && several[sets_find (w->one, *end)])
                *end = NETWORK_NONE;
        }
    }
    free (several);
    m->network = *u;
    m->network.net = m;
    m->network.link = w->link;
    m->network.subnet = u->subnet ? places_subnet : NULL;
    m->network.walk = places_walk;
    m->network.place = places_place;
    m->network.card = u->card ? places_card : NULL;
    m->network.attach = places_attach;
    m->network.hop = places_hop;
    m->network.hops = NULL;
    m->network.multi = m;
}

static void number_endpoints (struct multipath_work *w,
                              const struct pathset *const *ps, size_t n)
{
    for (size_t s = 0; s < n; s++)
        for (size_t i = 0; i < pathset_size (ps[s]); i++) {
            uint32_t id = pathset_endpoint (ps[s], i)->id;

            if (map_find (&w->number, id) != MAP_NONE)
                continue;
            w->end = pool_grow (w->pool, w->end, w->n, sizeof (*w->end));
            map_put (&w->number, id, (uint32_t)w->n);
            w->end[w->n++] = id;
        }
}

/* A message is forwarded by its destination alone. Return which endpoints are
 * senders.
 */
static bool *list_senders (struct multipath_work *w, const struct network *net)
{
    bool *is_one = xcalloc (w->n, sizeof (*is_one));
    uint32_t *port = xarray (net->nswitches, sizeof (*port)), arc;
    uint8_t *count = xcalloc (net->nswitches, sizeof (*count));

    w->sender = pool_alloc (w->pool, w->n, sizeof (*w->sender));
    for (size_t i = 0; i < w->n; i++) {
        uint32_t at = net->attach (net->net, w->end[i], &arc);
        uint32_t place = net->place (net->net, w->end[i]);

        if (at >= net->nswitches || count[at] == 2
            || (count[at] == 1 && port[at] == place))
            continue;
        port[at] = place;
        count[at]++;
        w->sender[w->nsenders++] = w->end[i];
        is_one[i] = true;
    }
    free (port);
    free (count);
    return is_one;
}

struct multipath *multipath_create (const struct pathset *const *ps, size_t n,
                                    const struct traffic_class *as,
                                    struct error *err)
{
    const struct network *u = pathset_network (ps[0]);
    struct pool *pool = pool_create ();
    struct multipath *m = pool_alloc (pool, 1, sizeof (*m));
    struct multipath_work *w = pool_alloc (pool, 1, sizeof (*w));
    bool *first;
    int rc;

    *m = (struct multipath){ .under = u, .as = *as, .work = w };
    w->pool = pool;
    number_endpoints (w, ps, n);
    first = list_senders (w, u);
    w->one = pool_alloc (pool, u->nswitches, sizeof (*w->one));
    w->place = pool_alloc (pool, u->nswitches, sizeof (*w->place));
    w->seen = pool_alloc (pool, u->nswitches, sizeof (*w->seen));
    w->reached = pool_alloc (pool, u->nswitches, sizeof (*w->reached));
    w->to = pool_alloc (pool, u->nswitches, sizeof (*w->to));
    w->known = pool_alloc (pool, u->nswitches, sizeof (*w->known));
    w->mass[0] = pool_alloc (pool, u->nswitches, sizeof (double));
    w->mass[1] = pool_alloc (pool, u->nswitches, sizeof (double));
    w->share = pool_alloc (pool, u->nlinks, sizeof (*w->share));
    w->list = pool_alloc (pool, u->nlinks, sizeof (*w->list));
    w->taken = pool_alloc (pool, u->nlinks, sizeof (*w->taken));
    w->only = pool_alloc (pool, u->nlinks, sizeof (*w->only));
    m->bundle = pool_alloc (pool, u->nlinks, sizeof (*m->bundle));
    m->cables = pool_alloc (pool, u->nlinks, sizeof (*m->cables));
    for (size_t l = 0; l < u->nlinks; l++)
        m->bundle[l] = NETWORK_NONE;
    for (uint32_t p = 0; p < u->nswitches; p++) {
        w->one[p] = p;
        w->place[p] = NETWORK_NONE;
    }
    rc = make_places (m, first, err);
    if (rc == 0)
        rc = make_places (m, NULL, err);
    free (first);
    if (rc == 0)
        make_bundles (m);
    make_network (m);
    if (rc == 0)
        return m;
    multipath_destroy (m);
    return NULL;
}

void multipath_destroy (struct multipath *m)
{
    if (!m)
        return;
    map_clear (&m->work->number);
    map_clear (&m->work->by_places);
    free (m->work->next);
    pool_destroy (m->work->pool);
}

/*
 * Paths
 */

static void cross (struct multipath_work *w, uint32_t link, double mass)
{
    if (w->share[link] == 0)
        w->list[w->nlist++].link = link;
    w->share[link] += mass;
}

size_t multipath_shares (struct multipath *m, uint32_t from, uint32_t to,
                         const struct multipath_share **share)
{
    struct multipath_work *w = m->work;
    const struct network *u = m->under;
    uint32_t arc[PORTS_MAX], at = u->attach (u->net, from, arc);
    size_t n = 0;

    *share = w->list;
    w->nlist = 0;
    if (!are_pair (u, from, to))
        return 0;
    cross (w, arc_link (*arc), 1);
    if (at < u->nswitches) {
        w->mass[0][at] = 1;
        w->reached[n++] = at;
    }
    /* switches that messages reach after so many hops, and with what chance */
    for (int hop = 0; n > 0; hop++) {
        double *mass = w->mass[hop % 2], *then = w->mass[hop % 2 ^ 1];
        size_t more = 0;

        for (size_t i = 0; i < n; i++) {
            uint32_t place = w->reached[i];
            size_t k = hop < PATH_MAX_HOPS
                           ? next_arcs (u, &m->as, place, to, arc)
                           : 0;

            for (size_t p = 0; p < k; p++) {
                uint32_t next = arc_head (u, arc[p]);

                cross (w, arc_link (arc[p]), mass[place] / (double)k);
                if (next == NETWORK_NONE)
                    continue;
                if (then[next] == 0)
                    w->to[more++] = next;
                then[next] += mass[place] / (double)k;
            }
            mass[place] = 0;
        }
        n = more;
        memcpy (w->reached, w->to, n * sizeof (*w->to));
    }
    for (size_t i = 0; i < w->nlist; i++) {
        w->list[i].share = w->share[w->list[i].link];
        w->share[w->list[i].link] = 0;
    }
    return w->nlist;
}

double multipath_within (struct multipath *m, uint32_t a, uint32_t b,
                         double *apart)
{
    double within = 0, sure = 0;

    for (int back = 0; back < 2 && (m->uneven || m->apart); back++) {
        const struct multipath_share *way;
        size_t n = multipath_shares (m, back ? b : a, back ? a : b, &way);

        for (size_t i = 0; i < n; i++)
            if (m->bundle[way[i].link] == NETWORK_NONE)
                within += way[i].share;
            else if (way[i].share > MULTIPATH_SURE
                     && !multipath_is_single (m, way[i].link))
                sure += way[i].share;
    }
    if (apart)
        *apart = within + sure;
    return within;
}

int multipath_walk (const struct network *net, const struct traffic_class *as,
                    uint32_t from, uint32_t to, uint64_t key, uint32_t *arc,
                    struct error *err)
{
    uint32_t at = net->attach (net->net, from, arc), out[PORTS_MAX];
    int hops = 1;

    if (!are_pair (net, from, to))
        return 0;
    while (at != NETWORK_NONE && at < net->nswitches) {
        size_t n = next_arcs (net, as, at, to, out);

        if (n == 0)
            return no_route (net, at, err);
        if (hops == PATH_MAX_HOPS)
            return error_input (err, "messages go around in a loop");
        arc[hops] = out[rng_mix (key ^ rng_mix (at)) % n];
        at = arc_head (net, arc[hops++]);
    }
    return hops;
}
