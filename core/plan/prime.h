/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arithmetic modulo the prime 2^61 - 1 (plan/rref gives the reasons): 0 .. P-1
 * in, 0 .. P-1 out.
 */
#ifndef CORE_PRIME_H
#define CORE_PRIME_H

#include <stdint.h>

#define PRIME ((UINT64_C (1) << 61) - 1)

static inline uint64_t prime_add (uint64_t a, uint64_t b)
{
    uint64_t s = a + b;

    return s >= PRIME ? s - PRIME : s;
}

static inline uint64_t prime_neg (uint64_t a)
{
    return a ? PRIME - a : 0;
}

static inline uint64_t prime_mul (uint64_t a, uint64_t b)
{
    unsigned __int128 t = (unsigned __int128)a * b;

    return prime_add ((uint64_t)t & PRIME, (uint64_t)(t >> 61));
}

#endif /* CORE_PRIME_H */
