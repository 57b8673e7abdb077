/* SPDX-License-Identifier: GPL-2.0-or-later */
/* links/counters: what is decoded, the file, what has grown.
 */
#include "config.h"
#include "ibquery/links/counters.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/lines.h"
#include "tests/tap.h"

#define HASH "0123456789abcdef0123456789abcdef"

static const struct counters_caps few = { .xmit_wait = true };
static const struct counters_caps some
    = { .extended = true, .xmit_wait = false };
static const struct counters_caps all
    = { .extended = true, .extended_errors = true, .xmit_wait = true };

static bool told (const struct port_counters *p, enum counter_id id,
                  uint64_t value, bool at_end)
{
    return p->told >> id & 1 && p->value[id] == value
           && (p->at_end >> id & 1) == at_end;
}

static void test_decode (void)
{
    /* bytes as the standard's tables have them */
    static const uint8_t old[COUNTERS_DATA] = {
        [1] = 3,        [4] = 0x12, [5] = 0x34, [6] = 0xff, [7] = 7,
        [8] = 1,        [9] = 2,    [19] = 0xf3, [22] = 9,  [23] = 8,
        [24] = 0xff,    [25] = 0xff, [26] = 0xff, [27] = 0xff,
        [39] = 5,       [40] = 1,   [43] = 2,
    };
    static const uint8_t wide[COUNTERS_DATA]
        = { [8] = 1, [15] = 2, [72] = 0, [78] = 1, [79] = 1, [175] = 6 };
    struct port_counters p = { 0 };
    struct counters_caps caps;

    counters_decode (old, &few, &p);
    ok (told (&p, COUNTER_SYMBOL_ERRORS, 0x1234, false)
            && told (&p, COUNTER_LINK_RECOVERY, 255, true)
            && told (&p, COUNTER_LINK_DOWNED, 7, false)
            && told (&p, COUNTER_RCV_ERRORS, 0x102, false)
            && told (&p, COUNTER_LINK_INTEGRITY, 15, true)
            && told (&p, COUNTER_BUFFER_OVERRUN, 3, false)
            && told (&p, COUNTER_VL15_DROPPED, 0x908, false)
            && told (&p, COUNTER_XMIT_DATA, UINT32_MAX, true)
            && told (&p, COUNTER_RCV_PKTS, 5, false)
            && told (&p, COUNTER_XMIT_WAIT, 0x01000002, false),
        "PortCounters");
    counters_decode_extended (wide, &few, &p);
    ok (told (&p, COUNTER_SYMBOL_ERRORS, 0x1234, false),
        "PortCountersExtended counts only where there is one");

    p = (struct port_counters){ 0 };
    counters_decode_extended (wide, &some, &p);
    counters_decode (old, &some, &p);
    ok (told (&p, COUNTER_XMIT_DATA, 0x0100000000000002, false)
            && told (&p, COUNTER_RCV_PKTS, 0, false)
            && told (&p, COUNTER_SYMBOL_ERRORS, 0x1234, false)
            && !(p.told >> COUNTER_XMIT_WAIT & 1),
        "an older one has data and packets; no PortXmitWait is none");

    p = (struct port_counters){ 0 };
    counters_decode_extended (wide, &all, &p);
    ok (told (&p, COUNTER_SYMBOL_ERRORS, 0x101, false)
            && told (&p, COUNTER_XMIT_WAIT, 6, false)
            && p.told == (1U << COUNTERS_COUNTS) - 1,
        "a newer one has it all");

    counters_caps ((const uint8_t[COUNTERS_DATA]){ [2] = 0x16, [7] = 0x40 },
                   &caps);
    ok (caps.extended && caps.extended_errors && caps.xmit_wait,
        "ClassPortInfo: all");
    counters_caps ((const uint8_t[COUNTERS_DATA]){ [2] = 0x04 }, &caps);
    ok (caps.extended && !caps.extended_errors && !caps.xmit_wait,
        "ClassPortInfo: few");
    ok (counters_decode_fec ((const uint8_t[64]){ [3] = 1, [5] = 2 })
                == FEC_RS
            && counters_decode_fec ((const uint8_t[64]){ [3] = 1 })
                   == FEC_NONE
            && counters_decode_fec ((const uint8_t[64]){ [5] = 2 })
                   == FEC_UNKNOWN
            && counters_decode_fec ((const uint8_t[64]){ [3] = 1, [4] = 9 })
                   == FEC_UNKNOWN,
        "FEC modes");
}

static struct counters *example (struct error *err)
{
    struct counters *c = counters_create ();
    struct port_counters *p;

    strcpy (c->source, "mlx5_0/1");
    strcpy (c->fabric, HASH);
    c->time = 1795222883;
    c->lasted = 7;
    p = counters_add (c, 0x20, 36, err);
    p->fec = FEC_RS;
    p->told = (1U << COUNTERS) - 1;
    p->value[COUNTER_SYMBOL_ERRORS] = 65535;
    p->at_end = 1U << COUNTER_SYMBOL_ERRORS;
    p->value[COUNTER_XMIT_DATA] = UINT64_MAX;
    counters_add (c, 0x20, 4, err);
    p = counters_add (c, 0x10, 1, err);
    p->told = 1U << COUNTER_XMIT_WAIT;
    p->value[COUNTER_XMIT_WAIT] = 9;
    counters_sort (c, err);
    return c;
}

