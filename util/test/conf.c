/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options: one table for words and files; what is refused, and how it is
 * said. The site's table is held against the same rules.
 */
#include "config.h"
#include "util/conf.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/site.h"

struct my {
    char *name;
    char *path;
    int flag;
    int count;
    double ratio;
    int timeout_ms;
    char *mode;
    int share;
};

static const struct conf_option table[] = {
    { "Name", CONF_STRING, offsetof (struct my, name), "joe", "a name" },
    { "SomePath", CONF_PATH, offsetof (struct my, path), NULL, "a path" },
    { "Flag", CONF_BOOL, offsetof (struct my, flag), "no", "a flag" },
    { "Count", CONF_INT, offsetof (struct my, count), "3", "a count" },
    { "Ratio", CONF_DOUBLE, offsetof (struct my, ratio), "0.5", "a ratio" },
    { "Timeout", CONF_SECONDS, offsetof (struct my, timeout_ms), "60",
      "a time", .min = 1 },
    { "Mode", CONF_STRING, offsetof (struct my, mode), "off", "a word",
      .words = "off, report, on" },
    { "Share", CONF_INT, offsetof (struct my, share), "10", "a share",
      .min = 1, .max = 100 },
    { 0 },
};

static void show (const struct my *my, char *s, size_t size)
{
    snprintf (s, size, "%s|%s|%d|%d|%g|%d", my->name, my->path, my->flag,
              my->count, my->ratio, my->timeout_ms);
}

#define DEFAULT "joe||0|3|0.5|60000"

static void test_words (void)
{
    static const struct {
        const char *word;
        const char *expected; /* NULL: refused */
        const char *error;
    } tab[] = {
        { "Name=ann", "ann||0|3|0.5|60000", NULL },
        { "Name=", "||0|3|0.5|60000", NULL },
        { "Name=a=b c", "a=b c||0|3|0.5|60000", NULL },
        { "some_path=/a", "joe|/a|0|3|0.5|60000", NULL },
        { "SOME-PATH=/a", "joe|/a|0|3|0.5|60000", NULL },
        { "flag=On", "joe||1|3|0.5|60000", NULL },
        { "flag=TRUE", "joe||1|3|0.5|60000", NULL },
        { "flag=0", DEFAULT, NULL },
        { "count=0", "joe||0|0|0.5|60000", NULL },
        { "count=2147483647", "joe||0|2147483647|0.5|60000", NULL },
        { "ratio=1e3", "joe||0|3|1000|60000", NULL },
        { "timeout=0.5", "joe||0|3|0.5|500", NULL },
        { "time_out=90s", "joe||0|3|0.5|90000", NULL },
        { "timeout=10m", "joe||0|3|0.5|600000", NULL },
        { "timeout=2h", "joe||0|3|0.5|7200000", NULL },
        { "name", NULL, "'name' is not key=value" },
        { "=x", NULL, "is not key=value" },
        { "", NULL, "is not key=value" },
        { "nam=x", NULL, "unknown key 'nam'; did you mean Name?" },
        { "names=x", NULL, "unknown key 'names'; did you mean Name?" },
        { "-=x", NULL, "unknown key '-'" },
        { "aaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaaaaaaabbbbbbbbbbaaaaa=",
          NULL, "unknown key" },
        { "tmieout=1", NULL, "unknown key 'tmieout'; did you mean Timeout?" },
        { "colour=1", NULL, "unknown key 'colour'" },
        { "timeout=0", NULL, "option Timeout: '0' is not more than 0" },
        { "mode=", NULL, "option Mode: '' is not one of off, report, on" },
        { "mode=of", NULL, "'of' is not one of off, report, on" },
        { "mode=off, report", NULL, "is not one of" },
        { "share=0", NULL, "option Share: '0' is not from 1 to 100" },
        { "share=101", NULL, "'101' is not from 1 to 100" },
        { "name=a\nb", NULL, "option Name: 'a?b' is not printable ASCII" },
        { "somepath=a", NULL, "is not an absolute path" },
        { "flag=maybe", NULL, "is not yes or no" },
        { "flag=", NULL, "is not yes or no" },
        { "count=-1", NULL, "is not a whole number" },
        { "count=2147483648", NULL, "is not a whole number" },
        { "ratio=-1", NULL, "is not a number" },
        { "ratio=nan", NULL, "is not a number" },
        { "timeout=", NULL, "is not a time" },
        { "timeout=s", NULL, "is not a time" },
        { "timeout=-1", NULL, "is not a time" },
        { "timeout=1d", NULL, "is not a time" },
        { "timeout=1000h", NULL, "is not a time" },
        { "timeout=00000000000000000000000000000000001", NULL,
          "is not a time" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { 0 };
        struct my my;
        char s[128];
        int rc;

        if (conf_defaults (table, &my) < 0)
            abort ();
        rc = conf_set_word (table, &my, tab[i].word, &err);
        show (&my, s, sizeof (s));
        if (tab[i].expected)
            ok (rc == 0 && !strcmp (s, tab[i].expected), "word '%s': %s",
                tab[i].word, s);
        else
            ok (rc < 0 && strstr (err.text, tab[i].error)
                    && err.fault == ERROR_INPUT && !strcmp (s, DEFAULT),
                "refuse: %s", err.text);
        conf_clear (table, &my);
    }
}

static void test_read (void)
{
    static const struct {
        const char *text;
        const char *expected;
        const char *error;
    } tab[] = {
        { "\n", DEFAULT, NULL },
        { "# all\n\n  \t\r\nName = ann  # who\n count=4", "ann||0|4|0.5|60000",
          NULL },
        { "Name = \"a # b \"  # who\n", "a # b ||0|3|0.5|60000", NULL },
        { "name =\n", "||0|3|0.5|60000", NULL },
        { "count=1\r\nflag=yes\r\n", "joe||1|1|0.5|60000", NULL },
        { "name\n", NULL, "f:1: not 'key = value'" },
        { "= x\n", NULL, "f:1: not" },
        { "\nnam = x\n", NULL, "f:2: unknown key 'nam'; did you mean Name?" },
        { "name=a\nNAME=b\n", NULL, "f:2: option Name is given twice" },
        { "name=\"a\n", NULL, "f:1: option Name: quotes do not match" },
        { "name=\"a\"b\n", NULL, "quotes do not match" },
        { "count=x\n", NULL, "f:1: option Count: 'x'" },
        { "\nmode = maybe\n", NULL,
          "f:2: option Mode: 'maybe' is not one of off, report, on" },
    };
    char big[6000];
    struct error err = { 0 };
    struct my my;
    FILE *fp;

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char s[128];
        int rc;

        if (conf_defaults (table, &my) < 0)
            abort ();
        fp = fmemopen ((char *)tab[i].text, strlen (tab[i].text), "r");
        rc = conf_read (table, &my, fp, "f", &err);
        fclose (fp);
        show (&my, s, sizeof (s));
        if (tab[i].expected)
            ok (rc == 0 && !strcmp (s, tab[i].expected), "read row %zu: %s",
                i, s);
        else
            ok (rc < 0 && strstr (err.text, tab[i].error), "refuse: %s",
                err.text);
        conf_clear (table, &my);
    }
    memset (big, '#', sizeof (big));
    fp = fmemopen (big, sizeof (big), "r");
    ok (conf_read (table, &my, fp, "f", &err) < 0
            && strstr (err.text, "f:1: longer"),
        "refuse: %s", err.text);
    fclose (fp);
}

