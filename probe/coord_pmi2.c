/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coordination by PMI-2, in a step of `srun --mpi=pmi2`: every Slurm supports
 * it, and it needs no library.
 *
 * Notes: slurmstepd is at the other end of the socket PMI_FD. A line of PMI-1
 * agrees on the version. From then on a message is its length in six
 * characters, then "cmd=NAME;KEY=VALUE;..."; each request gets one answer,
 * which contains "rc=0" on success. A value has at most 1,024 characters and no
 * ';'. So a blob, preceded by its length, is put as hexadecimal digits, in as
 * many pieces as necessary.
 *
 * A fence that not all ranks reach gets no answer, and what other ranks have
 * put cannot be read before it: then no measurement is possible.
 */
#include "config.h"
#include "probe/coord.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/wire.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/site.h"
#include "util/text.h"

enum {
    LENGTH_SIZE = 6,    /* characters of a message's length */
    MESSAGE_MAX = 2048, /* maximum of this length */
    LINE_SIZE = 128,    /* of PMI-1 */
    PIECE = 500,        /* bytes of a blob per value */
    BLOB_LENGTH = 2,    /* bytes of a blob's length */
    BYTES_MAX = BLOB_LENGTH + COORD_BLOB_MAX,
    CLOSE_MS = 1000,
};

#define KEY "key=pmm%u.%u;" /* piece, rank: slurmstepd hashes a key's end */

struct pmi2 {
    struct coord coord; /* first */
    int fd;
    int wait_s;          /* for the other ranks */
    int64_t deadline_ms; /* of the current request */
    bool joined;
    char answer[MESSAGE_MAX + 1]; /* KEY=VALUE strings, one after the other */
    size_t len;
};

static void set_deadline (struct pmi2 *c)
{
    c->deadline_ms = clock_ms () + c->wait_s * 1000;
}

/*
 * Messages
 */

static int invalid_pmi2_answer (const char *cmd, struct error *err)
{
    errno = EPROTO;
    return error_world (err, "PMI-2: slurmstepd's answer to %s is invalid",
                        cmd);
}

static int transfer (struct pmi2 *c, void *buf, size_t size, short events,
                     const char *cmd, struct error *err)
{
    if (coord_transfer (c->fd, buf, size, events, c->deadline_ms) == 0)
        return 0;
    if (errno == 0)
        return error_world (err, "PMI-2: slurmstepd is gone at %s", cmd);
    return error_errno (err, "PMI-2: slurmstepd does not answer to %s", cmd);
}

/* Find a value of the answer; NULL: not in the answer. */
static const char *find_pmi2_value (const struct pmi2 *c, const char *key)
{
    size_t n = strlen (key);

    for (const char *p = c->answer; p < c->answer + c->len;
         p += strlen (p) + 1)
        if (!strncmp (p, key, n) && p[n] == '=')
            return p + n + 1;
    return NULL;
}

static bool pmi2_value_is (const struct pmi2 *c, const char *key,
                           const char *text)
{
    const char *value = find_pmi2_value (c, key);

    return value && !strcmp (value, text);
}

/* Send a request and read the answer. */
__attribute__ ((format (printf, 4, 5))) static int
ask_pmi2 (struct pmi2 *c, const char *cmd, struct error *err, const char *fmt,
          ...)
{
    char head[LENGTH_SIZE + 1] = "", digits[LENGTH_SIZE + 1], response[32];
    char *body, *message;
    const char *why;
    size_t len;
    va_list ap;
    int rc, end = 0;

    va_start (ap, fmt);
    body = xvasprintf (fmt, ap);
    va_end (ap);
    len = strlen ("cmd=;") + strlen (cmd) + strlen (body);
    message = xasprintf ("%6zucmd=%s;%s", len, cmd, body);
    rc = transfer (c, message, strlen (message), POLLOUT, cmd, err);
    free (body);
    free (message);
    if (rc < 0 || transfer (c, head, LENGTH_SIZE, POLLIN, cmd, err) < 0)
        return -1;
    /* the length: digits, with blanks before or after them */
    if (sscanf (head, " %6[0-9] %n", digits, &end) != 1 || head[end])
        return invalid_pmi2_answer (cmd, err);
    len = strtoul (digits, NULL, 10);
    if (len == 0 || len > MESSAGE_MAX)
        return invalid_pmi2_answer (cmd, err);
    if (transfer (c, c->answer, len, POLLIN, cmd, err) < 0)
        return -1;
    c->answer[len] = '\0';
    c->len = len;
    snprintf (response, sizeof (response), "%s-response", cmd);
    if (strlen (c->answer) != len || c->answer[len - 1] != ';')
        return invalid_pmi2_answer (cmd, err);
    for (char *p = c->answer; (p = strchr (p, ';')); p++)
        *p = '\0';
    if (!pmi2_value_is (c, "cmd", response) || !find_pmi2_value (c, "rc"))
        return invalid_pmi2_answer (cmd, err);
    if (pmi2_value_is (c, "rc", "0"))
        return 0;
    if (!(why = find_pmi2_value (c, "errmsg")))
        why = find_pmi2_value (c, "rc");
    errno = EPROTO;
    return error_world (err, "PMI-2: slurmstepd's answer to %s: %.200s", cmd,
                        why);
}

/*
 * Joining
 */