static struct counters *read_text (const char *s, size_t len,
                                   struct error *err)
{
    FILE *fp = fmemopen ((void *)s, len, "r");
    struct counters *c = counters_read (fp, "test", err);

    fclose (fp);
    return c;
}

static char *write_text (const struct counters *c, size_t *len)
{
    struct error err;
    char *s = NULL;
    FILE *fp = open_memstream (&s, len);

    counters_write (c, fp, &err);
    fclose (fp);
    return s;
}

static void test_file (void)
{
    struct error err = { 0 };
    struct counters *c = example (&err), *again;
    const struct port_counters *p;
    size_t len, len2 = 0;
    char *s = write_text (c, &len), *s2 = NULL;
    size_t refused = 0;

    again = read_text (s, len, &err);
    if (again)
        s2 = write_text (again, &len2);
    ok (again && len == len2 && memcmp (s, s2, len) == 0
            && again->time == c->time && again->lasted == 7
            && again->nports == 3,
        "a file is the same again%s", err.text);
    p = again ? counters_find (again, 0x20, 36) : NULL;
    ok (p && p->fec == FEC_RS && told (p, COUNTER_SYMBOL_ERRORS, 65535, true)
            && told (p, COUNTER_XMIT_DATA, UINT64_MAX, false)
            && counters_find (again, 0x20, 4)->told == 0
            && !counters_find (again, 0x20, 5),
        "... and its ports are found");
    counters_destroy (again);
    c->port[0].told = 0;
    for (size_t i = 1; i < c->nports; i++)
        c->port[i].told &= (1U << COUNTERS_COUNTS) - 1;
    free (s2);
    s2 = write_text (c, &len2);
    ok (strstr (s, "SymbolBER") && !strstr (s2, "BER"),
        "... bit error rates only where a port has them");

    for (size_t n = 1; n < len; n++) {
        again = read_text (s, n, &err);
        refused += again == NULL;
        counters_destroy (again);
    }
    ok (refused == len - 1, "whatever is cut short is refused");
    refused = 0;
    for (size_t i = 0; i < len; i++) {
        s[i] ^= 1;
        again = read_text (s, len, &err);
        refused += again == NULL;
        counters_destroy (again);
        s[i] ^= 1;
    }
    ok (refused == len, "... and whatever is damaged");
    counters_destroy (c);
    free (s);
    free (s2);
}

/* A file of one line more, or less, whose checksum is right. */
static void test_bad_lines (void)
{
    static const struct {
        const char *from, *to, *sentence;
    } rows[] = {
        { "pmm-counters 1", "pmm-counters 2", "only version 1 is known" },
        { "pmm-counters 1", "pmm-fabric 1", "this is not a file of counters" },
        { "time ", "time yesterday", "is not a time" },
        { "time ", "source x", "a second source line" },
        { "lasted ", "lasted 4294967296", "is not a number of seconds" },
        { "lasted ", NULL, "there is no lasted line" },
        { "fabric ", "fabric 12", "is not a hash" },
        { "columns ", NULL, "a port before the columns" },
        { "columns ", "columns fec Nonsense", "is not a counter" },
        { "columns ", "columns fec PortXmitWait PortXmitWait", "occurs twice" },
        { "columns ", "columns PortXmitWait", "the first column" },
        { "columns ", "columns fec PortXmitWait", "is left over" },
        { "port 0000000000000010", "port 10/1 -", "is not a GUID" },
        { "port 0000000000000010", "port 0000000000000020/4 -",
          "is not a count" },
        { "port 0000000000000010", "port 0000000000000010/1 morse",
          "not a FEC mode" },
        { "port 0000000000000010", "port 0000000000000010/1 - -1",
          "is not a count" },
        { "port 0000000000000010",
          "port 0000000000000010/1 - 18446744073709551616", "is not a count" },
        { "port 0000000000000010",
          "port 0000000000000020/4 - - - - - - - - - - - - - - - - - - - - -",
          "occurs twice" },
        { "source ", "sauce", "\"sauce\" does not start a line" },
    };
    struct error err = { 0 };
    struct counters *c = example (&err), *bad;
    size_t len;
    char *s = write_text (c, &len);

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        char *text = NULL, hex[DIGEST_HEX], *copy = strdup (s), *save;
        size_t size;
        FILE *fp = open_memstream (&text, &size);
        struct digest d;

        digest_init (&d);
        for (char *line = strtok_r (copy, "\n", &save);
             line && strncmp (line, "end ", 4) != 0;
             line = strtok_r (NULL, "\n", &save)) {
            const char *say = line;

            if (strncmp (line, rows[i].from, strlen (rows[i].from)) == 0)
                say = rows[i].to;
            if (say) {
                digest_bytes (&d, say, strlen (say));
                fprintf (fp, "%s\n", say);
            }
        }
        digest_hex (&d, hex);
        fprintf (fp, "end %s\n", hex);
        fclose (fp);
        bad = read_text (text, size, &err);
        ok (!bad && strstr (err.text, rows[i].sentence)
                && strncmp (err.text, "test", 4) == 0,
            "%s", err.text);
        counters_destroy (bad);
        free (copy);
        free (text);
    }
    free (s);
    counters_destroy (c);
}

