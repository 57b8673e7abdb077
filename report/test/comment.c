/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comments say what audits and checks found, can be read back, and leave alone
 * what others wrote, whatever stands there.
 */
#include "config.h"
#include "report/comment.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/text.h"

static struct fabric *f;

static bool same_number (double a, double b)
{
    return (isnan (a) && isnan (b)) || fabs (a - b) < 0.5;
}

static bool same (const struct comment *a, const struct comment *b)
{
    return a->source == b->source && a->status == b->status
           && a->audit == b->audit && a->links == b->links
           && a->rounds == b->rounds && a->found == b->found
           && a->kind == b->kind && !strcmp (a->worst, b->worst)
           && !strcmp (a->to, b->to) && a->others == b->others
           && !strcmp (a->link, b->link) && !strcmp (a->node, b->node)
           && same_number (a->excess_ns, b->excess_ns)
           && same_number (a->rate_bits / 1e8, b->rate_bits / 1e8)
           && same_number (a->rate_expected_bits / 1e8,
                           b->rate_expected_bits / 1e8)
           && !strcmp (a->text, b->text);
}

/* Whether what is written can be read. */
static bool survives (const struct comment *c)
{
    char entry[COMMENT_ENTRY_MAX + 1];
    const char *field = entry;
    struct comment back;

    comment_format (c, entry);
    return comment_next (&field, &back) && same (c, &back) && !*field;
}

/*
 * Audits
 */

static void test_audits (void)
{
    uint32_t host_link = fabric_find_link (f, "h0001 mlx5_0/1");
    uint32_t three[] = { host_link, 0, 1 };
    uint32_t sw = 0;
    char *node = (char *)"h0001";
    struct finding x = {
        .level = VERDICT_FAIL,
        .suspect = &host_link,
        .nsuspects = 1,
        .node = &node,
        .nnodes = 1,
        .excess_ns = 412.4,
    };
    struct verdict v = {
        .status = VERDICT_FAIL, .finding = &x, .nfindings = 1,
        .links = 412, .rounds = 9,
    };
    char entry[COMMENT_ENTRY_MAX + 1];
    char wanted[COMMENT_ENTRY_MAX + 1];
    const struct fabric_link *link = &f->link[host_link];
    struct comment c;
    char far[128];

    fabric_port_name (f, link->a, far, sizeof (far));
    if (!strncmp (far, "h0001", 5))
        fabric_port_name (f, link->b, far, sizeof (far));
    comment_of_audit (&c, 57, &v, f);
    comment_format (&c, entry);
    snprintf (wanted, sizeof (wanted),
              "pmm: audit 57 FAIL a cable is 412 ns slow: h0001's: leave out "
              "h0001, or send this to your support [links=412 rounds=9 "
              "worst=h0001_mlx5_0/1 to=%s kind=host link=%s node=h0001 "
              "excess=+412]", far, link->id);
    ok (!strcmp (entry, wanted) && survives (&c), "a host end: %s", entry);

    x.kind = FINDING_SWITCH_LINK;
    x.suspect = three;
    x.nsuspects = 3;
    comment_of_audit (&c, 58, &v, f);
    ok (survives (&c) && c.others == 2 && !c.node[0],
        "one of three links: no node is named");

    x.nsuspects = 1;
    x.oneway = &host_link;
    x.noneway = 1;
    comment_of_audit (&c, 58, &v, f);
    ok (survives (&c) && c.others == 1 && !c.node[0],
        "one link, or one direction of another");

    x.excess_ns = NAN;
    x.basis = BASIS_TRAFFIC;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && !strstr (entry, "excess="), "others' traffic: %s", entry);
    x.basis = BASIS_LOSS;
    v.status = VERDICT_WARN;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && strstr (entry, " excess=loses]"), "lost messages");
    x.basis = BASIS_SLOW;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && c.delays && strstr (entry, " excess=delays]"),
        "delayed ones");

    x.basis = BASIS_RATE;
    x.rate_bits = 98.3e9;
    x.rate_expected_bits = 197e9;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && strstr (entry, " rate=98.3/197]")
            && !strstr (entry, "excess="),
        "a rate: %s", entry);
    x.basis = BASIS_BASELINE;
    x.excess_ns = 412.4;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && strstr (entry, " excess=+412 rate=98.3/197]"),
        "latency and rate: %s", entry);

    x.level = VERDICT_WARN;
    v.status = VERDICT_UNKNOWN;
    v.nlimits = 1;
    comment_of_audit (&c, 59, &v, f);
    ok (survives (&c) && !c.found && !c.link[0],
        "UNKNOWN for another reason: the finding is not its cause");
    v.nlimits = 0;

    while (!fabric_network (f)->sw[sw].id)
        sw++;
    x = (struct finding){
        .level = VERDICT_FAIL, .kind = FINDING_SWITCH, .suspect = &host_link,
        .nsuspects = 1, .sw = &sw, .nsw = 1, .excess_ns = 1003,
    };
    comment_of_audit (&c, 60, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && strstr (entry, " kind=switch excess=+1003]")
            && !c.to[0] && !c.link[0], "a switch: %s", entry);

    v = (struct verdict){ .status = VERDICT_OK, .links = 12, .rounds = 3 };
    comment_of_audit (&c, INT64_MAX, &v, f);
    comment_format (&c, entry);
    ok (!strcmp (entry, "pmm: audit 9223372036854775807 OK [links=12 rounds=3]")
            && survives (&c), "all is well: %s", entry);
}

