/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nested step's environment and arguments; the plugin test runs it. */
#include "config.h"
#include "spank/check.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

spank_err_t spank_option_register (spank_t sp, struct spank_option *opt)
{
    (void)sp;
    (void)opt;
    return ESPANK_SUCCESS;
}

spank_err_t spank_job_control_setenv (spank_t sp, const char *name,
                                      const char *value, int overwrite)
{
    (void)sp;
    (void)name;
    (void)value;
    (void)overwrite;
    return ESPANK_SUCCESS;
}

void slurm_error (const char *fmt, ...)
{
    (void)fmt;
}

static char *join (char **v)
{
    static char s[4096];

    s[0] = '\0';
    for (; *v; v++)
        if (!strncmp (*v, "PMM_CHECK_NESTED=", 17)
            && atol (*v + 17) == (long)getpid ())
            strcat (s, "PMM_CHECK_NESTED=self|");
        else
            strcat (strcat (s, *v), "|");
    return s;
}

/* The environment of slurmstepd's job: an array instead of a handle. */
spank_err_t spank_getenv (spank_t sp, const char *name, char *buf, int size)
{
    char **v = (char **)sp;
    size_t len = strlen (name);

    for (; *v; v++)
        if (!strncmp (*v, name, len) && (*v)[len] == '=') {
            snprintf (buf, (size_t)size, "%s", *v + len + 1);
            return ESPANK_SUCCESS;
        }
    return ESPANK_ENV_NOEXIST;
}

