/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmctld: list the nodes and their states, drain a node, resume
 * a node that we drained.
 *
 * Slurm's C library waits for an answer for MessageTimeout or longer, prints,
 * and ends its process if slurm.conf cannot be read. So each call is made in a
 * child process (prolog/slurm/child.h), which reads slurm.conf again and is
 * ended after CONTROLLER_WAIT_MS. Functions return 0, a number or an answer that
 * child_free releases, or -1 or NULL with err: an ERROR_WORLD that begins with
 * "slurmctld: ". After an error, a drain or resume may still have been applied;
 * the next reading of the nodes shows it.
 *
 * Slurm cannot change a node on condition that no other user changed it. A
 * drain or resume first reads the node in the same process, and does nothing if
 * the node is not in the required state. If another user sets the node's Reason
 * in the milliseconds between the two calls, that Reason is lost, but that
 * user's drain is not.
 */
#ifndef PROLOG_CONTROLLER_H
#define PROLOG_CONTROLLER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "prolog/policy/policy.h"
#include "prolog/slurm/child.h"
#include "util/error.h"
#include "util/text.h"

#define CONTROLLER_OURS "pmm: " /* prefix of our Reasons */

enum {
    CONTROLLER_WAIT_MS = 15000,
    CONTROLLER_NODES_MAX = 1 << 17,
    CONTROLLER_NAME = 64, /* bytes of a user's name and its NUL */
};

/* Nodes as Slurm shows them, in its order. `by` is the user who set the Reason:
 * the name, or the number if the user has no name.
 */
struct controller_nodes {
    struct policy_node *v;
    size_t n;
    void *answer; /* has them */
};

/* All nodes, including hidden ones, without those configured as FUTURE. */
int controller_nodes (struct controller_nodes *nodes, struct error *err);

static inline void controller_nodes_clear (struct controller_nodes *nodes)
{
    child_free (nodes->answer);
    *nodes = (struct controller_nodes){ 0 };
}

/* Set the policy's flags of a node from Slurm's node_state.
 *
 *   unknown       not registered yet, so no state is known
 *   powered_down  off, or powering down or up
 *   reserved      in a reservation, or in maintenance
 *   drained       DRAIN, with jobs or without
 *   down          DOWN, FAIL, wrong configuration, being booted, or not
 *                 responding although it has power
 *
 * A node in any other state (allocated, completing, planned, dynamic, to be
 * rebooted when its jobs have ended) is in service.
 */
void controller_state (struct policy_node *node, uint32_t node_state);

/* Drain a node. `reason` must not be empty. Return 1; 0 if it is drained
 * already, and nothing was done.
 */
int controller_drain (const char *node, const char *reason, struct error *err);

/* Resume a node that is drained and not down, and whose Reason is exactly
 * `reason` and was set by our user. Return 1; 0 if this does not hold, and
 * nothing was done.
 */
int controller_resume (const char *node, const char *reason, struct error *err);

/* The nodes of a partition (NULL: the default one) that are idle and in no other
 * state, sorted as hostlist_has needs it; hostlist_clear frees them. A partition
 * that does not exist is an error.
 */
int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err);

/* Whether jobs of a partition would preempt others: PreemptType is
 * partition_prio, and a partition of lower PriorityTier whose jobs may be
 * preempted shares nodes with it. Return 1 with that partition in err, or 0.
 */
int controller_evicts (const char *partition, struct error *err);

/* A job, by its id or as "12_3", a task of an array. id 0: Slurm has no such job,
 * or does not show it to this user.
 */
struct controller_job {
    uint32_t id, uid;
    char user[CONTROLLER_NAME]; /* the name, or the number */
    const char *state; /* pending, starting, running, suspended, ended */
    uint32_t count;             /* of its nodes */
    const char *nodes, *comment; /* may be NULL */
    bool het;
};
struct controller_job *controller_job (const char *job, struct error *err);

/* Cancel our user's jobs of that name. Return how many. */
int controller_cancel (const char *job_name, struct error *err);

/* The nodes that we drained (the Reason begins with CONTROLLER_OURS and was set
 * by our user), that are up and have no job left, sorted likewise.
 *
 * Such a node is audited while it stays drained, so nothing is lost if the
 * audit is not made. Slurm gives it to no job, but starts a step on it for
 * SlurmUser or root (srun --no-allocate), whatever runs there: so only on nodes
 * of this list, and on partners that a job holds (prolog/audit/job.c).
 */
int controller_drained (struct hostlist *hl, struct error *err);

/* Get SlurmUser. */
int controller_user (uid_t *uid, char name[CONTROLLER_NAME], struct error *err);

/* The configuration of slurmctld, as `scontrol show config` prints it. */
struct controller_conf *controller_conf (struct error *err);

/* A value of it (NULL: of none), "" if there is none; of a key that has several
 * since some release ("Prolog[0]"), the first. Borrowed.
 */
const char *controller_value (const struct controller_conf *conf,
                              const char *key);

/* The properties of a partition that audits depend on. */
struct controller_partition {
    bool exists, up;
    bool open;        /* to users other than root and SlurmUser */
    uint32_t minutes; /* time limit of a job; UINT32_MAX: none */
    struct hostlist inside, outside; /* nodes that are in it, or not; sorted */
};
struct controller_partition *controller_partition (const char *name,
                                                   struct error *err);

/* Whether slurmdbd has an association of that user with this cluster. */
int controller_associated (const char *user, struct error *err);

#endif /* PROLOG_CONTROLLER_H */
