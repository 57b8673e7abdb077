/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "tests/emu/sysfs.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/local.h"

enum { LINE_BYTES = 64 };

static int make_dirs (char *path)
{
    for (char *p = strchr (path + 1, '/'); p; p = strchr (p + 1, '/')) {
        *p = '\0';
        if (mkdir (path, 0755) < 0 && errno != EEXIST)
            return -1;
        *p = '/';
    }
    return 0;
}

/* Whether the file has this text; reading is much faster than writing. */
static bool has_text (const char *path, const char *text)
{
    char is[LINE_BYTES + 1];
    FILE *fp = fopen (path, "r");
    size_t len = fp ? fread (is, 1, sizeof (is), fp) : 0;

    if (fp)
        fclose (fp);
    return len > 0 && len == strlen (text) && !memcmp (is, text, len);
}

__attribute__ ((format (printf, 4, 5))) static int
put (const char *dir, const char *file, struct error *err, const char *fmt,
     ...)
{
    char path[PATH_MAX], text[LINE_BYTES];
    FILE *fp = NULL;
    va_list ap;
    int bad;

    va_start (ap, fmt);
    vsnprintf (text, sizeof (text), fmt, ap);
    va_end (ap);
    if (snprintf (path, sizeof (path), "%s/%s", dir, file)
        >= (int)sizeof (path))
        return error_errno (err, "cannot write %s", path);
    if (has_text (path, text))
        return 0;
    if (!(fp = fopen (path, "w"))
        && (make_dirs (path) < 0 || !(fp = fopen (path, "w"))))
        return error_errno (err, "cannot write %s", path);
    fputs (text, fp);
    bad = ferror (fp);
    if (fclose (fp) != 0 || bad)
        return error_errno (err, "cannot write %s", path);
    return 0;
}

static void format_guid (uint64_t guid, char text[20])
{
    snprintf (text, 20, "%04" PRIx64 ":%04" PRIx64 ":%04" PRIx64 ":%04" PRIx64,
              guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
              guid & 0xffff);
}

static int write_counters (const char *dir, struct client *c,
                           uint32_t endpoint, struct error *err)
{
    struct session_count n;
    double value[LOCAL_TRAFFIC];
    char file[64];

    session_count (c, endpoint, &n);
    value[LOCAL_SENT] = n.sent / 4;
    value[LOCAL_RECEIVED] = n.received / 4;
    value[LOCAL_SENT_PACKETS] = n.sent_packets;
    value[LOCAL_RECEIVED_PACKETS] = n.received_packets;
    value[LOCAL_WAITED] = n.waited / 4;
    for (size_t i = 0; i < LOCAL_TRAFFIC; i++) {
        snprintf (file, sizeof (file), "counters/%s", local_traffic_file[i]);
        if (put (dir, file, err, "%.0f\n", floor (value[i])) < 0)
            return -1;
    }
    return put (dir, "hw_counters/packet_seq_err", err, "%.0f\n",
                floor (n.sent_again))
                       < 0
                   || put (dir, "hw_counters/out_of_sequence", err, "%.0f\n",
                           floor (n.received_again))
                          < 0
               ? -1
               : 0;
}

static int write_port (const char *dir, const struct emu_model *m,
                       uint32_t endpoint, struct error *err)
{
    const struct fabric *f = model_fabric (m);
    const struct fabric_port *port = &f->port[f->endpoint[endpoint].port];
    const struct fabric_link *link = &f->link[port->link];
    uint64_t prefix = fabric_prefix (f, port);
    char guid[20], subnet[20];

    format_guid (port->guid, guid);
    format_guid (prefix ? prefix : UINT64_C (0xfe80) << 48, subnet);
    return put (dir, "gids/0", err, "%s:%s\n", subnet, guid) < 0
                   || put (dir, "link_layer", err, "InfiniBand\n") < 0
                   || put (dir, "state", err, "4: ACTIVE\n") < 0
                   || put (dir, "phys_state", err, "5: LinkUp\n") < 0
                   || put (dir, "rate", err, "0 Gb/sec (%uX %s)\n",
                           model_lanes (m, port->link), link->speed)
                          < 0
               ? -1
               : 0;
}

