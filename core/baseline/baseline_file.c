/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes. A file is a head and sections, of records of one size each; numbers
 * are little endian. The head has MAGIC, the version, the hash of the fabric,
 * numbers of endpoints and links, and for each section its kind, the size of a
 * record, where it begins and how many records it has. A reader takes the
 * sections it knows, and of a record the fields it knows: so later versions can
 * add both, and older readers go on reading. What is known to a few per cent at
 * best, a standard deviation, is the upper half of a float.
 *
 *   RUNS         audit, level, transport, spread; first row, first loopback
 *   ROWS         two ends, RTT, median, difference of the ways, deviations of
 *                RTT and median, doubt, flags
 *   LENGTHS      of rows: how many links each crosses
 *   STARTS       for each link of the network and one more: where its crossings
 *                begin
 *   CROSSINGS    bytes: rows that cross a link, ascending, each as its
 *                difference from the one before, 7 bits a byte
 *   LOOPBACKS    end, time, standard deviation; by runs, then ends
 *   FLOW_STARTS  for each row and one more: its first flow; empty: there are none
 *   FLOWS        ns above the RTT plus FLOW_ZERO, FLOW_LOST
 *   NAMES        of endpoints: where each begins among the letters, and one more
 *   LETTERS      of names
 *   RATES        audit, arc, bits, expected; by arcs. Missing in older files
 *
 * Which links a row crosses follows from its ends and the fabric. To read what
 * is close to a job is a search from its links over crossings, and from rows over
 * their links. How far a row is, the number of its links that the search has not
 * reached, is known from crossings and lengths: only rows that are taken are
 * read.
 */
#include "config.h"
#include "core/baseline/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/alloc.h"
#include "util/sort.h"

#define MAGIC "pmmbase\n"
#define BITS_MAX 1e15

enum {
    RUNS,
    ROWS,
    LENGTHS,
    STARTS,
    CROSSINGS,
    LOOPBACKS,
    FLOW_STARTS,
    FLOWS,
    NAMES,
    LETTERS,
    RATES,
    SECTIONS
};

enum {
    FORMAT = 2,
    HEAD_BYTES = 8 + 4 * 4 + PLAN_FABRIC + 8,
    ENTRY_BYTES = 24, /* of a section, in the head */
    SECTIONS_MAX = 64,
    RUN_BYTES = 28,
    ROW_BYTES = 27,
    START_BYTES = 4,
    LOOPBACK_BYTES = 10,
    FLOW_BYTES = 2,
    NAME_BYTES = 4,
    RATE_BYTES = 20,
    FLOW_ZERO = 1 << 14,
    FLOW_LOST = UINT16_MAX,
    NAME_MAX_BYTES = 256,
    TIGHT = 1,
    WAYS = 2, /* flags of a row */
    FILE_BYTES_MAX = 1 << 30,
    BLOCK_BYTES = 4096, /* that are read or written together */
};

static const size_t record_bytes[SECTIONS] = {
    RUN_BYTES,  ROW_BYTES,  1, START_BYTES, 1, LOOPBACK_BYTES, START_BYTES,
    FLOW_BYTES, NAME_BYTES, 1, RATE_BYTES,
};

/*
 * Numbers
 */

static void put_bytes (uint8_t **to, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        *(*to)++ = (uint8_t)(v >> 8 * i);
}

/* A float, or its upper bytes. */
static void put_float (uint8_t **to, double v, size_t bytes)
{
    float f = (float)v;
    uint32_t bits;

    memcpy (&bits, &f, sizeof (bits));
    put_bytes (to, (bits + (1ULL << 31 >> 8 * bytes)) >> (32 - 8 * bytes),
               bytes);
}

static uint64_t take_bytes (const uint8_t **from, size_t bytes)
{
    uint64_t v = 0;

    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)*(*from)++ << 8 * i;
    return v;
}

static double take_float (const uint8_t **from, size_t bytes)
{
    uint32_t bits = (uint32_t)take_bytes (from, bytes) << (32 - 8 * bytes);
    float f;

    memcpy (&f, &bits, sizeof (f));
    return f;
}

/*
 * Write
 */

struct writer {
    const struct baseline *b;
    FILE *fp;
    uint8_t v[BLOCK_BYTES];
    size_t n; /* in v */
    bool failed;
};

static void writer_flush (struct writer *w)
{
    w->failed |= fwrite (w->v, 1, w->n, w->fp) != w->n;
    w->n = 0;
}

/* Room for a record of n bytes, which the caller fills. */
static uint8_t *writer_record (struct writer *w, size_t n)
{
    if (n > sizeof (w->v) - w->n)
        writer_flush (w);
    w->n += n;
    return w->v + w->n - n;
}

static void writer_number (struct writer *w, uint64_t v, size_t bytes)
{
    uint8_t *at = writer_record (w, bytes);

    put_bytes (&at, v, bytes);
}

