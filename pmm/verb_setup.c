/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm setup: the directories and files that a site needs on the controller.
 *
 * Notes: what is there is never changed. A directory is made, and a file is
 * written, only below directories that root alone may change, or its owner, so
 * nobody else can put a link in its place before it has its owner.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmm/verb.h"
#include "prolog/slurm/child.h"
#include "prolog/slurm/controller.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/site.h"
#include "util/text.h"
#include "util/user.h"

#define SYSTEMD_DIR "/etc/systemd/system"
#define PMIX_DIR "/var/spool/slurm-pmix" /* as in contrib/samples/mpi.conf */

enum { MAKE_MS = 60000 };

#define COUNT(array) (sizeof (array) / sizeof (array[0]))

static struct setup_words {
    char *shared; /* without a '/' at its end */
    const char *user;
    bool apply;
} given;

struct item {
    const char *path;
    char *text;  /* of a file; NULL: a directory, */
    mode_t mode; /* ... of this mode, */
    bool slurms; /* ... of SlurmUser; all others are root's, */
    bool either; /* ... and this one may be, */
    bool any;    /* ... or, if it is there, of anybody */
    enum { MISSING, THERE, REFUSED } state;
    struct error err; /* why it is refused */
};

struct setup {
    const char *conf; /* the path of pmm.conf */
    char *conf_dir;
    bool has_conf;    /* it is there */
    struct site site; /* as it is, or as it will be */
    struct controller_conf *slurm; /* slurmctld's; NULL: no answer */
    struct passwd user; /* SlurmUser; pw_name and numbers only */
    struct item *v;   /* in the order of making */
    size_t n;
};

static struct item *find_setup_item (const struct setup *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp (s->v[i].path, path))
            return &s->v[i];
    return NULL;
}

/* A path goes into several files, each with a syntax of its own. */
static void add_setup_item (struct setup *s, struct item item)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+@-";

    if (*item.path != '/' || item.path[strspn (item.path, plain)])
        die_input ("%s: need an absolute path of letters, digits and . _ + @ -",
                   item.path);
    if (find_setup_item (s, item.path))
        return;
    s->v = pool_grow (verb_pool, s->v, s->n, sizeof (*s->v));
    s->v[s->n++] = item;
}

static void add_dir (struct setup *s, const char *path, bool slurms,
                     mode_t mode)
{
    add_setup_item (
        s, (struct item){ .path = path, .slurms = slurms, .mode = mode });
}

/*
 * Contents
 */

/* The keys that a site must set, and SlurmUser's name. */
static void set_keys (struct setup *s)
{
    static const struct { const char *key, *name; } keys[] = {
        { "Snapshot", "fabric" },
        { "Baseline", "baseline.pmm" },
        { "Verdicts", "verdicts" },
    };

    for (size_t i = 0; given.shared && i < COUNT (keys); i++) {
        char *path = verb_text ("%s/%s", given.shared, keys[i].name);

        need_ok (conf_set (site_options, &s->site, keys[i].key, path, &fault));
    }
    need_ok (conf_set (site_options, &s->site, "SlurmUser", s->user.pw_name,
                       &fault));
}

static void write_conf (const struct setup *s, FILE *fp)
{
    static const char *const not[] = { "Conf", "Hooks", "Snapshot", "Baseline",
                                       "Verdicts", "SlurmUser" };

    fprintf (fp, "# The same on all nodes, login nodes too: pmm.conf(5).\n"
             "# These must be on a file system that all nodes see.\n"
             "Snapshot = %s\nBaseline = %s\nVerdicts = %s\n\n"
             "# whose files the hooks trust, as root's\n%sSlurmUser = %s\n\n"
             "# All other keys, with their defaults:\n", s->site.snapshot,
             s->site.baseline, s->site.verdicts,
             strcmp (s->user.pw_name, "slurm") ? "" : "#", s->user.pw_name);
    for (const struct conf_option *o = site_options; o->key; o++) {
        const char *value = o->value ? o->value : "";
        size_t i = 0;

        while (i < COUNT (not) && strcmp (not[i], o->key))
            i++;
        if (i == COUNT (not))
            fprintf (fp, "# %s\n#%s =%s%s\n", o->help, o->key,
                     *value ? " " : "", value);
    }
}

