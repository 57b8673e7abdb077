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

void notices_clear (struct notices *list)
{
    pool_destroy (list->pool);
    *list = (struct notices){ 0 };
}

/* One more key of the last notice. */
__attribute__ ((format (printf, 2, 3))) static void
add_notice_key (struct notices *list, const char *fmt, ...)
{
    struct hostlist *keys = &list->v[list->n - 1].keys;
    char key[WORDS];

    TEXT_PRINT (key, sizeof (key), fmt);
    keys->name = pool_grow (list->pool, keys->name, keys->count,
                            sizeof (*keys->name));
    keys->name[keys->count++] = pool_strdup (list->pool, text_clean (key));
}

/* A notice more; node, link NULL: none. */
static void put_notice (struct notices *list, enum words_event event,
                        const char *words, const char *node, const char *link,
                        int64_t audit)
{
    const char *next = event_words[event].after;
    char all[WORDS];

    if (!list->pool)
        list->pool = pool_create ();
    if (next)
        snprintf (all, sizeof (all), "%.900s; next: %s", words, next);
    list->v = pool_grow (list->pool, list->v, list->n, sizeof (*list->v));
    list->v[list->n++] = (struct ledger_notice){
        .event = event_words[event].name,
        .words = pool_strdup (list->pool, next ? all : words),
        .node = pool_strdup (list->pool, node),
        .link = pool_strdup (list->pool, link), .audit = audit,
    };
}

void told_trouble (struct told *told, const char *what, const char *words)
{
    struct trouble *t = told->trouble, *end = t + told->ntroubles;

    while (t < end && strcmp (t->what, what))
        t++;
    if (t < end) {
        free (t->words);
        t->words = words ? xstrdup (words) : NULL;
        if (!words) {
            memmove (t, t + 1, (size_t)(end - t - 1) * sizeof (*t));
            told->ntroubles--;
        }
    }
    else if (words) {
        told->trouble = xgrow (told->trouble, told->ntroubles, sizeof (*t));
        told->trouble[told->ntroubles++]
            = (struct trouble){ what, clock_ms (), xstrdup (words) };
    }
}

void told_clear (struct told *told)
{
    for (size_t i = 0; i < told->ntroubles; i++)
        free (told->trouble[i].words);
    free (told->trouble);
    notices_clear (&told->news);
}

int service_astray (struct ledger *ledger, const char *node, int64_t audit,
                    struct error *err)
{
    struct notices list = { 0 };
    char words[WORDS];
    int rc;

    if (*node) {
        snprintf (words, sizeof (words),
                  "%s printed a result in audit %" PRId64 ", but "
                  "another led: what runs there is not our probe",
                  node, audit);
        put_notice (&list, EVENT_TROUBLE, words, node, NULL, audit);
        add_notice_key (&list, "astray:%s", node);
    }
    rc = ledger_notices (ledger, clock_date (), "astray:", list.v, list.n, err);
    notices_clear (&list);
    return rc < 0 ? -1 : 0;
}

/* Of what notices are made. */
struct notice_source {
    const struct service *s;
    struct ledger *ledger;
    const struct told *told;
    int64_t now;
};

/* What has failed for some time. */
static int list_trouble (const struct notice_source *of, struct notices *list,
                         struct error *err)
{
    (void)err;
    for (size_t i = 0; i < of->told->ntroubles; i++) {
        const struct trouble *t = &of->told->trouble[i];

        if (clock_ms () - t->since_ms < TROUBLE_MS)
            continue;
        put_notice (list, EVENT_TROUBLE, t->words, NULL, NULL, 0);
        add_notice_key (list, "trouble:%s", t->what);
    }
    return 0;
}

static bool same_notices (const struct notices *a, const struct notices *b)
{
    size_t i = 0;

    while (i < a->n && i < b->n && !strcmp (a->v[i].words, b->v[i].words)
           && !strcmp (a->v[i].node, b->v[i].node))
        i++;
    return i == a->n && i == b->n;
}

