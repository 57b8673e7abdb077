/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the stock tools wrote of one fabric, on a simulator: ibquery/test/data/
 * README says how. All that tells the fabric tells the same one; whatever is
 * cut short, left out, told twice or contradicts the rest is refused, with the
 * line.
 */
#include "config.h"
#include "ibquery/import/import.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/export/formats.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/rng.h"

enum { FILES = 3, MAX_TEXT = 1 << 15 };

struct text {
    const char *name;
    char *s;
    size_t len;
};

#define CABLES "ibnetdiscover >cables.txt makes a file that can be read"
#define TABLES "dump_fts >tables.txt makes a file that can be read"
#define TROUBLE "the tool could not ask a port: the file may be incomplete: " \
                "run it again as root"
#define LIST "x:1: this is a list of nodes without cables (ibnetdiscover -l, " \
             "ibhosts, ibswitches): " CABLES
#define UNKNOWN "x:1: the format is not known: what ibnetdiscover, dump_fts "  \
                "and ibroute print is read, opensm's and ibdiagnet's .lst "    \
                "and .fdbs, and ibdiagnet2.db_csv; " CABLES

static struct fabric *import (const struct text *file, size_t n,
                              struct error *err)
{
    struct import *d = import_create (NULL);
    struct fabric *f = NULL;
    bool good = true;

    err->text[0] = '\0';
    for (size_t i = 0; good && i < n; i++) {
        FILE *fp = fmemopen (file[i].s, file[i].len, "r");

        good = fp && import_file (d, fp, file[i].name, NULL, err) == 0;
        if (fp)
            fclose (fp);
    }
    if (good)
        f = import_finish (d, "test", err);
    import_destroy (d);
    return f;
}

static struct text load (const char *name)
{
    const char *dir = getenv ("srcdir");
    struct text t = { .name = name, .s = malloc (MAX_TEXT) };
    char path[512];
    FILE *fp;

    snprintf (path, sizeof (path), "%s/ibquery/test/data/%s", dir ? dir : "..",
              name);
    if ((fp = fopen (path, "r"))) {
        t.len = fread (t.s, 1, MAX_TEXT - 1, fp);
        fclose (fp);
    }
    t.s[t.len] = '\0';
    return t;
}

static struct text copy (const struct text *t)
{
    struct text c = { .name = t->name, .s = malloc (MAX_TEXT), .len = t->len };

    memcpy (c.s, t->s, t->len + 1);
    return c;
}

/* Files that tell one fabric. */
static const struct {
    const char *file[FILES];
    bool lmc;    /* it is the fabric with an LMC of 1 */
    bool damage; /* worth looking at when damaged */
} sets[] = {
    { { "tree.ibnetdiscover", "tree.dump_fts" }, false, true },
    { { "tree.ibnetdiscover", "tree.dump_fts-n" }, false, true },
    { { "tree.ibnetdiscover", "tree.dump_lfts" }, false, false },
    { { "tree.ibroute", "tree.ibnetdiscover" }, false, true },
    { { "tree.ibnetdiscover-f", "tree.lfts.dump" }, false, false },
    { { "tree.ibnetdiscover-g", "tree.fdbs" }, false, false },
    { { "tree.lst", "tree.fdbs" }, false, true },
    { { "tree.lst", "tree.lfts.dump" }, false, true },
    { { "tree.lst", "tree.dump_fts" }, false, false },
    { { "tree.ibdiagnet.lst", "tree.ibdiagnet.fdbs" }, false, false },
    { { "tree.lst", "tree.ibnetdiscover", "tree.dump_fts" }, false, false },
    { { "lmc.ibnetdiscover", "lmc.dump_fts" }, true, false },
    { { "lmc.ibnetdiscover", "lmc.dump_fts-n" }, true, false },
    { { "lmc.lst", "lmc.fdbs" }, true, true },
    { { "lmc.lst", "lmc.lfts.dump" }, true, false },
    { { "lmc.lst", "lmc.dump_fts" }, true, true },
    { { "tree.db_csv", "tree.ibdiagnet.fdbs" }, false, true },
    { { "tree.ibdiagnet.fdbs", "tree.db_csv", "tree.lst" }, false, false },
    { { "tree.db_csv", "tree.ibdiagnet.fdbs", "tree.far" }, false, true },
    { { "tree.db_csv", "tree.ibdiagnet.fdbs", "tree.net_dump_ext" }, false,
      true },
};
enum { SETS = sizeof (sets) / sizeof (sets[0]) };

static size_t load_set (size_t set, struct text file[FILES])
{
    size_t n = 0;

    for (; n < FILES && sets[set].file[n]; n++)
        file[n] = load (sets[set].file[n]);
    return n;
}

static void free_set (struct text file[FILES], size_t n)
{
    for (size_t i = 0; i < n; i++)
        free (file[i].s);
}

/* Nodes whose product is known as it should be. */
static size_t count_products (const struct fabric *f)
{
    size_t n = 0;

    for (size_t i = 0; f && i < f->nnodes; i++)
        if (f->node[i].vendor == 0x2c9)
            n += f->node[i].type != NODE_SWITCH ? f->node[i].device == 0x101b
                 : f->node[i].device == 0xcf08 || f->node[i].device == 0xd2f0;
    return n;
}

static void test_sets (char tree[33], char lmc[33])
{
    tree[0] = lmc[0] = '\0';
    for (size_t i = 0; i < SETS; i++) {
        char *hash = sets[i].lmc ? lmc : tree;
        struct text file[FILES];
        size_t n = load_set (i, file);
        struct error err;
        struct fabric *f = import (file, n, &err);

        if (f && !*hash)
            strcpy (hash, f->hash);
        ok (f && strcmp (f->hash, hash) == 0
                && count_products (f) == f->nnodes,
            "%s, %s: the same fabric: %s, %zu products", file[0].name,
            file[1].name, f ? f->hash : err.text, count_products (f));
        fabric_destroy (f);
        free_set (file, n);
    }
    ok (*tree && *lmc && strcmp (tree, lmc) != 0, "with an LMC, another one");
}

