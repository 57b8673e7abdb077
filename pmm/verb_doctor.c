/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: what to change in a site's configuration. The checks of our own
 * files, of devices and of audits.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
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

#include "ibquery/links/accepted.h"
#include "ibquery/links/fewer.h"
#include "ibquery/live.h"
#include "ibquery/local.h"
#include "ibquery/publish.h"
#include "ibquery/snapshot.h"
#include "ibquery/spread.h"
#include "pmm/doctor.h"
#include "pmm/verb.h"
#include "prolog/audit/audit.h"
#include "prolog/serve/spool.h"
#include "prolog/slurm/child.h"
#include "util/alloc.h"
#include "util/json.h"
#include "util/terminal.h"
#include "util/text.h"
#ifdef HAVE_LEDGER
#include "prolog/ledger/ledger.h"
#endif

static struct doctor_words {
    bool ask, try;
    const char *sysfs;
} given = { .sysfs = LOCAL_SYSFS };

enum {
    DAY_S = 24 * 3600,
    OLD_S = 7 * DAY_S, /* of a snapshot: cables get moved */
    NOBODY = 65534,
    VAIN_MAX = 50, VAIN_MANY = 3, /* audits without a result, one after another */
};

/* Whether everyone can read a published file, and only root and SlurmUser can
 * write it.
 */
static int published (const struct doctor *d, const char *path,
                      struct stat *st, struct error *err)
{
    FILE *fp = file_open_trusted (path, d->uid, err);
    struct stat above;
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
    for (const char *s = path; (s = strchr (s + 1, '/'));) {
        char *dir = verb_text ("%.*s", (int)(s - path), path);

        rc = stat (dir, &above) == 0 && !(above.st_mode & S_IXOTH)
                 ? error_input (err,
                                "%s: users' jobs cannot enter it: chmod "
                                "755 %s",
                                dir, dir)
                 : 0;
        if (rc < 0)
            return -1;
    }
    return 0;
}

static enum doctor_level check_conf (struct doctor *d)
{
    const char *path = d->path ? d->path : PMM_CONF_PATH;
    struct stat st;

    if (d->bad_site)
        return say_fail (d, "%s; checked with the defaults instead",
                         d->site_error.text);
    if (access (path, F_OK) == 0)
        return published (d, path, &st, &d->err) < 0
                   ? say_error (d, DOCTOR_FAIL)
                   : say_ok (d, "%s, Action=%s", path, d->site.action);
    if (d->fabric)
        return say_warn (d, "%s not found: using defaults", path);
    doctor_todo (d, "pmm setup --shared DIR, a directory that all nodes will "
                 "see, shows what a site needs, and makes it with --apply");
    return say_fail (d, "there is no %s, and no snapshot", path);
}

static enum doctor_level check_snapshot (struct doctor *d)
{
    char path[TEXT_PATH];
    struct stat st;

    if (live_wanted (&d->site))
        return say_warn (d, "there is none: prologs read %s, and there are no "
                            "audits", d->site.live_fabric);
    for (const char *list = d->site.snapshot; text_next (&list, path);)
        if (published (d, path, &st, &d->err) < 0) {
            bool none = errno == ENOENT;
            char *dir = inputs_parent (path);

            if (stat (path, &st) == 0 && S_ISDIR (st.st_mode))
                doctor_todo (d, "Snapshot = %s/fabric in pmm.conf: it names a "
                             "file", path);
            else if (none && access (dir, F_OK) < 0)
                doctor_todo (d, "there is no %s: mount its file system, or pmm "
                             "setup --apply makes it", dir);
            else if (none)
                doctor_todo (d, "pmm fabric read --publish, as root on a node "
                                "with an InfiniBand port; then systemctl "
                                "enable --now pmm-fabric.timer there");
            return say_fail (d, "%s%s", d->err.text,
                             none ? ": publish it by pmm fabric read --publish"
                                  : "");
        }
    if (!d->fabric)
        return say_fail (d, "%s", d->fabric_error.text);
    if (d->fabric->part)
        return say_fail (d, "%s is a part of the fabric, of %s: publish all of "
                            "it", d->site.snapshot,
                         COUNTED (d->fabric->nhosts, "host"));
    for (const char *list = d->site.snapshot; text_next (&list, path);) {
        int64_t looked = publish_time (path);

        if (looked <= d->now && d->now - looked <= OLD_S)
            continue;
        doctor_todo (d, "systemctl enable --now pmm-fabric.timer, on the node "
                     "that reads the fabric; systemctl status pmm-fabric there "
                     "says why it does not");
        return say_warn (d, "%s is %jd days old: does the timer of pmm fabric "
                            "read run?",
                         path, (intmax_t)(d->now - looked) / DAY_S);
    }
    return say_ok (d, "%s, %s, fabric %.8s", d->site.snapshot,
                   COUNTED (d->fabric->nhosts, "host"), d->fabric->hash);
}

