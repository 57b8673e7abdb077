/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policy: which node is drained, which is resumed, and why no other is.
 *
 * Made from the ledger, the node states that Slurm shows, and pmm.conf. Read
 * by what drains, comments and explains. A pure function: it reads nothing,
 * remembers nothing and looks at no clock, so that a decision can be made
 * again from its inputs at any time, and in any order of these. Where it
 * cannot tell, it changes nothing.
 *
 * A node is drained only if all of these hold.
 *
 *   Whose word   An audit found it: root's and SlurmUser's own measurement. A
 *                check that a user ran counts for nothing, neither against a
 *                node nor in its favour.
 *   What         FAIL of a host end: every suspect is a link of this one host.
 *                Or FAIL of one of several, a link of this host among them,
 *                where two audits tell it from the others (below). Switch
 *                links, switches and routes drain nobody; nor does what is
 *                WARN or UNKNOWN, nor what is slow of a host without its
 *                cable: that neither counts nor clears.
 *   Changed      It is slower than it was (basis baseline). What is slow only
 *                beside its class may be a long cable; it counts if its
 *                latency is beyond FailLatency even at three standard errors
 *                less, or if it is FailExcess slower and a sign goes with it:
 *                error counters that grow, lost width or speed.
 *   Confirmed    The same link FAILs in two audits at least ConfirmAfter
 *                apart, both within the last ConfirmWithin, none between or
 *                after them having found it clean. Or in one, if it is slower
 *                than it was, and there was a sign since it was last clean.
 *   By others    No other node can be the cause of both audits. They have
 *                different leaders (who plans, gathers and reports), neither
 *                of them the node itself. No one node was the only partner in
 *                both, or led one and was the only partner in the other. A
 *                leader that is not known confirms nothing.
 *   Told apart   Nothing but links of the host is suspected by both audits.
 *                What would explain the FAIL of one as well, be it a link of
 *                another host or between switches, one direction of such a
 *                link, or a switch, is in no finding of the other, nor in a
 *                FAIL of any audit that this host is no suspect of; only what
 *                is slow beside its class may be in all, since it was so
 *                before. Whatever is slow in both is suspected in both, so
 *                that no one cable or switch, a spine's say, drains anybody.
 *                It would take two faults of different things, each where it
 *                looks like this host's link, one gone before the other came.
 *                That is the argument of "By others", too. A host that is
 *                alone on its switch is told from the link on which all
 *                messages to it arrive by a neighbour, or by partners whose
 *                messages take other links; with one uplink, and no neighbour
 *                that is idle, it is never drained.
 *   Alone        Hosts that FAIL, and those that we drained in the last day,
 *                are together no more than MaxDrainPerDay, and no more than
 *                MaxDrainShare of the nodes (but one may be). Else it is a
 *                common cause, or our error, and *none* is drained. This
 *                counts every FAIL that a host link may explain.
 *   Affordable   No more than MaxUnavailable of the nodes are unavailable.
 *                Nodes that are powered down or reserved are on neither side
 *                of that sum.
 *   Ours to do   It is in service: not drained (whoever did that knows why),
 *                not down, powered down or reserved.
 *   Wanted       Action is drain. The link is not muted. What was found before
 *                its baseline was reset does not count.
 *   New          Who ends a drain of ours is believed: what was found before
 *                does not count, and for DrainAgainAfter the node is left
 *                alone. So is who gives back a node that had FAILed and was
 *                then down, reserved, or drained by others. A node that we
 *                resumed ourselves is not drained again before the baseline
 *                of the link it was drained for is reset: a cable that comes
 *                and goes costs one drain, then a person.
 *
 * What one host or one audit says does not hold up the drains of others for
 * long. These are all cases in which it does.
 *
 *   A host that FAILs counts for Alone while it is in service, and for a day
 *   where it is not. It counts no more once an audit finds it clean; nor, as
 *   long as its FAIL is not confirmed, once one finds it UNKNOWN, as where
 *   others' traffic is in the way. If it FAILed in one audit, and none was
 *   about it since, it counts for an hour (or twice ConfirmAfter).
 *   A FAIL of one of several, a host link among them, counts as one host for as
 *   long, and no more once all its hosts are clean. The likeliest of these is
 *   audited again first.
 *   A host that we drained counts for a day, whatever came of it.
 *   An audit counts against no host, but as a warning here, if more than a
 *   quarter of the hosts measured FAIL, so counted, and several do; if it found
 *   a switch or a route at fault; if it did not come to its end; if more than a
 *   quarter of its hosts did not answer. Hosts that are UNKNOWN do not FAIL,
 *   and a few that are silent, or lose messages, void nothing: who loses half
 *   of its own messages is in doubt, and no other.
 *   An audit that is UNKNOWN for links that it names finds the host ends clean
 *   that it does not, if it came to its end and all hosts answered.
 *
 * A node is resumed only if Resume and Action=drain are set, it still shows
 * our drain (the Reason to the letter, by us: who edits it has taken the node
 * over), is up, and the link that it was drained for, like any other of the
 * host that FAILed since, was found clean by two audits made after that,
 * ConfirmAfter apart and within the last ConfirmWithin, nothing but UNKNOWN
 * between or after.
 *
 * Audits have ascending numbers, and these say what came first. Clocks may be
 * stepped: what bears a time of the future confirms nothing and resumes
 * nothing, but still holds back.
 */
