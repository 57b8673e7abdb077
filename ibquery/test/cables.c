/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/compare/cables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { PORTS = 52 };

/* Cables are written as their two ports, each a letter: lower case is an
 * adapter's, upper case a switch's.
 */
static uint32_t port_of (char c)
{
    return c >= 'a' ? c - 'a' : c - 'A' + 26;
}

static char letter_of (uint32_t port)
{
    return port < 26 ? 'a' + port : 'A' + port - 26;
}

static struct pairs parse (struct pool *pool, const char *s)
{
    struct pairs c = { 0 };

    for (; *s; s += s[2] ? 3 : 2)
        pairs_add (pool, &c, port_of (s[0]), port_of (s[1]));
    return c;
}

static const struct {
    const char *what, *before, *after;
    /* "=": the same; "a:B>C": a stays, its other plug went from B to C, "*"
     * behind it: swapped; "-AB" lost; "+AB" added */
    const char *expected;
} rows[] = {
    { "nothing at all", "", "", "" },
    { "the same, other ends first", "aA bB", "Bb Aa", "= =" },
    { "a plug moved", "aA", "aB", "a:A>B" },
    { "lost", "aA bB", "aA", "= -bB" },
    { "added", "aA", "aA bB", "= +bB" },
    { "two hosts exchanged", "aA bB", "aB bA", "a:A>B* b:B>A*" },
    { "another host in its place", "aA", "bA", "A:a>b" },
    { "... while it went elsewhere", "aA", "bA aB", "a:A>B +bA" },
    { "a host moves where one is gone", "aA bB", "aB", "a:A>B -bB" },
    { "hosts move on by one", "aA bB cC", "aB bC cD", "a:A>B b:B>C c:C>D" },
    { "three hosts in a ring", "aA bB cC", "aB bC cA", "a:A>B b:B>C c:C>A" },
    { "two cables between switches exchanged", "AB CD", "AD CB",
      "A:B>D* C:D>B*" },
    { "... the other way", "AB CD", "AC BD", "A:B>C* D:C>B*" },
    { "a path of three", "AB CD", "BC", "B:A>C -CD" },
    { "a path of five, of which one is left", "BC DE", "AB CD EF",
      "B:C>A D:E>C +EF" },
    { "a ring of switches", "AB CD EF", "BC DE FA",
      "A:B>F C:D>B E:F>D" },
    { "two adapters, back to back", "ab", "ac", "a:b>c" },
};

static void compare (size_t row)
{
    struct pool *pool = pool_create ();
    struct pairs before = parse (pool, rows[row].before);
    struct pairs after = parse (pool, rows[row].after);
    bool is_host[PORTS];
    struct cables c;
    char got[200] = "", *p = got;

    for (int i = 0; i < PORTS; i++)
        is_host[i] = i < 26;
    cables_compare (pool, &c, &before, &after, is_host, PORTS);
    for (size_t i = 0; i < c.same.n; i++)
        p += sprintf (p, "= ");
    for (size_t i = 0; i < c.nmoves; i++)
        p += sprintf (p, "%c:%c>%c%s ", letter_of (c.move[i].stays),
                      letter_of (c.move[i].from), letter_of (c.move[i].to),
                      c.move[i].swap == CABLES_NONE ? "" : "*");
    for (size_t i = 0; i < c.lost.n; i++)
        p += sprintf (p, "-%c%c ", letter_of (before.v[c.lost.v[i].a].a),
                      letter_of (before.v[c.lost.v[i].a].b));
    for (size_t i = 0; i < c.added.n; i++)
        p += sprintf (p, "+%c%c ", letter_of (after.v[c.added.v[i].b].a),
                      letter_of (after.v[c.added.v[i].b].b));
    if (p > got)
        p[-1] = '\0';
    ok (strcmp (got, rows[row].expected) == 0, "%s: %s", rows[row].what, got);
    pool_destroy (pool);
}

int main (void)
{
    for (size_t i = 0; i < sizeof (rows) / sizeof (rows[0]); i++)
        compare (i);
    return done_testing ();
}
