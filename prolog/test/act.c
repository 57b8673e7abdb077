/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole seasons of audits in a real ledger, with rounds between them, against
 * a made controller: what is done, recorded and said; with a controller that
 * fails at any call, and a round that is killed at any step.
 *
 * The controller is memory that outlives who is killed. It does not simulate
 * jobs, time, or anything of a node but what the policy looks at.
 */
#include "config.h"
#include "prolog/act/act.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "prolog/ledger/ledger_db.h"
#include "tests/tap.h"
#include "util/file.h"

enum {
    NOW = 1700000000,
    HOSTS = 16,
    WORDS = 8,
    LINE = 1024,
    KILLED = 9,
    STEPS_MAX = 2000,
};

#define SELF "slurm"

static char path[] = "/dev/shm/pmm-act.XXXXXX/ledger";
static struct fabric *fabric;
static struct pathset *ps;
static struct plan *plan;
static struct error err;

/* --- the controller ------------------------------------------------------ */

static struct made {
    struct made_node {
        bool drained, down, unknown;
        char name[16], reason[POLICY_REASON_MAX], by[16];
    } node[HOSTS];
    char deeds[LINE]; /* what was done, in order */
    char log[8 * LINE];
    size_t asked;     /* calls that may fail */
    size_t fail_at;   /* this one and all behind it do; 0: none */
    size_t steps;     /* calls of the controller, statements of the ledger */
    size_t kill_at;   /* the process ends before this one; 0: never */
} *made; /* shared with children */

static void append (char *buf, size_t size, const char *what, const char *arg)
{
    size_t len = strlen (buf);

    snprintf (buf + len, size - len, "%s%s %s", len ? "; " : "", what, arg);
}

static void step (void)
{
    if (++made->steps == made->kill_at)
        _exit (KILLED);
}

static int on_statement (unsigned int event, void *arg, void *p, void *x)
{
    (void)event;
    (void)arg;
    (void)p;
    (void)x;
    step ();
    return 0;
}

static int ask (struct error *e)
{
    step ();
    if (made->fail_at > 0 && ++made->asked >= made->fail_at)
        return error_world (e, "slurmctld: no answer");
    return 0;
}

static struct made_node *node_of (const char *name)
{
    for (size_t i = 0; i < HOSTS; i++)
        if (!strcmp (made->node[i].name, name))
            return &made->node[i];
    abort ();
}

int controller_user (uid_t *uid, char name[CONTROLLER_NAME], struct error *e)
{
    *uid = 0;
    strcpy (name, SELF);
    return ask (e);
}

int controller_nodes (struct controller_nodes *n, struct error *e)
{
    static struct made_node shown[HOSTS];
    static struct policy_node node[HOSTS];

    if (ask (e) < 0)
        return -1;
    *n = (struct controller_nodes){ .v = node, .n = HOSTS };
    memcpy (shown, made->node, sizeof (shown));
    for (size_t i = 0; i < HOSTS; i++) {
        const struct made_node *m = &shown[i];

        n->v[i] = (struct policy_node){
            .name = m->name, .down = m->down, .drained = m->drained,
            .unknown = m->unknown,
            .reason = m->drained ? m->reason : NULL,
            .by = m->drained ? m->by : NULL,
        };
    }
    return 0;
}

static void set_drained (const char *name, const char *reason,
                         const char *by)
{
    struct made_node *n = node_of (name);

    n->drained = *reason != '\0';
    snprintf (n->reason, sizeof (n->reason), "%s", reason);
    snprintf (n->by, sizeof (n->by), "%s", by);
}

int controller_drain (const char *node, const char *reason, struct error *e)
{
    if (ask (e) < 0)
        return -1;
    if (node_of (node)->drained)
        return 0;
    set_drained (node, reason, SELF);
    append (made->deeds, sizeof (made->deeds), "drain", node);
    return 1;
}

int controller_resume (const char *node, const char *reason, struct error *e)
{
    const struct made_node *n = node_of (node);

    if (ask (e) < 0)
        return -1;
    if (!n->drained || strcmp (n->reason, reason) != 0
        || strcmp (n->by, SELF) != 0)
        return 0;
    set_drained (node, "", "");
    append (made->deeds, sizeof (made->deeds), "resume", node);
    return 1;
}

static void made_say (void *arg, enum policy_kind kind, const char *line)
{
    (void)arg;
    (void)kind;
    step ();
    append (made->log, sizeof (made->log), "", line);
}

/* --- seasons ------------------------------------------------------------- */

struct season {
    struct site site;
    struct ledger *ledger;
    int failed; /* rounds that did not end well */
    const char *leader, *about; /* of audits; NULL: by turn, none */
};

/* A step's words: its name, and what follows. */
typedef char *words[WORDS];

/* Of a host, or the first between switches. */
static uint32_t link_of (const char *name)
{
    uint32_t e = fabric_find_endpoint (fabric, name);
    uint32_t link = 0;

    if (e != FABRIC_NONE)
        return fabric->port[fabric->endpoint[e].port].link;
    while (fabric->link[link].kind != LINK_SWITCH)
        link++;
    return link;
}

