/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cores that this process may use, and those near a device. */
#ifndef PROBE_CPU_H
#define PROBE_CPU_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Read the first line of a file in /proc or /sys, without its end; "" if there
 * is none or it does not fit.
 */
void cpu_read_line (const char *path, char *buf, size_t size);

/* Parse the kernel's notation, "0-3,8,10-11". Return 0, or -1 with errno
 * EINVAL. Cores that do not fit into a cpu_set_t are left out.
 */
int cpu_parse_list (const char *s, cpu_set_t *set);

/* Choose one of the allowed cores: if possible one that is also near. Cores are
 * counted from the last, since interrupts and daemons gather on the first.
 * `nth` other processes have chosen already. Return -1 if no core is allowed.
 */
int cpu_choose (const cpu_set_t *allowed, const cpu_set_t *near, size_t nth);

/* The number of cores that this process may use; at least 1. */
size_t cpu_count (void);

/* The processors that this process may use, one for each core: the first of its
 * allowed threads. At least one.
 */
void cpu_cores (cpu_set_t *cores);

/* Bind this process to a processor. Return 0, or -1 with errno. */
int cpu_bind (int cpu);

/* Bind this process to the core that cpu_choose selects for an RDMA device. If
 * that is not possible, nothing changes.
 */
void cpu_pin (const char *device, size_t nth);

/* A number that all processes on this machine share, and that other machines
 * probably do not have. It changes at each boot.
 */
uint32_t cpu_machine (void);

#endif /* PROBE_CPU_H */
