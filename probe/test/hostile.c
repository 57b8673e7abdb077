/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes from other processes is not trusted: frames to the emulator, the
 * memory that it shares with them, and blobs of the roster.
 */
#include "config.h"
#include "probe/step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "probe/emu_proto.h"
#include "probe/test/arena.h"
#include "probe/wire.h"
#include "tests/tap.h"
#include "util/rng.h"

static int reach (const char *path)
{
    struct sockaddr_un sa = { .sun_family = AF_UNIX };
    int fd = socket (AF_UNIX, SOCK_STREAM, 0);

    strcpy (sa.sun_path, path);
    if (connect (fd, (struct sockaddr *)&sa, sizeof (sa)) < 0)
        return -1;
    return fd;
}

#define HELLO "\x09\0\1\0" "\x9\0\0\0" "h0001"
#define QUEUES "\1\0\0\0" "\2\0\0\0" "\0\0" /* level 0, datagrams */
#define JOIN "\x0c\0\3\0" "\1\2\3\4\5\6\7\x8" "\1\0\0\0"
#define WAIT "\x8\0\5\0" "\0\0\0\0\0\0\0\0"
#define FOREVER "\x8\0\5\0" "\xff\xff\xff\xff\xff\xff\xff\xff"
#define SEND "\x15\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0" QUEUES "x"
#define X8 "xxxxxxxx"
#define X64 X8 X8 X8 X8 X8 X8 X8 X8
#define MORE "\0\0\xb\0"
#define BURST(own, other, lids, bytes, level)                                 \
    own "\0\0\0" other "\0\0\0" lids "\1\0\0\0" "\2\0\0\0" bytes level "\0"
#define BULK(...) "\x24\0\xc\0" "\0\0\0\0\0\0\0\0" BURST (__VA_ARGS__)
#define MEGA "\0\0\x10\0\0\0\0\0"
#define BYTES(s) s, sizeof (s) - 1

/* Sent to the emulator; what it must answer with. */
static const struct {
    const char *what;
    const char *data;
    size_t len;
    int answer; /* type of the last frame; 0: none */
} streams[] = {
    { "a good HELLO", BYTES (HELLO), EMU_WELCOME },
    { "an unknown host", BYTES ("\x09\0\1\0" "\x9\0\0\0" "h0099"), EMU_ERROR },
    { "another version", BYTES ("\x09\0\1\0" "\7\0\0\0" "h0001"), EMU_ERROR },
    { "a HELLO without a name", BYTES ("\4\0\1\0" "\x9\0\0\0"), EMU_ERROR },
    { "an empty HELLO", BYTES ("\0\0\1\0"), EMU_ERROR },
    { "two HELLOs", BYTES (HELLO HELLO), EMU_ERROR },
    { "an unknown frame", BYTES ("\0\0\x63\0"), EMU_ERROR },
    { "a frame that is too long", BYTES ("\xff\xff\4\0"), EMU_ERROR },
    { "text", BYTES ("GET / HTTP/1.0\r\n\r\n"), EMU_ERROR },
    { "JOIN before HELLO", BYTES (JOIN), EMU_ERROR },
    { "a session of no clients",
      BYTES (HELLO "\x0c\0\3\0" "12345678" "\0\0\0\0"), EMU_ERROR },
    { "a session larger than the fabric",
      BYTES (HELLO "\x0c\0\3\0" "12345678" "\xff\xff\xff\xff"), EMU_ERROR },
    { "a good JOIN", BYTES (HELLO JOIN), EMU_JOINED },
    { "JOIN twice", BYTES (HELLO JOIN JOIN), EMU_ERROR },
    { "WAIT before JOIN", BYTES (HELLO WAIT), EMU_ERROR },
    { "SEND, not in the page", BYTES (HELLO JOIN SEND), EMU_ERROR },
    { "half a frame", BYTES (HELLO "\x0c\0"), EMU_WELCOME },
};

