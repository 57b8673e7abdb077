/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One look at the node, in a child with a deadline. */
#include "config.h"
#include "prolog/node/hook.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/live.h"
#include "util/file.h"
#include "util/program.h"
#include "util/site.h"
#include "util/text.h"

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

static const char *const words[] = {
    [VERDICT_OK] = "OK",
    [VERDICT_WARN] = "WARNING",
    [VERDICT_UNKNOWN] = "UNKNOWN",
    [VERDICT_FAIL] = "CRITICAL",
};

static void set_hook_unknown (struct hook_result *r, const char *why)
{
    r->level = VERDICT_UNKNOWN;
    r->news = true;
    r->perf[0] = '\0';
    snprintf (r->line, sizeof (r->line), "%s: %s", words[VERDICT_UNKNOWN], why);
}

/* Wait until no other look runs on the node. If the lock cannot be opened,
 * continue without it.
 */
static void lock_run (const char *run)
{
    int dir, fd;

    mkdir (run, 0755);
    dir = file_open_trusted_dir (run, geteuid (), NULL);
    if (dir >= 0 && (fd = file_open_lock (dir, "look.lock", NULL)) >= 0)
        flock (fd, LOCK_EX); /* until the process ends */
    if (dir >= 0)
        close (dir);
}

static int read_node_name (const struct hook *hook, char node[64])
{
    if (hook->node)
        snprintf (node, 64, "%s", hook->node);
    else if (gethostname (node, 64) < 0)
        return -1;
    else {
        node[63] = '\0';
        node[strcspn (node, ".")] = '\0';
    }
    return text_is_hostname (node) ? 0 : -1;
}

/* Look at the ports and at the published verdict, which `owner` or root may
 * own.
 */
static int look_at_node (const struct hook *hook, const struct site *site,
                         uid_t owner, struct look_state *state,
                         struct look_result *look, struct error *err)
{
    struct cache_port cached[LOCAL_PORTS_MAX] = { 0 };
    struct look_input in = { .n = 0 };
    char boot[LOOK_BOOT] = "-", node[64];
    FILE *fp = fopen (BOOT_ID, "re");
    struct cache_view view;
    struct local_port *port;
    struct timespec t;
    struct error why;
    bool published;
    int rc;

    if (fp && fscanf (fp, "%39[0-9a-f-]", boot) != 1)
        strcpy (boot, "-");
    if (fp)
        fclose (fp);
    clock_gettime (CLOCK_BOOTTIME, &t);
    in.boot = boot;
    in.now = t.tv_sec;
    if (*site->port_rate && rates_parse_one (site->port_rate, &in.want) < 0)
        return error_input (err, "option PortRate: '%.40s' is not a rate",
                            site->port_rate);
    if (local_ports (hook->sysfs, &port, &in.n, err) < 0)
        return -1;
    for (size_t i = 0; i < in.n; i++)
        cached[i].guid = port[i].guid;
    errno = EINVAL;
    rc = read_node_name (hook, node) < 0
             ? error_input (&why, "this node has no name")
             : cache_read (site->verdicts, owner, node, &view, cached, in.n,
                           &why);
    in.port = port;
    if (rc == 0) {
        in.cached = cached;
        in.expected = view.ports;
    }
    published = rc == 0 || errno != ENOENT;
    look_ports (look, state, &in);
    if (rc == 0)
        look_verdict (look, &view, time (NULL), site->confirm_within_ms / 1000);
    else if (published)
        look_add (look, VERDICT_UNKNOWN, "cache", "%s", why.text);
    free (port);
    return 0;
}

/* Whether the job's check will ask for the live fabric. */
static bool is_asked (const struct hook *hook, const struct site *site)
{
    if (hook->kind != HOOK_PROLOG || !hook->first)
        return false;
    if (hook->check)
        return strcmp (hook->check, "off") != 0;
    return hook->partition
           && strcmp (site_mode (site, hook->partition), "off") != 0;
}

/* Request the fabric first: the check of this job waits for it. */
static int run_hook_check (const struct hook *hook, struct hook_result *r,
                           struct error *err)
{
    struct error live = { .text = "" };
    const struct passwd *pw;
    struct look_state state;
    struct look_result look;
    struct site site;
    uid_t owner;

    if (site_read (&site, hook->conf, 1, err) < 0)
        return -1;
    pw = *site.slurm_user ? getpwnam (site.slurm_user) : NULL;
    owner = pw ? pw->pw_uid : 0;
    if (is_asked (hook, &site))
        live_request (&site, &hook->job, &live);
    lock_run (site.run);
    look_state_read (site.local, owner, &state);
    if (look_at_node (hook, &site, owner, &state, &look, err) < 0)
        return -1;
    if (*live.text)
        look_add (&look, VERDICT_UNKNOWN, "live", "%s", live.text);
    r->news = look.what != state.said;
    if (hook->kind != HOOK_HEALTHCHECK)
        state.said = look.what;
    if (geteuid () == 0 && look_state_write (site.local, &state, err) < 0)
        look_add (&look, VERDICT_OK, "state", "%s", err->text);
    r->level = look.level;
    look_line (&look, words, r->line);
    memcpy (r->perf, look.perf, sizeof (r->perf));
    return 0;
}

