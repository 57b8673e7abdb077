/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What made a verdict what it is; its file, and files that
 * are none.
 */
#include "config.h"
#include "report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { NONE = -1, LIMITS = 3 };

static const struct {
    int finding; /* its level; or NONE */
    struct {
        enum verdict_status status;
        const char *text;
    } limit[LIMITS];
    enum verdict_status status;
    bool limited;
} cases[] = {
    { NONE, { { 0 } }, VERDICT_OK, false },
    { NONE, { { VERDICT_OK, "no baseline" } }, VERDICT_OK, false },
    { NONE,
      { { VERDICT_OK, "no baseline" },
        { VERDICT_UNKNOWN, "h1 left" },
        { VERDICT_UNKNOWN, "h2 left" } },
      VERDICT_UNKNOWN,
      true },
    { VERDICT_WARN, { { VERDICT_OK, "no baseline" } }, VERDICT_WARN, false },
    { VERDICT_WARN,
      { { VERDICT_OK, "no baseline" }, { VERDICT_UNKNOWN, "h2 left" } },
      VERDICT_UNKNOWN,
      true },
    { VERDICT_UNKNOWN,
      { { VERDICT_UNKNOWN, "h2 left" } },
      VERDICT_UNKNOWN,
      false },
    { VERDICT_FAIL, { { VERDICT_UNKNOWN, "h2 left" } }, VERDICT_FAIL, false },
};

/* As the judge does, whose findings come last. */
static struct verdict *make (size_t i)
{
    struct verdict *v = verdict_create ();

    for (size_t k = 0; k < LIMITS && cases[i].limit[k].text; k++)
        verdict_limit (v, cases[i].limit[k].status,
                       fact_said (cases[i].limit[k].text));
    v->links = 3;
    v->probes = 2;
    if (cases[i].finding == NONE)
        return v;
    verdict_add (v, (enum verdict_status)cases[i].finding, BASIS_BASELINE);
    verdict_add_number (v, &v->finding->suspect, &v->finding->nsuspects, 0);
    if (v->finding->level > v->status)
        v->status = v->finding->level;
    return v;
}

/*
 * The file
 */

#define HASH "0123456789abcdef0123456789abcdef"

static struct link_info some_links[] = {
    { .id = "0002/1", .host = "h2" },
    { .id = "0001/1", .host = "h1" },
    { .id = "0003/1" },
};
static const struct switch_info some_switches[] = { { 0 }, { "00a1", "s1" } };
static const struct network some_net = {
    .hash = HASH,
    .link = some_links,
    .nlinks = 3,
    .sw = some_switches,
    .nswitches = 2,
};

static char *write_text (const struct verdict *v)
{
    char *text;
    size_t size;
    FILE *fp = open_memstream (&text, &size);
    struct error err;

    if (verdict_write (v, &some_net, fp, &err) < 0)
        diag ("%s", err.text);
    fclose (fp);
    return text;
}

static struct verdict *read_text (const char *text, struct error *err)
{
    FILE *fp = fmemopen ((char *)text, strlen (text), "r");
    struct verdict *v = verdict_read (fp, "file", &some_net, err);

    fclose (fp);
    return v;
}

