/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that verbs read and write. */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compare/series/formats.h"
#include "ibquery/import/import.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/site.h"
#include "util/terminal.h"
#include "util/text.h"

enum {
    LIST_BYTES_MAX = 1 << 24,
    HOSTS_MAX = 1 << 20,
    LATENCIES_BYTES_MAX = 1 << 30,
};

/* The same of n files. */
static struct fabric *open_files (const struct inputs *in,
                                  const char *const *path, size_t n)
{
    struct node_names *names = inputs_names (in, in->names);
    struct fabric *f = need (import_open (path, n, names, &fault));

    names_destroy (names);
    return f;
}

struct fabric *inputs_open (const struct inputs *in, const char *paths)
{
    const char **list = NULL;
    char path[TEXT_PATH];
    struct fabric *f;
    size_t n = 0;

    while (text_next (&paths, path)) {
        list = xgrow (list, n, sizeof (*list));
        list[n++] = xstrdup (path);
    }
    f = open_files (in, list, n);
    for (size_t i = 0; i < n; i++)
        free ((char *)list[i]);
    free (list);
    return f;
}

void inputs_fabric (struct inputs *in)
{
    char path[TEXT_PATH];
    struct site site;

    if (in->fabric)
        return;
    if (in->files) {
        in->fabric_path = in->operand[0];
        in->fabric = open_files (in, (const char *const *)in->operand,
                                 (size_t)in->noperands);
        return;
    }
    if (!in->fabric_path) {
        need_ok (site_read (&site, in->conf, 0, &fault));
        in->fabric_path = in->snapshot = xstrdup (site.snapshot);
        site_clear (&site);
        for (const char *list = in->snapshot; text_next (&list, path);)
            if (access (path, F_OK) < 0)
                die_input ("--fabric FILE is missing, and there is no %s",
                           path);
    }
    in->fabric = inputs_open (in, in->fabric_path);
}

#ifdef HAVE_LEDGER
void inputs_ledger (struct inputs *in, enum ledger_mode mode)
{
    struct site site = { 0 };

    if (!in->ledger_path)
        need_ok (site_read (&site, in->conf, 0, &fault));
    in->ledger = need (ledger_open (in->ledger_path ? in->ledger_path
                                                    : site.ledger,
                                    mode, &fault));
    site_clear (&site);
}
#endif

/* Samples of the set *ps, which is made by them if it is NULL; the caller owns
 * it in any case. NULL with err.
 */
static struct samples *load_samples (const struct fabric *fabric,
                                     const char *path, struct pathset **ps,
                                     struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct samples *s = fp ? samples_read (fp, path, fabric->hash,
                                           fabric_resolve, (void *)fabric, ps,
                                           err)
                           : NULL;

    file_close_input (fp);
    return s;
}

void inputs_plan (struct inputs *in, const char *plan, const char *samples)
{
    FILE *fp;

    inputs_fabric (in);
    fp = need (file_open_input (plan, &fault));
    in->plan = need (plan_read (fp, plan, in->fabric->hash, fabric_resolve,
                                in->fabric, &in->ps, &fault));
    file_close_input (fp);
    if (samples)
        in->samples = need (load_samples (in->fabric, samples, &in->ps,
                                          &fault));
}

void inputs_clear (struct inputs *in)
{
    file_abort (in->out);
    baseline_destroy (in->base);
    samples_destroy (in->samples);
    plan_destroy (in->plan);
    pathset_destroy (in->ps);
    fabric_destroy (in->fabric);
#ifdef HAVE_LEDGER
    ledger_close (in->ledger);
#endif
    free (in->baseline.v);
    free (in->snapshot);
    *in = (struct inputs){ 0 };
}

char *inputs_file (const char *path, const char *name)
{
    struct stat st;

    return stat (path, &st) == 0 && S_ISDIR (st.st_mode)
               ? xasprintf ("%s/%s", path, name) : xstrdup (path);
}

char *inputs_parent (const char *path)
{
    const char *slash = strrchr (path, '/');

    return slash == path ? xstrdup ("/")
                         : xasprintf ("%.*s", (int)(slash ? slash - path : 0),
                                      path);
}

FILE *inputs_output (struct inputs *in)
{
    if (in->output && strcmp (in->output, "-"))
        terminal_clear ();
    else
        terminal_end ();
    if (!in->out)
        in->out = need (file_create (in->output, &fault));
    return file_stream (in->out);
}

void inputs_put_json (struct inputs *in, const char *kind, const char *fabric,
                      json_t *members)
{
    need_ok (json_write_file (kind, fabric, members, inputs_output (in),
                              &fault));
}

void inputs_need_one (const struct fabric *f, const char *path)
{
    if (f->nsubnets > 0)
        die_input ("%s are %zu subnets: take one at a time", path, f->nsubnets);
}

void inputs_need_whole (const struct fabric *f, const char *path)
{
    if (f->part)
        die_input ("%s is a part of a fabric, and says nothing of the rest",
                   path);
}

#ifdef HAVE_COMPARISON
struct series_list inputs_series (const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct series_list list;

    need_ok (series_read (&list, fp, path, &fault));
    file_close_input (fp);
    return list;
}

/* Those in the last run of a series that has pairs. */
static struct infer_matrix *latencies_of (FILE *fp, const char *path,
                                          const uint64_t *length,
                                          enum series_stat stat)
{
    struct infer_matrix *m;
    struct series_list list;
    const struct series *s;

    need_ok (series_read (&list, fp, path, &fault));
    if (!(s = series_list_pairs (&list)))
        die_input ("%s: no run of pairs", path);
    m = infer_matrix_of_series (s, length ? *length : s->row[0].length, stat,
                                &fault);
    if (!m)
        error_prefix (&fault, "%s", path);
    series_list_clear (&list);
    return m;
}

