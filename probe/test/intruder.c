/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Usage: intruder INTERFACE COUNT SECONDS
 *
 * Somebody on the cable: takes COUNT datagrams of pmm-probe that leave by an
 * Ethernet interface, over RoCE v2, and sends each again, as it is and forged
 * in several ways; it stops after SECONDS. Prints how many of each were sent:
 *
 *     repeated  the same bytes
 *     nonce     of another run
 *     sender    from a peer that there is not, or is another
 *     address   from another IP address
 *     type      of no message that there is
 *
 * Like the one who took them it knows the Q_Key; the check sum that adapters
 * verify (ICRC) is right. What it cannot show: that a run's own nonce would be
 * believed from someone who reads along, with the next sequence number.
 */
#include "config.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    ETHERNET = 14,
    IP = 20, /* without options */
    UDP = 8,
    BTH = 12,
    DETH = 8,
    ICRC = 4,
    FRAME_MAX = 1600,
    ROCE_PORT = 4791,
    UD_SEND_ONLY = 0x64,
    /* places in a frame */
    AT_IP = ETHERNET,
    AT_UDP = AT_IP + IP,
    AT_BTH = AT_UDP + UDP,
    AT_DATA = AT_BTH + BTH + DETH,
    /* places in a datagram: probe/verbs_wire.h */
    NONCE = 0,
    SENDER = 8,
    TYPE = 20,
    DATAGRAM = 24,
};

struct frame {
    uint8_t data[FRAME_MAX];
    size_t len;
};

/* CRC-32 of Ethernet, bit by bit. */
static uint32_t crc (uint32_t crc, const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        crc ^= p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return crc;
}

/* The invariant CRC (Annex A17 of the InfiniBand specification): what changes
 * on the way counts as ones.
 */
static void seal (struct frame *f)
{
    static const uint8_t lrh[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };
    uint8_t data[FRAME_MAX];
    size_t end = f->len - ICRC;
    uint32_t sum;

    memcpy (data, f->data, f->len);
    data[AT_IP + 1] = 0xff;              /* type of service */
    data[AT_IP + 8] = 0xff;              /* time to live */
    memset (data + AT_IP + 10, 0xff, 2); /* check sums */
    memset (data + AT_UDP + 6, 0xff, 2);
    data[AT_BTH + 4] = 0xff;
    sum = ~crc (crc (~0u, lrh, sizeof (lrh)), data + AT_IP, end - AT_IP);
    for (int i = 0; i < ICRC; i++)
        f->data[end + (size_t)i] = (uint8_t)(sum >> (8 * i));
}

/* The IPv4 header's. */
static void sum_header (struct frame *f)
{
    uint8_t *p = f->data + AT_IP;
    uint32_t sum = 0;

    p[10] = p[11] = 0;
    for (int i = 0; i < IP; i += 2)
        sum += (uint32_t)p[i] << 8 | p[i + 1];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    p[10] = (uint8_t)(sum >> 8);
    p[11] = (uint8_t)sum;
}

/* A UD datagram with a header like ours. */
static bool is_ours (const struct frame *f)
{
    const uint8_t *p = f->data;

    return f->len >= AT_DATA + DATAGRAM + ICRC && p[12] == 8 && p[13] == 0
           && p[AT_IP] == 0x45 && p[AT_IP + 9] == IPPROTO_UDP
           && (p[AT_UDP + 2] << 8 | p[AT_UDP + 3]) == ROCE_PORT
           && p[AT_BTH] == UD_SEND_ONLY;
}

static void flip_nonce (struct frame *f)
{
    f->data[AT_DATA + NONCE] ^= 1;
}

static void flip_sender (struct frame *f)
{
    f->data[AT_DATA + SENDER] ^= 1;
}

static void flip_address (struct frame *f)
{
    f->data[AT_IP + 15] ^= 1;
    sum_header (f);
}

static void flip_type (struct frame *f)
{
    f->data[AT_DATA + TYPE] ^= 0x80;
}

static struct forgery {
    const char *name;
    void (*forge) (struct frame *f);
    unsigned int sent;
} forgeries[] = {
    { "repeated", NULL, 0 },      { "nonce", flip_nonce, 0 },
    { "sender", flip_sender, 0 }, { "address", flip_address, 0 },
    { "type", flip_type, 0 },
};

enum { FORGERIES = sizeof (forgeries) / sizeof (forgeries[0]) };

static int open_socket (const char *interface)
{
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET,
        .sll_protocol = htons (3 /* ETH_P_ALL */),
        .sll_ifindex = (int)if_nametoindex (interface),
    };
    int fd = socket (AF_PACKET, SOCK_RAW, at.sll_protocol);

    if (at.sll_ifindex == 0 || fd < 0
        || bind (fd, (struct sockaddr *)&at, sizeof (at)) < 0) {
        perror (interface);
        exit (1);
    }
    return fd;
}

/* The next datagram that leaves; a socket does not see what it sends. Returns
 * false at the end.
 */
static bool take (int fd, struct frame *f, time_t end)
{
    struct pollfd pfd = { .fd = fd, .events = POLLIN };

    for (;;) {
        struct sockaddr_ll from;
        socklen_t size = sizeof (from);
        time_t left = end - time (NULL);
        ssize_t n;

        if (left <= 0 || poll (&pfd, 1, (int)left * 1000) <= 0)
            return false;
        n = recvfrom (fd, f->data, sizeof (f->data), 0,
                      (struct sockaddr *)&from, &size);
        if (n <= 0 || from.sll_pkttype != PACKET_OUTGOING)
            continue;
        f->len = (size_t)n;
        if (is_ours (f))
            return true;
    }
}

int main (int argc, char *argv[])
{
    unsigned int count = argc == 4 ? (unsigned int)atoi (argv[2]) : 0;
    time_t end = time (NULL) + (argc == 4 ? atoi (argv[3]) : 0);
    struct frame f;
    int fd;

    if (count == 0) {
        fputs ("usage: intruder INTERFACE COUNT SECONDS\n", stderr);
        return 2;
    }
    fd = open_socket (argv[1]);
    for (unsigned int i = 0; i < count && take (fd, &f, end); i++)
        for (size_t k = 0; k < FORGERIES; k++) {
            struct frame forged = f;

            if (forgeries[k].forge) {
                forgeries[k].forge (&forged);
                seal (&forged);
            }
            forgeries[k].sent
                += send (fd, forged.data, forged.len, 0) == (ssize_t)f.len;
        }
    for (size_t k = 0; k < FORGERIES; k++)
        printf ("%s %u\n", forgeries[k].name, forgeries[k].sent);
    close (fd);
    return 0;
}
