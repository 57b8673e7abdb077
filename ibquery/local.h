/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ports of this node as the kernel shows them in sysfs.
 *
 * Read by the hooks and by pmm-probe. Needs no privileges and sends nothing.
 * But a driver may hang, and the reader with it: a program that must not wait
 * reads in a child process.
 */
#ifndef IBQUERY_LOCAL_H
#define IBQUERY_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ibquery/pcie.h"
#include "util/error.h"
#include "util/rates.h"

#define LOCAL_SYSFS "/sys/class/infiniband"

enum { LOCAL_PORTS_MAX = 64 };

enum local_counter_id {
    LOCAL_SYMBOL_ERRORS, LOCAL_LINK_RECOVERY, LOCAL_LINK_DOWNED,
    LOCAL_RCV_ERRORS, LOCAL_RCV_REMOTE_PHYSICAL, LOCAL_LINK_INTEGRITY,
    LOCAL_BUFFER_OVERRUN, LOCAL_XMIT_DISCARDS, LOCAL_XMIT_WAIT, LOCAL_COUNTERS,
};

/* For each counter: the kernel's and InfiniBand's names, the value at which it
 * stops, and the growth that is still healthy: `healthy` in window_s. window_s
 * 0: not a sign of a bad cable.
 */
struct local_counter {
    const char *file; /* "symbol_error" */
    const char *name; /* "SymbolErrorCounter" */
    uint64_t end;     /* where it stops counting; 0: it does not stop */
    uint64_t healthy;
    unsigned int window_s;
};
extern const struct local_counter local_counters[LOCAL_COUNTERS];

enum local_layer { LAYER_OTHER, LAYER_INFINIBAND, LAYER_ETHERNET };

enum { LOCAL_DOWN = 1, LOCAL_ACTIVE = 4, LOCAL_LINK_UP = 5 };

struct local_port {
    char device[64];   /* "mlx5_0" */
    unsigned int port; /* from 1 */
    uint64_t node_guid, guid; /* of device and port; 0: not known */
    uint64_t image;    /* of the adapter, which may have several devices: its
                          SystemImageGUID; 0: not known */
    uint64_t subnet;   /* the prefix of its GID; 0: not known */
    enum local_layer layer;
    unsigned int state;      /* as in PortInfo; 0: not known */
    unsigned int phys_state; /* likewise */
    struct rates rate;
    uint64_t counter[LOCAL_COUNTERS];
    bool has[LOCAL_COUNTERS]; /* the kernel shows it */
    struct pcie pcie;         /* of the device */
};

/* Read the first line, without its end, of a small file at the directory `dir`;
 * what cannot be printed is replaced. Return 0, or -1 if there is none.
 */
int local_read_line (int dir, const char *path, char *buf, size_t size);

/* Read the ports below the directory `sysfs` (LOCAL_SYSFS), sorted by device and
 * number, without virtual functions of adapters that are there themselves, or
 * that are not in use. More than LOCAL_PORTS_MAX of InfiniBand are an error. If
 * the directory does not exist there are no ports. An unexpected value counts as
 * not known. Return 0 with *v, which the caller frees and which is NULL if *n is
 * 0; -1 with err.
 */
int local_ports (const char *sysfs, struct local_port **v, size_t *n,
                 struct error *err);

/* What a port has sent and received since its counters started, and how long it
 * had to wait before it could send. Data is in words of four bytes and includes
 * the headers of packets. It is read separately from the other counters; read
 * it twice to get the growth.
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

/* The growth of a counter. False if it is not known: the kernel does not show
 * the counter, it was reset, or it is at the end of its 32 bits.
 */
bool local_growth (const struct local_traffic *before,
                   const struct local_traffic *now, enum local_traffic_id id,
                   uint64_t *growth);

/* "Active", "Polling" etc.; never NULL. */
const char *local_state_name (unsigned int state);
const char *local_phys_state_name (unsigned int phys_state);

#endif /* IBQUERY_LOCAL_H */
