/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/compare/cabling.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

/* leaf1 (ports 1 .. 8), leaf2; h1 and h2 at ports 1 and 2 of leaf1, h3's
 * adapters at ports 1 and 2 of leaf2; two cables between the leaves, at ports 7
 * and 8. h1's second port is free. Two switches are called spare. Of two
 * managed switches, twin has cages of two ports. h4 has a domain, and is at its
 * port 5.
 */
static struct fabric *site (void)
{
    static const struct {
        uint64_t guid;
        enum node_type type;
        unsigned int ports;
        const char *desc;
    } nodes[] = {
        { 0x101, NODE_SWITCH, 8, "leaf1" },
        { 0x102, NODE_SWITCH, 8, "leaf2" },
        { 0x1, NODE_CA, 2, "h1 mlx5_0" },
        { 0x2, NODE_CA, 1, "h2 HCA-1" },
        { 0x3, NODE_CA, 1, "h3 mlx5_0" },
        { 0x4, NODE_CA, 1, "h3 mlx5_1" },
        { 0x103, NODE_SWITCH, 8, "spare" },
        { 0x104, NODE_SWITCH, 8, "spare" },
        { 0x105, NODE_SWITCH, 65, " MF0;twin:MQM9700/U1 " },
        { 0x106, NODE_SWITCH, 41, "MF0;one:MQM8700/U1" },
        { 0x5, NODE_CA, 1, "h4.example.org mlx5_0" },
    };
    static const unsigned int cables[][4] = {
        { 2, 1, 0, 1 }, { 3, 1, 0, 2 }, { 4, 1, 1, 1 },
        { 5, 1, 1, 2 }, { 0, 7, 1, 7 }, { 0, 8, 1, 8 }, { 8, 64, 9, 6 },
        { 10, 1, 8, 5 },
    };
    struct fabric *f = fabric_create ();
    struct error err = { 0 };

    for (unsigned int i = 0; i < sizeof (nodes) / sizeof (nodes[0]); i++) {
        fabric_add_node (f, nodes[i].guid, nodes[i].type, nodes[i].ports,
                         nodes[i].desc, &err);
        if (nodes[i].type == NODE_SWITCH)
            fabric_set_switch_lid (f, i, 10 + i, &err);
        else
            fabric_set_port (f, i, 1, 0x1000 + i, 10 + i, 0, &err);
    }
    for (unsigned int i = 0; i < sizeof (cables) / sizeof (cables[0]); i++)
        fabric_add_cable (f, cables[i][0], cables[i][1], cables[i][2],
                          cables[i][3], 4, "HDR", &err);
    if (*err.text || fabric_finish (f, &err) < 0)
        diag ("%s", err.text);
    return f;
}

#define MANAGED "twin,64,one,6\ntwin,5,h4,\n"

