/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each rule of the policy, where it just holds and where it just does not. A
 * case's world is a line of steps, of which each is a row of the table `steps`.
 */
#include "config.h"
#include "prolog/policy/policy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/test/world.h"
#include "tests/tap.h"

enum { WORDS = 6, LINE = 512 };

/* The words of a step: its name, and what follows it. */
typedef char *words[WORDS];

static void step_audit (struct world *w, words v)
{
    struct policy_audit *a
        = world_audit (w, strtoull (v[1], NULL, 10), atol (v[2]));

    for (size_t i = 3; i < WORDS && v[i]; i++) {
        a->user = a->user || !strcmp (v[i], "user");
        a->whole = a->complete
            = a->complete && strcmp (v[i], "incomplete") != 0;
        if (!strncmp (v[i], "nodes=", 6))
            a->nodes = a->asked = (size_t)atol (v[i] + 6);
        if (!strncmp (v[i], "silent=", 7)) {
            a->complete = false;
            a->nodes = a->asked - (size_t)atol (v[i] + 7);
        }
        if (!strncmp (v[i], "led=", 4))
            a->leader = v[i][4] ? word (v[i] + 4, strlen (v[i] + 4)) : NULL;
    }
}

static const struct {
    const char *name;
    struct policy_finding finding;
} findings[] = {
#define HOST FINDING_HOST_END
#define SINCE BASIS_BASELINE
    { "clean", FOUND (VERDICT_OK, HOST, SINCE, 0, 0, NAN) },
    { "fail", FOUND (VERDICT_FAIL, HOST, SINCE, 412, 20, 131) },
    { "worse", FOUND (VERDICT_FAIL, HOST, SINCE, 900, 20, 131) },
    { "bare", FOUND (VERDICT_FAIL, HOST, SINCE, 412, 20, NAN) },
    { "nan", FOUND (VERDICT_FAIL, HOST, SINCE, NAN, 20, 131) },
    { "warn", FOUND (VERDICT_WARN, HOST, SINCE, 212, 20, 131) },
    { "unknown", FOUND (VERDICT_UNKNOWN, HOST, SINCE, 412, 20, 131) },
    { "static", FOUND (VERDICT_WARN, HOST, BASIS_CLASS, 412, 20, 131) },
    { "slight", FOUND (VERDICT_WARN, HOST, BASIS_CLASS, 350, 20, 131) },
    { "loss", FOUND (VERDICT_FAIL, HOST, BASIS_LOSS, NAN, NAN, 131) },
    { "fewloss", FOUND (VERDICT_WARN, HOST, BASIS_LOSS, NAN, NAN, 131) },
    { "delay", FOUND (VERDICT_FAIL, HOST, BASIS_SLOW, NAN, NAN, 131) },
    { "cable", FOUND (VERDICT_FAIL, FINDING_SWITCH_LINK, SINCE, 900, 20, 131) },
    { "lesscable", FOUND (VERDICT_WARN, FINDING_SWITCH_LINK, SINCE, 200, 20, 131) },
    { "oddcable", FOUND (VERDICT_WARN, FINDING_SWITCH_LINK, BASIS_CLASS, 400, 20, 131) },
    { "software", FOUND (VERDICT_WARN, FINDING_NODE, SINCE, 900, 20, NAN) },
    { "switch", FOUND (VERDICT_UNKNOWN, FINDING_SWITCH, SINCE, 900, 20, 131) },
    { "lessswitch", FOUND (VERDICT_FAIL, FINDING_SWITCH, SINCE, 500, 20, 131) },
    { "oddswitch", FOUND (VERDICT_WARN, FINDING_SWITCH, BASIS_CLASS, 900, 20, 131) },
    { "route", FOUND (VERDICT_UNKNOWN, FINDING_ROUTE, SINCE, 900, 20, 131) },
#define LESS NAN, NAN, NAN, 98e9, 197e9
    { "less", FOUND_RATE (VERDICT_FAIL, HOST, BASIS_RATE, LESS) },
    { "bitless", FOUND_RATE (VERDICT_WARN, HOST, BASIS_RATE, LESS) },
    { "maybeless", FOUND_RATE (VERDICT_UNKNOWN, HOST, BASIS_RATE, LESS) },
    { "oddless", FOUND (VERDICT_FAIL, HOST, BASIS_RATE, NAN, NAN, NAN) },
    { "slowandless", FOUND_RATE (VERDICT_FAIL, HOST, SINCE, 412, 20, 131, 98e9, 197e9) },
    { "bitslowandless", FOUND_RATE (VERDICT_FAIL, HOST, BASIS_CLASS, 120, 9, 131, 98e9, 197e9) },
    { "nodeless", FOUND_RATE (VERDICT_FAIL, FINDING_NODE, SINCE, 200, 9, 131, 98e9, 197e9) },
    { "swless", FOUND_RATE (VERDICT_FAIL, FINDING_SWITCH, BASIS_RATE, LESS) },
#undef LESS
#undef HOST
#undef SINCE
};

/* FINDING SUSPECTS [lossy | rated | with=NODE] */
static void step_finding (struct world *w, words v)
{
    struct policy_suspect *s;

    for (size_t i = 0; i < sizeof (findings) / sizeof (findings[0]); i++)
        if (!strcmp (findings[i].name, v[0]))
            world_find (w, findings[i].finding, v[1]);
    if (!v[2])
        return;
    s = w->suspect[w->in.naudits - 1]
                  [w->audit[w->in.naudits - 1].nfindings - 1];
    s->lossy = !strcmp (v[2], "lossy");
    s->rated = !strcmp (v[2], "rated");
    if (!strncmp (v[2], "with=", 5))
        s->peer = word (v[2] + 5, strlen (v[2] + 5));
}

static void step_tried (struct world *w, words v)
{
    w->tried[w->in.tried.n++] = (struct ledger_audit){
        .node = word (v[1], strlen (v[1])), .begun = NOW + atol (v[2]),
        .id = strtoll (v[3], NULL, 10),
    };
}

static void step_sign (struct world *w, words v)
{
    char link[2 * NAME];

    snprintf (link, sizeof (link), "%s/1", v[1]);
    w->sign[w->in.signs.n++] = (struct ledger_sign){
        .kind = SIGN_WIDTH, .host = word (v[1], strlen (v[1])),
        .link = word (link, strlen (link)), .time = NOW + atol (v[2]),
        .audit = strtoll (v[3], NULL, 10),
    };
}

static void step_state (struct world *w, words v)
{
    struct policy_node *n = world_node (w, v[1]);

    n->down = n->down || !strcmp (v[0], "down");
    n->reserved = n->reserved || !strcmp (v[0], "reserved");
    n->powered_down = n->powered_down || !strcmp (v[0], "off");
    n->unknown = n->unknown || !strcmp (v[0], "unclear");
}

static void step_drained (struct world *w, words v)
{
    static const struct {
        const char *name, *reason, *by;
    } states[] = {
        { "foreign", "disk", "root" },
        { "ours", REASON, SELF },
        { "edited", REASON " RMA", SELF },
        { "copied", REASON, "root" },
    };

    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++)
        if (!strcmp (states[i].name, v[0]))
            world_drained (w, v[1], states[i].reason, states[i].by);
}

static void step_did (struct world *w, words v)
{
    for (enum policy_kind k = POLICY_NONE; k <= POLICY_LIFTED; k++)
        if (!strcmp (policy_kind_name (k), v[1]))
            world_action (w, k, v[2], atol (v[3]), strtoull (v[4], NULL, 10))
                ->cause = v[5] ? CAUSE_RATE : CAUSES;
}

static void step_mute (struct world *w, words v)
{
    bool link = strchr (v[1], '/') != NULL;

    w->mute[w->in.mutes.n++] = (struct ledger_mute){
        .link = link ? word (v[1], strlen (v[1])) : NULL,
        .node = link ? NULL : word (v[1], strlen (v[1])),
        .until = v[2] ? NOW + atol (v[2]) : 0,
    };
}

