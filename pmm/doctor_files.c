/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: our own files and the devices. */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ibquery/publish.h"
#include "pmm/doctor.h"
#include "pmm/inputs.h"
#include "ibquery/nodemap.h"
#include "prolog/serve/spool.h"
#include "prolog/slurm/child.h"
#include "util/alloc.h"

enum {
    OLD_S = 7 * 24 * 3600, /* of a snapshot: cables get moved */
    DAY_S = 24 * 3600,
    NOBODY = 65534,
};

enum verdict_status doctor_conf (const struct doctor_site *p, char *text)
{
    const char *path = p->path ? p->path : PMM_CONF_PATH;

    if (p->bad_site)
        return say_fail (text, "%s; the defaults are looked at instead",
                         p->site_error.text);
    if (access (path, F_OK) < 0)
        return say_warn (text, "there is no %s: all is as by default", path);
    return say_ok (text, "%s, Action=%s", path, p->site.action);
}

/* Whether everyone can read a published file, and only root and SlurmUser can
 * write it.
 */
static int published (const struct doctor_site *p, const char *path,
                      struct stat *st, struct error *err)
{
    FILE *fp = file_open_trusted (path, p->uid, err);
    int rc;

    if (!fp)
        return -1;
    rc = fstat (fileno (fp), st);
    fclose (fp);
    if (rc < 0)
        return error_errno (err, "%s", path);
    if (!(st->st_mode & S_IROTH))
        return error_input (err, "%s: users' jobs cannot read it: chmod 644",
                            path);
    return 0;
}

enum verdict_status doctor_snapshot (const struct doctor_site *p, char *text)
{
    int64_t looked;
    struct error err;
    struct stat st;

    if (access (p->site.snapshot, F_OK) < 0 && *p->site.live_fabric)
        return say_warn (text,
                         "there is none: prologs read %s, and there are no "
                         "audits",
                         p->site.live_fabric);
    if (published (p, p->site.snapshot, &st, &err) < 0)
        return say_fail (
            text, "%s%s", err.text,
            errno == ENOENT ? ": publish it by pmm fabric read --publish" : "");
    if (!p->fabric)
        return say_fail (text, "%s", p->fabric_error.text);
    if (p->fabric->part)
        return say_fail (text,
                         "%s is a part of the fabric, of %s: publish all of "
                         "it",
                         p->site.snapshot, COUNTED (p->fabric->nhosts, "host"));
    looked = publish_time (p->site.snapshot);
    if (looked > p->now || p->now - looked > OLD_S)
        return say_warn (text,
                         "%s is %jd days old: does the timer of pmm fabric "
                         "read run?",
                         p->site.snapshot, (intmax_t)(p->now - looked) / DAY_S);
    return say_ok (text, "%s, %s, fabric %.8s", p->site.snapshot,
                   COUNTED (p->fabric->nhosts, "host"), p->fabric->hash);
}

enum verdict_status doctor_baseline (const struct doctor_site *p, char *text)
{
    const char *path = p->site.baseline;
    struct baselines base = { 0 };
    enum verdict_status level;
    struct error err;
    struct stat st;

    if (!*path || access (path, F_OK) < 0)
        return say_warn (text,
                         "there is none: what got slower is WARN at most");
    if (published (p, path, &st, &err) < 0)
        return say_fail (text, "%s", err.text);
    if (!p->fabric)
        return say_unknown (text, "not checked: no snapshot");
    if (baselines_read (&base, p->fabric, &path, 1, &err) < 0)
        level = say_warn (text, "%s", err.text);
    else
        level = say_ok (text, "%s", path);
    baselines_clear (&base);
    return level;
}

enum verdict_status doctor_node_map (const struct doctor_site *p, char *text)
{
    const char *path = p->site.node_map;
    struct nodemap *map;
    struct error err;
    struct stat st;

    if (!*path)
        return say_ok (text, "none");
    if (published (p, path, &st, &err) < 0
        || !(map = nodemap_load (path, &err)))
        return say_fail (text, "%s", err.text);
    nodemap_destroy (map);
    return say_ok (text, "%s", path);
}

enum verdict_status doctor_verdicts (const struct doctor_site *p, char *text)
{
    const char *path = p->site.verdicts;
    struct error err;
    struct stat st;

    if (access (path, F_OK) < 0)
        return say_warn (text, "there is no %s: hooks look at ports alone",
                         path);
    if (published (p, path, &st, &err) < 0)
        return say_fail (text, "%s", err.text);
    if (p->now - st.st_mtime > DAY_S)
        return say_warn (text,
                         "%s is older than a day: does the audit service "
                         "run?",
                         path);
    return say_ok (text, "%s", path);
}

