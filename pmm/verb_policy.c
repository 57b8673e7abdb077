/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm policy: what the policy would do now, and why; or apply it. */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "pmm/lines.h"
#include "pmm/verb.h"
#include "prolog/act/act.h"
#include "prolog/slurm/controller.h"
#include "report/comment.h"
#include "report/words.h"
#include "util/json.h"
#include "util/site.h"
#include "util/user.h"

/* --- facts about a node --------------------------------------------------- */

static json_t *node_findings_json (const struct policy_input *in,
                                   const char *node)
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
                                         " s:o, s:o, s:o, s:o}",
                                         "audit", (json_int_t)a->id, "time",
                                         (json_int_t)a->time, "level",
                                         verdict_status_name (f->x.level),
                                         "kind", finding_kind_name (f->x.kind),
                                         "basis",
                                         finding_basis_name (f->x.basis),
                                         "link", f->suspect[j].link,
                                         "suspects",
                                         (json_int_t)f->nsuspects, "excess_ns",
                                         number_json (f->x.excess_ns),
                                         "stderr_ns",
                                         number_json (f->x.stderr_ns),
                                         "rate_bits",
                                         number_json (f->x.rate_bits),
                                         "rate_expected_bits",
                                         number_json (f->x.rate_expected_bits)));
        }
    return list;
}

static json_t *signs_json (const struct policy_input *in, const char *node)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < in->signs.n; i++) {
        const struct ledger_sign *s = &in->signs.sign[i];

        if (!strcmp (s->host, node))
            json_add (list, json_pack ("{s:I, s:I, s:s, s:s}", "audit",
                                       (json_int_t)s->audit, "time",
                                       (json_int_t)s->time, "sign",
                                       sign_name (s->kind), "link", s->link));
    }
    return list;
}

static json_t *actions_json (const struct policy_input *in, const char *node)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < in->actions.n; i++) {
        const struct ledger_action *a = &in->actions.action[i];

        if (!strcmp (a->node, node))
            json_add (list, json_pack ("{s:s, s:I, s:I, s:s?, s:s?}", "action",
                                       policy_kind_name (a->kind), "time",
                                       (json_int_t)a->intended, "after",
                                       (json_int_t)a->after, "link", a->link,
                                       "reason", a->reason));
    }
    return list;
}

/* A decision with everything that it is based on. faulty: as in the ledger. */
static json_t *node_json (const struct policy_input *in,
                          const struct decision *d,
                          const struct ledger_rows *faulty)
{
    const struct ledger_fault *out = ledger_is_out (faulty, d->node, in->now);
    json_t *obj
        = xcheck (json_pack ("{s:s, s:s, s:s?, s:s, s:s}", "node", d->node,
                             "decision", policy_kind_name (d->kind), "link",
                             d->link, "why", d->why, "reason", d->reason));

    if (d->kind == POLICY_WAIT)
        json_put (obj, "when", json_integer (d->when));
    if (out)
        json_put (obj, "left_out", ledger_fault_json (out));
    json_put (obj, "findings", node_findings_json (in, d->node));
    json_put (obj, "signs", signs_json (in, d->node));
    json_put (obj, "actions", actions_json (in, d->node));
    return obj;
}

/* --- the story of nodes --------------------------------------------------- */

/* Decisions that are told, and each with what it is based on. */
struct story {
    const struct decision **decision;
    json_t *nodes;
};

static bool audit_suspects (const struct policy_input *in, const char *node,
                            uint64_t audit)
{
    for (size_t i = 0; i < in->naudits; i++)
        for (size_t k = 0; k < in->audit[i].nfindings; k++) {
            const struct policy_finding *f = &in->audit[i].finding[k];

            for (size_t j = 0; j < f->nsuspects; j++)
                if (in->audit[i].id == audit && f->x.level != VERDICT_OK
                    && f->suspect[j].host && !strcmp (f->suspect[j].host, node))
                    return true;
        }
    return false;
}

/* That of one node (name not NULL), of the nodes that an audit suspects (audit not
 * 0), or of all with something to report.
 */