static void step_reset (struct world *w, words v)
{
    w->reset[w->in.resets.n++] = (struct ledger_rebase){
        .link = strcmp (v[1], "all") ? word (v[1], strlen (v[1])) : NULL,
        .after = strtoll (v[2], NULL, 10),
    };
}

static void step_nodes (struct world *w, words v)
{
    world_nodes (w, (size_t)atol (v[1]));
}

/* The last n nodes are in a state. */
static void step_last (struct world *w, words v)
{
    for (long i = 0; i < atol (v[2]); i++) {
        words one = { v[1], w->name[w->in.nnodes - 1 - (size_t)i] };

        step_state (w, one);
    }
}

static void step_set (struct world *w, words v)
{
    world_set (w, v[1], v[2]);
}

static void step_broken (struct world *w, words v)
{
    if (!strcmp (v[1], "ledger"))
        w->in.unreadable = "the ledger cannot be read";
    else if (!strcmp (v[1], "twice"))
        w->node[1].name = w->node[0].name;
    else if (!strcmp (v[1], "clock"))
        w->in.now = -1;
    else
        w->in.self = NULL;
}

static const struct {
    const char *name;
    void (*step) (struct world *w, words v);
} steps[] = {
    /* ID TIME [user] [incomplete] [nodes=N] [silent=N] [led=NODE] */
    { "audit", step_audit },
    { "tried", step_tried },      /* HOST TIME AUDIT */
    { "sign", step_sign },        /* HOST TIME AFTER */
    { "down", step_state },       { "reserved", step_state },
    { "off", step_state },        { "unclear", step_state },
    { "foreign", step_drained },  { "ours", step_drained },
    { "edited", step_drained },   { "copied", step_drained },
    { "did", step_did },          /* KIND HOST TIME AFTER [rate] */
    { "mute", step_mute },        /* LINK|HOST [UNTIL] */
    { "reset", step_reset },      /* LINK|all AFTER */
    { "nodes", step_nodes },      /* N */
    { "last", step_last },        /* STATE N */
    { "set", step_set },          /* KEY VALUE */
    { "broken", step_broken },    /* WHAT */
};

static void step (struct world *w, char *line)
{
    words v = { NULL };
    char *save;
    size_t n = 0;

    for (char *p = strtok_r (line, " ", &save); p && n < WORDS;
         p = strtok_r (NULL, " ", &save))
        v[n++] = p;
    if (n == 0)
        return;
    for (size_t i = 0; i < sizeof (steps) / sizeof (steps[0]); i++)
        if (!strcmp (steps[i].name, v[0])) {
            steps[i].step (w, v);
            return;
        }
    step_finding (w, v);
}

static struct world *world_of (const char *steps_of)
{
    struct world *w = world_create ();
    char line[LINE];
    char *save;

    if (snprintf (line, sizeof (line), "%s", steps_of) >= LINE)
        abort ();
    for (char *p = strtok_r (line, ";", &save); p;
         p = strtok_r (NULL, ";", &save))
        step (w, p);
    return w;
}

/* Two audits that confirm each other; more of the same for other hosts. */
#define TWICE(h) \
    "audit 1 -1800; fail " h "; audit 2 -600; fail " h "; "