#ifndef PROLOG_POLICY_H
#define PROLOG_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/judge/corroborate.h"
#include "core/judge/verdict.h"
#include "util/error.h"
#include "util/site.h"

enum {
    POLICY_REASON_MAX = 256,
    POLICY_WHY_MAX = 320,
    POLICY_RETRY_MAX_S = 6 * 3600,
};

/* What a site decides; pmm.conf(5) has the words and the defaults. */
enum policy_act { POLICY_ACT_REPORT, POLICY_ACT_COMMENT, POLICY_ACT_DRAIN };

struct policy_config {
    enum policy_act act;
    int64_t confirm_after_s;
    int64_t confirm_within_s;
    int64_t again_after_s;
    size_t max_drain;       /* a day; 0: none */
    double max_drain_percent;       /* of the nodes, but one at least */
    double max_unavailable_percent; /* of the nodes */
    double fail_ns;
    double fail_latency_ns; /* 0: none */
    bool resume;
};

/* From options that site_check has passed. */
void policy_config (struct policy_config *cfg, const struct site *site);

/* The inputs are borrowed; times are seconds since the epoch. `after` is the
 * number of the newest audit at that time: it puts the rest in order with the
 * audits, whatever the clock did.
 */
struct policy_suspect {
    const char *link; /* id */
    const char *host; /* as Slurm calls it; NULL: a link between switches, or a
                         switch */
    const char *port; /* as the host calls it, "mlx5_0/1"; NULL: not known */
    const char *peer; /* node at the other end of all that was measured over
                         it; NULL: there were several */
    bool lossy;       /* half of its messages or more were lost */
};

struct policy_finding {
    enum verdict_status level; /* OK: measured, and nothing wrong with these */
    enum finding_kind kind;
    enum finding_basis basis;
    double excess_ns, stderr_ns, expected_ns; /* as in struct finding */
    const struct policy_suspect *suspect;     /* the likeliest first; whatever
                                                 would do as well is among
                                                 them: single directions,
                                                 switches (by their ids) */
    size_t nsuspects;
};

struct policy_audit {
    uint64_t id;   /* from 1 on; of a user's check: of no meaning */
    int64_t time;  /* when it ended */
    bool user;     /* a user's check */
    bool whole;    /* it came to its end, */
    bool complete; /* ... and no node and no probe is missing */
    size_t asked;  /* nodes that were to be measured, */
    size_t nodes;  /* ... and that were */
    const char *leader; /* a node; NULL: not known */
    const struct policy_finding *finding;
    size_t nfindings;
};

/* An audit that was about a node, whatever came of it. */
struct policy_try {
    const char *node;
    uint64_t audit;
    int64_t time;
};

