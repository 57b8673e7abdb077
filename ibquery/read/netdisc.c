/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The process is a new start of this program, not only a fork: the wire used in
 * tests has threads, and two processes must not share the state of a device.
 *
 * Question and answer are structs, exchanged by two processes of one program.
 */
#include "config.h"
#include "ibquery/read/netdisc.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/ibnetdisc.h>

#include "ibquery/read/discover.h"
#include "ibquery/read/smp.h"
#include "util/alloc.h"
#include "util/map.h"

enum { RETRIES = 1 };

extern char **environ;

struct netdisc_question {
    uint32_t magic;
    char ca[DEVICE_NAME_MAX];
    int port;
    unsigned int window, timeout_ms;
    uint64_t mkey;
    int64_t max_ms;
};

/*
 * The separate process
 */

static void write_netdisc_node (FILE *fp, const ibnd_node_t *n,
                                const struct map *index)
{
    const ib_dr_path_t *path = &n->path_portid.drpath;
    struct netdisc_node node = { .to.hops = (uint8_t)path->cnt };

    memcpy (node.info, n->info, NETDISC_DATA);
    memcpy (node.desc, n->nodedesc, NETDISC_DATA);
    memcpy (node.to.path, path->p, sizeof (node.to.path));
    fwrite (&node, sizeof (node), 1, fp);
    for (int i = 0; i <= n->numports; i++) {
        struct netdisc_port port = { .far = NETDISC_NONE };
        const ibnd_port_t *p = n->ports[i];

        if (p) {
            port.guid = p->guid;
            memcpy (port.info, p->info, NETDISC_DATA);
        }
        if (p && p->remoteport) {
            port.far = map_find (index, p->remoteport->node->guid);
            port.far_port = (uint8_t)p->remoteport->portnum;
        }
        fwrite (&port, sizeof (port), 1, fp);
    }
}

/* The local node comes first. */
static int write_netdisc_fabric (FILE *fp, const ibnd_fabric_t *f)
{
    struct netdisc_answer answer = { NETDISC_MAGIC, 1, f->total_mads_used };
    struct map index = { 0 };

    map_put (&index, f->from_node->guid, 0);
    for (const ibnd_node_t *n = f->nodes; n; n = n->next)
        if (n != f->from_node)
            map_put (&index, n->guid, answer.nnodes++);
    fwrite (&answer, sizeof (answer), 1, fp);
    write_netdisc_node (fp, f->from_node, &index);
    for (const ibnd_node_t *n = f->nodes; n; n = n->next)
        if (n != f->from_node)
            write_netdisc_node (fp, n, &index);
    map_clear (&index);
    return fclose (fp) == 0 ? 0 : ERROR_WORLD;
}

/* End after this time, or when the asking process ends. */
static void limit_life (int64_t ms)
{
    const struct itimerval end = {
        .it_value = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 },
    };
    sigset_t alarm;

    sigemptyset (&alarm);
    sigaddset (&alarm, SIGALRM);
    signal (SIGALRM, SIG_DFL);
    sigprocmask (SIG_UNBLOCK, &alarm, NULL);
    setitimer (ITIMER_REAL, &end, NULL);
    prctl (PR_SET_PDEATHSIG, SIGKILL);
}

int netdisc_answer (void)
{
    int fd = dup (STDIN_FILENO), null = open ("/dev/null", O_RDWR);
    FILE *fp = fd >= 0 ? fdopen (fd, "w") : NULL;
    struct netdisc_question q = { 0 };
    struct ibnd_config config = { 0 };
    ibnd_fabric_t *f;

    if (!fp || null < 0
        || recv (STDIN_FILENO, &q, sizeof (q), MSG_WAITALL) != sizeof (q)
        || q.magic != NETDISC_MAGIC)
        return ERROR_INPUT;
    limit_life (q.max_ms);
    dup2 (null, STDOUT_FILENO);
    dup2 (null, STDERR_FILENO);
    q.ca[sizeof (q.ca) - 1] = '\0';
    config.max_smps = q.window;
    config.timeout_ms = q.timeout_ms;
    config.retries = RETRIES;
    config.mkey = q.mkey;
    f = ibnd_discover_fabric (q.ca, q.port, NULL, &config);
    return f && f->from_node ? write_netdisc_fabric (fp, f) : ERROR_WORLD;
}

/*
 * The asking process
 */

/* Start the process; end[0] is this side of a socket to it. Return -1 on
 * failure.
 */
static pid_t start_netdisc (int end[2])
{
    static const char *const argv[] = { "pmm", "fabric", "netdisc", NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int rc;

    if (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0)
        return -1;
    posix_spawn_file_actions_init (&actions);
    posix_spawn_file_actions_adddup2 (&actions, end[1], STDIN_FILENO);
    rc = posix_spawn (&pid, "/proc/self/exe", &actions, NULL,
                      (char *const *)argv, environ);
    posix_spawn_file_actions_destroy (&actions);
    close (end[1]);
    if (rc == 0)
        return pid;
    close (end[0]);
    return -1;
}

int64_t netdisc_read (const char *ca, int port,
                      const struct mads_options *opts, int64_t max_ms,
                      mads_take_f take, void *arg)
{
    struct netdisc_question q = {
        .magic = NETDISC_MAGIC, .port = port, .window = opts->window,
        .timeout_ms = opts->timeout_ms, .mkey = opts->mkey, .max_ms = max_ms,
    };
    int end[2];
    pid_t pid = start_netdisc (end);
    int64_t rc = -1;
    FILE *fp;

    if (pid < 0)
        return -1;
    snprintf (q.ca, sizeof (q.ca), "%s", ca);
    fp = xcheck (fdopen (end[0], "r"));
    if (send (end[0], &q, sizeof (q), MSG_NOSIGNAL) == sizeof (q))
        rc = take (arg, fp);
    fclose (fp);
    waitpid (pid, NULL, 0);
    return rc;
}
