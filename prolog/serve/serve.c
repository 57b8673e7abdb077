/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The audit service.
 *
 * Notes. A signal handler sets a flag. The signals are blocked between the
 * check of the flag and the wait, so none is lost. Long duties check `stop`.
 */
#include "config.h"
#include "prolog/serve/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/nodemap.h"
#include "ibquery/snapshot.h"
#include "prolog/serve/duty.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/user.h"

enum {
    SAID_MAX = 4, /* messages: one cause may produce several in turn */
    SECOND_MS = 1000,
    MINUTE_MS = 60 * SECOND_MS,
    HOUR_MS = 60 * MINUTE_MS,
    SETTLE_MS = 200,       /* for jobs that end together */
    RETRY_MAX_MS = MINUTE_MS,
    SPOOL_WAIT_MS = 10 * SECOND_MS, /* for a killed service to end */
};

/* These are also due when the spool has new files; when a program that tells has
 * ended; and when the policy has decided what to wait for.
 */
enum { SPOOL, NOTIFY, POLICY, CONFIRM };

static const struct {
    const char *name;
    duty_f *run;
    int every_ms;
    enum { NOTHING, LEDGER, FABRIC } needs; /* the fabric and the ledger */
} duties[] = {
    [SPOOL] = { "jobs", duty_spool, 10 * SECOND_MS, FABRIC },
    [NOTIFY] = { "notify", duty_notify, 10 * SECOND_MS, NOTHING },
    [POLICY] = { "policy", duty_policy, MINUTE_MS, FABRIC },
    [CONFIRM] = { "confirm", duty_confirm, 10 * SECOND_MS, FABRIC },
    { "sweep", duty_sweep, MINUTE_MS, FABRIC },
    { "publish", duty_publish, HOUR_MS, FABRIC },
    { "missed", duty_missed, HOUR_MS, FABRIC },
    { "reports", duty_reports, MINUTE_MS, FABRIC },
    { "comments", duty_comments, 5 * SECOND_MS, LEDGER },
    { "settle", duty_settle, HOUR_MS, FABRIC },
    { "prune", duty_prune, HOUR_MS, LEDGER },
    { "reach", duty_reach, MINUTE_MS, FABRIC },
    { "metrics", duty_metrics, MINUTE_MS, NOTHING },
};

enum { DUTIES = sizeof (duties) / sizeof (duties[0]) };

/* The state of a duty: when it is due, how long it waits after a failure, and
 * the messages logged since it last worked.
 */
struct duty_state {
    int64_t due_ms;
    int wait_ms;
    char said[SAID_MAX][sizeof (((struct error *)0)->text)];
    size_t nsaid;
};

static volatile sig_atomic_t stop, again;
static sigset_t caught;

static void on_service_signal (int sig)
{
    if (sig == SIGHUP)
        again = 1;
    else
        stop = 1;
}

/* Whether systemd reads what is written to the log. */
static bool is_journal (FILE *log)
{
    const char *stream = getenv ("JOURNAL_STREAM");
    uintmax_t dev, ino;
    struct stat st;

    return stream && sscanf (stream, "%ju:%ju", &dev, &ino) == 2
           && fstat (fileno (log), &st) == 0 && st.st_dev == dev
           && st.st_ino == ino;
}

static void catch_service_signals (void)
{
    static const int sig[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction sa = { .sa_handler = on_service_signal };

    signal (SIGPIPE, SIG_IGN);
    sigemptyset (&caught);
    for (size_t i = 0; i < sizeof (sig) / sizeof (sig[0]); i++) {
        sigaction (sig[i], &sa, NULL);
        sigaddset (&caught, sig[i]);
    }
}

/* Wait for a signal, or until fd (-1: none) is readable; at most ms. Return
 * whether it is.
 */
static bool wait_for_event (int fd, int64_t ms)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
    sigset_t old;
    int n = 0;

    sigprocmask (SIG_BLOCK, &caught, &old);
    if (!stop && !again)
        n = ppoll (&pfd, 1, &t, &old);
    sigprocmask (SIG_SETMASK, &old, NULL);
    return n > 0;
}

/*
 * Ledger and fabric
 */

/* The service as it runs. */
struct running {
    struct service site;
    struct ledger *ledger;
    ino_t ledger_inode;
    struct service_state state;
    bool clock_set; /* by clock_set_by, as logged */
};

static void close_fabric (struct running *r)
{
    nodemap_destroy (r->site.map);
    fabric_destroy (r->site.fabric);
    free (r->site.node_of);
    free (r->state.reach);
    r->site.map = NULL;
    r->site.fabric = NULL;
    r->site.node_of = NULL;
    r->state.reach = NULL;
}

static void close_all (struct running *r)
{
    close_fabric (r);
    ledger_close (r->ledger);
    r->ledger = NULL;
}