static int join_pmi2 (struct pmi2 *c, struct error *err)
{
    const char *job = getenv ("PMI_JOBID");
    const char *rank = getenv ("PMI_RANK");
    char hello[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    const char *text;
    uint64_t own, size;
    size_t len = 0;

    if (transfer (c, hello, strlen (hello), POLLOUT, "init", err) < 0)
        return -1;
    do {
        if (transfer (c, c->answer + len, 1, POLLIN, "init", err) < 0)
            return -1;
    } while (c->answer[len++] != '\n' && len < LINE_SIZE);
    c->answer[len] = '\0';
    if (strncmp (c->answer, "cmd=response_to_init ", 21)
        || !strstr (c->answer, " rc=0")
        || !strstr (c->answer, " pmi_version=2")) {
        errno = EPROTO;
        return error_world (err, "PMI-2: slurmstepd does not speak it");
    }
    if (ask_pmi2 (c, "fullinit", err,
                  "pmijobid=%.32s;pmirank=%.9s;threaded=FALSE;",
                  job ? job : "0", rank ? rank : "0")
        < 0)
        return -1;
    if (!(text = find_pmi2_value (c, "rank"))
        || text_u64 (text, 0, COORD_RANKS_MAX - 1, &own) < 0
        || !(text = find_pmi2_value (c, "size"))
        || text_u64 (text, own + 1, COORD_RANKS_MAX, &size) < 0)
        return invalid_pmi2_answer ("fullinit", err);
    c->coord.rank = (unsigned int)own;
    c->coord.size = (unsigned int)size;
    c->joined = true;
    return 0;
}

static void pmi2_close (struct coord *coord)
{
    struct pmi2 *c = (struct pmi2 *)coord;

    if (c->joined) { /* else PMI_FD may be something else's descriptor */
        c->deadline_ms = clock_ms () + CLOSE_MS;
        ask_pmi2 (c, "finalize", NULL, "%s", "");
        close (c->fd);
    }
    free (c);
}

static struct coord *pmi2_open (const char *arg, int timeout_ms,
                                struct error *err)
{
    const char *fd = getenv ("PMI_FD");
    struct pmi2 *c;

    (void)arg;
    if (!fd || !*fd || strlen (fd) > 6 || fd[strspn (fd, "0123456789")]) {
        error_world (err, "this is not a step of srun --mpi=pmi2");
        return NULL;
    }
    c = xcalloc (1, sizeof (*c));
    c->fd = atoi (fd);
    c->wait_s = site_meet_timeout_s (timeout_ms);
    set_deadline (c);
    if (join_pmi2 (c, err) == 0)
        return &c->coord;
    pmi2_close (&c->coord);
    return NULL;
}

/*
 * The exchange
 */

static int put_pmi2_blob (struct pmi2 *c, const uint8_t *data, size_t len,
                          struct error *err)
{
    uint8_t bytes[BYTES_MAX];
    char digits[2 * PIECE + 1];
    size_t done = 0;

    wire_put (bytes, len, BLOB_LENGTH);
    memcpy (bytes + BLOB_LENGTH, data, len);
    len += BLOB_LENGTH;
    for (unsigned int piece = 0; done < len; piece++) {
        size_t n = len - done < PIECE ? len - done : PIECE;

        for (size_t i = 0; i < n; i++)
            snprintf (digits + 2 * i, 3, "%02x", bytes[done + i]);
        if (ask_pmi2 (c, "kvs-put", err, KEY "value=%s;", piece, c->coord.rank,
                      digits)
            < 0)
            return -1;
        done += n;
    }
    return 0;
}

/* Get the blob that a rank has put. An invalid one counts as no answer. */
static int get (struct pmi2 *c, unsigned int rank, struct coord_blob *blob,
                struct error *err)
{
    uint8_t bytes[BYTES_MAX];
    size_t have = 0, wanted = BYTES_MAX;

    for (unsigned int piece = 0; have < wanted; piece++) {
        const char *digits;
        size_t n;

        if (ask_pmi2 (c, "kvs-get", err, KEY, piece, rank) < 0)
            return -1;
        digits = pmi2_value_is (c, "found", "TRUE")
                     ? find_pmi2_value (c, "value")
                     : NULL;
        if (!digits || (n = strlen (digits)) == 0 || n % 2
            || n / 2 > wanted - have
            || strspn (digits, "0123456789abcdef") != n)
            return 0;
        for (; *digits; digits += 2)
            sscanf (digits, "%2hhx", &bytes[have++]);
        if (have < BLOB_LENGTH)
            return 0;
        if (piece == 0)
            wanted = BLOB_LENGTH + wire_get (bytes, BLOB_LENGTH);
        if (wanted < have || wanted > BYTES_MAX)
            return 0;
    }
    blob->len = wanted - BLOB_LENGTH;
    memcpy (blob->data, bytes + BLOB_LENGTH, blob->len);
    return 0;
}

static int pmi2_exchange (struct coord *coord, const uint8_t *data,
                          size_t len, struct coord_blob *blob,
                          struct error *err)
{
    struct pmi2 *c = (struct pmi2 *)coord;

    set_deadline (c);
    if (put_pmi2_blob (c, data, len, err) < 0)
        return -1;
    if (ask_pmi2 (c, "kvs-fence", err, "%s", "") < 0)
        return errno == ETIMEDOUT
                   ? error_world (err,
                                  "PMI-2: not all of the %u nodes came within "
                                  "%d s",
                                  coord->size, c->wait_s)
                   : -1;
    set_deadline (c);
    for (unsigned int i = 0; i < coord->size; i++)
        if (get (c, i, &blob[i], err) < 0)
            return -1;
    return 0;
}

const struct coord_means coord_pmi2 = {
    .name = "pmi2", .mark = "PMI_FD", .open = pmi2_open, .close = pmi2_close,
    .exchange = pmi2_exchange,
};
