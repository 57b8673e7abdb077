/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The line of plugstack.conf that has a plugin, wherever it is. */
#include "config.h"
#include "util/plugstack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static void put (const char *path, const char *text)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
}

static void test_lines (void)
{
    static const struct {
        const char *text;
        int found;
        bool required;
        const char *line; /* path and words, |file:lineno */
    } tab[] = {
        { "required /lib/p.so a=1  b=2 # c\n", 1, true,
          "/lib/p.so a=1 b=2|top:1" },
        { "# optional p.so\n\n\toptional\tp.so\t\n", 1, false, "p.so |top:3" },
        { "optional /x/p.so x\r\nrequired /x/p.so y\n", 1, false,
          "/x/p.so x|top:1" },
        { "required /lib/other.so p.so\nrequired /lib/xp.so\n", 0, false,
          NULL },
        { "required\np.so\n\n", 0, false, NULL },
        { "", 0, false, NULL },
        { "include d/*.conf\nrequired p.so top\n", 1, false,
          "/in/p.so inc|d/2.conf:2" },
        { "include none/*.conf\nrequired p.so", 1, true, "p.so |top:2" },
        { "include top\n", 0, false, NULL },
        { "include gone\n", 0, false, NULL },
        { "include secret*\n", -1, false, NULL },
        { "include secret*\noptional p.so\n", 1, false, "p.so |top:2" },
    };
    static struct plugstack_line line;
    struct error err;
    char said[4 * PLUGSTACK_LINE];

    mkdir ("d", 0755);
    put ("d/1.conf", "optional /in/q.so\n");
    put ("d/2.conf", "include 1.conf\noptional /in/p.so inc\n");
    if (symlink ("nowhere", "secret") < 0) /* there, and not to be read */
        abort ();
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        int found;

        put ("top", tab[i].text);
        err.text[0] = '\0';
        found = plugstack_find ("top", "p.so", &line, &err);
        snprintf (said, sizeof (said), "%s %s|%s:%d", line.path, line.words,
                  line.file, line.lineno);
        ok (found == tab[i].found
                && (found <= 0
                    || (line.required == tab[i].required
                        && !strcmp (said, tab[i].line)))
                && (found >= 0 || err.text[0]),
            "row %zu: %d %s %s", i, found, found > 0 ? said : "", err.text);
    }
    ok (plugstack_find ("none", "p.so", &line, &err) < 0
            && strstr (err.text, "none: No such file"),
        "no file: %s", err.text);
}

int main (void)
{
    char top[] = "/tmp/pmm-plugstack.XXXXXX";
    char cmd[64];
    int rc;

    if (!mkdtemp (top) || chdir (top) < 0)
        return 1;
    test_lines ();
    rc = done_testing ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", top);
    return chdir ("/") < 0 || system (cmd) != 0 || rc;
}
