/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { AT_ONCE_MIN = 3 }; /* two may be one that was not resolved */

const char *const verdict_status_names[] = {
    [VERDICT_OK] = "OK",
    [VERDICT_WARN] = "WARN",
    [VERDICT_UNKNOWN] = "UNKNOWN",
    [VERDICT_FAIL] = "FAIL",
    NULL,
};

const char *const finding_kind_names[] = {
    [FINDING_HOST_END] = "host end",
    [FINDING_SWITCH_LINK] = "switch link",
    [FINDING_SWITCH] = "switch",
    [FINDING_ROUTE] = "route",
    [FINDING_NODE] = "software, PCIe or adapter",
    NULL,
};
_Static_assert (sizeof (finding_kind_names) / sizeof (*finding_kind_names)
                    == FINDING_KINDS + 1, "each kind has a name");

const char *const finding_basis_names[] = {
    [BASIS_BASELINE] = "baseline", [BASIS_CLASS] = "class",
    [BASIS_COUNTER] = "counter",   [BASIS_WIDTH] = "width",
    [BASIS_SPEED] = "speed",       [BASIS_TRAFFIC] = "traffic",
    [BASIS_LOOPBACK] = "loopback", [BASIS_BEHIND] = "behind",
    [BASIS_ALIKE] = "alike",       [BASIS_LOSS] = "loss",
    [BASIS_SLOW] = "delay",        [BASIS_RATE] = "rate",
    NULL,
};

/* What says which part of a host is slow, and what to do. */
static const struct {
    enum fact_kind kind;
    const char *name;
} kept_facts[] = {
    { FACT_SAID, "said" },
    { FACT_RATE, "rate" },
    { FACT_RATE_SENT, "rate sent" },
    { FACT_RATE_RECEIVED, "rate received" },
    { FACT_RATE_LOOPBACK, "loopback rate" },
    { FACT_RATE_PCIE, "pcie" },
    { FACT_RATE_STRICT, "strict order" },
    { FACT_LOOPBACK_FAST, "loopback fast" },
    { FACT_LOOPBACK_AS_OTHERS, "loopback as others" },
};

const char *fact_kept_name (enum fact_kind kind)
{
    for (size_t i = 0; i < sizeof (kept_facts) / sizeof (*kept_facts); i++)
        if (kept_facts[i].kind == kind)
            return kept_facts[i].name;
    return NULL;
}

bool fact_of_kept (const char *name, enum fact_kind *kind)
{
    for (size_t i = 0; i < sizeof (kept_facts) / sizeof (*kept_facts); i++)
        if (!strcmp (kept_facts[i].name, name)) {
            *kind = kept_facts[i].kind;
            return true;
        }
    return false;
}

const char *verdict_status_name (enum verdict_status status)
{
    return verdict_status_names[status];
}

const char *finding_kind_name (enum finding_kind kind)
{
    return finding_kind_names[kind];
}

const char *finding_basis_name (enum finding_basis basis)
{
    return finding_basis_names[basis];
}

bool finding_is_of_switch (const struct finding *f)
{
    return f->nsw > 0
           && (f->kind == FINDING_SWITCH || f->kind == FINDING_ROUTE);
}

struct verdict *verdict_create (void)
{
    struct pool *pool = pool_create ();
    struct verdict *v = pool_alloc (pool, 1, sizeof (*v));

    v->pool = pool;
    return v;
}

void verdict_destroy (struct verdict *v)
{
    if (v)
        pool_destroy (v->pool);
}

static void append_fact (struct pool *pool, struct fact **list, size_t *n,
                         struct fact fact)
{
    *list = pool_grow (pool, *list, *n, sizeof (**list));
    for (int i = 0; i < FACT_NAMES; i++)
        fact.name[i] = pool_strdup (pool, fact.name[i]);
    (*list)[(*n)++] = fact;
}

void verdict_limit (struct verdict *v, enum verdict_status status,
                    struct fact limit)
{
    v->limited |= status > VERDICT_OK;
    append_fact (v->pool, &v->limit, &v->nlimits, limit);
    if (status <= v->status)
        return;
    v->status = status;
    limit = v->limit[v->nlimits - 1];
    memmove (v->limit + 1, v->limit, (v->nlimits - 1) * sizeof (*v->limit));
    v->limit[0] = limit;
}