static void test_environment (void)
{
    static const struct {
        char *env[8];
        int timeout_ms;
        const char *expected;
    } tab[] = {
        { { NULL }, 60000,
          "PATH=/usr/local/bin:/usr/bin:/bin|LC_ALL=C|PMM_CHECK_NESTED=self|"
          "SLURM_PMIX_TIMEOUT=15|" },
        { { "SLURM_CONF_SERVER=head:6817", "SLURM_SACK_SOCKET=/s" }, 60000,
          "PATH=/usr/local/bin:/usr/bin:/bin|LC_ALL=C|"
          "SLURM_CONF_SERVER=head:6817|SLURM_SACK_SOCKET=/s|"
          "PMM_CHECK_NESTED=self|SLURM_PMIX_TIMEOUT=15|" },
        { { "HOME=/h", "USER=u", "SLURM_CONF=/c", "PATH=/evil",
            "LD_PRELOAD=/evil.so", "SLURM_NTASKS=9", "PMIX_RANK=3" },
          20000,
          "PATH=/usr/local/bin:/usr/bin:/bin|LC_ALL=C|HOME=/h|USER=u|"
          "SLURM_CONF=/c|PMM_CHECK_NESTED=self|SLURM_PMIX_TIMEOUT=5|" },
        { { "SRUN_X=1", "SPANK_X=1", "_SLURM_SPANK_OPTION_pyxis=x",
            "PMM_CHECK=x", "TERM=t" },
          1000,
          "PATH=/usr/local/bin:/usr/bin:/bin|LC_ALL=C|TERM=t|"
          "PMM_CHECK_NESTED=self|SLURM_PMIX_TIMEOUT=2|" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct job job = { .sp = (spank_t)tab[i].env,
                           .settings.site.timeout_ms = tab[i].timeout_ms };
        char **v = step_environment (&job);

        if (!ok (v && !strcmp (join (v), tab[i].expected),
                 "environment row %zu", i))
            diag ("%s", join (v));
        program_free (v);
    }
}

#define FIXED                                                              \
    "--mpi=pmix|--overlap|--ntasks-per-node=1|--mem=0|--gres=none|"        \
    "--cpu-bind=none|--propagate=NONE|--input=none|--chdir=/|"             \
    "--kill-on-bad-exit=1|--job-name=pmm-check|--quiet|"

static void test_arguments (void)
{
    const char *words[] = { "conf=/etc/my.conf", "Transport=emu",
                            "Baseline=a b;c" };
    struct job job = { .id = 4294967295u, .nodes = 16 };
    struct settings *set = &job.settings;
    char cwd[1024];
    char wanted[2048];
    char **v;

    set->site.srun = "/bin/srun";
    set->site.probe = "/bin/probe";
    v = step_arguments (&job, "pmix", "abc", 60000);
    ok (v && !strcmp (join (v), "/bin/srun|--jobid=4294967295|--nodes=16|"
                                "--ntasks=16|" FIXED
                                "/bin/probe|--timeout|57.0|--nonce|abc|"),
        "arguments: nothing set");
    program_free (v);

    set->word = words;
    set->words = 3;
    set->output = "/out dir";
    v = step_arguments (&job, "pmix", "abc", 10000);
    ok (v && !strcmp (join (v),
                      "/bin/srun|--jobid=4294967295|--nodes=16|--ntasks=16|"
                      FIXED "/bin/probe|--conf|/etc/my.conf|--set|"
                      "Transport=emu|--set|Baseline=a b;c|--timeout|8.0|"
                      "--nonce|abc|"
                      "--output|/out dir|"),
        "arguments: words and output");
    program_free (v);

    set->words = 0;
    set->output = NULL;
    set->check.rates = true;
    v = step_arguments (&job, "pmix", "abc", 60000);
    ok (v && strstr (join (v), "|--nonce|abc|--rates=all|"),
        "arguments: rates");
    program_free (v);
    set->check.rates = false;
    set->output = "out";
    snprintf (wanted, sizeof (wanted),
              "--timeout|0.8|--nonce|abc|--output|%s/out|",
              getcwd (cwd, sizeof (cwd)));
    v = step_arguments (&job, "pmix", "abc", 1000);
    ok (v && strstr (join (v), wanted), "arguments: output gets absolute");
    program_free (v);

    set->output = "/tmp/out.json";
    v = step_arguments (&job, "pmix", "abc", 1000);
    ok (v && strstr (join (v), "|--result|/tmp/out.json|")
            && !strstr (join (v), "--output"),
        "arguments: JSON is one file");
    program_free (v);
    set->output = ".json";
    v = step_arguments (&job, "pmix", "abc", 1000);
    ok (v && strstr (join (v), "/.json|") && strstr (join (v), "--output"),
        "arguments: an ending alone is not");
    program_free (v);

    job.terminal = true;
    v = step_arguments (&job, "pmix", "abc", 1000);
    ok (v && strstr (join (v), "|--progress|"),
        "arguments: on a terminal the progress is shown");
    program_free (v);
}

static void test_clean (void)
{
    static const struct {
        const char *line;
        const char *expected;
    } tab[] = {
        { "all well", "pmm: all well" },
        { "pmm: all well", "pmm: all well" },
        { "pmm-probe: all well", "pmm-probe: all well" },
        { "a\x1b]0;b\x07\r", "pmm: a?]0;b??" },
        { "", "pmm: " },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char line[64];
        char out[80];
        const char *prefix;

        strcpy (line, tab[i].line);
        prefix = step_clean_line (line);
        snprintf (out, sizeof (out), "%s%s", prefix, line);
        ok (!strcmp (out, tab[i].expected), "line: %s", out);
    }
}

static void test_signals (void)
{
    step_catch ();
    ok (step_pause (1) == 0, "a pause");
    raise (SIGTERM);
    ok (step_pause (10000) < 0, "a signal ends a pause");
    ok (step_release () == SIGTERM, "and is told");
    step_catch ();
    ok (step_pause (1) == 0 && step_release () == 0, "once");
    signal (SIGINT, SIG_IGN);
    step_catch ();
    raise (SIGINT);
    ok (step_pause (1) == 0 && step_release () == 0,
        "what was ignored is ignored");
    signal (SIGINT, SIG_DFL);
}

int main (void)
{
    test_environment ();
    test_arguments ();
    test_clean ();
    test_signals ();
    return done_testing ();
}
