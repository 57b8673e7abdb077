/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples: the round-trip times of the probes of a plan.
 *
 * Made by probe/ (pmm-probe) and samples/simulate. Read by the solver and the
 * judge, and made a baseline of. File: JSON, kind "samples", version 2.
 */
#ifndef CORE_SAMPLES_H
#define CORE_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/paths/paths.h"
#include "core/plan/plan.h"
#include "core/samples/bursts.h"
#include "util/error.h"

enum { /* quantiles of the repeats, in ns */
    RTT_MIN,
    RTT_P05,
    RTT_P25,
    RTT_MEDIAN,
    RTT_P75,
    RTT_P95,
    RTT_MAX,
    RTT_COUNT,
};

/* Limits above the least RTT of a probe from one side, ns: two, and a quarter of
 * each (judge/share).
 */
enum { SLOW_LIMITS = 4 };
extern const double slow_limit_ns[SLOW_LIMITS];

/* The repeats of one probe from one side. */
struct sample {
    uint32_t a, b;      /* endpoints of the pathset, as in the plan */
    uint32_t round;     /* of the plan */
    uint32_t initiator; /* a or b */
    uint32_t sent, lost;
    double rtt_ns[RTT_COUNT]; /* unused if lost == sent */
    uint32_t slow[SLOW_LIMITS]; /* repeats above the least by more than that */
    double way_ns[2];   /* the least of a message there, and back, by one clock
                           of both ends, which need not be that of the RTTs;
                           0: the ends share none */
    double *flow_ns;    /* [nflows] where messages are spread: the time of each
                           flow (sample_flow), which has queue pairs of its own
                           at both ends; NAN: all lost */
    uint32_t nflows;    /* 0: not kept */
};
enum {
    SAMPLE_FLOWS_MAX = 256,
    SAMPLE_FLOW_SEVERAL = 4, /* messages of a flow */
    /* of a confirm stage where messages are hashed, from each side; the least
     * of several times of a flow, all over one path, is without noise
     */
    SAMPLE_FLOWS_AGAIN = 32,
    SAMPLE_TIMES_AGAIN = 48,
    /* where they are adaptive, each message is a flow */
    SAMPLE_SINGLES_AGAIN = 256,
    /* where messages take one path: enough to tell how many are slow */
    SAMPLE_REPEATS_AGAIN = 128,
};

/* An endpoint's messages to itself, through its adapter and over no cable.
 * Times are one way: exactly this is in a round trip to another host, which
 * sends once and receives once.
 */
struct loopback {
    uint32_t end;   /* endpoint of the pathset */
    uint32_t round; /* before which it was measured, or the number of rounds */
    double rtt_ns[RTT_COUNT];
};

/* The state of a host while it was measured, as far as it is known: "" or -1 if
 * not.
 */
struct node {
    char host[64];
    char boot[37];     /* the id of its boot, a UUID */
    char kernel[65];   /* its kernel release */
    char governor[17]; /* of its processor's frequency (cpufreq) */
    int numa;          /* NUMA node of the process's processor, and */
    int adapter_numa;  /* of the first adapter that it used */
};
enum { NODE_NUMA_MAX = 1023 };

struct samples {
    uint64_t job, step; /* 0: not from a job step */
    char nonce[33];     /* hex digits; "" if not from a step */
    char **answered;    /* hosts */
    size_t nanswered;
    char **missing;
    size_t nmissing;
    uint64_t late;      /* echoes that came after their time-out, */
    uint64_t repeated;  /* messages that came twice, and */
    uint64_t foreign;   /* messages of other runs: none are counted */
    uint64_t level;     /* service level of the probes */
    uint64_t rc;        /* 1: over reliable connections, 0: datagrams */
    uint64_t spread;    /* switches on the job's paths that spread messages of
                           this kind over several ports */
    struct sample *sample;
    size_t nsamples;
    struct loopback *loopback; /* none if they were not measured */
    size_t nloopbacks;
    struct node *node; /* at most one per host */
    size_t nnodes;
    struct bursts *bursts; /* NULL: rates were not measured */
    bool complete; /* every probe of the plan is accounted for */
};

/* Empty samples. */
struct samples *samples_create (void);
void samples_destroy (struct samples *s);

/* Append one; the struct is copied, and a sample's flows. */
void samples_add (struct samples *s, const struct sample *sample);
void samples_add_loopback (struct samples *s, const struct loopback *loopback);
void samples_add_host (struct samples *s, const char *host, bool answered);
void samples_add_node (struct samples *s, const struct node *node);

/* Whether each field is valid, or not known. Return 0, or -1 with err, which
 * names the field as part of `where`.
 */
int node_check (const struct node *node, const char *where,
                struct error *err);

/* Fill rtt_ns [RTT_COUNT] from n raw repeats, n > 0; v is sorted in place.
 * Quantiles by linear interpolation between order statistics (R's type 7).
 */
void sample_quantiles (double *rtt_ns, double *v, size_t n);

/* The same of a sample, and count its slow repeats. Where several messages of each
 * of its flows arrived, the flows' counts `slow` are those: their paths differ in
 * length. NULL: there are no flows.
 */
void sample_times (struct sample *s, double *v, size_t n,
                   const uint32_t *slow);

/* Whether the least is a step of the clock: far below others that agree. */
static inline bool sample_is_step (double least, double next, double most)
{
    return most - next < (next - least) / 4;
}

/* The time of a flow from the n RTTs of its messages: the least; of
 * SAMPLE_FLOW_SEVERAL or more the second, as a single one may be a step of the
 * clock. NAN if n is 0. slow[SLOW_LIMITS] gets those of its messages that are
 * above that, in addition.
 */
double sample_flow (const double *v, size_t n, uint32_t *slow);

/* Write; read. Names are resolved as in plan_read: the reader collects the
 * names of all endpoints in the file. If *ps is not NULL on entry, names must
 * be in that set and resolve is not called.
 */
int samples_write (const struct samples *s, const struct pathset *ps,
                   FILE *fp, struct error *err);
struct samples *samples_read (FILE *fp, const char *name,
                              const char *fabric_hash,
                              pathset_resolve_f resolve, void *arg,
                              struct pathset **ps, struct error *err);

#endif /* CORE_SAMPLES_H */
