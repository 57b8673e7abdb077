/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCIe paths as sysfs shows them: what limits one, what is degraded. */
#include "config.h"
#include "ibquery/pcie.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibquery/test/sysfs.h"
#include "tests/tap.h"

/* From the adapter up to the root: of each device "LANES SPEED" as it runs and at
 * most; NULL: it does not show them.
 */
struct device {
    const char *now, *most;
};

static const struct path_case {
    const char *name;
    struct device device[5];
    const char *able, *now, *could, *address; /* "": nothing is known */
} cases[] = {
    { "an adapter at a root port",
      { { "16 16.0 GT/s PCIe", "16 16.0 GT/s PCIe" },
        { "16 16.0 GT/s PCIe", "16 32.0 GT/s PCIe" } },
      "16 GT/s x16", "16 GT/s x16", "16 GT/s x16", "" },
    { "one that lost lanes",
      { { "8 16.0 GT/s PCIe", "16 16.0 GT/s PCIe" },
        { "8 16.0 GT/s PCIe", "16 16.0 GT/s PCIe" } },
      "16 GT/s x16", "16 GT/s x8", "16 GT/s x16", "" },
    { "one in a slot below it",
      { { "16 16.0 GT/s PCIe", "16 32.0 GT/s PCIe" },
        { "16 16.0 GT/s PCIe", "16 16.0 GT/s PCIe" } },
      "16 GT/s x16", "16 GT/s x16", "16 GT/s x16", "" },
    { "a bridge above a switch that lost lanes",
      { { "16 16 GT/s", "16 16 GT/s" }, { "16 16 GT/s", "16 16 GT/s" },
        { "4 16 GT/s", "16 16 GT/s" }, { "4 16 GT/s", "16 16 GT/s" } },
      "16 GT/s x16", "16 GT/s x4", "16 GT/s x16", "0000:0d:00.0" },
    { "a fast link that runs below itself, but not below the path",
      { { "16 16 GT/s", "16 32 GT/s" }, { "16 16 GT/s", "16 32 GT/s" },
        { "16 8 GT/s", "16 8 GT/s" }, { "16 8 GT/s", "16 8 GT/s" } },
      "8 GT/s x16", "8 GT/s x16", "8 GT/s x16", "0000:0d:00.0" },
    { "what a virtual function shows",
      { { "0 Unknown", "0 Unknown" }, { "16 16 GT/s", "16 16 GT/s" } },
      "", "", "", "" },
    { "a virtual machine without a bridge", { { "8 8 GT/s", "16 8 GT/s" } },
      "", "", "", "" },
    { "values without sense",
      { { "255 16 GT/s", "16 16 GT/s" }, { "16 -3 GT/s", "16 inf GT/s" } },
      "", "", "", "" },
};

/* Make the class device of a PCI device below root, and open it. */
static int open_class_device (const char *root, const char *device)
{
    char path[320], file[400];

    sysfs_put (root, "mlx5_0/node_guid", "\n");
    snprintf (path, sizeof (path), "../%.250s", device);
    snprintf (file, sizeof (file), "%s/mlx5_0/device", root);
    if (symlink (path, file) < 0)
        return -1;
    snprintf (file, sizeof (file), "%s/mlx5_0", root);
    return open (file, O_RDONLY | O_DIRECTORY);
}

/* Make the tree, each device below the next; open the adapter's class device. */
static int make_path (const struct path_case *c, const char *root)
{
    char dir[256] = "pci", path[320], file[400], text[64];
    size_t n = 0;

    while (n < 5 && c->device[n].most)
        n++;
    for (size_t i = n; i-- > 0;) {
        snprintf (path, sizeof (path), "%s/0000:%02zx:00.0", dir, 11 + i);
        strcpy (dir, path);
        for (int k = 0; k < 2; k++) {
            const char *value = k ? c->device[i].most : c->device[i].now;
            const char *which = k ? "max" : "current";
            const char *speed = strchr (value, ' ') + 1;

            snprintf (file, sizeof (file), "%s/%s_link_width", dir, which);
            snprintf (text, sizeof (text), "%.*s\n", (int)(speed - value) - 1,
                      value);
            sysfs_put (root, file, text);
            snprintf (file, sizeof (file), "%s/%s_link_speed", dir, which);
            snprintf (text, sizeof (text), "%s\n", speed);
            sysfs_put (root, file, text);
        }
    }
    return open_class_device (root, dir);
}

