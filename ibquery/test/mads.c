/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine, over a wire that does what a test says, in a time of its own. */
#include "config.h"
#include "ibquery/read/mads.h"

#include <inttypes.h>
#include <string.h>

#include "ibquery/read/smp.h"
#include "tests/tap.h"

enum { MAX_SENT = 256 };

/* What becomes of the n-th sending, from 0. */
enum fate {
    ANSWERED, /* at once */
    SILENT,   /* never */
    REPORTED, /* as lost, when its time is over */
    LATE,     /* answered, 3 ms after the next sending */
    TWICE,
    BUSY,
    REFUSED,
    FOREIGN,  /* answered with another attribute, never with its own */
};

struct script {
    enum fate fate[MAX_SENT];
    struct mads_packet sent[MAX_SENT];
    int64_t sent_us[MAX_SENT];
    size_t nsent;
    struct {
        struct mads_packet packet;
        int64_t at_us;
    } due[2 * MAX_SENT];
    size_t ndue, in_flight, most;
    int64_t now_us;
    bool closed;
    /* what the callback saw */
    char log[1024];
    struct mads *m;
};

static const struct mads_to nowhere = { .hops = 2, .path = { 0, 3, 7 } };
static const struct mads_to by_lid = { .lid = 77, .sl = 5 };

static void put (struct script *s, const struct mads_packet *p,
                 int64_t delay_us, uint16_t status, bool lost)
{
    struct mads_packet *q = &s->due[s->ndue].packet;

    *q = *p;
    q->lost = lost;
    if (!lost) {
        q->mad[MAD_METHOD] = METHOD_GET_RESP;
        put16 (q->mad + MAD_STATUS,
               status | (q->mad[MAD_CLASS] == MADS_DIRECTED
                             ? STATUS_DIRECTION
                             : 0));
        q->mad[MADS_DATA_OFFSET] = 0x5a;
    }
    s->due[s->ndue++].at_us = s->now_us + delay_us;
}

static int script_send (void *arg, const struct mads_packet *p,
                        unsigned int timeout_ms, struct error *err)
{
    struct script *s = arg;
    size_t n = s->nsent++;
    struct mads_packet other = *p;

    if (n == MAX_SENT - 1)
        return error_world (err, "the wire broke");
    s->sent[n] = *p;
    s->sent_us[n] = s->now_us;
    if (n > 0 && s->fate[n - 1] == LATE)
        put (s, &s->sent[n - 1], 3000, 0, false);
    switch (s->fate[n]) {
    case ANSWERED:
        put (s, p, 10, 0, false);
        break;
    case TWICE:
        put (s, p, 10, 0, false);
        put (s, p, 20, 0, false);
        break;
    case REPORTED:
        put (s, p, timeout_ms * 1000LL, 0, true);
        break;
    case BUSY:
        put (s, p, 10, STATUS_BUSY, false);
        break;
    case REFUSED:
        put (s, p, 10, 0x000c, false);
        break;
    case FOREIGN:
        put16 (other.mad + MAD_ATTR, ATTR_SM_INFO);
        put (s, &other, 10, 0, false);
        break;
    default:
        break;
    }
    if (++s->in_flight > s->most)
        s->most = s->in_flight;
    return 0;
}

static int script_recv (void *arg, struct mads_packet *p,
                        unsigned int timeout_ms, struct error *err)
{
    struct script *s = arg;
    int64_t until = s->now_us + timeout_ms * 1000LL;
    size_t first = 0;

    (void)err;
    for (size_t i = 1; i < s->ndue; i++)
        if (s->due[i].at_us < s->due[first].at_us)
            first = i;
    if (s->ndue == 0 || s->due[first].at_us > until) {
        s->now_us = until;
        return 0;
    }
    if (s->due[first].at_us > s->now_us)
        s->now_us = s->due[first].at_us;
    *p = s->due[first].packet;
    s->due[first] = s->due[--s->ndue];
    s->in_flight--;
    return 1;
}

static void script_close (void *arg)
{
    ((struct script *)arg)->closed = true;
}

static int64_t script_now (void *arg)
{
    return ((struct script *)arg)->now_us;
}

/* "7 " an answer to 7, "-7 " none, "7/12 " a refusal. */
static int note (void *arg, uint64_t cookie, const struct mads_answer *a,
                 struct error *err)
{
    struct script *s = arg;
    size_t used = strlen (s->log);
    char *end = s->log + used;
    size_t left = sizeof (s->log) - used;

    if (a->data && a->data[0] != 0x5a)
        return error_world (err, "these are not the data");
    if (a->data)
        snprintf (end, left, "%" PRIu64 " ", cookie);
    else if (a->status)
        snprintf (end, left, "%" PRIu64 "/%u ", cookie, a->status);
    else
        snprintf (end, left, "-%" PRIu64 " ", cookie);
    return cookie == 99 ? error_world (err, "enough") : 0;
}

static struct mads_options options;
static struct error err;

