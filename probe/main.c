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
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/lines.h"
#include "ibquery/ports.h"
#include "probe/group.h"
#include "probe/lead.h"
#include "probe/probe.h"
#include "probe/step.h"
#include "util/alloc.h"
#include "util/conf.h"
#include "util/file.h"
#include "util/json.h"
#include "util/options.h"
#include "util/site.h"
#include "util/text.h"

enum {
    NONCE_MAX = 32,
    EXIT_FOR_FAIL = 1,
    UNREAD_MS = 250, /* for srun to read a record */
};

struct probe_args {
    struct step step;
    const char *repeats, *timeout;
    char nonce[NONCE_MAX + 1];
    bool named; /* a program gave the nonce */
    struct lead_options lead;
    struct ports_watch watch; /* of this process's ports */
    bool about; /* measure nothing: tell what this node has for it */
};

/*
 * The result record
 */

enum {
    RECORD_PIECE = 900, /* bytes per line: Slurm cuts lines above 1 KB */
};

/* Print the result; an audit's parts in pieces, one per line, each after a '+';
 * for a person, who gave no nonce, no samples that are in a file. Return the
 * exit status.
 */
static int print_result (const struct probe_args *args,
                         const struct lead_result *r)
{
    const char *const part[] = { r->plan, r->samples };

    for (size_t i = 0; i < 2; i++) {
        size_t len = part[i] ? strcspn (part[i], "\n") : 0;

        if (part[i] && !args->lead.audit && (args->named || !r->left))
            fputs (part[i], stdout);
        for (size_t at = 0; args->lead.audit && at < len; at += RECORD_PIECE)
            printf ("+%.*s\n",
                    (int)(len - at < RECORD_PIECE ? len - at : RECORD_PIECE),
                    part[i] + at);
        if (part[i] && args->lead.audit)
            puts ("+");
    }
    printf ("pmm-result 1 %s %s %s\n", verdict_status_name (r->status),
            args->nonce, r->sentence);
    if (fflush (stdout) != 0 || ferror (stdout)) {
        fprintf (stderr, "pmm: cannot write the result: %s\n",
                 strerror (errno));
        return ERROR_WORLD;
    }
    /* srun -K1 would end the others, of whose ports the audit has to hear */
    return args->lead.audit               ? 0
           : r->status == VERDICT_FAIL    ? EXIT_FOR_FAIL
           : r->status == VERDICT_UNKNOWN ? ERROR_WORLD
                                          : 0;
}

/*
 * One process of a check
 */

/* Whether two ports are in one subnet, so that one can measure the other. */
static bool has_measurable_pair (const struct roster *r)
{
    uint32_t n = r->first[r->nmembers];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (r->peer[i].subnet == r->peer[k].subnet)
                return true;
    return false;
}

/* Return 0, or -1 with err; then `result` holds samples at most. */
static int run_group_member (struct probe_args *args,
                             struct lead_result *result, struct error *err)
{
    struct step *step = &args->step;
    const struct roster_rank *leader;
    struct group *g;

    if (step_join (step, err) < 0)
        return -1;
    watchdog.prints = step->rank == 0;
    if (args->lead.audit)
        ports_say (LOCAL_SYSFS, args->nonce, stderr);
    /* reading now costs no time, because Slurm's daemons need some anyway. If
     * this fails, the leader reads again and reports the error. */
    if (step->leader ? !strcmp (step->host, step->leader) : step->rank == 0)
        step_load (step, NULL);
    if (step_meet (step, err) < 0)
        return -1;
    if (step->size == 1 && !has_measurable_pair (step->roster)) {
        strcpy (result->sentence, "one node without two rails in one subnet: "
                                  "nothing to measure");
        result->status = VERDICT_OK;
        return 0;
    }
    watchdog.prints = step->rank == step_leader (step);
    if (step_form_group (step, err) < 0)
        return -1;
    if ((g = step->group)) {
        g->watch = &args->watch;
        g->ping_size = (size_t)step->site.ping_bytes;
    }
    if (!watchdog.prints) {
        leader = &step->roster->rank[step_leader (step)];
        return g ? stage_follow (g, (size_t)leader->member, leader->host, err)
                 : 0;
    }
    return lead (step, &args->lead, stderr, result, err);
}

