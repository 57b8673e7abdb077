/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * libibnetdisc returns what it found, also where answers were lost or the
 * fabric changed under it; so everything is checked here: `convert` for one
 * reading, `same` for two. It prints to stderr, which is kept in a memory file
 * meanwhile; the last line tells more in an error. One thread only, then.
 *
 * A cable that is up but that no SM has made active, with nobody answering at
 * its far end, is a warning: a host that is booting. An adapter's port whose
 * far end is unknown belongs to another fabric, and so does its LID.
 */
#include "config.h"
#include "ibquery/read/discover.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/ibnetdisc.h>
#include <infiniband/umad.h>

#include "ibquery/read/lft.h"
#include "util/text.h"

enum {
    MAX_PASSES = 8,
    PAUSE_US = 100000,       /* before reading again what was not complete */
    STATE_ACTIVE = 4,        /* PortInfo: logical and physical state */
    STATE_LINK_UP = 5,
    CAP_EXT_SPEEDS = 1 << 14,
    NOISE_MAX = 160,
};

const struct discover_options discover_defaults = {
    .timeout_ms = 1000,
    .retries = 3,
    .max_smps = 8,
};

/* stderr, while a library writes there */
struct hush {
    int saved, mem;
};

static void hush_begin (struct hush *h)
{
    fflush (stderr);
    h->saved = fcntl (STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    h->mem = memfd_create ("stderr", MFD_CLOEXEC);
    if (h->saved >= 0 && h->mem >= 0)
        dup2 (h->mem, STDERR_FILENO);
}

/* End it; text gets the last line that was written, "" where there is none. */
static void hush_end (struct hush *h, char text[NOISE_MAX])
{
    char *line;
    ssize_t n = 0;

    fflush (stderr);
    if (h->mem >= 0) {
        off_t size = lseek (h->mem, 0, SEEK_END);

        n = pread (h->mem, text, NOISE_MAX - 1,
                   size > NOISE_MAX - 1 ? size - (NOISE_MAX - 1) : 0);
        close (h->mem);
    }
    if (h->saved >= 0) {
        dup2 (h->saved, STDERR_FILENO);
        close (h->saved);
    }
    text[n > 0 ? n : 0] = '\0';
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' '))
        text[--n] = '\0';
    line = strrchr (text, '\n');
    if (line)
        memmove (text, line + 1, strlen (line));
    text_clean (text);
}

/* The device and port to use, into opts; its state is checked. */
static int choose_port (struct discover_options *opts,
                        char ca[UMAD_CA_NAME_LEN], struct error *err)
{
    umad_port_t port;
    struct hush hush;
    char noise[NOISE_MAX];
    int rc, fd;

    if (opts->ca && strlen (opts->ca) >= UMAD_CA_NAME_LEN)
        return error_world (err, "no InfiniBand device is called %s",
                            opts->ca);
    hush_begin (&hush);
    rc = umad_init ();
    if (rc >= 0)
        rc = umad_get_port (opts->ca, opts->port, &port);
    hush_end (&hush, noise);
    if (rc < 0)
        return error_world (err,
                            "no InfiniBand device: %s%s%.0d has no umad "
                            "device",
                            opts->ca ? opts->ca : "this machine",
                            opts->port ? " port " : "", opts->port);
    snprintf (ca, UMAD_CA_NAME_LEN, "%s", port.ca_name);
    opts->ca = ca;
    opts->port = port.portnum;
    if (*port.link_layer && strcmp (port.link_layer, "IB") != 0
        && strcmp (port.link_layer, "InfiniBand") != 0)
        rc = error_world (err, "no InfiniBand device: %s port %d is %s", ca,
                          opts->port, port.link_layer);
    else if (port.state != STATE_ACTIVE || port.base_lid == 0)
        rc = error_world (err, "no subnet manager has configured %s port %d",
                          ca, opts->port);
    umad_release_port (&port);
    if (rc < 0)
        return -1;

    hush_begin (&hush);
    fd = umad_open_port (ca, opts->port);
    if (fd >= 0)
        umad_close_port (fd);
    hush_end (&hush, noise);
    if (fd < 0)
        return error_world (err,
                            "cannot open the umad device of %s port %d%s: %s",
                            ca, opts->port,
                            geteuid () == 0 ? "" : " (only root may)",
                            *noise ? noise : strerror (-fd));
    return 0;
}

static const char *speed_name (const ibnd_port_t *p)
{
    static const char *const ext[] = { "", "FDR", "EDR", "", "HDR",
                                       "", "", "", "NDR" };
    static const char *const old[] = { "", "SDR", "DDR", "", "QDR" };
    const ibnd_port_t *zero = p->node->ports[0];
    void *caps = (void *)(p->node->type == IB_NODE_SWITCH && zero ? zero->info
                                                                  : p->info);
    void *info = (void *)p->info;
    uint32_t speed;

    if (mad_get_field (caps, 0, IB_PORT_CAPMASK_F) & CAP_EXT_SPEEDS) {
        speed = mad_get_field (info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F);
        if (speed > 0)
            return speed < sizeof (ext) / sizeof (*ext) ? ext[speed] : "";
    }
    speed = mad_get_field (info, 0, IB_PORT_LINK_SPEED_ACTIVE_F);
    return speed < sizeof (old) / sizeof (*old) ? old[speed] : "";
}

