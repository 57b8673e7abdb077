/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audits of idle hosts while others flood some of them, for
 * tests/t0871-flood.t: the emulator, the probes, their reading of counters, the
 * judge, the ledger and the policy are real. Slurm is not: a script in srun's
 * place starts the probes on this machine, and the controller is memory, in
 * which all nodes are idle; a drained one is measured as before.
 *
 * flood TRIALS SEED, in a directory with fabric, conf, srun, and an emulator at
 * `control`. Of each leaf's hosts the first half are idle; the flows come from
 * the others, or in every third trial from idle ones.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "tests/emu/server.h"
#include "prolog/act/act.h"
#include "prolog/audit/audit.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { HOSTS_MAX = 256, VICTIMS_MAX = 3, FLOWS_MAX = 16, HEALTHY = 6,
       ENOUGH = 10 };

static struct fabric *fabric;
static struct site site;
static struct ledger *ledger;
static struct rng rng;
static struct error err;
static const char *idle[HOSTS_MAX], *others[HOSTS_MAX];
static size_t nidle, nothers;
static char drained[1024];
static char said[8192]; /* by audits and policy, of a ledger */
static time_t last;
static int fails; /* findings of host ends in audits under a flood */

/*
 * What is asked of Slurm
 */

int controller_evicts (const char *partition, struct error *e)
{
    (void)partition;
    (void)e;
    return 0;
}

int controller_drained (struct hostlist *names, struct error *e)
{
    (void)e;
    *names = (struct hostlist){ 0 };
    return 0;
}

int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *e)
{
    (void)hl;
    return error_world (e, "%s: which are idle is not known", partition);
}

int controller_cancel (const char *name, struct error *e)
{
    (void)name;
    (void)e;
    return 0;
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME], struct error *e)
{
    (void)e;
    *uid = 0;
    strcpy (name, "slurm");
    return 0;
}

int controller_nodes (struct controller_nodes *n, struct error *e)
{
    static struct policy_node *node;

    (void)e;
    free (node);
    node = calloc (nidle, sizeof (*node));
    *n = (struct controller_nodes){ .v = node, .n = nidle };
    for (size_t i = 0; i < nidle; i++)
        n->v[i].name = idle[i];
    return 0;
}

int controller_drain (const char *node, const char *reason, struct error *e)
{
    size_t len = strlen (drained);

    (void)e;
    snprintf (drained + len, sizeof (drained) - len, "%s%s", len ? " " : "",
              node);
    diag ("%s: %s", node, reason);
    return 0;
}

int controller_resume (const char *node, const char *reason, struct error *e)
{
    (void)node;
    (void)reason;
    (void)e;
    return 0;
}

static void made_say (void *arg, enum policy_kind kind, const char *line)
{
    size_t len = strlen (said);

    (void)arg;
    (void)kind;
    snprintf (said + len, sizeof (said) - len, "# %s\n", line);
}

/*
 * Trials
 */

static void die (const char *what)
{
    printf ("Bail out! %s: %s\n", what, err.text);
    exit (1);
}

static void emu (const char *verb, const char *a, const char *b)
{
    char *argv[] = { (char *)verb, (char *)a, (char *)b, NULL };

    if (control_command ("control", b ? 3 : 2, argv, stdout, &err) < 0)
        die ("emulator");
}

static void shuffle (const char **v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = rng_below (&rng, i);
        const char *s = v[i - 1];

        v[i - 1] = v[k];
        v[k] = s;
    }
}

/* Audit the idle hosts, about one of them or NULL, and act on it. Return the
 * audit's id.
 */
static int64_t audit (const char *about)
{
    struct audit a = {
        .site = &site, .conf = "conf", .ledger = ledger,
        .fabric = fabric, .report = stderr,
        .node = idle, .n = nidle,
        .cause = { .why = about ? LEDGER_CONFIRM : LEDGER_BY_HAND,
                   .node = about },
    };
    struct audit_result result;
    struct act_report report;

    while (time (NULL) <= last) /* ConfirmAfter is a second */
        usleep (10000);
    if (audit_run (&a, &result, &err) <= 0) {
        fprintf (stderr, "%s\n", result.sentence);
        die ("audit");
    }
    last = time (NULL);
    made_say (NULL, POLICY_NONE, result.sentence);
    if (act_round (&report, &site, ledger, fabric, last, made_say, NULL, &err) < 0)
        die ("policy");
    act_report_clear (&report);
    return result.id;
}

/* Whether the audit says it of a host. */
static bool is_named (int64_t id, const char *host)
{
    struct ledger_result r;
    char wanted[128];
    bool named = false;

    snprintf (wanted, sizeof (wanted), "%s mlx5_0/1 carries others' traffic: ",
              host);
    ledger_result (ledger, id, fabric, true, &r, &err);
    for (size_t i = 0; i < r.verdict->nfindings; i++) {
        const struct finding *x = &r.verdict->finding[i];

        named |= !strncmp (x->fact->name[0], wanted, strlen (wanted))
                 && x->level == VERDICT_UNKNOWN;
        if (x->level == VERDICT_FAIL && x->kind == FINDING_HOST_END) {
            diag ("FAIL in audit %jd: %s", (intmax_t)id,
                  x->fact->name[0]);
            fails++;
        }
    }
    return named;
}

