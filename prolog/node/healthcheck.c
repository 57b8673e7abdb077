/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-healthcheck: slurmd's HealthCheckProgram, and a Nagios plugin. It checks
 * the node once (prolog/node/hook.h), prints one line with figures, and exits
 * with a Nagios status. It changes nothing in Slurm.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/node/hook.h"

/* Print the line and the figures; a bar in the line would begin them. */
static int put_line (enum verdict_status level, const char *word, char *line,
                     const char *figures)
{
    for (char *p = line; (p = strchr (p, '|'));)
        *p = '/';
    printf ("pmm %s%s%s%s\n", word, line, *figures ? " |" : "", figures);
    return verdict_nagios (fflush (stdout) == EOF ? VERDICT_UNKNOWN : level);
}

int main (int argc, char **argv)
{
    struct hook hook = {
        .kind = HOOK_HEALTHCHECK, .sysfs = LOCAL_SYSFS,
        .node = getenv ("SLURMD_NODENAME"),
    };
    struct hook_result result;
    struct error err;
    int rc = hook_options (&hook, argc, argv, &err);

    if (rc == 0)
        return 0;
    if (rc < 0)
        return put_line (VERDICT_UNKNOWN, "UNKNOWN: ", err.text, "");
    hook_run (&hook, HOOK_HEALTH_MS, &result);
    return put_line (result.level, "", result.line, result.perf);
}
