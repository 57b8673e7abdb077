/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: plugstack.conf, and the plugin that it loads. */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pmm/doctor.h"
#include "prolog/slurm/child.h"
#include "util/alloc.h"
#include "util/plugstack.h"
#include "util/slurmapi.h"

static const char plugin_name[] = "spank_pmm.so";

/* The line of plugstack.conf for our plugin. */
struct plugin_stack {
    int found; /* result of plugstack_find; -1: see error */
    struct plugstack_line line;
    struct site site; /* pmm.conf, then the words of the line */
    bool bad;         /* the site is wrong: see error */
    struct error error;
};

static void read_words (struct plugin_stack *s)
{
    char *rest = s->line.words;
    char *word;

    while (!s->bad && (word = strsep (&rest, " ")))
        s->bad = *word
                 && conf_set_word (site_options, &s->site, word, &s->error) < 0;
    if (!s->bad)
        s->bad = site_check (&s->site, &s->error) < 0;
    if (s->bad)
        error_prefix (&s->error, "%s:%d", s->line.file, s->line.lineno);
}

/* Find the plugin: by its path, or in the directories of PluginDir. */
static bool find_plugin (const char *dirs, char path[PLUGSTACK_LINE],
                         struct stat *st)
{
    char name[PLUGSTACK_LINE];

    if (path[0] == '/')
        return stat (path, st) == 0;
    snprintf (name, sizeof (name), "%s", path);
    for (; *dirs; dirs += strspn (dirs, ":")) {
        size_t len = strcspn (dirs, ":");

        snprintf (path, PLUGSTACK_LINE, "%.*s/%.256s", (int)len, dirs, name);
        if (stat (path, st) == 0)
            return true;
        dirs += len;
    }
    return false;
}

/* A plugin of Slurm contains the release that it was built for. */
static int tell_version (FILE *out, const void *arg, struct error *err)
{
    void *plugin = dlopen (arg, RTLD_LAZY);
    const unsigned *version = plugin ? dlsym (plugin, "plugin_version") : NULL;

    if (!version)
        return error_world (err, "%s", dlerror ());
    fprintf (out, "%02u.%02u", SLURM_VERSION_MAJOR (*version),
             SLURM_VERSION_MINOR (*version));
    return 0;
}

static enum verdict_status look_at_plugin (const struct doctor_site *p,
                                           struct plugin_stack *s, char *text)
{
    const char *running = controller_conf_get (&p->slurm, "SLURM_VERSION");
    char *path = s->line.path;
    struct error err;
    struct stat st;
    struct child_answer version;

    if (!find_plugin (controller_conf_get (&p->slurm, "PluginDir"), path,
                      &st)) {
        bool other = access (PMM_PLUGIN_PATH, F_OK) == 0;

        return say_fail (text, "there is no %s: %s%s%s", path,
                         s->line.required ? "no job starts from here"
                                          : "no job is checked",
                         other ? "; write " : "", other ? PMM_PLUGIN_PATH : "");
    }
    if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return say_fail (
            text, "%s runs as root and is not root's alone to write", path);
    if (child_call (tell_version, path, DOCTOR_WAIT_MS, &version, &err) < 0)
        return say_fail (text, "%s", err.text);
    if (version.len == 0
        || strncmp (running, version.text, version.len) != 0) {
        say_fail (text,
                  "%s was built against Slurm %s, this is %s: build it anew",
                  path, version.text, running);
        free (version.text);
        return VERDICT_FAIL;
    }
    free (version.text);
    if (!s->line.required)
        return say_warn (text,
                         "%s:%d: optional: --pmm-check=require keeps no job "
                         "from starting; say required %s once it is on all "
                         "nodes",
                         s->line.file, s->line.lineno, path);
    return say_ok (text, "required %s", path);
}

static void stack_destroy (struct plugin_stack *s)
{
    if (s)
        site_clear (&s->site);
    free (s);
}

/* NULL: pmm.conf has errors. */
static struct plugin_stack *stack_load (const struct doctor_site *p)
{
    struct plugin_stack *s = xcalloc (1, sizeof (*s));
    struct error err;

    if (site_read (&s->site, p->path, 1, &err) < 0) {
        stack_destroy (s);
        return NULL;
    }
    s->found
        = plugstack_find (controller_conf_get (&p->slurm, "PlugStackConfig"),
                          plugin_name, &s->line, &s->error);
    if (s->found > 0)
        read_words (s);
    return s;
}

static enum verdict_status look_at_stack (const struct doctor_site *p,
                                          struct plugin_stack *s, char *text)
{
    const char *path = controller_conf_get (&p->slurm, "PlugStackConfig");

    if (!s)
        return say_unknown (text, "not checked: pmm.conf is bad");
    if (s->found < 0)
        return say_unknown (text, "%s", s->error.text);
    if (!s->found)
        return say_warn (text, "%s does not name %s: there is no --pmm-check",
                         path, plugin_name);
    if (s->bad)
        return say_fail (text, "%s", s->error.text);
    if (!s->line.required
        && (strcmp (s->site.mode, "require") == 0
            || *s->site.require_partitions))
        return say_fail (text,
                         "%s says optional: no check keeps a job from "
                         "starting, as Mode or RequirePartitions want it",
                         path);
    return look_at_plugin (p, s, text);
}

enum verdict_status doctor_plugin (const struct doctor_site *p, char *text)
{
    struct plugin_stack *s = stack_load (p);
    enum verdict_status level = look_at_stack (p, s, text);

    stack_destroy (s);
    return level;
}

char *doctor_hooks (const struct doctor_site *p)
{
    struct plugin_stack *s = stack_load (p);
    char *dir = NULL;

    if (s && s->found > 0 && !s->bad && *s->site.hooks)
        dir = xstrdup (s->site.hooks);
    stack_destroy (s);
    return dir;
}
