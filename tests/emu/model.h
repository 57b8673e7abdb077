/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of pmm-emu: how long a message takes over each link of a fabric,
 * and the faults that were planted.
 *
 * Times are whole ns. A link's latency in one direction is the time over its
 * cable plus half the crossing of the device at either end, and at a host end
 * adapter, PCIe and software; the two directions differ by a few ns. Without a
 * file it is drawn from the seed: a base by kind of link, and a cable whose
 * length is in a range that depends on the class (5 ns/m). A planted excess
 * counts in both directions, unless each has its own, so that the link's
 * latency (their mean) grows by exactly that.
 *
 * Additional time of a host's software is in every message that it sends. So a
 * round trip to it or from it has it once, and so has a message that it sends
 * to itself. Such a message crosses no link; apart from this it takes
 * MODEL_LOOPBACK_NS.
 *
 * Switches cut through: the first byte of a message is as fast as if it were
 * alone, and the others cost no time of their own. Each direction of a link is
 * busy for bytes * 8 / bandwidth plus a fixed time per packet; a message that
 * finds it busy waits. A message that meets the background waits, too: behind a
 * random queue if the background leaves room, for its turn if it does not
 * (tests/emu/flood).
 */
#ifndef EMU_MODEL_H
#define EMU_MODEL_H

#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "tests/emu/adapters.h"
#include "tests/emu/flood.h"
#include "util/error.h"
#include "util/rng.h"

enum { MODEL_LOOPBACK_NS = 1200, MODEL_LOOPBACK_LEAST_NS = 600 };

struct emu_model;

/* A model with the default latencies of a finished fabric, which is borrowed.
 */
struct emu_model *model_create (const struct fabric *f, uint64_t seed);
void model_destroy (struct emu_model *m);

const struct fabric *model_fabric (const struct emu_model *m);
uint64_t model_seed (const struct emu_model *m);

/* Read latencies: lines "LINK NS [NS]", from the smaller end and back (both the
 * same if only one is given); '#' starts a comment. Links that are not in the
 * file keep theirs. Return 0, or -1 with err and nothing changed.
 */
int model_read_latency (struct emu_model *m, FILE *fp, const char *name,
                        struct error *err);

/* Change the model; words as on the command line and the control socket. Return
 * 0, or -1 with err.
 *
 *     slow LINK +NS[:+NS]       plant an excess (replaces an earlier one); of
 *                               each direction, as in the file of latencies
 *     slow-host HOST +NS        the same in a host's software
 *     rate LINK GBPS[:GBPS]     limit the rate, both ways, or from the smaller
 *                               end and back; the ports say nothing of it
 *     rate SWITCH GBPS          of all that passes a switch together
 *     width LINK LANES          the link came up with so many lanes
 *     retries LINK SHARE        this share of bulk data is sent twice
 *     pcie HOST NOW[/ABLE[/SLOT]]
 *                               how the adapters' PCIe runs, and the most of the
 *                               adapter and of its slot, each "GT/s x lanes" as
 *                               in 16x8; the kernel's files show it
 *     pcie HOST rate=GBPS[:GBPS]
 *                               a limit that no file shows: both ways, or
 *                               sending and receiving
 *     pcie HOST errors=N        PCIe corrects so many in each GB of a port
 *     pcie HOST none            the kernel shows no PCIe
 *     pcie HOST together        ... shows the adapters in one slot, which limits
 *                               them no more than their own do
 *     order HOST RELAXED[:STRICT]
 *                               bulk data arrives at this share of the port's
 *                               rate with relaxed ordering, and without; "no:"
 *                               for the former: the adapter refuses it
 *     rate-noise SHARE[:SHARE]  a burst loses, half-normal, this share of its
 *                               rate; adapters differ by up to the second one
 *     heal LINK | HOST | all    remove its faults, or all, switches' too
 *     noise SIGMA               half-normal, per message, in ns
 *     noise NAME                a day at a site (core/samples/simulate)
 *     outliers P:SCALE | off    with probability P, exponential, mean SCALE ns
 *     loss P                    probability that a message is lost
 *     packet NS                 fixed time that a packet keeps a link busy
 *     background A,B:LOAD       a flow from host A to B that offers this share
 *                               of the capacity of A's link
 *     background random:N:LOAD  N flows between random hosts
 *     background ...:pausing    that are on and off in turn, 1 to 100 ms each
 *     background off            no flows
 */
