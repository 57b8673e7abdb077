/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that the later verbs start from: a fabric, a plan made for it,
 * samples of the plan.
 */
#ifndef PMM_INPUTS_H
#define PMM_INPUTS_H

#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "compare/series/series.h"
#include "ibquery/fabric.h"
#include "util/error.h"

struct inputs {
    struct fabric *fabric;
    struct pathset *ps;
    struct plan *plan;
    struct samples *samples;
};

/* Load them; samples is NULL where the verb takes none. Return 0, or -1 with
 * err; inputs_clear is due in both cases.
 */
int inputs_load (struct inputs *in, const char *fabric, const char *plan,
                 const char *samples, struct error *err);
void inputs_clear (struct inputs *in);

/* Samples on their own set of the same fabric: a baseline. NULL with err;
 * where *ps is not NULL, it is the caller's in any case.
 */
struct samples *inputs_samples (const struct fabric *fabric, const char *path,
                                struct pathset **ps, struct error *err);

/* The runs of a file that is a series, a solution with pairs or a matrix of
 * PARUS, sorted. Return 0, or -1 with err and *list empty.
 */
int inputs_series (struct series_list *list, const char *path,
                   struct error *err);

/* An option's setter of an int: the statistic (enum series_stat) by name. */
int inputs_stat (void *field, const char *value, struct error *err);

/* Baselines, each with the set that it was measured on. */
struct baselines {
    struct samples **samples;
    struct pathset **ps;
    struct baseline *v; /* of these, for the judge */
    size_t n;
};

/* Read n files. Return 0, or -1 with err; baselines_clear is due in both
 * cases.
 */
int baselines_read (struct baselines *b, const struct fabric *fabric,
                    const char *const *path, size_t n, struct error *err);
void baselines_clear (struct baselines *b);

/* The judge's thresholds, out of a pmm.conf; NULL: the site's. Return 0, or
 * -1 with err.
 */
int inputs_thresholds (struct judge_options *opts, const char *conf,
                       struct error *err);

/* The text of a LIST, or of the file behind an '@'. The caller frees; NULL
 * with err.
 */
char *inputs_text (const char *list, struct error *err);

/* The endpoints of a LIST of hosts or @FILE, of all hosts where it is NULL; by
 * all of their LIDs or the base LIDs. option is for the error. NULL with err.
 */
struct pathset *inputs_hosts (const struct fabric *fabric, const char *option,
                              const char *list, bool lids, struct error *err);

#endif /* PMM_INPUTS_H */