static struct story tell_story (struct inputs *in, const struct act_report *r,
                                const char *name, int64_t audit)
{
    const struct policy_input *input = &r->facts.input;
    struct story story = {
        .decision = verb_array (r->decisions.n, sizeof (*story.decision)),
        .nodes = verb_keep_json (json_array ()),
    };
    struct ledger_rows faulty;

    need_ok (ledger_faulty (in->ledger, input->now, &faulty, &fault));
    for (size_t i = 0; i < r->decisions.n; i++) {
        const struct decision *d = &r->decisions.v[i];

        if (name    ? strcmp (d->node, name)
            : audit ? !audit_suspects (input, d->node, (uint64_t)audit)
                    : !act_is_news (d))
            continue;
        story.decision[json_array_size (story.nodes)] = d;
        json_add (story.nodes, node_json (input, d, &faulty));
    }
    return story;
}

/* --- text ---------------------------------------------------------------- */

static void print_policy_finding (const json_t *v, FILE *fp)
{
    bool slow = json_number_value (json_object_get (v, "excess_ns")) > 0;
    bool node = !strcmp (text_of (v, "kind"),
                         finding_kind_name (FINDING_NODE));
    double expected
        = json_number_value (json_object_get (v, "rate_expected_bits"));
    json_int_t others
        = json_integer_value (json_object_get (v, "suspects")) - 1;

    print_line (v, "  audit {audit} ended={@time} {level} {link}", fp);
    if (slow && others > 0 && !node)
        fprintf (fp, " or %jd more", (intmax_t)others);
    if (slow)
        print_line (v, node ? " {+excess_ns} ns, of its node without it"
                            : " {+excess_ns} ns over its {basis}", fp);
    else if (!strcmp (text_of (v, "basis"), finding_basis_name (BASIS_LOSS))
             || !strcmp (text_of (v, "basis"),
                         finding_basis_name (BASIS_SLOW)))
        print_line (v, ", {basis} of messages", fp);
    if (expected > 0) {
        double rate = json_number_value (json_object_get (v, "rate_bits"));

        fprintf (fp, ", %s", verb_keep_text (words_rate (rate, expected)));
    }
    fputc ('\n', fp);
}

static const char decision_line[] = "{node}: {decision}: {why}\n";

/* What the decision is based on: the newest `most` findings, signs and actions.
 */
static void print_grounds (const json_t *v, size_t most, FILE *fp)
{
    static const struct {
        const char *key, *format;
    } lists[] = {
        { "findings", NULL },
        { "signs", "  sign {@time} {sign} {link}\n" },
        { "actions", "  {action} {@time} {reason}\n" },
    };
    const json_t *item;

    if (*text_of (v, "reason"))
        print_line (v, "  Reason: {reason}\n", fp);
    if ((item = json_object_get (v, "left_out")))
        print_left_out ("  ", item, fp);
    for (size_t k = 0; k < sizeof (lists) / sizeof (lists[0]); k++) {
        const json_t *list = json_object_get (v, lists[k].key);
        size_t n = json_array_size (list);

        for (size_t i = n > most ? n - most : 0; i < n; i++) {
            item = json_array_get (list, i);
            if (lists[k].format)
                print_line (item, lists[k].format, fp);
            else
                print_policy_finding (item, fp);
        }
    }
}

/* What holds for the site, and so for what is done about its nodes. */
static void print_remarks (const struct decisions *d, FILE *fp)
{
    for (size_t i = 0; i < d->nremarks; i++)
        fprintf (fp, "%s\n", d->remark[i]);
}

/* That there is nothing to report. */
static void print_calm (struct ledger *ledger, size_t nodes, FILE *fp)
{
    struct ledger_rows totals;
    uint64_t audits = 0;
    int64_t newest;
    int any = need_ok (ledger_number (ledger, LEDGER_SUCCEEDED, 0, NULL, &newest,
                                      &fault));

    need_ok (ledger_list (ledger, LEDGER_TOTALS, 0, 0, &totals, &fault));
    for (size_t i = 0; i < totals.n; i++)
        audits += (uint64_t)totals.total[i].audits;
    if (any)
        fprintf (fp, "%s, %s, the newest at %s: no node is suspected\n",
                 COUNTED (nodes, "node"), COUNTED (audits, "audit"), DATE (newest));
    else
        fprintf (fp, "%s, and no audit with a result yet\n",
                 COUNTED (nodes, "node"));
}

