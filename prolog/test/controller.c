/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Slurm's node states mean to the policy; and that without a Slurm each
 * call is an error, and the caller is still there.
 */
#include "config.h"
#include "prolog/slurm/controller.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/tap.h"
#include "util/slurmapi.h"

static const struct {
    uint32_t state;
    const char *means;
} states[] = {
    { NODE_STATE_IDLE, "" },
    { NODE_STATE_ALLOCATED, "" },
    { NODE_STATE_MIXED | NODE_STATE_COMPLETING, "" },
    { NODE_STATE_IDLE | NODE_STATE_PLANNED, "" },
    { NODE_STATE_IDLE | NODE_STATE_DYNAMIC_NORM, "" },
    { NODE_STATE_IDLE | NODE_STATE_CLOUD, "" },
    { NODE_STATE_ALLOCATED | NODE_STATE_REBOOT_REQUESTED, "" },
    { NODE_STATE_IDLE | NODE_STATE_DRAIN, " drained" },
    { NODE_STATE_ALLOCATED | NODE_STATE_DRAIN, " drained" },
    { NODE_STATE_DOWN, " down" },
    { NODE_STATE_ERROR, " down" },
    { NODE_STATE_DOWN | NODE_STATE_DRAIN, " down drained" },
    { NODE_STATE_ALLOCATED | NODE_STATE_FAIL, " down" },
    { NODE_STATE_IDLE | NODE_STATE_INVALID_REG, " down" },
    { NODE_STATE_IDLE | NODE_STATE_REBOOT_ISSUED, " down" },
    { NODE_STATE_IDLE | NODE_STATE_NO_RESPOND, " down" },
    { NODE_STATE_IDLE | NODE_STATE_POWERED_DOWN, " powered_down" },
    { NODE_STATE_IDLE | NODE_STATE_POWERED_DOWN | NODE_STATE_NO_RESPOND,
      " powered_down" },
    { NODE_STATE_ALLOCATED | NODE_STATE_POWERING_UP | NODE_STATE_NO_RESPOND,
      " powered_down" },
    { NODE_STATE_IDLE | NODE_STATE_POWERING_DOWN, " powered_down" },
    { NODE_STATE_IDLE | NODE_STATE_POWER_DOWN, " powered_down" },
    { NODE_STATE_IDLE | NODE_STATE_POWER_UP, " powered_down" },
    { NODE_STATE_ALLOCATED | NODE_STATE_POWER_DRAIN, " powered_down" },
    { NODE_STATE_IDLE | NODE_STATE_RES, " reserved" },
    { NODE_STATE_IDLE | NODE_STATE_RES | NODE_STATE_MAINT, " reserved" },
    { NODE_STATE_DOWN | NODE_STATE_MAINT, " down reserved" },
    { NODE_STATE_UNKNOWN, " unknown" },
    { NODE_STATE_UNKNOWN | NODE_STATE_NO_RESPOND, " unknown down" },
    { NODE_STATE_FUTURE, " unknown" },
    { NODE_STATE_END, " unknown" },
};

static void test_states (void)
{
    for (size_t i = 0; i < sizeof (states) / sizeof (states[0]); i++) {
        struct policy_node n = { 0 };
        char means[64];

        controller_state (&n, states[i].state);
        snprintf (means, sizeof (means), "%s%s%s%s%s",
                  n.unknown ? " unknown" : "", n.down ? " down" : "",
                  n.powered_down ? " powered_down" : "",
                  n.reserved ? " reserved" : "", n.drained ? " drained" : "");
        ok (!strcmp (means, states[i].means), "state 0x%x:%s",
            (unsigned)states[i].state, means);
    }
}

/*
 * Without a Slurm
 */

static struct error err;

static int ask_nodes (void)
{
    struct controller_nodes nodes;

    return controller_nodes (&nodes, &err);
}

static int ask_drain (void)
{
    return controller_drain ("h0001", "pmm: test", &err);
}

static int ask_resume (void)
{
    return controller_resume ("h0001", "pmm: test", &err);
}

static int ask_idle (void)
{
    struct hostlist hl;

    return controller_idle (&hl, "audit", &err);
}

static int ask_user (void)
{
    char name[CONTROLLER_NAME];
    uid_t uid;

    return controller_user (&uid, name, &err);
}

static int (*const calls[]) (void)
    = { ask_nodes, ask_drain, ask_resume, ask_idle, ask_user };

/* Slurm's library ends the process that gives it such a file; where there is
 * none it would wait for a minute.
 */
static void test_no_slurm (void)
{
    char path[] = "/tmp/pmm-test.XXXXXX";
    int fd = mkstemp (path);

    if (!ok (fd >= 0 && write (fd, "Nonsense\n", 9) == 9, "a bad slurm.conf"))
        return;
    close (fd);
    setenv ("SLURM_CONF", path, 1);
    for (size_t i = 0; i < sizeof (calls) / sizeof (calls[0]); i++)
        ok (calls[i]() < 0 && err.fault == ERROR_WORLD
                && !strncmp (err.text, "slurmctld: ", 11),
            "with it: %s", err.text);
    unlink (path);
}

static void test_bad_names (void)
{
    static const char *const names[]
        = { "", "-h", "h[1-9]", "h1,h2", "ALL nodes", "h1\t" };

    for (size_t i = 0; i < sizeof (names) / sizeof (names[0]); i++)
        ok (controller_drain (names[i], "pmm: test", &err) < 0
                && err.fault == ERROR_INPUT,
            "'%s' is nobody to drain", names[i]);
    ok (controller_drain ("h0001", "", &err) < 0 && err.fault == ERROR_INPUT,
        "nor any node for no Reason");
}

int main (void)
{
    test_states ();
    test_no_slurm ();
    test_bad_names ();
    return done_testing ();
}
