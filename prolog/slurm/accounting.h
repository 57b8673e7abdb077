/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmdbd: to append lines to the AdminComment of finished
 * jobs, and to read the comments of jobs (report/comment.h).
 *
 * By Slurm's C library, as prolog/slurm/controller does: in a child process,
 * since the library waits a minute and a half for a slurmdbd that hangs,
 * prints, and may end its process. Errors are ERROR_WORLD and begin with
 * "slurmdbd: ". The caller must be slurmdbd's SlurmUser, or an operator by
 * sacctmgr.
 *
 * Slurm has no way to change a comment only if no other tool did. A line is
 * appended to what the comment was milliseconds before; what another tool
 * writes meanwhile is lost. Then the comment is read again: is the line there?
 */
#ifndef PROLOG_ACCOUNTING_H
#define PROLOG_ACCOUNTING_H

#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"

/* Write up to n of the comments that are due in the ledger, in 20 seconds at
 * most; what could not be written is due again some time later. Return how many
 * were tried, and how many of them are there now, or -1 with err: the next try
 * can wait as well.
 */
int accounting_flush (struct ledger *ledger, int64_t now, size_t n,
                      int *written, struct error *err);

/* A job that has ended, and its comments, "" where there are none. */
struct accounting_job {
    uint32_t job;
    int64_t end;
    const char *admin_comment, *comment;
};

/* Hand on the jobs of this cluster that ended at `from` or later and before
 * `to`, as far as a comment of theirs may hold an entry of ours. Return 0, or
 * -1 with err.
 */
int accounting_read (int64_t from, int64_t to,
                     void (*take) (void *arg,
                                   const struct accounting_job *job),
                     void *arg, struct error *err);

#endif /* PROLOG_ACCOUNTING_H */
