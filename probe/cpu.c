/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cores that this process may use. */
#include "config.h"
#include "probe/cpu.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

int cpu_parse_list (const char *s, cpu_set_t *set)
{
    char *end = (char *)s + strspn (s, " \n");
    bool bad = false;

    CPU_ZERO (set);
    for (bool more = is_digit (*end); more; end += more) {
        unsigned long first = strtoul (end, &end, 10);
        unsigned long last = first;

        if (*end == '-' && is_digit (end[1]))
            last = strtoul (end + 1, &end, 10);
        for (unsigned long i = first; i <= last && i < CPU_SETSIZE; i++)
            CPU_SET (i, set);
        bad = bad || last < first;
        more = *end == ',' && is_digit (end[1]);
    }
    if (!bad && !end[strspn (end, " \n")])
        return 0;
    errno = EINVAL;
    return -1;
}

int cpu_choose (const cpu_set_t *allowed, const cpu_set_t *near, size_t nth)
{
    cpu_set_t both;
    size_t n;

    CPU_AND (&both, allowed, near);
    if (CPU_COUNT (&both) == 0)
        both = *allowed;
    if ((n = (size_t)CPU_COUNT (&both)) == 0)
        return -1;
    nth %= n;
    for (int i = CPU_SETSIZE - 1; i >= 0; i--)
        if (CPU_ISSET (i, &both) && nth-- == 0)
            return i;
    return -1;
}

size_t cpu_count (void)
{
    cpu_set_t set;

    if (sched_getaffinity (0, sizeof (set), &set) < 0 || CPU_COUNT (&set) < 1)
        return 1;
    return (size_t)CPU_COUNT (&set);
}

void cpu_read_line (const char *path, char *buf, size_t size)
{
    FILE *fp = fopen (path, "re");
    char line[4096] = "";

    if (fp && !fgets (line, sizeof (line), fp))
        line[0] = '\0';
    if (fp)
        fclose (fp);
    line[strcspn (line, "\n")] = '\0';
    if (snprintf (buf, size, "%s", line) >= (int)size)
        buf[0] = '\0';
}

void cpu_cores (cpu_set_t *cores)
{
    cpu_set_t threads; /* of a core */
    char path[128], list[4096];

    if (sched_getaffinity (0, sizeof (*cores), cores) < 0)
        CPU_ZERO (cores);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET (i, cores))
            continue;
        snprintf (path, sizeof (path), "/sys/devices/system/cpu/cpu%d/topology"
                  "/thread_siblings_list", i);
        cpu_read_line (path, list, sizeof (list));
        if (cpu_parse_list (list, &threads) < 0)
            continue;
        for (int k = i + 1; k < CPU_SETSIZE; k++)
            if (CPU_ISSET (k, &threads))
                CPU_CLR (k, cores);
    }
    if (CPU_COUNT (cores) == 0)
        CPU_SET (0, cores);
}

int cpu_bind (int cpu)
{
    cpu_set_t set;

    CPU_ZERO (&set);
    CPU_SET (cpu, &set);
    return sched_setaffinity (0, sizeof (set), &set);
}

void cpu_pin (const char *device, size_t nth)
{
    char path[128], list[4096];
    cpu_set_t allowed, near;
    int cpu;

    snprintf (path, sizeof (path),
              "/sys/class/infiniband/%s/device/local_cpulist", device);
    cpu_read_line (path, list, sizeof (list));
    if (sched_getaffinity (0, sizeof (allowed), &allowed) < 0
        || cpu_parse_list (list, &near) < 0
        || (cpu = cpu_choose (&allowed, &near, nth)) < 0)
        return;
    cpu_bind (cpu);
}

uint32_t cpu_machine (void)
{
    uint32_t hash = UINT32_C (2166136261); /* FNV-1a */
    char id[64];

    cpu_read_line ("/proc/sys/kernel/random/boot_id", id, sizeof (id));
    for (const char *s = id; *s; s++)
        hash = (hash ^ (uint8_t)*s) * UINT32_C (16777619);
    return hash;
}
