/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cores that this process may use, and those near a device. */
#ifndef PROBE_CPU_H
#define PROBE_CPU_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

/* Parse the kernel's notation, "0-3,8,10-11". Return 0, or -1 with errno
 * EINVAL; cores that a cpu_set_t cannot hold are left out.
 */
int cpu_parse_list (const char *s, cpu_set_t *set);

/* The core to take of those allowed: one that is near too, if any is; counted
 * from the last, since interrupts and daemons gather on the first. `nth`
 * processes have theirs already. Returns -1 where nothing is allowed.
 */
int cpu_choose (const cpu_set_t *allowed, const cpu_set_t *near, size_t nth);

/* How many cores this process may use; at least 1. */
size_t cpu_count (void);

/* The processors that this process may use, one of each core: the first of its
 * threads that are allowed. At least one.
 */
void cpu_cores (cpu_set_t *cores);

/* Stay on this processor. Return 0, or -1 with errno. */
int cpu_bind (int cpu);

/* Stay on the core that cpu_choose finds for an RDMA device. Where that is not
 * possible all remains as it was.
 */
void cpu_pin (const char *device, size_t nth);

/* A number that all processes on this machine have, and probably no others:
 * it changes with a boot.
 */
uint32_t cpu_machine (void);

#endif /* PROBE_CPU_H */
