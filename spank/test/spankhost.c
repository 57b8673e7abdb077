/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm, as seen by the plugin. */
#include "config.h"
#include "spank/test/spankhost.h"

#include <dlfcn.h>
#include <errno.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/slurmapi.h"

struct spankhost spankhost;

static const char *plugin_path;
static char stack_path[128];
static void *plugin;
static enum spank_context context;
static uint32_t step_id;

/*
 * What Slurm offers to plugins
 */

static void say (const char *fmt, va_list ap)
{
    size_t len = strlen (spankhost.said);

    vsnprintf (spankhost.said + len, sizeof (spankhost.said) - len, fmt, ap);
    strncat (spankhost.said, "\n",
             sizeof (spankhost.said) - strlen (spankhost.said) - 1);
}

void slurm_error (const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    say (fmt, ap);
    va_end (ap);
}

void slurm_spank_log (const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    say (fmt, ap);
    va_end (ap);
}

char *slurm_strerror (int errnum)
{
    return strerror (errnum);
}

spank_context_t spank_context (void)
{
    return context;
}

spank_err_t spank_option_register (spank_t sp, struct spank_option *opt)
{
    (void)sp;
    if (!strcmp (opt->name, "pmm-check") && spankhost.check)
        opt->cb (opt->val, spankhost.check, context == S_CTX_REMOTE);
    if (!strcmp (opt->name, "pmm-output") && spankhost.output)
        opt->cb (opt->val, spankhost.output, context == S_CTX_REMOTE);
    return ESPANK_SUCCESS;
}

spank_err_t spank_get_item (spank_t sp, spank_item_t item, ...)
{
    spank_err_t rc = ESPANK_SUCCESS;
    va_list ap;

    (void)sp;
    va_start (ap, item);
    switch (item) {
    case S_JOB_ID:
        *va_arg (ap, uint32_t *) = spankhost.jobid;
        break;
    case S_JOB_STEPID:
        *va_arg (ap, uint32_t *) = step_id;
        break;
    case S_JOB_UID:
        *va_arg (ap, uid_t *) = geteuid ();
        break;
    default:
        rc = ESPANK_BAD_ARG;
    }
    va_end (ap);
    return rc;
}

spank_err_t spank_getenv (spank_t sp, const char *var, char *buf, int len)
{
    char nodes[16];
    const struct {
        const char *name;
        const char *value;
    } tab[] = {
        { "SLURM_JOB_NUM_NODES", nodes },
        { "SLURM_JOB_PARTITION", spankhost.partition },
        { "SLURM_CLUSTER_NAME", "test" },
        { "SLURM_HET_SIZE", spankhost.het_jobid ? "2" : NULL },
        { "HOME", "/job/home" },
    };

    (void)sp;
    snprintf (nodes, sizeof (nodes), "%u", spankhost.nodes);
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        if (!strcmp (tab[i].name, var) && tab[i].value) {
            snprintf (buf, (size_t)len, "%s", tab[i].value);
            return ESPANK_SUCCESS;
        }
    return ESPANK_ENV_NOEXIST;
}

spank_err_t spank_job_control_setenv (spank_t sp, const char *name,
                                      const char *value, int overwrite)
{
    (void)sp;
    (void)overwrite;
    snprintf (spankhost.passed, sizeof (spankhost.passed), "%s=%s", name,
              value);
    return ESPANK_SUCCESS;
}

spank_err_t spank_setenv (spank_t sp, const char *var, const char *val,
                          int overwrite)
{
    (void)sp;
    (void)overwrite;
    if (!strcmp (var, "PMM_CHECK"))
        snprintf (spankhost.env, sizeof (spankhost.env), "%s", val);
    return ESPANK_SUCCESS;
}

int slurm_load_job (job_info_msg_t **msg, slurmapi_job_t job, uint16_t flags)
{
    static slurm_job_info_t both[2]; /* no memory is short of it */
    static job_info_msg_t the_msg;
    slurm_job_info_t *info;

    (void)job;
    (void)flags;
    if (spankhost.load_fails) {
        errno = ETIMEDOUT;
        return SLURM_ERROR;
    }
    *msg = &the_msg;
    info = the_msg.job_array = both;
    (*msg)->record_count = 2;
    info[0].slurmapi_job_id = spankhost.jobid + 1;
    info[1].slurmapi_job_id = spankhost.jobid;
    info[1].num_nodes = spankhost.nodes;
    info[1].partition = (char *)spankhost.partition;
    info[1].cluster = "test";
    info[1].het_job_id = spankhost.het_jobid;
    info[1].start_time = spankhost.start;
    info[1].job_state = spankhost.running ? JOB_RUNNING : JOB_PENDING;
    return SLURM_SUCCESS;
}