/* The file with `to` for `from`. False if there is none. */
static bool change (struct text *t, const char *from, const char *to, bool all)
{
    size_t cut = strlen (from), put = strlen (to);
    char *at = strstr (t->s, from);
    bool found = at;

    for (; at; at = all ? strstr (at + put, from) : NULL) {
        memmove (at + put, at + cut, t->s + t->len + 1 - at - cut);
        memcpy (at, to, put);
        t->len += put - cut;
    }
    return found;
}

/* A db_csv alone. */
static void test_csv (void)
{
    static const char comma[] = "a name, \"with\" commas";
    char plugs[FABRIC_PLUGS];
    struct text file = load ("tree.db_csv");
    struct import *d = import_create (NULL);
    FILE *fp = fmemopen (file.s, file.len, "r");
    const struct port_counters *p;
    const struct fabric_port *port;
    struct counters *c = NULL;
    struct fabric *f = NULL;
    struct error err = { 0 };

    if (import_file (d, fp, file.name, NULL, &err) == 0)
        f = import_finish (d, "test", &err);
    fclose (fp);
    ok (f && f->nhosts == 8 && f->nlinks == 16 && f->nwarnings == 1
            && strstr (f->warning[0], "no file has forwarding tables"),
        "a db_csv is a fabric without routes%s", err.text);
    ok (f && f->time == 1795310401 && f->subnet == 0xfe80000000000000,
        "... of a time, and a subnet");
    port = f ? &f->port[fabric_find_port (f, "s1-0002/3")] : NULL;
    ok (port && port->state == PORT_ACTIVE && port->lrtl == 238
            && port->rates.active.speeds == rates_of (0, "HDR").speeds
            && strcmp (f->link[port->link].speed, "HDR") == 0
            && f->link[port->link].width == 4,
        "... with states and rates of ports");
    ok (port && f->node[port->node].spread.known
            && f->node[port->node].spread.rc == 0xfffd
            && f->node[port->node].spread.ud == 0,
        "... and what switches route adaptively");
    ok (f && !strcmp (fabric_plugs (f, fabric_find_link (f, "h0001/1"), plugs),
                      "Mellanox MCP1650-H001E30 serial MT2049VS00001"),
        "... what the plugs of a cable say, once if it is the same");
    ok (f && !strcmp (fabric_plugs (f, fabric_find_link (f, "h0002/1"), plugs),
                      "A, B x y serial <b>?[1m123456789 -- ?"),
        "... clean, and 16 bytes of each of their texts");
    ok (f && !strcmp (fabric_plugs (f, fabric_find_link (f, "s1-0001/3"),
                                    plugs), "Somebody serial 12 -- ?"),
        "... as far as they are known");
    c = f ? import_counters (d, f, &err) : NULL;
    ok (c && c->nports == 32 && c->time == f->time && c->lasted == 42
            && strcmp (c->fabric, f->hash) == 0,
        "... and counters of all cables%s", err.text);
    p = c ? counters_find (c, 0x0002c90100000020, 3) : NULL;
    ok (p && p->fec == FEC_RS
            && p->value[COUNTER_XMIT_DATA] == 78187493567
            && p->value[COUNTER_EFFECTIVE_BER] == 3000000
            && p->value[COUNTER_SYMBOL_BER] == 0 && p->at_end == 0
            && !(p->told >> COUNTER_RCV_CONSTRAINT & 1),
        "... of 64 bits where it has them, and bit error rates");
    p = c ? counters_find (c, 0x0002c90000000010, 1) : NULL;
    ok (p && p->told >> COUNTER_SYMBOL_ERRORS & 1
            && p->value[COUNTER_SYMBOL_ERRORS] == 0,
        "... of 16 where the others are not known");
    counters_destroy (c);
    c = NULL;
    ok (!f || (!import_counters (d, f, &err)
               && strcmp (err.text, "no file has counters") == 0),
        "... once");
    fabric_destroy (f);
    import_destroy (d);

    ok (change (&file, "h0001 mlx5_0", comma, false)
            && change (&file, "# Running", "# Sleeping", true),
        "a name with quotes");
    f = import (&file, 1, &err);
    ok (f && f->time == 0
            && strcmp (f->node[fabric_find_node (f, 0x0002c90000000010)].desc,
                       comma) == 0,
        "... stays whole%s", err.text);
    fabric_destroy (f);
    free (file.s);
}

static void test_ber (void)
{
    struct text file[] = { load ("tree.db_csv"), load ("tree.net_dump_ext") };
    struct import *d = import_create (NULL);
    const struct port_counters *p;
    struct counters *c = NULL;
    struct fabric *f = NULL;
    struct error err = { 0 };
    int rc = 0;

    for (int i = 0; rc == 0 && i < 2; i++) {
        FILE *fp = fmemopen (file[i].s, file[i].len, "r");

        rc = import_file (d, fp, file[i].name, NULL, &err);
        fclose (fp);
    }
    if (rc == 0 && (f = import_finish (d, "test", &err)))
        c = import_counters (d, f, &err);
    p = c ? counters_find (c, 0x0002c90100000010, 1) : NULL;
    ok (p && p->value[COUNTER_RAW_BER] == 40000000000
            && p->value[COUNTER_EFFECTIVE_BER] == 200000
            && p->value[COUNTER_SYMBOL_BER] == 0,
        "bit error rates of a net_dump_ext%s", err.text);
    counters_destroy (c);
    fabric_destroy (f);
    import_destroy (d);
    free (file[0].s);
    free (file[1].s);
}

