/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "core/judge/judge.h"
#include "core/judge/rates.h"

#include <stdbool.h>
#include <string.h>

static const struct {
    const char *name;
    enum finding_basis basis; /* of a finding that it confirms */
    enum fact_kind fact;
} signs[SIGNS] = {
    [SIGN_COUNTER] = { "counter", BASIS_COUNTER, FACT_COUNTS },
    [SIGN_WIDTH] = { "width", BASIS_WIDTH, FACT_LANES_LOST },
    [SIGN_SPEED] = { "speed", BASIS_SPEED, FACT_LANES_SLOW },
    [SIGN_WAIT] = { "wait", BASIS_CLASS, FACT_WAITED },
};

const char *sign_name (enum sign_kind kind)
{
    return signs[kind].name;
}

/* The signs of a link, one bit each. */
static unsigned int signs_of (uint32_t link, const struct sign *sign, size_t n)
{
    unsigned int set = 0;

    for (size_t i = 0; i < n; i++)
        if (sign[i].link == link)
            set |= 1U << sign[i].kind;
    return set;
}

static void append_sign_fact (struct verdict *v, struct finding *f,
                              enum sign_kind kind)
{
    finding_add_fact (v, f, (struct fact){ .kind = signs[kind].fact });
}

/* Put those with the sign first, otherwise in the same order. */
static void move_suspects (struct finding *f, enum sign_kind kind,
                           const struct sign *sign, size_t n)
{
    size_t first = 0;

    for (size_t i = 0; i < f->nsuspects; i++) {
        uint32_t link = f->suspect[i];

        if (!(signs_of (link, sign, n) & 1U << kind))
            continue;
        memmove (f->suspect + first + 1, f->suspect + first,
                 (i - first) * sizeof (link));
        f->suspect[first++] = link;
    }
}

static void corroborate_one (struct verdict *v, struct finding *f,
                             const struct sign *sign, size_t n,
                             const struct judge_options *opts)
{
    /* the most specific for a cable first */
    static const enum sign_kind order[]
        = { SIGN_WIDTH, SIGN_SPEED, SIGN_COUNTER };
    bool links = f->kind == FINDING_HOST_END || f->kind == FINDING_SWITCH_LINK;
    unsigned int all = 0;

    for (size_t i = 0; i < f->nsuspects; i++)
        all |= signs_of (f->suspect[i], sign, n);
    for (size_t i = 0; i < sizeof (order) / sizeof (order[0]) && links; i++) {
        if (!(all & 1U << order[i]))
            continue;
        move_suspects (f, order[i], sign, n);
        append_sign_fact (v, f, order[i]);
        if (f->basis == BASIS_CLASS && f->level == VERDICT_WARN
            && judge_fails (opts, f->excess_ns, f->stderr_ns)) {
            f->level = VERDICT_FAIL;
            f->basis = signs[order[i]].basis;
        }
        if (f->basis == BASIS_SLOW && order[i] == SIGN_COUNTER)
            f->level = VERDICT_FAIL;
        if (f->basis == BASIS_RATE)
            f->level = f->rate_bits < RATES_FAIL * f->rate_expected_bits
                           ? VERDICT_FAIL
                           : VERDICT_WARN;
        break;
    }
    if (all & 1U << SIGN_WAIT && f->level == VERDICT_FAIL) {
        f->level = VERDICT_UNKNOWN;
        append_sign_fact (v, f, SIGN_WAIT);
    }
}

void corroborate (struct verdict *v, const struct sign *sign, size_t n,
                  const struct judge_options *opts)
{
    for (size_t i = 0; i < v->nfindings; i++) {
        struct finding f = v->finding[i];
        size_t k = i;

        corroborate_one (v, &f, sign, n, opts ? opts : &judge_defaults);
        /* sort again: the worst first, otherwise in the same order */
        for (; k > 0 && v->finding[k - 1].level < f.level; k--)
            v->finding[k] = v->finding[k - 1];
        v->finding[k] = f;
    }
    /* a FAIL becomes UNKNOWN at least, and no limit raises more */
    if (v->nfindings > 0
        && (v->status == VERDICT_FAIL || v->finding[0].level > v->status))
        v->status = v->finding[0].level;
}
