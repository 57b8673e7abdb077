/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "compare/mpi/comm_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/cpu.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/text.h"

enum { TAG = 1, TAG_NOTE = 2, TAG_BLOB = 3 };

int comm_mpi_failed (int code, const char *function, struct error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    MPI_Error_string (code, text, &len);
    return error_world (err, "%s: %.300s", function, text);
}

void comm_mpi_describe (char *buf, size_t size)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len;

    MPI_Get_library_version (version, &len);
    version[strcspn (version, ",\n")] = '\0';
    for (char *s = version; *s; s++)
        if (*s == '\t')
            *s = ' ';
    snprintf (buf, size, "%.99s", text_clean (version));
}

/*
 * Processes
 */

/* The name of this host: Slurm's, if the environment has a valid one, or else
 * MPI's without the domain.
 */
static int find_host (char host[PLACE_HOST_MAX], struct error *err)
{
    const char *node = getenv ("SLURMD_NODENAME");
    char processor[MPI_MAX_PROCESSOR_NAME] = "";
    int len;

    if (!node || !text_is_hostname (node)) {
        if (CALL (err, MPI_Get_processor_name, processor, &len) < 0)
            return -1;
        processor[strcspn (processor, ".")] = '\0';
        node = processor;
    }
    if (!text_is_hostname (node))
        return error_world (err, "'%s' is not a host name", node);
    snprintf (host, PLACE_HOST_MAX, "%.*s", PLACE_HOST_MAX - 1, node);
    return 0;
}

static int find_mpi_places (struct comm_mpi *c,
                            const struct comm_mpi_options *opts,
                            struct error *err)
{
    struct mpi_place me = { .host = "" };
    size_t n = (size_t)c->size;
    int rc;

    c->place = xcalloc (n, sizeof (*c->place));
    c->name = xcalloc (n, sizeof (*c->name));
    c->label = xcalloc (n, sizeof (*c->label));
    c->host = xcalloc (n, sizeof (*c->host));
    cpu_cores (&me.cores);
    if (find_host (me.host, err) < 0
        || CALL (err, MPI_Allgather, &me, sizeof (me), MPI_BYTE, c->place,
                 sizeof (me), MPI_BYTE, c->comm) < 0
        || (rc = places_name (c->place, (uint32_t)c->size, opts->naming,
                              c->name, err)) < 0)
        return -1;
    if (rc > 0)
        c->shared = *err;
    c->hosts = places_hosts (c->place, (uint32_t)c->size);
    for (size_t i = 0; i < n; i++) {
        c->label[i] = c->name[i].label;
        c->host[i] = c->place[i].host;
    }
    if (c->name[c->rank].core >= 0 && cpu_bind (c->name[c->rank].core) < 0)
        return error_errno (err, "%s: cannot stay on core %d", me.host,
                            c->name[c->rank].core);
    return 0;
}

struct party comm_mpi_party (struct comm_mpi *c)
{
    return (struct party){ .transport = "mpi", .comm = &comm_mpi, .c = c,
                           .me = (uint32_t)c->rank, .n = (uint32_t)c->size,
                           .label = c->label, .host = c->host };
}

static void drop_messages (struct comm_mpi *c)
{
    void *buffer;
    int size;

    if (c->buffer)
        MPI_Buffer_detach (&buffer, &size);
    free (c->buffer);
    free (c->out);
    free (c->in);
    for (size_t i = 0; i < c->started.room; i++) {
        free (c->started.buffer[i]);
        c->started.buffer[i] = NULL;
    }
    c->buffer = c->out = c->in = NULL;
}

struct comm_mpi *comm_mpi_open (MPI_Comm mpi,
                                const struct comm_mpi_options *opts,
                                struct error *err)
{
    struct comm_mpi *c = xcalloc (1, sizeof (*c));

    c->comm = MPI_COMM_NULL;
    c->want_buffer = opts->buffer;
    if (CALL (err, MPI_Comm_dup, mpi, &c->comm) < 0
        || CALL (err, MPI_Comm_set_errhandler, c->comm, MPI_ERRORS_RETURN) < 0
        || CALL (err, MPI_Comm_rank, c->comm, &c->rank) < 0
        || CALL (err, MPI_Comm_size, c->comm, &c->size) < 0
        || find_mpi_places (c, opts, err) < 0) {
        comm_mpi_close (c);
        return NULL;
    }
    return c;
}

