/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file of a verdict. Tables of its keys define the type of each value and its
 * place in memory, for writing and for reading. Facts are written as sentences, and
 * read as what was said; those of a finding also as they are, if any is to be kept.
 */
#include "config.h"
#include "report/report.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "report/words.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/text.h"

enum {
    FILE_MAX = 256 << 20, /* bytes of a file */
    ITEMS_MAX = 1 << 20,  /* in a list */
    TEXT_MAX = 4096,      /* bytes of a sentence */
    NUMBER_MAX = 1 << 30,
};

#define NS_MAX 1e12
#define BITS_MAX 1e15 /* per second, and any number of a fact */

static const char *const loopback_name[] = {
    [LOOPBACK_UNTOLD] = "untold",
    [LOOPBACK_FAST] = "fast",
    [LOOPBACK_SLOW] = "slow",
    NULL,
};

/* The type of a value, in memory and in the file. */
enum verdict_type {
    STATUS,
    KIND,
    BASIS,
    LOOPBACK,
    LINK,
    SWITCH,
    TEXT,
    FACTS, /* of a finding, as one sentence */
    FACT,  /* of a list, likewise */
    KEPT,  /* of a finding, as they are */
    NS,
    BITS,
    NUMBER,
    RATE,
    FINDING,
};

static const struct {
    size_t size;
    const char *const *names;
} types[] = {
    [STATUS] = { sizeof (enum verdict_status), verdict_status_names },
    [KIND] = { sizeof (enum finding_kind), finding_kind_names },
    [BASIS] = { sizeof (enum finding_basis), finding_basis_names },
    [LOOPBACK] = { sizeof (enum finding_loopback), loopback_name },
    [LINK] = { sizeof (uint32_t), NULL },
    [SWITCH] = { sizeof (uint32_t), NULL },
    [TEXT] = { sizeof (char *), NULL },
    [FACTS] = { sizeof (struct finding), NULL },
    [FACT] = { sizeof (struct fact), NULL },
    [KEPT] = { sizeof (struct finding), NULL },
    [NS] = { sizeof (double), NULL },
    [BITS] = { sizeof (double), NULL },
    [NUMBER] = { sizeof (size_t), NULL },
    [RATE] = { sizeof (struct verdict_rate), NULL },
    [FINDING] = { sizeof (struct finding), NULL },
};

/* The place of a key's value in its struct, for a list that of its pointer; and
 * the place of the number of items.
 */
struct verdict_field {
    const char *key;
    enum verdict_type type;
    size_t at;
    size_t count;  /* 0: not a list */
    bool optional; /* missing in older files */
};

#define F(field) offsetof (struct finding, field)
static const struct verdict_field finding_fields[] = {
    { "level", STATUS, .at = F (level) },
    { "suspects", LINK, .at = F (suspect), .count = F (nsuspects) },
    { "oneway", LINK, .at = F (oneway), .count = F (noneway) },
    { "switches", SWITCH, .at = F (sw), .count = F (nsw) },
    { "kind", KIND, .at = F (kind) },
    { "excess_ns", NS, .at = F (excess_ns) },
    { "stderr_ns", NS, .at = F (stderr_ns) },
    { "expected_ns", NS, .at = F (expected_ns) },
    { "basis", BASIS, .at = F (basis) },
    { "nodes", TEXT, .at = F (node), .count = F (nnodes) },
    { "loopback", LOOPBACK, .at = F (loopback), .optional = true },
    { "rate_bits", BITS, .at = F (rate_bits), .optional = true },
    { "rate_expected_bits", BITS, .at = F (rate_expected_bits),
      .optional = true },
    { "facts", KEPT, .optional = true },
    { "why", FACTS },
    { .key = NULL },
};

#define V(field) offsetof (struct verdict, field)
static const struct verdict_field verdict_fields[] = {
    { "status", STATUS, .at = V (status) },
    { "findings", FINDING, .at = V (finding), .count = V (nfindings) },
    { "not_judged", LINK, .at = V (open), .count = V (nopen),
      .optional = true },
    { "limits", FACT, .at = V (limit), .count = V (nlimits) },
    { "hosts", NUMBER, .at = V (nodes) },
    { "links", NUMBER, .at = V (links) },
    { "separable", NUMBER, .at = V (separable) },
    { "measurements", NUMBER, .at = V (probes) },
    { "rounds", NUMBER, .at = V (rounds) },
    { "rates", RATE, .at = V (rate), .count = V (nrates), .optional = true },
    { .key = NULL },
};

