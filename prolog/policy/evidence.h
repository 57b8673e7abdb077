/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence: what audits and signs say about each link of a host, in their
 * order; and of that and the other inputs, the state of each node and of the
 * site. The first half of the policy; the rules are in prolog/policy/policy.h.
 */
#ifndef PROLOG_EVIDENCE_H
#define PROLOG_EVIDENCE_H

#include "prolog/policy/policy.h"

enum standing { /* in order of severity */
    STANDING_NONE,
    STANDING_CLEAN,
    STANDING_UNSURE,
    STANDING_NODE,
    STANDING_WARN,
    STANDING_DOUBT,
    STANDING_AMONG,
    STANDING_FAIL,
    STANDING_CONFIRMED,
};

enum { /* what an audit or a sign says about a link */
    SEEN_STATIC = 1,  /* slow for its class: a FAIL if it has a sign */
    SEEN_CLEAN = 1 << STANDING_CLEAN,
    SEEN_UNSURE = 1 << STANDING_UNSURE, /* UNKNOWN, or clean in an incomplete
                         audit */
    SEEN_NODE = 1 << STANDING_NODE, /* its host is slow without it: no evidence
                         about the link */
    SEEN_WARN = 1 << STANDING_WARN,
    SEEN_DOUBT = 1 << STANDING_DOUBT, /* FAIL, but the audit counts against no
                         host */
    SEEN_AMONG = 1 << STANDING_AMONG, /* one of several possible causes of a
                         FAIL */
    SEEN_FAIL = 1 << STANDING_FAIL,
    SEEN_SIGN = SEEN_FAIL << 1, /* counts as WARN */
};

enum doubt { /* why an audit counts against no host */
    DOUBT_NONE,
    DOUBT_NUMBERS,
    DOUBT_LOSSY,
    DOUBT_INCOMPLETE,
    DOUBT_COMMON,
    DOUBT_MANY,
};

struct link_event {
    const char *host, *link;
    const struct policy_audit *a;          /* NULL: a sign */
    const struct policy_finding *finding;  /* likewise */
    const struct policy_suspect *suspect;  /* likewise */
    uint64_t audit; /* sign: the audit before it */
    int64_t time;
    unsigned int seen;
    bool fresh;     /* not in the future, within ConfirmWithin */
    enum doubt doubt;
    enum sign_kind sign;
    bool rate; /* it is of what the link carries: no latency of it FAILs */
    double excess_ns; /* 0: not known */
};

/* A link of a host. track_stand sets the members after `from`. */
struct track {
    const char *host, *link;
    const struct link_event *event; /* sorted by audit, signs after their
                                       audit */
    size_t nevents;
    bool muted;            /* set by the policy */
    uint64_t from;         /* likewise: only audits from this one on count */

    enum standing standing;
    uint64_t since;        /* `from`, or the audit after the one that cleared
                              it */
    const struct link_event *last;  /* the event that set the standing; NULL:
                                       none */
    const struct link_event *first; /* CONFIRMED: the audit that `last`
                                       confirms; NULL: a sign does */
    const struct link_event *sign;  /* the newest fresh sign */
    const struct link_event *early; /* FAIL, AMONG: the first that is fresh and
                                       counts, */
    const struct link_event *open; /* ... the newest that another audit can
                                      confirm */
    struct {                   /* two FAILs that do not confirm each other */
        const struct link_event *of[2];
        const char *node;      /* one node may be the cause of both: why;
                                  NULL */
        const char *link;      /* or this link, which both suspect, may; NULL */
        bool elsewhere;        /* or one does, and a FAIL that does not suspect
                                  the host */
    } needs;
    size_t among;              /* audits since then that say AMONG */
    bool failing;              /* a FAIL of it alone counts, or is in doubt; */
    bool lone;                 /* ... it is the only one, and not in doubt; */
    int64_t bad_time;          /* ... time of the newest; */
    uint64_t bad_audit;        /* ... number of the newest */
    uint64_t unsure;           /* the newest UNKNOWN audit */
};