static const struct {
    const char *name;
    enum verdict_status level;
    enum finding_kind kind;
    enum finding_basis basis;
} findings[] = {
    { "fail", VERDICT_FAIL, FINDING_HOST_END, BASIS_BASELINE },
    { "warn", VERDICT_WARN, FINDING_HOST_END, BASIS_BASELINE },
    { "static", VERDICT_WARN, FINDING_HOST_END, BASIS_CLASS },
    { "unsure", VERDICT_UNKNOWN, FINDING_HOST_END, BASIS_BASELINE },
    { "cable", VERDICT_FAIL, FINDING_SWITCH_LINK, BASIS_BASELINE },
    { "switch", VERDICT_UNKNOWN, FINDING_SWITCH, BASIS_BASELINE },
    { "software", VERDICT_WARN, FINDING_NODE, BASIS_LOOPBACK },
    { "traffic", VERDICT_UNKNOWN, FINDING_HOST_END, BASIS_TRAFFIC },
    { "less", VERDICT_FAIL, FINDING_HOST_END, BASIS_RATE },
};

/* A finding of suspects "h0001,h0002". */
static void add_finding (struct verdict *v, const char *name,
                         const char *suspects)
{
    struct finding *f;
    size_t i = 0;

    while (strcmp (findings[i].name, name) != 0)
        i++;
    f = verdict_add (v, findings[i].level, findings[i].basis);
    f->kind = findings[i].kind;
    f->excess_ns = 412;
    f->stderr_ns = 20;
    f->expected_ns = 131;
    finding_add_fact (v, f, fact_said ("it is slow"));
    if (f->basis == BASIS_RATE) {
        f->excess_ns = f->stderr_ns = f->expected_ns = NAN;
        f->rate_bits = 98e9;
        f->rate_expected_bits = 197e9;
        finding_add_fact (v, f, (struct fact){ FACT_RATE_PCIE,
                                               .n = { 8, 16, 16, 16, 1e11 } });
    }
    for (const char *p = suspects; *p; p += strspn (p, ",")) {
        char host[32];

        snprintf (host, sizeof (host), "%.*s", (int)strcspn (p, ","), p);
        verdict_add_number (v, &f->suspect, &f->nsuspects, link_of (host));
        p += strlen (host);
    }
    v->status = f->level > v->status ? f->level : v->status;
}

static int64_t begin (struct season *s, int64_t time,
                      char nonce[LEDGER_NONCE_BYTES])
{
    static unsigned int turn;
    const struct ledger_cause cause = {
        .leader = s->leader ? s->leader : fabric->host[9 + turn++ % 5].name,
        .node = s->about,
    };
    const char *host[HOSTS];

    for (size_t i = 0; i < HOSTS; i++)
        host[i] = fabric->host[i].name;
    return ledger_begin (s->ledger, NOW + time, fabric->hash, &cause, host,
                         HOSTS, nonce, &err);
}

static void add_open (struct verdict *v, const char *host)
{
    verdict_add_number (v, &v->open, &v->nopen, link_of (host));
}

/* Of all links, in both directions. */
static void add_rates (struct verdict *v)
{
    v->nrates = 2 * fabric->nlinks;
    v->rate = pool_alloc (v->pool, v->nrates, sizeof (*v->rate));
    for (uint32_t i = 0; i < v->nrates; i++)
        v->rate[i] = (struct verdict_rate){ i, 196e9, 197e9 };
}

/* TIME [incomplete | unknown | rated | open HOST | FINDING SUSPECTS]... */
static void step_audit (struct season *s, words v)
{
    struct simulate_options opts = { .noise_ns = 5, .repeats = 3, .seed = 1 };
    double *latency = calloc (fabric->nlinks, sizeof (*latency));
    struct verdict *verdict = verdict_create ();
    int64_t time = atol (v[1]);
    char nonce[LEDGER_NONCE_BYTES];
    struct samples *samples;

    begin (s, time, nonce);
    samples = simulate (ps, plan, latency, &opts, &err);
    snprintf (samples->nonce, sizeof (samples->nonce), "%s", nonce);
    for (size_t i = 2; i < WORDS && v[i]; i++)
        if (!strcmp (v[i], "incomplete"))
            samples->complete = false;
        else if (!strcmp (v[i], "unknown"))
            verdict_limit (verdict, VERDICT_UNKNOWN,
                           fact_said ("it was not to be told"));
        else if (!strcmp (v[i], "rated"))
            add_rates (verdict);
        else if (!strcmp (v[i], "open"))
            add_open (verdict, v[++i]);
        else {
            add_finding (verdict, v[i], v[i + 1]);
            i++;
        }
    /* as the judge has it: what is of open links alone is no limit of others */
    verdict->limited &= verdict->nopen == 0 || !samples->complete;
    if (ledger_record (s->ledger, NOW + time, ps, samples, verdict, "says",
                       &err) < 0)
        diag ("%s", err.text);
    samples_destroy (samples);
    verdict_destroy (verdict);
    free (latency);
}

