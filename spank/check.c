/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check a job, once. */
#include "config.h"
#include "spank/check.h"

#include <slurm/spank.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spank/guard.h"
#include "spank/outcome.h"
#include "spank/remark.h"

enum { LOCK_TICK_MS = 50 };

static int decide (const struct outcome *o, enum check_mode mode)
{
    if (mode != MODE_REQUIRE)
        return CHECK_GO_ON;
    if (o->status == OUTCOME_FAIL) {
        slurm_error ("pmm: the job is not started, since its check failed: "
                     "%s", o->text);
        return CHECK_VETO;
    }
    if (o->status == OUTCOME_NONE) {
        slurm_error ("pmm: the job is not started, since it requires a check "
                     "that did not run: %s", o->text);
        return CHECK_VETO;
    }
    return CHECK_GO_ON;
}

/* True if this outcome need not be measured again. Where a check is required
 * one that did not run is tried again; else it would only delay each step.
 */
static bool settles (const struct outcome *o, enum check_mode mode)
{
    return o->status != OUTCOME_NONE || mode != MODE_REQUIRE;
}

static bool remembered (const struct job *job, const struct job_env *env,
                        int guard, struct outcome *o)
{
    char record[OUTCOME_LINE];

    if (job->first_step)
        return false;
    return (env->step.get (env->step.arg, CHECK_VARIABLE, record,
                           sizeof (record)) == 0
            && outcome_parse_record (o, record, job->id))
           || (guard >= 0 && guard_read (guard, job->id, job->start, o));
}

static void remember (const struct job *job, const struct job_env *env,
                      int guard, const struct outcome *o)
{
    char record[OUTCOME_LINE];

    outcome_format_record (o, job->id, record);
    env->set (env->step.arg, CHECK_VARIABLE, record);
    if (guard >= 0)
        guard_write (guard, job->id, o);
}

static int open_guard (const struct job *job)
{
    char dir[64];

    snprintf (dir, sizeof (dir), "%s-%u", GUARD_DIR, (unsigned)geteuid ());
    return guard_open (dir, job->cluster, job->id, NULL);
}

/* Wait while another step of the job is checked. */
static void wait_for_lock (const struct settings *settings, int guard)
{
    int left = settings->site.timeout_ms + STEP_OVERTIME_MS;

    while (guard >= 0 && !guard_lock (guard) && left > 0
           && step_pause (LOCK_TICK_MS) == 0)
        left -= LOCK_TICK_MS;
}

/* Why there is nothing to check, or NULL. */
static const char *exempt (const struct job *job)
{
    if (job->het)
        return "a heterogeneous job";
    if (job->nodes < 2)
        return "one node, nothing to measure";
    return NULL;
}

static void check (const struct settings *settings, const struct job *job,
                   const struct job_env *env, enum check_mode mode,
                   struct outcome *o)
{
    struct step step = { settings, job->id, job->nodes,
                         isatty (STDERR_FILENO) };
    const char *reason = exempt (job);

    if (reason) {
        outcome_set (o, OUTCOME_UNKNOWN, "%s", reason);
        if (settings->asked)
            slurm_spank_log ("pmm: not checked: %s", reason);
        return;
    }
    step_run (&step, &env->step, o);
    if (o->status != OUTCOME_NONE)
        remark (settings, job->id, &env->step, o);
    else if (mode == MODE_REPORT && step_pause (0) == 0)
        slurm_spank_log ("pmm: not checked: %s", o->text);
}

int check_job (const struct settings *settings, const struct job *job,
               const struct job_env *env, int *sig)
{
    enum check_mode mode = settings_mode (settings, job->partition);
    struct outcome o;
    int guard;

    *sig = 0;
    if (mode == MODE_OFF)
        return CHECK_GO_ON;
    guard = open_guard (job);
    step_catch ();
    wait_for_lock (settings, guard);
    if (!remembered (job, env, guard, &o) || !settles (&o, mode)) {
        check (settings, job, env, mode, &o);
        if (o.status != OUTCOME_NONE || step_pause (0) == 0)
            remember (job, env, guard, &o);
    }
    *sig = step_release ();
    guard_close (guard);
    if (*sig) {
        slurm_error ("pmm: the check was interrupted");
        return CHECK_STOPPED;
    }
    return decide (&o, mode);
}

int check_failed (const struct settings *settings, const char *reason)
{
    struct outcome o;

    outcome_set (&o, OUTCOME_NONE, "%s", reason);
    if (!settings->asked || settings->mode != MODE_REQUIRE) {
        slurm_error ("pmm: not checked: %s", o.text);
        return CHECK_GO_ON;
    }
    return decide (&o, MODE_REQUIRE);
}