void notify_decisions (struct service_state *state, const struct decisions *d)
{
    bool said[POLICY_BLOCKS] = { false };
    struct told *told = &state->told;
    struct notices old = told->news;
    char words[WORDS];

    state->decided = true;
    memset (state->blocked, 0, sizeof (state->blocked));
    state->blocked[POLICY_STOPPED] = d->stopped;
    for (size_t i = 0; i < d->n; i++)
        state->blocked[d->v[i].block]++;
    told_trouble (told, "stopped", d->stopped ? d->remark[0] : NULL);
    if (d->stopped)
        return;
    told->news = (struct notices){ 0 };
    told->has_news = true;
    for (size_t i = 0; i < d->n; i++) {
        const struct decision *v = &d->v[i];
        bool each = v->block == POLICY_REPORTS || v->block == POLICY_BEFORE;
        enum words_event event = v->block == POLICY_REPORTS ? EVENT_WOULD_DRAIN
                                                            : EVENT_BLOCKED;

        if (v->block == POLICY_FREE || (!each && said[v->block]))
            continue;
        said[v->block] = true;
        snprintf (words, sizeof (words), "%s: %s", v->node, v->why);
        put_notice (&told->news, event, words, v->node, v->link,
                    (int64_t)d->after);
        add_notice_key (&told->news, "policy:%s%s%s",
                        policy_block_name (v->block), each ? ":" : "",
                        each ? v->node : "");
    }
    told->news_made += !same_notices (&old, &told->news);
    notices_clear (&old);
}

/* Drains and resumes of the last day. */
static int list_actions (const struct notice_source *of, struct notices *list,
                         struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (of->ledger, LEDGER_ACTIONS, ACTIONS, 0, &rows, err);
    char words[WORDS];

    for (size_t i = rows.n; i-- > 0;) {
        const struct ledger_action *v = &rows.action[i];
        bool drain = v->kind == POLICY_DRAIN;
        const char *why = drain ? v->reason : v->why;
        size_t ours = strlen (CONTROLLER_OURS);

        if (v->done <= of->now - DAY_S || (!drain && v->kind != POLICY_RESUME))
            continue;
        snprintf (words, sizeof (words), "%s was %s: %s", v->node,
                  drain ? "drained" : "resumed",
                  why + (strncmp (why, CONTROLLER_OURS, ours) ? 0 : ours));
        put_notice (list, drain ? EVENT_DRAIN : EVENT_RESUME, words, v->node,
                    v->link, v->after);
        add_notice_key (list, "action:%" PRId64, v->id);
    }
    return rc;
}

/* What this audit says of a link; NULL: nothing. */
static const struct ledger_seen *seen_by (const struct ledger_rows *rows,
                                          int64_t audit)
{
    for (size_t i = 0; i < rows->n; i++)
        if (rows->seen[i].audit == audit)
            return &rows->seen[i];
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
 * that is older than ConfirmWithin. Where it is of the link's rate, only an audit
 * that measured that found it clean. 0, or -1 with err.
 */
static int find_fails (const struct service *s, struct ledger *ledger,
                       const struct ledger_rows *audits,
                       const struct ledger_link *row, int64_t now,
                       struct link_fails *f, struct error *err)
{
    bool rate = row->basis == BASIS_RATE;
    bool rated = row->rate_expected_bits > 0;
    int64_t within = now - s->site.confirm_within_ms / 1000, oldest;
    struct ledger_rows found, crossed;
    const struct ledger_audit *new = NULL;
    size_t end = 0;

    *f = (struct link_fails){ 0 };
    while (end < audits->n && audits->audit[end].begun >= within)
        end++;
    if (end == 0)
        return 0;
    oldest = audits->audit[end - 1].id;
    if (ledger_found (ledger, oldest, row->link, &found, err) < 0
        || ledger_link_audits (ledger, oldest, row->link, "", &crossed, err) < 0)
        return -1;
    for (size_t i = 0; i < end; i++) {
        const struct ledger_audit *a = &audits->audit[i];
        const struct ledger_seen *seen = seen_by (&found, a->id);
        const struct ledger_seen *crosses = seen_by (&crossed, a->id);

        if (!seen && crosses && !crosses->open && (!rated || crosses->rated))
            break; /* clean */
        if (seen && !rate && seen->excess_ns > s->site.fail_ns)
            f->doubted_s = a->begun;
        if (!seen || !((seen->rated && rated) || (seen->fail && !rate)))
            continue;
        f->times++;
        f->first = a->id;
        if (!new) {
            new = a;
            f->newest_s = a->begun;
        }
        f->confirmed |= f->newest_s - a->begun
                                >= s->site.confirm_after_ms / 1000
                        && a->leader && new->leader
                        && strcmp (a->leader, new->leader) != 0;
    }
    return 0;
}

/* Whether one audit is not enough to tell of such a finding: others' traffic
 * looks like a slow cable for a while.
 */
static bool needs_two (const struct ledger_link *row)
{
    return row->basis == BASIS_SLOW || row->kind == FINDING_SWITCH_LINK
           || row->kind == FINDING_SWITCH;
}

int service_doubted (const struct service *s, struct ledger *ledger,
                     int64_t now, struct doubt *doubt, struct error *err)
{
    struct ledger_rows rows, audits = { 0 };
    int rc = ledger_list (ledger, LEDGER_DOUBTS,
                          now - s->site.confirm_within_ms / 1000,
                          (int64_t)s->site.fail_ns, &rows, err);

    if (rows.n > 0)
        rc = ledger_list (ledger, LEDGER_AUDITS, AUDITS, 0, &audits, err);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        uint32_t link = fabric_find_link (s->fabric, rows.link[i].link);
        struct link_fails f;
        int64_t since;

        if (link == FABRIC_NONE)
            continue;
        rc = find_fails (s, ledger, &audits, &rows.link[i], now, &f, err);
        since = f.times > 0 ? f.newest_s : f.doubted_s;
        if (rc == 0 && !f.confirmed && since > doubt[link].since)
            doubt[link] = (struct doubt){ .since = since, .fails = f.times > 0 };
    }
    return rc;
}

