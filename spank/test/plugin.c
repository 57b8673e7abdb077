/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The built plugin, loaded as Slurm does, with an srun that misbehaves. */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "spank/outcome.h"
#include "spank/test/spankhost.h"
#include "tests/ahead.h"
#include "tests/scarce.h"
#include "tests/tap.h"

enum { LONG_MS = 120000 }; /* a busy machine's, and less than what sleeps */

enum { OTHER_UID = 65534 };

static size_t next_failing;

static uint32_t first_job;
static uint32_t next_job;

static char top[] = "/tmp/pmm-plugin.XXXXXX";
static char srun[64];
static char srun_word[80];

/* The fake srun does `act`, with the nonce in $nonce: `ok STATUS` is a result,
 * `late SECONDS` sets the plugin's clock ahead.
 */
static void put_srun (const char *shell, const char *first, const char *act)
{
    char path[80];
    FILE *fp;

    snprintf (path, sizeof (path), "%s.new", srun);
    fp = fopen (path, "w");
    fprintf (fp,
             "#!/bin/%s\n"
             "cd %s\n"
             "%s"
             "echo $$ >pid; echo x >>runs\n"
             "while [ $# -gt 0 ]; do [ \"$1\" = --nonce ] && nonce=$2; shift;"
             " done\n"
             "ok () { echo '{}'; echo \"pmm-result 1 $1 $nonce $1 it is\"; }\n"
             "late () { printf %%\"$1\"s >>clock; }\n"
             "%s\n",
             shell, top, first, act);
    fclose (fp);
    chmod (path, 0755);
    rename (path, srun);
}

/* It records what it was given, first. */
static void be_srun (const char *act)
{
    put_srun ("bash",
              "printf '%s\\n' \"$@\" >args; env | sort >env\n"
              "ls /proc/$$/fd >fds\n"
              "grep -E 'SigBlk|SigIgn' /proc/self/status >signals\n"
              "readlink /proc/$$/fd/0 >stdin\n",
              act);
}

static char *contents (const char *name)
{
    static char buf[8192];
    char path[96];
    FILE *fp;
    size_t n = 0;

    snprintf (path, sizeof (path), "%s/%s", top, name);
    if ((fp = fopen (path, "r"))) {
        n = fread (buf, 1, sizeof (buf) - 1, fp);
        fclose (fp);
    }
    buf[n] = '\0';
    return buf;
}

static int runs (void)
{
    int n = (int)strlen (contents ("runs")) / 2;
    char path[96];

    snprintf (path, sizeof (path), "%s/runs", top);
    unlink (path);
    return n;
}

/* A job that is not like those before. */
static void new_job (const char *check)
{
    unsetenv ("PMM_CHECK");
    spankhost = (struct spankhost){
        .jobid = next_job++,
        .nodes = 4,
        .start = time (NULL) - 1,
        .partition = "main",
        .running = 1,
        .check = check,
        .stack = "required",
        .words = { srun_word, "Timeout=30" },
    };
}

