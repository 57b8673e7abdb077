/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Append the check's outcome to the job's Comment. */
#include "config.h"
#include "spank/remark.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/program.h"

void remark (const struct settings *settings, uint32_t jobid,
             const struct step_env *env, const struct outcome *o)
{
    char job[16];
    char level[16];
    char text[OUTCOME_TEXT];
    char *argv[] = { settings->site.job_comment, job, level, text, NULL };
    struct program program = {
        .argv = argv,
        .deadline_ms = program_now_ms () + REMARK_WAIT_MS,
    };
    char **environment;
    int status;

    if (!settings->site.job_comment[0])
        return;
    if (!(environment = step_environment (env, settings->site.timeout_ms)))
        return;
    program.env = environment;
    snprintf (job, sizeof (job), "%" PRIu32, jobid);
    snprintf (level, sizeof (level), "%s", outcome_name (o->status));
    snprintf (text, sizeof (text), "%s", o->text);
    program_run (&program, &status);
    program_free (environment);
}
