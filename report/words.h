/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a finding, and of what to do: here and nowhere else. What is
 * wrong comes first, then what to do, and how it was measured last. Reports, the
 * page, pmm why, comments, notices, drains and the log take theirs from here; no
 * program reads them back. Every text is the caller's to free.
 */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include <jansson.h>
#include <stdint.h>

#include "core/judge/verdict.h"
#include "ibquery/fabric.h"

enum words_for {
    WORDS_JOB,   /* whoever has a job: leaves a node out, or tells somebody */
    WORDS_STAFF, /* whoever repairs it */
};

/* "h0006 mlx5_0's", "s1-0002/6 -- s2-0002/2" */
char *words_link (const struct fabric *f, uint32_t link);

/* What is wrong: "a cable is 1.0 us slow: h0006's, or s1-0002/6 -- s2-0002/2".
 */
char *words_finding (const struct finding *x, const struct fabric *f);

/* Where many places look slow at once (verdict_at_once): all of them, "15 places
 * between switches look slow at once, by up to 1.3 us: others' traffic, or changes
 * since the baseline"; and one, "s1-0002/6 -- s2-0002/2: +950 ns (+-38)".
 */
char *words_at_once (const struct verdict *v);
char *words_place (const struct finding *x, const struct fabric *f);

/* What to do: "leave out h0006, or send this to your support"; for staff, the
 * steps.
 */
char *words_do (const struct finding *x, const struct fabric *f,
                enum words_for who);

/* What staff do, in this order: a list of strings. */
json_t *words_steps (const struct finding *x, const struct fabric *f);

/* What its excess is against: "slower than in the baseline"; and all of it:
 * "+1003 ns (+-14) over an expected 431 ns, slower than ...", "98 of an expected
 * 197 Gb/s"; NULL if it has none.
 */
const char *words_against (enum finding_basis basis);
char *words_excess (const struct finding *x);

/* "98 of 197 Gb/s" */
char *words_rate (double bits, double expected);

/* One line on a verdict, printable: its worst finding and the number of others;
 * a limit if that is worse; what was measured if nothing was found. It does not
 * repeat the status.
 */
char *words_sentence (const struct verdict *v, const struct fabric *f);

/* How a finding was measured: its facts, one after the other; and one of them, as
 * a limit is.
 */
char *words_why (const struct finding *x);
char *words_fact (const struct fact *fact);

/* Where no finding is as bad as the verdict: why it is what it is. */
char *words_headline (const struct verdict *v);

/* What was measured, and how much of it that resolves. */
char *words_resolved (const struct verdict *v);

/* Why a node is drained, for Slurm's Reason: "h1 mlx5_0/1's cable is 412 ns slow:
 * reseat it, then swap it; audit 2, link h1/1, +412 ns over its 131 ns"; and the
 * part before the audit.
 */
struct words_drain {
    const char *host, *port, *link; /* port: "": not known */
    struct finding of;              /* its kind, basis, numbers and facts */
    uint64_t audit;
};
char *words_drain (const struct words_drain *d);
char *words_cable (const struct words_drain *d);

/* Kinds of notices, as NotifyProgram gets them (pmm.conf(5)). */
enum words_event {
    EVENT_DRAIN, EVENT_RESUME, EVENT_WOULD_DRAIN, EVENT_CABLE, EVENT_BLOCKED,
    EVENT_TROUBLE, EVENT_DIGEST, EVENTS,
};
extern const struct event_words {
    const char *name;
    const char *after; /* what to run then; NULL: the notice says it */
} event_words[]; /* [EVENTS] */

/* A text of several lines for a ticket. What is not known is left out. */
#define WORDS_DRAINED "drained by pmm"
struct words_case {
    const char *about;         /* "audit 57"; "": not known */
    int64_t since, seen;       /* when it was first and last found; 0: not known */
    size_t audits;             /* that found it; 0: not known */
    const char *muted;         /* why; NULL: it is not */
    const json_t *jobs;        /* a list of ids; NULL */
    const json_t *nodes;       /* [{node, state}], state "": not drained when the
                                  page was written; NULL: not known */
    const char *const *label;  /* of each suspect, "" if it has none; NULL */
};
char *words_ticket (const struct finding *x, const struct fabric *f,
                    const struct words_case *c);

#endif /* REPORT_WORDS_H */
