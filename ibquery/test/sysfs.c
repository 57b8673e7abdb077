/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made sysfs tree. */
#include "config.h"
#include "ibquery/test/sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ibquery/local.h"

void sysfs_put (const char *root, const char *path, const char *text)
{
    char *full;
    FILE *fp;

    if (asprintf (&full, "%s/%s", root, path) < 0)
        exit (1);
    for (char *p = strchr (full + 1, '/'); p; p = strchr (p + 1, '/')) {
        *p = '\0';
        mkdir (full, 0755);
        *p = '/';
    }
    if (!(fp = fopen (full, "w")) || fputs (text, fp) < 0 || fclose (fp) < 0) {
        perror (full);
        exit (1);
    }
    free (full);
}

void sysfs_set (const char *root, const char *device, unsigned int port,
                const char *file, const char *text)
{
    char *path;

    if (asprintf (&path, "%s/ports/%u/%s", device, port, file) < 0)
        exit (1);
    sysfs_put (root, path, text);
    free (path);
}

void sysfs_port (const char *root, const char *device, unsigned int port,
                 unsigned long long guid)
{
    char path[128], text[64], digits[32];

    snprintf (digits, sizeof (digits), "%04llx:%04llx:%04llx:%04llx",
              guid >> 48, guid >> 32 & 0xffff, guid >> 16 & 0xffff,
              guid & 0xffff);
    snprintf (path, sizeof (path), "%s/node_guid", device);
    snprintf (text, sizeof (text), "%s\n", digits);
    sysfs_put (root, path, text);
    snprintf (text, sizeof (text), "fe80:0000:0000:0000:%s\n", digits);
    sysfs_set (root, device, port, "gids/0", text);
    sysfs_set (root, device, port, "link_layer", "InfiniBand\n");
    sysfs_set (root, device, port, "state", "4: ACTIVE\n");
    sysfs_set (root, device, port, "phys_state", "5: LinkUp\n");
    sysfs_set (root, device, port, "rate", "100 Gb/sec (4X EDR)\n");
    for (size_t i = 0; i < LOCAL_COUNTERS; i++) {
        snprintf (path, sizeof (path), "counters/%s", local_counters[i].file);
        sysfs_set (root, device, port, path, "0\n");
    }
}
