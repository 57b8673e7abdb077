/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Job: the step of an audit, which srun runs in a job of its own, with a new
 * environment and under a watchdog. The job has whole nodes that are free at
 * once; otherwise there is no job. If it must be ended, nothing of it remains.
 */
#ifndef PROLOG_JOB_H
#define PROLOG_JOB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "ibquery/ports.h"
#include "util/error.h"
#include "util/site.h"

struct audit_job {
    const struct site *site;
    const char *conf;     /* pmm.conf for pmm-probe; NULL: its own */
    const char *name;     /* job name in Slurm, unique */
    const char *nonce;
    const char *leader;   /* one of the nodes */
    const char *nodes;    /* a list of n, */
    size_t n;
    const char *partners; /* ... these of them are in the job; the others are
                             drained and have only the step */
    size_t npartners;
    const volatile sig_atomic_t *stop; /* end it if not 0; may be NULL */

    /* Whether a node's data about that port are accepted: the port must be its
     * own. The node is given by srun (--label), not by the output itself.
     */
    bool (*owns) (const void *arg, const char *node,
                  const struct local_port *port);
    const void *arg;
};

/* A node on which the step was not started, or ended early. */
struct job_fault {
    char node[64];
    char cause[128];
    bool launch; /* not started there, but started on others */
    int64_t audit; /* set by the audit */
};

struct job_said {
    char *record;            /* output of one task: len bytes and a NUL */
    size_t len;
    char recorder[64];       /* the node of that task; "": not known */
    struct local_port *port; /* as read by the members */
    size_t nports;
    struct port_traffic *traffic; /* what the ports carried during the step */
    size_t ntraffic;
    bool launched;           /* nodes were there to start the step on */
    bool cancelled;          /* the job was ended by others */
    struct job_fault *fault; /* nodes to blame for a missing result, as far as
                                srun reports them */
    size_t nfaults;
    char why[256];           /* why there is no result */
    char left[256];          /* what may remain of the job; "": nothing */
};

/* Run it; takes at most AuditTimeout and some seconds. Return 1 if there is a
 * result, 0 if there is none, -1 with err; call job_said_clear in all cases.
 */
int job_run (const struct audit_job *job, struct job_said *said,
             struct error *err);
void job_said_clear (struct job_said *said);

/* The program's environment and arguments, terminated by NULL; free with
 * program_free. The only variable kept from our environment is SLURM_CONF; mpi
 * comes from site_mpi. NULL with errno ENOMEM.
 */
char **job_environment (const struct site *site);
char **job_arguments (const struct audit_job *job, const char *mpi,
                      char *const *env);

/* Record: the output of the step (pmm-probe --audit): a line with the plan, one
 * with the samples, and the result
 *
 *     pmm-result 1 <OK|WARN|FAIL|UNKNOWN> <nonce> <one sentence>
 *
 * or the result alone, whose sentence says why nothing was measured. Nothing in
 * it is trusted: rows must be those of the given snapshot, endpoints those of
 * the requested nodes. The step's own verdict counts only if it is UNKNOWN:
 * then something failed that the samples do not show.
 *
 * Slurm truncates labelled lines of more than 1 KB. So plan and samples come in
 * pieces, each a line that begins with '+'; a '+' alone ends them.
 */
enum {
    RECORD_MAX = 64 << 20, /* bytes */
};

struct audit_record {
    struct pathset *ps;
    struct plan *plan;       /* NULL: nothing was measured, */
    struct samples *samples; /* ... likewise */
    bool unknown;            /* the step's verdict is UNKNOWN, */
    char sentence[256];      /* ... and why; "" if there is no result */
};

/* Read the len bytes at text, which are modified. node_of[endpoint of the
 * fabric] is the node of that endpoint if the node is audited, else NULL: the
 * record may be of no others. Return 0, or -1 with err if it is not such a
 * record; call record_clear in both cases.
 */
int record_read (struct audit_record *r, char *text, size_t len,
                 const char *nonce, const struct fabric *f,
                 const char *const *node_of, struct error *err);
void record_clear (struct audit_record *r);

#endif /* PROLOG_JOB_H */
