/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job of an audit: how srun is called, and what a script in its place makes
 * of us.
 */
#include "config.h"
#include "prolog/audit/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct site site = {
    .srun = (char *)"/usr/bin/srun",
    .probe = (char *)"/usr/bin/pmm-probe",
    .audit_partition = (char *)"audit",
    .audit_timeout_ms = 60000,
};
static struct error err;

static const char *join (const struct job_args *a)
{
    static char s[8192];

    s[0] = '\0';
    for (size_t i = 0; a->v[i]; i++)
        strcat (strcat (s, a->v[i]), "|");
    return s;
}

#define JOB(nodes, n)                                                         \
    "--job-name=pmm-audit-7|--partition=audit|--nodelist=" nodes              \
    "|--nodes=" n "|--immediate=5|--time=3|--exclusive|--mem=0|--gres=none|"  \
    "--quiet|"
#define STEP                                                                  \
    "--ntasks=3|--mpi=pmix|--ntasks-per-node=1|--cpu-bind=none|"              \
    "--propagate=NONE|--export=NONE|--input=none|--chdir=/|"                  \
    "--kill-on-bad-exit=1|/usr/bin/pmm-probe|"
#define PROBE "--timeout|57.0|--nonce|abc|--audit|"
#define ENV                                                                   \
    "PATH=/usr/local/bin:/usr/bin:/bin|LC_ALL=C|SLURM_CONF=/etc/s.conf|"      \
    "PMM_CHECK_NESTED=1|SLURM_PMIX_TIMEOUT=10|"

static void test_arguments (void)
{
    struct job job = { .site = &site, .name = "pmm-audit-7", .nonce = "abc",
                       .nodes = "n[1-3]", .n = 3, .partners = "n[1-3]",
                       .npartners = 3 };
    struct job_args env = { 0 }, a = { 0 };

    setenv ("SLURM_CONF", "/etc/s.conf", 1);
    setenv ("LD_PRELOAD_X", "/evil.so", 1);
    setenv ("SLURM_NTASKS", "99", 1);
    ok (job_environment (&env, &site, &err) == 0 && !strcmp (join (&env), ENV),
        "an environment from scratch: %s", join (&env));
    ok (job_arguments (&a, &job, &env, &err) == 0
            && !strcmp (join (&a), "/usr/bin/srun|" JOB ("n[1-3]", "3")
                                       STEP PROBE),
        "of a job: %s", join (&a));
    job_args_clear (&a);
    job.conf = "/etc/my.conf";
    job.partners = "n[1-2]";
    job.npartners = 2;
    ok (job_arguments (&a, &job, &env, &err) == 0
            && !strcmp (join (&a),
                        "/usr/bin/salloc|--kill-command=KILL|--no-bell|"
                        JOB ("n[1-2]", "2") "/usr/bin/env|-i|" ENV
                        "/usr/bin/srun|--no-allocate|--quiet|"
                        "--nodelist=n[1-3]|--nodes=3|" STEP
                        "--conf|/etc/my.conf|" PROBE),
        "beside a job: %s", join (&a));
    job_args_clear (&a);
    job_args_clear (&env);
    setenv ("SLURM_CONF", "relative", 1);
    ok (job_environment (&env, &site, &err) == 0
            && !strstr (join (&env), "SLURM_CONF"),
        "a relative SLURM_CONF is none of ours");
    job_args_clear (&env);
    unsetenv ("SLURM_CONF");
}

/* What comes of a script in srun's place. */
static void test_said (void)
{
    static const struct {
        const char *script;
        int rc;
        size_t ports;
        const char *text; /* of the record, or why there is none */
    } tab[] = {
        { "echo '{}'; echo 'pmm-result 1 OK abc fine'", 1, 0,
          "{}\npmm-result 1 OK abc fine\n" },
        { "echo 'pmm-port 1 abc 0000000000000001/1 4 5 4xHDR' >&2\n"
          "echo 'pmm-port 1 xyz 0000000000000002/1 4 5 4xHDR' >&2\n"
          "echo 'pmm-result 1 OK abc fine'", 1, 1, "pmm-result" },
        { "echo 'pmm-result 1 OK abcd fine'; exit 1", 0, 0,
          "srun ended without a word" },
        { "echo 'srun: error: Unable to allocate resources: Requested nodes "
          "are busy' >&2; exit 1", 0, 0,
          "srun: error: Unable to allocate resources: Requested nodes are "
          "busy" },
        { "echo 'salloc: error: no' >&2; exit 1", 0, 0, "salloc: error: no" },
        { "echo 'pmm: h1: no port' >&2", 0, 0, "pmm: h1: no port" },
        { "printf 'a\\033b\\n' >&2", 0, 0, "a?b" },
        { "exit 127", 0, 0, "cannot run ./srun" },
        { "yes '{ nonsense' | head -c 70000000; exec sleep 100", 0, 0,
          "the record is longer than 67108864 bytes" },
    };
    struct job job = { .site = &site, .name = "pmm-audit-7", .nonce = "abc",
                       .nodes = "n[1-3]", .n = 3, .partners = "n[1-3]",
                       .npartners = 3 };

    site.srun = (char *)"./srun";
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        FILE *fp = fopen ("srun", "w");
        struct job_said said;
        int rc;

        fprintf (fp, "#!/bin/sh\n%s\n", tab[i].script);
        fclose (fp);
        chmod ("srun", 0755);
        rc = job_run (&job, &said, &err);
        ok (rc == tab[i].rc && said.nports == tab[i].ports
                && (rc == 1 ? !strncmp (said.record, tab[i].text,
                                        strlen (tab[i].text))
                            : !strcmp (said.why, tab[i].text)),
            "%s: %.80s", rc == 1 ? "a record" : "none", said.why);
        job_said_clear (&said);
    }
    unlink ("srun");
}

int main (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX";

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_arguments ();
    test_said ();
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
