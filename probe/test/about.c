/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a host is: read from files like the kernel's, sent, and taken. */
#include "config.h"
#include "probe/about.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ibquery/test/sysfs.h"
#include "tests/tap.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"

static char root[] = "/tmp/pmm-about.XXXXXX";

/* A file of the kernel's, or with NULL a directory. */
static void put (const char *path, const char *text)
{
    char full[512];
    FILE *fp;

    snprintf (full, sizeof (full), "%s%s", root, path);
    for (char *p = full + sizeof (root); (p = strchr (p, '/')); p++) {
        *p = '\0';
        mkdir (full, 0700);
        *p = '/';
    }
    if (!text) {
        mkdir (full, 0700);
        return;
    }
    if (!(fp = fopen (full, "w")) || fputs (text, fp) < 0 || fclose (fp) != 0)
        abort ();
}

static void put_cpu (int cpu, const char *path, const char *text)
{
    char name[256];

    snprintf (name, sizeof (name), "/sys/devices/system/cpu/cpu%d/%s", cpu,
              path);
    put (name, text);
}

static bool is_unknown (const struct node *n)
{
    return !*n->host && !*n->boot && !*n->kernel && !*n->governor
           && n->numa == -1 && n->adapter_numa == -1;
}

/* Stay on one processor, so that it is known which. */
static int stay (void)
{
    cpu_set_t set;
    int cpu = sched_getcpu ();

    CPU_ZERO (&set);
    CPU_SET (cpu, &set);
    if (cpu < 0 || sched_setaffinity (0, sizeof (set), &set) < 0)
        abort ();
    return cpu;
}

static void test_read (struct node *n)
{
    int cpu = stay ();

    about_read (n, root, "mlx5_0");
    ok (is_unknown (n), "of a kernel that says nothing, nothing is known");
    put ("/proc/sys/kernel/random/boot_id", BOOT "\n");
    put ("/proc/sys/kernel/osrelease", "6.1.0-25-amd64\n");
    put_cpu (cpu, "cpufreq/scaling_governor", "performance\n");
    put_cpu (cpu, "node1", NULL);
    put_cpu (cpu, "nodes", NULL);
    put ("/sys/class/infiniband/mlx5_0/device/numa_node", "0\n");
    put ("/sys/class/infiniband/mlx5_1/device/numa_node", "-1\n");
    about_read (n, root, "mlx5_1");
    ok (n->adapter_numa == -1, "an adapter that is nowhere");
    about_read (n, root, NULL);
    ok (n->adapter_numa == -1 && n->numa == 1, "no adapter of the kernel's");
    about_read (n, root, "mlx5_0");
    ok (!strcmp (n->boot, BOOT) && !strcmp (n->kernel, "6.1.0-25-amd64")
            && !strcmp (n->governor, "performance") && n->numa == 1
            && n->adapter_numa == 0,
        "all is known");
}

static void test_odd (void)
{
    char longer[300];
    struct node n;

    memset (longer, 'x', sizeof (longer) - 1);
    longer[sizeof (longer) - 1] = '\0';
    put ("/proc/sys/kernel/random/boot_id", "none of yours\n");
    about_read (&n, root, "mlx5_0");
    ok (!*n.boot && !strcmp (n.kernel, "6.1.0-25-amd64")
            && !strcmp (n.governor, "performance"),
        "a boot that is no UUID is not known, the rest is");
    put ("/proc/sys/kernel/osrelease", longer);
    about_read (&n, root, "mlx5_0");
    ok (!*n.kernel && !strcmp (n.governor, "performance"),
        "nor is a kernel that is too long");
    put ("/proc/sys/kernel/osrelease", "6.1 or so\n");
    about_read (&n, root, "mlx5_0");
    ok (!*n.kernel, "nor one of several words");
    put ("/sys/class/infiniband/mlx5_0/device/numa_node", "1024\n");
    about_read (&n, root, "mlx5_0");
    ok (n.adapter_numa == -1, "nor a NUMA node beyond all");
}