/* How switches spread messages: groups, entries, private LFTs. */
static void test_spread (void)
{
    static const char more[] = "osm_ucast_mgr_dump_ucast_routes: Switch "
                               "0x0002c90200000010";
    struct text file[FILES] = { load ("tree.db_csv"),
                                load ("tree.ibdiagnet.fdbs"),
                                load ("tree.far") };
    struct text plft = { "x.plft", strdup ("dump_plft: Switch "
                                           "0x0002c90200000020\nrq: 1\n"), 0 };
    char later[256];
    const struct fabric_spread *a;
    struct error err;
    struct fabric *f;

    snprintf (later, sizeof (later), "PLFT_NUM: 1\n0x0001 : 004\n%s", more);
    ok (change (&file[1], more, later, false), "a second table");
    f = import (file, 3, &err);
    a = f ? &f->node[fabric_find_node (f, 0x0002c90100000010)].spread : NULL;
    ok (a && a->ngroups == 2 && a->group[1].port[0] == (1 << 3 | 1 << 4)
            && a->group[0].port[0] == 0,
        "groups%s", err.text);
    ok (a && a->entry[1].state == SPREAD_STATIC && a->entry[1].port == 1
            && a->entry[3].state == SPREAD_FREE && a->entry[3].port == 3
            && a->entry[3].group == 1 && a->entry[14].state == SPREAD_HASHED
            && a->entry[0].state == SPREAD_STATIC
            && a->entry[0].port == LFT_NO_ROUTE,
        "... and entries");
    ok (a && a->known && a->private_lfts && a->recovery && a->hashed == 1,
        "... private LFTs, fast recovery, hashed routing");
    a = f ? &f->node[fabric_find_node (f, 0x0002c90200000020)].spread : NULL;
    ok (a && a->known && !a->private_lfts && !a->entry,
        "... each of its own switch");
    fabric_destroy (f);

    plft.len = strlen (plft.s);
    free (file[2].s);
    file[2] = plft;
    f = import (file, 3, &err);
    a = f ? &f->node[fabric_find_node (f, 0x0002c90200000020)].spread : NULL;
    ok (a && a->private_lfts, "a .plft lists switches with private LFTs%s",
        err.text);
    fabric_destroy (f);
    free_set (file, FILES);
}

/* A sentence of FILE:LINE, or of what no file has. */
static bool is_sentence (const struct error *err)
{
    const char *colon = strchr (err->text, ':');

    if (err->fault != ERROR_INPUT)
        return false;
    return strncmp (err->text, "no file has ", 12) == 0
           || (colon && colon[1] >= '0' && colon[1] <= '9');
}

/* Not another fabric than the one with this hash. */
static bool is_right (const struct text *file, size_t n, const char *hash)
{
    struct error err;
    struct fabric *f = import (file, n, &err);
    bool right = f ? strcmp (f->hash, hash) == 0 : is_sentence (&err);

    if (!right)
        diag ("%s", f ? f->hash : err.text);
    fabric_destroy (f);
    return right;
}

static size_t line_end (const struct text *t, size_t from)
{
    const char *end = memchr (t->s + from, '\n', t->len - from);

    return end ? (size_t)(end + 1 - t->s) : t->len;
}

/* The file without, or with twice, what is from .. to. */
static void edit (struct text *t, const struct text *of, size_t from,
                  size_t to, bool twice)
{
    size_t skip = twice ? from : to;

    memcpy (t->s, of->s, to);
    memcpy (t->s + (twice ? to : from), of->s + skip, of->len - skip + 1);
    t->len = (twice ? to : from) + of->len - skip;
}

/* Each file of a set cut anywhere, and without each line, and with each twice:
 * the fabric, or a sentence. opensm-lfts.dump alone does not tell that a switch
 * has no route to a LID, so there no line is left out.
 */
static void test_damage (size_t set, const char *hash)
{
    struct text file[FILES];
    const size_t step = 31 * (5 - trials (4)); /* fewer cuts in the default */
    size_t n = load_set (set, file), wrong = 0, tried = 0;

    for (size_t i = 0; i < n; i++) {
        struct text whole = file[i], part = copy (&whole);

        file[i] = part;
        for (size_t len = 1; len < whole.len; len += step + len % 17) {
            file[i].len = len;
            wrong += !is_right (file, n, hash);
            tried++;
        }
        for (size_t at = 0, end; at < whole.len; at = end) {
            end = line_end (&whole, at);
            for (int twice = !!strstr (whole.name, ".lfts.dump"); twice < 2;
                 twice++) {
                edit (&file[i], &whole, at, end, twice);
                wrong += !is_right (file, n, hash);
                tried++;
            }
        }
        free (part.s);
        file[i] = whole;
    }
    ok (wrong == 0, "%s, %s: of %zu that are damaged, %zu are another fabric",
        file[0].name, file[1].name, tried, wrong);
    free_set (file, n);
}

/* Noise: whatever comes, no more than an error. */
static void test_noise (size_t set)
{
    struct text file[FILES];
    size_t n = load_set (set, file), good = 0;
    struct rng rng;

    rng_seed (&rng, set + 1);
    for (int round = 0; round < 100; round++) {
        size_t i = rng_below (&rng, n);
        struct text whole = file[i];
        struct error err;
        struct fabric *f;

        file[i] = copy (&whole);
        for (uint64_t k = 1 + rng_below (&rng, 4); k > 0; k--)
            file[i].s[rng_below (&rng, whole.len)] =
                rng_below (&rng, 2) ? (char)rng_below (&rng, 256)
                                    : whole.s[rng_below (&rng, whole.len)];
        f = import (file, n, &err);
        good += f || *err.text;
        fabric_destroy (f);
        free (file[i].s);
        file[i] = whole;
    }
    ok (good == 100, "%s, %s: changed at random, a fabric or an error",
        file[0].name, file[1].name);
    free_set (file, n);
}

