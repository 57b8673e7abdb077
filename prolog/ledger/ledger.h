/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ledger: what audits measured and found, and what was done about it.
 *
 * Written by audits and by `pmm ledger`, read by the policy and the reports.
 * File: an SQLite database in WAL mode; its tables are in ledger_db.c.
 *
 * Only audits are entered. An audit is begun before it runs; this draws the
 * nonce for its step. A result is refused if its nonce is not of an audit that
 * waits for one, or if it is of another fabric or of other hosts. So a user's
 * check is never entered, and no result is entered twice.
 *
 * Only the owner of the file may write it, not even root. Its mode (0640 when
 * created) decides who may read it. A file or directory that others may write
 * is refused.
 *
 * A call is one transaction: when it returns, all of it is on the disk, or
 * none. Ids give the order of events, since clocks can step back. Texts are
 * cleaned (util/text) and cut to the sizes below. Times are seconds since 1970.
 *
 * Functions return 0, a number or JSON that the caller owns, or -1 or NULL with
 * err: one sentence that begins with the file's name. ERROR_INPUT: the file
 * does not exist, is no ledger or has another version, or the new data are
 * refused. ERROR_WORLD: everything else, such as a full disk, a damaged page,
 * or a lock that another process holds for longer than LEDGER_WAIT_MS.
 */
#ifndef PROLOG_LEDGER_H
#define PROLOG_LEDGER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/baseline/baseline.h"
#include "core/judge/judge.h"
#include "core/judge/verdict.h"
#include "core/paths/paths.h"
#include "core/samples/observe.h"
#include "core/samples/samples.h"
#include "ibquery/fabric.h"
#include "util/error.h"
#include "util/text.h"

enum {
    LEDGER_VERSION = 8,
    LEDGER_WAIT_MS = 5000,
    LEDGER_TEXT_MAX = 1023,  /* bytes of a sentence, a reason, a why */
    LEDGER_NAME_MAX = 127,   /* of a host, a link's id, a user */
    LEDGER_NONCE_BYTES = 33, /* 32 hex digits and their end */
    LEDGER_HOSTS_MAX = 1 << 17,
};
#define LEDGER_SETTLED_AUDITS 3
#define LEDGER_SETTLED_S (3 * 86400)
#define LEDGER_RETRY_MAX_S 3600 /* longest wait of a comment for its next try */

enum ledger_mode {
    LEDGER_READ,
    LEDGER_WRITE,
    LEDGER_CREATE, /* write; created if it does not exist */
};

struct ledger;

/* An empty file becomes a ledger unless the mode is LEDGER_READ. */
struct ledger *ledger_open (const char *path, enum ledger_mode mode,
                            struct error *err);
void ledger_close (struct ledger *ledger);
const char *ledger_path (const struct ledger *ledger);

/* Show on the program's terminal (util/terminal) which of how many entries is
 * worked at. A call that takes long shows itself else, without a number.
 */
void ledger_work (struct ledger *ledger, const char *what, int64_t done,
                  int64_t total);

/* Take the lock to audit or to act, the file LEDGER.lock. Return 1 with *fd,
 * which holds it until it is closed; 0 if another process has it.
 */
int ledger_lock (const struct ledger *ledger, int *fd, struct error *err);

/* Check every page and reference; err names the first error. */
int ledger_check (struct ledger *ledger, struct error *err);

/* Copy what can be read of the damaged ledger at `from`, which ledger_open
 * opens, into a new one: each audit completely or not at all, with its id. A
 * new ledger whose copy did not complete cannot be opened again. Return how
 * many audits, actions, comments, mutes and rebases were lost (an unreadable
 * list of them counts as one).
 */
int64_t ledger_salvage (struct ledger *ledger, const char *from,
                        struct error *err);

/* The cause of an audit. A job is given by its id and its submit time, since
 * ids are reused and requeued jobs keep theirs.
 */