void comm_mpi_close (struct comm_mpi *c)
{
    if (!c)
        return;
    drop_messages (c);
    if (c->comm != MPI_COMM_NULL)
        MPI_Comm_free (&c->comm);
    free (c->started.request);
    free (c->started.status);
    free (c->started.done);
    free (c->started.row);
    free (c->started.buffer);
    free (c->place);
    free (c->name);
    free (c->label);
    free (c->host);
    free (c);
}

/*
 * Buffers of messages. They are written before they are used: otherwise the
 * kernel would map all of their pages to its single page of zeros.
 */

static uint8_t *make_message (size_t len)
{
    return memset (xarray (len + 1, 1), 0xa5, len + 1);
}

/* Attach a buffer for buffered sends. Its default size is that of 4 messages of
 * the longest length, because MPI may not yet have noticed that the previous
 * message has left.
 */
int comm_mpi_buffer (struct comm_mpi *c, size_t len, struct error *err)
{
    const uint64_t extra = MPI_BSEND_OVERHEAD;
    uint64_t needed = len + extra;
    uint64_t size = c->want_buffer ? c->want_buffer : 4 * (c->len + extra);

    if (size < needed)
        return error_input (err, "a message of %zu bytes needs a send buffer "
                            "of %ju, not of %ju", len, (uintmax_t)needed,
                            (uintmax_t)size);
    if (c->buffer)
        return 0;
    if (size > INT_MAX)
        return error_input (err, "MPI takes no buffer of %ju bytes",
                            (uintmax_t)size);
    c->buffer = xarray (size, 1);
    if (CALL (err, MPI_Buffer_attach, c->buffer, (int)size) == 0)
        return 0;
    free (c->buffer);
    c->buffer = NULL;
    return -1;
}

static int reserve (void *vc, size_t len, const struct comm_exchange *ex,
                    struct error *err)
{
    struct comm_mpi *c = vc;

    (void)ex;
    if (len > INT_MAX)
        return error_input (err, "MPI takes no message of %zu bytes", len);
    drop_messages (c);
    c->len = len;
    c->out = make_message (len);
    c->in = make_message (len);
    return 0;
}

static int64_t now_ns (void *vc)
{
    (void)vc;
    return clock_ns ();
}

/* Translate 0 (success) to a comm's 1 (done). */
static int done (int rc)
{
    return rc < 0 ? -1 : 1;
}

static int barrier (void *vc, struct error *err)
{
    struct comm_mpi *c = vc;

    return done (CALL (err, MPI_Barrier, c->comm));
}

/*
 * Messages
 */

/* Messages of one row, one after the other. */
static int run_row (struct comm_mpi *c, const struct comm_messages *m, int len,
                    struct error *err)
{
    int rc = 0;

    for (unsigned int i = 0; i < m->n && rc == 0; i++)
        rc = m->sends ? CALL (err, MPI_Send, c->out, len, MPI_BYTE,
                              (int)m->peer, TAG, c->comm)
                      : CALL (err, MPI_Recv, c->in, len, MPI_BYTE,
                              (int)m->peer, TAG, c->comm, MPI_STATUS_IGNORE);
    return rc;
}

/* Make room for so many messages. */
static void grow_request_arrays (struct started *s, size_t room)
{
    if (room <= s->room)
        return;
    s->request = xrealloc (s->request, room, sizeof (*s->request));
    s->status = xrealloc (s->status, room, sizeof (*s->status));
    s->done = xrealloc (s->done, room, sizeof (*s->done));
    s->row = xrealloc (s->row, room, sizeof (*s->row));
    s->buffer = xrealloc (s->buffer, room, sizeof (*s->buffer));
    for (; s->room < room; s->room++)
        s->buffer[s->room] = NULL;
}

static int start_messages (struct comm_mpi *c, struct comm_messages *m, int len,
                           size_t *n, struct error *err)
{
    struct started *s = &c->started;

    for (unsigned int i = 0; i < m->n; i++, ++*n) {
        s->row[*n] = m;
        if (!m->sends && !s->buffer[*n])
            s->buffer[*n] = make_message (c->len);
        if ((m->sends
                 ? CALL (err, MPI_Isend, c->out, len, MPI_BYTE, (int)m->peer,
                         TAG, c->comm, &s->request[*n])
                 : CALL (err, MPI_Irecv, s->buffer[*n], len, MPI_BYTE,
                         (int)m->peer, TAG, c->comm, &s->request[*n]))
            < 0)
            return -1;
    }
    return 0;
}

