/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The live fabric.
 *
 * Notes: the reader is a grandchild in its own session, because slurmd ends the
 * prolog's process group. The reader inherits the lock's file description, too:
 * if it hangs in the kernel and cannot be killed, it keeps the lock, and no
 * second reader starts.
 *
 * If the clock is set back, the last attempt has a time in the future: then it
 * does not count, and the next one has a correct time again.
 *
 * The reader of a part waits for the lock in the background, so jobs that start
 * at the same time get their parts one after the other.
 */
#include "config.h"
#include "ibquery/live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "util/file.h"
#include "util/program.h"
#include "util/text.h"

enum { TICK_MS = 100, NAME_LONGEST = 200 };

/* A snapshot, and its name while it is being made. */
struct live_output {
    char name[256], temp[256];
};

/* A directory owned by root, as `dir`, and the names in it. */
struct live_place {
    int dir;
    char *path;       /* of the directory; freed by leave */
    struct live_output all,
        part; /* part: name "" if there is none to make */
    char lock[256];
};

/* The number of a job; false if it has none. */
static bool job_number (const struct live_job *job, uint64_t *id)
{
    return job->id && text_u64 (job->id, 1, UINT32_MAX, id) == 0;
}

/* Create the directory if it is missing. The caller closes p->dir and frees
 * p->path in both cases.
 */
static int open_live_directory (struct live_place *p, const char *path,
                                const struct live_job *job, struct error *err)
{
    const char *slash = strrchr (path, '/'), *name;
    uint64_t id;

    *p = (struct live_place){ .dir = -1 };
    if (!slash || slash == path || strlen (slash) > NAME_LONGEST)
        return error_input (err, "LiveFabric: %s: need an absolute path "
                                 "below a directory", path);
    if (!(p->path = strndup (path, slash - path)))
        return error_nomem (err);
    name = slash + 1;
    snprintf (p->all.name, sizeof (p->all.name), "%s", name);
    snprintf (p->all.temp, sizeof (p->all.temp), "%s.new", name);
    snprintf (p->lock, sizeof (p->lock), "%s.lock", name);
    if (job_number (job, &id)) {
        snprintf (p->part.name, sizeof (p->part.name), "%s.job%" PRIu64, name,
                  id);
        snprintf (p->part.temp, sizeof (p->part.temp), "%s.job%" PRIu64 ".new",
                  name, id);
    }
    if (mkdir (p->path, 0755) < 0 && errno != EEXIST)
        return error_errno (err, "cannot make %s", p->path);
    p->dir = file_open_trusted_dir (p->path, geteuid (), err);
    return p->dir < 0 ? -1 : 0;
}

/* Whether the last attempt was long enough ago, or has a time in the future.
 * The clock of files may be slightly ahead of time (), which counts ticks.
 */
static bool is_live_read_due (int lock)
{
    struct stat st;
    time_t now = time (NULL);

    return fstat (lock, &st) == 0
           && (st.st_size == 0 || st.st_mtime > now + 1
               || now - st.st_mtime >= LIVE_EVERY_S);
}

/* Record the time of an attempt to read everything. */
static int record_read_attempt (const struct live_place *p, int lock,
                                struct error *err)
{
    if (pwrite (lock, "tried\n", 6, 0) == 6)
        return 0;
    return error_errno (err, "cannot write %s/%s", p->path, p->lock);
}