static void writer_bytes (struct writer *w, const void *v, size_t n)
{
    writer_flush (w);
    w->failed |= n > 0 && fwrite (v, 1, n, w->fp) != n;
}

static void put_runs (struct writer *w)
{
    for (size_t i = 0; i < w->b->nruns; i++) {
        const struct baseline_run *run = &w->b->run[i];
        uint8_t *at = writer_record (w, RUN_BYTES);

        put_bytes (&at, (uint64_t)run->audit, 8);
        put_bytes (&at, run->level, 4);
        put_bytes (&at, run->rc, 4);
        put_bytes (&at, run->spread, 4);
        put_bytes (&at, run->row, 4);
        put_bytes (&at, run->loopback, 4);
    }
}

static void put_rows (struct writer *w)
{
    for (size_t i = 0; i < w->b->nrows; i++) {
        const struct baseline_row *row = &w->b->row[i];
        bool ways = !isnan (row->more_ns);
        uint8_t *at = writer_record (w, ROW_BYTES);

        put_bytes (&at, row->a, 4);
        put_bytes (&at, row->b, 4);
        put_float (&at, row->rtt_ns, 4);
        put_float (&at, row->median_ns, 4);
        put_float (&at, ways ? row->more_ns : 0, 4);
        put_float (&at, row->sd_ns, 2);
        put_float (&at, row->median_sd, 2);
        put_float (&at, row->doubt_ns, 2);
        put_bytes (&at, (row->tight ? TIGHT : 0) | (ways ? WAYS : 0), 1);
    }
}

static void put_lengths (struct writer *w)
{
    for (size_t i = 0; i < w->b->nrows; i++)
        writer_number (w, w->b->row[i].nlinks, 1);
}

static void put_starts (struct writer *w)
{
    size_t at = 0;

    writer_number (w, at, 4);
    for (size_t l = 0; l < w->b->nlinks; l++)
        writer_number (w, at += w->b->crossed[l].n, 4);
}

static void put_crossings (struct writer *w)
{
    for (size_t l = 0; l < w->b->nlinks; l++)
        writer_bytes (w, w->b->crossed[l].v, w->b->crossed[l].n);
}

static void put_loopbacks (struct writer *w)
{
    for (size_t i = 0; i < w->b->nloopbacks; i++) {
        uint8_t *at = writer_record (w, LOOPBACK_BYTES);

        put_bytes (&at, w->b->loopback[i].end, 4);
        put_float (&at, w->b->loopback[i].time.ns, 4);
        put_float (&at, w->b->loopback[i].time.sd, 2);
    }
}

static size_t count_flows (const struct baseline *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->nrows; i++)
        n += b->row[i].nflows;
    return n;
}

static void put_flow_starts (struct writer *w)
{
    size_t at = 0;

    if (count_flows (w->b) == 0)
        return;
    writer_number (w, at, 4);
    for (size_t i = 0; i < w->b->nrows; i++)
        writer_number (w, at += w->b->row[i].nflows, 4);
}

/* Times relative to their row's RTT; far above, one is as good as lost. */
static void put_flows (struct writer *w)
{
    for (size_t i = 0; i < w->b->nrows; i++) {
        const struct baseline_row *row = &w->b->row[i];

        for (size_t k = 0; k < row->nflows; k++) {
            double t = round (w->b->flow_ns[row->flow + k] - row->rtt_ns)
                       + FLOW_ZERO;
            bool fits = t >= 0 && t < FLOW_LOST;

            writer_number (w, fits ? (uint64_t)t : FLOW_LOST, FLOW_BYTES);
        }
    }
}

static const char *baseline_end_name (const struct baseline *b, size_t end)
{
    return pathset_endpoint (b->ps, end)->name;
}

static void put_names (struct writer *w)
{
    size_t at = 0;

    writer_number (w, at, 4);
    for (size_t i = 0; i < pathset_size (w->b->ps); i++)
        writer_number (w, at += strlen (baseline_end_name (w->b, i)), 4);
}

static void put_letters (struct writer *w)
{
    for (size_t i = 0; i < pathset_size (w->b->ps); i++)
        writer_bytes (w, baseline_end_name (w->b, i),
                      strlen (baseline_end_name (w->b, i)));
}

static void put_rates (struct writer *w)
{
    for (size_t i = 0; i < w->b->nrates; i++) {
        const struct baseline_rate *rate = &w->b->rate[i];
        uint8_t *at = writer_record (w, RATE_BYTES);

        put_bytes (&at, (uint64_t)rate->audit, 8);
        put_bytes (&at, rate->arc, 4);
        put_float (&at, rate->bits, 4);
        put_float (&at, rate->expected, 4);
    }
}

