/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination by PMI-2, with a slurmstepd of our own at the other end of
 * PMI_FD: one that does as it should, for four ranks, and one that answers
 * something else to one request.
 */
#include "config.h"
#include "probe/coord.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/ahead.h"
#include "tests/tap.h"
#include "util/clock.h"
#include "util/rng.h"

enum {
    RANKS = 4,
    KEYS_MAX = 32,
    TIMEOUT_MS = 240000, /* a quarter of it for the others, ... */
    SILENCE_MS = 60000,  /* ... and no answer came sooner, ... */
    LONG_MS = 120000,    /* ... nor the end later, on a busy machine */
};

/* What each rank tells: nothing, a little, what takes one piece and a byte
 * more, and all that there may be.
 */
static const size_t lengths[RANKS] = { 0, 1, 499, COORD_BLOB_MAX };

static void fill (uint8_t *data, unsigned int rank)
{
    for (size_t i = 0; i < lengths[rank]; i++)
        data[i] = (uint8_t)(i * 7 + rank);
}

/*
 * The server
 */

struct server {
    int fd[RANKS];
    char key[KEYS_MAX][64], value[KEYS_MAX][1025];
    size_t n;             /* keys */
    unsigned int fences;
    const char *spoilt;   /* the request that is answered by: */
    const char *answer;
    size_t len;
    bool raw;             /* without a length in front */
    bool ends;            /* nothing comes behind it */
    bool late;            /* nor is anything waited for any longer */
};

static bool take (int fd, char *buf, size_t size)
{
    for (ssize_t n; size > 0; buf += n, size -= (size_t)n)
        if ((n = read (fd, buf, size)) <= 0)
            return false;
    return true;
}

static void tell (int fd, const char *text)
{
    dprintf (fd, "%-6zu%s", strlen (text), text);
}

/* A request to buf; false: the client is gone. */
static bool hear (int fd, bool first, char buf[4096])
{
    size_t len = 0;

    if (first) {
        do
            if (!take (fd, buf + len, 1))
                return false;
        while (buf[len++] != '\n');
    }
    else {
        char head[7] = "";

        if (!take (fd, head, 6) || (len = strtoul (head, NULL, 10)) >= 4096
            || !take (fd, buf, len))
            return false;
    }
    buf[len] = '\0';
    return true;
}

static const char *find (const char *request, const char *key, char *buf)
{
    const char *p = strstr (request, key);

    buf[0] = '\0';
    if (p)
        sscanf (p + strlen (key), "%1024[^;]", buf);
    return buf;
}

/* False: this was the last. */
static bool answer (struct server *s, unsigned int rank, const char *request)
{
    char text[2048], key[1025];
    int fd = s->fd[rank];
    size_t i;

    if (!strncmp (request, "cmd=init ", 9))
        dprintf (fd, "cmd=response_to_init rc=0 pmi_version=2 "
                     "pmi_subversion=0\n");
    else if (!strncmp (request, "cmd=fullinit;", 13)) {
        snprintf (text, sizeof (text),
                  "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;"
                  "rank=%u;size=%u;appnum=-1;debugged=FALSE;", rank,
                  s->spoilt ? 2 : RANKS);
        tell (fd, text);
    }
    else if (!strncmp (request, "cmd=kvs-put;", 12)) {
        find (request, "key=", key);
        snprintf (s->key[s->n], sizeof (s->key[0]), "%.63s", key);
        find (request, "value=", s->value[s->n++]);
        tell (fd, "cmd=kvs-put-response;rc=0;");
    }
    else if (!strncmp (request, "cmd=kvs-fence;", 14)) {
        if (s->spoilt)
            tell (fd, "cmd=kvs-fence-response;rc=0;");
        else if (++s->fences == RANKS)
            for (i = 0; i < RANKS; i++)
                tell (s->fd[i], "cmd=kvs-fence-response;rc=0;");
    }
    else if (!strncmp (request, "cmd=kvs-get;", 12)) {
        find (request, "key=", key);
        for (i = 0; i < s->n && strcmp (s->key[i], key); i++)
            ;
        if (i < s->n)
            snprintf (text, sizeof (text), "cmd=kvs-get-response;rc=0;"
                                           "found=TRUE;value=%s;", s->value[i]);
        tell (fd, i < s->n ? text
                           : "cmd=kvs-get-response;rc=0;found=FALSE;");
    }
    else {
        tell (fd, "cmd=finalize-response;rc=0;");
        return false;
    }
    return true;
}

