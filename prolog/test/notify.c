/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notices, told by a real program: each once, whatever is killed; a program
 * that hangs or fails. Services of before are processes of this test.
 *
 * With PROGRAM only that is told, of a node that calls itself as it likes.
 */
#include "config.h"

#define duty_notify test_notify
#define notify_decisions test_decisions
#define told_trouble test_note
#include "prolog/serve/duty_notify.c"

#include <sys/stat.h>

#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "prolog/serve/sweep.h"
#include "tests/tap.h"

static struct error err;
static struct ledger_pruned done;
static struct ledger *ledger;
static struct service_state state;
static struct service service;
static char dir[] = "/tmp/pmm-test.XXXXXX";

static void write_file (const char *name, int mode, const char *text)
{
    FILE *fp = fopen (name, "w");

    fputs (text, fp);
    fclose (fp);
    chmod (name, (mode_t)mode);
}

/* What the program was told, a line for each time. */
static const char *told (void)
{
    static char all[8192];
    FILE *fp = fopen ("told", "r");
    size_t len = fp ? fread (all, 1, sizeof (all) - 1, fp) : 0;

    all[len] = '\0';
    if (fp)
        fclose (fp);
    return all;
}

static size_t count (const char *text)
{
    size_t n = 0;

    for (const char *p = told (); (p = strstr (p, text)); p++)
        n++;
    return n;
}

/* Run the duty until no program runs and nothing is to be told. */
static bool settle (void)
{
    for (int i = 0; i < 6000; i++) {
        int rc = test_notify (&service, ledger, &state, &err);

        if (rc <= 0)
            return rc == 0;
        usleep (10000);
    }
    return false;
}

static int64_t act (const char *node, enum policy_kind kind, bool done)
{
    const struct ledger_action action = {
        .node = node, .kind = kind, .link = "0002c90000000010/1",
        .reason = "pmm: its cable is slow", .why = "clean twice",
    };
    int64_t id = ledger_intend (ledger, time (NULL), &action, &err);

    if (done)
        ledger_done (ledger, time (NULL), id, &err);
    return id;
}

/* Decisions of the policy: nodes, and what blocks each. */
static void decide (const char *const *node, const enum policy_block *block,
                    size_t n)
{
    struct decision v[4] = { 0 };
    struct decisions d = { .v = v, .n = n, .after = 7 };

    for (size_t i = 0; i < n; i++) {
        v[i].node = node[i];
        v[i].block = block[i];
        strcpy (v[i].why, "it FAILs");
    }
    notify_decisions (&state, &d);
}

static void test_events (void)
{
    static const char *const nodes[] = { "h0001", "h0002", "h0003" };
    static const enum policy_block blocks[]
        = { POLICY_REPORTS, POLICY_COMMON, POLICY_COMMON };

    ok (settle () && count ("\n") == 1 && count ("\"event\":\"digest\"") == 1
            && count ("digest|the last 7 days: 0 audits, drained 0, resumed 0, "
                      "would have drained 0; 0 cables to look at|") == 1,
        "a digest comes first: %s", err.text);
    act ("h0001", POLICY_DRAIN, true);
    act ("h0002", POLICY_DRAIN, false);
    act ("h0003", POLICY_LEFT, true);
    ok (settle () && count ("drain|h0001 was drained: its cable is slow|") == 1
            && count ("\n") == 2,
        "a drain that is done is told");
    ok (count ("{\"kind\":\"pmm-event\",\"version\":1,\"id\":2,"
               "\"event\":\"drain\",\"words\":\"h0001 was drained: its cable "
               "is slow\",\"node\":\"h0001\",\"link\":\"0002c900000000"
               "10/1\",\"audit\":null,\"time\":") == 1,
        "... as JSON on its standard input");
    ok (count ("|PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin|LC_ALL=C|")
                == 2
            && count ("PMM_SECRET") == 0 && count ("|fds 0 1 2 3|") == 2,
        "... with an environment and files of its own");
    act ("h0001", POLICY_RESUME, true);
    ok (settle () && settle () && count ("resume|h0001 was resumed: clean") == 1
            && count ("\n") == 3,
        "so is a resume, each once");
    decide (nodes, blocks, 3);
    ok (settle () && count ("would-drain|h0001: it FAILs") == 1
            && count ("blocked|h0002: it FAILs; next: pmm policy explain; ") == 1 && count ("\n") == 5,
        "what blocks the policy is told once, or by node");
    decide (nodes, blocks, 3);
    ok (settle () && count ("\n") == 5, "... and not again while it holds");
    decide (nodes, blocks, 0);
    settle ();
    decide (nodes, blocks, 3);
    ok (settle () && count ("\n") == 5, "... nor if it comes and goes");
}