enum ledger_why {
    LEDGER_BY_HAND,
    LEDGER_JOB,     /* a job ended, and a rule asks for its audit */
    LEDGER_CHECK,   /* a job ended whose user asked for a check */
    LEDGER_SWEEP,
    LEDGER_CONFIRM, /* to confirm what an earlier audit found */
    LEDGER_AGAIN,   /* whether a node that we drained is repaired */
    LEDGER_SEARCH,  /* to find why an earlier audit had no result */
};
struct ledger_cause {
    enum ledger_why why;
    uint64_t job;      /* 0: none */
    int64_t submitted; /* 0: not known */
    int64_t uid;       /* JOB, CHECK: user of the job */
    const char *node;  /* CONFIRM, AGAIN: the node it is about; else NULL */
    const char *leader; /* one of the hosts; NULL: not known */
};
const char *ledger_why_name (enum ledger_why why);

/* Begin an audit of n hosts on the fabric with that hash. Return its id, > 0,
 * and its nonce. errno EEXIST: the job, given with its submit time, has an
 * audit, with or without a result.
 */
int64_t ledger_begin (struct ledger *ledger, int64_t time, const char *fabric,
                      const struct ledger_cause *cause,
                      const char *const *host, size_t n,
                      char nonce[LEDGER_NONCE_BYTES], struct error *err);

/* Set the leader of an audit, as its record shows it; NULL: not known. */
int ledger_led (struct ledger *ledger, int64_t audit, const char *leader,
                struct error *err);

/* End an audit that has no result, as UNKNOWN; a later result is refused. audit
 * 0: all such audits. Return their number.
 */
int64_t ledger_give_up (struct ledger *ledger, int64_t time, int64_t audit,
                        const char *sentence, struct error *err);

/* Enter the result of the audit that has the samples' nonce: which hosts
 * answered, each RTT with its row, the verdict. Work grows with the samples,
 * not with the ledger. Return the audit's id; errno EEXIST if it has a result
 * (a second try after a crash). says: the audit's sentence (report/words).
 */
int64_t ledger_record (struct ledger *ledger, int64_t time,
                       const struct pathset *ps,
                       const struct samples *samples,
                       const struct verdict *verdict, const char *says,
                       struct error *err);

/* Enter counters of ports as an audit read them, even if it has no result. Add
 * the signs that they show first: if the process is killed in between, the next
 * audit sees the growth again.
 */
struct ledger_counter {
    const char *port; /* "guid/port" */
    const char *name; /* "PortXmitWait" */
    uint64_t value;   /* at most INT64_MAX */
};
int ledger_counters (struct ledger *ledger, int64_t audit,
                     const struct ledger_counter *counter, size_t n,
                     struct error *err);
/* A counter's value in the newest audit before this one that read it, and when
 * that audit began. Return 1, or 0 if there is none.
 */
int ledger_counter_last (struct ledger *ledger, int64_t audit,
                         const char *port, const char *name, uint64_t *value,
                         int64_t *begun, struct error *err);

/* Add a sign that an audit saw at a link's port; not SIGN_WAIT. host is the node's
 * name in Slurm; NULL if it is a port of a switch. An audit has at most one sign of
 * a kind per link.
 */
int ledger_sign_add (struct ledger *ledger, int64_t audit, const char *link,
                     const char *host, enum sign_kind kind, int64_t time,
                     struct error *err);

/* A node because of which an audit has no result: the step could not be started
 * there, or ended early.
 */
int ledger_fault_add (struct ledger *ledger, int64_t audit, const char *node,
                      const char *cause, struct error *err);

/* What the policy decides of a node. From DRAIN on these are actions, or
 * observations, that enter the ledger.
 */
enum policy_kind {
    POLICY_NONE,   /* nothing to do */
    POLICY_NOTE,   /* to report; with Action=comment also to comment */
    POLICY_WAIT,   /* for an audit */
    POLICY_DRAIN,
    POLICY_RESUME,
    POLICY_LEFT,   /* it FAILs, but others handle it */
    POLICY_LIFTED, /* back in service, or others ended our drain */
    POLICY_KINDS,
};
const char *policy_kind_name (enum policy_kind kind);

/* What made a drain sure: a second audit, likewise of what the link carries, or
 * the sign that confirmed it.
 */
enum drain_cause {
    CAUSE_CONFIRMED,
    CAUSE_RATE,
    CAUSE_COUNTER, /* and so on, as enum sign_kind */
    CAUSE_WIDTH,
    CAUSE_SPEED,
    CAUSES, /* it is no drain, or not known */
};
const char *drain_cause_name (enum drain_cause cause); /* CAUSES: NULL */