static void put_head (struct writer *w)
{
    const struct baseline *b = w->b;
    const struct network *net = pathset_network (b->ps);
    size_t n[SECTIONS] = {
        [RUNS] = b->nruns,
        [ROWS] = b->nrows,
        [LENGTHS] = b->nrows,
        [STARTS] = b->nlinks + 1,
        [LOOPBACKS] = b->nloopbacks,
        [FLOWS] = count_flows (b),
        [NAMES] = pathset_size (b->ps) + 1,
        [RATES] = b->nrates,
    };
    uint64_t offset = HEAD_BYTES + SECTIONS * ENTRY_BYTES;
    char fabric[PLAN_FABRIC] = "";

    n[FLOW_STARTS] = n[FLOWS] > 0 ? b->nrows + 1 : 0;
    for (size_t l = 0; l < b->nlinks; l++)
        n[CROSSINGS] += b->crossed[l].n;
    for (size_t i = 0; i < pathset_size (b->ps); i++)
        n[LETTERS] += strlen (baseline_end_name (b, i));
    writer_bytes (w, MAGIC, 8);
    writer_number (w, FORMAT, 4);
    writer_number (w, SECTIONS, 4);
    writer_number (w, pathset_size (b->ps), 4);
    writer_number (w, b->nlinks, 4);
    snprintf (fabric, sizeof (fabric), "%s", net->hash);
    writer_bytes (w, fabric, sizeof (fabric));
    writer_number (w, (uint64_t)b->open, 8);
    for (unsigned int k = 0; k < SECTIONS; k++) {
        writer_number (w, k, 4);
        writer_number (w, record_bytes[k], 4);
        writer_number (w, offset, 8);
        writer_number (w, n[k], 8);
        offset += n[k] * record_bytes[k];
    }
}

int baseline_write (const struct baseline *b, FILE *fp, struct error *err)
{
    static void (*const section[SECTIONS]) (struct writer *) = {
        put_runs,      put_rows,      put_lengths,     put_starts,
        put_crossings, put_loopbacks, put_flow_starts, put_flows,
        put_names,     put_letters,   put_rates,
    };
    struct writer w = { .b = b, .fp = fp };

    put_head (&w);
    for (int k = 0; k < SECTIONS && !w.failed; k++)
        section[k] (&w);
    writer_flush (&w);
    return w.failed ? error_world (err, "the baseline cannot be written: %s",
                                   strerror (errno))
                    : 0;
}

/*
 * Read
 */

/* A file that is open, or, of samples, the bytes that its file would have. */
struct source {
    const char *name;
    int fd;
    uint8_t *bytes; /* NULL: read from fd */
    size_t size;
    size_t nends, nlinks;
    int64_t open;
    struct pathset *ps;  /* of all names */
    uint32_t *end;       /* [nends] their numbers in it */
    const uint8_t *length; /* [rows] numbers of links */
    struct section {
        size_t bytes, n;
        uint64_t offset;
        uint8_t *held;     /* records that were read, */
        size_t first, end; /* ... these */
    } section[SECTIONS];
    struct error *err;
};

static int damaged (const struct source *r, const char *what)
{
    return error_input (r->err,
                        "%s: damaged: %s: remove it, and the next audit "
                        "publishes it anew",
                        r->name, what);
}

