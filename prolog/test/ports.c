/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of ports: those that are printed, and others. */
#include "config.h"
#include "prolog/audit/ports.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/test/sysfs.h"
#include "tests/tap.h"
#include "util/rng.h"

#define HEAD "pmm-port 1 abc ec0d9a0300ec8240/1 4 5 4xEDR"

static void test_own (void)
{
    char dir[] = "/tmp/pmm-test.XXXXXX";
    char command[64];
    char *text = NULL;
    struct local_port p = { 0 };
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (!mkdtemp (dir))
        exit (1);
    sysfs_port (dir, "mlx5_0", 1, 0xec0d9a0300ec8240);
    sysfs_set (dir, "mlx5_0", 1, "counters/symbol_error", "17\n");
    ports_say (dir, "abc", fp);
    fclose (fp);
    text[strcspn (text, "\n")] = '\0';
    ok (!strncmp (text, "pmm-port 1 abc ", 15) && strlen (text) < 800,
        "%.60s", text);
    ok (ports_parse (text, "abc", &p) && p.port == 1 && p.node_guid
            && p.state == LOCAL_ACTIVE && p.phys_state == LOCAL_LINK_UP
            && p.rate.width == 4 && !strcmp (p.rate.speed, "EDR")
            && p.has[LOCAL_SYMBOL_ERRORS]
            && p.counter[LOCAL_SYMBOL_ERRORS] == 17
            && p.has[LOCAL_LINK_DOWNED] && p.counter[LOCAL_LINK_DOWNED] == 0,
        "what is said is understood");
    ok (!ports_parse (text, "abcd", &p), "of another run it is not");
    free (text);
    snprintf (command, sizeof (command), "rm -rf %s", dir);
    if (system (command) != 0)
        exit (1);
}

static void test_others (void)
{
    static const struct {
        const char *line;
        bool good;
    } tab[] = {
        { HEAD, true },
        { HEAD " ", true },
        { HEAD " SymbolErrorCounter=3 Unheard=9", true },
        { HEAD " SymbolErrorCounter=", false },
        { HEAD " SymbolErrorCounter", false },
        { HEAD " SymbolErrorCounter=-1", false },
        { HEAD " SymbolErrorCounter=9223372036854775808", false },
        { HEAD " x=1 012345678901234567890123456789012345678901234567890123"
               "4567890123456789=1", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 5 4x?", true },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 5", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/1 4 99 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/0 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec8240/256 4 5 4xEDR", false },
        { "pmm-port 1 abc 0000000000000000/1 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec824/1 4 5 4xEDR", false },
        { "pmm-port 1 abc ec0d9a0300ec824g/1 4 5 4xEDR", false },
        { "pmm-port 2 abc ec0d9a0300ec8240/1 4 5 4xEDR", false },
        { "pmm-port", false },
        { "", false },
    };
    struct local_port p;

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (ports_parse (tab[i].line, "abc", &p) == tab[i].good, "%s '%.70s'",
            tab[i].good ? "a line:" : "none:", tab[i].line);
}

/* Whatever a line is, it is a line or none. */
static void test_damaged (void)
{
    static const char good[] = HEAD " SymbolErrorCounter=3 PortXmitWait=9";
    struct rng rng;
    int lines = 0, wrong = 0;

    rng_seed (&rng, 7);
    for (int i = 0; i < 20000; i++) {
        char line[sizeof (good)];
        struct local_port p;

        memcpy (line, good, sizeof (good));
        for (uint64_t k = rng_below (&rng, 4); k < 4; k++)
            line[rng_below (&rng, sizeof (good) - 1)]
                = (char)rng_below (&rng, 256);
        if (ports_parse (line, "abc", &p)) {
            lines++;
            wrong += p.port < 1 || p.port > 255 || p.state > 15;
        }
    }
    ok (wrong == 0 && lines < 20000, "20000 damaged ones, of which %d count",
        lines);
}

int main (void)
{
    test_damaged ();
    test_others ();
    test_own ();
    return done_testing ();
}