static unsigned int width_lanes (const ibnd_port_t *p)
{
    switch (mad_get_field ((void *)p->info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)) {
    case 1:
        return 1;
    case 2:
        return 4;
    case 4:
        return 8;
    case 8:
        return 12;
    case 16:
        return 2;
    }
    return 0;
}

__attribute__ ((format (printf, 3, 4)))
static int node_error (const ibnd_node_t *n, struct error *err,
                       const char *fmt, ...)
{
    char what[160];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (what, sizeof (what), fmt, ap);
    va_end (ap);
    return error_world (err, "%s %.64s%s(%016" PRIx64 "): %s",
                        fabric_type_name (n->type), n->nodedesc,
                        *n->nodedesc ? " " : "", n->guid, what);
}

/* A port whose PortInfo came and whose far end did not. */
static int check_far_end (struct fabric *f, const ibnd_node_t *n, int num,
                          struct error *err)
{
    void *info = n->ports[num]->info;

    if (n->type != IB_NODE_SWITCH
        || mad_get_field (info, 0, IB_PORT_PHYS_STATE_F) != STATE_LINK_UP)
        return 0;
    if (mad_get_field (info, 0, IB_PORT_STATE_F) == STATE_ACTIVE)
        return node_error (n, err,
                           "nobody answers at the far end of port %d, which "
                           "is active",
                           num);
    return fabric_warn (f, err,
                        "switch %.64s (%016" PRIx64 "): port %d is up, but "
                        "nobody answers at its far end",
                        n->nodedesc, n->guid, num);
}

/* What a port's PortInfo says of its cable. */
static int add_rates (struct fabric *f, uint32_t node, const ibnd_port_t *p,
                      struct error *err)
{
    const ibnd_port_t *zero = p->node->ports[0];
    const ibnd_port_t *caps
        = p->node->type == IB_NODE_SWITCH && zero ? zero : p;
    struct port_rates rates;

    rates_decode (p->info, rates_cap_mask (caps->info), &rates);
    return fabric_set_rates (f, node, p->portnum, &rates, err);
}

static int add_node (struct fabric *f, ibnd_node_t *n, struct error *err)
{
    int64_t node;

    node = fabric_add_node (f, n->guid, (enum node_type)n->type, n->numports,
                            n->nodedesc, err);
    if (node < 0)
        return -1;
    fabric_set_system (f, node,
                       mad_get_field64 (n->info, 0, IB_NODE_SYSTEM_GUID_F));
    for (int i = 1; i <= n->numports; i++) {
        const ibnd_port_t *p = n->ports[i];

        if (!p || mad_get_field ((void *)p->info, 0, IB_PORT_PHYS_STATE_F) == 0)
            return node_error (n, err, "PortInfo of port %d did not arrive",
                               i);
        if (!p->remoteport) {
            if (check_far_end (f, n, i, err) < 0)
                return -1;
        } else if (add_rates (f, node, p, err) < 0
                   || fabric_set_state (f, node, i,
                                        mad_get_field ((void *)p->info, 0,
                                                       IB_PORT_STATE_F),
                                        err) < 0
                   || (n->type != IB_NODE_SWITCH
                       && fabric_set_port (f, node, i, p->guid, p->base_lid,
                                           p->lmc, err) < 0))
            return error_prefix (err, "%.64s", n->nodedesc);
    }
    if (n->type != IB_NODE_SWITCH)
        return 0;
    if (mad_get_field (n->switchinfo, 0, IB_SW_LINEAR_FDB_CAP_F) == 0)
        return node_error (n, err, "SwitchInfo did not arrive");
    if (n->smalid == 0)
        return node_error (n, err, "no subnet manager has configured it");
    return fabric_set_switch_lid (f, node, n->smalid, err);
}

static int add_cables (struct fabric *f, const ibnd_node_t *n,
                       struct error *err)
{
    uint32_t node = fabric_find_node (f, n->guid);

    for (int i = 1; i <= n->numports; i++) {
        const ibnd_port_t *p = n->ports[i], *far = p->remoteport;
        uint32_t far_node;

        if (!far)
            continue;
        if (far == p) {
            if (fabric_warn (f, err,
                             "%.64s (%016" PRIx64 "): port %d leads to itself",
                             n->nodedesc, n->guid, i) < 0)
                return -1;
            continue;
        }
        if (far->remoteport != p)
            return node_error (n, err,
                               "port %d leads to %016" PRIx64 "/%d, which "
                               "leads elsewhere",
                               i, far->node->guid, far->portnum);
        far_node = fabric_find_node (f, far->node->guid);
        if (far_node == FABRIC_NONE)
            return node_error (n, err, "port %d leads to nowhere", i);
        if (n->guid > far->node->guid
            || (n->guid == far->node->guid && i > far->portnum))
            continue;
        if (fabric_add_cable (f, node, i, far_node, far->portnum,
                              width_lanes (p), speed_name (p), err) < 0)
            return -1;
    }
    return 0;
}