/* An audit, with a FAIL of these links between switches: "20", or a WARN: "W20",
 * or a FAIL of what they carry: "R20", or none; led by this node, and begun so long ago.
 */
static void fail (struct pathset *ps, struct plan *plan, const char *links,
                  const char *leader, int64_t ago)
{
    static const struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    struct simulate_options opts = { .noise_ns = 5, .repeats = 3, .seed = 1 };
    struct fabric *f = service.fabric;
    double *latency = calloc (f->nlinks, sizeof (*latency));
    struct verdict *v = verdict_create ();
    struct samples *s = simulate (ps, plan, latency, &opts, &err);
    const char *host[] = { "h0001", "h0002", "h0003", "h0004" };
    int64_t begun = time (NULL) - ago, id;
    struct verdict_rate rate[] = { { .bits = 98.3e9, .expected = 197e9 } };
    uint32_t link = 0;

    while (fabric_network (f)->link[link].kind != LINK_SWITCH)
        link++;
    rate->arc = 2 * (link + 1);
    if (*links) {
        verdict_add (v, *links == 'W' ? VERDICT_WARN : VERDICT_FAIL,
                     BASIS_BASELINE);
        v->finding->kind = FINDING_SWITCH_LINK;
        v->finding->excess_ns = 412;
        finding_add_fact (v, v->finding, fact_said ("it is slow"));
        v->status = v->finding->level;
        if (*links == 'R') {
            v->finding->basis = BASIS_RATE;
            v->finding->excess_ns = NAN;
            v->finding->rate_bits = 98.3e9;
            v->finding->rate_expected_bits = 197e9;
            v->rate = rate;
            v->nrates = 1;
        }
        links += *links == 'W' || *links == 'R';
    }
    for (; *links; links++)
        verdict_add_number (v, &v->finding->suspect, &v->finding->nsuspects,
                            link + (uint32_t)(*links - '0'));
    id = ledger_begin (ledger, begun, f->hash, &cause, host, 4,
                       s->nonce, &err);
    ok (ledger_led (ledger, id, leader, &err) == 0
            && ledger_record (ledger, begun + 1, ps, s, v, "says", &err)
                   > 0,
        "an audit");
    samples_destroy (s);
    verdict_destroy (v);
    free (latency);
}

/* How many cables the sweep measured again, so long ago. */
static int doubted (int64_t ago)
{
    int64_t *age = service_ages (&service, ledger, time (NULL) - ago, &err);
    int n = 0;

    for (size_t i = 0; i < service.fabric->nlinks && age; i++)
        n += age[i] == SWEEP_DOUBTED;
    free (age);
    return n;
}

static void test_cables (void)
{
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    const char *host[] = { "h0001", "h0002", "h0003", "h0004" };
    struct pathset *ps;
    struct plan *plan;

    ps = fabric_pathset (service.fabric, host, 4, &err);
    plan = plan_make (ps, &opts, &err);
    service.site.fail_ns = 300;
    service.site.confirm_after_ms = 600 * 1000;
    service.site.confirm_within_ms = 24 * 3600 * 1000;
    fail (ps, plan, "", "h0001", 9000);
    ok (settle () && count ("cable|") == 0, "no cable FAILs");
    fail (ps, plan, "20", "h0002", 8000);
    ok (settle () && count ("cable|") == 0,
        "a switch cable does: not told by one audit");
    ok (!doubted (7500) && doubted (7300),
        "... it is due after ConfirmAfter");
    fail (ps, plan, "20", "h0002", 7900);
    ok (settle () && count ("cable|") == 0,
        "... nor by another that follows at once");
    fail (ps, plan, "20", "h0002", 7000);
    ok (settle () && count ("cable|") == 0 && doubted (6000),
        "... nor by one leader's");
    fail (ps, plan, "", "h0001", 6900);
    ok (!doubted (0), "... nor due if one finds it clean");
    fail (ps, plan, "W20", "h0003", 6800);
    ok (!doubted (6300) && doubted (6100),
        "... but after a WARN of more than FailExcess");
    service.site.fail_ns = 500;
    ok (!doubted (6100), "... not of less");
    service.site.fail_ns = 300;
    fail (ps, plan, "20", "h0001", 5900);
    ok (settle () && count ("cable|") == 0,
        "... nor if one finds it clean, and one WARNs");
    fail (ps, plan, "W203", "h0003", 5800);
    ok (doubted (5100) == 2, "... and it is due before what only WARNs");
    fail (ps, plan, "20", "h0002", 5000);
    ok (settle () && count ("cable|") == 1
            && count (": s1-0002/3 -- s2-0001/2, or s1-0001/3 -- s2-0001/1: ")
                   > 0
            && count ("; audit 9, as in 1 more audit since audit 7, +412 ns|")
                   == 1,
        "... but by two that confirm each other");
    ok (!doubted (0), "... and then it is not due");
    fail (ps, plan, "01", "h0003", 4000);
    ok (settle () && count ("cable|") == 1,
        "... which is one with what another audit says of the same");
    fail (ps, plan, "3", "h0001", 3000);
    fail (ps, plan, "3", "h0002", 2000);
    ok (settle () && count ("cable|") == 2, "another cable is another event");
    fail (ps, plan, "R1", "h0001", 1900);
    fail (ps, plan, "", "h0003", 1200);
    ok (settle () && count ("cable|") == 2 && doubted (0) == 1,
        "one that carries less, once: no audit without rates clears it");
    fail (ps, plan, "R1", "h0002", 1100);
    ok (settle () && count ("cable|") == 3
            && count (": 98 of 197 Gb/s: reseat ") > 0,
        "... twice: told");
    plan_destroy (plan);
    pathset_destroy (ps);
}

