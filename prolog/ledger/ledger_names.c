/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger's words, which the policy has, too. */
#include "config.h"
#include "prolog/ledger/ledger.h"

const char *ledger_why_name (enum ledger_why why)
{
    static const char *const names[] = {
        [LEDGER_BY_HAND] = "hand",    [LEDGER_JOB] = "job",
        [LEDGER_CHECK] = "check",     [LEDGER_SWEEP] = "sweep",
        [LEDGER_CONFIRM] = "confirm", [LEDGER_AGAIN] = "again",
        [LEDGER_SEARCH] = "search",
    };

    return names[why];
}

const char *policy_kind_name (enum policy_kind kind)
{
    static const char *const names[] = {
        [POLICY_NONE] = "none", [POLICY_NOTE] = "note", [POLICY_WAIT] = "wait",
        [POLICY_DRAIN] = "drain", [POLICY_RESUME] = "resume",
        [POLICY_LEFT] = "left", [POLICY_LIFTED] = "lifted",
    };

    return names[kind];
}

const char *drain_cause_name (enum drain_cause cause)
{
    static const char *const names[CAUSES + 1]
        = { "confirmed", "rate", "counter", "width", "speed" };

    return names[cause];
}