static int run_probe (struct probe_args *args)
{
    struct step *step = &args->step;
    struct lead_result result = { .status = VERDICT_UNKNOWN };
    struct error err = { .fault = ERROR_WORLD };
    int rc = run_group_member (args, &result, &err);

    if (rc < 0) {
        /* the transport's trouble, unless this is the error: otherwise the
         * leader gets it with the results */
        const char *trouble = step->t && step->transport->trouble
                                  ? step->transport->trouble (step->t)
                                  : NULL;

        snprintf (result.sentence, sizeof (result.sentence), "%.200s",
                  err.text);
        if (trouble && strcmp (trouble, err.text) != 0)
            step_say (step->host, trouble);
    }
    if (args->lead.audit)
        ports_say_traffic (&args->watch, args->nonce, stderr);
    if (watchdog.prints) {
        if (!result.samples && args->lead.result
            && file_remove (args->lead.result))
            fprintf (stderr, "pmm: removed %s, the result of an earlier "
                     "check\n", args->lead.result);
        rc = print_result (args, &result);
        /* srun -K1 may drop what it has not read when a task ends like this; who
         * reads the record ends the step */
        if (rc != 0 && args->named)
            poll (NULL, 0, UNREAD_MS);
    }
    else {
        if (rc < 0)
            step_say (step->host, err.text);
        rc = step->size > 0 ? 0 : ERROR_WORLD;
    }
    watchdog.prints = false; /* done; a library may hang from here on */
    lead_result_clear (&result);
    ports_watch_clear (&args->watch);
    return rc;
}

/*
 * What this node has
 */

static void add_odd (json_t *odd, const char *what, const struct error *err)
{
    json_add (odd, json_sprintf ("%s: %.200s", what, err->text));
}

/* Say of an adapter of this node that its PCIe has lost lanes, if one has. */
static void put_lost_lanes (char *text, size_t size)
{
    struct local_port *v;
    size_t n;

    if (local_ports (LOCAL_SYSFS, &v, &n, NULL) < 0)
        return;
    for (size_t i = 0; i < n && !*text; i++)
        if (v[i].layer == LAYER_INFINIBAND && pcie_is_degraded (&v[i].pcie)
            && v[i].pcie.now.lanes < v[i].pcie.could.lanes)
            snprintf (text, size, "%s: PCIe runs at x%u of x%u", v[i].device,
                      v[i].pcie.now.lanes, v[i].pcie.could.lanes);
    free (v);
}

/* Print "pmm-about 1 {...}", for pmm doctor: a line of less than 1 KB, as Slurm
 * labels no longer ones. Nothing waits for other nodes.
 */
