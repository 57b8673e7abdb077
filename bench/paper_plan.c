/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan for all hosts of a fabric by the source paper's method, as pmm plan
 * writes its own; --first: its set in the order of the pairs, else the best of
 * many sets.
 *
 *     paper_plan [--first] SNAPSHOT >PLAN
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "bench/need.h"
#include "bench/paper_method.h"
#include "core/solve/solve.h"
#include "ibquery/fabric.h"
#include "ibquery/snapshot.h"

int main (int argc, char **argv)
{
    bool first = argc > 1 && strcmp (argv[1], "--first") == 0;
    const struct plan_options opts = { .seed = 1 };
    struct plan_file_extra extra = { 0 };
    struct error err = { .text = "Usage: paper_plan [--first] SNAPSHOT" };
    struct fabric *f;
    struct pathset *ps;
    struct plan *plan;

    f = need (argc == 2 + first ? fabric_load (argv[1 + first], &err) : NULL,
              &err);
    ps = need (fabric_pathset (f, NULL, 0, &err), &err);
    plan = need (first ? paper_make_first (ps, &opts, &err)
                       : paper_make (ps, &opts, &err), &err);
    if (solve_predict (ps, plan, &extra.stderr_rms, &extra.stderr_max, &err)
            < 0
        || plan_write (plan, ps, &extra, stdout, &err) < 0)
        die (&err);
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (f);
    return 0;
}