/* Programs that do not do what they should. */
static void test_programs (void)
{
    static const struct {
        const char *what, *text, *why;
        int mode;
    } tab[] = {
        { "fails", "echo no >&2; echo cannot send >&2; exit 3",
          "it ended with status 3: cannot send", 0755 },
        { "is killed", "kill -9 $$", "it ended with signal 9", 0755 },
        { "is no program", NULL, "it ended with status 127",
          0755 },
        { "others may write", "", "others may write", 0777 },
        { "is not to be run", "", "cannot be executed: chmod 755 it", 0644 },
    };
    size_t n = count ("\n");

    free (service.site.notify_program);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *text = xasprintf ("%s%s\n", tab[i].text ? "#!/bin/sh\n" : "",
                                tab[i].text ? tab[i].text : "no");
        char log[1024] = "";
        FILE *fp;
        bool well;

        write_file ("program2", tab[i].mode, text);
        free (text);
        service.site.notify_program = xasprintf ("%s/program2", dir);
        service.log = fopen ("log", "w");
        act ("h0004", POLICY_DRAIN, true);
        err.text[0] = '\0';
        well = settle ();
        fclose (service.log);
        fp = fopen ("log", "r");
        log[fread (log, 1, sizeof (log) - 1, fp)] = '\0';
        log[strcspn (log, "\n")] = '\0';
        fclose (fp);
        free (service.site.notify_program);
        ok (well == (tab[i].mode == 0755)
                && strstr (well ? log : err.text, tab[i].why),
            "a program that %s: %s%s", tab[i].what, log, err.text);
    }
    service.site.notify_program = xasprintf ("%s/program", dir);
    service.log = stderr;
    ok (settle () && count ("\n") == n + 2,
        "what was not tried is told when it works, nothing else again");
}

/* A program hangs, and the service ends, or is killed, meanwhile. */
static void test_hang (void)
{
    char *was = service.site.notify_program, pid[32] = "";
    size_t n = count ("\n");
    FILE *fp;

    write_file ("hang", 0755, "#!/bin/sh\necho $$ >pid\nexec sleep 1000\n");
    service.site.notify_program = xasprintf ("%s/hang", dir);
    act ("h0005", POLICY_DRAIN, true);
    act ("h0006", POLICY_DRAIN, true);
    ledger_close (ledger);
    if (fork () == 0) {
        ledger = ledger_open ("led", LEDGER_WRITE, &err);
        _exit (test_notify (&service, ledger, &state, &err) < 0);
    }
    wait (NULL);
    ledger = ledger_open ("led", LEDGER_WRITE, &err);
    while (!*pid)
        if ((fp = fopen ("pid", "r"))) {
            if (!fgets (pid, sizeof (pid), fp))
                *pid = '\0';
            fclose (fp);
        }
    free (service.site.notify_program);
    service.site.notify_program = was;
    ok (test_notify (&service, ledger, &state, &err) == DUTY_HURRY
            && !state.told.telling && count ("\n") == n,
        "one program at a time, also after the service was killed");
    service.log = fopen ("log", "w");
    kill ((pid_t)atoi (pid), SIGKILL);
    ok (settle () && count ("\n") == n + 1 && count ("|h0005") == 0
            && count ("drain|h0006") == 1,
        "its notice is not told again, the next one is");
    fclose (service.log);
    service.log = stderr;
}

