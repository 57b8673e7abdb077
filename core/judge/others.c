/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings that no cause shows: hosts whose loopback is slow, links that lose or delay
 * messages, cables that only some flows cross.
 */
#include "config.h"
#include "core/judge/judgement.h"

#include <math.h>
#include <stdlib.h>

#include "core/judge/mixture.h"
#include "util/alloc.h"

enum { CABLES_MAX = 8 }; /* slow ones that only some flows cross */

#define BEFORE_LOG_RATIO_MIN 3.0 /* of likelihoods: a cable was slow or not */

/* Shares of messages that are lost on no link in particular. With a lower bound
 * of 1 in 1,000, a check of 1,000 messages needs seven samples with losses: as
 * many pauses of hosts, each longer than RoundTrip, in a second or two are no
 * busy hosts. In a virtual machine, whose 12 hosts share two emulated processors,
 * none is lost (tests/t0710); it was not measured on hardware. Above 1 in 50 no
 * program gets on well.
 */
#define LOSS_WARN_MIN 0.001
#define LOSS_FAIL_MIN 0.02

/* Whether a finding is of the host at this link. */
static bool is_node (const struct judgement *j, uint32_t link)
{
    const struct verdict *v = j->verdict;
    bool found = false;

    for (size_t i = 0; i < v->nfindings; i++)
        found |= v->finding[i].kind == FINDING_NODE
                 && v->finding[i].suspect[0] == link;
    return found;
}

/* Find hosts whose loopback is slower by more than FailExcess, and by as much
 * than most are.
 */
void judge_nodes (struct judgement *j)
{
    double most = judge_loopbacks (j);

    for (size_t k = 0; k < j->model.m; k++) {
        uint32_t link = j->model.link[k];
        struct finding *f;
        double ns;
        double sd;

        if (!model_loopback (&j->model, link, &ns, &sd)
            || (ns - fmax (0, most) - 3 * sd) / 2 <= j->opts->fail_ns
            || is_node (j, link))
            continue;
        f = verdict_add (j->verdict, VERDICT_WARN, BASIS_LOOPBACK);
        add_suspect_link (j, f, link, false);
        f->kind = FINDING_NODE;
        f->excess_ns = ns / 2;
        f->stderr_ns = sd / 2;
        finding_add_fact (j->verdict, f,
                          FACT (HOST_LOOPBACK, N (f->excess_ns, f->stderr_ns)));
    }
}

/* A finding of the links that lose or delay messages.
 * NULL if it is not known which link between switches does, since messages are
 * spread: then there is a note instead.
 */
static struct finding *add_share (struct judgement *j, struct share *share,
                                  enum finding_basis basis,
                                  enum fact_kind unknown)
{
    struct finding *f = verdict_add (j->verdict, VERDICT_WARN, basis);

    for (size_t i = 0; i < share->n; i++)
        add_suspect_link (j, f, share->link[i], false);
    if (!j->paths || f->kind == FINDING_HOST_END)
        return f;
    j->verdict->nfindings--;
    note_limit (j, (struct fact){ .kind = unknown });
    return NULL;
}

/* Find the link that delays some of its messages. */
int judge_delays (struct judgement *j, struct error *err)
{
    struct share slow;
    struct finding *f;

    if (j->crowded) /* traffic may be why */
        return 0;
    if (share_find (&slow, j->ps, j->samples, SHARE_SLOW, false, err) < 0)
        return -1;
    /* it is slow, or loses messages: that is why; or traffic hides it */
    for (size_t i = 0; i < j->verdict->nfindings && slow.n > 0; i++)
        if (has_suspect (&j->verdict->finding[i], slow.link[0]))
            slow.n = 0;
    for (size_t i = 0; i < j->verdict->nopen && slow.n > 0; i++)
        if (j->verdict->open[i] == slow.link[0])
            slow.n = 0;
    if (slow.n > 0
        && (f = add_share (j, &slow, BASIS_SLOW, FACT_SOME_LINK_DELAYS)))
        finding_add_fact (
            j->verdict, f,
            FACT (DELAYED, N (slow.affected, slow.sent, slow.more_ns / 1e3,
                              slow.other_affected, slow.other_sent)));
    return 0;
}

/* Find the link that loses messages. */
int judge_loss (struct judgement *j, struct error *err)
{
    struct share loss;
    struct finding *f;

    if (share_find (&loss, j->ps, j->samples, SHARE_LOST, false, err) < 0)
        return -1;
    if (loss.other_least > LOSS_WARN_MIN)
        verdict_limit (
            j->verdict,
            loss.other_least > LOSS_FAIL_MIN ? VERDICT_FAIL : VERDICT_WARN,
            FACT (LOST_NOWHERE, N (loss.other_affected, loss.other_sent)));
    else
        note_limit (j, FACT (LOST_SOME, N (j->run.obs.lost, j->run.obs.sent)));
    if (loss.n == 0
        || !(f = add_share (j, &loss, BASIS_LOSS, FACT_SOME_LINK_LOSES)))
        return 0;
    if (loss.least > LOSS_FAIL_MIN)
        f->level = VERDICT_FAIL;
    finding_add_fact (j->verdict, f,
                      FACT (LOST, N (loss.affected, loss.sent,
                                     loss.other_affected, loss.other_sent)));
    return 0;
}

