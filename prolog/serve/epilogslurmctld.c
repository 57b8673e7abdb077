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

static int number_of (const char *name, uint64_t *value, struct error *err)
{
    const char *s = getenv (name);

    if (s && text_u64 (s, 0, UINT32_MAX, value) == 0)
        return 0;
    return error_input (err, "%s is missing or bad", name);
}

static int text_of (const char *name, const char **value, struct error *err)
{
    *value = getenv (name);
    if (*value && **value && !strchr (*value, '\n'))
        return 0;
    return error_input (err, "%s is missing or bad", name);
}

static int record (struct spool_record *r, struct error *err)
{
    const char *asked = getenv (ASKED);

    *r = (struct spool_record){
        .time = (uint64_t)time (NULL),
        .checked = asked && strcmp (asked, "off") != 0,
    };
    if (number_of ("SLURM_JOB_ID", &r->job, err) < 0
        || number_of ("SLURM_JOB_UID", &r->uid, err) < 0
        || text_of ("SLURM_JOB_PARTITION", &r->partition, err) < 0)
        return -1;
    return text_of ("SLURM_JOB_NODELIST", &r->nodes, err);
}

static void drop (const char *conf)
{
    struct spool_record r;
    struct error err;
    struct site site;

    if (site_read (&site, conf, 1, &err) < 0 || record (&r, &err) < 0
        || spool_drop (site.spool, &r, &err) < 0)
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
        drop (argc == 3 ? argv[2] : NULL);
        _exit (0);
    default:
        sigtimedwait (&set, NULL, &limit);
    }
    return 0;
}