static int64_t now_ms (void)
{
    struct timespec t;

    clock_gettime (CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void test_exports (void)
{
    ok (spankhost_exports ("plugin_name")
            && spankhost_exports ("slurm_spank_init")
            && !spankhost_exports ("conf_set")
            && !spankhost_exports ("text_clean"),
        "only what Slurm looks for is exported");
}

/* Of a Slurm that has no such types, and says so. */
#define NO_LAUNCH                                                          \
    "if grep -q -e --mpi=pmix args; then echo 'srun: error: task 1 launch " \
    "failed: Unspecified error' >&2; exit 1; fi; "
#define NO_MPI(types, text)                                                \
    "if grep -q -e --mpi=" types " args; then echo \"srun: error: " text       \
    "\" >&2; exit 1; fi; "

#ifdef HAVE_PMIX
#define NEITHER "neither PMIx nor PMI-2"
#else
#define NEITHER "no PMI-2"
#endif

static void test_outcomes (void)
{
    static const struct {
        const char *name;
        const char *act;
        int required;     /* what --pmm-check=require returns */
        const char *said; /* with report; "": nothing */
    } tab[] = {
        { "OK", "ok OK", 0, "" },
        { "WARN", "ok WARN", 0, "" },
        { "FAIL", "ok FAIL", -1, "" },
        { "UNKNOWN", "ok UNKNOWN", 0, "" },
        { "result, though srun failed", "ok OK; exit 1", 0, "" },
        { "exit 0 with nothing", "exit 0", -1,
          "pmm: not checked: the check ended without a result\n" },
        { "a record without samples",
          "echo \"pmm-result 1 UNKNOWN $nonce no snapshot\"", -1,
          "pmm: not checked: no snapshot\n" },
        { "another nonce", "nonce=00; ok OK", -1,
          "pmm: not checked: the check ended without a result\n" },
        { "a line without an end",
          "echo -n \"pmm-result 1 OK $nonce fine\"", -1,
          "pmm: not checked: the check ended without a result\n" },
        { "garbage", "head -c 300000 /dev/urandom; exit 3", -1,
          "pmm: not checked: the check ended without a result\n" },
        { "a line of 10 MB, then the result",
          "head -c 10000000 /dev/zero; echo; ok OK", 0, "" },
        { "a flood", "head -c 3000000 < <(yes); late 30; exec yes", -1,
          "pmm: not checked: no result within 30 s\n" },
        { "Slurm's own complaint",
          "echo 'srun: some info' >&2; echo 'srun: error: n1: task 0: Exited "
          "with exit code 2' >&2; echo 'srun: error: a node is gone' >&2; "
          "echo 'srun: error: more' >&2; exit 1",
          -1,
          "pmm: not checked: the check ended without a result; srun: error: a "
          "node is gone\n" },
        { "no PMIx, in the words of 22.05",
          NO_MPI ("pmix", "Couldn't find the specified plugin name for "
                          "mpi/pmix looking at all files") "ok OK", 0, "" },
        { "no PMIx, in those of 25.05",
          NO_MPI ("pmix", "MPI: Cannot create context for mpi/pmix") "ok OK",
          0, "" },
        { "nor PMI-2",
          NO_MPI ("pmi", "Invalid MPI type, --mpi=list for acceptable types"),
          -1,
          "pmm: not checked: this Slurm has " NEITHER " (srun --mpi=list)\n" },
        { "no PMIx, and PMI-2 that fails",
          NO_MPI ("pmix", "MPI: Cannot create context for mpi/pmix") "exit 1",
          -1, "pmm: not checked: the check ended without a result\n" },
        { "PMIx that a node cannot start", NO_LAUNCH "ok OK", 0, "" },
        { "... and PMI-2 that it cannot either",
          "echo 'srun: error: task 1 launch failed: Unspecified error' >&2; "
          "exit 1", -1,
          "pmm: not checked: the check ended without a result; srun: error: "
          "task 1 launch failed: Unspecified error: slurmd's log on that node "
          "says why (journalctl -u slurmd)\n" },
        { "... and no PMI-2", NO_LAUNCH
          NO_MPI ("pmi2", "Invalid MPI type, --mpi=list for acceptable types"),
          -1,
          "pmm: not checked: the check ended without a result; srun: error: "
          "task 1 launch failed: Unspecified error: slurmd's log on that node "
          "says why (journalctl -u slurmd)\n" },
        { "a hang", "late 30; sleep 600", -1,
          "pmm: not checked: no result within 30 s\n" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int rc;

        new_job ("report");
        be_srun (tab[i].act);
        rc = spankhost_srun ();
        if (!ok (rc == 0 && !strcmp (spankhost.said, tab[i].said),
                 "report, %s: the job goes on", tab[i].name))
            diag ("%s", spankhost.said);
        new_job ("require");
        rc = spankhost_srun ();
        if (!ok (rc == tab[i].required
                     && (rc == 0)
                            == !strstr (spankhost.said,
                                        "; the job does not start\n"),
                 "require, %s: %s", tab[i].name, rc ? "veto" : "goes on"))
            diag ("%s", spankhost.said);
    }
}

/* The signals that the fake srun ignores, as a mask; without SIGQUIT, and
 * without 32 and 33, the C library's own: a make that starts us by posix_spawn
 * leaves them ignored, and nobody can undo it.
 */
static uint64_t ignored_signals (void)
{
    const char *at = strstr (contents ("signals"), "SigIgn:\t");

    if (!at)
        return UINT64_MAX;
    return strtoull (at + strlen ("SigIgn:\t"), NULL, 16)
           & ~(UINT64_C (1) << (SIGQUIT - 1) | UINT64_C (3) << 31);
}

static void test_step (void)
{
    static const char *const strangers[] = { "", "1", "0", "x", "999999999" };
    char pid[24];
    int fd = open ("/dev/null", O_RDONLY); /* not to be inherited */
    sigset_t mask;

    new_job (NULL);
    spankhost.check = "(null)";
    setenv ("SLURM_NTASKS", "99", 1);
    setenv ("LD_LIBRARY_PATH", "/x", 1);
    setenv ("SLURM_CONF", "/etc/some.conf", 1);
    sigemptyset (&mask);
    sigaddset (&mask, SIGTERM);
    sigaddset (&mask, SIGUSR1);
    sigprocmask (SIG_BLOCK, &mask, NULL);
    signal (SIGUSR2, SIG_IGN);
    be_srun ("ok OK");
    ok (spankhost_srun () == 0 && runs () == 1, "one nested step");
    sigprocmask (SIG_UNBLOCK, &mask, NULL);
    signal (SIGUSR2, SIG_DFL);
    unsetenv ("SLURM_NTASKS");
    unsetenv ("LD_LIBRARY_PATH");
    close (fd);

    ok (strstr (contents ("args"), "--nodes=4\n--ntasks=4\n")
            && strstr (contents ("args"), "\n--set\nTimeout=30\n"),
        "of all the job's nodes, with plugstack.conf's words");
    ok (!strstr (contents ("env"), "SLURM_NTASKS")
            && !strstr (contents ("env"), "LD_LIBRARY_PATH")
            && strstr (contents ("env"), "SLURM_CONF=/etc/some.conf\n")
            && strstr (contents ("env"), "PMM_CHECK_NESTED="),
        "in an environment of its own");
    ok (!strcmp (contents ("fds"), "0\n1\n2\n255\n"),
        "without our files (255 is bash's own)");
    if (!ok (ignored_signals () == 0,
             "with default signals (but SIGQUIT, which bash ignores)"))
        diag ("%s", contents ("signals"));
    ok (strstr (contents ("signals"), "SigBlk:\t0000000000000000\n") != NULL,
        "none blocked");
    ok (!strcmp (contents ("stdin"), "/dev/null\n"), "and no input");
    ok (getenv ("PMM_CHECK") && strstr (getenv ("PMM_CHECK"), " OK OK it is"),
        "the outcome is in the tasks' environment");

    new_job ("require");
    spankhost_srun ();
    runs ();
    ok (!strcmp (spankhost.passed, "PMM_CHECK=require"),
        "the job's hooks learn that it asked");
    new_job (NULL);
    ok (spankhost_srun () == 0 && !*spankhost.passed, "or that it did not");
    new_job (NULL);
    snprintf (pid, sizeof (pid), "%ld", (long)getppid ());
    setenv ("PMM_CHECK_NESTED", pid, 1);
    ok (spankhost_srun () == 0 && runs () == 0, "no check of a check");
    ok (!strcmp (spankhost.passed, "PMM_CHECK=report"),
        "whose hooks learn what it is");
    for (size_t i = 0; i < sizeof (strangers) / sizeof (strangers[0]); i++) {
        new_job ("report");
        setenv ("PMM_CHECK_NESTED", strangers[i], 1);
        ok (spankhost_srun () == 0 && runs () == 1
                && strstr (spankhost.said, "pmm: PMM_CHECK_NESTED in the "
                                           "environment is ignored"),
            "PMM_CHECK_NESTED=%s is no mark of ours: checked, and said",
            strangers[i]);
    }
    new_job (NULL);
    ok (spankhost_srun () == 0 && !spankhost.said[0] && !*spankhost.passed,
        "... and nothing where nobody asks for a check");
    unsetenv ("PMM_CHECK_NESTED");
}

static void test_forwarding (void)
{
    char file[96];
    int saved = dup (STDERR_FILENO);
    int fd;

    snprintf (file, sizeof (file), "%s/stderr", top);
    fd = open (file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2 (fd, STDERR_FILENO);
    close (fd);
    new_job ("report");
    be_srun ("{ echo pmm: one; printf 'two\\e[1m\\n'; echo srun: three; "
             "echo slurmstepd: four; for i in $(seq 1000); do echo $i; done; "
             "} >&2; ok OK");
    spankhost_srun ();
    dup2 (saved, STDERR_FILENO);
    close (saved);
    ok (strstr (contents ("stderr"),
                "pmm: one\npmm: two?[1m\npmm: 1\npmm: 2\n")
            == contents ("stderr"),
        "pmm-probe's lines are forwarded, cleaned; Slurm's are not");
    ok (strstr (contents ("stderr"), "pmm: 498\npmm: (more is left out)\n")
            && !strstr (contents ("stderr"), "pmm: 499\n"),
        "and not without end");
    runs ();
}

static void test_once (void)
{
    new_job ("report");
    be_srun ("ok FAIL");
    ok (spankhost_srun_inside () == 0 && runs () == 1,
        "the first srun of a job checks it");
    ok (spankhost_srun_inside () == 0 && runs () == 0,
        "the second knows (environment)");
    unsetenv ("PMM_CHECK");
    ok (spankhost_srun_inside () == 0 && runs () == 0,
        "the second knows (file)");
    spankhost.check = "require";
    ok (spankhost_srun_inside () == -1 && runs () == 0
            && strstr (spankhost.said, "FAIL it is"),
        "and vetoes, if asked to");
    unsetenv ("PMM_CHECK");
    spankhost.start = time (NULL) + 5;
    ok (spankhost_srun_inside () == -1 && runs () == 1,
        "another job of the same id is checked anew");

    new_job ("report");
    be_srun ("exit 1");
    ok (spankhost_srun_inside () == 0 && runs () == 1, "a check that fails");
    ok (spankhost_srun_inside () == 0 && runs () == 0
            && spankhost.said[0] == '\0',
        "is not repeated, nor spoken of");
    spankhost.check = "require";
    be_srun ("ok OK");
    ok (spankhost_srun_inside () == 0 && runs () == 1,
        "but where one is required");
}

static void test_exempt (void)
{
    be_srun ("echo \"pmm-result 1 OK $nonce one node, one rail\"");
    new_job ("require");
    spankhost.nodes = 1;
    ok (spankhost_srun () == 0 && runs () == 1
            && !strcmp (spankhost.said,
                        "pmm: not checked: one node, one rail\n"),
        "one node of one rail: said, not failed");
    ok (spankhost_srun_inside () == 0 && runs () == 0 && !spankhost.said[0],
        "... once");
    be_srun ("ok FAIL");
    new_job ("require");
    spankhost.nodes = 1;
    ok (spankhost_srun () == -1 && runs () == 1, "of several: checked");
    new_job ("require");
    spankhost.het_jobid = spankhost.jobid;
    ok (spankhost_srun () == 0 && runs () == 0
            && !strcmp (spankhost.said,
                        "pmm: not checked: a heterogeneous job\n"),
        "heterogeneous: said, not failed");
    new_job (NULL);
    spankhost.nodes = 1;
    spankhost.words[2] = "Mode=report";
    ok (spankhost_srun () == 0 && !spankhost.said[0],
        "one node, and nobody asked: silence");
    ok (runs () == 0, "... nor is it checked");

    new_job (NULL);
    ok (spankhost_srun () == 0 && runs () == 0 && !spankhost.said[0],
        "not asked: not checked");
    new_job ("off");
    spankhost.words[2] = "Mode=require";
    ok (spankhost_srun () == 0 && runs () == 0, "off");
    new_job (NULL);
    spankhost.words[2] = "RequirePartitions=main";
    ok (spankhost_srun () == -1 && runs () == 1, "the partition's default");
    new_job (NULL);
    spankhost.words[2] = "RequirePartitions=other";
    ok (spankhost_srun () == 0 && runs () == 0, "another partition's");
}

static void test_troubles (void)
{
    new_job ("report");
    spankhost.load_fails = 1;
    ok (spankhost_srun () == 0
            && strstr (spankhost.said, "not checked: Slurm does not tell"),
        "the controller does not answer: said");
    spankhost.check = "require";
    ok (spankhost_srun () == -1
            && strstr (spankhost.said, "does not start if plugstack.conf has "
                                       "the plugin as required"),
        "... which vetoes if required, as far as can be told: %s",
        spankhost.said);
    spankhost.check = "report";
    be_srun ("ok OK");
    ok (spankhost_srun_inside () == 0 && runs () == 0, "also inside a job");
    new_job ("report");
    spankhost.running = 0;
    ok (spankhost_srun_inside () == 0 && runs () == 1,
        "a job that has no nodes yet is checked when it has");
    new_job ("report");
    spankhost.words[2] = "Tmeout=1";
    ok (spankhost_srun () == 0 && strstr (spankhost.said, "'Tmeout'"),
        "a wrong word in plugstack.conf: said");
    new_job ("report");
    spankhost.words[2] = "Srun=/nonexistent/srun";
    ok (spankhost_srun () == 0
            && !strcmp (spankhost.said,
                        "pmm: not checked: cannot run /nonexistent/srun\n"),
        "no srun: said");
}

static void test_batch (void)
{
    new_job ("report");
    be_srun ("ok WARN");
    ok (spankhost_batch () == 0 && runs () == 1
            && strstr (spankhost.env, " WARN WARN it is"),
        "a batch script: checked, and told");
    ok (strstr (contents ("env"), "HOME=/job/home\n") != NULL,
        "with the job's environment, not slurmd's");
    ok (spankhost_srun_inside () == 0 && runs () == 0, "its srun knows");
    ok (spankhost_task () == 0 && runs () == 0, "other tasks: nothing");
    new_job ("require");
    be_srun ("ok FAIL");
    ok (spankhost_batch () == -1 && runs () == 1, "veto");
    new_job ("nonsense");
    ok (spankhost_batch () == 0 && runs () == 0,
        "a bad argument fails nothing on a node");
    new_job ("report");
    spankhost.het_jobid = 1;
    ok (spankhost_batch () == 0 && runs () == 0, "heterogeneous");
}

/* Orphans are ours to reap. */
static int alive (void)
{
    pid_t pid = (pid_t)atoi (contents ("pid"));

    if (pid > 0)
        waitpid (pid, NULL, WNOHANG);
    return pid > 0 && kill (pid, 0) == 0;
}

/* What happens to the nested step when our srun gets a signal. */
static void test_signals (void)
{
    static const int sig[] = { SIGINT, SIGTERM, SIGHUP, SIGKILL };

    for (size_t i = 0; i < sizeof (sig) / sizeof (sig[0]); i++) {
        int64_t t0 = now_ms ();
        pid_t pid;
        int status = 0;
        int gone;

        new_job ("report");
        spankhost.words[1] = "Timeout=200";
        be_srun ("exec sleep 600");
        fflush (stdout);
        if ((pid = fork ()) == 0)
            _exit (spankhost_srun () == -1 ? 7 : 8);
        while (!contents ("runs")[0] && now_ms () < t0 + LONG_MS)
            usleep (10000);
        runs ();
        kill (pid, sig[i]);
        waitpid (pid, &status, 0);
        while (alive () && now_ms () < t0 + LONG_MS)
            usleep (10000);
        gone = !alive ();
        ok (gone && (sig[i] == SIGKILL || WEXITSTATUS (status) == 7),
            "signal %d: the nested srun ends, in %d ms", sig[i],
            (int)(now_ms () - t0));
    }
}

static void test_stubborn (void)
{
    int64_t t0 = now_ms ();
    int64_t took;

    new_job ("report");
    be_srun ("trap '' TERM; sleep 600 & "
             "while :; do late 20; sleep .1; done");
    ok (spankhost_srun () == 0, "an srun that ignores SIGTERM");
    took = now_ms () - t0;
    ok (!alive () && took < LONG_MS, "is killed, after %d ms", (int)took);

    t0 = now_ms ();
    new_job ("require");
    spankhost.words[1] = "Timeout=100";
    be_srun ("ok OK; while :; do sleep .1; late 6; done");
    ok (spankhost_srun () == 0 && now_ms () - t0 < LONG_MS,
        "one that does not end behind its result counts");
    runs ();
}

static void test_retry (void)
{
    new_job ("require");
    spankhost.words[1] = "Timeout=200";
    runs ();
    be_srun ("[ $(wc -l <runs) = 2 ] && ok OK || { late 50; exit 1; }");
    ok (spankhost_srun () == 0 && runs () == 2,
        "a step that failed as late as PMIx does is tried once more");

    new_job ("require,rates");
    spankhost.words[1] = "Timeout=200";
    be_srun ("grep -qx -e --rates=all args || { ok OK; exit; }; exit 1");
    ok (spankhost_srun () == 0 && runs () == 2,
        "one that ends in bursts is tried once more without them");
}

/* A pmm-prolog and a pmm-epilog that record what they were given. */
static void put_hooks (const char *act)
{
    static const char *const names[] = { "pmm-prolog", "pmm-epilog" };
    char path[96];
    FILE *fp;

    for (int i = 0; i < 2; i++) {
        snprintf (path, sizeof (path), "%s/%s", top, names[i]);
        if (!(fp = fopen (path, "w")))
            return;
        fprintf (fp, "#!/bin/sh\n/bin/echo $0 $* >>%s/runs\n"
                     "/usr/bin/env >%s/env\n%s\n", top, top, act);
        fclose (fp);
        chmod (path, 0755);
    }
}

static void test_job_hooks (void)
{
    char word[96], wanted[256];
    int64_t t0;

    runs ();
    new_job ("report");
    put_hooks ("exit 1");
    ok (spankhost_job_script () == 0 && !*contents ("runs"),
        "no hooks where no word says so");
    snprintf (word, sizeof (word), "Hooks=%s", top);
    spankhost.words[1] = word;
    setenv ("SLURMD_NODENAME", "h1", 1);
    setenv ("LD_PRELOAD_X", "1", 1);
    ok (spankhost_job_script () == 0, "hooks that fail: 0");
    snprintf (wanted, sizeof (wanted), "%s/pmm-prolog\n%s/pmm-epilog\n", top,
              top);
    ok (!strcmp (contents ("runs"), wanted), "both are run");
    ok (strstr (contents ("env"), "SLURMD_NODENAME=h1\n")
            && !strstr (contents ("env"), "LD_PRELOAD_X")
            && !strstr (contents ("env"), "HOME="),
        "in an environment of their own");
    runs ();
    spankhost.words[2] = "Conf=/none";
    ok (spankhost_job_script () == 0
            && strstr (contents ("runs"), "pmm-prolog --conf /none\n"),
        "with plugstack.conf's pmm.conf, which the plugin does not read");
    unsetenv ("LD_PRELOAD_X");
    runs ();
    put_hooks ("printf %3s >>${0%/*}/clock; exec /bin/sleep 600");
    t0 = now_ms ();
    ok (spankhost_job_script () == 0 && now_ms () - t0 < LONG_MS,
        "hooks that hang: 0, in time");
    spankhost.words[1] = "Hooks=/none";
    ok (spankhost_job_script () == 0, "hooks that are not there: 0");
    runs ();
}

/* Slurm does not heed what an optional plugin returns. */
static void test_stack (void)
{
    static const struct {
        const char *stack;
        int rc;
        const char *said;
    } tab[] = {
        { "required", -1, "the job does not start\n" },
        { "optional", 0,
          "the plugin is optional in plugstack.conf, so the job starts\n" },
        { "#", -1,
          "the job does not start if plugstack.conf has the plugin as "
          "required\n" },
        { "required /x/spank_pmm.so of another test\noptional", -1,
          "the job does not start if plugstack.conf has the plugin as "
          "required\n" },
    };
    char conf[80];
    char said[256];

    be_srun ("ok FAIL");
    snprintf (conf, sizeof (conf), "%s/slurm.conf", top);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        new_job ("require");
        spankhost.stack = tab[i].stack;
        snprintf (said, sizeof (said), "pmm: check FAILED: FAIL it is; %s",
                  tab[i].said);
        ok (spankhost_srun () == tab[i].rc && !strcmp (spankhost.said, said),
            "srun, plugstack.conf has %s: %s", tab[i].stack, spankhost.said);
        new_job ("require");
        spankhost.stack = tab[i].stack;
        setenv ("SLURM_CONF", conf, 1);
        ok (spankhost_batch () == tab[i].rc && !strcmp (spankhost.said, said),
            "batch, plugstack.conf has %s: %s", tab[i].stack, spankhost.said);
        unsetenv ("SLURM_CONF");
    }
    new_job ("require");
    spankhost.stack = "optional";
    be_srun ("exit 1");
    ok (spankhost_srun () == 0
            && !strcmp (spankhost.said,
                        "pmm: a check is required and could not run: the "
                        "check ended without a result; the plugin is optional "
                        "in plugstack.conf, so the job starts\n"),
        "optional, and no check: %s", spankhost.said);
    runs ();
}

/* Who asked hears of what goes wrong; else syslog has it. */
static void test_asked (void)
{
    static const struct {
        const char *check;
        const char *output;
        char *word;
        int runs;
        const char *reason;
        bool said, logged;
    } tab[] = {
        { NULL, NULL, "Tmeout=5", 0,
          "plugstack.conf: unknown key 'Tmeout'; did you mean Timeout?", false,
          true },
        { "report", NULL, "Tmeout=5", 0, "did you mean Timeout?", true,
          false },
        { NULL, "dir", "Tmeout=5", 0, "did you mean Timeout?", true, false },
        { "off", NULL, "Tmeout=5", 0, "not checked", false, false },
        { NULL, NULL, "Mode=report", 1, "ended without a result", false,
          true },
        { "report", NULL, "Mode=report", 1, "ended without a result", true,
          false },
        { NULL, "dir", "Mode=off", 1, "ended without a result", true, false },
        { "off", "dir", "Mode=report", 0, "not checked", false, false },
    };

    be_srun ("exit 1");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int rc;

        new_job (tab[i].check);
        spankhost.output = tab[i].output;
        spankhost.words[2] = tab[i].word;
        rc = spankhost_srun ();
        if (!ok (rc == 0 && runs () == tab[i].runs
                     && tab[i].said == !!strstr (spankhost.said, tab[i].reason)
                     && tab[i].said == !!*spankhost.said
                     && tab[i].logged
                            == !!strstr (spankhost.logged, tab[i].reason),
                 "--pmm-check=%s, --pmm-output=%s, %s: %s",
                 tab[i].check ? tab[i].check : "(none)",
                 tab[i].output ? tab[i].output : "(none)", tab[i].word,
                 tab[i].said    ? "said"
                 : tab[i].logged ? "to syslog"
                                 : "nothing"))
            diag ("%d %s|%s", rc, spankhost.said, spankhost.logged);
    }
    new_job (NULL);
    spankhost.output = "dir";
    spankhost.words[2] = "RequirePartitions=main";
    be_srun ("ok FAIL");
    ok (spankhost_srun () == -1 && runs () == 1,
        "--pmm-output alone does not weaken what the partition requires");
    ok (!strcmp (spankhost.passed, "PMM_CHECK=report"),
        "and the job's hooks learn that it asked");
}

/* One file holds what came of the check of this job, or is not touched. */
static void test_result (void)
{
    static const char old[] = "{\"job\": 1}\n";
    char file[96];
    char wanted[256];
    FILE *fp;

    snprintf (file, sizeof (file), "%s/r.json", top);
    for (int i = 0; i < 4; i++) {
        static const struct {
            const char *act;
            uint32_t nodes;
            const char *word;
            const char *sentence; /* NULL: it is pmm-probe's to write */
        } tab[] = {
            { "cp r.json seen; ok OK", 4, NULL, NULL },
            { "cp r.json seen; exit 1", 4, NULL,
              "the check ended without a result" },
            { "cp r.json seen; echo \"pmm-result 1 OK $nonce one node\"", 1,
              NULL, "one node" },
            { "ok OK", 4, "Mode=\"x\\",
              "plugstack.conf: option Mode: '\\\"x\\\\' is not one of off, "
              "report, require" },
        };

        fp = fopen (file, "w");
        fputs (old, fp);
        fclose (fp);
        new_job (NULL);
        spankhost.output = file;
        spankhost.nodes = tab[i].nodes;
        spankhost.words[2] = (char *)tab[i].word;
        be_srun (tab[i].act);
        spankhost_srun ();
        if (runs () > 0)
            ok (!strcmp (contents ("seen"), old),
                "what was there stays until there is something new");
        snprintf (wanted, sizeof (wanted),
                  "{\"kind\": \"result\", \"version\": 1, \"job\": %u, "
                  "\"status\": \"UNKNOWN\", \"sentence\": \"%s\", "
                  "\"all_pairs\": false, \"pairs\": []}\n",
                  spankhost.jobid, tab[i].sentence ? tab[i].sentence : "");
        if (!ok (!strcmp (contents ("r.json"),
                          tab[i].sentence ? wanted : old),
                 "%s: what the file says", tab[i].act))
            diag ("%s", contents ("r.json"));
    }
    new_job (NULL);
    spankhost.output = file;
    be_srun ("echo mine >r.json; ok OK");
    spankhost_srun_inside ();
    spankhost.words[2] = "Tmeout=5";
    ok (spankhost_srun_inside () == 0
            && !strcmp (contents ("r.json"), "mine\n")
            && !spankhost.said[0],
        "a later step does not replace what the job has");
    new_job (NULL);
    spankhost.output = "/none/r.json";
    be_srun ("exit 1");
    ok (spankhost_srun () == 0
            && strstr (spankhost.said, "cannot write /none/r.json"),
        "it cannot be written: %s", spankhost.said);
    runs ();
}

/*
 * Limits: they may cost the check, never the job.
 */

static int limited, limit_soft, limit_hard;

static void set_limit (void)
{
    struct rlimit limit;

    getrlimit (limited, &limit);
    limit.rlim_cur = (rlim_t)limit_soft;
    if (limit_hard)
        limit.rlim_max = limit.rlim_cur;
    setrlimit (limited, &limit);
    /* of root there may be any number of processes */
    if (limited == RLIMIT_NPROC && geteuid () == 0
        && setresuid (OTHER_UID, OTHER_UID, OTHER_UID) < 0)
        _exit (99);
}

/* Be srun with this limit in a child. Return its wait status; `said` is what
 * it said. 0: the job starts; 1: it does not.
 */
static int be_limited (char *said, size_t size)
{
    int fd[2];
    int status = -1;
    ssize_t n;
    pid_t pid;

    if (pipe (fd) < 0 || (pid = fork ()) < 0)
        return -1;
    if (pid == 0) {
        int rc;

        /* where a full disk, or a limit, would show */
        dup2 (open ("/dev/null", O_WRONLY), STDERR_FILENO);
        spankhost.limit = set_limit;
        rc = spankhost_srun ();
        if (write (fd[1], spankhost.said, strlen (spankhost.said)) < 0)
            _exit (98);
        _exit (rc == 0 ? 0 : rc == -1 ? 1 : 97);
    }
    close (fd[1]);
    n = read (fd[0], said, size - 1);
    said[n > 0 ? n : 0] = '\0';
    close (fd[0]);
    waitpid (pid, &status, 0);
    return status;
}

/* True if this is one line of ours, or none. */
static bool is_line (const char *said)
{
    const char *end = strchr (said, '\n');

    return !*said || (!strncmp (said, "pmm: ", 5) && end && !end[1]);
}

static void test_limits (void)
{
    static const int values[] = { 0, 1, 4, 7, 16, 1 << 16, 1 << 24 };
    static const char *const checks[] = { "report", "require", NULL };
    const size_t n = sizeof (values) / sizeof (values[0]);
    char said[4096];

    put_srun ("sh", "", "ok OK");
    for (limited = 0; limited < RLIM_NLIMITS; limited++) {
        int bad = 0;
        int worst = 0;

#ifdef __SANITIZE_ADDRESS__
        if (limited == RLIMIT_AS || limited == RLIMIT_DATA)
            continue; /* of which the sanitizer needs all there is */
#endif
        limit_hard = 1;
        for (size_t k = 0; k < trials (3 * n); k++) {
            size_t i = (4 * k + (size_t)limited) % (3 * n);
            const char *check = checks[i % 3];
            int status;

            new_job (check);
            spankhost.words[2] = "Mode=report";
            limit_soft = values[i / 3];
            if (limited == RLIMIT_CPU && limit_soft == 0)
                continue; /* the kernel kills whatever has it */
            status = be_limited (said, sizeof (said));
            if (!is_line (said) || !WIFEXITED (status)
                || (!check && (*said || status))
                || (check && !strcmp (check, "report") && status)
                || (WEXITSTATUS (status) == 1)
                       != !!strstr (said, "does not start")) {
                bad++;
                worst = limit_soft;
                diag ("limit %d of %d, %s: %d %s", limited, limit_soft,
                      check ? check : "not asked", status, said);
            }
        }
        ok (bad == 0, "limit %d costs the check, not the job (%d)", limited,
            worst);
    }
    runs ();
    /* what is only soft is lifted for the check */
    limit_soft = limit_hard = 0;
    limited = RLIMIT_FSIZE;
    new_job ("require");
    ok (be_limited (said, sizeof (said)) == 0 && !*said && runs () == 1,
        "a soft limit costs nothing: %s", said);
}

/* Memory that runs out at any moment. */
static void count_allocations (void)
{
    allocations = 0;
    failing = next_failing;
}

static void test_memory (void)
{
    int bad = 0;
    size_t n = 0;

    put_srun ("sh", "", "ok OK");
    do {
        int rc;

        next_failing = ++n;
        new_job ("report");
        spankhost.limit = count_allocations;
        rc = spankhost_srun ();
        failing = 0;
        if (rc != 0 || !is_line (spankhost.said)) {
            bad++;
            diag ("allocation %zu: %d %s", n, rc, spankhost.said);
        }
    } while (allocations >= n && n < 1000);
    ok (bad == 0, "each of %zu allocations may fail", n - 1);
    runs ();
}

/* They lie where the plugin has them, under a cluster's name of their own. */
static void remove_guards (void)
{
    char path[96];

    for (uint32_t job = first_job; job < next_job; job++) {
        snprintf (path, sizeof (path), "%s-%u/test.%u", GUARD_DIR,
                  (unsigned)geteuid (), job % GUARD_SLOTS);
        unlink (path);
        snprintf (path, sizeof (path), "%s-%d/test.%u", GUARD_DIR, OTHER_UID,
                  job % GUARD_SLOTS);
        unlink (path);
    }
}

int main (void)
{
    const char *builddir = getenv ("builddir");
    char path[1024];
    char cmd[128];
    sigset_t none;
    int rc;

    snprintf (path, sizeof (path), "%s/spank/spank_pmm.so",
              builddir ? builddir : ".");
    if (access (path, R_OK) < 0) {
        printf ("1..0 # SKIP no %s\n", path);
        return 0;
    }
    /* as nohup and a shell's & leave them */
    for (int sig = 1; sig < NSIG; sig++)
        signal (sig, SIG_DFL);
    sigemptyset (&none);
    sigprocmask (SIG_SETMASK, &none, NULL);
    unsetenv ("SLURM_CONF");
    prctl (PR_SET_CHILD_SUBREAPER, 1);
    if (!mkdtemp (top))
        return 1;
    /* two tests at a time do not share guards */
    first_job = next_job = 1000000u + (uint32_t)getpid () * 100u;
    snprintf (srun, sizeof (srun), "%s/clock", top);
    ahead_open (srun);
    snprintf (srun, sizeof (srun), "%s/srun", top);
    snprintf (srun_word, sizeof (srun_word), "Srun=%s", srun);
    if (!ok (spankhost_load (path, top) == 0, "the plugin loads"))
        return done_testing ();
    test_exports ();
    test_outcomes ();
    runs ();
    test_step ();
    test_forwarding ();
    test_once ();
    test_exempt ();
    test_troubles ();
    test_batch ();
    test_signals ();
    test_stubborn ();
    test_retry ();
    test_stack ();
    test_asked ();
    test_result ();
    test_limits ();
    test_memory ();
    snprintf (path, sizeof (path), "%s/spank/spank_pmm_hooks.so",
              builddir ? builddir : ".");
    ok (!spankhost_exports ("slurm_spank_job_prolog")
            && !spankhost_exports ("slurm_spank_job_epilog"),
        "slurmd starts nothing around jobs for it");
    ok (spankhost_load (path, top) == 0, "the other plugin loads");
    test_job_hooks ();
    rc = done_testing ();
    remove_guards ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", top);
    return system (cmd) != 0 || rc;
}
