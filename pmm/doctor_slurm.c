/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: Slurm's configuration. */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmm/doctor.h"
#include "ibquery/nodemap.h"
#include "prolog/slurm/child.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/slurmapi.h"
#include "util/text.h"

enum {
    PLUGIN_BYTES = 1 << 26,
    FEW_PORTS = 64,         /* for all srun processes of a machine */
    SCRIPT_BYTES = 1 << 16, /* greatest hook that is read */
    NAMES_SHOWN = 3,
};

static const char *conf (const struct doctor_site *p, const char *key)
{
    return controller_conf_get (&p->slurm, key);
}

enum verdict_status doctor_release (const struct doctor_site *p, char *text)
{
    const char *running = conf (p, "SLURM_VERSION");
    char ours[32];
    size_t len = (size_t)snprintf (ours, sizeof (ours), "%02u.%02u.",
                                   SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER),
                                   SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER));

    if (strncmp (running, ours, len) != 0)
        return say_fail (text,
                         "Slurm is %s, slurm-pmm was built against %sx: "
                         "build it anew",
                         running, ours);
    return say_ok (text, "Slurm %s", running);
}

/* The nodes of Slurm that have no endpoint in the snapshot or node map. */
static size_t strangers (const struct doctor_site *p, const struct nodemap *map,
                         const struct controller_nodes *nodes, char *names,
                         size_t size)
{
    struct nodemap_line line;
    size_t n = 0, len = 0;

    names[0] = '\0';
    for (size_t i = 0; i < nodes->n; i++) {
        const char *name = nodes->v[i].name;

        if (fabric_find_host (p->fabric, name) != FABRIC_NONE
            || nodemap_find (map, name, &line, 1) > 0)
            continue;
        if (n++ < NAMES_SHOWN && len < size)
            len += (size_t)snprintf (names + len, size - len, "%s%s",
                                     n > 1 ? ", " : "", name);
    }
    return n;
}

enum verdict_status doctor_nodes (const struct doctor_site *p, char *text)
{
    struct controller_nodes nodes;
    struct nodemap *map = NULL;
    struct error err;
    enum verdict_status level;
    char names[NAMES_SHOWN * 64 + 8];
    size_t n;

    if (!p->fabric)
        return say_unknown (text, "not checked: no snapshot");
    if (*p->site.node_map && !(map = nodemap_load (p->site.node_map, &err)))
        return say_unknown (text, "not checked: no NodeMap");
    if (controller_nodes (&nodes, &err) < 0) {
        nodemap_destroy (map);
        return say_unknown (text, "%s", err.text);
    }
    n = strangers (p, map, &nodes, names, sizeof (names));
    if (n > 0)
        level = say_warn (text,
                          "%zu of %zu are not in the snapshot (%s%s): read "
                          "it anew, or write a NodeMap",
                          n, nodes.n, names, n > NAMES_SHOWN ? ", ..." : "");
    else
        level = say_ok (text, "all %zu are in the snapshot", nodes.n);
    controller_nodes_clear (&nodes);
    nodemap_destroy (map);
    return level;
}

/*
 * The step
 */

/* Load the library as Slurm's PMIx plugin does. The plugin contains two
 * strings: the directory that it was configured with, and a name (libpmix.so in
 * 22.05). A directory that others can write to is ignored.
 */
static int load_pmix (FILE *out, const void *arg, struct error *err)
{
    static const char stem[] = "libpmix.so";
    FILE *fp = file_open_input (arg, err);
    size_t len;
    char *plugin = fp ? file_slurp (fp, PLUGIN_BYTES, &len, err) : NULL;
    const char *name = "libpmix.so.2";

    (void)out;
    file_close_input (fp);
    if (!plugin)
        return -1;
    for (const char *s = plugin; s < plugin + len; s += strlen (s) + 1)
        if (!strncmp (s, stem, strlen (stem)))
            name = s;
    for (const char *s = plugin; s < plugin + len; s += strlen (s) + 1) {
        char path[PATH_MAX];
        struct error no;

        snprintf (path, sizeof (path), "%s/%s", s, name);
        if (*s == '/' && file_open_trusted_dir (s, 0, &no) >= 0
            && dlopen (path, RTLD_LAZY))
            return 0;
    }
    if (dlopen (name, RTLD_LAZY))
        return 0;
    return error_world (err, "%s", dlerror ());
}