/* An action is recorded before it is
 * tried, and again when it is done, so that after a crash it is known what to
 * check. An action with the same node and kind as one that is not done yet is
 * the same action. ledger_intend returns its id, and also records the id of the
 * newest audit. A second ledger_done has no effect.
 */
struct ledger_action {
    const char *node;
    const char *link;   /* the link it is about; or NULL */
    enum policy_kind kind;
    const char *reason; /* as others see it */
    const char *why;
    enum drain_cause cause;
    int64_t id, after, intended, done; /* as read: after: the newest audit then;
                                          done -1: not yet */
};
int64_t ledger_intend (struct ledger *ledger, int64_t time,
                       const struct ledger_action *action, struct error *err);
int ledger_done (struct ledger *ledger, int64_t time, int64_t action,
                 struct error *err);

/* Findings of a muted link are recorded but cause no action; likewise all
 * findings of a muted node; with both given, those of the link at this node.
 * There is one mute of each, until a time (0: no end). ledger_unmute ends it,
 * errno ENOENT if there is none.
 */
struct ledger_mute {
    const char *link, *node; /* one of them may be NULL; as read "": any */
    int64_t until;
    const char *who, *why;
    int64_t time; /* as read */
};
int ledger_mute (struct ledger *ledger, int64_t time,
                 const struct ledger_mute *mute, struct error *err);
int ledger_unmute (struct ledger *ledger, const char *link, const char *node,
                   struct error *err);

/* Measurements of the link up to now no longer count for its baseline, since it
 * was repaired.
 */
int ledger_rebase (struct ledger *ledger, int64_t time, const char *link,
                   const char *who, const char *why, struct error *err);

/* A line to append to a finished job's comment. The same line for the same job
 * is entered once, even after it is done, so it can be added again after a
 * crash. Return its id.
 */
int64_t ledger_comment_add (struct ledger *ledger, int64_t time, uint64_t job,
                            int64_t submitted, const char *text,
                            struct error *err);
/* The comment is written, or can never be. A second call has no effect. */
int ledger_comment_done (struct ledger *ledger, int64_t time, int64_t comment,
                         struct error *err);
/* The comment could not be written; it is due again from not_before on, but at
 * most LEDGER_RETRY_MAX_S from now, even if the clock steps back.
 */
int ledger_comment_failed (struct ledger *ledger, int64_t time,
                           int64_t comment, int64_t not_before,
                           const char *why, struct error *err);

/* Notices: what the site is to be told, each once, and for how long it holds.
 *
 * ledger_notices takes all notices of a class that hold now, and enters those
 * that did not. Keys begin with the class: a notice is about these, for example
 * the links that a finding could not resolve. It is to be told if none
 * of them held within LEDGER_NOTICE_S before. ledger_told notes how telling it
 * ended, "" if well; a second call has no effect.
 */
enum { LEDGER_NOTICE_S = 86400 };
struct ledger_notice {
    const char *event, *words;
    const char *node, *link; /* NULL: none */
    int64_t audit;           /* 0, or as read -1: none */
    struct hostlist keys;    /* to enter; as read: */
    int64_t id, time, over;  /* over -1: it holds */
    const char *key, *told;  /* told NULL: not yet */
};
int ledger_notices (struct ledger *ledger, int64_t time, const char *class_is,
                    const struct ledger_notice *notice, size_t n,
                    struct error *err);
int ledger_told (struct ledger *ledger, int64_t notice, const char *how,
                 struct error *err);

/* Delete the oldest audits: those begun before `before`, up to the first that
 * was not, and as many as exceed `keep`; but at most LEDGER_PRUNE_AUDITS, in one
 * transaction, for which other processes wait. When none is left, delete rows of
 * fabrics without audits, comments that are done and older than the remaining
 * audits, and notices that were told and over before `before`, some thousand at
 * a time. Actions, mutes and rebases stay. Call it again if there is more. An
 * audit that seems younger than the newest one stays, and those after it go: a
 * clock was ahead.
 */
enum { LEDGER_PRUNE_AUDITS = 100 };
struct ledger_pruned {
    int64_t audits; /* deleted now */
    bool more;
};
int ledger_prune (struct ledger *ledger, int64_t before, int64_t keep,
                  struct ledger_pruned *done, struct error *err);

