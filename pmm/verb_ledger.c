/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm ledger: what audits measured, and its evaluation. */
#include "config.h"

#include <pwd.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/judge/judge.h"
#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "pmm/lines.h"
#include "pmm/trends.h"
#include "prolog/ledger/ledger.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/site.h"
#include "util/text.h"

enum {
    SHOW_LAST = 20,
    TREND_LAST = 100,
    BASELINE_LAST = 3, /* audits per link */
    DAY_S = 24 * 3600,
    DAYS_MAX = 36500,
    POINTS = 4,             /* per trend */
    POINTS_MAX = 1000,
};

struct ledger_options {
    const char *ledger, *conf, *fabric, *hosts, *node, *why;
    const char *measured_on, *plan, *samples; /* arguments of inputs_load */
    const char *output;
    struct strings baseline;
    uint64_t job;
    int last, days, keep; /* -1: not given */
    int points;
    double half_life; /* days */
    bool json, off, as_baseline;
};

/* State of a run of the verb. */
struct ledger_run {
    const struct ledger_options *o;
    const char *arg; /* its operand, or NULL */
    struct ledger *ledger;
    struct fabric *fabric; /* NULL: no -f */
    FILE *fp;              /* its output */
    int64_t now;
    enum verdict_status status;
};

#define FIELD(name) offsetof (struct ledger_options, name)
#define LEDGER                                                                \
    { "ledger", 'L', "FILE", opt_string, FIELD (ledger),                      \
      "the ledger, if not pmm.conf's" },                                      \
    { "conf", 0, "FILE", opt_string, FIELD (conf),                            \
      "take this for pmm.conf" },                                             \
    { "output", 'o', "FILE", opt_string, FIELD (output),                      \
      "write here, not to standard output" }
#define FABRIC(what) { "fabric", 'f', "FILE", opt_string, FIELD (fabric), what }
#define JSON { "json", 0, NULL, opt_true, FIELD (json), "as JSON" }
#define LAST(what) { "last", 'n', "N", opt_int, FIELD (last), what }
#define WHY                                                                   \
    { "why", 0, "TEXT", opt_string, FIELD (why), "the reason, for others" }

static const struct opt show_table[] = {
    LEDGER,
    JSON,
    LAST ("so many of the newest audits: 20"),
    { 0 },
};
static const struct opt missed_table[] = {
    LEDGER,
    JSON,
    { "days", 0, "N", opt_int, FIELD (days), "audits of so many days: 1" },
    { 0 },
};
static const struct opt trend_table[] = {
    LEDGER,
    FABRIC ("the snapshot"),
    JSON,
    LAST ("so many of the newest audits: 100"),
    { 0 },
};
static const struct opt solve_table[] = {
    LEDGER,
    FABRIC ("the snapshot"),
    JSON,
    { "half-life", 0, "DAYS", opt_double, FIELD (half_life),
      "what is so much older counts half as much: 7" },
    { "points", 0, "N", opt_int, FIELD (points),
      "of each link's trend, a half-life apart: 4" },
    { 0 },
};
static const struct opt mute_table[] = {
    LEDGER,
    FABRIC ("a snapshot, to name a link by its hosts or switches"),
    JSON,
    WHY,
    { "node", 0, "NODE", opt_string, FIELD (node),
      "all of this node, or LINK at this node alone" },
    { "days", 0, "N", opt_int, FIELD (days), "for so long, not for ever" },
    { "off", 0, NULL, opt_true, FIELD (off), "hear of it again" },
    { 0 },
};
static const struct opt rebase_table[] = {
    LEDGER,
    FABRIC ("a snapshot, to name a link by its hosts or switches"),
    JSON,
    WHY,
    { 0 },
};
static const struct opt prune_table[] = {
    LEDGER,
    { "days", 0, "N", opt_int, FIELD (days), "audits older than this" },
    { "keep", 0, "N", opt_int, FIELD (keep), "all but so many" },
    { 0 },
};
static const struct opt export_table[] = {
    LEDGER,
    { "baseline", 0, NULL, opt_true, FIELD (as_baseline),
      "a baseline for 'pmm judge', not all audits" },
    FABRIC ("the snapshot that the baseline is for"),
    LAST ("samples of a route, for it: 10"),
    { 0 },
};
static const struct opt check_table[] = {
    LEDGER,
    { 0 },
};
static const struct opt begin_table[] = {
    LEDGER,
    FABRIC ("the snapshot"),
    { "hosts", 0, "LIST", opt_string, FIELD (hosts),
      "whom the audit is of; @FILE; all if not given" },
    { "job", 0, "N", opt_u64, FIELD (job), "the job that it is about" },
    { 0 },
};
static const struct opt add_table[] = {
    LEDGER,
    { "fabric", 'f', "FILE", opt_string, FIELD (measured_on),
      "the snapshot" },
    { "plan", 0, "FILE", opt_string, FIELD (plan), "what was measured" },
    { "samples", 0, "FILE", opt_string, FIELD (samples),
      "the audit's round-trip times" },
    { "baseline", 0, "FILE", opt_append, FIELD (baseline),
      "earlier samples; may be given several times" },
    { 0 },
};
#undef FIELD

