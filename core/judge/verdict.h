/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdict: what is wrong with which links, and what could not be determined.
 *
 * Made by judge/judge. Read by report/, which has its file (report/report.h), and
 * by the policy. A finding is a set of suspects: the links that explain an excess
 * equally well. Findings and limits are facts: report/words says them.
 */
#ifndef CORE_VERDICT_H
#define CORE_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/paths/paths.h"
#include "util/pool.h"

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
    BASIS_BEHIND,   /* as fast as before, or nearly, where its class got faster:
                       WARN */
    BASIS_ALIKE,    /* slower than before, and so are other hosts, by the same: what
                       was changed, not what broke: WARN */
    BASIS_LOSS,     /* loses messages */
    BASIS_SLOW,     /* delays some messages: WARN, unless it counts errors */
    BASIS_RATE,     /* carries less than expected: less than it did before, or
                       than its ports or PCIe are able to */
    FINDING_BASES,
};

enum finding_loopback { /* of the one host of a FINDING_HOST_END */
    LOOPBACK_UNTOLD,
    LOOPBACK_FAST, /* as before, or as others': the cable, or a port */
    LOOPBACK_SLOW, /* slower: software, PCIe or adapter have a part in it */
};

/* What a fact is of. Behind each its numbers and names; numbers of a finding's
 * excess and standard error are in the finding, too. report/words has the words.
 */
enum fact_kind {
    FACT_SAID, /* name: a sentence that was made before */

    /* of findings: how it was measured */
    FACT_ACROSS,         /* probes, suspects, excess, stderr */
    FACT_ONE_WAY,        /* in which direction that is: in either */
    FACT_ONE_WAY_MEAN,   /* in one, the mean of both */
    FACT_MESSAGES,       /* of messages; names: from, to; or NULL */
    FACT_MESSAGES_MEAN,  /* likewise, the mean of both directions */
    FACT_ABOVE_BASELINE, /* what that is compared with */
    FACT_ABOVE_LRTL,
    FACT_ABOVE_CLASS,
    FACT_ROUTE,            /* probes, excess, stderr; names: switch, its id,
                               endpoint */
    FACT_HOST,             /* excess, stderr, that of the loopback */
    FACT_HOST_LOOPBACK,    /* excess, stderr */
    FACT_DELAYED,          /* messages, of all, us; of others, of all */
    FACT_LOST,             /* messages, of all; of others, of all */
    FACT_FLOWS,            /* slow, all, excess, stderr, expected, cables */
    FACT_TRAFFIC_SENT,     /* per cent; name: port */
    FACT_TRAFFIC_RECEIVED, /* per cent; name: port */
    FACT_TRAFFIC_BOTH,     /* per cent sent, received; name: port */

    /* of findings: what else is known */
    FACT_SWITCH_TOO,
    FACT_GREW,
    FACT_TRAFFIC_TOO,
    FACT_SOFTWARE_TOO,
    FACT_LOOPBACK_FAST,
    FACT_LOOPBACK_AS_OTHERS,
    FACT_LOOPBACK_SLOW,    /* ns */
    FACT_LOOPBACK_SLOWEST, /* ns more than the others' */
    FACT_CLASS_LESS,       /* ns */
    FACT_CLASS_DIFFERS,    /* ns */
    FACT_NONE_BEFORE,
    FACT_CAGE, /* its number; names: link, switch, its id */
    FACT_COUNTS,
    FACT_LANES_LOST,
    FACT_LANES_SLOW,
    FACT_WAITED,

    /* of findings: rates, bits per second */
    FACT_RATE,          /* flows, rate, expected; name: from where, if it is one
                           direction of a switch link; or NULL */
    FACT_RATE_SENT,     /* likewise, of what a host sends, */
    FACT_RATE_RECEIVED, /* or receives, if the other direction is good */
    FACT_RATE_BEFORE,   /* rate in the baseline */
    FACT_RATE_CROWD,    /* flows at once; their rate together */
    FACT_RATE_LOOPBACK, /* rate */
    FACT_RATE_PORT,     /* data rate of the port, and of its link: it came up at less */
    FACT_RATE_PCIE,     /* lanes, GT/s; those it is able to; usable bits */
    FACT_RATE_STRICT,   /* better without relaxed ordering */
    FACT_RATE_RETRIES,  /* retransmissions of the adapter meanwhile */
    FACT_RATE_ERRORS,   /* errors corrected by PCIe meanwhile */
    FACT_RATE_AT_TIMES, /* the worst burst's rate */
    FACT_RATE_LOST,     /* bursts lost, of all */

