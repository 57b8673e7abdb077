/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job of an audit: how srun is called, and what a script in its place makes
 * of us.
 */
#include "config.h"
#include "prolog/audit/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/ahead.h"
#include "tests/tap.h"
#include "util/program.h"

static struct site site = {
    .srun = (char *)"/usr/bin/srun",
    .probe = (char *)"/usr/bin/pmm-probe",
    .audit_partition = (char *)"audit",
    .mpi = (char *)"auto",
    .audit_timeout_ms = 60000,
};
static struct error err;
static struct fabric *fabric;
static struct audit audit = { .site = &site };
static const char *node_of[] = { "n1", "n2", "n3", NULL }; /* [endpoint] */

static const char *join (char *const *v)
{
    static char s[8192];

    s[0] = '\0';
    for (; *v; v++)
        if (!strncmp (*v, "PMM_CHECK_NESTED=", 17)
            && atol (*v + 17) == (long)getpid ())
            strcat (s, "PMM_CHECK_NESTED=self|");
        else
            strcat (strcat (s, *v), "|");
    return s;
}

#define JOB(nodes, n)                                                         \
    "--job-name=pmm-audit-7|--partition=audit|--nodelist=" nodes              \
    "|--nodes=" n "|--immediate=5|--time=3|--exclusive|--mem=0|--gres=none|"
#define STEP                                                                  \
    "--ntasks=3|--verbose|--label|--mpi=pmix|--ntasks-per-node=1|"            \
    "--cpu-bind=none|"                                                        \
    "--propagate=NONE|--export=NONE|--input=none|--chdir=/|"                  \
    "--kill-on-bad-exit=1|/usr/bin/pmm-probe|"
#define PROBE "--timeout|57.0|--nonce|abc|--leader|n2|--audit|"
#define ENV                                                                   \
    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin|LC_ALL=C|"             \
    "SLURM_CONF=/etc/s.conf|"                                                 \
    "PMM_CHECK_NESTED=self|SLURM_PMIX_TIMEOUT=15|"

static void test_arguments (void)
{
    struct audit_job job = { .audit = &audit, .name = "pmm-audit-7",
                             .nonce = "abc", .leader = "n2",
                             .nodes = "n[1-3]", .n = 3, .partners = "n[1-3]",
                             .npartners = 3 };
    char **env, **a;

    setenv ("SLURM_CONF", "/etc/s.conf", 1);
    setenv ("LD_PRELOAD_X", "/evil.so", 1);
    setenv ("SLURM_NTASKS", "99", 1);
    env = job_environment (&site);
    ok (!strcmp (join (env), ENV), "an environment from scratch: %s",
        join (env));
    a = job_arguments (&job, "pmix", env);
    ok (!strcmp (join (a), "/usr/bin/srun|" JOB ("n[1-3]", "3") STEP PROBE),
        "of a job: %s", join (a));
    program_free (a);
    audit.conf = "/etc/my.conf";
    job.partners = "n[1-2]";
    job.npartners = 2;
    a = job_arguments (&job, "pmix", env);
    ok (!strcmp (join (a),
                 "/usr/bin/salloc|--quiet|--kill-command=KILL|--no-bell|"
                 JOB ("n[1-2]", "2") "/usr/bin/env|-i|" ENV
                 "/usr/bin/srun|--no-allocate|"
                 "--nodelist=n[1-3]|--nodes=3|" STEP
                 "--conf|/etc/my.conf|" PROBE),
        "beside a job: %s", join (a));
    audit.conf = NULL;
    program_free (a);
    job.partners = "";
    job.npartners = 0;
    a = job_arguments (&job, "pmix", env);
    ok (!strcmp (join (a), "/usr/bin/srun|--no-allocate|"
                           "--nodelist=n[1-3]|--nodes=3|" STEP PROBE),
        "without a job: %s", join (a));
    program_free (a);
    job.rates = "hosts";
    a = job_arguments (&job, "pmix", env);
    ok (strstr (join (a), PROBE "--rates=hosts|") != NULL, "with rates: %s",
        join (a));
    program_free (a);
    job.rates = NULL;
    program_free (env);
    setenv ("SLURM_CONF", "relative", 1);
    setenv ("SLURM_CONF_SERVER", "head:6817", 1);
    setenv ("SLURM_SACK_SOCKET", "/run/sack", 1);
    env = job_environment (&site);
    ok (!strstr (join (env), "SLURM_CONF="),
        "a relative SLURM_CONF is none of ours");
    ok (strstr (join (env),
                "|SLURM_CONF_SERVER=head:6817|SLURM_SACK_SOCKET=/run/sack|")
            != NULL,
        "a Slurm without files: %s", join (env));
    program_free (env);
    unsetenv ("SLURM_CONF");
    unsetenv ("SLURM_CONF_SERVER");
    unsetenv ("SLURM_SACK_SOCKET");
}