struct topology_model *inputs_graph (const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct topology_model *m = need (tgf_read (fp, path, &fault));

    file_close_input (fp);
    return m;
}

struct infer_matrix *inputs_latencies (const char *path,
                                       const uint64_t *length,
                                       enum series_stat stat, double unit_ns)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct infer_matrix *m;
    bool plain;
    FILE *text;
    size_t len;
    char *s = file_slurp (fp, LATENCIES_BYTES_MAX, &len, &fault);

    if (!s)
        error_prefix (&fault, "%s", path);
    need (s);
    if (len == 0)
        die_input ("%s: the file is empty", path);
    text = xcheck (fmemopen (s, len, "r"));
    plain = *s != '{' && strncmp (s, PARUS_START, strlen (PARUS_START)) != 0;
    if (!plain && unit_ns != 1)
        die_input ("%s says in which unit it is: --unit is for a plain matrix",
                   path);
    m = plain ? infer_matrix_read (text, path, unit_ns, &fault)
              : latencies_of (text, path, length, stat);
    fclose (text);
    free (s);
    file_close_input (fp);
    return need (m);
}

struct infer_matrix *inputs_pick (const struct infer_matrix *w,
                                  char *const *label, uint32_t n,
                                  const char *of)
{
    struct infer_matrix *out = infer_matrix_create (n, &fault);
    uint32_t *from = xarray (n, sizeof (*from));
    int rc = out ? 0 : -1;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        for (from[i] = 0; from[i] < w->n; from[i]++)
            if (strcmp (w->label[from[i]], label[i]) == 0)
                break;
        rc = from[i] < w->n
                 ? infer_matrix_name (out, i, label[i], &fault)
                 : error_input (&fault, "no latency of %.80s was measured",
                                label[i]);
    }
    if (rc < 0)
        need_ok (error_prefix (&fault, "%s", of));
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < a; b++)
            infer_matrix_set (out, a, b,
                              infer_matrix_at (w, from[a], from[b]));
    free (from);
    return out;
}

int inputs_length (void *field, const char *value, struct error *err)
{
    static uint64_t length;

    *(const uint64_t **)field = &length;
    return opt_u64 (&length, value, err);
}
#endif

struct baseline *inputs_baseline (const struct fabric *f, const char *path,
                                  const struct inputs *job, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct baseline *b = NULL;

    if (fp && job)
        b = baseline_near (fp, path, job->ps,
                           baseline_enough (plan_probes (job->plan)),
                           fabric_resolve, (void *)f, err);
    else if (fp)
        b = baseline_read (fp, path, fabric_network (f), fabric_resolve,
                           (void *)f, err);
    file_close_input (fp);
    return b;
}

char *inputs_text (const char *option, const char *list)
{
    char *text = NULL;
    size_t len;
    FILE *fp;

    if (*list != '@')
        return xstrdup (list);
    if ((fp = file_open_input (list + 1, &fault)))
        text = file_slurp (fp, LIST_BYTES_MAX, &len, &fault);
    if (!text)
        error_prefix (&fault, "--%s", option);
    file_close_input (fp);
    return need (text);
}

struct node_names *inputs_names (const struct inputs *in, const char *path)
{
    struct node_names *names = NULL;
    struct site site = { 0 };

    if (!path) {
        need_ok (site_read (&site, in->conf, 0, &fault));
        path = site.node_name_map;
    }
    if (*path)
        names = need (names_load (path, &fault));
    site_clear (&site);
    return names;
}

struct hostlist inputs_hostlist (const char *option, const char *list,
                                 size_t max)
{
    char *text = inputs_text (option, list);
    struct hostlist hl;

    if (hostlist_parse (&hl, text, max, &fault) < 0)
        need_ok (error_prefix (&fault, "--%s", option));
    free (text);
    return hl;
}

struct pathset *inputs_hosts (const struct fabric *fabric, const char *option,
                              const char *list, bool lids)
{
    struct hostlist hl = { 0 };
    struct pathset *ps;

    if (list)
        hl = inputs_hostlist (option, list, HOSTS_MAX);
    ps = (lids ? fabric_pathset_lids : fabric_pathset) (
        fabric, (const char *const *)hl.name, hl.count, &fault);
    hostlist_clear (&hl);
    return need (ps);
}

/*
 * JSON
 */

json_t *fabric_node_json (const struct fabric *f, uint32_t node)
{
    const struct fabric_node *n = &f->node[node];

    return json_pack ("{s:o, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "name", n->desc);
}

json_t *fabric_spread_json (const struct fabric_spread *s)
{
    return !s->known ? json_null ()
                     : json_pack ("{s:i, s:i, s:i, s:b, s:b, s:o}", "ud", s->ud,
                                  "rc", s->rc, "hashed", s->hashed,
                                  "fast_recovery", s->recovery, "private_lfts",
                                  s->private_lfts, "groups",
                                  s->entry ? json_integer (s->ngroups)
                                           : json_null ());
}

json_t *fabric_port_json (const struct fabric *f, uint32_t port)
{
    const struct fabric_port *p = &f->port[port];
    const struct fabric_node *n = &f->node[p->node];

    return json_pack ("{s:o, s:i, s:s}", "guid",
                      json_sprintf ("%016" PRIx64, n->guid), "port", p->num,
                      "name", n->desc);
}

json_t *fabric_link_json (const struct fabric *f, uint32_t link)
{
    return json_pack ("{s:o, s:o}", "a",
                      fabric_port_json (f, f->link[link].a), "b",
                      fabric_port_json (f, f->link[link].b));
}
