/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flows: where switches hash, each has a path of its own, which the samples
 * show; a flow keeps to it.
 */
#include "config.h"
#include "probe/probe.h"

#include <math.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum { MEMBERS = 8 };

static const struct run {
    const char *what;
    unsigned int repeats, flows;
    bool bad, loss;
} table[] = {
    { .what = "one flow", .repeats = 5, .flows = 1 },
    { .what = "one, if none are given", .repeats = 5 },
    { .what = "a message a flow", .repeats = 5, .flows = 5 },
    { .what = "two a flow", .repeats = 16, .flows = 8 },
    { .what = "not as many in each", .repeats = 7, .flows = 3 },
    { .what = "as many as can be", .repeats = 64, .flows = 32 },
    { .what = "more than that", .repeats = 65, .flows = 33, .bad = true },
    { .what = "more than repeats", .repeats = 4, .flows = 5, .bad = true },
    { .what = "some are lost", .repeats = 6, .flows = 6, .loss = true },
};

struct shared {
    const struct run *row;
    const struct fabric *fabric;
    int rc;           /* of the stage */
    size_t probes, samples;
    size_t kept;      /* samples with a time of each flow, if there are some */
    size_t lost, nan; /* messages; flows of which none came back */
    size_t moved;     /* samples of which a flow took more than one path */
    size_t several;   /* samples whose flows took several paths */
};

static void look (struct shared *sh, const struct samples *samples)
{
    for (size_t i = 0; i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];
        double least = INFINITY, most = 0;

        sh->samples++;
        sh->lost += s->lost;
        sh->kept += s->nflows == (sh->row->flows > 1 ? sh->row->flows : 0);
        for (uint32_t f = 0; f < s->nflows; f++) {
            sh->nan += isnan (s->flow_ns[f]);
            least = fmin (least, s->flow_ns[f]);
            most = fmax (most, s->flow_ns[f]);
        }
        if (s->nflows == 0) {
            least = s->rtt_ns[RTT_MIN];
            most = s->rtt_ns[RTT_MAX];
        }
        /* as nothing else makes a difference */
        sh->moved += s->lost < s->sent
                     && (fabs (least - s->rtt_ns[RTT_MIN]) > 0
                         || fabs (most - s->rtt_ns[RTT_MAX]) > 0);
        sh->several += s->lost < s->sent && most > least;
    }
}

/* Each of the first half pings one of the second, over the fabric's core, one
 * after the other.
 */
static int lead_it (struct group *g, struct shared *sh)
{
    struct probe_end end[MEMBERS];
    const char *name[MEMBERS];
    struct probe_stage stage = { .end = end, .repeats = sh->row->repeats,
                                 .flows = sh->row->flows };
    struct probe_result result = { 0 };
    struct error err = { .text = "" };
    struct pathset *ps;
    struct plan *plan;
    int rc;

    for (uint32_t i = 0; i < MEMBERS; i++) {
        name[i] = sh->fabric->host[i].name;
        end[i] = (struct probe_end){ .peer = i };
    }
    ps = fabric_pathset (sh->fabric, name, MEMBERS, &err);
    if (!ps || !(plan = plan_create ("flows")))
        return 1;
    for (uint32_t i = 0; i < MEMBERS / 2; i++)
        plan_add (plan, i, i, i + MEMBERS / 2);
    stage.plan = plan;
    sh->probes = plan_probes (plan);
    sh->rc = probe_lead (g, &stage, &result, &err);
    if (sh->rc == 0)
        look (sh, result.samples);
    rc = stage_end (g, &err);
    probe_result_clear (&result);
    plan_destroy (plan);
    pathset_destroy (ps);
    return rc < 0;
}

static int take_part (struct group *g, void *shared)
{
    return g->me == 0 ? lead_it (g, shared)
                      : stage_follow (g, 0, "h0001", NULL) < 0;
}

static void test (const struct arena *a, const struct run *row,
                  struct shared *sh)
{
    *sh = (struct shared){ .row = row, .fabric = a->fabric };
    ok (arena_run (a, MEMBERS, 42, take_part, sh) == MEMBERS,
        "%s: all members end well", row->what);
    ok (sh->rc == (row->bad ? -1 : 0), "... the stage %s",
        row->bad ? "is refused" : "ran");
    if (row->bad)
        return;
    ok (sh->samples == 2 * sh->probes, "... %zu samples", sh->samples);
    ok (sh->moved == 0, "... a flow keeps to its path");
    ok (sh->kept == sh->samples, "... each with the times of its flows");
    if (row->flows <= 1) {
        ok (sh->several == 0, "... one path a sample");
        return;
    }
    ok (row->loss || sh->several == sh->samples, "... of several paths");
    if (row->repeats == row->flows)
        ok (sh->nan == sh->lost
                && (sh->lost > 0) == row->loss,
            "... %zu flows are lost", sh->lost);
}

int main (void)
{
    struct shared *sh = mmap (NULL, sizeof (*sh), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    arena_spread = (struct fabric_spread){ .known = true, .hashed = 1 };
    for (int loss = 0; loss < 2; loss++) {
        struct arena a;

        if (!ok (arena_start (&a, "loss", loss ? "0.3" : "0") == 0,
                 "an emulator"))
            break;
        for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++)
            if (table[i].loss == loss)
                test (&a, &table[i], sh);
        ok (arena_stop (&a), "the emulator ends in order");
    }
    return done_testing ();
}
