/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "prolog/audit/partners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/nodemap.h"
#include "ibquery/model/generate.h"
#include "ibquery/fabric.h"
#include "tests/tap.h"

enum { HOSTS = 32, LEAF = 4, MOST = 6, TURNS = 50 };

static struct fabric *fabric;
static const char *alike; /* of the last choice */

/* Choose, and print it: "h0002 h0009". */
static const char *choose (const struct nodemap *map,
                           const struct partners_wish *wish, size_t most)
{
    static char text[HOSTS * 8];
    const char **node_of = nodemap_nodes (map, fabric);
    char *partner[HOSTS];
    int n;

    n = partners_choose (fabric, node_of, wish, partner, most, &alike);
    free (node_of);
    if ((size_t)n > most)
        abort ();
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        if (strstr (text, partner[i]))
            return "one twice";
        strcat (strcat (text, i ? " " : ""), partner[i]);
    }
    return text;
}

static const char *chosen (const struct nodemap *map, const char *node,
                           const struct hostlist *idle,
                           const struct hostlist *former, uint64_t turn,
                           size_t most)
{
    static const struct hostlist none;

    return choose (map,
                   &(struct partners_wish){ .node = node, .idle = idle,
                                            .former = former,
                                            .suspects = &none,
                                            .turn = turn },
                   most);
}

static struct hostlist nodes (const char *list)
{
    struct hostlist idle;

    if (hostlist_parse (&idle, list, HOSTS, NULL) < 0)
        abort ();
    return idle;
}

static const struct choice_case {
    const char *what, *idle, *node;
    size_t most;
    const char *wanted;
} table[] = {
    { "one of its switch, and others from all over",
      "h[0001-0002,0009,0013,0017,0021,0025,0029]", "h0001", 4,
      "h0002 h0009 h0017 h0025" },
    { "three of its switch at most", "h[0001-0004,0009]", "h0003", 3,
      "h0001 h0002 h0004" },
    { "of another switch, where none of its own is idle",
      "h[0005,0009,0013]", "h0001", 2, "h0005 h0013" },
    { "a node that is not idle itself", "h[0002,0009]", "h0001", 4,
      "h0002 h0009" },
    { "all, if they are few", "h[0001-0003]", "h0002", 9, "h0001 h0003" },
    { "a node that nobody knows", "h[0001-0003]", "stranger", 9,
      "h0001 h0002 h0003" },
    { "nobody is idle", "h0001", "h0001", 9, "" },
};

static void test_table (void)
{
    for (size_t i = 0; i < sizeof (table) / sizeof (table[0]); i++) {
        struct hostlist idle = nodes (table[i].idle);
        const char *got = chosen (NULL, table[i].node, &idle, NULL, 0,
                                  table[i].most);

        ok (!strcmp (got, table[i].wanted), "%s", table[i].what);
        if (strcmp (got, table[i].wanted) != 0)
            diag ("got %s", got);
        hostlist_clear (&idle);
    }
}

/* Whatever the turn, one of the switch is among them; in time all are. */
static void test_turns (void)
{
    struct hostlist idle = nodes ("h[0001-0032]");
    bool seen[HOSTS + 1] = { false };
    size_t near = 0;
    size_t all = 0;

    for (uint64_t turn = 0; turn < TURNS; turn++) {
        const char *got = chosen (NULL, "h0006", &idle, NULL, turn,
                                  MOST);
        bool beside = false;

        for (const char *p = got; (p = strchr (p, 'h')); p++) {
            int k = atoi (p + 1);

            seen[k] = true;
            beside |= (k - 1) / LEAF == 1;
        }
        near += beside && !strstr (got, "h0006");
    }
    for (size_t k = 1; k <= HOSTS; k++)
        all += seen[k];
    ok (near == TURNS, "at any turn one of the node's switch");
    ok (all == HOSTS - 1, "in time each takes part");
    hostlist_clear (&idle);
}