/* One thing said otherwise in one file of a set. */
static const struct {
    size_t set, file;
    const char *from, *to;
    bool all; /* or only the first */
    const char *error;
} changes[] = {
    { 0, 0, "Switch\t4 \"S-0002c90100000040\"",
      "Switch\t5 \"S-0002c9010000004x\"", false,
      "tree.ibnetdiscover:10: this is not a node as ibnetdiscover writes "
      "them" },
    { 0, 0, "port 0 lid 9 ", "port 0 lid 7 ", false,
      "tree.ibnetdiscover:44: the far end's LID 9 is 7 in "
      "tree.ibnetdiscover:10" },
    { 0, 0, "port 0 lid 9 ", "port 0 lid 0 ", false,
      "tree.ibnetdiscover:44: the far end's LID 9 is 0 in "
      "tree.ibnetdiscover:10" },
    { 0, 0, "port 0 lid 9 ", "port 0 lid 49152 ", false,
      "tree.ibnetdiscover:10: this is not a node as ibnetdiscover writes "
      "them" },
    { 0, 0, "h0007 mlx5_0\" lid 13", "h0007 mlx5_0\" lid 12", false,
      "tree.ibnetdiscover:11: the far end's LID 12 is 13 in "
      "tree.ibnetdiscover:78" },
    { 0, 0, "[3]\t\"S-0002c90200000010\"[4]",
      "[3]\t\"S-0002c90200000010\"[3]", false,
      "tree.ibnetdiscover:13: port 3 leads to 0002c90200000010/3, which "
      "leads to 0002c90100000030/3 in tree.ibnetdiscover:53" },
    { 0, 0, "[3]\t\"S-0002c90200000010\"[4]",
      "[3]\t\"S-0002c90200000011\"[4]", false,
      "tree.ibnetdiscover:13: port 3 leads to 0002c90200000011/4, which "
      "no file has: is the file complete?" },
    { 0, 0, "[3]\t\"S-0002c90200000010\"[4]",
      "[2]\t\"S-0002c90200000010\"[4]", false,
      "tree.ibnetdiscover:13: port 2 of 0002c90100000040 leads to "
      "0002c90200000010/4, but to 0002c90000000080/1 in "
      "tree.ibnetdiscover:12" },
    { 0, 0, "[3]\t\"S-0002c90200000010\"[4]",
      "[5]\t\"S-0002c90200000010\"[4]", false,
      "tree.ibnetdiscover:13: switch 0002c90100000040 has no port 5" },
    { 0, 0, "4xHDR", "5xHDR", false,
      "tree.ibnetdiscover:11: no cable has 5 lanes" },
    { 0, 0, "4xHDR", "4xFAST", false,
      "tree.ibnetdiscover:11: FAST is not a speed" },
    { 0, 0, "4xHDR", "4xMUCHTOOFAST", false,
      "tree.ibnetdiscover:11: this is not a port as ibnetdiscover writes "
      "them" },
    { 0, 0, "# lid 14 lmc 0", "# lid 14 lmc 1", false,
      "tree.dump_fts:1: the table has LIDs 0 to 14 only, but LID 15 is "
      "in tree.ibnetdiscover:71" },
    { 0, 0, "# lid 14 lmc 0", "# lid 15 lmc 0", false,
      "tree.ibnetdiscover:12: the far end's LID 14 is 15 in "
      "tree.ibnetdiscover:71" },
    { 0, 0, "# lid 14 lmc 0", "# lid 14 lmc 8", false,
      "tree.ibnetdiscover:71: this is not a port as ibnetdiscover writes "
      "them" },
    { 0, 0, "vendid", "wendid", false,
      "tree.ibnetdiscover:6: this is not a line of ibnetdiscover's: take it "
      "out, if ibnetdiscover did not print it" },
    { 0, 1, "0x000e 002 : (Channel Adapter portguid 0x0002c90000000081",
      "0x000e 002 : (Channel Adapter portguid 0x0002c90000000091", false,
      "tree.dump_fts:35: LID 14 belongs to port GUID 0002c90000000081, "
      "but to 0002c90000000091 in tree.dump_fts:17" },
    { 0, 1, "0x0009 000", "0x0009 001", false,
      "tree.dump_fts:1: LID 9 leads to port 1 of switch "
      "0002c90100000040, but is its own in tree.ibnetdiscover:10" },
    { 0, 1, "0x000e 002", "0x000d 002", false,
      "tree.dump_fts:17: LID 13 does not belong here" },
    { 0, 1, "0x000e 002", "0x000f 002", false,
      "tree.dump_fts:17: LID 15 does not belong here" },
    { 0, 1, "0x000e 002", "0x000e 256", false,
      "tree.dump_fts:17: this is not an entry of a forwarding table" },
    { 0, 1, "[0x0-0xe]", "[0x2-0xe]", false,
      "tree.dump_fts:4: LID 1 does not belong here" },
    { 0, 1, "[0x0-0xe]", "[0x0-0xd]", false,
      "tree.dump_fts:17: LID 14 does not belong here" },
    { 0, 1, "[0x0-0xe]", "[0xe-0x0]", false,
      "tree.dump_fts:1: a forwarding table cannot have LIDs 14 to 0" },
    { 0, 1, "14 valid", "13 valid", false,
      "tree.dump_fts:18: the table has 14 entries, not 13" },
    { 0, 1, "14 valid lids dumped \nU", "15 valid lids dumped \nU", false,
      "tree.dump_fts:18: the table has 14 entries, not 15" },
    { 0, 1, "guid 0x0002c90100000040", "guid 0x0002c90100000030", false,
      "tree.dump_fts:1: LID 7 leads to port 3 of switch "
      "0002c90100000030, but is its own in tree.ibnetdiscover:20" },
    { 0, 1, "guid 0x0002c90100000040", "guid 0x0002c90000000010", false,
      "tree.dump_fts:1: 0002c90000000010 is not a switch of the topology" },
    { 0, 1, "  Lid", "SubnGet(LFT) failed on switch\n  Lid", false,
      "tree.dump_fts:2: " TROUBLE },
    { 0, 1, "  Lid",
      "ibwarn: [2212] dump_unicast_tables: linear fwd tbl\n  Lid", false,
      "tree.dump_fts:2: " TROUBLE },
    { 0, 0, "vendid", "src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1 "
      "Attr 0x11:0) bad status 110; Connection timed out\nvendid", false,
      "tree.ibnetdiscover:6: " TROUBLE },
    { 0, 0, "h0007 mlx5_0\" lid 13 4xHDR", "h0007 src/query_smp.c:195; umad "
      "(DR path) bad status 110; Connection timed out\nmlx5_0\" lid 13 4xHDR",
      false, "tree.ibnetdiscover:11: " TROUBLE },
    { 0, 1, "Unicast lids [0x0-0xe] of switch DR",
      "Multicast mlids [0xc000-0xc3ff] of switch DR", false,
      "tree.dump_fts:1: this is a dump of multicast tables: " TABLES },
    { 1, 1, "0x0009 000", "0x0009 001", false,
      "tree.dump_fts-n:1: LID 9 leads to port 1 of switch "
      "0002c90100000040, but is its own in tree.ibnetdiscover:10" },
    { 5, 1, "dump_ucast_routes: Switch 0x0002c90100000020",
      "PLFT_NUM: 1", false,
      "tree.ibnetdiscover-g:32: no file has the forwarding table of switch "
      "0002c90100000020 (s1-0002)" },
    { 5, 1, "0x0002 : 000", "0x0003 : 000", false,
      "tree.fdbs:4: the LIDs of a table follow one another" },
    { 5, 1, "0x0002 : 000  :", "0x0002 : none:", false,
      "tree.fdbs:4: this is not a port of a forwarding table" },
    { 6, 0, "LID:0006", "LID:0007", false,
      "tree.lst:10: LID 6 is 7 in tree.lst:3" },
    { 6, 0, "Ports:04", "Ports:05", false,
      "tree.lst:2: 0002c90100000010 is a switch of 4 ports, but a switch "
      "of 5 in tree.lst:1" },
    { 6, 0, "{ CA-SM", "{ XX-SM", false,
      "tree.lst:1: this is not a cable of a .lst" },
    { 6, 0, "LOG=ACT", "LOG=DWN", false,
      "tree.lst:2: the cable is not listed from its other end, as others "
      "are: lines are missing" },
    { 6, 0, "PortGUID:0002c90000000011", "PortGUID:0002c90000000012", false,
      "tree.lst:2: port GUID 0002c90000000011 is 0002c90000000012 in "
      "tree.lst:1" },
    { 10, 0, "LID:0006", "LID:0016", false,
      "tree.lst:10: LID 6 is 22 in tree.lst:3" },
    { 7, 1, "0x000e 00", "# 0x000e 00", false,
      "tree.lfts.dump:1: LID 14 is not in this table, nor that it has no "
      "route: give opensm.fdbs or the output of dump_fts" },
    { 0, 1, "0x000e 002", "0x000e 001", false,
      "tree.dump_fts:1: switch 0002c90100000040 sends LID 14, of "
      "tree.ibnetdiscover:71, to port 1, which leads to another node" },
    { 0, 1, "0x000e 002", "0x000e 003", false,
      "tree.dump_fts:73: switch 0002c90200000010 sends LID 14, of "
      "tree.ibnetdiscover:71, to port 4, from where it comes back" },
    { 0, 1, "0x000e 002", "0x000e 005", false,
      "tree.dump_fts:1: switch 0002c90100000040 sends LID 14, of "
      "tree.ibnetdiscover:71, to port 5, which leads nowhere" },
    { 0, 1, "0x000e 002", "0x000e 000", false,
      "tree.dump_fts:1: switch 0002c90100000040 sends LID 14, of "
      "tree.ibnetdiscover:71, to port 0, which leads nowhere" },
    { 6, 1, "0x000E : 004  : 02   : yes\ndump_ucast_routes: Switch "
            "0x0002c90100000030",
      "0x000E : UNREACHABLE\ndump_ucast_routes: Switch 0x0002c90100000030",
      false,
      "tree.fdbs:1: switch 0002c90100000010 sends LID 14, of tree.lst:26, to "
      "port 4, where it has no route" },
    { 13, 0, "LID:000A", "LID:0009", true,
      "lmc.fdbs:43: LID 11 is not known to be of the port with LID 9 in "
      "lmc.lst:19, whose LMC no file has" },
    { 15, 0, "LID:0002", "LID:0001", true,
      "lmc.dump_fts:5: LID 3 is not known to be of the port with LID 1 in "
      "lmc.lst:1, whose LMC no file has" },
    { 15, 1, "#2 out of 2: portguid 0x0002c90000000011", "#2 out of 2", true,
      "lmc.dump_fts:35: LID 3 is not known to be of the port with LID 2 in "
      "lmc.lst:1, whose LMC no file has" },
    { 13, 1, "0x000D : 003  : 02   : yes\ndump", "dump", false,
      "lmc.fdbs:1: the table has LIDs 1 to 12 only, but LID 13 is in "
      "lmc.lst:22" },
    { 16, 0, "END_NODES", "START_PORTS", false,
      "tree.db_csv:24: section NODES has no end: the file is cut" },
    { 16, 0, "END_LINKS", "END_CABLES", false,
      "tree.db_csv:99: section LINKS has no end: the file is cut" },
    { 16, 0, "START_LINKS", "START_CABLES\nEND_CABLES", false,
      "tree.db_csv:195: the file has no section LINKS: it is cut, or "
      "ibdiagnet left it out" },
    { 16, 0, "NumPorts,", "Ports,", false,
      "tree.db_csv:9: section NODES has no column NumPorts" },
    { 16, 0, "PortNum,", "LMC,", false,
      "tree.db_csv:28: column LMC occurs twice" },
    { 16, 0, ",713,1\n", ",713\n", false,
      "tree.db_csv:10: 12 fields in section NODES, which has 13 columns" },
    { 16, 0, ",713,1\n", ",713,1,,\n", false,
      "tree.db_csv:10: 15 fields in section NODES, which has 13 columns" },
    { 16, 0, "\",1,1,", "\",256,1,", false,
      "tree.db_csv:10: \"256\" in column NumPorts is not a number of 0 to "
      "255" },
    { 16, 0, "\",1,1,", "\",1,4,", false,
      "tree.db_csv:10: \"4\" in column NodeType is not a number of 0 to 3" },
    { 16, 0, "\",1,1,", "\",1,0,", false,
      "tree.db_csv:10: 0 is not a type of node" },
    { 16, 0, "\",1,1,", "\",1,N/A,", false,
      "tree.db_csv:10: column NodeType has no value" },
    { 16, 0, "\",1,1,", "\",-1,1,", false,
      "tree.db_csv:10: \"-1\" in column NumPorts is not a number of 0 to "
      "255" },
    { 16, 0, "0x0002c90000000020,0x0002c90000000021",
      "0x0002c90000000010,0x0002c90000000021", false,
      "tree.db_csv:11: section NODES has this node or port twice" },
    { 16, 0, "0x0002c90000000020,0x0002c90000000021,1,0x0",
      "0x0002c90000000010,0x0002c90000000021,1,0x0", false,
      "tree.db_csv:30: section PORTS has this node or port twice" },
    { 16, 0, "0x0002c90000000020,0x0002c90000000021,1,0x0",
      "0x0002c90000000022,0x0002c90000000021,1,0x0", false,
      "tree.db_csv:30: no section NODES above has 0002c90000000022" },
    { 16, 0, "0x0002c90000000021,1,0x0", "0x0002c90000000021,2,0x0", false,
      "tree.db_csv:30: ca 0002c90000000020 has no port 2" },
    { 16, 0, "0x0002c90100000010,2,0x0002c90000000020,1",
      "0x0002c90100000010,0,0x0002c90000000020,1", false,
      "tree.db_csv:84: no section PORTS above has port 0002c90100000010/0" },
    { 16, 0, "0x0002c90100000010,2,0x0002c90000000020,1",
      "0x0002c90100000010,1,0x0002c90000000020,1", false,
      "tree.db_csv:84: port 1 of 0002c90100000010 leads to "
      "0002c90000000020/1, but to 0002c90000000010/1 in tree.db_csv:83" },
    { 16, 0, "0x0002c90100000010,2,0x0002c90000000020,1",
      "0x0002c90100000010,2,0x0002c90000000010,1", false,
      "tree.db_csv:84: port 0002c90000000010/1 has two cables" },
    { 16, 0, "0x0002c90000000021", "0x0002c90000000011", true,
      "tree.db_csv:30: port GUID 0002c90000000011 is of another port in "
      "tree.db_csv:29" },
    { 16, 0, "0xfe80000000000000,1,6,", "0xfe80000000000000,1,1,", false,
      "tree.db_csv:30: LID 1 belongs to 0002c90000000020, but to "
      "0002c90000000010 in tree.db_csv:29" },
    { 16, 0, "START_AR_INFO\nNodeGUID,e,", "START_AR_INFO\nNodeGUID,E2,",
      false, "tree.db_csv:103: section AR_INFO has no column e" },
    { 16, 0, "START_PM_INFO\nNodeGUID", "START_PM_INFO\nNode", false,
      "tree.db_csv:114: section PM_INFO has no column NodeGUID" },
    { 16, 0, "0x0002c90000000011,1,0,0,0,", "0x0002c90000000011,1,65536,0,0,",
      false, "tree.db_csv:115: SymbolErrorCounter has no more than 16 bits" },
    { 16, 0, "0x0002c90000000011,1,0,0,0,", "0x0002c90000000011,1,x,0,0,",
      false,
      "tree.db_csv:115: \"x\" in column SymbolErrorCounter is not a number of "
      "0 to 18446744073709551615" },
    { 16, 0, "END_CABLE_INFO", "", false,
      "tree.db_csv:194: section CABLE_INFO has no end: the file is cut" },
    { 16, 0, ",1,\"CableInfo", ",2,\"CableInfo", false,
      "tree.db_csv:189: ca 0002c90000000010 has no port 2" },
    { 16, 0, "0x0002c90100000010,2,\"CableInfo", "0x0002c90100000010,1,\"C",
      false,
      "tree.db_csv:192: section CABLE_INFO has this node or port twice" },
    { 16, 0, "0x0002c90000000011,1,\"C", "0x0002c90000000012,1,\"C", false,
      "tree.db_csv:189: port GUID 0002c90000000012 is 0002c90000000011 in "
      "section PORTS" },
    { 16, 0, ",\"A, B\",", ",A, B,", false,
      "tree.db_csv:191: 11 fields in section CABLE_INFO, which has 10 columns" },
    { 18, 0, "_AR_INFO", "_RA_INFO", true,
      "tree.far:7: switch 0002c90100000010 has groups or private LFTs, and no "
      "file has its AR_INFO: give ibdiagnet2.db_csv as well" },
    { 18, 2, "3,4,", "3,5,", false,
      "tree.far:7: group 1 of switch 0002c90100000010 has port 5, and the "
      "switch ports 1 to 4" },
    { 18, 2, "3,4,", "", false,
      "tree.far:7: LID 3 of switch 0002c90100000010 goes to group 1, which has "
      "no ports" },
    { 18, 2, "3,4,", "3;4,", false,
      "tree.far:12: \";4,\" is not a port" },
    { 18, 2, "1       1  ", "1       0  ", false,
      "tree.far:13: group 1, sub-group 0 does not belong here" },
    { 18, 2, "1       1  ", "4096    1  ", false,
      "tree.far:13: group 4096, sub-group 1 does not belong here" },
    { 18, 2, "1       1  ", "1       x  ", false,
      "tree.far:13: this is not a group of a .far" },
    { 18, 2, "Free        1", "Free        2", false,
      "tree.far:7: LID 3 of switch 0002c90100000010 goes to group 2 of 2" },
    { 18, 2, "0x0001  001", "0x0001  009", false,
      "tree.far:7: LID 1 of switch 0002c90100000010 has static port 9, and the "
      "switch ports 1 to 4" },
    { 18, 2, "0x0002  000", "0x0001  000", false,
      "tree.far:20: LID 1 does not belong here" },
    { 18, 2, "Static      0", "Stable      0", false,
      "tree.far:19: this is not an entry of a .far" },
    { 18, 2, "0x000e  004", "-       -  ", false,
      "tree.far:7: the table of switch 0002c90100000010 ends at LID 13, but "
      "LID 14 is in tree.db_csv:36" },
    { 18, 2, "PLFT_NUM: 0", "PLFT_NUM: x", false,
      "tree.far:16: this does not begin a table of a .far" },
    { 18, 2, "LFT Definition:\n", "Switch 0x0002c90200000020\n", false,
      "tree.far:15: switch 0002c90100000010 has groups and no table: lines are "
      "missing" },
    { 18, 2, "Switch 0x0002c90100000010", "Switch 0x0002c90000000010", false,
      "tree.far:7: 0002c90000000010 is not a switch of the topology" },
    { 18, 2, "Switch 0x0002c90100000020", "Switch 0x0002c90100000010", false,
      "tree.far:35: switch 0002c90100000010 has two tables of groups" },
    { 18, 2, "Switch 0x0002c90100000010", "Switch: 0x0002c90100000010", false,
      "tree.far:7: this does not belong to a switch" },
    { 19, 2, ": Symbol BER :", ": Cymbal BER :", false,
      "tree.net_dump_ext:5: column Symbol BER is missing" },
    { 19, 2, ": 3e-05 : N/A", ": 3e-05", false,
      "tree.net_dump_ext:8: this is not a port of a net_dump_ext" },
    { 19, 2, ": 4e-08", ": 4e+08", false,
      "tree.net_dump_ext:7: \"4e+08\" is not a bit error rate" },
    { 19, 2, ": 4e-08", ": nan", false,
      "tree.net_dump_ext:7: \"nan\" is not a bit error rate" },
    { 19, 2, "0x0002c90100000010", "0x0002c90100000011", false,
      "tree.net_dump_ext:7: no section NODES above has 0002c90100000011" },
    { 19, 2, "SW : 3     : 3 ", "SW : 3     : 1 ", false,
      "tree.net_dump_ext:8: the file has this node or port twice" },
    { 19, 2, "SW : 3     : 3 ", "SW : 3     : 0x3 ", false,
      "tree.net_dump_ext:8: this is not a port of a net_dump_ext" },
};