/* How many audits were begun before `before`; when the first of these by number
 * was, and the newest of all: INT64_MAX if there is none. -1 with err.
 */
int64_t ledger_old (struct ledger *ledger, int64_t before, int64_t *oldest,
                    int64_t *newest, struct error *err);

/* Rows, each of which is a struct of its columns (the tables are in
 * ledger_read.c): times are when an audit began, unless it says otherwise; a text
 * is NULL, an enum its number of values, a number -1 or NAN if it is not known.
 */
struct ledger_audit {
    int64_t id, begun, ended;
    enum ledger_why why;
    int64_t about, submitted;
    int64_t uid;       /* of a user's job */
    int64_t job, step; /* of its result */
    const char *fabric;
    enum verdict_status status;
    bool complete;
    const char *sentence, *node, *leader; /* node: if it is about one */
    int64_t hosts;                        /* their number */
};
struct ledger_rebase {
    const char *link;
    int64_t after, time;
    const char *who, *why;
};
struct ledger_sign {
    int64_t audit;
    const char *link, *host;
    enum sign_kind kind;
    int64_t time;
};
struct ledger_said { /* node "": about the site */
    const char *node, *words;
};
struct ledger_comment {
    int64_t id, after, job, submitted, queued, tries, due, done;
    const char *text, *error;
};
struct ledger_failed { /* audits without a result; node "": of no single one */
    const char *node, *cause;
    int64_t audits, newest;
};
struct ledger_host {
    const char *host;
    bool answered, led;
};
struct ledger_link {
    const char *link;
    int64_t audit,
        ended;       /* the newest audit that measured it; its result's time */
    bool open;       /* not judged */
    int64_t finding; /* -1: none of it suspects the link */
    enum verdict_status level;
    enum finding_kind kind;
    enum finding_basis basis;
    double excess_ns, rate_bits, rate_expected_bits;
    int64_t suspects;      /* links that the finding has */
    int64_t audits, since; /* that settled it, and when that began */
};
struct ledger_kernel {
    const char *kernel;
    int64_t nodes, since; /* that ran it */
};
struct ledger_total {
    const char *result; /* "none": they have none */
    int64_t audits;     /* that ended with it, also deleted ones */
};
struct ledger_fault { /* of a node; `until` then audits leave it out */
    const char *node, *cause;
    int64_t faults, since, until;
};
struct ledger_seen {           /* what an audit says of a link */
    int64_t audit, begun, job; /* job 0: none */
    bool fail, own, open, clean, lossy, rated;
    double excess_ns;
    const char *peer;
};
struct ledger_rate { /* what an audit measured of a link in one direction */
    int64_t audit, ended;
    const char *link;
    int64_t way; /* 0 from its first end, 1 to it */
    double bits, expected; /* payload per second */
};
struct ledger_suspect {
    int64_t finding;
    const char *id, *role; /* "link", "one way", "switch" */
};

enum ledger_kind {
    LEDGER_AUDITS,       /* the newest `from`, newest first */
    LEDGER_ACTIONS,      /* the newest `from`, newest first */
    LEDGER_MUTES,        /* all */
    LEDGER_REBASES,      /* all */
    LEDGER_SIGNS,        /* of audit `from` and newer ones, oldest first */
    LEDGER_SAID,         /* messages in the log that still hold, by node */
    LEDGER_COMMENTS_DUE, /* the oldest `to` that are due at the time `from`, or
                       by a time more than LEDGER_RETRY_MAX_S ahead: then the
                       clock was ahead when they were put off */
    LEDGER_BEGUN,   /* audits begun from `from` to `to`: begun, why */
    LEDGER_FAILED,  /* begun at `from` or later and ended without a result, by
                       node and cause, the most first */
    LEDGER_HOSTS,   /* of audit `from` */
    LEDGER_SILENT,  /* hosts that did not answer in audits from `from` on that
                       have a result, by name: host alone */
    LEDGER_NEWEST,  /* the newest audit that measured each link: link, audit,
                       ended; by audit */
    LEDGER_TRIES,   /* audits from `from` on that are about a node, oldest first:
                       id, node, begun */
    LEDGER_SUSPECTS, /* links and switches that audits from `from` on suspect:
                       link */
    LEDGER_LINKS,   /* of each link the newest audit that measured it, and each
                       of its findings that suspects the link, and those of its
                       rate of the newest audit that measured that, by audit,
                       finding and likelihood */
    LEDGER_FAILS,   /* of these findings those of level FAIL, or that messages
                       are lost or delayed */
    LEDGER_DOUBTS,  /* cables of which one audit is not enough to tell, that an
                       audit begun at `from` or later FAILs, or finds slower
                       than the baseline by more than `to` ns: link, basis,
                       rate_expected_bits */
    LEDGER_SETTLED, /* links that audits begun at `from` or later found slower
                       than their baseline, and no one since it was rebased by a
                       FAIL or by more than `to` ns, as sure as three standard
                       errors; LEDGER_SETTLED_AUDITS of them, LEDGER_SETTLED_S
                       apart, and two of three that judged the link since the
                       first: link, audits, since, excess_ns (the mean) */
    LEDGER_RATES,    /* of each link the newest audit that measured its rate */
    LEDGER_UNTOLD,   /* the oldest `to` notices that are to be told */
    LEDGER_NOTICES,  /* since the time `from`, oldest first */
    LEDGER_KERNELS, /* of audits begun at `from` or later, the first begun first */
    LEDGER_TOTALS,
    LEDGER_KINDS,
};

