/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `pmm doctor`: what of a site's configuration keeps slurm-pmm
 * from working, or makes it work for less than it could. To add one, write a
 * function, declare it here, list it in verb_doctor.c.
 *
 * A check says OK, with what it found; WARN, with what to mend for something
 * to work better; FAIL, with what to mend for it to work at all; UNKNOWN where
 * it could not look. It changes nothing.
 */
#ifndef PMM_DOCTOR_H
#define PMM_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/site.h"

enum { DOCTOR_TEXT = 512 };

struct doctor_site {
    const char *path;          /* of pmm.conf; NULL: where it should be */
    struct site site;          /* the defaults where pmm.conf is bad */
    bool bad_site;             /* it is, with this */
    struct error site_error;
    bool answers;              /* slurmctld; else this */
    struct error slurm_error;
    struct controller_conf slurm;
    uid_t uid;                 /* SlurmUser; root where it is not known */
    char user[CONTROLLER_NAME];
    struct fabric *fabric;     /* the snapshot; NULL with this */
    struct error fabric_error;
    time_t now;
};

typedef enum verdict_status (*doctor_f) (const struct doctor_site *p,
                                         char text[DOCTOR_TEXT]);

/* Set the text, and return the level. */
enum verdict_status doctor_say (char text[DOCTOR_TEXT],
                                enum verdict_status level, const char *fmt,
                                ...) __attribute__ ((format (printf, 3, 4)));

/* doctor_files.c: what is in our own files */
enum verdict_status doctor_conf (const struct doctor_site *, char *);
enum verdict_status doctor_snapshot (const struct doctor_site *, char *);
enum verdict_status doctor_baseline (const struct doctor_site *, char *);
enum verdict_status doctor_ledger (const struct doctor_site *, char *);
enum verdict_status doctor_spool (const struct doctor_site *, char *);
enum verdict_status doctor_service (const struct doctor_site *, char *);
enum verdict_status doctor_node_map (const struct doctor_site *, char *);
enum verdict_status doctor_programs (const struct doctor_site *, char *);
enum verdict_status doctor_verdicts (const struct doctor_site *, char *);
enum verdict_status doctor_umad (const struct doctor_site *, char *);

/* doctor_slurm.c: what Slurm is configured to; slurmctld must answer */
enum verdict_status doctor_release (const struct doctor_site *, char *);
enum verdict_status doctor_nodes (const struct doctor_site *, char *);
enum verdict_status doctor_mpi (const struct doctor_site *, char *);
enum verdict_status doctor_pmix_directory (const struct doctor_site *, char *);
enum verdict_status doctor_mpi_default (const struct doctor_site *, char *);
enum verdict_status doctor_memlock (const struct doctor_site *, char *);
enum verdict_status doctor_ports (const struct doctor_site *, char *);
enum verdict_status doctor_partition (const struct doctor_site *, char *);
enum verdict_status doctor_preemption (const struct doctor_site *, char *);
enum verdict_status doctor_association (const struct doctor_site *, char *);
enum verdict_status doctor_comments (const struct doctor_site *, char *);
enum verdict_status doctor_epilogslurmctld (const struct doctor_site *, char *);
enum verdict_status doctor_prolog (const struct doctor_site *, char *);
enum verdict_status doctor_epilog (const struct doctor_site *, char *);
enum verdict_status doctor_healthcheck (const struct doctor_site *, char *);

/* doctor_audits.c: how audits went; the same */
enum verdict_status doctor_audits (const struct doctor_site *, char *);
enum verdict_status doctor_nodes_audited (const struct doctor_site *, char *);

/* doctor_plugin.c: plugstack.conf and what it loads; the same */
enum verdict_status doctor_plugin (const struct doctor_site *, char *);

/* The directory of the hooks that the plugin is to run: the caller's to free;
 * NULL: it runs none, or that is not known.
 */
char *doctor_hooks (const struct doctor_site *p);

#endif /* PMM_DOCTOR_H */
