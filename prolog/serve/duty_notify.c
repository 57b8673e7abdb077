/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tell the site what is new, by its NotifyProgram.
 *
 * Notes. The ledger has the notices: what holds now is entered again and again,
 * and told once. A program is run by a process of its own, so that nothing
 * waits for it. That process holds the lock LEDGER.notify. Before it starts the
 * program, it writes the number of the notice there, and after that how it
 * ended. So whoever has the lock knows whether the program was started for a
 * notice that the ledger does not have as told: none is told twice, or not at
 * all, if the service ends at any point.
 */
#include "config.h"
#include "prolog/serve/duty.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/words.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/program.h"
#include "util/srun.h"
#include "util/text.h"

enum {
    DAY_S = 24 * 3600,
    WEEK_S = 7 * DAY_S,
    MONDAY_S = 4 * DAY_S + 7 * 3600, /* in 1970, at 7:00 UTC */
    TROUBLE_MS = 5 * 60 * 1000, /* what fails for so long is told */
    PROGRAM_MS = 60 * 1000,     /* of NotifyProgram */
    ACTIONS = 1000,             /* that may be new */
    AUDITS = 200,               /* the newest, that may confirm a cable */
    SHOWN = 5,                  /* cables named in a digest */
    WORDS = LEDGER_TEXT_MAX + 1,
};

/*
 * What is new
 */

/* A notice; takes ownership of keys, a list. node, link: NULL: none. */
static json_t *notice_json (const char *event, json_t *keys, const char *words,
                            const char *node, const char *link, int64_t audit)
{
    const char *next = words_after (event);
    json_t *notice = xcheck (json_pack (
        "{s:o, s:s, s:s*, s:s*, s:I}", "keys", keys, "event", event, "node",
        node, "link", link, "audit", (json_int_t)audit));

    json_put (notice, "words",
              next ? json_sprintf ("%.900s; next: %s", words, next)
                   : json_string (words));
    return notice;
}

/* A list of one key. */
__attribute__ ((format (printf, 1, 2))) static json_t *
key_json (const char *fmt, ...)
{
    va_list ap;
    char *key;
    json_t *keys;

    va_start (ap, fmt);
    key = xvasprintf (fmt, ap);
    va_end (ap);
    keys = xcheck (json_pack ("[s]", text_clean (key)));
    free (key);
    return keys;
}

void service_trouble (struct service *s, const char *what, const char *words)
{
    json_t *old = json_object_get (s->trouble, what);

    if (!words)
        json_object_del (s->trouble, what);
    else {
        if (!s->trouble)
            s->trouble = xcheck (json_object ());
        json_put (s->trouble, what,
                  xcheck (json_pack ("{s:I, s:s}", "since",
                                     (json_int_t)json_int (old, "since",
                                                           clock_ms ()),
                                     "words", words)));
    }
}

int service_astray (struct service *s, const char *node, int64_t audit,
                    struct error *err)
{
    json_t *list = xcheck (json_array ());
    char *words;
    int rc;

    if (*node) {
        words = xasprintf ("%s printed a result in audit %" PRId64 ", but "
                           "another led: what runs there is not our probe",
                           node, audit);
        json_add (list, notice_json ("trouble", key_json ("astray:%s", node),
                                     words, node, NULL, audit));
        free (words);
    }
    rc = ledger_notices (s->ledger, clock_date (), "astray:", list, err);
    json_decref (list);
    return rc < 0 ? -1 : 0;
}

/* What has failed for some time. */
static json_t *list_trouble (const struct service *s)
{
    json_t *list = xcheck (json_array ()), *v;
    const char *what;

    json_object_foreach (s->trouble, what, v)
        if (clock_ms () - json_int (v, "since", 0) >= TROUBLE_MS)
            json_add (list, notice_json ("trouble",
                                         key_json ("trouble:%s", what),
                                         json_text (v, "words"), NULL, NULL,
                                         0));
    return list;
}

