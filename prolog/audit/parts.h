/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of an audit: its job, the record that comes of it, and the baselines
 * and signs that are judged with it.
 */
#ifndef PROLOG_PARTS_H
#define PROLOG_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/judge.h"
#include "core/plan/plan.h"
#include "ibquery/links/check.h"
#include "ibquery/ports.h"
#include "prolog/audit/audit.h"
#include "report/page/page.h"

/*
 * Job: srun runs the step in a job of its own, with a new environment and under
 * a watchdog. The job has whole nodes that are free at once; otherwise there is
 * no job. If it must be ended, nothing of it remains.
 */

struct audit_job {
    const struct audit *audit;
    const char *name;     /* job name in Slurm, unique */
    const char *nonce;
    const char *leader;   /* one of the nodes */
    const char *nodes;    /* a list of n, */
    size_t n;
    const char *partners; /* ... these of them are in the job; the others are
                             drained and have only the step */
    size_t npartners;     /* 0: all are drained, and there is no job */
    const char *rates;    /* of which links, as for pmm-probe; NULL: none */
    /* As in record_read. A node's data about a port are accepted if the port is
     * its own: that of the node as srun names it (--label), not the output.
     */
    const char *const *node_of;
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
    bool stands_in;          /* it is not the leader, which printed none */
    char astray[64];         /* a node that printed one beside the leader's;
                                "": none */
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
    char odd[320];           /* a type of MPI that did not start the step; "":
                                none */
    char left[256];          /* what may remain of the job; "": nothing */
};

/* Run it; takes at most AuditTimeout and some seconds. Return 1 if there is a
 * result, 0 if there is none, -1 with err; call job_said_clear in all cases.
 */
int job_run (const struct audit_job *job, struct job_said *said,
             struct error *err);
void job_said_clear (struct job_said *said);

/* The program's environment and arguments, terminated by NULL; free with
 * program_free. Only the variables that lead to slurmctld are kept from our
 * environment; mpi comes from site_mpi.
 */
char **job_environment (const struct site *site);
char **job_arguments (const struct audit_job *job, const char *mpi,
                      char *const *env);

/*
 * Record: the output of the step (pmm-probe --audit): a line with the plan, one
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

/*
 * Signs: what the audit's ports show besides latency, entered in the ledger.
 *
 *   counter  an error counter has grown by more than is healthy since the
 *            previous audit that read it (table in ibquery/local)
 *   width    the port has fewer lanes than the snapshot has for its cable
 *   speed    the port has slower lanes
 *
 * One kind is not entered, but compared with the verdict:
 *
 *   wait     messages waited at a port, by a published check
 */

/* The audit whose signs are entered, and when. node_of is as in record_read. */
struct signs_scope {
    struct ledger *ledger;
    int64_t audit, time;
    const struct fabric *f;
    const char *const *node_of;
};

/* Enter the ports as the audit read them. Ports of other nodes, and ports that
 * are not in the snapshot, are ignored. Return the number of signs, or -1 with
 * err.
 */
int signs_enter (const struct signs_scope *scope,
                 const struct local_port *port, size_t n, struct error *err);

/* Remark which adapters have lost lanes of PCIe: no finding, as messages are
 * small. An idle link may be slow, but keeps its lanes.
 */
void signs_remark_pcie (struct verdict *v, const struct fabric *f,
                        const char *const *node_of,
                        const struct local_port *port, size_t n);

/* Whether a port belongs to that node, by the snapshot. */
bool signs_owns (const struct fabric *f, const char *const *node_of,
                 const char *node, const struct local_port *port);

/* Enter what a published check (pmm fabric check --json) found at the host
 * links of the audit's nodes, if it is of this fabric and younger than
 * SIGNS_MAX_AGE; path "" and a missing file count as no check. *waits gets the
 * waits in it, including those at switch ports, if it is younger than
 * SIGNS_WAIT_AGE; free them with check_clear_signs. Return the number of signs,
 * or -1 with err if the ledger is at fault. If the file cannot be used, odd
 * holds the reason in `size` bytes, else "".
 */
enum { SIGNS_MAX_AGE = 86400, SIGNS_WAIT_AGE = 600 };
int signs_enter_file (const struct signs_scope *scope, const char *path,
                      struct check_signs *waits, char *odd, size_t size,
                      struct error *err);

/*
 * Reports: write the page of an audit that has a result, then reports_tidy. The
 * page has everything but its history, about and made. Return 0, or -1 with err.
 */
int reports_add (const struct site *site, struct ledger *ledger, int64_t audit,
                 struct page *page, struct error *err);

/* The table Cabling of pmm.conf; NULL: there is none, or with *odd, which the caller
 * frees, why it cannot be used.
 */
struct cabling *reports_cabling (const struct site *site,
                                 const struct fabric *f, char **odd);

/* Write the site's page; `pages` are the audits that have one, ascending. Return
 * 0, or -1 with err.
 */
int sitepage_write (const struct reports *in, const uint64_t *pages,
                    size_t npages, FILE *fp, struct error *err);

/* A text without words that begin with a slash, which the caller frees; as JSON,
 * cleaned.
 */
char *page_plain (const char *text);
json_t *page_text (const char *text);

/* Why a node is not in service; NULL: it is. */
const char *page_state (const struct policy_node *node);

/* The nodes that audits miss, by why, for that page: [{nodes, n, why}]. NULL with
 * err.
 */
json_t *missed_json (const struct reports *in, int64_t now, struct error *err);

/* What changed in 30 days, the newest first, for that page: [{time, kind, link,
 * text}]; link may be missing. NULL with err.
 */
json_t *changed_json (const struct reports *in, int64_t now, struct error *err);

#endif /* PROLOG_PARTS_H */
