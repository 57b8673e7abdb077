/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: Slurm's configuration, plugstack.conf and the hooks. */
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
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "pmm/doctor.h"
#include "pmm/verb.h"
#include "prolog/slurm/child.h"
#include "util/alloc.h"
#include "util/file.h"
#include "util/json.h"
#include "util/slurmapi.h"
#include "util/sort.h"

enum {
    PLUGIN_BYTES = 1 << 26,
    FEW_PORTS = 64,         /* for all srun processes of a machine */
    SCRIPT_BYTES = 1 << 16, /* greatest hook that is read */
    SCRIPT_LINE = 4096,
    TOPOLOGY_BYTES = 1 << 24,
    NAMES_SHOWN = 3,
    YAML_RELEASE = 2505,    /* of Slurm, that reads topology.yaml */
};

static const char plugin_name[] = "spank_pmm.so";

static const char *conf (const struct doctor *d, const char *key)
{
    return controller_value (d->slurm, key);
}

static const char *conf_path (const struct doctor *d)
{
    return d->path ? d->path : PMM_CONF_PATH;
}

/* Whether a file of Slurm's has a line that begins so. */
static bool has_line (const char *path, const char *begin)
{
    char line[SCRIPT_LINE];
    size_t len = strlen (begin);
    FILE *fp = fopen (path, "re");
    bool found = false;

    while (fp && !found && fgets (line, sizeof (line), fp)) {
        const char *s = line + strspn (line, " \t");

        found = !strncasecmp (s, begin, len) && strchr (" \t\r\n=", s[len]);
    }
    if (fp)
        fclose (fp);
    return found;
}

/* To do: add what pmm setup has written beside pmm.conf to a file of Slurm's, if
 * it is there; `what` takes it out: "cat", or "grep ^KEY".
 */
static void add_to (struct doctor *d, const char *what, const char *name,
                    const char *file, const char *then)
{
    char *from = verb_text ("%s/%s", inputs_parent (conf_path (d)), name);

    if (access (from, F_OK) == 0)
        doctor_todo (d, "%s %s >>%s%s", what, from, file, then);
}