/* The longest of all still fits, is one line, and has no separator in it. */
static void test_bounds (void)
{
    struct comment c = {
        .source = COMMENT_AUDIT, .status = VERDICT_UNKNOWN,
        .audit = INT64_MAX, .links = UINT32_MAX, .rounds = UINT32_MAX,
        .found = true, .kind = FINDING_SWITCH_LINK, .others = UINT32_MAX,
        .excess_ns = -999999999, .link = "ec0d9a0300ec8240/254",
        .rate_bits = 1e15, .rate_expected_bits = 1e15,
    };
    char entry[COMMENT_ENTRY_MAX + 1];

    memset (c.worst, 'w', COMMENT_NAME_MAX - 1);
    memset (c.to, 't', COMMENT_NAME_MAX - 1);
    memset (c.node, 'n', COMMENT_NAME_MAX - 1);
    comment_format (&c, entry);
    ok (survives (&c) && strlen (entry) < COMMENT_ENTRY_MAX,
        "the longest facts have %zu bytes", strlen (entry));
    memset (c.text, 'x', COMMENT_TEXT_MAX - 1);
    comment_format (&c, entry);
    ok (strlen (entry) == COMMENT_ENTRY_MAX && strstr (entry, "xx [links=")
            && strstr (entry, " excess=-999999999 rate=1e+06/1e+06]"),
        "of a longer entry the words are cut");
}

/*
 * Checks
 */

static void test_checks (void)
{
    static const struct {
        const char *sentence, *text, *link, *node;
        double ns;
    } tab[] = {
        { "8 links by 9 probes in 2 rounds, 4 nodes; 100 % of the links",
          "8 links by 9 probes in 2 rounds, 4 nodes, 100 % of the links", "",
          "", NAN },
        { "a cable is 412 ns slow: h0002's, and 1 more finding [kind=host "
          "link=0002c90000000012/1 node=h0002 excess=+412]", NULL,
          "0002c90000000012/1", "h0002", 412 },
        { "x [link=0002c90000000012/1 or=2 excess=-12]", NULL,
          "0002c90000000012/1", "", -12 },
        { "x [link=0002c90000000012/1 node=h0002 excess=loses]", NULL,
          "0002c90000000012/1", "h0002", NAN },
        /* none, damaged, or not at the end */
        { "link=0002c90000000012/1", NULL, "", "", NAN },
        { "x [link=0002c90000000012/1] more", NULL, "", "", NAN },
        { "x [link=0002c90000000012/1", NULL, "", "", NAN },
        { "x [link=0002c90000000012/1 excess=+nan]", NULL, "", "", NAN },
        { "x [link=0002c90000000012/1234]", NULL, "", "", NAN },
        { "x [link=0002c90000000012/1 node=../../x]", NULL, "", "", NAN },
        { "x; y h[1-3]", "x, y h[1-3]", "", "", NAN },
        { "x []", NULL, "", "", NAN },
        { "]", NULL, "", "", NAN },
        { "a \033[31mred | line\nmore", "a ?[31mred , line?more", "", "",
          NAN },
        { "", NULL, "", "", NAN },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *text = tab[i].text ? tab[i].text : tab[i].sentence;
        struct comment c;

        comment_of_check (&c, VERDICT_FAIL, tab[i].sentence);
        ok (!strcmp (c.text, text) && !strcmp (c.link, tab[i].link)
                && !strcmp (c.node, tab[i].node)
                && same_number (c.excess_ns, tab[i].ns) && survives (&c),
            "check: %s", c.text);
    }
}

