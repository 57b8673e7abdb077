/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts out of their files. */
#include "config.h"
#include "core/judge/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/json.h"
#include "util/text.h"

enum {
    FILE_MAX = 256 << 20,  /* bytes of a file */
    ITEMS_MAX = 1 << 20,   /* of a list */
    TEXT_MAX = 4096,       /* bytes of a sentence */
    NUMBER_MAX = 1 << 30,
};

#define NS_MAX 1e12

/* The links or switches of a network, by their ids. */
struct place {
    const char *id;
    uint32_t number;
};
struct index {
    struct place *place;
    size_t n;
};

/* What a file is read with. */
struct reading {
    struct index links, switches;
    const char *where; /* the finding, for errors; NULL */
    struct error *err;
};

static int compare_places (const void *a, const void *b)
{
    return strcmp (((const struct place *)a)->id,
                   ((const struct place *)b)->id);
}

static int make_index (struct index *x, const char *(*id_of) (
                           const struct network *net, size_t i),
                       const struct network *net, size_t n)
{
    if (!(x->place = calloc (n + 1, sizeof (*x->place))))
        return -1;
    for (size_t i = 0; i < n; i++)
        if (id_of (net, i))
            x->place[x->n++] = (struct place){ id_of (net, i), (uint32_t)i };
    qsort (x->place, x->n, sizeof (*x->place), compare_places);
    return 0;
}

static const char *link_id (const struct network *net, size_t i)
{
    return net->link[i].id;
}

static const char *switch_id (const struct network *net, size_t i)
{
    return net->sw[i].id;
}

/* Say what is wrong with a key. Return -1. */
static int bad (struct reading *r, const char *key, const char *what)
{
    return error_input (r->err, "%s%s%s: %s", r->where ? r->where : "",
                        r->where ? "." : "", key, what);
}

/* The enum whose name is the string of a key, of n names. */
static int get_name (const json_t *obj, const char *key,
                     const char *(*name_of) (int i), int n,
                     struct reading *r)
{
    const char *value;

    if (json_get_string (obj, r->where, key, &value, r->err) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        if (!strcmp (value, name_of (i)))
            return i;
    return bad (r, key, "not one of those that are known");
}

static const char *status_name (int i)
{
    return verdict_status_name ((enum verdict_status)i);
}

static const char *kind_name (int i)
{
    return finding_kind_name ((enum finding_kind)i);
}

static const char *basis_name (int i)
{
    return finding_basis_name ((enum finding_basis)i);
}

/* A list of ids as numbers, of which there are *n; NULL with err. */
static uint32_t *get_ids (const json_t *obj, const char *key,
                          const struct index *x, size_t *n, struct reading *r)
{
    json_t *list;
    uint32_t *v;

    *n = 0;
    if (json_get_array (obj, r->where, key, ITEMS_MAX, &list, r->err) < 0)
        return NULL;
    if (!(v = calloc (json_array_size (list) + 1, sizeof (*v)))) {
        error_nomem (r->err);
        return NULL;
    }
    for (size_t i = 0; i < json_array_size (list); i++) {
        const char *id = json_string_value (json_array_get (list, i));
        const struct place wanted = { id, 0 };
        const struct place *p
            = id ? bsearch (&wanted, x->place, x->n, sizeof (wanted),
                            compare_places)
                 : NULL;

        if (!p) {
            bad (r, key, "one is not in the fabric");
            free (v);
            return NULL;
        }
        v[(*n)++] = p->number;
    }
    return v;
}

/* A sentence or a name, cleaned; NULL with err. */
static char *copy_text (const json_t *value, const char *key,
                        struct reading *r)
{
    const char *s = json_string_value (value);
    char *text;

    if (!s || strlen (s) > TEXT_MAX) {
        bad (r, key, "not a text, or too long a one");
        return NULL;
    }
    if (!(text = strdup (s))) {
        error_nomem (r->err);
        return NULL;
    }
    return text_clean (text);
}

static int get_texts (const json_t *obj, const char *key, char ***v,
                      size_t *n, struct reading *r)
{
    json_t *list;

    if (json_get_array (obj, r->where, key, ITEMS_MAX, &list, r->err) < 0)
        return -1;
    if (!(*v = calloc (json_array_size (list) + 1, sizeof (**v))))
        return error_nomem (r->err);
    for (size_t i = 0; i < json_array_size (list); i++) {
        (*v)[i] = copy_text (json_array_get (list, i), key, r);
        if (!(*v)[i])
            return -1;
        *n = i + 1;
    }
    return 0;
}

/* A number, or NAN for null. */
static int get_ns (const json_t *obj, const char *key, double *value,
                   struct reading *r)
{
    *value = NAN;
    if (json_is_null (json_object_get (obj, key)))
        return 0;
    return json_get_double (obj, r->where, key, -NS_MAX, NS_MAX, value,
                            r->err);
}

static int read_finding (struct finding *f, const json_t *obj,
                         struct reading *r)
{
    int level = get_name (obj, "level", status_name, VERDICT_FAIL + 1, r);
    int kind = level < 0 ? -1 : get_name (obj, "kind", kind_name,
                                          FINDING_KINDS, r);
    int basis = kind < 0 ? -1 : get_name (obj, "basis", basis_name,
                                          BASIS_LOSS + 1, r);

