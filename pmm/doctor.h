/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The checks of `pmm doctor`: what in a site's configuration stops slurm-pmm
 * from working, or limits it. To add a check, write a function and list it in
 * verb_doctor.c.
 *
 * A check says and returns OK, with what it found; INFO, with what the site could
 * use besides; WARN, with what to change so that something works better; FAIL,
 * with what to change so that it works at all; UNKNOWN if it could not check. It
 * changes nothing.
 */
#ifndef PMM_DOCTOR_H
#define PMM_DOCTOR_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "ibquery/fabric.h"
#include "ibquery/nodemap.h"
#include "prolog/slurm/controller.h"
#include "util/error.h"
#include "util/plugstack.h"
#include "util/site.h"
#include "util/text.h"

enum { DOCTOR_WAIT_MS = 5000 }; /* timeout for a program or a library */

enum doctor_level { /* a greater value outranks a lower one */
    DOCTOR_OK,
    DOCTOR_INFO,
    DOCTOR_WARN,
    DOCTOR_UNKNOWN,
    DOCTOR_FAIL,
};

struct doctor;

enum doctor_kind {
    DOCTOR_SLURM = 1,  /* only if slurmctld answers */
    DOCTOR_AUDITS = 2, /* fails nothing before the site has audits */
    DOCTOR_JOBS = 4,   /* a hook that the plugin may run */
    DOCTOR_FABRIC = 8, /* not known without a snapshot */
};

struct doctor_check {
    const char *name;
    unsigned int kind; /* of doctor_kind */
    enum doctor_level (*look) (struct doctor *d);
    const char *program, *without; /* a hook: ours; the consequence without */
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
    struct controller_conf *slurm; /* its configuration */
    struct controller_nodes nodes;
    uid_t uid;                 /* SlurmUser; pmm.conf's if !answers */
    char user[CONTROLLER_NAME];

    const char *mpi;           /* type of the steps (srun --mpi); NULL: none */
    char mpi_path[PATH_MAX];   /* its plugin */
    struct error mpi_error;    /* why it is not the first wanted, or fails */

    char plugstack[PATH_MAX];  /* the path of plugstack.conf */
    int stacked;               /* plugstack_find's answer for our plugin */
    struct plugstack_line line;
    struct site plugin;        /* pmm.conf, then the words of the line */
    bool bad_plugin;           /* they are wrong; that, or stacked < 0: */
    struct error plugin_error;

    bool ask, try;             /* --ask, --try */
    bool asked;                /* idle is known, or this error: */
    struct error idle_error;
    struct hostlist idle;      /* nodes that are asked */
    const char *partition;     /* ... in it; NULL: the default one */

    bool audits;               /* the service or pmm audit ever ran */
    struct ledger *ledger;     /* NULL: not opened yet */
    char text[512];            /* what the last check said */
    char todo[512];            /* ... and what to do; "": the text has it */
    struct error err;          /* of a call of a check */
};

/* Set the text, and return the level. */
__attribute__ ((format (printf, 3, 4)))
static inline enum doctor_level doctor_say (struct doctor *d,
                                            enum doctor_level level,
                                            const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (d->text, sizeof (d->text), fmt, ap);
    va_end (ap);
    text_clean (d->text);
    return level;
}

/* Set what to do about it, for the last line: a command where there is one. */
__attribute__ ((format (printf, 2, 3)))
static inline void doctor_todo (struct doctor *d, const char *fmt, ...)
{
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (d->todo, sizeof (d->todo), fmt, ap);
    va_end (ap);
    text_clean (d->todo);
}

#define say_ok(d, ...) doctor_say ((d), DOCTOR_OK, __VA_ARGS__)
#define say_info(d, ...) doctor_say ((d), DOCTOR_INFO, __VA_ARGS__)
#define say_warn(d, ...) doctor_say ((d), DOCTOR_WARN, __VA_ARGS__)
#define say_fail(d, ...) doctor_say ((d), DOCTOR_FAIL, __VA_ARGS__)
#define say_unknown(d, ...) doctor_say ((d), DOCTOR_UNKNOWN, __VA_ARGS__)
#define say_error(d, level) doctor_say ((d), (level), "%s", (d)->err.text)

/* doctor_slurm.c: slurmctld, and the rest if it answers */
typedef enum doctor_level doctor_look (struct doctor *d);
doctor_look doctor_slurmctld, doctor_release, doctor_nodes, doctor_plugin,
    doctor_mpi, doctor_pmix_directory, doctor_mpi_default, doctor_memlock,
    doctor_ports, doctor_topology, doctor_partition, doctor_preemption,
    doctor_association, doctor_comments, doctor_hook;

/* doctor_ask.c: the compute nodes */
doctor_look doctor_ask_nodes, doctor_try;

/* PMIx does not work: where Slurm has PMI-2 and pmm.conf does not ask for it, it
 * is to do to ask for it. Return whether it is.
 */
bool doctor_without_pmix (struct doctor *d);

/* Ask slurmctld, and read plugstack.conf. */
void doctor_ask_slurm (struct doctor *d);

#endif /* PMM_DOCTOR_H */