/* Find Slurm's plugin in the directories of PluginDir. */
static bool find_plugin (const char *dirs, const char *type,
                         char path[PATH_MAX])
{
    for (; *dirs; dirs += strspn (dirs, ":")) {
        size_t len = strcspn (dirs, ":");
        glob_t found;

        snprintf (path, PATH_MAX, "%.*s/mpi_%s*.so", (int)len, dirs, type);
        if (glob (path, 0, NULL, &found) == 0) {
            snprintf (path, PATH_MAX, "%s", found.gl_pathv[0]);
            globfree (&found);
            return true;
        }
        dirs += len;
    }
    return false;
}

/* The first wanted type of step that Slurm has; NULL: none. */
static const char *find_mpi (const struct doctor_site *p, char path[PATH_MAX])
{
    const char *const *type = site_mpi (&p->site)->types;

    while (*type && !find_plugin (conf (p, "PluginDir"), *type, path))
        type++;
    return *type;
}

enum verdict_status doctor_mpi (const struct doctor_site *p, char *text)
{
    const struct site_mpi *mpi = site_mpi (&p->site);
    char path[PATH_MAX];
    const char *type = find_mpi (p, path);
    struct error err;
    struct child_answer out;

    if (!type)
        return say_fail (text, "%s: there is no mpi_%s*.so in %s", mpi->none,
                         mpi->types[0], conf (p, "PluginDir"));
    if (type != mpi->types[0])
        return say_ok (text,
                       "%s: %s; there is no mpi_%s*.so: Mpi=%s saves a try "
                       "each time",
                       type, path, mpi->types[0], type);
    say_ok (text, "%s: %s", type, path);
    if (strcmp (type, "pmix") != 0)
        return VERDICT_OK;
    if (child_call (load_pmix, path, DOCTOR_WAIT_MS, &out, &err) < 0)
        return doctor_say (text, mpi->types[1] ? VERDICT_WARN : VERDICT_FAIL,
                           "%s; Slurm's plugin needs it, on all nodes; or say "
                           "Mpi=pmi2",
                           err.text);
    free (out.text);
    return VERDICT_OK;
}

/* For each step, Slurm's plugin creates a directory with a predictable name
 * there. If the name exists, the step fails.
 */
