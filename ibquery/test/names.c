/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The site's names of nodes: the file, and a fabric that has them. */
#include "config.h"
#include "ibquery/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/fabric.h"
#include "tests/tap.h"

static char path[] = "/tmp/pmm-names.XXXXXX";

static struct node_names *load (const char *text, struct error *err)
{
    FILE *fp = fopen (path, "w");

    fputs (text, fp);
    fclose (fp);
    return names_load (path, err);
}

static bool is (const struct node_names *names, uint64_t guid, const char *name)
{
    const char *got = names_find (names, guid);

    return name ? got && strcmp (got, name) == 0 : !got;
}

static void test_file (void)
{
    struct error err = { .text = "" };
    struct node_names *names
        = load ("# GUID names\n"
                "\n"
                "0xb8cef60300100000 \"spine-01\"\n"
                "  0xb8cef60300200000\t\" leaf # 1 \" # rack 7\r\n"
                "0x3 leaf-2 # no quotes\n"
                "0x3 \"again\"\n"
                "0x4 \"the last\"", &err);

    ok (names && is (names, 0xb8cef60300100000, "spine-01"), "a name %s",
        err.text);
    ok (is (names, 0xb8cef60300200000, "leaf # 1"),
        "blanks around a name are not of it, '#' may be");
    ok (is (names, 3, "leaf-2"), "without quotes; the first line counts");
    ok (is (names, 4, "the last"), "the last line");
    ok (is (names, 5, NULL) && is (NULL, 3, NULL), "no name");
    names_destroy (names);
    names_destroy (NULL);
}

static void test_bad (void)
{
    static const char *const bad[] = {
        "0x1", "0x1 \n", "0x1 \"\"\n", "0x1 \" \"\n", "0x1 \"a\n",
        "0x1 \"a\" b\n", "0x1 # a\n", "leaf \"a\"\n", "0xleaf \"a\"\n",
        "0x0 \"a\"\n", "17 \"a\"\n", "0x11112222333344445 \"a\"\n",
    };

    for (size_t i = 0; i < sizeof (bad) / sizeof (bad[0]); i++) {
        char text[64], expected[128];
        struct error err = { .text = "" };
        struct node_names *names;

        snprintf (text, sizeof (text), "# one\n%s", bad[i]);
        snprintf (expected, sizeof (expected), "%s:2: not 0xGUID \"NAME\"",
                  path);
        names = load (text, &err);
        ok (!names && strcmp (err.text, expected) == 0, "%s", err.text);
        names_destroy (names);
    }
}

/* Whoever builds a fabric sets its names. */
static void test_fabric (void)
{
    static const char plain[] = "Quantum Mellanox Technologies";
    struct error err = { .text = "" };
    struct node_names *names = load ("0x10 \"leaf-1\"\n0x12 \"h1 mlx5_0\"\n"
                                     "0x99 \"sold\"\n", &err);
    struct fabric *f = fabric_create ();
    uint32_t link;

    f->names = names;
    fabric_add_node (f, 0x10, NODE_SWITCH, 4, plain, &err);
    fabric_add_node (f, 0x11, NODE_SWITCH, 4, plain, &err);
    fabric_add_node (f, 0x12, NODE_CA, 1, "MT4123 ConnectX6   Mellanox "
                                          "Technologies", &err);
    fabric_set_port (f, 2, 1, 0x112, 2, 0, &err);
    fabric_add_cable (f, 0, 1, 2, 1, 4, "HDR", &err);
    fabric_add_cable (f, 0, 2, 1, 2, 4, "HDR", &err);
    ok (fabric_finish (f, &err) == 0 && !f->names, "a fabric %s", err.text);
    names_destroy (names);
    link = fabric_find_link (f, "h1/1");
    ok (strcmp (f->node[0].name, "leaf-1") == 0
            && strcmp (f->node[1].name, plain) == 0 && link != FABRIC_NONE
            && f->nwarnings == 0 && fabric_find_host (f, "h1") == 0,
        "... has them, and hosts, too");
    fabric_destroy (f);
}

int main (void)
{
    close (mkstemp (path));
    test_file ();
    test_bad ();
    test_fabric ();
    unlink (path);
    return done_testing ();
}
