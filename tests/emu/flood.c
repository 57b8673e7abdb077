/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes: this is max-min fairness with inputs in the place of flows. The input
 * that gets the smallest share of what it wants determines the rates of its
 * flows; then the next one, with what that leaves. Crossings, one per flow and
 * hop, are sorted by link and input.
 */
#include "config.h"
#include "tests/emu/flood.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/sort.h"

#define NEAR 1e-9 /* relative difference of equal shares */

struct flood_crossing {
    uint32_t arc, input; /* an arc, or the number of arcs and that of a flow */
    struct flood_flow *flow;
    int hop;
};

static int by_place (const void *va, const void *vb)
{
    const struct flood_crossing *a = va;
    const struct flood_crossing *b = vb;

    if (a->arc != b->arc)
        return util_compare (a->arc, b->arc);
    if (a->input != b->input)
        return util_compare (a->input, b->input);
    return util_compare (a->flow, b->flow);
}

static double wants (const struct flood_flow *f)
{
    return f->rate >= 0 ? f->rate : f->offer;
}

/* The crossings of one link are c[0] to c[n - 1]. Return where the crossings of
 * the next input begin.
 */
static size_t input_end (const struct flood_crossing *c, size_t n, size_t i,
                         double *want)
{
    size_t end = i;

    for (*want = 0; end < n && c[end].input == c[i].input; end++)
        *want += wants (c[end].flow);
    return end;
}

/* The rate of a full input of a link; 0: the link carries all that is wanted.
 */
static double share (const struct flood_crossing *c, size_t n, double carries)
{
    double level = 0;

    for (;;) {
        double sum = 0, left = carries, want;
        size_t full = 0;

        for (size_t i = 0; i < n;) {
            i = input_end (c, n, i, &want);
            sum += want;
            if (want < level * (1 - NEAR))
                left -= want;
            else
                full++;
        }
        if (sum < carries * (1 - NEAR))
            return 0;
        if (full == 0 || left / (double)full <= level * (1 + NEAR))
            return level;
        level = left / (double)full;
    }
}

/* An input, and which share of their offer those of its flows get that are not
 * settled.
 */
struct portion {
    size_t from, to; /* of the crossings */
    double part;
};

/* Among the full inputs of the link whose crossings are c[from] to c[to - 1],
 * find one that gets a smaller share than the worst so far.
 */
static void find_worst (const struct flood_crossing *c, size_t from, size_t to,
                        double level, struct portion *worst)
{
    for (size_t i = from, end; i < to; i = end) {
        double settled = 0, want, part;

        end = input_end (c, to, i, &want);
        for (size_t k = i; k < end; k++)
            if (c[k].flow->rate >= 0)
                settled += c[k].flow->rate;
        if (want < level * (1 - NEAR) || want <= settled)
            continue;
        part = fmax (level - settled, 0) / (want - settled);
        if (part < worst->part)
            *worst = (struct portion){ i, end, part };
    }
}

static void settle (const struct flood_crossing *c, const struct portion *worst)
{
    for (size_t k = worst->from; k < worst->to; k++)
        if (c[k].flow->rate < 0)
            c[k].flow->rate = c[k].flow->offer * worst->part;
}

static void mark_full (const struct flood_crossing *c, size_t n, double level)
{
    double want;

    for (size_t i = 0, end; i < n; i = end) {
        end = input_end (c, n, i, &want);
        for (size_t k = i; k < end && want >= level * (1 - NEAR); k++)
            if (c[k].hop > c[k].flow->full)
                c[k].flow->full = c[k].hop;
    }
}

static void fill (const struct flood_crossing *c, size_t n, double byte_ns,
                  struct flood_arc *arc)
{
    size_t inputs = 0;
    double rest = 0;
    bool held_up = false;
    double want;

    for (size_t i = 0, end; i < n; i = end) {
        bool full = false;

        end = input_end (c, n, i, &want);
        for (size_t k = i; k < end; k++) {
            full |= c[k].flow->full >= c[k].hop;
            held_up |= c[k].flow->full > c[k].hop;
        }
        arc->rate += want;
        rest += full ? want : 0;
        inputs += full;
    }
    arc->rate = fmin (arc->rate, 1 / byte_ns);
    if (inputs > 0 && rest > 0)
        arc->turn_ns = FLOOD_PACKET * (double)inputs / rest;
    if (held_up && arc->rate > 0)
        arc->ahead_ns = FLOOD_BUFFER * FLOOD_PACKET / arc->rate;
}

static size_t link_end (const struct flood_crossing *c, size_t n, size_t i)
{
    size_t end = i;

    while (end < n && c[end].arc == c[i].arc)
        end++;
    return end;
}

void flood (struct flood_flow *flow, size_t n, const double *byte_ns,
            struct flood_arc *out, size_t narcs)
{
    size_t total = 0, m = 0;
    struct flood_crossing *c;
    struct portion worst;

    memset (out, 0, narcs * sizeof (*out));
    for (size_t i = 0; i < n; i++)
        total += flow[i].hops > 0 ? (size_t)flow[i].hops : 0;
    c = xarray (total, sizeof (*c));
    for (size_t i = 0; i < n; i++) {
        struct flood_flow *f = &flow[i];

        f->rate = f->hops > 0 && f->offer > 0 ? -1 : 0;
        f->full = -1;
        for (int k = 0; k < f->hops && f->rate < 0; k++)
            c[m++] = (struct flood_crossing){
                f->arc[k], k ? f->arc[k - 1] : (uint32_t)(narcs + i), f, k
            };
    }
    qsort (c, m, sizeof (*c), by_place);
    do {
        worst = (struct portion){ .part = HUGE_VAL };
        for (size_t i = 0, end; i < m; i = end) {
            double level;

            end = link_end (c, m, i);
            level = share (c + i, end - i, 1 / byte_ns[c[i].arc]);
            if (level > 0)
                find_worst (c, i, end, level, &worst);
        }
        settle (c, &worst);
    } while (worst.to > 0);
    for (size_t i = 0; i < n; i++)
        flow[i].rate = wants (&flow[i]);
    for (size_t i = 0, end; i < m; i = end) {
        double level;

        end = link_end (c, m, i);
        level = share (c + i, end - i, 1 / byte_ns[c[i].arc]);
        if (level > 0)
            mark_full (c + i, end - i, level);
    }
    for (size_t i = 0, end; i < m; i = end) {
        end = link_end (c, m, i);
        fill (c + i, end - i, byte_ns[c[i].arc], &out[c[i].arc]);
    }
    free (c);
}