static const struct {
    const char *what, *text;
    const char *expected; /* findings, or the error */
} rows[] = {
    { "all as it is, in many spellings",
      "switch,port,host,port,label\n"
      "# a comment\n"
      "\n"
      "leaf1, 1, h1, mlx5_0/1, C-1\n"
      "h2,HCA-1,leaf1,2\r\n"
      "\" leaf2 \",1,\t\"h3\",\"mlx5_0\"\n"
      "leaf2,2,h3 mlx5_1,,\"a \"\"b\"\", c\",more,and more\n"
      "leaf1,7,0000000000000102,7\n"
      "  leaf1 , 8 , leaf2 , 8\n"
      "twin,1/32/2,one,IB1/6\n"
      "MF0;twin:MQM9700/U1,1/3/1,h4,1",
      "" },
    { "semicolons, and a name with one",
      "switch;port;host;port\n\"leaf1\";1;h1;;A, B, C, D, E\nleaf1;2;h2;1\n"
      "leaf2;1;h3;mlx5_0\nleaf2;2;h3;mlx5_1\nleaf1;7;leaf2;7\n"
      "leaf1;8;leaf2;8\nMF0;twin:MQM9700/U1;64;\"MF0;one:MQM8700/U1\";6\n"
      "MF0;twin:MQM9700/U1;5;h4.example.org;1\n", "" },
    { "tabs, and commas in labels",
      "leaf1\t1\th1\t\ta, b, c, d, e\nleaf1\t2\th2\t1\nleaf2\t1\th3\tmlx5_0\n"
      "leaf2\t2\th3\tmlx5_1\nleaf1\t7\tleaf2\t7\nleaf1\t8\tleaf2\t8\n"
      "twin\t64\tone\t6\ntwin\t5\th4\t\n", "" },
    { "a mark of UTF-8", "\xef\xbb\xbfleaf1,1,h1,\nleaf1,2,h2,1\n",
      "-h3 mlx5_0/1 leaf2/1; -h3 mlx5_1/1 leaf2/2; "
      "-h4.example.org mlx5_0/1 MF0;twin:MQM9700/U1/5; -leaf1/7 leaf2/7; "
      "-leaf1/8 leaf2/8; -MF0;twin:MQM9700/U1/64 MF0;one:MQM8700/U1/6" },
    { "two plugs exchanged, wanted the other way",
      "leaf1,1,h2,1\nleaf1,2,h1,1\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,7\nleaf1,8,leaf2,8\n" MANAGED,
      "1: h2 HCA-1/1 from leaf1/2 to leaf1/1 swap 2; "
      "2: h1 mlx5_0/1 from leaf1/1 to leaf1/2 swap 1" },
    { "cables between switches exchanged",
      "leaf1,1,h1,1\nleaf1,2,h2,1\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,8\nleaf1,8,leaf2,7\n" MANAGED,
      "5: leaf1/7 from leaf2/7 to leaf2/8 swap 6; "
      "6: leaf1/8 from leaf2/8 to leaf2/7 swap 5" },
    { "a plug in the wrong port",
      "leaf1,1,h1,1\nleaf1,5,h2,1\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,7\nleaf1,8,leaf2,8\n" MANAGED,
      "2: h2 HCA-1/1 from leaf1/2 to leaf1/5" },
    { "a host that is not there, and a cable too many",
      "leaf1,1,h1,1\nleaf1,2,h2,1\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,7\nleaf1,4,h9,mlx5_0,C-9\n" MANAGED,
      "-leaf1/8 leaf2/8; ?h9" },
    { "another host in its place",
      "leaf1,1,h1,1\nleaf1,2,h9,\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,7\nleaf1,8,leaf2,8\n" MANAGED, "?h9" },
    { "... whose own is elsewhere",
      "leaf1,1,h1,1\nleaf1,2,h9,\nleaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\n"
      "leaf1,7,leaf2,7\nleaf1,8,leaf2,8\nleaf1,5,h2,1\n" MANAGED,
      "7: h2 HCA-1/1 from leaf1/2 to leaf1/5; ?h9" },
    { "none of them there", "a,1,b,1\na,1,b,2\n",
      "-h1 mlx5_0/1 leaf1/1; -h2 HCA-1/1 leaf1/2; -h3 mlx5_0/1 leaf2/1; "
      "-h3 mlx5_1/1 leaf2/2; -h4.example.org mlx5_0/1 MF0;twin:MQM9700/U1/5; "
      "-leaf1/7 leaf2/7; -leaf1/8 leaf2/8; "
      "-MF0;twin:MQM9700/U1/64 MF0;one:MQM8700/U1/6; ?a; ?b; ?a; ?b" },
    { "a label of another kind", "twin,5/1,h1,1\n",
      "x:1: twin: the label '5/1' is not understood: give the port's number" },
    { "a cage has no third", "twin,1/5/3,h1,1\n",
      "x:1: twin: the label '1/5/3' is not understood: give the port's "
      "number" },
    { "a cage too far", "twin,1/34/1,h1,1\n",
      "x:1: twin: the label '1/34/1' is not understood: give the port's "
      "number" },
    { "no cages of two", "one,1/3/1,h1,1\n",
      "x:1: one: the label '1/3/1' is not understood: give the port's number" },
    { "blanks and tabs around names", "leaf1,\t1,\th1,\t\nleaf1 ,\t2,\th2 ,1\n"
      "leaf2,1,h3,mlx5_0\nleaf2,2,h3,mlx5_1\nleaf1,7,leaf2,7\n"
      "leaf1,8,leaf2,8\n" MANAGED, "" },
    { "a port too far", "one,1/42,h1,1\n",
      "x:1: one: the label '1/42' is not understood: give the port's number" },
    { "nothing", "", "x:1: no cables are listed" },
    { "a headline alone", "a,b,c,d\n", "x:1: no cables are listed" },
    { "too few fields", "leaf1,1,h1\n",
      "x:1: 3 fields are not a cable: NODE,PORT,NODE,PORT" },
    { "no such port", "leaf1,1,h1,1\nleaf1,9,h2,1\n",
      "x:2: leaf1 has no port '9'" },
    { "a headline further down", "leaf1,1,h1,1\nleaf1,port,h2,port\n",
      "x:2: leaf1 has no port 'port'" },
    { "no number of a switch", "leaf1,1,h1,1\nleaf1,,h2,1\n",
      "x:2: leaf1 has no port ''" },
    { "which adapter?", "leaf2,1,h3,1\n", "x:1: h3 port '1' may be 2 ports" },
    { "which switch?", "spare,1,h1,1\n", "x:1: spare port '1' may be 2 ports" },
    { "a port twice", "leaf1,1,h1,1\nleaf1,2,h1,mlx5_0/1\n",
      "x:2: h1 mlx5_0/1 has a cable in line 1 already" },
    { "both ends the same", "leaf1,1,leaf1,1\n", "x:1: both ends are one port" },
    { "no name", ",1,h1,1\n", "x:1: a switch or host has no name" },
    { "an open quote", "leaf1,1,\"h1,1\n", "x:1: a quote is not closed" },
    { "text behind a quote", "\"leaf1\"x,1,h1,1\n",
      "x:1: \"x,1,h1,1\" follows a quote" },
    { "a quote in quotes, and open", "\"leaf1\"\",1,h1,1",
      "x:1: a quote is not closed" },
    { "a byte of no text", "leaf1,1,h\x01,1\n",
      "x:1: byte 10 of the line (0x01) is not printable ASCII" },
};

