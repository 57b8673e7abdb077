/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that verbs read and write. */
#include "config.h"
#include "verb/verb.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/import/import.h"
#include "report/report.h"
#include "util/json.h"
#include "util/site.h"
#include "util/terminal.h"
#include "util/text.h"

enum { LIST_BYTES_MAX = 1 << 24, HOSTS_MAX = 1 << 20 };

static void end_site (void *site)
{
    site_clear (site);
}

const struct site *verb_site (const char *conf, bool trusted)
{
    struct site *site = pool_keep (verb_pool, verb_array (1, sizeof (*site)),
                                   end_site);

    need_ok (site_read (site, conf, trusted, &fault));
    return site;
}

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
    size_t n = 0;

    while (text_next (&paths, path)) {
        list = pool_grow (verb_pool, list, n, sizeof (*list));
        list[n++] = pool_strdup (verb_pool, path);
    }
    return open_files (in, list, n);
}

void inputs_fabric (struct inputs *in)
{
    char path[TEXT_PATH];

    if (in->fabric)
        return;
    if (in->files) {
        in->fabric_path = in->operand[0];
        in->fabric = open_files (in, (const char *const *)in->operand,
                                 (size_t)in->noperands);
        return;
    }
    if (!in->fabric_path) {
        in->snapshot = true;
        in->fabric_path = verb_site (in->conf, false)->snapshot;
        for (const char *list = in->fabric_path; text_next (&list, path);)
            if (access (path, F_OK) < 0)
                die_input ("--fabric FILE is missing, and there is no %s",
                           path);
    }
    in->fabric = inputs_open (in, in->fabric_path);
}

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
    free (in->baseline.v);
    pool_destroy (verb_pool);
    *in = (struct inputs){ 0 };
}

char *inputs_file (const char *path, const char *name)
{
    struct stat st;

    return stat (path, &st) == 0 && S_ISDIR (st.st_mode)
               ? verb_text ("%s/%s", path, name)
               : verb_text ("%s", path);
}

char *inputs_parent (const char *path)
{
    const char *slash = strrchr (path, '/');

    return verb_text (
        "%.*s", slash == path ? 1 : (int)(slash ? slash - path : 0), path);
}

struct verdict *inputs_verdict (struct inputs *in, const char *path)
{
    FILE *fp = need (file_open_input (path, &fault));
    struct verdict *v;

    inputs_fabric (in);
    v = verb_own_verdict (
        verdict_read (fp, path, fabric_network (in->fabric), &fault));
    file_close_input (fp);
    return v;
}

/* The file of that name in the directory, NULL if it has none. */
static char *file_of (const char *dir, const char *name)
{
    char *path = verb_text ("%s/%s", dir, name);

    return access (path, F_OK) == 0 ? path : NULL;
}

struct verdict *inputs_result (struct inputs *in, const char *path)
{
    char *verdict = inputs_file (path, "verdict.json");
    char *plan = file_of (path, "plan.json");
    char *samples = file_of (path, "samples.json");
    struct verdict *v = inputs_verdict (in, verdict);

    if (plan && !in->plan)
        inputs_plan (in, plan, samples);
    return v;
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
        return verb_text ("%s", list);
    if ((fp = file_open_input (list + 1, &fault)))
        text = verb_keep (file_slurp (fp, LIST_BYTES_MAX, &len, &fault));
    if (!text)
        error_prefix (&fault, "--%s", option);
    file_close_input (fp);
    return need (text);
}

struct node_names *inputs_names (const struct inputs *in, const char *path)
{
    if (!path)
        path = verb_site (in->conf, false)->node_name_map;
    return *path ? need (names_load (path, &fault)) : NULL;
}

struct hostlist inputs_hostlist (const char *option, const char *list,
                                 size_t max)
{
    char *text = inputs_text (option, list);
    struct hostlist hl;

    if (hostlist_parse (&hl, text, max, &fault) < 0)
        need_ok (error_prefix (&fault, "--%s", option));
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
