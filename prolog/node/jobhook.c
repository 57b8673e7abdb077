/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-prolog and pmm-epilog: slurmd's Prolog and Epilog. They check the node
 * once (prolog/node/hook.h) and print a line only if something has changed. On
 * a job's first node the prolog also requests to read the live fabric, if that
 * is due (ibquery/live.h).
 *
 * An environment variable shows that the job asked for a check. The plugin sets
 * it through Slurm, but any user can set it without the plugin. It is the only
 * input from the user, and it can only cause that request.
 */
#include "config.h"

#include <stdlib.h>

#include "prolog/node/hook.h"
#include "util/text.h"

#define CHECK "SPANK_PMM_CHECK"

static const char *nodes (void)
{
    const char *list = getenv ("SLURM_JOB_NODELIST");

    return list ? list : getenv ("SLURM_NODELIST"); /* 22.05 */
}

int main (int argc, char **argv)
{
    struct hook hook = {
        .kind = HOOK_KIND, .sysfs = LOCAL_SYSFS,
        .node = getenv ("SLURMD_NODENAME"), .check = getenv (CHECK),
        .partition = getenv ("SLURM_JOB_PARTITION"),
        .job = { getenv ("SLURM_JOB_ID"), nodes () },
    };
    const char *job = hook.job.id;
    struct hook_result result;
    struct error err;
    uint64_t id;
    int rc = hook_options (&hook, argc, argv, &err);

    if (!job || text_u64 (job, 0, UINT32_MAX, &id) < 0)
        job = "?";
    hook.first = hook.node && hook.job.nodes
                 && hook_is_first (hook.job.nodes, hook.node);
    if (rc < 0)
        hook_say (HOOK_NAME, job, err.text);
    else if (rc > 0) {
        hook_run (&hook, HOOK_JOB_MS, &result);
        if (result.news)
            hook_say (HOOK_NAME, job, result.line);
    }
    return 0;
}