/* Ports of storage, of an NVSwitch and the like are not measured; a check does
 * not say so.
 */
static enum doctor_level check_ports (struct doctor *d)
{
    char left[256] = "";
    struct local_port *v;
    enum doctor_level level = DOCTOR_OK;
    size_t n, all = 0, measured = 0;

    if (local_ports (given.sysfs, &v, &n, &d->err) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    for (size_t i = 0; i < n; i++) {
        bool up = v[i].state == LOCAL_ACTIVE;
        const char *why = local_state_name (v[i].state);
        size_t len = strlen (left);

        if (v[i].layer != LAYER_INFINIBAND)
            continue;
        all++;
        if (up && fabric_find_guid (d->fabric, v[i].guid) != FABRIC_NONE) {
            measured++;
            continue;
        }
        if (up && !fabric_has_subnet (d->fabric, v[i].subnet))
            why = "its subnet has no snapshot";
        else if (up) {
            why = "not in the snapshot: read it again";
            level = DOCTOR_WARN;
        }
        snprintf (left + len, sizeof (left) - len, "%s%s/%u (%s)",
                  len > 0 ? ", " : "; not measured: ", v[i].device, v[i].port,
                  why);
    }
    free (v);
    return all == 0 ? say_ok (d, "none of InfiniBand on this machine")
                    : doctor_say (d, level, "%zu of this machine's %zu are "
                                  "measured%s", measured, all, left);
}

/* The PCI function of a device, as "0"; its slot is what stands before. */
static const char *pci_function (const struct local_port *p)
{
    const char *dot = strrchr (p->pcie.device, '.');

    return dot ? dot + 1 : "";
}

static bool are_in_one_slot (const struct local_port *a,
                             const struct local_port *b)
{
    size_t n = (size_t)(pci_function (a) - a->pcie.device);

    return n > 0 && !strncmp (a->pcie.device, b->pcie.device, n);
}

/* What the active ports of an adapter carry, and its slots: the functions of a
 * card with two slots (Socket Direct) have the port together, those of one with
 * two ports have the slot. Return false if it is not known, or if v[first] is
 * not the adapter's first.
 */
static bool sum_adapter (const struct local_port *v, size_t n, size_t first,
                         double *ports, double *slots)
{
    *ports = *slots = 0;
    for (size_t i = 0; i < n; i++) {
        bool port = v[i].state == LOCAL_ACTIVE, slot = true;

        if (i != first && (!v[i].image || v[i].image != v[first].image))
            continue;
        if (i < first || !*v[i].pcie.device || !v[i].pcie.able.lanes)
            return false;
        for (size_t k = first; k < i; k++)
            if (v[k].image == v[i].image) {
                slot &= !are_in_one_slot (&v[k], &v[i]);
                port &= v[k].port != v[i].port
                        || strcmp (pci_function (&v[k]), pci_function (&v[i]));
            }
        *ports += port ? rates_data_bits (&v[i].rate) : 0;
        *slots += slot ? pcie_usable (&v[i].pcie.able, PCIE_PAYLOAD) : 0;
    }
    return true;
}

/* Append a device to a list of some. */
static void add_device (char list[128], const struct local_port *p)
{
    size_t len = strlen (list);

    snprintf (list + len, 128 - len, "%s%s", len > 0 ? ", " : "", p->device);
}

/* Lost lanes are a fault; a slow slot is none, and an idle link may be slow. Of
 * several adapters the first one's rates are said.
 */
static enum doctor_level check_pcie (struct doctor *d)
{
    char lost[128] = "", slow[128] = "";
    const struct pcie *worse = NULL, *slot = NULL;
    double ports, slots, all = 0, carries = 0;
    enum doctor_level level;
    struct local_port *v;
    size_t n, known = 0;

