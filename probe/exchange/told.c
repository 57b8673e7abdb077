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

enum {
    NAME_MAX_BYTES = 256,
    PROBE = 12,
    PAIR = 8,
};

/* The order of a process's host and one that is called by len letters. */
static int compare_host (const struct party *p, uint32_t process,
                         const char *name, size_t len)
{
    const char *host = p->comm->host (p->c, process);
    int order = strncmp (host, name, len);

    return order ? order : host[len] != '\0';
}

/* What is behind a host's name in a label is no part of the name. */
uint32_t told_process (const struct party *p, const char *name)
{
    size_t len = strcspn (name, ":");
    uint32_t first = 0, end = p->n;

    while (first < end) {
        uint32_t mid = first + (end - first) / 2;

        if (compare_host (p, p->by_host[mid], name, len) < 0)
            first = mid + 1;
        else
            end = mid;
    }
    for (; end < p->n && !compare_host (p, p->by_host[end], name, len); end++)
        if (!strcmp (p->comm->label (p->c, p->by_host[end]), name))
            return p->by_host[end];
    return end > first && name[len] == '\0' ? p->by_host[first] : p->n;
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
        plan_add (plan, round, a, b);
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
static int find_end (const void *arg, const char *name, struct error *err)
{
    const struct party *p = arg;
    uint32_t process = told_process (p, name);
    char host[NAME_MAX_BYTES];

    if (process == p->n) {
        snprintf (host, sizeof (host), "%.*s", (int)strcspn (name, ":"),
                  name);
        process = told_process (p, host);
    }
    return process < p->n ? (int)process
                          : error_input (err, "no process is on '%s'", name);
}

struct plan *told_read (const struct party *p, FILE *fp, const char *name,
                        char *fabric, struct error *err)
{
    return plan_read_probes (fp, name, find_end, p, fabric, err);
}
