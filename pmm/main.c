/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm: one verb per step of the pipeline, and the code that runs the verbs. */
#include "config.h"

#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmm/verb.h"
#include "util/file.h"
#include "util/site.h"
#include "util/terminal.h"
#include "util/user.h"

static const struct verb *const fabric_verbs[] = {
    &verb_fabric_read,
    &verb_fabric_cabling,
    &verb_fabric_diff,
    &verb_fabric_show,
    &verb_fabric_counters,
    &verb_fabric_check,
    &verb_fabric_accept,
    &verb_fabric_generate,
    &verb_fabric_import,
    &verb_fabric_export,
    &verb_fabric_netdisc,
    NULL,
};
static const struct verb fabric = {
    .group = VERBS_FABRIC, .name = "fabric",
    .help = "read, show or generate a fabric snapshot",
    .verbs = fabric_verbs,
};

/* In each group in this order. */
static const struct verb *const verbs[] = {
#ifdef HAVE_SLURM
    &verb_doctor,
    &verb_setup,
    &verb_check,
#endif
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
    &verb_baseline,
    &verb_audit,
    &verb_policy,
    &verb_why,
#endif
    &verb_report,
#ifdef HAVE_LEDGER
    &verb_ledger,
#endif
    &fabric,
    &verb_path,
    &verb_plan,
    &verb_simulate,
    &verb_solve,
    &verb_judge,
#ifdef HAVE_COMPARISON
    &verb_series,
    &verb_compare,
    &verb_pattern,
    &verb_rates,
    &verb_infer,
    &verb_map,
#endif
    &verb_confirm,
#ifdef HAVE_COMPARISON
    &verb_export,
#endif
    NULL,
};

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

const char *user_name (void)
{
    const struct passwd *pw = getpwuid (geteuid ());

    return pw ? pw->pw_name : "unknown";
}

int fail (const char *verb, const struct error *err)
{
    terminal_clear ();
    fprintf (stderr, "pmm %s: %s\n", verb, err->text);
    return err->fault == ERROR_WORLD ? EXIT_WORLD : EXIT_BAD_INPUT;
}

/*
 * Errors
 */

struct error fault;

static const char *verb_name;   /* of the verb that runs */
static struct inputs verb_inputs;