static void step_led (struct season *s, words v)
{
    uint32_t host = v[1] ? fabric_find_host (fabric, v[1]) : FABRIC_NONE;

    if (!strcmp (v[0], "led"))
        s->leader = host == FABRIC_NONE ? NULL : fabric->host[host].name;
    else
        s->about = host == FABRIC_NONE ? NULL : fabric->host[host].name;
}

static void step_sign (struct season *s, words v)
{
    ledger_sign_add (s->ledger, atol (v[3]),
                     fabric->link[link_of (v[1])].id, v[4] ? v[4] : v[1],
                     SIGN_WIDTH,
                     NOW + atol (v[2]), &err);
}

static void step_round (struct season *s, words v)
{
    struct act_report r;

    if (act_round (&r, &s->site, s->ledger, fabric, NOW + atol (v[1]),
                   made_say, NULL, &err) < 0) {
        append (made->log, sizeof (made->log), "error:", err.text);
        s->failed++;
    }
    act_report_clear (&r);
}

static void step_node (struct season *s, words v)
{
    struct made_node *n = node_of (v[1]);
    bool resumed = !strcmp (v[0], "resume");

    (void)s;
    if (resumed || !strcmp (v[0], "drain"))
        set_drained (v[1], resumed ? "" : "disk", "root");
    else if (!strcmp (v[0], "edit"))
        strcat (n->reason, " RMA");
    else
        n->down = !strcmp (v[0], "down");
}

/* Of all nodes. */
static void step_all (struct season *s, words v)
{
    (void)s;
    for (size_t i = 0; i < HOSTS; i++) {
        made->node[i].unknown = !strcmp (v[1], "unknown");
        made->node[i].down = !strcmp (v[1], "down");
    }
}

static void step_fail_at (struct season *s, words v)
{
    (void)s;
    made->asked = 0;
    made->fail_at = (size_t)atol (v[1]);
}

static void step_rebase (struct season *s, words v)
{
    ledger_rebase (s->ledger, NOW, fabric->link[link_of (v[1])].id, "me",
                   "new cable", &err);
}

static void step_mute (struct season *s, words v)
{
    struct ledger_mute m = { .node = v[1], .who = "me", .why = "known" };

    ledger_mute (s->ledger, NOW, &m, &err);
}

/* The ledger says what only a later version understands. */
static void step_tell (struct season *s, words v)
{
    char sql[128];

    snprintf (sql, sizeof (sql), "UPDATE %s SET %s = 'odd'", v[1], v[2]);
    sqlite3_exec (s->ledger->db, sql, NULL, NULL, NULL);
}

/* The node of a host, by NodeMap. */
static void step_map (struct season *s, words v)
{
    char name[sizeof (path) + 8];
    FILE *fp;

    snprintf (name, sizeof (name), "%s.map", path);
    if ((fp = fopen (name, "w"))) {
        fprintf (fp, "%s %s/1\n", v[2], v[1]);
        fclose (fp);
    }
    conf_set (site_options, &s->site, "NodeMap", name, &err);
}

/* It is one that others may write. */
static void step_loose (struct season *s, words v)
{
    (void)v;
    chmod (s->site.node_map, 0666);
}

/* What was measured was another host's. */
static void step_moved (struct season *s, words v)
{
    char sql[128];

    snprintf (sql, sizeof (sql),
              "UPDATE name SET text = 'h0099' WHERE text = '%s'", v[1]);
    sqlite3_exec (s->ledger->db, sql, NULL, NULL, NULL);
}

static void step_full (struct season *s, words v)
{
    (void)v;
    sqlite3_exec (s->ledger->db, "PRAGMA query_only = ON", NULL, NULL, NULL);
}

static void step_set (struct season *s, words v)
{
    if (conf_set (site_options, &s->site, v[1], v[2], &err) < 0)
        diag ("%s", err.text);
}

static const struct {
    const char *name;
    void (*fn) (struct season *s, words v);
} steps[] = {
    { "audit", step_audit },   /* TIME [FINDING SUSPECTS | incomplete]... */
    { "led", step_led }, { "about", step_led }, /* [HOST] */
    { "sign", step_sign },     /* HOST TIME AUDIT [NODE] */
    { "round", step_round },   /* TIME */
    { "drain", step_node },    { "resume", step_node },  /* HOST, by others */
    { "edit", step_node },     { "down", step_node },    { "up", step_node },
    { "all", step_all },        /* unknown, down, up */
    { "failing", step_fail_at }, /* CALL, and all behind it; 0: none */
    { "rebase", step_rebase }, { "mute", step_mute },    /* HOST */
    { "tell", step_tell },     /* TABLE COLUMN */
    { "map", step_map },       /* HOST NODE */
    { "loose", step_loose },
    { "moved", step_moved },   /* HOST */
    { "full", step_full },     /* the disk */
    { "set", step_set },       /* KEY VALUE */
};

static void play (struct season *s, const char *script)
{
    char line[LINE];
    char *save = NULL;

    snprintf (line, sizeof (line), "%s", script);
    for (char *p = strtok_r (line, ";", &save); p;
         p = strtok_r (NULL, ";", &save)) {
        words v = { NULL };
        char *rest = NULL;
        size_t n = 0;

        while (n < WORDS && (v[n] = strtok_r (n ? NULL : p, " ", &rest)))
            n++;
        for (size_t i = 0; n > 0 && i < sizeof (steps) / sizeof (steps[0]);
             i++)
            if (!strcmp (steps[i].name, v[0]))
                steps[i].fn (s, v);
    }
}

