/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of the user and of the site. */
#include "config.h"
#include "spank/check.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "util/conf.h"
#include "util/srun.h"

/* Static, because SPANK's callbacks take no pointer of ours. */
static struct {
    struct user_check check;
    char output[PATH_MAX];
} user;

static const char *const mode_names[] = {
    [MODE_OFF] = "off",
    [MODE_REPORT] = "report",
    [MODE_REQUIRE] = "require",
};

static int find_mode (const char *name, enum check_mode *mode)
{
    for (size_t i = 0; i < sizeof (mode_names) / sizeof (mode_names[0]); i++)
        if (!strcmp (name, mode_names[i])) {
            *mode = (enum check_mode)i;
            return 0;
        }
    return -1;
}

/* Read a list of words: at most one mode, and what goes with it. Return -1 if it
 * is none.
 */
static int read_words (const char *list, struct user_check *w)
{
    bool mode = false;
    char word[16];

    *w = (struct user_check){ .chosen = true, .mode = MODE_REPORT };
    do {
        size_t len = strcspn (list, ",");

        snprintf (word, sizeof (word), "%.*s",
                  (int)(len < sizeof (word) ? len : 0), list);
        list += len;
        if (!strcmp (word, "again"))
            w->again = true;
        else if (!strcmp (word, "rates"))
            w->rates = true;
        else if (mode || find_mode (word, &w->mode) < 0)
            return -1;
        else
            mode = true;
    } while (*list++);
    return w->mode == MODE_OFF && (w->again || w->rates) ? -1 : 0;
}

static int set_check (int val, const char *arg, int remote)
{
    struct user_check w;

    (void)val;
    /* in an srun inside a job, a missing argument arrives as "(null)" */
    if (!arg || !*arg || !strcmp (arg, "(null)"))
        arg = mode_names[MODE_REPORT];
    if (read_words (arg, &w) < 0) {
        slurm_error ("pmm: --pmm-check takes report, require, again, rates (or "
                     "several, with commas between) or off");
        return remote ? 0 : -1;
    }
    user.check = w;
    return 0;
}

static int set_output (int val, const char *arg, int remote)
{
    (void)val;
    if (!arg || !*arg || strlen (arg) >= sizeof (user.output)) {
        slurm_error ("pmm: --pmm-output takes the name of a directory or file");
        return remote ? 0 : -1;
    }
    strcpy (user.output, arg);
    return 0;
}

int options_register (spank_t sp)
{
    static struct spank_option options[] = {
        { "pmm-check", "[report|require|again|rates|off]",
          "measure the job's InfiniBand cables before it starts and report "
          "the slow ones (default); require: do not start if one fails; "
          "again: even if the job was checked; rates: also what cables "
          "carry; or a list, as require,rates",
          2, 0, set_check },
        { "pmm-output", "FILE.json|DIR",
          "check, and write the result, with the latency of each pair, to "
          "FILE.json; or the plan, samples and verdict to DIR",
          1, 0, set_output },
    };
    int rc = 0;

    for (size_t i = 0; i < sizeof (options) / sizeof (options[0]); i++)
        if (spank_option_register (sp, &options[i]) != ESPANK_SUCCESS)
            rc = -1;
    return rc;
}

void options_tell_hooks (spank_t sp)
{
    const struct user_check *w = &user.check;
    char said[32];

    snprintf (said, sizeof (said), "%s%s",
              mode_names[w->chosen ? w->mode : MODE_REPORT],
              w->rates ? ",rates" : "");
    if (w->chosen || user.output[0] || srun_is_nested ())
        spank_job_control_setenv (sp, "PMM_CHECK", said, 1);
}

void options_recall (spank_t sp)
{
    char said[32];
    struct user_check w;

    if (!user.check.chosen && !user.output[0]
        && spank_getenv (sp, "SLURM_SPANK_PMM_CHECK", said, sizeof (said))
               == ESPANK_SUCCESS
        && read_words (said, &w) == 0)
        user.check = w;
}

int settings_read (struct settings *s, int argc, char **argv, struct error *err)
{
    const char *conf = NULL;

    *s = (struct settings){
        .word = (const char *const *)argv, .words = argc,
        .asked = user.check.chosen || user.output[0],
        .check = user.check,
        .output = user.output[0] ? user.output : NULL,
    };
    for (int i = 0; i < argc; i++)
        if (!strncasecmp (argv[i], "conf=", 5) && argv[i][5])
            conf = argv[i] + 5;
    if (site_read (&s->site, conf, 1, err) < 0)
        return -1;
    for (int i = 0; i < argc; i++)
        if (conf_set_word (site_options, &s->site, argv[i], err) < 0)
            return error_prefix (err, "plugstack.conf");
    if (site_check (&s->site, err) < 0)
        return error_prefix (err, "plugstack.conf");
    return 0;
}

bool settings_any (const struct settings *s)
{
    if (s->check.chosen)
        return s->check.mode != MODE_OFF;
    return s->output || strcmp (s->site.mode, mode_names[MODE_OFF]) != 0
           || s->site.report_partitions[0] || s->site.require_partitions[0];
}

enum check_mode settings_mode (const struct settings *s, const char *partition)
{
    enum check_mode mode = MODE_OFF;

    if (s->check.chosen)
        return s->check.mode;
    find_mode (site_mode (&s->site, partition), &mode);
    return mode == MODE_OFF && s->output ? MODE_REPORT : mode;
}

bool settings_one_file (const struct settings *s)
{
    size_t len = s->output ? strlen (s->output) : 0;

    return len > 5 && !strcmp (s->output + len - 5, ".json");
}
