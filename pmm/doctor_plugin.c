/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmm doctor: plugstack.conf, and the plugin that it loads. */
#include "config.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "pmm/doctor.h"
#include "prolog/slurm/child.h"

enum {
    WAIT_MS = 5000,
    INCLUDES_MAX = 4, /* within each other */
    LINE_BYTES = 4096,
};

static const char plugin_name[] = "spank_pmm.so";

/* What a line of plugstack.conf says of our plugin. */
struct stack {
    bool found, required;
    char path[LINE_BYTES];
    struct site site; /* pmm.conf, then the words of the line */
    bool bad;         /* that is bad, with this */
    struct error error;
    bool unread;      /* a file of the stack could not be read */
    char file[PATH_MAX];
};

static bool is_ours (const char *path)
{
    const char *base = strrchr (path, '/');

    return strcmp (base ? base + 1 : path, plugin_name) == 0;
}

static void read_words (struct stack *s, char *rest)
{
    char *word;

    while (!s->bad && (word = strsep (&rest, " \t\n")))
        s->bad = *word
                 && conf_set_word (site_options, &s->site, word, &s->error)
                        < 0;
    if (!s->bad)
        s->bad = site_check (&s->site, &s->error) < 0;
}

static void read_stack (struct stack *s, const char *path, int depth);

static void include (struct stack *s, const char *pattern, int depth)
{
    glob_t found;

    if (depth >= INCLUDES_MAX || glob (pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        read_stack (s, found.gl_pathv[i], depth + 1);
    globfree (&found);
}

/* The next word; *rest is what is behind it. NULL at the end. */
static char *next_word (char **rest)
{
    char *word;

    while ((word = strsep (rest, " \t\n")) && !*word)
        ;
    return word;
}

static void read_line (struct stack *s, char *line, int depth)
{
    char *rest = line;
    char *first, *second;

    line[strcspn (line, "#")] = '\0';
    first = next_word (&rest);
    second = next_word (&rest);
    if (!first || !second)
        return;
    if (strcmp (first, "include") == 0)
        include (s, second, depth);
    else if (is_ours (second) && !s->found) {
        s->found = true;
        s->required = strcmp (first, "required") == 0;
        snprintf (s->path, sizeof (s->path), "%s", second);
        if (rest)
            read_words (s, rest);
    }
}

static void read_stack (struct stack *s, const char *path, int depth)
{
    char line[LINE_BYTES];
    FILE *fp = fopen (path, "r");

    if (!fp) {
        s->unread = true;
        snprintf (s->file, sizeof (s->file), "%s", path);
        return;
    }
    while (fgets (line, sizeof (line), fp))
        read_line (s, line, depth);
    fclose (fp);
}

/* Where the plugin is: its path, or in one of the directories of PluginDir. */
static bool find_plugin (const char *dirs, char path[LINE_BYTES],
                         struct stat *st)
{
    char name[LINE_BYTES];

    if (path[0] == '/')
        return stat (path, st) == 0;
    snprintf (name, sizeof (name), "%s", path);
    for (; *dirs; dirs += strspn (dirs, ":")) {
        size_t len = strcspn (dirs, ":");

        snprintf (path, LINE_BYTES, "%.*s/%.256s", (int)len, dirs, name);
        if (stat (path, st) == 0)
            return true;
        dirs += len;
    }
    return false;
}

/* Slurm's plugins tell the release that they were built for. */
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

static enum verdict_status look_at_plugin (const struct patient *p,
                                           struct stack *s, char *text)
{
    const char *running = controller_conf_get (&p->slurm, "SLURM_VERSION");
    struct error err;
    struct stat st;
    char *version;
    size_t len;

    if (!find_plugin (controller_conf_get (&p->slurm, "PluginDir"), s->path,
                      &st))
        return doctor_say (text, VERDICT_FAIL,
                           "there is no %s: %s", s->path,
                           s->required ? "no job starts from here"
                                       : "no job is checked");
    if (st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return doctor_say (text, VERDICT_FAIL,
                           "%s runs as root and is not root's alone to write",
                           s->path);
    if (child_call (tell_version, s->path, WAIT_MS, &version, &len, &err) < 0)
        return doctor_say (text, VERDICT_FAIL, "%s", err.text);
    if (len == 0 || strncmp (running, version, len) != 0) {
        doctor_say (text, VERDICT_FAIL,
                    "%s was built against Slurm %s, this is %s: build it anew",
                    s->path, version, running);
        free (version);
        return VERDICT_FAIL;
    }
    free (version);
    return doctor_say (text, VERDICT_OK, "%s %s",
                       s->required ? "required" : "optional", s->path);
}

/* NULL: out of memory, or pmm.conf is bad. */
static struct stack *stack_load (const struct patient *p)
{
    struct stack *s = calloc (1, sizeof (*s));
    struct error err;

    if (s && site_read (&s->site, p->path, 1, &err) == 0) {
        read_stack (s, controller_conf_get (&p->slurm, "PlugStackConfig"), 0);
        return s;
    }
    if (s)
        site_clear (&s->site);
    free (s);
    return NULL;
}

static void stack_destroy (struct stack *s)
{
    if (s)
        site_clear (&s->site);
    free (s);
}

static enum verdict_status look_at_stack (const struct patient *p,
                                          struct stack *s, char *text)
{
    const char *path = controller_conf_get (&p->slurm, "PlugStackConfig");

    if (!s)
        return doctor_say (text, VERDICT_UNKNOWN,
                           "with a bad pmm.conf nobody can tell");
    if (!s->found && s->unread)
        return doctor_say (text, VERDICT_UNKNOWN, "%s cannot be read",
                           s->file);
    if (!s->found)
        return doctor_say (text, VERDICT_WARN,
                           "%s does not name %s: there is no --pmm-check",
                           path, plugin_name);
    if (s->bad)
        return doctor_say (text, VERDICT_FAIL, "%s: %s", path, s->error.text);
    if (!s->required
        && (strcmp (s->site.mode, "require") == 0
            || *s->site.require_partitions))
        return doctor_say (text, VERDICT_FAIL,
                           "%s says optional: no check keeps a job from "
                           "starting, as Mode or RequirePartitions want it",
                           path);
    return look_at_plugin (p, s, text);
}

enum verdict_status doctor_plugin (const struct patient *p, char *text)
{
    struct stack *s = stack_load (p);
    enum verdict_status level = look_at_stack (p, s, text);

    stack_destroy (s);
    return level;
}

char *doctor_hooks (const struct patient *p)
{
    struct stack *s = stack_load (p);
    char *dir = NULL;

    if (s && s->found && !s->bad && *s->site.hooks)
        dir = strdup (s->site.hooks);
    stack_destroy (s);
    return dir;
}