void notify_decisions (struct service *s, const struct decisions *d)
{
    bool told[POLICY_BLOCKS] = { false };
    char words[WORDS];

    service_trouble (s, "stopped", d->stopped ? d->remark[0] : NULL);
    if (d->stopped)
        return;
    json_decref (s->news);
    s->news = xcheck (json_array ());
    for (size_t i = 0; i < d->n; i++) {
        const struct decision *v = &d->v[i];
        bool each = v->block == POLICY_REPORTS || v->block == POLICY_BEFORE;
        const char *block = policy_block_name (v->block);

        if (v->block == POLICY_FREE || (!each && told[v->block]))
            continue;
        told[v->block] = true;
        snprintf (words, sizeof (words), "%s: %s", v->node, v->why);
        json_add (s->news,
                  notice_json (v->block == POLICY_REPORTS ? "would-drain"
                                                          : "blocked",
                               each ? key_json ("policy:%s:%s", block, v->node)
                                    : key_json ("policy:%s", block),
                               words, v->node, v->link, (int64_t)d->after));
    }
}

/* Drains and resumes of the last day. */
static json_t *list_actions (struct service *s, int64_t now, struct error *err)
{
    json_t *rows = ledger_list (s->ledger, LEDGER_ACTIONS, ACTIONS, 0, err);
    json_t *list = rows ? xcheck (json_array ()) : NULL;
    char words[WORDS];

    for (size_t i = json_array_size (rows); i-- > 0;) {
        const json_t *row = json_array_get (rows, i);
        const char *kind = json_text (row, "kind");
        const char *node = json_text (row, "node");
        bool drain = !strcmp (kind, policy_kind_name (POLICY_DRAIN));
        const char *why = json_text (row, drain ? "reason" : "why");
        size_t ours = strlen (CONTROLLER_OURS);

        if (json_int (row, "done", 0) <= now - DAY_S
            || (!drain && strcmp (kind, policy_kind_name (POLICY_RESUME))))
            continue;
        snprintf (words, sizeof (words), "%s was %s: %s", node,
                  drain ? "drained" : "resumed",
                  why + (strncmp (why, CONTROLLER_OURS, ours) ? 0 : ours));
        json_add (list,
                  notice_json (kind,
                               key_json ("action:%" PRId64,
                                         json_int (row, "id", 0)),
                               words, node,
                               json_string_value (
                                   json_object_get (row, "link")),
                               json_int (row, "after", 0)));
    }
    json_decref (rows);
    return list;
}

/* The row of this audit in a list; NULL: it has none. */
static const json_t *audit_row (const json_t *rows, int64_t id)
{
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row)
        if (json_int (row, "audit", 0) == id)
            return row;
    return NULL;
}

/* The audits that FAIL a link since one found it clean. */
struct link_fails {
    int64_t first;      /* the oldest; */
    int64_t newest_s;   /* when the newest was begun */
    int times;
    bool confirmed;     /* two are ConfirmAfter apart, with different leaders */
    int64_t doubted_s;  /* when the oldest was begun that finds it slower by
                           FailExcess, of whatever level; 0: there is none */
};

/* Find them among these audits, the newest first. As for a host end, none counts
 * that is older than ConfirmWithin. 0, or -1 with err.
 */
static int find_fails (struct service *s, const json_t *audits,
                       const char *link, int64_t now, struct link_fails *f,
                       struct error *err)
{
    int64_t within = now - s->site.confirm_within_ms / 1000, oldest;
    size_t n = json_array_size (audits), end = 0;
    json_t *found = NULL, *crossed = NULL;
    const json_t *new = NULL;

    *f = (struct link_fails){ 0 };
    while (end < n && json_int (json_array_get (audits, end), "begun", 0)
                          >= within)
        end++;
    if (end == 0)
        return 0;
    oldest = json_int (json_array_get (audits, end - 1), "id", 0);
    if ((found = ledger_found (s->ledger, oldest, link, err)))
        crossed = ledger_link_audits (s->ledger, oldest, link, "", err);
    for (size_t i = 0; crossed && i < end; i++) {
        const json_t *row = json_array_get (audits, i);
        int64_t id = json_int (row, "id", 0);
        const json_t *seen = audit_row (found, id);
        const json_t *crosses = audit_row (crossed, id);
        const char *led = json_text (row, "leader");

        if (!seen && crosses && !json_int (crosses, "open", 0))
            break; /* clean */
        if (json_number_value (json_object_get (seen, "excess_ns"))
            > s->site.fail_ns)
            f->doubted_s = json_int (row, "begun", 0);
        if (!seen || !json_int (seen, "fail", 0))
            continue;
        f->times++;
        f->first = id;
        if (!new) {
            new = row;
            f->newest_s = json_int (row, "begun", 0);
        }
        f->confirmed |= f->newest_s - json_int (row, "begun", 0)
                                >= s->site.confirm_after_ms / 1000
                        && *led && *json_text (new, "leader")
                        && strcmp (led, json_text (new, "leader")) != 0;
    }
    json_decref (found);
    json_decref (crossed);
    return crossed ? 0 : -1;
}

