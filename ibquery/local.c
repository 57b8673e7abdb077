/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ports of this node as its kernel shows them.
 *
 * Notes: files are opened relative to their directory and read once, into a
 * buffer on the stack. Nothing here waits longer than the kernel does, and
 * nothing protects against that. Reading a counter of an adapter takes a
 * firmware query, about 50 us, so only those of the table are read.
 */
#include "config.h"
#include "ibquery/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/file.h"
#include "util/sort.h"
#include "util/text.h"

#define COUNT(a) (sizeof (a) / sizeof ((a)[0]))

/* Ends: legacy counters stop at 4, 8 or 16 bits, even if the kernel shows wider
 * ones. Healthy growth: symbol errors at a bit error rate of 1e-14 with 4 lanes
 * of QDR; three flaps in 12 hours are too many; the rest are events that occur
 * occasionally with good cables.
 */
const struct local_counter local_counters[LOCAL_COUNTERS] = {
    [LOCAL_SYMBOL_ERRORS]
    = { "symbol_error", "SymbolErrorCounter", UINT16_MAX, 2, 720 },
    [LOCAL_LINK_RECOVERY]
    = { "link_error_recovery", "LinkErrorRecoveryCounter", UINT8_MAX, 1, 3600 },
    [LOCAL_LINK_DOWNED]
    = { "link_downed", "LinkDownedCounter", UINT8_MAX, 2, 43200 },
    [LOCAL_RCV_ERRORS]
    = { "port_rcv_errors", "PortRcvErrors", UINT16_MAX, 10, 3600 },
    [LOCAL_RCV_REMOTE_PHYSICAL]
    = { "port_rcv_remote_physical_errors", "PortRcvRemotePhysicalErrors",
        UINT16_MAX, 0, 0 },
    [LOCAL_LINK_INTEGRITY]
    = { "local_link_integrity_errors", "LocalLinkIntegrityErrors", 15,
        1, 3600 },
    [LOCAL_BUFFER_OVERRUN]
    = { "excessive_buffer_overrun_errors", "ExcessiveBufferOverrunErrors", 15,
        1, 3600 },
    [LOCAL_XMIT_DISCARDS]
    = { "port_xmit_discards", "PortXmitDiscards", UINT16_MAX, 0, 0 },
    [LOCAL_XMIT_WAIT]
    = { "port_xmit_wait", "PortXmitWait", UINT32_MAX, 0, 0 },
};

const char *const local_traffic_file[LOCAL_TRAFFIC] = {
    [LOCAL_SENT] = "port_xmit_data",
    [LOCAL_RECEIVED] = "port_rcv_data",
    [LOCAL_SENT_PACKETS] = "port_xmit_packets",
    [LOCAL_RECEIVED_PACKETS] = "port_rcv_packets",
    [LOCAL_WAITED] = "port_xmit_wait",
};

const char *local_state_name (unsigned int state)
{
    static const char *const name[]
        = { "in no state", "Down", "Init", "Armed", "Active" };

    return state < COUNT (name) ? name[state] : "in an unknown state";
}

const char *local_phys_state_name (unsigned int phys_state)
{
    static const char *const name[]
        = { "not told",  "Sleep",  "Polling",           "Disabled",
            "Training",  "LinkUp", "LinkErrorRecovery", "PhyTest" };

    return phys_state < COUNT (name) ? name[phys_state] : "unknown";
}