/* The task of each node, as srun -v says it: not in order of name. */
#define LAUNCH                                                                \
    "for i in '2, 1 tasks: 0' '1, 1 tasks: 1' '3, 1 tasks: 2'; do\n"          \
    "echo \"srun: launching StepId=7.0 on host n$i\" >&2; done\n"
#define STARTED(n)                                                            \
    "echo 'srun: launch/slurm: _task_start: Node " n ", 1 tasks started' >&2\n"
#define PORT "pmm-port 1 abc 0002c90000000010/1 4 5 4xHDR' >&2\n"
#ifdef HAVE_PMIX
#define NEITHER "neither PMIx nor PMI-2"
#else
#define NEITHER "no PMI-2"
#endif
#define RESULT "echo '1: pmm-result 1 OK abc fine'\n"
/* A program that runs until the test ends it. */
#define HANG "while :; do sleep .1; printf %99s >>clock; done"

/* What comes of a script in srun's place. */
static void test_said (void)
{
    static const struct {
        const char *script;
        int rc;
        size_t ports;
        const char *text; /* of the record, or why there is none */
        const char *faults;
    } tab[] = {
        { "echo '1: +{'; echo '1: +}'; echo '1: +'\n" RESULT, 1, 0,
          "{}\npmm-result 1 OK abc fine\n", "" },
        { "echo ' 1: +{'; echo '2: +x'; echo ' 2: pmm-result 1 OK abc no'\n"
          "echo rubbish; echo '1: rubbish'; echo '1: +}'; echo '1: +'\n" RESULT,
          1, 0, "{}\npmm-result 1 OK abc fine\n", "" },
        { "echo '1: +{\"a'; echo '1: pmm-result 1 UNKNOWN abc late'", 1, 0,
          "{\"a\npmm-result 1 UNKNOWN abc late\n", "" },
        { LAUNCH "echo '1: " PORT "echo '1: pmm-port 1 xyz "
          "0002c90000000010/1 4 5 4xHDR' >&2\n" RESULT, 1, 1, "pmm-result",
          "" },
        /* of another's port, by a label that is the task's own, by what srun
         * is said to have said, by nobody, and of a task that is nobody's */
        { LAUNCH "echo '0: " PORT "echo '0: 1: " PORT
          "echo '0: srun: launching StepId=7.0 on host n1, 1 tasks: 0' >&2\n"
          "echo '0: " PORT "echo '" PORT "echo '3: " PORT RESULT, 1, 0,
          "pmm-result", "" },
        { "echo '1: " PORT RESULT, 1, 0, "pmm-result", "" },
        /* who says much leaves room for the others */
        { LAUNCH "for i in $(seq 100); do\necho '1: " PORT "done\n"
          "echo '0: pmm-port 1 abc 0002c90000000020/1 4 5 4xHDR' >&2\n" RESULT,
          1, 33, "pmm-result", "" },
        { "echo '1: pmm-result 1 OK abcd fine'; exit 1", 0, 0,
          "srun ended without a message", "" },
        { "echo 'srun: error: Unable to allocate resources: Requested nodes "
          "are busy' >&2; exit 1", 0, 0,
          "srun: error: Unable to allocate resources: Requested nodes are "
          "busy", "" },
        { "echo 'salloc: error: no' >&2; exit 1", 0, 0, "salloc: error: no",
          "" },
        { "echo '0: pmm: h1: no port' >&2", 0, 0, "pmm: h1: no port", "" },
        { "printf 'a\\033b\\n' >&2", 0, 0, "a?b", "" },
        { "exit 127", 0, 0, "cannot run ./srun", "" },
        { LAUNCH "yes \"1: +{ $(printf 'nonsense%.0s' $(seq 100))\" | "
          "head -c 80000000; " HANG, 0, 0,
          "the record is longer than 67108864 bytes", "" },
        /* no PMIx: said by srun, by a node; nor PMI-2 */
        { "case $* in *--mpi=pmix*) echo 'srun: error: MPI: Cannot create "
          "context for mpi/pmix' >&2; exit 1;; esac\n" RESULT, 1, 0,
          "pmm-result 1 OK abc fine\n", "" },
        { "case $* in *--mpi=pmix*) " LAUNCH "echo 'srun: error: task 1 "
          "launch failed: Invalid MPI plugin name' >&2; exit 1;; esac\n"
          RESULT, 1, 0, "pmm-result 1 OK abc fine\n", "" },
        { "echo \"srun: error: Couldn't find the specified plugin name for "
          "mpi/x looking at all files\" >&2; exit 1", 0, 0,
          "this Slurm has " NEITHER " (srun --mpi=list)", "" },
        /* a task that is none of ours */
        { LAUNCH "echo 'srun: launching StepId=7.0 on host n4, 1 tasks: 3' >&2"
          "\necho '3: +{'; echo '3: pmm-result 1 OK abc no'\n" RESULT, 1, 0,
          "pmm-result 1 OK abc fine\n", "" },
        /* PMIx that one node cannot start; PMI-2, too; and no PMI-2 */
        { LAUNCH "case $* in *--mpi=pmix*) echo 'srun: error: task 1 launch "
          "failed: Unspecified error' >&2; exit 1;; esac\n" RESULT, 1, 0,
          "pmm-result 1 OK abc fine\n", "" },
        { LAUNCH "case $* in *--mpi=pmix*) echo 'srun: error: task 1 launch "
          "failed: first' >&2; exit 1;; esac\n"
          "echo 'srun: error: task 0 launch failed: second' >&2; exit 1", 0, 0,
          "node n1: task launch failed: first",
          "n1 task launch failed: first" },
        { LAUNCH "case $* in *--mpi=pmix*) echo 'srun: error: task 1 launch "
          "failed: first' >&2; exit 1;; esac\necho 'srun: error: Invalid MPI "
          "type, --mpi=list for acceptable types' >&2; exit 1", 0, 0,
          "node n1: task launch failed: first",
          "n1 task launch failed: first" },
        /* who is to blame */
        { LAUNCH STARTED ("n1") STARTED ("n3")
          "echo 'srun: error: task 1 launch failed: Unspecified error' >&2\n"
          "echo 'srun: error: n2: task 0: Exited with exit code 2' >&2", 0, 0,
          "node n1: task launch failed: Unspecified error",
          "n1 task launch failed: Unspecified error" },
        { LAUNCH "echo 'srun: error: Task launch for StepId=7.0 failed on "
          "node n3: Communication connection failure' >&2", 0, 0,
          "node n3: task launch failed: Communication connection failure",
          "n3 task launch failed: Communication connection failure" },
        { LAUNCH "echo 'srun: error: n[2-3]: tasks 0,2: Exited with exit code "
          "7' >&2\necho 'srun: error: n1: task 1: Killed' >&2", 0, 0,
          "node n2: the probe ended with exit code 7; and others",
          "n2 the probe ended with exit code 7|"
          "n3 the probe ended with exit code 7" },
        { LAUNCH "echo 'srun: error: Node failure on n2' >&2", 0, 0,
          "node n2: node failure", "n2 node failure" },
        { LAUNCH "echo '0: srun: error: task 1 launch failed: x' >&2", 0, 0,
          "srun: error: task 1 launch failed: x", "" },
    };
    struct audit_job job = { .audit = &audit, .name = "pmm-audit-7",
                             .nonce = "abc", .leader = "n1",
                             .nodes = "n[1-3]", .n = 3, .partners = "n[1-3]", .npartners = 3,
                             .node_of = node_of };

    site.srun = (char *)"./srun";
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        FILE *fp = fopen ("srun", "w");
        char faults[512] = "";
        struct job_said said;
        /* it is task 1 that has a record, if srun tells whose that is */
        const char *by
            = strncmp (tab[i].script, LAUNCH, strlen (LAUNCH)) ? "" : "n1";
        int rc;

        fprintf (fp, "#!/bin/sh\n%s\n", tab[i].script);
        fclose (fp);
        chmod ("srun", 0755);
        rc = job_run (&job, &said, &err);
        for (size_t k = 0; k < said.nfaults; k++)
            sprintf (faults + strlen (faults), "%s%s %s", k ? "|" : "",
                     said.fault[k].node, said.fault[k].cause);
        ok (rc == tab[i].rc && said.nports == tab[i].ports
                && (rc == 1 ? !strncmp (said.record, tab[i].text,
                                        strlen (tab[i].text))
                            : !strcmp (said.why, tab[i].text))
                && !strcmp (faults, tab[i].faults)
                && (rc != 1 || !strcmp (said.recorder, by)),
            "%zu: %s: %.80s %s", i, rc == 1 ? "a record" : "none", said.why,
            faults);
        job_said_clear (&said);
    }
    unlink ("srun");
}

