/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * libibumad prints to stderr. While a device is opened, stderr goes to a memory
 * file, and the last line is used in the error. This is not thread-safe.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/umad.h>

#include "ibquery/read/smp.h"
#include "ibquery/read/netdisc.h"
#include "util/alloc.h"
#include "util/text.h"

enum { NOISE_MAX = 160, HEADER_SIZE = 24 };

static const uint32_t qkey_qp1 = 0x80010000;

struct umad_device {
    struct device_port name;
    struct mads_options opts;
    int fd;
    int agent[256]; /* by class; -1: not registered yet */
    void *umad;     /* one MAD in libibumad's format */
};

/* stderr, while a library writes to it */
struct hush {
    int saved, mem;
};

static void begin_stderr_capture (struct hush *h)
{
    fflush (stderr);
    h->saved = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    h->mem = memfd_create ("stderr", MFD_CLOEXEC);
    if (h->saved >= 0 && h->mem >= 0)
        dup2 (h->mem, STDERR_FILENO);
}

/* Restore stderr; text gets the last line that was written, or "". */
static void end_stderr_capture (struct hush *h, char text[NOISE_MAX])
{
    ssize_t n = 0;
    off_t size;
    char *line;

    fflush (stderr);
    if (h->mem >= 0) {
        size = lseek (h->mem, 0, SEEK_END) - (NOISE_MAX - 1);
        n = pread (h->mem, text, NOISE_MAX - 1, size > 0 ? size : 0);
        close (h->mem);
    }
    if (h->saved >= 0) {
        dup2 (h->saved, STDERR_FILENO);
        close (h->saved);
    }
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n > 0 ? n : 0] = '\0';
    if ((line = strrchr (text, '\n')))
        memmove (text, line + 1, strlen (line));
    text_clean (text);
}

static bool is_infiniband (const umad_port_t *port)
{
    return !*port->link_layer || strcmp (port->link_layer, "IB") == 0
           || strcmp (port->link_layer, "InfiniBand") == 0;
}

/* Whether a subnet manager has made it active. */
static bool is_active (const umad_port_t *port)
{
    return port->state == STATE_ACTIVE && port->base_lid != 0;
}

static struct device_port umad_device_port (const umad_port_t *port)
{
    struct device_port p = { .port = port->portnum,
                             .subnet = be64toh (port->gid_prefix) };

    snprintf (p.ca, sizeof (p.ca), "%s", port->ca_name);
    return p;
}

/* Choose the device and port, and check the port's state. */
static int choose_port (const char *ca, int number, struct device_port *used,
                        struct error *err)
{
    umad_port_t port;
    struct hush hush;
    char noise[NOISE_MAX];
    int rc;

    if (ca && strlen (ca) >= UMAD_CA_NAME_LEN)
        return error_world (err, "no InfiniBand device is called %s", ca);
    begin_stderr_capture (&hush);
    rc = umad_init ();
    if (rc >= 0)
        rc = umad_get_port (ca, number, &port);
    end_stderr_capture (&hush, noise);
    if (rc < 0)
        return error_world (err, "no InfiniBand device: %s%s%.0d has no umad "
                                 "device", ca ? ca : "this machine",
                            number ? " port " : "", number);
    *used = umad_device_port (&port);
    if (!is_infiniband (&port))
        rc = error_world (err, "no InfiniBand device: %s port %d is %s",
                          used->ca, used->port, port.link_layer);
    else if (!is_active (&port))
        rc = error_world (err, "no subnet manager has configured %s port %d",
                          used->ca, used->port);
    umad_release_port (&port);
    return rc;
}

static int compare_ports (const void *a, const void *b)
{
    const struct device_port *x = a, *y = b;
    int order = strcmp (x->ca, y->ca);

    return order ? order : x->port - y->port;
}

