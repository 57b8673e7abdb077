/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a site decides: pmm.conf(5), and the words behind the plugin's name in
 * plugstack.conf, which take the same keys. Read by the plugin, by pmm-probe
 * and by `pmm judge`; the table in site.c is the one list of keys, defaults
 * and their meaning.
 */
#ifndef UTIL_SITE_H
#define UTIL_SITE_H

#include <stddef.h>

#include "util/conf.h"
#include "util/error.h"

#define SITE_AUTO "auto"

/* Limits of others, who assert that these are theirs. */
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
    int snapshots_kept; /* earlier ones, beside it */
    int read_every_ms; /* all of the fabric, though no change is seen */
    char *baseline;   /* published baseline samples; "" is none; a missing
                         file is none as well */
    char *signs;      /* published check of the links; as the baseline */
    char *ledger;     /* what the audits leave */
    char *spool;      /* which jobs ended, for the audit service */
    char *verdicts;   /* the published verdict cache */
    char *local;      /* what a node's hooks leave to the next ones */
    char *run;        /* their directory until the next boot */
    char *live_fabric; /* where the prolog has the fabric read; "": nowhere */
    char *pmm;        /* the pmm that reads it */
    char *hooks;      /* directory of pmm-prolog and pmm-epilog, for the
                         plugin to run; "": slurm.conf's are */
    char *slurm_user; /* whom the hooks trust, like root; "": nobody */
    char *srun;       /* the srun that starts the nested step */
    char *probe;      /* the pmm-probe that it runs */
    char *mpi;        /* how the processes of the step meet */
    char *job_comment; /* the pmm-comment for what it said; "": none */

    /* the check */
    char *mode;       /* where the job does not say: off, report, require */
    char *report_partitions;  /* comma-separated: other modes for some */
    char *require_partitions;
    int timeout_ms;   /* watchdog over a whole check */

    /* the hooks */
    char *port_rate;  /* of a node's ports, as "4xEDR"; "": see
                         prolog/node/look.h */

    /* the measurement */
    char *transport;  /* verbs, emu */
    char *emu_socket; /* of pmm-emu */
    char *node_map;   /* whose endpoint is whose; "": as the snapshot says */
    int repeats;      /* round trips of a probe from either side */
    int ping_bytes;   /* of a round trip's messages */
    int extra_rounds; /* redundant rounds */
    int base_lids;    /* by no other LIDs than the ports' first */
    int confirm_rounds; /* of the second stage, at most */

    /* verbs */
    char *device;     /* ports, comma-separated; "": all that are active */
    char *service;    /* ud, rc */
    char *gid_index;  /* a number, or SITE_AUTO */
    char *pkey;       /* "": the port's first full membership */
    int service_level;
    int traffic_class;
    char *polling;    /* busy, event, or SITE_AUTO */
    char *clock;      /* host, or SITE_AUTO */
    int pin;          /* to a core near the device */
    int round_trip_us; /* longer than any; 0: by the device */

    /* the judgement: core/judge/judge.h says what they mean */
    double warn_ns;
    double warn_spread;
    double fail_ns;
    double fail_spread;
    double open_share;
    double busy_share;

    /* the policy: prolog/policy/policy.h says what they mean */
    char *action;     /* report, comment, drain */
    int confirm_after_ms;
    int confirm_within_ms;
    double fail_latency_ns;
    int max_drain_per_day;
    double max_drain_share; /* in per cent, like the next */
    double max_unavailable;
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
    int ledger_days;  /* audits are kept for so long; 0: for ever */
};

extern const struct conf_option site_options[];

/* Fill site with the defaults, then with the file at path. The file must be
 * trusted (file_open_trusted by root) where `trusted`; a file that does not
 * exist is no error where path is the built-in default PMM_CONF_PATH (NULL).
 * Return 0, or -1 with err; site_clear is due in both cases.
 */
int site_read (struct site *site, const char *path, int trusted,
               struct error *err);
void site_clear (struct site *site);

/* Check what the table cannot: values that do not go together. site_read does
 * this; it is due again after conf_set. Return 0, or -1 with err naming the
 * option.
 */
int site_check (const struct site *site, struct error *err);

/* The mode of a job that does not say and is of this partition: off, report
 * or require.
 */
const char *site_mode (const struct site *site, const char *partition);

/* The ways for the processes of a step to meet, by names of srun --mpi=, the
 * best first, then NULL: each is for where Slurm has none of those before it.
 */
struct site_mpi {
    const char *name;     /* in pmm.conf */
    const char *types[3];
    const char *none;     /* what to say where Slurm has none of them */
};
const struct site_mpi *site_mpi (const struct site *site);

/* How long a step may wait for a peer, in seconds, of all the time that a check
 * may take: a quarter, so that a second try fits, but 2 at least. A site where
 * nodes answer late gives checks and audits more time.
 */
int site_meet_timeout_s (int timeout_ms);

/* What pmm-probe gets of the time left: it ends before the watchdog bites, to
 * say what it waited for.
 */
int site_probe_timeout_ms (int left_ms);

#endif /* UTIL_SITE_H */
