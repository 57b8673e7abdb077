/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Integers as bytes, little-endian on any machine: for messages between nodes
 * and for the frames between a node and the emulator.
 */
#ifndef PROBE_WIRE_H
#define PROBE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/* Write a length, 1 byte, and that many bytes, at most max. Return the end. */
static inline uint8_t *wire_put_bytes (uint8_t *p, const void *data, size_t len,
                                       uint8_t max)
{
    if (len > max)
        len = max;
    *p++ = (uint8_t)len;
    if (len > 0)
        memcpy (p, data, len);
    return p + len;
}

/* Bytes that others sent, read field by field. If there are too few, or a field
 * is invalid, `bad` is set, and everything read from then on is 0.
 */
struct wire_in {
    const uint8_t *p;
    size_t left;
    bool bad;
};

/* This many bytes, or NULL. */
static inline const uint8_t *wire_take_raw (struct wire_in *in, size_t len)
{
    const uint8_t *p = in->p;

    if (in->bad || len > in->left) {
        in->bad = true;
        return NULL;
    }
    in->p += len;
    in->left -= len;
    return p;
}

static inline uint64_t wire_take (struct wire_in *in, unsigned int bytes)
{
    const uint8_t *p = wire_take_raw (in, bytes);

    return p ? wire_get (p, bytes) : 0;
}

/* Read what wire_put_bytes wrote, at most max bytes. */
static inline const uint8_t *wire_take_bytes (struct wire_in *in, size_t max,
                                              size_t *len)
{
    *len = wire_take (in, 1);
    in->bad |= *len > max;
    return wire_take_raw (in, *len);
}

/* The same as a string, in `size` bytes; "" if it is bad. */
static inline void wire_take_text (struct wire_in *in, char *buf, size_t size)
{
    size_t len;
    const uint8_t *p = wire_take_bytes (in, size - 1, &len);

    in->bad |= p && memchr (p, 0, len);
    if (in->bad)
        len = 0;
    else
        memcpy (buf, p, len);
    buf[len] = '\0';
}

#endif /* PROBE_WIRE_H */
