/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The reader has a table with one row per keyword, in the order of the
 * sections. The lines of a forwarding table start with a digit and follow their
 * `lft` line. Runs in tables could let a small file use much memory, so all
 * tables together may hold TABLES_MIN bytes plus TABLES_FACTOR times the file's
 * length; real fabrics stay far below.
 */
#include "config.h"
#include "ibquery/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ibquery/lines.h"
#include "util/alloc.h"
#include "util/file.h"

enum {
    MAX_HEX = 512,  /* table entries of one line */
    MIN_RUN = 16,   /* a shorter run is not worth a line */
    TABLES_MIN = 1 << 20,
    TABLES_FACTOR = 64,
};

static const struct lines_format format = {
    .magic = "pmm-fabric",
    .what = "fabric snapshot",
    .version = 1,
    .max = 1 << 30,
};

/* Write */

static void put_rates (struct lines_out *w, const struct fabric *f,
                       const struct fabric_node *n)
{
    static const struct port_rates none;

    for (unsigned int i = 0; i < n->nports; i++) {
        const struct port_rates *r = &f->port[n->first_port + i].rates;
        char supported[RATES_TEXT], enabled[RATES_TEXT], active[RATES_TEXT];

        if (memcmp (r, &none, sizeof (none)) != 0)
            lines_put (w, "rates %016" PRIx64 "/%u %s %s %s", n->guid, i + 1,
                       rates_format (&r->supported, supported),
                       rates_format (&r->enabled, enabled),
                       rates_format (&r->active, active));
    }
}

/* Write what differs from the usual in a port. */
static void put_state (struct lines_out *w, const struct fabric_node *n,
                       const struct fabric_port *p)
{
    if (p->link != FABRIC_NONE && p->state != PORT_UNKNOWN
        && p->state != PORT_ACTIVE)
        lines_put (w, "state %016" PRIx64 "/%u %s", n->guid, p->num,
                   fabric_state_name (p->state));
}

static void put_node (struct lines_out *w, const struct fabric *f,
                      const struct fabric_node *n)
{
    const char *type = fabric_type_name (n->type);
    const char *gap = *n->desc ? " " : "";

    if (n->type == NODE_SWITCH)
        lines_put (w, "%s %016" PRIx64 " %u %u%s%s", type, n->guid, n->nports,
                   n->lid, gap, n->desc);
    else
        lines_put (w, "%s %016" PRIx64 " %u%s%s", type, n->guid, n->nports, gap,
                   n->desc);
    if (n->system != 0)
        lines_put (w, "system %016" PRIx64 " %016" PRIx64, n->guid, n->system);
    if (n->adaptive.known)
        lines_put (w, "adaptive %016" PRIx64 " %04x %04x", n->guid,
                   n->adaptive.ud, n->adaptive.rc);
    for (unsigned int i = 0; i < n->nports; i++) {
        const struct fabric_port *p = &f->port[n->first_port + i];

        put_state (w, n, p);
        if (n->type != NODE_SWITCH && (p->guid != 0 || p->lid != 0))
            lines_put (w, "port %016" PRIx64 "/%u %016" PRIx64 " %u %u",
                       n->guid, p->num, p->guid, p->lid, p->lmc);
    }
}

static void put_cable (struct lines_out *w, const struct fabric *f,
                       const struct fabric_link *l)
{
    const struct fabric_port *b = &f->port[l->b];
    char rate[16];

    fabric_rate_name (l, rate, sizeof (rate));
    lines_put (w, "cable %s %016" PRIx64 "/%u %s", l->id, f->node[b->node].guid,
               b->num, *rate ? rate : "-");
}

static unsigned int run (const struct fabric_node *n, unsigned int lid)
{
    unsigned int end = lid;

    while (end <= n->lft_top && n->lft[end] == n->lft[lid])
        end++;
    return end - lid;
}