/* What is wrong and, unless it is for a list, what to do. */
static char *cable_words (const struct fabric *f, const struct finding *x,
                          bool list)
{
    char *says = words_finding (x, f), *todo, *words;

    if (list)
        return says;
    todo = words_do (x, f, WORDS_STAFF);
    words = xasprintf ("%s: %s", says, todo);
    free (says);
    free (todo);
    return words;
}

int service_cables (const struct service *s, struct ledger *ledger, bool all,
                    int64_t now, struct notices *list, struct error *err)
{
    struct ledger_result r = { .id = 0 };
    bool last = false; /* the last notice is of this finding */
    struct ledger_rows rows, audits = { 0 };
    int64_t finding = -1;
    int rc;

    *list = (struct notices){ 0 };
    rc = ledger_list (ledger, LEDGER_FAILS, 0, 0, &rows, err);
    if (rows.n > 0)
        rc = ledger_list (ledger, LEDGER_AUDITS, AUDITS, 0, &audits, err);
    for (size_t i = 0; i < rows.n && rc == 0; i++) {
        const struct ledger_link *row = &rows.link[i];
        char words[WORDS], seen[80] = "", much[32] = "", *says;
        const struct finding *x;
        struct link_fails f;

        if (needs_two (row)) {
            rc = find_fails (s, ledger, &audits, row, now, &f, err);
            if (rc < 0 || !f.confirmed)
                continue;
            snprintf (seen, sizeof (seen), ", as in %s since audit %" PRId64,
                      COUNTED ((uint64_t)f.times - 1, "more audit"), f.first);
        }
        else if (!all)
            continue;
        if (last && r.id == row->audit && finding == row->finding) {
            add_notice_key (list, "cable:%s", row->link);
            continue;
        }
        finding = row->finding;
        if (r.id != row->audit)
            rc = ledger_result (ledger, row->audit, s->fabric, false, &r, err);
        last = false;
        x = rc == 0 && finding >= 0 && (size_t)finding < r.verdict->nfindings
                ? &r.verdict->finding[finding]
                : NULL;
        if (!x || x->nsuspects == 0) /* its cable is gone */
            continue;
        if (!isnan (row->excess_ns))
            snprintf (much, sizeof (much), ", %+.0f ns", row->excess_ns);
        says = cable_words (s->fabric, x, all);
        snprintf (words, sizeof (words), "%s; audit %" PRId64 "%s%s", says,
                  row->audit, seen, much);
        free (says);
        put_notice (list, EVENT_CABLE, words, NULL, row->link, row->audit);
        add_notice_key (list, "cable:%s", row->link);
        last = true;
    }
    return rc;
}

/*
 * The digest
 */

/* How many nodes notices of an event were about. */
static size_t count_notice_nodes (const struct ledger_rows *rows,
                                  enum words_event event)
{
    const char **name = xarray (rows->n, sizeof (*name));
    size_t n = 0;

