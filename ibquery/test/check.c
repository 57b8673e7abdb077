/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/links/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "ibquery/snapshot.h"
#include "tests/tap.h"

/* 16 hosts, 4 leaves: h0001 is at port 1 of s1-0001. */
static struct fabric *model (void)
{
    const struct fat_tree tree = {
        .ports = 8,
        .levels = 2,
        .how = { .routing = ROUTING_MINHOP, .seed = 3 },
    };
    struct error err;

    return generate_fat_tree (&tree, &err);
}

static struct rates set_of (const char *text)
{
    struct rates r = { 0 };

    rates_parse (text, &r);
    return r;
}

static void set_ports (struct fabric *f, const char *supported,
                       const char *enabled, const char *active)
{
    for (size_t i = 0; i < f->nports; i++)
        f->port[i].rates = (struct port_rates){
            set_of (supported), set_of (enabled), set_of (active),
        };
}

static void set_link (struct fabric *f, const char *name, unsigned int width,
                      const char *speed)
{
    struct fabric_link *l = &f->link[fabric_find_link (f, name)];
    const struct rates rate = rates_of (width, speed);

    l->width = width;
    strcpy (l->speed, speed);
    if (f->port[l->a].rates.active.lanes)
        f->port[l->a].rates.active = f->port[l->b].rates.active = rate;
}

/* Findings of a link by their signs, "width speed counter"; whether there are
 * others.
 */
static const char *signs_of (const struct link_check *c,
                             const struct fabric *f, const char *link,
                             size_t *others)
{
    static char text[80];

    *text = '\0';
    *others = 0;
    for (size_t i = 0; i < c->nfindings; i++)
        if (c->finding[i].link == fabric_find_link (f, link))
            snprintf (text + strlen (text), sizeof (text) - strlen (text),
                      "%s%s", *text ? " " : "",
                      sign_name (c->finding[i].sign));
        else
            ++*others;
    return text;
}

#define ALL "1,2,4xSDR,DDR,QDR,FDR,EDR,HDR"