/*
 * Text
 */

static void print_audit (const json_t *a, FILE *fp)
{
    print_line (a, "audit {id} begun={@begun} {status} hosts={hosts}"
                   " job={about} by={why} {sentence}\n", fp);
}

static void print_details (const json_t *a, FILE *fp)
{
    static const struct {
        const char *key, *format;
    } lists[] = {
        { "findings", "  {level} {why}\n" },
        { "limits", NULL },
        { "hosts", "  missing: {host}\n" },
        { "signs", "  sign: {kind} at {link} {host}\n" },
        { "faults", "  at fault: {node}: {cause}\n" },
        { "actions", "  {kind} {node} {@done}: {reason} ({why})\n" },
    };
    json_t *v;
    size_t i;

    if (json_is_string (json_object_get (a, "leader")))
        print_line (a, "  led by {leader}\n", fp);
    for (size_t k = 0; k < sizeof (lists) / sizeof (lists[0]); k++)
        json_array_foreach (json_object_get (a, lists[k].key), i, v) {
            const json_t *answered = json_object_get (v, "answered");

            if (!lists[k].format)
                fprintf (fp, "  limit: %s\n", json_string_value (v));
            else if (!answered || (json_is_integer (answered)
                                   && !json_integer_value (answered)))
                print_line (v, lists[k].format, fp);
        }
    print_line (a, "  {probes probe}\n", fp);
}

static void print_mute (const json_t *m, FILE *fp)
{
    print_line (m, *text_of (m, "link") && *text_of (m, "node")
                       ? "{link} at {node} {@time} by {who}"
                       : "{link}{node} {@time} by {who}", fp);
    if (json_integer_value (json_object_get (m, "until")))
        print_line (m, " until {@until}", fp);
    print_line (m, ": {why}\n", fp);
}

static void print_rebase (const json_t *m, FILE *fp)
{
    print_line (m, "{link} {@time} by {who} after audit {after}: {why}\n", fp);
}

static void print_point (const json_t *p, FILE *fp)
{
    print_line (p, "audit {audit} begun={@begun} {level} {+change_ns} ns on"
                   " {routes route}\n", fp);
}

static void print_failed (const json_t *v, FILE *fp)
{
    print_line (v, *text_of (v, "node")
                       ? "{audits audit}, newest {newest}, without a result:"
                         " {node}: {cause}\n"
                       : "{audits audit}, newest {newest}, without a result:"
                         " {cause}\n", fp);
}

/* Write an object as one line, with `kind` first. Takes ownership; NULL is
 * allowed.
 */
static int write_line (struct ledger_run *w, const char *kind, json_t *obj,
                       struct error *err)
{
    return obj ? json_write_file (kind, NULL, obj, w->fp, err) : -1;
}

