/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the ledger has of an audit, as a verdict again. */
#include "config.h"
#include "prolog/ledger/ledger.h"

#include <math.h>
#include <string.h>

#include "util/alloc.h"
#include "util/json.h"

/* The number of a word; the last one if it is none of them. */
static unsigned int word_number (const json_t *row, const char *key,
                                 const char *(*name) (unsigned int),
                                 unsigned int n)
{
    unsigned int i = 0;

    while (i < n - 1 && strcmp (json_text (row, key), name (i)) != 0)
        i++;
    return i;
}

static const char *status_name (unsigned int i)
{
    return verdict_status_name ((enum verdict_status)i);
}

static const char *kind_name (unsigned int i)
{
    return finding_kind_name ((enum finding_kind)i);
}

static const char *basis_name (unsigned int i)
{
    return finding_basis_name ((enum finding_basis)i);
}

static double ns_of (const json_t *row, const char *key)
{
    const json_t *v = json_object_get (row, key);

    return json_is_number (v) ? json_number_value (v) : NAN;
}

/* False: it is not in the fabric any more. */
static bool put_suspect (struct verdict *of, struct finding *x, const json_t *v,
                         const struct fabric *f)
{
    const struct network *net = fabric_network (f);
    const char *id = json_text (v, "id"), *role = json_text (v, "role");
    uint32_t link, sw = 0;

    if (!strcmp (role, "switch")) {
        while (sw < net->nswitches
               && (!net->sw[sw].id || strcmp (net->sw[sw].id, id)))
            sw++;
        if (sw < net->nswitches)
            verdict_add_number (of, &x->sw, &x->nsw, sw);
        return sw < net->nswitches;
    }
    link = fabric_find_link (f, id);
    if (link == FABRIC_NONE)
        return false;
    if (strcmp (role, "link"))
        verdict_add_number (of, &x->oneway, &x->noneway, link);
    else {
        verdict_add_number (of, &x->suspect, &x->nsuspects, link);
        if (net->link[link].host)
            finding_add_host (of, x, net->link[link].host);
    }
    return true;
}

struct verdict *ledger_verdict (const json_t *result, const struct fabric *f,
                                bool part)
{
    const json_t *findings = json_object_get (result, "findings"), *row, *v;
    struct verdict *verdict = verdict_create ();
    size_t i, k;

    verdict->status
        = word_number (result, "status", status_name, VERDICT_FAIL + 1);
    json_array_foreach (findings, i, row) {
        struct finding *x = verdict_add (verdict, VERDICT_OK, BASIS_CLASS);
        bool known = true; /* all suspects */

        x->level = word_number (row, "level", status_name, VERDICT_FAIL + 1);
        x->kind = word_number (row, "kind", kind_name, FINDING_KINDS);
        x->basis = word_number (row, "basis", basis_name, FINDING_BASES);
        x->excess_ns = ns_of (row, "excess_ns");
        x->stderr_ns = ns_of (row, "stderr_ns");
        x->expected_ns = ns_of (row, "expected_ns");
        finding_add_fact (verdict, x, fact_said (json_text (row, "why")));
        json_array_foreach (json_object_get (row, "suspects"), k, v) known
            &= put_suspect (verdict, x, v, f);
        if (!known && !part)
            x->nsuspects = x->noneway = x->nsw = 0;
    }
    return verdict;
}