/* Whether one audit is not enough to tell of such a finding: others' traffic
 * looks like a slow cable for a while.
 */
static bool needs_two (const json_t *row)
{
    const char *kind = json_text (row, "kind");

    return !strcmp (json_text (row, "basis"), finding_basis_name (BASIS_SLOW))
           || !strcmp (kind, finding_kind_name (FINDING_SWITCH_LINK))
           || !strcmp (kind, finding_kind_name (FINDING_SWITCH));
}

/* The newest audits, if there are rows to compare with them. */
static json_t *newest_audits_for_rows (struct service *s, json_t *rows,
                                       struct error *err)
{
    return json_array_size (rows) > 0
               ? ledger_list (s->ledger, LEDGER_AUDITS, AUDITS, 0, err)
               : json_incref (rows);
}

int service_doubted (struct service *s, int64_t now, struct doubt *doubt,
                     struct error *err)
{
    json_t *rows = ledger_list (s->ledger, LEDGER_DOUBTS,
                                now - s->site.confirm_within_ms / 1000,
                                (int64_t)s->site.fail_ns, err);
    json_t *audits = newest_audits_for_rows (s, rows, err);
    int rc = audits ? 0 : -1;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        uint32_t link = fabric_find_link (s->fabric, json_text (row, "link"));
        struct link_fails f;

        if (rc < 0 || link == FABRIC_NONE)
            continue;
        rc = find_fails (s, audits, json_text (row, "link"), now, &f, err);
        if (rc == 0 && !f.confirmed)
            doubt[link] = (struct doubt){
                .since = f.times > 0 ? f.newest_s : f.doubted_s,
                .fails = f.times > 0,
            };
    }
    json_decref (audits);
    json_decref (rows);
    return rc;
}

/* What is wrong and, unless it is for a list, what to do. */
static char *cable_words (const struct service *s, const struct finding *x,
                          bool list)
{
    char *says = words_finding (x, s->fabric), *todo, *words;

    if (list)
        return says;
    todo = words_do (x, s->fabric, WORDS_STAFF);
    words = xasprintf ("%s: %s", says, todo);
    free (says);
    free (todo);
    return words;
}

/* The verdict of an audit; NULL with err. */
static struct verdict *read_audit_verdict (struct service *s, int64_t audit,
                                           struct error *err)
{
    json_t *result = ledger_result (s->ledger, audit, err);
    struct verdict *v = result ? ledger_verdict (result, s->fabric, false) : NULL;

    json_decref (result);
    return v;
}

json_t *service_cables (struct service *s, bool all, int64_t now,
                        struct error *err)
{
    json_t *rows = ledger_list (s->ledger, LEDGER_FAILS, 0, 0, err);
    json_t *audits = newest_audits_for_rows (s, rows, err);
    json_t *list = audits ? xcheck (json_array ()) : NULL, *last = NULL;
    int64_t audit = 0, finding = -1;
    struct verdict *v = NULL;
    const json_t *row;
    size_t i;