static int read_at (const struct source *r, uint64_t offset, uint8_t *to,
                    size_t n)
{
    if (offset > r->size || n > r->size - offset)
        return damaged (r, "it ends early");
    if (r->bytes) {
        memcpy (to, r->bytes + offset, n);
        return 0;
    }
    while (n > 0) {
        ssize_t got = pread (r->fd, to, n, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_world (r->err, "%s: %s", r->name,
                                got < 0 ? strerror (errno)
                                        : "it was cut while it was read");
        to += got;
        offset += (uint64_t)got;
        n -= (size_t)got;
    }
    return 0;
}

/* n records from the first on, until others of the section are read; NULL with
 * err. A block is read, since the next ones often are wanted then.
 */
static const uint8_t *read_records (struct source *r, int kind, size_t first,
                                    size_t n)
{
    struct section *s = &r->section[kind];
    size_t block = BLOCK_BYTES / s->bytes;

    if (first > s->n || n > s->n - first) {
        damaged (r, "it points beyond its end");
        return NULL;
    }
    if (!s->held || first < s->first || first + n > s->end) {
        s->first = s->end = first;
        n = n > block ? n : block < s->n - first ? block : s->n - first;
        s->held = xrealloc (s->held, n, s->bytes);
        if (read_at (r, s->offset + first * s->bytes, s->held, n * s->bytes)
            < 0)
            return NULL;
        s->end = first + n;
    }
    return s->held + (first - s->first) * s->bytes;
}

/* What records i and i + 1 of a section say: where the first of something is, and
 * how many there are. 0, or -1 with err.
 */
static int read_start (struct source *r, int kind, size_t i, size_t *first,
                       size_t *n)
{
    const uint8_t *v = read_records (r, kind, i, 2), *at = v;

    if (!v)
        return -1;
    *first = take_bytes (&at, 4);
    at = v + r->section[kind].bytes;
    *n = take_bytes (&at, 4) - *first;
    return 0;
}

static int read_baseline_head (struct source *r, const struct network *net)
{
    uint8_t head[HEAD_BYTES], entry[ENTRY_BYTES];
    const uint8_t *at = head + 8;
    char fabric[PLAN_FABRIC + 1] = "";
    size_t sections;

    if (read_at (r, 0, head, sizeof (head)) < 0)
        return -1;
    if (take_bytes (&at, 4) != FORMAT)
        return error_input (r->err, "%s: of another version: remove it, and "
                                    "the next audit publishes it anew",
                            r->name);
    sections = take_bytes (&at, 4);
    r->nends = take_bytes (&at, 4);
    r->nlinks = take_bytes (&at, 4);
    memcpy (fabric, at, PLAN_FABRIC);
    at += PLAN_FABRIC;
    r->open = (int64_t)take_bytes (&at, 8);
    if (strcmp (fabric, net->hash))
        return error_input (r->err, "%s: is of another fabric", r->name);
    if (sections > SECTIONS_MAX || r->nlinks != net->nlinks || r->open < 0)
        return damaged (r, "its head");
    for (size_t i = 0; i < sections; i++) {
        uint64_t kind, bytes, n, offset;

        if (read_at (r, HEAD_BYTES + i * ENTRY_BYTES, entry, ENTRY_BYTES) < 0)
            return -1;
        at = entry;
        kind = take_bytes (&at, 4);
        bytes = take_bytes (&at, 4);
        offset = take_bytes (&at, 8);
        n = take_bytes (&at, 8);
        if (kind >= SECTIONS)
            continue;
        if (bytes < record_bytes[kind] || bytes > 1 << 16
            || (record_bytes[kind] == 1 && bytes != 1)
            || offset > r->size || n > (r->size - offset) / bytes)
            return damaged (r, "a section's place");
        r->section[kind].bytes = bytes;
        r->section[kind].offset = offset;
        r->section[kind].n = n;
    }
    if (r->section[RATES].bytes == 0)
        r->section[RATES].bytes = RATE_BYTES;
    for (int k = 0; k < SECTIONS; k++)
        if (r->section[k].bytes == 0)
            return damaged (r, "a section lacks");
    if (r->section[STARTS].n != r->nlinks + 1
        || r->section[NAMES].n != r->nends + 1
        || r->section[LENGTHS].n != r->section[ROWS].n
        || (r->section[FLOW_STARTS].n > 0
            && r->section[FLOW_STARTS].n != r->section[ROWS].n + 1))
        return damaged (r, "its rows, links or names");
    return 0;
}

/*
 * Rows
 */

static bool is_time (double ns)
{
    return isfinite (ns) && ns >= 0 && ns < 1e12;
}

/* Take a row, with the file's numbers of endpoints and flows. */
static int parse_baseline_row (struct source *r, uint32_t number,
                               struct baseline_row *row)
{
    const uint8_t *at = read_records (r, ROWS, number, 1);
    unsigned int flags;
    size_t flow = 0, nflows = 0;

    if (!at)
        return -1;
    *row = (struct baseline_row){ .a = (uint32_t)take_bytes (&at, 4) };
    row->b = (uint32_t)take_bytes (&at, 4);
    row->rtt_ns = take_float (&at, 4);
    row->median_ns = take_float (&at, 4);
    row->more_ns = take_float (&at, 4);
    row->sd_ns = take_float (&at, 2);
    row->median_sd = take_float (&at, 2);
    row->doubt_ns = take_float (&at, 2);
    flags = (unsigned int)take_bytes (&at, 1);
    row->tight = flags & TIGHT;
    row->nlinks = r->length[number];
    if (row->a >= r->nends || row->b >= r->nends || !is_time (row->rtt_ns)
        || !is_time (row->sd_ns) || row->sd_ns == 0 || !is_time (row->doubt_ns)
        || !is_time (row->median_ns) || !is_time (row->median_sd)
        || row->median_sd == 0 || !(fabs (row->more_ns) <= row->rtt_ns)
        || row->nlinks == 0)
        return damaged (r, "a row");
    if (!(flags & WAYS))
        row->more_ns = NAN;
    if (!pathset_is_pair (r->ps, r->end[row->a], r->end[row->b]))
        return damaged (r, "a row between endpoints that are no pair");
    if (r->section[FLOW_STARTS].n > 0
        && read_start (r, FLOW_STARTS, number, &flow, &nflows) < 0)
        return -1;
    if (nflows > r->section[FLOWS].n)
        return damaged (r, "a row's flows");
    row->flow = (uint32_t)flow;
    row->nflows = (uint32_t)nflows;
    return 0;
}

/* Which links a row crosses. */
static int find_row_links (const struct source *r,
                           const struct baseline_row *row, struct row *crossed)
{
    if (pathset_row (r->ps, r->end[row->a], r->end[row->b], crossed, r->err)
        < 0)
        return error_prefix (r->err, "%s", r->name);
    return crossed->n == row->nlinks ? 0 : damaged (r, "a row's links");
}

/* Begin to walk over the rows that cross a link. */
static int find_rows (struct source *r, uint32_t link, struct baseline_walk *w)
{
    size_t first;

    *w = (struct baseline_walk){ 0 };
    return read_start (r, STARTS, link, &first, &w->n) < 0
                   || !(w->v = read_records (r, CROSSINGS, first, w->n))
               ? -1
               : 0;
}

/*
 * What is close to a job
 */

struct near_search {
    struct source *r;
    bool *reached;       /* [nlinks] */
    uint32_t *link;      /* [n] those that were reached last */
    size_t n;
    uint8_t *crossed;    /* [rows] how many of its links were reached */
    uint32_t *candidate; /* rows that cross one, and were not taken */
    size_t ncandidates;
    bool *taken;         /* [rows] */
    size_t ntaken;
};

static int cross_link (struct near_search *s, uint32_t link)
{
    struct baseline_walk w;

    if (find_rows (s->r, link, &w) < 0)
        return -1;
    while (baseline_next (&w)) {
        if (w.row >= s->r->section[ROWS].n || s->crossed[w.row] == UINT8_MAX)
            return damaged (s->r, "a link's rows");
        if (s->crossed[w.row]++ == 0) {
            s->candidate = xgrow (s->candidate, s->ncandidates,
                                  sizeof (*s->candidate));
            s->candidate[s->ncandidates++] = w.row;
        }
    }
    return w.at == w.n ? 0 : damaged (s->r, "a link's rows");
}

/* Reach the links of a row. */
static int follow_row (struct near_search *s, uint32_t number)
{
    struct baseline_row row;
    struct row crossed;

    if (parse_baseline_row (s->r, number, &row) < 0
        || find_row_links (s->r, &row, &crossed) < 0)
        return -1;
    for (size_t k = 0; k < crossed.n; k++)
        if (!s->reached[crossed.link[k]]) {
            s->reached[crossed.link[k]] = true;
            s->link = xgrow (s->link, s->n, sizeof (*s->link));
            s->link[s->n++] = crossed.link[k];
        }
    return 0;
}

/* Take at most `room` of the candidates, those first that have the fewest links
 * that were not reached, the newest of these, and reach their links. Return how
 * many, or -1.
 */
static int64_t take_layer (struct near_search *s, size_t room)
{
    size_t count[UINT8_MAX + 1] = { 0 }, left = room, kept = 0, n = 0;
    uint32_t *now = xarray (s->ncandidates, sizeof (*now));
    uint8_t *far = xarray (s->ncandidates, 1);
    int64_t rc;

    if (s->ncandidates > 0)
        qsort (s->candidate, s->ncandidates, sizeof (*s->candidate),
               compare_u32); /* the newest come first */
    for (size_t i = 0; i < s->ncandidates; i++) {
        uint8_t links = s->r->length[s->candidate[i]];
        uint8_t crossed = s->crossed[s->candidate[i]];

        far[i] = links > crossed ? links - crossed : 0;
        count[far[i]]++;
    }
    for (size_t k = 0; k <= UINT8_MAX; k++) {
        count[k] = count[k] < left ? count[k] : left;
        left -= count[k];
    }
    for (size_t i = 0; i < s->ncandidates; i++) {
        if (count[far[i]] == 0) {
            s->candidate[kept++] = s->candidate[i];
            continue;
        }
        count[far[i]]--;
        s->taken[s->candidate[i]] = true;
        now[n++] = s->candidate[i];
    }
    s->ncandidates = kept;
    s->ntaken += n;
    rc = (int64_t)n;
    s->n = 0;
    for (size_t i = 0; i < n && rc >= 0 && left > 0; i++)
        if (follow_row (s, now[i]) < 0)
            rc = -1;
    free (now);
    free (far);
    return rc;
}

/* Find the rows. Their numbers, ascending, in an array that the caller frees;
 * NULL with err.
 */
static uint32_t *search_near (struct source *r, const uint32_t *link,
                              size_t nlinks, size_t room, size_t *n)
{
    size_t rows = r->section[ROWS].n;
    struct near_search s = {
        .r = r,
        .reached = xcalloc (r->nlinks, sizeof (bool)),
        .link = xarray (nlinks, sizeof (uint32_t)),
        .n = nlinks,
        .crossed = xcalloc (rows, 1),
        .taken = xcalloc (rows, sizeof (bool)),
    };
    uint32_t *row = NULL;
    int64_t took = 1;

    for (size_t i = 0; i < nlinks; i++) {
        s.link[i] = link[i];
        s.reached[link[i]] = true;
    }
    while (took > 0) {
        for (size_t i = 0; i < s.n && took > 0; i++)
            if (cross_link (&s, s.link[i]) < 0)
                took = -1;
        if (took > 0 && (took = take_layer (&s, room)) > 0)
            room -= (size_t)took;
    }
    if (took == 0) {
        row = xarray (s.ntaken, sizeof (*row));
        *n = 0;
        for (size_t i = 0; i < rows; i++)
            if (s.taken[i])
                row[(*n)++] = (uint32_t)i;
    }
    free (s.reached);
    free (s.link);
    free (s.crossed);
    free (s.candidate);
    free (s.taken);
    return row;
}

/*
 * Contents
 */

/* Read a row, for which there is room, and its flows. */
static int read_baseline_row (struct source *r, struct baseline *b,
                              uint32_t number)
{
    const uint8_t *flows = NULL;
    struct baseline_row row;

    if (parse_baseline_row (r, number, &row) < 0
        || (row.nflows > 0
            && !(flows = read_records (r, FLOWS, row.flow, row.nflows))))
        return -1;
    row.flow = (uint32_t)b->nflows;
    for (size_t k = 0; k < row.nflows; k++) {
        const uint8_t *at = flows + k * r->section[FLOWS].bytes;
        uint64_t t = take_bytes (&at, 2);

        b->flow_ns = xgrow (b->flow_ns, b->nflows, sizeof (*b->flow_ns));
        b->flow_ns[b->nflows++]
            = t == FLOW_LOST ? NAN : row.rtt_ns + (double)t - FLOW_ZERO;
    }
    b->row[b->nrows++] = row;
    return 0;
}

/* Which links the rows of a part of the file cross. */
static int cross_links (const struct source *r, struct baseline *b)
{
    struct row crossed;

    for (uint32_t i = 0; i < b->nrows; i++) {
        if (find_row_links (r, &b->row[i], &crossed) < 0)
            return -1;
        for (size_t k = 0; k < crossed.n; k++)
            baseline_cross (b, crossed.link[k], i);
    }
    return 0;
}

/* The same of the whole file, as it says. */
static int read_crossings (struct source *r, struct baseline *b)
{
    uint8_t *left = xarray (b->nrows, 1); /* crossings of each row */
    int rc = 0;

    memcpy (left, r->length, b->nrows);
    for (uint32_t l = 0; l < b->nlinks && rc == 0; l++) {
        struct baseline_walk w;

        rc = find_rows (r, l, &w);
        while (rc == 0 && baseline_next (&w))
            if (w.row >= b->nrows || left[w.row]-- == 0)
                rc = damaged (r, "a link's rows");
        if (rc == 0 && w.at < w.n)
            rc = damaged (r, "a link's rows");
        if (rc == 0)
            b->crossed[l] = (struct baseline_crossings){
                memcpy (xarray (w.n, 1), w.v, w.n), (uint32_t)w.n,
                (uint32_t)w.n, w.row,
            };
    }
    for (size_t i = 0; i < b->nrows && rc == 0; i++)
        if (left[i] > 0)
            rc = damaged (r, "a row's links");
    free (left);
    return rc;
}

/* Read loopbacks first .. end-1 of the file, of ends that the last run of b
 * has used.
 */
static int read_loopbacks (struct source *r, struct baseline *b, size_t first,
                           size_t end, const size_t *used)
{
    const uint8_t *v = end < first
                           ? NULL
                           : read_records (r, LOOPBACKS, first, end - first);

    if (!v)
        return end < first ? damaged (r, "a run's loopbacks") : -1;
    for (size_t i = first; i < end; i++) {
        const uint8_t *at = v + (i - first) * r->section[LOOPBACKS].bytes;
        struct baseline_loopback l = { .end = (uint32_t)take_bytes (&at, 4) };

        l.time.ns = take_float (&at, 4);
        l.time.sd = take_float (&at, 2);
        if (l.end >= r->nends || !is_time (l.time.ns)
            || !is_time (l.time.sd))
            return damaged (r, "a loopback");
        if (used[l.end] != b->nruns)
            continue;
        b->loopback = xgrow (b->loopback, b->nloopbacks,
                             sizeof (*b->loopback));
        b->loopback[b->nloopbacks++] = l;
    }
    return 0;
}

/* Read the rows of a run that are wanted, row[*k] and the next ones, and the
 * loopbacks of their ends. next: the first row and loopback of the next run.
 * used [nends]: the last run, from 1, with a row of this end.
 */
static int read_baseline_run (struct source *r, struct baseline *b,
                              struct baseline_run run, const size_t next[2],
                              const uint32_t *row, size_t n, size_t *k,
                              size_t *used)
{
    size_t loopback = run.loopback, first = b->nrows;
    int rc = 0;

    if (next[0] < run.row || next[0] > r->section[ROWS].n || run.audit < 0
        || (b->nruns > 0 && run.audit > b->run[b->nruns - 1].audit))
        return damaged (r, "a run");
    if (*k == n || row[*k] >= next[0])
        return 0;
    run.row = b->nrows;
    run.loopback = b->nloopbacks;
    b->run = xgrow (b->run, b->nruns, sizeof (*b->run));
    b->run[b->nruns++] = run;
    for (; *k < n && row[*k] < next[0] && rc == 0; ++*k)
        rc = read_baseline_row (r, b, row[*k]);
    for (size_t i = first; i < b->nrows; i++)
        used[b->row[i].a] = used[b->row[i].b] = b->nruns;
    if (rc == 0)
        rc = read_loopbacks (r, b, loopback, next[1], used);
    return rc;
}

static int read_runs (struct source *r, struct baseline *b, const uint32_t *row,
                      size_t n)
{
    size_t nruns = r->section[RUNS].n, k = 0;
    const uint8_t *v = read_records (r, RUNS, 0, nruns);
    size_t *used = xcalloc (r->nends, sizeof (*used));
    struct baseline_run run = { 0 };
    int rc = v ? 0 : -1;

    for (size_t i = 0; i <= nruns && rc == 0; i++) {
        const uint8_t *at = v + i * r->section[RUNS].bytes;
        struct baseline_run next = { 0 };

        if (i < nruns) {
            next.audit = (int64_t)take_bytes (&at, 8);
            next.level = take_bytes (&at, 4);
            next.rc = take_bytes (&at, 4);
            next.spread = take_bytes (&at, 4);
            next.row = take_bytes (&at, 4);
            next.loopback = take_bytes (&at, 4);
        }
        else {
            next.row = r->section[ROWS].n;
            next.loopback = r->section[LOOPBACKS].n;
        }
        if (i > 0)
            rc = read_baseline_run (r, b, run,
                                    (const size_t[]){ next.row, next.loopback },
                                    row, n, &k, used);
        run = next;
    }
    if (rc == 0 && k < n)
        rc = damaged (r, "a row of no run");
    free (used);
    return rc;
}

/* Read what arcs carried: all, or of links [n], ascending. */
static int read_baseline_rates (struct source *r, struct baseline *b,
                                const uint32_t *link, size_t n)
{
    struct baseline_rate last = { 0 };

    for (size_t i = 0, k = 0; i < r->section[RATES].n; i++) {
        const uint8_t *at = read_records (r, RATES, i, 1);
        struct baseline_rate rate;

        if (!at)
            return -1;
        rate.audit = (int64_t)take_bytes (&at, 8);
        rate.arc = (uint32_t)take_bytes (&at, 4);
        rate.bits = (float)take_float (&at, 4);
        rate.expected = (float)take_float (&at, 4);
        if (rate.audit < 0 || rate.arc >= 2 * b->nlinks
            || !(rate.bits > 0 && rate.bits < BITS_MAX)
            || !(rate.expected > 0 && rate.expected < BITS_MAX)
            || (i > 0 && compare_baseline_rates (&last, &rate) > 0))
            return damaged (r, "a rate");
        last = rate;
        while (k < n && link[k] < arc_link (rate.arc))
            k++;
        if (!link || (k < n && link[k] == arc_link (rate.arc)))
            baseline_add_rate (b, &rate);
    }
    return 0;
}

static char *read_name (struct source *r, size_t end)
{
    const uint8_t *letters;
    size_t first, n;

    if (read_start (r, NAMES, end, &first, &n) < 0)
        return NULL;
    if (n == 0 || n >= NAME_MAX_BYTES) {
        damaged (r, "a name");
        return NULL;
    }
    letters = read_records (r, LETTERS, first, n);
    return letters ? xasprintf ("%.*s", (int)n, (const char *)letters) : NULL;
}

/* Make the set of all endpoints. */
static int read_endpoint_names (struct source *r, pathset_resolve_f resolve,
                                void *arg)
{
    char **name = xcalloc (r->nends, sizeof (*name));
    int rc = 0;

    r->end = xarray (r->nends, sizeof (*r->end));
    for (size_t i = 0; i < r->nends && rc == 0; i++)
        rc = (name[i] = read_name (r, i)) ? 0 : -1;
    if (rc == 0
        && !(r->ps = resolve ((const char *const *)name, r->nends, arg, r->err)))
        rc = error_prefix (r->err, "%s", r->name);
    for (size_t i = 0; i < r->nends && rc == 0; i++) {
        int number = pathset_find (r->ps, name[i]);

        r->end[i] = (uint32_t)number;
        if (number < 0)
            rc = damaged (r, "a name of no endpoint");
    }
    for (size_t i = 0; i < r->nends; i++)
        free (name[i]);
    free (name);
    return rc;
}

/* Leave those endpoints in the set that are used, and number them by it. */
static int number_used_ends (const struct source *r, struct baseline *b)
{
    struct endpoint *used = xarray (r->nends, sizeof (*used));
    uint32_t *number = xarray (r->nends, sizeof (*number));
    struct pathset *ps;
    size_t n = 0;

    for (size_t i = 0; i < r->nends; i++)
        number[i] = NETWORK_NONE;
    for (size_t i = 0; i < 2 * b->nrows; i++)
        number[i % 2 ? b->row[i / 2].b : b->row[i / 2].a] = 0;
    for (size_t i = 0; i < r->nends; i++)
        if (number[i] != NETWORK_NONE) {
            number[i] = (uint32_t)n;
            used[n++] = *pathset_endpoint (b->ps, r->end[i]);
        }
    ps = pathset_create (pathset_network (b->ps), used, n, r->err);
    free (used);
    if (ps) {
        for (size_t i = 0; i < b->nrows; i++) {
            b->row[i].a = number[b->row[i].a];
            b->row[i].b = number[b->row[i].b];
        }
        for (size_t i = 0; i < b->nloopbacks; i++)
            b->loopback[i].end = number[b->loopback[i].end];
        pathset_destroy (b->ps);
        b->ps = ps;
    }
    free (number);
    return ps ? 0 : -1;
}

/* Read it, or what is close to the job. */
static struct baseline *read_baseline_parts (struct source *r,
                                             const struct network *net,
                                             struct pathset *job, size_t most,
                                             pathset_resolve_f resolve,
                                             void *arg)
{
    const uint32_t *link = NULL;
    struct baseline *b = NULL;
    uint32_t *row = NULL;
    size_t n, m = 0;

    if (read_baseline_head (r, net) < 0
        || !(r->length = read_records (r, LENGTHS, 0, n = r->section[ROWS].n))
        || read_endpoint_names (r, resolve, arg) < 0
        || (job && !(link = pathset_links (job, &m, r->err)))
        || (job && !(row = search_near (r, link, m, most, &n))))
        goto done;
    if (!job) {
        row = xarray (n, sizeof (*row));
        for (size_t i = 0; i < n; i++)
            row[i] = (uint32_t)i;
    }
    b = baseline_create (r->ps);
    b->open = r->open;
    b->row = xarray (n, sizeof (*b->row));
    if (read_runs (r, b, row, n) < 0
        || (job ? cross_links (r, b) : read_crossings (r, b)) < 0
        || read_baseline_rates (r, b, link, m) < 0
        || number_used_ends (r, b) < 0) {
        baseline_destroy (b);
        b = NULL;
    }
    r->ps = NULL; /* b's */
done:
    free (row);
    free (r->end);
    pathset_destroy (r->ps);
    for (int k = 0; k < SECTIONS; k++)
        free (r->section[k].held);
    return b;
}

struct baseline *baseline_part (const struct baseline *b, struct pathset *job,
                                size_t most, pathset_resolve_f resolve,
                                void *arg, struct error *err)
{
    struct source r = { .name = "the baseline", .fd = -1, .err = err };
    FILE *out = xcheck (open_memstream ((char **)&r.bytes, &r.size));
    int rc = baseline_write (b, out, err);
    struct baseline *part = NULL;

    xcheck (fclose (out) == 0 ? r.bytes : NULL);
    if (rc == 0)
        part = read_baseline_parts (&r, pathset_network (job), job, most,
                                    resolve, arg);
    free (r.bytes);
    return part;
}

/* Samples; of their baseline what is close to the job, if there is one. */
static struct baseline *read_samples (FILE *fp, const char *name,
                                      const struct network *net,
                                      struct pathset *job, size_t most,
                                      pathset_resolve_f resolve, void *arg,
                                      struct error *err)
{
    struct pathset *ps = NULL;
    struct samples *s = samples_read (fp, name, net->hash, resolve, arg, &ps,
                                      err);
    struct baseline *b = s ? baseline_of (s, ps, err) : NULL, *part;

    pathset_destroy (ps);
    samples_destroy (s);
    if (!b || !job)
        return b;
    part = baseline_part (b, job, most, resolve, arg, err);
    baseline_destroy (b);
    return part;
}

static struct baseline *read_baseline_file (FILE *fp, const char *name,
                                            const struct network *net,
                                            struct pathset *job, size_t most,
                                            pathset_resolve_f resolve,
                                            void *arg, struct error *err)
{
    struct source r = { .name = name, .fd = fileno (fp), .err = err };
    uint8_t magic[8];
    struct stat st;

    if (r.fd < 0 || fstat (r.fd, &st) < 0 || !S_ISREG (st.st_mode)
        || pread (r.fd, magic, sizeof (magic), 0) != sizeof (magic)
        || memcmp (magic, MAGIC, sizeof (magic)))
        return read_samples (fp, name, net, job, most, resolve, arg, err);
    r.size = (size_t)st.st_size;
    if (r.size > FILE_BYTES_MAX) {
        damaged (&r, "its size");
        return NULL;
    }
    return read_baseline_parts (&r, net, job, most, resolve, arg);
}

struct baseline *baseline_read (FILE *fp, const char *name,
                                const struct network *net,
                                pathset_resolve_f resolve, void *arg,
                                struct error *err)
{
    return read_baseline_file (fp, name, net, NULL, 0, resolve, arg, err);
}

struct baseline *baseline_near (FILE *fp, const char *name,
                                struct pathset *job, size_t most,
                                pathset_resolve_f resolve, void *arg,
                                struct error *err)
{
    return read_baseline_file (fp, name, pathset_network (job), job, most,
                               resolve, arg, err);
}
