/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of verbs that ask the live fabric. */
#ifndef PMM_LIVE_H
#define PMM_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/read/mads.h"
#include "pmm/common.h"

struct live_options {
    const char *ca;
    int port, timeout_ms, retries, window, rate, deadline_ms;
    uint64_t mkey, max;
    bool verbose;
};

/* Rows of a verb's table whose struct has them in `field`. */
#define LIVE_FIELD(type, field, name) \
    (offsetof (type, field) + offsetof (struct live_options, name))
#define LIVE_OPTIONS(type, field)                                             \
    { "ca", 'C', "CA", opt_string, LIVE_FIELD (type, field, ca),              \
      "read through this adapter, not the first that is active" },            \
    { "port", 'P', "PORT", opt_int, LIVE_FIELD (type, field, port),           \
      "and this port of it" },                                                \
    { "mkey", 0, "KEY", opt_u64, LIVE_FIELD (type, field, mkey),              \
      "the fabric's M_Key (0x...)" },                                         \
    { "smps", 0, "N", opt_int, LIVE_FIELD (type, field, window),              \
      "queries in flight: 8" },                                               \
    { "rate", 0, "N", opt_int, LIVE_FIELD (type, field, rate),                \
      "queries a second, 0: as many as there is time for: 20000" },           \
    { "timeout", 't', "MS", opt_int, LIVE_FIELD (type, field, timeout_ms),    \
      "how long to wait for an answer at most: 1000" },                       \
    { "retries", 0, "N", opt_int, LIVE_FIELD (type, field, retries),          \
      "how often to ask again: 15" },                                         \
    { "max-smps", 0, "N", opt_u64, LIVE_FIELD (type, field, max),             \
      "give up where more queries are needed" },                              \
    { "deadline", 0, "MS", opt_int, LIVE_FIELD (type, field, deadline_ms),    \
      "give up after this time" },                                            \
    { "verbose", 'v', NULL, opt_true, LIVE_FIELD (type, field, verbose),      \
      "say what it took" }

/* As mads_defaults. */
struct live_options live_defaults (void);

/* What the engine is to be created with. Return 0, or -1 with err. */
int live_mads (const struct live_options *o, struct mads_options *mads,
               struct error *err);

/* Say on standard error how many queries it took, if that was asked for. */
void live_report (const struct live_options *o, struct mads_counts counts);

#endif /* PMM_LIVE_H */
