/* SPDX-License-Identifier: GPL-2.0-or-later */
/* [CABLING=FILE] site_page FABRIC DIR - write DIR/index.html, the page of a site of
 * that fabric, with a ledger in DIR whose audits found what this program says: for
 * tests/t0351-sitepage.t and bench/site-page. It prints how many seconds that took.
 *
 * Of the hosts, the last eighth was never measured, the others a month ago to 20
 * minutes ago. Slurm does not know the last one.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "ibquery/snapshot.h"
#include "prolog/audit/audit.h"
#include "report/words.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/file.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static struct error err;
static struct fabric *f;
static struct ledger *ledger;
static int64_t now;

static _Noreturn void die (void)
{
    fprintf (stderr, "site_page: %s\n", err.text);
    exit (1);
}

/* An audit of n hosts from `first` on, in which each measured some others. */
static struct samples *measure (size_t n, const char *nonce,
                                const char *const *host, const char *kernel)
{
    struct samples *s = samples_create ();
    static const size_t by[] = { 1, 7, 61, 541 };

    snprintf (s->nonce, sizeof (s->nonce), "%s", nonce);
    s->complete = true;
    for (size_t i = 0; i < n; i++) {
        struct node node = { 0 };

        snprintf (node.kernel, sizeof (node.kernel), "%s", kernel);
        snprintf (node.host, sizeof (node.host), "%s", host[i]);
        samples_add_host (s, host[i], true);
        samples_add_node (s, &node);
        for (size_t k = 0; k < sizeof (by) / sizeof (by[0]); k++) {
            uint32_t a = (uint32_t)i, b = (uint32_t)((i + by[k]) % n);
            struct sample one = { .a = a, .b = b, .round = (uint32_t)k,
                                  .sent = 5 };

            for (int q = 0; q < RTT_COUNT; q++)
                one.rtt_ns[q] = 2000;
            if (a != b)
                samples_add (s, &one);
        }
    }
    return s;
}

struct told {
    size_t first, n; /* hosts */
    int64_t ago;
    uint64_t job;
    const char *kernel;
    const struct finding *finding;
    size_t nfindings;
    uint32_t *open;
    size_t nopen;
    bool rates; /* were measured: h0006 sends half */
};

static uint32_t link_of (size_t host)
{
    return f->port[f->endpoint[f->host[host].first].port].link;
}

/* Of the links of n hosts. */
static void put_rates (struct verdict *v, size_t first, size_t n)
{
    v->rate = xcalloc (2 * n, sizeof (*v->rate));
    for (size_t i = 0; i < n; i++)
        for (uint32_t way = 0; way < 2; way++)
            v->rate[v->nrates++] = (struct verdict_rate){
                2 * link_of (first + i) + way,
                first + i == 5 && way == 0 ? 98.3e9 : 196e9, 197e9,
            };
}

static void audit (const struct told *t)
{
    const char **host = xarray (t->n, sizeof (*host));
    struct ledger_cause cause = { .why = t->job ? LEDGER_JOB : LEDGER_SWEEP,
                                  .job = t->job, .submitted = t->job ? 1 : 0,
                                  .uid = 4711 };
    struct verdict v = {
        .finding = (struct finding *)t->finding, .nfindings = t->nfindings,
        .open = t->open, .nopen = t->nopen,
        .status = t->nfindings ? t->finding->level : VERDICT_OK,
        .nodes = t->n,
    };
    char nonce[LEDGER_NONCE_BYTES];
    struct samples *s;
    struct pathset *ps;
    char *says;

    for (size_t i = 0; i < t->n; i++)
        host[i] = f->host[t->first + i].name;
    if (t->rates)
        put_rates (&v, t->first, t->n);
    ps = fabric_pathset (f, host, t->n, &err);
    if (!ps
        || ledger_begin (ledger, now - t->ago, f->hash, &cause, host, t->n,
                         nonce, &err) < 0)
        die ();
    s = measure (t->n, nonce, host, t->kernel);
    says = words_sentence (&v, f);
    if (ledger_record (ledger, now - t->ago + 30, ps, s, &v, says, &err) < 0)
        die ();
    samples_destroy (s);
    pathset_destroy (ps);
    free (v.rate);
    free (says);
    free (host);
}

