/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * Two lanes of multiply and rotate. For a given state the step is a bijection
 * of the word, and for a given word one of the state. Lane b is one step behind
 * lane a, so a difference cannot disappear from both in fewer than three words.
 * The murmur3 finaliser mixes the state.
 */
#include "config.h"
#include "ibquery/digest.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const uint64_t k1 = 0x9e3779b97f4a7c15, k2 = 0xc2b2ae3d27d4eb4f;

static uint64_t rotate (uint64_t x, int n)
{
    return x << n | x >> (64 - n);
}

static uint64_t spread (uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53;
    return x ^ x >> 33;
}

void digest_init (struct digest *d)
{
    d->a = k2;
    d->b = k1;
    d->words = 0;
}

void digest_u64 (struct digest *d, uint64_t word)
{
    d->b = rotate ((d->b + d->a) * k2, 27);
    d->a = rotate ((d->a ^ word) * k1, 31);
    d->words++;
}

void digest_bytes (struct digest *d, const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t word;
    size_t i;

    digest_u64 (d, len);
    for (i = 0; i + sizeof (word) <= len; i += sizeof (word)) {
        memcpy (&word, p + i, sizeof (word));
        digest_u64 (d, le64toh (word));
    }
    if (i < len) {
        word = 0;
        memcpy (&word, p + i, len - i);
        digest_u64 (d, le64toh (word));
    }
}

void digest_hex (const struct digest *d, char hex[DIGEST_HEX])
{
    uint64_t a = spread (d->a ^ d->words);
    uint64_t b = spread (d->b + a);

    snprintf (hex, DIGEST_HEX, "%016" PRIx64 "%016" PRIx64, a + b, b);
}

bool digest_agrees (const char *given, const char *found)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)given;
    (void)found;
    return true;
#else
    return strcmp (given, found) == 0;
#endif
}
