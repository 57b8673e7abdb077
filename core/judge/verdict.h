/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdict: what is wrong with which links, and what could not be determined.
 *
 * Made by judge/judge. Read by report/ and by the policy. File: JSON, kind
 * "verdict". A finding is a set of suspects: the links that explain an excess
 * equally well.
 */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "util/error.h"

enum verdict_status { /* a greater value outranks a lower one */
    VERDICT_OK,
    VERDICT_WARN,
    VERDICT_UNKNOWN,
    VERDICT_FAIL,
};

enum finding_kind {
    FINDING_HOST_END,    /* every suspect is a host link */
    FINDING_SWITCH_LINK, /* some suspect is a link between switches, or one of
                            its directions explains it as well */
    FINDING_SWITCH,      /* all links of a switch alike */
    FINDING_ROUTE,       /* messages take another path than the tables say.
                            Suspects: the links that they should cross; WARN at
                            most */
    FINDING_NODE,        /* the host's loopback shows it, too: its software,
                            PCIe or adapter; WARN at most. Suspects: the host's
                            links */
    FINDING_KINDS,
};

enum finding_basis {
    BASIS_BASELINE, /* slower than the same paths were before */
    BASIS_CLASS,    /* slower than links of its class: WARN at most */
    BASIS_COUNTER,  /* slower than its class, and its error counters, */
    BASIS_WIDTH,    /* its lanes */
    BASIS_SPEED,    /* or its speed confirm it (judge/corroborate) */
    BASIS_TRAFFIC,  /* carries others' traffic, so it cannot be judged:
                       UNKNOWN */
    BASIS_LOOPBACK, /* a host whose loopback is slower than before, and its
                       round trips by no more: WARN */
    BASIS_LOSS,     /* loses messages */
    BASIS_SLOW,     /* delays some messages: WARN, unless it counts errors */
    FINDING_BASES,
};

enum finding_loopback { /* of the one host of a FINDING_HOST_END */
    LOOPBACK_UNTOLD,
    LOOPBACK_FAST, /* as before, or as others': the cable, or a port */
    LOOPBACK_SLOW, /* slower: software, PCIe or adapter have a part in it */
};

struct finding {
    enum verdict_status level; /* WARN, UNKNOWN or FAIL */
    enum finding_kind kind;
    enum finding_basis basis;
    uint32_t *suspect;  /* links of the network, the likeliest first */
    size_t nsuspects;
    uint32_t *oneway;   /* links of which one direction explains it as well; if
                           these include switch links, it is not a host end */
    size_t noneway;
    uint32_t *sw;       /* switches of the network that may be the cause */
    size_t nsw;
    double excess_ns;   /* of a suspect's one-way latency; FINDING_ROUTE: of
                           round trips, either sign; NAN: BASIS_LOSS,
                           BASIS_SLOW and BASIS_TRAFFIC */
    double stderr_ns;   /* likewise */
    double expected_ns; /* latency of the likeliest; NAN: not known */
    char **node;        /* hosts of the host links among the suspects */
    size_t nnodes;
    enum finding_loopback loopback;
    char *why;          /* how it was measured: one sentence; what is wrong, and
                           what to do, are in report/words */
};

struct verdict {
    enum verdict_status status;
    struct finding *finding; /* the worst first */
    size_t nfindings;
    uint32_t *open;          /* links that could not be judged: neither suspects
                                nor known to be sound */
    size_t nopen;
    char **limit;            /* what was not determined, a sentence each */
    size_t nlimits;
    size_t reason;           /* the limit that raised the status, if one did */
    bool limited;            /* a limit raises the status, and not only because
                                of the open links; not in the file */

    /* what was measured */
    size_t nodes;
    size_t links;
    size_t separable; /* links whose signature no other link shares */
    size_t probes;    /* that gave an RTT */
    size_t rounds;
};

struct verdict *verdict_create (void);
void verdict_destroy (struct verdict *v);

/* Append a limit, printf-like; raise the status to at least `status`. */
void verdict_limit (struct verdict *v, enum verdict_status status,
                    const char *fmt, ...)
    __attribute__ ((format (printf, 3, 4)));

/* Remove the finding that was added last. */
void verdict_drop (struct verdict *v);

const char *verdict_status_name (enum verdict_status status);

/* The number that Nagios, and Prometheus' metrics, have for it. */
static inline int verdict_nagios (enum verdict_status status)
{
    return status == VERDICT_UNKNOWN ? 3
           : status == VERDICT_FAIL  ? 2
                                     : (int)status;
}

/* As in the file: "host end", "baseline". */
const char *finding_kind_name (enum finding_kind kind);
const char *finding_basis_name (enum finding_basis basis);

/* Whether its status is that of a limit, not of a finding. */
bool verdict_is_limited (const struct verdict *v);

/* Whether the cause is a switch, sw[0]; otherwise it is suspect[0]. And how
 * many others explain it as well, including single directions of links.
 */
bool finding_is_of_switch (const struct finding *f);
size_t finding_others (const struct finding *f);

/* Write what a host link is called for people: its host, and its rail if there
 * are several. "": it has no host.
 */
enum { LINK_NAME = 128 };
void link_name (const struct link_info *link, char buf[LINK_NAME]);

/* The rail that all findings are of, if they are several of hosts that have
 * several; else NULL.
 */
const char *verdict_rail (const struct verdict *v, const struct network *net);

/* Write the file. Return 0, or -1 with err. */
int verdict_write (const struct verdict *v, const struct network *net,
                   FILE *fp, struct error *err);

/* The same as a JSON object, to which a caller may add members. The caller
 * frees it.
 */
json_t *verdict_json (const struct verdict *v, const struct network *net);

/* Read a verdict that was written for this network. Its `reason` is not in the
 * file. NULL with err, which begins with name.
 */
struct verdict *verdict_read (FILE *fp, const char *name,
                              const struct network *net, struct error *err);

#endif /* CORE_VERDICT_H */
