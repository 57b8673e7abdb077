/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find the endpoint of the fabric for each rail of the roster. */
#include "config.h"
#include "probe/identify.h"

#include <inttypes.h>
#include <string.h>

#include "ibquery/nodemap.h"
#include "util/text.h"

struct identifying {
    struct identity *id;
    const struct roster *roster;
    const struct fabric *fabric;
    struct nodemap *map; /* NULL: none */
    FILE *report;
    uint32_t *owner; /* [nendpoints] rank; UINT32_MAX: none */
    size_t by_name;  /* ports that were found by their node's name */
    size_t strange;  /* unknown ports of nodes that have known ones, too, and of
                        subnets that have a snapshot */
};

static void set_absent (struct identity *id, const char *host, size_t rank,
                        const char *why)
{
    /* a sentence such as "h0001 is not in the fabric" names its host */
    if (*host && !strncmp (why, host, strlen (host)))
        id->why[rank] = pool_strdup (id->pool, why);
    else if (*host)
        id->why[rank] = pool_printf (id->pool, "%s: %s", host, why);
    else
        id->why[rank] = pool_printf (id->pool, "rank %zu: %s", rank, why);
}

/* Whether a node that could not name a port has none in the snapshot, either. */
static bool is_foreign (const struct identifying *s,
                        const struct roster_rank *of)
{
    struct nodemap_line line;

    return !of->silent && *of->host
           && fabric_host_named (s->fabric, of->host) == FABRIC_NONE
           && (!s->map || nodemap_find (s->map, of->host, &line, 1) == 0);
}

/* Whether an address has the LID and the subnet of an endpoint, or none. */
static bool address_matches_endpoint (const struct fabric *f,
                                      const struct transport_address *a,
                                      uint32_t endpoint)
{
    const struct fabric_port *p = &f->port[f->endpoint[endpoint].port];
    uint64_t prefix = fabric_prefix (f, p);

    return (a->lid == 0 || a->lid == p->lid)
           && (a->subnet == 0 || prefix == 0 || a->subnet == prefix);
}

static int stale (struct error *err, const char *host)
{
    return error_world (err, "the fabric snapshot is stale: %s has other "
                        "ports or LIDs now", host);
}

/* Find the endpoint of a rail by its GUID; FABRIC_NONE if there is none. */
static int find_rail (struct identifying *s, const char *name,
                      const struct transport_address *a, uint32_t *endpoint,
                      struct error *err)
{
    const struct fabric *f = s->fabric;

    *endpoint = fabric_find_guid (f, a->guid);
    if (*endpoint == FABRIC_NONE)
        return 0;
    if (!address_matches_endpoint (f, a, *endpoint))
        return stale (err, name);
    if (s->report && f->endpoint[*endpoint].host != fabric_host_named (f, name))
        fprintf (s->report, "pmm: the port of %s with the GUID %016" PRIx64
                 " is %s in the fabric snapshot\n", name, a->guid,
                 f->endpoint[*endpoint].name);
    return 0;
}

/* For a node with no known GUID: if its name is in the fabric, and its ports
 * have no LIDs or the same as in the fabric, match its ports by number. Return
 * how many, or -1 with err.
 */
static int find_by_name (struct identifying *s, const char *name,
                         const struct transport_address *a, uint32_t rails,
                         uint32_t *endpoint, struct error *err)
{
    const struct fabric *f = s->fabric;
    uint32_t host = fabric_host_named (f, name);
    uint32_t foreign = 0;

    if (host == FABRIC_NONE)
        return 0;
    for (uint32_t i = 0; i < rails; i++) {
        uint32_t number = a[i].number - foreign;

        if (!fabric_has_subnet (f, a[i].subnet)) {
            foreign++;
            continue;
        }
        endpoint[i] = f->host[host].first + number;
        if (number >= f->host[host].count
            || !address_matches_endpoint (f, &a[i], endpoint[i]))
            return stale (err, name);
    }
    s->by_name += rails - foreign;
    return (int)(rails - foreign);
}

static int find_mapped (struct identifying *s, const char *name, uint8_t rail,
                        size_t lines, const struct nodemap_line *line,
                        uint32_t *endpoint, struct error *err)
{
    if (rail >= lines)
        return error_input (err, "NodeMap: %s has more ports than the map "
                            "has lines for it", name);
    *endpoint = nodemap_endpoint (&line[rail], s->fabric);
    if (*endpoint == FABRIC_NONE)
        return error_input (err, "NodeMap: %s, of %s, is not in the fabric "
                            "snapshot", line[rail].endpoint, name);
    return 0;
}

/* Find the endpoints of a member's rails. Return how many are known, or -1 with
 * err.
 */
