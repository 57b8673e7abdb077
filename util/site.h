/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's configuration: pmm.conf(5), and the plugin's arguments in
 * plugstack.conf, which take the same keys. The table in site.c is the only
 * list of keys, defaults and their meaning.
 */
#ifndef UTIL_SITE_H
#define UTIL_SITE_H

#include <stddef.h>

#include "util/conf.h"
#include "util/error.h"

#define SITE_AUTO "auto"

/* Limits of other files, which assert that they are the same. */
enum {
    SITE_CONFIRM_MAX = 8, /* core/judge/confirm */
    SITE_PING_MIN = 16,   /* probe/group */
    SITE_PING_MAX = 256,
    SITE_AUDITS_MAX = 100, /* an hour: prolog/serve/duty_spool */
};

struct site {
    /* where things are */
    char *conf;       /* only in plugstack.conf: read this pmm.conf */
    char *snapshot;   /* the published fabric snapshot */
    int snapshots_kept; /* earlier ones, in its directory */
    int read_every_ms; /* read the whole fabric, even without a change */
    char *baseline;   /* published baseline samples; "" or a missing file:
                         none */
    char *signs;      /* published check of the links; as the baseline */
    char *ledger;     /* the results of audits */
    char *spool;      /* jobs that ended, for the audit service */
    char *verdicts;   /* the published verdict cache */
    char *local;      /* per-node state kept between hook runs */
    char *run;        /* hooks' directory for locks, until the next boot */
    char *live_fabric; /* where the prolog has the fabric read; "": never */
    char *pmm;        /* the pmm that reads it */
    char *hooks;      /* directory of pmm-prolog and pmm-epilog, for the
                         plugin to run; "": slurm.conf runs them */
    char *slurm_user; /* the hooks trust its files, as root's; "": none */
    char *srun;       /* the srun that starts the nested step */
    char *probe;      /* the pmm-probe that it runs */
    char *mpi;        /* how the processes of the step meet */
    char *job_comment; /* the pmm-comment for its outcome; "": none */

    /* the check */
    char *mode;       /* the default of a job: off, report, require */
    char *report_partitions;  /* comma-separated: other modes for some */
    char *require_partitions;
    int timeout_ms;   /* watchdog over a whole check */

    /* the hooks */
    char *port_rate;  /* of a node's ports, as "4xEDR"; "": see
                         prolog/node/look.h */

    /* the measurement */
    char *transport;  /* verbs, emu */
    char *emu_socket; /* of pmm-emu */
    char *node_map;   /* nodes' endpoints; "": from the snapshot */
    int repeats;      /* round trips of a probe from either side */
    int ping_bytes;   /* size of the messages of a round trip */
    int extra_rounds; /* redundant rounds */
    int base_lids;    /* use only the first LID of each port */
    int confirm_rounds; /* of the second stage, at most */

    /* verbs */
    char *device;     /* ports, comma-separated; "": all active ones */
    char *service;    /* ud, rc */
    char *gid_index;  /* a number, or SITE_AUTO */
    char *pkey;       /* "": the port's first one with full membership */
    int service_level;
    int traffic_class;
    char *polling;    /* busy, event, or SITE_AUTO */
    char *clock;      /* host, or SITE_AUTO */
    int pin;          /* poll on a core near the device */
    int round_trip_us; /* an upper bound; 0: chosen by the device */

    /* the judgement: see core/judge/judge.h */
    double warn_ns;
    double warn_spread;
    double fail_ns;
    double fail_spread;
    double open_share;
    double busy_share;

    /* the policy: see prolog/policy/policy.h */
    char *action;     /* report, comment, drain */
    int confirm_after_ms;
    int confirm_within_ms;
    double fail_latency_ns;
    int max_drain_per_day;
    double max_drain_share; /* percent */
    double max_unavailable; /* percent */
    int drain_again_after_ms;
    int resume;

    /* the audits: prolog/audit/audit.h */
    char *audit_partition;
    int audit_timeout_ms;

    /* the audit service: prolog/serve/queue.h */
    int audit_min_nodes;
    int audit_every_ms;
    int audit_again_after_ms;
    int audits_per_hour;
    int audits_per_user;
    int checks_per_user;
    int ledger_days;  /* how long audits are kept; 0: forever */
};

extern const struct conf_option site_options[];

/* Fill site with the defaults, then from the file at path. If `trusted`, only
 * root may be able to change the file (file_open_trusted). path NULL is the
 * built-in PMM_CONF_PATH; it is no error if that does not exist. Return 0, or
 * -1 with err; call site_clear in both cases.
 */
int site_read (struct site *site, const char *path, int trusted,
               struct error *err);
void site_clear (struct site *site);

/* Check what the table cannot: values that contradict each other. site_read
 * does this; call it again after conf_set. Return 0, or -1 with err naming the
 * option.
 */
int site_check (const struct site *site, struct error *err);

/* The mode of a job in this partition that does not choose one: off, report or
 * require.
 */
const char *site_mode (const struct site *site, const char *partition);

/* The types of srun --mpi= by which the processes of a step can meet: the best
 * first, then NULL. Try each if Slurm has none of those before it.
 */
struct site_mpi {
    const char *name;     /* in pmm.conf */
    const char *types[3];
    const char *none;     /* the message if Slurm has none of them */
};
const struct site_mpi *site_mpi (const struct site *site);

/* How many seconds a step may wait for a peer: a quarter of the time of the
 * whole check, so that a second try is possible, but at least 2. If nodes
 * answer late, the site must give checks and audits more time.
 */
int site_meet_timeout_s (int timeout_ms);

/* The part of the remaining time that pmm-probe gets: it ends before the
 * watchdog does, so that it can report what it waited for.
 */
int site_probe_timeout_ms (int left_ms);

#endif /* UTIL_SITE_H */