static void put_name (FILE *fp, const struct cabling *c, uint32_t port)
{
    fputs (PORT_NAME (c->f, port), fp);
}

static char *summary (const struct cabling *c)
{
    char *text = NULL;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    for (size_t i = 0; i < c->nlines; i++)
        for (size_t k = 0; k < c->found.nmoves; k++) {
            const struct cable_move *m = &c->found.move[k];

            if (m->cable.b != i)
                continue;
            fprintf (fp, "%u: ", c->line[i].number);
            put_name (fp, c, m->stays);
            fprintf (fp, " from ");
            put_name (fp, c, m->from);
            fprintf (fp, " to ");
            put_name (fp, c, m->to);
            if (m->swap != CABLES_NONE)
                fprintf (fp, " swap %u",
                         c->line[c->found.move[m->swap].cable.b].number);
            fprintf (fp, "; ");
        }
    for (size_t i = 0; i < c->found.added.n; i++) {
        const struct cabling_line *l = &c->line[c->found.added.v[i].b];

        fprintf (fp, "+%u: ", l->number);
        put_name (fp, c, l->a);
        fprintf (fp, " ");
        put_name (fp, c, l->b);
        fprintf (fp, " %s; ", l->label);
    }
    for (size_t i = 0; i < c->found.lost.n; i++) {
        const struct fabric_link *l = &c->f->link[c->found.lost.v[i].a];

        fprintf (fp, "-");
        put_name (fp, c, l->a);
        fprintf (fp, " ");
        put_name (fp, c, l->b);
        fprintf (fp, "; ");
    }
    for (size_t i = 0; i < c->nabsent; i++)
        fprintf (fp, "?%s; ", c->absent[i]);
    fclose (fp);
    text[strlen (text) - (*text ? 2 : 0)] = '\0';
    return text;
}

static void read_row (const struct fabric *f, size_t i)
{
    struct error err = { 0 };
    size_t len = strlen (rows[i].text);
    FILE *fp = len > 0 ? fmemopen ((char *)rows[i].text, len, "r")
                       : fopen ("/dev/null", "r");
    struct cabling *c;
    char *got = NULL;

    c = cabling_read (f, fp, "x", &err);
    if (c)
        got = summary (c);
    ok (strcmp (c ? got : err.text, rows[i].expected) == 0, "%s: %s",
        rows[i].what, c ? got : err.text);
    free (got);
    cabling_destroy (c);
    fclose (fp);
}

int main (void)
{
    struct fabric *f = site ();

    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        read_row (f, i);
    fabric_destroy (f);
    return done_testing ();
}
