/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm ledger: what audits measured, and its evaluation. */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "pmm/lines.h"
#include "pmm/verb.h"
#include "util/json.h"

enum { SHOW_LAST = 20, TREND_LAST = 100, DAY_S = 24 * 3600, DAYS_MAX = 36500 };

static struct ledger_options {
    const char *node, *why;
    int last, days, keep; /* -1: not given */
    bool off;
} given = { .last = -1, .days = -1, .keep = -1 };

#define FIELD(name) offsetof (struct ledger_options, name)
#define LAST(what) { "last", 'n', "N", opt_int, FIELD (last), what }
#define DAYS(what)                                                            \
    { "days", 0, "N", opt_int, FIELD (days), what, 0, DAYS_MAX }
#define WHY                                                                   \
    { "why", 0, "TEXT", opt_string, FIELD (why), \
      "the reason, for whoever asks later" }

static const struct opt show_options[] = {
    LAST ("the newest N audits (default: 20)"),
    { 0 },
};
static const struct opt missed_options[] = {
    DAYS ("audits of the last N days (default: 1)"),
    { 0 },
};
static const struct opt trend_options[] = {
    LAST ("the newest N audits (default: 100)"),
    { 0 },
};
static const struct opt mute_options[] = {
    WHY,
    { "node", 0, "NODE", opt_string, FIELD (node),
      "all links of this node, or LINK at this node only" },
    DAYS ("for N days (default: until --off)"),
    { "off", 0, NULL, opt_true, FIELD (off), "judge the link again" },
    { 0 },
};
static const struct opt_rule mute_rules[] = {
    { "LINK node", OPT_NEEDS, "why off" },
    { "why days off", OPT_NEEDS, "LINK node" },
    { "off", OPT_EXCLUDES, "why days" },
    { 0 },
};
static const struct opt rebase_options[] = {
    WHY,
    { 0 },
};
static const struct opt_rule rebase_rules[] = {
    { "LINK", OPT_NEEDS, "why" },
    { "why", OPT_NEEDS, "LINK" },
    { 0 },
};
static const struct opt prune_options[] = {
    DAYS ("audits older than N days"),
    { "keep", 0, "N", opt_int, FIELD (keep), "forget all but N audits" },
    { 0 },
};
static const struct opt_rule prune_rules[] = {
    { NULL, OPT_NEEDS, "days keep" },
    { 0 },
};
#undef FIELD

static int64_t now (void)
{
    return (int64_t)time (NULL);
}

/*
 * Output
 */

static const char *mute_line (const json_t *m)
{
    bool both = *text_of (m, "link") && *text_of (m, "node");

    if (json_int (m, "until", 0))
        return both ? "{link} at {node} {@time} by {who} until {@until}:"
                      " {why}\n"
                    : "{link}{node} {@time} by {who} until {@until}: {why}\n";
    return both ? "{link} at {node} {@time} by {who}: {why}\n"
                : "{link}{node} {@time} by {who}: {why}\n";
}

static const char *rebase_line (const json_t *m)
{
    (void)m;
    return "{link} {@time} by {who} after audit {after}: {why}\n";
}

static const char *point_line (const json_t *p)
{
    return json_object_get (p, "rate_bits")
               ? "audit {audit} begun={@begun} {level} {+change_ns} ns on"
                 " {routes route}; {:rate_bits} of {:rate_expected_bits} Gb/s\n"
               : "audit {audit} begun={@begun} {level} {+change_ns} ns on"
                 " {routes route}\n";
}

static const char *failed_line (const json_t *v)
{
    return *text_of (v, "node")
               ? "{audits audit}, newest {newest}, without a result: {node}:"
                 " {cause}\n"
               : "{audits audit}, newest {newest}, without a result:"
                 " {cause}\n";
}

/* Write a list, a line per entry, or as one JSON object with `key`. Takes
 * ownership.
 */
static int write_list (struct inputs *in, const char *key, json_t *list,
                       const char *(*line) (const json_t *entry))
{
    json_t *v;
    FILE *fp;
    size_t i;

    need (list);
    if (in->json) {
        inputs_put_json (in, "ledger", NULL, json_pack ("{s:o}", key, list));
        return EXIT_OK;
    }
    fp = inputs_output (in);
    json_array_foreach (list, i, v)
        print_line (v, line (v), fp);
    json_decref (list);
    return EXIT_OK;
}

