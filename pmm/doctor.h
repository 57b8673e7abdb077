/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `pmm doctor`: what in a site's configuration stops slurm-pmm
 * from working, or limits it. To add a check, write a function and list it in
 * verb_doctor.c.
 *
 * A check says and returns OK, with what it found; WARN, with what to change so
 * that something works better; FAIL, with what to change so that it works at
 * all; UNKNOWN if it could not check. It changes nothing.
 */
#ifndef PMM_DOCTOR_H
#define PMM_DOCTOR_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/plugstack.h"
#include "util/site.h"

enum { DOCTOR_WAIT_MS = 5000 }; /* timeout for a program or a library */

struct doctor;

struct doctor_check {
    const char *name;
    bool slurm; /* only if slurmctld answers */
    enum verdict_status (*look) (struct doctor *d);

    /* of a hook: */
    const char *program, *without; /* ours; the consequence without it */
    bool of_jobs;                  /* the plugin may run it */
};

/* The site, read once. */
struct doctor {
    const struct doctor_check *check; /* that runs */
    const char *path;          /* of pmm.conf; NULL: the default path */
    struct site site;          /* the defaults if pmm.conf is bad */
    bool bad_site;             /* pmm.conf is bad, with this error: */
    struct error site_error;
    struct fabric *fabric;     /* the snapshot; NULL: this error: */
    struct error fabric_error;
    struct nodemap *map;       /* NULL: the site has none, or this error: */
    struct error map_error;
    time_t now;

    bool answers;              /* slurmctld does; if not, this error: */
    struct error slurm_error;  /* ... or nodes.v is NULL, with it */
    json_t *slurm;             /* its configuration */
    struct controller_nodes nodes;
    uid_t uid;                 /* SlurmUser; root if not known */
    char user[CONTROLLER_NAME];

    int stacked;               /* plugstack_find's answer for our plugin */
    struct plugstack_line line;
    struct site plugin;        /* pmm.conf, then the words of the line */
    bool bad_plugin;           /* they are wrong; that, or stacked < 0: */
    struct error plugin_error;

    char text[512];            /* what the last check said */
    struct error err;          /* of a call of a check */
};

/* Set the text, and return the level. */
enum verdict_status doctor_say (struct doctor *d, enum verdict_status level,
                                const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));
#define say_ok(d, ...) doctor_say ((d), VERDICT_OK, __VA_ARGS__)
#define say_warn(d, ...) doctor_say ((d), VERDICT_WARN, __VA_ARGS__)
#define say_fail(d, ...) doctor_say ((d), VERDICT_FAIL, __VA_ARGS__)
#define say_unknown(d, ...) doctor_say ((d), VERDICT_UNKNOWN, __VA_ARGS__)
#define say_error(d, level) doctor_say ((d), (level), "%s", (d)->err.text)

/* doctor_slurm.c: slurmctld, and the rest if it answers */
typedef enum verdict_status doctor_look (struct doctor *d);
doctor_look doctor_slurmctld, doctor_release, doctor_nodes, doctor_plugin,
    doctor_mpi, doctor_pmix_directory, doctor_mpi_default, doctor_memlock,
    doctor_ports, doctor_partition, doctor_preemption, doctor_association,
    doctor_comments, doctor_hook;

/* Ask slurmctld, and read plugstack.conf. */
void doctor_ask_slurm (struct doctor *d);

#endif /* PMM_DOCTOR_H */
