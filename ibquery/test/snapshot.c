/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "ibquery/lines.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/rng.h"

struct text {
    char *s;
    size_t len;
};

static struct text write_text (const struct fabric *f)
{
    struct text t = { 0 };
    struct error err;
    FILE *fp = open_memstream (&t.s, &t.len);

    if (fabric_write (f, fp, &err) < 0)
        diag ("%s", err.text);
    fclose (fp);
    return t;
}

static struct fabric *read_text (const char *s, size_t len, struct error *err)
{
    char empty[1] = "";
    FILE *fp = len > 0 ? fmemopen ((void *)s, len, "r")
                       : fmemopen (empty, 1, "r");
    struct fabric *f;

    err->text[0] = '\0';
    if (len == 0)
        fgetc (fp);
    f = fabric_read (fp, "test", err);
    fclose (fp);
    return f;
}

/* The text with its last line made right; the caller frees it. */
static struct text seal (const char *s, size_t len)
{
    struct text t = { 0 };
    FILE *fp = open_memstream (&t.s, &t.len);
    const char *p = s, *end = s + len, *newline;
    char hex[DIGEST_HEX];
    struct digest d;

    digest_init (&d);
    for (; p < end && (newline = memchr (p, '\n', end - p));
         p = newline + 1) {
        if (strncmp (p, "end ", 4) == 0)
            break;
        digest_bytes (&d, p, newline - p);
        fwrite (p, 1, newline + 1 - p, fp);
    }
    digest_hex (&d, hex);
    fprintf (fp, "end %s\n", hex);
    fclose (fp);
    return t;
}

static struct fabric *sealed (const char *s, size_t len, struct error *err)
{
    struct text t = seal (s, len);
    struct fabric *f = read_text (t.s, t.len, err);

    free (t.s);
    return f;
}

/* An error as people see it. */
static bool is_sentence (const struct error *err)
{
    return err->fault == ERROR_INPUT && strncmp (err->text, "test:", 5) == 0
           && err->text[5] >= '0' && err->text[5] <= '9'
           && strlen (err->text) < sizeof (err->text) - 1;
}

static struct fabric *model (unsigned int p, unsigned int q)
{
    struct fat_tree tree = {
        .ports = p,
        .levels = q,
        .how = { .routing = ROUTING_MINHOP, .seed = 3 },
    };
    struct error err;

    return generate_fat_tree (&tree, &err);
}

static void round_trip (void)
{
    static const struct {
        unsigned int p, q;
    } rows[] = { { 2, 1 }, { 4, 2 }, { 8, 3 }, { 4, 6 }, { 64, 2 } };
    struct error err;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct fabric *f = model (rows[i].p, rows[i].q), *g;
        struct text a, b = { 0 };

        f->time = 1795222883;
        a = write_text (f);
        g = read_text (a.s, a.len, &err);
        if (g)
            b = write_text (g);
        ok (g && a.len == b.len && memcmp (a.s, b.s, a.len) == 0
                && strcmp (g->hash, f->hash) == 0 && g->time == f->time
                && strcmp (g->source, f->source) == 0,
            "%u-port %u-tree: %zu bytes, the same again%s", rows[i].p,
            rows[i].q, a.len, err.text);
        fabric_destroy (f);
        fabric_destroy (g);
        free (a.s);
        free (b.s);
    }
}

/* What a tree does not have: LMC, rails, a router, unknown rates, what ports
 * can do, holes in a table, no table, a port that is not connected, warnings;
 * a part.
 */
