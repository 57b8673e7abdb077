/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * PortInfo has lanes and speeds as bit masks in bytes 29 to 35 and, for newer
 * speeds, in bytes 56 and 62 to 63 (byte 0 is the first of the M_Key). A port
 * whose active speed is a newer one also shows an old one as active, which does
 * not count.
 */
#include "config.h"
#include "util/rates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/text.h"

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

enum {
    CAP_EXT_SPEEDS = 1 << 14,
    OFF_CAP_MASK = 20,
    OFF_LANES_ENABLED = 29, /* then supported, active */
    OFF_SPEED = 32,         /* upper 4 bits: supported */
    OFF_SPEED_ACTIVE = 35,  /* upper 4 bits; lower 4 bits: enabled */
    OFF_SPEED_2 = 56,       /* XDR: 1 bit, active 2, supported 2, enabled 3 */
    OFF_SPEED_EXT = 62,     /* active, supported; next byte: enabled */
};

static const struct {
    const char *name, *list; /* list: in opensm-subnet.lst */
    double gigabits;         /* Gb/s per lane */
    double data;             /* of these, for packets */
    uint8_t mask, bit;       /* in PortInfo: in the old mask, that of the
                                extended speeds, of FDR10, of XDR */
} speeds[] = {
    { "", "", 0, 0, 0, 0 },
    { "SDR", "2.5", 2.5, 2, 0, 0 },
    { "DDR", "5", 5, 4, 0, 1 },
    { "QDR", "10", 10, 8, 0, 2 },
    { "FDR10", "FDR10", 10.3125, 10, 2, 0 },
    { "FDR", "14", 14.0625, 14.0625 * 64 / 66, 1, 0 },
    { "EDR", "25", 25.78125, 25, 1, 1 },
    { "HDR", "50", 53.125, 50, 1, 2 },
    { "NDR", "100", 106.25, 100, 1, 3 },
    { "XDR", "200", 212.5, 200, 3, 0 },
};

static const struct {
    uint8_t n, bit; /* bit: in PortInfo's masks */
} lanes[] = { { 0, 7 }, { 1, 0 }, { 2, 4 }, { 4, 1 }, { 8, 2 }, { 12, 3 } };

static size_t greatest (unsigned int set)
{
    size_t i = 0;

    while (set >>= 1)
        i++;
    return i;
}

static uint16_t lanes_bit (unsigned int n)
{
    for (size_t i = 1; i < COUNT (lanes); i++)
        if (lanes[i].n == n)
            return 1U << i;
    return 0;
}

static uint16_t speed_bit (const char *name)
{
    for (size_t i = 1; i < COUNT (speeds); i++)
        if (strcmp (speeds[i].name, name) == 0)
            return 1U << i;
    return 0;
}

char *rates_format (const struct rates *r, char buf[RATES_TEXT])
{
    const char *gap = "";
    size_t len = 0;

    if (r->lanes == 0 && r->speeds == 0)
        return strcpy (buf, "-");
    for (size_t i = 1; i < COUNT (lanes); i++)
        if (r->lanes & 1U << i) {
            len += snprintf (buf + len, RATES_TEXT - len, "%s%u", gap,
                             lanes[i].n);
            gap = ",";
        }
    len += snprintf (buf + len, RATES_TEXT - len, r->lanes ? "x" : "?x");
    gap = "";
    for (size_t i = 1; i < COUNT (speeds); i++)
        if (r->speeds & 1U << i) {
            len += snprintf (buf + len, RATES_TEXT - len, "%s%s", gap,
                             speeds[i].name);
            gap = ",";
        }
    if (r->speeds == 0)
        snprintf (buf + len, RATES_TEXT - len, "?");
    return buf;
}

/* Parse a list of words in ascending order; "?" is the empty set. Return the
 * set, or -1 if it is not such a list.
 */
static int parse_set (const char *s, size_t len, bool of_lanes)
{
    unsigned int set = 0;

    if (len == 1 && *s == '?')
        return 0;
    for (const char *end = s + len;; s++) {
        const char *comma = memchr (s, ',', end - s);
        int n = (int)((comma ? comma : end) - s);
        unsigned int bit = 0;
        uint64_t count;
        char word[8];

        if (n == 0 || (size_t)n >= sizeof (word))
            return -1;
        snprintf (word, sizeof (word), "%.*s", n, s);
        if (!of_lanes)
            bit = speed_bit (word);
        else if (text_u64 (word, 1, UINT8_MAX, &count) == 0)
            bit = lanes_bit (count);
        if (bit <= set)
            return -1;
        set |= bit;
        s += n;
        if (s == end)
            return (int)set;
    }
}

