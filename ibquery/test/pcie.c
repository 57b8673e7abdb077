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
    sysfs_put (root, "mlx5_0/node_guid", "\n");
    snprintf (path, sizeof (path), "../%.250s", dir);
    snprintf (file, sizeof (file), "%s/mlx5_0/device", root);
    if (symlink (path, file) < 0)
        return -1;
    snprintf (file, sizeof (file), "%s/mlx5_0", root);
    return open (file, O_RDONLY | O_DIRECTORY);
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
        close (dir);
    }
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
