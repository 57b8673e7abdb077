/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prolog/slurm/controller.h from the command line, for the system tests:
 *
 *   ask nodes                  one a line: name, what holds, by, Reason
 *   ask drain NODE REASON      done, or kept
 *   ask resume NODE REASON     done, or kept
 *   ask idle PARTITION         names
 *   ask drained                names of those that we drained
 *   ask user                   uid and name of SlurmUser
 *   ask cancel JOBNAME         how many jobs of ours
 *
 * An error is said, and the exit status is its fault.
 */
#include "config.h"
#include "prolog/slurm/controller.h"

#include <stdlib.h>
#include <string.h>

static struct error err;

static int nodes (char **arg)
{
    struct controller_nodes s;

    (void)arg;
    if (controller_nodes (&s, &err) < 0)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        const struct policy_node *n = &s.v[i];

        printf ("%s%s%s%s%s%s by=%s %s\n", n->name,
                n->unknown ? " unknown" : "", n->down ? " down" : "",
                n->powered_down ? " powered_down" : "",
                n->reserved ? " reserved" : "", n->drained ? " drained" : "",
                n->by ? n->by : "", n->reason ? n->reason : "");
    }
    controller_nodes_clear (&s);
    return 0;
}

static int said (int rc)
{
    if (rc >= 0)
        printf ("%s\n", rc ? "done" : "kept");
    return rc;
}

static int drain (char **arg)
{
    return said (controller_drain (arg[0], arg[1], &err));
}

static int resume (char **arg)
{
    return said (controller_resume (arg[0], arg[1], &err));
}

static int listed (int rc, struct hostlist *hl)
{
    if (rc < 0)
        return -1;
    for (size_t i = 0; i < hl->count; i++)
        printf ("%s\n", hl->name[i]);
    hostlist_clear (hl);
    return 0;
}

static int idle (char **arg)
{
    struct hostlist hl;

    return listed (controller_idle (&hl, arg[0], &err), &hl);
}

static int drained (char **arg)
{
    struct hostlist hl;

    (void)arg;
    return listed (controller_drained (&hl, &err), &hl);
}

static int user (char **arg)
{
    char name[CONTROLLER_NAME];
    uid_t uid;

    (void)arg;
    if (controller_user (&uid, name, &err) < 0)
        return -1;
    printf ("%ju %s\n", (uintmax_t)uid, name);
    return 0;
}

static int cancel (char **arg)
{
    int n = controller_cancel (arg[0], &err);

    if (n >= 0)
        printf ("%d\n", n);
    return n;
}

static const struct {
    const char *name;
    int args;
    int (*run) (char **arg);
} verbs[] = {
    { "nodes", 0, nodes }, { "drain", 2, drain }, { "resume", 2, resume },
    { "idle", 1, idle },   { "drained", 0, drained },
    { "user", 0, user },   { "cancel", 1, cancel },
};

int main (int argc, char **argv)
{
    for (size_t i = 0; i < sizeof (verbs) / sizeof (verbs[0]); i++)
        if (argc > 1 && !strcmp (argv[1], verbs[i].name)
            && argc == 2 + verbs[i].args) {
            if (verbs[i].run (argv + 2) >= 0)
                return EXIT_SUCCESS;
            printf ("%s\n", err.text);
            return (int)err.fault;
        }
    return ERROR_INPUT;
}