    for (size_t i = 0; i < rows->n; i++)
        if (!strcmp (rows->notice[i].event, event_words[event].name))
            name[n++] = rows->notice[i].node ? rows->notice[i].node : "";
    n = text_unique (name, n);
    free (name);
    return n;
}

static char *digest_words (const struct ledger_rows *rows, size_t audits,
                           const struct notices *cables)
{
    char *words = xasprintf (
        "the last 7 days: %s, drained %zu, resumed %zu, would have drained %zu; "
        "%s to look at", COUNTED (audits, "audit"),
        count_notice_nodes (rows, EVENT_DRAIN),
        count_notice_nodes (rows, EVENT_RESUME),
        count_notice_nodes (rows, EVENT_WOULD_DRAIN),
        COUNTED (cables->n, "cable"));

    for (size_t i = 0; i < cables->n && i < SHOWN; i++)
        xappend (&words, "%s%s", i ? "; " : ": ", cables->v[i].words);
    if (cables->n > SHOWN)
        xappend (&words, "; ...");
    return words;
}

static int64_t week_of (int64_t now)
{
    return (now - MONDAY_S) / WEEK_S;
}

static int list_digest (const struct notice_source *of, struct notices *list,
                        struct error *err)
{
    int64_t now = of->now;
    struct ledger_rows rows, audits = { 0 };
    struct notices cables = { 0 };
    char *words;
    int rc;

    if (week_of (now) == of->told->digest)
        return 1;
    rc = ledger_list (of->ledger, LEDGER_NOTICES, now - WEEK_S, 0, &rows, err);
    if (rc == 0)
        rc = ledger_list (of->ledger, LEDGER_BEGUN, now - WEEK_S, now, &audits,
                          err);
    if (rc == 0)
        rc = service_cables (of->s, of->ledger, true, now, &cables, err);
    if (rc == 0) {
        words = digest_words (&rows, audits.n, &cables);
        put_notice (list, EVENT_DIGEST, words, NULL, NULL, 0);
        add_notice_key (list, "digest:%" PRId64, week_of (now));
        free (words);
    }
    notices_clear (&cables);
    return rc;
}

static int list_decisions (const struct notice_source *of, struct notices *list,
                           struct error *err)
{
    (void)err;
    *list = (struct notices){ of->told->news.v, of->told->news.n, NULL };
    return of->told->has_news ? 0 : 1;
}

static int list_cables (const struct notice_source *of, struct notices *list,
                        struct error *err)
{
    return service_cables (of->s, of->ledger, false, of->now, list, err);
}

static const struct {
    const char *key; /* the keys of its notices begin with it */
    bool fabric;     /* without one nothing is known */
    /* List what holds now; return 1: this is not known. */
    int (*list) (const struct notice_source *of, struct notices *list,
                 struct error *err);
} notice_classes[] = {
    { "trouble:", false, list_trouble },
    { "action:", false, list_actions },
    { "policy:", false, list_decisions },
    { "cable:", true, list_cables },
    { "digest:", true, list_digest },
};
enum { CLASSES = sizeof (notice_classes) / sizeof (notice_classes[0]) };

/* Enter what holds now, as far as known. */
static int enter_all (const struct service *s, struct ledger *ledger,
                      struct told *told, struct error *err)
{
    const struct notice_source of = { s, ledger, told, clock_date () };
    int rc = 0;

    for (size_t i = 0; i < CLASSES && rc >= 0; i++) {
        struct notices list = { 0 };

        if (notice_classes[i].fabric && !s->fabric)
            continue;
        rc = notice_classes[i].list (&of, &list, err);
        if (rc == 0)
            rc = ledger_notices (ledger, of.now, notice_classes[i].key, list.v,
                                 list.n, err);
        notices_clear (&list);
    }
    if (rc >= 0 && s->fabric)
        told->digest = week_of (of.now);
    return rc < 0 ? -1 : 0;
}

/*
 * The program
 */

/* What a process that tells does; it has nothing of ours but the lock. */
struct telling {
    int64_t id;
    char *path, *event, *words;
    char *json;
    char printed[PROGRAM_LINE];
};

