/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm pattern: the steps of a schedule, to compare by eye; or which there are.
 */
#include "config.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "compare/pattern/pattern.h"
#include "pmm/common.h"
#include "pmm/verb.h"
#include "util/file.h"
#include "util/text.h"

enum {
    ONE_EACH = -1,            /* hosts: as many as processes */
    PAIRS_PRINTED = 1 << 24,  /* of a step, which is in memory */
};

struct options {
    const char *output;
    int processes, hosts;
    struct pattern_options order;
    bool json;
};

static int set_seed (void *data, const char *value, struct error *err)
{
    struct pattern_options *order = data;

    order->shuffle = true;
    return opt_u64 (&order->seed, value, err);
}

#define FIELD(name) offsetof (struct options, name)
static const struct opt table[] = {
    { "processes", 'n', "N", opt_int, FIELD (processes),
      "of N processes: 16" },
    { "hosts", 0, "N", opt_int, FIELD (hosts),
      "on N hosts, each the next of them: one a process" },
    { "seed", 0, "N", set_seed, FIELD (order),
      "processes and steps in an order by this seed: as they come" },
    { "json", 0, NULL, opt_true, FIELD (json),
      "as JSON, with the steps where the roles are swapped" },
    { "output", 'o', "FILE", opt_string, FIELD (output),
      "write here, not to standard output" },
    { 0 },
};
#undef FIELD

/* Hosts in blocks as equal as can be. */
static uint32_t host_of (const struct options *o, uint32_t process)
{
    return (uint64_t)process * o->hosts / o->processes;
}

static void print_hosts (const struct options *o, FILE *fp)
{
    for (uint32_t i = 0; i < (uint32_t)o->processes; i++)
        if (i == 0 || host_of (o, i) != host_of (o, i - 1))
            fprintf (fp, "%shost %" PRIu32 ": %" PRIu32, i ? "\n" : "",
                     host_of (o, i), i);
        else
            fprintf (fp, " %" PRIu32, i);
    putc ('\n', fp);
}

static void print_steps (const struct pattern *p, struct probe *pair,
                         FILE *fp)
{
    int digits = snprintf (NULL, 0, "%" PRIu32, pattern_processes (p) - 1);
    int wide = snprintf (NULL, 0, "%" PRIu64, pattern_turn (p));

    for (uint64_t s = 0; s < pattern_turn (p); s++) {
        uint32_t n = pattern_step (p, s, pair);

        fprintf (fp, "step %*" PRIu64 ":", wide, s + 1);
        for (uint32_t k = 0; k < n; k++)
            fprintf (fp, "  %*" PRIu32 "-%-*" PRIu32, digits, pair[k].a,
                     k + 1 < n ? digits : 0, pair[k].b);
        putc ('\n', fp);
    }
}

static void print_text (const struct options *o, const struct pattern *p,
                        const char *kind, struct probe *pair, FILE *fp)
{
    fprintf (fp, "%s: %s, %s, %s", kind,
             COUNTED (pattern_processes (p), "process"),
             COUNTED ((uint64_t)o->hosts, "host"),
             COUNTED (pattern_turn (p), "step"));
    if (pattern_steps (p) > pattern_turn (p))
        fputs (", then the same with roles swapped", fp);
    putc ('\n', fp);
    if (o->hosts < o->processes)
        print_hosts (o, fp);
    print_steps (p, pair, fp);
}

static void print_json (const struct options *o, const struct pattern *p,
                        const char *kind, struct probe *pair, FILE *fp)
{
    fprintf (fp, "{\"pattern\":\"%s\",\"processes\":%" PRIu32 ",\"hosts\":[",
             kind, pattern_processes (p));
    for (uint32_t i = 0; i < pattern_processes (p); i++)
        fprintf (fp, "%s%" PRIu32, i ? "," : "", host_of (o, i));
    fprintf (fp, "],\"turn\":%" PRIu64 ",\"steps\":[", pattern_turn (p));
    for (uint64_t s = 0; s < pattern_steps (p); s++) {
        uint32_t n = pattern_step (p, s, pair);

        fputs (s ? ",[" : "[", fp);
        for (uint32_t k = 0; k < n; k++)
            fprintf (fp, "%s[%" PRIu32 ",%" PRIu32 "]", k ? "," : "",
                     pair[k].a, pair[k].b);
        putc (']', fp);
    }
    fputs ("]}\n", fp);
}

static struct pattern *make (const struct options *o, const char *name,
                             struct error *err)
{
    int kind = pattern_find (name);
    struct pattern *p;
    uint32_t *host;

    if (kind < 0) {
        error_input (err, "%.40s is no pattern; 'pmm pattern' lists them",
                     name);
        return NULL;
    }
    if (o->processes < 2 || o->processes > PATTERN_PROCESSES_MAX
        || o->hosts < 1 || o->hosts > o->processes) {
        error_input (err, "--processes is 2 to %d, and --hosts 1 to as many",
                     PATTERN_PROCESSES_MAX);
        return NULL;
    }
    if (!(host = calloc (o->processes + 1, sizeof (*host)))) {
        error_nomem (err);
        return NULL;
    }
    for (uint32_t i = 0; i < (uint32_t)o->processes; i++)
        host[i] = host_of (o, i);
    p = pattern_create (kind, o->processes, host, &o->order, err);
    free (host);
    return p;
}

static int print (const struct options *o, const struct pattern *p,
                  const char *kind, struct error *err)
{
    struct probe *pair;
    struct outfile *out;

    if (pattern_width (p) > PAIRS_PRINTED)
        return error_input (err, "%" PRIu32 " pairs in a step: %d at most are"
                            " printed", pattern_width (p), PAIRS_PRINTED);
    if (!(pair = calloc ((size_t)pattern_width (p) + 1, sizeof (*pair))))
        return error_nomem (err);
    if ((out = file_create (o->output, err)))
        (o->json ? print_json : print_text) (o, p, kind, pair,
                                             file_stream (out));
    free (pair);
    return out ? file_commit (out, err) : -1;
}

static int list_patterns (const struct options *o, struct error *err)
{
    struct outfile *out;

    if (o->json)
        return error_input (err, "--json: of which pattern?");
    if (!(out = file_create (o->output, err)))
        return -1;
    for (int k = 0; k < PATTERN_KINDS; k++)
        fprintf (file_stream (out), "%-18s %s\n", pattern_name (k),
                 pattern_help (k));
    return file_commit (out, err);
}

static int print_pattern (const struct options *o, const char *name,
                          struct error *err)
{
    struct pattern *p = make (o, name, err);
    int rc = p ? print (o, p, name, err) : -1;

    pattern_destroy (p);
    return rc;
}

int verb_pattern (int argc, char **argv)
{
    struct options o = { .processes = 16, .hosts = ONE_EACH };
    struct error err;
    int status;
    int operand = options_parse (table, &o, argc, argv, "[PATTERN]", 0, 1,
                                 &status);

    if (operand < 0)
        return status;
    if (o.hosts == ONE_EACH)
        o.hosts = o.processes;
    if ((operand < argc ? print_pattern (&o, argv[operand], &err)
                        : list_patterns (&o, &err)) < 0)
        return fail (argv[0], &err);
    return EXIT_OK;
}