/*
 * The child, and its deadline
 */

__attribute__ ((noreturn)) static void run_hook_child (const struct hook *hook,
                                                       int to)
{
    struct hook_result r = { .level = VERDICT_UNKNOWN };
    struct error err = { .text = "" };
    int null = open ("/dev/null", O_RDWR);

    static_assert (sizeof (r) <= PIPE_BUF, "it is written and read whole");

    prctl (PR_SET_PDEATHSIG, SIGKILL);
    signal (SIGXFSZ, SIG_IGN); /* a write fails instead */
    /* not our parent's output: slurmd reads that until all copies are closed */
    if (null < 0 || dup2 (null, 0) < 0 || dup2 (null, 1) < 0
        || dup2 (null, 2) < 0 || dup2 (to, 3) < 0)
        _exit (1);
    program_close_from (4);
    fcntl (3, F_SETFD, FD_CLOEXEC);
    if (run_hook_check (hook, &r, &err) < 0)
        set_hook_unknown (&r, err.text);
    _exit (write (3, &r, sizeof (r)) != sizeof (r));
}

void hook_run (const struct hook *hook, int deadline_ms,
               struct hook_result *result)
{
    struct pollfd pfd = { .events = POLLIN };
    char why[64];
    int fd[2];
    pid_t pid;

    set_hook_unknown (result, "the check has failed");
    if (pipe2 (fd, O_CLOEXEC) < 0)
        return;
    if ((pid = fork ()) == 0)
        run_hook_child (hook, fd[1]);
    close (fd[1]);
    pfd.fd = fd[0];
    if (pid > 0 && poll (&pfd, 1, deadline_ms) == 0) {
        kill (pid, SIGKILL);
        snprintf (why, sizeof (why), "the check has not ended in %d ms",
                  deadline_ms);
        set_hook_unknown (result, why);
    }
    else if (pid > 0
             && read (fd[0], result, sizeof (*result)) != sizeof (*result))
        set_hook_unknown (result, "the check has failed");
    close (fd[0]);
    if (pid > 0)
        waitpid (pid, NULL, WNOHANG);
}

/*
 * Functions shared by the programs
 */

static const struct {
    const char *name;
    size_t offset;
    const char *help;
} options[] = {
    { "--conf", offsetof (struct hook, conf),
      "FILE    read FILE, not " PMM_CONF_PATH },
    { "--node", offsetof (struct hook, node),
      "NAME    this node's name in Slurm" },
    { "--sysfs", offsetof (struct hook, sysfs),
      "DIR    where the kernel shows its ports, not " LOCAL_SYSFS },
};

enum { OPTIONS = sizeof (options) / sizeof (options[0]) };

int hook_options (struct hook *hook, int argc, char **argv, struct error *err)
{
    for (int i = 1; i < argc; i += 2) {
        size_t k = 0;

        if (!strcmp (argv[i], "--help") || !strcmp (argv[i], "-h")) {
            printf ("Usage: %s [OPTION]...\n\n", SHOWN (argv[0]));
            for (k = 0; k < OPTIONS; k++)
                printf ("  %s %s\n", options[k].name, options[k].help);
            return 0;
        }
        while (k < OPTIONS && strcmp (argv[i], options[k].name))
            k++;
        if (k == OPTIONS || !argv[i + 1])
            return error_input (err, "'%.40s' is not an option, or has no "
                                     "value: see --help", argv[i]);
        *(const char **)((char *)hook + options[k].offset) = argv[i + 1];
    }
    return 1;
}

void hook_say (const char *program, const char *job, const char *line)
{
    const struct sockaddr_un log = { AF_UNIX, "/dev/log" };
    char text[LOOK_LINE + 128];
    int fd = socket (AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int n = snprintf (text, sizeof (text), "<%d>%s[%d]: job %.20s: %s",
                      LOG_DAEMON | LOG_WARNING, program, (int)getpid (), job,
                      line);

    fprintf (stderr, "%s: job %.20s: %s\n", program, job, line);
    if (fd >= 0) {
        if (connect (fd, (const struct sockaddr *)&log, sizeof (log)) == 0)
            send (fd, text, (size_t)n, MSG_NOSIGNAL);
        close (fd);
    }
}

bool hook_is_first (const char *list, const char *node)
{
    while (*list && *list != ',') {
        size_t len;

        if (*list == '[') { /* the lowest number comes first */
            len = strcspn (++list, "-,]");
            if (strncmp (list, node, len))
                return false;
            list += strcspn (list, "]");
            list += *list == ']';
        }
        else {
            len = strcspn (list, "[,");
            if (strncmp (list, node, len))
                return false;
            list += len;
        }
        node += len;
    }
    return !*node;
}
