/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the fuzz targets share. Each target is one parser: a file of its own
 * with LLVMFuzzerTestOneInput, linked to a fuzzing engine; its corpus is in
 * corpus/<target>/. What a parser accepts must survive what is done with it
 * next: that is asserted, too.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ibquery/fabric.h"

/* The bytes as a file to read. Aborts where there is no memory. */
FILE *fuzz_file (const uint8_t *data, size_t size);

/* The bytes as a text, cut at its first NUL; the caller frees it. */
char *fuzz_text (const uint8_t *data, size_t size);

/* Eight hosts, h0001 to h0008, below six switches; made at the first call, and
 * kept.
 */
struct fabric *fuzz_fabric (void);

/* Write a fabric and read it again; abort where that is another. */
void fuzz_again (const struct fabric *f);

int LLVMFuzzerTestOneInput (const uint8_t *data, size_t size);

#endif /* TESTS_FUZZ_H */