static void drop (void)
{
    static const char *const suffix[]
        = { "", "-wal", "-shm", ".lock", ".map" };

    for (size_t i = 0; i < sizeof (suffix) / sizeof (suffix[0]); i++) {
        char name[sizeof (path) + 8];

        snprintf (name, sizeof (name), "%s%s", path, suffix[i]);
        unlink (name);
    }
}

static void open_season (struct season *s)
{
    *s = (struct season){ .failed = 0 };
    conf_defaults (site_options, &s->site);
    play (s, "set Action drain; set Resume yes");
    if (!(s->ledger = ledger_open (path, LEDGER_CREATE, &err)))
        diag ("%s", err.text);
    /* the machine does not die */
    sqlite3_exec (s->ledger->db, "PRAGMA synchronous = OFF", NULL, NULL,
                  NULL);
}

static void close_season (struct season *s)
{
    ledger_close (s->ledger);
    conf_clear (site_options, &s->site);
}

/* A site where all was well in two audits, so that there is a baseline. */
static void begin_season (struct season *s)
{
    memset (made, 0, sizeof (*made));
    for (size_t i = 0; i < HOSTS; i++)
        snprintf (made->node[i].name, sizeof (made->node[i].name), "%s",
                  fabric->host[i].name);
    drop ();
    open_season (s);
    play (s, "audit -900000; audit -899000");
}

/* The kinds of all actions of the ledger, "drain lifted", oldest first; those
 * that are not done have a '?'.
 */
static const char *recorded (struct season *s)
{
    static char buf[LINE];
    struct ledger_rows rows;

    *buf = '\0';
    ledger_list (s->ledger, LEDGER_ACTIONS, INT32_MAX, 0, &rows, &err);
    for (size_t i = rows.n; i-- > 0;) {
        size_t len = strlen (buf);
        enum policy_kind kind = rows.action[i].kind;

        snprintf (buf + len, sizeof (buf) - len, "%s%s%s", len ? " " : "",
                  kind < POLICY_KINDS ? policy_kind_name (kind) : "odd",
                  rows.action[i].done < 0 ? "?" : "");
    }
    return buf;
}

#define TWICE "audit -1800 fail h0003; audit -600 fail h0003; "
#define DRAINED TWICE "round 0; "
#define LESS "audit -1800 rated less h0003; audit -600 rated less h0003; "
#define MENDED "audit 700; audit 1400; "
/* Two FAILs, and between them an audit that found the host clean, or did not
 * tell.
 */
#define BETWEEN(what)                                                         \
    "audit -1800 fail h0003; audit -900 " what "; audit -100 fail h0003; "    \
    "round 0"
#define CLEAN(what) BETWEEN (what), "", "", "wait: FAIL in audit 5"
#define UNTOLD(what)                                                          \
    BETWEEN (what), "drain h0003", "drain", "audits 3 and 5"