static json_t *write_verdict_fields (json_t *obj, const struct verdict_field *f,
                                     const void *from,
                                     const struct network *net);

static json_t *sentence_json (char *text)
{
    json_t *json = json_string (text);

    free (text);
    return json;
}

static json_t *fact_json (const struct fact *fact)
{
    json_t *numbers = xcheck (json_array ()), *names = xcheck (json_array ());

    for (int i = 0; i < FACT_NUMBERS; i++)
        json_add (numbers, number_json (fact->n[i]));
    for (int i = 0; i < FACT_NAMES; i++)
        json_add (names,
                  fact->name[i] ? json_string (fact->name[i]) : json_null ());
    return json_pack ("{s:s, s:o, s:o}", "kind", fact_kept_name (fact->kind),
                      "numbers", numbers, "names", names);
}

/* The facts of a finding, those that are not kept as what was said; none if all
 * are so.
 */
static json_t *facts_json (const struct finding *f)
{
    json_t *list = xcheck (json_array ());

    for (size_t i = 0; i < f->nfacts && finding_keeps_facts (f); i++) {
        bool as_is = fact_kept_name (f->fact[i].kind) != NULL;
        char *words = as_is ? NULL : words_fact (&f->fact[i]);
        struct fact said = fact_said (words);

        json_add (list, fact_json (as_is ? &f->fact[i] : &said));
        free (words);
    }
    return list;
}

static json_t *write_verdict_value (enum verdict_type type, const void *v,
                                    const struct network *net)
{
    const struct verdict_rate *rate = v;
    const double *ns = v;

    switch (type) {
    case STATUS:
    case KIND:
    case BASIS:
    case LOOPBACK:
        return json_string (types[type].names[*(const unsigned int *)v]);
    case LINK:
        return json_string (net->link[*(const uint32_t *)v].id);
    case SWITCH:
        return json_string (net->sw[*(const uint32_t *)v].id);
    case TEXT:
        return json_string (*(char *const *)v);
    case FACTS:
        return sentence_json (words_why (v));
    case FACT:
        return sentence_json (words_fact (v));
    case KEPT:
        return facts_json (v);
    case NS:
    case BITS:
        return number_json (*ns);
    case RATE:
        return json_pack (
            "{s:s, s:i, s:o, s:o}", "link", net->link[rate->arc / 2].id, "way",
            (int)(rate->arc % 2), "bits", number_json (rate->bits), "expected",
            number_json (rate->expected));
    case NUMBER:
        return json_integer ((json_int_t) * (const size_t *)v);
    case FINDING:
        return write_verdict_fields (json_object (), finding_fields, v, net);
    }
    return NULL;
}

static json_t *write_verdict_fields (json_t *obj, const struct verdict_field *f,
                                     const void *from,
                                     const struct network *net)
{
    for (; f->key; f++) {
        const char *v = (const char *)from + f->at;
        const void *n = (const char *)from + f->count;
        json_t *json
            = f->count ? json_array () : write_verdict_value (f->type, v, net);

        if (f->count)
            v = *(const void *const *)v;
        for (size_t i = 0; f->count && i < *(const size_t *)n; i++) {
            json_add (json, write_verdict_value (f->type, v, net));
            v += types[f->type].size;
        }
        json_put (obj, f->key, json);
    }
    return obj;
}

json_t *verdict_json (const struct verdict *v, const struct network *net)
{
    return write_verdict_fields (json_file ("verdict", net->hash),
                                 verdict_fields, v, net);
}

int verdict_write (const struct verdict *v, const struct network *net, FILE *fp,
                   struct error *err)
{
    json_t *json = verdict_json (v, net);
    int rc = json_write (json, fp, err);

    json_decref (json);
    return rc;
}

struct reading {
    struct verdict *verdict;
    json_t *links, *switches; /* numbers by their ids */
    char where[32];           /* the finding, for errors */
    struct error *err;
};