    /* limits */
    FACT_RATE_SLOT,    /* lanes, GT/s, usable bits, those of the port: a slot that
                          is slower than the adapter; name: hosts */
    FACT_RATE_ALIKE, /* hosts, rate, expected; name: what they share */
    FACT_RATE_FILLED, /* cables, share at most, of all */
    FACT_RATE_UNTOLD, /* cables that others' traffic, or too few flows, hide */
    FACT_RATE_FORBIDDEN, /* what was not measured, and why: as of bursts.h */
    FACT_RATE_TRANSPORT,
    FACT_RATE_SITE,
    FACT_RATE_TIME,
    FACT_RATE_SPREAD,
    FACT_RATE_HOSTS,
    FACT_RATE_WHY,     /* name: why some are not known; of which hosts, or NULL */
    FACT_ALONE,        /* ports; name: the first */
    FACT_SILENT_NODES, /* nodes; name: their list */
    FACT_INCOMPLETE,
    FACT_ABSENT_PROBES, /* probes */
    FACT_SILENT_PROBES, /* probes */
    FACT_SPREAD,        /* switches, service level */
    FACT_SPREAD_BEFORE,
    FACT_UNSEEN_LINKS, /* links */
    FACT_UNRESOLVED,   /* links, of all */
    FACT_NO_BASELINE,
    FACT_NO_BASELINE_LRTL, /* links, of all */
    FACT_NOT_IN_BASELINE,  /* links, of all */
    FACT_STAYED,           /* ns; link */
    FACT_FASTER,           /* ns; name: link */
    FACT_UNEVEN,          /* ns, 1: one direction; names: link; or switch, id */
    FACT_CLASS_SHIFT,     /* ns; name: class */
    FACT_DRIFT,           /* ns */
    FACT_UNJUDGED,        /* links */
    FACT_LOOPBACKS_SHIFT, /* ns */
    FACT_LOST_NOWHERE,    /* messages, of all: on no link in particular */
    FACT_LOST_SOME,       /* messages, of all */
    FACT_SOME_LINK_LOSES,
    FACT_SOME_LINK_DELAYS,
    FACT_UNEVEN_PAIRS, /* pairs */
    FACT_FLOWS_ENOUGH, /* cables, of all */
    FACT_OPEN,         /* host ends judged, of all; other links judged, of all;
                               ns; whether there are more than those named */
    FACT_TOO_MANY,
    FACT_DISTURBED,  /* probes */
    FACT_DISTRUSTED, /* hosts */
    FACT_NOTHING,
    FACT_STAGE_SHIFT,    /* ns */
    FACT_LEVEL,          /* name: the service level and why */
    FACT_PRIVATE_LFTS,   /* switches */
    FACT_FAST_RECOVERY,  /* name: port */
    FACT_NO_PORT,        /* nodes; name: their list */
    FACT_UNCONFIRMED,    /* name: why */
    FACT_MORE_NODES,     /* nodes */
    FACT_STOOD_IN,       /* names: leader, who stood in for it or NULL */
    FACT_ASTRAY,         /* names: who, leader */
    FACT_TRAFFIC_UNTOLD, /* ports, of all */
    FACT_PCIE_LANES,     /* of an adapter, of those that it could; name: its own */
    FACT_KINDS,
};

enum { FACT_NUMBERS = 6, FACT_NAMES = 3 };

struct fact {
    enum fact_kind kind;
    double n[FACT_NUMBERS];
    const char *name[FACT_NAMES];
};

static inline struct fact fact_said (const char *sentence)
{
    return (struct fact){ .kind = FACT_SAID, .name = { sentence } };
}

/* What a file or the ledger calls a fact that it keeps as it is; NULL: it keeps
 * the fact as what was said.
 */