static void odd_fabric (void)
{
    const struct port_rates rates = { .supported = { 0x14, 0x6e },
                                      .enabled = { 0, 0x6e },
                                      .active = { 0x10, 0x40 } };
    struct fabric *f = fabric_create (), *g;
    struct error err = { 0 };
    uint8_t lft[700];
    struct text a, b = { 0 };

    memset (lft, LFT_NO_ROUTE, sizeof (lft));
    memset (lft + 10, 3, 40);
    lft[600] = 1;
    for (int i = 100; i < 590; i++)
        lft[i] = i % 7;
    fabric_add_node (f, 0x10, NODE_CA, 2, "a x", &err);
    fabric_set_port (f, 0, 1, 0x11, 4, 2, &err);
    fabric_set_port (f, 0, 2, 0x12, 8, 0, &err);
    fabric_add_node (f, 0x20, NODE_SWITCH, 6, "", &err);
    fabric_set_switch_lid (f, 1, 1, &err);
    fabric_port_at (f, 0, 2, &err)->rates = rates;
    fabric_port_at (f, 1, 3, &err)->rates = rates;
    fabric_port_at (f, 1, 3, &err)->lrtl = FABRIC_MAX_LRTL;
    f->node[1].vendor = 0x2c9;
    f->node[1].device = 0x1b;
    fabric_set_plug (f, fabric_port_at (f, 0, 1, &err), "a \033 x");
    fabric_add_node (f, 0x30, NODE_SWITCH, 6, "spaced  name", &err);
    fabric_add_node (f, 0x40, NODE_ROUTER, 1, "r", &err);
    fabric_add_node (f, 0x50, NODE_CA, 1, "", &err);
    fabric_add_cable (f, 0, 1, 1, 1, 0, "", &err);
    fabric_add_cable (f, 0, 2, 1, 2, 12, "", &err);
    fabric_add_cable (f, 1, 3, 2, 3, 0, "FDR10", &err);
    fabric_add_cable (f, 1, 4, 3, 1, 1, "SDR", &err);
    fabric_add_cable (f, 2, 1, 2, 2, 4, "NDR", &err);
    fabric_set_lft (f, 1, lft, sizeof (lft) - 1, &err);
    fabric_warn (f, "a warning of %d", 1);
    f->part = true;
    f->subnet = 0xfec0000000000001;
    ok (fabric_finish (f, &err) == 0, "an odd fabric %s", err.text);
    a = write_text (f);
    g = read_text (a.s, a.len, &err);
    if (g)
        b = write_text (g);
    ok (g && a.len == b.len && memcmp (a.s, b.s, a.len) == 0 && g->part
            && g->subnet == 0xfec0000000000001,
        "... is the same again%s", err.text);
    ok (g && memcmp (g->node[fabric_find_node (g, 0x20)].lft, lft,
                     sizeof (lft)) == 0,
        "... its table, too");
    ok (g && strstr (a.s, "\nrates 0000000000000020/3 2,8x")
            && memcmp (&g->port[g->node[fabric_find_node (g, 0x20)].first_port
                                + 2].rates,
                       &rates, sizeof (rates)) == 0,
        "... and what its ports can do");
    ok (g && strstr (a.s, "\nproduct 0000000000000020 0002c9 001b\n")
            && g->node[fabric_find_node (g, 0x20)].vendor == 0x2c9
            && g->node[fabric_find_node (g, 0x20)].device == 0x1b
            && g->node[fabric_find_node (g, 0x10)].device == 0,
        "... and which product a node is, where it is known");
    ok (g && strstr (a.s, "\nlrtl 0000000000000020/3 16777214\n")
            && g->port[g->node[fabric_find_node (g, 0x20)].first_port + 2].lrtl
                   == FABRIC_MAX_LRTL,
        "... and how long a link's round trip takes");
    ok (g && strstr (a.s, "\nplug 0000000000000010/1 a ? x\n"),
        "... and what its plugs say, clean");
    fabric_destroy (f);
    fabric_destroy (g);
    free (a.s);
    free (b.s);
}

static struct spread_group ports (uint64_t low, uint64_t high)
{
    return (struct spread_group){ .port = { low, 0, 0, high } };
}

/* A switch that spreads messages, with each record of it. */
static struct fabric *spread_fabric (struct error *err)
{
    static const struct spread_group same = { .port = { 0x1e } };
    struct fabric *f = model (4, 2);
    uint32_t node = fabric_find_node (f, 0x0002c90100000010);
    struct fabric_node *n = &f->node[node];
    struct spread_group group[40];
    struct spread_entry entry[FABRIC_MAX_LID + 1];

