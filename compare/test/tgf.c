/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/infer/graph.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

static struct topology_model *read_text (const char *text, struct error *err)
{
    FILE *fp = fmemopen ((void *)text, strlen (text), "r");
    struct topology_model *m = tgf_read (fp, "graph", err);

    fclose (fp);
    return m;
}

typedef int (*write_f) (const struct topology_model *m, const struct fit *fit,
                        FILE *fp, struct error *err);

/* What is written of a model; the caller frees it. */
static char *text_of (const struct topology_model *m, write_f write)
{
    char *text = NULL;
    size_t len;
    FILE *fp = open_memstream (&text, &len);

    if (write (m, NULL, fp, NULL) < 0)
        abort ();
    fclose (fp);
    return text;
}

static const char star[] = "1 a\n2 b\n3 c\n4 switch 1\n#\n"
                           "1 4 l: 3 t: 10\n2 4 l: 0.5\n3 4 l: 2\n";

static void test_again (void)
{
    struct topology_model *m = read_text (star, NULL);
    char *text = text_of (m, tgf_write);

    ok (m->nnodes == 3 && m->nvertices == 4 && m->nedges == 3, "a star");
    ok (m->edge[0].latency_ns == 3 && m->edge[0].rate == 10
            && m->edge[1].rate == 0,
        "with its latencies and rates");
    ok (strcmp (text, star) == 0, "is written as it was read");
    free (text);
    topology_destroy (m);
}

/* IDs as they come, switches anywhere, blanks and empty lines. */
static void test_free (void)
{
    struct topology_model *m
        = read_text ("70 switch\r\n3 x:1\n\n5 y\n 4   z \n#\n70 3 t: 1 l: 3\n"
                     "\n5 70 l: 2\n4 70 l: 1", NULL);

    ok (m && m->nnodes == 3 && m->nvertices == 4 && m->nedges == 3
            && strcmp (m->label[0], "x:1") == 0 && m->edge[0].latency_ns == 3
            && m->edge[0].rate == 1 && m->edge[2].latency_ns == 1,
        "IDs in any order, switches anywhere, blanks");
    topology_destroy (m);
}

static const struct {
    const char *what, *text, *said;
} wrong[] = {
    { "nothing", "", "graph:1: no '#' is between vertices and edges" },
    { "no edges' part", "1 a\n2 b\n",
      "graph:3: no '#' is between vertices and edges" },
    { "one node", "1 a\n2 switch\n#\n", "graph:3: 1 node: 2 to 2048 are "
                                        "wanted" },
    { "an ID twice", "1 a\n1 b\n#\n", "graph:2: vertex 1 is there twice" },
    { "a label twice", "1 a\n2 b\n3 a\n#\n",
      "graph:3: two vertices are called a" },
    { "no label", "1 a\n2\n#\n", "graph:2: a vertex has no label" },
    { "a label of two words", "1 a b\n", "graph:1: the label of a node is one "
                                         "word" },
    { "a label that is no text", "1 a\033[2J\n",
      "graph:1: a label is not printable ASCII" },
    { "no number", "x a\n", "graph:1: 'x' is no number of a vertex" },
    { "an edge to nowhere", "1 a\n2 b\n#\n1 3 l: 1\n",
      "graph:4: there is no vertex 3" },
    { "a loop", "1 a\n2 b\n#\n1 1 l: 1\n",
      "graph:4: an edge leads back to where it starts" },
    { "no latency", "1 a\n2 b\n#\n1 2 t: 1\n",
      "graph:4: an edge has no latency (l: NS)" },
    { "a latency below 0", "1 a\n2 b\n#\n1 2 l: -1\n",
      "graph:4: '-1' is no number from 0 on" },
    { "a latency that is none", "1 a\n2 b\n#\n1 2 l: nan\n",
      "graph:4: 'nan' is no number from 0 on" },
    { "a value of another name", "1 a\n2 b\n#\n1 2 x: 1\n",
      "graph:4: 'x:' is neither l: nor t:" },
    { "an edge twice", "1 a\n2 b\n#\n1 2 l: 1\n\n2 1 l: 1\n",
      "graph:6: these vertices are joined in line 4 already" },
    { "a second #", "1 a\n2 b\n#\n#\n", "graph:4: a second '#'" },
};

static void test_wrong (void)
{
    for (size_t i = 0; i < sizeof (wrong) / sizeof (wrong[0]); i++) {
        FILE *fp = tmpfile ();
        struct error err = { 0 };

        fputs (wrong[i].text, fp);
        rewind (fp);
        ok (!tgf_read (fp, "graph", &err)
                && strcmp (err.text, wrong[i].said) == 0,
            "%s: %s", wrong[i].what, err.text);
        fclose (fp);
    }
}

static void test_drawing (void)
{
    struct topology_model *m
        = read_text ("1 a\"b\n2 c\n#\n1 2 l: 3.4\n", NULL);
    char *text = text_of (m, show_dot);

    ok (strcmp (text, "graph topology {\n"
                      "    v1 [label=\"a\\\"b\", shape=box];\n"
                      "    v2 [label=\"c\", shape=box];\n"
                      "    v1 -- v2 [label=\"3 ns\"];\n}\n") == 0,
        "the drawing, quotes and all");
    free (text);
    topology_destroy (m);
}

int main (void)
{
    test_again ();
    test_free ();
    test_wrong ();
    test_drawing ();
    return done_testing ();
}
