/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmctld: which nodes there are and how they are, to drain
 * one, to resume one that we drained.
 *
 * By Slurm's C library, which finds slurm.conf as the commands do (SLURM_CONF,
 * or where Slurm was built to look) and with it the munge socket of AuthInfo.
 *
 * The library waits for an answer for MessageTimeout and longer; it prints, and
 * ends its process where slurm.conf cannot be read. So each call is made in a
 * child process (prolog/slurm/child.h), which reads slurm.conf again and is
 * ended after CONTROLLER_WAIT_MS. Errors are ERROR_WORLD and begin with
 * "slurmctld: ". After an error, a drain or resume may have been applied all
 * the same; the next reading of the nodes tells.
 *
 * Slurm has no way to change a node only if no other user did. A drain or
 * resume reads the node first, in the same process, and does nothing if it is
 * not as it must be. Milliseconds remain between the two calls: a Reason that
 * another user gives the node meanwhile is lost; that user's drain is not.
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

#define CONTROLLER_OURS "pmm: " /* start of our Reasons */

enum {
    CONTROLLER_WAIT_MS = 15000,
    CONTROLLER_NODES_MAX = 1 << 17,
    CONTROLLER_NAME = 64, /* bytes of a user's name and its end */
};

/* Nodes as Slurm shows them, in its order. `by` is the user who gave the
 * Reason, by name if there is one, else by number. The strings are owned.
 */
struct controller_nodes {
    struct policy_node *v;
    size_t n;
    char *text; /* that the strings are in */
};

/* All nodes, hidden ones too; not those that are configured for the FUTURE.
 * Return 0, or -1 with err and nothing to clear.
 */
int controller_nodes (struct controller_nodes *nodes, struct error *err);
void controller_nodes_clear (struct controller_nodes *nodes);

/* Set what the policy asks of a node from Slurm's node_state.
 *
 *   unknown       no registration has told its state yet
 *   powered_down  off, or on its way there or back
 *   reserved      in a reservation, or in maintenance
 *   drained       DRAIN, with jobs or without
 *   down          DOWN, FAIL, of a wrong configuration, being booted, or not
 *                 responding while it has power
 *
 * What else there is (allocated, completing, planned, dynamic, a reboot when
 * its jobs have ended) leaves a node in service.
 */
void controller_state (struct policy_node *node, uint32_t node_state);

/* Drain a node. `reason` must not be empty. Return 1; 0 where it is drained
 * already, and nothing was done; -1 with err.
 */
int controller_drain (const char *node, const char *reason,
                      struct error *err);

/* Resume a node that is drained and not down, and of which the Reason is
 * exactly `reason` and was given by our user. Return 1; 0 where it is not so,
 * and nothing was done; -1 with err.
 */
int controller_resume (const char *node, const char *reason,
                       struct error *err);

/* The nodes of a partition that are idle and in no other state, sorted as
 * hostlist_has wants it. Return 0, or -1 with err (also where there is no such
 * partition); hostlist_clear frees them.
 */
int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err);

/* Whether jobs of a partition would preempt others: PreemptType is
 * partition_prio, and a partition of lower PriorityTier, whose jobs may be
 * preempted, shares nodes with it. Return 1 with err saying which, 0, or -1
 * with err.
 */
int controller_evicts (const char *partition, struct error *err);

/* Cancel our user's jobs of that name. Return how many, or -1 with err. */
int controller_cancel (const char *job_name, struct error *err);

/* The nodes that we drained (the Reason begins with CONTROLLER_OURS and is our
 * user's), that are up and have no job left, sorted likewise. Return 0, or -1
 * with err; hostlist_clear frees them.
 *
 * Such a node is audited while it stays drained, so that nothing is lost if the
 * audit is not made. Slurm gives it to no job, but starts a step there for
 * SlurmUser or root. A job holds the partners meanwhile. All of it is one
 * command, which prints the tasks' standard output:
 *
 *     salloc -Q -KKILL --immediate=S --exclusive --no-bell -t MINUTES
 *            -p AuditPartition -N p -w PARTNERS
 *     env -i SLURM_CONF=...
 *     srun -Q --no-allocate --mpi=... --propagate=NONE --export=NONE -K1
 *          -N n -n n --ntasks-per-node=1 -w NODE,PARTNERS /path/pmm-probe ...
 *
 * It needs what any audit needs: slurmd up, SlurmUser known on the node. The
 * node need not be of the partition. --no-allocate starts the step on the named
 * nodes whatever runs there: name only nodes of this list, and partners that
 * salloc holds. What salloc sets in srun's environment must be gone: Slurm's
 * PMIx would take the partners for the whole job and hang.
 *
 * SIGTERM to salloc frees the partners and ends salloc and srun at once; after
 * SIGKILL the partners are held until the time is over. Neither ends the
 * tasks, which slurmctld does not know: pmm-probe --timeout does.
 */
int controller_drained (struct hostlist *hl, struct error *err);

/* Who SlurmUser is. Return 0, or -1 with err. */
int controller_user (uid_t *uid, char name[CONTROLLER_NAME],
                     struct error *err);

/* What slurmctld is configured to, as `scontrol show config` has it. */
struct controller_conf {
    struct child_answer values; /* a name, its value, ... */
};

/* Return 0, or -1 with err and nothing to clear. */
int controller_conf (struct controller_conf *conf, struct error *err);
void controller_conf_clear (struct controller_conf *conf);

/* A value; "" where it is not set, or there is no such name. Borrowed. */
const char *controller_conf_get (const struct controller_conf *conf,
                                 const char *name);

/* What is to be known of a partition before audits run in it. */
struct controller_partition {
    bool up;
    bool open;               /* to users other than root and SlurmUser */
    uint32_t minutes;        /* a job may run; UINT32_MAX: any time */
    struct hostlist outside; /* nodes that are not of it */
};

/* Return 1; 0 where there is no such partition, or -1 with err, and then
 * nothing to clear.
 */
int controller_partition (struct controller_partition *part, const char *name,
                          struct error *err);
void controller_partition_clear (struct controller_partition *part);

/* Whether slurmdbd knows an association of that user with this cluster.
 * Return 1, 0, or -1 with err.
 */
int controller_associated (const char *user, struct error *err);

#endif /* PROLOG_CONTROLLER_H */