struct evidence {
    struct pool *pool;
    const struct policy_config *cfg;
    const struct policy_audit **audit; /* [naudits] by number; no user's check */
    size_t naudits;
    struct suspected_link *suspected;
    size_t nsuspected;
    struct link_event *event; /* by host, link, audit */
    size_t nevents;
    struct track *track; /* by host, link */
    size_t ntracks;
};

/* Its memory is the pool's. */
void evidence_make (struct evidence *e, const struct policy_input *in,
                    const struct policy_config *cfg, struct pool *pool);

/* Set the standing of the link. */
void track_stand (struct track *t, const struct evidence *e);

/* Fresh audits from `from` on that found the link clean, counted from the last one
 * that found anything worse than UNKNOWN. If `rate`, or that one found that it
 * carries less than expected, only those count that measured this.
 */
struct clean_audits {
    size_t n;
    const struct link_event *last; /* the newest of them */
    bool enough; /* two are ConfirmAfter apart, and no single node can have said so
                    in both; */
    const char *shared; /* ... why one can, in two that are apart; NULL: no two are */
};
struct clean_audits track_clean (const struct track *t, uint64_t from,
                                 bool rate, const struct policy_config *cfg);

/* The track of a link; NULL: no evidence. */
struct track *evidence_find (const struct evidence *e, const char *host,
                             const char *link);

/* If a host link may explain a finding: the first of its hosts by name; *alone
 * is true if only links of this host may explain it. Otherwise NULL.
 */
const char *finding_host (const struct policy_finding *f, bool *alone);

/* Why a fresh audit that FAILs a host counts against none; DOUBT_NONE for other
 * audits.
 */
enum doubt audit_doubt (const struct policy_audit *a, int64_t now,
                        const struct policy_config *cfg);
const char *doubt_text (enum doubt doubt);

/* A node, and all that is known about it. */
struct node_state {
    const struct site_state *site;
    const struct policy_node *node;
    struct track *track; /* of its links */
    size_t ntracks;
    const struct ledger_action **action; /* oldest first */
    size_t nactions;
    const struct ledger_action *last; /* the newest; NULL: none */
    const struct track *worst; /* not muted; NULL: none */
    bool muted;                /* a muted link FAILs */
};

struct site_state {
    const struct policy_input *in;
    const struct policy_config *cfg;
    struct evidence evidence;
    struct node_state *node; /* by name */
    size_t nnodes;
    const struct ledger_action **action; /* sorted by node, oldest first */
    const char **broad; /* hosts that FAIL, or that we drained in a day */
    size_t nbroad;
    size_t limit;       /* of nbroad */
    size_t counted;     /* nodes neither powered down nor reserved */
    size_t unavailable; /* of these, */
    size_t unknown;     /* ... and in a state not known yet */
    bool is_broad;      /* more hosts FAIL at once than may be drained */
    bool is_short;      /* too few nodes are known to be available, */
    bool is_known_short; /* ... or too many are known to be unavailable: between
                           these are those that have not registered since
                           slurmctld started */
    const char *stop;   /* why nothing at all is changed; NULL: go on */
};

/* The input and the configuration are borrowed; memory is the pool's. */
void state_make (struct site_state *s, const struct policy_input *in,
                 const struct policy_config *cfg, struct pool *pool);

/* The state of a node; NULL: Slurm does not know the node. */
const struct node_state *state_find (const struct site_state *s,
                                     const char *name);

/* The first audit after the newest reset of a link's baseline; 0: none. */
uint64_t state_reset (const struct site_state *s, const char *link);

/* Whether Slurm says that it runs jobs; and whether others handle the node, and
 * may repair it.
 */
bool node_in_service (const struct policy_node *n);
bool node_in_hand (const struct policy_node *n);

/* Whether the newest action is our drain. */
bool node_is_drained_by_us (const struct node_state *w);

/* Whether a time is less than a span ago. A time in the future is within any
 * span.
 */
bool within_span (int64_t time, int64_t span, int64_t now);

#endif /* PROLOG_EVIDENCE_H */