struct ledger_rows {
    size_t n;
    union {
        void *v;
        struct ledger_audit *audit; /* AUDITS, BEGUN, TRIES */
        struct ledger_action *action;
        struct ledger_mute *mute;
        struct ledger_rebase *rebase;
        struct ledger_sign *sign;
        struct ledger_said *said;
        struct ledger_comment *comment;
        struct ledger_failed *failed;
        struct ledger_host *host; /* HOSTS, SILENT */
        struct ledger_link *link; /* NEWEST to SETTLED, but TRIES */
        struct ledger_notice *notice;
        struct ledger_kernel *kernel;
        struct ledger_total *total;
        struct ledger_fault *fault;
        struct ledger_seen *seen;
        struct ledger_suspect *suspect;
        struct ledger_rate *rate;
    };
};

/* Read rows. Work grows with their number, or that of the audits since. Return 0,
 * or -1 with err and no rows.
 */
int ledger_list (struct ledger *ledger, enum ledger_kind kind, int64_t from,
                 int64_t to, struct ledger_rows *rows, struct error *err);

/* All that was read since the last call of it, rows, results and what they point
 * to, is the ledger's and goes with this, or when it is closed.
 */
void ledger_forget (struct ledger *ledger);

/*
 * As JSON, for `pmm --json` and people alone: no program reads it back
 */

/* The rows, each an object of its columns; null: not known. */
json_t *ledger_json (struct ledger *ledger, enum ledger_kind kind, int64_t from,
                     int64_t to, struct error *err);

/* One audit, completely: the above, hosts [{host, answered}], findings [{level,
 * kind, basis, excess_ns, stderr_ns, expected_ns, why, rate_bits,
 * rate_expected_bits, suspects}], not_judged [{link}], rates [{link, way, bits,
 * expected}], limits, probes [{a, b, round, initiator, sent, lost, min, ..., max,
 * row}], counters, signs, faults [{node, cause}], and actions. errno ENOENT if
 * there is no such audit.
 */
json_t *ledger_audit (struct ledger *ledger, int64_t id, struct error *err);

/* A number that the ledger tells. Return 1 with *value, 0 if there is none (then
 * *value is as it was, but that of LEDGER_SINCE 0), or -1 with err.
 */
enum ledger_number {
    LEDGER_NEXT,      /* the first audit after audit `from` */
    LEDGER_SINCE,     /* the first audit begun at the time `from` or later */
    LEDGER_FIRST,     /* when the oldest audit of all began */
    LEDGER_SUCCEEDED, /* when the newest ended that has another result than
                         UNKNOWN */
    LEDGER_MEASURED,  /* when the newest began that measured the node `name` */
    LEDGER_RATED,     /* when the newest ended that measured what the link `name`
                         carries */
};
int ledger_number (struct ledger *ledger, enum ledger_number number, int64_t from,
                   const char *name, int64_t *value, struct error *err);

