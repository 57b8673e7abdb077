/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The look: what a node can tell of its own ports, and what the site knows of
 * it. Made from sysfs (ibquery/local), the verdict cache
 * (prolog/node/cache), what is expected of a port, and what looks before have
 * left; said by the hooks.
 *
 *   state     A port that is not active is a FAIL if it ever was, or if there
 *             is a cable in it by the fabric snapshot; so is one that has gone,
 *             and fewer ports than the site knows of. None at all, of which
 *             nothing is known, is UNKNOWN.
 *   rate      Fewer or slower lanes than expected are a WARN. Expected is what
 *             pmm.conf says; else the best that the snapshot or any look has
 *             seen of this port.
 *   counters  An error counter that grows faster than a healthy cable's is a
 *             WARN (local_counters has the rates). Growth is told against a
 *             mark that is one to two windows old, so that a look which comes
 *             a moment after another does not see errors as a flood, nor
 *             forgets them. A counter that went back was reset, and has grown
 *             from 0. One that sticks at its end tells nothing, which is
 *             said.
 *   verdict   Of the newest audit, unless that is old: FAIL and WARN as they
 *             are; UNKNOWN changes nothing.
 *
 * Time is that of a clock which starts with the machine and is never set; marks
 * from before the last start are dropped, since the counters started again,
 * too.
 *
 * Only ports of InfiniBand are looked at. Pure but for look_state_*.
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
    LOOK_FINDINGS_MAX = 32, /* more are counted only */
    LOOK_TEXT = 320,
    LOOK_LINE = 640,
    LOOK_BOOT = 40,
};

struct look_finding {
    enum verdict_status level; /* OK: worth a remark */
    char text[LOOK_TEXT];      /* printable */
};

struct look_result {
    struct look_finding v[LOOK_FINDINGS_MAX];
    size_t n, more;
    enum verdict_status level; /* the worst */
    uint64_t what; /* of what is wrong, without its figures: another number
                      says that something has changed; 0: nothing is */
};

/* What looks leave to the next one. */
struct look_mark {
    uint64_t value;
    int64_t time;
};

struct look_port {
    char device[64];
    unsigned int port;
    uint64_t guid;
    struct local_rate best;
    bool counts[LOCAL_COUNTERS];
    struct look_mark older[LOCAL_COUNTERS], newer[LOCAL_COUNTERS];
};

struct look_state {
    char boot[LOOK_BOOT]; /* which start of the machine; "": no look yet */
    uint64_t said;        /* look.what that was last told */
    struct look_port port[LOCAL_PORTS_MAX]; /* that were ever active */
    size_t n;
};

struct look_input {
    const struct local_port *port;
    const struct cache_port *cached; /* of each port; NULL: nothing is known */
    size_t n;
    uint64_t expected; /* ports that the node should have; 0: not known */
    struct local_rate want;          /* of all; not told: no wish */
    const char *boot;
    int64_t now;                     /* seconds since then */
};

/* Look at the ports, and replace *state by what this look leaves. *look is
 * begun by it.
 */
void look_ports (struct look_result *look, struct look_state *state,
                 const struct look_input *in);

/* Add the node's verdict; one is old after max_age_s. Nothing where there is
 * none.
 */
void look_verdict (struct look_result *look, const struct cache_view *view,
                   int64_t now, int64_t max_age_s);

/* Add a finding. */
void look_add (struct look_result *look, enum verdict_status level,
               const char *what, const char *fmt, ...)
    __attribute__ ((format (printf, 4, 5)));

/* All of it on one line of LOOK_LINE bytes, the worst first: "WARN: ...; ...",
 * with the given words for the levels. Returns line.
 */
const char *look_line (const struct look_result *look, const char *const *word,
                       char *line);

/* The state's file: private to its owner, replaced by renaming and not synced:
 * it may be lost, never half. What is no state of ours, or is not
 * trusted, is as if no look had been: *state is then empty. look_state_write
 * returns 0, or -1 with err; its caller holds a lock.
 */
void look_state_read (const char *path, uid_t owner, struct look_state *state);
int look_state_write (const char *path, const struct look_state *state,
                      struct error *err);

#endif /* PROLOG_LOOK_H */
