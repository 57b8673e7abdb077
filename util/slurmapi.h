/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's C library, as it is the same in all releases from 22.05 to 26.05.
 *
 * Whoever calls the library includes this in place of Slurm's headers, and
 * finds here what differs. For the rest, keep to what all releases have:
 *
 *   errno                            slurm_get_errno is gone since 24.11
 *   void * for a list, an iterator,  the types' names have changed
 *   and a list of hosts
 *   slurm_list_append (l, p);        returns nothing since 23.02, and never
 *                                    fails: it ends the process
 *
 * tests/t0012-releases.t compiles against the headers of each release.
 */
#ifndef UTIL_SLURMAPI_H
#define UTIL_SLURMAPI_H

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>
#include <sys/types.h>

#include "util/error.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(22, 5, 0)
#error "Slurm 22.05 or later is needed"
#endif

/* A job, and not one of its steps. */
static inline slurm_step_id_t slurmapi_whole_job (uint32_t id)
{
    return (slurm_step_id_t){ .job_id = id,
                              .step_het_comp = NO_VAL,
                              .step_id = NO_VAL };
}

/* A job as slurm_load_job and slurm_kill_job take it. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
typedef uint32_t slurmapi_job_t;
#define slurmapi_job(id) (id)
#else
typedef slurm_step_id_t slurmapi_job_t;
#define slurmapi_job slurmapi_whole_job
#endif

/* The number of a job, as a member of job_info_t and of job_desc_msg_t. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define slurmapi_job_id job_id
#else
#define slurmapi_job_id step_id.job_id
#endif

/* Set who gives a node's Reason: slurmctld believes that up to 24.05, and
 * takes who asks it from then on.
 */
static inline void slurmapi_reason_by (update_node_msg_t *node, uid_t uid)
{
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
    node->reason_uid = uid;
#else
    (void)node;
    (void)uid;
#endif
}

/* The number of the library's interface that is of the headers' release: 38 is
 * that of 22.05, each release has one more (23.02, 23.11), and from there on
 * there is one every six months.
 */
static inline long slurmapi_interface (void)
{
    enum { YEAR = SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER),
           MONTH = 12 * YEAR + SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER),
           SINCE = 12 * 23 + 11 };

    return MONTH < SINCE ? 38 + (YEAR == 23) : 40 + (MONTH - SINCE) / 6;
}

/* Prepare for calls; the library may end the process where it finds no
 * slurm.conf. Return 0, or -1 with err where it is of another release than the
 * headers were: the structures may differ, so nothing is to be called.
 */
int slurmapi_start (struct error *err);

#endif /* UTIL_SLURMAPI_H */