struct finding *verdict_add (struct verdict *v, enum verdict_status level,
                             enum finding_basis basis)
{
    v->finding
        = pool_grow (v->pool, v->finding, v->nfindings, sizeof (*v->finding));
    v->finding[v->nfindings] = (struct finding){
        .level = level,
        .basis = basis,
        .excess_ns = NAN,
        .stderr_ns = NAN,
        .expected_ns = NAN,
        .rate_bits = NAN,
        .rate_expected_bits = NAN,
    };
    return &v->finding[v->nfindings++];
}

void finding_add_fact (struct verdict *v, struct finding *f, struct fact fact)
{
    append_fact (v->pool, &f->fact, &f->nfacts, fact);
}

const struct fact *finding_fact (const struct finding *f, enum fact_kind kind)
{
    for (size_t i = 0; i < f->nfacts; i++)
        if (f->fact[i].kind == kind)
            return &f->fact[i];
    return NULL;
}

size_t verdict_too_many (size_t links)
{
    static const double slow_a_month = .02 / 12, rare = 1e-3;
    double mean = slow_a_month * (double)links, term = exp (-mean);
    double tail = 1 - term;
    size_t n = 1;

    for (; tail > rare; n++) {
        term *= mean / (double)n;
        tail -= term;
    }
    return n > AT_ONCE_MIN ? n : AT_ONCE_MIN;
}

static bool is_of_some_place_between (const struct finding *f)
{
    return f->level < VERDICT_FAIL && !isnan (f->excess_ns)
           && (f->basis == BASIS_BASELINE || f->basis == BASIS_CLASS)
           && (f->kind == FINDING_SWITCH_LINK || f->kind == FINDING_SWITCH
               || f->kind == FINDING_ROUTE);
}

void verdict_find_at_once (struct verdict *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->nfindings; i++)
        n += is_of_some_place_between (&v->finding[i]);
    for (size_t i = 0; i < v->nfindings; i++)
        v->finding[i].at_once = n >= verdict_too_many (v->links)
                                && is_of_some_place_between (&v->finding[i]);
}

size_t verdict_at_once (const struct verdict *v)
{
    size_t n = 0;

    for (size_t i = 0; i < v->nfindings; i++)
        n += finding_is_at_once (&v->finding[i]);
    return n;
}

bool finding_keeps_facts (const struct finding *f)
{
    size_t i = 0;

    while (i < f->nfacts && (f->fact[i].kind == FACT_SAID
                             || !fact_kept_name (f->fact[i].kind)))
        i++;
    return finding_has_rate (f) && i < f->nfacts;
}

bool verdict_add_number (struct verdict *v, uint32_t **list, size_t *n,
                         uint32_t number)
{
    for (size_t i = 0; i < *n; i++)
        if ((*list)[i] == number)
            return false;
    *list = pool_grow (v->pool, *list, *n, sizeof (**list));
    (*list)[(*n)++] = number;
    return true;
}

void finding_add_host (struct verdict *v, struct finding *f, const char *host)
{
    for (size_t k = 0; k < f->nnodes; k++)
        if (!strcmp (f->node[k], host))
            return;
    f->node = pool_grow (v->pool, f->node, f->nnodes, sizeof (*f->node));
    f->node[f->nnodes++] = pool_strdup (v->pool, host);
}

bool verdict_is_limited (const struct verdict *v)
{
    return v->status > VERDICT_OK && v->nlimits > 0
           && (v->nfindings == 0 || v->finding[0].level < v->status);
}

/* Number of other possible causes. */
size_t finding_others (const struct finding *f)
{
    return finding_is_of_switch (f) ? f->nsw - 1
                                    : f->nsuspects - 1 + f->noneway;
}

void link_name (const struct link_info *link, char buf[LINK_NAME])
{
    snprintf (buf, LINK_NAME, "%s%s%s", link->host ? link->host : "",
              link->rail ? " " : "", link->rail ? link->rail : "");
}

const char *verdict_rail (const struct verdict *v, const struct network *net)
{
    const char *rail = NULL;

    for (size_t i = 0; i < v->nfindings; i++) {
        const struct finding *f = &v->finding[i];
        const char *of = f->nsuspects > 0 ? net->link[f->suspect[0]].rail
                                          : NULL;

        if (v->nfindings < 2 || !of || finding_is_of_switch (f)
            || (rail && strcmp (rail, of)))
            return NULL;
        rail = of;
    }
    return rail;
}
