/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look: each rule, over looks that follow one another; and its state. */
#include "config.h"
#include "prolog/node/look.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

enum { PORTS = 2, WINDOW = 720 /* of symbol errors */ };

static const char *const words[] = {
    [VERDICT_OK] = "OK",
    [VERDICT_WARN] = "WARN",
    [VERDICT_UNKNOWN] = "UNKNOWN",
    [VERDICT_FAIL] = "FAIL",
};

static struct error err;
static struct look_result look;
static struct look_state state;
static struct local_port port[PORTS];
static struct cache_port cached[PORTS];
static struct look_input in;
static char line[LOOK_LINE];

/* A node with two active ports that nobody has looked at yet. */
static void fresh (void)
{
    memset (&state, 0, sizeof (state));
    memset (cached, 0, sizeof (cached));
    in = (struct look_input){ .port = port, .n = PORTS, .boot = "b", .now = 9 };
    for (unsigned int i = 0; i < PORTS; i++) {
        port[i] = (struct local_port){
            .port = i + 1,
            .guid = 0xec0d9a0300ec8240 + i,
            .layer = LAYER_INFINIBAND,
            .state = LOCAL_ACTIVE,
            .phys_state = LOCAL_LINK_UP,
            .rate = rates_of (4, "EDR"),
        };
        strcpy (port[i].device, "mlx5_0");
        for (size_t k = 0; k < LOCAL_COUNTERS; k++)
            port[i].has[k] = true;
    }
}

/* Look after some seconds. */
static void pass (int64_t later)
{
    in.now += later;
    look_ports (&look, &state, &in);
}

/* The same; whether it says this. */
static int says (int64_t later, const char *wanted)
{
    pass (later);
    if (!strcmp (look_line (&look, words, line), wanted))
        return 1;
    fprintf (stderr, "# said: %s\n", line);
    return 0;
}

#define NONE                                                                  \
    "UNKNOWN: no InfiniBand port, and it is not known how many there should " \
    "be"
#define FINE "OK: 2 of 2 ports active"

static void test_states (void)
{
    fresh ();
    ok (says (0, FINE), "all is well");
    port[1].state = 1;
    port[1].phys_state = 2;
    ok (says (1, "FAIL: mlx5_0/2 is Down (Polling); 1 of 2 ports active"),
        "a port that was active");
    ok (says (9999, "FAIL: mlx5_0/2 is Down (Polling); 1 of 2 ports active"),
        "and stays down");
    port[1].state = 0;
    ok (says (1, "UNKNOWN: mlx5_0/2 does not report its state; "
                 "1 of 2 ports active"),
        "a port that does not say");
    in.n = 1;
    ok (says (1, "FAIL: mlx5_0/2 is gone; 1 of 1 port active"), "a port gone");
    ok (says (1, "FAIL: mlx5_0/2 is gone; 1 of 1 port active"),
        "is not forgotten");
    in.boot = "c";
    ok (says (1, "FAIL: mlx5_0/2 is gone; 1 of 1 port active"),
        "nor by starting anew");
    in.n = 2;
    port[1].state = LOCAL_ACTIVE;
    strcpy (port[1].device, "mlx5_7");
    ok (says (1, FINE), "under another name it is there");

    fresh ();
    port[1].state = 1;
    port[1].phys_state = 3;
    ok (says (0, "OK: 1 of 2 ports active"), "one that never was active");
    cached[1].known = true;
    in.cached = cached;
    ok (says (0, "FAIL: mlx5_0/2 is Down (Disabled); 1 of 2 ports active"),
        "... and has a cable, by the snapshot");
    fresh ();
    port[0].state = port[1].state = 2;
    ok (says (0, "WARN: none of 2 ports active"), "none is active");
    port[0].layer = port[1].layer = LAYER_ETHERNET;
    ok (says (0, NONE), "Ethernet is not looked at");
    fresh ();
    in.n = 0;
    ok (says (0, NONE), "a node without ports, of which nothing is known");
    in.expected = 1;
    ok (says (0, "FAIL: 1 port expected, 0 found"),
        "an adapter has gone, and what was known here with it");
    in.expected = 3;
    in.n = 1;
    ok (says (0, "FAIL: 3 ports expected, 1 found; 1 of 1 port active"),
        "some are there");
    in.expected = in.n = 2;
    ok (says (0, FINE), "all are there");
    in.n = 1;
    ok (says (0, "FAIL: mlx5_0/2 is gone; 1 of 1 port active"),
        "one that is known here to have gone is told once");
    in.expected = 1;
    in.n = 2;
    fresh ();
    ok (says (0, FINE), "more than expected");
}

