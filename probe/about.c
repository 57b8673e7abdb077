/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host is.
 *
 * Notes: packed, this is three texts: boot, kernel, governor, each a length (1
 * byte) and its bytes; then the NUMA nodes of process and adapter, 2 bytes
 * each, 0xffff if unknown.
 */
#include "config.h"
#include "probe/about.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/local.h"
#include "probe/cpu.h"
#include "probe/wire.h"
#include "util/text.h"

enum { NUMA_UNKNOWN = 0xffff, TEXTS = 3 };

static const struct node unknown = { .numa = -1, .adapter_numa = -1 };

/* One of the node's texts, and its size. */
static char *node_text (struct node *node, int which, size_t *size)
{
    char *const text[TEXTS] = { node->boot, node->kernel, node->governor };
    const size_t sizes[TEXTS] = { sizeof (node->boot), sizeof (node->kernel),
                                  sizeof (node->governor) };

    *size = sizes[which];
    return text[which];
}

void about_read (struct node *node, const char *root, const char *device)
{
    int cpu = sched_getcpu ();
    char governor[128], word[16], path[512];
    const char *const file[TEXTS] = { "/proc/sys/kernel/random/boot_id",
                                      "/proc/sys/kernel/osrelease", governor };
    uint64_t n;

    *node = unknown;
    snprintf (governor, sizeof (governor),
              "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
    for (int i = 0; i < TEXTS; i++) {
        size_t size;
        char *text = node_text (node, i, &size);

        snprintf (path, sizeof (path), "%.300s%s", root, file[i]);
        cpu_read_line (path, text, size);
        if (node_check (node, "", NULL) < 0)
            text[0] = '\0';
    }
    /* the processor's directory contains a link nodeN */
    for (int i = 0; i <= NODE_NUMA_MAX && node->numa < 0; i++) {
        snprintf (path, sizeof (path),
                  "%.300s/sys/devices/system/cpu/cpu%d/node%d", root, cpu, i);
        if (access (path, F_OK) == 0)
            node->numa = i;
    }
    if (!device)
        return;
    snprintf (path, sizeof (path),
              "%.300s/sys/class/infiniband/%.64s/device/numa_node", root,
              device);
    cpu_read_line (path, word, sizeof (word));
    if (text_u64 (word, 0, NODE_NUMA_MAX, &n) == 0)
        node->adapter_numa = (int)n;
}

size_t about_pack (struct node *node, uint8_t *buf)
{
    uint8_t *p = buf;
    size_t size;

    for (int i = 0; i < TEXTS; i++) {
        const char *text = node_text (node, i, &size);

        p = wire_put_bytes (p, text, strlen (text), UINT8_MAX);
    }
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
    for (int i = 0; i < TEXTS; i++) {
        size_t size;
        char *text = node_text (node, i, &size);

        wire_take_text (&in, text, size);
    }
    node->numa = take_numa (&in);
    node->adapter_numa = take_numa (&in);
    if (!in.bad && node_check (node, "", NULL) == 0)
        return len - in.left;
    *node = unknown;
    return 0;
}

void about_slots (const char *sysfs, const struct transport_handle *t,
                  uint8_t slot[TRANSPORT_RAILS_MAX])
{
    const char *top[TRANSPORT_RAILS_MAX] = { NULL };
    struct local_port *port = NULL;
    size_t n = 0;

    local_ports (sysfs, &port, &n, NULL);
    for (size_t i = 0; i < t->rails; i++) {
        for (size_t k = 0; k < n; k++)
            if (port[k].guid && port[k].guid == t->address[i].guid
                && *port[k].pcie.top)
                top[i] = port[k].pcie.top;
        slot[i] = (uint8_t)i;
        for (size_t k = i; top[i] && k-- > 0;)
            if (top[k] && !strcmp (top[k], top[i]))
                slot[i] = (uint8_t)k;
    }
    free (port);
}
