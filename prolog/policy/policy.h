/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policy: decide which nodes are drained or resumed, and give the reason.
 *
 * Made from the ledger, the node states that Slurm shows, and pmm.conf. Read by
 * the code that drains, comments and explains. A pure function: it reads no
 * file and no clock and keeps no state, so a decision can be repeated from its
 * inputs at any time, and the order of the inputs does not matter. If it cannot
 * tell, it changes nothing.
 *
 * A node is drained only if all of these conditions hold.
 *
 *   Whose audit  An audit found it: a measurement by root or SlurmUser. A check
 *                that a user ran counts neither against a node nor in its
 *                favour.
 *   What         FAIL of a host end: every suspect is a link of this host. Or
 *                FAIL of one of several links, one of them of this host, if two
 *                audits resolve it (see Resolved). Switch links, switches and
 *                routes drain no node; nor does WARN or UNKNOWN. A host that is
 *                slow without its cable (a finding of kind node) counts neither
 *                against nor for the link; nor does one that delays some
 *                messages. One that loses messages FAILs like one that is slow,
 *                unless it loses half: then it may be the host.
 *   Changed      It is slower than before (basis baseline). A link that is slow
 *                only compared with its class may be a long cable. It counts if
 *                its latency minus three standard errors exceeds FailLatency,
 *                or if its excess minus three standard errors exceeds
 *                FailExcess and it has a sign: error counters that grow, lost
 *                width or speed.
 *   Rate         What a link carries counts as its latency does, but never by a
 *                sign alone: two audits find it less than expected. An audit that
 *                did not measure it does not find it clean. A FAIL of a host that
 *                carries less without its cable counts, too.
 *   Confirmed    The same link FAILs in two audits at least ConfirmAfter apart,
 *                both within the last ConfirmWithin, and no audit between or
 *                after them found it clean. One audit is enough if the link is
 *                slower than before, or above FailLatency, and had a sign since
 *                it was last clean.
 *   By others    No other node can be the cause in both audits. They have
 *                different leaders (the node that plans, gathers and reports),
 *                and neither leader is the node itself. No single node was the
 *                only partner in both, or led one and was the only partner in
 *                the other. If a leader is unknown, the audit confirms nothing.
 *   Resolved     Both audits suspect nothing but links of this host. A link of
 *                another host or between switches, one direction of such a
 *                link, or a switch may explain the FAIL of one audit too; it
 *                must then be in no finding of the other audit, except one by
 *                whose excess this host's is above FailExcess there, and in no
 *                FAIL of any audit that does not suspect this host. Links that are
 *                slow only compared with their class may be in all, since they
 *                were slow before. Whatever is slow in both audits is suspected
 *                in both, so one slow cable or switch (for example a spine)
 *                drains no node. An error would take two faults of different
 *                parts, each of which looks like this host's link in its audit,
 *                and the first gone before the second came. The argument of "By
 *                others" is the same. If a host is alone on its switch, its
 *                link is resolved from the link on which all messages to it
 *                arrive by a neighbour, or by partners whose messages take
 *                other links. With one uplink and no idle neighbour, the host
 *                is never drained.
 *   Alone        The hosts that FAIL, and those that we drained in the last
 *                day, are together at most MaxDrainPerDay, and at most
 *                MaxDrainShare of the nodes (at least one node). Otherwise the
 *                cause is common, or our error, and *no* node is drained. Every
 *                FAIL that a host link may explain is counted here.
 *   Affordable   At most MaxUnavailable of the nodes are unavailable. Nodes
 *                that are powered down or reserved are not counted at all.
 *   Ours to do   The node is in service: not drained (whoever drained it knows
 *                why), not down, powered down or reserved.
 *   Wanted       Action is drain. The link is not muted. Findings from before
 *                the reset of its baseline do not count.
 *   New          If somebody else ends our drain, earlier findings do not count
 *                any more, and the node is not drained for DrainAgainAfter. The
 *                same holds if a node FAILed, was then down, reserved or
 *                drained by others, and is back in service. A node that we
 *                resumed ourselves is not drained again until the baseline of
 *                the link that it was drained for is reset: an intermittent
 *                cable costs one drain, then a person decides.
 *
 * What one host or one audit reports does not block the drains of others for
 * long. It blocks them only in these cases.
 *
 *   A host that FAILs counts for Alone while it is in service, and for a day if
 *   it is not. It no longer counts when an audit finds it clean; nor, if its
 *   FAIL is not confirmed, when an audit finds it UNKNOWN, for example because
 *   of others' traffic. If it FAILed in one audit and no later audit is about
 *   it, it counts for an hour (or twice ConfirmAfter if that is longer).
 *   A FAIL of one of several links, one of them a host link, counts as one host
 *   for as long, and no longer when all its hosts are clean. The likeliest of
 *   the hosts is audited again first.
 *   A host that we drained counts for a day, whatever happened to it.
 *   An audit counts against no host, and causes a warning here, if more than a
 *   quarter of the measured hosts FAIL (counted as above) and these are two or
 *   more; if it did not complete; or if more than a quarter of its hosts did not
 *   answer. If it found a switch or a route at fault, too, it counts against a
 *   host whose excess is above that of the switch by more than FailExcess, and
 *   against no other. UNKNOWN hosts do not FAIL. A few hosts that are silent or
 *   lose messages do not void the audit: a host that loses half of its own
 *   messages is itself in doubt, no other is.
 *   If an audit is UNKNOWN only for links that it names, completed, and all
 *   hosts answered, the host ends that it does not name are clean.
 *
 * A node is resumed only if Resume and Action=drain are set, and it still shows
 * our drain: the exact Reason, set by our user (an edited Reason means that
 * somebody else took the node over). The node must be up. The link that it was
 * drained for, and every other link of the host that FAILed since, must be
 * clean in two later audits, ConfirmAfter apart and within the last
 * ConfirmWithin, with nothing worse than UNKNOWN between or after them, and by
 * others, as for a drain: no single node, nor the node itself, can have had it
 * found clean in both. Audits of a node alone, by its own rails, do not resume it.
 *
 * Audits have ascending numbers, which give the order of events. Clocks may be
 * stepped: an event with a time stamp in the future confirms nothing and
 * resumes nothing, but still blocks.
 */