static void test_help (void)
{
    char *s = NULL;
    size_t size;
    FILE *fp = open_memstream (&s, &size);

    conf_help (table, fp);
    fclose (fp);
    ok (strstr (s, "  Name               a name (default: joe)\n")
            && strstr (s, "  SomePath           a path\n"),
        "help");
    free (s);
}

static void put (const char *path, const char *s)
{
    FILE *fp = fopen (path, "w");

    fputs (s, fp);
    fclose (fp);
}

static void test_site (void)
{
    static const struct {
        const char *text;
        const char *error; /* NULL: good */
    } tab[] = {
        { "Mode=require\nTransport=emu\nTimeout=10\n", NULL },
        { "\nMode=maybe\n",
          "pmm.conf:2: option Mode: 'maybe' is not one of off, report, "
          "require" },
        { "Transport=smoke\n", "is not one of verbs, emu" },
        { "Conf=/etc/other\n", "Conf" },
        { "Repeats=0\n", "pmm.conf:1: option Repeats: '0' is not more" },
        { "PingBytes=9\n", "option PingBytes: '9' is not from 16 to 256" },
        { "MaxDrainShare=101\n", "is not from 0 to 100" },
        { "Timeout=0\n", "option Timeout" },
        { "Snapshot=\n", "option Snapshot: must not be empty" },
        { "Sanpshot=/x\n", "pmm.conf:1: unknown key 'Sanpshot'; did you mean "
          "Snapshot?" },
    };
    char path[] = "/tmp/pmm-conf.XXXXXX";
    char file[64];
    struct error err;
    struct site site;

    if (!mkdtemp (path))
        abort ();
    snprintf (file, sizeof (file), "%s/pmm.conf", path);

    ok (site_read (&site, file, 0, &err) < 0, "no file: %s", err.text);
    site_clear (&site);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int rc;

        put (file, tab[i].text);
        rc = site_read (&site, file, 0, &err);
        if (!tab[i].error)
            ok (rc == 0 && !strcmp (site.mode, "require")
                    && !strcmp (site.transport, "emu")
                    && site.timeout_ms == 10000
                    && !strcmp (site.snapshot, "/var/lib/slurm-pmm/fabric")
                    && site.warn_ns == 100 && site.fail_spread == 10,
                "the file's values over the defaults");
        else
            ok (rc < 0 && strstr (err.text, tab[i].error), "refuse: %s",
                err.text);
        site_clear (&site);
    }
    put (file, "Mode=off\n");
    chmod (file, 0666);
    ok (site_read (&site, file, 1, &err) < 0, "refuse: %s", err.text);
    site_clear (&site);
    unlink (file);
    rmdir (path);
}

int main (void)
{
    test_words ();
    test_read ();
    test_help ();
    test_site ();
    return done_testing ();
}