/* --- the verbs ------------------------------------------------------------ */

/* What the policy would do now. */
static void evaluate_policy (struct inputs *in, const struct site *site,
                             struct act_report *r)
{
    inputs_fabric (in);
    inputs_ledger (in, LEDGER_READ);
    need_ok (act_look (r, site, in->ledger, in->fabric, (int64_t)time (NULL),
                       &fault));
}

static int explain_policy (struct inputs *in)
{
    const char *name = in->operand[0];
    struct act_report report;
    const struct decisions *d = &report.decisions;
    FILE *fp = inputs_output (in);
    struct story story;
    const struct site *site = verb_site (in->conf, false);
    const json_t *v;
    int status;
    size_t i;

    evaluate_policy (in, site, &report);
    story = tell_story (in, &report, name, 0);
    if (name && d->n > 0 && json_array_size (story.nodes) == 0)
        die_input ("Slurm has no node %.63s", name);
    if (in->json)
        inputs_put_json (in, "policy", in->fabric->hash,
                         json_pack ("{s:I, s:s, s:I, s:b, s:o, s:O}", "time",
                                    (json_int_t)report.facts.input.now,
                                    "action", site->action, "after",
                                    (json_int_t)d->after, "stopped", d->stopped,
                                    "remarks",
                                    json_strings (d->remark, d->nremarks),
                                    "nodes", story.nodes));
    else {
        print_remarks (d, fp);
        json_array_foreach (story.nodes, i, v) {
            print_line (v, decision_line, fp);
            print_grounds (v, name ? SIZE_MAX : 0, fp);
        }
        if (i == 0 && d->nremarks == 0)
            print_calm (in->ledger, report.facts.input.nnodes, fp);
    }
    /* a read error, not an input error */
    status = d->stopped ? EXIT_WORLD : EXIT_OK;
    act_report_clear (&report);
    return status;
}

/* --- why ------------------------------------------------------------------ */

enum { TOLD = 3 }; /* of each kind: the story fits on a screen */

static struct why_words {
    bool job;
} why_given;

static const struct opt why_options[] = {
    { "job", 0, NULL, opt_true, offsetof (struct why_words, job),
      "take the number as a job's, not as an audit's" },
    { 0 },
};

/* Print what is known of a cable, of which a todo follows. */
static void print_cable (const struct fabric *f, const char *id, FILE *fp)
{
    uint32_t link = id ? fabric_find_link (f, id) : FABRIC_NONE;
    char plugs[FABRIC_PLUGS];

    if (link != FABRIC_NONE && *fabric_plugs (f, link, plugs))
        fprintf (fp, "  cable: %s\n", plugs);
}

/* Print what it carried, as the newest audit that measured that has it. */
static void print_carried (struct inputs *in, const char *id)
{
    const struct fabric *f = in->fabric;
    uint32_t link = id ? fabric_find_link (f, id) : FABRIC_NONE;
    struct ledger_rows rows;

    need_ok (ledger_list (in->ledger, LEDGER_RATES, 0, 0, &rows, &fault));
    for (size_t i = 0; i < rows.n && link != FABRIC_NONE; i++) {
        const struct ledger_rate *r = &rows.rate[i];
        if (!strcmp (r->link, id))
            fprintf (inputs_output (in), "  carried from %s: %s (audit %jd)\n",
                     PORT_NAME (f, r->way ? f->link[link].b : f->link[link].a),
                     verb_keep_text (words_rate (r->bits, r->expected)),
                     (intmax_t)r->audit);
    }
}

