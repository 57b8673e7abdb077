/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spool: the jobs that ended, from the controller's epilog hook to the audit
 * service.
 *
 * A directory that only SlurmUser can write, with a small file for each end of
 * a job, named JOB.TIME. Two ends of a job less than SPOOL_AGAIN_S apart are
 * the same end, whose hook ran twice, for example because slurmctld was
 * restarted; otherwise the job was requeued. (Slurm's restart count does not
 * help: it is the same at the end of a run that is requeued and at the end of
 * the next run.) The hook writes the file as JOB.TIME.new and renames it, so
 * no reader sees half of it. What a killed hook leaves is removed after an
 * hour. The service renames a record when it begins its audit:
 *
 *     57.1795295276            the job has ended
 *     57.1795295276.begun.56   its audit has begun, with a number above 56
 *     57.1795295276.done.58    audit 58 was its audit; kept for a day, so that
 *                              a hook that runs twice causes no second audit
 *
 * File format: "pmm-spool 1", then one line each for job, uid, time (s since
 * 1970), checked (0, 1: whether the user asked for a check), partition, nodes
 * (as Slurm folds them), then "end". The content of a record is untrusted.
 *
 * The hook does not sync the file to disk: a crash of the machine may lose the
 * records of the last seconds. The service does sync its renames.
 */
#ifndef PROLOG_SPOOL_H
#define PROLOG_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/text.h"

enum {
    SPOOL_FILES_MAX = 4096,         /* more are dropped and counted */
    SPOOL_RECORD_BYTES = 160 << 10, /* Linux passes up to 128 KiB of nodes */
    SPOOL_PARTITION_BYTES = 256,
    SPOOL_NODES_MAX = 1 << 17,
    SPOOL_KEEP_S = 24 * 3600,       /* finished records */
    SPOOL_AGAIN_S = 60,
};

/* The file in the spool that the service locks. The directory itself will not
 * do: any user who may read it could lock it.
 */
#define SPOOL_LOCK "lock"

struct spool_record {
    uint64_t job; /* of an array: the task's own job id */
    uint64_t uid;
    uint64_t time;
    uint64_t checked;
    const char *partition;
    const char *nodes;
};

/* Write a record to dir. Return 0, or -1 with err; errno ENOSPC if there are
 * SPOOL_FILES_MAX already. Failures are counted in dir, if it can be written.
 */
int spool_drop (const char *dir, const struct spool_record *record,
                struct error *err);

/*
 * The service
 */

enum spool_state { SPOOL_FRESH, SPOOL_BEGUN, SPOOL_DONE };

struct spool_entry {
    enum spool_state state;
    uint64_t audit; /* BEGUN: the newest audit before its own; DONE: its audit;
                       FRESH: 0 */
    uint64_t job, uid;
    int64_t time;
    int64_t waited; /* s since `time`, by the monotonic clock */
    int64_t since;  /* ... that clock at `time` */
    int64_t tried;  /* set by the caller: when it could not be audited;
                       INT64_MIN: it was not tried */
    bool checked;
    char partition[SPOOL_PARTITION_BYTES];
    struct hostlist nodes; /* sorted by strcmp */
};

struct spool_list {
    struct spool_entry *v; /* by job and time */
    size_t n;
    char **remark;    /* one sentence per refused file */
    size_t nremarks;
    uint64_t dropped; /* by hooks since the last spool_read */
};

/* Open the spool, which only our user may write. Wait up to wait_ms for another
 * service to end: errno EWOULDBLOCK if it does not. NULL with err.
 */
struct spool;
struct spool *spool_open (const char *dir, int wait_ms, struct error *err);
void spool_close (struct spool *spool);

/* Readable when there may be new records; spool_read drains it. */
int spool_fd (const struct spool *spool);

/* Read all records; now is clock_date. *list is { 0 }, or what the last
 * call left in it, whose `since` and `tried` stay. A file that has the name of a
 * record but is none is removed, with a remark. These are removed without a
 * remark: records done more than SPOOL_KEEP_S ago, or as far in the future; and
 * of two records of the same end, the one that progressed less. Return 0, or -1
 * with err; call spool_list_clear in both cases.
 */
int spool_read (struct spool *spool, int64_t now, struct spool_list *list,
                struct error *err);
void spool_list_clear (struct spool_list *list);

/* spool_mark sets the state of an entry; it is on the disk when this returns.
 * spool_remove removes the entry; after a crash of the machine it may be there
 * again. Return 0, or -1 with err.
 */
int spool_mark (struct spool *spool, struct spool_entry *entry,
                enum spool_state state, uint64_t audit, struct error *err);
int spool_remove (struct spool *spool, struct spool_entry *entry,
                  struct error *err);

#endif /* PROLOG_SPOOL_H */