#ifndef PROLOG_POLICY_H
#define PROLOG_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "prolog/ledger/ledger.h"
#include "util/site.h"

enum {
    POLICY_REASON_MAX = 256,
    POLICY_WHY_MAX = 320,
    POLICY_RETRY_MAX_S = 6 * 3600,
};

/* What the site configures; pmm.conf(5) has the names and the defaults. */
enum policy_act { POLICY_ACT_REPORT, POLICY_ACT_COMMENT, POLICY_ACT_DRAIN };

struct policy_config {
    enum policy_act act;
    int64_t confirm_after_s;
    int64_t confirm_within_s;
    int64_t again_after_s;
    size_t max_drain;       /* per day; 0: none */
    double max_drain_percent;       /* of the nodes; at least one node */
    double max_unavailable_percent; /* of the nodes */
    double fail_ns;
    double fail_latency_ns; /* 0: none */
    bool resume;
};

/* From options that site_check accepted. */
void policy_config (struct policy_config *cfg, const struct site *site);

/* The inputs are borrowed; times are seconds since the epoch. `after` is the
 * number of the newest audit at that time: it orders events relative to the
 * audits, independent of the clock.
 */
struct policy_suspect {
    const char *link; /* id */
    const char *host; /* Slurm's name; NULL: a switch link or a switch */
    const char *port; /* the host's name for it, "mlx5_0/1"; NULL: not known */
    const char *peer; /* the only partner of all measurements over it; NULL:
                         there were several */
    bool lossy;       /* at least half of its messages were lost */
    bool rated;       /* what it carries was measured, and is what it should be */
};

struct policy_finding {
    struct finding x; /* but for its links; level OK: measured, these are clean */
    const struct policy_suspect *suspect; /* likeliest first; includes all that
                                             explain it equally well: single
                                             directions, switches (by their ids) */
    size_t nsuspects;
};