const char *fact_kept_name (enum fact_kind kind);
bool fact_of_kept (const char *name, enum fact_kind *kind);

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
                           BASIS_SLOW, BASIS_TRAFFIC and BASIS_RATE */
    double stderr_ns;   /* likewise */
    double expected_ns; /* latency of the likeliest; NAN: not known */
    double rate_bits;   /* what it carries, payload per second; NAN: no sign of */
    double rate_expected_bits; /* less, and what was expected */
    char **node;        /* hosts of the host links among the suspects */
    size_t nnodes;
    enum finding_loopback loopback;
    bool at_once;       /* beside too many others (verdict_find_at_once); not in
                           the file */
    struct fact *fact; /* how it was measured, in the order of the sentence */
    size_t nfacts;
};

/* What a link carried at most in one direction, and what was expected, bits of
 * payload per second.
 */
struct verdict_rate {
    uint32_t arc; /* of the network: 2 * link, from its first end, or + 1 */
    double bits, expected;
};

struct verdict {
    enum verdict_status status;
    struct finding *finding; /* the worst first */
    size_t nfindings;
    uint32_t *open;          /* links that could not be judged: neither suspects
                                nor known to be sound */
    size_t nopen;
    struct fact *limit; /* what was not determined; first that which raised the
                           status, if one did */
    size_t nlimits;
    bool limited;            /* a limit raises the status, and not only because
                                of the open links; not in the file */

    /* what was measured */
    size_t nodes;
    size_t links;
    size_t separable; /* links whose signature no other link shares */
    size_t probes;    /* that gave an RTT */
    size_t rounds;
    struct verdict_rate *rate; /* by arc, ascending; none: not measured */
    size_t nrates;

    struct pool *pool; /* has all of it */
};

struct verdict *verdict_create (void);
void verdict_destroy (struct verdict *v);

/* Append a limit, of which the names are copied; if the status is less than
 * `status`, raise it, and put the limit first.
 */
void verdict_limit (struct verdict *v, enum verdict_status status,
                    struct fact limit);

/* Append a finding: its excess, standard error and expected latency are NAN. */
struct finding *verdict_add (struct verdict *v, enum verdict_status level,
                             enum finding_basis basis);

/* Append to a verdict's finding: a fact, whose names are copied; a number to one of
 * its lists, unless it is there (return false); a host, likewise.
 */
void finding_add_fact (struct verdict *v, struct finding *f, struct fact fact);
bool verdict_add_number (struct verdict *v, uint32_t **list, size_t *n,
                         uint32_t number);
void finding_add_host (struct verdict *v, struct finding *f, const char *host);

/* Mark the findings that are too many to be defects of their own: of links between
 * switches, of switches and of routes, by latency. Cables go bad one by one, some 2 %
 * of them in a year. Where so many differ from a baseline of a month ago as happens
 * to a thousandth of all checks (Poisson's tail; 4 of a job that crosses 160 links),
 * they have a cause in common: others' traffic, or what was changed since.
 */
void verdict_find_at_once (struct verdict *v);

/* How many slow ones among so many links are as rare as that: the least number. */
size_t verdict_too_many (size_t links);

/* How many they are; those that FAIL, since counters say so, stand for themselves. */
size_t verdict_at_once (const struct verdict *v);
static inline bool finding_is_at_once (const struct finding *f)
{
    return f->at_once && f->level < VERDICT_FAIL;
}

/* The first of a finding's facts of this kind; NULL: there is none. */
const struct fact *finding_fact (const struct finding *f, enum fact_kind kind);

/* Whether a file or the ledger keeps its facts as they are: it has a rate, and one
 * of them at least is to be kept.
 */
bool finding_keeps_facts (const struct finding *f);

/* Whether it carries less than expected. */
static inline bool finding_has_rate (const struct finding *f)
{
    return f->rate_expected_bits > 0;
}

const char *verdict_status_name (enum verdict_status status);

/* The number that Nagios, and Prometheus' metrics, have for it. */
static inline int verdict_nagios (enum verdict_status status)
{
    return status == VERDICT_UNKNOWN ? 3
           : status == VERDICT_FAIL  ? 2
                                     : (int)status;
}

/* As in the file: "host end", "baseline"; and all of them, NULL at the end. */
const char *finding_kind_name (enum finding_kind kind);
const char *finding_basis_name (enum finding_basis basis);
extern const char *const verdict_status_names[],
    *const finding_kind_names[], *const finding_basis_names[];

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

#endif /* CORE_VERDICT_H */
