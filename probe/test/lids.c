/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports of several LIDs: every probe of a plan by all of them takes just as
 * long as the links of its own path do.
 */
#include "config.h"
#include "probe/probe.h"

#include <stdatomic.h>

#include "probe/test/arena.h"
#include "tests/tap.h"

enum { MEMBERS = 8, REPEATS = 3, LMC = 2 };

struct shared {
    const struct fabric *fabric;
    size_t probes, others; /* ... by other LIDs than the first */
    size_t samples, lost, wrong;
    size_t apart;          /* of other length than by the first LIDs */
};

/* What the emulator makes of a round trip between two ends. */
static int64_t truth (const struct emu_model *m, uint32_t a, uint32_t b)
{
    uint32_t arc[2 * PATH_MAX_HOPS];
    int n = model_path (m, a, b, arc);
    int64_t ns = 0;

    n += model_path (m, b, a, arc + n);
    while (n-- > 0)
        ns += model_latency (m, arc[n]);
    return ns;
}

static void compare (struct shared *sh, const struct pathset *ps,
                     const struct samples *samples)
{
    struct emu_model *m = model_create (sh->fabric, ARENA_SEED);

    for (size_t i = 0; m && i < samples->nsamples; i++) {
        const struct sample *s = &samples->sample[i];
        uint32_t a = pathset_endpoint (ps, s->a)->id;
        uint32_t b = pathset_endpoint (ps, s->b)->id;
        int64_t ns = truth (m, a, b);

        sh->samples++;
        sh->lost += s->lost;
        sh->wrong += s->rtt_ns[RTT_MIN] != (double)ns
                     || s->rtt_ns[RTT_MAX] != (double)ns;
        sh->apart += ns != truth (m, sh->fabric->end[a].endpoint,
                                  sh->fabric->end[b].endpoint);
    }
    model_destroy (m);
}

static int lead_it (struct group *g, struct shared *sh)
{
    const struct plan_options opts = { .extra_rounds = 1, .budget = 0.001 };
    const struct fabric *f = sh->fabric;
    struct probe_end end[MEMBERS << LMC];
    const char *name[MEMBERS];
    struct probe_stage stage = { .end = end, .repeats = REPEATS };
    struct probe_result result = { 0 };
    struct pathset *ps;
    struct plan *plan;
    struct error err = { .text = "" };
    int rc;

    for (uint32_t i = 0; i < MEMBERS; i++)
        name[i] = f->host[i].name;
    ps = fabric_pathset_lids (f, name, MEMBERS, &err);
    plan = ps ? plan_make (ps, &opts, &err) : NULL;
    if (!plan)
        return 1;
    for (size_t i = 0; i < pathset_size (ps); i++) {
        uint32_t id = pathset_endpoint (ps, i)->id;
        uint32_t endpoint = f->end[id].endpoint;

        end[i].peer = f->endpoint[endpoint].host;
        end[i].lid = (uint8_t)(f->end[id].lid - f->end[endpoint].lid);
    }
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *p = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++)
            sh->others += end[p[i].a].lid || end[p[i].b].lid;
    }
    sh->probes = plan_probes (plan);
    stage.plan = plan;
    rc = probe_lead (g, &stage, &result, &err);
    if (rc == 0)
        compare (sh, ps, result.samples);
    if (stage_end (g, &err) < 0)
        rc = -1;
    if (rc < 0)
        diag ("leader: %s", err.text);
    probe_result_clear (&result);
    plan_destroy (plan);
    pathset_destroy (ps);
    return rc < 0;
}

static int take_part (struct group *g, void *shared)
{
    if (g->me == 0)
        return lead_it (g, shared);
    return stage_follow (g, 0, "h0001", NULL) < 0;
}

int main (void)
{
    struct shared *sh = mmap (NULL, sizeof (*sh), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct arena a;

    if (sh == MAP_FAILED || arena_start_lmc (&a, LMC, "noise", "0") < 0) {
        printf ("Bail out! no emulator\n");
        return 1;
    }
    sh->fabric = a.fabric;
    ok (arena_run (&a, MEMBERS, 42, take_part, sh) == MEMBERS,
        "all members end well");
    ok (sh->others > 0, "%zu of %zu probes are by other LIDs", sh->others,
        sh->probes);
    ok (sh->samples == 2 * sh->probes && sh->lost == 0,
        "from both sides, none is lost");
    ok (sh->wrong == 0, "each takes as long as its own path");
    ok (sh->apart > 0, "... of which %zu of %zu are others than by the first "
        "LIDs", sh->apart, sh->samples);
    ok (arena_stop (&a), "the emulator ends in order");
    return done_testing ();
}