static void spoil (const struct server *s)
{
    if (!s->raw)
        dprintf (s->fd[0], "%6zu", s->len);
    if (s->answer && write (s->fd[0], s->answer, s->len) < 0)
        _exit (1);
    if (s->ends)
        shutdown (s->fd[0], SHUT_WR);
    if (s->late)
        ahead (SILENCE_MS / 1000 + 1);
}

/* Until all of n ranks are gone. */
static void serve (struct server *s, unsigned int n)
{
    struct pollfd pfd[RANKS];
    bool known[RANKS] = { false };
    char request[4096];

    for (unsigned int i = 0; i < n; i++)
        pfd[i] = (struct pollfd){ .fd = s->fd[i], .events = POLLIN };
    for (unsigned int left = n; left > 0 && poll (pfd, n, LONG_MS) > 0;)
        for (unsigned int i = 0; i < n; i++) {
            if (pfd[i].fd < 0 || !pfd[i].revents)
                continue;
            if (!hear (s->fd[i], !known[i], request)) {
                pfd[i].fd = -1;
                left--;
                continue;
            }
            known[i] = true;
            if (s->spoilt && !strncmp (request + 4, s->spoilt,
                                       strlen (s->spoilt)))
                spoil (s);
            else
                answer (s, i, request);
        }
}

/* Ends of a new socket: ours, in the environment, and the server's. */
static int connect_to (struct server *s, unsigned int rank)
{
    char text[16];
    int fd[2];

    if (socketpair (AF_UNIX, SOCK_STREAM, 0, fd) < 0)
        return -1;
    s->fd[rank] = fd[1];
    snprintf (text, sizeof (text), "%d", fd[0]);
    setenv ("PMI_FD", text, 1);
    return fd[0];
}

/*
 * Good answers
 */

/* As a rank: 0 where all is as the others have told it. */
static int be_rank (unsigned int rank)
{
    struct coord_blob blob[RANKS] = { { 0 } };
    uint8_t data[COORD_BLOB_MAX];
    struct error err = { .text = "" };
    struct coord *c = coord_open ("auto", LONG_MS, &err);
    int bad = 0;

    fill (data, rank);
    if (!c || c->means != &coord_pmi2 || c->rank != rank || c->size != RANKS
        || strcmp (c->host, "h0001")
        || c->means->exchange (c, data, lengths[rank], blob, &err) < 0) {
        diag ("rank %u: %s", rank, err.text);
        return 1;
    }
    for (unsigned int i = 0; i < RANKS; i++) {
        fill (data, i);
        bad |= blob[i].len != lengths[i]
               || memcmp (blob[i].data, data, lengths[i]) != 0;
    }
    if (c)
        c->means->close (c);
    return bad;
}

static void test_ranks (void)
{
    static struct server s;
    pid_t pid[RANKS];
    int status, good = 0;

    setenv ("SLURMD_NODENAME", "h0001", 1);
    for (unsigned int i = 0; i < RANKS; i++) {
        int fd = connect_to (&s, i);

        if ((pid[i] = fork ()) == 0) {
            for (unsigned int k = 0; k <= i; k++)
                close (s.fd[k]);
            _exit (be_rank (i));
        }
        close (fd);
    }
    serve (&s, RANKS);
    for (unsigned int i = 0; i < RANKS; i++)
        good += waitpid (pid[i], &status, 0) == pid[i] && status == 0;
    ok (good == RANKS, "%d ranks have what each of them told", good);
    ok (s.n == 7, "... in %zu values", s.n);
    for (size_t i = 0; i < s.n; i++)
        if (strlen (s.value[i]) > 1000
            || strspn (s.value[i], "0123456789abcdef")
                   != strlen (s.value[i]))
            break;
        else
            good++;
    ok (good == RANKS + 7, "... which PMI-2 can hold");
}