static void test_rates (void)
{
    static const struct {
        const char *what;
        const char *supported, *enabled; /* of all; NULL: not told */
        const char *end;                 /* of h0001's port: enabled */
        unsigned int width;
        const char *speed, *signs, *why;
    } rows[] = {
        { "all is well", ALL, ALL, ALL, 4, "HDR", "", NULL },
        { "lanes are lost", ALL, ALL, ALL, 2, "HDR", "width",
          "it runs at 2xHDR, both ends may run at 4xHDR" },
        { "a lane is all that is left", ALL, ALL, ALL, 1, "HDR", "width",
          "both ends may run at 4xHDR" },
        { "DDR in a fabric of HDR", ALL, ALL, ALL, 4, "DDR", "speed",
          "it runs at 4xDDR" },
        { "lanes and speed are lost", ALL, ALL, ALL, 1, "SDR",
          "width speed", "both ends may run at 4xHDR" },
        { "an end is set to one lane", ALL, ALL, "1xHDR", 1, "HDR", "width",
          "most links of its kind run at 4xHDR: h0001 mlx5_0/1 is set to "
          "1xHDR" },
        { "an end is set to DDR", ALL, ALL, "1,4xSDR,DDR", 4, "DDR",
          "speed",
          "most links of its kind run at 4xHDR: h0001 mlx5_0/1 is set to "
          "1,4xSDR,DDR" },
        { "nobody knows what the ends can", NULL, NULL, NULL, 4, "DDR", "",
          NULL },
        { "... SDR is what training falls back to", NULL, NULL, NULL, 4, "SDR",
          "speed", "most links of its kind run at 4xHDR" },
        { "... one lane", NULL, NULL, NULL, 1, "HDR", "width",
          "most links of its kind run at 4xHDR" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct fabric *f = model ();
        struct link_check *c;
        struct error err;
        size_t others;
        const char *signs;
        uint32_t end = fabric_find_port (f, "h0001/1");

        if (rows[i].supported)
            set_ports (f, rows[i].supported, rows[i].enabled, "4xHDR");
        if (rows[i].end)
            f->port[end].rates.enabled = set_of (rows[i].end);
        set_link (f, "h0001/1", rows[i].width, rows[i].speed);
        c = check_links (f, NULL, NULL, &err);
        signs = c ? signs_of (c, f, "h0001/1", &others) : "";
        if (!ok (c && others == 0 && strcmp (signs, rows[i].signs) == 0
                     && check_status (c)
                            == (*rows[i].signs ? VERDICT_FAIL : VERDICT_OK)
                     && (!rows[i].why
                         || strstr (c->finding[0].why, rows[i].why)),
                 "%s", rows[i].what))
            diag ("\"%s\": %s", signs,
                  c && c->nfindings ? c->finding[0].why : "");
        check_destroy (c);
        fabric_destroy (f);
    }
}

/* Of two links in a cage both say so; in the same row with a third that is not
 * faulty, or is in the next cage, none does.
 */
static void test_cages (void)
{
    static const struct {
        const char *other, *speed;
        size_t told;
    } rows[] = {
        { "h0002/1", "NDR", 2 },
        { "h0003/1", "NDR", 0 },
        { "h0002/1", "HDR", 0 },
        { "h0006/1", "NDR", 0 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct fabric *f = model (), *g;
        struct text { char *s; size_t len; } text;
        struct link_check *c;
        struct error err;
        size_t told = 0;
        FILE *fp;

        for (size_t l = 0; l < f->nlinks; l++)
            strcpy (f->link[l].speed, rows[i].speed);
        fp = open_memstream (&text.s, &text.len);
        fabric_write (f, fp, &err);
        fclose (fp);
        fp = fmemopen (text.s, text.len, "r");
        g = fabric_read (fp, "cages", &err);
        fclose (fp);
        free (text.s);
        set_link (g, "h0001/1", 1, rows[i].speed);
        set_link (g, rows[i].other, 1, rows[i].speed);
        c = check_links (g, NULL, NULL, &err);
        for (size_t k = 0; k < c->nfindings; k++)
            told += strstr (c->finding[k].why, "are both in cage 1 of switch "
                                               "s1-0001 (") != NULL;
        ok (c->nfindings == 2 && told == rows[i].told, "h0001, %s, %s: %s",
            rows[i].other, rows[i].speed, c->finding[0].why);
        check_destroy (c);
        fabric_destroy (f);
        fabric_destroy (g);
    }
}

/* An old adapter that is below what it can: what others do is told as it is. */
static void test_capped (void)
{
    struct fabric *f = model ();
    uint32_t port = fabric_find_port (f, "h0001/1");
    struct link_check *c;
    struct error err;

    set_ports (f, ALL, ALL, "4xHDR");
    f->port[port].rates.supported = set_of ("1,4xSDR,DDR,QDR");
    f->port[port].rates.enabled = set_of ("4xSDR,DDR");
    set_link (f, "h0001/1", 4, "DDR");
    c = check_links (f, NULL, NULL, &err);
    ok (c && c->nfindings == 1
            && strstr (c->finding[0].why,
                       "it runs at 4xDDR, most links of its kind run at 4xHDR,"
                       " and both ends can run at 4xQDR: h0001 mlx5_0/1 is set"
                       " to 4xSDR,DDR"),
        "%s", c && c->nfindings ? c->finding[0].why : "no finding");
    check_destroy (c);
    fabric_destroy (f);
}

/* Half of the hosts have old adapters. */
static void test_mixed (void)
{
    struct fabric *f = model ();
    struct link_check *c;
    struct error err;

    set_ports (f, ALL, ALL, "4xHDR");
    for (size_t i = 0; i < 4; i++) {
        uint32_t port = f->endpoint[i].port;

        f->port[port].rates.supported = set_of ("1,4xSDR,DDR,QDR,FDR,EDR");
        f->port[port].rates.enabled = f->port[port].rates.supported;
        set_link (f, f->link[f->port[port].link].id, 4, "EDR");
    }
    c = check_links (f, NULL, NULL, &err);
    ok (c && check_status (c) == VERDICT_OK,
        "old adapters are as fast as they can be");
    check_destroy (c);
    for (size_t i = 2; i < 4; i++) {
        uint32_t port = f->endpoint[i].port;

        f->port[port].rates.supported = f->port[port].rates.enabled
            = set_of (ALL);
        set_link (f, f->link[f->port[port].link].id, 4, "HDR");
    }
    c = check_links (f, NULL, NULL, &err);
    ok (c && check_status (c) == VERDICT_OK && c->nnotes == 1
            && strncmp (c->note[0],
                        "2 links at 4xEDR, where most of the kind run at "
                        "4xHDR; the ends can do no more: h0001 mlx5_0/1 -- ",
                        94) == 0,
        "... two are, too, and a note: %s",
        c && c->nnotes ? c->note[0] : "");
    check_destroy (c);
    for (size_t i = 0; i < 2; i++)
        set_link (f, f->link[f->port[f->endpoint[i].port].link].id, 4, "HDR");

    for (size_t i = 4; i < 12; i++)
        set_link (f, f->link[f->port[f->endpoint[i].port].link].id, 2, "HDR");
    c = check_links (f, NULL, NULL, &err);
    ok (c && check_status (c) == VERDICT_OK && c->nlimits == 1
            && strncmp (c->limit[0], "8 links run below", 17) == 0,
        "so many of two lanes are meant to be so, it is told");
    check_destroy (c);

    for (size_t i = 0; i < f->nlinks; i++)
        f->link[i].width = 1;
    c = check_links (f, NULL, NULL, &err);
    ok (c && c->nfindings == f->nlinks,
        "one lane everywhere is no good either");
    check_destroy (c);
    for (size_t i = 0; i < f->nlinks; i++)
        set_link (f, f->link[i].id, 4, "HDR");

    set_link (f, "h0007/1", 0, "");
    f->port[fabric_find_port (f, "h0009/1")].rates.active
        = rates_of (1, "HDR");
    c = check_links (f, NULL, NULL, &err);
    ok (c && check_status (c) == VERDICT_UNKNOWN && c->nlimits == 2
            && strstr (c->limit[0], "of 1 link is not known")
            && strstr (c->limit[1], "do not agree"),
        "what is not known is no finding, and said");
    check_destroy (c);
    fabric_destroy (f);
}

/* Hosts h0001 to h0004 with an older adapter than the other 12. */
static void set_products (struct fabric *f)
{
    for (size_t i = 0; i < f->nnodes; i++) {
        f->node[i].vendor = 0x2c9;
        f->node[i].device = f->node[i].type == NODE_SWITCH ? 0xcf08 : 0x101b;
    }
    for (size_t i = 0; i < 4; i++)
        f->node[f->port[f->endpoint[i].port].node].device = 0x1017;
}

/* Which links are alike, and what a slower one of them is. */
static void test_products (void)
{
    static const struct {
        const char *what;
        bool products;     /* they are known */
        size_t old, new;   /* so many of the old, of the new are slower, */
        unsigned int width;
        const char *speed; /* ... at this rate */
        bool known;        /* what ports can do: all ALL, except: */
        const char *end;   /* those of the slower hosts */
        enum verdict_status status;
        size_t findings, doubts, notes;
        bool alone;        /* the first old one is of a kind of its own */
    } rows[] = {
        { "all old adapters are slower", true, 4, 0, 4, "EDR", false, NULL,
          VERDICT_OK, 0, 0, 1 },
        { "... half of them", true, 2, 0, 4, "EDR", false, NULL, VERDICT_OK, 0,
          0, 1 },
        { "... one of them, of four", true, 1, 0, 4, "EDR", false, NULL,
          VERDICT_UNKNOWN, 0, 1, 0 },
        { "a new adapter is slower", true, 0, 1, 4, "EDR", false, NULL,
          VERDICT_UNKNOWN, 0, 1, 0 },
        { "... has trained to SDR", true, 0, 1, 4, "SDR", false, NULL,
          VERDICT_FAIL, 1, 0, 0 },
        { "the only one of its kind is at SDR", true, 1, 0, 4, "SDR",
          false, NULL, VERDICT_OK, 0, 0, 1, true },
        { "... has one lane", true, 1, 0, 1, "HDR", false, NULL, VERDICT_OK, 0,
          0, 1, true },
        { "a new adapter has trained to one lane", true, 0, 1, 1, "HDR", false,
          NULL, VERDICT_FAIL, 1, 0, 0 },
        { "... to one lane of SDR", true, 0, 1, 1, "SDR", false, NULL,
          VERDICT_FAIL, 2, 0, 0 },
        { "... to fewer lanes than it may", true, 0, 1, 2, "HDR", true, ALL,
          VERDICT_FAIL, 1, 0, 0 },
        { "... can do no more", true, 0, 1, 4, "EDR", true,
          "1,2,4xSDR,DDR,QDR,FDR,EDR", VERDICT_OK, 0, 0, 1 },
        { "five of them are", true, 0, 5, 2, "HDR", false, NULL, VERDICT_OK, 0,
          0, 1 },
        { "old ones with two lanes, as HDR100 has", true, 4, 0, 2, "HDR", true,
          ALL, VERDICT_OK, 0, 0, 0 },
        { "products are not known", false, 0, 1, 4, "EDR", false, NULL,
          VERDICT_OK, 0, 0, 1 },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct fabric *f = model ();
        struct link_check *c;
        struct error err;

        if (rows[i].products)
            set_products (f);
        if (rows[i].alone)
            f->node[f->port[f->endpoint[0].port].node].device = 0x6274;
        if (rows[i].known)
            set_ports (f, ALL, ALL, "4xHDR");
        for (size_t k = 0; k < rows[i].old + rows[i].new; k++) {
            size_t host = k < rows[i].old ? k : 4 + k - rows[i].old;
            struct fabric_port *p = &f->port[f->endpoint[host].port];

            set_link (f, f->link[p->link].id, rows[i].width, rows[i].speed);
            if (rows[i].end)
                p->rates.supported = p->rates.enabled = set_of (rows[i].end);
        }
        c = check_links (f, NULL, NULL, &err);
        ok (check_status (c) == rows[i].status
                && c->nfindings == rows[i].findings
                && c->ndoubts == rows[i].doubts && c->nnotes == rows[i].notes,
            "%s: %zu, %zu, %zu: %s", rows[i].what, c->nfindings, c->ndoubts,
            c->nnotes,
            c->nfindings ? c->finding[0].why
            : c->ndoubts ? c->doubt[0].why
            : c->nnotes  ? c->note[0]
                         : "-");
        check_destroy (c);
        fabric_destroy (f);
    }
}

static struct port_counters *at (struct counters *c, const struct fabric *f,
                                 const char *port)
{
    const struct fabric_port *p = &f->port[fabric_find_port (f, port)];

    return (struct port_counters *)counters_find (
        c, f->node[p->node].guid, p->num);
}

static struct counters *all_zero (const struct fabric *f, int64_t when)
{
    struct counters *c = counters_create ();
    struct error err;

    c->time = when;
    for (size_t i = 0; i < f->nports; i++)
        if (f->port[i].link != FABRIC_NONE)
            counters_add (c, f->node[f->port[i].node].guid, f->port[i].num,
                          &err)
                ->told = (1U << COUNTERS) - 1;
    counters_sort (c, &err);
    return c;
}

static void test_counters (void)
{
    struct fabric *f = model ();
    struct counters *then = all_zero (f, 1000), *now = all_zero (f, 1000);
    struct link_check *c;
    struct error err;
    size_t others;

    ok (!check_links (f, then, now, &err), "%s", err.text);
    now->time += 7200;
    c = check_links (f, then, now, &err);
    ok (c && check_status (c) == VERDICT_OK && c->nlimits == 0
            && c->hours == 2,
        "nothing has grown");
    check_destroy (c);

    at (now, f, "s1-0001/2")->value[COUNTER_SYMBOL_ERRORS] = 1234;
    at (now, f, "h0002/1")->value[COUNTER_LINK_DOWNED] = 3;
    at (now, f, "h0003/1")->value[COUNTER_LINK_DOWNED] = 2;
    at (now, f, "h0003/1")->value[COUNTER_XMIT_DISCARDS] = 1 << 20;
    at (now, f, "h0003/1")->value[COUNTER_XMIT_WAIT] = 9;
    c = check_links (f, then, now, &err);
    ok (c && strcmp (signs_of (c, f, "h0002/1", &others), "counter counter")
                 == 0
            && others == 0 && c->nlimits == 0,
        "errors show at either end of one link");
    ok (c && c->nfindings == 2
            && strstr (c->finding[0].why,
                       "LinkDownedCounter of h0002 mlx5_0/1 has grown by 3 "
                       "in 2 hours, where 0.167 an hour")
            && strstr (c->finding[1].why,
                       "SymbolErrorCounter of s1-0001/2 has grown by 1234"),
        "... with figures: %s", c && c->nfindings ? c->finding[0].why : "");
    ok (c && c->nwaits == 1 && c->wait[0].growth.count == 9
            && c->wait[0].link == fabric_find_link (f, "h0003/1"),
        "who waited is no finding, but told");
    check_destroy (c);
    counters_destroy (then);
    counters_destroy (now);
    fabric_destroy (f);
}

/* Bit error rates, in one reading. */
static void test_ber (void)
{
    static const struct {
        enum counter_id id;
        double ber;
        bool bad;
    } rows[] = {
        { COUNTER_RAW_BER, 9e-6, false },
        { COUNTER_RAW_BER, 2e-5, true },
        { COUNTER_EFFECTIVE_BER, 1e-13, false },
        { COUNTER_EFFECTIVE_BER, 3e-13, true },
        { COUNTER_SYMBOL_BER, 2e-13, true },
        { COUNTER_SYMBOL_BER, 0, false },
    };
    const struct rates ndr = rates_of (4, "NDR"), none = { 0 };
    struct fabric *f = model (); /* of HDR */
    struct error err;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct counters *now = all_zero (f, 1000);
        struct link_check *c;

        at (now, f, "s1-0001/2")->value[rows[i].id]
            = rows[i].ber / COUNTER_BER_UNIT + 0.5;
        c = check_links (f, NULL, now, &err);
        ok (c && c->nfindings == rows[i].bad, "%s of %g: %s",
            counter_name (rows[i].id), rows[i].ber,
            c && c->nfindings ? c->finding[0].why : "healthy");
        if (rows[i].id == COUNTER_RAW_BER && rows[i].bad)
            ok (c && c->nfindings == 1 && c->finding[0].sign == SIGN_COUNTER
                    && strcmp (c->finding[0].why,
                               "RawBER of s1-0001/2 is 2e-05, where less than "
                               "1e-05 is healthy") == 0,
                "... in a sentence");
        check_destroy (c);
        counters_destroy (now);
    }
    ok (counter_ber_limit (COUNTER_EFFECTIVE_BER, &ndr) == 1e-11
            && isnan (counter_ber_limit (COUNTER_EFFECTIVE_BER, &none))
            && isnan (counter_ber_limit (COUNTER_RCV_PKTS, &ndr)),
        "limits by the speed");
    fabric_destroy (f);
}

static void test_untold (void)
{
    static const char *const sentences[] = {
        "did not tell their counters, so that their errors may be more: "
        "s1-0001/1",
        "did not tell their counters before, so that their errors may be "
        "more: h0001 mlx5_0/1",
        "reset in between, so that their errors may be more: h0003 mlx5_0/1 "
        "and 1 other",
        "at their ends, so that their errors may be more: h0004 mlx5_0/1",
    };
    struct fabric *f = model ();
    struct counters *then = all_zero (f, 1000), *now = all_zero (f, 8200);
    struct link_check *c;
    struct error err;
    size_t said = 0;

    at (then, f, "h0001/1")->told = 0;
    at (now, f, "s1-0001/1")->told = 0;
    at (then, f, "h0003/1")->value[COUNTER_RCV_PKTS] = 5;
    at (then, f, "h0005/1")->value[COUNTER_XMIT_DISCARDS] = 5;
    at (then, f, "h0004/1")->at_end = 1U << COUNTER_RCV_ERRORS;
    at (now, f, "h0004/1")->at_end = 1U << COUNTER_RCV_ERRORS;
    c = check_links (f, then, now, &err);
    for (size_t i = 0; c && i < c->nlimits; i++)
        for (size_t k = 0; k < sizeof (sentences) / sizeof (*sentences); k++)
            said += strstr (c->limit[i], sentences[k]) != NULL;
    ok (c && check_status (c) == VERDICT_UNKNOWN && c->nlimits == 4
            && said == 4 && c->nfindings == 0,
        "what could not be told is said, and is no OK");
    check_destroy (c);

    at (now, f, "h0003/1")->value[COUNTER_LINK_RECOVERY] = 200;
    c = check_links (f, then, now, &err);
    ok (c && check_status (c) == VERDICT_FAIL
            && strstr (c->finding[0].why, "by at least 200"),
        "at least so much may be too much: %s",
        c && c->nfindings ? c->finding[0].why : "");
    check_destroy (c);

    c = check_links (f, NULL, now, &err);
    ok (c && check_status (c) == VERDICT_UNKNOWN && c->nlimits == 1,
        "one reading tells no growth");
    check_destroy (c);
    counters_destroy (then);
    counters_destroy (now);
    fabric_destroy (f);
}

/* Signs are what was written. */
static void test_file (void)
{
    struct fabric *f = model (), *g;
    struct counters *then = all_zero (f, 1000), *now = all_zero (f, 8200);
    FILE *fp = tmpfile ();
    struct check_signs signs;
    struct link_check *c;
    struct error err = { 0 };

    set_link (f, "h0001/1", 1, "HDR");
    at (now, f, "h0002/1")->value[COUNTER_LINK_DOWNED] = 9;
    at (now, f, "h0003/1")->value[COUNTER_XMIT_WAIT] = 9;
    c = check_links (f, then, now, &err);
    ok (c && check_write (c, f, fp, &err) == 0, "a file of signs%s",
        err.text);
    rewind (fp);
    ok (check_read_signs (&signs, fp, "x", f, &err) == 0 && signs.n == 3
            && signs.time == 8200 && signs.v[0].kind == SIGN_WIDTH
            && signs.v[0].link == fabric_find_link (f, "h0001/1")
            && signs.v[1].kind == SIGN_COUNTER
            && signs.v[1].link == fabric_find_link (f, "h0002/1")
            && signs.v[2].kind == SIGN_WAIT
            && signs.v[2].link == fabric_find_link (f, "h0003/1"),
        "... is read%s", err.text);
    check_clear_signs (&signs);
    check_destroy (c);

    g = generate_fat_tree (&(struct fat_tree){ .ports = 4, .levels = 2 },
                           &err);
    rewind (fp);
    ok (check_read_signs (&signs, fp, "x", g, &err) < 0 && !signs.v
            && signs.n == 0,
        "%s", err.text);
    fclose (fp);
    fp = tmpfile ();
    fprintf (fp, "{\"kind\":\"link-check\",\"version\":1,\"fabric\":\"%s\","
                 "\"time\":1,\"waits\":[],"
                 "\"findings\":[{\"link\":\"%s\",\"sign\":\"smell\"}]}\n",
             f->hash, f->link[0].id);
    rewind (fp);
    ok (check_read_signs (&signs, fp, "x", f, &err) < 0, "%s", err.text);
    fclose (fp);
    counters_destroy (then);
    counters_destroy (now);
    fabric_destroy (f);
    fabric_destroy (g);
}

/* Static ports that are not the table's, of one switch or of many. */
static void test_static (void)
{
    struct fabric *f = model ();
    struct spread_entry e[FABRIC_MAX_LID + 1];
    struct error err = { 0 };
    struct link_check *c;
    uint32_t leaf = fabric_find_switch (f, "s1-0001");
    size_t switches = 0;

    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        for (unsigned int lid = 0; n->lft && lid <= n->lft_top; lid++)
            e[lid] = (struct spread_entry){ SPREAD_STATIC, n->lft[lid], 0 };
        if (n->lft && fabric_set_groups (f, i, NULL, 0, e, &err) == 0)
            switches++;
    }
    c = check_links (f, NULL, NULL, &err);
    ok (c && c->nnotes == 0, "static ports of %zu switches: the tables'%s",
        switches, err.text);
    check_destroy (c);
    f->node[leaf].spread.entry[0].port = 9; /* nobody's */
    f->node[leaf].spread.entry[7].port = 8;
    f->node[leaf].spread.entry[9].port = LFT_NO_ROUTE;
    f->node[leaf].lft[7] = 5;
    c = check_links (f, NULL, NULL, &err);
    ok (c && c->nnotes == 1 && c->nfindings == 0
            && strcmp (c->note[0], "s1-0001: the static ports of adaptive "
                                   "routing are not those of the forwarding "
                                   "table for 2 LIDs, first LID 7: port 8, "
                                   "and 5 in the table") == 0,
        "... not the table's: %s", c ? c->note[0] : "");
    check_destroy (c);
    fabric_destroy (f);
    f = generate_fat_tree (&(struct fat_tree){ .ports = 16, .levels = 2 },
                           &err);
    for (size_t i = 0; i < f->nnodes; i++) {
        const struct fabric_node *n = &f->node[i];

        for (unsigned int lid = 0; n->lft && lid <= n->lft_top; lid++)
            e[lid] = (struct spread_entry){ SPREAD_STATIC, 16, 0 };
        if (n->lft)
            fabric_set_groups (f, i, NULL, 0, e, &err);
    }
    c = check_links (f, NULL, NULL, &err);
    ok (c && c->nnotes == 21
            && strcmp (c->note[20], "... and for LIDs of 4 more switches") == 0,
        "... of 24 switches: 20 lines, and %s", c ? c->note[20] : "");
    check_destroy (c);
    fabric_destroy (f);
}

int main (void)
{
    test_static ();
    test_products ();
    test_rates ();
    test_cages ();
    test_capped ();
    test_mixed ();
    test_counters ();
    test_ber ();
    test_untold ();
    test_file ();
    return done_testing ();
}