void die (void)
{
    int status = fail (verb_name, &fault);

    inputs_clear (&verb_inputs); /* discards the output, closes the ledger */
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
    struct site site;
    int status;

    if (takes & TAKES_BASELINES) {
        need_ok (site_read (&site, in->conf, 0, &fault));
        in->thresholds = judge_site_options (&site);
        site_clear (&site);
    }
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

/* What the last release had, and what to use instead: an option, or one of its
 * values; NULL: a verb.
 */
static const struct {
    const char *verb, *option, *instead;
} gone[] = {
    { "plan", "links", "plan for the hosts around them, with --hosts" },
    { "plan", "switch", "plan for the hosts around it, with --hosts" },
    { "plan", "separate", "a plan with more hosts resolves more, with --hosts" },
    { "plan", "method=paper", "bench/paper_plan has it" },
    { "plan", "method=paper-first", "bench/paper_plan --first has it" },
    { "judge", "text", "pmm report shows the verdict that --output wrote" },
    { "series", "format=json", "--json" },
    { "infer", "format=json", "--json" },
    { "ledger export", NULL, "pmm ledger show AUDIT --json" },
    { "ledger begin", NULL, "pmm audit begins audits" },
    { "ledger add", NULL, "pmm audit enters results" },
};

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
        for (size_t k = 0; k < sizeof (gone) / sizeof (gone[0]); k++) {
            const char *was = gone[k].option;
            size_t len = was ? strlen (was) : 0;

            if (!was || strcmp (verb_name, gone[k].verb)
                || (strcmp (both + (*both ? 2 : 0), was)
                    && (strncmp (word + 2, was, len)
                        || (word[2 + len] != '\0' && word[2 + len] != '='))))
                continue;
            die_input ("--%s is gone: %s", was, gone[k].instead);
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
    char who[64];
    size_t n = list_shared (groups, v->needs | v->may, v->needs);
    int status, first;

    verb_name = argv[0];
    in->given = v->given;
    in->colour = COLOUR_AUTO;
    reject_removed_options (argv);
    groups[n++] = (struct opt_group){ v->options ? v->options : no_options,
                                      v->given, v->rules };
    first = options_get (groups, v->operands, argc, argv, &fault);
    if (first == OPTIONS_HELP) {
        printf ("Usage: pmm %s [OPTION]...%s%s\n\n", verb_name,
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
        die_input ("unexpected argument; usage: pmm %s [OPTION]... %s",
                   verb_name, args);
    terminal_set_colour (in->output ? COLOUR_NEVER : in->colour);
    snprintf (who, sizeof (who), "pmm %s", verb_name);
    terminal_start (who);
    status = run_opened (v, in);
    inputs_clear (in);
    return status;
}

/*
 * Finding the verb
 */

static const char *const group_names[VERBS_GROUPS] = {
    [VERBS_SITE] = "Check cables, run a site: pmm-site(1)",
    [VERBS_FABRIC] = "The fabric: pmm-fabric(1)",
    [VERBS_REPLAY] = "A check, replayed or simulated: pmm-replay(1)",
    [VERBS_COMPARE] = "Compare with other tests: pmm-compare(1)",
    [VERBS_PLUMBING] = "For scripts and other programs: pmm-plumbing(1)",
};

/* Print the verbs of `of`, "pmm" or "pmm fabric". */
static void print_verb_usage (FILE *fp, const char *of,
                              const struct verb *const *list)
{
    struct opt_group groups[SHARED + 1] = { 0 };

    fprintf (fp, "Usage: %s VERB [OPTION]...\n", of);
    for (enum verb_group group = 0; group < VERBS_GROUPS; group++) {
        bool named = false;

        for (size_t i = 0; list[i]; i++) {
            if (list[i]->group != group || !list[i]->help)
                continue;
            if (!named)
                fprintf (fp, "\n%s%s", list == verbs ? group_names[group] : "",
                         list == verbs ? "\n" : "");
            named = true;
            fprintf (fp, "  %-10s %s\n", list[i]->name, list[i]->help);
        }
    }
    if (list == verbs) {
        list_shared (groups, ~0U, 0);
        fprintf (fp, "\nOptions that many of them take:\n");
        options_help (groups, fp);
    }
    fprintf (fp, "\n'pmm help%s VERB' shows a verb's options; pmm(1) has the "
                 "rest.\n", of + strlen ("pmm"));
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
    for (size_t k = 0; k < sizeof (gone) / sizeof (gone[0]); k++)
        if (!gone[k].option && !strcmp (name + strlen ("pmm "), gone[k].verb))
            error_input (&err, "%s is gone: %s", word, gone[k].instead);
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
            argv[0] = name + strlen ("pmm ");
            return run_verb (v, argc, argv);
        }
    }
    if (*word && !help)
        return no_verb (of, list, word);
    print_verb_usage (fp, of, list);
    return help ? EXIT_OK : EXIT_BAD_INPUT;
}

int main (int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";

    file_user = user_name_of;
    signal (SIGXFSZ, SIG_IGN); /* a file that gets too large is an error */
    if (argc < 2) {
        print_verb_usage (stderr, "pmm", verbs);
        return EXIT_BAD_INPUT;
    }
    if (!strcmp (word, "help") && argc > 2) {
        word = argv[2];
        memmove (argv + 1, argv + 2, (size_t)(argc - 2) * sizeof (*argv));
        argv[argc - 1] = (char *)"--help";
    }
    if (!strcmp (word, "--help") || !strcmp (word, "-h")
        || !strcmp (word, "help")) {
        print_verb_usage (stdout, "pmm", verbs);
        return EXIT_OK;
    }
    if (!strcmp (word, "--version") || !strcmp (word, "-V")) {
        printf ("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
        return EXIT_OK;
    }
    return run_among (verbs, "pmm", argc - 1, argv + 1);
}
