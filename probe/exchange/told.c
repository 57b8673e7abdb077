/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all must know.
 *
 * Notes: a plan is told as probes, little-endian: round 4, then the two
 * processes, 4 each; pairs are told without the round.
 */
#include "config.h"
#include "probe/exchange/told.h"

#include <stdlib.h>
#include <string.h>

#include "probe/wire.h"
#include "util/json.h"

enum {
    PLAN_BYTES_MAX = 1 << 28,
    ROUNDS_MAX = 1 << 24,
    NAME_MAX_BYTES = 256,
    PROBE = 12,
    PAIR = 8,
};

uint32_t told_process (const struct party *p, const char *name)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (!strcmp (p->comm->label (p->c, i), name))
            return i;
    for (uint32_t i = 0; i < p->n; i++)
        if (!strcmp (p->comm->host (p->c, i), name))
            return i;
    return p->n;
}

/* All get what process 0 has; NULL with err. The caller frees the data. */
static uint8_t *tell (const struct party *p, uint8_t *data, size_t *len,
                      struct error *err)
{
    struct comm_blob blob = { data, *len };

    if (p->comm->tell (p->c, &blob, err) < 0) {
        free (data);
        return NULL;
    }
    *len = blob.len;
    return blob.data;
}

static uint8_t *pack_plan (const struct plan *plan, size_t *len)
{
    uint8_t *data, *at;

    *len = plan_probes (plan) * PROBE;
    if (!(at = data = malloc (*len + 1)))
        return NULL;
    for (size_t r = 0; r < plan_rounds (plan); r++) {
        size_t n;
        const struct probe *pair = plan_round (plan, r, &n);

        for (size_t i = 0; i < n; i++, at += PROBE) {
            wire_put (at, r, 4);
            wire_put (at + 4, pair[i].a, 4);
            wire_put (at + 8, pair[i].b, 4);
        }
    }
    return data;
}

static int nothing (struct error *err)
{
    return error_world (err, "process 0 has nothing to measure");
}

static struct plan *unpack_plan (const uint8_t *data, size_t len,
                                 uint32_t n, struct error *err)
{
    struct plan *plan = plan_create ("pmm");

    if (!plan) {
        error_nomem (err);
        return NULL;
    }
    for (size_t at = 0; at + PROBE <= len; at += PROBE) {
        uint32_t round = (uint32_t)wire_get (data + at, 4);
        uint32_t a = (uint32_t)wire_get (data + at + 4, 4);
        uint32_t b = (uint32_t)wire_get (data + at + 8, 4);

        if (round > plan_rounds (plan) || a >= n || b >= n) {
            error_world (err, "process 0 tells of pairs that are none");
            goto error;
        }
        if (plan_add (plan, round, a, b) < 0) {
            error_nomem (err);
            goto error;
        }
    }
    return plan;
error:
    plan_destroy (plan);
    return NULL;
}

struct plan *told_plan (const struct party *p, const struct plan *plan,
                        struct error *err)
{
    struct plan *told = NULL;
    uint8_t *data = NULL;
    size_t len = 0;

    if (p->me == 0 && plan && !(data = pack_plan (plan, &len)))
        len = 0;
    data = tell (p, data, &len, err);
    if (data && len > 0)
        told = unpack_plan (data, len, p->n, err);
    else if (data || p->me == 0)
        nothing (err);
    free (data);
    return told;
}

struct pattern *told_pattern (const struct plan *plan, uint32_t n,
                              struct error *err)
{
    uint32_t *process = calloc (n, sizeof (*process));
    struct pattern *pattern;

