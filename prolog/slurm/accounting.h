/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to slurmdbd: append lines to the AdminComment of finished jobs, and
 * read the comments of jobs (report/comment.h).
 *
 * Made in a child process, as by prolog/slurm/controller: Slurm's library waits
 * 90 s for a slurmdbd that hangs. Errors are ERROR_WORLD and begin with
 * "slurmdbd: ". The caller must be slurmdbd's SlurmUser, or an operator in
 * sacctmgr.
 *
 * Slurm cannot change a comment on condition that no other tool changed it. A
 * line is appended to the comment as it was milliseconds before; a write by
 * another tool in between is lost. Then the comment is read again, to check
 * that the line is there.
 */
#ifndef PROLOG_ACCOUNTING_H
#define PROLOG_ACCOUNTING_H

#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"

/* Write up to n of the ledger's comments that are due, in at most 20 seconds. A
 * comment that could not be written is due again later. Return how many were
 * tried, and in *written how many of them are now there; or -1 with err: then
 * wait before the next call.
 */
int accounting_flush (struct ledger *ledger, int64_t now, size_t n,
                      int *written, struct error *err);

/* A job that has ended, and its comments; NULL if there are none. */
struct accounting_job {
    uint32_t job;
    int64_t end;
    const char *admin_comment, *comment;
};

/* Call take for each job of this cluster that ended at `from` or later and
 * before `to`, if its comments may hold an entry of ours. Return 0, or -1 with
 * err.
 */
int accounting_read (int64_t from, int64_t to,
                     void (*take) (void *arg,
                                   const struct accounting_job *job),
                     void *arg, struct error *err);

#endif /* PROLOG_ACCOUNTING_H */
