/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world for the policy's tests: a site's nodes and its history, built call
 * by call. Host h7 has the links h7/1, h7/2, ...; links that start with s have
 * no host. Times are seconds before (or after) NOW.
 */
#ifndef PROLOG_TEST_WORLD_H
#define PROLOG_TEST_WORLD_H

#include "prolog/policy/policy.h"

enum {
    NOW = 1700000000,
    NODES = 1000,
    AUDITS = 1024,
    FINDINGS = 16,
    SUSPECTS = 16,
    THINGS = 256,
    NAME = 32,
};

#define SELF "slurm"
#define REASON \
    "pmm: host end h1 mlx5_0/1 (h1/1) +412 ns over its 131 ns, audit 1"

struct world {
    struct site site;
    struct policy_config cfg;
    struct policy_input in;
    struct policy_node node[NODES];
    struct policy_audit audit[AUDITS];
    struct policy_finding finding[AUDITS][FINDINGS];
    struct policy_suspect suspect[AUDITS][FINDINGS][SUSPECTS];
    struct ledger_audit tried[THINGS];
    struct ledger_sign sign[THINGS];
    struct ledger_action action[THINGS];
    struct ledger_mute mute[THINGS];
    struct ledger_rebase reset[THINGS];
    char name[NODES][NAME];
};

/* What a test says twice is stored once, and lives as long as the program. */
const char *word (const char *s, size_t len);

/* 100 nodes, all well; Action=drain and Resume=yes. */
struct world *world_create (void);
void world_destroy (struct world *w);

void world_nodes (struct world *w, size_t n);
void world_set (struct world *w, const char *key, const char *value);
struct policy_node *world_node (struct world *w, const char *name);
void world_drained (struct world *w, const char *name, const char *reason,
                    const char *by);
struct policy_audit *world_audit (struct world *w, uint64_t id, int64_t time);

/* Add to the newest audit a finding whose suspects are "h1", "h1/2,h3", ... */
void world_find (struct world *w, struct policy_finding f,
                 const char *suspects);
/* Without suspects. */
#define FOUND_RATE_(level_, kind_, basis_, excess, error, expected, bits, of) \
    {                                                                         \
        .x = { .level = level_, .kind = kind_, .basis = basis_,               \
               .excess_ns = excess, .stderr_ns = error,                       \
               .expected_ns = expected, .rate_bits = bits,                    \
               .rate_expected_bits = of }                                     \
    }
#define FOUND_RATE(...) FOUND_RATE_ (__VA_ARGS__)
#define FOUND(...) FOUND_RATE (__VA_ARGS__, NAN, NAN)
extern const struct policy_finding found_fail, found_clean, found_unknown,
    found_switch;

/* For the first link of the node. */
struct ledger_action *world_action (struct world *w, enum policy_kind kind,
                                    const char *node, int64_t time,
                                    uint64_t after);

const struct decision *decision_of (const struct decisions *d,
                                    const char *node);

#endif /* PROLOG_TEST_WORLD_H */