/* Begin an output; remove what a killed reader has left. */
static int create_live_output (const struct live_place *p,
                               const struct live_output *o, struct error *err)
{
    int out;

    unlinkat (p->dir, o->temp, 0);
    out = openat (p->dir, o->temp,
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (out >= 0 && fchmod (out, 0644) == 0)
        return out;
    error_errno (err, "cannot write %s/%s", p->path, o->temp);
    if (out >= 0)
        close (out);
    unlinkat (p->dir, o->temp, 0);
    return -1;
}

/* Whether the reader ends successfully and in time. */
static bool reader_succeeds (pid_t pid)
{
    int status;

    for (int ms = 0; ms < LIVE_TIMEOUT_S * 1000; ms += TICK_MS) {
        pid_t ended = waitpid (pid, &status, WNOHANG);

        if (ended == pid)
            return WIFEXITED (status) && WEXITSTATUS (status) == 0;
        if (ended < 0 && errno != EINTR)
            return false;
        poll (NULL, 0, TICK_MS);
    }
    kill (pid, SIGKILL);
    return false;
}

/* Run the reader, wait for it to end and publish its result. After a failure
 * the caller removes the temporary file.
 */
static bool publish_live_output (const struct live_place *p,
                                 const struct live_output *o,
                                 const char *const *argv, int out)
{
    char *const env[] = { NULL };
    pid_t pid = fork ();
    bool good;

    if (pid == 0) {
        int null = open ("/dev/null", O_RDWR | O_CLOEXEC);

        if (null >= 0 && dup2 (null, STDIN_FILENO) == STDIN_FILENO
            && dup2 (out, STDOUT_FILENO) == STDOUT_FILENO
            && dup2 (null, STDERR_FILENO) == STDERR_FILENO)
            execve (argv[0], (char *const *)argv, env);
        _exit (127);
    }
    good = pid > 0 && reader_succeeds (pid) && fsync (out) == 0
           && renameat (p->dir, o->temp, p->dir, o->name) == 0;
    close (out);
    return good;
}

static void read_live_fabric (const struct live_place *p, const char *pmm,
                              int out)
{
    const char *const argv[]
        = { pmm, "fabric", "read", "--smps", LIVE_SMPS, NULL };

    if (!publish_live_output (p, &p->all, argv, out))
        unlinkat (p->dir, p->all.temp, 0);
}

/* Remove parts that are too old to be used. */
static void drop_old_parts (const struct live_place *p)
{
    DIR *dir = file_open_list (p->dir, ".");
    size_t len = strlen (p->all.name);
    time_t now = time (NULL);
    struct dirent *entry;
    struct stat st;

    while (dir && (entry = readdir (dir)))
        if (strncmp (entry->d_name, p->all.name, len) == 0
            && strncmp (entry->d_name + len, ".job", 4) == 0
            && fstatat (p->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0
            && now - st.st_mtime > LIVE_EVERY_S + LIVE_TIMEOUT_S)
            unlinkat (p->dir, entry->d_name, 0);
    if (dir)
        closedir (dir);
}

/* Read a part when it is our turn, or everything if the part cannot be read. At
 * any time one of the two .new files exists, so that others can see it and
 * wait.
 */
static void read_live_part (const struct live_place *p, const struct site *site,
                            const char *nodes, int lock, int out)
{
    const char *const argv[]
        = { site->pmm,      "fabric",          "read",
            "--smps",       LIVE_SMPS,         "--max-smps",
            LIVE_PART_SMPS, "--hosts",         nodes,
            "--hint",       site->live_fabric, NULL };
    bool turn = file_lock (lock, LIVE_TIMEOUT_S * 1000) == 1
                && is_live_read_due (lock);
    bool good = turn && publish_live_output (p, &p->part, argv, out);
    int all = -1;

    if (turn && !good && record_read_attempt (p, lock, NULL) == 0)
        all = create_live_output (p, &p->all, NULL);
    if (!good)
        unlinkat (p->dir, p->part.temp, 0);
    if (all >= 0)
        read_live_fabric (p, site->pmm, all);
    drop_old_parts (p);
}

bool live_wanted (const struct site *site)
{
    const char *list = site->snapshot;
    char path[TEXT_PATH];
    struct stat st;

    return *site->live_fabric && text_next (&list, path)
           && stat (path, &st) < 0 && errno == ENOENT;
}

/* What to read, with the lock held. */
struct live_task {
    const struct live_place *place;
    const struct live_output *output;
    const char *nodes; /* for a part; NULL: everything */
    int lock, out;
};

/* Take what the task needs. Return 1, 0 if it is not due or another reader has
 * its turn, -1 with err.
 */
static int prepare_live_task (struct live_task *t, struct error *err)
{
    const struct live_place *p = t->place;

    if ((t->lock = file_open_lock (p->dir, p->lock, err)) < 0)
        return error_prefix (err, "%s", p->path);
    fcntl (t->lock, F_SETFD, 0); /* the reader inherits it */
    if ((!t->nodes && file_lock (t->lock, 0) != 1)
        || !is_live_read_due (t->lock))
        return 0;
    if (!t->nodes && record_read_attempt (p, t->lock, err) < 0)
        return -1;
    t->out = create_live_output (p, t->output, err);
    return t->out < 0 ? -1 : 1;
}

/* Fork the watching process, in its own session, and do not wait for it. */
static int start_live_task (const struct live_task *t, const struct site *site,
                            struct error *err)
{
    pid_t pid = fork ();

    if (pid < 0) {
        unlinkat (t->place->dir, t->output->temp, 0);
        return error_errno (err, "cannot fork");
    }
    if (pid > 0) {
        while (waitpid (pid, NULL, 0) < 0 && errno == EINTR)
            ;
        return 1;
    }
    if (setsid () < 0 || chdir ("/") < 0 || (pid = fork ()) < 0) {
        unlinkat (t->place->dir, t->output->temp, 0);
        _exit (1);
    }
    if (pid == 0) {
        program_reset_signals ();
        if (t->nodes)
            read_live_part (t->place, site, t->nodes, t->lock, t->out);
        else
            read_live_fabric (t->place, site->pmm, t->out);
    }
    _exit (0);
}

int live_request (const struct site *site, const struct live_job *job,
                  struct error *err)
{
    struct live_place p;
    struct live_task t = { .place = &p, .output = &p.all, .lock = -1,
                           .out = -1 };
    struct stat st;
    int rc;

    if (!live_wanted (site))
        return 0;
    rc = open_live_directory (&p, site->live_fabric, job, err);
    /* A part needs a snapshot that may contain the location of the nodes. */
    if (rc == 0 && *p.part.name && job->nodes && *job->nodes
        && job->nodes[0] != '@' && !*site->node_map
        && fstatat (p.dir, p.all.name, &st, AT_SYMLINK_NOFOLLOW) == 0
        && S_ISREG (st.st_mode)) {
        t.nodes = job->nodes;
        t.output = &p.part;
    }
    if (rc == 0 && (rc = prepare_live_task (&t, err)) > 0)
        rc = start_live_task (&t, site, err);
    if (t.out >= 0)
        close (t.out);
    if (t.lock >= 0)
        close (t.lock);
    if (p.dir >= 0)
        close (p.dir);
    free (p.path);
    return rc;
}

/* Whether it was made in the last seconds; clocks of two hosts may differ. */
static bool is_live_file_fresh (const struct stat *st, int64_t max_age_s)
{
    return time (NULL) - st->st_mtime <= max_age_s;
}

/* Whether a reading is in progress. */
static bool is_read (const char *path)
{
    struct stat st;
    char *temp;
    bool yes;

    if (asprintf (&temp, "%s.new", path) < 0)
        return false;
    yes = lstat (temp, &st) == 0 && is_live_file_fresh (&st, LIVE_TIMEOUT_S);
    free (temp);
    return yes;
}

/* Open a recent snapshot that root has read; NULL with err. */
static FILE *open_fresh (const char *path, struct error *err)
{
    FILE *fp = file_open_trusted (path, 0, err);
    struct stat st;

    if (!fp || (fstat (fileno (fp), &st) == 0
                && is_live_file_fresh (&st, LIVE_EVERY_S + LIVE_TIMEOUT_S)))
        return fp;
    error_world (err, "%s is old: the live fabric could not be read", path);
    file_close_input (fp);
    return NULL;
}

FILE *live_open (const struct site *site, const struct live_job *job,
                 int wait_ms, struct error *err)
{
    const char *path = site->live_fabric;
    char *part = NULL;
    FILE *fp = NULL;
    uint64_t id;

    if (job_number (job, &id)
        && asprintf (&part, "%s.job%" PRIu64, path, id) < 0) {
        error_nomem (err);
        return NULL;
    }
    for (; wait_ms > 0 && (is_read (path) || (part && is_read (part)));
         wait_ms -= TICK_MS)
        poll (NULL, 0, TICK_MS);
    if (part)
        fp = open_fresh (part, NULL);
    free (part);
    return fp ? fp : open_fresh (path, err);
}