/* Write a list, one line per entry, or as one JSON object with `key`. Takes
 * ownership.
 */
static int write_list (struct ledger_run *w, const char *key, json_t *list,
                       void (*print) (const json_t *, FILE *),
                       struct error *err)
{
    json_t *v;
    size_t i;

    if (!list)
        return -1;
    if (w->o->json)
        return write_line (w, "ledger", json_pack ("{s:o}", key, list), err);
    json_array_foreach (list, i, v)
        print (v, w->fp);
    json_decref (list);
    return 0;
}

/*
 * The verbs
 */

static int show (struct ledger_run *w, struct error *err)
{
    uint64_t id;
    json_t *audit;

    if (!w->arg)
        return write_list (w, "audits",
                           ledger_audits (w->ledger,
                                          w->o->last < 0 ? SHOW_LAST
                                                         : w->o->last, err),
                           print_audit, err);
    if (text_u64 (w->arg, 1, INT64_MAX, &id) < 0)
        return error_input (err, "'%.40s' is not an audit id", w->arg);
    if (!(audit = ledger_audit (w->ledger, (int64_t)id, err)))
        return -1;
    if (w->o->json)
        return write_line (w, "audit", audit, err);
    print_audit (audit, w->fp);
    print_details (audit, w->fp);
    json_decref (audit);
    return 0;
}

static int missed (struct ledger_run *w, struct error *err)
{
    int64_t days = w->o->days < 0 ? 1 : w->o->days;
    json_t *failed = ledger_failed (w->ledger, w->now - days * DAY_S, err);
    json_t *faulty = failed ? ledger_faulty (w->ledger, w->now, err) : NULL;
    int rc = faulty ? 0 : -1;
    const char *node;
    json_t *v;
    size_t i;

    if (rc == 0 && w->o->json)
        rc = write_line (w, "ledger",
                         json_pack ("{s:I, s:O, s:O}", "days",
                                    (json_int_t)days, "failed", failed,
                                    "faulty", faulty), err);
    else if (rc == 0) {
        json_object_foreach (faulty, node, v) {
            fputs (node, w->fp);
            print_line (v, " left out until {@until}: {cause} (faults: "
                           "{faults} since {@since})\n", w->fp);
        }
        json_array_foreach (failed, i, v)
            print_failed (v, w->fp);
    }
    json_decref (failed);
    json_decref (faulty);
    return rc;
}

/* The id of a link named on the command line, into buf. */
static int find_link (const struct ledger_run *w, char *buf, size_t size,
                      struct error *err)
{
    unsigned int port;
    unsigned long long guid;
    uint32_t link;
    int end = 0;

    if (w->fabric) {
        link = fabric_find_link (w->fabric, w->arg);
        if (link == FABRIC_NONE)
            return error_input (err, "no link '%.80s' in the fabric", w->arg);
        snprintf (buf, size, "%s", w->fabric->link[link].id);
        return 0;
    }
    if (sscanf (w->arg, "%16llx/%3u%n", &guid, &port, &end) != 2
        || w->arg[end] || end < 18)
        return error_input (err, "'%.80s' is no link's id; other names need "
                                 "-f FABRIC", w->arg);
    snprintf (buf, size, "%016llx/%u", guid, port);
    return 0;
}

static int trend (struct ledger_run *w, struct error *err)
{
    char link[LEDGER_NAME_MAX];

    if (!w->fabric)
        return error_input (err, "-f FABRIC is missing");
    if (find_link (w, link, sizeof (link), err) < 0)
        return -1;
    return write_list (w, "trend",
                       ledger_trend (w->ledger, w->fabric->hash, link,
                                     w->o->last < 0 ? TREND_LAST
                                                    : w->o->last, err),
                       print_point, err);
}