/* Two readings of one counter and of the data beside it. */
static void test_growth (void)
{
    static const struct {
        const char *what;
        int64_t before, now, data_before, data_now; /* -1: not told */
        bool end_before, end_now;
        enum growth_known known;
        uint64_t count;
    } rows[] = {
        { "grown", 5, 12, 0, 9, false, false, GROWTH_EXACT, 7 },
        { "not grown", 5, 5, 0, 9, false, false, GROWTH_EXACT, 0 },
        { "not told before", -1, 5, 0, 9, false, false, GROWTH_UNTOLD, 0 },
        { "not told now", 5, -1, 0, 9, false, false, GROWTH_UNTOLD, 0 },
        { "went back", 5, 3, 0, 9, false, false, GROWTH_RESET, 3 },
        { "went back to 0", 5, 0, 0, 9, false, false, GROWTH_RESET, 0 },
        { "another went back", 5, 6, 9, 2, false, false, GROWTH_RESET, 1 },
        { "at its end now", 5, 15, 0, 9, false, true, GROWTH_AT_END, 10 },
        { "at its end before", 15, 15, 0, 9, true, true, GROWTH_AT_END, 0 },
        { "at its end before, wider now", 15, 900, 0, 9, true, false,
          GROWTH_AT_END, 0 },
        { "at its end before, and reset", 15, 4, 0, 9, true, false,
          GROWTH_RESET, 4 },
    };
    const enum counter_id id = COUNTER_LINK_INTEGRITY;

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct port_counters before = { 0 }, now = { 0 };
        struct growth g;

        before.told = 1U << COUNTER_RCV_DATA | (rows[i].before >= 0) << id;
        now.told = 1U << COUNTER_RCV_DATA | (rows[i].now >= 0) << id;
        before.at_end = rows[i].end_before << id;
        now.at_end = rows[i].end_now << id;
        before.value[id] = rows[i].before;
        now.value[id] = rows[i].now;
        before.value[COUNTER_RCV_DATA] = rows[i].data_before;
        now.value[COUNTER_RCV_DATA] = rows[i].data_now;
        g = growth_of (&before, &now, id);
        ok (g.known == rows[i].known && g.count == rows[i].count,
            "a counter that has %s", rows[i].what);
    }
    ok (growth_of (NULL, &(struct port_counters){ .told = ~0U }, id).known
            == GROWTH_UNTOLD,
        "a port that was not there");
}

static bool near (double a, double b)
{
    return fabs (a - b) < 1e-9 * (fabs (a) + fabs (b));
}

static void test_limits (void)
{
    const struct rates qdr = rates_of (4, "QDR"), edr = rates_of (4, "EDR");
    const struct rates hdr = rates_of (4, "HDR"), none = rates_of (4, "");
    struct counters then = { .time = 1000, .lasted = 5 };
    struct counters now = { .time = 4600, .lasted = 9 };

    ok (near (growth_limit_per_hour (COUNTER_SYMBOL_ERRORS, &qdr,
                                     FEC_UNKNOWN),
              144)
            && near (growth_limit_per_hour (COUNTER_SYMBOL_ERRORS, &edr,
                                            FEC_NONE),
                     371.25),
        "1e-12 of 40 Gb/s are 144 errors an hour");
    ok (near (growth_limit_per_hour (COUNTER_SYMBOL_ERRORS, &edr, FEC_RS),
              0.37125)
            && near (growth_limit_per_hour (COUNTER_SYMBOL_ERRORS, &hdr,
                                            FEC_UNKNOWN),
                     0.765),
        "a thousandth of that where errors are corrected, as HDR's are");
    ok (isnan (growth_limit_per_hour (COUNTER_SYMBOL_ERRORS, &none,
                                      FEC_NONE))
            && isnan (growth_limit_per_hour (COUNTER_XMIT_DISCARDS, &edr,
                                             FEC_NONE))
            && !growth_is_limited (COUNTER_XMIT_WAIT)
            && growth_is_limited (COUNTER_LINK_DOWNED),
        "what has no limit");
    ok (near (growth_allowed (COUNTER_SYMBOL_ERRORS, &qdr, FEC_NONE, 3600),
              144 + 5 * 12 + 2)
            && near (growth_allowed (COUNTER_LINK_DOWNED, &qdr, FEC_NONE,
                                     86400),
                     6)
            && near (growth_allowed (COUNTER_LINK_RECOVERY, &qdr, FEC_NONE,
                                     0),
                     1),
        "what is no sign yet");
    ok (growth_seconds (&then, &now) == 3609
            && growth_seconds (&now, &then) == 0
            && growth_seconds (&now, &now) == 0,
        "the longest time that may be between two readings");
}

int main (void)
{
    test_decode ();
    test_file ();
    test_bad_lines ();
    test_growth ();
    test_limits ();
    return done_testing ();
}