/* All of a file is there again when it was read and is written. */
static void test_file (void)
{
    uint32_t suspect[] = { 2, 0 }, oneway[] = { 1 }, sw[] = { 1 };
    char *node[] = { (char *)"h2" };
    struct fact why = fact_said ("it is \"slow\"");
    struct fact rate[] = {
        { FACT_RATE_RECEIVED, .n = { 4, 98e9, 197e9 }, .name = { "s1" } },
        { FACT_RATE_BEFORE, .n = { 196e9 } },
        { FACT_RATE_PCIE, .n = { 8, 16, 16, 16, 100e9 } },
    };
    struct verdict_rate rates[] = {
        { .arc = 1, .bits = 98e9, .expected = 197e9 },
        { .arc = 4, .bits = 197e9, .expected = NAN },
    };
    struct finding finding[] = {
        { .level = VERDICT_FAIL,
          .kind = FINDING_SWITCH,
          .basis = BASIS_BASELINE,
          .suspect = suspect,
          .nsuspects = 2,
          .oneway = oneway,
          .noneway = 1,
          .sw = sw,
          .nsw = 1,
          .excess_ns = 412.5,
          .stderr_ns = 3,
          .expected_ns = NAN,
          .rate_bits = NAN,
          .rate_expected_bits = NAN,
          .node = node,
          .nnodes = 1,
          .loopback = LOOPBACK_FAST,
          .fact = &why,
          .nfacts = 1 },
        { .level = VERDICT_WARN,
          .kind = FINDING_HOST_END,
          .basis = BASIS_LOSS,
          .suspect = suspect,
          .nsuspects = 1,
          .excess_ns = NAN,
          .stderr_ns = NAN,
          .expected_ns = 500,
          .rate_bits = 98e9,
          .rate_expected_bits = 197e9,
          .fact = rate,
          .nfacts = 3 },
    };
    struct fact limit[] = { fact_said ("no baseline"), fact_said ("h3 left") };
    struct verdict v = {
        .status = VERDICT_FAIL,
        .finding = finding,
        .nfindings = 2,
        .limit = limit,
        .nlimits = 2,
        .nodes = 3,
        .links = 4,
        .separable = 5,
        .probes = 6,
        .rounds = 7,
        .rate = rates,
        .nrates = 2,
    };
    struct error err = { 0 };
    char *text = write_text (&v);
    struct verdict *back = read_text (text, &err);
    char *again = back ? write_text (back) : NULL;

    ok (again && !strcmp (text, again), "what is written can be read: %s",
        err.text);
    ok (back && back->finding[1].nfacts == 3
            && back->finding[1].fact[0].kind == FACT_RATE_RECEIVED
            && !strcmp (back->finding[1].fact[0].name[0], "s1")
            && back->finding[1].fact[1].kind == FACT_SAID
            && back->finding[1].fact[2].n[4] == 100e9,
        "... with the facts that tell what to do");
    ok (back && back->nrates == 2 && back->rate[1].arc == 4
            && isnan (back->rate[1].expected),
        "... and rates");
    free (again);
    free (text);
    verdict_destroy (back);
}

/* A verdict's file with this for a finding, and this for the rest; with ' for
 * each ".
 */
#define FILE_OF(status, hash, finding, rounds)                            \
    "{'kind':'verdict','version':1,'fabric':'" hash "','status':'" status \
    "','findings':[" finding "],'limits':[],'hosts':1,'links':1,"         \
    "'separable':1,'measurements':1,'rounds':" rounds "}\n"
#define FINDING(level, suspects, switches, ns, why)               \
    "{'level':'" level "','suspects':[" suspects "],'oneway':[]," \
    "'switches':[" switches "],'kind':'host end','excess_ns':" ns \
    ",'stderr_ns':1,'expected_ns':1,'basis':'loss','nodes':[],'why':" why "}"

/* A finding with rates and facts; a file with rates. */
#define RATED(bits, facts)                                                 \
    "{'rate_bits':" bits ",'rate_expected_bits':2e11,'facts':[" facts "]," \
    "'level':'WARN','suspects':['0001/1'],'oneway':[],'switches':[],"      \
    "'kind':'host end','excess_ns':null,'stderr_ns':null,"                 \
    "'expected_ns':null,'basis':'rate','nodes':[],'why':'\\u001b[31m\\n'}"
#define A_FACT(kind, n, name)                                       \
    "{'kind':'" kind "','numbers':[" n ",0,0,0,0,0],'names':[" name \
    ",null,null]}"
#define RATES_OF(list) FILE_OF ("OK", HASH, "", "1,'rates':[" list "]")
#define A_RATE(link, way, bits) \
    "{'link':'" link "','way':" way ",'bits':" bits ",'expected':2e11}"

static char *quoted (const char *s)
{
    char *text = strdup (s);

    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    return text;
}

