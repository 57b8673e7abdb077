/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "ibquery/pcie.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/local.h"
#include "util/text.h"

enum { LINKS_MAX = 16 /* between an adapter and the root */ };

/* Read one end of a link: `which` is "current" or "max". The kernel writes "8",
 * and "8 GT/s", "8.0 GT/s PCIe", "Unknown".
 */
static void read_link_rate (int dir, const char *device, const char *which,
                            struct pcie_rate *rate)
{
    char path[128], line[64], *end;
    uint64_t lanes;
    double gts;

    *rate = (struct pcie_rate){ 0 };
    snprintf (path, sizeof (path), "%s/%s_link_width", device, which);
    if (local_read_line (dir, path, line, sizeof (line)) < 0
        || text_u64 (line, 1, PCIE_LANES_MAX, &lanes) < 0)
        return;
    snprintf (path, sizeof (path), "%s/%s_link_speed", device, which);
    if (local_read_line (dir, path, line, sizeof (line)) < 0)
        return;
    gts = strtod (line, &end);
    if (end == line || strncmp (end, " GT/s", 5) || !(gts >= 1)
        || gts > PCIE_MTS_MAX / 1000)
        return;
    rate->lanes = (unsigned)lanes;
    rate->mts = (unsigned)(gts * 1000 + .5);
}

/* The name of a device's directory; "" if it cannot be read. */
static void read_address (int dir, const char *device, char *address)
{
    int fd = openat (dir, device, O_PATH | O_CLOEXEC);
    char self[64], path[4096];
    const char *name;
    ssize_t n;

    *address = '\0';
    if (fd < 0)
        return;
    snprintf (self, sizeof (self), "/proc/self/fd/%d", fd);
    n = readlink (self, path, sizeof (path) - 1);
    close (fd);
    if (n <= 0)
        return;
    path[n] = '\0';
    name = strrchr (path, '/');
    if (name && strlen (name + 1) < PCIE_ADDRESS)
        text_clean (strcpy (address, name + 1));
}

/* The device's directory: a virtual function has no link of its own. */
static const char *find_pcie_device (int dir)
{
    return faccessat (dir, "device/physfn", F_OK, 0) == 0 ? "device/physfn"
                                                          : "device";
}

/* Above a device stands the port that its link leads to; above that, inside a
 * switch, the switch's port to the next link, or the root.
 */
void pcie_read (int dir, struct pcie *path)
{
    char lower[LINKS_MAX * 6 + 16], upper[sizeof (lower)];
    struct pcie_rate able, other, now;

    memset (path, 0, sizeof (*path));
    strcpy (lower, find_pcie_device (dir));
    read_address (dir, lower, path->device);
    for (int i = 0; i < LINKS_MAX; i++) {
        snprintf (upper, sizeof (upper), "%.*s/..", (int)sizeof (upper) - 4,
                  lower);
        read_link_rate (dir, lower, "max", &able);
        read_link_rate (dir, upper, "max", &other);
        read_link_rate (dir, lower, "current", &now);
        if (!able.lanes || !other.lanes || !now.lanes)
            break;
        read_address (dir, upper, path->top);
        able.lanes = able.lanes < other.lanes ? able.lanes : other.lanes;
        able.mts = able.mts < other.mts ? able.mts : other.mts;
        if (!path->able.lanes || pcie_bits (&able) < pcie_bits (&path->able))
            path->able = able;
        if (!path->now.lanes || pcie_bits (&now) < pcie_bits (&path->now)) {
            path->now = now;
            path->could = able;
            path->address[0] = '\0';
            if (i > 0)
                read_address (dir, lower, path->address);
        }
        snprintf (lower, sizeof (lower), "%.*s/..", (int)sizeof (lower) - 4,
                  upper);
    }
}

/* The last line of the file is "TOTAL_ERR_COR 3". */
bool pcie_errors (int dir, uint64_t *count)
{
    static const char total[] = "\nTOTAL_ERR_COR ";
    const char *device = find_pcie_device (dir), *at;
    char path[64], text[4096];
    bool known = false;
    uint64_t errors;
    ssize_t n;
    int fd;

    *count = 0;
    for (int up = 0; up < 2; up++) {
        snprintf (path, sizeof (path), "%s%s/aer_dev_correctable", device,
                  up ? "/.." : "");
        if ((fd = openat (dir, path, O_RDONLY | O_NOCTTY | O_CLOEXEC)) < 0)
            continue;
        n = read (fd, text, sizeof (text) - 1);
        close (fd);
        text[n > 0 ? n : 0] = '\0';
        if (!(at = strstr (text, total)))
            continue;
        at += strlen (total);
        text[at - text + (ptrdiff_t)strcspn (at, "\n")] = '\0';
        if (text_u64 (at, 0, INT64_MAX, &errors) < 0)
            continue;
        *count += errors;
        known = true;
    }
    return known;
}
