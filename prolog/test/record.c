/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of audits: whole ones, and those that a node in other hands might
 * send.
 */
#include "config.h"
#include "prolog/audit/parts.h"

#include <stdlib.h>
#include <string.h>

#include "core/samples/simulate.h"
#include "ibquery/model/generate.h"
#include "tests/tap.h"
#include "util/rng.h"

#define NONCE "0123456789abcdef0123456789abcdef"
#define OK_LINE "pmm-result 1 OK " NONCE " all is well\n"

enum { HOSTS = 4 };

static struct fabric *fabric;
static const char **node_of;
static char *plan_text, *samples_text;

/* Plan and samples of the first n hosts, as text. */
static void make_texts (size_t n)
{
    const char *name[] = { "h0001", "h0002", "h0003", "h0004", "h0005" };
    struct plan_options opts = { .extra_rounds = 2 };
    struct simulate_options sim = { .repeats = 2 };
    struct pathset *ps = fabric_pathset_lids (fabric, name, n, NULL);
    struct plan *plan = plan_make (ps, &opts, NULL);
    double *latency = calloc (fabric->nlinks, sizeof (*latency));
    struct samples *s = simulate (ps, plan, latency, &sim, NULL);
    size_t size;
    FILE *fp;

    strcpy (s->nonce, NONCE);
    fp = open_memstream (&plan_text, &size);
    plan_write (plan, ps, NULL, fp, NULL);
    fclose (fp);
    fp = open_memstream (&samples_text, &size);
    samples_write (s, ps, fp, NULL);
    fclose (fp);
    samples_destroy (s);
    plan_destroy (plan);
    pathset_destroy (ps);
    free (latency);
}

static int read_text (struct audit_record *r, const char *a, const char *b,
                      const char *c, const char *d, struct error *err)
{
    size_t len = strlen (a) + strlen (b) + strlen (c) + strlen (d);
    char *text = malloc (len + 1);
    int rc;

    sprintf (text, "%s%s%s%s", a, b, c, d);
    err->text[0] = '\0';
    rc = record_read (r, text, len, NONCE, fabric, node_of, err);
    free (text);
    return rc;
}

static void test_whole (void)
{
    struct audit_record r;
    struct error err;

    ok (read_text (&r, "slurmstepd: a word\n", plan_text, samples_text, OK_LINE,
                   &err)
                == 0
            && r.plan && r.samples && pathset_size (r.ps) == HOSTS && !r.unknown
            && !strcmp (r.sentence, "all is well"),
        "a record: %s", err.text);
    record_clear (&r);
    ok (read_text (&r, plan_text, samples_text,
                   "pmm-result 1 UNKNOWN " NONCE " a p\033ort\n", "{", &err)
                == 0
            && r.plan && r.unknown && !strcmp (r.sentence, "a p?ort"),
        "one that is UNKNOWN: %s", err.text);
    record_clear (&r);
    ok (read_text (&r, "", "", "", "pmm-result 1 UNKNOWN " NONCE " no port\n",
                   &err)
                == 0
            && !r.plan && !r.samples && !strcmp (r.sentence, "no port"),
        "one without samples says why: %s", err.text);
    record_clear (&r);
}

/* A plan or samples with one thing replaced by another. */
static char *replace (const char *text, const char *from, const char *to)
{
    const char *at = strstr (text, from);
    char *new = malloc (strlen (text) + strlen (to) + 1);

    sprintf (new, "%.*s%s%s", (int)(at ? at - text : 0), text, to,
             at ? at + strlen (from) : text);
    return new;
}

