/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict cache: there and back, and nothing of what is not ours. */
#include "config.h"
#include "prolog/node/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static struct error err;
static struct cache_view view;

static void put (const char *text)
{
    FILE *fp = fopen ("v", "w");

    if (!fp || fputs (text, fp) < 0 || fclose (fp) < 0)
        exit (1);
}

static int get (const char *node)
{
    return cache_read ("v", geteuid (), node, &view, NULL, 0, &err);
}

static void test_there_and_back (void)
{
    const struct cache_node node[] = {
        { "h1", VERDICT_OK, 57, 1000, "", 0, 0 },
        { "h10", VERDICT_FAIL, 58, 2000, "host end\nh10 \033[31m+412 ns",
          2, 3000 },
        { "end", VERDICT_UNKNOWN, 59, 3000, "what a name", 0, 0 },
        { .name = "h1\nend", .ports = 9, .seen = 1 },
        { .name = "h11", .ports = 1, .seen = 4000 },
    };
    const struct cache_node odd[]
        = { { "h1 OK 1 1 x\nnode h2", VERDICT_OK, 1, 1, "", 0, 0 },
            { "h3", VERDICT_OK, 1, 1, "", 0, 0 } };
    const struct cache_port port[] = {
        { 0xec0d9a0300ec8240, rates_of (4, "EDR"), false },
        { .guid = 0xec0d9a0300ec8241 },
    };
    const struct cache all = { node, 5, port, 2 };
    struct cache_port mine[]
        = { { .guid = 0xec0d9a0300ec8240 }, 
            { 7, rates_of (12, "XDR"), false } };
    char longer[2 * CACHE_SENTENCE];
    const struct cache_node wordy = { "h1", VERDICT_WARN, 1, 1, longer, 0, 0 };
    struct stat st;
    mode_t mask = umask (077);

    ok (cache_write ("v", 4000, &all, &err) == 0, "written");
    umask (mask);
    ok (stat ("v", &st) == 0 && (st.st_mode & 07777) == 0644,
        "whatever the umask, all nodes may read it");
    ok (cache_read ("v", geteuid (), "h10", &view, mine, 2, &err) == 0
            && view.time == 4000 && view.known && view.level == VERDICT_FAIL
            && view.audit == 58 && view.when == 2000,
        "read: %s", err.text);
    ok (!strcmp (view.sentence, "host end?h10 ?[31m+412 ns"),
        "its sentence is clean");
    ok (mine[0].known && rates_lanes (&mine[0].rate) == 4
            && !strcmp (rates_speed (&mine[0].rate), "EDR")
            && !mine[1].known && rates_lanes (&mine[1].rate) == 12,
        "the rates of ports that it knows");
    ok (view.ports == 2 && get ("h11") == 0 && view.ports == 1 && !view.known
            && get ("h1") == 0 && view.ports == 0,
        "how many ports they should have, where that is known");
    ok (get ("end") == 0 && view.known && view.level == VERDICT_UNKNOWN
            && get ("h1") == 0 && view.level == VERDICT_OK && !*view.sentence,
        "each its own");
    ok (get ("h2") == 0 && !view.known && view.time == 4000,
        "a node without a verdict");
    ok (cache_write ("v", 1, &(struct cache){ .node = odd, .nnodes = 2 },
                     &err) == 0
            && get ("h2") == 0 && !view.known && get ("h1") == 0 && !view.known
            && get ("h3") == 0 && view.known,
        "an odd name is left out");
    memset (longer, 'x', sizeof (longer) - 1);
    longer[sizeof (longer) - 1] = '\0';
    ok (cache_write ("v", 1, &(struct cache){ .node = &wordy, .nnodes = 1 },
                     &err) == 0
            && get ("h1") == 0 && strlen (view.sentence) == CACHE_SENTENCE - 1,
        "a long sentence is cut");
    ok (cache_write ("none/v", 1,
                     &(struct cache){ .node = node, .nnodes = 1 }, &err) < 0,
        "nowhere to write: %s", err.text);
}