/* Nodes with faults that no audit measured since, the first fault first. Audits
 * leave them out `until` then: LEDGER_OUT_MIN_S after the first of these faults,
 * twice as long after each further one, up to LEDGER_OUT_MAX_S. Faults older than
 * a week are ignored. Return as ledger_list.
 */
enum { LEDGER_OUT_MIN_S = 600, LEDGER_OUT_MAX_S = 6 * 3600 };
int ledger_faulty (struct ledger *ledger, int64_t now,
                   struct ledger_rows *faulty, struct error *err);
/* Of these, that of a node; and if it is left out now. Borrowed, or NULL. */
const struct ledger_fault *ledger_fault_of (const struct ledger_rows *faulty,
                                            const char *node);
const struct ledger_fault *ledger_is_out (const struct ledger_rows *faulty,
                                          const char *node, int64_t now);
/* {cause, faults, since, until} */
json_t *ledger_fault_json (const struct ledger_fault *fault);

/* Whether hosts, by name, have this one. */
bool ledger_has_host (const struct ledger_rows *hosts, const char *host);

/* Set how many links an audit measured, and in how many rounds. */
int ledger_extent (struct ledger *ledger, int64_t id, struct verdict *v,
                   struct error *err);

/* Until ledger_release, all reads see one consistent state. In between, call
 * only functions that read, and not ledger_audit, ledger_trend, ledger_baseline
 * or ledger_combine.
 */
int ledger_hold (struct ledger *ledger, struct error *err);
void ledger_release (struct ledger *ledger);

/* The audits that suspect the link, since the newest one that measured it (what it
 * carries, if one suspects it of that), judged it and did not, or since it was
 * rebased: audit, begun and job, oldest
 * first. What only others' traffic hides is left out. Return as ledger_list.
 */
int ledger_suspected (struct ledger *ledger, const char *link,
                      struct ledger_rows *seen, struct error *err);

/* A number that changes with the ledger, as this process sees it. -1 with err. */
int64_t ledger_changes (struct ledger *ledger, struct error *err);

/* The audits from `from` on with a finding; with one that suspects the link if
 * that is not NULL: audit, fail, rated and excess_ns, oldest first; fail: one of
 * level FAIL does, or one that messages are lost or delayed; rated: one of level
 * FAIL of what it carries; excess_ns: the most over
 * the baseline. Return as ledger_list.
 */
int ledger_found (struct ledger *ledger, int64_t from, const char *link,
                  struct ledger_rows *seen, struct error *err);

/* The audits from `from` on whose routes crossed the link: audit, own, open,
 * clean, lossy, rated and peer. own: all of these routes ended at the host, so it is
 * this host's link; open: it was not judged; clean: an RTT over it was
 * measured, it was judged, no finding suspects it (except one about its host's
 * software, PCIe or adapter), and ledger_baseline would have had an earlier RTT
 * over it; lossy: half of its probes or more were lost; rated: what it carries was
 * measured, and is not less than expected; peer: the one host with
 * which all RTTs over it were measured, NULL if there were several. Return as
 * ledger_list.
 */
int ledger_link_audits (struct ledger *ledger, int64_t from, const char *link,
                        const char *host, struct ledger_rows *seen,
                        struct error *err);

/* The result of an audit. whole: the measurement ended normally. complete:
 * moreover, no host and no probe is missing. asked, answered: numbers of hosts.
 * limited: a limit about other links than those in `open` made it UNKNOWN, or
 * would have; true also if not known. leader: NULL if not known, or if it did not
 * answer, since then another node led.
 */
struct ledger_result {
    int64_t id, ended;
    enum verdict_status status;
    bool whole, complete, limited;
    int64_t asked, answered;
    const char *leader;
    bool odd;                /* it has words that this version does not know */
    struct verdict *verdict; /* its status and all of its findings, in their
                                     order, without loopbacks, limits and what
                                     was not judged */
    struct ledger_rows suspects; /* of all findings, in their order */
    struct ledger_rows open;     /* links that were not judged: link */
};

/* Read it. If a suspect of a finding is not in the fabric any more, the finding
 * has no suspects, or if `part` the other ones. errno ENOENT if there is no such
 * audit. Return 0, or -1 with err.
 */
int ledger_result (struct ledger *ledger, int64_t id, const struct fabric *f,
                   bool part, struct ledger_result *result, struct error *err);