static int put_pcie (const char *dir, const struct pcie_rate *now,
                     const struct pcie_rate *most, struct error *err)
{
    const struct {
        const char *name;
        const struct pcie_rate *rate;
    } of[] = { { "current", now }, { "max", most } };

    for (size_t i = 0; i < 2; i++) {
        char file[32];

        snprintf (file, sizeof (file), "%s_link_speed", of[i].name);
        if (put (dir, file, err, "%.1f GT/s PCIe\n", of[i].rate->mts / 1e3) < 0)
            return -1;
        snprintf (file, sizeof (file), "%s_link_width", of[i].name);
        if (put (dir, file, err, "%u\n", of[i].rate->lanes) < 0)
            return -1;
    }
    return 0;
}

/* The device of an adapter, in its slot; it has carried so many bytes. */
static int write_pcie (const char *dir, unsigned int number,
                       const struct adapter *a, double bytes, struct error *err)
{
    double errors = floor (a->errors * bytes / 1e9);
    unsigned int at = a->together ? 1 : number + 1;
    char slot[PATH_MAX], device[PATH_MAX], link[PATH_MAX], to[64];

    if (a->hidden)
        return 0;
    snprintf (to, sizeof (to), "../../pci/0000:00:%02x.0/0000:%02x:00.0", at,
              number + 0x10);
    if (snprintf (slot, sizeof (slot), "%s/../pci/0000:00:%02x.0", dir, at)
            >= (int)sizeof (slot)
        || snprintf (device, sizeof (device), "%s/0000:%02x:00.0", slot,
                     number + 0x10)
               >= (int)sizeof (device)
        || snprintf (link, sizeof (link), "%s/mlx5_%u/device", dir, number)
               >= (int)sizeof (link))
        return error_world (err, "cannot write %s", dir);
    if (put_pcie (slot, &a->now, &a->slot, err) < 0
        || put_pcie (device, &a->now, &a->able, err) < 0
        || put (device, "aer_dev_correctable", err,
                "RxErr 0\nBadTLP %.0f\nTOTAL_ERR_COR %.0f\n", errors, errors)
               < 0)
        return -1;
    if (symlink (to, link) < 0 && errno != EEXIST)
        return error_errno (err, "cannot write %s", link);
    return 0;
}

int sysfs_write (const char *dir, const struct emu_model *m, uint32_t host,
                 struct client *c, struct error *err)
{
    const struct fabric *f = model_fabric (m);
    const struct fabric_host *h = &f->host[host];
    unsigned int device = 0;

    for (uint32_t i = h->first; i < h->first + h->count; i++) {
        uint32_t port = f->endpoint[i].port;
        uint32_t node = f->port[port].node;
        char path[PATH_MAX], guid[20];
        struct session_count n;

        session_count (c, i, &n);
        device += i > h->first && f->port[f->endpoint[i - 1].port].node != node;
        snprintf (path, sizeof (path), "%s/mlx5_%u", dir, device);
        format_guid (f->node[node].guid, guid);
        if (put (path, "node_guid", err, "%s\n", guid) < 0
            || write_pcie (dir, device, model_adapter (m, i),
                           n.sent + n.received, err)
                   < 0)
            return -1;
        snprintf (path, sizeof (path), "%s/mlx5_%u/ports/%u", dir, device,
                  port - f->node[node].first_port + 1);
        if (write_port (path, m, i, err) < 0
            || write_counters (path, c, i, err) < 0)
            return -1;
    }
    return 0;
}

static int unlink_one (const char *path, const struct stat *st, int type,
                       struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    remove (path);
    return 0;
}

void sysfs_remove (const char *dir)
{
    nftw (dir, unlink_one, 8, FTW_DEPTH | FTW_PHYS);
}