static const struct {
    const char *what;
    const char *world;
    enum policy_kind kind; /* of h1 */
    const char *why;       /* holds this */
    const char *remark;    /* some remark does; NULL: there is none */
} cases[] = {
    { "a healthy node", "audit 1 -600; clean h2", POLICY_NONE,
      "nothing was found", NULL },
    { "no history at all", "", POLICY_NONE, "nothing was found", NULL },

    /* confirmed */
    { "two audits", TWICE ("h1"), POLICY_DRAIN, "audits 1 and 2, 20 min",
      NULL },
    { "one audit", "audit 1 -600; fail h1", POLICY_WAIT, "to confirm it",
      NULL },
    { "as far apart as it needs",
      "audit 1 -700; fail h1; audit 2 -100; fail h1",
      POLICY_DRAIN, "10 min apart", NULL },
    { "a second less", "audit 1 -699; fail h1; audit 2 -100; fail h1",
      POLICY_WAIT, "", NULL },
    { "ConfirmAfter is set",
      "audit 1 -699; fail h1; audit 2 -100; fail h1; set ConfirmAfter 599",
      POLICY_DRAIN, "", NULL },
    { "two in a row of three",
      "audit 1 -700; fail h1; audit 2 -400; fail h1; audit 3 -100; fail h1",
      POLICY_DRAIN, "audits 1 and 3", NULL },
    { "the first as old as it may be",
      "audit 1 -86400; fail h1; audit 2 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "the first a second older",
      "audit 1 -86401; fail h1; audit 2 -600; fail h1", POLICY_WAIT, "",
      NULL },
    { "both long ago", "audit 1 -99000; fail h1; audit 2 -90000; fail h1",
      POLICY_WAIT, "long ago", NULL },
    { "a clean one between",
      "audit 1 -1800; fail h1; audit 2 -900; clean h1; audit 3 -100; fail h1",
      POLICY_WAIT, "audit 3", NULL },
    { "a clean one behind", TWICE ("h1") "audit 3 -100; clean h1",
      POLICY_NONE, "clean in audit 3", NULL },
    { "a clean one before", "audit 1 -2000; clean h1; audit 2 -1800; fail h1;"
      "audit 3 -600; fail h1", POLICY_DRAIN, "audits 2 and 3", NULL },
    { "an incomplete one that is clean",
      "audit 1 -1800; fail h1; audit 2 -900 incomplete; clean h1;"
      "audit 3 -100; fail h1", POLICY_WAIT, "audit 3", NULL },
    { "clean and slow in one audit", TWICE ("h1") "clean h1", POLICY_NONE,
      "clean in audit 2", NULL },
    { "another link of the host",
      "audit 1 -1800; fail h1/1; audit 2 -600; fail h1/2", POLICY_WAIT, "",
      NULL },
    { "a suspect in common",
      "audit 1 -1800; fail h1/1,h1/2; audit 2 -600; fail h1/2,h1/3",
      POLICY_DRAIN, "", NULL },
    { "in their order, whatever comes first",
      "audit 2 -600; fail h1; audit 1 -1800; fail h1", POLICY_DRAIN,
      "audits 1 and 2", NULL },

    /* what */
    { "WARN", "audit 1 -1800; warn h1; audit 2 -600; warn h1", POLICY_NOTE,
      "WARN in audit 2", NULL },
    { "FAIL, then WARN", "audit 1 -1800; fail h1; audit 2 -600; warn h1",
      POLICY_WAIT, "audit 1", NULL },
    { "UNKNOWN", "audit 1 -1800; unknown h1; audit 2 -600; unknown h1",
      POLICY_NONE, "UNKNOWN drains no node", NULL },
    { "FAIL, then UNKNOWN", "audit 1 -1800; fail h1; audit 2 -600; unknown h1",
      POLICY_WAIT, "", NULL },
    { "UNKNOWN between", "audit 1 -1800; fail h1; audit 2 -900; unknown h1;"
      "audit 3 -100; fail h1", POLICY_DRAIN, "audits 1 and 3", NULL },
    { "one of two hosts",
      "audit 1 -1800; fail h1,h2; audit 2 -600; fail h1,h2", POLICY_WAIT,
      "audits 1 and 2, but h2/1 would explain both", NULL },
    { "a host or a switch link",
      "audit 1 -1800; cable h1,s1; audit 2 -600; cable h1,s1", POLICY_WAIT,
      "audits 1 and 2, but s1/1 would explain both", NULL },
    { "a suspect without a host",
      "audit 1 -1800; fail h1,s1; audit 2 -600; fail h1,s1", POLICY_WAIT,
      "s1/1 would explain both", NULL },

    /* what it carries */
    { "less than expected, twice",
      "audit 1 -1800; less h1; audit 2 -600; less h1", POLICY_DRAIN,
      "h1 mlx5_0/1's cable carries 98 of 197 Gb/s: reseat it, then swap it; "
      "FAIL in audits 1 and 2", NULL },
    { "... by one leader", "audit 1 -1800 led=h7; less h1;"
      "audit 2 -600 led=h7; less h1", POLICY_WAIT, "one node led both", NULL },
    { "... with one partner", "audit 1 -1800; less h1 with=h3;"
      "audit 2 -600; less h1 with=h3", POLICY_WAIT, "one node had a part",
      NULL },
    { "once, with a sign", "audit 1 -600; less h1; sign h1 -300 1",
      POLICY_WAIT, "to confirm it", NULL },
    { "WARN twice", "audit 1 -1800; bitless h1; audit 2 -600; bitless h1",
      POLICY_NOTE, "WARN", NULL },
    { "UNKNOWN twice",
      "audit 1 -1800; maybeless h1; audit 2 -600; maybeless h1", POLICY_NONE,
      "could not tell", NULL },
    { "by no number", "audit 1 -1800; oddless h1; audit 2 -600; oddless h1",
      POLICY_NOTE, "does not count", NULL },
    { "slow, then less", "audit 1 -1800; fail h1; audit 2 -600; less h1",
      POLICY_WAIT, "to confirm it", NULL },
    { "both, then less",
      "audit 1 -1800; slowandless h1; audit 2 -600; less h1", POLICY_DRAIN,
      "audits 1 and 2", NULL },
    { "a little slow, and less", "audit 1 -1800; bitslowandless h1;"
      "audit 2 -600; less h1", POLICY_DRAIN, "audits 1 and 2", NULL },
    { "... once, with a sign",
      "audit 1 -600; bitslowandless h1; sign h1 -300 1", POLICY_WAIT, "", NULL },
    { "a host that carries less, twice",
      "audit 1 -1800; nodeless h1; audit 2 -600; nodeless h1", POLICY_DRAIN,
      "h1 mlx5_0/1: 98 of 197 Gb/s: look at its adapter and PCIe slot", NULL },
    { "both, once, with a sign",
      "audit 1 -600; slowandless h1; sign h1 -300 1", POLICY_DRAIN,
      "lost width", NULL },
    { "a clean one in between, without rates",
      "audit 1 -1800; less h1; audit 2 -900; clean h1; audit 3 -600; less h1",
      POLICY_DRAIN, "audits 1 and 3", NULL },
    { "... with rates", "audit 1 -1800; less h1; audit 2 -900; clean h1 rated;"
      "audit 3 -600; less h1", POLICY_WAIT, "audit 3", NULL },
    { "a clean one behind, without rates",
      "audit 1 -1800; less h1; audit 2 -600; less h1; audit 3 -100; clean h1",
      POLICY_DRAIN, "audits 1 and 2", NULL },
    { "... with rates", "audit 1 -1800; less h1; audit 2 -600; less h1;"
      "audit 3 -100; clean h1 rated", POLICY_NONE, "clean in audit 3", NULL },
    { "... which clears what is slow", "audit 1 -1800; fail h1;"
      "audit 2 -900; less h1; audit 3 -700; clean h1; audit 4 -600; fail h1",
      POLICY_WAIT, "audit 4", NULL },
    { "beside a switch that carries less",
      "audit 1 -1800; less h1; swless s1; audit 2 -600; less h1; swless s1",
      POLICY_NOTE, "at fault, too", "at fault, too" },
    { "beside one that is slow",
      "audit 1 -1800; less h1; switch s1; audit 2 -600; less h1; switch s1",
      POLICY_DRAIN, "audits 1 and 2", NULL },
    { "slow beside one that carries less",
      "audit 1 -1800; fail h1; swless s1; audit 2 -600; fail h1; swless s1",
      POLICY_DRAIN, "audits 1 and 2", NULL },
    { "drained for it: clean without rates",
      "did drain h1 -7200 2 rate; ours h1; audit 3 -1800; clean h1;"
      "audit 4 -600; clean h1", POLICY_WAIT,
      "the rate of link h1/1 was clean in 0 audits", NULL },
    { "... clean with them",
      "did drain h1 -7200 2 rate; ours h1; audit 3 -1800; clean h1 rated;"
      "audit 4 -600; clean h1 rated", POLICY_RESUME, "was clean", NULL },
    { "... once with, once without",
      "did drain h1 -7200 2 rate; ours h1; audit 3 -1800; clean h1 rated;"
      "audit 4 -600; clean h1", POLICY_WAIT, "in 1 audit since", NULL },
    { "drained for latency, then less",
      "did drain h1 -7200 2; ours h1; audit 3 -5400; bitless h1;"
      "audit 4 -1800; clean h1; audit 5 -600; clean h1", POLICY_WAIT,
      "in 0 audits", NULL },

    /* what it may be of, told apart */
    { "a host or a switch link, once", "audit 1 -600; cable h1,s1",
      POLICY_WAIT, "FAIL in audit 1 of it or others: waits", NULL },
    { "then the host", "audit 1 -1800; cable h1,s1; audit 2 -600; fail h1",
      POLICY_DRAIN, "audits 1 and 2, 20 min apart, with no other suspect",
      NULL },
    { "first the host", "audit 1 -1800; fail h1; audit 2 -600; cable h1,s1",
      POLICY_DRAIN, "no other suspect", NULL },
    { "then it or another switch link",
      "audit 1 -1800; cable s1,h1; audit 2 -600; cable h1,s2", POLICY_DRAIN,
      "no other suspect", NULL },
    { "then it or another host",
      "audit 1 -1800; cable h1,h2,s1; audit 2 -600; fail h3,h1",
      POLICY_DRAIN, "no other suspect", NULL },
    { "of others, one is in both",
      "audit 1 -1800; cable h1,s1,s2; audit 2 -600; cable h1,s2,s3",
      POLICY_WAIT, "s2/1 would explain both", NULL },
    { "the third tells",
      "audit 1 -3600; cable h1,s1; audit 2 -1800; cable h1,s1;"
      "audit 3 -600; cable h1,s2", POLICY_DRAIN, "audits 1 and 3", NULL },
    { "another finding suspects what the first may be of",
      "audit 1 -1800; cable h1,s1; audit 2 -600; fail h1; cable s1",
      POLICY_WAIT, "s1/1 would explain both", NULL },
    { "also where it is less slow then",
      "audit 1 -1800; cable h1,s1; audit 2 -600; fail h1; lesscable s1",
      POLICY_WAIT, "s1/1 would explain both", NULL },
    { "but where it stands out there", "audit 1 -1800; cable h1,s1;"
      "audit 2 -600; worse h1; lesscable s1", POLICY_DRAIN, "", NULL },
    { "but not where it always was",
      "audit 1 -1800; cable h1,s1; audit 2 -600; fail h1; oddcable s1",
      POLICY_DRAIN, "", NULL },
    { "the other one FAILs elsewhere",
      "audit 1 -1800; cable h1,s1; audit 2 -900; cable h2,s1;"
      "audit 3 -600; fail h1; set MaxDrainShare 5", POLICY_WAIT,
      "but s1/1 would explain one, and FAILs elsewhere", NULL },
    { "which tells nothing of two that are of it alone",
      "audit 1 -3600; fail h1; audit 2 -1800; cable h1,s1;"
      "audit 3 -900; cable s1; audit 4 -600; fail h1", POLICY_DRAIN,
      "audits 1 and 4", NULL },
    { "or did so long ago",
      "audit 1 -86401; cable s1; audit 2 -1800; cable h1,s1;"
      "audit 3 -600; fail h1", POLICY_DRAIN, "audits 2 and 3", NULL },
    { "clean in between",
      "audit 1 -1800; cable h1,s1; audit 2 -900; clean h1;"
      "audit 3 -100; fail h1", POLICY_WAIT, "audit 3", NULL },
    { "not far enough apart",
      "audit 1 -699; cable h1,s1; audit 2 -100; fail h1", POLICY_WAIT, "",
      NULL },
    { "by one leader", "audit 1 -1800 led=h7; cable h1,s1;"
      "audit 2 -600 led=h7; fail h1", POLICY_WAIT, "one node led both",
      NULL },
    { "WARN of one of two",
      "audit 1 -1800; lesscable h1,s1; audit 2 -600; fail h1", POLICY_WAIT,
      "audit 2", NULL },
    { "one of them in an audit that does not count",
      "audit 1 -1800; cable h1,s1; switch s2; audit 2 -600; fail h1",
      POLICY_WAIT, "FAIL in audit 2:", "audit 1 counts against no host" },
    { "both in such",
      "audit 1 -1800; cable h1,s1; route s2; audit 2 -600; cable h1,s3;"
      "route s2", POLICY_NOTE, "one of several", "audit 2" },
    { "where it loses most messages",
      "audit 1 -1800; cable h1,s1 lossy; audit 2 -600; cable h1,s2 lossy",
      POLICY_NOTE, "one of several", NULL },
    { "a sign does not tell",
      "audit 1 -600; cable h1,s1; sign h1 -300 1", POLICY_WAIT, "", NULL },
    { "a user's check does not tell",
      "audit 1 -1800; cable h1,s1; audit 2 -600 user; fail h1", POLICY_WAIT,
      "audit 1", NULL },
    { "the likeliest host goes first", "audit 1 -600; cable h2,h1,s1",
      POLICY_NOTE, "may be of: waits for h2", NULL },
    { "but if it cannot", "audit 1 -600; cable h2,h1,s1; down h2",
      POLICY_WAIT, "to confirm it", NULL },
    { "and not if it was clean since",
      "audit 1 -1800; cable h2,h1,s1; audit 2 -600; clean h2", POLICY_WAIT,
      "audit 1", NULL },
    { "one of several, and drained by others",
      "audit 1 -600; cable h1,s1; foreign h1", POLICY_LEFT, "", NULL },
    { "and given back between them",
      "audit 1 -1800; cable h1,s1; did left h1 -1700 1;"
      "did lifted h1 -1000 1; audit 2 -600; fail h1", POLICY_NOTE,
      "not drained again for", NULL },

    /* what is of the node, and of no link */
    { "software", "audit 1 -1800; software h1; audit 2 -600; software h1",
      POLICY_NOTE, "software, PCIe or adapter is slow, says audit 2", NULL },
    { "FAIL, and software", "audit 1 -1800; fail h1; audit 2 -600;"
      "software h1", POLICY_WAIT, "audit 1", NULL },
    { "software between does not clear", "audit 1 -1800; fail h1;"
      "audit 2 -900; software h1; audit 3 -600; fail h1; software h2",
      POLICY_DRAIN, "audits 1 and 3", NULL },
    { "but if its link was clean then", "audit 1 -1800; fail h1;"
      "audit 2 -900; software h1; clean h1; audit 3 -600; fail h1",
      POLICY_WAIT, "audit 3", NULL },
    { "clean, but for its software", "audit 1 -600; software h1; clean h1",
      POLICY_NOTE, "software", NULL },
    { "software of others is no FAIL",
      TWICE ("h1") "software h2; software h3; software h4; software h5",
      POLICY_DRAIN, "", NULL },
    { "a switch link", "audit 1 -1800; cable s1; audit 2 -600; cable s1",
      POLICY_NONE, "nothing", NULL },
    { "losses", "audit 1 -1800; loss h1; audit 2 -600; loss h1", POLICY_DRAIN,
      "audits 1 and 2", NULL },
    { "losses once", "audit 1 -1800; fewloss h1; audit 2 -600; loss h1",
      POLICY_WAIT, "audit 2", NULL },
    { "few losses", "audit 1 -1800; fewloss h1; audit 2 -600; fewloss h1",
      POLICY_NOTE, "WARN", NULL },
    { "delays", "audit 1 -1800; delay h1; audit 2 -600; delay h1", POLICY_NOTE,
      "WARN", NULL },
    { "no numbers", "audit 1 -1800; nan h1; audit 2 -600; nan h1",
      POLICY_NOTE, "no numbers", NULL },

    /* changed */
    { "slow beside its class",
      "audit 1 -1800; static h1; audit 2 -600; static h1", POLICY_NOTE,
      "WARN", NULL },
    { "with a sign",
      "audit 1 -1800; static h1; audit 2 -600; static h1; sign h1 -900 1",
      POLICY_DRAIN, "audits 1 and 2", NULL },
    { "with a sign, but in incomplete audits",
      "audit 1 -1800 incomplete; static h1; audit 2 -600 incomplete;"
      "static h1; sign h1 -900 1", POLICY_NOTE, "does not count", NULL },
    { "once, with a sign", "audit 2 -600; static h1; sign h1 -900 1",
      POLICY_WAIT, "", NULL },
    { "less slow, with a sign",
      "audit 1 -1800; slight h1; audit 2 -600; slight h1; sign h1 -900 1",
      POLICY_NOTE, "", NULL },
    { "beyond FailLatency", "set FailLatency 482;"
      "audit 1 -1800; static h1; audit 2 -600; static h1", POLICY_DRAIN, "",
      NULL },
    { "not quite beyond it", "set FailLatency 483;"
      "audit 1 -1800; static h1; audit 2 -600; static h1", POLICY_NOTE, "",
      NULL },

    /* one audit and a sign */
    { "a sign", "audit 1 -600; fail h1; sign h1 -300 1", POLICY_DRAIN,
      "audit 1, and its link has lost width", NULL },
    { "a sign before it", "audit 1 -600; fail h1; sign h1 -900 0",
      POLICY_WAIT, "", NULL }, /* before any audit: not known to be of now */
    { "a sign since the last one", "audit 3 -600; fail h1; sign h1 -900 2",
      POLICY_DRAIN, "", NULL },
    { "a sign, then clean, then slow",
      "audit 2 -800; clean h1; audit 3 -600; fail h1; sign h1 -900 1",
      POLICY_WAIT, "", NULL },
    { "an old sign", "audit 1 -600; fail h1; sign h1 -86401 1", POLICY_WAIT,
      "", NULL },
    { "a sign at another host", "audit 1 -600; fail h1; sign h2 -300 1",
      POLICY_WAIT, "", NULL },
    { "a sign alone", "sign h1 -300 1", POLICY_NOTE, "lost width", NULL },
    { "a sign, and UNKNOWN", "audit 1 -600; unknown h1; sign h1 -300 1",
      POLICY_NOTE, "no audit says FAIL", NULL },

    /* whose word */
    { "users' checks", "audit 1 -1800 user; fail h1; audit 2 -600 user;"
      "fail h1", POLICY_NONE, "nothing", NULL },
    { "an audit and a user's check",
      "audit 1 -1800; fail h1; audit 2 -600 user; fail h1", POLICY_WAIT, "",
      NULL },
    { "a user's clean check",
      TWICE ("h1") "audit 3 -100 user; clean h1", POLICY_DRAIN, "", NULL },

    /* audits that count against no host */
    { "a switch is at fault, too", TWICE ("h1") "switch s1", POLICY_WAIT,
      "audit 1", "audit 2 counts against no host" },
    { "in both",
      "audit 1 -1800; fail h1; switch s1; audit 2 -600; fail h1; route s1",
      POLICY_NOTE, "a switch or a route",
      "audit 2 (and 1 more like it) counts against no host" },
    { "a switch that is less slow",
      "audit 1 -1800; worse h1; lessswitch s1;"
      "audit 2 -600; worse h1; lessswitch s1", POLICY_DRAIN, "", NULL },
    { "a switch by whose excess less is left than FailExcess",
      "audit 1 -1800; fail h1; lessswitch s1;"
      "audit 2 -600; fail h1; lessswitch s1", POLICY_NOTE,
      "a switch or a route", "counts against no host" },
    { "a switch that always was slower", TWICE ("h1") "oddswitch s1",
      POLICY_DRAIN, "", NULL },
    { "a switch link besides", TWICE ("h1") "cable s1", POLICY_DRAIN, "",
      NULL },
    { "an incomplete audit",
      "audit 1 -1800; fail h1; audit 2 -600 incomplete; fail h1",
      POLICY_WAIT, "audit 1", "did not come to its end" },
    { "a quarter of its hosts are silent",
      "audit 1 -1800 silent=4; fail h1; audit 2 -600 silent=4; fail h1",
      POLICY_DRAIN, "", NULL },
    { "more are", "audit 1 -1800; fail h1; audit 2 -600 silent=5; fail h1",
      POLICY_WAIT, "audit 1", "did not answer" },
    { "a host that loses most of its messages",
      "audit 1 -1800; fail h1 lossy; audit 2 -600; fail h1 lossy",
      POLICY_NOTE, "half of its messages", NULL },
    { "another that does", "audit 1 -1800 silent=1; fail h1; loss h2 lossy;"
      "audit 2 -600 silent=1; fail h1; loss h2 lossy", POLICY_DRAIN, "",
      NULL },

    /* by others */
    { "one leader", "audit 1 -1800 led=h7; fail h1; audit 2 -600 led=h7;"
      "fail h1", POLICY_WAIT, "audits 1 and 2, but one node led both: needs "
      "another leader", NULL },
    { "another in the third", "audit 1 -1800 led=h7; fail h1;"
      "audit 2 -700 led=h7; fail h1; audit 3 -60 led=h8; fail h1",
      POLICY_DRAIN, "audits 1 and 3", NULL },
    { "it led one itself", "audit 1 -1800 led=h1; fail h1; audit 2 -600;"
      "fail h1", POLICY_WAIT, "it led one of them itself", NULL },
    { "who led one is not known", "audit 1 -1800 led=; fail h1;"
      "audit 2 -600; fail h1", POLICY_WAIT, "not known who led", NULL },
    { "one partner alone", "audit 1 -1800; fail h1 with=h7; audit 2 -600;"
      "fail h1 with=h7", POLICY_WAIT, "one node had a part", NULL },
    { "another partner", "audit 1 -1800; fail h1 with=h7; audit 2 -600;"
      "fail h1 with=h8", POLICY_DRAIN, "", NULL },
    { "several partners in one of them",
      "audit 1 -1800; fail h1 with=h7; audit 2 -600; fail h1", POLICY_DRAIN,
      "", NULL },
    { "the only partner of one led the other",
      "audit 1 -1800 led=h7; fail h1; audit 2 -600; fail h1 with=h7",
      POLICY_WAIT, "one node had a part", NULL },
    { "a sign needs no other leader", "audit 1 -600 led=h1; fail h1;"
      "sign h1 -300 1", POLICY_DRAIN, "lost width", NULL },
    { "two of eight hosts", "set MaxDrainShare 5;"
      "audit 1 -1800 nodes=8; fail h1; fail h2;"
      "audit 2 -600 nodes=8; fail h1; fail h2", POLICY_DRAIN, "", NULL },
    { "two of seven", "set MaxDrainShare 5;"
      "audit 1 -1800 nodes=7; fail h1; fail h2;"
      "audit 2 -600 nodes=7; fail h1; fail h2", POLICY_NOTE,
      "common cause", "common cause" },
    { "two of seven, or switch links", "set MaxDrainShare 5;"
      "audit 1 -1800 nodes=7; fail h1; cable h2,s1;"
      "audit 2 -600 nodes=7; fail h1; cable h2,s2", POLICY_NOTE,
      "common cause", "common cause" },
    { "two rails of one of three",
      "audit 1 -1800 nodes=3; fail h1/1; fail h1/2;"
      "audit 2 -600 nodes=3; fail h1/1; fail h1/2", POLICY_DRAIN, "", NULL },

    /* alone */
    { "two audits of one number", TWICE ("h1") TWICE ("h2"), POLICY_NONE,
      "two audits have one number", "two audits have one number" },
    { "another host FAILs", TWICE ("h1") "fail h2", POLICY_NOTE,
      "MaxDrainPerDay allows 1", "2 hosts FAIL" },
    { "of 200 nodes", "nodes 200; " TWICE ("h1") "fail h2", POLICY_DRAIN, "",
      NULL },
    { "of 199", "nodes 199; " TWICE ("h1") "fail h2", POLICY_NOTE, "",
      "h[1-2]" },
    { "another that was clean since",
      TWICE ("h1") "fail h2; audit 3 -100; clean h2", POLICY_DRAIN, "", NULL },
    { "another that is muted", TWICE ("h1") "fail h2; mute h2/1",
      POLICY_DRAIN, "", NULL },
    { "another that was reset", TWICE ("h1") "fail h2; reset h2/1 2",
      POLICY_DRAIN, "", NULL },
    { "another that counts in doubt only",
      TWICE ("h1") "audit 3 -300 incomplete; fail h2", POLICY_NOTE, "",
      "2 hosts" },
    { "another that is drained since long",
      "audit 1 -90000; fail h2; foreign h2;"
      "audit 2 -1800; fail h1; audit 3 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "another that is in service, and not audited since long",
      "audit 1 -172800; fail h2; audit 2 -170000; fail h2;"
      "audit 3 -1800; fail h1; audit 4 -600; fail h1", POLICY_NOTE, "",
      "2 hosts" },
    { "another that FAILed once, and was not audited for an hour",
      "audit 1 -3600; fail h2;"
      "audit 2 -1800; fail h1; audit 3 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "a second less", "audit 1 -3599; fail h2;"
      "audit 2 -1800; fail h1; audit 3 -600; fail h1", POLICY_NOTE, "",
      "2 hosts" },
    { "another that a later audit is not sure of",
      TWICE ("h1") "fail h2; audit 3 -100; unknown h2", POLICY_DRAIN, "",
      NULL },
    { "that FAILs again", TWICE ("h1") "fail h2; audit 3 -300; unknown h2;"
      "audit 4 -100; fail h2", POLICY_NOTE, "", "2 hosts" },
    { "others that are UNKNOWN in the same audits",
      "audit 1 -1800; fail h1; unknown h2; unknown h3; unknown h4;"
      "unknown h5; audit 2 -600; fail h1; unknown h2; unknown h3;"
      "unknown h4; unknown h5", POLICY_DRAIN, "", NULL },
    { "one of ten nodes", "nodes 10; " TWICE ("h1"), POLICY_DRAIN, "", NULL },
    { "another that was drained by others today", TWICE ("h1") "fail h2;"
      "foreign h2", POLICY_NOTE, "", "2 hosts" },
    { "another that we drained today",
      TWICE ("h1") "did drain h2 -86399 1; ours h2", POLICY_NOTE, "",
      "2 hosts" },
    { "another that we drained a day ago",
      TWICE ("h1") "fail h2; did drain h2 -86400 1; ours h2", POLICY_DRAIN,
      "", NULL },
    { "another that we drained, by a clock that was ahead",
      TWICE ("h1") "did drain h2 999 1; ours h2", POLICY_NOTE, "",
      "2 hosts" },
    { "one of it and another", TWICE ("h1") "fail h1,h2", POLICY_DRAIN, "",
      NULL },
    { "one of another and it", TWICE ("h1") "fail h0,h1", POLICY_DRAIN, "",
      NULL },
    { "or a switch link", TWICE ("h1") "cable h2,s1", POLICY_NOTE, "",
      "2 hosts" },
    { "or a switch link, more than an hour ago", "audit 1 -3600; cable h2,s1;"
      "audit 2 -1800; fail h1; audit 3 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "in two audits", "audit 1 -9000; cable h2,s1; audit 2 -5000;"
      "cable h2,s1; audit 3 -1800; fail h1; audit 4 -600; fail h1",
      POLICY_NOTE, "", "h[1-2]" },
    { "that was clean since", "audit 1 -1800; fail h1; cable h2,s1;"
      "audit 2 -600; fail h1; clean h2", POLICY_DRAIN, "", NULL },
    { "of which one was clean since", "audit 1 -1800; fail h1; cable h2,h3,s1;"
      "audit 2 -600; fail h1; clean h2", POLICY_NOTE, "", "h[1,3]" },
    { "one of two others", TWICE ("h1") "fail h2,h3", POLICY_NOTE, "",
      "2 hosts" },
    { "of which a later audit is not sure",
      TWICE ("h1") "fail h2,h3; audit 3 -100; unknown h2,h3", POLICY_DRAIN,
      "", NULL },
    { "no drain at all", "set MaxDrainPerDay 0; " TWICE ("h1"), POLICY_NOTE,
      "allows 0", "allows 0" },
    { "two links of a host that Slurm does not know",
      TWICE ("h1") "clean hx/1; fail hx/2; fail hx/3", POLICY_NOTE, "",
      "1 host that FAILs is no node of Slurm: hx" },
    { "a host that Slurm does not know", TWICE ("h1") "fail hx", POLICY_NOTE,
      "", "no node of Slurm: hx" },

    /* affordable */
    { "a tenth is down", TWICE ("h1") "last down 10", POLICY_DRAIN, "",
      NULL },
    { "more is down", TWICE ("h1") "last down 11", POLICY_NOTE,
      "11 of 100 nodes", "11 of 100 nodes are unavailable" },
    { "half is powered down", TWICE ("h1") "last off 50", POLICY_DRAIN, "",
      NULL },
    { "half is reserved", TWICE ("h1") "last reserved 50; last down 50",
      POLICY_DRAIN, "", NULL },
    { "states are not known", TWICE ("h1") "last unclear 11", POLICY_NOTE,
      "11 of 100 nodes are unavailable or not registered yet", NULL },
    { "with another Action, no drain is held back",
      TWICE ("h1") "last down 11; set Action report", POLICY_NOTE,
      "11 of 100 nodes", "no other would be drained" },

    /* ours to do */
    { "drained by others", TWICE ("h1") "foreign h1", POLICY_LEFT,
      "drained by root (disk)", NULL },
    { "down", TWICE ("h1") "down h1", POLICY_LEFT, "down", NULL },
    { "reserved", TWICE ("h1") "reserved h1", POLICY_LEFT, "reserved", NULL },
    { "powered down", TWICE ("h1") "off h1", POLICY_NOTE, "powered down",
      NULL },
    { "its state is not known", TWICE ("h1") "unclear h1", POLICY_NONE,
      "nothing is changed", NULL },
    { "a healthy one that others drained", "foreign h1", POLICY_NONE,
      "nothing was found", NULL },

    /* wanted */
    { "Action=report", TWICE ("h1") "set Action report", POLICY_NOTE,
      "would be drained", NULL },
    { "Action=comment", TWICE ("h1") "set Action comment", POLICY_NOTE,
      "would be drained", NULL },
    { "muted", TWICE ("h1") "mute h1/1", POLICY_NONE, "muted", NULL },
    { "the node is muted", TWICE ("h1") "mute h1 1", POLICY_NONE, "muted",
      NULL },
    { "was muted until now", TWICE ("h1") "mute h1/1 0", POLICY_DRAIN, "",
      NULL },
    { "another link is muted", TWICE ("h1") "mute h1/2", POLICY_DRAIN, "",
      NULL },
    { "muted, but another link FAILs", TWICE ("h1") "fail h1/2; mute h1/1",
      POLICY_WAIT, "", NULL },
    { "reset behind both", TWICE ("h1") "reset h1/1 2", POLICY_NONE,
      "nothing was found", NULL },
    { "reset between", TWICE ("h1") "reset h1/1 1", POLICY_WAIT, "", NULL },
    { "reset before", "audit 2 -1800; fail h1; audit 3 -600; fail h1;"
      "reset h1/1 1", POLICY_DRAIN, "", NULL },
    { "another's reset", TWICE ("h1") "reset h2/1 2", POLICY_DRAIN, "",
      NULL },
    { "all reset", TWICE ("h1") "reset all 2", POLICY_NONE, "", NULL },

    /* new */
    { "our drain was ended", TWICE ("h1") "did drain h1 -90000 2",
      POLICY_LIFTED, "someone else ended our drain of audit 2", NULL },
    { "and that is recorded",
      TWICE ("h1") "did drain h1 -99000 2; did lifted h1 -99000 2",
      POLICY_NONE, "nothing was found", NULL },
    { "and it FAILs again",
      "did drain h1 -99000 2; did lifted h1 -86399 2;"
      "audit 3 -1800; fail h1; audit 4 -600; fail h1", POLICY_NOTE,
      "not drained again for 24 h", NULL },
    { "a day later",
      "did drain h1 -99000 2; did lifted h1 -86400 2;"
      "audit 3 -1800; fail h1; audit 4 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "one of two before it was ended",
      "did drain h1 -99000 2; did lifted h1 -86400 3;"
      "audit 3 -1800; fail h1; audit 4 -600; fail h1", POLICY_WAIT, "",
      NULL },
    { "left to others", TWICE ("h1") "did left h1 -900 2; foreign h1",
      POLICY_NONE, "left alone", NULL },
    { "and given back", TWICE ("h1") "did left h1 -900 2", POLICY_LIFTED,
      "back in service", NULL },
    { "given back, FAILs again",
      TWICE ("h1") "did left h1 -900 0; did lifted h1 -900 0", POLICY_NOTE,
      "not drained again for", NULL },
    { "we resumed it, it FAILs again",
      "did drain h1 -99000 2; did resume h1 -90000 4;"
      "audit 5 -1800; fail h1; audit 6 -600; fail h1", POLICY_NOTE,
      "an intermittent fault", NULL },
    { "its baseline was reset before that drain",
      "reset h1/1 1; did drain h1 -99000 2; did resume h1 -90000 4;"
      "audit 5 -1800; fail h1; audit 6 -600; fail h1", POLICY_NOTE,
      "an intermittent fault", NULL },
    { "its baseline was reset since",
      "did drain h1 -99000 2; reset h1/1 2; did resume h1 -90000 4;"
      "audit 5 -1800; fail h1; audit 6 -600; fail h1", POLICY_DRAIN, "",
      NULL },
    { "it FAILs before we resumed it",
      "did drain h1 -3000 0; did resume h1 -300 2; " TWICE ("h1"),
      POLICY_NONE, "nothing was found", NULL },

    /* resumes */
#define OURS "did drain h1 -90000 2; ours h1; "
    { "two clean audits",
      OURS "audit 3 -1800; clean h1; audit 4 -600; clean h1", POLICY_RESUME,
      "clean in audits", NULL },
    { "one", OURS "audit 3 -600; clean h1", POLICY_WAIT,
      "clean in 1 audit since", NULL },
    { "one leader of both", OURS "audit 3 -1800 led=h7; clean h1;"
      "audit 4 -600 led=h7; clean h1", POLICY_WAIT,
      "clean in 2 audits since, but one node led both: needs another leader",
      NULL },
    { "... and another in a third", OURS "audit 3 -1800 led=h7; clean h1;"
      "audit 4 -1000 led=h7; clean h1; audit 5 -600 led=h8; clean h1",
      POLICY_RESUME, "", NULL },
    { "... and then one that is bad", OURS "audit 3 -1800 led=h7; clean h1;"
      "audit 4 -1000 led=h8; clean h1; audit 5 -600 led=h9; warn h1",
      POLICY_WAIT, "clean in 0 audits", NULL },
    { "it led one of them itself", OURS "audit 3 -1800 led=h1; clean h1;"
      "audit 4 -600; clean h1", POLICY_WAIT, "it led one of them itself",
      NULL },
    { "who led one is not known (clean)", OURS "audit 3 -1800 led=; clean h1;"
      "audit 4 -600; clean h1", POLICY_WAIT, "not known who led", NULL },
    { "with one partner alone", OURS "audit 3 -1800; clean h1 with=h7;"
      "audit 4 -600; clean h1 with=h7", POLICY_WAIT, "one node had a part",
      NULL },
    { "with one each", OURS "audit 3 -1800; clean h1 with=h7;"
      "audit 4 -600; clean h1 with=h8", POLICY_RESUME, "", NULL },
    { "with one that led the other", OURS "audit 3 -1800 led=h7; clean h1;"
      "audit 4 -600; clean h1 with=h7", POLICY_WAIT, "one node had a part",
      NULL },
    { "too near each other",
      OURS "audit 3 -700; clean h1; audit 4 -101; clean h1", POLICY_WAIT, "",
      NULL },
    { "one before the drain",
      OURS "audit 2 -1800; clean h1; audit 3 -600; clean h1", POLICY_WAIT,
      "clean in 1 audit since", NULL },
    { "WARN between", OURS "audit 3 -1800; clean h1; audit 4 -900; warn h1;"
      "audit 5 -100; clean h1", POLICY_WAIT, "clean in 1 audit since", NULL },
    { "WARN behind", OURS "audit 3 -1800; clean h1; audit 4 -900; clean h1;"
      "audit 5 -100; warn h1", POLICY_WAIT, "clean in 0 audits", NULL },
    { "a sign behind", OURS "audit 3 -1800; clean h1; audit 4 -900; clean h1;"
      "sign h1 -100 4", POLICY_WAIT, "", NULL },
    { "UNKNOWN between",
      OURS "audit 3 -1800; clean h1; audit 4 -900; unknown h1;"
      "audit 5 -100; clean h1", POLICY_RESUME, "", NULL },
    { "software beside both",
      OURS "audit 3 -1800; clean h1; software h1; audit 4 -600; clean h1;"
      "software h1", POLICY_RESUME, "", NULL },
    { "software, and nothing that says clean",
      OURS "audit 3 -1800; software h1; audit 4 -600; software h1",
      POLICY_WAIT, "clean in 0 audits", NULL },
    { "one of two that FAIL between",
      OURS "audit 3 -1800; clean h1; audit 4 -900; cable h1,s1;"
      "audit 5 -100; clean h1", POLICY_WAIT, "clean in 1 audit since", NULL },
    { "incomplete ones", OURS "audit 3 -1800 incomplete; clean h1;"
      "audit 4 -600 incomplete; clean h1", POLICY_WAIT, "clean in 0 audits",
      NULL },
    { "users' checks", OURS "audit 3 -1800 user; clean h1;"
      "audit 4 -600 user; clean h1", POLICY_WAIT, "clean in 0 audits", NULL },
    { "another link of the host FAILs",
      OURS "audit 3 -1800; clean h1/1; fail h1/2; audit 4 -600; clean h1/1",
      POLICY_WAIT, "link h1/2 was clean in 0 audits", NULL },
    { "that was clean since",
      OURS "audit 3 -2900; clean h1/1; fail h1/2; audit 4 -1800; clean h1/2;"
      "audit 5 -600; clean h1/1; clean h1/2", POLICY_RESUME, "", NULL },
    { "that is muted",
      OURS "audit 3 -1800; clean h1/1; fail h1/2; audit 4 -600; clean h1/1;"
      "mute h1/2", POLICY_RESUME, "", NULL },
    { "the link of the drain was not measured",
      OURS "audit 3 -1800; clean h1/2; audit 4 -600; clean h1/2",
      POLICY_WAIT, "link h1/1 was clean in 0 audits", NULL },
    { "reset behind one",
      OURS "audit 3 -1800; clean h1; audit 4 -600; clean h1; reset h1/1 3",
      POLICY_WAIT, "clean in 1 audit since", NULL },
    { "long ago", OURS "audit 3 -89000; clean h1; audit 4 -600; clean h1",
      POLICY_WAIT, "clean in 1 audit since", NULL },
    { "Resume is off", OURS "audit 3 -1800; clean h1; audit 4 -600; clean h1;"
      "set Resume no", POLICY_NONE, "Resume is not set", NULL },
    { "Action is report", OURS "audit 3 -1800; clean h1; audit 4 -600;"
      "clean h1; set Action report", POLICY_NONE, "Action is not drain",
      NULL },
    { "down, too", OURS "audit 3 -1800; clean h1; audit 4 -600; clean h1;"
      "down h1", POLICY_NONE, "down", NULL },
    { "somebody edited the Reason", "did drain h1 -90000 2; edited h1;"
      "audit 3 -1800; clean h1; audit 4 -600; clean h1", POLICY_NONE,
      "RMA", NULL },
    { "somebody gave the same Reason", "did drain h1 -90000 2; copied h1;"
      "audit 3 -1800; clean h1; audit 4 -600; clean h1", POLICY_NONE,
      "drained by root", NULL },
    { "our Reason, of which the ledger knows nothing", "ours h1;"
      "audit 3 -1800; clean h1; audit 4 -600; clean h1", POLICY_NONE,
      "clean in audit 4", NULL },
    { "while much is down", OURS "last down 40; audit 3 -1800; clean h1;"
      "audit 4 -600; clean h1", POLICY_RESUME, "", "41 of" },
    { "our drain, still slow", OURS "audit 3 -1800; fail h1; audit 4 -600;"
      "fail h1", POLICY_WAIT, "clean in 0 audits", NULL },
#undef OURS

    /* the clock steps back */
    { "the second is of the future",
      "audit 1 -1800; fail h1; audit 2 1; fail h1", POLICY_WAIT,
      "clock ahead", "1 audit has a time stamp in the future" },
    { "the second is as of now",
      "audit 1 -1800; fail h1; audit 2 0; fail h1", POLICY_DRAIN, "", NULL },
    { "the first is later than the others",
      "audit 1 -600; fail h1; audit 2 -1800; fail h1; audit 3 -100; fail h1",
      POLICY_DRAIN, "audits 2 and 3", NULL },
    { "one sign of two is of the future",
      "audit 1 -600; fail h1; sign h1 5 1; sign h1 -300 1", POLICY_DRAIN, "",
      NULL },
    { "the second is earlier than the first",
      "audit 1 -100; fail h1; audit 2 -1800; fail h1", POLICY_WAIT, "",
      NULL },
    { "a clean one of the future holds back",
      TWICE ("h1") "audit 3 999; clean h1", POLICY_NONE, "clean in audit 3",
      "future" },
    { "clean ones of the future resume nothing",
      "did drain h1 -90000 2; ours h1;"
      "audit 3 -1800; clean h1; audit 4 1; clean h1", POLICY_WAIT, "",
      "future" },
    { "ended in the future",
      "did drain h1 -99000 2; did lifted h1 99000 2;"
      "audit 3 -1800; fail h1; audit 4 -600; fail h1", POLICY_NOTE,
      "not drained again", NULL },

    /* what cannot be read */
    { "the ledger", TWICE ("h1") "broken ledger", POLICY_NONE,
      "nothing is changed: the ledger cannot be read", "the ledger" },
    { "a node twice", TWICE ("h1") "broken twice", POLICY_NONE,
      "nothing is changed", "twice" },
    { "the clock", TWICE ("h1") "broken clock", POLICY_NONE,
      "nothing is changed", "clock" },
    { "who we are", TWICE ("h1") "broken self", POLICY_NONE,
      "nothing is changed", "who drains" },
};

