/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm policy: what the policy would do now, and why; or apply it. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/verb.h"
#include "pmm/lines.h"
#include "prolog/act/act.h"
#include "util/file.h"
#include "util/json.h"
#include "util/site.h"

struct policy_options {
    const char *ledger, *conf, *fabric, *output;
    bool json;
};

#define FIELD(name) offsetof (struct policy_options, name)
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

/* State of a run of the verb. */
struct policy_run {
    const struct policy_options *o;
    const char *node; /* NULL: all nodes with something to report */
    struct site site;
    struct fabric *fabric;
    struct ledger *ledger;
    struct act_report report;
};

/* --- facts about a node --------------------------------------------------- */

static json_t *real_json (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *findings_json (const struct policy_input *in, const char *node)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < in->naudits; i++)
        for (size_t k = 0; k < in->audit[i].nfindings; k++) {
            const struct policy_audit *a = &in->audit[i];
            const struct policy_finding *f = &a->finding[k];

            for (size_t j = 0; j < f->nsuspects; j++)
                if (f->suspect[j].host && !strcmp (f->suspect[j].host, node))
                    json_add (list,
                              json_pack ("{s:I, s:I, s:s, s:s, s:s, s:s, s:I,"
                                         " s:o, s:o}",
                                         "audit", (json_int_t)a->id, "time",
                                         (json_int_t)a->time, "level",
                                         verdict_status_name (f->level),
                                         "kind", finding_kind_name (f->kind),
                                         "basis",
                                         finding_basis_name (f->basis),
                                         "link", f->suspect[j].link,
                                         "suspects",
                                         (json_int_t)f->nsuspects, "excess_ns",
                                         real_json (f->excess_ns),
                                         "stderr_ns",
                                         real_json (f->stderr_ns)));
        }
    return list;
}

static json_t *signs_json (const struct policy_input *in, const char *node)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < in->nsigns; i++) {
        const struct policy_sign *s = &in->sign[i];

        if (!strcmp (s->host, node))
            json_add (list, json_pack ("{s:I, s:I, s:s, s:s}", "audit",
                                       (json_int_t)s->after, "time",
                                       (json_int_t)s->time, "sign",
                                       sign_name (s->kind), "link", s->link));
    }
    return list;
}

static json_t *actions_json (const struct policy_input *in, const char *node)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < in->nactions; i++) {
        const struct policy_action *a = &in->action[i];

        if (!strcmp (a->node, node))
            json_add (list, json_pack ("{s:s, s:I, s:I, s:s?, s:s?}", "action",
                                       policy_kind_name (a->kind), "time",
                                       (json_int_t)a->time, "after",
                                       (json_int_t)a->after, "link", a->link,
                                       "reason", a->reason));
    }
    return list;
}

/* A decision with everything that it is based on. faulty: as in the ledger. */
static json_t *node_json (const struct policy_run *w, const struct decision *d,
                          const json_t *faulty)
{
    const struct policy_input *in = &w->report.facts.input;
    const json_t *out = ledger_is_out (faulty, d->node, in->now);
    json_t *obj
        = xcheck (json_pack ("{s:s, s:s, s:s?, s:s, s:s}", "node", d->node,
                             "decision", policy_kind_name (d->kind), "link",
                             d->link, "why", d->why, "reason", d->reason));

    if (d->kind == POLICY_WAIT)
        json_put (obj, "when", json_integer (d->when));
    if (out)
        json_put (obj, "left_out", json_incref ((json_t *)out));
    json_put (obj, "findings", findings_json (in, d->node));
    json_put (obj, "signs", signs_json (in, d->node));
    json_put (obj, "actions", actions_json (in, d->node));
    return obj;
}

/* --- text ---------------------------------------------------------------- */

static void print_finding (const json_t *v, FILE *fp)
{
    bool slow = json_number_value (json_object_get (v, "excess_ns")) > 0;
    bool node = !strcmp (text_of (v, "kind"),
                         finding_kind_name (FINDING_NODE));
    json_int_t others
        = json_integer_value (json_object_get (v, "suspects")) - 1;

    print_line (v, "  audit {audit} ended={@time} {level} {link}", fp);
    if (slow && others > 0 && !node)
        fprintf (fp, " or %jd more", (intmax_t)others);
    if (slow)
        print_line (v, node ? " {+excess_ns} ns, of its node without it"
                            : " {+excess_ns} ns over its {basis}", fp);
    fputc ('\n', fp);
}

