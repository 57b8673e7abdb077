/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's C library, in a form that works with all releases from 22.05 to
 * 26.05.
 *
 * Files that call the library include this instead of Slurm's headers. It
 * defines what differs between releases. Apart from that, use only what all
 * releases have:
 *
 *   errno                            slurm_get_errno was removed in 24.11
 *   void * for a list, an iterator   the names of the types changed
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

/* A whole job, not one of its steps. */
static inline slurm_step_id_t slurmapi_whole_job (uint32_t id)
{
    return (slurm_step_id_t){ .job_id = id,
                              .step_het_comp = NO_VAL,
                              .step_id = NO_VAL };
}

/* The job argument of slurm_load_job and slurm_kill_job. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
typedef uint32_t slurmapi_job_t;
#define slurmapi_job(id) (id)
#else
typedef slurm_step_id_t slurmapi_job_t;
#define slurmapi_job slurmapi_whole_job
#endif

/* The member of job_info_t and job_desc_msg_t that has the job id. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 11, 0)
#define slurmapi_job_id job_id
#else
#define slurmapi_job_id step_id.job_id
#endif

/* Set the user of a node's Reason. slurmctld uses this up to 24.05; later
 * releases take the user who makes the request.
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

/* The library's interface number for the release of the headers: 38 for 22.05,
 * 39 for 23.02, 40 for 23.11, and one more for each release after that, every
 * six months.
 */
static inline long slurmapi_interface (void)
{
    enum { YEAR = SLURM_VERSION_MAJOR (SLURM_VERSION_NUMBER),
           MONTH = 12 * YEAR + SLURM_VERSION_MINOR (SLURM_VERSION_NUMBER),
           SINCE = 12 * 23 + 11 };

    return MONTH < SINCE ? 38 + (YEAR == 23) : 40 + (MONTH - SINCE) / 6;
}

/* Prepare the library for calls; it may end the process if it finds no
 * slurm.conf. Return 0, or -1 with err if the library is of another release
 * than the headers: then call nothing, since the structures may differ.
 */
int slurmapi_start (struct error *err);

#endif /* UTIL_SLURMAPI_H */