/* Nodes that do not answer where others do. */
static void test_silent (void)
{
    struct audit_job job = { .audit = &audit, .name = "pmm-audit-7",
                             .nonce = "abc", .leader = "n1",
                             .nodes = "n[1-3]", .n = 3, .partners = "n[1-3]", .npartners = 3 };
    FILE *fp = fopen ("srun", "w");
    struct job_said said;

    fprintf (fp, "#!/bin/sh\n%s%s%s%s\n", LAUNCH, STARTED ("n1"),
             STARTED ("n2"), HANG);
    fclose (fp);
    chmod ("srun", 0755);
    ok (job_run (&job, &said, &err) == 0 && said.launched
            && said.nfaults == 1 && said.fault[0].launch
            && !strcmp (said.why, "node n3: no answer to the task launch"),
        "no answer: %s", said.why);
    job_said_clear (&said);
    unlink ("srun");
}

/* Records of others than the leader, n1, whose task is 1; n3's is 2. */
static void test_astray (void)
{
#define OTHER "echo '2: +x'; echo '2: +'; echo '2: pmm-result 1 OK abc mine'\n"
    static const struct {
        const char *what, *script;
        int rc;
        const char *text, *recorder, *astray;
        bool stands_in;
    } tab[] = {
        { "before the leader's", LAUNCH OTHER "sleep .2\n" RESULT, 1,
          "pmm-result 1 OK abc fine\n", "n1", "n3", false },
        { "in it", LAUNCH "echo '1: +{'\n" OTHER "echo '1: +}'; echo '1: +'\n"
          RESULT, 1, "{}\npmm-result 1 OK abc fine\n", "n1", "n3", false },
        { "a piece of one", LAUNCH "echo '2: +{'\n" RESULT, 1,
          "pmm-result 1 OK abc fine\n", "n1", "n3", false },
        { "before srun tells whose", OTHER LAUNCH "sleep .2\n" RESULT, 1,
          "pmm-result 1 OK abc fine\n", "n1", "n3", false },
        { "of several", LAUNCH "echo '0: +{'\n" OTHER RESULT, 1,
          "pmm-result 1 OK abc fine\n", "n1", "n2", false },
        { "that is too long", LAUNCH "yes \"2: +$(printf '%900s')\" | "
          "head -c 80000000; echo\n" RESULT, 1, "pmm-result 1 OK abc fine\n", "n1",
          "n3", false },
        { "... and the leader's is missing", LAUNCH "yes \"2: +$(printf "
          "'%900s')\" | head -c 80000000\n", 0, "", "", "", false },
        { "the leader has none", LAUNCH OTHER, 1,
          "x\npmm-result 1 OK abc mine\n", "n3", "", true },
        { "the leader has half of one", LAUNCH "echo '1: +{'\n" OTHER, 1,
          "x\npmm-result 1 OK abc mine\n", "n3", "", true },
        { "the leader is lost", LAUNCH OTHER
          "echo 'srun: error: Node failure on n1' >&2\n" HANG, 1,
          "x\npmm-result 1 OK abc mine\n", "n3", "", true },
        { "the leader hangs", LAUNCH OTHER HANG, 1,
          "x\npmm-result 1 OK abc mine\n", "n3", "", true },
        { "another node is lost", LAUNCH OTHER
          "echo 'srun: error: Node failure on n2' >&2\nsleep .2\n" RESULT, 1,
          "pmm-result 1 OK abc fine\n", "n1", "n3", false },
    };
    struct audit_job job = { .audit = &audit, .name = "pmm-audit-7",
                             .nonce = "abc", .leader = "n1",
                             .nodes = "n[1-3]", .n = 3,
                             .partners = "n[1-3]", .npartners = 3 };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        FILE *fp = fopen ("srun", "w");
        struct job_said said;
        int rc;

        fprintf (fp, "#!/bin/sh\n%s\n", tab[i].script);
        fclose (fp);
        chmod ("srun", 0755);
        rc = job_run (&job, &said, &err);
        ok (rc == tab[i].rc
                && (rc == 0 || !strcmp (said.record, tab[i].text))
                && (rc == 0 || !strcmp (said.recorder, tab[i].recorder))
                && !strcmp (said.astray, tab[i].astray)
                && said.stands_in == tab[i].stands_in,
            "another's record, %s: that of %s counts %s", tab[i].what,
            rc ? said.recorder : "nobody", rc ? "" : said.why);
        job_said_clear (&said);
    }
    unlink ("srun");
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 1 };
    char dir[] = "/tmp/pmm-test.XXXXXX";

    if (!(fabric = generate_fat_tree (&tree, &err)) || !mkdtemp (dir)
        || chdir (dir) < 0)
        return 1;
    audit.fabric = fabric;
    ahead_open ("clock");
    test_arguments ();
    test_said ();
    test_silent ();
    test_astray ();
    unlink ("clock");
    fabric_destroy (fabric);
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