/* What the site's own slurm.conf says already is not said again. */
static void write_slurm_conf (const struct setup *s, FILE *fp)
{
    const char *part = s->site.audit_partition;
    struct controller_partition *there
        = s->slurm ? controller_partition (part, NULL) : NULL;
    const char *hook = controller_value (s->slurm, "EpilogSlurmctld");

    fprintf (fp, "# For slurm.conf: copy what the site wants, then restart "
             "slurmctld.\n\n"
             "# Audits of jobs that have ended: pmm-epilogslurmctld(8)\n"
             "%sEpilogSlurmctld=" PMM_PATH "-epilogslurmctld\n",
             *hook ? "# another one is set: have it call this one, too\n#"
                   : "");
    fprintf (fp, "# The partition that audits run in, for SlurmUser alone\n"
             "%sPartitionName=%s Nodes=ALL RootOnly=YES MaxTime=10\n\n",
             there && there->exists ? "# it is there\n#" : "", part);
    fputs ("# Checks of each node's own ports: pmm-prolog(8), "
           "pmm-healthcheck(8)\n#Prolog=" PMM_PATH "-prolog\n#Epilog=" PMM_PATH
           "-epilog\n#HealthCheckProgram=" PMM_PATH
           "-healthcheck\n#HealthCheckInterval=300\n", fp);
    child_free (there);
}

static void write_plugstack (const struct setup *s, FILE *fp)
{
    bool other = strcmp (s->conf, PMM_CONF_PATH) != 0;

    fprintf (fp, "# For plugstack.conf: srun --pmm-check. First install the "
             "plugin on all nodes.\nrequired %s%s%s\n", PMM_PLUGIN_PATH,
             other ? " conf=" : "", other ? s->conf : "");
}

static void write_mpi_conf (const struct setup *s, FILE *fp)
{
    (void)s;
    fputs ("# For mpi.conf, on all nodes: users cannot write here, as they can "
           "in /tmp.\nPMIxCliTmpDirBase=" PMIX_DIR "\n", fp);
}

/* What the units of the packages do not say: another pmm.conf, SlurmUser, and
 * where they may write.
 */
static void write_unit (const struct setup *s, FILE *fp, const char *command)
{
    fputs ("# Made by pmm setup\n[Service]\n", fp);
    if (strcmp (s->conf, PMM_CONF_PATH))
        fprintf (fp, "ExecStart=\nExecStart=" PMM_PATH " %s --conf %s\n",
                 command, s->conf);
    fputs ("ReadWritePaths=", fp);
    for (size_t i = 0; i < s->n; i++)
        if (s->v[i].slurms)
            fprintf (fp, " -%s", s->v[i].path);
    fputc ('\n', fp);
}

static void write_fabric_unit (const struct setup *s, FILE *fp)
{
    write_unit (s, fp, "fabric read --publish");
}

static void write_audit_unit (const struct setup *s, FILE *fp)
{
    write_unit (s, fp, "audit --serve");
    fprintf (fp, "User=%s\nGroup=%ju\n", s->user.pw_name,
             (uintmax_t)s->user.pw_gid);
}

static void add_setup_file (struct setup *s, const char *path,
                            void (*write) (const struct setup *s, FILE *fp))
{
    struct item item = { .path = path };
    size_t len;
    FILE *fp = xcheck (open_memstream (&item.text, &len));

    write (s, fp);
    fclose (fp);
    verb_keep (item.text);
    add_setup_item (s, item);
}

/* Whether a path is this directory, or below it. */
static bool is_in (const char *path, const char *dir)
{
    size_t len = strlen (dir);

    return !strncmp (path, dir, len) && (!path[len] || path[len] == '/');
}

/* Whether the packages' units do as they are. */
static bool units_do (const struct setup *s)
{
    static const char *const known[] = { "/var/lib/slurm-pmm",
                                         "/shared/slurm-pmm",
                                         "/var/spool/slurm-pmm" };

    for (size_t i = 0; i < s->n; i++) {
        size_t k = 0;

        while (k < COUNT (known) && !is_in (s->v[i].path, known[k]))
            k++;
        if (s->v[i].slurms && k == COUNT (known))
            return false;
    }
    return !strcmp (s->user.pw_name, "slurm")
           && !strcmp (s->conf, PMM_CONF_PATH);
}