enum verdict_status doctor_pmix_directory (const struct doctor_site *p,
                                           char *text)
{
    static const char how[]
        = "any user can keep audits from a node: in mpi.conf say "
          "PMIxCliTmpDirBase=, a directory on all nodes that is root's alone "
          "to write (mode 755)";
    const char *base = conf (p, "PMIxCliTmpDirBase");
    const char *dir = *base ? base : conf (p, "TmpFS");
    char path[PATH_MAX];
    const char *type = find_mpi (p, path);
    struct stat st;

    if (!type || strcmp (type, "pmix") != 0)
        return say_ok (text, "PMIx is not used");
    if (!*dir || strchr (dir, '%') || stat (dir, &st) < 0)
        return *base ? say_ok (text, "%s; it is not on this machine", base)
                     : say_warn (text, "not set: %s", how);
    if (!S_ISDIR (st.st_mode) || st.st_uid != 0
        || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_warn (text, "%s%s: %s",
                         *base ? ""
                               : "not "
                                 "set, and TmpFS is ",
                         dir, how);
    if (!(st.st_mode & S_IXOTH))
        return say_warn (
            text, "%s: steps of users cannot enter it: chmod 755 %s", dir, dir);
    return say_ok (text, "%s is root's alone to write", dir);
}

enum verdict_status doctor_mpi_default (const struct doctor_site *p, char *text)
{
    const char *set = conf (p, "MpiDefault");
    const char *mpi = *set ? set : "none"; /* not shown since 23.11 */
    char path[PATH_MAX];
    const char *type = find_mpi (p, path);

    if (!type || strncmp (mpi, type, strlen (type)) == 0)
        return say_ok (text, "%s", mpi);
    return say_ok (text,
                   "%s: checks and audits say --mpi=%s; who runs pmm-probe "
                   "by hand must, too",
                   mpi, type);
}

/* Whether a comma-separated list contains the word; case does not matter. */
static bool listed (const char *list, const char *word)
{
    size_t len = strlen (word);

    for (; *list; list += strcspn (list, ",")) {
        list += strspn (list, ", ");
        if (strncasecmp (list, word, len) == 0 && strchr (", ", list[len]))
            return true;
    }
    return false;
}

enum verdict_status doctor_memlock (const struct doctor_site *p, char *text)
{
    const char *limits = conf (p, "PropagateResourceLimits");
    const char *except = conf (p, "PropagateResourceLimitsExcept");
    bool all = listed (limits, "ALL") || (!*limits && !*except);

    if ((all || *except || listed (limits, "MEMLOCK"))
        && !listed (except, "MEMLOCK"))
        return doctor_say (text,
                           strcmp (p->site.transport, "verbs") == 0
                               ? VERDICT_WARN
                               : VERDICT_OK,
                           "steps get the limit of locked memory of where they "
                           "were submitted: PropagateResourceLimitsExcept="
                           "MEMLOCK, and LimitMEMLOCK=infinity for slurmd");
    return say_ok (text, "steps have slurmd's limit of locked memory");
}

enum verdict_status doctor_ports (const struct doctor_site *p, char *text)
{
    const char *range = conf (p, "SrunPortRange");
    unsigned first, last;

    if (sscanf (range, "%u-%u", &first, &last) != 2 || last == 0)
        return say_ok (text, "any: no firewall may be between this machine and "
                             "the nodes");
    if (last < first + FEW_PORTS - 1)
        return say_warn (text,
                         "%s are few: each srun, those of checks and audits "
                         "too, needs three or more",
                         range);
    return say_ok (text, "%s", range);
}

/*
 * Audits
 */

static enum verdict_status
partition_level (const struct doctor_site *p,
                 const struct controller_partition *part, char *text)
{
    const char *name = p->site.audit_partition;
    unsigned need = ((unsigned)p->site.audit_timeout_ms + 59999) / 60000;

    if (!part->up)
        return say_fail (text, "%s is not up", name);
    if (part->minutes < need)
        return say_fail (text, "%s gives a job %s, AuditTimeout needs %u", name,
                         COUNTED (part->minutes, "minute"), need);
    if (part->outside.count > 0)
        return say_warn (text, "%s not in %s and never audited: %s%s",
                         COUNTED (part->outside.count, "node"), name,
                         part->outside.name[0],
                         part->outside.count > 1 ? ", ..." : "");
    if (part->open)
        return say_warn (text,
                         "users may run jobs in %s, which are never audited: "
                         "RootOnly=YES lets SlurmUser in as well",
                         name);
    return say_ok (text, "%s has all nodes", name);
}

enum verdict_status doctor_partition (const struct doctor_site *p, char *text)
{
    const char *name = p->site.audit_partition;
    struct controller_partition part;
    enum verdict_status level;
    struct error err;
    int rc = controller_partition (&part, name, &err);

    if (rc < 0)
        return say_unknown (text, "%s", err.text);
    if (rc == 0)
        return say_fail (text,
                         "there is no %s: PartitionName=%s Nodes=ALL "
                         "MaxTime=10 RootOnly=YES",
                         name, name);
    level = partition_level (p, &part, text);
    controller_partition_clear (&part);
    return level;
}

enum verdict_status doctor_preemption (const struct doctor_site *p, char *text)
{
    struct error err;

    switch (controller_evicts (p->site.audit_partition, &err)) {
    case 0:
        return say_ok (text, "audits preempt no jobs");
    case 1:
        return say_fail (text, "%s", err.text);
    default:
        return say_unknown (text, "%s", err.text);
    }
}

enum verdict_status doctor_association (const struct doctor_site *p, char *text)
{
    const char *enforce = conf (p, "AccountingStorageEnforce");
    struct error err;

    if (!listed (enforce, "associations"))
        return say_ok (text, "none is needed");
    switch (controller_associated (p->user, &err)) {
    case 0:
        return say_fail (text,
                         "%s may run no audit: sacctmgr add user %s "
                         "account=...",
                         p->user, p->user);
    case 1:
        return say_ok (text, "%s has one", p->user);
    default:
        return say_unknown (text, "%s", err.text);
    }
}

enum verdict_status doctor_comments (const struct doctor_site *p, char *text)
{
    bool slurmdbd = strcmp (conf (p, "AccountingStorageType"),
                            "accounting_storage/slurmdbd")
                    == 0;

    if (!slurmdbd)
        return say_warn (text,
                         "without slurmdbd no job gets any: "
                         "AccountingStorageType=accounting_storage/slurmdbd");
    if (!listed (conf (p, "AccountingStoreFlags"), "job_comment"))
        return say_warn (text, "users' checks leave none: "
                               "AccountingStoreFlags=job_comment");
    return say_ok (text, "slurmdbd keeps them");
}

/*
 * Hooks: ours, or a script that contains the name of ours.
 */

/* 1: yes; 0: no; -1: it could not be read. */
static int names (const char *path, const char *program)
{
    const char *base = strrchr (path, '/');
    char *script;
    FILE *fp;
    int rc;

    if (strcmp (base ? base + 1 : path, program) == 0)
        return access (path, X_OK) == 0 ? 1 : -1;
    if (!(fp = fopen (path, "r")))
        return -1;
    script = xcalloc (1, SCRIPT_BYTES);
    rc = fread (script, 1, SCRIPT_BYTES - 1, fp) == 0
             ? -1
             : strstr (script, program) != NULL;
    free (script);
    fclose (fp);
    return rc;
}

static enum verdict_status hook (const struct doctor_site *p, const char *key,
                                 const char *program, const char *without,
                                 char *text)
{
    const char *value = conf (p, key);
    bool unread = false;
    char first[64];
    glob_t found;

    if (!*value) { /* later releases number them */
        snprintf (first, sizeof (first), "%s[0]", key);
        value = conf (p, first);
    }
    if (!*value)
        return say_warn (text, "not set: %s; %s=.../%s", without, key, program);
    if (glob (value, 0, NULL, &found) != 0)
        return say_warn (text, "%s is not on this machine", value);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int rc = names (found.gl_pathv[i], program);

        if (rc > 0) {
            globfree (&found);
            return say_ok (text, "%s", value);
        }
        unread |= rc < 0;
    }
    globfree (&found);
    return unread
               ? say_unknown (text, "%s cannot be read, or not be run", value)
               : say_warn (text, "%s does not call %s: %s", value, program,
                           without);
}

