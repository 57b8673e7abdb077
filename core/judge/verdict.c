/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

static const char *const status_name[] = {
    [VERDICT_OK] = "OK",
    [VERDICT_WARN] = "WARN",
    [VERDICT_UNKNOWN] = "UNKNOWN",
    [VERDICT_FAIL] = "FAIL",
};

/* Of each kind, and of one that may be either kind of link. */
enum { EITHER_LINK = FINDING_KINDS };
static const char *const words[] = {
    [FINDING_HOST_END] = "host end",
    [FINDING_SWITCH_LINK] = "switch link",
    [FINDING_SWITCH] = "switch",
    [FINDING_ROUTE] = "route",
    [FINDING_NODE] = "software, PCIe or adapter",
    [EITHER_LINK] = "host end or switch link",
};

static const char *const basis_name[] = {
    [BASIS_BASELINE] = "baseline",
    [BASIS_CLASS] = "class",
    [BASIS_COUNTER] = "counter",
    [BASIS_WIDTH] = "width",
    [BASIS_SPEED] = "speed",
    [BASIS_TRAFFIC] = "traffic",
    [BASIS_LOSS] = "loss",
};

const char *verdict_status_name (enum verdict_status status)
{
    return status_name[status];
}

const char *finding_kind_name (enum finding_kind kind)
{
    return words[kind];
}

const char *finding_basis_name (enum finding_basis basis)
{
    return basis_name[basis];
}

const char *finding_words (const struct finding *f)
{
    return words[f->kind == FINDING_SWITCH_LINK && f->nnodes > 0 ? EITHER_LINK
                                                                 : f->kind];
}

bool finding_is_of_switch (const struct finding *f)
{
    return f->nsw > 0
           && (f->kind == FINDING_SWITCH || f->kind == FINDING_ROUTE);
}

struct verdict *verdict_create (void)
{
    return xcalloc (1, sizeof (struct verdict));
}

static void free_strings (char **v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (v[i]);
    free (v);
}

void verdict_drop (struct verdict *v)
{
    struct finding *f = &v->finding[--v->nfindings];

    free (f->suspect);
    free (f->oneway);
    free (f->sw);
    free_strings (f->node, f->nnodes);
    free (f->why);
}

void verdict_destroy (struct verdict *v)
{
    if (v) {
        int saved_errno = errno;

        while (v->nfindings > 0)
            verdict_drop (v);
        free (v->finding);
        free (v->open);
        free_strings (v->limit, v->nlimits);
        free (v);
        errno = saved_errno;
    }
}

void verdict_limit (struct verdict *v, enum verdict_status status,
                    const char *fmt, ...)
{
    va_list ap;
    char *text;

    va_start (ap, fmt);
    text = xvasprintf (fmt, ap);
    va_end (ap);
    v->limit = xrealloc (v->limit, v->nlimits + 1, sizeof (*v->limit));
    v->limit[v->nlimits] = text_clean (text);
    v->limited |= status >= VERDICT_UNKNOWN;
    if (status > v->status) {
        v->status = status;
        v->reason = v->nlimits;
    }
    v->nlimits++;
}

bool verdict_is_limited (const struct verdict *v)
{
    return v->status == VERDICT_UNKNOWN && v->nlimits > 0
           && (v->nfindings == 0 || v->finding[0].level < VERDICT_UNKNOWN);
}

/* How many more than the first may be the cause. */
size_t finding_others (const struct finding *f)
{
    return finding_is_of_switch (f) ? f->nsw - 1
                                    : f->nsuspects - 1 + f->noneway;
}

static const char loses[] = "loses messages";

static void finding_sentence (const struct finding *f,
                              const struct network *net, char *buf,
                              size_t size)
{
    const struct link_info *link = &net->link[f->suspect[0]];
    bool by_switch = finding_is_of_switch (f);
    const char *name = by_switch ? net->sw[f->sw[0]].name : link->host;
    const char *id = by_switch ? net->sw[f->sw[0]].id : link->id;
    size_t more = finding_others (f);
    char excess[64];
    char others[64] = "";

    if (f->basis == BASIS_TRAFFIC) {
        snprintf (buf, size, "%s", f->why);
        return;
    }
    snprintf (excess, sizeof (excess), "%s", loses);
    if (f->basis != BASIS_LOSS)
        snprintf (excess, sizeof (excess), "%+.0f ns", f->excess_ns);
    if (more > 0)
        snprintf (others, sizeof (others), " or %zu more", more);
    snprintf (buf, size, "%s %s%s%s%s%s %s", finding_words (f),
              name ? name : "", name ? " (" : "", id, name ? ")" : "",
              others, excess);
}

/* Behind the words that a sentence begins with, the longest that do. */
static const char *read_words (struct verdict_phrase *p, const char *s)
{
    size_t len = 0;

    for (size_t i = 0; i < sizeof (words) / sizeof (words[0]); i++) {
        size_t n = strlen (words[i]);

        if (n > len && !strncmp (s, words[i], n) && s[n] == ' ') {
            p->words = words[i];
            len = n;
        }
    }
    return len > 0 ? s + len + 1 : NULL;
}

