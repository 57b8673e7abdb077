/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Note: the lines that audits leave in the comments of the jobs that they
 * followed, out of the ledger. They are made of what is recorded and not when
 * it is, so that none is lost with who is killed in between.
 */
#ifndef PROLOG_NOTE_H
#define PROLOG_NOTE_H

#include <stdint.h>

#include "ibquery/fabric.h"
#include "prolog/ledger.h"
#include "util/error.h"

/* Queue a line for each audit from `from` on that measured, was about a job and
 * has none yet. What it found is named if the links are in the fabric. Return
 * how many were queued, or -1 with err; those before stay queued.
 */
int64_t note_jobs (struct ledger *ledger, const struct fabric *fabric,
                   int64_t from, int64_t now, struct error *err);

#endif /* PROLOG_NOTE_H */
