/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options: what the user may say, and who wins of user, plugstack.conf
 * and pmm.conf. The test plays Slurm's part of the registration.
 */
#include "config.h"
#include "spank/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct spank_option *registered[4];
static int count;

spank_err_t spank_option_register (spank_t sp, struct spank_option *opt)
{
    (void)sp;
    registered[count++] = opt;
    return ESPANK_SUCCESS;
}

static char passed[64];

spank_err_t spank_job_control_setenv (spank_t sp, const char *name,
                                      const char *value, int overwrite)
{
    (void)sp;
    (void)overwrite;
    snprintf (passed, sizeof (passed), "%s=%s", name, value);
    return ESPANK_SUCCESS;
}

static const char *job_has; /* SLURM_SPANK_PMM_CHECK of the job */

spank_err_t spank_getenv (spank_t sp, const char *name, char *buf, int size)
{
    (void)sp;
    if (strcmp (name, "SLURM_SPANK_PMM_CHECK") != 0 || !job_has)
        return ESPANK_ENV_NOEXIST;
    snprintf (buf, (size_t)size, "%s", job_has);
    return ESPANK_SUCCESS;
}

void slurm_error (const char *fmt, ...)
{
    (void)fmt;
}

static int give (const char *name, const char *arg, int remote)
{
    for (int i = 0; i < count; i++)
        if (!strcmp (registered[i]->name, name))
            return registered[i]->cb (registered[i]->val, arg, remote);
    return -2;
}

static bool has_word (const char *list, const char *word)
{
    return list && strstr (list, word);
}

static void test_arguments (void)
{
    static const struct {
        const char *arg;
        int remote;
        int rc;
        enum check_mode mode;
    } tab[] = {
        { NULL, 0, 0, MODE_REPORT },
        { "", 0, 0, MODE_REPORT },
        { "(null)", 0, 0, MODE_REPORT },
        { "again", 0, 0, MODE_REPORT },
        { "report", 0, 0, MODE_REPORT },
        { "require", 0, 0, MODE_REQUIRE },
        { "off", 0, 0, MODE_OFF },
        { "bogus", 0, -1, MODE_OFF },
        { "bogus", 1, 0, MODE_OFF },
        { "Require", 0, -1, MODE_OFF },
        { "rates", 0, 0, MODE_REPORT },
        { "require,rates", 0, 0, MODE_REQUIRE },
        { "rates,require,again", 0, 0, MODE_REQUIRE },
        { "require,report", 0, -1, MODE_OFF },
        { "off,rates", 0, -1, MODE_OFF },
        { "again,off", 0, -1, MODE_OFF },
        { "rates,", 0, -1, MODE_OFF },
        { ",rates", 0, -1, MODE_OFF },
        { "requirerequirerequire", 0, -1, MODE_OFF },
    };
    struct settings s;
    char big[5000];

    settings_read (&s, 0, NULL, NULL);
    ok (!s.asked && !s.output, "nothing was asked");
    site_clear (&s.site);
    ok (give ("pmm-check", "bogus", 1) == 0, "a bad argument on a node");
    settings_read (&s, 0, NULL, NULL);
    ok (!s.asked, "... asks for nothing, and fails nothing");
    options_tell_hooks (NULL);
    ok (!*passed, "... and the hooks hear nothing");
    site_clear (&s.site);
    options_recall (NULL);
    job_has = "bogus";
    options_recall (NULL);
    settings_read (&s, 0, NULL, NULL);
    ok (!s.asked, "no option arrived, and the job has none");
    site_clear (&s.site);
    job_has = "require,rates";
    options_recall (NULL);
    settings_read (&s, 0, NULL, NULL);
    ok (s.check.chosen && s.check.mode == MODE_REQUIRE
            && s.check.rates, "... the job has it");
    options_tell_hooks (NULL);
    ok (!strcmp (passed, "PMM_CHECK=require,rates"), "... as it was told: %s",
        passed);
    site_clear (&s.site);
    job_has = "off";
    options_recall (NULL);
    settings_read (&s, 0, NULL, NULL);
    ok (s.check.mode == MODE_REQUIRE, "... one that arrived outranks it");
    site_clear (&s.site);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int rc = give ("pmm-check", tab[i].arg, tab[i].remote);

        settings_read (&s, 0, NULL, NULL);
        ok (rc == tab[i].rc
                && (rc < 0
                    || (s.check.mode == tab[i].mode
                        && s.check.again == has_word (tab[i].arg, "again")
                        && s.check.rates == has_word (tab[i].arg, "rates"))),
            "--pmm-check=%s", tab[i].arg ? tab[i].arg : "");
        site_clear (&s.site);
    }
    memset (big, 'a', sizeof (big) - 1);
    big[sizeof (big) - 1] = '\0';
    ok (give ("pmm-output", "", 0) < 0 && give ("pmm-output", big, 0) < 0,
        "--pmm-output needs a name of some length");
    ok (give ("pmm-output", "dir", 0) == 0, "--pmm-output=dir");
    settings_read (&s, 0, NULL, NULL);
    ok (s.output && !strcmp (s.output, "dir"), "... is kept");
    site_clear (&s.site);
}

