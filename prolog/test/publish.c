/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is published of the nodes of an audit. */
#include "config.h"
#include "prolog/serve/duty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/plan/plan.h"
#include "core/samples/simulate.h"
#include "ibquery/nodemap.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"

enum { HOSTS = 4 };

static struct error err;
static struct service service = { .site = { .verdicts = "verdicts" } };
static struct pathset *ps;
static struct plan *plan;

static uint32_t link_of (uint32_t host)
{
    const struct fabric *f = service.fabric;

    return f->port[f->endpoint[f->host[host].first].port].link;
}

/* An audit that is UNKNOWN for a limit, or a finding of these hosts, "13", or
 * did not judge these.
 */
static int64_t record (bool limited, const char *found, const char *open)
{
    static const struct ledger_cause cause = { .why = LEDGER_BY_HAND };
    struct simulate_options opts = { .noise_ns = 5, .repeats = 3, .seed = 1 };
    struct fabric *f = service.fabric;
    double *latency = calloc (f->nlinks, sizeof (*latency));
    struct verdict *v = verdict_create ();
    struct samples *s = simulate (ps, plan, latency, &opts, &err);
    const char *host[HOSTS];
    int64_t id;

    for (size_t i = 0; i < HOSTS; i++)
        host[i] = f->host[i].name;
    if (limited)
        verdict_limit (v, VERDICT_UNKNOWN, "it was not to be told");
    if (*found) {
        v->nfindings = 1;
        v->finding = calloc (1, sizeof (*v->finding));
        *v->finding = (struct finding){
            .level = VERDICT_FAIL, .kind = FINDING_HOST_END,
            .excess_ns = 412, .stderr_ns = 20, .expected_ns = 131,
            .suspect = calloc (HOSTS, sizeof (uint32_t)),
            .why = strdup ("it is slow"),
        };
        v->status = VERDICT_FAIL;
    }
    for (; *found; found++)
        v->finding->suspect[v->finding->nsuspects++]
            = link_of ((uint32_t)(*found - '1'));
    v->open = calloc (HOSTS, sizeof (*v->open));
    for (; *open; open++)
        v->open[v->nopen++] = link_of ((uint32_t)(*open - '1'));
    ledger_begin (service.ledger, 100, f->hash, &cause, host, HOSTS, s->nonce,
                  &err);
    id = ledger_record (service.ledger, 101, ps, s, v, &err);
    samples_destroy (s);
    verdict_destroy (v);
    free (latency);
    return id;
}

/* "OK FAIL": of nodes, as published. */
static const char *published (void)
{
    static char all[256];
    char line[512], status[16];
    FILE *fp = fopen ("verdicts", "r");

    *all = '\0';
    while (fp && fgets (line, sizeof (line), fp))
        if (sscanf (line, "node %*s %15s", status) == 1)
            sprintf (all + strlen (all), "%s%s", *all ? " " : "", status);
    if (fp)
        fclose (fp);
    return all;
}

/* How many ports were published before, and are now. */
static void test_ports (void)
{
    static const struct {
        const char *node;
        int was, days;
        const char *wanted; /* NULL: no line */
    } tab[] = {
        { "h0001", 1, 1, "1" }, { "h0002", 2, 1, "2" },
        { "h0003", 3, 8, "1" }, { "h0004", 4, -1, "1" },
        { "gone", 2, 6, "2" },  { "long-gone", 2, 8, NULL },
    };
    enum { N = sizeof (tab) / sizeof (tab[0]), DAY = 86400 };
    long now = (long)time (NULL);
    char line[512], *got[N] = { NULL };
    FILE *fp = fopen ("verdicts", "w");

    for (size_t i = 0; i < N; i++)
        fprintf (fp, "ports %s %d %ld\n", tab[i].node, tab[i].was,
                 now - tab[i].days * DAY);
    fclose (fp);
    ok (duty_publish (&service, &err) == 0, "published again");
    fp = fopen ("verdicts", "r");
    while (fp && fgets (line, sizeof (line), fp))
        for (size_t i = 0; i < N; i++) {
            char name[64], ports[16];

            if (sscanf (line, "ports %63s %15s", name, ports) == 2
                && !strcmp (name, tab[i].node))
                got[i] = strdup (ports);
        }
    for (size_t i = 0; i < N; i++) {
        ok (tab[i].wanted ? got[i] && !strcmp (got[i], tab[i].wanted)
                          : !got[i],
            "%s had %d ports %d days ago: %s", tab[i].node, tab[i].was,
            tab[i].days, got[i] ? got[i] : "none");
        free (got[i]);
    }
    if (fp)
        fclose (fp);
}

int main (void)
{
    static const struct {
        const char *what;
        bool limited;
        const char *found, *open, *published;
    } tab[] = {
        { "all is well", false, "", "", "OK OK OK OK" },
        { "it could not tell", true, "", "", "UNKNOWN UNKNOWN UNKNOWN UNKNOWN" },
        { "... of one host", true, "", "3", "OK OK UNKNOWN OK" },
        { "one did not matter to the whole", false, "", "3",
          "OK OK UNKNOWN OK" },
        { "one FAILs, and one was not judged", true, "1", "2",
          "FAIL UNKNOWN OK OK" },
        { "one FAILs", false, "4", "", "OK OK OK FAIL" },
        { "one of two FAILs", false, "14", "", "UNKNOWN OK OK UNKNOWN" },
    };
    struct fat_tree tree = { .ports = 4, .levels = 2 };
    struct plan_options opts = { .extra_rounds = 2, .seed = 1 };
    char dir[] = "/tmp/pmm-test.XXXXXX";
    const char *host[HOSTS] = { NULL };

    if (!mkdtemp (dir) || chdir (dir) < 0 || chmod (dir, 0755) < 0
        || !(service.fabric = generate_fat_tree (&tree, &err))
        || !(service.node_of = nodemap_nodes (NULL, service.fabric))
        || !(service.ledger = ledger_open ("led", LEDGER_CREATE, &err)))
        return 1;
    for (size_t i = 0; i < HOSTS; i++)
        host[i] = service.fabric->host[i].name;
    if (!(ps = fabric_pathset (service.fabric, host, HOSTS, &err))
        || !(plan = plan_make (ps, &opts, &err)))
        return 1;
    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        ok (record (tab[i].limited, tab[i].found, tab[i].open) == (int64_t)i + 1
                && duty_publish (&service, &err) == 0,
            "%s", tab[i].what);
        ok (!strcmp (published (), tab[i].published), "... is published: %s",
            published ());
    }
    test_ports ();
    plan_destroy (plan);
    pathset_destroy (ps);
    ledger_close (service.ledger);
    free (service.node_of);
    fabric_destroy (service.fabric);
    for (size_t i = 0; i < 5; i++) {
        static const char *const file[]
            = { "led", "led-wal", "led-shm", "led.lock", "verdicts" };

        unlink (file[i]);
    }
    return chdir ("/") < 0 || rmdir (dir) < 0 ? 1 : done_testing ();
}
