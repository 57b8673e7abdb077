/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence: what audits and signs say of each link of a host, in their order.
 * The policy's first half; the rules are in prolog/policy/policy.h.
 */
#ifndef PROLOG_EVIDENCE_H
#define PROLOG_EVIDENCE_H

#include "prolog/policy/policy.h"

enum { /* what an audit, or a sign, says of a link */
    SEEN_CLEAN = 1,
    SEEN_UNSURE = 2,  /* UNKNOWN, or clean in an incomplete audit */
    SEEN_NODE = 4,    /* its host is slow without it: says nothing of it */
    SEEN_WARN = 8,
    SEEN_STATIC = 16, /* slow for its class: a FAIL if there is a sign */
    SEEN_DOUBT = 32,  /* FAIL, but the audit counts against no host */
    SEEN_AMONG = 64,  /* one of several that a FAIL may be of */
    SEEN_FAIL = 128,
    SEEN_SIGN = 256,
};

enum doubt { /* why an audit counts against no host */
    DOUBT_NONE,
    DOUBT_NUMBERS,
    DOUBT_LOSSY,
    DOUBT_INCOMPLETE,
    DOUBT_COMMON,
    DOUBT_MANY,
};

/* A link that an audit suspects, of whatever host, or of none. */
struct suspected_link {
    const char *link;
    uint64_t audit;
    const struct policy_finding *finding;
    bool explains; /* it may be why something became slow: so not what always
                      was slow */
    bool fails;    /* it is a fresh FAIL */
};

struct link_event {
    const char *host, *link, *port;
    const char *leader, *peer; /* of the audit; NULL: as in policy.h */
    const struct policy_finding *finding; /* NULL: a sign */
    uint64_t audit; /* of a sign: the one before it */
    int64_t time;
    unsigned int seen;
    bool fresh;     /* not of the future, not beyond ConfirmWithin */
    enum doubt doubt;
    enum sign_kind sign;
    size_t place;   /* among the suspects */
    double excess_ns, expected_ns;
};

enum standing { /* the graver the greater */
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

/* A link of a host. track_stand fills what comes after `floor`. */
struct track {
    const char *host, *link;
    const struct evidence *of;
    const struct link_event *event; /* by audit, signs after their audit */
    size_t nevents;

    bool muted;            /* the policy's to set */
    uint64_t floor;        /* likewise: what is newer than this audit counts */

    enum standing standing;
    uint64_t since;        /* audit that cleared it; what is newer stands */
    const struct link_event *last;  /* that made the standing what it is; NULL:
                                  nothing is seen */
    const struct link_event
        *first; /* CONFIRMED: the audit that `last` confirms;
                                  NULL: a sign does */
    const struct link_event *sign;  /* the newest one that is fresh */
    const struct link_event *early; /* FAIL, AMONG: the first that is fresh and
                                  counts, */
    const struct link_event *open; /* ... the newest that another can confirm */
    struct {                   /* two that do not confirm each other */
        const struct link_event *of[2];
        const char *node;      /* why: one node may be the cause of both; */
        const char *link;      /* ... or this link, which both suspect, */
        bool elsewhere;        /* ... or one, and another that FAILs and does
                                  not suspect the host; NULL: no such two */
    } needs;
    size_t among;              /* audits since that say AMONG */
    bool failing;              /* a FAIL of it alone stands, doubtful or not, */
    bool lone;                 /* ... one alone, which is not in doubt, */
    int64_t bad_time;          /* ... of then, */
    uint64_t bad_audit;        /* ... the newest */
    uint64_t unsure;           /* the newest that could not tell */
};

struct evidence {
    struct suspected_link *suspected; /* by link, audit */
    size_t nsuspected;
    struct link_event *event; /* by host, link, audit */
    size_t nevents;
    struct track *track; /* by host, link */
    size_t ntracks;
    uint64_t newest;     /* audit */
    size_t future;       /* audits that bear a time of the future */
    size_t doubted[DOUBT_MANY + 1]; /* fresh audits in which hosts FAIL */
    uint64_t doubted_last[DOUBT_MANY + 1]; /* the newest of these */
    bool twice;          /* two audits have one number: nothing is right */
};

void evidence_make (struct evidence *e, const struct policy_input *in,
                    const struct policy_config *cfg);
void evidence_clear (struct evidence *e);

/* How the link stands. */
void track_stand (struct track *t, const struct policy_config *cfg);

/* How many fresh clean audits are newer than `floor`, the last without
 * anything worse than UNKNOWN between or after them; *last is the newest of
 * them. *enough: two or more, ConfirmAfter apart.
 */
size_t track_clean (const struct track *t, uint64_t floor,
                    const struct policy_config *cfg,
                    const struct link_event **last, bool *enough);

/* The track of a link; NULL: nothing is known. */
struct track *evidence_find (const struct evidence *e, const char *host,
                             const char *link);

/* The host that stands for all of a finding that a host link may explain, the
 * first by name; *alone: nothing but links of it would. NULL: it is none such.
 */
const char *finding_host (const struct policy_finding *f, bool *alone);

const char *doubt_text (enum doubt doubt);

#endif /* PROLOG_EVIDENCE_H */