static void list_items (struct setup *s)
{
    static const struct {
        const char *dir, *name; /* dir "": that of pmm.conf */
        void (*write) (const struct setup *s, FILE *fp);
    } files[] = {
        { "", "plugstack.conf", write_plugstack },
        { "", "slurm.conf", write_slurm_conf },
        { "", "mpi.conf", write_mpi_conf },
        { SYSTEMD_DIR "/pmm-fabric.service.d", "slurm-pmm.conf",
          write_fabric_unit },
        { SYSTEMD_DIR "/pmm-audit.service.d", "slurm-pmm.conf",
          write_audit_unit },
    };
    const char *const slurms[] = { s->site.baseline, s->site.verdicts,
                                   s->site.ledger };
    char path[TEXT_PATH];

    add_dir (s, s->conf_dir, false, 0755);
    if (access (s->conf, F_OK) < 0) /* first: it has the answers, next time */
        add_setup_file (s, s->conf, write_conf);
    for (size_t i = 0; i < COUNT (slurms); i++)
        if (*slurms[i])
            add_dir (s, inputs_parent (slurms[i]), true, 0755);
    if (*s->site.metrics) /* maybe the collector's */
        add_setup_item (s,
                        (struct item){ .path = inputs_parent (s->site.metrics),
                                       .slurms = true,
                                       .mode = 0755,
                                       .any = true });
    if (*s->site.reports)
        add_dir (s, s->site.reports, true, 0755);
    add_dir (s, s->site.spool, true, 0700);
    for (const char *list = s->site.snapshot; text_next (&list, path);)
        add_setup_item (s, (struct item){ .path = inputs_parent (path),
                                          .slurms = true,
                                          .mode = 0755,
                                          .either = true });
    if (!*controller_value (s->slurm, "PMIxCliTmpDirBase"))
        add_dir (s, PMIX_DIR, false, 0755);
    for (size_t i = 0; i < COUNT (files); i++) {
        const char *dir = *files[i].dir ? files[i].dir : s->conf_dir;
        char *file = verb_text ("%s/%s", dir, files[i].name);

        if (!*files[i].dir)
            add_setup_file (s, file, files[i].write);
        else if (access (SYSTEMD_DIR, F_OK) == 0 && !units_do (s)) {
            add_dir (s, dir, false, 0755);
            add_setup_file (s, file, files[i].write);
        }
    }
}

/*
 * Looking
 */

/* Whether only root, or the item's owner, may change the directory that it is
 * in; err tells if not. One that is to be made counts.
 */
static bool in_safe_place (const struct setup *s, struct item *it)
{
    char *dir = inputs_parent (it->path);
    const struct item *made = find_setup_item (s, dir);
    bool safe = made && made->state == MISSING && it->slurms >= made->slurms;
    int fd = -1;

    if (!safe
        && (fd = file_open_trusted_dir (dir, it->slurms ? s->user.pw_uid : 0,
                                        &it->err)) < 0
        && errno == ENOENT)
        error_world (&it->err, "there is no %s: mount its file system, or make "
                     "it", dir);
    if (fd >= 0)
        close (fd);
    return safe || fd >= 0;
}

static void look_at (const struct setup *s, struct item *it)
{
    uid_t owner = it->slurms ? s->user.pw_uid : 0;
    const char *name = it->slurms ? s->user.pw_name : "root";
    struct stat st;
    FILE *fp;
    int fd;

    it->state = REFUSED;
    if (lstat (it->path, &st) < 0) {
        if (errno != ENOENT && errno != ENOTDIR)
            error_errno (&it->err, "%s", it->path);
        else if (in_safe_place (s, it))
            it->state = MISSING;
        return;
    }
    if (it->any) { /* pmm doctor says if SlurmUser cannot write there */
        it->state = THERE;
        return;
    }
    if (it->text) { /* may be another one, but no link and no others' */
        if ((fp = file_open_trusted (it->path, 0, &it->err)))
            it->state = THERE;
        file_close_input (fp);
        return;
    }
    if ((fd = file_open_trusted_dir (it->path, owner, &it->err)) < 0)
        return;
    if (fstat (fd, &st) < 0)
        error_errno (&it->err, "%s", it->path);
    else if (st.st_uid != owner && !(it->either && st.st_uid == 0))
        error_world (&it->err, "%s belongs to user %s, not to %s: if it is "
                     "for slurm-pmm alone, chown %s %s", it->path,
                     USER (st.st_uid), name, name, it->path);
    else if (it->mode & ~st.st_mode & 0055)
        error_world (&it->err, "not all users can read %s: chmod 755 %s",
                     it->path, it->path);
    else
        it->state = THERE;
    close (fd);
}

