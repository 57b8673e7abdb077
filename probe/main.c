/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm-probe: one process per node of a job; together they measure the job's
 * links. The leader's last line on standard output is the result record, the
 * only thing that who started the step may believe.
 *
 * A record without samples before it says why nothing was measured. Behind
 * samples that could not be judged it says why not.
 *
 * Who has joined the step and is not the leader exits 0 whatever happens, and
 * says on standard error why: the step may run under `srun -K1`, which kills
 * the leader when another task fails, and the leader accounts for every node.
 * Who cannot even join had better end the step: the others would wait.
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "probe/group.h"
#include "probe/lead.h"
#include "probe/probe.h"
#include "probe/result.h"
#include "probe/step.h"
#include "probe/tests.h"
#include "ibquery/ports.h"
#include "util/site.h"
#include "util/text.h"

enum {
    NONCE_MAX = 32,
    EXIT_FOR_FAIL = 1,
};

struct args {
    struct site site;
    const char *coord;
    char nonce[NONCE_MAX + 1];
    const char *plan, *output, *result, *leader;
    bool relay, audit;
};

static const char usage[] =
    "Usage: srun --mpi=pmix --ntasks-per-node=1 pmm-probe [OPTION]...\n"
    "       srun --mpi=pmix --ntasks-per-node=1 pmm-probe TEST [OPTION]...\n"
    "Measure the links between the nodes of a job step, or test what messages\n"
    "take between them: pairs, topology, noise (pmm-probe TEST --help).\n"
    "\n"
    "  --conf FILE         read FILE, not " PMM_CONF_PATH "\n"
    "  --set KEY=VALUE     set an option of pmm.conf(5) (repeatable)\n"
    "  --nonce HEX         the run's name in the result record\n"
    "  --output DIR        leave plan.json, samples.json, verdict.json there\n"
    "  --result FILE       leave status, verdict and pairs in one file\n"
    "  --plan FILE         measure this plan\n"
    "  --repeats N         round trips of a probe from either side\n"
    "  --timeout SECONDS   give up after this long\n"
    "  --progress          say how far it is, for a program that shows it\n"
    "  --leader NODE       the node that leads, if it can; else the first\n"
    "  --audit             print plan and ports as well, for pmm audit\n"
    "  --coord NAME        auto, pmix, pmi2, or local:RANK:SIZE:HOST:SOCKET\n"
    "  -h, --help          show this\n"
    "  -V, --version       tell the version\n";

enum {
    OPT_CONF = 256,
    OPT_SET,
    OPT_NONCE,
    OPT_OUTPUT,
    OPT_RESULT,
    OPT_PLAN,
    OPT_REPEATS,
    OPT_TIMEOUT,
    OPT_PROGRESS,
    OPT_LEADER,
    OPT_AUDIT,
    OPT_COORD,
};

static const struct option options[] = {
    { "conf", required_argument, NULL, OPT_CONF },
    { "set", required_argument, NULL, OPT_SET },
    { "nonce", required_argument, NULL, OPT_NONCE },
    { "output", required_argument, NULL, OPT_OUTPUT },
    { "result", required_argument, NULL, OPT_RESULT },
    { "plan", required_argument, NULL, OPT_PLAN },
    { "repeats", required_argument, NULL, OPT_REPEATS },
    { "timeout", required_argument, NULL, OPT_TIMEOUT },
    { "progress", no_argument, NULL, OPT_PROGRESS },
    { "leader", required_argument, NULL, OPT_LEADER },
    { "audit", no_argument, NULL, OPT_AUDIT },
    { "coord", required_argument, NULL, OPT_COORD },
    { "help", no_argument, NULL, 'h' },
    { "version", no_argument, NULL, 'V' },
    { 0 },
};

/*
 * The result record
 */

enum {
    RECORD_PIECE = 900, /* bytes of a line: Slurm cuts what is above 1 KB */
};

/* Print a line of any length in pieces, each on a line after '+'. */
static void print_pieces (const char *line)
{
    size_t len = strcspn (line, "\n");

    for (size_t at = 0; at < len; at += RECORD_PIECE)
        printf ("+%.*s\n",
                (int)(len - at < RECORD_PIECE ? len - at : RECORD_PIECE),
                line + at);
    puts ("+");
}