/* What staff do about the newest finding of a node that is not OK; "": none. */
static const char *repair_of (struct inputs *in, const json_t *node)
{
    const json_t *list = json_object_get (node, "findings");
    char *text = NULL;

    for (size_t i = json_array_size (list); i-- > 0 && !text;) {
        const json_t *found = json_array_get (list, i);
        uint32_t link = fabric_find_link (in->fabric, text_of (found, "link"));
        struct ledger_result r;
        const struct verdict *v;

        if (!strcmp (text_of (found, "level"),
                     verdict_status_name (VERDICT_OK)))
            continue;
        need_ok (ledger_result (in->ledger, json_int (found, "audit", 0),
                                in->fabric, false, &r, &fault));
        v = r.verdict;
        for (size_t k = 0; k < v->nfindings && !text; k++)
            for (size_t j = 0; j < v->finding[k].nsuspects && !text; j++)
                if (v->finding[k].suspect[j] == link)
                    text = words_do (&v->finding[k], in->fabric, WORDS_STAFF);
    }
    return text ? verb_keep (text) : "";
}

/* Print what a person is to do about a node. */
static void print_todo (struct inputs *in, const struct decision *d,
                        const json_t *node)
{
    static const char *const todo[] = {
        [POLICY_NONE] = "nothing",
        [POLICY_NOTE] = "see what later audits find",
        [POLICY_WAIT] = "nothing: the service audits it again; at once: pmm "
                        "audit --hosts",
        [POLICY_DRAIN] = "nothing: the service drains it; at once: pmm policy "
                         "act",
        [POLICY_RESUME] = "nothing: the service resumes it; at once: pmm "
                          "policy act",
        [POLICY_LEFT] = "tell those who drained it",
        [POLICY_LIFTED] = "nothing: others have put it back in service",
    };
    const json_t *actions = json_object_get (node, "actions");
    const json_t *last = json_array_get (actions,
                                         json_array_size (actions) - 1);
    bool drained = !strcmp (text_of (last, "action"),
                            policy_kind_name (POLICY_DRAIN))
                   && (d->kind == POLICY_NONE || d->kind == POLICY_NOTE
                       || d->kind == POLICY_WAIT);
    const char *repair = repair_of (in, node);
    FILE *fp = inputs_output (in);

    if (drained)
        fprintf (fp, "do: %s; pmm audit --drained measures it then\n",
                 *repair ? repair : "repair it");
    else if (d->kind == POLICY_NOTE && *repair)
        fprintf (fp, "do: %s\n", repair);
    else
        fprintf (fp, "do: %s%s%s\n", todo[d->kind],
                 d->kind == POLICY_WAIT ? " " : "",
                 d->kind == POLICY_WAIT ? d->node : "");
}

/* Tell of one node, or of those that the audit suspects. Return how many. */
static size_t why_nodes (struct inputs *in, const struct act_report *r,
                         const char *name, int64_t audit)
{
    const struct story story = tell_story (in, r, name, audit);
    size_t n = json_array_size (story.nodes);
    FILE *fp = inputs_output (in);

    for (size_t i = 0; i < n && i < TOLD; i++) {
        const json_t *node = json_array_get (story.nodes, i);
        const struct decision *d = story.decision[i];

        print_line (node, decision_line, fp);
        if (i == 0)
            print_remarks (&r->decisions, fp);
        print_cable (in->fabric, d->link, fp);
        print_carried (in, d->link);
        print_todo (in, d, node);
        print_grounds (node, name ? TOLD : 0, fp);
    }
    if (n > TOLD)
        fprintf (fp, "and %s: pmm policy explain\n",
                 COUNTED (n - TOLD, "other node"));
    return n;
}

/* The number if an audit has it; 0: none. */
static int64_t find_audit_id (struct inputs *in, uint64_t number)
{
    int64_t id = 0;

    need_ok (ledger_number (in->ledger, LEDGER_NEXT, (int64_t)number - 1, NULL,
                            &id, &fault));
    return id == (int64_t)number ? id : 0;
}

/* The number of the newest audit about a job; 0: none. */
static int64_t find_job (struct inputs *in, uint64_t job)
{
    struct ledger_rows rows;
    int64_t id = 0;

    need_ok (
        ledger_list (in->ledger, LEDGER_AUDITS, INT64_MAX, 0, &rows, &fault));
    for (size_t i = 0; i < rows.n && id == 0; i++)
        if (rows.audit[i].about == (int64_t)job)
            id = rows.audit[i].id;
    return id;
}