/* Written to the page; what the emulator must answer with. */
static const struct {
    const char *what;
    const char *data;
    size_t len;
    int answer;
} turns[] = {
    { "WAIT", BYTES (WAIT), EMU_TIMEOUT },
    { "SEND, then WAIT", BYTES (SEND WAIT), EMU_TIMEOUT },
    { "SEND, then MORE", BYTES (SEND MORE), EMU_MORE },
    { "PORTS", BYTES ("\0\0\x9\0"), EMU_PORTS },
    { "BULK, then a deadline that has passed",
      BYTES (BULK ("\0", "\1", "\0\0", MEGA, "\0")), EMU_BULK },
    { "PORT", BYTES ("\4\0\xd\0" "\0\0\0\0"), EMU_PORT },
    { "PORT of another host", BYTES ("\4\0\xd\0" "\1\0\0\0"), EMU_ERROR },
    { "a short PORT", BYTES ("\3\0\xd\0" "\0\0\0"), EMU_ERROR },
    { "BULK without a burst", BYTES ("\x8\0\xc\0" "\0\0\0\0\0\0\0\0"),
      EMU_ERROR },
    { "BULK with half a burst", BYTES ("\xc\0\xc\0" "\0\0\0\0\0\0\0\0"
      "\0\0\0\0"), EMU_ERROR },
    { "BULK as another host", BYTES (BULK ("\1", "\2", "\0\0", MEGA, "\0")),
      EMU_ERROR },
    { "BULK with nowhere", BYTES (BULK ("\0", "\xff", "\0\0", MEGA, "\0")),
      EMU_ERROR },
    { "BULK by a LID that it does not have",
      BYTES (BULK ("\0", "\1", "\1\0", MEGA, "\0")), EMU_ERROR },
    { "BULK of nothing",
      BYTES (BULK ("\0", "\1", "\0\0", "\0\0\0\0\0\0\0\0", "\0")),
      EMU_ERROR },
    { "BULK of all that there is",
      BYTES (BULK ("\0", "\1", "\0\0", "\xff\xff\xff\xff\xff\xff\xff\xff",
                   "\0")), EMU_ERROR },
    { "BULK on a service level that cannot be",
      BYTES (BULK ("\0", "\1", "\0\0", MEGA, "\x10")), EMU_ERROR },
    { "a turn without a frame", BYTES (""), EMU_ERROR },
    { "SEND alone", BYTES (SEND), EMU_ERROR },
    { "two that ask", BYTES (WAIT WAIT), EMU_ERROR },
    { "a WAIT for ever, then SEND", BYTES (FOREVER SEND), EMU_ERROR },
    { "a short WAIT", BYTES ("\4\0\5\0" "\0\0\0\0"), EMU_ERROR },
    { "a MORE that says something", BYTES ("\1\0\xb\0" "x"), EMU_ERROR },
    { "PORTS that say something", BYTES ("\1\0\x9\0" "x"), EMU_ERROR },
    { "a HELLO in the page", BYTES (HELLO WAIT), EMU_ERROR },
    { "an unknown frame in the page", BYTES ("\0\0\x63\0" WAIT), EMU_ERROR },
    { "half a frame in the page", BYTES (SEND "\x8\0\5\0" "\0\0"), EMU_ERROR },
    { "a frame longer than any", BYTES ("\xff\xff\4\0" WAIT), EMU_ERROR },
    { "SEND of nothing", BYTES ("\x14\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0"
      QUEUES WAIT), EMU_ERROR },
    { "SEND as another host", BYTES ("\x15\0\4\0" "\1\0\0\0" "\2\0\0\0" "\0\0"
      QUEUES "x" WAIT), EMU_ERROR },
    { "SEND to nowhere", BYTES ("\x15\0\4\0" "\0\0\0\0" "\xff\xff\xff\xff"
      "\0\0" QUEUES "x" WAIT), EMU_ERROR },
    { "SEND by a LID that it does not have", BYTES ("\x15\0\4\0" "\0\0\0\0"
      "\1\0\0\0" "\1\0" QUEUES "x" WAIT), EMU_ERROR },
    { "SEND to one that the other does not have", BYTES ("\x15\0\4\0"
      "\0\0\0\0" "\1\0\0\0" "\0\xff" QUEUES "x" WAIT), EMU_ERROR },
    { "SEND with more than a message can be", BYTES ("\x15\1\4\0" "\0\0\0\0"
      "\1\0\0\0" "\0\0" QUEUES X64 X64 X64 X64 "x" WAIT), EMU_ERROR },
    { "SEND on a service level that cannot be", BYTES ("\x15\0\4\0" "\0\0\0\0"
      "\1\0\0\0" "\0\0" "\1\0\0\0" "\2\0\0\0" "\x10\0" "x" WAIT),
      EMU_ERROR },
};