/* Keep the ledger open; open it again if its file was replaced. */
static int keep_ledger (struct running *r, struct error *err)
{
    const char *path = r->site.site.ledger;
    struct stat st;

    if (r->ledger && stat (path, &st) == 0 && st.st_ino == r->ledger_inode)
        return 0;
    ledger_close (r->ledger);
    if (!(r->ledger = ledger_open (path, LEDGER_CREATE, err)))
        return -1;
    if (stat (path, &st) < 0)
        return error_errno (err, "%s", path);
    r->ledger_inode = st.st_ino;
    return 0;
}

/* Keep the published snapshot and the node map; read them again if the snapshot
 * is a new one.
 */
static int keep_fabric (struct running *r, struct error *err)
{
    struct service *s = &r->site;
    const char *map_path = s->site.node_map;
    const char **node_of = NULL;
    struct nodemap *map = NULL;
    struct fabric *f = NULL;
    struct timespec date;

    if (fabric_date (s->site.snapshot, &date) == 0 && s->fabric
        && !memcmp (&date, &s->snapshot, sizeof (date)))
        return 0;
    if ((!*map_path
         || (map = nodemap_load_trusted (map_path, geteuid (), err)))
        && (f = fabric_load_trusted (s->site.snapshot, geteuid (), err)))
        node_of = nodemap_nodes (map, f);
    if (!node_of) {
        nodemap_destroy (map);
        return -1;
    }
    if (!s->fabric || strcmp (s->fabric->hash, f->hash) != 0)
        service_log (s, LINE_FABRIC, "the fabric is %.12s: %s, %s", f->hash,
                     COUNTED (f->nhosts, "host"), COUNTED (f->nlinks, "link"));
    close_fabric (r);
    s->fabric = f;
    s->map = map;
    s->node_of = node_of;
    s->snapshot = date;
    return 0;
}

/*
 * The loop
 */

/* Log an error once, and set when to try again. */
static void log_duty_error (const struct service *s, struct duty_state *state,
                            const struct error *err)
{
    size_t i = 0;

    while (i < state->nsaid && strcmp (state->said[i], err->text) != 0)
        i++;
    if (i == state->nsaid && i < SAID_MAX) {
        service_log (s, LINE_TROUBLE, "%s", err->text);
        strcpy (state->said[state->nsaid++], err->text);
    }
    state->wait_ms = !state->wait_ms                      ? SECOND_MS
                     : state->wait_ms < RETRY_MAX_MS / 2 ? 2 * state->wait_ms
                                                          : RETRY_MAX_MS;
    state->due_ms = clock_ms () + state->wait_ms;
}

static void reset_duty_state (const struct service *s,
                              struct duty_state *state, int every_ms)
{
    if (state->nsaid)
        service_log (s, LINE_RECOVERED, "recovered: %s", state->said[0]);
    *state = (struct duty_state){ .due_ms = clock_ms () + every_ms };
}

/* Run a duty. Return whether it did something. */
static bool run_duty (struct running *r, size_t i, struct duty_state *state)
{
    const struct service *s = &r->site;
    struct told *told = &r->state.told;
    struct error err;
    int rc = -1;

    if ((duties[i].needs < LEDGER || keep_ledger (r, &err) == 0)
        && (duties[i].needs < FABRIC || keep_fabric (r, &err) == 0))
        rc = duties[i].run (s, r->ledger, &r->state, &err);
    if (r->ledger)
        ledger_forget (r->ledger);
    if (rc < 0) {
        log_duty_error (s, state, &err);
        told_trouble (told, duties[i].name, err.text);
        return false;
    }
    if (!(rc & DUTY_DID) && rc & DUTY_UNTRIED && state->nsaid) {
        state->wait_ms = 0;
        state->due_ms = clock_ms () + duties[i].every_ms;
        return false;
    }
    told_trouble (told, duties[i].name, NULL);
    reset_duty_state (s, state, rc & DUTY_HURRY ? SECOND_MS
                                                : duties[i].every_ms);
    return rc & DUTY_DID;
}

static void all_due (struct duty_state state[DUTIES])
{
    for (size_t i = 0; i < DUTIES; i++)
        if (!state[i].wait_ms)
            state[i].due_ms = 0;
}

static int64_t next_due (const struct duty_state state[DUTIES])
{
    int64_t next = state[0].due_ms;

    for (size_t i = 1; i < DUTIES; i++)
        if (state[i].due_ms < next)
            next = state[i].due_ms;
    return next;
}

/* Wait until a duty is due, or the spool has a new file. If the spool's duty is
 * due within SETTLE_MS anyway, or waits after a failure, the spool is not
 * polled.
 */
