/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The kernel reports a MAD that got no answer as one that it "received", with
 * a status; GRACE_MS is for the case that it does not. Every sending has a
 * transaction id of its own, never 0 (libibmad would choose one), so that a
 * late answer to an earlier one is dropped. The kernel keeps the upper half
 * of the id for itself.
 */
#include "config.h"
#include "ibquery/read/lft.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <infiniband/umad.h>

enum { GRACE_MS = 500, STATUS_BUSY = 1 };

struct request {
    bool used;
    uint32_t sw, block, tid;
    unsigned int sent; /* times */
    int64_t deadline_ms;
};

struct pipeline {
    const struct lft_source *source;
    struct lft_switch *sw;
    size_t n;
    int fd, agent;
    void *umad;
    size_t umad_len;
    uint32_t tid;
    struct request *request; /* [window] */
    size_t in_flight;
    uint32_t next_sw, next_block;
};

static int64_t now_ms (void)
{
    struct timespec ts;

    clock_gettime (CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

__attribute__ ((format (printf, 4, 5)))
static int block_error (const struct pipeline *p, const struct request *r,
                        struct error *err, const char *fmt, ...)
{
    const struct lft_switch *sw = &p->sw[r->sw];
    char why[128];
    va_list ap;

    va_start (ap, fmt);
    vsnprintf (why, sizeof (why), fmt, ap);
    va_end (ap);
    return error_world (err, "switch %s (%016" PRIx64 "): LFT block %u: %s",
                        sw->name, sw->guid, r->block, why);
}

static int send_request (struct pipeline *p, struct request *r,
                         struct error *err)
{
    ib_portid_t path = p->sw[r->sw].path;
    ib_rpc_t rpc = {
        .mgtclass = IB_SMI_DIRECT_CLASS,
        .method = IB_MAD_METHOD_GET,
        .attr = { .id = IB_ATTR_LINEARFORWTBL, .mod = r->block },
        .dataoffs = IB_SMP_DATA_OFFS,
        .datasz = IB_SMP_DATA_SIZE,
    };
    int rc;

    if (++p->tid == 0)
        p->tid++;
    rpc.trid = r->tid = p->tid;
    memset (p->umad, 0, p->umad_len);
    if (mad_build_pkt (p->umad, &rpc, &path, NULL, NULL) < 0)
        return block_error (p, r, err, "the MAD cannot be built");
    mad_set_field64 (umad_get_mad (p->umad), 0, IB_MAD_MKEY_F,
                     p->source->mkey);
    rc = umad_send (p->fd, p->agent, p->umad, IB_MAD_SIZE,
                    p->source->timeout_ms, 0);
    if (rc < 0)
        return block_error (p, r, err, "%s", strerror (-rc));
    r->sent++;
    r->deadline_ms = now_ms () + p->source->timeout_ms + GRACE_MS;
    return 0;
}

/* Keep the window full. */
static int send_more (struct pipeline *p, struct error *err)
{
    for (size_t i = 0; i < p->source->window && p->next_sw < p->n; i++) {
        struct request *r = &p->request[i];

        if (r->used)
            continue;
        *r = (struct request){
            .used = true,
            .sw = p->next_sw,
            .block = p->next_block,
        };
        if (send_request (p, r, err) < 0)
            return -1;
        p->in_flight++;
        if (++p->next_block > p->sw[p->next_sw].top / LFT_BLOCK) {
            p->next_block = 0;
            p->next_sw++;
        }
    }
    return 0;
}

static int send_again (struct pipeline *p, struct request *r, const char *why,
                       struct error *err)
{
    if (r->sent > p->source->retries)
        return block_error (p, r, err, "%s, %u times", why, r->sent);
    return send_request (p, r, err);
}

static int expire (struct pipeline *p, struct error *err)
{
    int64_t now = now_ms ();

    for (size_t i = 0; i < p->source->window; i++) {
        struct request *r = &p->request[i];

        if (r->used && r->deadline_ms <= now
            && send_again (p, r, "timed out", err) < 0)
            return -1;
    }
    return 0;
}

static struct request *find_request (struct pipeline *p, uint32_t tid)
{
    for (size_t i = 0; i < p->source->window; i++)
        if (p->request[i].used && p->request[i].tid == tid)
            return &p->request[i];
    return NULL;
}

static int take_answer (struct pipeline *p, struct error *err)
{
    void *mad = umad_get_mad (p->umad);
    struct request *r;
    uint32_t status;

    r = find_request (p, (uint32_t)mad_get_field64 (mad, 0, IB_MAD_TRID_F));
    if (!r || mad_get_field (mad, 0, IB_MAD_ATTRID_F) != IB_ATTR_LINEARFORWTBL
        || mad_get_field (mad, 0, IB_MAD_ATTRMOD_F) != r->block)
        return 0;
    if (umad_status (p->umad) != 0)
        return send_again (p, r, "timed out", err);
    if (mad_get_field (mad, 0, IB_MAD_MGMTCLASS_F) != IB_SMI_DIRECT_CLASS
        || mad_get_field (mad, 0, IB_MAD_RESPONSE_F) == 0)
        return 0;
    status = mad_get_field (mad, 0, IB_DRSMP_STATUS_F);
    if (status & STATUS_BUSY)
        return send_again (p, r, "busy", err);
    if (status != 0)
        return block_error (p, r, err, "MAD status 0x%04x", status);
    memcpy (p->sw[r->sw].lft + (size_t)r->block * LFT_BLOCK,
            (uint8_t *)mad + IB_SMP_DATA_OFFS, LFT_BLOCK);
    r->used = false;
    p->in_flight--;
    return 0;
}

static int run (struct pipeline *p, struct error *err)
{
    while (p->next_sw < p->n || p->in_flight > 0) {
        int len = IB_MAD_SIZE, rc;

        if (send_more (p, err) < 0)
            return -1;
        rc = umad_recv (p->fd, p->umad, &len,
                        p->source->timeout_ms + GRACE_MS);
        if (rc >= 0 && len >= IB_MAD_SIZE)
            rc = take_answer (p, err);
        else if (rc >= 0 || rc == -EINTR || rc == -ETIMEDOUT
                 || rc == -EAGAIN)
            rc = 0;
        else
            return error_world (err, "cannot receive MADs from %s port %d: %s",
                                p->source->ca, p->source->port,
                                strerror (-rc));
        if (rc < 0 || expire (p, err) < 0)
            return -1;
    }
    return 0;
}

int lft_read (const struct lft_source *source, struct lft_switch *sw, size_t n,
              struct error *err)
{
    struct pipeline p = {
        .source = source,
        .sw = sw,
        .n = n,
        .fd = -1,
        .agent = -1,
        .umad_len = umad_size () + IB_MAD_SIZE,
    };
    int rc = -1;

    p.umad = umad_alloc (1, p.umad_len);
    p.request = calloc (source->window, sizeof (*p.request));
    if (!p.umad || !p.request) {
        error_nomem (err);
        goto error;
    }
    p.fd = umad_open_port (source->ca, source->port);
    if (p.fd < 0) {
        error_world (err, "cannot open the umad device of %s port %d: %s",
                     source->ca, source->port, strerror (-p.fd));
        goto error;
    }
    p.agent = umad_register (p.fd, IB_SMI_DIRECT_CLASS, 1, 0, NULL);
    if (p.agent < 0) {
        error_world (err, "cannot send MADs through %s port %d: %s",
                     source->ca, source->port, strerror (-p.agent));
        goto error;
    }
    rc = run (&p, err);
error:
    if (p.agent >= 0)
        umad_unregister (p.fd, p.agent);
    if (p.fd >= 0)
        umad_close_port (p.fd);
    umad_free (p.umad);
    free (p.request);
    return rc;
}