/* The same with a line that slurmctld has not; it may be there, and not read. */
static void add_line (struct doctor *d, const char *begin, const char *what,
                      const char *name, const char *file, const char *daemons)
{
    char *then = verb_text ("%s; restart %s",
                            strcmp (name, "slurm.conf") ? ", on all nodes" : "",
                            daemons);

    if (has_line (file, begin))
        doctor_todo (d, "restart %s: %s in %s is not in force yet", daemons,
                     begin, file);
    else
        add_to (d, what, name, file, then);
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

/* Find a plugin by a pattern for its file name in the directories of PluginDir.
 */
static bool find_plugin (const struct doctor *d, const char *pattern,
                         char path[PATH_MAX])
{
    for (const char *dirs = conf (d, "PluginDir"); *dirs;) {
        size_t len = strcspn (dirs, ":");
        glob_t found;

        snprintf (path, PATH_MAX, "%.*s/%.256s", (int)len, dirs, pattern);
        if (glob (path, 0, NULL, &found) == 0) {
            snprintf (path, PATH_MAX, "%s", found.gl_pathv[0]);
            globfree (&found);
            return true;
        }
        dirs += len;
        dirs += strspn (dirs, ":");
    }
    return false;
}

/* Its default is beside slurm.conf, and is not told; it need not be there. */
static void find_plugstack (struct doctor *d)
{
    const char *path = conf (d, "PlugStackConfig");
    char *dir = inputs_parent (conf (d, "SLURM_CONF"));

    snprintf (d->plugstack, sizeof (d->plugstack), "%s%s", *path ? path : dir,
              *path ? "" : "/plugstack.conf");
    if (access (d->plugstack, F_OK) == 0 || errno != ENOENT)
        d->stacked = plugstack_find (d->plugstack, plugin_name, &d->line,
                                     &d->plugin_error);
}

/* The first names of a list, for a message, and how many it has. */
struct some {
    char names[NAMES_SHOWN * 64 + 8];
    size_t n, len;
};

static void add_shown_name (struct some *s, const char *name)
{
    bool shown = s->n++ < NAMES_SHOWN;

    if (s->n <= NAMES_SHOWN + 1 && s->len < sizeof (s->names))
        s->len += (size_t)snprintf (s->names + s->len,
                                    sizeof (s->names) - s->len, "%s%s",
                                    s->n > 1 ? ", " : "", shown ? name : "...");
}

static void find_mpi (struct doctor *d);

void doctor_ask_slurm (struct doctor *d)
{
    char *rest = d->line.words, *word;

    if (!(d->slurm = controller_conf (&d->slurm_error))
        || controller_user (&d->uid, d->user, &d->slurm_error) < 0)
        return;
    d->answers = true;
    find_mpi (d);
    if (controller_nodes (&d->nodes, &d->slurm_error) < 0)
        d->nodes.v = NULL;
    if (d->bad_site || site_read (&d->plugin, d->path, 1, NULL) < 0)
        return;
    find_plugstack (d);
    if (d->stacked <= 0)
        return;
    while (!d->bad_plugin && (word = strsep (&rest, " ")))
        d->bad_plugin = *word && conf_set_word (site_options, &d->plugin, word,
                                                &d->plugin_error) < 0;
    if (d->bad_plugin || site_check (&d->plugin, &d->plugin_error) < 0) {
        d->bad_plugin = true;
        error_prefix (&d->plugin_error, "%s:%d", d->line.file, d->line.lineno);
    }
}

enum doctor_level doctor_slurmctld (struct doctor *d)
{
    if (!d->answers) {
        doctor_todo (d, "systemctl status slurmctld, on its machine: %s",
                     d->slurm_error.text);
        return say_unknown (d, "%s; what depends on it was not checked",
                            d->slurm_error.text);
    }
    doctor_todo (d, "SlurmUser = %s in %s, as in slurm.conf", d->user,
                 conf_path (d));
    if (d->uid != 0 && strcmp (d->site.slurm_user, d->user) != 0)
        return say_fail (d, "SlurmUser is %s, and '%s' in pmm.conf: hooks will "
                            "ignore what it publishes",
                         d->user, d->site.slurm_user);
    return say_ok (d, "cluster %s answers, SlurmUser is %s",
                   conf (d, "ClusterName"), d->user);
}

enum doctor_level doctor_release (struct doctor *d)
{
    const char *running = conf (d, "SLURM_VERSION");
    char ours[32];
    int len = snprintf (ours, sizeof (ours), "%02u.%02u.",
                        SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER),
                        SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER));

    if (strncmp (running, ours, (size_t)len) != 0)
        return say_fail (d, "Slurm is %s, slurm-pmm was built against %sx: "
                            "rebuild it", running, ours);
    return say_ok (d, "Slurm %s", running);
}

/* Whether all nodes of Slurm have an endpoint in the snapshot or node map. Those
 * outside AuditPartition need none: the site knows them.
 */
enum doctor_level doctor_nodes (struct doctor *d)
{
    struct some missing = { 0 }, others = { 0 }, hosts = { 0 };
    struct nodemap_line line;
    struct controller_partition *part;