static const struct {
    const char *what, *script, *deeds, *recorded;
    const char *said; /* in the log; NULL: nothing at all */
} seasons[] = {
    { "all is well", "audit -600; round 0", "", "", NULL },
    { "slow twice", TWICE "round 0; round 60", "drain h0003", "drain",
      "h0003: drained: pmm: h0003 mlx5_0/1's " },
    { "slow once", "audit -600 fail h0003; round 0", "", "",
      "h0003: wait: FAIL in audit 3" },
    { "clean between", CLEAN ("") },
    { "clean between, in an audit that FAILs elsewhere",
      CLEAN ("cable spine") },
    { "an UNKNOWN audit between is none that found it clean",
      UNTOLD ("unknown") },
    { "one between that is UNKNOWN for another link",
      CLEAN ("unknown open h0004") },
    { "... for this one", UNTOLD ("unknown open h0003") },
    { "... for another link, and incomplete",
      UNTOLD ("unknown open h0004 incomplete") },
    { "... for a switch", CLEAN ("switch spine") },
    { "... beside others' traffic",
      CLEAN ("traffic h0004 unknown open h0005") },
    { "... which is its own", UNTOLD ("traffic h0003 unknown open h0005") },
    { "once, with a sign",
      "audit -600 fail h0003; sign h0003 -500 3;"
      "round 0",
      "drain h0003", "drain", "its link has lost width" },
    { "a sign of another host's link",
      "audit -600 fail h0003;"
      "sign h0004 -500 3; round 0",
      "", "", "h0004: note: its link has lost" },
    { "Action is report", "set Action report; " TWICE "round 0", "", "",
      "would be drained if Action were drain" },
    { "and is drain later",
      "set Action report; " TWICE "round 0;"
      "set Action drain; round 60",
      "drain h0003", "drain", "" },
    { "a switch cable",
      "audit -1800 cable spine; audit -600 cable spine;"
      "round 0",
      "", "", NULL },
    { "one of two hosts",
      "audit -1800 fail h0003,h0004;"
      "audit -600 fail h0003,h0004; round 0",
      "", "", "one of several" },
    { "it or a cable, then it",
      "audit -1800 cable h0003,spine;"
      "audit -600 fail h0003; round 0",
      "drain h0003", "drain", "with no other suspect in both" },
    { "it or a cable, twice",
      "audit -1800 cable h0003,spine;"
      "audit -600 cable spine,h0003; round 0",
      "", "", "would explain both as well" },
    { "not judged between", UNTOLD ("open h0003") },
    { "another one not judged between", CLEAN ("open h0004") },
    { "another that FAILs, and is not judged then",
      "audit -1800 fail h0003 fail h0004; audit -600 fail h0003 open h0004;"
      "round 0",
      "drain h0003", "drain", "" },
    { "software",
      "audit -1800 software h0003; audit -600 software h0003;"
      "round 0",
      "", "", "h0003: note: its software, PCIe or adapter" },
    { "software between, its link judged", CLEAN ("software h0003") },
    { "software between, its link not judged",
      UNTOLD ("software h0003 open h0003") },
    { "half of the hosts",
      "audit -1800 fail h0001 fail h0002 fail h0003;"
      "audit -600 fail h0001 fail h0002 fail h0003; round 0",
      "", "", "3 hosts FAIL or were drained by us within a day" },
    { "a host and a switch",
      "audit -1800 fail h0003 switch spine;"
      "audit -600 fail h0003 switch spine; round 0",
      "", "", "it found a switch or a route at fault" },
    { "muted", TWICE "mute h0003; round 0", "", "", NULL },
    { "reset", TWICE "rebase h0003; round 0", "", "", NULL },
    { "long ago", "audit -88000 fail h0003; audit -600 fail h0003; round 0", "",
      "", "wait" },

    /* others */
    { "drained by others", TWICE "drain h0003; round 0; round 60", "", "left",
      "drained by root (disk): left alone" },
    { "and given back",
      TWICE "drain h0003; round 0; resume h0003; round 60;"
            "round 120",
      "", "left lifted", "it is back in service" },
    { "our drain is ended by others",
      DRAINED "resume h0003; round 60;"
              "audit 100 fail h0003; audit 800 fail h0003; round 900",
      "drain h0003", "drain lifted",
      "others put it back in service: not drained again for" },
    { "our drain is taken over", DRAINED "edit h0003; " MENDED "round 1500",
      "drain h0003", "drain", "taken over, it is drained by slurm (pmm:" },

    /* resumes */
    { "mended", DRAINED MENDED "round 1500; round 1600",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },
    { "mended, but not judged",
      DRAINED "audit 700 open h0003;"
              "audit 1400 open h0003; round 1500",
      "drain h0003", "drain", "clean in 0 audits since" },
    { "mended, but others were not judged then",
      DRAINED "audit 700 unknown open h0007; audit 1400 unknown open h0008;"
              "round 1500",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },
    { "mended, but it is not said who was not judged",
      DRAINED "audit 700 unknown; audit 1400 unknown; round 1500",
      "drain h0003", "drain", "clean in 0 audits since" },
    { "mended, but a switch is UNKNOWN then",
      DRAINED "audit 700 switch spine; audit 1400 switch spine; round 1500",
      "drain h0003", "drain", "clean in 0 audits since" },
    { "mended, and slow by its software",
      DRAINED "audit 700 software h0003; audit 1400 software h0003; round 1500",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },
    { "mended, by one audit", DRAINED "audit 700; round 1500", "drain h0003",
      "drain", "clean in 1 audit since" },
    { "mended, but other cables FAIL then",
      DRAINED "audit 700 cable spine; audit 1400 cable spine; round 1500",
      "drain h0003", "drain", "clean in 0 audits since" },
    { "mended, but another host is UNKNOWN then",
      DRAINED "audit 700 unsure h0007; audit 1400 unsure h0007; round 1500",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },
    { "mended, but another host FAILs then",
      DRAINED "audit 700 fail h0007; audit 1400 fail h0008; round 1500",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },
    { "mended, in incomplete audits",
      DRAINED "audit 700 incomplete; audit 1400 incomplete; round 1500",
      "drain h0003", "drain", "clean in 0 audits since" },
    { "mended, but there is no baseline any more",
      DRAINED "rebase h0003; audit 700; round 1500", "drain h0003", "drain",
      "clean in 0 audits since" },
    { "mended, with a baseline of its own",
      DRAINED "rebase h0003; audit 700; audit 1400; audit 2100; round 2200",
      "drain h0003; resume h0003", "drain resume", "" },
    { "mended long after", DRAINED "audit 900000; audit 900700; round 900800",
      "drain h0003; resume h0003", "drain resume", "" },
    { "slow again after that",
      DRAINED MENDED "round 1500;"
                     "audit 2000 fail h0003; audit 3000 fail h0003; round 3100",
      "drain h0003; resume h0003", "drain resume", "an intermittent fault" },
    { "mended, but down", DRAINED MENDED "down h0003; round 1500",
      "drain h0003", "drain", "it is down or reserved" },

    /* what a link carries */
    { "less than expected, twice", LESS "round 0", "drain h0003", "drain",
      "PCIe runs at x8 of x16: 98 of 197 Gb/s" },
    { "one between without rates",
      "audit -1800 rated less h0003; audit -900;"
      "audit -100 rated less h0003; round 0",
      "drain h0003", "drain", "audits 3 and 5" },
    { "one between with rates",
      "audit -1800 rated less h0003; audit -900 rated;"
      "audit -100 rated less h0003; round 0",
      "", "", "wait: FAIL in audit 5" },
    { "mended, but not measured", LESS "round 0; " MENDED "round 1500",
      "drain h0003", "drain", "was clean in 0 audits since" },
    { "mended, and measured",
      LESS "round 0; audit 700 rated; audit 1400 rated; round 1500",
      "drain h0003; resume h0003", "drain resume", "h0003: resumed" },

    /* who is who */
    { "a host that Slurm calls otherwise", "map h0003 h0007; " TWICE "round 0",
      "drain h0007", "drain", "h0007: drained: pmm: h0007 " },
    { "a sign of it, by that name",
      "map h0003 h0007; audit -600 fail h0003;"
      "sign h0003 -500 3 h0007; round 0",
      "drain h0007", "drain", "its link has lost width" },
    { "and is resumed by that name",
      "map h0003 h0007; " DRAINED MENDED "round 1500",
      "drain h0007; resume h0007", "drain resume", "" },
    { "a host that Slurm does not know", "map h0003 login; " TWICE "round 0",
      "", "", "1 host that FAILs is no node of Slurm: login" },
    { "a cable that was another host's then", TWICE "moved h0003; round 0", "",
      "", NULL },
    { "mended, as measured from another host",
      DRAINED MENDED "moved h0003; round 1500", "drain h0003", "drain",
      "was clean in 0 audits" },

    /* what cannot be written */
    { "a full disk", TWICE "full; round 0", "", "", "error: " },
    { "a full disk, later", DRAINED MENDED "full; round 1500", "drain h0003",
      "drain", "error: " },

    /* by others */
    { "one leader", "audit -9000; led h0009;" TWICE "round 0", "", "",
      "one node led both" },
    { "another one",
      "audit -9000; led h0009;" TWICE "led; audit -1 fail h0003;"
      "round 0",
      "drain h0003", "drain", "" },
    { "it led itself", "led h0003;" TWICE "round 0", "", "",
      "it led one of them itself" },

    /* slurmctld starts anew */
    { "nodes that have not registered",
      "all unknown; round 0; all up;"
      "round 60",
      "", "", NULL },
    { "nodes that are down", "all down; round 0; all up; round 60", "", "",
      "no other is drained;  no longer true: 16 of 16 nodes are unavailable" },
    { "likewise, where none is drained anyhow",
      "set Action report; all down;"
      "round 0",
      "", "",
      "16 of 16 nodes are unavailable, and MaxUnavailable "
      "is 10 %: no other would be drained" },

    /* what cannot be read */
    { "lost before it looks", "failing 1; " TWICE "round 0", "", "",
      "nothing is changed: slurmctld: no answer" },
    { "lost, and found again",
      "failing 1; " TWICE "round 0; round 1;"
      "failing 0; round 60",
      "drain h0003", "drain", "" },
    { "lost before the nodes", "failing 2; " TWICE "round 0", "", "",
      "nothing is changed" },
    { "lost before the drain: it looks ended",
      "failing 3; " TWICE "round 0;"
      "failing 0; round 60",
      "", "drain lifted", "lifted: our drain of audit 4 was not applied" },
    { "lost before the resume: tried again",
      DRAINED MENDED "failing 3;"
                     "round 1500; failing 0; round 1600",
      "drain h0003; resume h0003", "drain resume", "error: slurmctld" },
    { "mended, lost before the resume, then slow again",
      DRAINED MENDED
      "failing 3; round 1500; failing 0; audit 1550 fail h0003; round 1600",
      "drain h0003", "drain resume?", "clean in 0 audits since" },
    { "a finding of a later version", TWICE "tell finding kind; round 0", "",
      "", "nothing is changed: a finding of audit 3 of the ledger" },
    { "an action of a later version",
      DRAINED "tell action kind;" MENDED "round 1500", "drain h0003", "odd",
      "nothing is changed: action 1" },
    { "a node map that is not there",
      TWICE "set NodeMap /nonexistent/map; round 0", "", "",
      "nothing is changed: " },
    { "a node map that others may write",
      "map h0003 h0007; loose; " TWICE "round 0", "", "",
      "nothing is changed: " },
    { "the clock steps back", TWICE "round -90000", "", "",
      "time stamp in the future" },
};