/*
 * The verbs
 */

static int show_ledger (struct inputs *in)
{
    json_t *audit;
    uint64_t id;

    inputs_ledger (in, LEDGER_READ);
    if (in->noperands == 0) {
        json_t *list = need (
            ledger_json (in->ledger, LEDGER_AUDITS,
                         given.last < 0 ? SHOW_LAST : given.last, 0, &fault));

        if (!in->json && json_array_size (list) == 0)
            fputs ("no audit yet\n", inputs_output (in));
        return write_list (in, "audits", list, audit_line);
    }
    if (text_u64 (in->operand[0], 1, INT64_MAX, &id) < 0)
        die_input ("'%.40s' is not an audit id", in->operand[0]);
    audit = verb_keep_json (
        need (ledger_audit (in->ledger, (int64_t)id, &fault)));
    if (in->json)
        inputs_put_json (in, "audit", NULL, json_incref (audit));
    else
        print_audit (audit, SIZE_MAX, inputs_output (in));
    return EXIT_OK;
}

static int show_missed_audits (struct inputs *in)
{
    int64_t days = given.days < 0 ? 1 : given.days;
    json_t *failed, *out = verb_keep_json (json_object ()), *v;
    struct ledger_rows faulty;
    const char *node;

    inputs_ledger (in, LEDGER_READ);
    failed = need (ledger_json (in->ledger, LEDGER_FAILED,
                                now () - days * DAY_S, 0, &fault));
    need_ok (ledger_faulty (in->ledger, now (), &faulty, &fault));
    for (size_t i = 0; i < faulty.n; i++)
        json_put (out, faulty.fault[i].node,
                  ledger_fault_json (&faulty.fault[i]));
    if (in->json) {
        inputs_put_json (in, "ledger", NULL,
                         json_pack ("{s:I, s:o, s:O}", "days", (json_int_t)days,
                                    "failed", failed, "faulty", out));
        return EXIT_OK;
    }
    json_object_foreach (out, node, v) {
        fputs (node, inputs_output (in));
        print_left_out (" ", v, inputs_output (in));
    }
    if (json_object_size (out) == 0 && json_array_size (failed) == 0)
        fprintf (inputs_output (in),
                 "no audit of the last %s failed, and no node is left out\n",
                 COUNTED ((uint64_t)days, "day"));
    return write_list (in, "failed", failed, failed_line);
}

/* The id of the link that the operand names, into buf. */
static void find_link (const struct inputs *in, char buf[LEDGER_NAME_MAX])
{
    const char *name = in->operand[0];
    unsigned int port;
    unsigned long long guid;
    uint32_t link;
    int end = 0;

    if (in->fabric) {
        if ((link = fabric_find_link (in->fabric, name)) == FABRIC_NONE)
            die_input ("no link '%.80s' in the fabric", name);
        snprintf (buf, LEDGER_NAME_MAX, "%s", in->fabric->link[link].id);
        return;
    }
    if (sscanf (name, "%16llx/%3u%n", &guid, &port, &end) != 2 || name[end]
        || end < 18)
        die_input ("'%.80s' is not a link's id; other names need -f FABRIC",
                   name);
    snprintf (buf, LEDGER_NAME_MAX, "%016llx/%u", guid, port);
}

static int trend (struct inputs *in)
{
    char link[LEDGER_NAME_MAX];

    inputs_ledger (in, LEDGER_READ);
    find_link (in, link);
    return write_list (in, "trend",
                       ledger_trend (in->ledger, in->fabric->hash, link,
                                     given.last < 0 ? TREND_LAST : given.last,
                                     &fault),
                       point_line);
}

static int mute (struct inputs *in)
{
    char link[LEDGER_NAME_MAX];
    struct ledger_mute m = {
        .link = in->noperands > 0 ? link : NULL, .node = given.node,
        .who = user_name (), .why = given.why,
    };
    bool lists = !m.link && !m.node;

    inputs_ledger (in, lists ? LEDGER_READ : LEDGER_WRITE);
    if (m.link)
        find_link (in, link);
    if (lists)
        return write_list (in, "mutes",
                           ledger_json (in->ledger, LEDGER_MUTES, 0, 0, &fault),
                           mute_line);
    if (given.off)
        return ledger_unmute (in->ledger, m.link, m.node, &fault);
    if (given.days >= 0)
        m.until = now () + (int64_t)given.days * DAY_S;
    return ledger_mute (in->ledger, now (), &m, &fault);
}