static void test_bytes (struct node *n)
{
    uint8_t buf[ABOUT_MAX + 1];
    struct node none = { .numa = -1, .adapter_numa = -1 };
    struct node got;
    size_t len = about_pack (n, buf);
    size_t cut = 0;

    memset (&got, 0, sizeof (got));
    ok (len <= ABOUT_MAX && about_unpack (&got, buf, len) == len
            && !strcmp (got.boot, n->boot) && !strcmp (got.kernel, n->kernel)
            && !strcmp (got.governor, n->governor) && got.numa == n->numa
            && got.adapter_numa == n->adapter_numa && !*got.host,
        "sent and taken, %zu bytes", len);
    for (size_t i = 0; i < len; i++)
        cut += about_unpack (&got, buf, i) == 0 && is_unknown (&got);
    ok (cut == len, "cut short anywhere: not known");
    buf[1] = 'x';
    ok (about_unpack (&got, buf, len) == 0 && is_unknown (&got),
        "no UUID: not known");
    buf[1] = '0';
    buf[0] = 200;
    ok (about_unpack (&got, buf, sizeof (buf)) == 0 && is_unknown (&got),
        "a text that is too long: not known");
    len = about_pack (&none, buf);
    ok (about_unpack (&got, buf, len) == len && is_unknown (&got),
        "nothing at all, in %zu bytes", len);
}

/* Rail 1 is behind another port of the switch that rail 0 is behind, below one port
 * of the root; rail 2 has one of its own; of rail 3 nothing is shown.
 */
static void test_slots (void)
{
    static const char *const path[]
        = { "pci/0000:0d:00.0/0000:0c:00.0/0000:0b:00.0/0000:0a:00.0",
            "pci/0000:0d:00.0/0000:0c:00.0/0000:0b:01.0/0000:09:00.0",
            "pci/0000:0e:00.0/0000:08:00.0" };
    static const char *const file[] = { "max_link_width", "current_link_width",
                                        "max_link_speed",
                                        "current_link_speed" };
    struct transport_handle t = { .rails = 4 };
    uint8_t slot[TRANSPORT_RAILS_MAX];
    char sysfs[64], device[16], from[256], to[256];

    snprintf (sysfs, sizeof (sysfs), "%s/class", root);
    for (size_t i = 0; i < 4; i++) {
        snprintf (device, sizeof (device), "mlx5_%zu", i);
        t.address[i].guid = 0xec0d9a0300ec8240 + 16 * i;
        sysfs_port (sysfs, device, 1, t.address[i].guid);
        if (i == 3)
            break;
        for (size_t len = strlen (path[i]); len > 3; len -= 13)
            for (size_t k = 0; k < 4; k++) {
                snprintf (from, sizeof (from), "%.*s/%s", (int)len, path[i],
                          file[k]);
                sysfs_put (root, from, k < 2 ? "16\n" : "32.0 GT/s PCIe\n");
            }
        snprintf (from, sizeof (from), "../../%s", path[i]);
        snprintf (to, sizeof (to), "%s/%s/device", sysfs, device);
        if (symlink (from, to) < 0)
            abort ();
    }
    about_slots (sysfs, &t, slot);
    ok (slot[0] == 0 && slot[1] == 0 && slot[2] == 2 && slot[3] == 3,
        "adapters behind one port of the root: %d %d %d %d", slot[0], slot[1],
        slot[2], slot[3]);
    about_slots ("/nowhere", &t, slot);
    ok (slot[1] == 1 && slot[3] == 3, "nothing is shown: each has its own");
}

int main (void)
{
    struct node n;
    char rm[64];

    if (!mkdtemp (root))
        return 1;
    test_read (&n);
    test_bytes (&n);
    test_odd ();
    test_slots ();
    snprintf (rm, sizeof (rm), "rm -r %s", root);
    return system (rm) != 0 || done_testing ();
}