    if (*d->site.node_map && !d->map)
        return say_unknown (d, "not checked: no NodeMap");
    if (!d->nodes.v)
        return say_unknown (d, "%s", d->slurm_error.text);
    part = *d->site.audit_partition
               ? controller_partition (d->site.audit_partition, &d->err) : NULL;
    for (size_t i = 0; i < d->nodes.n; i++) {
        const char *name = d->nodes.v[i].name;

        if (fabric_host_named (d->fabric, name) == FABRIC_NONE
            && nodemap_find (d->map, name, &line, 1) == 0)
            add_shown_name (part && hostlist_has (&part->outside, name) ? &others
                                                                        : &missing,
                            name);
    }
    child_free (part);
    for (size_t i = 0; missing.n == d->nodes.n && i < d->fabric->nhosts; i++)
        add_shown_name (&hosts, d->fabric->host[i].name);
    if (hosts.n > 0)
        return say_warn (d, "none of %zu (%s) is in the snapshot, whose hosts "
                            "are %s: write a NodeMap, or name the adapters "
                            "after their nodes",
                         d->nodes.n, missing.names, hosts.names);
    if (missing.n > 0)
        return say_warn (d, "%zu of %zu are not in the snapshot (%s): read it "
                            "again, or write a NodeMap; nodes without "
                            "InfiniBand stay out of AuditPartition",
                         missing.n, d->nodes.n, missing.names);
    if (others.n > 0)
        return say_info (d, "%zu of %zu are neither in the snapshot nor in "
                            "AuditPartition (%s): they are not measured",
                         others.n, d->nodes.n, others.names);
    return say_ok (d, "all %zu are in the snapshot", d->nodes.n);
}

/*
 * The step
 */

/* The bytes of a plugin, and a NUL; NULL with err. */
static char *read_plugin (const char *path, size_t *len, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    char *plugin = fp ? file_slurp (fp, PLUGIN_BYTES, len, err) : NULL;

    file_close_input (fp);
    return plugin;
}

/* Load the library as Slurm's PMIx plugin does. The plugin contains two
 * strings: the directory that it was configured with, and a name (libpmix.so in
 * 22.05). A directory that others can write to is ignored.
 */
static int load_pmix (const void *arg, void *answer, struct error *err)
{
    static const char stem[] = "libpmix.so";
    size_t len;
    char *plugin = read_plugin (arg, &len, err);
    const char *name = "libpmix.so.2";

    (void)answer;
    if (!plugin)
        return -1;
    for (const char *s = plugin; s < plugin + len; s += strlen (s) + 1)
        if (!strncmp (s, stem, strlen (stem)))
            name = s;
    for (const char *s = plugin; s < plugin + len; s += strlen (s) + 1) {
        char path[PATH_MAX];

        snprintf (path, sizeof (path), "%s/%s", s, name);
        if (*s == '/' && file_open_trusted_dir (s, 0, NULL) >= 0
            && dlopen (path, RTLD_LAZY))
            return 0;
    }
    return dlopen (name, RTLD_LAZY) ? 0 : error_world (err, "%s", dlerror ());
}

/* The first wanted type of step that works on this machine, as srun will find:
 * checks and audits go on to the next one. Else the last that Slurm has.
 */
static void find_mpi (struct doctor *d)
{
    const char *const *type = site_mpi (&d->site)->types;
    char path[PATH_MAX], name[32];

    for (; *type; type++) {
        snprintf (name, sizeof (name), "mpi_%s*.so", *type);
        if (!find_plugin (d, name, path)) {
            if (!d->mpi)
                error_world (&d->mpi_error, "there is no %s", name);
            continue;
        }
        d->mpi = *type;
        strcpy (d->mpi_path, path);
        if (strcmp (*type, "pmix") != 0
            || child_try (load_pmix, path, DOCTOR_WAIT_MS, &d->mpi_error) == 0)
            break;
    }
}

bool doctor_without_pmix (struct doctor *d)
{
    char path[PATH_MAX];

    if (!strcmp (d->site.mpi, "pmi2") || !find_plugin (d, "mpi_pmi2*.so", path))
        return false;
    doctor_todo (d, "echo 'Mpi = pmi2' >>%s, on all nodes, or install PMIx's "
                 "library there", conf_path (d));
    return true;
}

enum doctor_level doctor_mpi (struct doctor *d)
{
    const struct site_mpi *mpi = site_mpi (&d->site);

    if (!d->mpi)
        return say_fail (d, "%s: there is no mpi_%s*.so in %s%s", mpi->none,
                         mpi->types[0], conf (d, "PluginDir"),
                         doctor_without_pmix (d) ? "; or say Mpi=pmi2" : "");
    if (d->mpi != mpi->types[0])
        return say_ok (d, "%s: %s; %s: Mpi=%s saves a try each time", d->mpi,
                       d->mpi_path, d->mpi_error.text, d->mpi);
    if (*d->mpi_error.text)
        return say_fail (d, "%s; Slurm's plugin needs it, on all nodes%s",
                         d->mpi_error.text, doctor_without_pmix (d)
                                                ? "; or say Mpi=pmi2" : "");
    return say_ok (d, "%s: %s", d->mpi, d->mpi_path);
}