static int solve_all (struct ledger_run *w, struct error *err)
{
    const struct trends_options opts = {
        .now = w->now,
        .half_life_s = w->o->half_life * DAY_S,
        .points = w->o->points,
    };
    struct trends t = { 0 };
    int rc;

    if (!w->fabric)
        return error_input (err, "-f FABRIC is missing");
    if (!(w->o->half_life > 0 && w->o->half_life <= DAYS_MAX))
        return error_input (err, "--half-life: from 0 to %d days are wanted",
                            DAYS_MAX);
    if (w->o->points < 0 || w->o->points > POINTS_MAX)
        return error_input (err, "--points: 0 to %d are wanted", POINTS_MAX);
    rc = trends_make (&t, w->ledger, w->fabric, &opts, err);
    if (rc == 0 && w->o->json) {
        json_t *json = trends_json (&t, err);

        rc = json ? json_write (json, w->fp, err) : -1;
        json_decref (json);
    }
    else if (rc == 0)
        rc = trends_print (&t, w->fp, err);
    trends_clear (&t);
    return rc;
}

static const char *who (void)
{
    const struct passwd *pw = getpwuid (geteuid ());

    return pw ? pw->pw_name : "unknown";
}

static int mute (struct ledger_run *w, struct error *err)
{
    char link[LEDGER_NAME_MAX];
    struct ledger_mute m = {
        .link = w->arg ? link : NULL, .node = w->o->node, .why = w->o->why,
    };

    if (!m.link && !m.node)
        return write_list (w, "mutes", ledger_mutes (w->ledger, err),
                           print_mute, err);
    if (m.link && find_link (w, link, sizeof (link), err) < 0)
        return -1;
    if (w->o->off)
        return ledger_unmute (w->ledger, m.link, m.node, err);
    if (!m.why)
        return error_input (err, "--why TEXT is missing");
    if (w->o->days >= 0)
        m.until = w->now + (int64_t)w->o->days * DAY_S;
    m.who = who ();
    return ledger_mute (w->ledger, w->now, &m, err);
}

static int rebase (struct ledger_run *w, struct error *err)
{
    char link[LEDGER_NAME_MAX];

    if (!w->arg)
        return write_list (w, "rebases", ledger_rebases (w->ledger, err),
                           print_rebase, err);
    if (find_link (w, link, sizeof (link), err) < 0)
        return -1;
    if (!w->o->why)
        return error_input (err, "--why TEXT is missing");
    return ledger_rebase (w->ledger, w->now, link, who (), w->o->why, err);
}

static int prune (struct ledger_run *w, struct error *err)
{
    const struct ledger_options *o = w->o;
    int64_t before = o->days >= 0 ? w->now - (int64_t)o->days * DAY_S
                                  : INT64_MIN;

    if (o->days < 0 && o->keep < 0)
        return error_input (err, "--days N or --keep N is missing");
    return ledger_prune (w->ledger, before, o->keep >= 0 ? o->keep : INT64_MAX,
                         err) < 0
               ? -1
               : 0;
}

static int export_baseline (struct ledger_run *w, struct error *err)
{
    struct pathset *ps = NULL;
    struct samples *s;
    int rc = -1;

    if (!w->fabric)
        return error_input (err, "-f FABRIC is missing");
    s = ledger_baseline (w->ledger, w->fabric->hash,
                         w->o->last < 0 ? BASELINE_LAST : w->o->last,
                         fabric_resolve, w->fabric, &ps, err);
    if (s)
        rc = samples_write (s, ps, w->fp, err);
    samples_destroy (s);
    pathset_destroy (ps);
    return rc;
}

/* Write a line per entry of a list. Takes ownership. */
static int export_list (struct ledger_run *w, const char *kind, json_t *list,
                        struct error *err)
{
    size_t i;
    json_t *v;
    int rc = list ? 0 : -1;

    json_array_foreach (list, i, v)
        if (rc == 0)
            rc = write_line (w, kind, json_incref (v), err);
    json_decref (list);
    return rc;
}

