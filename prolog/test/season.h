/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A season of a site: audit after audit through planner, judge, ledger and
 * policy (prolog/act/act). Only the wire is simulated, and Slurm is a list of
 * nodes.
 *
 * The site has the 54 hosts of a 6-port 3-tree. Every cable has a length of
 * its own, on a fifth of them, each time others, the messages of others make
 * ours wait, and of round trips some are outliers. Jobs of 4 to 32 hosts, side
 * by side or anywhere, are audited when they have ended, and after every
 * SWEEP_EVERY of them all hosts. What the policy waits for is audited next,
 * beside a neighbour, and its drains and resumes are carried out. The baseline
 * is the ledger's, of the audits before; it learns small changes that stay.
 */
#ifndef PROLOG_TEST_SEASON_H
#define PROLOG_TEST_SEASON_H

#include "core/judge/judge.h"
#include "ibquery/fabric.h"
#include "ibquery/model/generate.h"
#include "prolog/act/act.h"
#include "prolog/ledger/ledger.h"
#include "util/rng.h"

enum {
    SEASON_HOSTS = 54,
    SWEEP_EVERY = 10,
};

/* What came of it. */
struct outcome {
    size_t audits;                   /* in this run */
    size_t status[VERDICT_FAIL + 1]; /* of verdicts */
    size_t fails;                    /* host ends that FAILed, */
    size_t strays;                   /* ... other ones than the fault */
    size_t news;                     /* hosts that are slower by themselves */
    size_t sweeps;                   /* of all hosts, while there is a fault, */
    size_t named;                    /* ... with one finding, which names it */
    size_t told; /* audits after which a remark or a limit says
                    why they count for nothing */
    size_t drains, resumes;
    size_t elsewhere;         /* drains of other hosts than the fault's */
    size_t settled;           /* links whose change was learned */
    size_t found, drained;    /* audits until the fault's host end FAILed,
                                 and its host was drained; 0: was not */
    char why[POLICY_WHY_MAX]; /* the last that was told */
};

struct season {
    const struct fabric *fabric; /* as the snapshot has it */
    const struct fabric *actual; /* as it is */
    const struct network *net;
    double *healthy, *latency; /* [nlinks] ever; in the next audit */
    double offset[SEASON_HOSTS]; /* what hosts take more in it, one way */
    struct baseline *published; /* NULL: the ledger's */
    struct baseline *own;       /* ... kept up to date; NULL: no audit yet */
    uint32_t fault;            /* link or switch; NETWORK_NONE */
    bool is_switch;
    struct rng rng, turns;
    struct outcome outcome;

    struct ledger *ledger;
    struct site site;
    int64_t now;
    struct policy_node node[SEASON_HOSTS];
    char reason[SEASON_HOSTS][POLICY_REASON_MAX]; /* of their drains */
    struct act_report last;
    uint32_t about;     /* host that the next one is about; FABRIC_NONE */
    const char *leader; /* of the last one */
    double *busy;
};

/* A healthy site, its first audit of all hosts done. `path` is its ledger's,
 * and must not exist. What is wrong with the test itself ends the program.
 */
struct season *season_open (const struct fabric *fabric, const char *path,
                            uint64_t seed);
void season_close (struct season *s);

/* The weather changes latencies from the healthy ones, before each audit of
 * this run, the first being number 0.
 */
typedef void (*weather_f) (struct season *s, size_t audit);
void season_run (struct season *s, size_t audits, weather_f weather);

/* Samples of all hosts with the latencies as they are, on *ps; the caller
 * destroys both.
 */
struct samples *season_sweep (struct season *s, struct pathset **ps);

#endif /* PROLOG_TEST_SEASON_H */