/* For each step, Slurm's plugin creates a directory with a predictable name
 * there. If the name exists, the step fails.
 */
enum doctor_level doctor_pmix_directory (struct doctor *d)
{
    static const char how[]
        = "any user can keep audits from a node: in mpi.conf say "
          "PMIxCliTmpDirBase=, a directory on all nodes that is root's alone "
          "to write (mode 755)";
    const char *base = conf (d, "PMIxCliTmpDirBase");
    const char *dir = *base ? base : conf (d, "TmpFS");
    struct statvfs fs;
    struct stat st;

    if (!d->mpi || strcmp (d->mpi, "pmix") != 0)
        return say_ok (d, "PMIx is not used");
    if (!*base)
        add_line (
            d, "PMIxCliTmpDirBase", "cat", "mpi.conf",
            verb_text ("%s/mpi.conf", inputs_parent (conf (d, "SLURM_CONF"))),
            "slurmctld and slurmd");
    if (!*dir || strchr (dir, '%') || stat (dir, &st) < 0)
        return *base ? say_ok (d, "%s; it is not on this machine", base)
                     : say_warn (d, "not set: %s", how);
    if (statvfs (dir, &fs) == 0 && (fs.f_bavail == 0
                                    || (fs.f_files > 0 && fs.f_favail == 0)))
        return say_fail (d, "%s is full: no step with PMIx starts here", dir);
    if (!S_ISDIR (st.st_mode) || st.st_uid != 0
        || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_warn (d, "%s%s: %s", *base ? "" : "not set, and TmpFS is ",
                         dir, how);
    if (!(st.st_mode & S_IXOTH))
        return say_warn (d, "%s: steps of users cannot enter it: chmod 755 %s",
                         dir, dir);
    return say_ok (d, "only root may write %s", dir);
}

enum doctor_level doctor_mpi_default (struct doctor *d)
{
    const char *set = conf (d, "MpiDefault");
    const char *mpi = *set ? set : "none"; /* not shown since 23.11 */

    if (!d->mpi || strncmp (mpi, d->mpi, strlen (d->mpi)) == 0)
        return say_ok (d, "%s", mpi);
    return say_ok (d, "%s: checks and audits say --mpi=%s; say it, too, to "
                      "run pmm-probe by hand", mpi, d->mpi);
}

enum doctor_level doctor_memlock (struct doctor *d)
{
    const char *limits = conf (d, "PropagateResourceLimits");
    const char *except = conf (d, "PropagateResourceLimitsExcept");
    bool all = listed (limits, "ALL") || (!*limits && !*except);

    if ((all || *except || listed (limits, "MEMLOCK"))
        && !listed (except, "MEMLOCK")) {
        if (has_line (conf (d, "SLURM_CONF"), "PropagateResourceLimitsExcept"))
            doctor_todo (d, "scontrol reconfigure, or MEMLOCK in Propagate"
                         "ResourceLimitsExcept of %s", conf (d, "SLURM_CONF"));
        else
            doctor_todo (d, "echo PropagateResourceLimitsExcept=MEMLOCK >>%s, "
                         "on all nodes; scontrol reconfigure",
                         conf (d, "SLURM_CONF"));
        return doctor_say (d, strcmp (d->site.transport, "verbs") == 0
                                  ? DOCTOR_WARN : DOCTOR_OK,
                           "steps get the limit of locked memory of where they "
                           "were submitted: PropagateResourceLimitsExcept="
                           "MEMLOCK, and LimitMEMLOCK=infinity for slurmd");
    }
    return say_ok (d, "steps have slurmd's limit of locked memory");
}

enum doctor_level doctor_ports (struct doctor *d)
{
    const char *range = conf (d, "SrunPortRange");
    unsigned first, last;

