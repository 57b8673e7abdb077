/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made sysfs tree: what the kernel would show of adapters, as plain files
 * below a directory of the test's.
 */
#ifndef IBQUERY_SYSFS_H
#define IBQUERY_SYSFS_H

/* Write a file, and the directories on its way. Exits where that fails. */
void sysfs_put (const char *root, const char *path, const char *text);

/* A port of an adapter, active, 4xEDR, its counters 0: device "mlx5_0", port
 * 1, GUID ec0d9a0300ec8240, say.
 */
void sysfs_port (const char *root, const char *device, unsigned int port,
                 unsigned long long guid);

/* A file of the port. */
void sysfs_set (const char *root, const char *device, unsigned int port,
                const char *file, const char *text);

#endif /* IBQUERY_SYSFS_H */