    if (local_ports (given.sysfs, &v, &n, &d->err) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    for (size_t i = 0; i < n; i++) {
        const struct pcie *p = &v[i].pcie;

        if (v[i].layer != LAYER_INFINIBAND || !p->now.lanes)
            continue;
        known++;
        if (pcie_is_degraded (p) && p->now.lanes < p->could.lanes
            && (i == 0 || strcmp (v[i].device, v[i - 1].device))) {
            worse = worse ? worse : p;
            add_device (lost, &v[i]);
        }
        if (sum_adapter (v, n, i, &ports, &slots) && slots < ports) {
            if (!slot)
                carries = slots, all = ports, slot = p;
            add_device (slow, &v[i]);
        }
    }
    if (worse) {
        doctor_todo (d, "seat %s of this machine again, and look at its slot "
                        "and at dmesg", lost);
        level = say_warn (d, "%s: PCIe runs at %s of %s%s%s", lost,
                          PCIE_SHOWN (&worse->now), PCIE_SHOWN (&worse->could),
                          *worse->address ? ", at " : "", worse->address);
    }
    else if (slot)
        level = say_info (d, "%s: its slot allows %s: %.0f of %.0f Gb/s", slow,
                          PCIE_SHOWN (&slot->able), carries / 1e9, all / 1e9);
    else if (known > 0)
        level = say_ok (d, "as fast as both ends of each link allow");
    else
        level = say_ok (d, "not known of any adapter on this machine");
    free (v);
    return level;
}

/* A note: what a site with audits could use besides. */
static enum doctor_level check_rates (struct doctor *d)
{
    return strcmp (d->site.rates, "off")
               ? say_ok (d, "measured by %s", !strcmp (d->site.rates, "all")
                                                  ? "audits and checks"
                                                  : "audits")
               : say_info (d, "audits and checks time small messages, and do "
                              "not show a cable or PCIe at half its rate: "
                              "Rates=audits in pmm.conf lets audits measure it");
}

/* What the snapshot says of the service levels of all cables; a job's own paths
 * may have more choice.
 */
static int choose_doctor_level (struct doctor *d, struct spread_choice *c)
{
    return spread_choose (d->fabric, NULL, !strcmp (d->site.service, "rc"),
                          (unsigned int)d->site.service_level, c, &d->err);
}

static enum doctor_level check_level (struct doctor *d)
{
    enum doctor_level level;
    struct spread_choice c;
    char *text;

    if (choose_doctor_level (d, &c) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    if (!(text = verb_keep (spread_text (d->fabric, &c))))
        return say_ok (d, "messages of service level %u follow the forwarding "
                          "tables, as far as switches report", c.level);
    if (spread_keeps (&c.on[c.level]))
        level = say_ok (d, "probes use %s", text);
    else
        level = say_warn (d,
                          "probes use %.250s: what is slow between switches "
                          "is hard to find; in opensm or UFM, take a "
                          "level, as 1, out of ar_sl_mask and hbf_sl_mask "
                          "(0xfffd), and map it to a data VL in SL2VL: see "
                          "docs/fabric.md",
                          text);
    return level;
}

static enum doctor_level check_private (struct doctor *d)
{
    struct spread_choice c;

    if (choose_doctor_level (d, &c) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    return c.private_lfts == 0
               ? say_ok (d, "none")
               : say_warn (d, "%s may forward by other tables than those that "
                              "are read: paths are guessed",
                           COUNTED (c.private_lfts, "switch"));
}

/* Rails that hosts lack, and cables that carry no messages, in the snapshot. */
static enum doctor_level check_rails (struct doctor *d)
{
    const struct fabric *f = d->fabric;
    struct rails_fewer *fewer;
    size_t n, down = 0;
    char others[40] = "", *first;

    for (size_t i = 0; i < f->nlinks; i++)
        down += !fabric_is_up (f, &f->link[i]);
    n = accepted_fewer (f, d->site.snapshot, &fewer);
    verb_keep (fewer);
    first = n > 0 ? verb_keep (fewer_text (f, &fewer[0])) : NULL;
    if (n + down > 0)
        doctor_todo (d, "pmm fabric check");
    if (n > 1)
        snprintf (others, sizeof (others), "; and %s",
                  COUNTED (n - 1, "more rail"));
    if (down > 0)
        say_warn (d, "%s not active%s%.300s%s: pmm fabric check",
                  COUNTED (down, "cable"), first ? "; " : "",
                  first ? first : "", others);
    else if (first)
        say_warn (d, "%.300s%s: pmm fabric check", first, others);
    else
        say_ok (d, "no host has fewer than its peers, all cables are active");
    return n + down > 0 ? DOCTOR_WARN : DOCTOR_OK;
}

static enum doctor_level check_baseline (struct doctor *d)
{
    const char *path = d->site.baseline;
    struct baseline *base;
    struct stat st;