    if (sscanf (range, "%u-%u", &first, &last) != 2 || last == 0)
        return say_ok (d, "any: no firewall may be between this machine and "
                          "the nodes");
    if (last < first + FEW_PORTS - 1)
        return say_warn (d, "%s are few: each srun, those of checks and audits "
                            "too, needs three or more", range);
    return say_ok (d, "%s", range);
}

/*
 * The topology
 */

/* The nodes that a topology file names, "Nodes=LIST" or "nodes: LIST", sorted.
 * Return 1; 0 if it includes other files; -1 with err.
 */
static int topology_nodes (const char *path, struct hostlist *hl,
                           struct error *err)
{
    FILE *fp = file_open_input (path, err), *out;
    size_t len;
    char *text = verb_keep (
        fp ? file_slurp (fp, TOPOLOGY_BYTES, &len, err) : NULL);
    char *lists = NULL, *rest = text, *line;
    bool includes = false;
    int rc = 0;

    file_close_input (fp);
    if (!text)
        return -1;
    for (char *s = text; (s = strstr (s, "\\\n"));)
        memcpy (s, "  ", 2); /* the line goes on */
    out = xcheck (open_memstream (&lists, &len));
    while ((line = strsep (&rest, "\n"))) {
        line[strcspn (line, "#")] = '\0';
        line += strspn (line, " \t");
        includes |= strncasecmp (line, "include", strlen ("include")) == 0;
        if (!(line = strcasestr (line, "nodes")))
            continue;
        line += strlen ("nodes");
        line += strspn (line, " \t=:\"'");
        fprintf (out, "%.*s ", (int)strcspn (line, " \t\r\"'"), line);
    }
    fclose (out);
    verb_keep (lists);
    if (!includes && (rc = hostlist_expand (hl, lists, CONTROLLER_NODES_MAX,
                                            err)) == 0) {
        sort_array (hl->name, hl->count, compare_strings);
        rc = 1;
    }
    return rc;
}

/* The file that Slurm reads: whether it has all nodes of slurm.conf. */
static enum doctor_level check_topology (struct doctor *d, const char *path)
{
    struct hostlist hl = { 0 };
    struct some missing = { 0 };
    int rc = topology_nodes (path, &hl, &d->err);
    size_t known = 0; /* of these, that an export has */

    for (size_t i = 0; rc > 0 && d->nodes.v && i < d->nodes.n; i++) {
        const char *name = d->nodes.v[i].name;

        if (hostlist_has (&hl, name))
            continue;
        add_shown_name (&missing, name);
        known += d->fabric && fabric_host_named (d->fabric, name) != FABRIC_NONE;
    }
    if (known == missing.n)
        doctor_todo (d, "pmm fabric export --format topology.%s -o %s; restart "
                     "slurmctld", strrchr (path, '.') + 1, path);
    hostlist_clear (&hl);
    if (rc < 0)
        return say_unknown (d, "%s: %s", path, d->err.text);
    if (missing.n > 0)
        return say_warn (d, "%s: no switch has %zu of %zu nodes (%s), and no "
                            "job with others gets them: pmm fabric export "
                            "--format topology.%s; or add them to a switch",
                         path, missing.n, d->nodes.n, missing.names,
                         strrchr (path, '.') + 1);
    return say_ok (d, "%s", path);
}

/* Slurm 25.05 and later takes topology.yaml, whatever TopologyPlugin says, and
 * then no topology.conf.
 */
enum doctor_level doctor_topology (struct doctor *d)
{
    const char *plugin = conf (d, "TopologyPlugin");
    char *dir = inputs_parent (conf (d, "SLURM_CONF"));
    char path[2][PATH_MAX]; /* .conf, .yaml */
    unsigned year = 0, month = 0;
    bool reads_yaml, there[2], uses_conf;

