/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-epilogslurmctld: slurmctld's EpilogSlurmctld. It only records in the
 * spool, for the audit service, that a job has ended.
 *
 * slurmctld holds the job's nodes until this program ends. So a child does the
 * work, and the program waits for it at most one second, in case the spool
 * hangs. The exit status is always 0.
 *
 * slurmctld passes the job in the environment. Slurm also passes the options of
 * SPANK plugins there, so it shows whether the user asked for a check. Any user
 * can set that.
 */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "prolog/serve/spool.h"
#include "util/site.h"

#define ASKED "SPANK__SLURM_SPANK_OPTION_pmm_pmm_check"

enum { WAIT_S = 1 };

static void spool_job (const char *conf)
{
    static const char *const names[]
        = { "SLURM_JOB_ID", "SLURM_JOB_UID", "SLURM_JOB_PARTITION",
            "SLURM_JOB_NODELIST" };
    const char *asked = getenv (ASKED);
    struct spool_record r = {
        .time = (uint64_t)time (NULL),
        .checked = asked && strcmp (asked, "off") != 0,
    };
    uint64_t *const number[4] = { &r.job, &r.uid };
    struct error err = { .text = "" };
    const char *value[4];
    struct site site;
    int rc = site_read (&site, conf, 1, &err);

    for (size_t i = 0; i < 4 && rc == 0; i++) {
        value[i] = getenv (names[i]);
        if (!value[i] || !*value[i] || strchr (value[i], '\n')
            || (number[i] && text_u64 (value[i], 0, UINT32_MAX, number[i]) < 0))
            rc = error_input (&err, "%s is missing or bad", names[i]);
    }
    if (rc == 0) {
        r.partition = value[2];
        r.nodes = value[3];
        rc = spool_drop (site.spool, &r, &err);
    }
    if (rc < 0)
        fprintf (stderr, "pmm-epilogslurmctld: %s\n", err.text);
    site_clear (&site);
}

int main (int argc, char **argv)
{
    const struct timespec limit = { .tv_sec = WAIT_S };
    sigset_t set;

    if (argc != 1 && (argc != 3 || strcmp (argv[1], "--conf") != 0)) {
        printf ("Usage: pmm-epilogslurmctld [--conf FILE]\n\n"
                "slurmctld's EpilogSlurmctld; pmm.conf(5) has the key "
                "Spool.\n");
        return 0;
    }
    sigemptyset (&set);
    sigaddset (&set, SIGCHLD);
    sigprocmask (SIG_BLOCK, &set, NULL);
    switch (fork ()) {
    case -1:
        break;
    case 0:
        spool_job (argc == 3 ? argv[2] : NULL);
        _exit (0);
    default:
        sigtimedwait (&set, NULL, &limit);
    }
    return 0;
}
