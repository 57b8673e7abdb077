/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The result of a check in one file. */
#include "config.h"
#include "probe/result.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/solve/solve.h"
#include "util/json.h"

static int add_pair (json_t *list, const struct pathset *ps, uint32_t a,
                     uint32_t b, double rtt_ns, double stderr_ns)
{
    json_t *pair = json_pack ("{s:s, s:s, s:f}",
                              "a", pathset_endpoint (ps, a)->name,
                              "b", pathset_endpoint (ps, b)->name,
                              "latency_ns", rtt_ns / 2);

    if (pair && isfinite (stderr_ns))
        json_object_set_new (pair, "stderr_ns", json_real (stderr_ns / 2));
    return json_array_append_new (list, pair);
}

static int add_solved (json_t *list, const struct result *r)
{
    struct solve_options opts = { .quantile = RTT_MEDIAN, .pairs = true };
    struct solution *s = solve (r->ps, r->samples, &opts, NULL);
    int rc = s ? 0 : 1;

    for (size_t i = 0; s && i < s->npairs && rc == 0; i++)
        rc = add_pair (list, r->ps, s->pair[i].a, s->pair[i].b,
                       s->pair[i].rtt_ns, s->pair[i].stderr_ns);
    solution_destroy (s);
    return rc;
}

static int add_measured (json_t *list, const struct result *r)
{
    for (size_t i = 0; i < r->samples->nsamples; i++) {
        const struct sample *s = &r->samples->sample[i];
        uint32_t other = s->initiator == s->a ? s->b : s->a;

        if (s->lost < s->sent
            && add_pair (list, r->ps, s->initiator, other,
                         s->rtt_ns[RTT_MEDIAN], NAN) < 0)
            return -1;
    }
    return 0;
}

/* A list of pairs, NULL where memory is short; whether it is of all. */
static json_t *pairs_json (const struct result *r, bool *all)
{
    json_t *list = json_array ();
    int rc = 1;

    if (!list)
        return NULL;
    if (pathset_size (r->ps) <= RESULT_ENDS_MAX)
        rc = add_solved (list, r);
    *all = rc == 0;
    if (rc > 0)
        rc = add_measured (list, r);
    if (rc < 0) {
        json_decref (list);
        return NULL;
    }
    return list;
}

static json_t *hosts_json (char *const *host, size_t n)
{
    json_t *list = json_array ();

    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new (list, json_string (host[i])) < 0) {
            json_decref (list);
            return NULL;
        }
    return list;
}

int result_write (const struct result *r, FILE *fp, struct error *err)
{
    const struct network *net = pathset_network (r->ps);
    const struct samples *s = r->samples;
    json_t *verdict = verdict_json (r->verdict, net, err);
    json_t *json = json_file ("result", net->hash);
    json_t *rest = NULL;
    bool all = false;
    json_t *pairs = pairs_json (r, &all);
    int rc = -1;

    if (!verdict)
        goto error;
    rest = json_pack (
        "{s:I, s:I, s:s, s:s, s:s, s:{s:o, s:o}, s:O, s:b, s:O}",
        "job", (json_int_t)s->job, "step", (json_int_t)s->step,
        "nonce", s->nonce,
        "status", verdict_status_name (r->verdict->status),
        "sentence", r->sentence,
        "nodes", "answered", hosts_json (s->answered, s->nanswered),
        "missing", hosts_json (s->missing, s->nmissing),
        "verdict", verdict, "all_pairs", all, "pairs", pairs);
    if (!json || !rest || json_object_update (json, rest) < 0)
        error_nomem (err);
    else
        rc = json_write (json, fp, err);
error:
    json_decref (verdict);
    json_decref (pairs);
    json_decref (rest);
    json_decref (json);
    return rc;
}

bool result_drop (const char *path)
{
    struct stat st;

    return lstat (path, &st) == 0 && S_ISREG (st.st_mode)
           && unlink (path) == 0;
}
