/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pmm/part.h"

#include <stdlib.h>
#include <string.h>

#include "core/plan/select.h"
#include "core/plan/separate.h"
#include "pmm/inputs.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

struct links {
    uint32_t *v;
    size_t n;
};

static int add_link (struct links *l, uint32_t link, struct error *err)
{
    uint32_t *v = realloc (l->v, (l->n + 1) * sizeof (*v));

    if (!v)
        return error_nomem (err);
    l->v = v;
    l->v[l->n++] = link;
    return 0;
}

static int compare_link (const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sort, each once. */
static void unify (struct links *l)
{
    size_t keep = 0;

    if (l->n > 0)
        qsort (l->v, l->n, sizeof (*l->v), compare_link);
    for (size_t i = 0; i < l->n; i++)
        if (i == 0 || l->v[i] != l->v[keep - 1])
            l->v[keep++] = l->v[i];
    l->n = keep;
}

/* Links by commas or lines: a name of a switch may have blanks in it. */
static int read_links (struct links *l, const struct fabric *f,
                       const char *option, const char *list,
                       struct error *err)
{
    char *text = inputs_text (list, err);
    char *save = NULL;
    int rc = text ? 0 : -1;

    for (char *word = rc < 0 ? NULL : strtok_r (text, ",\n", &save);
         word && rc == 0; word = strtok_r (NULL, ",\n", &save)) {
        size_t len;
        uint32_t link;

        word += strspn (word, " \t\r");
        len = strlen (word);
        while (len > 0 && strchr (" \t\r", word[len - 1]))
            word[--len] = '\0';
        if (len == 0)
            continue;
        link = fabric_find_link (f, word);
        rc = link == FABRIC_NONE
            ? error_input (err, "no link %.80s in the fabric", word)
            : add_link (l, link, err);
    }
    free (text);
    if (rc == 0 && l->n == 0)
        rc = error_input (err, "no links");
    unify (l);
    return rc < 0 ? error_prefix (err, "--%s", option) : 0;
}

static int switch_links (struct links *l, const struct fabric *f,
                         const char *text, struct error *err)
{
    const struct network *net = fabric_network (f);
    uint32_t at = fabric_find_switch (f, text);

    if (at == FABRIC_NONE)
        return error_input (err, "--switch: no switch %.80s in the fabric,"
                            " or more than one", text);
    for (size_t i = 0; i < net->nlinks; i++)
        if ((net->link[i].end[0] == at || net->link[i].end[1] == at)
            && add_link (l, i, err) < 0)
            return -1;
    return l->n > 0 ? 0 : error_input (err, "--switch: %.80s has no cables",
                                       text);
}

static void say_member (const struct network *net,
                        const struct plan_member *m, bool first)
{
    fprintf (stderr, "%s", m->p < 0 ? " - " : first ? " " : " + ");
    if (llabs (m->p) != 1 || m->q != 1)
        fprintf (stderr, "%jd", (intmax_t)llabs (m->p));
    if (m->q != 1)
        fprintf (stderr, "/%jd", (intmax_t)m->q);
    fprintf (stderr, "%s%s", llabs (m->p) != 1 || m->q != 1 ? " " : "",
             net->link[m->link].id);
}

static bool same_combination (const struct plan_target *x,
                              const struct plan_target *y)
{
    bool same = x->n == y->n;

    for (size_t k = 0; k < x->n && same; k++)
        same = x->member[k].link == y->member[k].link
               && x->member[k].p == y->member[k].p
               && x->member[k].q == y->member[k].q;
    return same;
}

/* Tell of targets that are not determined by themselves: once of those that
 * share what is.
 */
static void say_targets (const struct plan *plan, const struct network *net)
{
    size_t n;
    const struct plan_target *t = plan_targets (plan, &n);

    for (size_t i = 0; i < n; i++) {
        size_t first = 0;

        while (!same_combination (&t[first], &t[i]))
            first++;
        if (t[i].n == 1 || first < i)
            continue;
        fprintf (stderr, "pmm plan: not determined by these hosts:");
        for (size_t k = i; k < n; k++)
            if (same_combination (&t[k], &t[i]))
                fprintf (stderr, " %s", net->link[t[k].link].id);
        fprintf (stderr, "%s", t[i].n > 1 ? "; but" : "");
        for (size_t k = 0; k < t[i].n; k++)
            say_member (net, &t[i].member[k], k == 0);
        fprintf (stderr, "%s\n", t[i].n > 1 ? " is" : "");
    }
}

uint32_t *part_links (const struct fabric *f, const struct part *part,
                      size_t *n, struct error *err)
{
    struct links links = { 0 };

    if ((part->links ? read_links (&links, f, "links", part->links, err)
                     : switch_links (&links, f, part->at, err)) < 0) {
        free (links.v);
        return NULL;
    }
    *n = links.n;
    return links.v;
}

struct plan *part_plan (const struct fabric *f, const struct part *part,
                        const struct plan_options *opts, struct pathset **ps,
                        struct error *err)
{
    size_t n;
    uint32_t *link = part_links (f, part, &n, err);
    struct pathset *all = NULL;
    struct plan *plan = NULL;

    *ps = NULL;
    if (link && (all = inputs_hosts (f, "hosts", part->hosts, false, err)))
        plan = select_links (all, link, n, opts, ps, err);
    if (plan)
        say_targets (plan, fabric_network (f));
    pathset_destroy (all);
    free (link);
    return plan;
}

/*
 * Suspects
 */

/* The endpoints of the job and the idle ones behind them, in one set. */
static struct pathset *with_idle (const struct fabric *f,
                                  const struct part *part, uint8_t **idle,
                                  struct error *err)
{
    const struct network *net = fabric_network (f);
    struct pathset *more = inputs_hosts (f, "idle", part->idle, false, err);
    struct pathset *job = !more || !part->hosts
        ? NULL : inputs_hosts (f, "hosts", part->hosts, false, err);
    size_t njob = job ? pathset_size (job) : 0;
    size_t n = njob + (more ? pathset_size (more) : 0);
    struct endpoint *e = calloc (n + 1, sizeof (*e));
    struct pathset *both = NULL;

    *idle = calloc (n + 1, 1);
    if (!e || !*idle)
        error_nomem (err);
    else if (more && (job || !part->hosts)) {
        for (size_t i = 0; i < n; i++) {
            e[i] = i < njob ? *pathset_endpoint (job, i)
                            : *pathset_endpoint (more, i - njob);
            (*idle)[i] = i >= njob;
        }
        both = pathset_create (net, e, n, err);
        if (!both)
            error_prefix (err, "--idle");
    }
    pathset_destroy (more);
    pathset_destroy (job);
    free (e);
    return both;
}

struct report {
    const struct network *net;
    const struct pathset *ps;
    const struct links *suspects;
    const struct separation *s;
};

static const char *name (const struct report *r, uint32_t i)
{
    return pathset_endpoint (r->ps, i)->name;
}

static json_t *set_json (const struct report *r, size_t set)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < r->suspects->n; i++)
        if (r->s->set_of[i] == set)
            json_array_append_new (
                list, json_string (r->net->link[r->suspects->v[i]].id));
    return list;
}

