/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Link check: which cables are faulty according to their ports, without a
 * probe.
 *
 * Made from a fabric and up to two readings of its counters. Read by the judge
 * as signs. File: JSON, kind "link-check".
 *
 *   width, speed  The cable has fewer lanes, or slower ones, than both ends
 *                 have enabled: it trained low. But if three others and a tenth
 *                 of its kind run in the same way, their adapters are made for
 *                 it (HDR100 reports four lanes, and HDR): this is only a
 *                 limit.
 *                 Or it is slower than three quarters of the links of its kind
 *                 (links/kinds.h), and both ends support more: it was set so.
 *                 If it is not known what they support: a finding, if it has
 *                 one lane or SDR, which is what training falls back to, and
 *                 the others' products are not known to be other ones; else a
 *                 limit among links with the same products, and a note among
 *                 others.
 *                 It is a note, too, if an end supports no more, or if three
 *                 others and a tenth of its kind run in the same way.
 *                 Or it has one lane, and both ends support more.
 *   counter       A counter of a port grew more than links/counters.h allows,
 *                 or its bit error rate is higher.
 *
 * Growth of PortXmitWait is no finding: it shows traffic of others, of interest
 * for a measurement in that time. Nor is a rail at another leaf than its peers'
 * (links/rails.h): that is a note, and so are a rail that a host lacks
 * (links/fewer.h), a link that is not up, and a switch whose static ports of
 * adaptive routing are not those of its forwarding table: either may hold.
 */
#ifndef IBQUERY_CHECK_H
#define IBQUERY_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "core/judge/judge.h"
#include "ibquery/fabric.h"
#include "ibquery/links/counters.h"
#include "ibquery/links/fewer.h"

struct link_finding {
    uint32_t link;
    enum sign_kind sign;
    uint32_t port;           /* counters: the end; else FABRIC_NONE */
    enum counter_id counter;
    struct growth growth;
    double limit_per_hour;   /* NAN: none */
    char *why;               /* one sentence, printable */
};

struct link_check {
    struct pool *pool;       /* of all of it */
    int64_t time;            /* of the last reading; 0 unknown */
    double hours;            /* between the readings, at most; NAN: only one */
    struct link_finding *finding; /* by link */
    size_t nfindings;
    struct link_finding *doubt;   /* slower than others with the same products,
                                     and it is not known what both ends can:
                                     a limit */
    size_t ndoubts;
    struct link_finding *wait;    /* ports whose PortXmitWait grew, by link */
    size_t nwaits;
    struct rails_fewer *fewer; /* rails that hosts lack: notes */
    size_t nfewer;
    char **note;             /* what is odd, but in no cable; one sentence
                                each, as the limits */
    size_t nnotes;
    char **limit;            /* what could not be determined */
    size_t nlimits;
    bool unknown;            /* something requested could not be determined */
};

/* Either reading may be NULL; with only one there is no growth. NULL with err
 * if `before` is not earlier than `now`.
 */
struct link_check *check_links (const struct fabric *f,
                                const struct counters *before,
                                const struct counters *now,
                                struct error *err);
struct link_check *check_create (void); /* empty */
void check_destroy (struct link_check *c);

/* The same with counters from files; either may be NULL. */
struct link_check *check_load (const struct fabric *f, const char *now,
                               const char *before, struct error *err);

/* Add a note of a finding that was accepted. */
void check_note_accepted (struct link_check *c, const struct fabric *f,
                          const struct link_finding *x, const char *who,
                          int64_t when, const char *why);

/* The same of the rails that a host lacks, and drop them from c->fewer. */
void check_accept_rails (struct link_check *c, const struct fabric *f,
                         uint32_t host, const char *who, int64_t when,
                         const char *why);

/* FAIL if there is a finding; else UNKNOWN, or OK. */
enum verdict_status check_status (const struct link_check *c);

/* Write the file, or text for people, which is empty if all is well. Return 0,
 * or -1 with err.
 */
int check_write (const struct link_check *c, const struct fabric *f,
                 FILE *fp, struct error *err);
int check_write_text (const struct link_check *c, const struct fabric *f,
                      FILE *fp, struct error *err);

/* The signs in a file that was written for this fabric: findings and waits. */
struct check_signs {
    int64_t time; /* as in struct link_check */
    struct sign *v;
    size_t n;
};

/* Return 0, or -1 with err, which starts with name, and no signs. Call
 * check_clear_signs in both cases.
 */
int check_read_signs (struct check_signs *signs, FILE *fp, const char *name,
                      const struct fabric *f, struct error *err);
void check_clear_signs (struct check_signs *signs);

#endif /* IBQUERY_CHECK_H */