    json_array_foreach (rows, i, row) {
        const char *link = json_text (row, "link");
        const json_t *excess = json_object_get (row, "excess_ns");
        bool twice = needs_two (row);
        char words[WORDS], seen[80] = "", much[32] = "", *says;
        const struct finding *x;
        struct link_fails f;
        json_t *key;

        if (!list || (!all && !twice))
            continue;
        if (twice) {
            if (find_fails (s, audits, link, now, &f, err) < 0) {
                json_decref (list);
                list = NULL;
                continue;
            }
            if (!f.confirmed)
                continue;
            snprintf (seen, sizeof (seen), ", as in %s since audit %" PRId64,
                      COUNTED ((uint64_t)f.times - 1, "more audit"), f.first);
        }
        key = key_json ("cable:%s", link);
        if (last && audit == json_int (row, "audit", 0)
            && finding == json_int (row, "finding", -1)) {
            json_array_extend (json_object_get (last, "keys"), key);
            json_decref (key);
            continue;
        }
        finding = json_int (row, "finding", -1);
        if (!v || audit != json_int (row, "audit", 0)) {
            verdict_destroy (v);
            audit = json_int (row, "audit", 0);
            if (!(v = read_audit_verdict (s, audit, err))) {
                json_decref (list);
                list = NULL;
            }
        }
        x = v && finding >= 0 && (size_t)finding < v->nfindings
                ? &v->finding[finding] : NULL;
        if (!x || x->nsuspects == 0) { /* its cable is gone */
            last = NULL;
            json_decref (key);
            continue;
        }
        if (json_is_number (excess))
            snprintf (much, sizeof (much), ", %+.0f ns",
                      json_number_value (excess));
        says = cable_words (s, x, all);
        snprintf (words, sizeof (words), "%s; audit %" PRId64 "%s%s", says,
                  audit, seen, much);
        free (says);
        last = notice_json ("cable", key, words, NULL, link, audit);
        json_add (list, last);
    }
    verdict_destroy (v);
    json_decref (audits);
    json_decref (rows);
    return list;
}

/*
 * The digest
 */

/* How many nodes notices of an event were about. */
static size_t count_notice_nodes (const json_t *rows, const char *event)
{
    json_t *nodes = xcheck (json_object ());
    const json_t *row;
    size_t i, n;

    json_array_foreach (rows, i, row)
        if (!strcmp (json_text (row, "event"), event))
            json_put (nodes, json_text (row, "node"), json_true ());
    n = json_object_size (nodes);
    json_decref (nodes);
    return n;
}

static void write_digest (const json_t *rows, const json_t *audits,
                          const json_t *cables, FILE *fp)
{
    size_t n = json_array_size (cables);

    fprintf (fp, "the last 7 days: %s",
             COUNTED (json_array_size (audits), "audit"));
    fprintf (fp, ", drained %zu, resumed %zu, would have drained %zu",
             count_notice_nodes (rows, "drain"),
             count_notice_nodes (rows, "resume"),
             count_notice_nodes (rows, "would-drain"));
    fprintf (fp, "; %s to look at", COUNTED (n, "cable"));
    for (size_t i = 0; i < n && i < SHOWN; i++)
        fprintf (fp, "%s%s", i ? "; " : ": ",
                 json_text (json_array_get (cables, i), "words"));
    if (n > SHOWN)
        fputs ("; ...", fp);
}

/* This week's digest. */
static json_t *list_digest (struct service *s, int64_t week, int64_t now,
                            struct error *err)
{
    json_t *rows = ledger_list (s->ledger, LEDGER_NOTICES, now - WEEK_S, 0,
                                err);
    json_t *audits = rows ? ledger_list (s->ledger, LEDGER_BEGUN, now - WEEK_S,
                                         now, err)
                          : NULL;
    json_t *cables = audits ? service_cables (s, true, now, err) : NULL;
    json_t *list = NULL;
    char *words = NULL;
    size_t size;
    FILE *fp;

    if (cables) {
        fp = xcheck (open_memstream (&words, &size));
        write_digest (rows, audits, cables, fp);
        xcheck (fclose (fp) == 0 ? words : NULL);
        list = xcheck (json_pack (
            "[o]", notice_json ("digest",
                                key_json ("digest:%" PRId64, week),
                                words, NULL, NULL, 0)));
        free (words);
    }
    json_decref (rows);
    json_decref (audits);
    json_decref (cables);
    return list;
}

/* Enter the notices of a class, and drop the list. */
static int record_notices (struct service *s, const char *class_is,
                           json_t *list, int64_t now, struct error *err)
{
    int rc = list ? ledger_notices (s->ledger, now, class_is, list, err) : -1;

    json_decref (list);
    return rc;
}

