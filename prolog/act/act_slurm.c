/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The act_world of Slurm: a separate file, so that tests link without Slurm. */
#include "config.h"
#include "prolog/act/act.h"

static int self (void *arg, char name[CONTROLLER_NAME], struct error *err)
{
    uid_t uid;

    (void)arg;
    return controller_user (&uid, name, err);
}

static int nodes (void *arg, struct controller_nodes *n, struct error *err)
{
    (void)arg;
    return controller_nodes (n, err);
}

static int drain (void *arg, const char *node, const char *reason,
                  struct error *err)
{
    (void)arg;
    return controller_drain (node, reason, err);
}

static int resume (void *arg, const char *node, const char *reason,
                   struct error *err)
{
    (void)arg;
    return controller_resume (node, reason, err);
}

const struct act_world act_slurm = {
    .self = self,
    .nodes = nodes,
    .nodes_clear = controller_nodes_clear,
    .drain = drain,
    .resume = resume,
};
