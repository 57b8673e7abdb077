/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ports of this node as its kernel shows them, in sysfs.
 *
 * Read by the hooks and by pmm-probe. Needs no right and sends nothing; but a
 * driver may hang, and the reader with it: a program that must not wait reads
 * in a child.
 */
#ifndef IBQUERY_LOCAL_H
#define IBQUERY_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

#define LOCAL_SYSFS "/sys/class/infiniband"

enum { LOCAL_PORTS_MAX = 64 };

enum local_counter_id {
    LOCAL_SYMBOL_ERRORS,
    LOCAL_LINK_RECOVERY,
    LOCAL_LINK_DOWNED,
    LOCAL_RCV_ERRORS,
    LOCAL_RCV_REMOTE_PHYSICAL,
    LOCAL_LINK_INTEGRITY,
    LOCAL_BUFFER_OVERRUN,
    LOCAL_XMIT_DISCARDS,
    LOCAL_XMIT_WAIT,
    LOCAL_COUNTERS,
};

/* What the counters are called by the kernel and by InfiniBand, how far they
 * count, and what growth is still healthy: so much in so long. window_s 0:
 * none is a sign of a bad cable.
 */
struct local_counter {
    const char *file; /* "symbol_error" */
    const char *name; /* "SymbolErrorCounter" */
    uint64_t end;     /* where it stops counting; 0: it does not */
    uint64_t healthy;
    unsigned int window_s;
};
extern const struct local_counter local_counters[LOCAL_COUNTERS];

enum local_layer { LAYER_OTHER, LAYER_INFINIBAND, LAYER_ETHERNET };

enum { LOCAL_ACTIVE = 4, LOCAL_LINK_UP = 5 };

struct local_rate {
    unsigned int width; /* lanes: 1, 2, 4, 8, 12; 0: not told */
    char speed[8];      /* a lane's, SDR to XDR; "": not told */
};

struct local_port {
    char device[64];   /* "mlx5_0" */
    unsigned int port; /* from 1 on */
    uint64_t node_guid, guid; /* of the device, of the port; 0: not told */
    enum local_layer layer;
    unsigned int state;      /* as in PortInfo; 0: not told */
    unsigned int phys_state; /* likewise */
    struct local_rate rate;
    uint64_t counter[LOCAL_COUNTERS];
    bool has[LOCAL_COUNTERS]; /* those that the kernel shows */
};

/* Read all ports below the directory `sysfs` (LOCAL_SYSFS), by device and
 * number. No such directory is no ports. What is not as expected is not told.
 * Return 0 with *v, which the caller frees, NULL where *n is 0; -1 with err.
 */
int local_ports (const char *sysfs, struct local_port **v, size_t *n,
                 struct error *err);

/* What a port has sent and received since its counters began, and for how long
 * it had to wait before it could send. Data is in words of four bytes, with the
 * headers of packets. Read apart from the other counters, twice where growth is
 * wanted.
 */
enum local_traffic_id {
    LOCAL_SENT,
    LOCAL_RECEIVED,
    LOCAL_SENT_PACKETS,
    LOCAL_RECEIVED_PACKETS,
    LOCAL_WAITED, /* PortXmitWait */
    LOCAL_TRAFFIC,
};
extern const char *const local_traffic_file[LOCAL_TRAFFIC];

struct local_traffic {
    uint64_t v[LOCAL_TRAFFIC];
    bool has[LOCAL_TRAFFIC];
};

void local_traffic (const char *sysfs, const struct local_port *p,
                    struct local_traffic *t);

/* How much one has grown. False where that is not known: the kernel does not
 * show it, it began anew, or it stands at the end of its 32 bits.
 */
bool local_growth (const struct local_traffic *before,
                   const struct local_traffic *now, enum local_traffic_id id,
                   uint64_t *growth);

/* "Active", "Polling" and the like; never NULL. */
const char *local_state_name (unsigned int state);
const char *local_phys_state_name (unsigned int phys_state);

/* Rates as in fabric_rate_name: "4xEDR", "4x?". Parse the whole of s: return
 * 0, or -1 with errno EINVAL and *rate untouched. Format into buf of
 * LOCAL_RATE_BYTES; returns buf.
 */
enum { LOCAL_RATE_BYTES = 16 };
int local_rate_parse (const char *s, struct local_rate *rate);
const char *local_rate_format (const struct local_rate *rate, char *buf);

/* Whether a has fewer lanes, or slower ones, than b. What is not told is
 * neither.
 */
bool local_is_narrower (const struct local_rate *a, const struct local_rate *b);
bool local_is_slower (const struct local_rate *a, const struct local_rate *b);

#endif /* IBQUERY_LOCAL_H */