    for (int yaml = 0; yaml < 2; yaml++) {
        snprintf (path[yaml], PATH_MAX, "%s/topology.%s", dir,
                  yaml ? "yaml" : "conf");
        there[yaml] = access (path[yaml], F_OK) == 0;
    }
    sscanf (conf (d, "SLURM_VERSION"), "%u.%u", &year, &month);
    reads_yaml = 100 * year + month >= YAML_RELEASE;
    uses_conf = strstr (plugin, "tree") || strstr (plugin, "block");
    if (there[1] && reads_yaml)
        return there[0] ? say_warn (d, "%s: Slurm ignores it, as topology.yaml "
                                       "is beside it: remove one of them",
                                    path[0])
                        : check_topology (d, path[1]);
    if (there[1])
        return say_warn (d, "%s: Slurm before 25.05 reads topology.conf alone: "
                            "pmm fabric export --format topology.conf",
                         path[1]);
    if (there[0] && !uses_conf) {
        doctor_todo (d, "TopologyPlugin=topology/tree in %s; restart slurmctld",
                     conf (d, "SLURM_CONF"));
        return say_warn (d, "%s: Slurm ignores it: TopologyPlugin="
                            "topology/tree", path[0]);
    }
    if (there[0])
        return check_topology (d, path[0]);
    return say_info (d, "Slurm does not know which nodes are near each other: "
                        "pmm fabric export --format topology.%s",
                     reads_yaml ? "yaml" : "conf");
}

/*
 * Audits
 */

enum doctor_level doctor_partition (struct doctor *d)
{
    const char *name = d->site.audit_partition;
    unsigned need = ((unsigned)d->site.audit_timeout_ms + 59999) / 60000;
    struct controller_partition *part = controller_partition (name, &d->err);
    enum doctor_level level;

    if (!part)
        return say_error (d, DOCTOR_UNKNOWN);
    if (!part->exists) {
        char *line = verb_text ("PartitionName=%s", name);

        /* with its other lines, unless the site has these */
        add_line (d, line,
                  *conf (d, "EpilogSlurmctld") ? "grep ^PartitionName" : "cat",
                  "slurm.conf", conf (d, "SLURM_CONF"), "slurmctld");
        return say_fail (d, "there is no %s: PartitionName=%s Nodes=ALL "
                            "MaxTime=10 RootOnly=YES", name, name);
    }
    if (!part->up) {
        doctor_todo (d, "scontrol update partition=%s state=up; State in "
                     "slurm.conf, where it is there", name);
        level = say_fail (d, "%s is not up", name);
    }
    else if (part->minutes < need)
        level = say_fail (d, "%s gives a job %s, AuditTimeout needs %u", name,
                          COUNTED (part->minutes, "minute"), need);
    else if (part->open) {
        doctor_todo (d, "scontrol update partition=%s rootonly=yes, and "
                     "RootOnly=YES in slurm.conf", name);
        level = say_warn (d, "users may run jobs in %s, which are never "
                             "audited: RootOnly=YES lets SlurmUser in as well",
                          name);
    }
    else if (part->outside.count > 0)
        level = say_info (d, "%s not in %s and never audited: %s%s",
                          COUNTED (part->outside.count, "node"), name,
                          part->outside.name[0],
                          part->outside.count > 1 ? ", ..." : "");
    else
        level = say_ok (d, "%s has all nodes", name);
    child_free (part);
    return level;
}

enum doctor_level doctor_preemption (struct doctor *d)
{
    int rc = controller_evicts (d->site.audit_partition, &d->err);

    if (rc == 0)
        return say_ok (d, "audits preempt no jobs");
    return doctor_say (d, rc > 0 ? DOCTOR_FAIL : DOCTOR_UNKNOWN, "%s",
                       d->err.text);
}

enum doctor_level doctor_association (struct doctor *d)
{
    int rc;