static size_t count (const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr (p, what)); p++)
        n++;
    return n;
}

static void test_seasons (void)
{
    for (size_t i = 0; i < sizeof (seasons) / sizeof (seasons[0]); i++) {
        struct season s;

        begin_season (&s);
        play (&s, seasons[i].script);
        ok (!strcmp (made->deeds, seasons[i].deeds)
                && !strcmp (recorded (&s), seasons[i].recorded),
            "%s: %s (%s)", seasons[i].what, made->deeds, recorded (&s));
        ok (count (made->log, ": drained: ") == count (made->deeds, "drain ")
                && count (made->log, ": resumed") == count (made->deeds,
                                                            "resume "),
            "%s: what is done is said, and nothing else", seasons[i].what);
        ok (seasons[i].said ? strstr (made->log, seasons[i].said) != NULL
                            : !*made->log,
            "%s: said: %s", seasons[i].what, made->log);
        close_season (&s);
    }
}

/* What stands is said once, also by another process, and again when it is
 * something else.
 */
static void test_once (void)
{
    struct season s;

    begin_season (&s);
    play (&s, "set Action report; " TWICE "round 0; round 60");
    close_season (&s);
    open_season (&s);
    play (&s, "set Action report; audit 500 fail h0003; round 600");
    ok (count (made->log, "h0003: note: ") == 1,
        "a decision is said once: %s", made->log);
    play (&s, "audit 700; round 800; audit 900; round 1000");
    ok (count (made->log, "h0003: ") == 2
            && count (made->log, "h0003: none: clean in audit 6") == 1,
        "and what it is later, once: %s", made->log);
    play (&s, "audit 1100 fail h0003 switch spine; round 1200;"
              "audit 1300; round 1400; round 90000; round 90060");
    ok (count (made->log, "counts against no host") == 2
            && count (made->log, "no longer true: audit 8 counts against") == 1,
        "a remark, too, and that it is over: %s", made->log);
    play (&s, "round 200000; round 200060");
    ok (count (made->log, "h0003: none: nothing was found") == 1,
        "and that it is over: %s", made->log);
    close_season (&s);
    begin_season (&s);
    play (&s, "audit -1800 fail h0001 fail h0002; round 0;"
              "audit 100 fail h0001 fail h0002 fail h0005; round 200");
    ok (count (made->log, "hosts FAIL or were drained by us") == 1
            && count (made->log, "no longer true") == 0,
        "a remark is the same for another list of hosts: %s", made->log);
    close_season (&s);
}