static int find_member_rails (struct identifying *s, const char *name,
                              const struct transport_address *a, uint32_t rails,
                              uint32_t *endpoint, struct error *err)
{
    struct nodemap_line line[TRANSPORT_RAILS_MAX];
    size_t lines = nodemap_find (s->map, name, line, TRANSPORT_RAILS_MAX);
    int known = 0;

    for (uint32_t i = 0; i < rails; i++) {
        if ((lines > 0 ? find_mapped (s, name, a[i].number, lines, line,
                                      &endpoint[i], err)
                       : find_rail (s, name, &a[i], &endpoint[i], err)) < 0)
            return -1;
        known += endpoint[i] != FABRIC_NONE;
    }
    return known > 0 ? known
                     : find_by_name (s, name, a, rails, endpoint, err);
}

/* Assign an endpoint, with all its LIDs, to the rail of a rank that is this
 * peer.
 */
static void assign_rank_endpoint (struct identifying *s, size_t rank,
                                  uint32_t peer, uint32_t endpoint)
{
    const struct fabric *f = s->fabric;
    uint8_t lmc = f->port[f->endpoint[endpoint].port].lmc;
    struct identity *id = s->id;

    s->owner[endpoint] = (uint32_t)rank;
    if (lmc > s->roster->peer[peer].lmc)
        lmc = s->roster->peer[peer].lmc;
    for (unsigned int lid = 0; lid < 1U << lmc; lid++) {
        id->name[id->n] = f->end[fabric_end_of (f, endpoint, lid)].name;
        id->lid[id->n] = (uint8_t)lid;
        id->peer[id->n++] = peer;
    }
}

/* Identify the rails of a member; set why it is absent if it is. */
static int identify_rank (struct identifying *s, size_t rank, struct error *err)
{
    const struct roster *r = s->roster;
    const char *name = r->rank[rank].host;
    uint32_t first = r->first[r->rank[rank].member];
    uint32_t rails = r->first[r->rank[rank].member + 1] - first;
    uint32_t endpoint[TRANSPORT_RAILS_MAX];
    size_t before = s->id->n;
    struct error why = { .text = "" };
    int known
        = find_member_rails (s, name, r->peer + first, rails, endpoint, err);

    if (known < 0)
        return -1;
    if (known == 0)
        error_world (&why, "%s is not in the fabric snapshot", name);
    for (uint32_t i = 0; i < rails && !why.text[0]; i++) {
        uint32_t at = endpoint[i];

        if (at == FABRIC_NONE)
            s->strange += fabric_has_subnet (s->fabric,
                                             r->peer[first + i].subnet);
        else if (s->owner[at] == UINT32_MAX)
            assign_rank_endpoint (s, rank, first + i, at);
        else
            error_world (&why, "%s and %s both are %s in the fabric snapshot",
                         name, r->rank[s->owner[at]].host,
                         s->fabric->endpoint[at].name);
    }
    if (why.text[0]) {
        s->id->n = before;
        set_absent (s->id, name, rank, why.text);
    }
    return 0;
}

int identify (struct identity *id, const struct roster *r,
              const struct fabric *f, const char *node_map, FILE *report,
              struct error *err)
{
    struct pool *p = pool_create ();
    struct identifying s = {
        .id = id, .roster = r, .fabric = f, .report = report,
        .owner = pool_alloc (p, f->nendpoints, sizeof (*s.owner)),
    };
    const char *first = NULL; /* reason */
    int rc = 0;

    *id = (struct identity){
        .pool = p, .nranks = r->nranks,
        .why = pool_alloc (p, r->nranks, sizeof (*id->why)),
        .foreign = pool_alloc (p, r->nranks, sizeof (*id->foreign)),
        .name = pool_alloc (p, f->nends, sizeof (*id->name)),
        .peer = pool_alloc (p, f->nends, sizeof (*id->peer)),
        .lid = pool_alloc (p, f->nends, sizeof (*id->lid)),
    };
    memset (s.owner, 0xff, f->nendpoints * sizeof (*s.owner));
    if (*node_map && !(s.map = nodemap_load (node_map, err)))
        rc = -1;
    for (size_t rank = 0; rank < r->nranks && rc == 0; rank++) {
        const struct roster_rank *of = &r->rank[rank];

        if (of->member == ROSTER_NONE) {
            set_absent (id, of->host, rank, of->why);
            id->foreign[rank] = is_foreign (&s, of);
        }
        else
            rc = identify_rank (&s, rank, err);
        if (!first)
            first = id->why[rank];
    }
    nodemap_destroy (s.map);
    if (rc < 0)
        return -1;
    if (s.by_name > 0 && report)
        fprintf (report, "pmm: %s by the names of the nodes, as the GUIDs are "
                 "not in the fabric snapshot\n", COUNTED (s.by_name, "port"));
    if (s.strange > 0 && report)
        fprintf (report, "pmm: not in the fabric snapshot, and not measured: "
                 "%s: see Device in pmm.conf\n", COUNTED (s.strange, "port"));
    for (size_t i = 1; i < id->n; i++)
        if (id->peer[i] != id->peer[0])
            return 0;
    return error_world (err, "%s",
                        first ? first : "fewer than two ports to measure");
}

void identity_clear (struct identity *id)
{
    pool_destroy (id->pool);
    *id = (struct identity){ .why = NULL };
}