/* A cable up from the switch of a host. */
static uint32_t up_of (size_t host)
{
    const struct fabric_link *l = &f->link[link_of (host)];
    uint32_t node = f->port[f->node[f->port[l->a].node].type == NODE_SWITCH
                                ? l->a : l->b].node;

    for (uint32_t i = 0; i < f->nlinks; i++)
        if (f->link[i].kind == LINK_SWITCH
            && (f->port[f->link[i].a].node == node
                || f->port[f->link[i].b].node == node))
            return i;
    return link_of (host);
}

#define SAID(...)                                                      \
    .fact = (struct fact[]){ { FACT_SAID, .name = { __VA_ARGS__ } } }, \
    .nfacts = 1

static void fill (void)
{
    size_t n = f->nhosts, part = n < 600 ? n - n / 8 : 512;
    uint32_t six = link_of (5), nine = link_of (8), up = up_of (8);
    uint32_t lossy = up_of (n / 2), three = link_of (2), open[8];
    char *h6 = f->host[5].name, *h9 = f->host[8].name, *h3 = f->host[2].name;
    const struct finding slow = {
        .level = VERDICT_FAIL, .kind = FINDING_HOST_END,
        .basis = BASIS_BASELINE, .suspect = &six, .nsuspects = 1,
        .excess_ns = 1002, .stderr_ns = 15, .expected_ns = 720, .node = &h6,
        .nnodes = 1, SAID ("14 probes across it show +1002 ns"),
    }, either[] = { {
        .level = VERDICT_FAIL, .kind = FINDING_SWITCH_LINK,
        .basis = BASIS_BASELINE, .suspect = &nine, .nsuspects = 1,
        .oneway = &up, .noneway = 1, .excess_ns = 2400, .stderr_ns = 40,
        .expected_ns = 710, .node = &h9, .nnodes = 1,
        SAID ("9 probes across it show +2400 ns one way"),
    }, {
        .level = VERDICT_WARN, .kind = FINDING_SWITCH_LINK,
        .basis = BASIS_LOSS, .suspect = &lossy, .nsuspects = 1,
        .excess_ns = NAN, .stderr_ns = NAN, .expected_ns = NAN,
        SAID ("3 of 240 messages were lost"),
    } }, small = {
        .level = VERDICT_WARN, .kind = FINDING_HOST_END, .basis = BASIS_CLASS,
        .suspect = &three, .nsuspects = 1, .excess_ns = 210, .stderr_ns = 12,
        .expected_ns = 700, .node = &h3, .nnodes = 1,
        SAID ("slower than others of its class"),
    };
    static const struct ledger_action drain = {
        .node = "h0006", .kind = POLICY_DRAIN, .reason = "pmm: host end h0006",
        .why = "host end FAIL in audits 20 and 21, 80 min apart",
    };
    char nonce[LEDGER_NONCE_BYTES];
    const char *fault = f->host[n - 2].name;
    struct ledger_cause cause = { .why = LEDGER_SWEEP };
    int64_t id;

    for (size_t i = 0; i < 8; i++)
        open[i] = link_of (n / 4 + i % (n / 8 ? n / 8 : 1));
    for (size_t first = 0; first + part <= n - n / 8; first += part)
        audit (&(struct told){ first, part,
                               29 * DAY - (int64_t)first * 29 * DAY
                                              / (int64_t)n,
                               0, "6.1.0-40", NULL, 0, NULL, 0, false });
    if (n > 24)
        audit (&(struct told){ n / 4, n / 4 < 512 ? n / 4 : 512, 3 * DAY, 0,
                               "6.1.0-41", NULL, 0, NULL, 0, false });
    audit (&(struct told){ 0, n < 64 ? n / 2 : 32, 100 * MINUTE, 4242,
                           "6.1.0-41", &slow, 1, NULL, 0, false });
    audit (&(struct told){ 0, n < 64 ? n / 2 : 32, 20 * MINUTE, 4250,
                           "6.1.0-41", &slow, 1, NULL, 0, true });
    if (n > 24)
        audit (&(struct told){ 7, n / 2 < 200 ? n / 2 : 200, 12 * MINUTE,
                               4251, "6.1.0-41", either, 2, open, 8, false });
    if (n > 24) /* clears the first of two suspects */
        audit (&(struct told){ 8, 2, 10 * MINUTE, 0, "6.1.0-41", NULL, 0, NULL,
                               0 });
    audit (&(struct told){ 1, 3, 5 * MINUTE, 0, "6.1.0-41", &small, 1, NULL,
                           0, false });
    id = ledger_begin (ledger, now - 2 * DAY, f->hash, &cause, &fault, 1,
                       nonce, &err);
    if (id < 0
        || ledger_fault_add (ledger, id, fault,
                             "cannot run /opt/pmm/probe: </script><b>no", &err)
               < 0
        || ledger_give_up (ledger, now - 2 * DAY, id,
                           "srun: /usr/bin/srun: no answer", &err) < 0
        || (id = ledger_intend (ledger, now - 15 * MINUTE, &drain, &err)) < 0
        || ledger_done (ledger, now - 15 * MINUTE, id, &err) < 0
        || ledger_rebase (ledger, now - 30 * HOUR, f->link[link_of (1)].id,
                          "alice", "new cable, see /home/alice/notes", &err)
               < 0
        || ledger_rebase (ledger, now - 6 * DAY, f->link[link_of (3)].id,
                          "pmm", "+120 ns since 2026-11-01: learned", &err)
               < 0
        || ledger_mute (ledger, now - DAY,
                        &(struct ledger_mute){ .link = f->link[three].id,
                                               .who = "alice",
                                               .why = "long cable, known" },
                        &err) < 0)
        die ();
}