static int write_json (const struct report *r, FILE *fp, struct error *err)
{
    json_t *json = json_file ("separation", r->net->hash);
    json_t *hosts = json_array ();
    json_t *probes = json_array ();
    json_t *sets = json_array ();
    int rc;

    for (size_t i = 0; i < r->s->nextra; i++)
        json_array_append_new (hosts, json_string (name (r,
                                                         r->s->extra[i])));
    for (size_t i = 0; i < r->s->nprobes; i++)
        json_array_append_new (
            probes, json_pack ("{s:s, s:s}", "a", name (r, r->s->probe[i].a),
                               "b", name (r, r->s->probe[i].b)));
    for (size_t i = 0; i < r->s->nsets; i++)
        json_array_append_new (sets, set_json (r, i));
    if (!json
        || json_object_set_new (json, "sets_before", json_integer (
               (json_int_t)r->s->nsets_before)) < 0
        || json_object_set (json, "extra_hosts", hosts) < 0
        || json_object_set (json, "probes", probes) < 0
        || json_object_set (json, "sets", sets) < 0)
        rc = error_nomem (err);
    else
        rc = json_write (json, fp, err);
    json_decref (json);
    json_decref (hosts);
    json_decref (probes);
    json_decref (sets);
    return rc;
}

static void write_text (const struct report *r, FILE *fp)
{
    fprintf (fp, "%s: told apart into %zu of them, %zu without more"
             " hosts\n", COUNTED (r->suspects->n, "suspect"), r->s->nsets,
             r->s->nsets_before);
    for (size_t i = 0; i < r->s->nextra; i++)
        fprintf (fp, "add %s\n", name (r, r->s->extra[i]));
    for (size_t i = 0; i < r->s->nprobes; i++)
        fprintf (fp, "probe %s %s\n", name (r, r->s->probe[i].a),
                 name (r, r->s->probe[i].b));
    for (size_t set = 0; set < r->s->nsets; set++) {
        size_t n = 0;

        for (size_t i = 0; i < r->suspects->n; i++)
            n += r->s->set_of[i] == set;
        if (n < 2)
            continue;
        fprintf (fp, "together, whichever of these hosts is added:");
        for (size_t i = 0; i < r->suspects->n; i++)
            if (r->s->set_of[i] == set)
                fprintf (fp, " %s", r->net->link[r->suspects->v[i]].id);
        fprintf (fp, "\n");
    }
}

static int write_report (const struct report *r, const struct part *part,
                         struct error *err)
{
    struct outfile *out = file_create (part->output, err);
    int rc = 0;

    if (!out)
        return -1;
    if (part->json)
        rc = write_json (r, file_stream (out), err);
    else
        write_text (r, file_stream (out));
    return file_finish (out, rc, err);
}

int part_separate (const struct fabric *f, const struct part *part,
                   struct error *err)
{
    struct links suspects = { 0 };
    struct separation s = { 0 };
    struct pathset *ps = NULL;
    uint8_t *idle = NULL;
    int rc = -1;

    if (read_links (&suspects, f, "separate", part->suspects, err) == 0
        && (ps = with_idle (f, part, &idle, err))
        && separate (ps, idle, suspects.v, suspects.n, &s, err) == 0) {
        struct report r = { fabric_network (f), ps, &suspects, &s };

        rc = write_report (&r, part, err);
    }
    separation_clear (&s);
    pathset_destroy (ps);
    free (idle);
    free (suspects.v);
    return rc;
}
