/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-healthcheck: slurmd's HealthCheckProgram, and a Nagios plugin. It checks
 * the node once (prolog/node/hook.h), prints one line with figures, and exits
 * with a Nagios status. It changes nothing in Slurm.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "prolog/node/hook.h"

static const int nagios[] = {
    [VERDICT_OK] = 0,
    [VERDICT_WARN] = 1,
    [VERDICT_FAIL] = 2,
    [VERDICT_UNKNOWN] = 3,
};

int main (int argc, char **argv)
{
    struct hook hook = {
        .kind = HOOK_HEALTHCHECK,
        .sysfs = LOCAL_SYSFS,
        .node = getenv ("SLURMD_NODENAME"),
    };
    struct hook_result result;
    struct error err;
    int rc = hook_options (&hook, argc, argv, &err);

    if (rc == 0)
        return 0;
    if (rc < 0) {
        printf ("pmm UNKNOWN: %s\n", err.text);
        return nagios[VERDICT_UNKNOWN];
    }
    hook_run (&hook, HOOK_HEALTH_MS, &result);
    printf ("pmm %s%s%s\n", result.line, *result.perf ? " |" : "",
            result.perf);
    return fflush (stdout) == EOF ? nagios[VERDICT_UNKNOWN]
                                  : nagios[result.level];
}
