/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report says whose it is, and what is not known. */
#include "config.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

static char *report (const struct verdict *v, const struct fabric *f)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);

    report_text (v, f, fp);
    fclose (fp);
    return text;
}

static size_t count_lines (const char *s)
{
    size_t n = 0;

    for (; *s; s++)
        n += *s == '\n';
    return n;
}

/* A finding of the n links named, by the host names given. */
static void add (struct verdict *v, const struct fabric *f,
                 enum finding_kind kind, const char *const *link, size_t n,
                 const char *node)
{
    struct finding *x;

    x = verdict_add (v, VERDICT_FAIL, BASIS_BASELINE);
    x->kind = kind;
    x->excess_ns = 1003;
    x->stderr_ns = 14;
    x->expected_ns = node ? 431 : NAN;
    finding_add_fact (v, x, fact_said ("because"));
    for (size_t i = 0; i < n; i++)
        verdict_add_number (v, &x->suspect, &x->nsuspects,
                            fabric_find_link (f, link[i]));
    if (node)
        finding_add_host (v, x, node);
    v->status = VERDICT_FAIL;
}

static void has (const char *text, const char *part)
{
    ok (strstr (text, part) != NULL, "says: %s", part);
}

int main (void)
{
    static const char *const host[] = { "h0003/1" };
    struct fat_tree tree = { .ports = 8, .levels = 2 };
    struct error err;
    struct fabric *f = generate_fat_tree (&tree, &err);
    struct verdict *v = verdict_create ();
    const char *many[12];
    size_t n = 0;
    char *text;

    if (!f || !v)
        abort ();
    v->nodes = 16;
    v->links = 131;
    v->separable = 126;
    v->probes = 92;
    v->rounds = 9;
    text = report (v, f);
    ok (!strcmp (text, "pmm: OK: nothing is slow\n"
                       "pmm:   measured: 131 links of 16 nodes by 92 probes in "
                       "9 rounds; 96 % of the links resolved\n"),
        "all is well: two lines");
    free (text);

    add (v, f, FINDING_HOST_END, host, 1, "h0003");
    for (size_t l = 0; l < f->nlinks && n < 12; l++)
        if (f->link[l].kind == LINK_SWITCH)
            many[n++] = f->link[l].id;
    add (v, f, FINDING_SWITCH_LINK, many, n, NULL);
    add (v, f, FINDING_SWITCH_LINK, host, 1, "h0003");
    verdict_add_number (v, &v->finding[2].oneway, &v->finding[2].noneway,
                        v->finding[1].suspect[0]);
    add (v, f, FINDING_ROUTE, host, 1, "h0003");
    v->finding[3].level = VERDICT_WARN;
    v->finding[3].excess_ns = -672;
    add (v, f, FINDING_NODE, host, 1, "h0003");
    v->finding[4].level = VERDICT_WARN;
    verdict_limit (v, VERDICT_UNKNOWN,
                   fact_said ("2 nodes did not answer: \033[1m"));
    text = report (v, f);
    diag ("%zu lines", count_lines (text));
    ok (!strncmp (text, "pmm: FAIL: a cable is 1.0 us slow: h0003's\n"
                        "pmm:   do: leave out h0003, or send this to your "
                        "support\n"
                        "pmm:   h0003 mlx5_0/1 -- s1-0001/3  (0002c90000000030"
                        "/1): +1003 ns (+-14) over an expected 431 ns, slower "
                        "than in the baseline\n"
                        "pmm:   because\n", 200),
        "what is wrong, what to do, where, and why");
    has (text, "pmm: FAIL: one of 12 cables is 1.0 us slow: s1-0001/5 -- "
               "s2-0001/1, or 11 others\n"
               "pmm:   do: send this to your support; it is no node's fault\n");
    has (text, "pmm:   or 4 more, listed in the JSON report\n");
    has (text, "pmm: FAIL: a cable is 1.0 us slow: h0003's, or s1-0001/5 -- "
               "s2-0001/1\n");
    has (text, "pmm:   or, in one direction, s");
    has (text, "pmm: WARN: messages take another way than the tables say\n"
               "pmm:   do: send this to your support; it is no node's fault\n");
    has (text, ": -672 ns (+-14) there and back\n");
    has (text, "pmm: WARN: h0003 itself is 1.0 us slow, not its cable\n"
               "pmm:   do: leave out h0003,");
    has (text, "resolved\npmm:   limit: 2 nodes did not answer: ?[1m\n");
    free (text);
    verdict_destroy (v);
    fabric_destroy (f);
    return done_testing ();
}