    if (!*path || access (path, F_OK) < 0) {
        if (d->audits)
            doctor_todo (d, "pmm audit --all, as %s, while all is well: audits "
                         "publish a baseline once they know all cables",
                         d->user);
        else
            doctor_todo (d, "srun -N NODES --ntasks-per-node=1 --mpi=%s "
                         "pmm-probe --output DIR, of all idle nodes while all "
                         "is well; then pmm baseline publish DIR",
                         d->mpi ? d->mpi : "pmix");
        return say_warn (d, "none yet: a slower cable is WARN at most");
    }
    if (published (d, path, &st, &d->err) < 0)
        return say_error (d, DOCTOR_FAIL);
    if (!d->fabric)
        return say_unknown (d, "not checked: no snapshot");
    if (!(base = inputs_baseline (d->fabric, path, NULL, &d->err)))
        return say_error (d, DOCTOR_WARN);
    baseline_destroy (base);
    return say_ok (d, "%s", path);
}

static enum doctor_level check_node_map (struct doctor *d)
{
    const char *path = d->site.node_map;
    struct error err = d->map_error;
    struct stat st;

    if (!*path)
        return say_ok (d, "none");
    return published (d, path, &st, &err) < 0 || !d->map
               ? say_fail (d, "%s", err.text)
               : say_ok (d, "%s", path);
}

#define SERVICE_TODO                                                          \
    "systemctl enable --now pmm-audit, on slurmctld's machine"

static enum doctor_level check_verdicts (struct doctor *d)
{
    const char *path = d->site.verdicts;
    struct stat st;

    if (access (path, F_OK) < 0)
        return doctor_say (d, d->audits ? DOCTOR_WARN : DOCTOR_INFO,
                           "there is no %s: hooks check ports only", path);
    if (published (d, path, &st, &d->err) < 0)
        return say_error (d, DOCTOR_FAIL);
    doctor_todo (d, SERVICE_TODO);
    return d->now - st.st_mtime > DAY_S
               ? say_warn (d, "%s is older than a day: does the audit service "
                              "run?", path)
               : say_ok (d, "%s", path);
}

/* A directory in which only SlurmUser creates files. */
static enum doctor_level private_directory (struct doctor *d,
                                              const char *path)
{
    struct stat st;

    if (stat (path, &st) < 0 || !S_ISDIR (st.st_mode))
        return say_warn (d, "%s is not a directory: pmm setup --apply, or "
                         "install -d -o %s -m 755 %s", path, d->user, path);
    if (st.st_uid != d->uid)
        return say_fail (d, "%s does not belong to SlurmUser: chown %s %s",
                         path, d->user, path);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return say_fail (d, "others may write %s: chmod 755 %s", path, path);
    return say_ok (d, "%s", path);
}

static enum doctor_level check_spool (struct doctor *d)
{
    return private_directory (d, d->site.spool);
}

static enum doctor_level check_reports (struct doctor *d)
{
    return *d->site.reports
               ? private_directory (d, d->site.reports)
               : doctor_say (d, DOCTOR_INFO, "no pages of audits are written: "
                                             "pmm.conf names no directory");
}

/* The process that holds a lock on a file; 0: none on this machine. It does not
 * try to take the lock, which could stop a service that is starting.
 */
static intmax_t lock_holder (const struct stat *st)
{
    char line[256], where[64], file[64];
    FILE *fp = fopen ("/proc/locks", "r");
    intmax_t pid = 0, found = 0;

    snprintf (where, sizeof (where), "%02x:%02x:%ju", major (st->st_dev),
              minor (st->st_dev), (uintmax_t)st->st_ino);
    while (fp && !found && fgets (line, sizeof (line), fp))
        if (sscanf (line, "%*d: FLOCK %*s %*s %jd %63s", &pid, file) == 2
            && strcmp (file, where) == 0)
            found = pid;
    if (fp)
        fclose (fp);
    return found;
}

/* The process of the service; 0: none on this machine. */
static intmax_t service_process (const struct doctor *d)
{
    char path[PATH_MAX];
    struct stat st;

    snprintf (path, sizeof (path), "%s/%s", d->site.spool, SPOOL_LOCK);
    return stat (path, &st) == 0 ? lock_holder (&st) : 0;
}

static enum doctor_level check_service (struct doctor *d)
{
    intmax_t pid = service_process (d);

    if (access (d->site.spool, X_OK) < 0 && errno != ENOENT)
        return say_unknown (d, "%s: %s", d->site.spool, strerror (errno));
    doctor_todo (d, SERVICE_TODO);
    if (access (d->site.spool, F_OK) < 0)
        return say_warn (d, "does not run: it has no spool");
    if (pid == 0)
        return say_warn (d, "does not run on this machine: no job is audited "
                            "when it ends, and no idle node; pmm audit "
                            "--serve");
    return say_ok (d, "runs as process %jd", pid);
}

static enum doctor_level check_ledger (struct doctor *d)
{
    const char *path = d->site.ledger;
    enum doctor_level level = private_directory (d, inputs_parent (path));
    struct stat st;

