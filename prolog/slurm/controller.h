/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmctld: which nodes there are and how they are, to drain
 * one, to resume one that we drained.
 *
 * Read by the policy's inputs, and by what carries out its decisions. By
 * Slurm's C library, which finds slurm.conf as the commands do (SLURM_CONF, or
 * where Slurm was built to look) and with it the munge socket of AuthInfo.
 *
 * The library waits for an answer for as long as MessageTimeout says, and
 * longer; it prints, and ends its process where slurm.conf cannot be read. So
 * each call is made in a child process of its own (prolog/slurm/child.h), which
 * reads slurm.conf anew and is ended after CONTROLLER_WAIT_MS. Errors are
 * ERROR_WORLD and begin with "slurmctld: ". After an error, a drain or resume
 * may have come about all the same; the next look at the nodes tells.
 *
 * Slurm has no way to change a node only if nobody else did. A drain or resume
 * looks at the node right before it, in one process, and does nothing where it
 * is not as it must be; the milliseconds between the two calls remain. Who
 * drains the node in these loses the own Reason, but not the drain; who edits
 * the Reason of a node that is just resumed loses that.
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

#define CONTROLLER_OURS "pmm: " /* what our Reasons begin with */

enum {
    CONTROLLER_WAIT_MS = 15000,
    CONTROLLER_NODES_MAX = 1 << 17,
    CONTROLLER_NAME = 64, /* bytes of a user's name and its end */
};

/* Nodes as Slurm shows them, in its order. `by` is the name of the user who
 * gave the Reason, or the number where it has none. The strings are owned.
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

/* Drain a node that nobody has drained. `reason` must not be empty. Return 1;
 * 0 where it is drained by now, whoever did it, and nothing was done; -1 with
 * err.
 */
int controller_drain (const char *node, const char *reason,
                      struct error *err);

/* Resume a node of which the Reason is `reason` to the letter, was given by
 * the user who runs us, and which is drained and not down. Return 1; 0 where
 * it is not so, and nothing was done; -1 with err.
 */
int controller_resume (const char *node, const char *reason,
                       struct error *err);

/* The nodes of a partition on which nothing runs, nothing is planned, and
 * nothing but its being idle is to be said, sorted as hostlist_has wants it.
 * Return 0, or -1 with err (also where there is no such partition);
 * hostlist_clear frees them.
 */
int controller_idle (struct hostlist *hl, const char *partition,
                     struct error *err);

/* Whether jobs of a partition would preempt others: PreemptType is
 * partition_prio, and a partition of lower PriorityTier, whose jobs may be
 * preempted, shares nodes with it. Return 1 with err saying which, 0, or -1
 * with err.
 */
int controller_evicts (const char *partition, struct error *err);

/* Cancel the jobs of that name that the user who runs us has. Return how many,
 * or -1 with err.
 */
int controller_cancel (const char *job_name, struct error *err);

/* The nodes that we drained (the Reason begins with CONTROLLER_OURS and is by
 * the user who runs us), that are up and on which no job is left. Return 0, or
 * -1 with err; hostlist_clear frees them.
 *
 * Such a node is audited while it stays drained, so that nothing is lost if
 * the audit is not. Slurm gives it to no job, but starts there what SlurmUser
 * or root, and nobody else, asks it to, in no job's name. The partners are held
 * meanwhile by a job as of any other audit. It is one command, salloc's with
 * srun's behind it, and its standard output is that of the tasks:
 *
 *     salloc -Q -KKILL --immediate=S --exclusive --no-bell -t MINUTES
 *            -p AuditPartition -N p -w PARTNERS
 *     env -i SLURM_CONF=...
 *     srun -Q --no-allocate --mpi=... --propagate=NONE --export=NONE -K1
 *          -N n -n n --ntasks-per-node=1 -w NODE,PARTNERS /path/pmm-probe ...
 *
 * It needs what any audit needs: slurmd up, SlurmUser known on the node. The
 * node need not be of the partition. Nodes that are named with --no-allocate
 * get the step whatever runs there: only nodes of this list, and partners that
 * salloc holds, are to be named. What salloc sets in srun's environment must
 * be gone: Slurm's PMIx takes the partners for all of the job and hangs.
 *
 * SIGTERM to salloc frees the partners and ends salloc and srun at once; after
 * SIGKILL the partners are held until the time is over. Neither ends the
 * tasks, since slurmctld knows of none: pmm-probe --timeout does.
 *
 * Sorted likewise.
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

/* A partition as one needs to know it who wants to audit in it. */
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
