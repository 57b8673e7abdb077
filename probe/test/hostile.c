/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes from other processes is not trusted: frames to the emulator and
 * blobs of the roster.
 */
#include "config.h"
#include "probe/step.h"

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

#define HELLO "\x09\0\1\0" "\6\0\0\0" "h0001"
#define PAD "\0\0\0\0"
#define QUEUES "\1\0\0\0" "\2\0\0\0" "\0\0" /* level 0, datagrams */
#define JOIN "\x0c\0\3\0" "\1\2\3\4\5\6\7\x8" "\1\0\0\0"

/* Sent to the emulator; what it must answer with. */
static const struct {
    const char *what;
    const char *data;
    size_t len;
    int answer; /* type of the last frame; 0: none */
} streams[] = {
    { "a good HELLO", HELLO, 13, EMU_WELCOME },
    { "an unknown host", "\x09\0\1\0" "\6\0\0\0" "h0099", 13, EMU_ERROR },
    { "another version", "\x09\0\1\0" "\1\0\0\0" "h0001", 13, EMU_ERROR },
    { "a HELLO without a name", "\4\0\1\0" "\6\0\0\0", 8, EMU_ERROR },
    { "an empty HELLO", "\0\0\1\0", 4, EMU_ERROR },
    { "two HELLOs", HELLO HELLO, 26, EMU_ERROR },
    { "an unknown frame", "\0\0\x63\0", 4, EMU_ERROR },
    { "a frame that is too long", "\xff\xff\4\0", 4, EMU_ERROR },
    { "text", "GET / HTTP/1.0\r\n\r\n", 18, EMU_ERROR },
    { "JOIN before HELLO", JOIN, 16, EMU_ERROR },
    { "a session of nobody", HELLO "\x0c\0\3\0" "12345678" "\0\0\0\0", 29,
      EMU_ERROR },
    { "a session larger than the fabric",
      HELLO "\x0c\0\3\0" "12345678" "\xff\xff\xff\xff", 29, EMU_ERROR },
    { "JOIN twice", HELLO JOIN JOIN, 45, EMU_ERROR },
    { "WAIT before JOIN", HELLO "\x8\0\5\0" "\0\0\0\0\0\0\0\0", 25,
      EMU_ERROR },
    { "a short WAIT", HELLO JOIN "\4\0\5\0" "\0\0\0\0", 37, EMU_ERROR },
    { "a WAIT for ever, then SEND", HELLO JOIN
      "\x8\0\5\0" "\xff\xff\xff\xff\xff\xff\xff\xff"
      "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0" PAD QUEUES "x", 70,
      EMU_WELCOME },
    { "SEND before JOIN", HELLO "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0" PAD
      QUEUES "x", 42, EMU_ERROR },
    { "SEND of nothing", HELLO JOIN "\x18\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0"
      PAD QUEUES, 57, EMU_ERROR },
    { "SEND as another host", HELLO JOIN
      "\x19\0\4\0" "\1\0\0\0" "\2\0\0\0" "\0\0" PAD QUEUES "x", 58,
      EMU_ERROR },
    { "SEND to nowhere", HELLO JOIN
      "\x19\0\4\0" "\0\0\0\0" "\xff\xff\xff\xff" "\0\0" PAD QUEUES "x", 58,
      EMU_ERROR },
    { "SEND by a LID that it does not have", HELLO JOIN
      "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\1\0" PAD QUEUES "x", 58,
      EMU_ERROR },
    { "SEND to one that the other does not have", HELLO JOIN
      "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\xff" PAD QUEUES "x", 58,
      EMU_ERROR },
    { "SEND with more than a message can be", HELLO JOIN
      "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0" "\0\x10\0\0" QUEUES "x",
      58,
      EMU_ERROR },
    { "SEND on a service level that cannot be", HELLO JOIN
      "\x19\0\4\0" "\0\0\0\0" "\1\0\0\0" "\0\0" PAD
      "\1\0\0\0" "\2\0\0\0" "\x10\0" "x", 58, EMU_ERROR },
    { "half a frame", HELLO "\x0c\0", 15, EMU_WELCOME },
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
            buf[k + 2] = (uint8_t)rng_below (&rng, 9);
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
    test_noise (&a);
    test_many (&a);
    ok (arena_stop (&a), "it ends well");
    test_roster ();
    return done_testing ();
}
