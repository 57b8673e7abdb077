/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-probe: one process per node of a job; together they measure the job's
 * links. The leader's last line on standard output is the result record; the
 * program that started the step must trust nothing else.
 *
 * A record without samples before it gives the reason why nothing was measured.
 * After samples that could not be judged it gives the reason for that.
 *
 * A process that has joined the step and is not the leader always exits with 0
 * and prints errors on standard error, because the step may run under `srun
 * -K1`, which kills the leader when another task fails; the leader accounts for
 * every node. The only exception is a process that runs out of memory
 * (util/alloc.h). A process that cannot join ends the step, because the others
 * would wait for it.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "ibquery/ports.h"
#include "probe/group.h"
#include "probe/lead.h"
#include "probe/probe.h"
#include "probe/step.h"
#include "probe/tests.h"
#include "probe/watchdog.h"
#include "util/alloc.h"
#include "util/conf.h"
#include "util/options.h"
#include "util/site.h"
#include "util/text.h"

enum {
    NONCE_MAX = 32,
    EXIT_FOR_FAIL = 1,
};

struct probe_args {
    struct site site;
    const char *conf, *repeats, *timeout;
    struct strings set;
    const char *coord;
    const char *leader;
    char nonce[NONCE_MAX + 1];
    struct lead_options lead;
};

/*
 * The result record
 */

enum {
    RECORD_PIECE = 900, /* bytes per line: Slurm cuts lines above 1 KB */
};

/* Print a line of any length in pieces, one per line, each after a '+'. */
static void print_pieces (const char *line)
{
    size_t len = strcspn (line, "\n");

    for (size_t at = 0; at < len; at += RECORD_PIECE)
        printf ("+%.*s\n",
                (int)(len - at < RECORD_PIECE ? len - at : RECORD_PIECE),
                line + at);
    puts ("+");
}

/* Return 0, or -1 if the result cannot be written. */
static int print_result (const struct probe_args *args,
                         const struct lead_result *r)
{
    const char *const part[] = { r->plan, r->samples };

    for (size_t i = 0; i < 2; i++)
        if (part[i] && args->lead.audit)
            print_pieces (part[i]);
        else if (part[i])
            fputs (part[i], stdout);
    printf ("pmm-result 1 %s %s %s\n", verdict_status_name (r->status),
            args->nonce, r->sentence);
    if (fflush (stdout) == 0 && !ferror (stdout))
        return 0;
    fprintf (stderr, "pmm: cannot write the result: %s\n", strerror (errno));
    return -1;
}

static int exit_status (enum verdict_status status)
{
    switch (status) {
    case VERDICT_FAIL:
        return EXIT_FOR_FAIL;
    case VERDICT_UNKNOWN:
        return ERROR_WORLD;
    default:
        return 0;
    }
}

/*
 * One process of a check
 */

struct self {
    const struct probe_args *args;
    struct step step;
    struct ports_watch watch;
};

/* The directory that shows the ports, as sysfs does. */
static const char *sysfs (const struct step *step)
{
    const char *dir = LOCAL_SYSFS;

    if (step->transport->sysfs)
        dir = step->transport->sysfs (step->t);
    return dir ? dir : "/nowhere";
}

static void watch_stage (void *arg, bool begins)
{
    struct self *self = arg;
    const struct step *step = &self->step;
    struct group_stats stats = group_stats (step->group);

    (begins ? ports_watch_begin : ports_watch_end) (
        &self->watch, sysfs (step), group_now (step->group), stats.bytes);
}

static char *remark (void *arg)
{
    const struct self *self = arg;
    char *text;
    size_t len;
    FILE *fp = xcheck (open_memstream (&text, &len));

    ports_say_traffic (&self->watch, LEAD_REMARK, fp);
    xcheck (fclose (fp) == 0 ? text : NULL);
    return text;
}

static int form_group (struct self *self, struct error *err)
{
    struct step *step = &self->step;

    if (step_form_group (step, err) < 0)
        return -1;
    if (!step->group)
        return 0;
    step->group->remark = remark;
    step->group->stage = watch_stage;
    step->group->hook_arg = self;
    step->group->ping_size = (size_t)self->args->site.ping_bytes;
    step->group->deadline = group_now (step->group) + watchdog_left_ns ();
    return 0;
}

/* If there is no fabric, dismiss the others. */
static int load_fabric (struct self *self, struct error *err)
{
    struct step *step = &self->step;

    if (step_load_and_serve (step, err) == 0)
        return 0;
    if (step->group && !step->fabric)
        probe_end (step->group, NULL, NULL);
    return -1;
}

static int run_leader (struct self *self, struct lead_result *result,
                       struct error *err)
{
    const struct step *step = &self->step;