static void print_about_line (struct step *step)
{
    json_t *odd = json_array (), *all;
    struct error err;
    struct rlimit lock = { 0 };
    struct timespec now;
    const char *clock = "host";
    char pcie[128] = "";
    char conf[DIGEST_HEX];

    digest_file (step->conf ? step->conf : PMM_CONF_PATH, conf);
    if (step_join (step, &err) < 0)
        add_odd (odd, "the step", &err);
    if (!step->host[0])
        gethostname (step->host, sizeof (step->host) - 1);
    if (step->transport
        && !(step->t = step->transport->open (&step->site, step->host, false,
                                              &err)))
        add_odd (odd, step->transport->name, &err);
    if (step->t && step->t->own_clock)
        clock = "device";
    if (step_load (step, &err) < 0)
        add_odd (odd, "Snapshot", &err);
    put_lost_lanes (pcie, sizeof (pcie));
    getrlimit (RLIMIT_MEMLOCK, &lock);
    clock_gettime (CLOCK_REALTIME, &now);
    all = xcheck (json_pack (
        "{s:s, s:s, s:s, s:f, s:I, s:i, s:s, s:s, s:s, s:o}", "conf", conf,
        "host", step->host,
        "release", PACKAGE_VERSION, "time",
        (double)now.tv_sec + (double)now.tv_nsec / 1e9, "memlock",
        lock.rlim_max > INT64_MAX ? (json_int_t)-1
                                  : (json_int_t)lock.rlim_max,
        "ports", step->t ? (int)step->t->rails : 0, "clock", clock,
        "fabric", step->fabric ? step->fabric->hash : "", "pcie", pcie,
        "odd", odd));
    fputs ("pmm-about 1 ", stdout);
    json_dumpf (all, stdout, JSON_COMPACT);
    putchar ('\n');
    json_decref (all);
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

static int show_version (void *field, const char *value, struct error *err)
{
    (void)field;
    (void)value;
    (void)err;
    puts ("pmm-probe " PACKAGE_VERSION);
    exit (0);
}

#define FIELD(field) offsetof (struct probe_args, field)

static const struct {
    const char *name;
} rates[] = {
    [LEAD_NO_RATES] = { "off" },
    [LEAD_RATES_HOSTS] = { "hosts" },
    [LEAD_RATES_ALL] = { "all" },
    { 0 },
};

static const struct opt args_options[] = {
    { "nonce", 0, "HEX", set_nonce, FIELD (nonce),
      "the run's name in the result record" },
    { "output", 0, "DIR", opt_string, FIELD (lead.output),
      "the directory to leave plan.json, samples.json and verdict.json in" },
    { "result", 0, "FILE", opt_string, FIELD (lead.result),
      "the file to leave status, verdict and pairs in" },
    { "plan", 0, "FILE", opt_string, FIELD (lead.plan), "measure this plan" },
    { "repeats", 0, "N", opt_string, FIELD (repeats),
      "round trips of a probe from either side" },
    { "timeout", 0, "SECONDS", opt_string, FIELD (timeout),
      "give up after this long" },
    { "progress", 0, NULL, opt_true, FIELD (lead.relay),
      "say how far it is, for a program that shows it" },
    { "leader", 0, "NODE", opt_string, FIELD (step.leader),
      "the node that leads, if it can; else the first" },
    { "audit", 0, NULL, opt_true, FIELD (lead.audit),
      "print plan and ports as well, for pmm audit" },
    { "rates", 0, "off|hosts|all", NULL, FIELD (lead.rates),
      "also measure what links carry: those of hosts, or all",
      OPT_ROWS (rates) },
    { "about", 0, NULL, opt_true, FIELD (about),
      "measure nothing; print what this node has for it, for pmm doctor" },
    { "version", 'V', NULL, show_version, 0, "print the version" },
    { 0 },
};

static void help (const struct opt_group *group)
{
    puts ("Usage: srun --mpi=pmix --ntasks-per-node=1 pmm-probe [OPTION]...");
    puts ("Measure the links between the nodes of a job step.");
    putchar ('\n');
    options_help (group, stdout);
    puts ("\nKeys of pmm.conf(5), with their defaults:\n");
    conf_help (site_options, stdout);
}

/* Return 0, OPTIONS_HELP, or -1 with err. The file is read first, whatever the
 * order of the options.
 */
static int parse_probe_args (struct probe_args *a, int argc, char *argv[],
                             struct error *err)
{
    const struct opt_group group[] = { { step_options, &a->step },
                                       { args_options, a }, { 0 } };
    struct site *site = &a->step.site;
    uint64_t n;
    int rc;

    /* which the last release had */
    if (argc > 1
        && (!strcmp (argv[1], "pairs") || !strcmp (argv[1], "topology")
            || !strcmp (argv[1], "noise")))
        return error_input (err, "moved: pmm-compare-probe %s", argv[1]);
    if ((rc = options_get (group, NULL, argc, argv, err)) < 0) {
        if (rc == OPTIONS_HELP)
            help (group);
        return rc;
    }
    if (rc < argc)
        return error_input (err, "'%s' is not an option", argv[rc]);
    a->named = a->nonce[0];
    if (!a->named) {
        if (getrandom (&n, sizeof (n), 0) != sizeof (n))
            return error_errno (err, "getrandom");
        sprintf (a->nonce, "%016" PRIx64, n);
    }
    if (step_read_site (&a->step, err) < 0
        || (a->repeats
            && conf_set (site_options, site, "Repeats", a->repeats, err) < 0)
        || (a->timeout
            && conf_set (site_options, site, "Timeout", a->timeout, err) < 0))
        return -1;
    return site_check (site, err);
}

static struct probe_args args = {
    .step = { .coordination = COORD_AUTO }, .lead = { .nonce = args.nonce },
};

int main (int argc, char *argv[])
{
    struct error err = { .fault = ERROR_WORLD };
    const char *first = getenv ("SLURM_PROCID");
    int rc;

    signal (SIGXFSZ, SIG_IGN); /* a file that is too large is an error */
    rc = parse_probe_args (&args, argc, argv, &err);
    if (rc == 0) {
        watchdog.timeout_ms = args.step.site.timeout_ms;
        watchdog.nonce = args.nonce;
        watchdog.result = args.lead.result;
        /* Slurm's answer, for as long as the rank is not known */
        watchdog.prints = !first || !strcmp (first, "0");
        watchdog_start ();
        if (args.about)
            print_about_line (&args.step);
        else
            rc = run_probe (&args);
    }
    else if (rc == OPTIONS_HELP)
        rc = 0;
    else {
        fprintf (stderr, "pmm: %s\n", err.text);
        rc = (int)err.fault;
    }
    step_clear (&args.step);
    return rc;
}
