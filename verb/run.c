/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "verb/verb.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/solution.h"
#include "ibquery/compare/cabling.h"
#include "ibquery/links/counters.h"
#include "util/site.h"
#include "util/terminal.h"
#include "util/user.h"

static const struct verb_command *command; /* that runs */
static char of_command[64];           /* its name and the verb's: "pmm plan" */
static const char *verb_name;         /* the latter */

int exit_status (enum verdict_status status)
{
    static const int exits[] = {
        [VERDICT_OK] = EXIT_OK,
        [VERDICT_WARN] = EXIT_OK,
        [VERDICT_UNKNOWN] = EXIT_WORLD,
        [VERDICT_FAIL] = EXIT_FAIL,
    };

    return exits[status];
}

int fail (const char *verb, const struct error *err)
{
    terminal_clear ();
    fprintf (stderr, "%s %s: %s\n", command->name, verb, err->text);
    return err->fault == ERROR_WORLD ? EXIT_WORLD : EXIT_BAD_INPUT;
}

void verb_say (const char *fmt, ...)
{
    va_list ap;

    fprintf (stderr, "%s: ", of_command);
    va_start (ap, fmt);
    vfprintf (stderr, fmt, ap);
    va_end (ap);
    fputc ('\n', stderr);
}

/*
 * Errors
 */

struct error fault;

static struct inputs verb_inputs;
struct pool *verb_pool;

static void end_json (void *json)
{
    json_decref (json);
}

json_t *verb_keep_json (json_t *json)
{
    return pool_keep (verb_pool, json, end_json);
}

static volatile sig_atomic_t stopped;

static void on_stop_signal (int sig)
{
    stopped = sig;
}

const volatile sig_atomic_t *verb_stop (void)
{
    static const int signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
    struct sigaction action = { .sa_handler = on_stop_signal };

    for (size_t i = 0; i < sizeof (signals) / sizeof (signals[0]); i++)
        sigaction (signals[i], &action, NULL);
    return &stopped;
}