static void test_changes (void)
{
    for (size_t i = 0; i < sizeof (changes) / sizeof (changes[0]); i++) {
        struct text file[FILES], *changed = &file[changes[i].file];
        size_t n = load_set (changes[i].set, file);
        bool found = change (changed, changes[i].from, changes[i].to,
                             changes[i].all);
        struct error err;
        struct fabric *f = import (file, n, &err);

        ok (found && !f && strcmp (err.text, changes[i].error) == 0, "%s",
            f ? changes[i].error : err.text);
        fabric_destroy (f);
        free_set (file, n);
    }
}

static const struct {
    const char *text, *error;
} refused[] = {
    { "SW     2  1 0x0000000000100000 4x HDR - CA\n",
      "x:1: this is a report of ports without the GUIDs of adapters: give the "
      "output of ibnetdiscover without -p" },
    { "Ca\t : 0x0000000000200000 ports 1 devid 0x0 vendid 0x0 \"h1\"\n", LIST },
    { "Ca\t: 0x0000000000200000 ports 1 \"h1 HCA-1\"\n", LIST },
    { "Switch  : 0x0000000000200000 ports 36 \"s\" base port 0 lid 1 lmc 0\n",
      LIST },
    { "Multicast mlids [0xc000-0xc3ff] of switch\n",
      "x:1: this is a dump of multicast tables: " TABLES },
    { "pmm-fabric 1\n", "x:1: this is a snapshot already: give it by -f" },
    { "LFT Record dump:\n", "x:1: this is the output of saquery: " CABLES },
    { "CA: h1 HCA-1:\n      0x0000000000200001      1    1[  ] ==( 4X "
      "25.78125 Gbps Active/  LinkUp)==>       3    5[  ] \"s\" ( )\n",
      "x:1: this is the output of iblinkinfo: " CABLES },
    { "0x0000000000200001 \"  h1 HCA-1\"  1  1[  ] ==( 4X  14.0625 Gbps "
      "Active/  LinkUp)==>  0x0000000000100000  2  33[  ] \"s\" ( )\n",
      "x:1: this is the output of iblinkinfo: " CABLES },
    { "Errors for 0x100000 \"MF0;s:MQM8700/U1\"\n",
      "x:1: this is the output of ibqueryerrors: " CABLES },
    { "CA 'mlx5_0'\n\tCA type: MT4123\n",
      "x:1: this is about this host's adapters (ibstat, ibstatus, "
      "ibv_devinfo): " CABLES },
    { "{\n  \"links\": []\n}\n", "x:1: this is JSON, as UFM has it: " CABLES },
    { "[{\"guid\":\"x\"}]\n", "x:1: this is JSON, as UFM has it: " CABLES },
    { "[1]\t\"S-\n", UNKNOWN },
    { "\x1f\x8b\x08", "x:1: this is compressed: gzip -d unpacks it" },
    { "\xfd" "7zXZ", "x:1: this is compressed: xz -d unpacks it" },
    { "\x28\xb5\x2f\xfd", "x:1: this is compressed: zstd -d unpacks it" },
    { "\xff\xfe#", "x:1: this is UTF-16: iconv -f UTF-16 -t UTF-8 makes a file "
                   "that can be read" },
    { "<!DOCTYPE html>\n", "x:1: this is a web page or XML: " CABLES },
    { "Subject: cables\n\nvendid=0x2c9\n",
      "x:1: this is a mail: save what is attached, or run ibnetdiscover "
      ">cables.txt" },
    { "0x0000000000100000 \"leaf-r01\"\n",
      "x:1: this is a map of names: give it by --node-name-map FILE" },
    { "ibwarn: [7] mad_rpc_open_port: can't open UMAD port ((null):0)\n",
      "x:1: " TROUBLE },
    { "a new format\n", UNKNOWN },
    { "0x0002c900000000c1 0x0025 0x0025\n",
      "x:1: this is what opensm keeps for itself: give opensm-subnet.lst and "
      "opensm.fdbs" },
    { "\n", "x:1: the file is empty: see what the program printed on standard "
            "error" },
};