static bool has_remark (const struct decisions *d, const char *text)
{
    for (size_t i = 0; i < d->nremarks; i++)
        if (strstr (d->remark[i], text))
            return true;
    return false;
}

static void test_cases (void)
{
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct world *w = world_of (cases[i].world);
        const struct decision *h1;
        struct decisions d;

        policy_decide (&d, &w->in, &w->cfg);
        h1 = decision_of (&d, "h1");
        ok (h1->kind == cases[i].kind && strstr (h1->why, cases[i].why),
            "%s: %s: %s", cases[i].what, policy_kind_name (h1->kind), h1->why);
        ok (cases[i].remark ? has_remark (&d, cases[i].remark)
                            : d.nremarks == 0,
            "%s: remark: %s", cases[i].what, d.nremarks ? d.remark[0] : "none");
        ok ((h1->kind == POLICY_DRAIN) == !strncmp (h1->reason, "pmm: ", 5)
                && (h1->kind == POLICY_DRAIN) == (h1->cause != CAUSES)
                && (h1->cause == CAUSES
                    || (h1->cause == CAUSE_CONFIRMED
                        || h1->cause == CAUSE_RATE)
                           == (strstr (h1->why, "FAIL in audits") != NULL)),
            "a drain, and nothing else, has a Reason and a cause");
        policy_clear (&d);
        world_destroy (w);
    }
}