/* Behind "NAME (ID)" or "ID": names may hold anything. */
static const char *read_who (struct verdict_phrase *p, const char *s)
{
    static const char digits[] = "0123456789abcdef/";
    const char *paren = strrchr (s, '(');
    const char *id = paren ? paren + 1 : s;
    size_t len = strspn (id, digits);
    size_t name = paren ? (size_t)(paren - s) : 0;

    if (len == 0 || len >= sizeof (p->id) || name >= sizeof (p->name)
        || (name > 0 && s[name - 1] != ' ') || (paren && id[len] != ')'))
        return NULL;
    memcpy (p->id, id, len);
    if (name > 0)
        memcpy (p->name, s, name - 1);
    return id + len + (paren != NULL);
}

bool verdict_phrase_read (struct verdict_phrase *p, const char *sentence)
{
    const char *s;
    int end = 0;

    *p = (struct verdict_phrase){ .excess_ns = NAN };
    if (!(s = read_words (p, sentence)) || !(s = read_who (p, s)))
        return false;
    if (sscanf (s, " or %10" SCNu64 " more%n", &p->others, &end) == 1)
        s += end;
    end = 0;
    if (*s++ != ' ')
        return false;
    if (!strncmp (s, loses, strlen (loses)))
        s += strlen (loses);
    else if (strchr ("+-", *s)
             && sscanf (s, "%10lf ns%n", &p->excess_ns, &end) == 1 && end > 0
             && isfinite (p->excess_ns))
        s += end;
    else
        return false;
    return !*s || !strncmp (s, ", and ", 6);
}

bool verdict_phrase_is_ambiguous (const struct verdict_phrase *p)
{
    return p->others > 0 || p->words == words[EITHER_LINK];
}

void verdict_sentence (const struct verdict *v, const struct network *net,
                       char *buf, size_t size)
{
    char what[256];

    if (verdict_is_limited (v))
        snprintf (buf, size, "%s", v->limit[v->reason]);
    else if (v->nfindings > 0) {
        finding_sentence (&v->finding[0], net, what, sizeof (what));
        if (v->nfindings > 1)
            snprintf (buf, size, "%s, and %s", what,
                      COUNTED (v->nfindings - 1, "more finding"));
        else
            snprintf (buf, size, "%s", what);
    }
    else if (v->probes == 0)
        snprintf (buf, size, "%s, nothing to measure",
                  COUNTED (v->nodes, "node"));
    else
        snprintf (buf, size,
                  "%s by %s in %s, %s; %.0f %% of the links told apart",
                  COUNTED (v->links, "link"), COUNTED (v->probes, "probe"),
                  COUNTED (v->rounds, "round"), COUNTED (v->nodes, "node"),
                  v->links ? floor (100. * v->separable / v->links) : 100);
    text_clean (buf);
}

static json_t *number (double x)
{
    return isfinite (x) ? json_real (x) : json_null ();
}

static json_t *strings_json (char **v, size_t n)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new (list, json_string (v[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

/* Ids of links. */
static json_t *links_json (const uint32_t *link, size_t n,
                           const struct network *net)
{
    json_t *list = json_array ();

    for (size_t i = 0; i < n; i++)
        if (json_array_append_new (list, json_string (net->link[link[i]].id))
            < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

static json_t *finding_json (const struct finding *f,
                             const struct network *net)
{
    json_t *switches = json_array ();
    int rc = 0;

    for (size_t i = 0; i < f->nsw; i++)
        rc |= json_array_append_new (switches,
                                     json_string (net->sw[f->sw[i]].id));
    if (rc < 0) {
        json_decref (switches);
        return NULL;
    }
    return json_pack ("{s:s, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:s, s:o,"
                      " s:s}",
                      "level", status_name[f->level], "suspects",
                      links_json (f->suspect, f->nsuspects, net), "oneway",
                      links_json (f->oneway, f->noneway, net), "switches",
                      switches, "kind",
                      words[f->kind],
                      "excess_ns", number (f->excess_ns), "stderr_ns",
                      number (f->stderr_ns), "expected_ns",
                      number (f->expected_ns), "basis", basis_name[f->basis],
                      "nodes", strings_json (f->node, f->nnodes), "why",
                      f->why);
}

json_t *verdict_json (const struct verdict *v, const struct network *net,
                      struct error *err)
{
    json_t *json = json_file ("verdict", net->hash);
    json_t *findings = json_array ();
    json_t *rest;
    int rc;

    for (size_t i = 0; i < v->nfindings; i++)
        if (json_array_append_new (findings,
                                   finding_json (&v->finding[i], net))
            < 0)
            goto nomem;
    rest = json_pack ("{s:s, s:O, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "status",
                      status_name[v->status], "findings", findings,
                      "not_judged", links_json (v->open, v->nopen, net), "limits",
                      strings_json (v->limit, v->nlimits), "hosts",
                      (json_int_t)v->nodes, "links", (json_int_t)v->links,
                      "separable", (json_int_t)v->separable, "measurements",
                      (json_int_t)v->probes, "rounds",
                      (json_int_t)v->rounds);
    if (!rest)
        goto nomem;
    rc = json_object_update (json, rest);
    json_decref (rest);
    if (rc < 0)
        goto nomem;
    json_decref (findings);
    return json;
nomem:
    error_nomem (err);
    json_decref (json);
    json_decref (findings);
    return NULL;
}

int verdict_write (const struct verdict *v, const struct network *net,
                   FILE *fp, struct error *err)
{
    json_t *json = verdict_json (v, net, err);
    int rc = json ? json_write (json, fp, err) : -1;

    json_decref (json);
    return rc;
}