static int add_tables (struct fabric *f, const ibnd_fabric_t *found,
                       const struct discover_options *opts, struct error *err)
{
    const struct lft_source source = {
        .ca = opts->ca,
        .port = opts->port,
        .mkey = opts->mkey,
        .timeout_ms = opts->timeout_ms,
        .retries = opts->retries,
        .window = opts->max_smps,
    };
    struct lft_switch *sw = calloc (f->nnodes + 1, sizeof (*sw));
    size_t n = 0;
    int rc = -1;

    if (!sw)
        return error_nomem (err);
    for (ibnd_node_t *node = found->nodes; node; node = node->next) {
        struct lft_switch *s = &sw[n];

        if (node->type != IB_NODE_SWITCH)
            continue;
        s->path = node->path_portid;
        s->guid = node->guid;
        s->name = f->node[fabric_find_node (f, node->guid)].desc;
        s->top = mad_get_field (node->switchinfo, 0, IB_SW_LINEAR_FDB_TOP_F);
        if (s->top > FABRIC_MAX_LID) {
            node_error (node, err, "its forwarding table ends at LID %u",
                        s->top);
            goto error;
        }
        s->lft = malloc (lft_size (s->top));
        if (!s->lft) {
            error_nomem (err);
            goto error;
        }
        n++;
    }
    if (lft_read (&source, sw, n, err) < 0)
        goto error;
    for (size_t i = 0; i < n; i++)
        if (fabric_set_lft (f, fabric_find_node (f, sw[i].guid), sw[i].lft,
                            sw[i].top, err) < 0)
            goto error;
    rc = 0;
error:
    for (size_t i = 0; i < n; i++)
        free (sw[i].lft);
    free (sw);
    return rc;
}

/* One reading, as a fabric that is finished and complete. */
static struct fabric *convert (const ibnd_fabric_t *found,
                               const struct discover_options *opts,
                               struct error *err)
{
    struct fabric *f = fabric_create ();
    char source[FABRIC_NAME_MAX];

    if (!f) {
        error_nomem (err);
        return NULL;
    }
    snprintf (source, sizeof (source), "%s/%d", opts->ca, opts->port);
    if (fabric_set_source (f, source, time (NULL), err) < 0)
        goto error;
    for (ibnd_node_t *n = found->nodes; n; n = n->next)
        if (add_node (f, n, err) < 0)
            goto error;
    for (ibnd_node_t *n = found->nodes; n; n = n->next)
        if (add_cables (f, n, err) < 0)
            goto error;
    if (add_tables (f, found, opts, err) < 0 || fabric_finish (f, err) < 0)
        goto error;
    return f;
error:
    fabric_destroy (f);
    return NULL;
}

static struct fabric *read_once (const struct discover_options *opts,
                                 struct error *err)
{
    ibnd_config_t config = {
        .max_smps = opts->max_smps,
        .timeout_ms = opts->timeout_ms,
        .retries = opts->retries,
        .mkey = opts->mkey,
    };
    struct fabric *f = NULL;
    ibnd_fabric_t *found;
    char noise[NOISE_MAX];
    struct hush hush;

    hush_begin (&hush);
    found = ibnd_discover_fabric ((char *)opts->ca, opts->port, NULL, &config);
    if (found) {
        f = convert (found, opts, err);
        ibnd_destroy_fabric (found);
    }
    hush_end (&hush, noise);
    if (!found)
        error_world (err, "the fabric cannot be read through %s port %d%s%s",
                     opts->ca, opts->port, *noise ? ": " : "", noise);
    return f;
}

/* What the hash leaves out is compared as well: a lost NodeDescription must
 * not rename a host.
 */
static bool same (const struct fabric *a, const struct fabric *b)
{
    if (strcmp (a->hash, b->hash) != 0)
        return false;
    for (size_t i = 0; i < a->nnodes; i++)
        if (strcmp (a->node[i].desc, b->node[i].desc) != 0)
            return false;
    for (size_t i = 0; i < a->nlinks; i++)
        if (a->link[i].width != b->link[i].width
            || strcmp (a->link[i].speed, b->link[i].speed) != 0)
            return false;
    return true;
}

struct fabric *discover (const struct discover_options *options,
                         struct error *err)
{
    struct discover_options opts = *options;
    struct fabric *f, *before = NULL;
    char ca[UMAD_CA_NAME_LEN];
    bool failed = false;

    if (choose_port (&opts, ca, err) < 0)
        return NULL;
    for (int pass = 0; pass < MAX_PASSES; pass++) {
        f = read_once (&opts, err);
        if (!f) {
            failed = true;
            usleep (PAUSE_US);
            continue;
        }
        if (before && same (before, f)) {
            fabric_destroy (before);
            return f;
        }
        fabric_destroy (before);
        before = f;
    }
    fabric_destroy (before);
    if (!failed)
        error_world (err, "the fabric changes while it is read: no two of %d "
                          "readings agree",
                     MAX_PASSES);
    else if (err)
        err->fault = ERROR_WORLD;
    return NULL;
}