void slurm_free_job_info_msg (job_info_msg_t *msg)
{
    (void)msg;
}

int slurm_load_ctl_conf (time_t since, slurm_conf_t **conf)
{
    static slurm_conf_t the_conf;

    (void)since;
    if (spankhost.load_fails)
        return SLURM_ERROR;
    the_conf.plugstack = stack_path;
    *conf = &the_conf;
    return SLURM_SUCCESS;
}

/* In place of libc's. */
ssize_t sendto (int fd, const void *data, size_t len, int flags,
                const struct sockaddr *to, socklen_t size)
{
    (void)fd;
    (void)flags;
    (void)to;
    (void)size;
    snprintf (spankhost.logged, sizeof (spankhost.logged), "%.*s", (int)len,
              (const char *)data);
    return (ssize_t)len;
}

/*
 * What Slurm does with plugins
 */

static int load (void)
{
    if (plugin)
        dlclose (plugin);
    if ((plugin = dlopen (plugin_path, RTLD_NOW | RTLD_LOCAL)))
        return 0;
    printf ("# %s\n", dlerror ());
    return -1;
}

int spankhost_load (const char *path, const char *dir)
{
    plugin_path = path;
    snprintf (stack_path, sizeof (stack_path), "%s/plugstack.conf", dir);
    return load ();
}

int spankhost_exports (const char *symbol)
{
    return dlsym (plugin, symbol) != NULL;
}

static void put_stack (void)
{
    FILE *fp = fopen (stack_path, "w");

    fprintf (fp, "# of a test\n%s %s ", spankhost.stack, plugin_path);
    for (int i = 0; spankhost.words[i]; i++)
        fprintf (fp, "%s ", spankhost.words[i]);
    fprintf (fp, "\n");
    fclose (fp);
}

static int run (const char *const *callback)
{
    int argc = 0;
    int rc = 0;

    spankhost.said[0] = spankhost.env[0] = spankhost.logged[0] = '\0';
    while (spankhost.words[argc])
        argc++;
    put_stack ();
    /* a fresh process has a fresh plugin */
    if (load () < 0)
        return -99;
    if (spankhost.limit)
        spankhost.limit ();
    for (; *callback && rc == 0; callback++) {
        spank_f *fn;

        *(void **)&fn = dlsym (plugin, *callback);
        if (fn)
            rc = fn ((spank_t)&spankhost, argc, spankhost.words);
    }
    return rc;
}

static int be_srun (void)
{
    static const char *const callback[] = {
        "slurm_spank_init", "slurm_spank_init_post_opt",
        "slurm_spank_local_user_init", "slurm_spank_exit", NULL,
    };

    context = S_CTX_LOCAL;
    return run (callback);
}

int spankhost_srun (void)
{
    unsetenv ("SLURM_JOB_ID");
    return be_srun ();
}

int spankhost_srun_inside (void)
{
    char id[16];

    snprintf (id, sizeof (id), "%u", spankhost.jobid);
    setenv ("SLURM_JOB_ID", id, 1);
    return be_srun ();
}

static int be_slurmstepd (uint32_t step)
{
    static const char *const callback[] = {
        "slurm_spank_init",
        "slurm_spank_init_post_opt",
        "slurm_spank_user_init",
        "slurm_spank_task_init_privileged",
        "slurm_spank_task_init",
        "slurm_spank_exit",
        NULL,
    };

    context = S_CTX_REMOTE;
    step_id = step;
    return run (callback);
}

int spankhost_batch (void)
{
    return be_slurmstepd (SLURM_BATCH_SCRIPT);
}

int spankhost_task (void)
{
    return be_slurmstepd (0);
}

int spankhost_job_script (void)
{
    static const char *const callback[] = {
        "slurm_spank_init",
        "slurm_spank_job_prolog",
        "slurm_spank_job_epilog",
        NULL,
    };

    context = S_CTX_JOB_SCRIPT;
    return run (callback);
}
