/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm policy: what the policy would do now, and why; or apply it. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/lines.h"
#include "pmm/verb.h"
#include "prolog/act/act.h"
#include "util/json.h"
#include "util/site.h"

/* --- facts about a node --------------------------------------------------- */

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
                                         number_json (f->excess_ns),
                                         "stderr_ns",
                                         number_json (f->stderr_ns)));
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
static json_t *node_json (const struct policy_input *in,
                          const struct decision *d, const json_t *faulty)
{
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

/* Write the decisions on all nodes with something to report, or on one node
 * (name not NULL).
 */
static void tell (struct inputs *in, const struct act_report *r,
                  const char *action, const char *name)
{
    const struct decisions *d = &r->decisions;
    const struct policy_input *input = &r->facts.input;
    json_t *faulty = need (ledger_faulty (in->ledger, input->now, &fault));
    json_t *nodes = json_array (), *remarks = json_array ();
    FILE *fp = inputs_output (in);
    bool found = !name || d->n == 0;
    const json_t *v;
    size_t i;

    for (i = 0; i < d->n; i++)
        if (name ? !strcmp (d->v[i].node, name) : act_is_news (&d->v[i])) {
            found = true;
            json_add (nodes, node_json (input, &d->v[i], faulty));
        }
    for (i = 0; i < d->nremarks; i++)
        json_add (remarks, json_string (d->remark[i]));
    if (!found)
        die_input ("Slurm has no node %.63s", name);
    if (in->json)
        inputs_put_json (in, "policy", in->fabric->hash,
                         json_pack ("{s:I, s:s, s:I, s:b, s:O, s:O}", "time",
                                    (json_int_t)input->now, "action", action,
                                    "after", (json_int_t)d->after, "stopped",
                                    d->stopped, "remarks", remarks, "nodes",
                                    nodes));
    else {
        for (i = 0; i < d->nremarks; i++)
            fprintf (fp, "%s\n", d->remark[i]);
        json_array_foreach (nodes, i, v)
            print_node (v, name != NULL, fp);
    }
    json_decref (faulty);
    json_decref (nodes);
    json_decref (remarks);
}

/* --- the verbs ------------------------------------------------------------ */

static int explain (struct inputs *in)
{
    struct act_report report = { .busy = false };
    struct site site;
    int status;

    need_ok (site_read (&site, in->conf, 0, &fault));
    inputs_fabric (in);
    inputs_ledger (in, LEDGER_READ);
    need_ok (act_look (&report, &site, in->ledger, in->fabric,
                       (int64_t)time (NULL), &fault));
    tell (in, &report, site.action, in->operand[0]);
    /* a read error, not an input error */
    status = report.decisions.stopped ? EXIT_WORLD : EXIT_OK;
    act_report_clear (&report);
    site_clear (&site);
    return status;
}

static void say (void *arg, enum policy_kind kind, const char *line)
{
    (void)arg;
    (void)kind;
    puts (line);
    fflush (stdout);
}

static int act (struct inputs *in)
{
    struct act_report report = { .busy = false };
    char name[CONTROLLER_NAME];
    struct site site;
    uid_t uid;
    int status;

    need_ok (site_read (&site, in->conf, 1, &fault));
    in->fabric = need (fabric_load_trusted (site.snapshot, geteuid (),
                                            &fault));
    need_ok (controller_user (&uid, name, &fault));
    if (uid != geteuid ()) /* later, a drain would not be seen as ours */
        die_input ("this is for SlurmUser, %s, to run", name);
    in->ledger = need (ledger_open (site.ledger, LEDGER_WRITE, &fault));
    need_ok (act_round (&report, &site, in->ledger, in->fabric,
                        (int64_t)time (NULL), say, NULL, &fault));
    if (report.busy)
        die_world ("an audit is running, or another acts");
    status = report.decisions.stopped ? EXIT_WORLD : EXIT_OK;
    act_report_clear (&report);
    site_clear (&site);
    return status;
}

static const struct verb *const verbs[] = {
    &(const struct verb){ .name = "explain",
                          .help = "what audits say of each node",
                          .may = TAKES_LEDGER | TAKES_FABRIC | TAKES_JSON
                                 | TAKES_OUTPUT,
                          .operands = "[NODE]", .max = 1, .run = explain },
    &(const struct verb){ .name = "act",
                          .help = "drain, resume and comment, once",
                          .may = TAKES_CONF, .run = act },
    NULL,
};

const struct verb verb_policy = {
    .group = VERBS_SITE, .name = "policy",
    .help = "which nodes would be drained, and why",
    .verbs = verbs,
};