enum verdict_status doctor_epilogslurmctld (const struct doctor_site *p,
                                            char *text)
{
    return hook (p, "EpilogSlurmctld", "pmm-epilogslurmctld",
                 "no job is audited when it ends", text);
}

/* A hook of Slurm, or the plugin in its place. */
static enum verdict_status job_hook (const struct doctor_site *p,
                                     const char *key, const char *program,
                                     const char *without, char *text)
{
    char path[PATH_MAX];
    char *dir = doctor_hooks (p);

    if (!dir)
        return hook (p, key, program, without, text);
    snprintf (path, sizeof (path), "%s/%s", dir, program);
    free (dir);
    if (access (path, X_OK) < 0)
        return say_fail (text, "Hooks in plugstack.conf: %s: %s", path,
                         strerror (errno));
    return say_ok (text, "the plugin runs %s", path);
}

enum verdict_status doctor_prolog (const struct doctor_site *p, char *text)
{
    return job_hook (p, "Prolog", "pmm-prolog",
                     "nobody looks at a job's ports before it", text);
}

enum verdict_status doctor_epilog (const struct doctor_site *p, char *text)
{
    return job_hook (p, "Epilog", "pmm-epilog",
                     "nobody looks at a job's ports after it", text);
}

enum verdict_status doctor_healthcheck (const struct doctor_site *p, char *text)
{
    const char *every = conf (p, "HealthCheckInterval");
    enum verdict_status level
        = hook (p, "HealthCheckProgram", "pmm-healthcheck",
                "nobody looks at the ports of idle nodes", text);

    if (level == VERDICT_OK && atoi (every) == 0)
        return say_warn (text, "it never runs: HealthCheckInterval=300");
    return level;
}
