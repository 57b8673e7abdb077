/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tap.h"

enum { A = 4, B = 7, C = 9 }; /* links */

/* Append a finding with the suspects A, B, C. */
static struct verdict *add (struct verdict *v, enum verdict_status level,
                            enum finding_kind kind, enum finding_basis basis,
                            double excess_ns, double stderr_ns)
{
    static const uint32_t links[] = { A, B, C };
    struct finding *f = verdict_add (v, level, basis);

    v->status = level;
    f->kind = kind;
    f->excess_ns = excess_ns;
    f->stderr_ns = stderr_ns;
    for (size_t i = 0; i < 3; i++)
        verdict_add_number (v, &f->suspect, &f->nsuspects, links[i]);
    finding_add_fact (v, f, fact_said ("slow"));
    return v;
}

static void test_one (void)
{
    static const struct {
        const char *what;
        enum verdict_status level;
        enum finding_kind kind;
        enum finding_basis basis;
        double excess_ns, stderr_ns;
        struct sign sign[2];
        enum verdict_status then;
        enum finding_basis on;
        uint32_t first;
    } rows[] = {
        { "a counter goes with a static excess", VERDICT_WARN,
          FINDING_HOST_END, BASIS_CLASS, 400, 10,
          { { B, SIGN_COUNTER }, { B, SIGN_COUNTER } },
          VERDICT_FAIL, BASIS_COUNTER, B },
        { "width says more than a counter", VERDICT_WARN,
          FINDING_SWITCH_LINK, BASIS_CLASS, 400, 10,
          { { B, SIGN_COUNTER }, { C, SIGN_WIDTH } },
          VERDICT_FAIL, BASIS_WIDTH, C },
        { "speed", VERDICT_WARN, FINDING_HOST_END, BASIS_CLASS, 400, 10,
          { { C, SIGN_SPEED }, { 3, SIGN_WIDTH } },
          VERDICT_FAIL, BASIS_SPEED, C },
        { "an excess of less stays a WARN", VERDICT_WARN, FINDING_HOST_END,
          BASIS_CLASS, 290, 10, { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_WARN, BASIS_CLASS, B },
        { "... and an unsure one", VERDICT_WARN, FINDING_HOST_END,
          BASIS_CLASS, 400, 50, { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_WARN, BASIS_CLASS, B },
        { "... and what is slower than it was", VERDICT_WARN,
          FINDING_HOST_END, BASIS_BASELINE, 200, 5,
          { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_WARN, BASIS_BASELINE, B },
        { "what FAILs anyhow does so on its own ground", VERDICT_FAIL,
          FINDING_HOST_END, BASIS_BASELINE, 400, 5,
          { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_FAIL, BASIS_BASELINE, B },
        { "a switch is no cable", VERDICT_UNKNOWN, FINDING_SWITCH,
          BASIS_CLASS, 400, 5, { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_UNKNOWN, BASIS_CLASS, A },
        { "another link's sign says nothing", VERDICT_WARN,
          FINDING_HOST_END, BASIS_CLASS, 400, 5,
          { { 1, SIGN_WIDTH }, { 2, SIGN_WAIT } },
          VERDICT_WARN, BASIS_CLASS, A },
        { "who waited does not FAIL", VERDICT_FAIL, FINDING_HOST_END,
          BASIS_BASELINE, 400, 5, { { C, SIGN_WAIT }, { C, SIGN_WAIT } },
          VERDICT_UNKNOWN, BASIS_BASELINE, A },
        { "... even with another sign", VERDICT_WARN, FINDING_HOST_END,
          BASIS_CLASS, 400, 5, { { C, SIGN_WAIT }, { C, SIGN_WIDTH } },
          VERDICT_UNKNOWN, BASIS_WIDTH, C },
        { "errors that are counted go with delays", VERDICT_WARN,
          FINDING_HOST_END, BASIS_SLOW, NAN, NAN,
          { { B, SIGN_COUNTER }, { B, SIGN_COUNTER } },
          VERDICT_FAIL, BASIS_SLOW, B },
        { "... lost lanes do not", VERDICT_WARN, FINDING_HOST_END, BASIS_SLOW,
          NAN, NAN, { { B, SIGN_WIDTH }, { B, SIGN_WIDTH } },
          VERDICT_WARN, BASIS_SLOW, B },
        { "who waited may WARN", VERDICT_WARN, FINDING_HOST_END,
          BASIS_CLASS, 400, 5, { { C, SIGN_WAIT }, { C, SIGN_WAIT } },
          VERDICT_WARN, BASIS_CLASS, A },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct verdict *v
            = add (verdict_create (), rows[i].level, rows[i].kind,
                   rows[i].basis, rows[i].excess_ns, rows[i].stderr_ns);
        const struct finding *f = v->finding;

        corroborate (v, rows[i].sign, 2, NULL);
        if (!ok (f->level == rows[i].then && v->status == rows[i].then
                     && f->basis == rows[i].on && f->nsuspects == 3
                     && f->suspect[0] == rows[i].first,
                 "%s", rows[i].what))
            diag ("%s %s %u", verdict_status_name (f->level),
                  finding_basis_name (f->basis), f->suspect[0]);
        verdict_destroy (v);
    }
}

/* What carries less: lost lanes or errors make it as grave as the share says. */
static void test_rates (void)
{
    static const struct {
        const char *what;
        double share;
        enum verdict_status level;
        struct sign sign;
        enum verdict_status then;
    } rows[] = {
        { "lost lanes make three fifths a FAIL", .6, VERDICT_WARN,
          { B, SIGN_WIDTH }, VERDICT_FAIL },
        { "... and errors that are counted", .6, VERDICT_WARN,
          { B, SIGN_COUNTER }, VERDICT_FAIL },
        { "... and what was not known", .6, VERDICT_UNKNOWN, { B, SIGN_SPEED },
          VERDICT_FAIL },
        { "four fifths are a WARN", .8, VERDICT_UNKNOWN, { B, SIGN_WIDTH },
          VERDICT_WARN },
        { "who waited says nothing of it", .6, VERDICT_WARN, { B, SIGN_WAIT },
          VERDICT_WARN },
    };

    for (size_t i = 0; i < sizeof (rows) / sizeof (*rows); i++) {
        struct verdict *v = add (verdict_create (), rows[i].level,
                                 FINDING_SWITCH_LINK, BASIS_RATE, NAN, NAN);

        v->finding->rate_bits = rows[i].share * 1e11;
        v->finding->rate_expected_bits = 1e11;
        corroborate (v, &rows[i].sign, 1, NULL);
        ok (v->finding->level == rows[i].then
                && v->finding->basis == BASIS_RATE,
            "%s: %s", rows[i].what, verdict_status_name (v->finding->level));
        verdict_destroy (v);
    }
}

static void test_order (void)
{
    const struct sign sign = { 20, SIGN_WAIT };
    struct verdict *v = verdict_create ();

    add (v, VERDICT_FAIL, FINDING_HOST_END, BASIS_BASELINE, 400, 5);
    add (v, VERDICT_FAIL, FINDING_HOST_END, BASIS_BASELINE, 900, 5);
    v->finding[0].suspect[1] = 20;
    corroborate (v, &sign, 1, NULL);
    ok (v->status == VERDICT_FAIL && v->finding[0].excess_ns == 900
            && v->finding[1].level == VERDICT_UNKNOWN
            && v->finding[1].fact[v->finding[1].nfacts - 1].kind == FACT_WAITED,
        "the worst comes first");
    corroborate (v, NULL, 0, NULL);
    ok (v->status == VERDICT_FAIL, "no sign, no change");
    verdict_destroy (v);

    v = verdict_create ();
    verdict_limit (v, VERDICT_UNKNOWN, fact_said ("a limit"));
    corroborate (v, &sign, 1, NULL);
    ok (v->status == VERDICT_UNKNOWN, "a limit stays one");
    verdict_destroy (v);
}

int main (void)
{
    test_one ();
    test_rates ();
    test_order ();
    return done_testing ();
}