/* Print what to do about a finding, of which no node is suspected any more
 * unless a host link is among its suspects.
 */
static void print_finding_todo (const struct fabric *f, const struct finding *x,
                                FILE *fp)
{
    const char *id = f->link[*x->suspect].id;
    char *todo = verb_keep (words_do (x, f, WORDS_STAFF));

    print_cable (f, id, fp);
    if (x->kind == FINDING_HOST_END)
        fprintf (fp, "do: see what later audits found: pmm ledger trend %s\n",
                 id);
    else
        fprintf (fp, "do: for the fabric team%s: %s\n",
                 x->nnodes > 0 ? ", or at the end of its node"
                               : "; no node is to blame",
                 todo);
}

/* Print what to do about an audit: of what is no host's, and if no node is
 * suspected any more (`told` none), of the rest.
 */
static void print_audit_todo (struct inputs *in, int64_t id, bool told)
{
    const struct fabric *f = in->fabric;
    FILE *fp = inputs_output (in);
    struct ledger_result r;
    const struct verdict *v;
    size_t n = 0;

    need_ok (ledger_result (in->ledger, id, f, false, &r, &fault));
    v = r.verdict;

    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *x = &v->finding[i];

        if (x->nsuspects > 0 && (!told || x->nnodes == 0) && n++ < TOLD)
            print_finding_todo (f, x, fp);
    }
    if (!told && n == 0)
        fprintf (fp, "do: nothing%s\n",
                 v->status == VERDICT_OK
                     ? ""
                     : ": later audits measure these nodes again; pmm "
                       "ledger missed has those that stay away");
}

static void why_audit (struct inputs *in, const struct act_report *r,
                       int64_t id)
{
    json_t *audit
        = verb_keep_json (need (ledger_audit (in->ledger, id, &fault)));
    bool told;

    print_line (audit, audit_line (audit), inputs_output (in));
    told = why_nodes (in, r, NULL, id) > 0;
    if (!told)
        print_remarks (&r->decisions, inputs_output (in));
    print_audit_todo (in, id, told);
    print_details (audit, TOLD, inputs_output (in));
}

/* A cable by its id, or by one of its ports: "s1-0002/6"; FABRIC_NONE: none. */
static uint32_t find_cable (const struct fabric *f, const char *word)
{
    uint32_t link = fabric_find_link (f, word);

    for (uint32_t i = 0; i < f->nlinks && link == FABRIC_NONE; i++)
        if (!strcmp (PORT_NAME (f, f->link[i].a), word)
            || !strcmp (PORT_NAME (f, f->link[i].b), word))
            link = i;
    return link;
}

/* Tell of a cable: what audits found, and whose it is. */
static void why_cable (struct inputs *in, uint32_t link)
{
    const struct fabric *f = in->fabric;
    const struct fabric_link *l = &f->link[link];
    const char *host = fabric_network (f)->link[link].host;
    struct ledger_rows found;
    FILE *fp = inputs_output (in);
    size_t n;

    need_ok (ledger_found (in->ledger, 0, l->id, &found, &fault));
    n = found.n;

    fprintf (fp, "%s -- %s (%s)\n", PORT_NAME (f, l->a), PORT_NAME (f, l->b),
             l->id);
    print_cable (f, l->id, fp);
    print_carried (in, l->id);
    fprintf (fp, "suspected by %s\n", COUNTED (n, "audit"));
    if (n == 0)
        fputs ("do: nothing\n", fp);
    else if (host)
        fprintf (fp, "do: see pmm why %s; after a repair pmm ledger rebase "
                     "%s\n", host, l->id);
    else
        fprintf (fp, "do: for the fabric team; after a repair pmm ledger "
                     "rebase %s\n", l->id);
    for (size_t i = n > TOLD ? n - TOLD : 0; i < n; i++) {
        json_t *audit = verb_keep_json (
            need (ledger_audit (in->ledger, found.seen[i].audit, &fault)));

        print_audit (audit, 0, fp);
    }
}

/* When an audit measured the node last; -1: none has. told: there is a decision
 * on it.
 */