static int export (struct ledger_run *w, struct error *err)
{
    int64_t id = 0;

    if (w->o->as_baseline)
        return export_baseline (w, err);
    while ((id = ledger_next (w->ledger, id, err)) > 0) {
        json_t *audit = ledger_audit (w->ledger, id, err);

        if (!audit || write_line (w, "audit", audit, err) < 0)
            return -1;
    }
    if (id < 0
        || export_list (w, "action",
                        ledger_actions (w->ledger, INT64_MAX, err), err) < 0
        || export_list (w, "comment",
                        ledger_comments (w->ledger, INT64_MAX, err), err) < 0
        || export_list (w, "mute", ledger_mutes (w->ledger, err), err) < 0)
        return -1;
    return export_list (w, "rebase", ledger_rebases (w->ledger, err), err);
}

static int check (struct ledger_run *w, struct error *err)
{
    return ledger_check (w->ledger, err);
}

static int begin (struct ledger_run *w, struct error *err)
{
    const struct ledger_cause cause = { .job = w->o->job };
    char nonce[LEDGER_NONCE_BYTES];
    struct pathset *ps;
    const char **host;
    int64_t id;

    if (!w->fabric)
        return error_input (err, "-f FABRIC is missing");
    if (!(ps = inputs_hosts (w->fabric, "hosts", w->o->hosts, false, err)))
        return -1;
    host = xarray (pathset_size (ps), sizeof (*host));
    for (size_t i = 0; i < pathset_size (ps); i++)
        host[i] = pathset_endpoint (ps, i)->host;
    id = ledger_begin (w->ledger, w->now, w->fabric->hash, &cause, host,
                       pathset_size (ps), nonce, err);
    free (host);
    pathset_destroy (ps);
    if (id < 0)
        return -1;
    fprintf (w->fp, "%s\n", nonce);
    return 0;
}

static int salvage (struct ledger_run *w, struct error *err)
{
    struct ledger *into;
    int64_t lost = -1;

    if (access (w->arg, F_OK) == 0)
        return error_input (err, "%s exists", w->arg);
    if ((into = ledger_open (w->arg, LEDGER_CREATE, err)))
        lost = ledger_salvage (into, ledger_path (w->ledger), err);
    ledger_close (into);
    if (lost > 0)
        fprintf (stderr, "pmm ledger salvage: %s lost, audits or others\n",
                 COUNTED ((uint64_t)lost, "record"));
    return lost < 0 ? -1 : 0;
}

static int judge_and_add (struct ledger_run *w, struct inputs *in,
                          struct error *err)
{
    const struct ledger_options *o = w->o;
    struct baselines base = { 0 };
    struct judge_options opts;
    struct verdict *v = NULL;
    int rc = -1;

    if (inputs_thresholds (&opts, o->conf, err) == 0
        && baselines_read (&base, in->fabric, o->baseline.v, o->baseline.n,
                           err) == 0
        && (v = judge (in->ps, in->plan, in->samples, base.v, base.n, &opts,
                       err))
        && ledger_record (w->ledger, w->now, in->ps, in->samples, v, err)
               > 0) {
        w->status = v->status;
        rc = 0;
    }
    verdict_destroy (v);
    baselines_clear (&base);
    return rc;
}

static int add (struct ledger_run *w, struct error *err)
{
    struct inputs in = { 0 };
    int rc;

    if (!w->o->samples)
        return error_input (err, "--samples SAMPLES is missing");
    rc = inputs_load (&in, w->o->measured_on, w->o->plan, w->o->samples,
                      err);
    if (rc == 0)
        rc = judge_and_add (w, &in, err);
    inputs_clear (&in);
    return rc;
}

