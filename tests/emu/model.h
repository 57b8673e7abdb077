/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pmm-emu emulates: how long a message takes over each link of a fabric,
 * and the faults that were planted.
 *
 * Times are whole ns. A link's latency in one direction is the time over its
 * cable plus half the crossing of the device at either end, and at a host end
 * adapter, PCIe and software; the two directions differ by a few ns. Without
 * a file it is drawn from the seed: a base by kind of link, and a cable whose
 * length lies in a range by class (5 ns/m). A planted excess counts in both
 * directions, so that the link's latency (their mean) grows by just that.
 *
 * What a host's software takes beside that is in every message that it sends:
 * so a round trip to it or from it has it once, as has a message that it sends
 * to itself. Such a one crosses no link, and takes MODEL_LOOPBACK_NS otherwise.
 *
 * Switches cut through: a message's first byte is as fast as if it were alone,
 * and its pad comes in behind it at the rate of the slowest link of the way;
 * what is before the pad costs no time of its own. All of it keeps each link
 * direction busy for bytes * 8 / bandwidth plus a fixed time per packet; a
 * message that finds it busy waits. So does one that meets the background:
 * behind a random queue where that leaves room, for its turn where it does not
 * (tests/emu/flood).
 */
#ifndef EMU_MODEL_H
#define EMU_MODEL_H

#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"
#include "tests/emu/flood.h"
#include "util/error.h"
#include "util/rng.h"

enum { MODEL_LOOPBACK_NS = 1200, MODEL_LOOPBACK_LEAST_NS = 600 };

struct emu_model;

/* The default latencies of a finished fabric, which is borrowed. */
struct emu_model *model_create (const struct fabric *f, uint64_t seed);
void model_destroy (struct emu_model *m);

const struct fabric *model_fabric (const struct emu_model *m);
uint64_t model_seed (const struct emu_model *m);

/* Read latencies: lines "LINK NS [NS]", from the smaller end and back (the
 * same both ways where one is given); '#' starts a comment. Links that the
 * file leaves out keep theirs. Return 0, or -1 with err, nothing changed.
 */
int model_read_latency (struct emu_model *m, FILE *fp, const char *name,
                        struct error *err);

/* Change the model; words as on the command line and the control socket.
 * Return 0, or -1 with err.
 *
 *     slow LINK +NS             plant an excess (replacing the one before)
 *     slow-host HOST +NS        the same of a host's software
 *     rate LINK GBPS            carry no more than that, both ways
 *     heal LINK | heal all      take back a link's, or all, hosts' too
 *     noise SIGMA               half-normal, per message, in ns
 *     noise NAME                a day like a site's (core/samples/noise)
 *     outliers P:SCALE | off    with probability P, exponential, mean SCALE ns
 *     loss P                    probability that a message is lost
 *     packet NS                 fixed time that a packet keeps a link busy
 *     background A,B:LOAD       a flow from host A to B that offers this share
 *                               of what A's link carries
 *     background random:N:LOAD  N flows between random hosts
 *     background off            no flows
 */
int model_command (struct emu_model *m, int argc, char *const argv[],
                   struct error *err);

/* The state as a JSON object: what is planted, and per link the rate and true
 * latencies ("a_to_b_ns", "b_to_a_ns", their mean "latency_ns", excess
 * included). Returns a string that the caller frees.
 */
char *model_show (const struct emu_model *m);

/* A link in one direction: 2 * link + (0: away from its smaller end, 1: back).
 * model_path writes those from end `from` to `to`, at most
 * PATH_MAX_HOPS, and returns their number; -1 where the LFTs lead nowhere.
 */
int model_path (const struct emu_model *m, uint32_t from, uint32_t to,
                uint32_t *arc);

/* The arc that leaves an endpoint's host. */
uint32_t model_first_arc (const struct emu_model *m, uint32_t endpoint);

/* Latency of an arc; how long a message of this size keeps it busy. */
int64_t model_latency (const struct emu_model *m, uint32_t arc);
int64_t model_busy (const struct emu_model *m, uint32_t arc, size_t bytes);

/* How long a byte, and how long so many bytes, take to pass it. */
double model_byte_ns (const struct emu_model *m, uint32_t arc);
int64_t model_bytes_ns (const struct emu_model *m, uint32_t arc, size_t bytes);

/* What the background does on an arc; the array is of all arcs, and changes
 * with the next command.
 */
const struct flood_arc *model_flood (const struct emu_model *m);

/* Drawn per message: is it lost; how much longer than the arcs' latencies it
 * takes that an endpoint sends now along these arcs, by its host's software,
 * noise and outliers (less than 0 on days when a host is faster than usual);
 * and per arc the wait behind background traffic, of one that comes by the arc
 * `from`, or at its host, where there is none (NULL).
 */
bool model_lost (const struct emu_model *m, struct rng *rng);
int64_t model_noise (const struct emu_model *m, uint32_t endpoint, int64_t now,
                     const uint32_t *arc, int narcs, struct rng *rng);
int64_t model_background (const struct emu_model *m, const uint32_t *from,
                          uint32_t arc, struct rng *rng);

#endif /* EMU_MODEL_H */
