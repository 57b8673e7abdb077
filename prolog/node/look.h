/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Look: a node's check of its own ports, by sysfs (ibquery/local), the verdict
 * cache, the expected rate, and the state of earlier looks.
 *
 *   state     A port that is not active is a FAIL if it ever was active, or if
 *             the fabric snapshot has a cable at it. A port that has
 *             disappeared is a FAIL, and so are fewer ports than the site knows
 *             of. No ports at all, and none known, is UNKNOWN.
 *   rate      Fewer or slower lanes than expected are a WARN. Expected is the
 *             rate in pmm.conf; else the best that the snapshot or any look has
 *             seen of this port.
 *   counters  An error counter that grows faster than on a healthy cable is a
 *             WARN (local_counters has the rates). Growth is measured from a
 *             mark that is one to two windows old. So two looks in quick
 *             succession neither overestimate the rate of errors nor forget
 *             them. A counter that decreased was reset, and has grown from 0. A
 *             counter at its maximum gives no information, which is reported.
 *   PCIe      An adapter, or a bridge above it, with fewer lanes than both ends
 *             of the link could use is a WARN. A slower rate is a remark, since
 *             idle links may slow down.
 *   verdict   The verdict of the newest audit, unless it is old: FAIL and WARN
 *             are taken as they are; UNKNOWN changes nothing.
 *
 * Times are of a clock that starts at boot and is never set. Marks from before
 * the last boot are dropped, since the counters started again too.
 *
 * Only InfiniBand ports are checked. Pure except look_state_*.
 */
#ifndef PROLOG_LOOK_H
#define PROLOG_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/judge/verdict.h"
#include "prolog/node/cache.h"
#include "ibquery/local.h"

enum {
    LOOK_FINDINGS_MAX = 32, /* more are only counted */
    LOOK_TEXT = 320,
    LOOK_LINE = 640,
    LOOK_PERF = 2560,
    LOOK_BOOT = 40,
};

struct look_finding {
    enum verdict_status level; /* OK: a remark */
    char text[LOOK_TEXT];      /* printable */
};

struct look_result {
    struct look_finding v[LOOK_FINDINGS_MAX];
    size_t n, more;
    enum verdict_status level; /* the worst */
    uint64_t what; /* hash of what is wrong, without figures: it changes if the
                      state changes; 0: nothing is wrong */
    char perf[LOOK_PERF]; /* figures, as a Nagios plugin prints them after '|':
                             'mlx5_0/1 SymbolErrorCounter'=412c; as many as fit
                           */
};

/* The state that is kept between looks. */
struct look_mark {
    uint64_t value;
    int64_t time;
};

struct look_port {
    char device[64];
    unsigned int port;
    uint64_t guid;
    struct rates best;
    bool counts[LOCAL_COUNTERS];
    struct look_mark older[LOCAL_COUNTERS], newer[LOCAL_COUNTERS];
};

struct look_state {
    char boot[LOOK_BOOT]; /* boot id; "": no look yet */
    uint64_t said;        /* look.what that was last printed */
    struct look_port port[LOCAL_PORTS_MAX]; /* ports that were ever active */
    size_t n;
};

struct look_input {
    const struct local_port *port;
    const struct cache_port *cached; /* one per port; NULL: nothing is known */
    size_t n;
    uint64_t expected; /* expected number of ports; 0: not known */
    struct rates want;          /* for all ports; not set: no
                                        expectation */
    const char *boot;
    int64_t now;                     /* seconds since boot */
};

/* Check the ports, start *look, and replace *state by the state after this
 * look.
 */
void look_ports (struct look_result *look, struct look_state *state,
                 const struct look_input *in);

/* Add the node's verdict; it is old after max_age_s. Without a verdict, nothing
 * is added.
 */
void look_verdict (struct look_result *look, const struct cache_view *view,
                   int64_t now, int64_t max_age_s);

/* Add a finding. */
void look_add (struct look_result *look, enum verdict_status level,
               const char *what, const char *fmt, ...)
    __attribute__ ((format (printf, 4, 5)));

/* Format all findings into one line of LOOK_LINE bytes, the worst first: "WARN:
 * ...; ...", with the given words for the levels. Returns line.
 */
const char *look_line (const struct look_result *look, const char *const *word,
                       char *line);

/* The state's file: private to its owner, replaced by rename and not synced, so
 * it may be lost but is never half written. If it is not a state file or is not
 * trusted, *state is empty, as before the first look. look_state_write returns
 * 0, or -1 with err; its caller holds a lock.
 */
void look_state_read (const char *path, uid_t owner, struct look_state *state);
int look_state_write (const char *path, const struct look_state *state,
                      struct error *err);

#endif /* PROLOG_LOOK_H */