static void test_rates (void)
{
    fresh ();
    pass (0);
    port[0].rate = rates_of (1, "EDR");
    ok (says (1, "WARN: mlx5_0/1 is 1xEDR, not 4xEDR; 2 of 2 ports active"),
        "fewer lanes than before");
    in.boot = "c";
    ok (says (9999, "WARN: mlx5_0/1 is 1xEDR, not 4xEDR; "
                    "2 of 2 ports active"),
        "and still, after a start");
    port[0].rate = rates_of (4, "HDR");
    ok (says (1, FINE), "a faster one");
    port[0].rate = rates_of (4, "EDR");
    ok (says (1, "WARN: mlx5_0/1 is 4xEDR, not 4xHDR; 2 of 2 ports active"),
        "is what is expected from then on");
    port[0].guid++;
    ok (says (1, FINE), "but of another port");

    fresh ();
    in.cached = cached;
    cached[1] = (struct cache_port){ port[1].guid, rates_of (4, "HDR"),
                                       true };
    ok (says (0, "WARN: mlx5_0/2 is 4xEDR, not 4xHDR; 2 of 2 ports active"),
        "slower than the snapshot has it");
    in.want = rates_of (4, "EDR");
    ok (says (0, FINE), "pmm.conf knows better");
    in.want = rates_of (4, "NDR");
    ok (says (0, "WARN: mlx5_0/1 is 4xEDR, not 4xNDR; mlx5_0/2 is 4xEDR, "
                 "not 4xNDR; 2 of 2 ports active"),
        "also where it wants more");
    fresh ();
    pass (0);
    port[0].rate = (struct rates){ 0 };
    ok (says (0, FINE), "what is not told is not wrong");
}

static void test_pcie (void)
{
    const struct pcie good = { { 16, 16000 }, { 16, 16000 }, { 16, 16000 }, "" };

    fresh ();
    port[0].pcie = port[1].pcie = good;
    ok (says (0, FINE), "PCIe runs as it is able to");
    ok (strstr (look.perf, " 'mlx5_0 PCIe lanes'=16;;;0;16 "
                           "'mlx5_0 PCIe GT/s'=16;;;0;16")
            != NULL,
        "figures of an adapter, once");
    port[0].pcie.now.lanes = port[1].pcie.now.lanes = 8;
    ok (says (0, "WARN: mlx5_0: PCIe runs at 16 GT/s x8 of 16 GT/s x16; 2 of 2 "
                 "ports active"),
        "at half its lanes");
    strcpy (port[0].pcie.address, "0000:0d:00.0");
    ok (says (0, "WARN: mlx5_0: PCIe at 0000:0d:00.0 runs at 16 GT/s x8 of 16 "
                 "GT/s x16; 2 of 2 ports active"),
        "a bridge does");
    port[0].pcie = good;
    port[0].pcie.now.mts = 2500;
    ok (says (0, "OK: mlx5_0: PCIe runs at 2.5 GT/s x16 of 16 GT/s x16, as idle "
                 "links may; 2 of 2 ports active"),
        "slowly is a remark");
    port[0].pcie.able.mts = 2500;
    ok (says (0, FINE), "the path allows no more");
}

#define ERRORS(grown, minutes)                                                \
    "WARN: mlx5_0/1 SymbolErrorCounter +" #grown " within " #minutes          \
    " min; 2 of 2 ports active"

static void test_counters (void)
{
    uint64_t *errors = &port[0].counter[LOCAL_SYMBOL_ERRORS];

    fresh ();
    *errors = 5000;
    ok (says (0, FINE), "what is old is no news");
    *errors += 2;
    ok (says (1, FINE), "two errors are healthy, however soon");
    *errors += 1;
    ok (says (1, ERRORS (3, 1)), "three are not");
    ok (says (WINDOW, ERRORS (3, 13)), "nor later, for a window");
    ok (says (WINDOW / 2, FINE), "until it was few for the time");
    pass (WINDOW);
    *errors += 6;
    ok (says (2 * WINDOW, FINE), "nor where looks are far between");
    *errors += 100;
    ok (says (10 * WINDOW, "WARN: mlx5_0/1 SymbolErrorCounter +106 within "
                           "145 min; 2 of 2 ports active"),
        "growth by the time that it took");

    fresh ();
    *errors = 5000;
    pass (0);
    *errors = 2;
    ok (says (10, FINE), "a counter that was reset grows from 0");
    *errors = 3;
    ok (says (10, ERRORS (3, 1)), "and is seen to");
    *errors = 0;
    ok (says (10, FINE), "also if that is done every minute");

    fresh ();
    *errors = 65530;
    pass (0);
    *errors = 65535;
    ok (says (1, ERRORS (5, 1)), "growth to the end is growth");
    pass (WINDOW);
    pass (WINDOW);
    ok (says (WINDOW, "OK: mlx5_0/1 SymbolErrorCounter is at its end, 65535; "
                      "2 of 2 ports active"),
        "there it tells nothing");
    *errors = 65540;
    ok (says (1, ERRORS (5, 13)), "but of a counter that goes on");

    fresh ();
    *errors = 10;
    pass (0);
    *errors = 1000;
    in.boot = "c";
    ok (says (-5, FINE), "after a start, counters start anew");
    *errors = 1003;
    ok (says (-3, FINE), "and with a clock gone wrong");
    port[0].has[LOCAL_SYMBOL_ERRORS] = false;
    ok (says (1, FINE), "one that is not there is not looked at");
    port[0].counter[LOCAL_XMIT_WAIT] = UINT32_MAX;
    port[0].counter[LOCAL_XMIT_DISCARDS] = 1000;
    ok (says (1, FINE), "nor what no cable is to blame for");
    port[0].counter[LOCAL_LINK_DOWNED] = 2;
    ok (says (1, FINE), "two flaps");
    port[0].counter[LOCAL_LINK_DOWNED] = 3;
    ok (says (11 * 3600, "WARN: mlx5_0/1 LinkDownedCounter +3 within 661 min; "
                         "2 of 2 ports active"),
        "are not three in 12 hours");
}