/* Whether it is about one link, and its cable may be slow or lose messages. */
static bool is_of_cable (const struct finding *f)
{
    return (f->kind == FINDING_HOST_END || f->kind == FINDING_SWITCH_LINK)
           && f->basis != BASIS_TRAFFIC && f->nsuspects == 1;
}

/* Say of findings, each of one link, which are of one transceiver. */
void find_cages (struct judgement *j)
{
    struct verdict *v = j->verdict;

    for (size_t i = 0; i < v->nfindings; i++)
        for (size_t k = 0; k < v->nfindings && is_of_cable (&v->finding[i]);
             k++) {
            struct finding *f = &v->finding[i], *other = &v->finding[k];
            const struct switch_info *sw;
            unsigned int cage = 0;

            if (is_of_cable (other))
                cage = network_cage (j->net, f->suspect[0], other->suspect[0],
                                     &sw);
            if (cage > 0)
                finding_add_fact (v, f,
                                  FACT (CAGE, N (cage),
                                        NAMES (j->net->link[*other->suspect].id,
                                               sw->name, sw->id)));
        }
}

/*
 * Cables that only some flows cross
 */

/* Of the job's flows in rounds from this one on. */
struct mixture *mixture_of_samples (const struct judgement *j,
                                    size_t first_round)
{
    struct pair_flows *flows = xarray (j->samples->nsamples, sizeof (*flows));
    struct mixture *m;
    size_t n = 0;

    for (size_t i = 0; i < j->samples->nsamples; i++) {
        const struct sample *s = &j->samples->sample[i];

        if (s->round >= first_round)
            flows[n++]
                = (struct pair_flows){ s->a, s->b, s->flow_ns, s->nflows };
    }
    m = mixture_create (j->paths, j->ps, flows, n);
    free (flows);
    return m;
}

static struct mixture *mixture_of_baseline (const struct judgement *j)
{
    const struct baseline *b = j->baseline;
    size_t n = b ? b->nrows : 0;
    struct pair_flows *flows = xarray (n, sizeof (*flows));
    struct mixture *m;

    for (size_t i = 0; i < n; i++)
        flows[i] = (struct pair_flows){ b->row[i].a, b->row[i].b,
                                        b->flow_ns + b->row[i].flow,
                                        b->row[i].nflows };
    m = b ? mixture_create (j->paths, j->baseline_ps, flows, n) : NULL;
    free (flows);
    return m;
}

/* before: mixture_evidence of the baselines, of other pairs perhaps. So a flow
 * may be slower by longer cables on its path: a cable is named above fail_ns
 * only, or, if the baselines cannot tell, above what links differ; this is a
 * FAIL only above both.
 */
static void judge_cable (struct judgement *j, const struct slow_cable *c,
                         double before)
{
    bool was_fast = before < -BEFORE_LOG_RATIO_MIN;
    double lengths
        = fmax (j->opts->fail_ns, j->opts->warn_spread * j->model.differ);
    struct finding *f;

    if (c->spread_ns > j->opts->fail_ns
        || c->excess_ns <= (was_fast ? j->opts->fail_ns : lengths))
        return;
    f = verdict_add (j->verdict, VERDICT_WARN,
                     was_fast ? BASIS_BASELINE : BASIS_CLASS);
    f->kind = FINDING_SWITCH_LINK;
    for (size_t i = 0; i < c->n; i++)
        add_suspect_link (j, f, c->cable[i], false);
    f->excess_ns = c->excess_ns;
    f->stderr_ns = c->stderr_ns;
    if (was_fast && c->heap && c->excess_ns > lengths
        && judge_fails (j->opts, f->excess_ns, f->stderr_ns))
        f->level = VERDICT_FAIL;
    finding_add_fact (j->verdict, f,
                      FACT (FLOWS, N (c->slow, c->flows, c->excess_ns,
                                      c->stderr_ns, c->expected, c->n)));
    if (was_fast)
        finding_add_fact (j->verdict, f, FACT (NONE_BEFORE));
}

/* Find them in the confirm stage, where there is one. The flows of the baseline
 * tell whether they were slow before.
 */
void judge_cables (struct judgement *j, const struct plan *plan)
{
    size_t confirm = plan_confirm_rounds (plan), n = 0;
    size_t cables = 0, judged, uneven = 0;
    struct mixture *all = mixture_of_samples (j, 0);
    struct mixture *m
        = confirm == 0 ? all
                       : mixture_of_samples (j, plan_rounds (plan) - confirm);
    struct mixture *old;
    struct slow_cable c[CABLES_MAX];
    double before[CABLES_MAX] = { 0 };
    bool slow_before[CABLES_MAX] = { 0 };

    while (m && n < CABLES_MAX && mixture_next (m, &c[n]))
        n++;
    old = n > 0 ? mixture_of_baseline (j) : NULL;
    for (size_t k = 0; old && k < n; k++)
        before[k] = mixture_evidence (old, c[k].cable[0], c[k].excess_ns,
                                      &slow_before[k]);
    mixture_destroy (old);
    for (size_t k = 0; k < n; k++)
        if (!slow_before[k])
            judge_cable (j, &c[k], before[k]);
    if (all)
        cables = mixture_cables (all, &judged, &uneven);
    if (uneven > 0)
        note_limit (j, FACT (UNEVEN_PAIRS, N (uneven)));
    if (cables > 0)
        note_limit (j, FACT (FLOWS_ENOUGH, N (judged, cables)));
    if (m != all)
        mixture_destroy (m);
    mixture_destroy (all);
}