struct policy_audit {
    uint64_t id;   /* from 1 on; no meaning for a user's check */
    int64_t time;  /* when it ended */
    bool user;     /* a user's check */
    bool whole;    /* it completed, */
    bool complete; /* ... and no node and no probe is missing */
    size_t asked;  /* nodes to be measured, */
    size_t nodes;  /* ... and those that were */
    const char *leader; /* a node; NULL: not known */
    const struct policy_finding *finding;
    size_t nfindings;
};

struct policy_node {
    const char *name;
    bool unknown;      /* Slurm does not report its state */
    bool down;         /* or failing, or not responding */
    bool powered_down; /* or powering down or up */
    bool reserved;     /* or in maintenance */
    bool drained;      /* or draining */
    const char *reason, *by; /* the Reason, and the user who gave it; NULL */
};

/* Why a node whose FAIL is confirmed is not drained. */
enum policy_block {
    POLICY_FREE,
    POLICY_STOPPED,     /* nothing can be decided */
    POLICY_REPORTS,     /* Action is not drain */
    POLICY_COMMON,      /* so many FAIL that the cause must be common */
    POLICY_UNAVAILABLE, /* too many nodes are unavailable */
    POLICY_BEFORE,      /* it was drained before */
    POLICY_BLOCKS,
};

/* Signs are from data that root read, none is SIGN_WAIT; of its host's ports.
 * Actions are what we did or observed: DRAIN, RESUME, LEFT or LIFTED. A drain is
 * recorded before it is done. If it was not applied, it looks lifted, which costs
 * DrainAgainAfter, but no node is drained twice.
 *
 * Node states must be at least as new as the newest action. Audits may omit
 * links that no FAIL and no action of ours was about. Mutes and resets are made
 * by people, so there are few.
 */
struct policy_input {
    int64_t now;
    const char *self;       /* our user, as Slurm shows it */
    const char *unreadable; /* what could not be read; NULL: all was read */
    const struct policy_node *node;
    size_t nnodes;
    const struct policy_audit *audit;
    size_t naudits;
    struct ledger_rows tried; /* audits that were about a node, with any outcome:
                                 id, node, begun */
    struct ledger_rows signs, actions, mutes;
    struct ledger_rows resets; /* rebases; link NULL: all */
};

/* Texts are one line of printable ASCII. */
struct decision {
    const char *node; /* of the input */
    const char *link; /* of the input; NULL: none */
    enum policy_kind kind;
    enum policy_block block;
    int64_t when;     /* WAIT: audit from then on, */
    uint64_t audit;   /* ... to confirm this one; 0: to find the link
                         repaired */
    const struct policy_finding *finding; /* what that audit found; of the
                                             input; NULL */
    char reason[POLICY_REASON_MAX]; /* DRAIN: Slurm's Reason; else "" */
    char why[POLICY_WHY_MAX];       /* one sentence, never empty */
    enum drain_cause cause;         /* of a DRAIN; else CAUSES */
};

struct decisions {
    struct decision *v; /* one per node, sorted by name */
    size_t n;
    char **remark;      /* about the site, one sentence each */
    size_t nremarks;
    uint64_t after;     /* the newest audit: recorded with actions */
    bool stopped;       /* nothing is changed; a remark says why */
    struct pool *pool;  /* has all of it */
};

/* Decide. Cost: O((n + e) log (n + e)) for n nodes and e suspects and actions,
 * plus the mutes and resets for each link. The names in decisions are those of
 * the input and live as long.
 */
void policy_decide (struct decisions *d, const struct policy_input *in,
                    const struct policy_config *cfg);
void policy_clear (struct decisions *d);

/* When to audit a node again: the first time ConfirmAfter after `since`. After
 * n audits without a result, the last of them at `since`, it is 2^n times
 * ConfirmAfter after it, but at most POLICY_RETRY_MAX_S (or ConfirmAfter if
 * that is longer). Now if that time is past, or if `since` is in the future
 * because the clock stepped.
 */
int64_t policy_retry (int64_t since, size_t n, int64_t now,
                      const struct policy_config *cfg);

/* "reports", "common_cause", ...; "" if it is free. */
const char *policy_block_name (enum policy_block block);

#endif /* PROLOG_POLICY_H */