static void test_refused (void)
{
    for (size_t i = 0; i < sizeof (refused) / sizeof (refused[0]); i++) {
        struct text t = { "x", (char *)refused[i].text,
                          strlen (refused[i].text) };
        struct error err;
        struct fabric *f = import (&t, 1, &err);

        ok (!f && strcmp (err.text, refused[i].error) == 0, "%s", err.text);
        fabric_destroy (f);
    }
}

/* As files are after a copy from a terminal, a web page or an editor. */
static void test_copies (const char *hash)
{
    static const struct {
        const char *from, *to, *begin;
    } rows[] = {
        { "\t", "        ", "" }, { "\t", " ", "" }, { "\t", " \t", "" },
        { "\t", "\xc2\xa0\xc2\xa0", "" }, { "\n", "\n  ", "" },
        { "\n", "\r\n", "" }, { "\t", "\t", "\xef\xbb\xbf" },
        { "\n", "\nibwarn: [7] sim_connect: attached as client 0 at node "
                "\"h1\"\n", "" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct text file[FILES] = { load ("tree.ibnetdiscover"),
                                    load ("tree.dump_fts") };
        struct error err;
        struct fabric *f;

        for (size_t k = 0; k < 2; k++) {
            size_t mark = strlen (rows[i].begin);

            change (&file[k], rows[i].from, rows[i].to, true);
            memmove (file[k].s + mark, file[k].s, file[k].len + 1);
            memcpy (file[k].s, rows[i].begin, mark);
            file[k].len += mark;
            while (file[k].s[file[k].len - 1] == ' ')
                file[k].len--;
        }
        f = import (file, 2, &err);
        ok (f && strcmp (f->hash, hash) == 0, "a copy, row %zu: %s", i,
            f ? f->hash : err.text);
        fabric_destroy (f);
        free_set (file, 2);
    }
}

static struct text save (const char *name, const struct fabric *f,
                         int (*write) (const struct fabric *, FILE *,
                                       struct error *))
{
    struct text t = { .name = name };
    struct error err;
    FILE *fp = open_memstream (&t.s, &t.len);

    if (write (f, fp, &err) < 0)
        diag ("%s", err.text);
    fclose (fp);
    return t;
}

/* Out as text, and in again. */
static void test_exports (const char *what, struct fabric *f)
{
    struct text file[2] = { save ("lfts", f, lfts_write),
                            save ("nodes", f, netdiscover_write) };
    struct error err;
    struct fabric *again = import (file, 2, &err);
    bool same = again && strcmp (again->hash, f->hash) == 0
                && again->nhosts == f->nhosts;

    for (size_t i = 0; same && i < f->nlinks; i++)
        same = again->link[i].width == f->link[i].width
               && strcmp (again->link[i].speed, f->link[i].speed) == 0;
    for (size_t i = 0; same && i < f->nnodes; i++)
        same = strcmp (again->node[i].desc, f->node[i].desc) == 0;
    ok (same, "%s: exported and imported, the same: %s", what,
        again ? again->hash : err.text);
    fabric_destroy (again);
    fabric_destroy (f);
    free (file[0].s);
    free (file[1].s);
}

/* A switch with a router, hosts of two cards and of two ports with an LMC, a
 * host that is not called anything, a cable of unknown rate.
 */
static struct fabric *odd_fabric (struct error *err)
{
    struct fabric *f = fabric_create ();
    uint8_t lft[40];
    int64_t sw = fabric_add_node (f, 0x10, NODE_SWITCH, 8, "a \"switch\"", err);
    int64_t ca;

    memset (lft, LFT_NO_ROUTE, sizeof (lft));
    lft[1] = 0;
    fabric_set_switch_lid (f, sw, 1, err);
    for (unsigned int i = 0; i < 5; i++) {
        unsigned int ports = i == 1 ? 2 : 1;

        ca = fabric_add_node (f, 0x20 + 0x10 * i,
                              i == 4 ? NODE_ROUTER : NODE_CA, ports,
                              i == 0 ? "" : i < 3 ? "h1 mlx5_0" : "h2", err);
        for (unsigned int k = 1; k <= ports; k++) {
            unsigned int lid = 4 * (i + 1) + 20 * (k - 1), lmc = i == 3 ? 2 : 0;

            fabric_set_port (f, ca, k, 0x1000 + 0x10 * i + k, lid, lmc, err);
            fabric_add_cable (f, ca, k, sw, i + 1 + 5 * (k - 1) - (k > 1), 4,
                              i == 2 ? "" : "EDR", err);
            for (unsigned int l = lid; l < lid + (1U << lmc); l++)
                lft[l] = i + 1 + 5 * (k - 1) - (k > 1);
        }
    }
    fabric_set_lft (f, sw, lft, sizeof (lft) - 1, err);
    if (fabric_finish (f, err) == 0)
        return f;
    diag ("%s", err->text);
    fabric_destroy (f);
    return NULL;
}

static void test_all_exports (void)
{
    struct fat_tree tree = { .ports = 8, .levels = 3,
                             .how = { ROUTING_DMODK, .seed = 1 } };
    struct dragonfly dragonfly = { .hosts = 2, .routers = 4, .globals = 2,
                                   .how = { ROUTING_MINHOP, .seed = 1 } };
    struct irregular irregular = { .switches = 20, .hosts = 44, .degree = 5,
                                   .how = { ROUTING_RANDOM, .seed = 1 } };
    struct error err;
    struct fabric *f = odd_fabric (&err);
    struct text t;

    t = save ("net", f, netfile_write);
    ok (strstr (t.s, "\"h1\"") && strstr (t.s, "\"H-0000000000000040\"")
            && strstr (t.s, "\"S-0000000000000010\"")
            && strstr (t.s, "# \"a 'switch'\" enhanced port 0 lid 0")
            && !strstr (t.s, "lid 4"),
        "a netfile: names that are free and can be used, no LIDs");
    free (t.s);
    test_exports ("an odd fabric", f);
    test_exports ("a fat tree", generate_fat_tree (&tree, &err));
    test_exports ("a dragonfly", generate_dragonfly (&dragonfly, &err));
    test_exports ("64 LIDs", generate_irregular (&irregular, &err));
}

int main (void)
{
    char tree[33], lmc[33];

    test_sets (tree, lmc);
    for (size_t i = 0; i < SETS; i++) {
        if (sets[i].damage)
            test_damage (i, sets[i].lmc ? lmc : tree);
        test_noise (i);
    }
    test_csv ();
    test_ber ();
    test_spread ();
    test_changes ();
    test_refused ();
    test_copies (tree);
    test_all_exports ();
    return done_testing ();
}