static int read_verdict_fields (const json_t *obj,
                                const struct verdict_field *f, void *to,
                                struct reading *r);

/* Report what is wrong with a key. Return -1. */
static int verdict_key_error (const struct reading *r, const char *key,
                              const char *what)
{
    return error_input (r->err, "%s%s%s: %s", r->where, *r->where ? "." : "",
                        key, what);
}

/* A text of the verdict's pool. NULL: it is none, or too long a one. */
static char *read_sentence (const json_t *json, const struct reading *r)
{
    const char *s = json_string_value (json);

    return s && strlen (s) <= TEXT_MAX
               ? text_clean (pool_strdup (r->verdict->pool, s))
               : NULL;
}

/* A number up to a limit, NAN for null. */
static int read_verdict_number (const char *key, const json_t *json, double min,
                                double max, double *x, struct reading *r)
{
    *x = json_is_null (json) ? NAN : json_number_value (json);
    if (json_is_null (json)
        || (json_is_number (json) && *x >= min && *x <= max))
        return 0;
    return verdict_key_error (r, key, "not a number, or too large a one");
}

static int read_kept_facts (struct finding *x, const json_t *list,
                            struct reading *r)
{
    json_t *json;
    size_t i;

    json_array_foreach (list, i, json)
    {
        const json_t *numbers = json_object_get (json, "numbers");
        const json_t *names = json_object_get (json, "names");
        struct fact fact = { .kind = 0 };

        if (!fact_of_kept (json_text (json, "kind"), &fact.kind))
            return verdict_key_error (r, "facts",
                                      "not one of those that are known");
        for (size_t k = 0; k < FACT_NUMBERS; k++)
            if (read_verdict_number ("facts", json_array_get (numbers, k), 0,
                                     BITS_MAX, &fact.n[k], r)
                < 0)
                return -1;
            else if (isnan (fact.n[k]))
                fact.n[k] = 0;
        for (size_t k = 0; k < FACT_NAMES; k++) {
            const json_t *name = json_array_get (names, k);

            if (!json_is_null (name)
                && !(fact.name[k] = read_sentence (name, r)))
                return verdict_key_error (r, "facts",
                                          "not a text, or too long a one");
        }
        if (fact.kind == FACT_SAID && !fact.name[0])
            return verdict_key_error (r, "facts", "nothing was said");
        finding_add_fact (r->verdict, x, fact);
    }
    return 0;
}

static int read_verdict_rate (struct verdict_rate *rate, const json_t *json,
                              struct reading *r)
{
    const json_t *link = json_object_get (r->links, json_text (json, "link"));
    int64_t way = json_int (json, "way", -1);
    const struct verdict *v = r->verdict;

    if (!link || way < 0 || way > 1)
        return verdict_key_error (r, "rates", "one is not in the fabric");
    rate->arc = (uint32_t)(2 * json_integer_value (link) + way);
    if (v->nrates > 1 && rate[-1].arc >= rate->arc)
        return verdict_key_error (r, "rates", "not in their order");
    if (read_verdict_number ("rates", json_object_get (json, "bits"), 0,
                             BITS_MAX, &rate->bits, r)
        < 0)
        return -1;
    return read_verdict_number ("rates", json_object_get (json, "expected"), 0,
                                BITS_MAX, &rate->expected, r);
}