static void test_verdict (void)
{
    static const struct {
        enum verdict_status level;
        int64_t when;
        const char *said;
    } rows[] = {
        { VERDICT_OK, 1000, "OK: audit 57 OK" },
        { VERDICT_WARN, 1000, "WARN: audit 57 WARN: why" },
        { VERDICT_FAIL, 1000, "FAIL: audit 57 FAIL: why" },
        { VERDICT_UNKNOWN, 1000, "OK: audit 57 could not tell: why" },
        { VERDICT_FAIL, 1000 - 86401, "OK: audit 57 is 24 h old" },
        { VERDICT_FAIL, 1200, "FAIL: audit 57 FAIL: why" },
        { VERDICT_FAIL, 5000, "OK: audit 57 has a time stamp in the future" },
    };
    struct cache_view view = { .known = false, .level = VERDICT_FAIL };

    memset (&look, 0, sizeof (look));
    look_verdict (&look, &view, 1000, 86400);
    ok (look.n == 0 && look.what == 0, "none");
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        view = (struct cache_view){ 1000, true, rows[i].level, 57,
                                    rows[i].when, "why", 0 };
        memset (&look, 0, sizeof (look));
        look_verdict (&look, &view, 1000, 86400);
        if (!ok (!strcmp (look_line (&look, words, line), rows[i].said)
                     && (look.what != 0) == (look.level != VERDICT_OK),
                 "%s", rows[i].said))
            diag ("%s", line);
    }
}

/* News are what is wrong, not how wrong it is. */
static void test_what (void)
{
    uint64_t was;

    fresh ();
    pass (0);
    ok (look.what == 0, "nothing is wrong");
    port[0].counter[LOCAL_SYMBOL_ERRORS] = 3;
    pass (1);
    was = look.what;
    port[0].counter[LOCAL_SYMBOL_ERRORS] = 7;
    pass (1);
    ok (was != 0 && look.what == was, "more of the same is no news");
    port[1].counter[LOCAL_SYMBOL_ERRORS] = 7;
    pass (1);
    ok (look.what != was, "the other port's is");
    for (int i = 0; i < 2 * LOOK_FINDINGS_MAX; i++)
        look_add (&look, VERDICT_FAIL, "x", "%d\n%0300d", i, i);
    look_line (&look, words, line);
    ok (look.more > 0 && look.level == VERDICT_FAIL
            && strlen (line) == LOOK_LINE - 1 && !strchr (line, '\n'),
        "too many are cut");
}

/* As a Nagios plugin prints them. */
static void test_figures (void)
{
    struct cache_view view = { 1000, true, VERDICT_FAIL, 57, 940, "why", 0 };
    struct local_port many[LOCAL_PORTS_MAX];

    fresh ();
    for (size_t k = 0; k < LOCAL_COUNTERS; k++)
        port[0].has[k] = k == LOCAL_LINK_DOWNED || k == LOCAL_XMIT_WAIT;
    port[0].counter[LOCAL_LINK_DOWNED] = 7;
    memset (port[1].has, 0, sizeof (port[1].has));
    pass (0);
    port[1].state = 1;
    in.expected = 3;
    pass (1);
    look_verdict (&look, &view, 1000, 86400);
    if (!ok (!strcmp (look.perf, " active=1;;3:;0 'mlx5_0/1 LinkDownedCounter'"
                                 "=7c audit_age=60s;;;0"),
             "active ports, counters, the age of the audit"))
        diag ("%s", look.perf);
    for (size_t i = 0; i < LOCAL_PORTS_MAX; i++) {
        many[i] = port[0];
        memset (many[i].has, 1, sizeof (many[i].has));
        many[i].port = i + 1;
    }
    in.port = many;
    in.n = LOCAL_PORTS_MAX;
    pass (1);
    ok (strlen (look.perf) > LOOK_PERF - 60
            && look.perf[strlen (look.perf) - 1] == 'c',
        "what does not fit is left out whole");
}