    if (form_group (self, err) < 0 || load_fabric (self, err) < 0)
        return -1;
    return lead (step->group, step->roster, step->fabric, &self->args->lead,
                 stderr, result, err);
}

/* There is no result: remove the one of an earlier check. */
static void drop_result (const struct probe_args *args)
{
    if (args->lead.result && lead_drop_file (args->lead.result))
        fprintf (stderr, "pmm: removed %s: it was of an earlier check\n",
                 args->lead.result);
}

/* Print the transport's trouble, unless it was reported already. It is needed
 * only after an error; otherwise the leader gets it with the results.
 */
static void say_trouble (const struct self *self, const char *said)
{
    const struct step *step = &self->step;
    const char *text = step->t && step->transport->trouble
                           ? step->transport->trouble (step->t)
                           : NULL;

    if (text && strcmp (text, said))
        step_say (step->host, text);
}

static int follow (struct step *step, struct error *err)
{
    const struct roster_rank *leader
        = &step->roster->rank[step_leader (step)];

    return probe_follow (step->group, (size_t)leader->member, leader->host,
                         err);
}

/* Return 0, or -1 with err; then `result` holds samples at most. */
static int take_part (struct self *self, struct lead_result *result,
                      struct error *err)
{
    const struct probe_args *args = self->args;
    struct step *step = &self->step;
    bool leads;

    if (step_join (step, err) < 0)
        return -1;
    watchdog_set_prints (step->rank == 0);
    if (args->lead.audit)
        ports_say (LOCAL_SYSFS, args->nonce, stderr);
    if (step->size == 1) {
        strcpy (result->sentence, "one node: nothing to measure");
        result->status = VERDICT_OK;
        return 0;
    }
    /* reading now costs no time, because Slurm's daemons need some anyway. If
     * this fails, the leader reads again and reports the error. */
    if (args->leader ? !strcmp (step->host, args->leader) : step->rank == 0)
        step_load (step, NULL);
    if (step_meet (step, err) < 0)
        return -1;
    leads = step->rank == step_leader (step);
    watchdog_set_prints (leads);
    if (leads)
        return run_leader (self, result, err);
    if (form_group (self, err) < 0)
        return -1;
    return step->group ? follow (step, err) : 0;
}

static int run (const struct probe_args *args)
{
    struct self self = {
        .args = args,
        .step = { .site = &args->site, .coordination = args->coord,
                  .leader = args->leader },
    };
    struct step *step = &self.step;
    struct lead_result result = { .status = VERDICT_UNKNOWN };
    struct error err = { .fault = ERROR_WORLD };
    int rc = take_part (&self, &result, &err);

    if (rc < 0) {
        snprintf (result.sentence, sizeof (result.sentence), "%.200s",
                  err.text);
        say_trouble (&self, err.text);
    }
    if (args->lead.audit)
        ports_say_traffic (&self.watch, args->nonce, stderr);
    if (watchdog_prints ()) {
        if (rc < 0 || step->size == 1)
            drop_result (args);
        rc = print_result (args, &result);
        rc = rc < 0 ? ERROR_WORLD : exit_status (result.status);
    }
    else {
        if (rc < 0)
            step_say (step->host, err.text);
        rc = step->size > 0 ? 0 : ERROR_WORLD;
    }
    watchdog_set_prints (false); /* done; a library may hang from here on */
    lead_result_clear (&result);
    step_clear (step);
    ports_watch_clear (&self.watch);
    return rc;
}

/*
 * Arguments
 */

static int set_nonce (void *field, const char *s, struct error *err)
{
    size_t len = strlen (s);

    if (len < 1 || len > NONCE_MAX || strspn (s, "0123456789abcdef") != len)
        return error_input (err, "'%s' is not 1 to %d lower-case hex digits",
                            s, NONCE_MAX);
    strcpy (field, s);
    return 0;
}

static int draw_nonce (char *nonce, struct error *err)
{
    uint64_t n;

    if (getrandom (&n, sizeof (n), 0) != sizeof (n))
        return error_errno (err, "getrandom");
    sprintf (nonce, "%016" PRIx64, n);
    return 0;
}

static int show_version (void *field, const char *value, struct error *err)
{
    (void)field;
    (void)value;
    (void)err;
    puts ("pmm-probe " PACKAGE_VERSION);
    exit (0);
}

#define FIELD(field) offsetof (struct probe_args, field)