static void test_map (void)
{
    static const char lines[] = "n1 h0001/1\nn2 h0009/1\nn3 h0002/1\n";
    char path[] = "/tmp/pmm-partners-XXXXXX";
    int fd = mkstemp (path);
    struct hostlist idle = nodes ("n[1-3]");
    struct nodemap *map;
    struct error err;

    if (fd < 0 || write (fd, lines, strlen (lines)) < 0
        || !(map = nodemap_load (path, &err)))
        abort ();
    ok (!strcmp (chosen (map, "n1", &idle, NULL, 0, 1), "n3"),
        "by the site's map");
    nodemap_destroy (map);
    hostlist_clear (&idle);
    close (fd);
    unlink (path);
}

/* Whom a second audit chooses, after a first one. */
static void test_former (void)
{
    static const struct {
        const char *what, *idle, *former;
        size_t most;
        const char *wanted;
    } rows[] = {
        { "others than before", "h[0001-0032]", "h[0001-0016]", 3,
          "h0002 h0003 h0004" },
        { "others of its switch than before, and of others",
          "h[0001-0004,0009,0013,0017]", "h[0002-0003,0009,0013]", 4,
          "h0004 h0002 h0003 h0017" },
        { "the same, where there are no others", "h[0001-0003,0009]",
          "h[0002-0003,0009]", 9, "h0002 h0003 h0009" },
    };

    for (size_t i = 0; i < 3; i++) {
        struct hostlist idle = nodes (rows[i].idle);
        struct hostlist former = nodes (rows[i].former);
        const char *got = chosen (NULL, "h0001", &idle, &former, 0,
                                  rows[i].most);

        ok (!strcmp (got, rows[i].wanted), "%s: %s", rows[i].what, got);
        hostlist_clear (&idle);
        hostlist_clear (&former);
    }
}

/* The id of the cable that a message takes between switches, to or from that
 * switch where one of them is.
 */
static const char *cable (const char *from, const char *to, bool last)
{
    uint32_t arc[PATH_MAX_HOPS];
    int n = fabric_walk (fabric, fabric_find_endpoint (fabric, from),
                         fabric_find_endpoint (fabric, to), arc, NULL);

    return fabric->link[arc_link (arc[last ? n - 2 : 1])].id;
}

static const char *own (const char *node)
{
    uint32_t end = fabric_find_endpoint (fabric, node);

    return fabric->link[fabric->port[fabric->endpoint[end].port].link].id;
}

/* Whom an audit chooses that is to tell the cable of h0001 from others: of the
 * partners, those with whom round trips are without all of these.
 */
static void test_tell (void)
{
    const char *down = cable ("h0005", "h0001", true); /* all to h0001 */
    const char *up = cable ("h0001", "h0006", false);  /* to h0006, h0010 .. */
    const char *mine = own ("h0001");
    const struct {
        const char *what, *idle, *former;
        const char *suspect[3];
        const char *wanted, *alike;
    } rows[] = {
        { "as ever, without suspects", "h[0005-0032]", "h0032",
          { NULL }, "h0005 h0011 h0017 h0023", NULL },
        { "as ever, where only its own is suspected", "h[0005-0032]", "h0032",
          { mine }, "h0005 h0011 h0017 h0023", NULL },
        { "two whose messages take another uplink",
          "h[0006,0010,0014,0018-0020]", "h0032", { mine, up },
          "h0019 h0020 h0006 h0014", NULL },
        { "of whom one that was a partner before",
          "h[0006,0010,0014,0018,0019]", "h0019", { up, mine },
          "h0019 h0006 h0014 h0010", NULL },
        { "a neighbour, from the link that all take", "h[0002,0006-0032]",
          "h0032", { mine, down }, "h0002 h0011 h0017 h0023", NULL },
        { "nobody else tells that", "h[0005-0032]", "h0032",
          { mine, down }, "h0005 h0011 h0017 h0023", down },
        { "a switch is no link", "h[0005-0032]", "h0032",
          { mine, "0002c90000000001" }, "h0005 h0011 h0017 h0023", NULL },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        struct hostlist idle = nodes (rows[i].idle);
        struct hostlist former = nodes (rows[i].former);
        struct hostlist suspects = { .name = (char **)rows[i].suspect };
        struct partners_wish wish = { .node = "h0001", .idle = &idle,
                                      .former = &former,
                                      .suspects = &suspects };
        const char *got;

        while (suspects.count < 3 && rows[i].suspect[suspects.count])
            suspects.count++;
        got = choose (NULL, &wish, 4);
        ok (!strcmp (got, rows[i].wanted)
                && (rows[i].alike ? alike && !strcmp (alike, rows[i].alike)
                                  : !alike),
            "%s: %s", rows[i].what, got);
        if (alike)
            diag ("not told: %s", alike);
        hostlist_clear (&idle);
        hostlist_clear (&former);
    }
}