static void test_reason (void)
{
    static const struct {
        const char *world, *host, *link, *port, *reason;
    } rows[] = {
        { TWICE ("h1"), NULL, NULL, NULL,
          "pmm: h1 mlx5_0/1's cable is 412 ns slow: reseat it, then "
          "swap it; audit 2, link h1/1, +412 ns over its 131 ns" },
        { "audit 1 -1800; bare h1; audit 57 -600; bare h1", NULL, NULL, NULL,
          "pmm: h1 mlx5_0/1's cable is 412 ns slow: reseat it, then "
          "swap it; audit 57, link h1/1, +412 ns" },
        { "audit 1 -1800; fail h1/1; worse h1/2;"
          "audit 2 -600; fail h1/1; worse h1/2", NULL, NULL, NULL,
          "pmm: h1 mlx5_0/1's cable is 900 ns slow: reseat it, then "
          "swap it; audit 2, link h1/2, +900 ns over its 131 ns" },
        { TWICE ("h1"), NULL, "S-ec0d9a0300ec8240/1", "mlx5_0/1",
          "pmm: h1 mlx5_0/1's cable is 412 ns slow: reseat it, then "
          "swap it; audit 2, link S-ec0d9a0300ec8240/1, +412 ns over its 131 ns" },
        { TWICE ("h1"), NULL, "a\nb\x1b[1m", "%s%n\xff",
          "pmm: h1 %s%n?'s cable is 412 ns slow: reseat it, then "
          "swap it; audit 2, link a?b?[1m, +412 ns over its 131 ns" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct world *w = world_of (rows[i].world);
        const struct decision *h1;
        struct decisions d;

        for (size_t k = 0; rows[i].link && k < w->in.naudits; k++) {
            w->suspect[k][0][0].link = rows[i].link;
            w->suspect[k][0][0].port = rows[i].port;
        }
        policy_decide (&d, &w->in, &w->cfg);
        h1 = decision_of (&d, "h1");
        ok (h1->kind == POLICY_DRAIN && !strcmp (h1->reason, rows[i].reason),
            "%s", h1->reason);
        policy_clear (&d);
        world_destroy (w);
    }
}

/* Names as long as a hostile node description, numbers beyond all measure. */
static void test_bounds (void)
{
    struct world *w = world_of (TWICE ("h1"));
    static char longname[5000];
    struct decisions d;
    const struct decision *h1;

    memset (longname, '"', sizeof (longname) - 1);
    for (size_t k = 0; k < w->in.naudits; k++) {
        w->suspect[k][0][0].link = longname;
        w->suspect[k][0][0].port = longname;
        w->finding[k][0].x.excess_ns = w->finding[k][0].x.expected_ns = 1e300;
        w->audit[k].id = UINT64_MAX - 1 + k;
    }
    policy_decide (&d, &w->in, &w->cfg);
    h1 = decision_of (&d, "h1");
    ok (h1->kind == POLICY_DRAIN && strlen (h1->reason) < 256
            && strstr (h1->reason, "; audit 18446744073709551615, link "),
        "a Reason is bounded: %s", h1->reason);
    ok (d.after == UINT64_MAX, "the newest audit is told");
    policy_clear (&d);
    world_destroy (w);
}

/* When another audit makes sense. */
static void test_when (void)
{
    static const struct {
        const char *world;
        int64_t when;
    } rows[] = {
        { "audit 1 -100; fail h1", 500 },
        { "audit 1 -600; fail h1", 0 },
        { "audit 1 -300; fail h1; audit 2 -100; fail h1", 300 },
        { "audit 1 100; fail h1", 0 },
        { "audit 1 -90000; fail h1", 0 },
        { "did drain h1 -90000 2; ours h1", 0 },
        { "audit 1 -900; fail h1; tried h1 -300 2", 900 },
        { "audit 1 -900; fail h1; tried h2 -300 2", 0 },
        { "audit 2 -900; fail h1; tried h1 -300 1", 0 },
        { "audit 1 -900; fail h1; tried h1 9 2", 0 },
        { "did drain h1 -100 2; ours h1", 500 },
        { "did drain h1 -9000 2; ours h1; tried h1 -200 3", 1000 },
        { "did drain h1 -9000 2; ours h1; tried h1 -2000 3;"
          "tried h1 -200 4", 2200 },
        { "did drain h1 -99999 2; ours h1; tried h1 -900 3; tried h1 -800 4;"
          "tried h1 -700 5; tried h1 -600 6; tried h1 -500 7;"
          "tried h1 -400 8; tried h1 -300 9", 21300 },
        { "did drain h1 -9000 2; ours h1; tried h1 -2000 3;"
          "tried h1 -200 4; audit 4 -190; clean h1", 410 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct world *w = world_of (rows[i].world);
        const struct decision *h1;
        struct decisions d;

        policy_decide (&d, &w->in, &w->cfg);
        h1 = decision_of (&d, "h1");
        ok (h1->kind == POLICY_WAIT && h1->when == NOW + rows[i].when,
            "%s: an audit in %lld s", rows[i].world,
            (long long)(h1->when - NOW));
        policy_clear (&d);
        world_destroy (w);
    }
}

/* What the options say by themselves. */
static void test_defaults (void)
{
    struct site site;
    struct policy_config c;

    conf_defaults (site_options, &site);
    policy_config (&c, &site);
    ok (c.act == POLICY_ACT_REPORT && !c.resume, "by default it only reports");
    ok (c.confirm_after_s == 600 && c.confirm_within_s == 86400
            && c.again_after_s == 86400 && c.max_drain == 5
            && c.max_drain_percent == 1 && c.max_unavailable_percent == 10
            && c.fail_ns == 300 && c.fail_latency_ns == 0,
        "the defaults are those of pmm.conf(5)");
    conf_clear (site_options, &site);
}

/* What site_check says of bad ones. */
static void test_options (void)
{
    static const struct {
        const char *key, *value, *error; /* NULL: good */
    } rows[] = {
        { "Action", "comment", NULL },
        { "Action", "resume", "Action" },
        { "MaxDrainShare", "100", NULL },
        { "MaxDrainShare", "100.1", "MaxDrainShare" },
        { "MaxUnavailable", "101", "MaxUnavailable" },
        { "ConfirmAfter", "0", "ConfirmAfter" },
        { "ConfirmAfter", "24h", "ConfirmWithin" },
        { "ConfirmWithin", "11m", NULL },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct site site;
        struct error err = { 0 };
        int rc;

        conf_defaults (site_options, &site);
        rc = conf_set (site_options, &site, rows[i].key, rows[i].value, &err);
        if (rc == 0)
            rc = site_check (&site, &err);
        ok (rows[i].error ? rc < 0 && strstr (err.text, rows[i].error)
                          : rc == 0,
            "%s=%s: %s", rows[i].key, rows[i].value, rc < 0 ? err.text : "ok");
        conf_clear (site_options, &site);
    }
}

int main (void)
{
    test_cases ();
    test_reason ();
    test_bounds ();
    test_when ();
    test_defaults ();
    test_options ();
    return done_testing ();
}