    for (unsigned int i = 0; i < 40; i++)
        group[i] = i % 5 == 4 ? ports (2 << i % 4, 0) : same;
    group[7] = ports (0, 0);
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        entry[lid] = (struct spread_entry){
            .state = lid % 4,
            .port = lid == 3 ? LFT_NO_ROUTE : lid == 5 ? 4 : n->lft[lid],
            .group = lid % 4 == SPREAD_STATIC ? 0 : lid < 6 ? 39 : 5,
        };
    n->spread = (struct fabric_spread){
        .known = true, .recovery = true, .private_lfts = true, .ud = 1,
        .rc = 0xffff, .hashed = 0xfff0,
    };
    f->port[n->first_port].dropped = 0x8000;
    if (fabric_set_groups (f, node, group, 40, entry, err) < 0)
        diag ("%s", err->text);
    return f;
}

static void spread (void)
{
    struct error err = { 0 };
    struct fabric *f = spread_fabric (&err), *g, *plain = model (4, 2);
    uint32_t node = fabric_find_node (f, 0x0002c90100000010);
    const struct fabric_spread *a = &f->node[node].spread, *b;
    struct text s = write_text (f), t = { 0 }, bare = write_text (plain);

    g = read_text (s.s, s.len, &err);
    b = g ? &g->node[node].spread : NULL;
    if (g)
        t = write_text (g);
    ok (g && s.len == t.len && memcmp (s.s, t.s, s.len) == 0,
        "a switch that spreads messages is the same again%s", err.text);
    ok (b && b->known && b->recovery && b->private_lfts && b->ud == 1
            && b->rc == 0xffff && b->hashed == 0xfff0
            && g->port[g->node[node].first_port].dropped == 0x8000,
        "... what it does on which levels");
    ok (b && b->ngroups == 40 && b->entry
            && memcmp (a->group, b->group, 40 * sizeof (*a->group)) == 0
            && memcmp (a->entry, b->entry,
                       (f->node[node].lft_top + 1) * sizeof (*a->entry)) == 0,
        "... and to which ports");
    ok (strcmp (f->hash, plain->hash) == 0 && g
            && strcmp (g->hash, plain->hash) == 0,
        "... its hash is that of the fabric that does not");
    ok (strstr (s.s, "\ngroup 0-3 1e\n") && strstr (s.s, "\ngroup 5-6 1e\n")
            && strstr (s.s, "\nstatic\n3 ff\n5 04\n"),
        "... and its records are short");
    ok (!strstr (bare.s, "groups") && !strstr (bare.s, "hashed")
            && bare.len < s.len,
        "a fabric that does not spread any has none of them");
    free (s.s);
    free (t.s);
    free (bare.s);
    fabric_destroy (f);
    fabric_destroy (g);
    fabric_destroy (plain);
}

struct bad_line {
    const char *from; /* how the line starts */
    const char *to;
    const char *sentence;
};

/* One line replaced; NULL drops it. The checksum is right in the end. */
static void replace_lines (struct fabric *f, const struct bad_line *rows,
                           size_t nrows)
{
    struct text t = write_text (f);
    struct fabric *g;
    struct error err;

    for (size_t i = 0; i < nrows; i++) {
        char *start = t.s, *end, *copy = malloc (t.len + 256);
        size_t n, k = strlen (rows[i].from);

        while (strncmp (start, rows[i].from, k) != 0)
            start = strchr (start, '\n') + 1;
        end = strchr (start, '\n') + 1;
        n = start - t.s;
        memcpy (copy, t.s, n);
        if (rows[i].to)
            n += sprintf (copy + n, "%s\n", rows[i].to);
        memcpy (copy + n, end, t.s + t.len - end);
        n += t.s + t.len - end;
        g = sealed (copy, n, &err);
        ok (!g && is_sentence (&err) && strstr (err.text, rows[i].sentence),
            "%s", err.text);
        fabric_destroy (g);
        free (copy);
    }
    free (t.s);
    fabric_destroy (f);
}