static void test_busy (void)
{
    struct season s;
    int lock, second;

    begin_season (&s);
    play (&s, TWICE);
    ok (ledger_lock (s.ledger, &lock, &err) == 1
            && ledger_lock (s.ledger, &second, &err) == 0,
        "one at a time");
    play (&s, "round 0");
    ok (!*made->deeds && !*made->log && s.failed == 0,
        "while another is at work, nothing is done or said");
    close (lock);
    play (&s, "round 60");
    ok (!strcmp (made->deeds, "drain h0003"), "and then it is");
    close_season (&s);
}

/* --- killed -------------------------------------------------------------- */

/* Two seasons, of which the rounds in the middle are killed. */
static const struct {
    const char *what, *before, *rounds, *after;
    const char *deeds[2], *recorded[2]; /* what may come of it, in pairs */
} deaths[] = {
    { "a drain", TWICE, "round 0; round 60", "round 120; round 180",
      { "drain h0003", "" }, { "drain", "drain lifted" } },
    { "a resume", DRAINED MENDED, "round 1500; round 1560",
      "round 1620; round 1680", { "drain h0003; resume h0003", NULL },
      { "drain resume", NULL } },
    /* who ends a drain that nobody saw is not known to have done so */
    { "what was seen", TWICE "drain h0003;",
      "round 0; resume h0003; round 60",
      "resume h0003; round 120; round 180",
      { "", "drain h0003" }, { "left lifted", "drain" } },
};

/* Play in a child that is killed before its step k. Return whether it was. */
static bool play_killed (const char *script, size_t k)
{
    struct season s;
    int status;
    pid_t pid = fork ();

    if (pid == 0) {
        open_season (&s);
        sqlite3_trace_v2 (s.ledger->db, SQLITE_TRACE_STMT, on_statement,
                          NULL);
        made->steps = 0;
        made->kill_at = k;
        play (&s, script);
        close_season (&s);
        _exit (0);
    }
    waitpid (pid, &status, 0);
    made->kill_at = 0;
    return WIFEXITED (status) && WEXITSTATUS (status) == KILLED;
}

static bool may_come (size_t i, const char *record)
{
    bool may = false;

    for (size_t k = 0; k < 2; k++)
        may = may
              || (deaths[i].deeds[k] && !strcmp (deaths[i].deeds[k],
                                                 made->deeds)
                  && !strcmp (deaths[i].recorded[k], record));
    return may;
}

/* The ledger and the controller as they were, again and again. */
static void save (struct made *then, char **db, size_t *len)
{
    FILE *fp = fopen (path, "r");

    *then = *made;
    *db = file_slurp (fp, SIZE_MAX, len, &err);
    fclose (fp);
}

static void restore (const struct made *then, const char *db, size_t len)
{
    FILE *fp;

    *made = *then;
    drop ();
    fp = fopen (path, "w");
    fwrite (db, 1, len, fp);
    fclose (fp);
    chmod (path, 0600);
}