    if (basis < 0)
        return -1;
    f->level = (enum verdict_status)level;
    f->kind = (enum finding_kind)kind;
    f->basis = (enum finding_basis)basis;
    if (!(f->suspect = get_ids (obj, "suspects", &r->links, &f->nsuspects, r))
        || !(f->oneway = get_ids (obj, "oneway", &r->links, &f->noneway, r))
        || !(f->sw = get_ids (obj, "switches", &r->switches, &f->nsw, r))
        || get_texts (obj, "nodes", &f->node, &f->nnodes, r) < 0
        || get_ns (obj, "excess_ns", &f->excess_ns, r) < 0
        || get_ns (obj, "stderr_ns", &f->stderr_ns, r) < 0
        || get_ns (obj, "expected_ns", &f->expected_ns, r) < 0
        || !(f->why = copy_text (json_object_get (obj, "why"), "why", r)))
        return -1;
    if (f->nsuspects == 0)
        return bad (r, "suspects", "there are none");
    return 0;
}

static int read_findings (struct verdict *v, const json_t *json,
                          struct reading *r)
{
    char where[64];
    json_t *list;

    if (json_get_array (json, NULL, "findings", ITEMS_MAX, &list, r->err) < 0)
        return -1;
    if (!(v->finding = calloc (json_array_size (list) + 1,
                               sizeof (*v->finding))))
        return error_nomem (r->err);
    for (size_t i = 0; i < json_array_size (list); i++) {
        snprintf (where, sizeof (where), "findings[%zu]", i);
        r->where = where;
        v->nfindings = i + 1; /* whatever there is of it is freed */
        if (read_finding (&v->finding[i], json_array_get (list, i), r) < 0)
            return -1;
    }
    r->where = NULL;
    return 0;
}

static int read_numbers (struct verdict *v, const json_t *json,
                         struct error *err)
{
    const struct {
        const char *key;
        size_t *field;
    } tab[] = {
        { "hosts", &v->nodes },         { "links", &v->links },
        { "separable", &v->separable }, { "measurements", &v->probes },
        { "rounds", &v->rounds },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        uint64_t n;

        if (json_get_u64 (json, NULL, tab[i].key, 0, NUMBER_MAX, &n, err) < 0)
            return -1;
        *tab[i].field = (size_t)n;
    }
    return 0;
}

static int read_verdict (struct verdict *v, const json_t *json,
                         const struct network *net, struct reading *r)
{
    const char *hash = json_string_value (json_object_get (json, "fabric"));
    int status = get_name (json, "status", status_name, VERDICT_FAIL + 1, r);

    if (status < 0)
        return -1;
    v->status = (enum verdict_status)status;
    if (!hash || strcmp (hash, net->hash) != 0)
        return error_input (r->err, "made for another fabric, or for this one "
                                    "before it changed");
    if (make_index (&r->links, link_id, net, net->nlinks) < 0
        || make_index (&r->switches, switch_id, net, net->nswitches) < 0)
        return error_nomem (r->err);
    if (read_numbers (v, json, r->err) < 0 || read_findings (v, json, r) < 0)
        return -1;
    /* older files have none */
    if (json_object_get (json, "not_judged")
        && !(v->open = get_ids (json, "not_judged", &r->links, &v->nopen, r)))
        return -1;
    return get_texts (json, "limits", &v->limit, &v->nlimits, r);
}

struct verdict *verdict_read (FILE *fp, const char *name,
                              const struct network *net, struct error *err)
{
    struct reading r = { .err = err };
    json_t *json = json_read (fp, name, "verdict", FILE_MAX, err);
    struct verdict *v;

    if (!json)
        return NULL;
    if (!(v = verdict_create ()))
        error_nomem (err);
    else if (read_verdict (v, json, net, &r) < 0) {
        error_prefix (err, "%s", name);
        verdict_destroy (v);
        v = NULL;
    }
    free (r.links.place);
    free (r.switches.place);
    json_decref (json);
    return v;
}
