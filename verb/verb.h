/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs of a command (pmm, pmm-compare), and what they share. A verb is a
 * file that ends with its row, which the command lists.
 */
#ifndef VERB_VERB_H
#define VERB_VERB_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "ibquery/names.h"
#include "util/error.h"
#include "util/file.h"
#include "util/options.h"
#include "util/pool.h"
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
    bool snapshot;         /* fabric_path is Snapshot of pmm.conf */

    struct fabric *fabric;
    struct pathset *ps;    /* of the plan */
    struct plan *plan;
    struct samples *samples;
    struct baseline *base; /* of all files; NULL: none was given */
    struct judge_options thresholds;
    struct ledger *ledger; /* of pmm */
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
    TAKES_LEDGER = 128,  /* -L; the verb opens it */
    TAKES_FILES = 512,   /* operands instead of -f; --node-name-map */
};

/* How --help tells of a list of hosts: inputs_hostlist. */
#define LIST_HELP "node[01-16] or @FILE"

struct site;

struct verb {
    int group;           /* of the command's; not of a verb's own verbs */
    const char *name;
    const char *help;    /* NULL: for the command itself, and not shown */
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

/* What the last release had, and what to use instead. */
struct verb_gone {
    const char *verb;
    const char *option; /* or one of its values, NAME=VALUE; NULL: the verb */
    const char *instead;
    bool moved;         /* that does the same */
};

struct verb_command {
    const char *name;
    const struct verb *const *verbs; /* in a group in this order, up to NULL */
    const char *const *groups; /* headings of usage, "": none; up to NULL */
    const struct verb_gone *gone; /* up to a row without a verb */
    void (*clear) (struct inputs *in); /* close what verbs opened; or NULL */
};

/* Run the verb of the arguments. Return the exit status. */
int command_run (const struct verb_command *c, int argc, char **argv);

/* Print "pmm VERB: sentence" and return the matching exit status. */
int fail (const char *verb, const struct error *err);

/* Print "pmm VERB: sentence". */
void verb_say (const char *fmt, ...) __attribute__ ((format (printf, 1, 2)));

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

/* From now on SIGHUP, SIGINT, SIGQUIT and SIGTERM end nothing: they set this. */
const volatile sig_atomic_t *verb_stop (void);

/* Die if a call failed with fault set: it returned NULL, or -1. In any case its
 * progress line goes.
 */
void *need (void *p) __attribute__ ((returns_nonnull));
int need_ok (int rc);

/*
 * Memory that ends with the verb: a pool; a text in it; what is on the heap, or
 * JSON, and goes when it does.
 */
extern struct pool *verb_pool;

#define verb_text(...) pool_printf (verb_pool, __VA_ARGS__)
#define verb_array(n, size) pool_alloc (verb_pool, (n), (size))
#define verb_keep(heap) pool_keep (verb_pool, (heap), free)
#define verb_keep_text(heap) ((char *)verb_keep (heap))
#define verb_fold(name, n) verb_keep_text (hostlist_fold ((name), (n)))
json_t *verb_keep_json (json_t *json);

/* The same of these; die if it is NULL, as need. */
struct cabling;
struct counters;
struct solution;
struct baseline *verb_own_baseline (struct baseline *p);
struct cabling *verb_own_cabling (struct cabling *p);
struct counters *verb_own_counters (struct counters *p);
struct pathset *verb_own_pathset (struct pathset *p);
struct solution *verb_own_solution (struct solution *p);
struct verdict *verb_own_verdict (struct verdict *p);

/* The site's configuration; die if it is bad. */
const struct site *verb_site (const char *conf, bool trusted);

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

/* Load a plan of the fabric, and samples of the plan; samples NULL: none. */
void inputs_plan (struct inputs *in, const char *plan, const char *samples);

void inputs_clear (struct inputs *in);

/* The file at path; where that is a directory, as pmm-probe --output leaves one,
 * the file of that name in it.
 */
char *inputs_file (const char *path, const char *name);

/* The directory of a file; "" if the path has no '/'. */
char *inputs_parent (const char *path);

/* A verdict of the fabric, which is loaded; the same of the directory that pmm-probe
 * --output left, with its plan and samples if no others are given. The verb owns it.
 */
struct verdict *inputs_verdict (struct inputs *in, const char *path);
struct verdict *inputs_result (struct inputs *in, const char *path);

/* The stream of --output. */
FILE *inputs_output (struct inputs *in);

/* Write in->plan, whose making began then, to the stream of --output; verbose: and
 * say what it is. plan_say says this alone.
 */
void plan_put (struct inputs *in, int64_t start_ns, bool verbose);
void plan_say (const struct inputs *in, const struct plan_file_extra *extra);

/* Write a JSON object there, as json_write_file does: members is taken. */
void inputs_put_json (struct inputs *in, const char *kind, const char *fabric,
                      json_t *members);

/* Die if the snapshot of that name is only a part of a fabric. */
void inputs_need_whole (const struct fabric *f, const char *path);

/* Die if the snapshots of that name are of several subnets. */
void inputs_need_one (const struct fabric *f, const char *path);

/* Read a baseline; of it what is close to the plan of `job`, if that is not
 * NULL. NULL with err.
 */
struct baseline *inputs_baseline (const struct fabric *f, const char *path,
                                  const struct inputs *job, struct error *err);

/* The text of a LIST, or of the file named after an '@'. `option` is for the
 * error.
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

#endif /* VERB_VERB_H */