static void wait_for (const struct service *s, struct duty_state state[DUTIES])
{
    int64_t now = clock_ms ();
    int64_t next = next_due (state);
    struct duty_state *spool = &state[SPOOL];
    bool poll = !spool->wait_ms && spool->due_ms > now + SETTLE_MS;

    if (next > now
        && wait_for_event (poll ? spool_fd (s->spool) : -1, next - now))
        spool->due_ms = clock_ms () + SETTLE_MS;
}

/* Read pmm.conf again. If it is bad, the old options stay. */
static void reread_conf (struct running *r)
{
    struct service *s = &r->site;
    struct site site;
    struct error err;

    if (site_read (&site, s->conf, 1, &err) < 0) {
        site_clear (&site);
        service_log (s, LINE_TROUBLE, "%s: the old configuration stays",
                     err.text);
        return;
    }
    if (strcmp (site.spool, s->site.spool) != 0)
        service_log (s, LINE_SERVICE,
                     "a new Spool takes effect after a restart");
    site_clear (&s->site);
    s->site = site;
    close_all (r);
    service_log (s, LINE_SERVICE, "pmm.conf was read again");
}

/* Say when the wall clock is set, and when it tells the date again. */
static void watch_clock (struct running *r)
{
    const struct service *s = &r->site;
    int64_t by = clock_set_by ();

    if (by && !r->clock_set)
        service_log (s, LINE_TROUBLE,
                     "the clock was set %" PRId64 " s %s: dates go on as they "
                     "were, until it has been so for an hour",
                     (int64_t)llabs (by),
                     by < 0 ? "back" : "ahead");
    if (!by && r->clock_set)
        service_log (s, LINE_RECOVERED, "dates are the clock's again");
    r->clock_set = by != 0;
}

static void run_service_loop (struct running *r, bool once)
{
    struct duty_state state[DUTIES] = { 0 };

    if (!once) /* however often it is started */
        r->state.prune.due_ms = clock_ms () + HOUR_MS;
    do {
        watch_clock (r);
        if (again) {
            again = 0;
            reread_conf (r);
            all_due (state);
        }
        for (size_t i = 0; i < DUTIES && !stop; i++) {
            if (state[i].due_ms > clock_ms ())
                continue;
            if (run_duty (r, i, &state[i]))
                all_due (state);
            if (i == POLICY && duty_wishes () > 0 && !state[CONFIRM].wait_ms)
                state[CONFIRM].due_ms = 0;
        }
        if (!once && !stop)
            wait_for (&r->site, state);
        else if (r->state.told.telling > 0) {
            wait_for_event (-1, SETTLE_MS);
            state[NOTIFY].due_ms = 0;
        }
    } while (!stop && (!once || next_due (state) == 0));
}

/* Check that we run as SlurmUser. Wait until Slurm answers. */
static int know_user (const struct service *s, bool once, struct error *err)
{
    struct duty_state state = { 0 };
    char user[CONTROLLER_NAME];
    uid_t uid;

    while (controller_user (&uid, user, err) < 0) {
        if (once || stop)
            return -1;
        log_duty_error (s, &state, err);
        wait_for_event (-1, state.wait_ms);
    }
    reset_duty_state (s, &state, 0);
    if (uid == geteuid ())
        return 0;
    return error_input (err, "it must run as SlurmUser, which is %s: %s", user,
                        INSTEAD (user));
}

static int not_root (const struct site *site, struct error *err)
{
    errno = EPERM;
    return geteuid () != 0
               ? 0
               : error_input (err, "it must not run as root: run it as "
                                   "SlurmUser: %s",
                              INSTEAD (site->slurm_user));
}

int serve (const char *conf, bool once, FILE *log, struct error *err)
{
    struct running r = { .site = { .conf = conf, .log = log, .stop = &stop,
                                   .journal = is_journal (log) } };
    struct service *s = &r.site;
    int rc = -1;

    catch_service_signals ();
    if (site_read (&s->site, conf, 1, err) == 0 && not_root (&s->site, err) == 0
        && (s->spool = spool_open (s->site.spool, SPOOL_WAIT_MS, err)))
        rc = keep_ledger (&r, err);
    if (rc < 0 && errno == EUCLEAN)
        err->fault = ERROR_INPUT; /* another start will not help */
    else if (rc < 0 && errno == ENOENT)
        err->fault = ERROR_WORLD; /* it may not be mounted yet */
    if (rc == 0)
        rc = know_user (s, once, err);
    if (rc == 0) {
        service_log (s, LINE_SERVICE, "the audit service has started");
        run_service_loop (&r, once);
        service_passed (s);
        service_log (s, LINE_SERVICE, "the audit service ends");
    }
    close_all (&r);
    spool_list_clear (&r.state.ended);
    spool_close (s->spool);
    site_clear (&s->site);
    duty_wishes_clear ();
    told_clear (&r.state.told);
    duty_reports_clear ();
    return rc;
}