static void test_bad_files (void)
{
    static const struct {
        const char *text;
        const char *error; /* NULL: none */
    } tab[] = {
        { FILE_OF ("OK", HASH, "", "1"), NULL },
        { FILE_OF ("OK", HASH,
                   FINDING ("WARN", "'0001/1'", "", "null", "'\\u001b[31m\\n'"),
                   "1"),
          NULL },
        { "", "file" },
        { "[]\n", "file" },
        { "{'kind':'verdict','version':1}\n", "another fabric" },
        { "{'kind':'verdict','version':1,'fabric':'" HASH "'}\n",
          "status: missing" },
        { FILE_OF ("FINE", HASH, "", "1"), "file: status: not one of" },
        { FILE_OF ("OK", "0", "", "1"), "another fabric" },
        { FILE_OF ("OK", HASH, "", "-1"), "file: rounds" },
        { FILE_OF ("OK", HASH, "", "'1'"), "rounds" },
        { FILE_OF ("OK", HASH, "7", "1"), "findings[0]" },
        { FILE_OF ("OK", HASH, FINDING ("BAD", "'0001/1'", "", "1", "''"), "1"),
          "findings[0].level: not one of" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "", "", "1", "''"), "1"),
          "findings[0].suspects: there are none" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "'0009/1'", "", "1", "''"),
                   "1"),
          "findings[0].suspects: one is not in the fabric" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "1", "", "1", "''"), "1"),
          "suspects: one is not in the fabric" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "'0001/1'", "'s1'", "1", "''"),
                   "1"),
          "switches: one is not in the fabric" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "'0001/1'", "", "1e300", "''"),
                   "1"),
          "excess_ns" },
        { FILE_OF ("OK", HASH, FINDING ("WARN", "'0001/1'", "", "1", "7"), "1"),
          "findings[0].why" },
        { FILE_OF ("OK", HASH, RATED ("98e9", ""), "1"), NULL },
        { FILE_OF ("OK", HASH, RATED ("-1", ""), "1"), "rate_bits" },
        { FILE_OF ("OK", HASH, RATED ("1e16", ""), "1"), "rate_bits" },
        { FILE_OF ("OK", HASH,
                   RATED ("1", A_FACT ("said", "0", "'\\u001b[31m\\n'")), "1"),
          NULL },
        { FILE_OF ("OK", HASH, RATED ("1", A_FACT ("said", "0", "null")), "1"),
          "facts: nothing was said" },
        { FILE_OF ("OK", HASH, RATED ("1", A_FACT ("open", "0", "null")), "1"),
          "facts: not one of those" },
        { FILE_OF ("OK", HASH, RATED ("1", A_FACT ("rate", "-1", "null")), "1"),
          "facts: not a number" },
        { FILE_OF ("OK", HASH, RATED ("1", A_FACT ("rate", "1", "1")), "1"),
          "facts: not a text" },
        { FILE_OF ("OK", HASH, RATED ("1", "{'kind':'rate'}"), "1"), "facts" },
        { RATES_OF (
              A_RATE ("0001/1", "0", "1") "," A_RATE ("0001/1", "1", "1")),
          NULL },
        { RATES_OF (
              A_RATE ("0001/1", "1", "1") "," A_RATE ("0001/1", "1", "1")),
          "rates: not in their order" },
        { RATES_OF (A_RATE ("0009/1", "1", "1")), "rates: one is not in" },
        { RATES_OF (A_RATE ("0001/1", "2", "1")), "rates: one is not in" },
        { RATES_OF (A_RATE ("0001/1", "1", "'1'")), "rates: not a number" },
        { RATES_OF ("7"), "rates" },
    };

    for (size_t i = 0; i < sizeof (tab) / sizeof (tab[0]); i++) {
        struct error err = { .text = "good" };
        char *text = quoted (tab[i].text);
        struct verdict *v = read_text (text, &err);

        ok (tab[i].error ? !v && err.fault == ERROR_INPUT
                               && strstr (err.text, tab[i].error)
                         : v != NULL,
            "a file: %s", err.text);
        if (v && v->nfindings > 0)
            ok (!strcmp (v->finding[0].fact->name[0], "?[31m?"),
                "... is cleaned");
        verdict_destroy (v);
        free (text);
    }
}

int main (void)
{
    test_file ();
    test_bad_files ();
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        struct verdict *v = make (i);

        ok (v->status == cases[i].status
                && verdict_is_limited (v) == cases[i].limited,
            "%s", verdict_status_name (v->status));
        verdict_destroy (v);
    }
    return done_testing ();
}