/*
 * Bad ones
 */

/* With a server of that kind in a child. Return what the exchange does, or 1
 * where the step cannot be joined; the time of it in *ms.
 */
static int meet (struct server *s, struct coord_blob blob[2],
                 struct error *err, int *ms)
{
    int fd = connect_to (s, 0), rc = 1;
    int64_t start = clock_ms ();
    struct coord *c;
    pid_t pid;

    *err = (struct error){ .text = "" };
    if ((pid = fork ()) == 0) {
        close (fd);
        serve (s, 1);
        _exit (0);
    }
    close (s->fd[0]);
    if ((c = coord_open ("pmi2", TIMEOUT_MS, err)))
        rc = c->means->exchange (c, (const uint8_t *)"me", 2, blob, err);
    *ms = (int)(clock_ms () - start);
    if (c)
        c->means->close (c);
    if (!c)
        close (fd);
    waitpid (pid, NULL, 0);
    return rc;
}

#define RAW(text) text, sizeof (text) - 1, true, false
#define ANSWER(text) text, sizeof (text) - 1, false, false
#define SILENCE NULL, 0, true, false
#define END "", 0, true, true
#define NONSENSE "answer to %s is invalid"
#define FULL "cmd=fullinit-response;rc=0;"
#define GET "cmd=kvs-get-response;rc=0;"

