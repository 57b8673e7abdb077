/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two switches of four nodes and one of two. Each pair alone, then half of all
 * at a time: a switch that gives its nodes half of what their edges allow is
 * named, a slow edge is not, and what was not measured so is not judged.
 */
#include "config.h"
#include "compare/throughput/edges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { NODES = 10, LENGTH = 1000 };

/* h0 to h3 at switch 7, h4 to h7 at 8, h8 and h9 at 9. */
static const uint32_t at[NODES] = { 7, 7, 7, 7, 8, 8, 8, 8, 9, 9 };

static uint32_t find (const void *of, const char *name)
{
    (void)of;
    return *name == 'h' && name[1] && !name[2] ? (uint32_t)atoi (name + 1)
                                               : EDGES_NONE;
}

static void name (const void *of, uint32_t at, char text[EDGES_NAME])
{
    (void)of;
    snprintf (text, EDGES_NAME, "s%u", at);
}

static const struct edges_topology topology = { NULL, find, at, name };

/* What a case changes: the edges of nodes, in Gb/s, and the share that a pair
 * of nodes gets while others exchange.
 */
static double edge[NODES], at_once[NODES][NODES];

static void fresh (void)
{
    for (int i = 0; i < NODES; i++) {
        edge[i] = 100;
        for (int k = 0; k < NODES; k++)
            at_once[i][k] = 1;
    }
}

/* A run of all pairs from either side, so many steps. */
static struct series *run_of (uint64_t steps, bool together)
{
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);
    char label[16];

    for (int i = 0; i < NODES; i++) {
        snprintf (label, sizeof (label), "h%d", i);
        series_add_process (s, label, label, NULL);
    }
    series_add_process (s, "elsewhere", "elsewhere", NULL);
    for (uint32_t a = 0; a < NODES; a++)
        for (uint32_t b = 0; b < NODES; b++) {
            struct series_row row = { .a = a, .b = b, .count = 1,
                                      .length = LENGTH };
            double gbps = fmin (edge[a], edge[b])
                          * (together ? at_once[a][b] : 1);

            if (a == b)
                continue;
            for (int k = 0; k < SERIES_STATS; k++)
                row.time_ns[k] = k == SERIES_SD ? 0 : LENGTH / 2. * 8 / gbps;
            series_add (s, &row, NULL);
            s->probes++;
        }
    s->steps = steps ? steps : s->probes;
    series_sort (s, NULL);
    return s;
}

static struct series_list list;
static struct edges e;

/* Judge the run of single pairs and that of several, or one of them. */
static enum verdict_status judge (bool single, bool several)
{
    struct error err = { 0 };

    edges_clear (&e);
    series_list_clear (&list);
    if (single)
        series_list_add (&list, run_of (0, false), NULL);
    if (several)
        series_list_add (&list, run_of (18, true), NULL); /* 5 at a time */
    if (edges_make (&e, &list, &topology, .2, &err) < 0)
        diag ("%s", err.text);
    return e.status;
}

/* A sentence has these words. */
static bool says (const char *words)
{
    for (size_t i = 0; i < e.nsaid; i++)
        if (strstr (e.said[i], words))
            return true;
    for (size_t i = 0; i < e.nsaid; i++)
        diag ("%s", e.said[i]);
    return false;
}

static void together (int from, int to, double share)
{
    for (int a = from; a < to; a++)
        for (int b = 0; b < NODES; b++)
            at_once[a][b] = at_once[b][a] = share;
}

static void test_switches (void)
{
    fresh ();
    edge[1] = 50;
    ok (judge (true, true) == VERDICT_OK && e.nnodes == NODES
            && e.nswitches == 3 && fabs (e.sw[0].share - 1) < 1e-9
            && isnan (e.sw[2].share) && e.node[1].rate == 50e9,
        "all get what their edges allow, one of which is slower");
    ok (says ("not judged, as fewer than 4 nodes were measured, are 1 of"),
        "one of two nodes is not judged");
    /* 90 pairs in 18 steps, of which 6 * 2 * 2 + ... have an end at it */
    ok (fabs (e.sw[0].at_once - (12 + 2 * 24) / 18.) < 1e-9,
        "pairs that have an end at a switch: %.2f at a time", e.sw[0].at_once);
    together (4, 8, .5);
    ok (judge (true, true) == VERDICT_FAIL
            && fabs (e.sw[1].share - .5) < 1e-9 && says (
                "FAIL: s8: its nodes got 50 % of what their edges allow"),
        "a switch that limits its nodes");
    ok (fabs (e.sw[0].share - 1) < 1e-9, "... that one alone");
    fresh ();
    together (2, 3, .5);
    ok (judge (true, true) == VERDICT_WARN
            && says ("WARN: h2 got 50 % of what the edges allow, others at s7"),
        "a node that was slow then is not its switch's fault");
    fresh ();
    together (0, NODES, .85);
    ok (judge (true, true) == VERDICT_OK, "15 %% less is not much");
}

static void test_unknown (void)
{
    struct series_list none = { 0 };
    struct error err = { 0 };
    struct edges x;

    fresh ();
    together (0, NODES, .5);
    ok (judge (false, true) == VERDICT_UNKNOWN
            && says ("no run has one pair at a time"),
        "what edges carry is not known where nobody was alone");
    ok (judge (true, false) == VERDICT_UNKNOWN
            && says ("no run has several of their pairs at a time, are 2 of"),
        "nor what switches carry where everybody was");
    fresh ();
    judge (true, true);
    list.run[1]->complete = false;
    ok (edges_make (&x, &list, &topology, .2, &err) == 0
            && x.status == VERDICT_UNKNOWN,
        "a run that is not complete");
    edges_clear (&x);
    list.run[0]->test = list.run[1]->test = SERIES_ONE_TO_ONE;
    ok (edges_make (&x, &list, &topology, .2, &err) < 0
            && strstr (err.text, "both ways"),
        "one message at a time: %s", err.text);
    edges_clear (&x);
    list.run[0]->test = list.run[1]->test = SERIES_ASYNC_ONE_TO_ONE;
    list.run[0]->row[3].time_ns[SERIES_MEDIAN] = 1e-300;
    ok (edges_make (&x, &list, &topology, .2, &err) < 0
            && strstr (err.text, "more than any link has"),
        "a rate of no link: %s", err.text);
    edges_clear (&x);
    ok (edges_make (&x, &none, &topology, .2, &err) < 0, "nothing: %s",
        err.text);
    edges_clear (&x);
}

static void test_labels (void)
{
    struct error err = { 0 };
    struct series *s = series_create (SERIES_ASYNC_ONE_TO_ONE);
    struct series_row row = { .a = 0, .b = 1, .count = 1, .length = LENGTH,
                              .time_ns = { 1, 1, 1, 1, 1, 1 } };
    struct series_list twice = { 0 };
    struct edges x;

    series_add_process (s, "h1:0", "h1", NULL);
    series_add_process (s, "h1:1", "h1", NULL);
    series_add (s, &row, NULL);
    series_sort (s, NULL);
    series_list_add (&twice, s, NULL);
    ok (edges_make (&x, &twice, &topology, .2, &err) < 0
            && strstr (err.text, "two processes of the series are at h1:"),
        "two of one host, which share its edge: %s", err.text);
    edges_clear (&x);
    series_list_clear (&twice);
}

int main (void)
{
    test_switches ();
    test_unknown ();
    test_labels ();
    edges_clear (&e);
    series_list_clear (&list);
    return done_testing ();
}