/* Its adapter, which stands beside it, has what it lacks. */
static void test_virtual (void)
{
    struct path_case c = { .device = { { "8 16 GT/s", "16 16 GT/s" },
                                       { "8 16 GT/s", "16 16 GT/s" } } };
    struct pcie p;
    int dir = make_path (&c, "vf");

    close (dir);
    sysfs_put ("vf", "pci/0000:0c:00.0/0000:0b:00.1/current_link_speed",
               "Unknown\n");
    if (symlink ("../0000:0b:00.0", "vf/pci/0000:0c:00.0/0000:0b:00.1/physfn")
            < 0
        || unlink ("vf/mlx5_0/device") < 0)
        exit (1);
    dir = open_class_device ("vf", "pci/0000:0c:00.0/0000:0b:00.1");
    pcie_read (dir, &p);
    ok (dir >= 0 && p.now.lanes == 8 && p.could.lanes == 16
            && p.able.mts == 16000,
        "a virtual function has its adapter's path");
    close (dir);
}

static void test_errors (void)
{
    static const struct errors_case {
        const char *device, *above; /* what they show; NULL: nothing */
        bool known;
        uint64_t count;
        const char *name;
    } c[] = {
        { "RxErr 5\nBadTLP 2\nTOTAL_ERR_COR 7\n", "RxErr 0\nTOTAL_ERR_COR 30\n",
          true, 37, "both ends count" },
        { NULL, "RxErr 4\nTOTAL_ERR_COR 4\n", true, 4, "only the slot does" },
        { "RxErr 0\nTOTAL_ERR_COR 0\n", NULL, true, 0, "none so far" },
        { NULL, NULL, false, 0, "nothing is shown" },
        { "RxErr 5\nTOTAL_ERR_COR -7\n", "TOTAL_ERR_COR\n", false, 0,
          "no numbers" },
    };
    uint64_t count;
    char root[24];
    bool known;

    for (size_t i = 0; i < sizeof (c) / sizeof (c[0]); i++) {
        int dir;

        snprintf (root, sizeof (root), "errors%zu", i);
        sysfs_put (root, "pci/0000:0c:00.0/0000:0b:00.0/vendor", "\n");
        if (c[i].device)
            sysfs_put (root,
                       "pci/0000:0c:00.0/0000:0b:00.0/"
                       "aer_dev_correctable",
                       c[i].device);
        if (c[i].above)
            sysfs_put (root, "pci/0000:0c:00.0/aer_dev_correctable",
                       c[i].above);
        dir = open_class_device (root, "pci/0000:0c:00.0/0000:0b:00.0");
        known = pcie_errors (dir, &count);
        ok (dir >= 0 && known == c[i].known && count == c[i].count,
            "corrected errors, %s: %s %ju", c[i].name, known ? "known" : "not",
            (uintmax_t)count);
        close (dir);
    }
}

static const char *shown (const struct pcie_rate *r, char buf[PCIE_TEXT])
{
    return r->lanes ? pcie_format (r, buf) : "";
}

int main (void)
{
    char top[] = "/tmp/pmm-test.XXXXXX", cmd[64];

    if (!mkdtemp (top) || chdir (top) < 0)
        return 1;
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        const struct path_case *c = &cases[i];
        char root[16], buf[PCIE_TEXT];
        struct pcie p;
        int dir;

        snprintf (root, sizeof (root), "p%zu", i);
        dir = make_path (c, root);
        pcie_read (dir, &p);
        ok (dir >= 0 && !strcmp (shown (&p.able, buf), c->able), "%s: able",
            c->name);
        ok (!strcmp (shown (&p.now, buf), c->now), "... runs: %s", buf);
        ok (!strcmp (shown (&p.could, buf), c->could), "... could run");
        ok (!strcmp (p.address, c->address), "... where: %s", p.address);
        ok (!strcmp (p.top, !*c->able            ? ""
                            : c->device[2].now ? "0000:0e:00.0"
                                               : "0000:0c:00.0"),
            "... below: %s", p.top);
        close (dir);
    }
    test_virtual ();
    test_errors ();
    ok (fabs (pcie_bits (&(struct pcie_rate){ 16, 16000 }) / 252.06e9 - 1)
            < 1e-3
            && fabs (pcie_bits (&(struct pcie_rate){ 8, 5000 }) / 32e9 - 1)
                   < 1e-3
            && fabs (pcie_bits (&(struct pcie_rate){ 16, 64000 }) / 944e9 - 1)
                   < 1e-3
            && pcie_bits (&(struct pcie_rate){ 0 }) == 0,
        "bits of Gen4 x16, Gen2 x8, Gen6 x16, and of what is not known");
    snprintf (cmd, sizeof (cmd), "rm -rf %s", top);
    if (chdir ("/") < 0 || system (cmd) != 0)
        return 1;
    return done_testing ();
}