int model_command (struct emu_model *m, int argc, char *const argv[],
                   struct error *err);

/* The state as a JSON object: the planted faults, and per link the rate and the
 * true latencies ("a_to_b_ns", "b_to_a_ns", their mean "latency_ns", excess
 * included). The caller frees the string.
 */
char *model_show (const struct emu_model *m);

/* An arc is a link in one direction: 2 * link + (0: away from its smaller end,
 * 1: back). model_path writes those from end `from` to `to`, at most
 * PATH_MAX_HOPS, and returns their number; -1 if the LFTs lead nowhere.
 */
int model_path (const struct emu_model *m, uint32_t from, uint32_t to,
                uint32_t *arc);

/* The first arc from an endpoint's host. */
uint32_t model_first_arc (const struct emu_model *m, uint32_t endpoint);

/* Latency of an arc; how long a message of this size keeps it busy. */
int64_t model_latency (const struct emu_model *m, uint32_t arc);
int64_t model_busy (const struct emu_model *m, uint32_t arc, size_t bytes);

/* How long it keeps a switch busy that it passes; 0 if no rate was planted
 * there.
 */
int64_t model_switch_busy (const struct emu_model *m, uint32_t node,
                           size_t bytes);

/* What a link's ports say: its lanes, its data rate in bits per second. */
unsigned int model_lanes (const struct emu_model *m, uint32_t link);
double model_port_bits (const struct emu_model *m, uint32_t link);
const struct adapter *model_adapter (const struct emu_model *m,
                                     uint32_t endpoint);

/* Bulk data: what limits it are resources, numbers below model_resources, of
 * which the first are the arcs. Rates are bytes of payload per ns, in packets of
 * MODEL_MTU. model_uses writes those that a flow uses between endpoints by these
 * arcs, none for one from an endpoint to itself; at most 3 more than two per arc.
 */
enum { MODEL_MTU = 4096, MODEL_MTU_HEADER = 26 }; /* LRH, BTH, ICRC, VCRC */
size_t model_resources (const struct emu_model *m);
double model_resource_rate (const struct emu_model *m, uint32_t resource);
size_t model_uses (const struct emu_model *m, uint32_t from, uint32_t to,
                   const uint32_t *arc, int narcs, uint32_t *resource);

/* What a burst that uses these gets alone at most: limits of its ends that other
 * bursts do not share, and noise, drawn per burst.
 */
double model_burst_cap (const struct emu_model *m, uint32_t from, uint32_t to,
                        bool strict, const uint32_t *resource, size_t n,
                        struct rng *rng);

/* The share of packets of bulk data that are sent twice over a link. */
double model_retried (const struct emu_model *m, uint32_t link);

/* The time that one byte, or a number of bytes, takes to pass an arc. */
double model_byte_ns (const struct emu_model *m, uint32_t arc);
int64_t model_bytes_ns (const struct emu_model *m, uint32_t arc, size_t bytes);

/* The flows of the background; the time per byte of all arcs. Both change with
 * the next command.
 */
struct model_flow {
    uint32_t from, to; /* endpoints */
    double load;       /* share of what the first link carries */
    bool pauses;
};
const struct model_flow *model_flows (const struct emu_model *m, size_t *n);
const double *model_bytes_ns_of_arcs (const struct emu_model *m);

/* Drawn per message. model_lost: whether it is lost. model_noise: the time in
 * addition to the arcs' latencies for a message that an endpoint sends now
 * along these arcs, from its host's software, noise and outliers (negative on
 * days when a host is faster than usual). model_background: the wait behind
 * background traffic on an arc, for a message that arrives by the arc `from`
 * (NULL: it starts at its host); flood[] is that traffic, by arc.
 */
bool model_lost (const struct emu_model *m, struct rng *rng);
int64_t model_noise (const struct emu_model *m, uint32_t endpoint, int64_t now,
                     const uint32_t *arc, int narcs, struct rng *rng);
int64_t model_background (const struct emu_model *m,
                          const struct flood_arc *flood, const uint32_t *from,
                          uint32_t arc, struct rng *rng);

#endif /* EMU_MODEL_H */
