/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One judgement, of the judge's files alone: analysis (observations, model, causes),
 * findings, others (findings that no cause shows), limits.
 */
#ifndef CORE_JUDGEMENT_H
#define CORE_JUDGEMENT_H

#include "core/judge/explain.h"
#include "core/judge/judge.h"

enum { HOSTS_MIN = 4 }; /* to compare a host's loopback with theirs */

/* A fact of a kind; then, in braces, its numbers, and .name. */
#define FACT(of, ...) ((struct fact){ .kind = FACT_##of, __VA_ARGS__ })
#define N(...) .n = { __VA_ARGS__ }
#define NAMES(...) .name = { __VA_ARGS__ }

struct judgement {
    struct pool *pool; /* of an attempt: observations but their rows, `most` */
    struct pathset *ps;
    const struct network *net;
    const struct samples *samples;
    const struct baseline *baseline;   /* NULL: none */
    const struct pathset *baseline_ps; /* of it, on net */
    const struct judge_options *opts;
    size_t absent; /* probes of the plan without any sample */
    size_t rounds; /* of the first stage */
    bool has_baseline;
    struct multipath *paths; /* NULL: single ones */
    struct model_run run, *base;
    size_t nbase;
    struct model model;
    struct causes causes;
    struct explanation ex;
    const struct member *face[CAUSES_MAX]; /* what each cause most likely is */
    size_t disturbed;                      /* rows disturbed by traffic */
    struct class_shift {
        uint32_t class_id;
        double ns; /* by which all its links differ */
    } shift[CAUSES_MAX];
    size_t nshifts;
    size_t unjudged; /* links, due to traffic to a host end */
    bool crowded;    /* others' traffic met all messages of a cause */
    bool *distrusted; /* [nlinks] by host link, see distrust_loopbacks () */
    size_t ndistrusted;
    double *most; /* [model.m] ns that a link may be slower, see bound_links */
    struct verdict *verdict;
};

/* analysis */

/* Count the plan's probes without a sample. -1 with err: one is not of the
 * plan.
 */
int count_absent_probes (const struct plan *plan, const struct samples *samples,
                         size_t *absent, struct error *err);

/* Observe, and find the causes. 0, or -1 with err; then analysis_clear. */
int analysis_make (struct judgement *j, double alarms, struct error *err);
void analysis_clear (struct judgement *j);
int judge_ill_conditioned (struct error *err);

/* Subtract from the second stage what it takes more as a whole, of a drift since
 * the pair's first round, or the middle of the first stage: machines and clocks
 * need not be as they were seconds before. *same is what to judge, with a
 * list of its own that the caller frees, or NULL.
 */
int align_stages (struct judgement *j, const struct plan *plan,
                  struct samples *same, struct error *err);

/* The observation of the same pair, and direction, in another run, or NULL. */
const struct observation *find_same_observation (const struct observations *in,
                                                 const struct observation *o);

/* findings: of causes; and what others need for theirs */
void judge_causes (struct judgement *j);
void add_suspect_link (const struct judgement *j, struct finding *f,
                       uint32_t link, bool oneway);
bool has_suspect (const struct finding *f, uint32_t link);
double warn_threshold (const struct judge_options *opts, double se);

/* others: call these in this order, judge_open between the first two and the last */
void judge_nodes (struct judgement *j);
void judge_cables (struct judgement *j, const struct plan *plan);
int judge_loss (struct judgement *j, struct error *err);
int judge_delays (struct judgement *j, struct error *err);
void find_cages (struct judgement *j);
struct mixture *mixture_of_samples (const struct judgement *j,
                                    size_t first_round);

/* limits */
void note_limit (struct judgement *j, struct fact limit); /* raises nothing */
void limit_samples (struct judgement *j);
void limit_alone (struct judgement *j);
void limit_model (struct judgement *j);
void find_busy (struct judgement *j);
void judge_class (struct judgement *j, size_t number);
void judge_drift (struct judgement *j, size_t number);
double judge_loopbacks (struct judgement *j);
void judge_open (struct judgement *j);

/* Whether a link is a cable that rows cross as such, not as one of a bundle, nor
 * within a place; whether LinkRoundTripLatency shows what to expect of it.
 */
bool is_single (const struct judgement *j, uint32_t link);
bool is_by_lrtl (const struct judgement *j, uint32_t link);

#endif /* CORE_JUDGEMENT_H */
