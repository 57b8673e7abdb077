/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Maps of nodes to endpoints. */
#include "config.h"
#include "ibquery/nodemap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"

static char path[] = "/tmp/pmm-nodemap.XXXXXX";

static struct nodemap *load (const char *text, struct error *err)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
    return nodemap_load (path, err);
}

static void test_good (void)
{
    struct error err = { .text = "" };
    struct nodemap_line line[2];
    struct nodemap *map = load ("# who is who\n"
                                "\n"
                                "n2 h0002/1 rxe1/1  # second\n"
                                "n1\th0001/1\n"
                                "n2 0x2c90000000010 rxe7\n"
                                "n10 h0010/1", &err);

    if (!ok (map != NULL, "a map %s", err.text))
        return;
    ok (nodemap_find (map, "n2", line, 2) == 2
            && !strcmp (line[0].endpoint, "h0002/1")
            && !strcmp (line[0].device, "rxe1/1")
            && !strcmp (line[1].endpoint, "0x2c90000000010")
            && !strcmp (line[1].device, "rxe7"),
        "a node's lines are in the order of the file");
    ok (nodemap_find (map, "n2", line, 1) == 2, "... all of them counted");
    ok (nodemap_find (map, "n1", line, 2) == 1
            && !strcmp (line[0].endpoint, "h0001/1")
            && !strcmp (line[0].device, ""),
        "the device may be left out");
    ok (nodemap_find (map, "n10", line, 2) == 1, "the last line counts");
    ok (nodemap_find (map, "n3", line, 2) == 0
            && nodemap_find (NULL, "n1", line, 2) == 0,
        "who is not in it has no lines");
    nodemap_destroy (map);
    map = load ("", &err);
    ok (map && nodemap_find (map, "n1", line, 2) == 0, "an empty map is one");
    nodemap_destroy (map);
}

static const struct {
    const char *text, *why;
} bad[] = {
    { "n1\n", ":1: not NODE ENDPOINT" },
    { "n1 h0001/1\nn2 a b c\n", ":2: not NODE ENDPOINT" },
    { "../n1 h0001/1\n", ":1: '../n1' is not a host name" },
};

static void test_bad (void)
{
    struct error err;
    char text[700];

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        err.text[0] = '\0';
        ok (!load (bad[i].text, &err) && strstr (err.text, bad[i].why), "%s",
            err.text + strlen (path));
    }
    memset (text, 'x', sizeof (text) - 1);
    text[sizeof (text) - 1] = '\0';
    ok (!load (text, &err) && strstr (err.text, "too long"),
        "a line that is too long");
    unlink (path);
    ok (!nodemap_load (path, &err), "no file");
}

int main (void)
{
    close (mkstemp (path));
    test_good ();
    test_bad ();
    return done_testing ();
}