static void open_ledger (bool base)
{
    ledger_close (ledger);
    if (base
        && system ("rm -f ledger*; cp base ledger; [ ! -e base-wal ] || "
                   "cp base-wal ledger-wal") != 0)
        exit (1);
    if (!(ledger = ledger_open ("./ledger", LEDGER_CREATE, &err)))
        die ("ledger");
    drained[0] = said[0] = '\0';
}

/* Flood the first idle hosts. */
static void begin_flood (size_t victims, size_t flows, bool by_idle)
{
    const char **from = by_idle ? idle + victims : others;
    size_t n = by_idle ? nidle - victims : nothers;

    shuffle (from, n);
    for (size_t v = 0; v < victims; v++)
        for (size_t i = 0; i < flows; i++) {
            char flow[128];

            snprintf (flow, sizeof (flow), "%s,%s:%s",
                      from[(v * flows + i) % n], idle[v],
                      i % 2 == 0 || rng_below (&rng, 2) ? "1" : "0.9");
            emu ("background", flow, NULL);
        }
}

struct sums {
    int trials, victims, named, drains, slow_drains, elsewhere, found, wrong;
};

/* Make it slow by so many ns. */
static void slow (const char *host, const char *excess)
{
    char link[80];

    snprintf (link, sizeof (link), "%s/1", host);
    emu ("slow", link, excess);
}

static void trial (struct sums *s, bool by_idle)
{
    size_t victims = rng_below (&rng, 2) ? VICTIMS_MAX : 1;
    size_t flows = 1 + rng_below (&rng, FLOWS_MAX);
    const char *elsewhere; /* neither floods nor is flooded */
    char excess[32], link[80];
    bool held_up;

    shuffle (idle, nidle);
    open_ledger (true);
    begin_flood (victims, flows, by_idle);
    elsewhere = idle[nidle - 1];
    for (int k = 0; k < 2; k++) {
        int64_t id = audit (NULL);

        for (size_t v = 0; v < victims; v++)
            if (is_named (id, idle[v]))
                s->named++;
            else
                diag ("%s is not named in audit %jd: %s", idle[v],
                      (intmax_t)id, said);
    }
    s->victims += 2 * (int)victims;
    s->drains += drained[0] != '\0';

    open_ledger (true);
    snprintf (excess, sizeof (excess), "+%d", 600 + (int)rng_below (&rng, 900));
    slow (idle[0], excess);
    slow (elsewhere, excess);
    audit (elsewhere);
    audit (elsewhere);
    held_up = strcmp (drained, elsewhere) != 0;
    s->elsewhere += !held_up;
    s->slow_drains += held_up && drained[0];
    drained[0] = '\0';
    emu ("background", "off", NULL);
    snprintf (link, sizeof (link), "%s/1", elsewhere);
    emu ("heal", link, NULL);
    audit (idle[0]);
    audit (idle[0]);
    s->found += !strcmp (drained, idle[0]);
    s->wrong += drained[0] && strcmp (drained, idle[0]);
    if (held_up || strcmp (drained, idle[0]))
        diag ("slow: %s, %s, and elsewhere %s%s, %zu victims, %zu flows%s\n%s",
              idle[0], excess, elsewhere, held_up ? ", not drained" : "",
              victims, flows, by_idle ? " of idle hosts" : "",
              strcmp (drained, idle[0]) ? said : "");
    emu ("heal", "all", NULL);
    s->trials++;
}

static void set_up (void)
{
    if (!(fabric = fabric_load ("fabric", &err))
        || site_read (&site, "conf", 0, &err) < 0)
        die ("set up");
    for (uint32_t i = 0; i < fabric->nhosts && i < HOSTS_MAX; i++) {
        /* p ports: p / 2 hosts on each of p leaves */
        uint32_t leaf = (uint32_t)lround (sqrt (fabric->nhosts / 2.));

        if (i % leaf < leaf / 2)
            idle[nidle++] = fabric->host[i].name;
        else
            others[nothers++] = fabric->host[i].name;
    }
    open_ledger (false);
    for (int i = 0; i < HEALTHY; i++)
        audit (NULL);
    ok (drained[0] == '\0', "audits of %zu idle hosts give a baseline", nidle);
    ledger_close (ledger);
    ledger = NULL;
    if (system ("mv ledger base; [ ! -e ledger-wal ] || "
                "mv ledger-wal base-wal; rm -f ledger*") != 0)
        exit (1);
}

int main (int argc, char *argv[])
{
    int trials = argc > 1 ? atoi (argv[1]) : 1;
    struct sums s = { 0 };

    rng_seed (&rng, argc > 2 ? strtoull (argv[2], NULL, 10) : 1);
    set_up ();
    for (int i = 0; i < trials; i++)
        trial (&s, i % 3 == 2);
    ok (s.drains == 0, "in %d of %d floods a node was drained", s.drains,
        s.trials);
    ok (s.named == s.victims, "%d of %d victims are named", s.named,
        s.victims);
    ok (s.slow_drains == 0, "with a slow cable under it, in %d",
        s.slow_drains);
    /* what is reached by full links alone cannot be told */
    ok (2 * s.elsewhere >= s.trials || s.trials < ENOUGH,
        "one that is slow elsewhere is drained in %d", s.elsewhere);
    ok (s.found == s.trials && s.wrong == 0,
        "when it has ended, %d of these are drained, and %d others", s.found,
        s.wrong);
    diag ("%d host ends FAILed under a flood", fails);
    ledger_close (ledger);
    site_clear (&site);
    fabric_destroy (fabric);
    return done_testing ();
}