static void put_lft (struct lines_out *w, const struct fabric_node *n)
{
    static const char digit[] = "0123456789abcdef";
    char hex[2 * MAX_HEX + 1];
    unsigned int lid = 0;

    lines_put (w, "lft %016" PRIx64 " %u", n->guid, n->lft_top);
    while (lid <= n->lft_top) {
        unsigned int length = run (n, lid), first = lid, k = 0;

        if (n->lft[lid] == LFT_NO_ROUTE) {
            lid += length;
            continue;
        }
        if (length >= MIN_RUN) {
            lines_put (w, "%u-%u %02x", lid, lid + length - 1, n->lft[lid]);
            lid += length;
            continue;
        }
        while (lid <= n->lft_top && n->lft[lid] != LFT_NO_ROUTE) {
            length = run (n, lid);
            if (length >= MIN_RUN || k + length > MAX_HEX)
                break;
            for (; length > 0; length--, k++, lid++) {
                hex[2 * k] = digit[n->lft[lid] >> 4];
                hex[2 * k + 1] = digit[n->lft[lid] & 15];
            }
        }
        hex[2 * k] = '\0';
        lines_put (w, "%u %s", first, hex);
    }
}

int fabric_write (const struct fabric *f, FILE *fp, struct error *err)
{
    struct lines_out w;
    char when[LINES_TIME];

    lines_begin (&w, fp, format.magic, format.version);
    lines_put (&w, "generator " PACKAGE_STRING);
    if (*f->source)
        lines_put (&w, "source %s", f->source);
    if (f->time != 0)
        lines_put (&w, "time %s", lines_format_time (f->time, when));
    if (f->subnet != 0)
        lines_put (&w, "subnet %016" PRIx64, f->subnet);
    if (f->part)
        lines_put (&w, "part");
    lines_put (&w, "hash %s", f->hash);
    for (size_t i = 0; i < f->nwarnings; i++)
        lines_put (&w, "warning %s", f->warning[i]);
    for (size_t i = 0; i < f->nnodes; i++) {
        put_node (&w, f, &f->node[i]);
        put_rates (&w, f, &f->node[i]);
    }
    for (size_t i = 0; i < f->nlinks; i++)
        put_cable (&w, f, &f->link[i]);
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].lft)
            put_lft (&w, &f->node[i]);
    return lines_end (&w, err);
}

/* Read */

enum section { HEADER, NODES, CABLES, TABLES };

struct fabric_reader {
    struct fabric *f;
    struct words *w;     /* of the line */
    uint32_t node;       /* of the table that is being read */
    enum section section;
    unsigned int seen;   /* rows of the table that may occur only once */
    char hash[DIGEST_HEX];
    uint8_t *lft;        /* the table that is being read */
    bool in_lft;
    unsigned int lft_top, lft_next;
    size_t lft_size;     /* bytes of all tables */
};