struct device_port *device_ports (size_t *n, struct error *err)
{
    const size_t max = (size_t)UMAD_MAX_DEVICES * UMAD_CA_MAX_PORTS;
    struct device_port *v = xcalloc (max, sizeof (*v));
    char ca[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
    char noise[NOISE_MAX];
    umad_port_t port;
    struct hush hush;
    int cas;

    *n = 0;
    begin_stderr_capture (&hush);
    cas = umad_init () < 0 ? 0 : umad_get_cas_names (ca, UMAD_MAX_DEVICES);
    for (int i = 0; i < cas; i++)
        for (int number = 1; number <= UMAD_CA_MAX_PORTS; number++) {
            if (umad_get_port (ca[i], number, &port) < 0)
                continue;
            if (is_infiniband (&port) && is_active (&port) && *n < max)
                v[(*n)++] = umad_device_port (&port);
            umad_release_port (&port);
        }
    end_stderr_capture (&hush, noise);
    if (*n == 0) {
        error_world (err, "no port of this machine is active in InfiniBand");
        free (v);
        return NULL;
    }
    qsort (v, *n, sizeof (*v), compare_ports);
    return v;
}

static int device_send (void *arg, const struct mads_packet *p,
                        unsigned int timeout_ms, struct error *err)
{
    struct umad_device *d = arg;
    uint8_t class = p->mad[MAD_CLASS];
    int *agent = &d->agent[class], rc;

    if (*agent < 0 && (rc = umad_register (d->fd, class, 1, 0, NULL)) < 0)
        return error_world (err, "cannot send MADs of class 0x%02x through %s "
                                 "port %d: %s", class, d->name.ca, d->name.port,
                            strerror (-rc));
    if (*agent < 0)
        *agent = rc;
    memset (d->umad, 0, umad_size ());
    memcpy (umad_get_mad (d->umad), p->mad, MADS_SIZE);
    umad_set_addr (d->umad, p->lid, p->qp, p->sl,
                   p->qp ? (int)qkey_qp1 : 0);
    rc = umad_send (d->fd, *agent, d->umad, MADS_SIZE, timeout_ms, 0);
    return rc >= 0 ? 0
                   : error_world (err, "cannot send MADs through %s port %d: "
                                       "%s",
                                  d->name.ca, d->name.port, strerror (-rc));
}

static int device_recv (void *arg, struct mads_packet *p,
                        unsigned int timeout_ms, struct error *err)
{
    struct umad_device *d = arg;
    int len = MADS_SIZE;
    int rc = umad_poll (d->fd, (int)timeout_ms);

    if (rc < 0 && errno == EINTR)
        return 0;
    if (rc >= 0)
        rc = umad_recv (d->fd, d->umad, &len, 0);
    if (rc == -EINTR || rc == -ETIMEDOUT || rc == -EAGAIN)
        return 0;
    if (rc < 0)
        return error_world (err, "cannot receive MADs from %s port %d: %s",
                            d->name.ca, d->name.port, strerror (-rc));
    /* For a lost MAD, the kernel returns only the header. */
    p->lost = umad_status (d->umad) != 0;
    if (len < (p->lost ? HEADER_SIZE : MADS_SIZE))
        return 0;
    memcpy (p->mad, umad_get_mad (d->umad), MADS_SIZE);
    return 1;
}

static int64_t device_netdisc (void *arg, int64_t max_ms, mads_take_f take,
                               void *take_arg)
{
    const struct umad_device *d = arg;

    return netdisc_read (d->name.ca, d->name.port, &d->opts, max_ms, take,
                         take_arg);
}

static void device_close (void *arg)
{
    struct umad_device *d = arg;

    for (int i = 0; i < 256; i++)
        if (d->agent[i] >= 0)
            umad_unregister (d->fd, d->agent[i]);
    if (d->fd >= 0)
        umad_close_port (d->fd);
    umad_free (d->umad);
    free (d);
}

struct mads *device_open (const char *ca, int port,
                          const struct mads_options *opts,
                          struct device_port *used, struct error *err)
{
    struct umad_device *d = xcalloc (1, sizeof (*d));
    struct mads_wire wire = {
        .send = device_send, .recv = device_recv, .close = device_close,
        .netdisc = device_netdisc, .arg = d,
    };
    char noise[NOISE_MAX];
    struct hush hush;

    d->opts = *opts;
    d->fd = -1;
    memset (d->agent, 0xff, sizeof (d->agent));
    if (choose_port (ca, port, &d->name, err) == 0) {
        begin_stderr_capture (&hush);
        d->fd = umad_open_port (d->name.ca, d->name.port);
        end_stderr_capture (&hush, noise);
        if (d->fd < 0)
            error_world (err, "cannot open the umad device of %s port %d%s: %s",
                         d->name.ca, d->name.port,
                         geteuid () == 0 ? "" : " (only root may)",
                         *noise ? noise : strerror (-d->fd));
    }
    if (d->fd < 0) {
        device_close (d);
        return NULL;
    }
    /* The size is known once a port is open. */
    d->umad = xcheck (umad_alloc (1, umad_size () + MADS_SIZE));
    *used = d->name;
    return mads_create (opts, &wire, err);
}