int rates_parse (const char *s, struct rates *r)
{
    const char *x = strchr (s, 'x');
    int n = -1, speed = -1;

    if (strcmp (s, "-") == 0) {
        *r = (struct rates){ 0 };
        return 0;
    }
    if (x) {
        n = parse_set (s, x - s, true);
        speed = parse_set (x + 1, strlen (x + 1), false);
    }
    if (n < 0 || speed < 0 || (n == 0 && speed == 0)) {
        errno = EINVAL;
        return -1;
    }
    *r = (struct rates){ .lanes = n, .speeds = speed };
    return 0;
}

int rates_parse_one (const char *s, struct rates *r)
{
    if (!strchr (s, ','))
        return rates_parse (s, r);
    errno = EINVAL;
    return -1;
}

struct rates rates_of (unsigned int n, const char *speed)
{
    return (struct rates){ lanes_bit (n), speed_bit (speed) };
}

const char *rates_by_list (const char *text)
{
    for (size_t i = 1; i < COUNT (speeds); i++)
        if (strcmp (speeds[i].list, text) == 0)
            return speeds[i].name;
    return "";
}

unsigned int rates_order (const struct rates *r)
{
    return greatest (r->lanes) << 4 | greatest (r->speeds);
}

unsigned int rates_lanes (const struct rates *r)
{
    return lanes[greatest (r->lanes)].n;
}

const char *rates_speed (const struct rates *r)
{
    return speeds[greatest (r->speeds)].name;
}

struct rates rates_common (const struct rates *a, const struct rates *b)
{
    unsigned int n = a->lanes && b->lanes ? a->lanes & b->lanes
                                          : a->lanes | b->lanes;
    unsigned int speed = a->speeds && b->speeds ? a->speeds & b->speeds
                                                : a->speeds | b->speeds;

    return (struct rates){ n ? 1U << greatest (n) : 0,
                           speed ? 1U << greatest (speed) : 0 };
}

bool rates_narrower (const struct rates *a, const struct rates *b)
{
    return a->lanes && greatest (a->lanes) < greatest (b->lanes);
}

bool rates_slower (const struct rates *a, const struct rates *b)
{
    return a->speeds && greatest (a->speeds) < greatest (b->speeds);
}

double rates_bits (const struct rates *r)
{
    return rates_lanes (r) * speeds[greatest (r->speeds)].gigabits * 1e9;
}

double rates_data_bits (const struct rates *r)
{
    return rates_lanes (r) * speeds[greatest (r->speeds)].data * 1e9;
}

uint32_t rates_cap_mask (const uint8_t info[RATES_PORTINFO])
{
    const uint8_t *p = info + OFF_CAP_MASK;

    return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

struct rates rates_of_masks (uint8_t lane_mask, uint32_t mask)
{
    struct rates r = { 0 };

    for (size_t i = 1; i < COUNT (lanes); i++)
        r.lanes |= (lane_mask >> lanes[i].bit & 1) << i;
    for (size_t i = 1; i < COUNT (speeds); i++)
        r.speeds |= (mask >> (8 * speeds[i].mask + speeds[i].bit) & 1) << i;
    return r;
}

/* The masks of a PortInfo; those that are not valid must be 0. */
static struct rates decode (unsigned int lane_mask, unsigned int old,
                            unsigned int ext, unsigned int xdr)
{
    return rates_of_masks (lane_mask, old | ext << 8 | (uint32_t)xdr << 24);
}

void rates_decode (const uint8_t info[RATES_PORTINFO], uint32_t cap_mask,
                   struct port_rates *rates)
{
    bool ext = cap_mask & CAP_EXT_SPEEDS;
    unsigned int ext1 = ext ? info[OFF_SPEED_EXT] : 0;
    unsigned int enabled1 = ext ? info[OFF_SPEED_EXT + 1] & 31 : 0;
    unsigned int ext2 = ext ? info[OFF_SPEED_2] : 0;
    const uint8_t *lane = info + OFF_LANES_ENABLED;
    struct rates active = decode (lane[2], info[OFF_SPEED_ACTIVE] >> 4,
                                  ext1 >> 4, ext2 >> 5 & 3);

    *rates = (struct port_rates){
        .enabled = decode (lane[0], info[OFF_SPEED_ACTIVE] & 15, enabled1,
                           ext2 & 7),
        .supported = decode (lane[1], info[OFF_SPEED] >> 4, ext1 & 15,
                             ext2 >> 3 & 3),
        .active = rates_common (&active, &active),
    };
}
