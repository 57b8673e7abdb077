/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spool: which jobs ended, from the controller's epilog hook to the audit
 * service.
 *
 * A directory that only SlurmUser may write, with a small file for each end of
 * a job, named JOB.TIME. Ends of a job that are less than SPOOL_AGAIN_S apart
 * are one end whose hook ran twice, as it may when slurmctld is restarted
 * meanwhile; others are of a job that was requeued. (Slurm's count of requeues
 * is the same at the end of a run that is requeued and of the next.) The hook
 * writes the file under a name that starts with a dot and renames it, so that
 * no reader sees half of it; what a killed hook has left is removed after an
 * hour. The service renames a record when it begins with it:
 *
 *     57.1795295276            the job has ended
 *     57.1795295276.begun.56   it is being audited, by an audit after number 56
 *     57.1795295276.done.58    audit 58 was of it; kept for a day, so that a
 *                              hook that runs twice brings no second audit
 *
 * File format: "pmm-spool 1", then a line each of job, uid, time (s since
 * 1970), checked (0, 1: whether the user asked for a check), partition, nodes
 * (as Slurm folds them), then "end". Whatever is in a record is untrusted.
 *
 * The hook does not wait for the disk: a crash of the machine may lose the
 * records of its last seconds. The service does: its renames last.
 */
#ifndef PROLOG_SPOOL_H
#define PROLOG_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"
#include "util/text.h"

enum {
    SPOOL_FILES_MAX = 4096,         /* more are dropped, and counted */
    SPOOL_RECORD_BYTES = 160 << 10, /* Linux hands over 128 KiB of nodes */
    SPOOL_PARTITION_BYTES = 256,
    SPOOL_NODES_MAX = 1 << 17,
    SPOOL_KEEP_S = 24 * 3600,       /* records that are done */
    SPOOL_AGAIN_S = 60,
};

/* A file in the spool that the service locks. The directory would not do: who
 * may read it could lock it.
 */
#define SPOOL_LOCK "lock"

struct spool_record {
    uint64_t job; /* of an array: the task's own number */
    uint64_t uid;
    uint64_t time;
    uint64_t checked;
    const char *partition;
    const char *nodes;
};

/* Leave a record in dir. Return 0, or -1 with err; errno ENOSPC where there are
 * SPOOL_FILES_MAX already. Failures are counted in dir, if that can be written.
 */
int spool_drop (const char *dir, const struct spool_record *record,
                struct error *err);

/*
 * The service
 */

enum spool_state { SPOOL_FRESH, SPOOL_BEGUN, SPOOL_DONE };

struct spool_entry {
    enum spool_state state;
    uint64_t audit; /* BEGUN: the newest before; DONE: the one; FRESH: 0 */
    uint64_t job, uid;
    int64_t time;
    int64_t waited; /* s since then, by the monotonic clock */
    bool checked;
    char partition[SPOOL_PARTITION_BYTES];
    struct hostlist nodes; /* sorted by strcmp */
};

struct spool_list {
    struct spool_entry *v; /* by job and time */
    size_t n;
    char **remark;    /* a sentence for each file that was refused */
    size_t nremarks;
    uint64_t dropped; /* by hooks, since the last spool_read */
};

/* Open the spool, which only we may write. Wait so long for another service
 * to end: errno EWOULDBLOCK where it does not. NULL with err.
 */
struct spool;
struct spool *spool_open (const char *dir, int wait_ms, struct error *err);
void spool_close (struct spool *spool);

/* Readable when there may be something new; spool_read empties it. */
int spool_fd (const struct spool *spool);

/* Read all records. A file that has a record's name but is none is removed,
 * with a remark. Removed without one are those done more than SPOOL_KEEP_S ago,
 * or so long in the future, and of two records of one end that which got less
 * far. Return 0, or -1 with err; spool_list_clear is due in both cases.
 */
int spool_read (struct spool *spool, int64_t now, struct spool_list *list,
                struct error *err);
void spool_list_clear (struct spool_list *list);

/* Put an entry in a state, which is on the disk when this returns. Or remove
 * it; after a crash of the machine it may be there again. Return 0, or -1 with
 * err.
 */
int spool_mark (struct spool *spool, struct spool_entry *entry,
                enum spool_state state, uint64_t audit, struct error *err);
int spool_remove (struct spool *spool, struct spool_entry *entry,
                  struct error *err);

#endif /* PROLOG_SPOOL_H */