static void bad_lines (void)
{
    static const struct bad_line rows[] = {
        { "pmm-fabric 1", "pmm-fabric 2", "only version 1 is known" },
        { "pmm-fabric 1", "pmm-fabric 1 ", "only version 1 is known" },
        { "pmm-fabric 1", "", "this is not a fabric snapshot" },
        { "pmm-fabric 1", "{\"kind\":\"plan\"}", "this is not a fabric" },
        { "source", "sauce", "\"sauce\" does not start a line" },
        { "source", "part of it", "\"of it\" is left over" },
        { "source", "subnet 1", "\"1\" is not a GUID of 16 hex digits" },
        { "source", "rates 0002c90000000010/1 4xHDR 4xHDR 4xHDR",
          "there is no node 0002c90000000010 above" },
        { "port 0002c90000000010",
          "rates 0002c90000000010/1 4xHDR 4xHDR 4xODR", "not a set of rates" },
        { "port 0002c90000000010",
          "rates 0002c90000000010/1 4xHDR 4xHDR", "not a set of rates" },
        { "port 0002c90000000010",
          "rates 0002c90000000010/2 4xHDR 4xHDR 4xHDR", "has no port 2" },
        { "port 0002c90000000010",
          "rates 0002c90000000010/1 - - - -", "is left over" },
        { "port 0002c90000000010", "lrtl 0002c90000000010/1 16777215",
          "\"16777215\" is not a LinkRoundTripLatency of 0 to 16777214" },
        { "port 0002c90000000010", "lrtl 0002c90000000010/2 1",
          "has no port 2" },
        { "port 0002c90000000010", "plug 0002c90000000010/2 x",
          "has no port 2" },
        { "port 0002c90000000010", "system 0002c90000000010 1",
          "\"1\" is not a GUID of 16 hex digits" },
        { "port 0002c90000000010",
          "system 0000000000000001 0002c90000000010", "there is no node" },
        { "port 0002c90000000010", "product 0002c90000000010 2c9 101b",
          "\"2c9\" is not a VendorID of 6 hex digits" },
        { "port 0002c90000000010", "product 0002c90000000010 0002c9 0101b",
          "\"0101b\" is not a DeviceID of 4 hex digits" },
        { "port 0002c90000000010", "state 0002c90000000010/2 init",
          "has no port 2" },
        { "port 0002c90000000010", "state 0002c90000000010/1 Init",
          "\"Init\" is not a state of a port" },
        { "port 0002c90000000010", "state 0002c90000000010/1 init now",
          "\"now\" is left over" },
        { "port 0002c90000000010", "adaptive 0002c90000000010 0000 0000",
          "ca 0002c90000000010 does not route" },
        { "cable 0002c90000000010/1", "adaptive 0002c90100000010 00001 0000",
          "is not a set of service levels of 4 hex digits" },
        { "cable 0002c90000000010/1", "adaptive 0002c90100000010 ffff",
          "\"\" is not a set of service levels" },
        { "source", "source a\nsource b", "a second source line" },
        { "source", "time 2026-13-01T00:00:00Z", "is not a time" },
        { "source", "time 2026-02-31T00:00:00Z", "is not a time" },
        { "source", "time yesterday", "is not a time" },
        { "source", "caf\xc3\xa9", "is not printable ASCII" },
        { "source", "source a\tb", "(0x09) is not printable ASCII" },
        { "hash", "hash 0", "is not a hash" },
        { "hash", "hash 00000000000000000000000000000000", "not the one" },
        { "hash", NULL, "not the one whose hash" },
        { "ca 0002c90000000010", "ca 2c90000000010 1 h0001", "is not a GUID" },
        { "ca 0002c90000000010", "ca 0002C90000000010 1 h0001",
          "is not a GUID" },
        { "ca 0002c90000000010", "ca 0002c900000000100 1 h0001",
          "is not a GUID" },
        { "ca 0002c90000000010", "ca 0000000000000000 1 h0001",
          "0000000000000000 is not a GUID" },
        { "ca 0002c90000000020", "ca 0002c90000000010 1 h0002",
          "occurs twice" },
        { "ca 0002c90000000010", "ca 0002c90000000010 0 h0001", "0 ports" },
        { "ca 0002c90000000010", "ca 0002c90000000010 300 h0001",
          "\"300\" is not a number of ports" },
        { "ca 0002c90000000010", "ca 0002c90000000010 01 h0001",
          "is not a number of ports" },
        { "ca 0002c90000000010", "ca 0002c90000000010 -1 h0001",
          "is not a number of ports" },
        { "ca 0002c90000000010", "ca 0002c90000000010 0x1 h0001",
          "is not a number of ports" },
        { "ca 0002c90000000010", "ca 0002c90000000010", "number of ports" },
        { "ca 0002c90000000010", "ca  0002c90000000010 1", "is not a GUID" },
        { "ca 0002c90000000010", NULL, "there is no node 0002c90000000010" },
        { "port 0002c90000000010/1", "port 0002c90000000010/2 "
          "0002c90000000011 1 0", "has no port 2" },
        { "port 0002c90000000010/1", "port 0002c90000000010/1 "
          "0002c90000000011 49152 0", "is not a LID" },
        { "port 0002c90000000010/1", "port 0002c90000000010/1 "
          "0002c90000000011 1 8", "is not a LMC" },
        { "port 0002c90000000010/1", "port 0002c90000000010/1 "
          "0002c90000000011 1 0 0", "\"0\" is left over" },
        { "port 0002c90000000010/1", "port 0002c90000000010/1 "
          "0002c90000000011 2 0", "LID 2 belongs to" },
        { "port 0002c90000000010/1", "port 0002c90000000010 "
          "0002c90000000011 1 0", "is not a GUID/PORT" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/9 4xHDR", "has no port 9" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/2 4xHDR", "has two cables" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/1 4xWARP", "is not a width and speed" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/1 5xHDR", "is not a width and speed" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/1 HDR", "is not a width and speed" },
        { "cable 0002c90000000010/1", "cable 0002c90000000010/1 "
          "0002c90100000010/1", "is not a width and speed" },
        { "cable 0002c90000000010/1", "lft 0002c90100000010 14",
          "a cable line is out of place" },
        { "lft 0002c90100000010", "lft 0002c90100000010 49152",
          "is not a LID" },
        { "lft 0002c90100000010", "lft 0002c90100000010 3",
          "do not belong here" },
        { "lft 0002c90100000010", "lft 0002c90000000010 14",
          "has no forwarding table" },
        { "lft 0002c90100000010", "lft 0002c90100000020 14",
          "two forwarding tables" },
        { "lft 0002c90100000010", "lft 0000000000000001 14",
          "there is no node" },
        { "lft 0002c90100000010", NULL, "table entries without a table" },
        { "1 ", "1 0", "not table entries" },
        { "1 ", "1 ", "not table entries" },
        { "1 ", "1", "not table entries" },
        { "1 ", "1 0102030g", "is not a port in hex" },
        { "1 ", "1 01020304 05", "is left over" },
        { "1 ", "1-4 0102", "not table entries" },
        { "1 ", "4-1 01", "do not belong here" },
        { "1 ", "1-49152 01", "is not a LID" },
        { "1 ", "1-15 01", "do not belong here" },
        { "1 ", "1-2 01\n2-3 01", "do not belong here" },
        { "1 ", "9 01\n2 01", "do not belong here" },
        { "1 ", "49151 010101", "do not belong here" },
    };
    replace_lines (model (4, 2), rows, sizeof (rows) / sizeof (rows[0]));
}

static void bad_spread (void)
{
#define SWITCH "0002c90100000010"
    static const struct bad_line rows[] = {
        { "hashed", "hashed 0002c90000000010 0000", "ca 0002c90000000010 does "
          "not route" },
        { "hashed", "hashed " SWITCH " 0000 0000", "\"0000\" is left over" },
        { "hashed", "hashed " SWITCH " 0x10",
          "is not a set of service levels" },
        { "adaptive", NULL, "there is no adaptive line for switch " SWITCH },
        { "recovery", "recovery " SWITCH " 1", "is left over" },
        { "private", "private 0000000000000001", "there is no node" },
        { "drops", "drops " SWITCH "/9 8000", "has no port 9" },
        { "drops", "drops " SWITCH "/1 8", "is not a set of service levels" },
        { "groups", NULL, "a group without a table of groups" },
        { "groups", "groups 0002c90000000010 40",
          "there is no forwarding table of 0002c90000000010" },
        { "groups", "groups " SWITCH " 4097", "is not a number of groups" },
        { "groups", "groups " SWITCH " 39", "groups 39 to 39 do not belong" },
        { "groups", "groups 0002c90100000020 40",
          "there is no forwarding table of 0002c90100000020" },
        { "lft 0002c90100000020",
          "groups " SWITCH " 1\nlft 0002c90100000020 14",
          "switch " SWITCH " has two tables of groups" },
        { "group 39", NULL, "goes to group 39, which has no ports" },
        { "group 39", "group 39 0", "\"0\" is not a set of ports" },
        { "group 39", "group 39 01", "\"01\" is not a set of ports" },
        { "group 39", "group 39", "\"\" is not a set of ports" },
        { "group 39", "group 39 1g", "is not a set of ports in hex" },
        { "group 39", "group 39 3e",
          "group 39 of switch " SWITCH " has port 5, and the switch ports 1 "
          "to 4" },
        { "group 39", "group 39 3", "has port 0" },
        { "group 39", "group 39 10000000000000000000000000000000000000000000000"
          "000000000000000000", "is not a set of ports" },
        { "group 39", "group 38 2", "groups 38 to 38 do not belong here" },
        { "group 39", "group 40 2", "groups 40 to 40 do not belong here" },
        { "group 39", "group 4096 2", "\"4096\" is not a group" },
        { "group 39", "group x 2", "\"x\" is not a group" },
        { "0 ", "0 002800281", "9 hex digits are not table entries" },
        { "0 ", "0 0027002g", "is not a group in hex" },
        { "0 ", "0 0028", "LID 0 of switch " SWITCH " goes to group 40 of 40" },
        { "0 ", "0 4000", "LID 0 of switch " SWITCH " is in state 4" },
        { "0 ", "0 ffff", "is in state 15" },
        { "static", "static\nstatic", "static ports without a table" },
        { "static", "static 1", "is left over" },
        { "3 ff", "3 05", "switch " SWITCH " has no port 5" },
    };
    struct error err = { 0 };

    replace_lines (spread_fabric (&err), rows,
                   sizeof (rows) / sizeof (rows[0]));
}

/* Without each of its lines, checksum right: refused, or what was dropped is
 * no part of the fabric.
 */
static void dropped_lines (void)
{
    struct fabric *f = model (4, 2), *g;
    struct text t = write_text (f);
    int lines = 0, accepted = 0, wrong = 0;
    struct error err;

    for (char *p = t.s; p < t.s + t.len; p = strchr (p, '\n') + 1, lines++) {
        size_t before = p - t.s, line = strchr (p, '\n') + 1 - p;
        char *copy = malloc (t.len);

        memcpy (copy, t.s, before);
        memcpy (copy + before, p + line, t.len - before - line);
        g = read_text (copy, t.len - line, &err);
        wrong += g != NULL || !is_sentence (&err);
        fabric_destroy (g);
        g = sealed (copy, t.len - line, &err);
        if (g) {
            accepted++;
            wrong += strcmp (g->hash, f->hash) != 0;
        } else
            wrong += !is_sentence (&err);
        fabric_destroy (g);
        free (copy);
    }
    ok (wrong == 0, "%d lines dropped one by one, none wrongly taken", lines);
    ok (accepted == 3, "... only generator, source and the last: %d",
        accepted);
    free (t.s);
    fabric_destroy (f);
}

static void truncated (void)
{
    struct fabric *f = model (8, 3), *g;
    struct text t = write_text (f);
    struct error err;
    int wrong = 0;

    for (int i = 0; i < 50; i++) {
        g = read_text (t.s, t.len * i / 50, &err);
        wrong += g != NULL || !is_sentence (&err);
        fabric_destroy (g);
    }
    for (size_t cut = 1; cut < 80; cut++) {
        g = read_text (t.s, t.len - cut, &err);
        wrong += g != NULL || !is_sentence (&err);
        fabric_destroy (g);
    }
    ok (wrong == 0, "cut short anywhere: refused");
    g = read_text (t.s, t.len * 2 / 3, &err);
    ok (!g && strstr (err.text, "the file is cut short"), "%s", err.text);
    free (t.s);
    fabric_destroy (f);
}

/* Random damage. As it is, the checksum must find it; with the checksum put
 * right, the parser meets it, and must not take another topology for this.
 */
static void damaged (void)
{
    enum { ROUNDS = 4000 };
    struct fabric *f = model (4, 2), *g;
    struct text t = write_text (f);
    char *copy = malloc (t.len);
    int found = 0, wrong = 0, taken = 0;
    struct error err;
    struct rng rng;

    rng_seed (&rng, 1);
    for (int i = 0; i < ROUNDS; i++) {
        size_t flips = 1 + rng_below (&rng, 3);

        memcpy (copy, t.s, t.len);
        while (flips-- > 0) {
            char *c = &copy[rng_below (&rng, t.len)], *d;

            if (i % 3 == 0)
                *c = rng_below (&rng, 256);
            else if (i % 3 == 1)
                *c = "0123456789abcdef/- \n"[rng_below (&rng, 20)];
            else { /* what is elsewhere in the file */
                d = &copy[rng_below (&rng, t.len)];
                *c = *d;
            }
        }
        g = read_text (copy, t.len, &err);
        found += !g || memcmp (copy, t.s, t.len) == 0;
        if (!g && !is_sentence (&err))
            wrong++;
        fabric_destroy (g);
        g = sealed (copy, t.len, &err);
        if (g) {
            taken++;
            wrong += strcmp (g->hash, f->hash) != 0;
        } else
            wrong += !is_sentence (&err);
        fabric_destroy (g);
    }
    ok (found == ROUNDS, "the checksum finds damage, %d times of %d", found,
        ROUNDS);
    ok (wrong == 0, "the parser takes no damaged topology (%d had damaged "
                    "texts only)", taken);
    free (copy);
    free (t.s);
    fabric_destroy (f);
}

static void foreign (void)
{
    static const struct {
        const char *text;
        size_t len;
        const char *sentence;
    } rows[] = {
        { "", 0, "test:1: the file is cut short" },
        { "\n", 1, "test:1: this is not a fabric snapshot" },
        { "\0\0\0\0", 4, "test:1: byte 1 of the line (0x00)" },
        { "pmm-fabric 1\n\0", 14, "test:2: byte 1 of the line (0x00)" },
        { "pmm-fabric 1", 12, "test:1: the file is cut short" },
        { "pmm-fabric 1\n", 13, "test:1: the file is cut short" },
        { "pmm-fabric 1\nend 0\n", 19, "test:2: the checksum is wrong" },
        { "pmm-fabric 1\r\n", 14, "(0x0d) is not printable ASCII" },
        { "#!/bin/sh\n", 10, "this is not a fabric snapshot" },
    };
    struct fabric *f = model (4, 2), *g;
    struct text t = write_text (f);
    struct error err;
    char *s;

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        g = read_text (rows[i].text, rows[i].len, &err);
        ok (!g && strstr (err.text, rows[i].sentence), "%s", err.text);
        fabric_destroy (g);
    }
    s = malloc (t.len + 1);
    memcpy (s, t.s, t.len);
    s[t.len] = '\n';
    g = read_text (s, t.len + 1, &err);
    ok (!g && strstr (err.text, "something follows"), "%s", err.text);
    fabric_destroy (g);
    free (s);

    s = malloc (1 << 20);
    memset (s, 'x', 1 << 20);
    memcpy (s, "pmm-fabric 1\n", 13);
    g = read_text (s, 1 << 20, &err);
    ok (!g && strstr (err.text, "test:2: the line is longer"), "%s", err.text);
    fabric_destroy (g);
    free (s);
    free (t.s);
    fabric_destroy (f);
}

/* A short file that asks for gigabytes of tables. */
static void bomb (void)
{
    struct text t = { 0 };
    FILE *fp = open_memstream (&t.s, &t.len);
    struct fabric *g;
    struct error err;

    fprintf (fp, "pmm-fabric 1\n");
    for (int i = 1; i <= 20000; i++)
        fprintf (fp, "switch %016x 1 %d\n", i, i);
    for (int i = 1; i <= 20000; i++)
        fprintf (fp, "lft %016x 49151\n1-49151 01\n", i);
    fclose (fp);
    g = sealed (t.s, t.len, &err);
    ok (!g && strstr (err.text, "too large for the length"), "%s", err.text);
    fabric_destroy (g);
    free (t.s);
}

int main (void)
{
    struct error err;

    round_trip ();
    odd_fabric ();
    bad_lines ();
    spread ();
    bad_spread ();
    dropped_lines ();
    truncated ();
    damaged ();
    foreign ();
    bomb ();
    ok (!fabric_load ("/nonexistent/fabric", &err), "%s", err.text);
    return done_testing ();
}
