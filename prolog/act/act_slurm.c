/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The act_world of Slurm: a separate file, so that tests link without Slurm. */
#include "config.h"
#include "prolog/act/act.h"

const struct act_world act_slurm = {
    .user = controller_user,
    .nodes = controller_nodes,
    .drain = controller_drain,
    .resume = controller_resume,
};