/*
 * Reading
 */

#define AUDIT "pmm: audit 57 FAIL slow: h1's [links=4 rounds=9]"

static void test_fields (void)
{
    static const struct {
        const char *field;
        const char *found; /* a letter for each: its status, or nothing */
    } tab[] = {
        { "", "" },
        { AUDIT, "F" },
        { "mine", "" },
        { "mine; " AUDIT, "F" },
        { AUDIT "; mine", "F" },
        { "a; b; " AUDIT "; c; pmm: check OK all is well", "FO" },
        { "a\n" AUDIT "\nb\n" AUDIT, "FF" },
        { "a;b;" AUDIT, "" },
        { "; ; ;; \n\n; " AUDIT "; ", "F" },
        { "x " AUDIT, "" },
        { "pmm: audit 57 OK", "O" },
        { "pmm: audit 57 OK words [new=thing of=later]", "O" },
        { "pmm: check WARN ", "W" },
        { "pmm: check UNKNOWN; pmm: check FAIL x", "UF" },
        { "pmm: audit 57 fail [links=4]; pmm: check ok yes", "FO" },
        /* damaged */
        { "pmm: ", "" },
        { "pmm: audit", "" },
        { "pmm: audit 0 OK", "" },
        { "pmm: audit -1 OK", "" },
        { "pmm: audit 99999999999999999999 OK", "" },
        { "pmm: audit 57 FINE", "" },
        { "pmm: audit 57 FAI", "" },
        { "pmm: audit 57 FAIL [links=]", "" },
        { "pmm: audit 57 FAIL [links=4x]", "" },
        { "pmm: audit 57 FAIL [kind=none]", "" },
        { "pmm: audit 57 FAIL [link=../etc/passwd]", "" },
        { "pmm: audit 57 FAIL [link=0002c90000000012/1x]", "" },
        { "pmm: audit 57 FAIL [node=-rf]", "" },
        { "pmm: audit 57 FAIL [excess=+nan]", "" },
        { "pmm: audit 57 FAIL [excess=+inf]", "" },
        { "pmm: audit 57 FAIL [excess=+1e300]", "" },
        { "pmm: check", "" },
        { "pmm: check MAYBE", "" },
        { "pmm: say OK", "" },
        { "pmm: audit 57 FA; pmm: check OK yes", "O" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        const char *field = tab[i].field;
        char found[8] = "";
        char name[128];
        struct comment c;

        for (size_t n = 0; n < 7 && comment_next (&field, &c); n++)
            found[n] = verdict_status_name (c.status)[0];
        snprintf (name, sizeof (name), "%s", tab[i].field);
        ok (!strcmp (found, tab[i].found), "'%s' in: %s", found,
            text_clean (name));
    }
}

/* Any byte may stand there; what comes out is clean, and comes soon. */
static void test_hostile (void)
{
    static const char *const words[] = {
        "pmm: ", "audit ", "check ", "57 ", "FAIL ", "OK ", "; ", ";", "\n",
        "worst=", "link=", "node=", "+", " [", "]", "excess=",
        "0002c90000000012/1", "\x1b[2J",
        "\xc3\xa9", "%s%n", "<script>", "'; drop table", "h0001",
        "; pmm: audit 57 FAIL ", "\npmm: check OK ",
    };
    char field[COMMENT_ADMIN_MAX + 1];
    unsigned int seed = 1;
    bool clean = true;
    size_t entries = 0;

    for (int run = 0; run < 50; run++) {
        const char *rest = field;
        struct comment c;
        size_t len = 0;

        while (len + 32 < sizeof (field)) {
            seed = seed * 1103515245 + 12345;
            len += (size_t)sprintf (field + len, "%s",
                                    words[seed / 65536
                                          % (sizeof (words)
                                             / sizeof (words[0]))]);
        }
        while (comment_next (&rest, &c)) {
            const char *text[] = { c.worst, c.to, c.link, c.node, c.text };

            entries++;
            for (size_t i = 0; i < 5; i++)
                for (const char *p = text[i]; *p; p++)
                    clean = clean && *p >= ' ' && *p < 0x7f && *p != ';';
        }
    }
    ok (clean && entries > 100, "%zu entries of noise, all of them clean",
        entries);
    memset (field, '\n', sizeof (field) - 1);
    field[sizeof (field) - 1] = '\0';
    ok (!comment_append (field, "x", COMMENT_ADMIN_MAX) && errno == ENOSPC,
        "a field of line ends has no room");
}

/*
 * Appending
 */

static void test_append (void)
{
    static const struct {
        const char *field;
        size_t max;
        const char *result; /* NULL: */
        int error;
    } tab[] = {
        { NULL, 100, "entry", 0 },
        { "", 100, "entry", 0 },
        { "JS1:H4sI==", 100, "JS1:H4sI==; entry", 0 },
        { "a\nb", 100, "a\nb; entry", 0 },
        { "\xe2\x82\xac \\ '", 100, "\xe2\x82\xac \\ '; entry", 0 },
        { "entry 2", 100, "entry 2; entry", 0 },
        { "entry", 100, NULL, EEXIST },
        { "a; entry", 100, NULL, EEXIST },
        { "a\nentry\nb", 100, NULL, EEXIST },
        { "entry; a", 100, NULL, EEXIST },
        { "12345", 12, "12345; entry", 0 },
        { "12345", 11, NULL, ENOSPC },
        { NULL, 4, NULL, ENOSPC },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *text = comment_append (tab[i].field, "entry", tab[i].max);

        if (tab[i].result)
            ok (text && !strcmp (text, tab[i].result), "row %zu: appended", i);
        else
            ok (!text && errno == tab[i].error, "row %zu: %s", i,
                strerror (tab[i].error));
        free (text);
    }
}

/* The facts of a check's finding, at the end of its sentence. */
static void test_facts (void)
{
    uint32_t link = fabric_find_link (f, "h0001 mlx5_0/1");
    char *node = (char *)"h0001", text[96] = "a cable is slow", wanted[160];
    struct finding x = {
        .level = VERDICT_FAIL, .suspect = &link, .nsuspects = 1, .node = &node,
        .nnodes = 1, .excess_ns = 412.4,
    };
    struct verdict v = {
        .status = VERDICT_FAIL, .finding = &x, .nfindings = 1,
    };
    struct comment c;

    comment_facts (&v, f, text, sizeof (text));
    snprintf (wanted, sizeof (wanted), "a cable is slow [kind=host link=%s "
              "node=h0001 excess=+412]", f->link[link].id);
    comment_of_check (&c, VERDICT_FAIL, text);
    ok (!strcmp (text, wanted) && !strcmp (c.node, "h0001")
            && !strcmp (c.link, f->link[link].id)
            && c.excess_ns == 412, "facts: %s", text);
    memset (text, 'x', sizeof (text) - 1);
    comment_facts (&v, f, text, sizeof (text));
    ok (strlen (text) == sizeof (text) - 1 && strstr (text, "x [kind=host")
            && strstr (text, "excess=+412]"),
        "of a long sentence the end goes: %s", text);
    v.nfindings = 0;
    strcpy (text, "all is well");
    comment_facts (&v, f, text, sizeof (text));
    ok (!strcmp (text, "all is well"), "none without a finding");
}

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct error err;

    if (!(f = generate_fat_tree (&tree, &err)))
        diag ("%s", err.text);
    test_audits ();
    test_bounds ();
    test_facts ();
    test_checks ();
    test_fields ();
    test_hostile ();
    test_append ();
    fabric_destroy (f);
    return done_testing ();
}
