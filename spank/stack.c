/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Find this plugin in plugstack.conf. */
#include "config.h"
#include "spank/stack.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/plugstack.h"
#include "util/slurmapi.h"

/* The name of the plugin's file; "" if not known. */
static const char *own_name (void)
{
    static const char here;
    const char *slash;
    Dl_info info;

    if (!dladdr (&here, &info) || !info.dli_fname)
        return "";
    slash = strrchr (info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static enum stack look_in (const char *path, const struct settings *settings)
{
    struct plugstack_line line;
    const char *at = line.words;

    if (plugstack_find (path, own_name (), &line, NULL) <= 0)
        return STACK_UNKNOWN;
    for (int i = 0; i < settings->words; i++) {
        size_t len = strlen (settings->word[i]);

        if (strncmp (at, settings->word[i], len)
            || (at[len] && at[len] != ' '))
            return STACK_UNKNOWN;
        at += len + (at[len] == ' ');
    }
    if (*at)
        return STACK_UNKNOWN;
    return line.required ? STACK_REQUIRED : STACK_OPTIONAL;
}

/* PlugStackConfig of slurmctld; "" if it does not answer. The answer (some KB,
 * once) is not freed, because the function for it has another name from 26.05
 * on.
 */
static void ask_controller (char path[PATH_MAX])
{
    slurm_conf_t *conf = NULL;

    path[0] = '\0';
    if (slurm_load_ctl_conf (0, &conf) != SLURM_SUCCESS)
        return;
    if (conf->plugstack)
        snprintf (path, PATH_MAX, "%s", conf->plugstack);
}

/* plugstack.conf in the directory of $SLURM_CONF. */
static void beside_conf (char path[PATH_MAX])
{
    const char *conf = getenv ("SLURM_CONF");
    const char *slash = conf ? strrchr (conf, '/') : NULL;

    path[0] = '\0';
    if (slash && slash - conf < PATH_MAX / 2)
        snprintf (path, PATH_MAX, "%.*s/plugstack.conf", (int)(slash - conf),
                  conf);
}

enum stack stack_look (const struct settings *settings, bool ask)
{
    static const char *const usual[] = { "/etc/slurm/plugstack.conf",
                                         "/run/slurm/conf/plugstack.conf" };
    enum stack stack = STACK_UNKNOWN;
    char path[PATH_MAX];

    if (ask) {
        ask_controller (path);
        stack = look_in (path, settings);
    }
    if (stack == STACK_UNKNOWN) {
        beside_conf (path);
        stack = look_in (path, settings);
    }
    for (size_t i = 0;
         i < sizeof (usual) / sizeof (usual[0]) && stack == STACK_UNKNOWN; i++)
        stack = look_in (usual[i], settings);
    return stack;
}