/* The n suspects of a finding, also those that are not in the fabric any more. */
const struct ledger_suspect *ledger_suspects (const struct ledger_result *r,
                                              size_t finding, size_t *n);

/* Add a message that the log has and that still holds, or remove it if not
 * `on`.
 */
int ledger_say (struct ledger *ledger, const char *node, const char *words,
                bool on, struct error *err);

enum { LEDGER_TREND_AUDITS = 1000 };

/* The history of a link over the newest n audits of a fabric that crossed it, of
 * the newest LEDGER_TREND_AUDITS, oldest first: [{audit, job, begun, routes,
 * change_ns, level, rate_bits, rate_expected_bits (of the slower direction, if it
 * was measured)}]. job is that whose nodes it measured, 0: of none. change_ns is
 * the median, over the routes that cross the link, of the change of their median
 * RTT per crossing, relative to the lower quartile of the same route over these
 * audits. Only audits after the last rebase of any of the route's links count for
 * the quartile. A change that all its routes share is due to the link, or to
 * another link that they all share. level is that of the worst finding that
 * suspects it.
 */
json_t *ledger_trend (struct ledger *ledger, const char *fabric,
                      const char *link, size_t n, struct error *err);

/* The same of the first 32 links that a verdict's findings suspect, for the
 * fabric of this network: {link: as above}. Nobody reads more. Work grows with
 * the RTTs that crossed them.
 */
json_t *ledger_history (struct ledger *ledger, const struct network *net,
                        const struct verdict *v, size_t n,
                        struct error *err);

/* The runs of a fabric's audits numbered from `from` to `to`, 0 < from, as a
 * baseline of all ends of their routes. Its `open` is set.
 *
 * Left out are audits that are UNKNOWN because of more than the links they
 * name, and audits that found others' traffic. Of the other audits, RTTs are
 * left out that cross a link that was suspected, not judged, or rebased since.
 * Where messages were spread, each RTT has its flows, but not where any link
 * between switches was rebased since, which they may cross. So are rates of such
 * links, but findings of rates alone leave no RTT out. A host whose
 * loopback is slower too does not make its link suspected: the run contains
 * that loopback. Names resolve as in plan_read. errno ENOENT: nothing was
 * measured. Work grows with the RTTs of these audits.
 */
struct baseline *ledger_baseline (struct ledger *ledger, const char *fabric,
                                  int64_t from, int64_t to,
                                  pathset_resolve_f resolve, void *arg,
                                  struct error *err);

/* The oldest of a fabric's newest n audits up to this one; 0: there is none. */
int64_t ledger_back (struct ledger *ledger, const char *fabric, int64_t audit,
                     size_t n, struct error *err);

/* Measurements by a fabric's audits, combined to one observation per route, for
 * the solver and the sweeps: of the newest audits that have RTTs enough, and of
 * each endpoint that these did not measure the newest audit that its host
 * answered. So time and memory grow with these, not with the ledger's age. Left
 * out are audits begun after `until`, and measurements before the last rebase of
 * any of the route's links.
 *
 * A measurement that is a half-life older has half the weight; one with a
 * weight below a thousandth is left out. The set must have all endpoints of the
 * fabric. errno ENOENT: there are no measurements of this fabric. Call
 * observations_clear in any case.
 */
struct ledger_ageing {
    int quantile;       /* of the repeats, as in observe */
    int64_t now;
    int64_t until;      /* usually INT64_MAX: clocks step back */
    double half_life_s; /* 0: all have the same weight */
    int64_t enough;     /* RTTs; 0: 2^18, or 32 for each link if that is more */
};
int ledger_combine (struct ledger *ledger, const struct pathset *ps,
                    const struct ledger_ageing *ageing,
                    struct observations *o, struct error *err);

/* The same for several times together, which differ in `now` and `until`: an
 * audit that several of them want is read once. Each is handed over as soon as
 * it is complete, the newest usually first; its receiver owns the observations.
 * It must not use the ledger.
 */
typedef void ledger_combined_f (void *arg, size_t time, struct observations *o);
int ledger_combine_times (struct ledger *ledger, const struct pathset *ps,
                          const struct ledger_ageing *ageing, size_t times,
                          ledger_combined_f *take, void *arg,
                          struct error *err);

#endif /* PROLOG_LEDGER_H */
