/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Check: which cables are wrong by what their ports say, without a probe.
 *
 * Made of a fabric, and two readings of its counters, if there are. Read by
 * the judge as signs. File: JSON, kind "link-check".
 *
 *   width, speed  the cable has fewer lanes, or slower ones, than
 *                 both ends are allowed to have: it trained low. Where three
 *                 others and a tenth of its kind run as it does, that is
 *                 what their adapters are made for (HDR100 says that it has
 *                 four lanes, and HDR), and only told;
 *                 or than three quarters of the links of its kind and levels
 *                 have, as far as both ends can: somebody set it so, or what
 *                 they are allowed to is not known. Where an end says that it
 *                 can do no more, only if no two others run as it does, since
 *                 old devices come in numbers;
 *                 or one lane, though both ends can do with more;
 *   counter       a port of it counts more than links/growth allows.
 *
 * PortXmitWait that grew is no finding: others' traffic, of use to who
 * measured in between.
 */
#ifndef IBQUERY_CHECK_H
#define IBQUERY_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "core/judge/corroborate.h"
#include "ibquery/fabric.h"
#include "ibquery/links/growth.h"

struct link_finding {
    uint32_t link;
    enum sign_kind sign;
    uint32_t port;           /* counters: which end; else FABRIC_NONE */
    enum counter_id counter;
    struct growth growth;
    double limit_per_hour;   /* NAN: none */
    char *why;               /* one sentence, printable */
};

struct link_check {
    int64_t time;            /* of what was read last; 0 unknown */
    double hours;            /* at most, between the readings; NAN: no two */
    struct link_finding *finding; /* by link */
    size_t nfindings;
    struct link_finding *wait;    /* ports whose PortXmitWait grew, by link */
    size_t nwaits;
    char **limit;            /* what could not be told, a sentence each */
    size_t nlimits;
    bool unknown;            /* something that was asked for could not */
};

/* Either reading may be NULL; with one only, nothing has grown yet. NULL with
 * err: `before` is no earlier reading than `now`.
 */
struct link_check *check_links (const struct fabric *f,
                                const struct counters *before,
                                const struct counters *now,
                                struct error *err);
void check_destroy (struct link_check *c);

/* FAIL where there is a finding; else UNKNOWN, or OK. */
enum verdict_status check_status (const struct link_check *c);

/* Write the file, or for people: nothing where all is well. 0, or -1 with
 * err.
 */
int check_write (const struct link_check *c, const struct fabric *f,
                 FILE *fp, struct error *err);
int check_write_text (const struct link_check *c, const struct fabric *f,
                      FILE *fp, struct error *err);

/* The signs in a file that was written of this fabric: findings and waits. */
struct check_signs {
    int64_t time; /* as in struct link_check */
    struct sign *v;
    size_t n;
};

/* Return 0, or -1 with err, which begins with name, and none; check_clear_signs
 * is due in both cases.
 */
int check_read_signs (struct check_signs *signs, FILE *fp, const char *name,
                      const struct fabric *f, struct error *err);
void check_clear_signs (struct check_signs *signs);

#endif /* IBQUERY_CHECK_H */