    if (!listed (conf (d, "AccountingStorageEnforce"), "associations"))
        return say_ok (d, "none is needed");
    if ((rc = controller_associated (d->user, &d->err)) < 0)
        return say_error (d, DOCTOR_UNKNOWN);
    if (rc == 0)
        return say_fail (d, "%s may run no audit: sacctmgr add user %s "
                            "account=...", d->user, d->user);
    return say_ok (d, "%s has one", d->user);
}

enum doctor_level doctor_comments (struct doctor *d)
{
    if (strcmp (conf (d, "AccountingStorageType"),
                "accounting_storage/slurmdbd") != 0)
        return say_info (d, "without slurmdbd no job gets any: Accounting"
                            "StorageType=accounting_storage/slurmdbd");
    if (!listed (conf (d, "AccountingStoreFlags"), "job_comment"))
        return say_info (d, "users' checks leave none: "
                            "AccountingStoreFlags=job_comment");
    return say_ok (d, "slurmdbd keeps them");
}

/*
 * plugstack.conf
 */

static enum doctor_level look_at_plugin (struct doctor *d)
{
    const char *running = conf (d, "SLURM_VERSION");
    const struct plugstack_line *line = &d->line;
    enum doctor_level level;
    char path[PATH_MAX], version[16], *plugin, *found;
    const struct plugin_built mark = { PLUGIN_BUILT, 0 };
    struct plugin_built built = mark;
    struct stat st;
    size_t len;

    snprintf (path, sizeof (path), "%s", line->path);
    if ((path[0] != '/' && !find_plugin (d, line->path, path))
        || stat (path, &st) < 0) {
        bool other = access (PMM_PLUGIN_PATH, F_OK) == 0;

        return say_fail (d, "%s:%d: there is no %s: %s; %s%s", line->file,
                         line->lineno, path,
                         line->required ? "no job starts from here"
                                        : "no job is checked",
                         other ? "write " : "install slurm-pmm-plugin",
                         other ? PMM_PLUGIN_PATH : "");
    }
    if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_fail (d, "%s runs as root, but others may write it", path);
    if (!(plugin = read_plugin (path, &len, &d->err)))
        return say_error (d, DOCTOR_FAIL);
    found = memmem (plugin, len, mark.text, sizeof (mark.text));
    if (found && (size_t)(plugin + len - found) >= sizeof (built))
        memcpy (&built, found, sizeof (built));
    snprintf (version, sizeof (version), "%02u.%02u",
              SLURM_VERSION_MAJOR (built.version),
              SLURM_VERSION_MINOR (built.version));
    if (built.version == 0)
        level = say_fail (d, "%s is not of slurm-pmm %s: install this one's",
                          path, PACKAGE_VERSION);
    else if (strncmp (running, version, strlen (version)) != 0)
        level = say_fail (d, "%s was built against Slurm %s, this is %s: "
                             "rebuild it", path, version, running);
    else if (!line->required)
        level = say_warn (d, "%s:%d: optional: --pmm-check=require keeps no "
                             "job from starting; say required %s once it is on "
                             "all nodes", line->file, line->lineno, path);
    else
        level = say_ok (d, "required %s", path);
    free (plugin);
    return level;
}

enum doctor_level doctor_plugin (struct doctor *d)
{
    const char *path = d->plugstack;

    if (d->bad_site)
        return say_unknown (d, "not checked: pmm.conf is bad");
    if (d->stacked < 0)
        return say_unknown (d, "%s", d->plugin_error.text);
    if (d->stacked == 0) {
        add_to (d, "cat", "plugstack.conf", path,
                ", on all nodes, once all have the plugin");
        return say_warn (d, "%s does not name %s: there is no --pmm-check",
                         path, plugin_name);
    }
    if (d->bad_plugin)
        return say_fail (d, "%s", d->plugin_error.text);
    if (!d->line.required
        && (strcmp (d->plugin.mode, "require") == 0
            || *d->plugin.require_partitions))
        return say_fail (d, "%s says optional: no check keeps a job from "
                            "starting, as Mode or RequirePartitions want it",
                         path);
    return look_at_plugin (d);
}

/*
 * Hooks: ours, or a script that contains the name of ours.
 */

/* Whether the script calls the program. 1: yes; 0: no; -1: it could not be
 * read.
 */
static int calls (const char *path, const char *program)
{
    const char *base = strrchr (path, '/');
    char *script;
    FILE *fp;
    int rc;

    if (strcmp (base ? base + 1 : path, program) == 0)
        return access (path, X_OK) == 0 ? 1 : -1;
    if (!(fp = fopen (path, "r")))
        return -1;
    script = verb_array (1, SCRIPT_BYTES);
    rc = fread (script, 1, SCRIPT_BYTES - 1, fp) == 0
             ? -1
             : strstr (script, program) != NULL;
    fclose (fp);
    return rc;
}

/* The hook whose key is the check's name. */
static enum doctor_level slurms_hook (struct doctor *d)
{
    const char *key = d->check->name, *program = d->check->program;
    const char *value = controller_value (d->slurm, key);
    bool called = false, unread = false;
    enum doctor_level missing = d->check->kind & DOCTOR_AUDITS ? DOCTOR_WARN
                                                               : DOCTOR_INFO;
    glob_t found;

