/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's configuration: pmm.conf(5), and the plugin's arguments in
 * plugstack.conf, which take the same keys. The table in site.c is the only
 * list of keys, defaults and their meaning.
 */
#ifndef UTIL_SITE_H
#define UTIL_SITE_H

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

/* Fields are named after their keys; site.c says what they mean. Times are in
 * milliseconds, shares in percent. A string "" is: none, not known, any.
 */
struct site {
    /* where things are */
    char *conf;       /* only in plugstack.conf: read this pmm.conf */
    char *snapshot, *baseline, *signs, *verdicts, *metrics; /* published */
    char *reports;    /* directory of pages */
    char *cabling;    /* a table of the cables, with their labels */
    char *ledger, *spool, *local, *run, *live_fabric;
    char *pmm, *srun, *probe, *job_comment, *notify_program;
    char *hooks;      /* directory of pmm-prolog and pmm-epilog */
    char *slurm_user; /* the hooks trust its files, as root's */
    char *mpi;
    int snapshots_kept, read_every_ms, reports_kept;

    /* the check */
    char *mode, *report_partitions, *require_partitions;
    int timeout_ms;   /* watchdog over a whole check */

    /* the hooks: prolog/node/look.h */
    char *port_rate;

    /* the measurement */
    char *transport, *emu_socket, *node_map, *node_name_map;
    int repeats, ping_bytes, extra_rounds, base_lids, confirm_rounds;
    char *rates;

    /* verbs */
    char *device, *service, *gid_index, *pkey, *polling, *clock;
    int service_level, traffic_class, pin, round_trip_us;

    /* the judgement: core/judge/judge.h */
    double warn_ns, warn_spread, fail_ns, fail_spread, open_share, busy_share;

    /* the policy: prolog/policy/policy.h */
    char *action;
    int confirm_after_ms, confirm_within_ms, drain_again_after_ms;
    int max_drain_per_day, resume;
    double fail_latency_ns, max_drain_share, max_unavailable;

    /* the audits and their service: prolog/audit/audit.h, serve/queue.h */
    char *audit_partition, *audit_rates;
    int audit_timeout_ms, audit_every_ms, audit_again_after_ms;
    int audit_min_nodes, audits_per_hour, audits_per_user, checks_per_user;
    int ledger_days;
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

/* Whether rates may be measured, in an audit or in a user's check. */
int site_allows_rates (const struct site *site, int audit);

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
