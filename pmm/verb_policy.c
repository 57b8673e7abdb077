/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm policy: what the policy would do now, and why; and do it. */
#include "config.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/common.h"
#include "pmm/verb.h"
#include "prolog/act/act.h"
#include "util/file.h"
#include "util/json.h"
#include "util/site.h"

struct options {
    const char *ledger, *conf, *fabric, *output;
    bool json;
};

#define FIELD(name) offsetof (struct options, name)
#define CONF                                                                  \
    { "conf", 0, "FILE", opt_string, FIELD (conf), "take this for pmm.conf" }

static const struct opt explain_table[] = {
    { "ledger", 'L', "FILE", opt_string, FIELD (ledger),
      "the ledger, if not pmm.conf's" },
    { "fabric", 'f', "FILE", opt_string, FIELD (fabric),
      "the snapshot, if not pmm.conf's" },
    CONF,
    { "json", 0, NULL, opt_true, FIELD (json), "as JSON" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
static const struct opt act_table[] = {
    CONF,
    { 0 },
};
#undef FIELD

/* What a run of the verb holds. */
struct work {
    const struct options *o;
    const char *node; /* NULL: all that there is something to tell of */
    struct site site;
    struct fabric *fabric;
    struct ledger *ledger;
    struct act_report report;
    FILE *fp;
};

/* --- what is known of a node --------------------------------------------- */

static json_t *real_json (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

/* Append an object that json_pack made; NULL: memory is short. */
static int append (json_t *list, json_t *obj, struct error *err)
{
    return json_array_append_new (list, obj) < 0 ? error_nomem (err) : 0;
}

static int add_finding (json_t *list, const struct policy_audit *a,
                        const struct policy_finding *f, const char *node,
                        struct error *err)
{
    for (size_t i = 0; i < f->nsuspects; i++) {
        const struct policy_suspect *s = &f->suspect[i];

        if (s->host && !strcmp (s->host, node)
            && append (list,
                       json_pack ("{s:I, s:I, s:s, s:s, s:s, s:s, s:I, s:o,"
                                  " s:o}",
                                  "audit", (json_int_t)a->id, "time",
                                  (json_int_t)a->time, "level",
                                  verdict_status_name (f->level), "kind",
                                  finding_kind_name (f->kind), "basis",
                                  finding_basis_name (f->basis), "link",
                                  s->link, "suspects",
                                  (json_int_t)f->nsuspects, "excess_ns",
                                  real_json (f->excess_ns), "stderr_ns",
                                  real_json (f->stderr_ns)),
                       err) < 0)
            return -1;
    }
    return 0;
}

static json_t *findings_json (const struct policy_input *in,
                              const char *node, struct error *err)
{
    json_t *list = json_array ();
    int rc = list ? 0 : error_nomem (err);

    for (size_t i = 0; i < in->naudits; i++)
        for (size_t k = 0; rc == 0 && k < in->audit[i].nfindings; k++)
            rc = add_finding (list, &in->audit[i], &in->audit[i].finding[k],
                              node, err);
    if (rc == 0)
        return list;
    json_decref (list);
    return NULL;
}

static json_t *signs_json (const struct policy_input *in, const char *node,
                           struct error *err)
{
    json_t *list = json_array ();
    int rc = list ? 0 : error_nomem (err);

    for (size_t i = 0; rc == 0 && i < in->nsigns; i++) {
        const struct policy_sign *s = &in->sign[i];

        if (!strcmp (s->host, node))
            rc = append (list,
                         json_pack ("{s:I, s:I, s:s, s:s}", "audit",
                                    (json_int_t)s->after, "time",
                                    (json_int_t)s->time, "sign",
                                    sign_name (s->kind), "link",
                                    s->link),
                         err);
    }
    if (rc == 0)
        return list;
    json_decref (list);
    return NULL;
}

static json_t *actions_json (const struct policy_input *in, const char *node,
                             struct error *err)
{
    json_t *list = json_array ();
    int rc = list ? 0 : error_nomem (err);

    for (size_t i = 0; rc == 0 && i < in->nactions; i++) {
        const struct policy_action *a = &in->action[i];

        if (!strcmp (a->node, node))
            rc = append (list,
                         json_pack ("{s:s, s:I, s:I, s:s?, s:s?}", "action",
                                    policy_kind_name (a->kind), "time",
                                    (json_int_t)a->time, "after",
                                    (json_int_t)a->after, "link", a->link,
                                    "reason", a->reason),
                         err);
    }
    if (rc == 0)
        return list;
    json_decref (list);
    return NULL;
}

/* That audits leave the node out. */
static int add_out (const struct work *w, json_t *obj, const char *node,
                    struct error *err)
{
    int64_t now = w->report.facts.input.now;
    json_t *faulty = ledger_faulty (w->ledger, now, err);
    const json_t *out = ledger_is_out (faulty, node, now);
    int rc = faulty ? 0 : -1;

    if (out && json_object_set (obj, "left_out", (json_t *)out) < 0)
        rc = error_nomem (err);
    json_decref (faulty);
    return rc;
}

/* A decision with all that it is based on. NULL with err. */
static json_t *node_json (const struct work *w, const struct decision *d,
                          struct error *err)
{
    static const struct {
        const char *key;
        json_t *(*list) (const struct policy_input *, const char *,
                         struct error *);
    } lists[] = {
        { "findings", findings_json },
        { "signs", signs_json },
        { "actions", actions_json },
    };
    json_t *obj = json_pack ("{s:s, s:s, s:s?, s:s, s:s}", "node", d->node,
                             "decision", policy_kind_name (d->kind), "link",
                             d->link, "why", d->why, "reason", d->reason);
    int rc = obj ? 0 : error_nomem (err);

    if (rc == 0 && d->kind == POLICY_WAIT
        && json_object_set_new (obj, "when", json_integer (d->when)) < 0)
        rc = error_nomem (err);
    if (rc == 0)
        rc = add_out (w, obj, d->node, err);
    for (size_t i = 0; rc == 0 && i < sizeof (lists) / sizeof (lists[0]);
         i++) {
        json_t *list = lists[i].list (&w->report.facts.input, d->node, err);

        if (!list)
            rc = -1;
        else if (json_object_set_new (obj, lists[i].key, list) < 0)
            rc = error_nomem (err);
    }
    if (rc == 0)
        return obj;
    json_decref (obj);
    return NULL;
}

static json_t *remarks_json (const struct decisions *d)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < d->nremarks; i++)
        if (json_array_append_new (list, json_string (d->remark[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

/* --- text ---------------------------------------------------------------- */

static const char *text_of (const json_t *obj, const char *key)
{
    const char *s = json_string_value (json_object_get (obj, key));

    return s ? s : "-";
}

/* "2026-11-21T18:50:12", in UTC. */
static const char *date_of (const json_t *obj, char buf[32])
{
    time_t t = (time_t)json_integer_value (json_object_get (obj, "time"));
    struct tm tm;

    if (!gmtime_r (&t, &tm) || !strftime (buf, 32, "%Y-%m-%dT%H:%M:%S", &tm))
        strcpy (buf, "-");
    return buf;
}

static void print_finding (const json_t *v, FILE *fp)
{
    const json_t *excess = json_object_get (v, "excess_ns");
    json_int_t others
        = json_integer_value (json_object_get (v, "suspects")) - 1;
    bool slow = json_number_value (excess) > 0;
    bool node = !strcmp (text_of (v, "kind"),
                         finding_kind_name (FINDING_NODE));
    char date[32];

    fprintf (fp, "  audit %jd ended=%s %s %s",
             (intmax_t)json_integer_value (json_object_get (v, "audit")),
             date_of (v, date), text_of (v, "level"), text_of (v, "link"));
    if (slow && others > 0 && !node)
        fprintf (fp, " or %jd more", (intmax_t)others);
    if (slow && node)
        fprintf (fp, " %+.0f ns, of its node without it",
                 json_number_value (excess));
    else if (slow)
        fprintf (fp, " %+.0f ns over its %s", json_number_value (excess),
                 text_of (v, "basis"));
    fputc ('\n', fp);
}

static void print_sign (const json_t *v, FILE *fp)
{
    char date[32];

    fprintf (fp, "  sign %s %s %s\n", date_of (v, date), text_of (v, "sign"),
             text_of (v, "link"));
}

static void print_action (const json_t *v, FILE *fp)
{
    char date[32];

    fprintf (fp, "  %s %s %s\n", text_of (v, "action"), date_of (v, date),
             text_of (v, "reason"));
}

static void print_node (const json_t *v, bool all, FILE *fp)
{
    static const struct {
        const char *key;
        void (*print) (const json_t *, FILE *);
    } lists[] = {
        { "findings", print_finding },
        { "signs", print_sign },
        { "actions", print_action },
    };
    const json_t *item;
    size_t k;

    fprintf (fp, "%s: %s: %s\n", text_of (v, "node"),
             text_of (v, "decision"), text_of (v, "why"));
    if (*text_of (v, "reason"))
        fprintf (fp, "  Reason: %s\n", text_of (v, "reason"));
    if ((item = json_object_get (v, "left_out")))
        fprintf (fp, "  left out of audits for a while: %s (faults: %jd)\n",
                 text_of (item, "cause"),
                 (intmax_t)json_integer_value (json_object_get (item,
                                                                "faults")));
    for (size_t i = 0; all && i < sizeof (lists) / sizeof (lists[0]); i++)
        json_array_foreach (json_object_get (v, lists[i].key), k, item)
            lists[i].print (item, fp);
}

static int print (const struct work *w, const json_t *nodes,
                  struct error *err)
{
    const struct decisions *d = &w->report.decisions;
    json_t *remarks, *file;
    const json_t *v;
    size_t i;
    int rc;

    if (!w->o->json) {
        for (i = 0; i < d->nremarks; i++)
            fprintf (w->fp, "%s\n", d->remark[i]);
        json_array_foreach (nodes, i, v)
            print_node (v, w->node != NULL, w->fp);
        return 0;
    }
    file = json_file ("policy", w->fabric->hash);
    remarks = remarks_json (d);
    if (!file || !remarks
        || json_object_update_new (
               file, json_pack ("{s:I, s:s, s:I, s:b, s:O, s:O}", "time",
                                (json_int_t)w->report.facts.input.now,
                                "action", w->site.action, "after",
                                (json_int_t)d->after, "stopped", d->stopped,
                                "remarks", remarks, "nodes", nodes)) < 0)
        rc = error_nomem (err);
    else
        rc = json_write (file, w->fp, err);
    json_decref (remarks);
    json_decref (file);
    return rc;
}

/* --- the verbs ------------------------------------------------------------ */

static int tell (const struct work *w, struct error *err)
{
    const struct decisions *d = &w->report.decisions;
    json_t *nodes = json_array ();
    int rc = nodes ? 0 : error_nomem (err);
    bool found = !w->node || d->n == 0;

    for (size_t i = 0; rc == 0 && i < d->n; i++) {
        bool asked = w->node && !strcmp (d->v[i].node, w->node);
        json_t *v;

        if (!asked && (w->node || !act_is_news (&d->v[i])))
            continue;
        found = true;
        if (!(v = node_json (w, &d->v[i], err)))
            rc = -1;
        else
            rc = append (nodes, v, err);
    }
    if (rc == 0 && !found)
        rc = error_input (err, "Slurm has no node %.63s", w->node);
    if (rc == 0)
        rc = print (w, nodes, err);
    json_decref (nodes);
    return rc;
}

static int explain (struct work *w, struct error *err)
{
    const struct options *o = w->o;
    struct outfile *out;

    if (site_read (&w->site, o->conf, 0, err) < 0
        || !(w->fabric = fabric_load (o->fabric ? o->fabric
                                                : w->site.snapshot, err))
        || !(w->ledger = ledger_open (o->ledger ? o->ledger : w->site.ledger,
                                      LEDGER_READ, err))
        || act_look (&w->report, &act_slurm, &w->site, w->ledger, w->fabric,
                     (int64_t)time (NULL), err) < 0
        || !(out = file_create (o->output, err)))
        return -1;
    w->fp = file_stream (out);
    return file_finish (out, tell (w, err), err);
}

static void say (void *arg, const char *line)
{
    (void)arg;
    puts (line);
    fflush (stdout);
}

/* Who else would drain is not known as who did, later. */
static int check_user (struct error *err)
{
    char name[CONTROLLER_NAME];
    uid_t uid;

    if (controller_user (&uid, name, err) < 0)
        return -1;
    if (uid != geteuid ())
        return error_input (err, "this is for SlurmUser, %s, to run", name);
    return 0;
}

static int act (struct work *w, struct error *err)
{
    struct act_world world = act_slurm;

    world.say = say;
    if (site_read (&w->site, w->o->conf, 1, err) < 0
        || !(w->fabric = fabric_load_trusted (w->site.snapshot, geteuid (),
                                              NULL, err))
        || check_user (err) < 0
        || !(w->ledger = ledger_open (w->site.ledger, LEDGER_WRITE, err))
        || act_round (&w->report, &world, &w->site, w->ledger, w->fabric,
                      (int64_t)time (NULL), err) < 0)
        return -1;
    if (w->report.busy)
        return error_world (err, "an audit is running, or another acts");
    return 0;
}

static const struct {
    const char *name;
    char *full; /* as errors and usage call it */
    const struct opt *table;
    const char *args;
    int max; /* operands */
    int (*run) (struct work *w, struct error *err);
} verbs[] = {
    { "explain", "policy explain", explain_table, "[NODE]", 1, explain },
    { "act", "policy act", act_table, "", 0, act },
};

static int run_verb (size_t verb, int argc, char **argv)
{
    struct options o = { .json = false };
    struct work w = { .o = &o };
    struct error err;
    int status;
    int first;

    argv[0] = verbs[verb].full;
    first = options_parse (verbs[verb].table, &o, argc, argv,
                           verbs[verb].args, 0, verbs[verb].max, &status);
    if (first < 0)
        return status;
    w.node = argv[first];
    if (verbs[verb].run (&w, &err) < 0)
        status = fail (argv[0], &err);
    else /* what could not be read is the world's fault */
        status = w.report.decisions.stopped ? EXIT_WORLD : EXIT_OK;
    act_report_clear (&w.report);
    ledger_close (w.ledger);
    fabric_destroy (w.fabric);
    site_clear (&w.site);
    return status;
}

int verb_policy (int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    bool help = !strcmp (name, "--help") || !strcmp (name, "-h");
    struct text_guess guess = { .word = name };

    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++) {
        if (!strcmp (name, verbs[i].name))
            return run_verb (i, argc - 1, argv + 1);
        text_guess (&guess, verbs[i].name);
    }
    if (*name && !help)
        return no_verb ("pmm policy", &guess);
    fprintf (help ? stdout : stderr,
             "Usage: pmm policy explain|act [OPTION]...\nEach has --help.\n");
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}