static void print_node (const json_t *v, bool all, FILE *fp)
{
    const json_t *item;
    size_t i;

    print_line (v, "{node}: {decision}: {why}\n", fp);
    if (*text_of (v, "reason"))
        print_line (v, "  Reason: {reason}\n", fp);
    if ((item = json_object_get (v, "left_out")))
        print_line (item, "  left out of audits for a while: {cause} (faults: "
                          "{faults})\n", fp);
    if (!all)
        return;
    json_array_foreach (json_object_get (v, "findings"), i, item)
        print_finding (item, fp);
    json_array_foreach (json_object_get (v, "signs"), i, item)
        print_line (item, "  sign {@time} {sign} {link}\n", fp);
    json_array_foreach (json_object_get (v, "actions"), i, item)
        print_line (item, "  {action} {@time} {reason}\n", fp);
}

/* Write the result. Takes ownership of the nodes. */
static int print (const struct policy_run *w, json_t *nodes, FILE *fp,
                  struct error *err)
{
    const struct decisions *d = &w->report.decisions;
    json_t *remarks;
    const json_t *v;
    size_t i;

    if (!w->o->json) {
        for (i = 0; i < d->nremarks; i++)
            fprintf (fp, "%s\n", d->remark[i]);
        json_array_foreach (nodes, i, v)
            print_node (v, w->node != NULL, fp);
        json_decref (nodes);
        return 0;
    }
    remarks = xcheck (json_array ());
    for (i = 0; i < d->nremarks; i++)
        json_add (remarks, json_string (d->remark[i]));
    return json_write_file ("policy", w->fabric->hash,
                            json_pack ("{s:I, s:s, s:I, s:b, s:o, s:o}",
                                       "time",
                                       (json_int_t)w->report.facts.input.now,
                                       "action", w->site.action, "after",
                                       (json_int_t)d->after, "stopped",
                                       d->stopped, "remarks", remarks, "nodes",
                                       nodes), fp, err);
}

/* --- the verbs ------------------------------------------------------------ */

static int tell (const struct policy_run *w, FILE *fp, struct error *err)
{
    const struct decisions *d = &w->report.decisions;
    json_t *faulty = ledger_faulty (w->ledger, w->report.facts.input.now, err);
    bool found = !w->node || d->n == 0;
    json_t *nodes;

    if (!faulty)
        return -1;
    nodes = xcheck (json_array ());
    for (size_t i = 0; i < d->n; i++)
        if (w->node ? !strcmp (d->v[i].node, w->node)
                    : act_is_news (&d->v[i])) {
            found = true;
            json_add (nodes, node_json (w, &d->v[i], faulty));
        }
    json_decref (faulty);
    if (found)
        return print (w, nodes, fp, err);
    json_decref (nodes);
    return error_input (err, "Slurm has no node %.63s", w->node);
}

static int explain (struct policy_run *w, struct error *err)
{
    const struct policy_options *o = w->o;
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
    return file_finish (out, tell (w, file_stream (out), err), err);
}

static void say (void *arg, const char *line)
{
    (void)arg;
    puts (line);
    fflush (stdout);
}

/* A drain by another user would not be recognised as ours later. */
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

static int act (struct policy_run *w, struct error *err)
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
    char *full; /* name in errors and usage */
    const struct opt *table;
    const char *args;
    int max; /* number of operands */
    int (*run) (struct policy_run *w, struct error *err);
} verbs[] = {
    { "explain", "policy explain", explain_table, "[NODE]", 1, explain },
    { "act", "policy act", act_table, "", 0, act },
};

static int run_verb (size_t verb, int argc, char **argv)
{
    struct policy_options o = { .json = false };
    struct policy_run w = { .o = &o };
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
    else /* a read error, not an input error */
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