static const struct {
    const char *name;
    char *full; /* name in errors and usage */
    const struct opt *table;
    const char *args;
    int min, max; /* number of operands */
    enum ledger_mode mode, list; /* with operands; without */
    int (*run) (struct ledger_run *w, struct error *err);
} verbs[] = {
    { "show", "ledger show", show_table, "[AUDIT]", 0, 1, LEDGER_READ,
      LEDGER_READ, show },
    { "missed", "ledger missed", missed_table, "", 0, 0, LEDGER_READ,
      LEDGER_READ, missed },
    { "trend", "ledger trend", trend_table, "LINK", 1, 1, LEDGER_READ,
      LEDGER_READ, trend },
    { "solve", "ledger solve", solve_table, "", 0, 0, LEDGER_READ,
      LEDGER_READ, solve_all },
    { "mute", "ledger mute", mute_table, "[LINK]", 0, 1, LEDGER_WRITE,
      LEDGER_READ, mute },
    { "rebase", "ledger rebase", rebase_table, "[LINK]", 0, 1, LEDGER_WRITE,
      LEDGER_READ, rebase },
    { "prune", "ledger prune", prune_table, "", 0, 0, LEDGER_WRITE,
      LEDGER_WRITE, prune },
    { "export", "ledger export", export_table, "", 0, 0, LEDGER_READ,
      LEDGER_READ, export },
    { "check", "ledger check", check_table, "", 0, 0, LEDGER_READ,
      LEDGER_READ, check },
    { "salvage", "ledger salvage", check_table, "NEW", 1, 1, LEDGER_READ,
      LEDGER_READ, salvage },
    { "begin", "ledger begin", begin_table, "", 0, 0, LEDGER_CREATE,
      LEDGER_CREATE, begin },
    { "add", "ledger add", add_table, "", 0, 0, LEDGER_WRITE, LEDGER_WRITE,
      add },
};

static struct ledger *open_ledger (const struct ledger_options *o,
                                   enum ledger_mode mode, struct error *err)
{
    struct ledger *ledger = NULL;
    struct site site;

    if (o->ledger)
        return ledger_open (o->ledger, mode, err);
    if (site_read (&site, o->conf, 0, err) == 0)
        ledger = ledger_open (site.ledger, mode, err);
    site_clear (&site);
    return ledger;
}

static int run (size_t verb, struct ledger_run *w, struct error *err)
{
    enum ledger_mode mode = w->arg || w->o->node ? verbs[verb].mode
                                                 : verbs[verb].list;
    struct outfile *out;
    int rc = -1;

    if (w->o->days > DAYS_MAX)
        return error_input (err, "--days: at most %d is wanted", DAYS_MAX);
    if ((!w->o->fabric || (w->fabric = fabric_load (w->o->fabric, err)))
        && (w->ledger = open_ledger (w->o, mode, err))
        && (out = file_create (w->o->output, err))) {
        w->fp = file_stream (out);
        rc = file_finish (out, verbs[verb].run (w, err), err);
    }
    ledger_close (w->ledger);
    fabric_destroy (w->fabric);
    return rc;
}

static int run_verb (size_t verb, int argc, char **argv)
{
    static const int exits[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_WARN] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };
    struct ledger_options o = {
        .last = -1, .days = -1, .keep = -1, .points = POINTS, .half_life = 7,
    };
    struct ledger_run w = { .o = &o, .now = (int64_t)time (NULL) };
    struct error err;
    int status;
    int first;

    argv[0] = verbs[verb].full;
    first = options_parse (verbs[verb].table, &o, argc, argv,
                           verbs[verb].args, verbs[verb].min,
                           verbs[verb].max, &status);
    if (first >= 0) {
        w.arg = argv[first];
        status = run (verb, &w, &err) < 0 ? fail (argv[0], &err)
                                          : exits[w.status];
    }
    free (o.baseline.v);
    return status;
}

int verb_ledger (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = strcmp (name, "--help") == 0 || strcmp (name, "-h") == 0;
    struct text_guess guess = { .word = name };

    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++) {
        if (strcmp (name, verbs[i].name) == 0)
            return run_verb (i, argc - 1, argv + 1);
        text_guess (&guess, verbs[i].name);
    }
    if (*name && !help)
        return no_verb ("pmm ledger", &guess);
    fprintf (help ? stdout : stderr, "Usage: pmm ledger ");
    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++)
        fprintf (help ? stdout : stderr, "%s%s", i ? "|" : "", verbs[i].name);
    fprintf (help ? stdout : stderr, " [OPTION]...\nEach has --help.\n");
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}