static void test_bad (void)
{
    static const char *const bad[] = {
        "",
        "pmm-verdicts 2 1\nend\n",
        "pmm-verdicts 1 -1\nend\n",
        "pmm-verdicts 1 99999999999999999999\nend\n",
        "pmm-verdicts 1 1\n",
        "pmm-verdicts 1 1\nend",
        "pmm-verdicts 1 1\nending\n",
        "pmm-verdicts 1 1\nnode h1 OK 1 1 all is w",
        "pmm-verdicts 1 1\nnode h1 OK 1 1\nend\n",
        "pmm-verdicts 1 1\nnode h1 BAD 1 1 x\nend\n",
        "pmm-verdicts 1 1\nnode h1 OK one 1 x\nend\n",
        "pmm-verdicts 1 1\nnode h1 OK 1 -1 x\nend\n",
        "pmm-verdicts 1 1\nnode h1\nend\n",
        "pmm-verdicts 1 1\nnode \nend\n",
        "pmm-verdicts 1 1\nport 1\nend\n",
        "pmm-verdicts 1 1\nport x 4xEDR\nend\n",
        "pmm-verdicts 1 1\nport 1 4xEDR\nend\n",
        "pmm-verdicts 1 1\nport 0000000000000001\nend\n",
        "pmm-verdicts 1 1\nport 00000000000000012 4xEDR\nend\n",
        "pmm-verdicts 1 1\nroute 1\nend\n",
        "pmm-verdicts 1 1\nports h1\nend\n",
        "pmm-verdicts 1 1\nports h1 1\nend\n",
        "pmm-verdicts 1 1\nports h1 -1 1\nend\n",
        "pmm-verdicts 1 1\nports h1 1 1 1\nend\n",
        "pmm-verdicts 1 1\nports -rf 1 1\nend\n",
        "pmm-verdicts 1 1\n\nend\n",
    };
    struct cache_port port = { .guid = 1 };
    char big[4096];
    int n;

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        put (bad[i]);
        ok (get ("h1") < 0 && errno != ENOENT, "refused: %s", err.text);
    }
    put ("pmm-verdicts 1 1\nport 0000000000000001 5xEDR\nend\n");
    ok (cache_read ("v", geteuid (), "h1", &view, &port, 1, &err) < 0,
        "a rate that is none: %s", err.text);
    n = snprintf (big, sizeof (big), "pmm-verdicts 1 1\nnode h1 OK 1 1 ");
    memset (big + n, 'x', sizeof (big) - n - 1);
    big[sizeof (big) - 1] = '\0';
    put (big);
    ok (get ("h1") < 0, "a line without an end: %s", err.text);
    ok (truncate ("v", 100 << 20) == 0 && get ("h1") < 0
            && strstr (err.text, "larger"),
        "100 MB: %s", err.text);
}

static void test_trust (void)
{
    const char *good = "pmm-verdicts 1 1\nend\n";

    unlink ("v");
    ok (get ("h1") < 0 && errno == ENOENT, "no file: %s", err.text);
    ok (mkfifo ("v", 0644) == 0 && get ("h1") < 0, "a FIFO: %s", err.text);
    unlink ("v");
    ok (mkdir ("v", 0755) == 0 && get ("h1") < 0, "a directory: %s", err.text);
    rmdir ("v");
    ok (symlink ("/etc/passwd", "v") == 0 && get ("h1") < 0, "a link: %s",
        err.text);
    unlink ("v");
    put (good);
    ok (get ("h1") == 0, "a good file: %s", err.text);
    chmod ("v", 0666);
    ok (get ("h1") < 0, "that others may write: %s", err.text);
    chmod ("v", 0644);
    if (geteuid () != 0) {
        skip ("another's: not root");
        return;
    }
    ok (chown ("v", 7, 7) == 0
            && cache_read ("v", 0, "h1", &view, NULL, 0, &err) < 0,
        "another's: %s", err.text);
    ok (cache_read ("v", 7, "h1", &view, NULL, 0, &err) == 0,
        "who may: %s", err.text);
}

int main (void)
{
    char dir[] = "/tmp/pmm-cache.XXXXXX";
    char cmd[64];

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_there_and_back ();
    test_bad ();
    test_trust ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
    if (chdir ("/") < 0 || system (cmd) != 0)
        return 1;
    return done_testing ();
}
