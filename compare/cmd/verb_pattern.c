/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-compare pattern: print the steps of a schedule, or list the schedules. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "compare/pattern/pattern.h"
#include "compare/cmd/cmd.h"

enum {
    ONE_EACH = -1,            /* one host per process */
    PAIRS_PRINTED = 1 << 24,  /* of a step, which is held in memory */
};

static struct pattern_words {
    int processes, hosts;
    struct pattern_options order;
} given = { .processes = 16, .hosts = ONE_EACH };

static int set_shuffle_seed (void *data, const char *value, struct error *err)
{
    struct pattern_options *order = data;

    order->shuffle = true;
    return opt_u64 (&order->seed, value, err);
}

#define FIELD(name) offsetof (struct pattern_words, name)
static const struct opt options[] = {
    { "processes", 'n', "N", opt_int, FIELD (processes),
      "number of processes (default: 16)" },
    { "hosts", 0, "N", opt_int, FIELD (hosts),
      "number of hosts, each with the next processes (default: one per "
      "process)" },
    { "seed", 0, "N", set_shuffle_seed, FIELD (order),
      "seed of a random order of processes and steps (default: in order)" },
    { 0 },
};
static const struct opt_rule rules[] = {
    { "processes hosts seed json", OPT_NEEDS, "PATTERN" },
    { 0 },
};

/* Hosts are consecutive processes, in numbers as equal as possible. */
static uint32_t host_of_process (uint32_t process)
{
    return (uint64_t)process * given.hosts / given.processes;
}

static void print_pattern_text (const struct pattern *p, const char *kind,
                                struct probe *pair, FILE *fp)
{
    uint32_t processes = pattern_processes (p);
    int digits = snprintf (NULL, 0, "%" PRIu32, processes - 1);
    int wide = snprintf (NULL, 0, "%" PRIu64, pattern_turn (p));

    fprintf (fp, "%s: %s, %s, %s%s\n", kind, COUNTED (processes, "process"),
             COUNTED ((uint64_t)given.hosts, "host"),
             COUNTED (pattern_turn (p), "step"),
             pattern_steps (p) > pattern_turn (p)
                 ? ", then the same with roles swapped" : "");
    for (uint32_t i = 0; given.hosts < given.processes && i < processes; i++) {
        if (i == 0 || host_of_process (i) != host_of_process (i - 1))
            fprintf (fp, "%shost %" PRIu32 ":", i ? "\n" : "",
                     host_of_process (i));
        fprintf (fp, " %" PRIu32 "%s", i, i + 1 < processes ? "" : "\n");
    }
    for (uint64_t s = 0; s < pattern_turn (p); s++) {
        uint32_t n = pattern_step (p, s, pair);

        fprintf (fp, "step %*" PRIu64 ":", wide, s + 1);
        for (uint32_t k = 0; k < n; k++)
            fprintf (fp, "  %*" PRIu32 "-%-*" PRIu32, digits, pair[k].a,
                     k + 1 < n ? digits : 0, pair[k].b);
        putc ('\n', fp);
    }
}

/* Not built in memory, since it may be large. */
static void print_json (const struct pattern *p, const char *kind,
                        struct probe *pair, FILE *fp)
{
    fprintf (fp, "{\"pattern\":\"%s\",\"processes\":%" PRIu32 ",\"hosts\":[",
             kind, pattern_processes (p));
    for (uint32_t i = 0; i < pattern_processes (p); i++)
        fprintf (fp, "%s%" PRIu32, i ? "," : "", host_of_process (i));
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

static struct pattern *make_pattern (const char *name)
{
    int kind = inputs_pattern (name);
    struct pattern *p;
    uint32_t *host;

    if (given.hosts == ONE_EACH)
        given.hosts = given.processes;
    if (given.processes < 2 || given.processes > PATTERN_PROCESSES_MAX
        || given.hosts < 1 || given.hosts > given.processes)
        die_input ("--processes is 2 to %d, and --hosts 1 to as many",
                   PATTERN_PROCESSES_MAX);
    host = verb_array (given.processes, sizeof (*host));
    for (uint32_t i = 0; i < (uint32_t)given.processes; i++)
        host[i] = host_of_process (i);
    p = need (
        pattern_create (kind, given.processes, host, &given.order, &fault));
    if (pattern_width (p) > PAIRS_PRINTED)
        die_input ("%" PRIu32 " pairs in a step: %d at most are printed",
                   pattern_width (p), PAIRS_PRINTED);
    return p;
}

static int run_pattern_verb (struct inputs *in)
{
    const char *name = in->operand[0];
    struct pattern *p = name ? make_pattern (name) : NULL;
    struct probe *pair;
    FILE *fp;

    fp = inputs_output (in);
    for (int k = 0; !name && k < PATTERN_KINDS; k++)
        fprintf (fp, "%-18s %s\n", pattern_name (k), pattern_help (k));
    if (!name)
        return EXIT_OK;
    pair = verb_array (pattern_width (p), sizeof (*pair));
    (in->json ? print_json : print_pattern_text) (p, name, pair, fp);
    pattern_destroy (p);
    return EXIT_OK;
}

const struct verb verb_pattern = {
    .name = "pattern",
    .help = "print the steps of a schedule, or list the schedules",
    .may = TAKES_JSON | TAKES_OUTPUT, .operands = "[PATTERN]", .max = 1,
    .options = options, .rules = rules, .given = &given,
    .run = run_pattern_verb,
};