    if (level != DOCTOR_OK || stat (path, &st) < 0)
        return level;
    if (st.st_uid != d->uid || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_fail (
            d, "only SlurmUser may write %s: chown %s %s, chmod 640 %s", path,
            d->user, path, path);
    return say_ok (d, "%s", path);
}

/* Whether SlurmUser, by its own rights, and the service where it runs may write
 * to a directory: a unit of systemd may write nowhere else than it says.
 */
struct writing {
    const struct doctor *d;
    const char *key, *dir;
    intmax_t service; /* its process; 0: none */
};

static int try_access (const void *arg, void *answer, struct error *err)
{
    const struct writing *p = arg;
    const struct doctor *d = p->d;
    const struct passwd *pw = getpwuid (d->uid);
    char root[PATH_MAX];
    int fd;

    (void)answer;
    snprintf (root, sizeof (root), "/proc/%jd/root%s", p->service, p->dir);
    fd = p->service ? open (root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (geteuid () == 0 && pw && child_become (pw, err) < 0)
        return -1;
    if (geteuid () != d->uid)
        return error_world (err, "not checked: run as root or %s", d->user);
    if (access (p->dir, W_OK | X_OK) < 0)
        return error_input (err, "%s cannot write %s of %s: %s", d->user,
                            p->dir, p->key, strerror (errno));
    if (fd >= 0 && faccessat (fd, ".", W_OK | X_OK, 0) < 0)
        return error_input (err, "the service may not write %s of %s: %s: "
                            "systemctl edit pmm-audit, ReadWritePaths=%s",
                            p->dir, p->key, strerror (errno), p->dir);
    return 0;
}

static enum doctor_level check_access (struct doctor *d)
{
    const char *reports = d->site.reports;
    char *page = verb_text ("%s%s", reports, *reports ? "/" : "");
    const struct { const char *key, *path; } rows[] = {
        { "Baseline", d->site.baseline }, { "Verdicts", d->site.verdicts },
        { "Ledger", d->site.ledger },     { "Metrics", d->site.metrics },
        { "Reports", page },
    };
    intmax_t service = service_process (d);
    int rc = 0;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]) && rc == 0; i++) {
        char *dir = inputs_parent (rows[i].path);
        struct writing to = { d, rows[i].key, dir, 0 };

        if (*dir)
            rc = child_try (try_access, &to, DOCTOR_WAIT_MS, &d->err);
        if (rc == 0 && *dir && service) {
            to.service = service;
            rc = child_try (try_access, &to, DOCTOR_WAIT_MS, &d->err);
            if (rc < 0 && d->err.fault == ERROR_INPUT)
                doctor_todo (d, "%s; systemctl restart pmm-audit", d->err.text);
        }
        else if (rc < 0 && access (dir, F_OK) < 0)
            doctor_todo (d, "pmm setup --apply makes %s", dir);
        else if (rc < 0 && d->err.fault == ERROR_INPUT)
            doctor_todo (d, "if it is slurm-pmm's alone, chown %s %s; pmm "
                         "setup shows who should own what", d->user, dir);
    }
    return rc == 0 ? say_ok (d, "%s may write where pmm.conf says", d->user)
             : doctor_say (d, d->err.fault == ERROR_INPUT ? DOCTOR_FAIL
                                                          : DOCTOR_UNKNOWN,
                           "%s", d->err.text);
}

/* Run pmm-probe as users do: it may lack a library. If it fails, its last line
 * says why.
 */
static int try_probe (const void *arg, void *answer, struct error *err)
{
    int status;
    pid_t pid = fork ();

    (void)answer;
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

static enum doctor_level check_programs (struct doctor *d)
{
    const char *const path[] = { d->site.srun, d->site.probe };
    static const char *const key[] = { "Srun", "Probe" };

    for (size_t i = 0; i < sizeof (key) / sizeof (key[0]); i++)
        if (access (path[i], X_OK) < 0)
            return say_fail (d, "%s=%s: %s; all nodes need it",
                             key[i], path[i], strerror (errno));
    if (child_try (try_probe, path[1], DOCTOR_WAIT_MS, &d->err) < 0)
        return say_fail (d, "Probe does not run: %s", d->err.text);
    return say_ok (d, "%s, %s", path[0], path[1]);
}

static enum doctor_level check_umad (struct doctor *d)
{
    enum doctor_level level = DOCTOR_OK;
    glob_t devices;

    if (glob ("/dev/infiniband/umad*", 0, NULL, &devices) != 0)
        return say_ok (d, "no device on this machine: the fabric is read on "
                          "another");
    say_ok (d, "%s may be used", devices.gl_pathv[0]);
    for (size_t i = 0; i < devices.gl_pathc && level == DOCTOR_OK; i++)
        if (access (devices.gl_pathv[i], R_OK | W_OK) < 0)
            level = say_warn (d, "%s: %s: pmm fabric read needs it, as root",
                              devices.gl_pathv[i], strerror (errno));
    globfree (&devices);
    return level;
}

/*
 * Results of audits
 */

#ifdef HAVE_LEDGER
/* The ledger; NULL if there are no audits to check, which is OK, or with err.
 * Errors of its directory are reported by check_ledger.
 */
static struct ledger *open_ledger (struct doctor *d, enum doctor_level *level)
{
    bool bad = check_ledger (d) != DOCTOR_OK;

    if (bad || access (d->site.ledger, F_OK) < 0)
        *level = say_ok (d, "%s", bad ? "no ledger to look into"
                                      : "no audit yet");
    else if (!d->ledger
             && !(d->ledger = ledger_open (d->site.ledger, LEDGER_READ, &d->err)))
        *level = say_error (d, DOCTOR_UNKNOWN);
    return d->ledger;
}

/* The newest audits, up to the last that has a result: how many have none. */
static size_t count_vain (const struct ledger_rows *rows)
{
    size_t n = 0;

    while (n < rows->n && rows->audit[n].ended > 0 && rows->audit[n].job < 0)
        n++;
    return n;
}

static enum doctor_level check_audits (struct doctor *d)
{
    enum doctor_level level = DOCTOR_OK;
    struct ledger *l = open_ledger (d, &level);
    struct ledger_rows failed, begun, last;
    int64_t n = 0, made;
    const char *node;
    size_t vain;

    if (!l)
        return level;
    if (ledger_list (l, LEDGER_FAILED, d->now - DAY_S, 0, &failed, &d->err) < 0
        || ledger_list (l, LEDGER_BEGUN, d->now - DAY_S, d->now + DAY_S, &begun,
                        &d->err) < 0
        || ledger_list (l, LEDGER_AUDITS, VAIN_MAX, 0, &last, &d->err) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    if ((vain = count_vain (&last)) >= VAIN_MANY)
        return say_warn (d, "the last %zu%s have no result: %.200s: pmm ledger "
                            "missed", vain, vain == VAIN_MAX ? " or more" : "",
                         last.audit->sentence);
    made = (int64_t)begun.n;
    for (size_t i = 0; i < failed.n; i++)
        n += failed.failed[i].audits;
    if (n > made) /* an audit counts once per node at fault */
        n = made;
    if (n == 0)
        return say_ok (d, "%jd in the last day", (intmax_t)made);
    node = failed.failed->node;
    return doctor_say (d, 4 * n > made ? DOCTOR_WARN : DOCTOR_OK,
                       "%jd of %jd in the last day have no result, most for "
                       "%s%s%.200s: pmm ledger missed", (intmax_t)n,
                       (intmax_t)made, node, *node ? ": " : "",
                       failed.failed->cause);
}

static enum doctor_level check_audited_nodes (struct doctor *d)
{
    enum doctor_level level = DOCTOR_OK;
    struct ledger *l = open_ledger (d, &level);
    struct reports in = { .site = &d->site, .ledger = l, .fabric = d->fabric,
                          .nodes = &d->nodes };
    const struct ledger_fault *out = NULL;
    struct hostlist missed;
    struct ledger_rows faulty;
    char *names;
    size_t n = 0;

    if (!l)
        return level;
    if (!d->fabric)
        return say_unknown (d, "not checked: no snapshot");
    if (*d->site.node_map && !d->map)
        return say_unknown (d, "%s", d->map_error.text);
    if (!d->nodes.v)
        return say_unknown (d, "%s", d->slurm_error.text);
    in.node_of = verb_keep (nodemap_nodes (d->map, d->fabric));
    if (ledger_faulty (l, d->now, &faulty, &d->err) < 0
        || missed_nodes (&missed, &in, d->now, &d->err) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    names = verb_fold ((const char *const *)missed.name, missed.count);
    n = missed.count;
    hostlist_clear (&missed);
    if (n > 0)
        return say_warn (d, "not audited for a day or more: %s: %.200s",
                         COUNTED (n, "node"), names);
    for (size_t i = 0; i < faulty.n; i++)
        if (ledger_is_out (&faulty, faulty.fault[i].node, d->now)) {
            out = &faulty.fault[i];
            n++;
        }
    return n > 0 ? say_warn (d, "%zu left out for a while, as %s: %.200s", n,
                             out->node, out->cause)
                 : say_ok (d, "none is overdue or left out");
}
#endif

/*
 * The report
 */

/* In the order in which a site sets things up: the first that fails is next. */
static const struct doctor_check checks[] = {
    { "programs", 0, check_programs },
    { "slurmctld", 0, doctor_slurmctld },
    { "release", DOCTOR_SLURM, doctor_release },
    { "Mpi", DOCTOR_SLURM, doctor_mpi },
    { "MpiDefault", DOCTOR_SLURM, doctor_mpi_default },
    { "pmm.conf", 0, check_conf },
    { "umad", 0, check_umad },
    { "snapshot", 0, check_snapshot },
    { "ports", DOCTOR_FABRIC, check_ports },
    { "NodeMap", 0, check_node_map },
    { "nodes", DOCTOR_SLURM | DOCTOR_FABRIC, doctor_nodes },
    { "plugstack.conf", DOCTOR_SLURM, doctor_plugin },
    { "memlock", DOCTOR_SLURM, doctor_memlock },
    { "SrunPortRange", DOCTOR_SLURM, doctor_ports },
    { "compute nodes", DOCTOR_SLURM, doctor_ask_nodes },
    { "a check", DOCTOR_SLURM, doctor_try },
    { "baseline", 0, check_baseline },
    { "AuditPartition", DOCTOR_SLURM | DOCTOR_AUDITS, doctor_partition },
    { "preemption", DOCTOR_SLURM | DOCTOR_AUDITS, doctor_preemption },
    { "association", DOCTOR_SLURM | DOCTOR_AUDITS, doctor_association },
    { "PMIxCliTmpDirBase", DOCTOR_SLURM | DOCTOR_AUDITS,
      doctor_pmix_directory },
    { "ledger", DOCTOR_SLURM | DOCTOR_AUDITS, check_ledger },
    { "spool", DOCTOR_SLURM | DOCTOR_AUDITS, check_spool },
    { "Reports", DOCTOR_SLURM | DOCTOR_AUDITS, check_reports },
    { "SlurmUser", DOCTOR_SLURM | DOCTOR_AUDITS, check_access },
    { "EpilogSlurmctld", DOCTOR_SLURM | DOCTOR_AUDITS, doctor_hook,
      "pmm-epilogslurmctld", "no job is audited when it ends" },
    { "service", DOCTOR_SLURM | DOCTOR_AUDITS, check_service },
#ifdef HAVE_LEDGER
    { "audits", DOCTOR_SLURM, check_audits },
    { "audited nodes", DOCTOR_SLURM, check_audited_nodes },
#endif
    { "verdicts", 0, check_verdicts },
    { "Rates", 0, check_rates },
    { "service level", DOCTOR_FABRIC, check_level },
    { "private LFTs", DOCTOR_FABRIC, check_private },
    { "rails", DOCTOR_FABRIC, check_rails },
    { "PCIe", 0, check_pcie },
    { "topology", DOCTOR_SLURM, doctor_topology },
    { "comments", DOCTOR_SLURM, doctor_comments },
    { "Prolog", DOCTOR_SLURM | DOCTOR_JOBS, doctor_hook, "pmm-prolog",
      "a job's ports are not checked before it starts" },
    { "Epilog", DOCTOR_SLURM | DOCTOR_JOBS, doctor_hook, "pmm-epilog",
      "a job's ports are not checked after it ends" },
    { "HealthCheckProgram", DOCTOR_SLURM, doctor_hook, "pmm-healthcheck",
      "the ports of idle nodes are not checked" },
};

enum { CHECKS = sizeof (checks) / sizeof (checks[0]) };

static const char *const level_names[] = { "OK", "INFO", "WARN", "UNKNOWN",
                                           "FAIL" };

/* What a check said. */
struct said {
    const char *name;
    enum doctor_level level;
    char *text, *todo; /* todo: what to do about it */
};

static size_t run_checks (struct doctor *d, struct said *said)
{
    size_t n = 0;

    for (size_t i = 0; i < CHECKS; i++) {
        struct said *s = &said[n];

        if ((checks[i].kind & DOCTOR_SLURM) && !d->answers)
            continue;
        terminal_work (checks[i].name, 0, 0);
        d->check = &checks[i];
        d->todo[0] = '\0';
        s->name = checks[i].name;
        s->level = (checks[i].kind & DOCTOR_FABRIC) && !d->fabric
                       ? say_unknown (d, "not checked: no snapshot")
                       : checks[i].look (d);
        if ((checks[i].kind & DOCTOR_AUDITS) && !d->audits
            && s->level > DOCTOR_WARN)
            s->level = DOCTOR_WARN;
        s->text = pool_strdup (verb_pool, d->text);
        s->todo = verb_text ("%s: %s", s->name, *d->todo ? d->todo : d->text);
        n++;
    }
    return n;
}

/* The one thing to do now: what fails or is not known, in the order of the
 * checks, but first pmm.conf if it is bad: the others are of the defaults. Then
 * what could be better.
 */
static const char *next_of (const struct doctor *d, const struct said *said,
                            size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (said[i].level >= DOCTOR_UNKNOWN
            && (!d->bad_site || !strcmp (said[i].name, "pmm.conf")))
            return said[i].todo;
    for (size_t i = 0; i < n; i++)
        if (said[i].level == DOCTOR_WARN)
            return said[i].todo;
    return strcmp (d->site.rates, "off")
               ? "nothing: pmm policy explain says what follows from audits"
               : "nothing: pmm policy explain says what follows from audits; "
                 "to try: Rates=audits in pmm.conf";
}

/* The worst first, else in the order of the checks. */
static int report_doctor_checks (struct doctor *d, bool json)
{
    static const int exits[] = {
        [DOCTOR_OK] = EXIT_OK, [DOCTOR_INFO] = EXIT_OK,
        [DOCTOR_WARN] = EXIT_OK, [DOCTOR_UNKNOWN] = EXIT_WORLD,
        [DOCTOR_FAIL] = EXIT_FAIL,
    };
    int worst = DOCTOR_OK;
    struct said said[CHECKS];
    size_t n = run_checks (d, said);
    json_t *list = verb_keep_json (json_array ());

    terminal_end ();
    for (int level = DOCTOR_FAIL; level >= DOCTOR_OK; level--)
        for (size_t i = 0; i < n; i++) {
            const char *name = level_names[level];

            if ((int)said[i].level != level)
                continue;
            if (level > worst)
                worst = level;
            if (!json)
                printf ("%s%*s  %s: %s\n", terminal_level (name),
                        (int)(7 - strlen (name)), "", said[i].name,
                        said[i].text);
            json_add (list, json_pack ("{s:s, s:s, s:s}", "check",
                                       said[i].name, "level", name, "text",
                                       said[i].text));
        }
    if (json)
        need_ok (json_write_file ("doctor", NULL,
                                  json_pack ("{s:s, s:O, s:s}", "status",
                                             level_names[worst], "checks",
                                             list, "next",
                                             next_of (d, said, n)),
                                  stdout, &fault));
    else
        printf ("next: %s\n", next_of (d, said, n));
    return exits[worst];
}

/* Whether anybody began audits: the service leaves its lock, each a ledger. */
static bool has_audits (const struct site *site)
{
    char lock[PATH_MAX];

    snprintf (lock, sizeof (lock), "%s/%s", site->spool, SPOOL_LOCK);
    return access (lock, F_OK) == 0 || access (site->ledger, F_OK) == 0;
}

static int run_doctor (struct inputs *in)
{
    struct doctor d = {
        .path = in->conf, .now = time (NULL),
        .ask = given.ask || given.try, .try = given.try,
    };
    const struct passwd *pw;
    int status;

    if (site_read (&d.site, d.path, 1, &d.site_error) < 0) {
        d.bad_site = true;
        site_clear (&d.site);
        xcheck (conf_defaults (site_options, &d.site) < 0 ? NULL : &d);
    }
    d.audits = has_audits (&d.site);
    snprintf (d.user, sizeof (d.user), "%s", d.site.slurm_user);
    if ((pw = getpwnam (d.user))) /* slurmctld knows better */
        d.uid = pw->pw_uid;
    d.fabric = fabric_load (d.site.snapshot, &d.fabric_error);
    if (*d.site.node_map)
        d.map = nodemap_load (d.site.node_map, &d.map_error);
    doctor_ask_slurm (&d);
    status = report_doctor_checks (&d, in->json);
#ifdef HAVE_LEDGER
    ledger_close (d.ledger);
#endif
    site_clear (&d.site);
    site_clear (&d.plugin);
    child_free (d.slurm);
    controller_nodes_clear (&d.nodes);
    hostlist_clear (&d.idle);
    nodemap_destroy (d.map);
    fabric_destroy (d.fabric);
    return status;
}

#define FIELD(name) offsetof (struct doctor_words, name)
static const struct opt options[] = {
    { "ask", 0, NULL, opt_true, FIELD (ask),
      "also ask the idle nodes, by a job step on them" },
    { "try", 0, NULL, opt_true, FIELD (try),
      "also ask the idle nodes, and check two of them" },
    { "sysfs", 0, "DIR", opt_string, FIELD (sysfs),
      "where the kernel shows this machine's ports, not " LOCAL_SYSFS },
    { 0 },
};

const struct verb verb_doctor = {
    .group = VERBS_SITE, .name = "doctor",
    .help = "say what to change in the site's configuration",
    .may = TAKES_CONF | TAKES_JSON | TAKES_COLOUR,
    .options = options, .given = &given, .run = run_doctor,
};