/* A directory in which only SlurmUser creates files. */
static enum verdict_status private_directory (const struct doctor_site *p,
                                              const char *path, char *text)
{
    struct stat st;

    if (stat (path, &st) < 0 || !S_ISDIR (st.st_mode))
        return say_warn (text, "%s is no directory: install -d -o %s -m 755 %s",
                         path, p->user, path);
    if (st.st_uid != p->uid)
        return say_fail (text, "%s does not belong to SlurmUser: chown %s %s",
                         path, p->user, path);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return say_fail (text, "others may write %s: chmod 755 %s", path, path);
    return say_ok (text, "%s", path);
}

enum verdict_status doctor_spool (const struct doctor_site *p, char *text)
{
    return private_directory (p, p->site.spool, text);
}

/* The process that holds a lock on a file; 0: none on this machine. It does not
 * try to take the lock, which could stop a service that is starting.
 */
static intmax_t holder (const struct stat *st)
{
    char line[256], where[64];
    FILE *fp = fopen ("/proc/locks", "r");
    intmax_t pid = 0, found = 0;

    snprintf (where, sizeof (where), "%02x:%02x:%ju", major (st->st_dev),
              minor (st->st_dev), (uintmax_t)st->st_ino);
    while (fp && !found && fgets (line, sizeof (line), fp)) {
        char file[64];

        if (sscanf (line, "%*d: FLOCK %*s %*s %jd %63s", &pid, file) == 2
            && strcmp (file, where) == 0)
            found = pid;
    }
    if (fp)
        fclose (fp);
    return found;
}

enum verdict_status doctor_service (const struct doctor_site *p, char *text)
{
    char path[PATH_MAX];
    struct stat st = { 0 };
    intmax_t pid;

    snprintf (path, sizeof (path), "%s/%s", p->site.spool, SPOOL_LOCK);
    if (access (p->site.spool, F_OK) < 0)
        return say_warn (text, "does not run: it has no spool");
    if (stat (path, &st) < 0 && errno != ENOENT)
        return say_unknown (text, "%s: %s", path, strerror (errno));
    if ((pid = holder (&st)) == 0)
        return say_warn (text,
                         "does not run on this machine: no job is audited "
                         "when it ends, and no idle node; pmm audit --serve");
    return say_ok (text, "runs as process %jd", pid);
}

enum verdict_status doctor_ledger (const struct doctor_site *p, char *text)
{
    const char *path = p->site.ledger;
    char *dir = xasprintf ("%.*s", (int)(strrchr (path, '/') - path), path);
    enum verdict_status level;
    struct stat st;

    level = private_directory (p, dir, text);
    free (dir);
    if (level != VERDICT_OK || stat (path, &st) < 0)
        return level;
    if (st.st_uid != p->uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_fail (text,
                         "%s is to be SlurmUser's alone to write: chown %s "
                         "%s, chmod 640 %s",
                         path, p->user, path, path);
    return say_ok (text, "%s", path);
}

/* Run pmm-probe as users do: it may lack a library. If it fails, its last line
 * says why.
 */
static int try_probe (FILE *out, const void *arg, struct error *err)
{
    int status;
    pid_t pid = fork ();

    (void)out;
    if (pid == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        if (getuid () != 0
            || (setgroups (0, NULL) == 0 && setgid (NOBODY) == 0
                && setuid (NOBODY) == 0))
            execl (arg, arg, "--version", (char *)NULL);
        perror (arg);
        _exit (EXIT_FAILURE);
    }
    if (pid < 0 || waitpid (pid, &status, 0) != pid)
        return error_errno (err, "no process for it");
    if (status != 0)
        _exit (EXIT_FAILURE);
    return 0;
}

enum verdict_status doctor_programs (const struct doctor_site *p, char *text)
{
    const char *const path[] = { p->site.srun, p->site.probe };
    static const char *const key[] = { "Srun", "Probe" };
    struct error err;
    struct child_answer said;

    for (size_t i = 0; i < sizeof (key) / sizeof (key[0]); i++)
        if (access (path[i], X_OK) < 0)
            return say_fail (text, "%s=%s: %s; it is to be there on all nodes",
                             key[i], path[i], strerror (errno));
    if (child_call (try_probe, path[1], DOCTOR_WAIT_MS, &said, &err) < 0)
        return say_fail (text, "Probe does not run: %s", err.text);
    free (said.text);
    return say_ok (text, "%s, %s", path[0], path[1]);
}

enum verdict_status doctor_umad (const struct doctor_site *p, char *text)
{
    enum verdict_status level = VERDICT_OK;
    glob_t devices;

    (void)p;
    if (glob ("/dev/infiniband/umad*", 0, NULL, &devices) != 0)
        return say_ok (text, "no device on this machine: the "
                             "fabric is read on another");
    doctor_say (text, level, "%s may be used", devices.gl_pathv[0]);
    for (size_t i = 0; i < devices.gl_pathc && level == VERDICT_OK; i++)
        if (access (devices.gl_pathv[i], R_OK | W_OK) < 0)
            level = say_warn (text, "%s: %s: pmm fabric read needs it, as root",
                              devices.gl_pathv[i], strerror (errno));
    globfree (&devices);
    return level;
}