static void test_trouble (void)
{
    size_t n = count ("\n");
    struct ledger *was = ledger;

    told_trouble (&state.told, "comments", "slurmdbd does not answer");
    ok (settle () && count ("\n") == n, "trouble is not told at once");
    state.told.trouble->since_ms = clock_ms () - TROUBLE_MS;
    told_trouble (&state.told, "comments", "slurmdbd is gone");
    ok (settle () && settle () && count ("\n") == n + 1
            && count ("trouble|slurmdbd is gone; next: pmm doctor; ") == 1,
        "... but when it lasts, once");
    ledger = NULL;
    ok (settle () && settle () && count ("\n") == n + 2
            && count ("trouble|slurmdbd is gone; next: pmm doctor; ") == 2,
        "... also if there is no ledger to note it in");
    ledger = was;
    told_trouble (&state.told, "comments", NULL);
    ok (settle () && count ("\n") == n + 2 && state.told.ntroubles == 0,
        "its end is not told");
}

/* A week later. */
static void test_digest (void)
{
    ok (count ("digest|") == 1, "a digest a week");
    ledger_notices (ledger, 1, "digest:", NULL, 0, &err);
    state.told.digest = 0;
    ok (settle () && count ("digest|") == 1, "... not if the service starts");
    ledger_notices (ledger, 1, "digest:", NULL, 0, &err);
    ledger_prune (ledger, time (NULL), INT64_MAX, &done, &err);
    state.told.digest = 0;
    ok (settle ()
            && count ("digest|the last 7 days: 0 audits, drained 4, "
                          "resumed 1, would have drained 1; 0 cables") == 1,
        "... another one in another week");
}

/* A drain of a node with such a name. */
static int tell_hostile (const char *program)
{
    static const char node[] = "h1\r\nBcc: <a@example.org>\n\n.\n\"\\"
                               "$(id)`id`\303\244<!channel>@here&amp;%s"
                               " [a](http://b.c/d)";
    const struct ledger_action action = {
        .node = node, .kind = POLICY_DRAIN, .link = "0002c90000000010/1",
        .reason = "-n \t\033[31mpmm", .why = "",
    };
    int64_t id = ledger_intend (ledger, time (NULL), &action,
                                &err);

    free (service.site.notify_program);
    service.site.notify_program = xstrdup (program);
    return id > 0 && ledger_done (ledger, time (NULL), id, &err) == 0
                   && settle ()
               ? 0 : 1;
}

int main (int argc, char *argv[])
{
    static const char *const files[]
        = { "led", "led-wal", "led-shm", "led.lock", "led.notify", "program",
            "program2", "hang", "pid", "log", "told" };

    struct fat_tree tree = { .ports = 4, .levels = 2 };
    int rc = 0;

    setenv ("PMM_SECRET", "1", 1);
    if (!mkdtemp (dir) || chdir (dir) < 0 || chmod (dir, 0755) < 0
        || !(service.fabric = generate_fat_tree (&tree, &err))
        || !(ledger = ledger_open ("led", LEDGER_CREATE, &err)))
        return 1;
    write_file ("program", 0755,
                "#!/bin/sh\n"
                "json=$(cat)\n"
                "printf '%s|' \"$@\" \"PATH=$PATH\" \"LC_ALL=$LC_ALL\" "
                "${PMM_SECRET+PMM_SECRET} "
                "\"fds $(echo $(ls /proc/self/fd))\" "
                "\"$json\" >line\n"
                "{ cat line; echo; } >>told\nrm line\n");
    service.site.ledger = (char *)"led";
    service.site.notify_program = xasprintf ("%s/program", dir);
    service.log = stderr;
    if (argc > 1)
        rc = tell_hostile (argv[1]);
    else {
        test_events ();
        test_cables ();
        test_programs ();
        test_hang ();
        test_trouble ();
        test_digest ();
    }
    ledger_close (ledger);
    fabric_destroy (service.fabric);
    told_clear (&state.told);
    free (service.site.notify_program);
    for (size_t i = 0; i < sizeof (files) / sizeof (files[0]); i++)
        unlink (files[i]);
    if (chdir ("/") < 0 || rmdir (dir) < 0)
        rc = 1;
    return argc > 1 ? rc : done_testing ();
}
