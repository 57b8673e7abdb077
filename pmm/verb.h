/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A verb of the pmm command, and what verbs share. To add one, write
 * verb_<name>.c, which ends with the verb's row; declare the row here and list
 * it in main.c; describe it in its group's page in man/, and make options.
 */
#ifndef PMM_VERB_H
#define PMM_VERB_H

#include <jansson.h>
#include <stdio.h>

#include "compare/infer/graph.h"
#include "compare/infer/matrix.h"
#include "compare/series/series.h"
#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "ibquery/names.h"
#include "prolog/ledger/ledger.h"
#include "util/error.h"
#include "util/file.h"
#include "util/options.h"
#include "util/text.h"

enum {
    EXIT_OK = 0,        /* OK or WARN */
    EXIT_FAIL = 1,      /* the verdict is FAIL */
    EXIT_BAD_INPUT = 2, /* usage, or a bad file */
    EXIT_WORLD = 3,     /* UNKNOWN, or a system error */
};

/* The input of a verb. */
struct inputs {
    char **operand;        /* [noperands], then NULL */
    int noperands;
    void *given;           /* what the verb's own options set */

    /* from the options; NULL: not given */
    const char *conf, *fabric_path, *plan_path, *samples_path, *output;
    const char *ledger_path;
    const char *names;     /* a node-name-map */
    struct strings baseline;
    bool json;
    int colour;            /* of enum terminal_colour */
    bool files;            /* operands name the fabric */
    char *snapshot;        /* fabric_path, if pmm.conf names it */

    struct fabric *fabric;
    struct pathset *ps;    /* of the plan */
    struct plan *plan;
    struct samples *samples;
    struct baseline *base; /* of all files; NULL: none was given */
    struct judge_options thresholds;
    struct ledger *ledger;
    struct outfile *out;   /* the runner commits it */
};

/* What the runner opens for a verb that needs it or may take it, with the
 * options that name it.
 */
enum verb_takes {
    TAKES_FABRIC = 1,    /* -f; if needed and not given: pmm.conf's Snapshot */
    TAKES_PLAN = 2,
    TAKES_SAMPLES = 4,
    TAKES_BASELINES = 8, /* with the judge's thresholds */
    TAKES_CONF = 16,     /* the name of a pmm.conf */
    TAKES_JSON = 32,     /* --json */
    TAKES_OUTPUT = 64,
    TAKES_COLOUR = 256,  /* --color: it prints levels */
    TAKES_LEDGER = 128,  /* -L; the verb opens it by inputs_ledger */
    TAKES_FILES = 512,   /* operands instead of -f; --node-name-map */
};

/* How --help tells of a list of hosts: inputs_hostlist. */
#define LIST_HELP "node[01-16] or @FILE"

/* Where pmm --help lists it. */
enum verb_group {
    VERBS_SITE,
    VERBS_FABRIC,
    VERBS_REPLAY,
    VERBS_COMPARE,
    VERBS_PLUMBING,
    VERBS_GROUPS,
};

struct verb {
    enum verb_group group; /* not of a verb's own verbs */
    const char *name;
    const char *help;    /* NULL: for pmm itself, and not shown */
    const struct verb *const *verbs; /* verbs of its own, up to NULL; if set,
                                        the rest is unused */

    unsigned int needs, may; /* of verb_takes */
    const char *operands; /* for the usage line; NULL: it has none */
    int min, max;        /* how many; max -1: any number */
    const struct opt *options; /* its own; NULL: none */
    const struct opt_rule *rules; /* of these and of shared ones; NULL: none */
    void *given;         /* what they set */

    /* Return the exit status, or -1 with fault. */
    int (*run) (struct inputs *in);
};

extern const struct verb verb_audit, verb_baseline, verb_check, verb_compare,
    verb_confirm, verb_doctor, verb_export, verb_infer, verb_judge, verb_ledger, verb_map, verb_path, verb_pattern,
    verb_plan, verb_policy, verb_rates, verb_report, verb_series, verb_setup,
    verb_ledger_solve, verb_simulate, verb_solve, verb_why;
extern const struct verb verb_fabric_accept, verb_fabric_cabling,
    verb_fabric_check, verb_fabric_counters, verb_fabric_diff, verb_fabric_export,
    verb_fabric_generate, verb_fabric_import, verb_fabric_netdisc,
    verb_fabric_read, verb_fabric_show;

/* Print "pmm VERB: sentence" and return the matching exit status. */
int fail (const char *verb, const struct error *err);

/* Who runs this, for others; valid until the next call. */
const char *user_name (void);

/* The exit status of a verdict. */
int exit_status (enum verdict_status status);

/*
 * Errors: a verb that fails ends the program. Functions of other rooms get
 * &fault for their sentence.
 */