int local_read_line (int dir, const char *path, char *buf, size_t size)
{
    int fd = openat (dir, path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read (fd, buf, size - 1);
    close (fd);
    if (n <= 0)
        return -1;
    buf[n] = '\0';
    buf[strcspn (buf, "\n")] = '\0';
    text_clean (buf);
    return 0;
}

/* The number before the colon of "4: ACTIVE"; 0: not known. */
static unsigned int read_sysfs_state (int dir, const char *path)
{
    uint64_t state;
    char line[64];

    if (local_read_line (dir, path, line, sizeof (line)) < 0)
        return 0;
    line[strcspn (line, ":")] = '\0';
    return text_u64 (line, 1, UINT8_MAX, &state) < 0 ? 0 : (unsigned)state;
}

/* Four groups of hexadecimal digits, as "ec0d:9a03:00ec:8240", after `skip`
 * bytes of `size`; 0 if it is not.
 */
static uint64_t read_guid (int dir, const char *path, size_t skip, size_t size)
{
    char line[64];
    uint16_t g[4];
    int end = 0;

    if (local_read_line (dir, path, line, sizeof (line)) < 0
        || strlen (line) != size
        || sscanf (line + skip,
                   "%4" SCNx16 ":%4" SCNx16 ":%4" SCNx16 ":%4" SCNx16 "%n",
                   &g[0], &g[1], &g[2], &g[3], &end)
               != 4
        || end != 19 || (line[skip + 19] && line[skip + 19] != ':'))
        return 0;
    return (uint64_t)g[0] << 48 | (uint64_t)g[1] << 32 | (uint64_t)g[2] << 16
           | g[3];
}

/* "100 Gb/sec (4X EDR)"; older kernels do not write SDR. */
static struct rates read_rate (int dir)
{
    char line[64], speed[8] = "SDR";
    unsigned int width = 0;
    int end = 0, shorter = 0;
    struct rates rate;

    if (local_read_line (dir, "rate", line, sizeof (line)) < 0)
        return (struct rates){ 0 };
    sscanf (line, "%*[0-9.] Gb/sec (%2uX)%n", &width, &shorter);
    if (shorter == 0)
        sscanf (line, "%*[0-9.] Gb/sec (%2uX %7[A-Z0-9])%n", &width, speed,
                &end);
    rate = rates_of (width, speed);
    return shorter + end > 0 && !line[shorter + end] && rate.lanes
                   && rate.speeds
               ? rate
               : (struct rates){ 0 };
}

static int compare_local_ports (const void *va, const void *vb)
{
    const struct local_port *a = va, *b = vb;
    int c = strcmp (a->device, b->device);

    return c ? c : util_compare (a->port, b->port);
}

static void read_sysfs_port (int dir, struct local_port *p)
{
    char path[64], line[64];

    p->subnet = read_guid (dir, "gids/0", 0, 39);
    p->guid = read_guid (dir, "gids/0", 20, 39);
    p->state = read_sysfs_state (dir, "state");
    p->phys_state = read_sysfs_state (dir, "phys_state");
    p->rate = read_rate (dir);
    if (local_read_line (dir, "link_layer", line, sizeof (line)) == 0)
        p->layer = !strcmp (line, "InfiniBand") ? LAYER_INFINIBAND
                   : !strcmp (line, "Ethernet") ? LAYER_ETHERNET
                                                : LAYER_OTHER;
    for (size_t i = 0; i < LOCAL_COUNTERS; i++) {
        snprintf (path, sizeof (path), "counters/%s", local_counters[i].file);
        p->has[i] = local_read_line (dir, path, line, sizeof (line)) == 0
                    && text_u64 (line, 0, INT64_MAX, &p->counter[i]) == 0;
    }
}

/* Open a directory to list it. Return 1, 0 if it is missing, or -1 with err. */
static int open_list (int dir, const char *path, DIR **d, struct error *err)
{
    if ((*d = file_open_list (dir, path)))
        return 1;
    return errno == ENOENT || errno == ENOTDIR
               ? 0
               : error_errno (err, "cannot open %s", path);
}

/* A virtual function of an adapter whose own port is here, too, or the device
 * by which the planes of an XDR port are managed.
 */
static bool is_virtual_function (int dir, const char *name)
{
    return faccessat (dir, "device/physfn", F_OK, 0) == 0
           || !strncmp (name, "smi", 3);
}

/* A virtual function that nobody has put into use: its adapter is linked, and
 * it is down. A port of a cable is in Init then.
 */
static bool is_unused (const struct local_port *p)
{
    return p->state == LOCAL_DOWN && p->phys_state == LOCAL_LINK_UP;
}

/* Room for a port at v[*n]: in place of one that is none of InfiniBand, if need
 * be. NULL: there is none.
 */
static struct local_port *find_room (struct local_port *v, size_t *n)
{
    if (*n < LOCAL_PORTS_MAX)
        return &v[(*n)++];
    for (size_t i = 0; i < *n; i++)
        if (v[i].layer != LAYER_INFINIBAND)
            return &v[i];
    return NULL;
}

/* Append the ports of a device to v, which has *n. */
static int read_device (int dir, const char *name, struct local_port *v,
                        size_t *n, struct error *err)
{
    uint64_t guid = read_guid (dir, "node_guid", 0, 19), number;
    uint64_t image = read_guid (dir, "sys_image_guid", 0, 19);
    struct local_port p, *to;
    struct pcie pcie;
    struct dirent *e;
    int rc, fd;
    DIR *d;

    if (is_virtual_function (dir, name)
        || (rc = open_list (dir, "ports", &d, err)) == 0)
        return 0;
    if (rc < 0)
        return -1;
    pcie_read (dir, &pcie);
    for (rc = 0; rc == 0 && (e = readdir (d));) {
        if (text_u64 (e->d_name, 1, UINT8_MAX, &number) < 0
            || (fd = openat (dirfd (d), e->d_name,
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
            continue;
        p = (struct local_port){ .port = (unsigned)number,
                                 .node_guid = guid,
                                 .image = image,
                                 .pcie = pcie };
        snprintf (p.device, sizeof (p.device), "%.63s", name);
        read_sysfs_port (fd, &p);
        close (fd);
        if (is_unused (&p))
            continue;
        if ((to = find_room (v, n)))
            *to = p;
        else if (p.layer == LAYER_INFINIBAND)
            rc = error_world (err, "more than %d ports", LOCAL_PORTS_MAX);
    }
    closedir (d);
    return rc;
}

int local_ports (const char *sysfs, struct local_port **v, size_t *n,
                 struct error *err)
{
    struct dirent *e;
    int rc, fd;
    DIR *d;

    *n = 0;
    if (!(*v = calloc (LOCAL_PORTS_MAX, sizeof (**v))))
        return error_nomem (err);
    if ((rc = open_list (AT_FDCWD, sysfs, &d, err)) > 0) {
        /* the name is used in messages and argument lists */
        for (rc = 0; rc == 0 && (e = readdir (d));)
            if (text_is_hostname (e->d_name)
                && (fd = openat (dirfd (d), e->d_name,
                                 O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
                rc = read_device (fd, e->d_name, *v, n, err);
                close (fd);
            }
        closedir (d);
    }
    if (rc < 0)
        error_prefix (err, "%s", sysfs);
    else
        qsort (*v, *n, sizeof (**v), compare_local_ports);
    if (rc < 0 || *n == 0) {
        free (*v);
        *v = NULL;
    }
    return rc;
}

/* Older kernels have the 64-bit counters in a separate directory. */
void local_traffic (const char *sysfs, const struct local_port *p,
                    struct local_traffic *t)
{
    static const char *const format[] = { "%s/%s/ports/%u/counters_ext/%s_64",
                                          "%s/%s/ports/%u/counters/%s" };
    char path[4096], line[64];

    for (size_t i = 0; i < LOCAL_TRAFFIC; i++) {
        t->has[i] = false;
        for (size_t k = 0; k < COUNT (format) && !t->has[i]; k++) {
            snprintf (path, sizeof (path), format[k], sysfs, p->device,
                      p->port, local_traffic_file[i]);
            t->has[i]
                = local_read_line (AT_FDCWD, path, line, sizeof (line)) == 0
                  && text_u64 (line, 0, INT64_MAX, &t->v[i]) == 0;
        }
    }
}

bool local_growth (const struct local_traffic *before,
                   const struct local_traffic *now, enum local_traffic_id id,
                   uint64_t *growth)
{
    if (!before->has[id] || !now->has[id] || now->v[id] < before->v[id]
        || now->v[id] == UINT32_MAX)
        return false;
    *growth = now->v[id] - before->v[id];
    return true;
}
