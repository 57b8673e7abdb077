/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/growth.h"

#include <math.h>
#include <string.h>

#define BER 1e-12           /* without error correction */
#define BER_CORRECTED 1e-15 /* after error correction */
#define HOUR 3600.0
#define SIGMAS 5
#define SPARE 2             /* errors */

/* How many events are healthy in how many seconds; 0: they are never a sign. */
static const struct {
    unsigned int count, seconds;
} events[COUNTERS] = {
    [COUNTER_LINK_RECOVERY] = { 1, 3600 },
    [COUNTER_LINK_DOWNED] = { 2, 43200 },
    [COUNTER_RCV_ERRORS] = { 10, 3600 },
    [COUNTER_LINK_INTEGRITY] = { 1, 3600 },
    [COUNTER_BUFFER_OVERRUN] = { 1, 3600 },
};

static bool has (uint32_t set, unsigned int id)
{
    return set >> id & 1;
}

/* Whether any counter of the port went back. */
static bool was_reset (const struct port_counters *before,
                       const struct port_counters *now)
{
    for (unsigned int i = 0; i < COUNTERS; i++)
        if (has (before->told & now->told, i)
            && now->value[i] < before->value[i])
            return true;
    return false;
}

struct growth growth_of (const struct port_counters *before,
                         const struct port_counters *now,
                         enum counter_id id)
{
    uint64_t then, value;

    if (!before || !now || !has (before->told & now->told, id))
        return (struct growth){ GROWTH_UNTOLD, 0 };
    then = before->value[id];
    value = now->value[id];
    if (value < then)
        return (struct growth){ GROWTH_RESET, value };
    if (has (before->at_end, id))
        return (struct growth){ GROWTH_AT_END, 0 };
    if (has (now->at_end, id))
        return (struct growth){ GROWTH_AT_END, value - then };
    return (struct growth){ was_reset (before, now) ? GROWTH_RESET
                                                    : GROWTH_EXACT,
                            value - then };
}

double growth_seconds (const struct counters *before,
                       const struct counters *now)
{
    if (now->time <= before->time)
        return 0;
    return (double)(now->time - before->time) + now->lasted;
}

bool growth_is_limited (enum counter_id id)
{
    return id == COUNTER_SYMBOL_ERRORS || events[id].count > 0;
}

static bool is_corrected (const struct rates *rate, enum fec fec)
{
    const struct rates edr = rates_of (0, "EDR");

    return fec_is_active (fec) > 0 || rates_slower (&edr, rate);
}

double growth_limit_per_hour (enum counter_id id, const struct rates *rate,
                              enum fec fec)
{
    double ber = is_corrected (rate, fec) ? BER_CORRECTED : BER;
    double bits = rates_bits (rate);

    if (id == COUNTER_SYMBOL_ERRORS)
        return bits > 0 ? ber * bits * HOUR : NAN;
    return events[id].count > 0 ? events[id].count * HOUR / events[id].seconds
                                : NAN;
}

double growth_allowed (enum counter_id id, const struct rates *rate,
                       enum fec fec, double seconds)
{
    double mean = growth_limit_per_hour (id, rate, fec) * seconds / HOUR;

    if (id == COUNTER_SYMBOL_ERRORS)
        return mean + SIGMAS * sqrt (mean) + SPARE;
    return mean + events[id].count;
}
