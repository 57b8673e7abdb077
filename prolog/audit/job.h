/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job: the step of an audit, which srun runs in a job of its own, in an
 * environment from scratch and under a watchdog. The nodes are whole, and free
 * at once, or there is no job. If it must be ended, nothing of it remains.
 */
#ifndef PROLOG_JOB_H
#define PROLOG_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "ibquery/ports.h"
#include "util/error.h"
#include "util/site.h"

struct audit_job {
    const struct site *site;
    const char *conf;     /* pmm.conf for pmm-probe; NULL: its own */
    const char *name;     /* as Slurm shows it, and no other job's */
    const char *nonce;
    const char *leader;   /* of the nodes */
    const char *nodes;    /* a list of n, */
    size_t n;
    const char *partners; /* ... of which these are in the job; the others,
                             which are drained, have the step only */
    size_t npartners;
    const volatile sig_atomic_t *stop; /* not 0: end it; may be NULL */

    /* Whether what a node says of that port is heard: of its own. Which node
     * says it is srun's word (--label), not the node's.
     */
    bool (*owns) (const void *arg, const char *node,
                  const struct local_port *port);
    const void *arg;
};

/* A node on which the step was not started, or ended. */
struct job_fault {
    char node[64];
    char cause[128];
    bool launch; /* it was not started there, while it was elsewhere */
};

struct job_said {
    char *record;            /* of one task: len bytes and a NUL */
    size_t len;
    char recorder[64];       /* the node of that task; "": srun did not tell */
    struct local_port *port; /* as the members know theirs */
    size_t nports;
    struct port_traffic *traffic; /* what they carried meanwhile */
    size_t ntraffic;
    bool launched;           /* there were nodes to start the step on */
    bool cancelled;          /* others ended the job */
    struct job_fault *fault; /* why there is no result, as far as srun knows */
    size_t nfaults;
    char why[256];           /* there is no result */
    char left[256];          /* what may remain of the job; "": nothing */
};

/* Run it; takes AuditTimeout and some seconds at most. Return 1 where there is
 * a result, 0 where there is none, -1 with err; job_said_clear is due in all
 * cases.
 */
int job_run (const struct audit_job *job, struct job_said *said,
             struct error *err);
void job_said_clear (struct job_said *said);

/* The program's environment and arguments, ended by NULL, to be freed by
 * program_free. Of our environment it has but SLURM_CONF; mpi is of
 * site_mpi. NULL with errno ENOMEM.
 */
char **job_environment (const struct site *site);
char **job_arguments (const struct audit_job *job, const char *mpi,
                      char *const *env);

#endif /* PROLOG_JOB_H */
