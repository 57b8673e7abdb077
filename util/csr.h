/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of numbers, one behind the other (compressed rows): list i is
 * v[start[i]] .. v[start[i + 1] - 1].
 */
#ifndef UTIL_CSR_H
#define UTIL_CSR_H

#include <stddef.h>
#include <stdint.h>

struct csr {
    size_t n;      /* lists */
    size_t *start; /* [n + 1] */
    uint32_t *v;   /* [start[n]] */
};

/* n lists of room for count[i] numbers each, which the caller sets. */
struct csr csr_create (size_t n, const size_t *count);

/* For each of m numbers, the lists that have it, in order: list x of the result
 * has i as often as list i has x < m.
 */
struct csr csr_transpose (const struct csr *of, size_t m);

void csr_clear (struct csr *c);

#endif /* UTIL_CSR_H */