static void test_killed (void)
{
    for (size_t i = 0; i < sizeof (deaths) / sizeof (deaths[0]); i++) {
        size_t wrong = 0;
        size_t k = 1;
        bool killed = true;
        struct season s;
        struct made then;
        char *db;
        size_t len;

        begin_season (&s);
        play (&s, deaths[i].before);
        close_season (&s);
        save (&then, &db, &len);
        for (; killed && k < STEPS_MAX; k++) {
            restore (&then, db, len);
            killed = play_killed (deaths[i].rounds, k);
            open_season (&s);
            play (&s, deaths[i].after);
            if (!may_come (i, recorded (&s))) {
                wrong++;
                diag ("killed at step %zu: %s (%s)", k, made->deeds,
                      recorded (&s));
            }
            close_season (&s);
        }
        ok (wrong == 0 && k > 20 && k < STEPS_MAX,
            "%s, killed at any of %zu steps: all is done once, and recorded",
            deaths[i].what, k - 2);
        free (db);
    }
}

/* --- at any call --------------------------------------------------------- */

/* A controller that does not answer from any call on, for a while. */
static void test_lost (void)
{
    size_t wrong = 0;

    for (size_t k = 1; k <= 12; k++) {
        struct season s;
        char failing[32];

        begin_season (&s);
        snprintf (failing, sizeof (failing), "failing %zu", k);
        play (&s, failing);
        play (&s, TWICE "drain h0007; round 0; round 60; " MENDED
                  "round 1500; round 1560; failing 0; round 1620;"
                  "round 1680");
        if (count (made->deeds, "drain h0003") > 1
            || count (made->deeds, "resume h0003")
                   != count (made->deeds, "drain h0003")
            || node_of ("h0003")->drained
            || strcmp (node_of ("h0007")->reason, "disk") != 0) {
            wrong++;
            diag ("lost at call %zu: %s (%s)", k, made->deeds, recorded (&s));
        }
        close_season (&s);
    }
    ok (wrong == 0, "a controller that is lost at any call: no drain twice, "
                    "none that stays, no Reason of others");
}

/* What costs, and what must not: old audits, and hosts that are well. */
static void test_size (void)
{
    enum { MANY = 300 };
    struct season s;
    struct facts d;
    struct policy_config cfg;
    size_t findings_told = 0;
    char line[64];

    begin_season (&s);
    for (int i = 0; i < MANY; i++) {
        snprintf (line, sizeof (line), "audit %d fail h0005",
                  -200000 - 100 * (MANY - i));
        play (&s, i % 2 ? line : "audit -200000");
    }
    play (&s, TWICE);
    policy_config (&cfg, &s.site);
    if (facts_read (&d, s.ledger, fabric, NULL, SELF, NOW, &cfg, &err) < 0)
        diag ("%s", err.text);
    for (size_t i = 0; i < d.input.naudits; i++)
        findings_told += d.input.audit[i].nfindings;
    ok (d.input.naudits == 2 && findings_told == 4,
        "of %d audits the facts hold %zu with %zu findings", MANY + 4,
        d.input.naudits, findings_told);
    facts_clear (&d);
    close_season (&s);
}

/* How often a drained node was audited is the ledger's to know, as long as the
 * drain stands.
 */
static void test_tries (void)
{
    struct season s;
    struct act_report r;
    const struct decision *d = NULL;

    begin_season (&s);
    play (&s, DRAINED "about h0003; audit 700 fail h0003;"
              "audit 2000 fail h0003; audit 4500 fail h0003; about");
    close_season (&s);
    open_season (&s);
    play (&s, "set Action drain; set Resume yes");
    if (act_look (&r, &s.site, s.ledger, fabric, NOW + 200000, &err)
        < 0)
        diag ("%s", err.text);
    for (size_t i = 0; i < r.decisions.n; i++)
        if (!strcmp (r.decisions.v[i].node, "h0003"))
            d = &r.decisions.v[i];
    ok (r.facts.input.tried.n == 3 && d && d->kind == POLICY_WAIT
            && d->audit == 0,
        "a drained node was audited three times, long ago");
    act_report_clear (&r);
    if (act_look (&r, &s.site, s.ledger, fabric, NOW + 4500, &err) < 0)
        diag ("%s", err.text);
    for (size_t i = 0; i < r.decisions.n; i++)
        if (!strcmp (r.decisions.v[i].node, "h0003"))
            d = &r.decisions.v[i];
    ok (d->when == NOW + 4500 + 8 * 600,
        "another service waits for %lld s before it does so again",
        (long long)(d->when - NOW - 4500));
    act_report_clear (&r);
    close_season (&s);
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 3 };
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    char *slash = strrchr (path, '/');

    *slash = '\0';
    if (!mkdtemp (path))
        return 1;
    *slash = '/';
    made = mmap (NULL, sizeof (*made), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED || !(fabric = generate_fat_tree (&tree, &err))
        || !(ps = fabric_pathset (fabric, NULL, 0, &err))
        || !(plan = plan_make (ps, &opts, &err)))
        return 1;
    test_seasons ();
    test_once ();
    test_busy ();
    test_killed ();
    test_lost ();
    test_size ();
    test_tries ();
    plan_destroy (plan);
    pathset_destroy (ps);
    fabric_destroy (fabric);
    munmap (made, sizeof (*made));
    drop ();
    *slash = '\0';
    rmdir (path);
    return done_testing ();
}