static int rebase (struct inputs *in)
{
    char link[LEDGER_NAME_MAX];
    bool lists = in->noperands == 0;

    inputs_ledger (in, lists ? LEDGER_READ : LEDGER_WRITE);
    if (lists)
        return write_list (
            in, "rebases",
            ledger_json (in->ledger, LEDGER_REBASES, 0, 0, &fault),
            rebase_line);
    find_link (in, link);
    return ledger_rebase (in->ledger, now (), link, user_name (), given.why,
                          &fault);
}

static int prune_ledger (struct inputs *in)
{
    int64_t before = given.days >= 0 ? now () - (int64_t)given.days * DAY_S
                                     : INT64_MIN;
    struct ledger_pruned done;

    inputs_ledger (in, LEDGER_WRITE);
    do
        need_ok (ledger_prune (in->ledger, before,
                               given.keep >= 0 ? given.keep : INT64_MAX, &done,
                               &fault));
    while (done.more);
    return EXIT_OK;
}

static int check_ledger_file (struct inputs *in)
{
    inputs_ledger (in, LEDGER_READ);
    return ledger_check (in->ledger, &fault);
}

static int salvage_ledger (struct inputs *in)
{
    struct ledger *into;
    int64_t lost;

    inputs_ledger (in, LEDGER_READ);
    if (access (in->operand[0], F_OK) == 0)
        die_input ("%s exists", in->operand[0]);
    into = need (ledger_open (in->operand[0], LEDGER_CREATE, &fault));
    lost = ledger_salvage (into, ledger_path (in->ledger), &fault);
    ledger_close (into);
    if (lost > 0)
        verb_say ("%s lost, audits or others",
                  COUNTED ((uint64_t)lost, "record"));
    return lost < 0 ? -1 : EXIT_OK;
}

enum { LIST = TAKES_LEDGER | TAKES_OUTPUT | TAKES_JSON | TAKES_COLOUR };

static const struct verb *const verbs[] = {
    &(const struct verb){ .name = "show", .help = "show audits, or one of them",
                          .may = LIST, .operands = "[AUDIT]",
                          .max = 1, .options = show_options, .given = &given,
                          .run = show_ledger },
    &(const struct verb){ .name = "missed",
                          .help = "show nodes that could not be measured",
                          .may = LIST,
                          .options = missed_options, .given = &given,
                          .run = show_missed_audits },
    &(const struct verb){ .name = "trend", .help = "show a link over time",
                          .needs = TAKES_FABRIC, .may = LIST,
                          .operands = "LINK", .min = 1, .max = 1,
                          .options = trend_options, .given = &given,
                          .run = trend },
    &verb_ledger_solve,
    &(const struct verb){
        .name = "mute", .help = "do not judge a link",
        .may = LIST | TAKES_FABRIC, .operands = "[LINK]", .max = 1,
        .options = mute_options, .rules = mute_rules, .given = &given,
        .run = mute,
    },
    &(const struct verb){ .name = "rebase", .help = "restart a repaired link",
                          .may = LIST | TAKES_FABRIC,
                          .operands = "[LINK]", .max = 1,
                          .options = rebase_options,
                          .rules = rebase_rules, .given = &given,
                          .run = rebase },
    &(const struct verb){ .name = "prune", .help = "forget old audits",
                          .may = TAKES_LEDGER, .options = prune_options,
                          .rules = prune_rules, .given = &given,
                          .run = prune_ledger },
    &(const struct verb){ .name = "check", .help = "check the file for damage",
                          .may = TAKES_LEDGER, .run = check_ledger_file },
    &(const struct verb){ .name = "salvage",
                          .help = "copy what can be read of a damaged file",
                          .may = TAKES_LEDGER, .operands = "NEW",
                          .min = 1, .max = 1, .run = salvage_ledger },
    NULL,
};

const struct verb verb_ledger = {
    .group = VERBS_SITE, .name = "ledger",
    .help = "show what audits measured, found and did", .verbs = verbs,
};
