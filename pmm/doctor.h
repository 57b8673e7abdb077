/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `pmm doctor`: what in a site's configuration stops slurm-pmm
 * from working, or limits it. To add a check, write a function, declare it here
 * and list it in verb_doctor.c.
 *
 * A check returns OK, with what it found; WARN, with what to change so that
 * something works better; FAIL, with what to change so that it works at all;
 * UNKNOWN if it could not check. It changes nothing.
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

enum {
    DOCTOR_TEXT = 512,
    DOCTOR_WAIT_MS = 5000, /* timeout for a program or a library */
};

/* The site, read once. */
struct doctor_site {
    const char *path;          /* of pmm.conf; NULL: the default path */
    struct site site;          /* the defaults if pmm.conf is bad */
    bool bad_site;             /* pmm.conf is bad, with this error: */
    struct error site_error;
    bool answers;              /* slurmctld does; if not, this error: */
    struct error slurm_error;
    struct controller_conf slurm;
    uid_t uid;                 /* SlurmUser; root if not known */
    char user[CONTROLLER_NAME];
    struct fabric *fabric;     /* the snapshot; NULL: this error: */
    struct error fabric_error;
    time_t now;
};

/* Set the text, and return the level. */
enum verdict_status doctor_say (char text[DOCTOR_TEXT],
                                enum verdict_status level, const char *fmt,
                                ...) __attribute__ ((format (printf, 3, 4)));
#define say_ok(text, ...) doctor_say ((text), VERDICT_OK, __VA_ARGS__)
#define say_warn(text, ...) doctor_say ((text), VERDICT_WARN, __VA_ARGS__)
#define say_fail(text, ...) doctor_say ((text), VERDICT_FAIL, __VA_ARGS__)
#define say_unknown(text, ...) doctor_say ((text), VERDICT_UNKNOWN, __VA_ARGS__)

typedef enum verdict_status doctor_check (const struct doctor_site *p,
                                          char text[DOCTOR_TEXT]);

/* doctor_files.c: our own files */
doctor_check doctor_conf, doctor_snapshot, doctor_baseline, doctor_ledger,
    doctor_spool, doctor_service, doctor_node_map, doctor_programs,
    doctor_verdicts, doctor_umad;

/* doctor_slurm.c: Slurm's configuration; slurmctld must answer */
doctor_check doctor_release, doctor_nodes, doctor_mpi, doctor_pmix_directory,
    doctor_mpi_default, doctor_memlock, doctor_ports, doctor_partition,
    doctor_preemption, doctor_association, doctor_comments,
    doctor_epilogslurmctld, doctor_prolog, doctor_epilog, doctor_healthcheck;

/* doctor_audits.c: results of audits; slurmctld must answer */
doctor_check doctor_audits, doctor_nodes_audited;

/* doctor_plugin.c: plugstack.conf and what it loads; slurmctld must answer */
doctor_check doctor_plugin;

/* The directory of the hooks that the plugin must run; the caller frees. NULL:
 * it runs none, or the directory is not known.
 */
char *doctor_hooks (const struct doctor_site *p);

#endif /* PMM_DOCTOR_H */