/* A sign of trouble that root saw at the port; not SIGN_WAIT. */
struct policy_sign {
    enum sign_kind kind;
    const char *link, *host;
    int64_t time;
    uint64_t after;
};

struct policy_node {
    const char *name;
    bool unknown;      /* Slurm does not tell its state */
    bool down;         /* or failing, or not responding */
    bool powered_down; /* or on its way there or back */
    bool reserved;     /* or in maintenance */
    bool drained;      /* or draining */
    const char *reason, *by; /* the Reason, and the user who gave it; NULL */
};

enum policy_kind {
    POLICY_NONE,   /* nothing to do */
    POLICY_NOTE,   /* to be reported, and with Action=comment commented */
    POLICY_WAIT,   /* for an audit, from `when` on */
    POLICY_DRAIN,
    POLICY_RESUME,
    POLICY_LEFT,   /* FAILs in others' hands: to be recorded */
    POLICY_LIFTED, /* out of these, or our drain was ended by others: to be
                      recorded */
};

/* What we did, or saw done: DRAIN, RESUME, LEFT or LIFTED. A drain is recorded
 * before it is done: one that did not come about will look lifted, which costs
 * DrainAgainAfter, but none is made twice.
 */
struct policy_action {
    uint64_t id; /* ascending, unique */
    enum policy_kind kind;
    const char *node, *link;
    const char *reason; /* DRAIN: as it was given */
    int64_t time;
    uint64_t after;
    bool unsure;        /* it is not noted that it was done */
};

struct policy_mute {
    const char *link, *node; /* either may be NULL */
    int64_t until;           /* 0: for good */
};

struct policy_reset {
    const char *link; /* NULL: all */
    uint64_t after;
};

/* Node states must be no older than the newest action. Audits need not tell
 * of links that no FAIL and no action of ours was about. Mutes and resets are
 * few: people make them.
 */
struct policy_input {
    int64_t now;
    const char *self;       /* user who drains, as Slurm shows it */
    const char *unreadable; /* what could not be read; NULL: nothing */
    const struct policy_node *node;
    size_t nnodes;
    const struct policy_audit *audit;
    size_t naudits;
    const struct policy_try *tried;
    size_t ntried;
    const struct policy_sign *sign;
    size_t nsigns;
    const struct policy_action *action;
    size_t nactions;
    const struct policy_mute *mute;
    size_t nmutes;
    const struct policy_reset *reset;
    size_t nresets;
};

/* Texts are one line of printable ASCII. */
struct decision {
    const char *node; /* of the input */
    const char *link; /* that it is about, of the input; NULL: none */
    enum policy_kind kind;
    int64_t when;     /* WAIT: an audit makes sense from then on, */
    uint64_t audit;   /* ... to confirm this one; 0: to find it repaired */
    const struct policy_finding *finding; /* what that one found of it, of the
                         input; NULL */
    char reason[POLICY_REASON_MAX]; /* DRAIN: for Slurm; else "" */
    char why[POLICY_WHY_MAX];       /* one sentence, always there */
};

struct decisions {
    struct decision *v; /* one a node, by name */
    size_t n;
    char **remark;      /* about the site, a sentence each */
    size_t nremarks;
    uint64_t after;     /* the newest audit: to be recorded with actions */
    bool stopped;       /* nothing at all is changed, the remark says why */
};

/* Decide. Costs O((n + e) log (n + e)) for n nodes and e suspects and actions,
 * and mutes and resets for each link. Names in decisions live as long as the
 * input.
 */
void policy_decide (struct decisions *d, const struct policy_input *in,
                    const struct policy_config *cfg);
void policy_clear (struct decisions *d);

/* When a node is to be audited again: for the first time, ConfirmAfter after
 * `since`; where n audits came to nothing, the last at that time, 2^n times
 * ConfirmAfter after it, but no later than POLICY_RETRY_MAX_S. Now, if that
 * is a time of the future: then clocks stepped.
 */
int64_t policy_retry (int64_t since, size_t n, int64_t now,
                      const struct policy_config *cfg);

const char *policy_kind_name (enum policy_kind kind);

#endif /* PROLOG_POLICY_H */
