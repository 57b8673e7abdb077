/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of numbers in one array (compressed rows): list i is v[start[i]] ..
 * v[start[i + 1] - 1].
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

/* n lists with room for count[i] numbers each, which the caller sets. */
struct csr csr_create (size_t n, const size_t *count);

/* The transpose: list x of the result, for x < m, contains i as often as list i
 * contains x; ascending.
 */
struct csr csr_transpose (const struct csr *of, size_t m);

void csr_clear (struct csr *c);

#endif /* UTIL_CSR_H */