/*
 * Making
 */

struct making {
    const struct setup *s;
    const struct item *it;
};

static int make_as_user (const void *arg, void *answer, struct error *err)
{
    const struct making *m = arg;

    (void)answer;
    umask (0);
    if (child_become (&m->s->user, err) < 0)
        return -1;
    return mkdir (m->it->path, m->it->mode) == 0
               ? 0
               : error_errno (err, "%s cannot make %s", m->s->user.pw_name,
                              m->it->path);
}

/* Make it in the directory `at`, which root alone may change. */
static int make_as_root (const struct setup *s, const struct item *it, int at)
{
    const char *name = strrchr (it->path, '/') + 1;
    int fd, rc = 0;

    if (mkdirat (at, name, 0700) < 0)
        return error_errno (&fault, "cannot make %s", it->path);
    fd = openat (at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0
        || (it->slurms && fchown (fd, s->user.pw_uid, s->user.pw_gid) < 0)
        || fchmod (fd, it->mode) < 0) { /* root is nobody on a file server */
        rc = error_errno (&fault, "%s cannot be given to %s: on its server, "
                          "install -d -o %s -m 755", it->path,
                          s->user.pw_name, s->user.pw_name);
        unlinkat (at, name, AT_REMOVEDIR);
    }
    if (fd >= 0)
        close (fd);
    return rc;
}

/* Where SlurmUser may change the way to it, SlurmUser makes it: a link there
 * must not have root make it elsewhere.
 */
static int make_dir (const struct setup *s, const struct item *it)
{
    struct making making = { s, it };
    char *dir = inputs_parent (it->path);
    int at = file_open_trusted_dir (dir, 0, &fault), rc = -1;

    if (at >= 0) {
        rc = make_as_root (s, it, at);
        close (at);
    }
    else if (it->slurms)
        rc = child_try (make_as_user, &making, MAKE_MS, &fault);
    return rc;
}

static int make_setup_file (const struct setup *s, const struct item *it)
{
    struct outfile *out;

    if (!it->text)
        return make_dir (s, it);
    if (!(out = file_create_new (it->path, &fault)))
        return -1;
    fputs (it->text, file_stream (out));
    return file_commit (out, &fault);
}

/*
 * The report
 */

/* The lines of a file that are no comments. */
static void show_text (const char *text)
{
    while (*text) {
        int len = (int)strcspn (text, "\n");

        if (len > 0 && *text != '#')
            printf ("             %.*s\n", len, text);
        text += len + (text[len] == '\n');
    }
}

static void show_setup_item (const struct setup *s, const struct item *it)
{
    if (it->state == REFUSED)
        printf ("refused      %s\n", it->err.text);
    else if (it->state == THERE)
        printf ("is there     %s\n", it->path);
    else if (!it->text)
        printf ("%s %s, of %s, mode %o\n",
                given.apply ? "made        " : "would make  ", it->path,
                it->slurms ? s->user.pw_name : "root", it->mode);
    else {
        printf ("%s %s\n", given.apply ? "wrote       " : "would write ",
                it->path);
        show_text (it->text);
    }
}

static json_t *setup_item_json (const struct setup *s, const struct item *it)
{
    return json_pack (
        "{s:s, s:s, s:s, s:o, s:s?}", "path", it->path, "state",
        it->state == REFUSED ? "refused"
        : it->state == THERE ? "there"
        : given.apply        ? "made"
                             : "missing",
        "owner", it->slurms ? s->user.pw_name : "root", "text",
        it->text ? json_string (it->text) : json_null (), "why",
        it->state == REFUSED ? it->err.text : NULL);
}