static int read_verdict_value (const struct verdict_field *f, void *v,
                               const json_t *json, struct reading *r)
{
    const char *s = json_string_value (json);
    struct fact said = { .kind = FACT_SAID };
    json_t *number;

    switch (f->type) {
    case STATUS:
    case KIND:
    case BASIS:
    case LOOPBACK:
        for (unsigned int i = 0; s && types[f->type].names[i]; i++)
            if (!strcmp (s, types[f->type].names[i])) {
                *(unsigned int *)v = i;
                return 0;
            }
        return verdict_key_error (r, f->key, "not one of those that are known");
    case LINK:
    case SWITCH:
        number = json_object_get (f->type == LINK ? r->links : r->switches, s);
        if (!number)
            return verdict_key_error (r, f->key, "one is not in the fabric");
        *(uint32_t *)v = (uint32_t)json_integer_value (number);
        return 0;
    case TEXT:
    case FACTS:
    case FACT:
        if (!(said.name[0] = read_sentence (json, r)))
            return verdict_key_error (r, f->key,
                                      "not a text, or too long a one");
        if (f->type == TEXT)
            *(const char **)v = said.name[0];
        else if (f->type == FACT)
            *(struct fact *)v = said;
        else if (*s && ((struct finding *)v)->nfacts == 0)
            finding_add_fact (r->verdict, v, said);
        return 0;
    case KEPT:
        return read_kept_facts (v, json, r);
    case NS:
        return read_verdict_number (f->key, json, -NS_MAX, NS_MAX, v, r);
    case BITS:
        return read_verdict_number (f->key, json, 0, BITS_MAX, v, r);
    case RATE:
        return read_verdict_rate (v, json, r);
    case NUMBER:
        *(size_t *)v = (size_t)json_integer_value (json);
        if (!json_is_integer (json) || *(size_t *)v > NUMBER_MAX)
            return verdict_key_error (
                r, f->key, "not a number of things, or too large a one");
        return 0;
    case FINDING:
        if (read_verdict_fields (json, finding_fields, v, r) < 0)
            return -1;
        return ((struct finding *)v)->nsuspects
                   ? 0
                   : verdict_key_error (r, "suspects", "there are none");
    }
    return -1;
}

static int read_verdict_list (const struct verdict_field *f, void *to,
                              const json_t *list, struct reading *r)
{
    size_t *n = (size_t *)((char *)to + f->count);
    size_t size = types[f->type].size;
    char *v;

    if (!json_is_array (list) || json_array_size (list) > ITEMS_MAX)
        return verdict_key_error (r, f->key, "not a list, or too long a one");
    v = pool_alloc (r->verdict->pool, json_array_size (list), size);
    *(void **)((char *)to + f->at) = v;
    for (; *n < json_array_size (list); v += size) {
        const json_t *json = json_array_get (list, *n);

        if (f->type == FINDING)
            snprintf (r->where, sizeof (r->where), "%s[%zu]", f->key, *n);
        ++*n;
        if (read_verdict_value (f, v, json, r) < 0)
            return -1;
    }
    if (f->type == FINDING)
        r->where[0] = '\0';
    return 0;
}

static int read_verdict_fields (const json_t *obj,
                                const struct verdict_field *f, void *to,
                                struct reading *r)
{
    for (int rc = 0; f->key; f++) {
        const json_t *json = json_object_get (obj, f->key);

        if (json && f->count)
            rc = read_verdict_list (f, to, json, r);
        else if (json)
            rc = read_verdict_value (f, (char *)to + f->at, json, r);
        else if (f->type == BITS)
            *(double *)((char *)to + f->at) = NAN;
        else if (!f->optional)
            rc = verdict_key_error (r, f->key, "missing");
        if (rc < 0)
            return -1;
    }
    return 0;
}

struct verdict *verdict_read (FILE *fp, const char *name,
                              const struct network *net, struct error *err)
{
    struct reading r = { .verdict = verdict_create (), .err = err };
    json_t *json = json_read (fp, name, "verdict", FILE_MAX, err);
    const char *hash = json_string_value (json_object_get (json, "fabric"));
    struct verdict *v = r.verdict;
    int rc = -1;

    if (!json)
        goto done;
    r.links = json_object ();
    for (size_t i = 0; i < net->nlinks; i++)
        json_put (r.links, net->link[i].id, json_integer ((json_int_t)i));
    r.switches = json_object ();
    for (size_t i = 0; i < net->nswitches; i++)
        json_object_set_new (r.switches, net->sw[i].id,
                             json_integer ((json_int_t)i));
    if (hash && !strcmp (hash, net->hash))
        rc = read_verdict_fields (json, verdict_fields, v, &r);
    else
        rc = error_input (err, "made for another fabric, or for this one "
                               "before it changed");
    if (rc < 0)
        error_prefix (err, "%s", name);
    else
        verdict_find_at_once (v);
done:
    if (rc < 0)
        verdict_destroy (v);
    json_decref (r.links);
    json_decref (r.switches);
    json_decref (json);
    return rc < 0 ? NULL : v;
}
