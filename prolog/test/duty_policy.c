/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Audits that the policy waits for: with whom, and how long they wait for
 * partners that tell the node's link from another. Slurm's lists of nodes, the
 * audits and the clock are this test's.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define controller_idle test_idle
#define controller_drained test_drained
#define service_may_audit test_may_audit
#define service_leave_out test_leave_out
#define service_audit test_audit
#include "util/clock.h"
#define clock_date() test_clock
static long test_clock;

#include "prolog/serve/duty_policy.c"

#include "ibquery/nodemap.h"
#include "ibquery/model/generate.h"
#include "ibquery/fabric.h"
#include "tests/tap.h"

enum { BEGIN = 1700000000, MINUTE = 60, HOUR = 3600 };

static const char *idle;    /* nodes, at present */
static char audited[256];   /* "h0001 h0002": by the last turn */

int test_idle (struct hostlist *nodes, const char *partition,
               struct error *err)
{
    (void)partition;
    return hostlist_parse (nodes, idle, SIZE_MAX, err);
}

int test_drained (struct hostlist *nodes, struct error *err)
{
    (void)err;
    *nodes = (struct hostlist){ 0 };
    return 0;
}

int test_may_audit (const struct service *s, struct ledger *ledger,
                    enum ledger_why reason, struct error *err)
{
    (void)s;
    (void)ledger;
    (void)reason;
    (void)err;
    return 1;
}

int test_leave_out (struct ledger *ledger, struct hostlist *nodes,
                    struct error *err)
{
    (void)ledger;
    (void)nodes;
    (void)err;
    return 0;
}

int test_audit (const struct service *s, struct ledger *ledger,
                const struct hostlist *nodes, const struct ledger_cause *cause,
                const char *before, int64_t *id, struct error *err)
{
    (void)s;
    (void)ledger;
    (void)cause;
    (void)before;
    (void)id;
    (void)err;
    for (size_t i = 0; i < nodes->count; i++)
        sprintf (audited + strlen (audited), "%s%s", i ? " " : "",
                 nodes->name[i]);
    return 1;
}

/* Of h0001 and h0005 each link that a message crosses, h0001's own first. */
static struct hostlist links (const struct fabric *f)
{
    uint32_t arc[PATH_MAX_HOPS];
    struct hostlist list = { .name = calloc (PATH_MAX_HOPS, sizeof (char *)) };
    int n = fabric_walk (f, fabric_find_endpoint (f, "h0001"),
                         fabric_find_endpoint (f, "h0005"), arc, NULL);

    for (int i = 0; i < n - 1; i++)
        list.name[list.count++] = strdup (f->link[arc_link (arc[i])].id);
    return list;
}

/* h0002 is at h0001's switch, h0005 is not. */
static const struct {
    const char *what;
    int after_s; /* since it makes sense */
    const char *idle;
    bool suspects; /* its own link, and an uplink */
    const char *audited;
    bool said;
} turns[] = {
    { "nobody resolves its link from the uplink", 0, "h[0001,0005]", true, "",
      true },
    { "a minute later", MINUTE + 1, "h[0001,0005]", true, "", false },
    { "just not an hour later", HOUR - 1, "h[0001,0005]", true, "", false },
    { "an hour is enough", HOUR, "h[0001,0005]", true, "h0001 h0005", false },
    { "somebody tells it", 0, "h[0001-0002,0005]", true,
      "h0001 h0002 h0005", false },
    { "nothing else is suspected", 0, "h[0001,0005]", false, "h0001 h0005",
      false },
    { "nobody else is idle", 0, "h0001", true, "", false },
    { "the node itself is not", 0, "h[0002,0005]", true, "", false },
};

static void test_turn (struct service *s, size_t i)
{
    static bool patient;
    struct wish wish = { .node = "h0001", .why = LEDGER_AGAIN, .when = BEGIN,
                         .held = INT64_MIN };
    struct error err;
    char *said = NULL;
    size_t len;
    int rc;

    if (turns[i].suspects)
        wish.suspects = links (s->fabric);
    /* turns on end are of one wish */
    wish.waits = patient && turns[i].after_s > 0;
    wishes = &wish;
    nwishes = 1;
    s->log = open_memstream (&said, &len);
    test_clock = BEGIN + turns[i].after_s;
    idle = turns[i].idle;
    audited[0] = '\0';
    rc = duty_confirm (s, NULL, NULL, &err);
    ok (rc >= 0 && (rc & DUTY_DID) == (*turns[i].audited != '\0')
            && !strcmp (audited, turns[i].audited),
        "%s: %s", turns[i].what, *audited ? audited : "none");
    patient = wish.waits;
    fclose (s->log);
    said[strcspn (said, "\n")] = '\0';
    ok ((strstr (said, "waiting up to 60 min for one") != NULL) == turns[i].said,
        "... %s", *said ? said : "nothing is said");
    if (*audited)
        ok (wish.when == INT64_MAX && wish.held == INT64_MIN,
            "... the policy says when it is audited next");
    free (said);
    hostlist_clear (&wish.suspects);
}

int main (void)
{
    struct fat_tree tree = { .ports = 8, .levels = 2 };
    struct error err;
    struct service s = { .fabric = generate_fat_tree (&tree, &err) };

    if (!s.fabric
        || !(s.node_of = nodemap_nodes (NULL, s.fabric)))
        return 1;
    for (size_t i = 0; i < sizeof (turns) / sizeof (turns[0]); i++)
        test_turn (&s, i);
    free (s.node_of);
    fabric_destroy (s.fabric);
    return done_testing ();
}