static void test_hostile (void)
{
    static const struct {
        bool plan; /* ... or the samples are changed */
        const char *from, *to;
        const char *result;
        const char *why;
    } tab[] = {
        { true, "\"h0001\"", "\"h0001\"", "", "has no result" },
        { true, "\"h0001\"", "\"h0001\"",
          "pmm-result 1 OK fedcba9876543210 all is well\n", "no result" },
        { true, "\"h0001\"", "\"h0001\"",
          "pmm-result 2 OK " NONCE " all is well\n", "no result" },
        { true, "\"h0001\"", "\"h0001\"", "pmm-result 1 OK " NONCE "\n",
          "no result" },
        { true, "\"h0001\"", "\"h0001\"",
          "pmm-result 1 FINE " NONCE " all is well\n", "no result" },
        { true, "\"h0001\"", "\"h0005\"", OK_LINE, "" },
        { true, "\"h0001\"", "\"stranger\"", OK_LINE, "stranger" },
        { true, "\"plan\"", "\"samples\"", OK_LINE, "expected a" },
        { true, "\"fabric\":\"", "\"fabric\":\"0", OK_LINE, "fabric" },
        { true, "\"row\":{\"", "\"row\":{\"0", OK_LINE, "row" },
        { false, "\"samples\"", "\"plan\"", OK_LINE, "expected a" },
        { false, "\"" NONCE "\"", "\"0\"", OK_LINE, "another run" },
        { false, "\"initiator\":\"h0", "\"initiator\":\"h9", OK_LINE, "" },
        { false, "{", "{{", OK_LINE, "" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        char *changed = replace (tab[i].plan ? plan_text : samples_text,
                                 tab[i].from, tab[i].to);
        struct audit_record r;
        struct error err;

        ok (read_text (&r, tab[i].plan ? changed : plan_text,
                       tab[i].plan ? samples_text : changed, tab[i].result, "",
                       &err)
                    < 0
                && err.text[0] && strstr (err.text, tab[i].why),
            "refused: %.120s", err.text);
        record_clear (&r);
        free (changed);
    }
}

static void test_whom (void)
{
    struct audit_record r;
    struct error err;

    free (plan_text);
    free (samples_text);
    make_texts (HOSTS + 1);
    ok (read_text (&r, plan_text, samples_text, OK_LINE, "", &err) < 0
            && strstr (err.text, "h0005, which was not asked for"),
        "refused: %s", err.text);
    record_clear (&r);
}

static void test_parts (void)
{
    struct audit_record r;
    struct error err;

    ok (read_text (&r, plan_text, OK_LINE, "", "", &err) < 0
            && strstr (err.text, "no samples"),
        "refused: %s", err.text);
    record_clear (&r);
    ok (read_text (&r, samples_text, plan_text, OK_LINE, "", &err) < 0,
        "refused: %s", err.text);
    record_clear (&r);
    ok (read_text (&r, "", "", "", "", &err) < 0, "refused: %s", err.text);
    record_clear (&r);
}

/* Bytes of it are others: whatever is read is of who was asked for. */
static void test_damaged (void)
{
    size_t len = strlen (plan_text) + strlen (samples_text) + sizeof (OK_LINE);
    char *text = malloc (len);
    struct rng rng;
    int reads = 0, wrong = 0;

    rng_seed (&rng, 7);
    for (int i = 0; i < 2000; i++) {
        struct audit_record r;
        size_t n
            = (size_t)sprintf (text, "%s%s" OK_LINE, plan_text, samples_text);

        for (uint64_t k = rng_below (&rng, 4); k < 4; k++)
            text[rng_below (&rng, n)] = (char)rng_below (&rng, 256);
        if (record_read (&r, text, n, NONCE, fabric, node_of, NULL) == 0) {
            reads++;
            for (size_t e = 0; r.ps && e < pathset_size (r.ps); e++)
                wrong += !node_of[pathset_endpoint (r.ps, e)->id];
        }
        record_clear (&r);
    }
    ok (wrong == 0 && reads < 2000, "2000 damaged ones, of which %d are read",
        reads);
    free (text);
}

/* A fabric of hosts of some LMC, the first HOSTS of which are asked for. */
static void set_up (unsigned int lmc)
{
    struct fat_tree tree = { .ports = 4, .levels = 2, .how.lmc = lmc };

    fabric = generate_fat_tree (&tree, NULL);
    node_of = calloc (fabric->nendpoints, sizeof (*node_of));
    for (size_t i = 0; i < HOSTS; i++)
        node_of[i] = fabric->endpoint[i].name;
    make_texts (HOSTS);
}

static void tear_down (void)
{
    free (plan_text);
    free (samples_text);
    free (node_of);
    fabric_destroy (fabric);
}

/* Ports by several LIDs are those of the nodes that have the ports. */
static void test_lids (void)
{
    struct audit_record r;
    struct error err;

    set_up (2);
    ok (read_text (&r, plan_text, samples_text, OK_LINE, "", &err) == 0
            && pathset_size (r.ps) == 4 * HOSTS,
        "a record by all LIDs: %s", err.text);
    record_clear (&r);
    node_of[HOSTS - 1] = NULL;
    ok (read_text (&r, plan_text, samples_text, OK_LINE, "", &err) < 0
            && strstr (err.text, "h0004"),
        "... of one who was not asked: %s", err.text);
    record_clear (&r);
    tear_down ();
}

int main (void)
{
    set_up (0);
    test_whole ();
    test_hostile ();
    test_parts ();
    test_damaged ();
    test_whom ();
    tear_down ();
    test_lids ();
    return done_testing ();
}
