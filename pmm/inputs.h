/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The inputs of verbs. The runner (main.c) opens what a verb's row lists; the
 * other functions are for verbs that need more.
 */
#ifndef PMM_INPUTS_H
#define PMM_INPUTS_H

#include <stdio.h>

#include "compare/series/series.h"
#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "util/error.h"
#include "util/file.h"
#include "util/options.h"

/* Baselines, each with the set that it was measured on. */
struct baselines {
    struct samples **samples;
    struct pathset **ps;
    struct baseline *v; /* the same, for the judge */
    size_t n;
};

struct inputs {
    char **operand;        /* [noperands], then NULL */
    int noperands;
    void *given;           /* what the verb's own options set */

    /* from the options; NULL: not given */
    const char *conf, *fabric_path, *plan_path, *samples_path, *output;
    struct strings baseline;
    bool json;
    char *snapshot;        /* fabric_path, if pmm.conf names it */

    struct fabric *fabric;
    struct pathset *ps;    /* of the plan */
    struct plan *plan;
    struct samples *samples;
    struct baselines base;
    struct judge_options thresholds;
    struct outfile *out;   /* the runner commits it */
};

/* Load a fabric, a plan of it and samples of the plan. samples is NULL if the
 * verb takes none. Return 0, or -1 with err; call inputs_clear in both cases.
 */
int inputs_load (struct inputs *in, const char *fabric, const char *plan,
                 const char *samples, struct error *err);
void inputs_clear (struct inputs *in);

/* Load the fabric of -f, or the Snapshot of pmm.conf, for verbs that do not
 * always need one. Return 0, or -1 with err.
 */
int inputs_fabric (struct inputs *in, struct error *err);

/* The stream of --output. NULL with err. */
FILE *inputs_output (struct inputs *in, struct error *err);

/* A baseline: samples on their own set of the same fabric. NULL with err; if
 * *ps is not NULL, the caller owns it in any case.
 */
struct samples *inputs_samples (const struct fabric *fabric, const char *path,
                                struct pathset **ps, struct error *err);

/* Read the runs of a file, sorted: a series, a solution with pairs or a matrix
 * of PARUS. Return 0, or -1 with err and *list empty.
 */
int inputs_series (struct series_list *list, const char *path,
                   struct error *err);

/* An option's setter for an int: the statistic (enum series_stat) by name. */
int inputs_stat (void *field, const char *value, struct error *err);

/* Read n files. Return 0, or -1 with err; call baselines_clear in both cases.
 */
int baselines_read (struct baselines *b, const struct fabric *fabric,
                    const char *const *path, size_t n, struct error *err);
void baselines_clear (struct baselines *b);

/* Read the judge's thresholds from a pmm.conf; NULL: the site's. Return 0, or
 * -1 with err.
 */
int inputs_thresholds (struct judge_options *opts, const char *conf,
                       struct error *err);

/* The text of a LIST, or of the file named after an '@'. The caller frees; NULL
 * with err.
 */
char *inputs_text (const char *list, struct error *err);

/* The endpoints of the hosts in a LIST or @FILE; NULL: of all hosts. lids: by
 * all of their LIDs, else by their base LIDs. option is for the error text.
 * NULL with err.
 */
struct pathset *inputs_hosts (const struct fabric *fabric, const char *option,
                              const char *list, bool lids, struct error *err);

#endif /* PMM_INPUTS_H */
