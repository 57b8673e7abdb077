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
              "pmm: audit 57 FAIL links=412 rounds=9 worst=h0001_mlx5_0/1 "
              "to=%s kind=host link=%s node=h0001 +412 ns", far, link->id);
    ok (!strcmp (entry, wanted) && survives (&c), "a host end: %s", entry);

    x.kind = FINDING_SWITCH_LINK;
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
    v.status = VERDICT_WARN;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && strstr (entry, " loses messages"), "lost messages");
    x.basis = BASIS_SLOW;
    comment_of_audit (&c, 59, &v, f);
    comment_format (&c, entry);
    ok (survives (&c) && c.delays && strstr (entry, " delays messages"),
        "delayed ones");

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
    ok (survives (&c) && strstr (entry, " kind=switch +1003 ns")
            && !c.to[0] && !c.link[0], "a switch: %s", entry);

    v = (struct verdict){ .status = VERDICT_OK, .links = 12, .rounds = 3 };
    comment_of_audit (&c, INT64_MAX, &v, f);
    comment_format (&c, entry);
    ok (!strcmp (entry, "pmm: audit 9223372036854775807 OK links=12 rounds=3")
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
    };
    char entry[COMMENT_ENTRY_MAX + 1];

    memset (c.worst, 'w', COMMENT_NAME_MAX - 1);
    memset (c.to, 't', COMMENT_NAME_MAX - 1);
    memset (c.node, 'n', COMMENT_NAME_MAX - 1);
    comment_format (&c, entry);
    ok (survives (&c) && strlen (entry) < COMMENT_ENTRY_MAX,
        "the longest has %zu bytes", strlen (entry));
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
        { "host end h0002 (0002c90000000012/1) +412 ns, and 1 more finding",
          NULL, "0002c90000000012/1", "h0002", 412 },
        { "host end h0002 (0002c90000000012/1) or 2 more +412 ns", NULL,
          "0002c90000000012/1", "", 412 },
        { "host end h0002 (0002c90000000012/1) loses messages", NULL,
          "0002c90000000012/1", "h0002", NAN },
        { "host end h0002 (0002c90000000012/1) delays messages", NULL,
          "0002c90000000012/1", "h0002", NAN },
        { "host end h0002 (0002c90000000012/1) -12 ns", NULL,
          "0002c90000000012/1", "h0002", -12 },
        { "switch link 0002c90000000012/1 +412 ns", NULL,
          "0002c90000000012/1", "", 412 },
        { "host end or switch link node5 (0002c90000000012/1) +412 ns", NULL,
          "0002c90000000012/1", "", 412 },
        { "host end or switch link node5 (0002c90000000012/1) or 2 more +412 "
          "ns, and 1 more finding", NULL, "0002c90000000012/1", "", 412 },
        { "switch leaf (1) (0002c90000000012) +412 ns", NULL, "", "", NAN },
        { "host end h0002 (0002c90000000012/1) +4", NULL, "", "", NAN },
        { "host end h0002 (0002c90000000012/1)", NULL, "", "", NAN },
        { "host end h0002 (0002c90000000012/1) +nan ns", NULL, "", "", NAN },
        { "node h0002 (0002c90000000012/1) +412 ns", NULL, "", "", NAN },
        { "host end ../../x; y (0002c90000000012/1) +1 ns",
          "host end ../../x, y (0002c90000000012/1) +1 ns",
          "0002c90000000012/1", "", 1 },
        { "host end h0002 (0002c90000000012/1234) +1 ns", NULL, "", "", NAN },
        { "a \033[31mred | line\nmore", "a ?[31mred , line?more", "", "",
          NAN },
        { "( (( (0002c90000000012/) + ns", NULL, "", "", NAN },
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

#define AUDIT "pmm: audit 57 FAIL links=4 rounds=9"

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
        { "pmm: audit 57 OK new=thing of=later more", "O" },
        { "pmm: check WARN ", "W" },
        { "pmm: check UNKNOWN; pmm: check FAIL x", "UF" },
        { "pmm: audit 57 fail links=4; pmm: check ok yes", "FO" },
        /* damaged */
        { "pmm: ", "" },
        { "pmm: audit", "" },
        { "pmm: audit 0 OK", "" },
        { "pmm: audit -1 OK", "" },
        { "pmm: audit 99999999999999999999 OK", "" },
        { "pmm: audit 57 FINE", "" },
        { "pmm: audit 57 FAI", "" },
        { "pmm: audit 57 FAIL links=", "" },
        { "pmm: audit 57 FAIL links=4x", "" },
        { "pmm: audit 57 FAIL kind=none", "" },
        { "pmm: audit 57 FAIL link=../etc/passwd", "" },
        { "pmm: audit 57 FAIL link=0002c90000000012/1x", "" },
        { "pmm: audit 57 FAIL node=-rf", "" },
        { "pmm: audit 57 FAIL +nan ns", "" },
        { "pmm: audit 57 FAIL +inf ns", "" },
        { "pmm: audit 57 FAIL +1e300 ns", "" },
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
        "worst=", "link=", "node=", "+", " ns", "0002c90000000012/1", "\x1b[2J",
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

int main (void)
{
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct error err;

    if (!(f = generate_fat_tree (&tree, &err)))
        diag ("%s", err.text);
    test_audits ();
    test_bounds ();
    test_checks ();
    test_fields ();
    test_hostile ();
    test_append ();
    fabric_destroy (f);
    return done_testing ();
}