/* Return 0, or -1 where it cannot be written. */
static int print_result (const struct args *args, const struct lead_result *r)
{
    const char *const part[] = { r->plan, r->samples };

    for (size_t i = 0; i < 2; i++)
        if (part[i] && args->audit)
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
 * The watchdog: whatever hangs, here or in a library, ends in time and with a
 * result record, or where this process prints none, with a word. The lines are
 * made before they are needed, and the record starts with a newline: the
 * samples may be half out.
 */

static char alarm_record[256];
static char alarm_word[256];
static const char *alarm_result; /* no such file is of a check that timed out */
static volatile sig_atomic_t alarm_prints;

static void on_alarm (int signum)
{
    ssize_t n;

    (void)signum;
    if (alarm_prints && alarm_result)
        result_drop (alarm_result);
    if (alarm_prints)
        n = write (STDOUT_FILENO, alarm_record, strlen (alarm_record));
    else
        n = write (STDERR_FILENO, alarm_word, strlen (alarm_word));
    _exit (alarm_prints && n >= 0 ? ERROR_WORLD : 0);
}

/* host is "" where it is not known yet. */
static void set_phase (const struct args *args, const char *host,
                       const char *phase)
{
    double timeout_s = args->site.timeout_ms / 1000.0;
    sigset_t mask;
    sigset_t old;

    sigemptyset (&mask);
    sigaddset (&mask, SIGALRM);
    sigprocmask (SIG_BLOCK, &mask, &old);
    snprintf (alarm_record, sizeof (alarm_record),
              "\npmm-result 1 UNKNOWN %s timed out after %g s while %s\n",
              args->nonce, timeout_s, phase);
    snprintf (alarm_word, sizeof (alarm_word),
              "pmm: %s%stimed out after %g s while %s\n", host,
              *host ? ": " : "", timeout_s, phase);
    sigprocmask (SIG_SETMASK, &old, NULL);
}

static void start_watchdog (int timeout_ms)
{
    struct sigaction sa = { .sa_handler = on_alarm };
    struct itimerval timer = {
        .it_value = { timeout_ms / 1000, timeout_ms % 1000 * 1000 },
    };

    sigaction (SIGALRM, &sa, NULL);
    setitimer (ITIMER_REAL, &timer, NULL);
    signal (SIGPIPE, SIG_IGN);
}

/* What the watchdog leaves: a tenth less, so that a check ends in order and
 * says what it waited for.
 */
static int64_t time_left_ns (void)
{
    struct itimerval timer;
    int64_t left_us;

    getitimer (ITIMER_REAL, &timer);
    left_us = (int64_t)timer.it_value.tv_sec * 1000000
              + timer.it_value.tv_usec;
    return 900 * left_us;
}

/*
 * A process's way through the check
 */

struct self {
    const struct args *args;
    struct step step;
    struct ports_watch watch;
};

static void phase (void *arg, const char *host, const char *what)
{
    const struct self *self = arg;

    set_phase (self->args, host, what);
}

/* Where the ports are seen. */
static const char *sysfs (const struct step *step)
{
    const char *dir = LOCAL_SYSFS;

    if (step->transport->sysfs)
        dir = step->transport->sysfs (step->t);
    return dir ? dir : "/nowhere";
}

/* What they carried for others, to who judges. */
static void say_traffic (const struct self *self, const char *nonce, FILE *fp)
{
    ports_say_traffic (&self->watch, nonce, fp);
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
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (fp) {
        say_traffic (arg, LEAD_REMARK, fp);
        fclose (fp);
    }
    return text;
}

static int form_group (struct self *self, struct error *err)
{
    struct step *step = &self->step;
    struct group_hooks hooks = { remark, watch_stage, self };

    if (step_form_group (step, err) < 0)
        return -1;
    if (!step->group)
        return 0;
    group_set_hooks (step->group, &hooks);
    group_set_ping_size (step->group, (size_t)self->args->site.ping_bytes);
    group_set_deadline (step->group, group_now (step->group)
                                         + time_left_ns ());
    return 0;
}

/* Without a fabric the others learn that there is none. */
static int load_fabric (struct self *self, struct error *err)
{
    struct step *step = &self->step;

    if (step_load_and_serve (step, err) == 0)
        return 0;
    if (step->group && !step->fabric)
        probe_cancel (step->group, NULL);
    return -1;
}

static int run_leader (struct self *self, struct lead_result *result,
                       struct error *err)
{
    const struct args *args = self->args;
    struct lead_options opts = {
        .site = &args->site,
        .nonce = args->nonce,
        .plan = args->plan,
        .output = args->output,
        .result = args->result,
        .relay = args->relay,
        .audit = args->audit,
    };

    if (form_group (self, err) < 0 || load_fabric (self, err) < 0)
        return -1;
    return lead (self->step.group, self->step.roster, self->step.fabric, &opts,
                 stderr, result, err);
}

/* There is no result: nor is there one of another check. */
static void drop_result (const struct args *args)
{
    if (args->result && result_drop (args->result))
        fprintf (stderr, "pmm: removed %s: it was of an earlier check\n",
                 args->result);
}

/* For people, by the node's name. */
static void say (const struct self *self, const char *text)
{
    const char *host = self->step.host;

    fprintf (stderr, "pmm: %s%s%s\n", host, *host ? ": " : "", text);
}

/* What the transport could not do, if anything else than what is said anyway.
 * While all is well the leader hears of it.
 */
static void say_trouble (const struct self *self, const char *said)
{
    const struct step *step = &self->step;
    const char *text = step->t && step->transport->trouble
                           ? step->transport->trouble (step->t)
                           : NULL;

    if (text && strcmp (text, said))
        say (self, text);
}

static int follow (struct step *step, struct error *err)
{
    const struct roster_rank *leader
        = &step->roster->rank[step_leader (step)];

    return probe_follow (step->group, (size_t)leader->member, leader->host,
                         err);
}

static void self_clear (struct self *self)
{
    step_clear (&self->step);
    ports_watch_clear (&self->watch);
}

static int run (const struct args *args)
{
    struct self self = {
        .args = args,
        .step = { .site = &args->site, .coordination = args->coord,
                  .leader = args->leader, .phase = phase, .arg = &self },
    };
    struct step *step = &self.step;
    struct lead_result result = { .status = VERDICT_UNKNOWN };
    struct error err = { .fault = ERROR_WORLD };
    int rc = -1;

    if (step_join (step, &err) < 0)
        goto error;
    alarm_prints = step->rank == 0;
    if (args->audit)
        ports_say (LOCAL_SYSFS, args->nonce, stderr);
    if (step->size == 1) {
        strcpy (result.sentence, "one node: nothing to measure");
        result.status = VERDICT_OK;
        rc = 0;
        goto error;
    }
    /* what is read now costs no time: the daemons need some anyhow. It is
     * read again, for the error, by who leads. */
    if (args->leader ? !strcmp (step->host, args->leader) : step->rank == 0)
        step_load (step, NULL);
    if (step_meet (step, &err) < 0)
        goto error;
    alarm_prints = step->rank == step_leader (step);
    if (alarm_prints)
        rc = run_leader (&self, &result, &err);
    else {
        rc = form_group (&self, &err);
        if (rc == 0 && step->group)
            rc = follow (step, &err);
    }
error:
    if (rc < 0) {
        snprintf (result.sentence, sizeof (result.sentence), "%.200s",
                  err.text);
        say_trouble (&self, err.text);
    }
    if (args->audit)
        say_traffic (&self, args->nonce, stderr);
    if (alarm_prints) {
        if (rc < 0 || step->size == 1)
            drop_result (args);
        rc = print_result (args, &result);
        rc = rc < 0 ? ERROR_WORLD : exit_status (result.status);
    }
    else {
        if (rc < 0)
            say (&self, err.text);
        rc = step->size > 0 ? 0 : ERROR_WORLD;
    }
    alarm_prints = 0; /* said; what is left may hang in a library */
    lead_result_clear (&result);
    self_clear (&self);
    return rc;
}

/*
 * Arguments
 */

static int set_nonce (struct args *a, const char *s, struct error *err)
{
    size_t len = strlen (s);

    if (len < 1 || len > NONCE_MAX || strspn (s, "0123456789abcdef") != len)
        return error_input (err, "--nonce: '%s' is not 1 to %d lower-case hex "
                            "digits", s, NONCE_MAX);
    strcpy (a->nonce, s);
    return 0;
}

static int draw_nonce (struct args *a, struct error *err)
{
    uint64_t n;

    if (getrandom (&n, sizeof (n), 0) != sizeof (n))
        return error_errno (err, "getrandom");
    snprintf (a->nonce, sizeof (a->nonce), "%016" PRIx64, n);
    return 0;
}

/* The file first, whatever the order of the words. */
static int read_site (struct args *a, int argc, char *argv[],
                      struct error *err)
{
    const char *conf = NULL;
    int c;

    if (argc > 1 && argv[1][0] != '-')
        return error_input (err, "unknown test '%.40s'; 'pmm-probe --help' "
                                 "lists them", argv[1]);
    while ((c = getopt_long (argc, argv, "hV", options, NULL)) != -1) {
        switch (c) {
        case OPT_CONF:
            conf = optarg;
            break;
        case OPT_COORD:
            a->coord = optarg;
            break;
        case OPT_NONCE:
            if (set_nonce (a, optarg, err) < 0)
                return -1;
            break;
        case 'h':
            fputs (usage, stdout);
            puts ("\nKeys of pmm.conf(5), with their defaults:\n");
            conf_help (site_options, stdout);
            exit (0);
        case 'V':
            puts ("pmm-probe " PACKAGE_VERSION);
            exit (0);
        case '?':
            return error_input (err, "try pmm-probe --help");
        }
    }
    if (optind < argc)
        return error_input (err, "'%s' is no option", argv[optind]);
    if (!a->nonce[0] && draw_nonce (a, err) < 0)
        return -1;
    return site_read (&a->site, conf, 0, err);
}

static int parse (struct args *a, int argc, char *argv[], struct error *err)
{
    struct site *site = &a->site;
    int c;

    if (read_site (a, argc, argv, err) < 0)
        return -1;
    optind = 1;
    while ((c = getopt_long (argc, argv, "hV", options, NULL)) != -1) {
        int rc = 0;

        switch (c) {
        case OPT_SET:
            rc = conf_set_word (site_options, site, optarg, err);
            break;
        case OPT_REPEATS:
            rc = conf_set (site_options, site, "Repeats", optarg, err);
            break;
        case OPT_TIMEOUT:
            rc = conf_set (site_options, site, "Timeout", optarg, err);
            break;
        case OPT_OUTPUT:
            a->output = optarg;
            break;
        case OPT_RESULT:
            a->result = optarg;
            break;
        case OPT_PLAN:
            a->plan = optarg;
            break;
        case OPT_PROGRESS:
            a->relay = true;
            break;
        case OPT_LEADER:
            a->leader = optarg;
            break;
        case OPT_AUDIT:
            a->audit = true;
            break;
        }
        if (rc < 0)
            return -1;
    }
    return site_check (site, err);
}

/* Where the rank is not known yet, Slurm's word for it. */
static bool is_first_task (void)
{
    const char *s = getenv ("SLURM_PROCID");

    return !s || !strcmp (s, "0");
}

int main (int argc, char *argv[])
{
    static struct args args = { .coord = COORD_AUTO };
    struct error err = { .fault = ERROR_WORLD };
    int rc;

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    if (argc > 1 && tests_named (argv[1]))
        return tests_main (argc - 1, argv + 1);
    alarm_prints = is_first_task ();
    if (parse (&args, argc, argv, &err) < 0) {
        fprintf (stderr, "pmm: %s\n", err.text);
        rc = (int)err.fault;
    }
    else {
        set_phase (&args, "", "it started");
        alarm_result = args.result;
        start_watchdog (args.site.timeout_ms);
        rc = run (&args);
    }
    site_clear (&args.site);
    return rc;
}