/* Enter what holds now, as far as known. */
static int enter_all (struct service *s, struct error *err)
{
    int64_t now = clock_date (), week = (now - MONDAY_S) / WEEK_S;

    if (record_notices (s, "trouble:", list_trouble (s), now, err) < 0
        || record_notices (s, "action:", list_actions (s, now, err), now, err)
               < 0
        || (s->news
            && ledger_notices (s->ledger, now, "policy:", s->news, err) < 0))
        return -1;
    if (!s->fabric)
        return 0;
    if (record_notices (s, "cable:", service_cables (s, false, now, err), now,
                        err)
            < 0
        || (week != s->digest
            && record_notices (s, "digest:", list_digest (s, week, now, err),
                               now, err)
                   < 0))
        return -1;
    s->digest = week;
    return 0;
}

/*
 * The program
 */

/* What a process that tells does; it has nothing of ours but the lock. */
struct telling {
    int64_t id;
    char *path, *event, *words;
    char *json;
    struct program_line line;
    char printed[PROGRAM_LINE];
};

static void keep_last_line (void *arg, struct program_line *line)
{
    struct telling *t = arg;

    if (line->len > 0)
        strcpy (t->printed, line->text);
}

static void take_output (void *arg, enum program_stream from, const char *data,
                         size_t len)
{
    struct telling *t = arg;

    (void)from;
    program_lines (&t->line, data, len, keep_last_line, t);
}

/* Write the record "ID", or "ID how it ended", which is at most WORDS long. */
static bool write_notice_record (int fd, int64_t id, const char *how)
{
    char record[WORDS + 32];
    int len = snprintf (record, sizeof (record), "%" PRId64 "%s%.*s\n", id,
                        how ? " " : "", WORDS - 1, how ? how : "");

    return pwrite (fd, record, (size_t)len, 0) == len
           && ftruncate (fd, len) == 0 && fsync (fd) == 0;
}

static void run_program (struct telling *t, char how[WORDS])
{
    char *argv[] = { t->path, t->event, t->words, NULL };
    struct program_words env = { 0 };
    struct program program = {
        .argv = argv,
        .input = t->json,
        .deadline_ms = clock_ms () + PROGRAM_MS,
        .take = take_output,
        .arg = t,
    };
    int status;

    srun_environment (&env);
    program.env = xcheck (program_words_end (&env));
    *how = '\0';
    switch (program_run (&program, &status)) {
    case PROGRAM_NONE:
        snprintf (how, WORDS, "it cannot be started: %s", strerror (errno));
        return;
    case PROGRAM_ENDED:
        if (WIFEXITED (status) && WEXITSTATUS (status) == 0)
            return;
        snprintf (how, WORDS, "it ended with %s %d",
                  WIFSIGNALED (status) ? "signal" : "status",
                  WIFSIGNALED (status) ? WTERMSIG (status)
                                       : WEXITSTATUS (status));
        break;
    default:
        snprintf (how, WORDS, "it did not end in %d s", PROGRAM_MS / 1000);
    }
    take_output (t, PROGRAM_ERR, "\n", 1);
    if (*t->printed)
        snprintf (how + strlen (how), WORDS - strlen (how), ": %.500s",
                  text_clean (t->printed));
}

__attribute__ ((noreturn)) static void run_notify_child (struct telling *t,
                                                         int lock)
{
    int null = open ("/dev/null", O_RDWR);
    char how[WORDS];

    setpgid (0, 0);
    for (int fd = 0; fd < 3; fd++)
        dup2 (null, fd);
    if (dup2 (lock, 3) < 0)
        _exit (1);
    program_close_from (4); /* also the lock of the spool */
    fcntl (3, F_SETFD, FD_CLOEXEC);
    program_reset_signals ();
    if (!write_notice_record (3, t->id, NULL) && t->id > 0)
        _exit (1);
    run_program (t, how);
    write_notice_record (3, t->id, how);
    _exit (0);
}

/* Whether NotifyProgram is one that only root or we can have changed. */
static int check_program (const char *path, struct error *err)
{
    FILE *fp = file_open_trusted (path, geteuid (), err);

    if (!fp)
        return error_prefix (err, "NotifyProgram");
    file_close_input (fp);
    return access (path, X_OK) == 0
               ? 0
               : error_input (err, "NotifyProgram: %s cannot be executed: "
                                   "chmod 755 it", path);
}