/* The type of the last frame that comes before the end of the stream, which
 * follows that of ours.
 */
static int last_answer (int fd)
{
    uint8_t buf[4096];
    size_t len = 0;
    ssize_t n;
    int type = 0;

    shutdown (fd, SHUT_WR);
    while (len < sizeof (buf)
           && (n = recv (fd, buf + len, sizeof (buf) - len, 0)) > 0)
        len += (size_t)n;
    for (size_t pos = 0; pos + EMU_HEADER <= len;
         pos += EMU_HEADER + wire_get (buf + pos, 2))
        type = buf[pos + 2];
    return type;
}

static bool alive (const struct arena *a)
{
    struct site site = { .emu_socket = (char *)a->socket,
                         .service = "ud" };
    struct error err;
    void *t = transport_emu.open (&site, "h0002", false, &err);

    transport_emu.close (t);
    return t != NULL;
}

static void test_streams (const struct arena *a)
{
    for (size_t i = 0; i < sizeof (streams) / sizeof (streams[0]); i++) {
        int fd = reach (a->socket);
        int answer;

        send (fd, streams[i].data, streams[i].len, MSG_NOSIGNAL);
        answer = last_answer (fd);
        ok (answer == streams[i].answer, "%s: answer %d", streams[i].what,
            answer);
        close (fd);
    }
    ok (alive (a), "the emulator lives");
}

/* A client that does what it likes with its page. */
struct guest {
    int fd, memory, bell;
    struct emu_page *page;
};

/* Join a session of some clients as a host, after HELLO. */
static void be_guest (const struct arena *a, struct guest *g, char host,
                      char key, char clients)
{
    char say[] = HELLO JOIN;
    union {
        struct cmsghdr align;
        char buf[CMSG_SPACE (2 * sizeof (int))];
    } control;
    int fd[2] = { -1, -1 };

    say[12] = host;
    say[17] = key;
    say[25] = clients;
    *g = (struct guest){ .fd = reach (a->socket) };
    send (g->fd, say, sizeof (say) - 1, MSG_NOSIGNAL);
    while (fd[0] < 0) {
        char buf[EMU_FRAME_MAX];
        struct iovec iov = { buf, sizeof (buf) };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof (control) };

        if (recvmsg (g->fd, &msg, 0) <= 0)
            exit (1);
        if (CMSG_FIRSTHDR (&msg))
            memcpy (fd, CMSG_DATA (CMSG_FIRSTHDR (&msg)), sizeof (fd));
    }
    g->memory = fd[0];
    g->bell = fd[1];
    g->page = mmap (NULL, sizeof (*g->page), PROT_READ | PROT_WRITE,
                    MAP_SHARED, fd[0], 0);
    if (g->page == MAP_FAILED)
        exit (1);
}

static void leave (struct guest *g)
{
    close (g->fd);
    close (g->memory);
    close (g->bell);
    munmap (g->page, sizeof (*g->page));
}

static void ring (const struct guest *g)
{
    (void)!write (g->bell, &(uint64_t){ 1 }, sizeof (uint64_t));
}