static void put (const char *text)
{
    FILE *fp = fopen ("s", "w");

    if (!fp || fputs (text, fp) < 0 || fclose (fp) < 0)
        exit (1);
    chmod ("s", 0600);
}

static void test_state (void)
{
    static const char *const bad[] = {
        "",
        "pmm-local 2 b 0\nend\n",
        "pmm-local 1 b\nend\n",
        "pmm-local 1 b 0",
        "pmm-local 1 b 0\n",
        "pmm-local 1 b 0\nend",
        "pmm-local 1 b 0\ncounter symbol_error 1 1 1 1\nend\n",
        "pmm-local 1 b 0\nport mlx5_0 1 1 4xEDR\ncounter x 1 1 1 1\nend\n",
        "pmm-local 1 b 0\nport m 1 1 4xEDR\ncounter link_downed 2 1 1 1\nend\n",
        "pmm-local 1 b 0\nport mlx5_0 1 1 5xEDR\nend\n",
        "pmm-local 1 b 0\nport mlx\0335_0 1 1 4xEDR\nend\n",
        "pmm-local 1 b 0\nport mlx5_0 1 1 4xEDR and more\nend\n",
        "pmm-local 1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0\nend\n",
        "\n\n\n",
    };
    struct look_state back;
    const struct rlimit none = { 0, RLIM_INFINITY };
    const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
    int rc;
    struct stat st;
    char *many = NULL;
    size_t size;
    FILE *fp = open_memstream (&many, &size);

    fresh ();
    port[0].counter[LOCAL_SYMBOL_ERRORS] = 65535;
    pass (0);
    state.said = UINT64_MAX;
    ok (look_state_write ("s", &state, &err) == 0 && stat ("s", &st) == 0
            && (st.st_mode & 07777) == 0600 && access ("s.new", F_OK) < 0,
        "written, and private");
    look_state_read ("s", geteuid (), &back);
    ok (back.n == 2 && back.said == UINT64_MAX
            && !strcmp (back.boot, state.boot)
            && !memcmp (back.port, state.port, sizeof (back.port)),
        "there and back");
    ok (symlink ("victim", "s.new") == 0
            && look_state_write ("s", &state, &err) == 0
            && access ("victim", F_OK) < 0,
        "a link in its way is not followed");
    look_state_read ("none", geteuid (), &back);
    ok (back.n == 0 && !*back.boot, "no file");
    chmod ("s", 0666);
    look_state_read ("s", geteuid (), &back);
    ok (back.n == 0, "one that others may write");
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        put (bad[i]);
        look_state_read ("s", geteuid (), &back);
        ok (back.n == 0 && !*back.boot && back.said == 0, "garbage %zu", i);
    }
    fprintf (fp, "pmm-local 1 b 0\n");
    for (int i = 0; i <= LOCAL_PORTS_MAX; i++)
        fprintf (fp, "port mlx5_%d 1 %d 4xEDR\n", i, i);
    fprintf (fp, "end\n");
    fclose (fp);
    put (many);
    free (many);
    look_state_read ("s", geteuid (), &back);
    ok (back.n == 0, "too many ports");
    ok (look_state_write ("none/s", &state, &err) < 0,
        "nowhere to write: %s", err.text);
    put ("as it was\n");
    signal (SIGXFSZ, SIG_IGN);
    setrlimit (RLIMIT_FSIZE, &none);
    rc = look_state_write ("s", &state, &err);
    setrlimit (RLIMIT_FSIZE, &all);
    ok (rc < 0 && stat ("s", &st) == 0 && st.st_size == 10
            && access ("s.new", F_OK) < 0,
        "a full disk: %s", err.text);
}

int main (void)
{
    char dir[] = "/tmp/pmm-look.XXXXXX";
    char cmd[64];

    if (!mkdtemp (dir) || chdir (dir) < 0)
        return 1;
    test_states ();
    test_rates ();
    test_pcie ();
    test_counters ();
    test_verdict ();
    test_what ();
    test_figures ();
    test_state ();
    snprintf (cmd, sizeof (cmd), "rm -rf %s", dir);
    if (chdir ("/") < 0 || system (cmd) != 0)
        return 1;
    return done_testing ();
}