int main (int argc, char **argv)
{
    struct site site = { .audit_every_ms = DAY * 1000 };
    struct policy_node *node;
    struct controller_nodes nodes;
    struct timespec from, to;
    struct reports in = { .site = &site, .nodes = &nodes };
    char *path;
    struct ledger_notice news;
    FILE *fp;
    int rc;

    if (argc != 3)
        return 2;
    path = xasprintf ("%s/ledger", argv[2]);
    now = clock_date ();
    if (!(fp = file_open_input (argv[1], &err))
        || !(f = fabric_read (fp, argv[1], &err)) || mkdir (argv[2], 0755) < 0
        || !(ledger = ledger_open (path, LEDGER_CREATE, &err)))
        die ();
    file_close_input (fp);
    fill ();
    site.reports = argv[2];
    site.snapshot = argv[1];
    site.cabling = getenv ("CABLING");
    node = xcalloc (f->nhosts, sizeof (*node));
    for (size_t i = 0; i + 1 < f->nhosts; i++)
        node[i].name = f->host[i].name;
    node[5].drained = node[3].drained = true;
    node[5].reason = "pmm: host end h0006 +1002 ns over its 720 ns, audit 21";
    node[3].reason = "alice: memory";
    node[f->nhosts / 2 + 1].down = true;
    nodes = (struct controller_nodes){ .v = node, .n = f->nhosts - 1 };
    news = (struct ledger_notice){
        .node = f->host[8].name,
        .words = "h0009: FAIL in audit 22: would be drained if Action were "
                 "drain",
    };
    in.ledger = ledger;
    in.fabric = f;
    in.node_of = nodemap_nodes (NULL, f);
    in.news = &news;
    in.nnews = 1;
    clock_gettime (CLOCK_MONOTONIC, &from);
    rc = reports_index (&in, &err);
    clock_gettime (CLOCK_MONOTONIC, &to);
    if (rc != 1)
        die ();
    printf ("%.2f\n", (double)(to.tv_sec - from.tv_sec)
                          + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    ledger_close (ledger);
    fabric_destroy (f);
    free ((void *)in.node_of);
    free (node);
    free (path);
    return 0;
}
