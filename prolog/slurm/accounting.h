/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of slurmdbd: to put lines behind the AdminComment of finished
 * jobs, and what stands in the comments of jobs (report/comment.h).
 *
 * By Slurm's C library, as prolog/slurm/controller does: in a child process,
 * since the library waits a minute and a half for a slurmdbd that hangs,
 * prints, and may end its process. Errors are ERROR_WORLD and begin with
 * "slurmdbd: ". The caller must be slurmdbd's SlurmUser, or an operator by
 * sacctmgr.
 *
 * Slurm has no way to change a comment only if nobody else did. A line is put
 * behind what the comment was milliseconds before; what another tool writes in
 * these is lost. Afterwards it is looked whether the line is there.
 */
#ifndef PROLOG_ACCOUNTING_H
#define PROLOG_ACCOUNTING_H

#include <stddef.h>
#include <stdint.h>

#include "prolog/ledger/ledger.h"
#include "util/error.h"
#include "util/site.h"

enum {
    ACCOUNTING_WAIT_MS = 20000, /* for slurmdbd, in all of a call */
    ACCOUNTING_LINES_MAX = 1000, /* of a call */
    ACCOUNTING_RETRY_S = 2,     /* after the first try that failed; */
    ACCOUNTING_RETRY_MAX_S = 900, /* twice as long after each, to this */
    ACCOUNTING_GIVE_UP_S = 7 * 24 * 3600, /* on a job that is not there */
};

/* What became of a line. */
enum accounting_fate {
    ACCOUNTING_UNTRIED, /* time was short, or another line of the same job was
                           before it */
    ACCOUNTING_LATER, /* slurmdbd does not know the job's end yet */
    ACCOUNTING_THERE, /* it was put there, or had been already */
    ACCOUNTING_FULL,  /* the comment would get too long: it stays as it was */
    ACCOUNTING_OTHER, /* another job has this number by now: nothing was done */
};

/* A job is its number and the time that it was submitted, 0: not known. The
 * line of one that was requeued goes to its last run, when that has ended: no
 * other can be changed.
 */
struct accounting_line {
    uint32_t job;
    int64_t submitted;
    const char *text;
    enum accounting_fate fate; /* the result */
};

/* Append each line to its job's AdminComment, behind all that stands there;
 * one that stands there already is not put there twice. Return 0, or -1 with
 * err, with all of them ACCOUNTING_UNTRIED: some may be there all the same.
 */
int accounting_append (struct accounting_line *line, size_t n,
                       struct error *err);

/* Work off up to n of the comments that are due in the ledger, where the site
 * wants comments. It takes ACCOUNTING_WAIT_MS at most; what could not be
 * written is due again some time later. Return how many were tried, and how
 * many of them are there now, or -1 with err: the next try can wait as well.
 */
int accounting_flush (const struct site *site, struct ledger *ledger,
                      int64_t now, size_t n, int *written, struct error *err);

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
