/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fast 128-bit digest: the fabric's hash and the snapshot's checksum. It
 * detects differences; it is no protection against forgery.
 */
#ifndef IBQUERY_DIGEST_H
#define IBQUERY_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_HEX = 33 }; /* 32 hex digits and a NUL */

struct digest {
    uint64_t a, b, words;
};

void digest_init (struct digest *d);
void digest_u64 (struct digest *d, uint64_t word);

/* The bytes and their number: {"ab", "c"} is not {"a", "bc"}. */
void digest_bytes (struct digest *d, const void *data, size_t len);

/* The digest of everything so far, in lower case. */
void digest_hex (const struct digest *d, char hex[DIGEST_HEX]);

/* Whether the digest in a file is the computed one. Always true in builds for
 * fuzzing: a fuzzer cannot guess digests.
 */
bool digest_agrees (const char *given, const char *found);

#endif /* IBQUERY_DIGEST_H */