    if (!*value) {
        add_line (d, key, verb_text ("grep ^%s", key), "slurm.conf",
                  conf (d, "SLURM_CONF"), "slurmctld");
        return doctor_say (d, missing, "not set: %s; %s=.../%s",
                           d->check->without, key, program);
    }
    if (glob (value, 0, NULL, &found) != 0) {
        char *ours = verb_text ("%s/%s", inputs_parent (PMM_PATH), program);
        const char *base = strrchr (value, '/');
        bool other = base && !strcmp (base + 1, program)
                     && access (ours, X_OK) == 0;

        say_warn (d, "%s is not on this machine%s%s", value,
                  other ? "; write " : "", other ? ours : "");
        if (other)
            doctor_todo (d, "%s=%s in %s; restart slurmctld%s", key, ours,
                         conf (d, "SLURM_CONF"),
                         d->check->kind & DOCTOR_AUDITS ? "" : " and slurmd");
        return DOCTOR_WARN;
    }
    for (size_t i = 0; i < found.gl_pathc && !called; i++) {
        int rc = calls (found.gl_pathv[i], program);

        called = rc > 0;
        unread |= rc < 0;
    }
    globfree (&found);
    if (called)
        return say_ok (d, "%s", value);
    return unread ? say_unknown (d, "%s cannot be read, or not be run", value)
                  : doctor_say (d, missing, "%s does not call %s: %s", value,
                                program, d->check->without);
}

/* Before 23.11 slurmctld calls no hook that it learns of by a reconfiguration;
 * from there on that counts as its begin.
 */
static bool changed_since_boot (const struct doctor *d)
{
    struct tm tm = { .tm_isdst = -1 };
    struct stat st;

    return strptime (conf (d, "BOOT_TIME"), "%FT%T", &tm)
           && stat (conf (d, "SLURM_CONF"), &st) == 0
           && st.st_mtime > mktime (&tm);
}

/* A hook of Slurm, or for jobs the plugin in its place. */
enum doctor_level doctor_hook (struct doctor *d)
{
    enum doctor_level level;
    char path[PATH_MAX];

    if ((d->check->kind & DOCTOR_JOBS) && d->stacked > 0 && !d->bad_plugin
        && *d->plugin.hooks) {
        snprintf (path, sizeof (path), "%s/%s", d->plugin.hooks,
                  d->check->program);
        if (access (path, X_OK) < 0)
            return say_fail (d, "Hooks in plugstack.conf: %s: %s", path,
                             strerror (errno));
        return say_ok (d, "the plugin runs %s", path);
    }
    level = slurms_hook (d);
    if (level == DOCTOR_OK && (d->check->kind & DOCTOR_AUDITS)
        && changed_since_boot (d))
        return say_info (d, "%s; slurm.conf was changed after slurmctld began: "
                            "a new hook needs a restart of it",
                         conf (d, d->check->name));
    if (level == DOCTOR_OK && !strcmp (d->check->name, "HealthCheckProgram")
        && atoi (conf (d, "HealthCheckInterval")) == 0)
        return say_warn (d, "it never runs: HealthCheckInterval=300");
    return level;
}