static int report_setup_items (struct setup *s, struct inputs *in)
{
    size_t refused = 0, missing = 0;
    json_t *items = verb_keep_json (json_array ());

    for (size_t i = 0; i < s->n; i++) {
        look_at (s, &s->v[i]);
        refused += s->v[i].state == REFUSED;
        missing += s->v[i].state == MISSING;
    }
    given.apply &= refused == 0;
    for (size_t i = 0; i < s->n; i++) {
        if (given.apply && s->v[i].state == MISSING)
            need_ok (make_setup_file (s, &s->v[i]));
        if (!in->json)
            show_setup_item (s, &s->v[i]);
        json_add (items, setup_item_json (s, &s->v[i]));
    }
    if (in->json)
        inputs_put_json (in, "setup", NULL,
                         json_pack ("{s:s, s:s, s:b, s:O}", "conf", s->conf,
                                    "slurm_user", s->user.pw_name, "applied",
                                    given.apply, "items", items));
    if (in->json)
        return refused > 0 ? EXIT_WORLD : EXIT_OK;
    if (!given.shared && !s->has_conf)
        printf ("note: if not all nodes see %s: pmm setup --shared DIR, on a "
                "file system that they share\n", s->site.snapshot);
    if (refused > 0)
        printf ("next: correct what is refused; nothing was done\n");
    else if (missing > 0 && !given.apply)
        printf ("next: nothing was done yet: say it again with --apply\n");
    else
        printf ("next: pmm doctor\n");
    return refused > 0 ? EXIT_WORLD : EXIT_OK;
}

/*
 * The verb
 */

/* SlurmUser as slurmctld says, or as --slurm-user or pmm.conf do where it does
 * not answer.
 */
static void find_user (struct setup *s, bool quiet)
{
    static char name[CONTROLLER_NAME];
    const char *wanted = given.user ? given.user : s->site.slurm_user;
    struct error err;
    struct passwd *pw;
    uid_t uid;

    if ((s->slurm = controller_conf (&err))
        && controller_user (&uid, name, &err) == 0) {
        if (given.user && strcmp (given.user, name))
            die_input ("--slurm-user: slurmctld says that it is %s", name);
        if (!quiet)
            printf ("SlurmUser is %s, as slurmctld says\n", name);
    }
    else {
        snprintf (name, sizeof (name), "%s", wanted);
        if (!quiet)
            printf ("note: %s; SlurmUser is taken to be %s (--slurm-user)\n",
                    err.text, SHOWN (name));
    }
    if (!(pw = getpwnam (name)))
        die_world ("there is no user %s: name SlurmUser by --slurm-user", name);
    s->user = (struct passwd){ .pw_name = name, .pw_uid = pw->pw_uid,
                               .pw_gid = pw->pw_gid };
}

static void read_setup_site (struct setup *s, const char *conf)
{
    char *dir;

    s->conf = conf ? conf : PMM_CONF_PATH;
    if (*s->conf != '/')
        die_input ("--conf: need an absolute path");
    s->conf_dir = inputs_parent (s->conf);
    s->has_conf = access (s->conf, F_OK) == 0;
    if (s->has_conf)
        need_ok (site_read (&s->site, s->conf, 1, &fault));
    else
        need_ok (conf_defaults (site_options, &s->site));
    if (!s->has_conf || !given.shared)
        return;
    dir = inputs_parent (s->site.snapshot);
    if (strcmp (dir, given.shared))
        die_input ("--shared: %s has Snapshot = %s: change it there, or leave "
                   "the option out", s->conf, s->site.snapshot);
}

static int run_setup (struct inputs *in)
{
    struct setup s = { 0 };
    int status;

    if (given.apply && geteuid () != 0)
        die_world ("--apply makes directories of several users: run it as "
                   "root");
    read_setup_site (&s, in->conf);
    find_user (&s, in->json);
    if (!s.has_conf)
        set_keys (&s);
    list_items (&s);
    status = report_setup_items (&s, in);
    child_free (s.slurm);
    site_clear (&s.site);
    return status;
}

static int set_shared (void *field, const char *value, struct error *err)
{
    size_t len = strlen (value);

    if (*value != '/')
        return error_input (err, "need an absolute path");
    while (len > 1 && value[len - 1] == '/')
        len--;
    *(char **)field = xasprintf ("%.*s", (int)len, value);
    return 0;
}

#define FIELD(name) offsetof (struct setup_words, name)
static const struct opt options[] = {
    { "shared", 0, "DIR", set_shared, FIELD (shared),
      "directory of snapshot, baseline and verdicts, which all nodes see" },
    { "slurm-user", 0, "NAME", opt_string, FIELD (user),
      "the name of SlurmUser, if slurmctld does not answer" },
    { "apply", 0, NULL, opt_true, FIELD (apply),
      "do it (default: only show what would be done)" },
    { 0 },
};

const struct verb verb_setup = {
    .group = VERBS_SITE, .name = "setup",
    .help = "make the directories and files that a site needs",
    .may = TAKES_CONF | TAKES_JSON,
    .options = options, .given = &given, .run = run_setup,
};