static const struct {
    const char *what;
    const char *spoilt, *answer; /* of struct server */
    size_t len;
    bool raw, ends;
    int rc;           /* of meet () */
    const char *said; /* %s: the request; "": nothing */
} bad[] = {
    { "an init that is refused", "init",
      RAW ("cmd=response_to_init rc=1 pmi_version=1 pmi_subversion=1\n"), 1,
      "does not speak it" },
    { "PMI-1", "init",
      RAW ("cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"), 1,
      "does not speak it" },
    { "a line without an end", "init", RAW ("cmd=response_to_init \
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\
"), 1, "does not speak it" },
    { "another program", "init", RAW ("HTTP/1.0 400\r\n\r\n"), 1,
      "does not speak it" },
    { "no answer to init", "init", SILENCE, 1,
      "does not answer to init: Connection timed out" },
    { "an end at init", "init", END, 1, "slurmstepd is gone at init" },
    { "a size that is no number", "fullinit", RAW ("garbage"), 1, NONSENSE },
    { "one of zero", "fullinit", RAW ("0     "), 1, NONSENSE },
    { "a negative one", "fullinit", RAW ("-5    cmd=;"), 1, NONSENSE },
    { "one with a tail", "fullinit", RAW ("5 5   cmd=;"), 1, NONSENSE },
    { "one of a megabyte", "fullinit", RAW ("999999cmd=;"), 1, NONSENSE },
    { "a message cut short", "fullinit", RAW ("100   cmd=fullinit-re"), 1,
      "does not answer to %s: Connection timed out" },
    { "one with a NUL", "fullinit",
      ANSWER (FULL "rank=0;size=2;\0;"), 1, NONSENSE },
    { "one without an end", "fullinit", ANSWER (FULL "rank=0;size=2"), 1,
      NONSENSE },
    { "the answer to something else", "fullinit",
      ANSWER ("cmd=kvs-get-response;rc=0;rank=0;size=2;"), 1, NONSENSE },
    { "one without rc", "fullinit",
      ANSWER ("cmd=fullinit-response;rank=0;size=2;"), 1, NONSENSE },
    { "an rc", "fullinit", ANSWER ("cmd=fullinit-response;rc=14;"), 1,
      "answer to %s: 14" },
    { "an rc with a reason", "fullinit",
      ANSWER ("cmd=fullinit-response;rc=14;errmsg=no \x1b[2J;"), 1,
      "answer to %s: no ?[2J" },
    { "no size", "fullinit", ANSWER (FULL "rank=0;"), 1, NONSENSE },
    { "a step of nobody", "fullinit", ANSWER (FULL "rank=0;size=0;"), 1,
      NONSENSE },
    { "a rank that is none", "fullinit", ANSWER (FULL "rank=2;size=2;"), 1,
      NONSENSE },
    { "a negative rank", "fullinit", ANSWER (FULL "rank=-1;size=2;"), 1,
      NONSENSE },
    { "too many", "fullinit", ANSWER (FULL "rank=0;size=65537;"), 1,
      NONSENSE },
    { "more than a number holds", "fullinit",
      ANSWER (FULL "rank=0;size=4294967298;"), 1, NONSENSE },
    { "a put that fails", "kvs-put",
      ANSWER ("cmd=kvs-put-response;rc=-1;"), -1, "answer to %s: -1" },
    { "an end at put", "kvs-put", END, -1, "slurmstepd is gone at %s" },
    { "a fence that fails", "kvs-fence",
      ANSWER ("cmd=kvs-fence-response;rc=1;errmsg=failed to send temp kvs;"),
      -1, "answer to %s: failed to send temp kvs" },
    { "one that never ends", "kvs-fence", SILENCE, -1,
      "PMI-2: not all of the 2 nodes came within 60 s" },
    { "an end at the fence", "kvs-fence", END, -1,
      "slurmstepd is gone at %s" },
    { "an end at get", "kvs-get", END, -1, "slurmstepd is gone at %s" },
    { "no answer to get", "kvs-get", SILENCE, -1,
      "does not answer to %s: Connection timed out" },
    { "a value of a megabyte", "kvs-get", RAW ("999999" GET "found=TRUE;"), -1,
      NONSENSE },
    { "nothing found", "kvs-get", ANSWER (GET "found=FALSE;"), 0, "" },
    { "no value", "kvs-get", ANSWER (GET "found=TRUE;"), 0, "" },
    { "an empty one", "kvs-get", ANSWER (GET "found=TRUE;value=;"), 0, "" },
    { "no digits", "kvs-get", ANSWER (GET "found=TRUE;value=0100zz;"), 0, "" },
    { "half a byte", "kvs-get", ANSWER (GET "found=TRUE;value=0100a;"), 0, "" },
    { "a blob without its length", "kvs-get",
      ANSWER (GET "found=TRUE;value=01;"), 0, "" },
    { "one that is shorter than it is", "kvs-get",
      ANSWER (GET "found=TRUE;value=0100aabb;"), 0, "" },
    { "one of 65,535 bytes", "kvs-get",
      ANSWER (GET "found=TRUE;value=ffffaa;"), 0, "" },
    { "pieces that do not fit", "kvs-get",
      ANSWER (GET "found=TRUE;value=0300aa;"), 0, "" },
};

static void test_bad (void)
{
    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        bool late = strstr (bad[i].said, "timed out") || !bad[i].answer;
        struct server s = { .spoilt = bad[i].spoilt, .answer = bad[i].answer,
                            .len = bad[i].len, .raw = bad[i].raw,
                            .ends = bad[i].ends, .late = late };
        struct coord_blob blob[2] = { { 0 } };
        struct error err;
        char said[128];
        int ms, rc = meet (&s, blob, &err, &ms);

        snprintf (said, sizeof (said), bad[i].said, bad[i].spoilt);
        if (!ok (rc == bad[i].rc && (rc || blob[0].len + blob[1].len == 0)
                     && strstr (err.text, said)
                     && (err.text[0] == '\0') == (said[0] == '\0')
                     && ms < LONG_MS && (!late || ms > SILENCE_MS),
                 "%s: %s", bad[i].what, err.text))
            diag ("%d, not %d, after %d ms, wanted: %s", rc, bad[i].rc, ms,
                  said);
    }
}

