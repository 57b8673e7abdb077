/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "util/rates.h"

#include <math.h>
#include <string.h>

#include "tests/tap.h"

static void test_text (void)
{
    static const char *const good[] = {
        "-", "4xEDR", "?xHDR", "4x?", "1,4xSDR,DDR,QDR",
        "1,2,4,8,12xSDR,DDR,QDR,FDR10,FDR,EDR,HDR,NDR,XDR",
    };
    static const char *const bad[] = {
        "", "x", "4", "4EDR", "?x?", "3xEDR", "4xEDR,", ",4xEDR", "4,1xEDR",
        "4,4xEDR", "4xEDR,SDR", "4xedr", "4x", "xEDR", "4xEDR ", "0xEDR",
        "4xEDR,?", "1,?xEDR", "4xTTTTTTTTTTTT",
    };
    char text[RATES_TEXT];
    struct rates r;

    for (size_t i = 0; i < sizeof (good) / sizeof (*good); i++)
        ok (rates_parse (good[i], &r) == 0
                && strcmp (rates_format (&r, text), good[i]) == 0,
            "%s is read and written", good[i]);
    for (size_t i = 0; i < sizeof (bad) / sizeof (*bad); i++) {
        r.lanes = 77;
        ok (rates_parse (bad[i], &r) < 0 && r.lanes == 77,
            "\"%s\" is refused", bad[i]);
    }
    ok (rates_parse_one ("12xFDR10", &r) == 0
            && strcmp (RATES_SHOWN (&r), "12xFDR10") == 0
            && rates_parse_one ("4xEDR,HDR", &r) < 0
            && rates_parse_one ("1,4xEDR", &r) < 0,
        "one rate, not several");
}

/* As ibdiagnet's files give them. */
static void test_masks (void)
{
    static const struct {
        uint8_t lanes;
        uint32_t speeds;
        const char *expected;
    } rows[] = {
        { 2, 0x804, "4xQDR,NDR" },
        { 0x13, 0x0f05, "1,2,4xSDR,QDR,FDR,EDR,HDR,NDR" },
        { 2, 0x10004, "4xQDR,FDR10" },
        { 2, 0x1000004, "4xQDR,XDR" },
        { 8, 0, "12x?" },
        { 0, 0, "-" },
        { 0xe0, 0xfe0200f8, "-" }, /* no meaning */
    };
    char text[RATES_TEXT];

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct rates r = rates_of_masks (rows[i].lanes, rows[i].speeds);

        ok (strcmp (rates_format (&r, text), rows[i].expected) == 0,
            "masks %x and %x are %s", rows[i].lanes, rows[i].speeds, text);
    }
}

static bool is_common (const char *a, const char *b, const char *expected)
{
    char text[RATES_TEXT];
    struct rates x, y, both;

    if (rates_parse (a, &x) < 0 || rates_parse (b, &y) < 0)
        return false;
    both = rates_common (&x, &y);
    return strcmp (rates_format (&both, text), expected) == 0;
}

static void test_order (void)
{
    struct rates a = rates_of (4, "EDR"), b = rates_of (1, "HDR");
    struct rates unknown = rates_of (0, "");

    ok (is_common ("1,4xSDR,DDR,QDR,FDR,EDR", "1,2,4xSDR,EDR,HDR", "4xEDR"),
        "both allow 4xEDR");
    ok (is_common ("4xEDR", "-", "4xEDR"), "one of them is not told");
    ok (is_common ("1xEDR", "4xEDR", "?xEDR"), "nothing in common");
    ok (rates_narrower (&b, &a) && !rates_narrower (&a, &b)
            && rates_slower (&a, &b) && !rates_slower (&b, &a),
        "narrower, slower");
    ok (!rates_narrower (&unknown, &a) && !rates_slower (&unknown, &a)
            && !rates_narrower (&a, &unknown) && !rates_slower (&a, &a),
        "what is not told is neither");
    ok (rates_lanes (&a) == 4 && strcmp (rates_speed (&a), "EDR") == 0
            && rates_lanes (&unknown) == 0
            && strcmp (rates_speed (&unknown), "") == 0,
        "lanes and speed");
    ok (fabs (rates_bits (&a) - 103.125e9) < 1 && rates_bits (&unknown) == 0,
        "bits a second");
    ok (fabs (rates_data_bits (&a) - 100e9) < 1
            && rates_data_bits (&unknown) == 0,
        "... of packets, without line code and error correction");
}

/* A PortInfo: where its bytes are was taken from the standard's table. */
struct info {
    const char *what;
    uint8_t byte[RATES_PORTINFO];
    uint32_t cap_mask;
    const char *supported, *enabled, *active;
};

enum { EXT = 1 << 14 };

static const struct info infos[] = {
    { "nothing", { 0 }, EXT, "-", "-", "-" },
    { "QDR, no extended speeds",
      { [29] = 3, [30] = 3, [31] = 2, [32] = 0x74, [35] = 0x47,
        [62] = 0x11, [63] = 1 },
      0, "1,4xSDR,DDR,QDR", "1,4xSDR,DDR,QDR", "4xQDR" },
    { "EDR that runs as DDR",
      { [29] = 3, [30] = 3, [31] = 2, [32] = 0x74, [35] = 0x27,
        [62] = 0x03, [63] = 3 },
      EXT, "1,4xSDR,DDR,QDR,FDR,EDR", "1,4xSDR,DDR,QDR,FDR,EDR", "4xDDR" },
    { "HDR on two lanes",
      { [29] = 0x13, [30] = 0x13, [31] = 0x10, [32] = 0x74, [35] = 0x47,
        [62] = 0x47, [63] = 7 },
      EXT, "1,2,4xSDR,DDR,QDR,FDR,EDR,HDR",
      "1,2,4xSDR,DDR,QDR,FDR,EDR,HDR", "2xHDR" },
    { "XDR",
      { [29] = 0x02, [30] = 0x02, [31] = 0x02, [32] = 0x74, [35] = 0x47,
        [56] = 0x29, [62] = 0x8f, [63] = 15 },
      EXT, "4xSDR,DDR,QDR,FDR,EDR,HDR,NDR,XDR",
      "4xSDR,DDR,QDR,FDR,EDR,HDR,NDR,XDR", "4xXDR" },
    { "set to one lane",
      { [29] = 1, [30] = 3, [31] = 1, [32] = 0x74, [35] = 0x47, [62] = 0x47,
        [63] = 7 },
      EXT, "1,4xSDR,DDR,QDR,FDR,EDR,HDR", "1xSDR,DDR,QDR,FDR,EDR,HDR",
      "1xHDR" },
};

static void test_decode (void)
{
    char supported[RATES_TEXT], enabled[RATES_TEXT], active[RATES_TEXT];

    for (size_t i = 0; i < sizeof (infos) / sizeof (*infos); i++) {
        const struct info *info = &infos[i];
        struct port_rates r;

        rates_decode (info->byte, info->cap_mask, &r);
        rates_format (&r.supported, supported);
        rates_format (&r.enabled, enabled);
        rates_format (&r.active, active);
        if (!ok (strcmp (supported, info->supported) == 0
                     && strcmp (enabled, info->enabled) == 0
                     && strcmp (active, info->active) == 0,
                 "PortInfo: %s", info->what))
            diag ("%s %s %s", supported, enabled, active);
    }
    ok (rates_cap_mask ((const uint8_t[RATES_PORTINFO]){ [20] = 0x02,
                                                         [22] = 0x40 })
            == 0x02004000,
        "the capability mask");
}

int main (void)
{
    test_text ();
    test_masks ();
    test_order ();
    test_decode ();
    return done_testing ();
}
