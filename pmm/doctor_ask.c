/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: what compute nodes say, asked by a step on the idle ones, and a
 * check of two of them.
 *
 * Notes: what comes from nodes is untrusted, so each line is bounded and
 * cleaned, and counts for the node that srun gives as its task's.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ibquery/lines.h"
#include "pmm/doctor.h"
#include "pmm/verb.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/program.h"
#include "util/srun.h"

enum {
    ASKED_MAX = 1024,       /* nodes */
    IMMEDIATE_S = 5,        /* wait so long for them */
    ASK_MS = 60000,
    TRY_SLACK_MS = 30000,   /* beside Timeout */
    PORT_BYTES = 2 << 20,   /* of locked memory */
    CLOCK_OFF_S = 5,
};

/* What a step says. */
struct step_output {
    const struct doctor *d;
    double begun;
    char conf[DIGEST_HEX];  /* of pmm.conf here */
    json_t *odd;            /* {sentence: [node]} */
    bool failed;            /* some of them keep checks from running */
    char (*node)[64];       /* [task], as srun says; n */
    bool *heard;            /* [task] */
    size_t n, answers, clocks;
    char verdict[PROGRAM_LINE]; /* of a check; "": none */
    struct srun_words srun;
};

static double now_s (void)
{
    struct timespec t;

    clock_gettime (CLOCK_REALTIME, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The idle nodes, of AuditPartition if there is one. Return false with
 * d->idle_error, or if there are fewer than `need`.
 */
static bool find_idle_nodes (struct doctor *d, size_t need)
{
    struct controller_partition *part;

    if (!d->asked) {
        d->asked = true;
        part = controller_partition (d->site.audit_partition, &d->idle_error);
        if (part && part->exists)
            d->partition = d->site.audit_partition;
        if (part)
            controller_idle (&d->idle, d->partition, &d->idle_error);
        child_free (part);
    }
    if (d->idle.count < need && !*d->idle_error.text)
        error_world (&d->idle_error, "fewer than %zu nodes are idle", need);
    return d->idle.count >= need;
}

__attribute__ ((format (printf, 4, 5))) static void
add_blamed_node (struct step_output *out, const char *node, bool fails,
                 const char *fmt, ...)
{
    char text[PROGRAM_LINE];
    json_t *nodes;
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    text_clean (text);
    out->failed |= fails;
    if (!(nodes = json_object_get (out->odd, text))) {
        nodes = json_array ();
        json_put (out->odd, text, nodes);
    }
    json_add (nodes, json_string (node));
}

/* A line of pmm-probe --about. */
static void take_about (struct step_output *out, const char *node,
                        const char *text)
{
    const struct doctor *d = out->d;
    json_t *all = verb_keep_json (json_loads (text, 0, NULL)), *v;
    const char *release = json_text (all, "release");
    const char *hash = json_text (all, "fabric");
    const char *conf = json_text (all, "conf");
    double time = json_number_value (json_object_get (all, "time"));
    int64_t lock = json_int (all, "memlock", 0);
    int64_t ports = json_int (all, "ports", 0);
    size_t i;

    out->answers++;
    if (!all)
        add_blamed_node (out, node, true, "another pmm-probe than here");
    else if (strcmp (release, PACKAGE_VERSION))
        add_blamed_node (out, node, true, "pmm-probe is of %.32s, not of "
                                          PACKAGE_VERSION, release);
    if (all && strcmp (conf, out->conf) != 0)
        add_blamed_node (out, node, !*conf, "%s: copy it from here",
                         *conf ? "another pmm.conf" : "no pmm.conf");
    json_array_foreach (json_object_get (all, "odd"), i, v)
        add_blamed_node (out, node, true, "%.200s",
                         json_is_string (v) ? json_string_value (v) : "?");
    if (all && *hash && d->fabric && strcmp (hash, d->fabric->hash))
        add_blamed_node (out, node, true,
                         "another snapshot than here: is Snapshot on a "
                         "file system that all nodes see?");
    if (all && !strcmp (d->site.transport, "verbs") && lock >= 0
        && lock / PORT_BYTES < ports)
        add_blamed_node (out, node, false, "%jd kB of locked memory, a port "
                                           "needs 2048: LimitMEMLOCK=infinity "
                                           "for slurmd", (intmax_t)lock >> 10);
    if (all && (time < out->begun - CLOCK_OFF_S
                || time > now_s () + CLOCK_OFF_S))
        add_blamed_node (out, node, false, "the clock is more than %d s off",
                         CLOCK_OFF_S);
    if (*json_text (all, "pcie"))
        add_blamed_node (out, node, false, "%.120s", json_text (all, "pcie"));
    out->clocks += !strcmp (json_text (all, "clock"), "device");
}

static void read_about_line (void *arg, struct program_line *line)
{
    static const char about[] = "pmm-about 1 ";
    struct step_output *out = arg;
    struct srun_told told;
    unsigned int task;
    char *text;

    text_clean (line->text);
    if ((text = srun_label (line->text, &task))) {
        if (task < out->n && !strncmp (text, about, sizeof (about) - 1)
            && !line->cut && *out->node[task] && !out->heard[task]) {
            out->heard[task] = true;
            take_about (out, out->node[task], text + sizeof (about) - 1);
        }
        else
            srun_hear (&out->srun, text);
    }
    else if (srun_tells (&told, line->text) == SRUN_LAUNCHING) {
        if (told.task < out->n && strlen (told.nodes) < sizeof (*out->node))
            strcpy (out->node[told.task], told.nodes);
    }
    else if (!strncmp (line->text, "pmm: ", 5) && !*out->verdict)
        strcpy (out->verdict, line->text + 5);
    else
        srun_hear (&out->srun, line->text);
}

/* srun, for a job that begins at once or not at all. */
static struct program_words build_srun_args (const struct doctor *d, size_t n)
{
    struct program_words a = { 0 };

    program_add_all (&a, d->site.srun, "--job-name=pmm-doctor", "--time=2",
                     "--ntasks-per-node=1", "--chdir=/", "--input=none",
                     "--export=NONE", "--propagate=NONE");
    program_add (&a, "--immediate=%d", IMMEDIATE_S);
    program_add (&a, "--nodes=%zu", n);
    program_add (&a, "--ntasks=%zu", n);
    if (d->partition)
        program_add (&a, "--partition=%s", d->partition);
    return a;
}

/* Run it. Return false with d->err if it could not be; *status as waitpid's. */
static bool run_doctor_srun (struct doctor *d, struct program_words *args,
                             struct step_output *out, int timeout_ms,
                             int *status)
{
    struct program_words env = { 0 };
    struct program program = {
        .deadline_ms = clock_ms () + timeout_ms,
        .take = { read_about_line, read_about_line }, .arg = out,
    };
    enum program_end end;

    srun_environment (&env);
    program.argv = xcheck (program_words_end (args));
    program.env = xcheck (program_words_end (&env));
    end = program_run (&program, status);
    program_free ((char **)program.argv);
    program_free ((char **)program.env);
    if (end == PROGRAM_ENDED)
        return true;
    error_world (&d->err, end == PROGRAM_NONE ? "srun cannot be started"
                                              : "srun: no end in %d s: %s",
                 timeout_ms / 1000, out->srun.complaint);
    return false;
}

/* What srun says of a step that was not; nodes may lack the PMIx that this
 * machine has.
 */
static const char *no_step (struct doctor *d, char buf[PROGRAM_LINE],
                            const char *why)
{
    bool other = strcasestr (why, "pmix") && doctor_without_pmix (d);

    snprintf (buf, PROGRAM_LINE, "%.300s%s",
              *why ? why : "srun does not say why",
              other ? "; or say Mpi=pmi2" : "");
    return buf;
}

/* To do: look at the nodes that do not answer. */
static void look_at_silent (struct doctor *d, const struct step_output *out)
{
    const char **silent = verb_array (out->n, sizeof (*silent));
    size_t n = 0;
    char *list;

    for (size_t i = 0; i < out->n; i++) {
        size_t k = 0;

        while (k < out->n
               && !(out->heard[k] && !strcmp (out->node[k], d->idle.name[i])))
            k++;
        if (k == out->n)
            silent[n++] = d->idle.name[i];
    }
    list = verb_keep (hostlist_fold (silent, n));
    doctor_todo (d, "systemctl status slurmd on %.200s: %.200s", list,
                 out->srun.complaint);
}

/* "16 of 16 nodes answer; h[1-3]: SENTENCE; h4: SENTENCE" */
static enum doctor_level sum_up (struct doctor *d,
                                 const struct step_output *out)
{
    char text[sizeof (d->text)], why[PROGRAM_LINE];
    size_t len = 0;
    const char *key;
    json_t *nodes, *v;

    *text = '\0';
    if (out->answers < out->n)
        look_at_silent (d, out);
    json_object_foreach (out->odd, key, nodes) {
        const char **name
            = verb_array (json_array_size (nodes), sizeof (*name));
        char *list;
        size_t i;

        json_array_foreach (nodes, i, v)
            name[i] = json_string_value (v);
        list = verb_keep (hostlist_fold (name, json_array_size (nodes)));
        if (len < sizeof (text))
            len += (size_t)snprintf (text + len, sizeof (text) - len,
                                     "; %.80s: %s", list, key);
    }
    if (out->answers == 0)
        return say_fail (d, "none of %zu answers: %s", out->n,
                         no_step (d, why, out->srun.complaint));
    return doctor_say (d, out->failed || out->answers < out->n ? DOCTOR_FAIL
                          : len > 0 ? DOCTOR_WARN : DOCTOR_OK,
                       "%zu of %zu idle ones answer, %zu with a clock of their "
                       "device%s%s%s", out->answers, out->n, out->clocks, text,
                       out->answers < out->n ? "; " : "",
                       out->answers < out->n ? out->srun.complaint : "");
}

enum doctor_level doctor_ask_nodes (struct doctor *d)
{
    struct step_output out
        = { .d = d, .begun = now_s (), .odd = json_object () };
    enum doctor_level level;
    struct program_words a;
    char *list;
    int status;

    if (!d->ask) {
        json_decref (out.odd);
        return say_info (d, "not asked: pmm doctor --ask asks those that are "
                            "idle");
    }
    if (!d->mpi || !find_idle_nodes (d, 1)) {
        json_decref (out.odd);
        return say_unknown (d, "%s", d->mpi ? d->idle_error.text : "no Mpi");
    }
    digest_file (d->path ? d->path : PMM_CONF_PATH, out.conf);
    out.n = d->idle.count < ASKED_MAX ? d->idle.count : ASKED_MAX;
    out.node = verb_array (out.n, sizeof (*out.node));
    out.heard = verb_array (out.n, sizeof (*out.heard));
    list = verb_keep (hostlist_fold ((const char *const *)d->idle.name, out.n));
    a = build_srun_args (d, out.n);
    program_add (&a, "--nodelist=%s", list);
    program_add (&a, "--mpi=%s", d->mpi);
    program_add_all (&a, "--verbose", "--label", "--cpu-bind=none",
                     "--kill-on-bad-exit=0", d->site.probe);
    if (d->path)
        program_add_all (&a, "--conf", d->path);
    program_add (&a, "--about");
    level = run_doctor_srun (d, &a, &out, ASK_MS, &status)
                ? sum_up (d, &out) : say_error (d, DOCTOR_FAIL);
    json_decref (out.odd);
    return level;
}

/* The last verdict of --try stays beside the ledger, with its time. Its
 * directory is SlurmUser's: it is for people alone.
 */
static char *tried_path (const struct doctor *d)
{
    return verb_text ("%s/tried", inputs_parent (d->site.ledger));
}

static void keep_verdict (const struct doctor *d, const char *verdict)
{
    char *path = tried_path (d);
    struct outfile *out = file_create_public (path, NULL);

    if (out) { /* SlurmUser may have none yet: then it is tried again */
        fprintf (file_stream (out), "%jd %s\n", (intmax_t)d->now, verdict);
        file_commit (out, NULL);
    }
}

static enum doctor_level not_tried (struct doctor *d)
{
    char *path = tried_path (d), line[256] = "", when[32] = "";
    FILE *fp = file_open_trusted (path, d->uid, NULL);
    time_t t = 0;
    char *verdict = line;

    if (fp && fgets (line, sizeof (line), fp))
        t = (time_t)strtoll (line, &verdict, 10);
    file_close_input (fp);
    line[strcspn (line, "\n")] = '\0';
    doctor_todo (d, "pmm doctor --try has two idle nodes checked");
    if (t > 0)
        strftime (when, sizeof (when), "%FT%T", localtime (&t));
    if (*when)
        return say_ok (d, "tried at %s,%s", when, verdict);
    return d->audits ? say_ok (d, "not tried; there were audits")
                     : say_warn (d, "not tried");
}

/* As a user does it: by the plugin. */
enum doctor_level doctor_try (struct doctor *d)
{
    struct step_output out = { .d = d };
    struct program_words a;
    enum doctor_level level;
    char why[PROGRAM_LINE];
    int status;

    if (!d->try)
        return not_tried (d);
    if (d->stacked <= 0)
        return say_unknown (d, "not tried: the plugin is not loaded");
    if (!find_idle_nodes (d, 2))
        return say_unknown (d, "not tried: %s", d->idle_error.text);
    a = build_srun_args (d, 2);
    program_add (&a, "--nodelist=%s,%s", d->idle.name[0], d->idle.name[1]);
    program_add_all (&a, "--pmm-check=report", "/bin/true");
    if (!run_doctor_srun (d, &a, &out, d->site.timeout_ms + TRY_SLACK_MS,
                          &status))
        return say_error (d, DOCTOR_FAIL);
    if (!*out.verdict)
        return say_fail (d, "no verdict: %s",
                         no_step (d, why, out.srun.complaint));
    if (!strncmp (out.verdict, "not checked", 11))
        return say_fail (d, "%s", no_step (d, why, out.verdict));
    level = doctor_say (d, !strncmp (out.verdict, "UNKNOWN", 7) ? DOCTOR_UNKNOWN
                           : !strncmp (out.verdict, "FAIL", 4) ? DOCTOR_WARN
                                                               : DOCTOR_OK,
                        "of %s and %s: %s", d->idle.name[0], d->idle.name[1],
                        out.verdict);
    if (level != DOCTOR_UNKNOWN)
        keep_verdict (d, d->text);
    return level;
}