static int64_t measured_last (struct inputs *in, const struct act_report *r,
                              const char *name, bool told)
{
    int64_t begun = -1;
    int any = need_ok (ledger_number (in->ledger, LEDGER_MEASURED, 0, name, &begun,
                                      &fault));

    if (!told && (!any || r->decisions.n > 0))
        die_input ("there is no node, job or audit %.63s", name);
    return begun;
}

static void why_node (struct inputs *in, const struct act_report *r,
                      const char *name)
{
    bool told = why_nodes (in, r, name, 0) > 0;
    int64_t at = measured_last (in, r, name, told);

    if (at < 0)
        fputs ("not measured by any audit\n", inputs_output (in));
    else
        fprintf (inputs_output (in), "measured last: %s\n", DATE (at));
    if (!told)
        print_remarks (&r->decisions, inputs_output (in));
}

/* A job that no audit is about, which must run. */
static const struct controller_job *running_job (const char *word)
{
    const struct controller_job *job = controller_job (word, &fault);

    if (!job || job->id == 0 || strcmp (job->state, "running"))
        die_input ("no audit has this number, or is about this job: %s", word);
    return job;
}

/* Tell of such a job whether it was checked. */
static void why_running (struct inputs *in, const char *word)
{
    const struct controller_job *job = running_job (word);
    const char *field = job->comment;
    struct comment c, check = { .source = COMMENT_AUDIT };
    FILE *fp = inputs_output (in);
    bool checked;

    while (comment_next (&field, &c))
        if (c.source == COMMENT_CHECK)
            check = c;
    checked = check.source == COMMENT_CHECK;
    fprintf (fp, "job %u of %s runs on %s: %s\n", job->id, job->user,
             COUNTED (job->count, "node"), SHOWN (job->nodes));
    if (checked)
        fprintf (fp, "its check: %s %s\n", verdict_status_name (check.status),
                 check.text);
    else
        fputs ("no check of it is recorded\n", fp);
    if (checked && check.status == VERDICT_OK)
        fputs ("do: nothing\n", fp);
    else
        fprintf (fp, "do: to measure it%s, beside its own traffic: pmm check "
                     "%s\n", checked ? " again" : "", word);
}

/* What the word names. */
struct named {
    uint32_t cable; /* FABRIC_NONE: none */
    bool number;    /* of an audit or a job; else it is a node */
    int64_t audit;  /* with the number, or about the job; 0: none */
};

static struct named find_named (struct inputs *in, const char *word)
{
    struct named n = { .cable = find_cable (in->fabric, word) };
    uint64_t number;

    if (n.cable != FABRIC_NONE
        || text_u64 (word, 1, INT64_MAX, &number) < 0)
        return n;
    n.number = true;
    if (!why_given.job)
        n.audit = find_audit_id (in, number);
    if (n.audit == 0)
        n.audit = find_job (in, number);
    return n;
}

static json_t *audits_json (struct inputs *in, uint32_t cable)
{
    struct ledger_rows found;
    json_t *list = json_array ();

    need_ok (ledger_found (in->ledger, 0, in->fabric->link[cable].id, &found,
                           &fault));
    for (size_t i = 0; i < found.n; i++)
        json_add (list, need (ledger_audit (in->ledger, found.seen[i].audit,
                                            &fault)));
    return list;
}

static json_t *job_json (const struct controller_job *v)
{
    return json_pack ("{s:I, s:I, s:s, s:s, s:I, s:b, s:s?, s:s?}", "id",
                      (json_int_t)v->id, "uid", (json_int_t)v->uid, "user",
                      v->user, "state", v->state, "count",
                      (json_int_t)v->count, "het", v->het, "nodes", v->nodes,
                      "comment", v->comment);
}