static void begin (struct script *s)
{
    const struct mads_wire wire = {
        .send = script_send,
        .recv = script_recv,
        .close = script_close,
        .now_us = script_now,
        .arg = s,
    };

    err.text[0] = '\0';
    s->m = mads_create (&options, &wire, &err);
}

static void ask (struct script *s, uint64_t cookie, uint8_t tries)
{
    const struct mads_request r = {
        .class = MADS_DIRECTED,
        .attr = ATTR_PORT_INFO,
        .mod = (uint32_t)cookie,
        .tries = tries,
        .to = &nowhere,
        .fn = note,
        .arg = s,
        .cookie = cookie,
    };

    mads_get (s->m, &r);
}

static const struct mads_options plain = {
    .timeout_ms = 800,
    .retries = 2,
    .window = 1,
};

/* One request, and what its sendings come to. */
static void fates (void)
{
    static const struct {
        enum fate fate[4];
        const char *log;
        size_t sent;
        uint64_t lost;
        int64_t ms; /* at most */
        const char *name;
    } rows[] = {
        { { ANSWERED }, "1 ", 1, 0, 1, "an answer" },
        { { TWICE }, "1 ", 1, 0, 1, "an answer that comes twice" },
        { { REFUSED }, "1/12 ", 1, 0, 1, "a refusal" },
        { { REPORTED }, "1 ", 2, 1, 101, "lost once: after an eighth" },
        { { REPORTED, REPORTED }, "1 ", 3, 2, 301, "... twice: twice that" },
        { { REPORTED, REPORTED, REPORTED }, "-1 ", 3, 3, 701, "for ever" },
        { { SILENT }, "1 ", 2, 1, 601, "lost without a report" },
        { { BUSY, BUSY }, "1 ", 3, 2, 301, "busy twice" },
        { { FOREIGN }, "1 ", 2, 1, 601, "an answer to another question" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        static struct script s;
        struct mads_counts c;

        memset (&s, 0, sizeof (s));
        memcpy (s.fate, rows[i].fate, sizeof (rows[i].fate));
        options = plain;
        begin (&s);
        ask (&s, 1, 0);
        if (mads_run (s.m, &err) < 0)
            diag ("%s", err.text);
        c = mads_counts (s.m);
        ok (strcmp (s.log, rows[i].log) == 0 && c.sent == rows[i].sent
                && s.nsent == c.sent && c.lost == rows[i].lost
                && s.now_us <= rows[i].ms * 1000,
            "%s", rows[i].name);
        if (strcmp (s.log, rows[i].log) != 0 || s.now_us > rows[i].ms * 1000)
            diag ("%s: %zu sent, %" PRId64 " us", s.log, s.nsent, s.now_us);
        mads_destroy (s.m);
        ok (s.closed, "... the wire is closed");
    }
}

/* No answer to what need not be answered is nothing lost. */
static void optional (void)
{
    static struct script s;
    const struct mads_request r = {
        .class = MADS_DIRECTED, .attr = ATTR_ADAPTIVE, .tries = 2,
        .optional = true, .to = &nowhere, .fn = note, .arg = &s, .cookie = 1,
    };
    struct mads_counts c;

    memset (&s, 0, sizeof (s));
    s.fate[0] = s.fate[1] = REPORTED;
    options = plain;
    begin (&s);
    mads_get (s.m, &r);
    mads_run (s.m, &err);
    c = mads_counts (s.m);
    ok (strcmp (s.log, "-1 ") == 0 && c.sent == 2 && c.lost == 0
            && c.silent == 2,
        "no answer that need not come: %" PRIu64 " lost", c.lost);
    mads_destroy (s.m);
}

static void late (void)
{
    static struct script s;

    memset (&s, 0, sizeof (s));
    s.fate[0] = LATE; /* the engine's own clock gives it up */
    s.fate[1] = SILENT;
    options = plain;
    begin (&s);
    ask (&s, 1, 0);
    mads_run (s.m, &err);
    ok (strcmp (s.log, "1 ") == 0 && s.nsent == 2
            && s.now_us < s.sent_us[1] + 4000,
        "a late answer to the first sending ends the second");
    ok (get64 (s.sent[0].mad + MAD_TID) == get64 (s.sent[1].mad + MAD_TID)
            && get64 (s.sent[0].mad + MAD_TID) != 0,
        "... by the transaction id that they share");
    ask (&s, 2, 0);
    mads_run (s.m, &err);
    ok (get64 (s.sent[2].mad + MAD_TID) != get64 (s.sent[0].mad + MAD_TID),
        "... and the next request has not");
    mads_destroy (s.m);
}

static void order (void)
{
    static struct script s;

    memset (&s, 0, sizeof (s));
    s.fate[1] = REPORTED;
    options = plain;
    begin (&s);
    for (int i = 1; i <= 4; i++)
        ask (&s, i, 0);
    mads_run (s.m, &err);
    ok (strcmp (s.log, "1 3 4 2 ") == 0, "what was lost comes last: %s",
        s.log);
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    for (int i = 0; i < 5; i++)
        s.fate[i] = REPORTED;
    begin (&s);
    ask (&s, 1, 1);
    ask (&s, 2, 0);
    mads_run (s.m, &err);
    ok (strcmp (s.log, "-1 -2 ") == 0 && s.nsent == 4,
        "a request that is sent once only: %s", s.log);
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    options.window = 5;
    begin (&s);
    for (int i = 1; i <= 50; i++)
        ask (&s, i, 0);
    mads_run (s.m, &err);
    ok (s.most == 5 && s.nsent == 50, "five in flight, no more");
    mads_destroy (s.m);
}

static void headers (void)
{
    static struct script s;
    const struct mads_request perf = {
        .class = MADS_PERF,
        .attr = 0x12,
        .select = 9,
        .to = &by_lid,
        .fn = note,
        .arg = &s,
        .cookie = 2,
    };
    const uint8_t *mad = s.sent[0].mad;

    memset (&s, 0, sizeof (s));
    options = plain;
    options.mkey = 0x1122334455667788;
    begin (&s);
    ask (&s, 6, 0);
    mads_get (s.m, &perf);
    mads_run (s.m, &err);
    ok (mad[0] == 1 && mad[1] == 0x81 && mad[2] == 1 && mad[3] == 1
            && mad[6] == 0 && mad[7] == 2 && get16 (mad + 16) == 0x15
            && get32 (mad + 20) == 6 && get64 (mad + 24) == options.mkey
            && get16 (mad + 32) == 0xffff && get16 (mad + 34) == 0xffff
            && mad[129] == 3 && mad[130] == 7 && mad[131] == 0
            && s.sent[0].lid == 0xffff && s.sent[0].qp == 0,
        "an SMP by directed route");
    mad = s.sent[1].mad;
    ok (mad[1] == 4 && get16 (mad + 16) == 0x12 && mad[65] == 9
            && get64 (mad + 24) == 0 && s.sent[1].lid == 77
            && s.sent[1].sl == 5 && s.sent[1].qp == 1,
        "a GMP by LID, without the M_Key");
    mads_destroy (s.m);
}

static void ends (void)
{
    static struct script s;

    memset (&s, 0, sizeof (s));
    options = plain;
    begin (&s);
    ask (&s, 1, 0);
    ask (&s, 99, 0);
    ask (&s, 3, 0);
    ok (mads_run (s.m, &err) < 0 && strcmp (err.text, "enough") == 0
            && strcmp (s.log, "1 99 ") == 0 && !mads_exhausted (s.m),
        "a callback ends the run");
    ask (&s, 4, 0);
    ok (mads_run (s.m, &err) == 0 && strcmp (s.log, "1 99 4 ") == 0,
        "... and what was queued is dropped");
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    for (int i = 0; i < MAX_SENT; i++)
        s.fate[i] = REPORTED;
    options.retries = 100;
    options.deadline_ms = 5000;
    begin (&s);
    ask (&s, 1, 0);
    ok (mads_run (s.m, &err) < 0 && mads_exhausted (s.m)
            && s.now_us >= 5000000 && s.now_us < 5102000
            && strcmp (err.text, "not done within 5000 ms, which is the "
                                 "deadline") == 0,
        "the deadline: %s", err.text);
    ok (mads_pause (s.m, 10, &err) < 0, "... is for pauses, too");
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    options = plain;
    begin (&s);
    ok (mads_pause (s.m, 70, &err) == 0 && s.now_us == 70000,
        "a pause takes its time");
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    options.rate = 100;
    begin (&s);
    for (int i = 1; i <= 21; i++)
        ask (&s, i, 0);
    mads_run (s.m, &err);
    ok (s.now_us >= 199000 && s.now_us < 202000, "100 a second: 21 in %"
        PRId64 " us", s.now_us);
    mads_destroy (s.m);

    memset (&s, 0, sizeof (s));
    options = plain;
    begin (&s);
    for (int i = 1; i <= MAX_SENT; i++)
        ask (&s, 1, 0);
    ok (mads_run (s.m, &err) < 0 && strcmp (err.text, "the wire broke") == 0,
        "a wire that breaks");
    mads_destroy (s.m);
}

static void bad_options (void)
{
    static const struct mads_options rows[] = {
        { .timeout_ms = 0, .window = 1 },
        { .timeout_ms = 60001, .window = 1 },
        { .timeout_ms = 1, .window = 0 },
        { .timeout_ms = 1, .window = MADS_MAX_WINDOW + 1 },
        { .timeout_ms = 1, .window = 1, .retries = 101 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        static struct script s;

        memset (&s, 0, sizeof (s));
        options = rows[i];
        begin (&s);
        ok (!s.m && s.closed && err.fault == ERROR_INPUT, "refused: %s",
            err.text);
    }
}

int main (void)
{
    fates ();
    optional ();
    late ();
    order ();
    headers ();
    ends ();
    bad_options ();
    return done_testing ();
}