static void test_leader (void)
{
    static const char *const node[] = { "n1", "n2", "n3", "n4" };
    static const struct {
        size_t n;
        const char *about, *before;
        const char *wanted; /* at turns 0 to 3 */
    } rows[] = {
        { 4, NULL, NULL, "n1n2n3n4" }, { 4, "n2", "n3", "n1n4n1n4" },
        { 4, "n2", NULL, "n1n3n4n1" }, { 2, "n2", "n1", "n1n1n1n1" },
        { 1, "n1", "n2", "n1n1n1n1" },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++) {
        char got[16] = "";

        for (uint64_t turn = 0; turn < 4; turn++)
            strcat (got, partners_leader (node, rows[i].n, rows[i].about,
                                          rows[i].before, turn));
        ok (!strcmp (got, rows[i].wanted), "of %zu, about %s, after %s: %s",
            rows[i].n, rows[i].about ? rows[i].about : "none",
            rows[i].before ? rows[i].before : "none", got);
    }
    ok (!partners_leader (node, 0, NULL, NULL, 7), "of none: none");
}

/* Suspects of one subnet have the partners that they have without the other, in
 * which no path can tell them apart.
 */
static void test_subnets (void)
{
    static const char *const name[] = { "one", "two" };
    struct fat_tree tree = { .ports = 2 * LEAF, .levels = 2, .how.subnet = 1 };
    struct fabric *whole = fabric, *one = generate_fat_tree (&tree, NULL);
    struct fabric *part[2] = { generate_fat_tree (&tree, NULL), NULL };
    struct hostlist idle = nodes ("h[0008,0009,0012,0016,0020,0024,0028,0032]");
    struct hostlist none = { .count = 0 };
    uint32_t own = fabric_find_link (one, "h0001/1"), arc[PATH_MAX_HOPS];
    char *id[2] = { one->link[own].id, NULL };
    struct hostlist suspects = { id, 2 };
    struct fabric *both;
    size_t same = 0;

    /* the link of h0001, and one that it takes to all idle hosts but h0009 */
    fabric_walk (one, fabric_find_host (one, "h0001"),
                 fabric_find_host (one, "h0032"), arc, NULL);
    id[1] = one->link[arc_link (arc[1])].id;
    tree.how.subnet = 2;
    part[1] = generate_fat_tree (&tree, NULL);
    both = fabric_join (part, name, 2, NULL);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        struct partners_wish wish = { .node = "h0001", .idle = &idle,
                                      .former = &none, .turn = turn,
                                      .suspects = &suspects };
        char alone[HOSTS * 8];

        fabric = one;
        strcpy (alone, choose (NULL, &wish, 2));
        fabric = both;
        same += !strcmp (alone, choose (NULL, &wish, 2))
                && strstr (alone, "h0009");
    }
    fabric = whole;
    ok (both && same == TURNS, "another subnet changes no partners: %zu of %d",
        same, TURNS);
    hostlist_clear (&idle);
    fabric_destroy (both);
    fabric_destroy (one);
    for (int i = 0; i < 2; i++)
        fabric_destroy (part[i]);
}

int main (void)
{
    struct fat_tree tree = { .ports = 2 * LEAF, .levels = 2 };
    struct error err;

    if (!(fabric = generate_fat_tree (&tree, &err))
        || fabric->nhosts != HOSTS)
        abort ();
    test_table ();
    test_turns ();
    test_map ();
    test_former ();
    test_tell ();
    test_leader ();
    test_subnets ();
    fabric_destroy (fabric);
    return done_testing ();
}