/* The facts that the text is made of, and all of them. */
static json_t *why_json (struct inputs *in, const struct act_report *r,
                         const char *word, const struct named *n)
{
    struct story story;
    json_t *facts;
    int64_t at;

    if (n->cable != FABRIC_NONE)
        return json_pack ("{s:o, s:o}", "cable",
                          fabric_link_json (in->fabric, n->cable), "audits",
                          audits_json (in, n->cable));
    if (n->number && n->audit == 0)
        return json_pack ("{s:o}", "job", job_json (running_job (word)));
    story = tell_story (in, r, n->number ? NULL : word, n->audit);
    facts = json_pack (
        "{s:o*, s:O}", "audit",
        n->number ? need (ledger_audit (in->ledger, n->audit, &fault)) : NULL,
        "nodes", story.nodes);
    if (!n->number) {
        at = measured_last (in, r, word, json_array_size (story.nodes) > 0);
        json_put (facts, "measured", at < 0 ? json_null () : json_integer (at));
    }
    return facts;
}

static int run_policy_why (struct inputs *in)
{
    const char *word = in->operand[0];
    struct act_report report;
    const struct site *site = verb_site (in->conf, false);
    struct named n;

    evaluate_policy (in, site, &report);
    n = find_named (in, word);
    if (in->json) {
        json_t *facts = why_json (in, &report, word, &n);

        json_put (facts, "remarks", json_strings (report.decisions.remark,
                                                  report.decisions.nremarks));
        inputs_put_json (in, "why", in->fabric->hash, facts);
    }
    else if (n.cable != FABRIC_NONE)
        why_cable (in, n.cable);
    else if (!n.number)
        why_node (in, &report, word);
    else if (n.audit == 0)
        why_running (in, word);
    else
        why_audit (in, &report, n.audit);
    act_report_clear (&report);
    return EXIT_OK;
}

/* did: a list of what is done, for JSON; NULL: text. */
static void report_action (void *did, enum policy_kind kind, const char *line)
{
    if (did)
        json_add (did, json_pack ("{s:s, s:s}", "action",
                                  policy_kind_name (kind), "text", line));
    else
        puts (line);
    fflush (stdout);
}

static int run_policy_act (struct inputs *in)
{
    json_t *did = in->json ? json_array () : NULL;
    struct act_report report;
    char name[CONTROLLER_NAME];
    const struct site *site = verb_site (in->conf, true);
    uid_t uid;
    int status;

    in->fabric = need (fabric_load_trusted (site->snapshot, geteuid (),
                                            &fault));
    need_ok (controller_user (&uid, name, &fault));
    if (uid != geteuid ()) /* later, a drain would not be seen as ours */
        die_input ("this is for SlurmUser, %s, to run: %s", name,
                   INSTEAD (name));
    in->ledger = need (ledger_open (site->ledger, LEDGER_WRITE, &fault));
    need_ok (act_round (&report, site, in->ledger, in->fabric,
                        (int64_t)time (NULL), report_action, did, &fault));
    if (report.busy)
        die_world ("an audit is running, or another acts");
    if (did)
        inputs_put_json (in, "acts", in->fabric->hash,
                         json_pack ("{s:o}", "acts", did));
    status = report.decisions.stopped ? EXIT_WORLD : EXIT_OK;
    act_report_clear (&report);
    return status;
}

static const struct verb *const verbs[] = {
    &(const struct verb){
        .name = "explain", .help = "show what audits say of each node",
        .may = TAKES_LEDGER | TAKES_FABRIC | TAKES_JSON | TAKES_COLOUR
               | TAKES_OUTPUT, .operands = "[NODE]", .max = 1,
        .run = explain_policy,
    },
    &(const struct verb){ .name = "act",
                          .help = "drain, resume and comment nodes, once",
                          .may = TAKES_CONF | TAKES_JSON,
                          .run = run_policy_act },
    NULL,
};

const struct verb verb_why = {
    .group = VERBS_SITE, .name = "why",
    .help = "tell the story of a node, cable, job or audit, and what to do",
    .may = TAKES_LEDGER | TAKES_FABRIC | TAKES_JSON | TAKES_COLOUR
           | TAKES_OUTPUT,
    .operands = "NODE|CABLE|JOBID|AUDIT", .min = 1, .max = 1,
    .options = why_options, .given = &why_given, .run = run_policy_why,
};

const struct verb verb_policy = {
    .group = VERBS_SITE, .name = "policy",
    .help = "show which nodes would be drained, and why", .verbs = verbs,
};
