/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host is.
 *
 * Notes: packed, this is three texts: boot, kernel, governor, each a length (1
 * byte) and its bytes; then the NUMA nodes of process and adapter, 2 bytes
 * each, 0xffff if unknown.
 */
#include "config.h"
#include "probe/about.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "probe/wire.h"
#include "util/text.h"

enum { NUMA_UNKNOWN = 0xffff, NAME_MAX_BYTES = 64 };

static const struct node unknown = { .numa = -1, .adapter_numa = -1 };

/* Read the first line of a file; "" if there is none or it does not fit. */
static void read_word (const char *root, const char *path, char *buf,
                       size_t size)
{
    char line[256] = "";
    char full[512];
    size_t len;
    FILE *fp;

    buf[0] = '\0';
    snprintf (full, sizeof (full), "%s%s", root, path);
    if (!(fp = fopen (full, "re")))
        return;
    if (fgets (line, sizeof (line), fp)
        && (len = strcspn (line, "\n")) < size) {
        memcpy (buf, line, len);
        buf[len] = '\0';
    }
    fclose (fp);
}

/* The NUMA node of a processor: its directory contains a link nodeN. -1 if
 * unknown.
 */
static int find_numa (const char *root, int cpu)
{
    char path[256];
    struct dirent *entry;
    uint64_t n;
    int numa = -1;
    DIR *dir;

    snprintf (path, sizeof (path), "%.200s/sys/devices/system/cpu/cpu%d",
              root, cpu);
    if (!(dir = opendir (path)))
        return -1;
    while (numa < 0 && (entry = readdir (dir)))
        if (!strncmp (entry->d_name, "node", 4)
            && text_u64 (entry->d_name + 4, 0, NODE_NUMA_MAX, &n) == 0)
            numa = (int)n;
    closedir (dir);
    return numa;
}

/* Read one of the node's texts; "" if it is not valid. */
static void read_text (struct node *node, const char *root, const char *path,
                       char *text, size_t size)
{
    read_word (root, path, text, size);
    if (node_check (node, "", NULL) < 0)
        text[0] = '\0';
}

void about_read (struct node *node, const char *root, const char *device)
{
    int cpu = sched_getcpu ();
    char path[128];
    char word[16];
    uint64_t n;

    *node = unknown;
    read_text (node, root, "/proc/sys/kernel/random/boot_id", node->boot,
               sizeof (node->boot));
    read_text (node, root, "/proc/sys/kernel/osrelease", node->kernel,
               sizeof (node->kernel));
    if (cpu >= 0) {
        snprintf (path, sizeof (path),
                  "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
                  cpu);
        read_text (node, root, path, node->governor,
                   sizeof (node->governor));
        node->numa = find_numa (root, cpu);
    }
    if (device) {
        snprintf (path, sizeof (path),
                  "/sys/class/infiniband/%.*s/device/numa_node",
                  NAME_MAX_BYTES, device);
        read_word (root, path, word, sizeof (word));
        if (text_u64 (word, 0, NODE_NUMA_MAX, &n) == 0)
            node->adapter_numa = (int)n;
    }
}

size_t about_pack (const struct node *node, uint8_t *buf)
{
    const char *const text[] = { node->boot, node->kernel, node->governor };
    uint8_t *p = buf;

    for (size_t i = 0; i < 3; i++)
        p = wire_put_bytes (p, text[i], strlen (text[i]), UINT8_MAX);
    wire_put (p, (uint64_t)node->numa, 2); /* -1: NUMA_UNKNOWN */
    wire_put (p + 2, (uint64_t)node->adapter_numa, 2);
    return (size_t)(p + 4 - buf);
}

static int take_numa (struct wire_in *in)
{
    uint64_t n = wire_take (in, 2);

    return n == NUMA_UNKNOWN ? -1 : (int)n;
}

size_t about_unpack (struct node *node, const uint8_t *buf, size_t len)
{
    struct wire_in in = { buf, len, false };

    *node = unknown;
    wire_take_text (&in, node->boot, sizeof (node->boot));
    wire_take_text (&in, node->kernel, sizeof (node->kernel));
    wire_take_text (&in, node->governor, sizeof (node->governor));
    node->numa = take_numa (&in);
    node->adapter_numa = take_numa (&in);
    if (!in.bad && node_check (node, "", NULL) == 0)
        return len - in.left;
    *node = unknown;
    return 0;
}
