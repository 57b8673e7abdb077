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

#include "ibquery/local.h"

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

__attribute__ ((format (printf, 4, 5))) static int
put (const char *dir, const char *file, struct error *err, const char *fmt,
     ...)
{
    char path[PATH_MAX];
    FILE *fp = NULL;
    va_list ap;
    int bad;

    if (snprintf (path, sizeof (path), "%s/%s", dir, file)
            >= (int)sizeof (path)
        || make_dirs (path) < 0 || !(fp = fopen (path, "w")))
        return error_errno (err, "cannot write %s", path);
    va_start (ap, fmt);
    vfprintf (fp, fmt, ap);
    va_end (ap);
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
    return 0;
}

static int write_port (const char *dir, const struct fabric *f,
                       uint32_t endpoint, struct error *err)
{
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
                           link->width, link->speed) < 0
               ? -1
               : 0;
}

int sysfs_write (const char *dir, const struct fabric *f, uint32_t host,
                 struct client *c, struct error *err)
{
    const struct fabric_host *h = &f->host[host];
    unsigned int device = 0;

    for (uint32_t i = h->first; i < h->first + h->count; i++) {
        uint32_t port = f->endpoint[i].port;
        uint32_t node = f->port[port].node;
        char path[PATH_MAX], guid[20];

        device += i > h->first && f->port[f->endpoint[i - 1].port].node != node;
        snprintf (path, sizeof (path), "%s/mlx5_%u", dir, device);
        format_guid (f->node[node].guid, guid);
        if (put (path, "node_guid", err, "%s\n", guid) < 0)
            return -1;
        snprintf (path, sizeof (path), "%s/mlx5_%u/ports/%u", dir, device,
                  port - f->node[node].first_port + 1);
        if (write_port (path, f, i, err) < 0
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
