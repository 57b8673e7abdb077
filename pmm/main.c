/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm: one verb for each step of the pipeline. */
#include "config.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "pmm/common.h"
#include "pmm/verb.h"
#include "util/text.h"

static const struct verb {
    const char *name;
    verb_f fn;
    const char *help;
} verbs[] = {
    { "fabric", verb_fabric, "read, show or generate a fabric snapshot" },
    { "path", verb_path, "the links between two hosts, there and back" },
    { "pattern", verb_pattern, "the steps of a schedule, to compare by eye" },
    { "plan", verb_plan, "the fewest probes that resolve a job's links" },
    { "simulate", verb_simulate, "the round-trip times a plan would see" },
    { "confirm", verb_confirm, "more rounds, for what looks slow in these" },
    { "solve", verb_solve, "link latencies from round-trip times" },
    { "judge", verb_judge, "what got slower, and who is suspect" },
    { "series", verb_series, "what tests of pairs measured, as tables, fits" },
    { "compare", verb_compare, "by how much two series or solutions deviate" },
    { "infer", verb_infer, "the topology, from latencies alone" },
    { "export", verb_export, "plans and latencies as others read them" },
    { "rates", verb_rates, "what links carried, beside their nominal rates" },
    { "report", verb_report, "a verdict for people; what jobs' comments say" },
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
    { "audit", verb_audit, "measure nodes by a job of our own" },
#endif
#ifdef HAVE_SLURM
    { "doctor", verb_doctor, "what of the site's configuration to mend" },
#endif
#ifdef HAVE_LEDGER
    { "ledger", verb_ledger, "what audits measured, found and did" },
#endif
#if defined(HAVE_LEDGER) && defined(HAVE_SLURM)
    { "policy", verb_policy, "which nodes would be drained, and why" },
#endif
};

enum { VERB_COUNT = sizeof (verbs) / sizeof (verbs[0]) };

static void usage (FILE *fp)
{
    fprintf (fp, "Usage: pmm VERB [OPTION]...\n\n");
    for (int i = 0; i < VERB_COUNT; i++)
        fprintf (fp, "  %-10s %s\n", verbs[i].name, verbs[i].help);
    fprintf (fp, "\n'pmm help VERB' shows a verb's options; pmm(1) has the "
                 "rest.\n");
}

int main (int argc, char **argv)
{
    struct text_guess guess = { 0 };

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    if (argc < 2) {
        usage (stderr);
        return EXIT_BAD_INPUT;
    }
    if (!strcmp (argv[1], "help") && argc > 2) {
        memmove (argv + 1, argv + 2, (size_t)(argc - 2) * sizeof (*argv));
        argv[argc - 1] = (char *)"--help";
    }
    if (!strcmp (argv[1], "--help") || !strcmp (argv[1], "-h")
        || !strcmp (argv[1], "help")) {
        usage (stdout);
        return EXIT_OK;
    }
    if (!strcmp (argv[1], "--version") || !strcmp (argv[1], "-V")) {
        printf ("%s %s\n", PACKAGE_NAME, PACKAGE_VERSION);
        return EXIT_OK;
    }
    guess.word = argv[1];
    for (int i = 0; i < VERB_COUNT; i++) {
        if (!strcmp (argv[1], verbs[i].name))
            return verbs[i].fn (argc - 1, argv + 1);
        text_guess (&guess, verbs[i].name);
    }
    return no_verb ("pmm", &guess);
}
