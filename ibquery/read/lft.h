/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read the forwarding tables of many switches: directed-route SMPs, several
 * in flight, lost ones sent again.
 */
#ifndef IBQUERY_LFT_H
#define IBQUERY_LFT_H

#include <infiniband/mad.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

enum { LFT_BLOCK = 64 }; /* entries of one MAD */

struct lft_source {
    const char *ca;
    int port;
    uint64_t mkey;
    unsigned int timeout_ms; /* of one MAD */
    unsigned int retries;    /* how often a lost one is sent again */
    unsigned int window;     /* MADs in flight */
};

struct lft_switch {
    ib_portid_t path;  /* a directed route */
    uint64_t guid;
    const char *name;  /* for errors */
    unsigned int top;  /* last LID of the table */
    uint8_t *lft;      /* filled: lft_size (top) bytes of the caller's */
};

static inline size_t lft_size (unsigned int top)
{
    return (top / LFT_BLOCK + 1) * LFT_BLOCK;
}

/* Return 0, or -1 with err naming the switch and block that did not come. */
int lft_read (const struct lft_source *source, struct lft_switch *sw, size_t n,
              struct error *err);

#endif /* IBQUERY_LFT_H */