static void give (struct guest *g, const void *data, size_t len, uint32_t nout)
{
    memcpy (g->page->out, data, len);
    atomic_store (&g->page->nout, nout);
    atomic_store (&g->page->turn, EMU_TURN_EMU);
    ring (g);
}

/* The type of the answer, by the page or the socket; 0 if none came in time. */
static int answer_within (struct guest *g, int ms)
{
    struct pollfd pfd = { .fd = g->fd, .events = POLLIN };
    uint8_t buf[EMU_FRAME_MAX];

    for (; ms > 0; ms -= 10) {
        if (atomic_load (&g->page->turn) == EMU_TURN_CLIENT)
            return g->page->in[2];
        if (poll (&pfd, 1, 10) > 0)
            return recv (g->fd, buf, sizeof (buf), 0) > 0 ? buf[2] : -1;
    }
    return 0;
}

static int take_turn (struct guest *g, const char *data, size_t len)
{
    give (g, data, len, (uint32_t)len);
    return answer_within (g, 60000);
}

/* Whether a session of its own goes on. */
static bool others_go_on (const struct arena *a)
{
    const unsigned int many = trials (200);
    struct guest g;
    unsigned int n = 0;

    be_guest (a, &g, '9', 'o', 1);
    while (n < many && take_turn (&g, BYTES (WAIT)) == EMU_TIMEOUT)
        n++;
    leave (&g);
    return n == many;
}

static void test_turns (const struct arena *a)
{
    static uint8_t full[EMU_OUT_MAX];
    struct guest g;
    int answer;

    for (size_t i = 0; i < sizeof (turns) / sizeof (turns[0]); i++) {
        be_guest (a, &g, '1', 't', 1);
        answer = take_turn (&g, turns[i].data, turns[i].len);
        ok (answer == turns[i].answer, "%s: answer %d", turns[i].what,
            answer);
        leave (&g);
    }
    /* frames that end where the page does, and one that does not */
    for (int k = 0; k < 2; k++) {
        size_t len = sizeof (full) - 12;

        memset (full, 0, sizeof (full));
        for (size_t pos = 0; pos < len; pos += wire_get (full + pos, 2) + 4) {
            size_t left = len - pos;
            size_t some = left > 512 ? 200 : left > 280 ? left / 2 : left;

            memcpy (full + pos, SEND, sizeof (SEND) - 1);
            wire_put (full + pos, some - 4, 2);
        }
        memcpy (full + len, WAIT, 12);
        full[len] = (uint8_t)(8 + k);
        be_guest (a, &g, '1', 't', 1);
        give (&g, full, sizeof (full), sizeof (full));
        answer = answer_within (&g, 60000);
        ok (answer == (k ? EMU_ERROR : EMU_TIMEOUT),
            "frames up to the page's end%s: answer %d",
            k ? ", the last of them longer" : "", answer);
        leave (&g);
    }
    for (int k = 0; k < 2; k++) {
        uint32_t n = k ? UINT32_MAX : EMU_OUT_MAX + 1;

        be_guest (a, &g, '1', 't', 1);
        give (&g, BYTES (WAIT), n);
        answer = answer_within (&g, 60000);
        ok (answer == EMU_ERROR, "%u bytes in a page: answer %d", n, answer);
        leave (&g);
    }
    ok (alive (a), "the emulator lives");
}

static void test_memory (const struct arena *a)
{
    struct guest g;

    be_guest (a, &g, '1', 'm', 1);
    ok (ftruncate (g.memory, 0) < 0 && errno == EPERM
            && ftruncate (g.memory, 1 << 20) < 0 && errno == EPERM,
        "a client cannot change the size of what is shared");
    ok (fcntl (g.memory, F_ADD_SEALS, F_SEAL_WRITE) < 0,
        "... nor keep the emulator from writing");
    ok (fallocate (g.memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                   sizeof (*g.page)) == 0
            && take_turn (&g, BYTES (WAIT)) == EMU_TIMEOUT,
        "... and a hole in it is of zeros");
    leave (&g);
    ok (others_go_on (a), "... others go on");
}