    if (!process) {
        error_nomem (err);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        process[i] = i;
    pattern = pattern_of_plan (plan, process, n, n, NULL, err);
    free (process);
    return pattern;
}

struct pattern *told_pairs (const struct party *p, const struct probe *pair,
                            size_t n, struct error *err)
{
    size_t len = n * PAIR;
    uint8_t *data = p->me == 0 ? malloc (len + 1) : NULL;
    struct pattern *pattern = NULL;
    struct probe *told = NULL;

    for (size_t i = 0; data && i < n; i++) {
        wire_put (data + i * PAIR, pair[i].a, 4);
        wire_put (data + i * PAIR + 4, pair[i].b, 4);
    }
    if (!data)
        len = 0;
    data = tell (p, data, &len, err);
    if (!data || len == 0) {
        if (data || p->me == 0)
            nothing (err);
        goto done;
    }
    n = len / PAIR;
    if (!(told = calloc (n, sizeof (*told)))) {
        error_nomem (err);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        told[i] = (struct probe){ (uint32_t)wire_get (data + i * PAIR, 4),
                                  (uint32_t)wire_get (data + i * PAIR + 4,
                                                      4) };
    pattern = pattern_of_pairs (told, n, p->n, NULL, err);
done:
    free (told);
    free (data);
    return pattern;
}

/*
 * Files
 */

/* The process of an endpoint, of which the name may have a rail behind it. */
static int find_end (const struct party *p, const json_t *probe,
                     const char *where, const char *key, uint32_t *process,
                     struct error *err)
{
    char host[NAME_MAX_BYTES];
    const char *name;

    if (json_get_string (probe, where, key, &name, err) < 0)
        return -1;
    *process = told_process (p, name);
    if (*process == p->n) {
        snprintf (host, sizeof (host), "%.*s", (int)strcspn (name, ":"),
                  name);
        *process = told_process (p, host);
    }
    if (*process == p->n)
        return error_input (err, "%s: no process is on '%s'", where, name);
    return 0;
}

static int read_round (const struct party *p, struct plan *plan, size_t r,
                       const json_t *round, struct error *err)
{
    if (json_array_size (round) == 0)
        return error_input (err, "rounds[%zu]: no probes", r);
    for (size_t i = 0; i < json_array_size (round); i++) {
        const json_t *probe = json_array_get (round, i);
        char where[64];
        uint32_t a, b;

        snprintf (where, sizeof (where), "rounds[%zu][%zu]", r, i);
        if (find_end (p, probe, where, "a", &a, err) < 0
            || find_end (p, probe, where, "b", &b, err) < 0)
            return -1;
        if (a == b)
            return error_input (err, "%s: both ends are one process", where);
        if (plan_add (plan, r, a, b) < 0)
            return error_nomem (err);
    }
    return 0;
}

/* An empty plan of the file's method, and its fabric. NULL with err. */
static struct plan *read_head (const json_t *json, char *fabric,
                               struct error *err)
{
    const struct plan_rules *rules;
    const char *method, *hash;
    struct plan *plan;

    if (json_get_string (json, NULL, "method", &method, err) < 0
        || json_get_string (json, NULL, "fabric", &hash, err) < 0)
        return NULL;
    if (!(rules = plan_rules (method))) {
        error_input (err, "method: '%.40s' is not known", method);
        return NULL;
    }
    if (!(plan = plan_create (rules->method)))
        error_nomem (err);
    snprintf (fabric, TOLD_FABRIC, "%s", hash);
    return plan;
}

struct plan *told_read (const struct party *p, FILE *fp, const char *name,
                        char *fabric, struct error *err)
{
    json_t *json = json_read (fp, name, "plan", PLAN_BYTES_MAX, err);
    struct plan *plan;
    json_t *rounds;
    int rc = -1;

    if (!json)
        return NULL;
    if ((plan = read_head (json, fabric, err))
        && json_get_array (json, NULL, "rounds", ROUNDS_MAX, &rounds, err)
               == 0) {
        rc = 0;
        for (size_t r = 0; rc == 0 && r < json_array_size (rounds); r++)
            rc = read_round (p, plan, r, json_array_get (rounds, r), err);
    }
    if (rc < 0) {
        error_prefix (err, "%s", name);
        plan_destroy (plan);
        plan = NULL;
    }
    json_decref (json);
    return plan;
}
