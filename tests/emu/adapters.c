/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/emu/adapters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/text.h"

enum {
    LANES = 16,
    LANES_MAX = 32,
    SLOWEST_MTS = 8000,
    FASTEST_MTS = 64000,
    GTS_MAX = 256,
    LIMIT_MAX_GBPS = 10000,
    ERRORS_MAX = 1000000,
};

#define LIMIT_MIN_GBPS .001

struct adapter *adapters_create (const struct fabric *f, const double *bits)
{
    struct adapter *all = xcalloc (f->nnodes, sizeof (*all));
    double *need = xcalloc (f->nnodes, sizeof (*need));

    for (size_t i = 0; i < f->nendpoints; i++) {
        const struct fabric_port *port = &f->port[f->endpoint[i].port];

        need[port->node] += bits[port->link];
    }
    for (size_t i = 0; i < f->nnodes; i++) {
        struct pcie_rate r = { LANES, SLOWEST_MTS };

        while (r.mts < FASTEST_MTS && pcie_usable (&r, PCIE_PAYLOAD) < need[i])
            r.mts *= 2;
        all[i] = (struct adapter){
            .now = r, .able = r, .slot = r, .relaxed = 1, .strict = 1
        };
    }
    free (need);
    return all;
}

double adapter_bits (const struct adapter *a, enum adapter_way way)
{
    double bits = pcie_usable (&a->now, PCIE_PAYLOAD);

    return a->limit[way] > 0 ? fmin (bits, a->limit[way]) : bits;
}

int adapters_parse_two (const char *s, double min, double max, double value[2])
{
    size_t there = strcspn (s, ":");
    char buf[64];

    if (there >= sizeof (buf))
        return -1;
    snprintf (buf, sizeof (buf), "%.*s", (int)there, s);
    return text_double (buf, min, max, &value[0]) < 0
                   || text_double (s[there] ? s + there + 1 : buf, min, max,
                                   &value[1])
                          < 0
               ? -1
               : 0;
}

/* "GTSxLANES", and what follows. Return where that is; NULL: it is none. */
static const char *parse_pcie_rate (const char *s, struct pcie_rate *r)
{
    double value[2];
    char *end;

    for (int i = 0; i < 2; i++, s = end) {
        value[i] = strtod (s, &end);
        if (end == s || (i == 0 && *end++ != 'x'))
            return NULL;
    }
    if (!(value[0] >= 1 && value[0] <= GTS_MAX)
        || !(value[1] >= 1 && value[1] <= LANES_MAX)
        || value[1] > floor (value[1]))
        return NULL;
    *r = (struct pcie_rate){ (unsigned)value[1],
                             (unsigned)lround (value[0] * 1000) };
    return s;
}

static bool pcie_exceeds (const struct pcie_rate *a, const struct pcie_rate *b)
{
    return a->lanes > b->lanes || a->mts > b->mts;
}

/* NOW[/ABLE[/SLOT]]; NULL: it is none. */
static const char *parse_pcie_link (const char *s, struct adapter *a)
{
    struct pcie_rate *rate[] = { &a->now, &a->able, &a->slot };

    for (int i = 0; i < 3 && (s = parse_pcie_rate (s, rate[i])) && *s == '/';
         i++)
        s++;
    return s && !*s && !pcie_exceeds (&a->now, &a->able)
                   && !pcie_exceeds (&a->now, &a->slot)
               ? s
               : NULL;
}

static int change_pcie (struct adapter *a, const char *what, struct error *err)
{
    double gbps[2];

    if (!strcmp (what, "none")) {
        a->hidden = true;
        return 0;
    }
    if (!strcmp (what, "together")) {
        a->together = true;
        return 0;
    }
    if (!strncmp (what, "errors=", 7)) {
        if (text_double (what + 7, 0, ERRORS_MAX, &a->errors) < 0)
            return error_input (err, "pcie: '%.80s' is no number from 0 to %d",
                                what + 7, ERRORS_MAX);
        return 0;
    }
    if (!strncmp (what, "rate=", 5)) {
        if (adapters_parse_two (what + 5, LIMIT_MIN_GBPS, LIMIT_MAX_GBPS, gbps)
            < 0)
            return error_input (err,
                                "pcie: '%.80s' is no number of Gb/s from "
                                "%g to %d, or two",
                                what + 5, LIMIT_MIN_GBPS, LIMIT_MAX_GBPS);
        a->limit[ADAPTER_SENDS] = 1e9 * gbps[0];
        a->limit[ADAPTER_RECEIVES] = 1e9 * gbps[1];
        return 0;
    }
    if (!parse_pcie_link (what, a))
        return error_input (err,
                            "pcie: '%.80s' is not none, together, rate=GBPS, "
                            "errors=N or NOW[/ABLE[/SLOT]], each like 16x8 "
                            "and NOW the lowest",
                            what);
    return 0;
}

/* Receiving at these shares of the rate: RELAXED[:STRICT], or no:STRICT. */
static int change_order (struct adapter *a, const char *what, struct error *err)
{
    bool refuses = !strncmp (what, "no:", 3);
    double share[2];

    if (adapters_parse_two (refuses ? what + 3 : what, .01, 1, share) < 0)
        return error_input (err,
                            "order: '%.80s' is not RELAXED[:STRICT] or "
                            "no:STRICT, shares from 0.01 to 1",
                            what);
    a->refuses = refuses;
    a->relaxed = share[0];
    a->strict = share[1];
    return 0;
}

/* Change the adapters of a host or endpoint; none if one cannot be. */
static int change_adapters (struct adapter *all, const struct fabric *f,
                            const char *host, const char *what,
                            int (*change) (struct adapter *a, const char *what,
                                           struct error *err),
                            struct error *err)
{
    uint32_t h = fabric_find_host (f, host), first, n = 1;

    if (h != FABRIC_NONE) {
        first = f->host[h].first;
        n = f->host[h].count;
    }
    else if ((first = fabric_find_endpoint (f, host)) == FABRIC_NONE)
        return error_input (err, "no host '%s' in the fabric", host);
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = first; i < first + n; i++) {
            struct adapter *a = &all[f->port[f->endpoint[i].port].node];
            struct adapter changed = *a;

            if (change (&changed, what, err) < 0)
                return -1;
            changed.planted = true;
            if (pass > 0)
                *a = changed;
        }
    return 0;
}

int adapters_pcie (struct adapter *a, const struct fabric *f, const char *host,
                   const char *what, struct error *err)
{
    return change_adapters (a, f, host, what, change_pcie, err);
}

int adapters_order (struct adapter *a, const struct fabric *f, const char *host,
                    const char *what, struct error *err)
{
    return change_adapters (a, f, host, what, change_order, err);
}