/* A process that does something to a page until it is killed. */
static pid_t haunt (struct guest *g, void (*fn) (struct guest *g))
{
    pid_t pid;

    fflush (stdout);
    if ((pid = fork ()) == 0) {
        prctl (PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            fn (g);
    }
    return pid;
}

static void end_haunting (pid_t pid)
{
    kill (pid, SIGKILL);
    waitpid (pid, NULL, 0);
}

/* Give turns while it changes what is in the page: lengths, types and values
 * that are valid now and then.
 */
static void scribble (struct guest *g)
{
    static struct rng rng;
    volatile uint8_t *out = g->page->out;

    if (rng.s[0] == 0)
        rng_seed (&rng, (uint64_t)getpid ());
    memcpy (g->page->out, SEND WAIT, sizeof (SEND WAIT) - 1);
    atomic_store (&g->page->nout, sizeof (SEND WAIT) - 1);
    atomic_store (&g->page->turn, EMU_TURN_EMU);
    ring (g);
    for (size_t k = 0; k < 2000; k++)
        out[rng_below (&rng, 41)] = (uint8_t)(rng_below (&rng, 2)
                                                  ? rng_below (&rng, 30)
                                                  : rng_next (&rng));
    atomic_store (&g->page->nout, (uint32_t)rng_next (&rng));
}

static void ring_always (struct guest *g)
{
    atomic_store (&g->page->turn, EMU_TURN_EMU);
    ring (g);
}

static void test_hauntings (const struct arena *a)
{
    struct guest g;
    pid_t pid;

    for (int i = 0; i < 100; i++) {
        struct pollfd pfd;

        be_guest (a, &g, '1', 'h', 1);
        pid = haunt (&g, scribble);
        pfd = (struct pollfd){ .fd = g.fd, .events = POLLIN };
        poll (&pfd, 1, 1000); /* until it is refused */
        end_haunting (pid);
        leave (&g);
    }
    ok (alive (a), "pages that change while they are read");

    be_guest (a, &g, '1', 'r', 1);
    memcpy (g.page->out, WAIT, 12);
    atomic_store (&g.page->nout, 12);
    pid = haunt (&g, ring_always);
    ok (others_go_on (a), "one that rings all the time: others go on");
    /* its socket, not its memory: the emulator must forget the page */
    close (g.fd);
    ok (others_go_on (a), "... and goes on after it has left");
    end_haunting (pid);
    g.fd = -1;
    leave (&g);

    be_guest (a, &g, '1', 'w', 1);
    give (&g, BYTES (FOREVER), 12);
    ok (others_go_on (a) && answer_within (&g, 50) == 0,
        "one that waits for ever is not answered");
    atomic_store (&g.page->turn, EMU_TURN_CLIENT);
    give (&g, BYTES (WAIT), 12);
    ok (others_go_on (a) && answer_within (&g, 50) == 0,
        "... nor if it takes a turn that is not its own");
    leave (&g);
}

/* Two in a session, of which one never gives its turn back, or only after the
 * other's deadline has passed.
 */
static void test_silence (const struct arena *a)
{
    struct guest g, silent;

    be_guest (a, &silent, '1', 's', 2);
    be_guest (a, &g, '2', 's', 2);
    give (&g, BYTES (WAIT), 12);
    ok (others_go_on (a), "one that is silent: other sessions go on");
    ok (answer_within (&g, 60000) == EMU_TIMEOUT,
        "... its own, after the stall limit");
    ok (take_turn (&silent, BYTES (WAIT)) == EMU_TIMEOUT
            && take_turn (&g, BYTES (WAIT)) == EMU_TIMEOUT,
        "... it comes back");
    close (silent.fd);
    silent.fd = -1;
    ok (take_turn (&g, BYTES (WAIT)) == EMU_TIMEOUT,
        "... and no client waits for it when it has gone");
    leave (&silent);
    leave (&g);
}

static void test_noise (const struct arena *a)
{
    struct rng rng;

    rng_seed (&rng, 3);
    for (int i = 0; i < 300; i++) {
        uint8_t buf[600];
        int fd = reach (a->socket);
        size_t start = 0;

        if (i % 3 > 0) {
            memcpy (buf, HELLO JOIN, 29);
            start = i % 3 == 1 ? 13 : 29;
        }
        for (size_t k = start; k < sizeof (buf); k++)
            buf[k] = (uint8_t)rng_next (&rng);
        /* likely frames */
        for (size_t k = start; k + 4 < sizeof (buf); k += 20) {
            buf[k] = (uint8_t)rng_below (&rng, 28);
            buf[k + 1] = 0;
            buf[k + 2] = (uint8_t)rng_below (&rng, 13);
            buf[k + 3] = 0;
        }
        send (fd, buf, sizeof (buf), MSG_NOSIGNAL);
        close (fd);
    }
    ok (alive (a), "... after 300 streams of noise");
}

static void test_many (const struct arena *a)
{
    int fd[500];
    size_t n = 0;

    while (n < 500 && (fd[n] = reach (a->socket)) >= 0)
        n++;
    ok (n == 500 && alive (a), "... with 500 connections that say nothing");
    while (n > 0)
        close (fd[--n]);
    for (size_t i = 0; i < 3000; i++) {
        int s = reach (a->socket);

        send (s, HELLO JOIN, 29, MSG_NOSIGNAL);
        close (s);
    }
    ok (alive (a), "... after 3,000 sessions");
}

static void test_roster (void)
{
    static struct coord_blob blob[3];
    struct roster *r;
    struct rng rng;
    size_t len;
    bool good = true;

    len = roster_pack (blob[0].data, "h0001", 42, NULL, "no\ndevice");
    blob[0].len = len;
    r = roster_create (blob, 2, &transport_emu, NULL);
    ok (r && r->nmembers == 0 && !strcmp (r->rank[0].host, "h0001")
            && !strcmp (r->rank[0].why, "no?device")
            && !strcmp (r->rank[1].why, "did not answer")
            && r->rank[1].silent && !r->rank[0].silent,
        "who has no transport, and who did not answer, say so");
    roster_destroy (r);
    for (size_t cut = 1; cut < len; cut++) {
        blob[0].len = cut;
        r = roster_create (blob, 1, &transport_emu, NULL);
        good = good && r && r->nmembers == 0;
        roster_destroy (r);
    }
    ok (good, "a blob that was cut is no member");
    rng_seed (&rng, 5);
    for (int i = 0; i < 20000; i++) {
        for (size_t k = 0; k < 3; k++) {
            blob[k].len = rng_below (&rng, COORD_BLOB_MAX + 1);
            for (size_t j = 0; j < blob[k].len; j++)
                blob[k].data[j] = (uint8_t)(rng_next (&rng) >> 8);
            blob[k].data[0] = 2;
            blob[k].data[1] %= 20;
            blob[k].data[10] %= 8;
        }
        r = roster_create (blob, 3, &transport_emu, NULL);
        good = good && r && r->first[r->nmembers] <= 3 * TRANSPORT_RAILS_MAX;
        roster_destroy (r);
    }
    ok (good, "nor does noise do harm");
}

int main (void)
{
    struct arena a;

    if (!ok (arena_start (&a, NULL, NULL) == 0, "an emulator"))
        return done_testing ();
    test_streams (&a);
    test_turns (&a);
    test_memory (&a);
    test_hauntings (&a);
    test_silence (&a);
    test_noise (&a);
    test_many (&a);
    ok (arena_stop (&a), "it ends well");
    test_roster ();
    return done_testing ();
}
