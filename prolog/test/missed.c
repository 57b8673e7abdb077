/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes that audits have not measured for long. */
#include "config.h"
#include "prolog/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { DAY = 86400, FIRST = 1000000 };

static struct error err;

static const struct policy_node state[] = {
    { .name = "h0001" },
    { .name = "h0002" },
    { .name = "h0003", .drained = true },
    { .name = "h0004", .down = true },
    { .name = "stranger" },
};
static const struct controller_nodes nodes = {
    .v = (struct policy_node *)state,
    .n = sizeof (state) / sizeof (state[0]),
};

static const char *list (struct ledger *l, const struct fabric *f,
                         int every_s, int64_t now)
{
    static char text[256];
    const struct site site = { .audit_every_ms = 1000 * every_s };
    const char **node_of = nodemap_nodes (NULL, f);
    const struct reports in = { .site = &site, .ledger = l, .fabric = f,
                                .node_of = node_of, .nodes = &nodes };
    struct hostlist missed;
    int rc = missed_nodes (&missed, &in, now, &err);

    text[0] = '\0';
    for (size_t i = 0; rc == 0 && i < missed.count; i++)
        strcat (strcat (text, " "), missed.name[i]);
    hostlist_clear (&missed);
    free (node_of);
    return rc == 0 ? text : err.text;
}

int main (void)
{
    static const struct ledger_cause cause = { .why = LEDGER_SWEEP };
    static const struct {
        int every_s;
        int64_t now;
        const char *missed;
    } tab[] = {
        { DAY, FIRST, "" },
        { DAY, FIRST + DAY, "" },
        { DAY, FIRST + DAY + 1, " h0002" },
        { DAY, FIRST + 2 * DAY, " h0002" },
        { DAY, FIRST + 2 * DAY + 1, " h0001 h0002" },
        { 7 * DAY, FIRST + 2 * DAY + 1, " h0002" },
        { 0, FIRST + 2 * DAY, " h0002" },
        { 0, FIRST + 30 * DAY, "" }, /* its fault is forgotten */
    };
    const char *const host[] = { "h0001", "h0002" };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct fabric *f = generate_fat_tree (&tree, &err);
    char nonce[LEDGER_NONCE_BYTES];
    struct ledger *l = NULL;
    int64_t id = -1;

    if (mkdtemp (dir) && chdir (dir) == 0 && chmod (dir, 0755) == 0)
        l = ledger_open ("led", LEDGER_CREATE, &err);
    ok (f && l && !*list (l, f, DAY, FIRST), "no audit, none missed: %s",
        err.text);
    if (l && f)
        id = ledger_begin (l, FIRST, f->hash, &cause, host, 2, nonce, &err);
    ok (id > 0 && ledger_fault_add (l, id, "h0002", "no launch", &err) == 0
            && ledger_give_up (l, FIRST, id, "no launch", &err) == 1,
        "an audit without a result, for the fault of a node");
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++)
        ok (!strcmp (list (l, f, tab[i].every_s, tab[i].now), tab[i].missed),
            "%d s, %jd s later:%s", tab[i].every_s,
            (intmax_t)(tab[i].now - FIRST), tab[i].missed);
    ledger_close (l);
    fabric_destroy (f);
    for (size_t i = 0; i < 3; i++) {
        static const char *const file[] = { "led", "led-wal", "led-shm" };

        unlink (file[i]);
    }
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