/* Start the program for a notice. */
static int start_notify_program (struct service *s, const json_t *notice,
                                 int lock, struct error *err)
{
    struct telling t = {
        .id = json_int (notice, "id", 0),
        .path = s->site.notify_program,
        .event = (char *)json_text (notice, "event"),
    };
    static const char *const keys[]
        = { "id", "event", "words", "node", "link", "audit", "time" };
    json_t *json;

    if (check_program (t.path, err) < 0)
        return -1;
    json = xcheck (json_file ("pmm-event", NULL));
    for (size_t i = 0; i < sizeof (keys) / sizeof (keys[0]); i++) {
        json_t *v = json_object_get (notice, keys[i]);

        json_put (json, keys[i], v ? json_incref (v) : json_null ());
    }
    t.words = text_clean (xstrdup (json_text (notice, "words")));
    json_put (json, "words", json_string (t.words));
    t.json = xcheck (json_dumps (json, JSON_COMPACT | JSON_ENSURE_ASCII));
    if ((s->telling = fork ()) == 0)
        run_notify_child (&t, lock);
    free (t.words);
    free (t.json);
    json_decref (json);
    if (s->telling > 0)
        return 0;
    s->telling = 0;
    return error_errno (err, "cannot start a process");
}

/* Enter how the last program ended, if it is not known yet. */
static int record_notify_result (struct service *s, int lock, struct error *err)
{
    char record[WORDS + 32], killed[] = "it was killed", *how;
    ssize_t len = pread (lock, record, sizeof (record) - 1, 0);
    int64_t id;
    json_t *rows;
    const json_t *row;
    int rc = 0;

    if (len <= 0)
        return 0;
    record[len] = '\0';
    record[strcspn (record, "\n")] = '\0';
    id = strtoll (record, &how, 10);
    how = *how == ' ' ? how + 1 : killed;
    rows = ledger_list (s->ledger, LEDGER_UNTOLD, 0, 1, err);
    row = json_array_get (rows, 0);
    if (!rows)
        return -1;
    if (row && json_int (row, "id", 0) == id) {
        if (*how)
            service_log (s, LINE_NOTIFY, "NotifyProgram for %s (%s): %s",
                         json_text (row, "event"), json_text (row, "words"),
                         text_clean (how));
        rc = ledger_told (s->ledger, id, how, err);
    }
    json_decref (rows);
    return rc;
}

/* Tell the oldest notice. */
static int send_oldest_notice (struct service *s, int lock, struct error *err)
{
    json_t *rows = ledger_list (s->ledger, LEDGER_UNTOLD, 0, 1, err);
    const json_t *row = json_array_get (rows, 0);
    int rc = !rows ? -1 : row ? start_notify_program (s, row, lock, err) : 0;

    json_decref (rows);
    return rc;
}

/* The ledger does not work: tell what has failed, once. */
static void log_notify_failure (struct service *s, int lock)
{
    json_t *list = list_trouble (s);
    const json_t *first = json_array_get (list, 0);
    struct error err;

    if (first && !s->cried && start_notify_program (s, first, lock, &err) == 0)
        s->cried = true;
    json_decref (list);
}

int duty_notify (struct service *s, struct error *err)
{
    char *path;
    int lock, rc;
    bool well;

    if (s->telling > 0 && waitpid (s->telling, NULL, WNOHANG) != 0)
        s->telling = 0;
    if (!*s->site.notify_program)
        return 0;
    path = xasprintf ("%s.notify", s->site.ledger);
    rc = file_take_lock (AT_FDCWD, path, 0, &lock, err);
    free (path);
    if (rc == 0) /* a program runs, maybe of a service before this one */
        s->hurry = true;
    if (rc <= 0)
        return rc;
    well = s->ledger && record_notify_result (s, lock, err) == 0
           && enter_all (s, err) == 0 && send_oldest_notice (s, lock, err) == 0;
    if (!well)
        log_notify_failure (s, lock);
    s->cried &= !well;
    s->hurry = s->telling > 0;
    close (lock);
    return well || !s->ledger ? 0 : -1;
}