static const struct opt args_options[] = {
    { "conf", 0, "FILE", opt_string, FIELD (conf),
      "read FILE, not " PMM_CONF_PATH },
    { "set", 0, "KEY=VALUE", opt_append, FIELD (set),
      "set an option of pmm.conf(5) (repeatable)" },
    { "nonce", 0, "HEX", set_nonce, FIELD (nonce),
      "the run's name in the result record" },
    { "output", 0, "DIR", opt_string, FIELD (lead.output),
      "leave plan.json, samples.json, verdict.json there" },
    { "result", 0, "FILE", opt_string, FIELD (lead.result),
      "leave status, verdict and pairs in one file" },
    { "plan", 0, "FILE", opt_string, FIELD (lead.plan), "measure this plan" },
    { "repeats", 0, "N", opt_string, FIELD (repeats),
      "round trips of a probe from either side" },
    { "timeout", 0, "SECONDS", opt_string, FIELD (timeout),
      "give up after this long" },
    { "progress", 0, NULL, opt_true, FIELD (lead.relay),
      "say how far it is, for a program that shows it" },
    { "leader", 0, "NODE", opt_string, FIELD (leader),
      "the node that leads, if it can; else the first" },
    { "audit", 0, NULL, opt_true, FIELD (lead.audit),
      "print plan and ports as well, for pmm audit" },
    { "coord", 0, "NAME", opt_string, FIELD (coord),
      "auto, pmix, pmi2, or local:RANK:SIZE:HOST:SOCKET" },
    { "version", 'V', NULL, show_version, 0, "tell the version" },
    { 0 },
};

static void help (const struct opt_group *group)
{
    fputs ("Usage: srun --mpi=pmix --ntasks-per-node=1 pmm-probe [OPTION]...\n"
           "       srun --mpi=pmix --ntasks-per-node=1 pmm-probe TEST "
           "[OPTION]...\n"
           "Measure the links between the nodes of a job step, or test what "
           "messages\n"
           "take between them: pairs, topology, noise (pmm-probe TEST --help)."
           "\n\n", stdout);
    options_help (group, stdout);
    puts ("\nKeys of pmm.conf(5), with their defaults:\n");
    conf_help (site_options, stdout);
}

/* Read the file first, whatever the order of the options. */
static int read_site (struct probe_args *a, struct error *err)
{
    struct site *site = &a->site;

    if (site_read (site, a->conf, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < a->set.n; i++)
        if (conf_set_word (site_options, site, a->set.v[i], err) < 0)
            return -1;
    if ((a->repeats
         && conf_set (site_options, site, "Repeats", a->repeats, err) < 0)
        || (a->timeout
            && conf_set (site_options, site, "Timeout", a->timeout, err) < 0))
        return -1;
    return site_check (site, err);
}

/* Return 0, OPTIONS_HELP, or -1 with err. */
static int parse (struct probe_args *a, int argc, char *argv[],
                  struct error *err)
{
    const struct opt_group group[] = { { args_options, a }, { 0 } };
    int rc;

    if (argc > 1 && argv[1][0] != '-')
        return error_input (err, "unknown test '%.40s'; 'pmm-probe --help' "
                                 "lists them", argv[1]);
    if ((rc = options_get (group, argc, argv, err)) < 0) {
        if (rc == OPTIONS_HELP)
            help (group);
        return rc;
    }
    if (rc < argc)
        return error_input (err, "'%s' is no option", argv[rc]);
    if (!a->nonce[0] && draw_nonce (a->nonce, err) < 0)
        return -1;
    return read_site (a, err);
}

/* Slurm's answer, for as long as the rank is not known. */
static bool is_first_task (void)
{
    const char *s = getenv ("SLURM_PROCID");

    return !s || !strcmp (s, "0");
}

/* If the check times out, its result file is removed. */
static const char *result_file;

static void drop_at_timeout (void)
{
    if (result_file)
        lead_drop_file (result_file);
}

int main (int argc, char *argv[])
{
    static struct probe_args args = {
        .coord = COORD_AUTO,
        .lead = { .site = &args.site, .nonce = args.nonce },
    };
    struct error err = { .fault = ERROR_WORLD };
    int rc;

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    if (argc > 1 && tests_named (argv[1]))
        return tests_main (argc - 1, argv + 1);
    rc = parse (&args, argc, argv, &err);
    if (rc == 0) {
        struct watchdog watchdog = { .timeout_ms = args.site.timeout_ms,
                                     .nonce = args.nonce,
                                     .at_record = drop_at_timeout };

        result_file = args.lead.result;
        watchdog_set_prints (is_first_task ());
        watchdog_start (&watchdog);
        rc = run (&args);
    }
    else if (rc == OPTIONS_HELP)
        rc = 0;
    else {
        fprintf (stderr, "pmm: %s\n", err.text);
        rc = (int)err.fault;
    }
    free (args.set.v);
    site_clear (&args.site);
    return rc;
}