extern struct error fault;

/* Print "pmm VERB: sentence", discard the output and exit: with the sentence in
 * fault; usage or a bad file; a system error.
 */
_Noreturn void die (void);
#define die_input(...) (error_input (&fault, __VA_ARGS__), die ())
#define die_world(...) (error_world (&fault, __VA_ARGS__), die ())

/* Die if a call failed with fault set: it returned NULL, or -1. In any case its
 * progress line goes.
 */
void *need (void *p) __attribute__ ((returns_nonnull));
int need_ok (int rc);

/*
 * Files. The runner opens what a verb's row lists; these are for verbs that
 * need more. They die if they fail.
 */

/* Load the fabric of the operands that name it, of -f, or the Snapshot of
 * pmm.conf.
 */
void inputs_fabric (struct inputs *in);

/* Load the fabric of a list of files. */
struct fabric *inputs_open (const struct inputs *in, const char *paths);

/* Open the ledger of -L, or the Ledger of pmm.conf. */
void inputs_ledger (struct inputs *in, enum ledger_mode mode);

/* Load a plan of the fabric, and samples of the plan; samples NULL: none. */
void inputs_plan (struct inputs *in, const char *plan, const char *samples);

void inputs_clear (struct inputs *in);

/* The file at path; where that is a directory, as pmm-probe --output leaves one,
 * the file of that name in it. The caller frees it.
 */
char *inputs_file (const char *path, const char *name);

/* The directory of a file; "" if the path has no '/'. The caller frees it. */
char *inputs_parent (const char *path);

/* The stream of --output. */
FILE *inputs_output (struct inputs *in);

/* Write a JSON object there, as json_write_file does: members is taken. */
void inputs_put_json (struct inputs *in, const char *kind, const char *fabric,
                      json_t *members);

/* Die if the snapshot of that name is only a part of a fabric. */
void inputs_need_whole (const struct fabric *f, const char *path);

/* Die if the snapshots of that name are of several subnets. */
void inputs_need_one (const struct fabric *f, const char *path);

/* Read the runs of a file, sorted: a series, a solution with pairs or a matrix
 * of PARUS.
 */
struct series_list inputs_series (const char *path);

/* The topology of a file that pmm infer wrote, or of another TGF file. */
struct topology_model *inputs_graph (const char *path);

/* Latencies: those in the last run of such a file that has pairs, of messages of
 * *length bytes (NULL: of the shortest), or a plain matrix
 * (compare/infer/matrix.h), of units of unit_ns. Both directions of a pair
 * become one latency, their mean. Die if another file is to have a unit that is
 * not 1 ns.
 */
struct infer_matrix *inputs_latencies (const char *path,
                                       const uint64_t *length,
                                       enum series_stat stat, double unit_ns);

/* The matrix of the nodes label[0 .. n-1], which file or option `of` names. Die
 * if one was not measured.
 */
struct infer_matrix *inputs_pick (const struct infer_matrix *w,
                                  char *const *label, uint32_t n,
                                  const char *of);

/* The setter of --length: sets a const uint64_t *. */
int inputs_length (void *field, const char *value, struct error *err);

/* Read a baseline; of it what is close to the plan of `job`, if that is not
 * NULL. NULL with err.
 */
struct baseline *inputs_baseline (const struct fabric *f, const char *path,
                                  const struct inputs *job, struct error *err);

/* The text of a LIST, or of the file named after an '@'; the caller frees it.
 * `option` is for the error.
 */
char *inputs_text (const char *option, const char *list);

/* The names of nodes in a node-name-map, that of NodeNameMap in pmm.conf if path
 * is NULL, as names_load. NULL: there is none. The caller calls names_destroy.
 */
struct node_names *inputs_names (const struct inputs *in, const char *path);

/* The names, at most max, in a LIST or @FILE; hostlist_clear frees them. */
struct hostlist inputs_hostlist (const char *option, const char *list,
                                 size_t max);

/* The endpoints of the hosts in a LIST or @FILE; NULL: of all hosts. lids: by
 * all of their LIDs, else by their base LIDs.
 */
struct pathset *inputs_hosts (const struct fabric *fabric, const char *option,
                              const char *list, bool lids);

/*
 * JSON
 */

/* A node, {"guid", "name"}; how a switch spreads messages, null: not known; a
 * port, as a node with "port"; the two ports of a link, {"a", "b"}.
 */
json_t *fabric_node_json (const struct fabric *f, uint32_t node);
json_t *fabric_spread_json (const struct fabric_spread *s);
json_t *fabric_port_json (const struct fabric *f, uint32_t port);
json_t *fabric_link_json (const struct fabric *f, uint32_t link);

#endif /* PMM_VERB_H */