/* Receives are started before sends. */
static int run (void *vc, struct comm_messages *m, size_t n, size_t len,
                struct error *err)
{
    struct comm_mpi *c = vc;
    struct started *s = &c->started;
    int64_t start = clock_ns ();
    size_t all = 0, room = 0;
    int done_now;

    for (size_t i = 0; i < n; i++) {
        room += m[i].n;
        m[i].lost = false;
        m[i].ns = 0;
    }
    if (n == 1) {
        if (run_row (c, m, (int)len, err) < 0)
            return -1;
        m->ns = clock_ns () - start;
        return 1;
    }
    grow_request_arrays (s, room);
    for (int sends = 0; sends < 2; sends++)
        for (size_t i = 0; i < n; i++)
            if (m[i].sends == sends
                && start_messages (c, &m[i], (int)len, &all, err) < 0)
                return -1;
    for (size_t left = all; left > 0; left -= (size_t)done_now) {
        int64_t ns;

        if (CALL (err, MPI_Waitsome, (int)all, s->request, &done_now, s->done,
                  s->status) < 0)
            return -1;
        ns = clock_ns () - start;
        for (int i = 0; i < done_now; i++)
            s->row[s->done[i]]->ns = ns;
    }
    return 1;
}

/*
 * Notes and blobs
 */

static int send_note (void *vc, uint32_t to, const void *data, size_t len,
                      struct error *err)
{
    struct comm_mpi *c = vc;

    return done (CALL (err, MPI_Send, data, (int)len, MPI_BYTE, (int)to,
                       TAG_NOTE, c->comm));
}

static int recv_note (void *vc, uint32_t from, void *data, size_t len,
                      struct error *err)
{
    struct comm_mpi *c = vc;

    return done (CALL (err, MPI_Recv, data, (int)len, MPI_BYTE, (int)from,
                       TAG_NOTE, c->comm, MPI_STATUS_IGNORE));
}

static int check_blob (size_t len, struct error *err)
{
    return len <= INT_MAX ? 0
                          : error_world (err, "results of %zu bytes are more "
                                         "than MPI takes at once", len);
}

/* Process 0 receives from one after the other. */
static int gather_mpi_blobs (void *vc, const void *data, size_t len,
                             struct comm_blob *all, struct error *err)
{
    struct comm_mpi *c = vc;
    uint64_t mine = len, *lens = xcalloc ((size_t)c->size, sizeof (*lens));
    int n = c->rank == 0 ? c->size : 0;
    int rc = check_blob (len, err);

    if (rc == 0)
        rc = CALL (err, MPI_Gather, &mine, 1, MPI_UINT64_T, lens, 1,
                   MPI_UINT64_T, 0, c->comm);
    if (rc == 0 && c->rank != 0)
        rc = CALL (err, MPI_Send, data, (int)len, MPI_BYTE, 0, TAG_BLOB,
                   c->comm);
    for (int i = 0; i < n; i++) {
        all[i] = (struct comm_blob){ xarray (lens[i], 1), lens[i] };
        if (i == 0 && rc == 0 && len > 0)
            memcpy (all[i].data, data, len);
        else if (i > 0 && rc == 0)
            rc = CALL (err, MPI_Recv, all[i].data, (int)lens[i], MPI_BYTE, i,
                       TAG_BLOB, c->comm, MPI_STATUS_IGNORE);
    }
    for (int i = 0; rc < 0 && i < n; i++)
        free (all[i].data);
    free (lens);
    return done (rc);
}

static int broadcast_mpi_blob (void *vc, struct comm_blob *blob,
                               struct error *err)
{
    struct comm_mpi *c = vc;
    uint64_t len = blob->len;

    if (c->rank == 0 && check_blob (blob->len, err) < 0)
        return -1;
    if (CALL (err, MPI_Bcast, &len, 1, MPI_UINT64_T, 0, c->comm) < 0)
        return -1;
    if (c->rank != 0) {
        blob->len = (size_t)len;
        blob->data = xarray (blob->len, 1);
    }
    if (CALL (err, MPI_Bcast, blob->data, (int)len, MPI_BYTE, 0, c->comm) == 0)
        return 1;
    if (c->rank != 0) {
        free (blob->data);
        blob->data = NULL;
    }
    return -1;
}

const struct comm comm_mpi = {
    .reserve = reserve, .now_ns = now_ns, .barrier = barrier, .run = run,
    .send_note = send_note, .recv_note = recv_note, .collect = gather_mpi_blobs,
    .tell = broadcast_mpi_blob, .exchanges = comm_mpi_kinds,
};