static void test_rates (void)
{
    static const struct {
        const char *word;
        int user, audit; /* may measure rates */
    } tab[] = { { "Rates=off", 0, 0 },
                { "rates=audits", 0, 1 },
                { "Rates=all", 1, 1 } };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *word = (char *)tab[i].word;
        struct settings s;

        ok (settings_read (&s, 1, &word, NULL) == 0
                && site_allows_rates (&s.site, 0) == tab[i].user
                && site_allows_rates (&s.site, 1) == tab[i].audit,
            "%s", word);
        site_clear (&s.site);
    }
}

/* Runs first: nobody has asked for anything. */
static void test_partitions (void)
{
    static const struct {
        const char *words[3];
        const char *partition;
        bool any;
        enum check_mode mode;
    } tab[] = {
        { { NULL }, "main", false, MODE_OFF },
        { { "Mode=report" }, "main", true, MODE_REPORT },
        { { "mode=require" }, "", true, MODE_REQUIRE },
        { { "ReportPartitions=a,main" }, "main", true, MODE_REPORT },
        { { "ReportPartitions=a,main" }, "mai", true, MODE_OFF },
        { { "ReportPartitions=a,main" }, "", true, MODE_OFF },
        { { "RequirePartitions=b", "ReportPartitions=a,b" }, "b", true,
          MODE_REQUIRE },
        { { "Mode=require", "ReportPartitions=a" }, "a", true, MODE_REPORT },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct settings s;
        struct error err = { 0 };
        int n = 0;

        while (tab[i].words[n])
            n++;
        ok (settings_read (&s, n, (char **)tab[i].words, &err) == 0
                && settings_any (&s) == tab[i].any
                && settings_mode (&s, tab[i].partition) == tab[i].mode,
            "site mode row %zu %s", i, err.text);
        site_clear (&s.site);
    }
}

static void test_override (void)
{
    char *words[] = { "Mode=require" };
    struct settings s;

    give ("pmm-check", "off", 0);
    settings_read (&s, 1, words, NULL);
    ok (!settings_any (&s) && settings_mode (&s, "main") == MODE_OFF,
        "the user's word outranks the site's");
    site_clear (&s.site);
}

static void put (const char *path, const char *text, mode_t mode)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
    chmod (path, mode);
}

static void test_files (void)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *word;
        const char *error; /* NULL: good */
    } tab[] = {
        { "Timeout=5\n", 0644, "timeout=7", NULL },
        { "Timeout=5\n", 0666, "timeout=7", "not trusted" },
        { "Tmeout=5\n", 0644, "timeout=7",
          "pmm.conf:1: unknown key 'Tmeout'; did you mean Timeout?" },
        { "Timeout=5\n", 0644, "tmeout=7",
          "plugstack.conf: unknown key 'tmeout'; did you mean Timeout?" },
        { "Timeout=5\n", 0644, "timeout", "plugstack.conf: 'timeout' is not" },
        { "Timeout=5\n", 0644, "timeout=0", "plugstack.conf: option Timeout" },
    };
    char dir[] = "/tmp/pmm-options.XXXXXX";
    char path[64];
    char word[80];

    if (geteuid () != 0) {
        skip ("needs root, who owns pmm.conf");
        return;
    }
    if (!mkdtemp (dir))
        abort ();
    snprintf (path, sizeof (path), "%s/pmm.conf", dir);
    snprintf (word, sizeof (word), "Conf=%s", path);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *words[] = { word, (char *)tab[i].word };
        struct error err = { 0 };
        struct settings s;
        int rc;

        put (path, tab[i].text, tab[i].mode);
        rc = settings_read (&s, 2, words, &err);
        if (!tab[i].error)
            ok (rc == 0 && s.site.timeout_ms == 7000,
                "plugstack.conf outranks pmm.conf %s", err.text);
        else
            ok (rc < 0 && strstr (err.text, tab[i].error), "refuse: %s",
                err.text);
        site_clear (&s.site);
    }
    unlink (path);
    rmdir (dir);
}

int main (void)
{
    ok (options_register (NULL) == 0 && count == 2, "two options");
    test_rates ();
    test_partitions ();
    test_arguments ();
    test_override ();
    test_files ();
    return done_testing ();
}
