/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Integers as bytes, little-endian, whatever the machine: for messages
 * between nodes and for the frames between a node and the emulator.
 */
#ifndef PROBE_WIRE_H
#define PROBE_WIRE_H

#include <stdint.h>

static inline void wire_put (uint8_t *p, uint64_t value, unsigned int bytes)
{
    for (unsigned int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t wire_get (const uint8_t *p, unsigned int bytes)
{
    uint64_t value = 0;

    for (unsigned int i = 0; i < bytes; i++)
        value |= (uint64_t)p[i] << (8 * i);
    return value;
}

#endif /* PROBE_WIRE_H */