static int hex_digit (char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read a number, the next word. */
static int take_number (struct fabric_reader *r, unsigned int max,
                        const char *what, unsigned int *value,
                        struct error *err)
{
    uint64_t number = 0;

    if (words_number (r->w, max, what, &number, err) < 0)
        return -1;
    *value = number;
    return 0;
}

static int find_node (const struct fabric_reader *r, uint64_t guid,
                      uint32_t *node, struct error *err)
{
    *node = fabric_find_node (r->f, guid);
    if (*node == FABRIC_NONE)
        return error_input (err, "there is no node %016" PRIx64 " above",
                            guid);
    return 0;
}

/* GUID/PORT */
static int take_end (struct fabric_reader *r, uint32_t *node,
                     unsigned int *port, struct error *err)
{
    uint64_t guid = 0;

    if (words_port (r->w, &guid, port, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

static int read_generator (struct fabric_reader *r, struct error *err)
{
    (void)r;
    (void)err;
    return 0;
}

static int read_source (struct fabric_reader *r, struct error *err)
{
    (void)err;
    fabric_set_source (r->f, r->w->next, r->f->time);
    return 0;
}

static int read_time (struct fabric_reader *r, struct error *err)
{
    return lines_parse_time (r->w->next, &r->f->time, err);
}

static int read_subnet (struct fabric_reader *r, struct error *err)
{
    if (words_guid (r->w, &r->f->subnet, err) < 0)
        return -1;
    return words_end (r->w, err);
}

static int read_part (struct fabric_reader *r, struct error *err)
{
    r->f->part = true;
    return words_end (r->w, err);
}

static int read_hash (struct fabric_reader *r, struct error *err)
{
    const char *hex = words_next (r->w);

    if (strlen (hex) != DIGEST_HEX - 1
        || strspn (hex, "0123456789abcdef") != DIGEST_HEX - 1)
        return error_input (err, "\"%.40s\" is no hash", hex);
    strcpy (r->hash, hex);
    return words_end (r->w, err);
}

static int read_warning (struct fabric_reader *r, struct error *err)
{
    (void)err;
    fabric_warn (r->f, "%s", r->w->next);
    return 0;
}

static int read_node (struct fabric_reader *r, enum node_type type,
                      struct error *err)
{
    unsigned int nports, lid = 0;
    uint64_t guid = 0;
    int64_t node;

    if (words_guid (r->w, &guid, err) < 0
        || take_number (r, UINT8_MAX, "number of ports", &nports, err)
               < 0
        || (type == NODE_SWITCH
            && take_number (r, FABRIC_MAX_LID, "LID", &lid, err) < 0))
        return -1;
    node = fabric_add_node (r->f, guid, type, nports, r->w->next, err);
    if (node < 0)
        return -1;
    return fabric_set_switch_lid (r->f, node, lid, err);
}

static int read_ca (struct fabric_reader *r, struct error *err)
{
    return read_node (r, NODE_CA, err);
}

static int read_switch (struct fabric_reader *r, struct error *err)
{
    return read_node (r, NODE_SWITCH, err);
}

static int read_router (struct fabric_reader *r, struct error *err)
{
    return read_node (r, NODE_ROUTER, err);
}

static int read_port (struct fabric_reader *r, struct error *err)
{
    unsigned int port, lid, lmc;
    uint32_t node;
    uint64_t guid = 0;

    if (take_end (r, &node, &port, err) < 0
        || words_guid (r->w, &guid, err) < 0
        || take_number (r, FABRIC_MAX_LID, "LID", &lid, err) < 0
        || take_number (r, FABRIC_MAX_LMC, "LMC", &lmc, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    if (r->f->node[node].type == NODE_SWITCH)
        return error_input (err, "a switch's ports have no LIDs");
    return fabric_set_port (r->f, node, port, guid, lid, lmc, err);
}

static int parse_rates (char *text, struct rates *r, struct error *err)
{
    return rates_parse (text, r) == 0
               ? 0
               : error_input (err, "\"%.60s\" is no set of rates", text);
}

static int read_rates (struct fabric_reader *r, struct error *err)
{
    struct port_rates rates;
    struct fabric_port *p;
    unsigned int port;
    uint32_t node;

    if (take_end (r, &node, &port, err) < 0
        || parse_rates (words_next (r->w), &rates.supported, err) < 0
        || parse_rates (words_next (r->w), &rates.enabled, err) < 0
        || parse_rates (words_next (r->w), &rates.active, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    if (!(p = fabric_port_at (r->f, node, port, err)))
        return -1;
    p->rates = rates;
    return 0;
}

/* The GUID of a node that the file has named before. */
static int take_node (struct fabric_reader *r, uint32_t *node,
                      struct error *err)
{
    uint64_t guid = 0;

    if (words_guid (r->w, &guid, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

static int read_system (struct fabric_reader *r, struct error *err)
{
    uint32_t node;
    uint64_t system = 0;

    if (take_node (r, &node, err) < 0
        || words_guid (r->w, &system, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    r->f->node[node].system = system;
    return 0;
}

static int read_adaptive (struct fabric_reader *r, struct error *err)
{
    uint32_t node;
    uint64_t ud = 0, rc = 0;

    if (take_node (r, &node, err) < 0
        || words_hex (r->w, 4, "set of service levels", &ud, err) < 0
        || words_hex (r->w, 4, "set of service levels", &rc, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    if (r->f->node[node].type != NODE_SWITCH)
        return error_input (err, "%s %016" PRIx64 " does not route",
                            fabric_type_name (r->f->node[node].type),
                            r->f->node[node].guid);
    r->f->node[node].adaptive = (struct fabric_adaptive){ true, ud, rc };
    return 0;
}

static int read_state (struct fabric_reader *r, struct error *err)
{
    struct fabric_port *p;
    unsigned int port;
    const char *name;
    uint32_t node;
    int state;

    if (take_end (r, &node, &port, err) < 0)
        return -1;
    name = words_next (r->w);
    if ((state = fabric_find_state (name)) < 0)
        return error_input (err, "\"%.40s\" is no state of a port", name);
    if (words_end (r->w, err) < 0)
        return -1;
    if (!(p = fabric_port_at (r->f, node, port, err)))
        return -1;
    p->state = state;
    return 0;
}

/* "4xHDR", "?xHDR", "4x?" or "-" */
static int take_rate (struct fabric_reader *r, unsigned int *width,
                      const char **speed, struct error *err)
{
    char *text = words_next (r->w), *x;
    uint64_t lanes = 0;

    *width = 0;
    *speed = "";
    if (strcmp (text, "-") == 0)
        return 0;
    x = strchr (text, 'x');
    if (!x)
        return error_input (err, "\"%.40s\" is no width and speed", text);
    *x = '\0';
    if (strcmp (text, "?") != 0
        && words_number (&(struct words){ .next = text }, UINT8_MAX, "width",
                         &lanes, err) < 0)
        return -1;
    *width = lanes;
    if (strcmp (x + 1, "?") != 0)
        *speed = x + 1;
    return 0;
}

static int read_cable (struct fabric_reader *r, struct error *err)
{
    unsigned int port_a, port_b, width;
    uint32_t a, b;
    const char *speed;

    if (take_end (r, &a, &port_a, err) < 0
        || take_end (r, &b, &port_b, err) < 0
        || take_rate (r, &width, &speed, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    return fabric_add_cable (r->f, a, port_a, b, port_b, width, speed, err);
}

static int finish_lft (struct fabric_reader *r, struct error *err)
{
    if (!r->in_lft)
        return 0;
    r->in_lft = false;
    return fabric_set_lft (r->f, r->node, r->lft, r->lft_top, err);
}

static int read_lft (struct fabric_reader *r, struct error *err)
{
    unsigned int top;
    uint32_t node;

    if (take_node (r, &node, err) < 0
        || take_number (r, FABRIC_MAX_LID, "LID", &top, err) < 0
        || words_end (r->w, err) < 0)
        return -1;
    r->lft_size += top + 1;
    if (r->lft_size > TABLES_MIN + TABLES_FACTOR * r->w->file)
        return error_input (err, "the forwarding tables are too large for "
                                 "the length of the file");
    r->node = node;
    r->lft_top = top;
    r->lft_next = 0;
    r->in_lft = true;
    memset (r->lft, LFT_NO_ROUTE, top + 1);
    return 0;
}

/* "FIRST", or "FIRST-LAST" for a run. */
static int take_range (struct fabric_reader *r, unsigned int *first,
                       unsigned int *last, bool *is_run, struct error *err)
{
    struct words low = { .next = words_next (r->w) };
    struct words high = { .next = strchr (low.next, '-') };
    uint64_t from = 0, to = 0;

    *is_run = high.next;
    if (high.next)
        *high.next++ = '\0';
    if (words_number (&low, FABRIC_MAX_LID, "LID", &from, err) < 0
        || (*is_run
            && words_number (&high, FABRIC_MAX_LID, "LID", &to, err) < 0))
        return -1;
    *first = from;
    *last = to;
    return 0;
}

/* "FIRST HEX..." or "FIRST-LAST HEX" */
static int read_entries (struct fabric_reader *r, struct error *err)
{
    unsigned int first, last;
    const char *hex;
    bool is_run;
    size_t len;

    if (!r->in_lft)
        return error_input (err, "table entries without a table");
    if (take_range (r, &first, &last, &is_run, err) < 0)
        return -1;
    hex = words_next (r->w);
    len = strlen (hex);
    if (words_end (r->w, err) < 0)
        return -1;
    if (len == 0 || len % 2 != 0 || (is_run && len != 2))
        return error_input (err, "%zu hex digits are no table entries", len);
    if (!is_run)
        last = first + len / 2 - 1;
    if (first < r->lft_next || last < first || last > r->lft_top)
        return error_input (err, "LIDs %u to %u do not belong here", first,
                            last);
    for (unsigned int lid = first; lid <= last; lid++) {
        int high = hex_digit (hex[0]), low = hex_digit (hex[1]);

        if (high < 0 || low < 0)
            return error_input (err, "\"%.2s\" is no port in hex", hex);
        r->lft[lid] = high << 4 | low;
        if (!is_run)
            hex += 2;
    }
    r->lft_next = last + 1;
    return 0;
}

static const struct fabric_keyword {
    const char *name;
    enum section section;
    bool once;
    int (*read) (struct fabric_reader *r, struct error *err);
} keywords[] = {
    { "generator", HEADER, true, read_generator },
    { "source", HEADER, true, read_source },
    { "time", HEADER, true, read_time },
    { "subnet", HEADER, true, read_subnet },
    { "part", HEADER, true, read_part },
    { "hash", HEADER, true, read_hash },
    { "warning", HEADER, false, read_warning },
    { "ca", NODES, false, read_ca },
    { "switch", NODES, false, read_switch },
    { "router", NODES, false, read_router },
    { "system", NODES, false, read_system },
    { "adaptive", NODES, false, read_adaptive },
    { "state", NODES, false, read_state },
    { "port", NODES, false, read_port },
    { "rates", NODES, false, read_rates },
    { "cable", CABLES, false, read_cable },
    { "lft", TABLES, false, read_lft },
};

/* Check that the file is complete. */
static int finish (struct fabric_reader *r, struct error *err)
{
    if (finish_lft (r, err) < 0 || fabric_finish (r->f, err) < 0)
        return -1;
    return digest_agrees (r->hash, r->f->hash)
               ? 0
               : error_input (err, "the fabric is not the one whose hash the "
                                   "file gives");
}

static int read_line (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    const char *name;

    if (!w)
        return finish (r, err);
    r->w = w;
    if (*w->next >= '0' && *w->next <= '9')
        return read_entries (r, err);
    if (finish_lft (r, err) < 0)
        return -1;
    name = words_next (r->w);
    for (size_t i = 0; i < sizeof (keywords) / sizeof (keywords[0]); i++) {
        const struct fabric_keyword *k = &keywords[i];

        if (strcmp (name, k->name) != 0)
            continue;
        if (k->section < r->section)
            return error_input (err, "a %s line is out of place", name);
        if (k->once && r->seen & 1U << i)
            return error_input (err, "a second %s line", name);
        r->seen |= 1U << i;
        r->section = k->section;
        return k->read (r, err);
    }
    return error_input (err, "\"%.40s\" starts no line of a fabric snapshot",
                        name);
}

struct fabric *fabric_read (FILE *fp, const char *name, struct error *err)
{
    struct fabric_reader r = { .f = fabric_create (),
                        .lft = xarray (FABRIC_MAX_LID + 1, 1) };
    int rc = lines_read (fp, name, &format, read_line, &r, err);

    free (r.lft);
    if (rc < 0) {
        fabric_destroy (r.f);
        return NULL;
    }
    return r.f;
}

struct fabric *fabric_load (const char *path, struct error *err)
{
    FILE *fp = file_open_input (path, err);
    struct fabric *f;

    if (!fp)
        return NULL;
    f = fabric_read (fp, strcmp (path, "-") == 0 ? "standard input" : path,
                     err);
    file_close_input (fp);
    return f;
}

struct fabric *fabric_load_trusted (const char *path, uid_t owner,
                                    struct timespec *date,
                                    struct error *err)
{
    FILE *fp = file_open_trusted (path, owner, err);
    struct fabric *f = NULL;
    struct stat st;

    if (!fp)
        return NULL;
    if (fstat (fileno (fp), &st) < 0)
        error_errno (err, "%s", path);
    else if ((f = fabric_read (fp, path, err)) && date)
        *date = st.st_mtim;
    fclose (fp);
    return f;
}