#define OWN(type)                                           \
    static void end_##type (void *p)                        \
    {                                                       \
        type##_destroy (p);                                 \
    }                                                       \
    struct type *verb_own_##type (struct type *p)           \
    {                                                       \
        return pool_keep (verb_pool, need (p), end_##type); \
    }
OWN (baseline) OWN (cabling) OWN (counters) OWN (pathset) OWN (solution)
OWN (verdict)

void die (void)
{
    int status = fail (verb_name, &fault);

    if (command->clear)
        command->clear (&verb_inputs);
    inputs_clear (&verb_inputs); /* discards the output */
    exit (status);
}

void *need (void *p)
{
    terminal_clear ();
    if (!p)
        die ();
    return p;
}

int need_ok (int rc)
{
    terminal_clear ();
    if (rc < 0)
        die ();
    return rc;
}

/*
 * Options
 */

static const char *const colour_names[] = {
    [COLOUR_NEVER] = "never",
    [COLOUR_AUTO] = "auto",
    [COLOUR_ALWAYS] = "always",
    NULL,
};

/* The options for the inputs that verbs take. */
#define FIELD(name) offsetof (struct inputs, name)
static const struct {
    unsigned int takes; /* for verbs that take any of these */
    struct opt options[2];
    struct opt_rule rules[2]; /* for verbs that need them */
} shared[] = {
    { TAKES_FABRIC,
      { { "fabric", 'f', "FILE", opt_string, FIELD (fabric_path),
          "the snapshot of the fabric, or files to import (default: Snapshot "
          "of pmm.conf)" } } },
    { TAKES_PLAN,
      { { "plan", 0, "FILE", opt_string, FIELD (plan_path), "the plan" } },
      { { NULL, OPT_NEEDS, "plan" } } },
    { TAKES_SAMPLES,
      { { "samples", 0, "FILE", opt_string, FIELD (samples_path),
          "the round-trip times that were measured by the plan" } },
      { { NULL, OPT_NEEDS, "samples" } } },
    { TAKES_BASELINES,
      { { "baseline", 0, "FILE", opt_append, FIELD (baseline),
          "earlier samples; may be given several times" } } },
    { TAKES_LEDGER,
      { { "ledger", 'L', "FILE", opt_string, FIELD (ledger_path),
          "the ledger (default: Ledger of pmm.conf)" } } },
    { TAKES_FILES,
      { { "node-name-map", 0, "FILE", opt_string, FIELD (names),
          "names of nodes, as opensm has them (default: NodeNameMap of "
          "pmm.conf)" } },
      { { "fabric", OPT_EXCLUDES, "FILE" } } },
    { TAKES_CONF | TAKES_FABRIC | TAKES_BASELINES | TAKES_LEDGER,
      { { "conf", 0, "FILE", opt_string, FIELD (conf),
          "a file to read instead of pmm.conf" } } },
    { TAKES_JSON,
      { { "json", 0, NULL, opt_true, FIELD (json),
          "write JSON, not text" } } },
    { TAKES_COLOUR,
      { { "color", 0, "WHEN", NULL, FIELD (colour),
          "colours for OK, WARN, FAIL and UNKNOWN (default: auto)",
          OPT_ROWS (colour_names) } } },
    { TAKES_OUTPUT,
      { { "output", 'o', "FILE", opt_string, FIELD (output),
          "the file to write (default: standard output)" } } },
};
#undef FIELD

enum { SHARED = sizeof (shared) / sizeof (shared[0]) };

/* Fill in those for any of these, of which some are needed. Return how many
 * there are.
 */
static size_t list_shared (struct opt_group *group, unsigned int takes,
                           unsigned int needs)
{
    size_t n = 0;

    if (needs & TAKES_FABRIC)
        needs |= TAKES_FILES; /* which may be there instead */
    for (size_t i = 0; i < SHARED; i++)
        if (shared[i].takes & takes)
            group[n++] = (struct opt_group){
                shared[i].options, &verb_inputs,
                shared[i].takes & needs ? shared[i].rules : NULL,
            };
    return n;
}

/*
 * Running a verb
 */

/* Add a file of --baseline, older than those before. */
static void add_baseline (struct inputs *in, const char *path)
{
    struct baseline *newer = in->base;
    struct baseline *b = need (inputs_baseline (
        in->fabric, path, in->plan ? in : NULL, &fault));

    in->base = newer ? need (baseline_merge (newer, b, 0, fabric_resolve,
                                             in->fabric, &fault))
                     : b;
}

/* Open the verb's inputs, run it and commit its output. */
static int run_opened (const struct verb *v, struct inputs *in)
{
    unsigned int takes = v->needs | v->may;
    struct outfile *out;
    int status;

    if (takes & TAKES_BASELINES)
        in->thresholds = judge_site_options (verb_site (in->conf, false));
    if ((v->needs & TAKES_FABRIC) || in->fabric_path || in->baseline.n > 0)
        inputs_fabric (in);
    if ((v->needs & TAKES_PLAN) || in->plan_path)
        inputs_plan (in, in->plan_path, in->samples_path);
    for (size_t i = 0; i < in->baseline.n; i++)
        add_baseline (in, in->baseline.v[i]);
    status = need_ok (v->run (in));
    out = in->out;
    in->out = NULL;
    if (out)
        need_ok (file_commit (out, &fault));
    return status;
}

/* Die if an option, or the value that follows, is gone. */
static void reject_removed_options (char **argv)
{
    for (int i = 1; argv[i] && strcmp (argv[i], "--"); i++) {
        const char *word = argv[i];
        char both[64] = "";

        if (strncmp (word, "--", 2))
            continue;
        if (!strchr (word, '=') && argv[i + 1])
            snprintf (both, sizeof (both), "%s=%s", word, argv[i + 1]);
        for (const struct verb_gone *g = command->gone; g->verb; g++) {
            const char *was = g->option;
            size_t len = was ? strlen (was) : 0;

            if (!was || strcmp (verb_name, g->verb)
                || (strcmp (both + (*both ? 2 : 0), was)
                    && (strncmp (word + 2, was, len)
                        || (word[2 + len] != '\0' && word[2 + len] != '='))))
                continue;
            if (g->moved)
                die_input ("moved: %s", g->instead);
            die_input ("--%s is gone: %s", was, g->instead);
        }
    }
}

/* operands: of the usage line, of which n are there */
_Noreturn static void die_missing (const char *operands, int n)
{
    const char *between = " [].";

    for (operands += strspn (operands, between); n > 0; n--) {
        operands += strcspn (operands, between);
        operands += strspn (operands, between);
    }
    die_input ("%.*s is missing", (int)strcspn (operands, between), operands);
}

static int run_verb (const struct verb *v, int argc, char **argv)
{
    static const struct opt no_options[1];
    struct inputs *in = &verb_inputs;
    const char *args = v->operands ? v->operands : "";
    struct opt_group groups[SHARED + 2] = { 0 };
    size_t n = list_shared (groups, v->needs | v->may, v->needs);
    int status, first;

    verb_name = argv[0];
    snprintf (of_command, sizeof (of_command), "%s %s", command->name,
              verb_name);
    verb_pool = pool_create ();
    in->given = v->given;
    in->colour = COLOUR_AUTO;
    reject_removed_options (argv);
    groups[n++] = (struct opt_group){ v->options ? v->options : no_options,
                                      v->given, v->rules };
    first = options_get (groups, v->operands, argc, argv, &fault);
    if (first == OPTIONS_HELP) {
        printf ("Usage: %s [OPTION]...%s%s\n\n", of_command,
                *args ? " " : "", args);
        options_help (groups, stdout);
        return EXIT_OK;
    }
    need_ok (first);
    in->operand = argv + first;
    in->noperands = argc - first;
    in->files = (v->may & TAKES_FILES) && in->noperands > 0;
    if (in->noperands < v->min)
        die_missing (args, in->noperands);
    if (v->max >= 0 && in->noperands > v->max)
        die_input ("unexpected argument; usage: %s [OPTION]... %s",
                   of_command, args);
    terminal_set_colour (in->output ? COLOUR_NEVER : in->colour);
    terminal_start (of_command);
    status = run_opened (v, in);
    if (command->clear)
        command->clear (in);
    inputs_clear (in);
    return status;
}

/*
 * Finding the verb
 */

/* Print the verbs of `of`, "pmm" or "pmm fabric". */
static void print_verb_usage (FILE *fp, const char *of,
                              const struct verb *const *list)
{
    struct opt_group groups[SHARED + 1] = { 0 };
    bool top = list == command->verbs;
    unsigned int takes = 0;

    fprintf (fp, "Usage: %s VERB [OPTION]...\n", of);
    for (int group = 0; command->groups[group]; group++) {
        const char *heading = top ? command->groups[group] : "";
        bool named = false;

        for (size_t i = 0; list[i]; i++) {
            if (list[i]->group != group || !list[i]->help)
                continue;
            if (!named)
                fprintf (fp, "\n%s%s", heading, *heading ? "\n" : "");
            named = true;
            fprintf (fp, "  %-10s %s\n", list[i]->name, list[i]->help);
        }
    }
    for (size_t i = 0; list[i]; i++)
        takes |= list[i]->needs | list[i]->may;
    if (top) {
        list_shared (groups, takes, 0);
        fprintf (fp, "\nOptions that many of them take:\n");
        options_help (groups, fp);
    }
    fprintf (fp, "\n'%s help%s VERB' shows a verb's options; %s(1) has the "
                 "rest.\n", command->name, of + strlen (command->name),
             command->name);
}

/* Print that the word is not a verb of `of`, "pmm" or "pmm fabric", and suggest
 * a similar one, or one of a verb's own. Return the exit status.
 */
static int no_verb (const char *of, const struct verb *const *list,
                    const char *word)
{
    struct text_guess guess = { .word = word };
    const char *in = "";
    char name[64];
    struct error err;

    for (size_t i = 0; list[i]; i++)
        if (list[i]->help)
            text_guess (&guess, list[i]->name);
    for (; *list && !guess.best; list++)
        for (size_t i = 0; (*list)->verbs && (*list)->verbs[i]; i++)
            if (!strcmp ((*list)->verbs[i]->name, word)) {
                guess.best = word;
                in = (*list)->name;
            }
    error_input (&err, "unknown verb '%.40s'; %s%s%s%s%s'%s --help' lists them",
                 word, guess.best ? "did you mean " : "", in, *in ? " " : "",
                 guess.best ? guess.best : "", guess.best ? "? " : "", of);
    snprintf (name, sizeof (name), "%s %s", of, word);
    for (const struct verb_gone *g = command->gone; g->verb; g++)
        if (!g->option && !strcmp (name + strlen (command->name) + 1, g->verb))
            g->moved ? error_input (&err, "moved: %s", g->instead)
                     : error_input (&err, "%s is gone: %s", word, g->instead);
    fprintf (stderr, "%s: %s\n", of, err.text);
    return EXIT_BAD_INPUT;
}

/* Run the verb argv[0] from the list of `of`, "pmm" or "pmm fabric". */
static int run_among (const struct verb *const *list, const char *of,
                      int argc, char **argv)
{
    const char *word = argc > 0 ? argv[0] : "";
    bool help = !strcmp (word, "--help") || !strcmp (word, "-h");
    FILE *fp = help ? stdout : stderr;
    char name[64];

    for (size_t i = 0; list[i]; i++) {
        const struct verb *v = list[i];

        if (!strcmp (word, v->name)) {
            snprintf (name, sizeof (name), "%s %s", of, word);
            if (v->verbs)
                return run_among (v->verbs, name, argc - 1, argv + 1);
            argv[0] = name + strlen (command->name) + 1;
            return run_verb (v, argc, argv);
        }
    }
    if (*word && !help)
        return no_verb (of, list, word);
    print_verb_usage (fp, of, list);
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}

int command_run (const struct verb_command *c, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    command = c;
    file_user = user_name_of;
    signal (SIGXFSZ, SIG_IGN); /* a file that gets too large is an error */
    if (argc < 2) {
        print_verb_usage (stderr, c->name, c->verbs);
        return EXIT_BAD_INPUT;
    }
    if (!strcmp (word, "help") && argc > 2) {
        word = argv[2];
        memmove (argv + 1, argv + 2, (size_t)(argc - 2) * sizeof (*argv));
        argv[argc - 1] = (char *)"--help";
    }
    if (!strcmp (word, "--help") || !strcmp (word, "-h")
        || !strcmp (word, "help")) {
        print_verb_usage (stdout, c->name, c->verbs);
        return EXIT_OK;
    }
    if (!strcmp (word, "--version") || !strcmp (word, "-V")) {
        printf ("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
        return EXIT_OK;
    }
    return run_among (c->verbs, c->name, argc - 1, argv + 1);
}