static void keep_last_line (void *arg, struct program_line *line)
{
    struct telling *t = arg;

    if (line->len > 0)
        strcpy (t->printed, line->text);
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
        .argv = argv, .input = t->json, .deadline_ms = clock_ms () + PROGRAM_MS,
        .take = { keep_last_line, keep_last_line }, .arg = t,
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

static json_t *number_or_null (bool is, int64_t n)
{
    return is ? json_integer (n) : json_null ();
}

static int start_notify_program (const struct service *s, struct told *told,
                                 const struct ledger_notice *v, int lock,
                                 struct error *err)
{
    struct telling t = {
        .id = v->id, .path = s->site.notify_program, .event = (char *)v->event,
    };
    json_t *json;

    if (check_program (t.path, err) < 0)
        return -1;
    t.words = text_clean (xstrdup (v->words));
    json = xcheck (json_file ("pmm-event", NULL));
    json_object_update_new (
        json, json_pack ("{s:o, s:s, s:s, s:s?, s:s?, s:o, s:o}", "id",
                         number_or_null (v->id > 0, v->id), "event", v->event,
                         "words", t.words, "node", v->node, "link", v->link,
                         "audit", number_or_null (v->audit >= 0, v->audit),
                         "time", number_or_null (v->id > 0, v->time)));
    t.json = xcheck (json_dumps (json, JSON_COMPACT | JSON_ENSURE_ASCII));
    if ((told->telling = fork ()) == 0)
        run_notify_child (&t, lock);
    free (t.words);
    free (t.json);
    json_decref (json);
    if (told->telling > 0)
        return 0;
    told->telling = 0;
    return error_errno (err, "cannot start a process");
}

/* Enter how the last program ended, if it is not known yet. */
static int record_notify_result (const struct service *s,
                                 struct ledger *ledger, int lock,
                                 struct error *err)
{
    char record[WORDS + 32], killed[] = "it was killed", *how;
    ssize_t len = pread (lock, record, sizeof (record) - 1, 0);
    struct ledger_rows rows;
    int64_t id;
    int rc;

    if (len <= 0)
        return 0;
    record[len] = '\0';
    record[strcspn (record, "\n")] = '\0';
    id = strtoll (record, &how, 10);
    how = *how == ' ' ? how + 1 : killed;
    rc = ledger_list (ledger, LEDGER_UNTOLD, 0, 1, &rows, err);
    if (rows.n > 0 && rows.notice->id == id) {
        if (*how)
            service_log (s, LINE_NOTIFY, "NotifyProgram for %s (%s): %s",
                         rows.notice->event, rows.notice->words,
                         text_clean (how));
        rc = ledger_told (ledger, id, how, err);
    }
    return rc;
}

static int send_oldest_notice (const struct service *s, struct ledger *ledger,
                               struct told *told, int lock, struct error *err)
{
    struct ledger_rows rows;
    int rc = ledger_list (ledger, LEDGER_UNTOLD, 0, 1, &rows, err);

    return rows.n > 0 ? start_notify_program (s, told, rows.notice, lock, err) : rc;
}

/* The ledger does not work: tell what has failed, once. */
static void log_notify_failure (const struct service *s, struct told *told,
                                int lock)
{
    struct notices list = { 0 };
    struct error err;

    list_trouble (&(struct notice_source){ .told = told }, &list, &err);
    if (list.n > 0 && !told->cried
        && start_notify_program (s, told, list.v, lock, &err) == 0)
        told->cried = true;
    notices_clear (&list);
}

int duty_notify (const struct service *s, struct ledger *ledger,
                 struct service_state *state, struct error *err)
{
    struct told *told = &state->told;
    char *path;
    int lock, rc;
    bool well;

    if (told->telling > 0 && waitpid (told->telling, NULL, WNOHANG) != 0)
        told->telling = 0;
    if (!*s->site.notify_program)
        return 0;
    path = xasprintf ("%s.notify", s->site.ledger);
    rc = file_take_lock (AT_FDCWD, path, 0, &lock, err);
    free (path);
    if (rc <= 0) /* 0: a program runs, maybe of a service before this one */
        return rc < 0 ? -1 : DUTY_HURRY;
    well = ledger && record_notify_result (s, ledger, lock, err) == 0
           && enter_all (s, ledger, told, err) == 0
           && send_oldest_notice (s, ledger, told, lock, err) == 0;
    if (!well)
        log_notify_failure (s, told, lock);
    told->cried &= !well;
    close (lock);
    if (ledger && !well)
        return -1;
    return told->telling > 0 ? DUTY_HURRY : 0;
}