/* Bytes by chance, and good answers with some of them. */
static void test_chance (void)
{
    static const char *const spoilt[]
        = { "init", "fullinit", "kvs-put", "kvs-fence", "kvs-get" };
    static const char good[] = "    51" GET "found=TRUE;value=0200aabb;";
    struct rng rng;
    int survived = 0;

    rng_seed (&rng, 1);
    for (int i = 0; i < 300; i++) {
        char bytes[300];
        struct server s = { .spoilt = spoilt[i % 5], .answer = bytes,
                            .len = 1 + rng_below (&rng, sizeof (bytes)),
                            .raw = true, .ends = true };
        struct coord_blob blob[2] = { { 0 } };
        struct error err;
        int ms;

        for (size_t k = 0; k < sizeof (bytes); k++)
            bytes[k] = (char)rng_below (&rng, 256);
        if (i % 2) {
            memcpy (bytes, good, sizeof (good));
            bytes[rng_below (&rng, sizeof (good))] = (char)('0' + i % 32);
        }
        meet (&s, blob, &err, &ms);
        survived += ms < LONG_MS;
    }
    ok (survived == 300, "bytes by chance");
}

/*
 * The choice
 */

static void test_choice (void)
{
    static const struct {
        const char *pmix, *pmi2, *type, *found;
    } tab[] = {
        { NULL, NULL, NULL, NULL },
        { NULL, NULL, "pmix", NULL },
        { NULL, "3", NULL, "pmi2" },
        { NULL, "3", "pmi2", "pmi2" },
#ifdef HAVE_PMIX
        { "0", NULL, NULL, "pmix" },
        { "0", "3", NULL, "pmix" },
        { "0", "3", "pmix_v4", "pmix" },
        { "0", "3", "none", "pmix" },
#else
        { "0", NULL, "pmix", NULL },
#endif
        { "0", "3", "pmi2", "pmi2" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *const value[] = { tab[i].pmix, tab[i].pmi2, tab[i].type };
        const char *const name[] = { "PMIX_RANK", "PMI_FD", "SLURM_MPI_TYPE" };
        struct error err = { .text = "" };
        const struct coord_means *coord;

        for (int k = 0; k < 3; k++)
            if (value[k])
                setenv (name[k], value[k], 1);
            else
                unsetenv (name[k]);
        coord = coord_find ("auto", &err);
        ok (tab[i].found ? coord && !strcmp (coord->name, tab[i].found)
                         : !coord && strstr (err.text, "not a step of srun"),
            "choice %zu: %s%s", i, coord ? coord->name : "", err.text);
    }
}

static void test_no_socket (void)
{
    static const char *const fd[] = { NULL, "", "-1", "x", "1e3", "99999" };

    for (size_t i = 0; i < sizeof (fd) / sizeof (fd[0]); i++) {
        struct error err = { .text = "" };

        if (fd[i])
            setenv ("PMI_FD", fd[i], 1);
        else
            unsetenv ("PMI_FD");
        ok (!coord_open ("pmi2", TIMEOUT_MS, &err) && err.text[0],
            "PMI_FD=%s: %s", fd[i] ? fd[i] : "", err.text);
    }
    setenv ("PMI_FD", "0", 1);
    ok (!coord_open ("pmi2", TIMEOUT_MS, NULL) && fcntl (0, F_GETFD) >= 0,
        "what is no socket of Slurm's stays open");
}

int main (void)
{
    char clock[] = "/tmp/pmm-pmi2.XXXXXX";
    int fd = mkstemp (clock);

    if (fd < 0)
        return 1;
    close (fd);
    ahead_open (clock);
    test_ranks ();
    test_bad ();
    test_chance ();
    test_choice ();
    test_no_socket ();
    unlink (clock);
    return done_testing ();
}
