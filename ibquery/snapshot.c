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
#include "util/text.h"

enum {
    MAX_HEX = 512,  /* table entries of one line */
    MIN_RUN = 16,   /* a shorter run is not worth a line */
    TABLES_MIN = 1 << 20,
    TABLES_FACTOR = 64,
};

/* Read */

enum section { HEADER, NODES, CABLES, TABLES };

struct fabric_reader {
    struct fabric *f;
    uint32_t node;       /* of the table that is being read */
    char hash[DIGEST_HEX];
    uint8_t *lft;        /* the table that is being read */
    bool in_lft;
    unsigned int lft_top, lft_next;
    size_t lft_size;     /* bytes of all tables */
};

static int find_node (const struct fabric_reader *r, uint64_t guid,
                      uint32_t *node, struct error *err)
{
    *node = fabric_find_node (r->f, guid);
    return *node != FABRIC_NONE
               ? 0
               : error_input (err, "there is no node %016" PRIx64 " above",
                              guid);
}

/* The GUID of a node that the file has named before. */
static int take_node (struct fabric_reader *r, struct words *w, uint32_t *node,
                      struct error *err)
{
    uint64_t guid = 0;

    if (words_guid (w, &guid, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

/* GUID/PORT */
static int take_end (struct fabric_reader *r, struct words *w, uint32_t *node,
                     unsigned int *port, struct error *err)
{
    uint64_t guid = 0;

    if (words_port (w, &guid, port, err) < 0)
        return -1;
    return find_node (r, guid, node, err);
}

static int read_source (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;

    (void)err;
    fabric_set_source (r->f, words_rest (w), r->f->time);
    return 0;
}

static int read_time (void *arg, struct words *w, struct error *err)
{
    return words_time (w, &((struct fabric_reader *)arg)->f->time, err);
}

static int read_subnet (void *arg, struct words *w, struct error *err)
{
    return words_guid (w, &((struct fabric_reader *)arg)->f->subnet, err);
}

static int read_part (void *arg, struct words *w, struct error *err)
{
    (void)w;
    (void)err;
    ((struct fabric_reader *)arg)->f->part = true;
    return 0;
}

static int read_hash (void *arg, struct words *w, struct error *err)
{
    return words_hash (w, ((struct fabric_reader *)arg)->hash, err);
}

static int read_warning (void *arg, struct words *w, struct error *err)
{
    (void)err;
    fabric_warn (((struct fabric_reader *)arg)->f, "%s", words_rest (w));
    return 0;
}

/* "ca", "switch" or "router" */
static int read_node (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t guid = 0, nports = 0, lid = 0;
    enum node_type type = NODE_CA;
    int64_t node;

    while (strcmp (fabric_type_name (type), w->keyword) != 0)
        type++;
    if (words_guid (w, &guid, err) < 0
        || words_number (w, UINT8_MAX, "number of ports", &nports, err) < 0
        || (type == NODE_SWITCH
            && words_number (w, FABRIC_MAX_LID, "LID", &lid, err) < 0))
        return -1;
    node = fabric_add_node (r->f, guid, type, nports, words_rest (w), err);
    return node < 0 ? -1 : fabric_set_switch_lid (r->f, node, lid, err);
}

static int read_port (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t guid = 0, lid = 0, lmc = 0;
    unsigned int port;
    uint32_t node;

    if (take_end (r, w, &node, &port, err) < 0 || words_guid (w, &guid, err) < 0
        || words_number (w, FABRIC_MAX_LID, "LID", &lid, err) < 0
        || words_number (w, FABRIC_MAX_LMC, "LMC", &lmc, err) < 0)
        return -1;
    if (r->f->node[node].type == NODE_SWITCH)
        return error_input (err, "a switch's ports have no LIDs");
    return fabric_set_port (r->f, node, port, guid, lid, lmc, err);
}

static int read_rates (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    struct port_rates rates;
    struct rates *const set[]
        = { &rates.supported, &rates.enabled, &rates.active };
    struct fabric_port *p;
    unsigned int port;
    uint32_t node;

    if (take_end (r, w, &node, &port, err) < 0)
        return -1;
    for (int i = 0; i < 3; i++) {
        const char *text = words_next (w);

        if (rates_parse (text, set[i]) < 0)
            return error_input (err, "\"%.60s\" is not a set of rates", text);
    }
    if (!(p = fabric_port_at (r->f, node, port, err)))
        return -1;
    p->rates = rates;
    return 0;
}

static int read_lrtl (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t lrtl = 0;
    struct fabric_port *p;
    unsigned int port;
    uint32_t node;

    if (take_end (r, w, &node, &port, err) < 0
        || words_number (w, FABRIC_MAX_LRTL, "LinkRoundTripLatency", &lrtl, err)
               < 0
        || !(p = fabric_port_at (r->f, node, port, err)))
        return -1;
    p->lrtl = lrtl;
    return 0;
}

static int read_system (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint32_t node;

    return take_node (r, w, &node, err) < 0
               ? -1
               : words_guid (w, &r->f->node[node].system, err);
}

static int read_adaptive (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    struct fabric_node *n;
    uint32_t node;
    uint64_t ud = 0, rc = 0;

    if (take_node (r, w, &node, err) < 0
        || words_hex (w, 4, "set of service levels", &ud, err) < 0
        || words_hex (w, 4, "set of service levels", &rc, err) < 0)
        return -1;
    n = &r->f->node[node];
    if (n->type != NODE_SWITCH)
        return error_input (err, "%s %016" PRIx64 " does not route",
                            fabric_type_name (n->type), n->guid);
    n->spread = (struct fabric_spread){
        .known = true, .ud = ud, .rc = rc,
    };
    return 0;
}

static int read_state (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    struct fabric_port *p;
    unsigned int port;
    const char *name;
    uint32_t node;
    int state;

    if (take_end (r, w, &node, &port, err) < 0)
        return -1;
    name = words_next (w);
    if ((state = fabric_find_state (name)) < 0)
        return error_input (err, "\"%.40s\" is not a state of a port", name);
    if (!(p = fabric_port_at (r->f, node, port, err)))
        return -1;
    p->state = state;
    return 0;
}

/* Width and speed are "4xHDR", "?xHDR", "4x?" or "-". */
static int read_cable (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    unsigned int port_a, port_b;
    struct rates rate;
    const char *text;
    uint32_t a, b;

    if (take_end (r, w, &a, &port_a, err) < 0
        || take_end (r, w, &b, &port_b, err) < 0)
        return -1;
    text = words_next (w);
    if (rates_parse (text, &rate) < 0 || strchr (text, ','))
        return error_input (err, "\"%.40s\" is not a width and speed", text);
    return fabric_add_cable (r->f, a, port_a, b, port_b, rates_lanes (&rate),
                             rates_speed (&rate), err);
}

static int finish_lft (struct fabric_reader *r, struct error *err)
{
    bool open = r->in_lft;

    r->in_lft = false;
    return open ? fabric_set_lft (r->f, r->node, r->lft, r->lft_top, err) : 0;
}

static int read_lft (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t top;

    if (finish_lft (r, err) < 0 || take_node (r, w, &r->node, err) < 0
        || words_number (w, FABRIC_MAX_LID, "LID", &top, err) < 0)
        return -1;
    r->lft_size += top + 1;
    if (r->lft_size > TABLES_MIN + TABLES_FACTOR * w->file)
        return error_input (err, "the forwarding tables are too large for "
                                 "the length of the file");
    r->lft_top = top;
    r->lft_next = 0;
    r->in_lft = true;
    memset (r->lft, LFT_NO_ROUTE, top + 1);
    return 0;
}

/* "FIRST HEX...", or "FIRST-LAST HEX" for a run */
static int read_entries (void *arg, struct words *w, struct error *err)
{
    static const char digits[] = "0123456789abcdef";
    struct fabric_reader *r = arg;
    struct words low = { 0 }, high = { 0 };
    uint64_t first = 0, last = 0;
    const char *hex;
    bool is_run;
    size_t len;

    if (!r->in_lft)
        return error_input (err, "table entries without a table");
    low.next = words_next (w);
    high.next = strchr (low.next, '-');
    is_run = high.next;
    if (is_run)
        *high.next++ = '\0';
    if (words_number (&low, FABRIC_MAX_LID, "LID", &first, err) < 0
        || (is_run
            && words_number (&high, FABRIC_MAX_LID, "LID", &last, err) < 0))
        return -1;
    hex = words_next (w);
    len = strlen (hex);
    if (len == 0 || len % 2 != 0 || (is_run && len != 2))
        return error_input (err, "%zu hex digits are not table entries", len);
    if (!is_run)
        last = first + len / 2 - 1;
    if (first < r->lft_next || last < first || last > r->lft_top)
        return error_input (err, "LIDs %u to %u do not belong here",
                            (unsigned int)first, (unsigned int)last);
    for (unsigned int lid = first; lid <= last; lid++) {
        const char *a = strchr (digits, hex[0]), *b = strchr (digits, hex[1]);

        if (!a || !b)
            return error_input (err, "\"%.2s\" is not a port in hex", hex);
        r->lft[lid] = (a - digits) << 4 | (b - digits);
        if (!is_run)
            hex += 2;
    }
    r->lft_next = last + 1;
    return 0;
}

static const struct lines_keyword keywords[] = {
    { "generator", HEADER, true, false, lines_ignore },
    { "source", HEADER, true, false, read_source },
    { "time", HEADER, true, false, read_time },
    { "subnet", HEADER, true, false, read_subnet },
    { "part", HEADER, true, false, read_part },
    { "hash", HEADER, true, false, read_hash },
    { "warning", HEADER, false, false, read_warning },
    { "ca", NODES, false, false, read_node },
    { "switch", NODES, false, false, read_node },
    { "router", NODES, false, false, read_node },
    { "system", NODES, false, false, read_system },
    { "adaptive", NODES, false, false, read_adaptive },
    { "state", NODES, false, false, read_state },
    { "port", NODES, false, false, read_port },
    { "rates", NODES, false, false, read_rates },
    { "lrtl", NODES, false, false, read_lrtl },
    { "cable", CABLES, false, false, read_cable },
    { "lft", TABLES, false, false, read_lft },
    { .fn = read_entries },
};

static const struct lines_format format = {
    .magic = "pmm-fabric",
    .what = "fabric snapshot",
    .keyword = keywords,
};

/* Check that the file is complete. */
static int finish (void *arg, struct error *err)
{
    struct fabric_reader *r = arg;

    if (finish_lft (r, err) < 0 || fabric_finish (r->f, err) < 0)
        return -1;
    return digest_agrees (r->hash, r->f->hash)
               ? 0
               : error_input (err, "the fabric is not the one whose hash the "
                                   "file gives");
}

struct fabric *fabric_read (FILE *fp, const char *name, struct error *err)
{
    struct fabric_reader r = { .f = fabric_create (),
                               .lft = xarray (FABRIC_MAX_LID + 1, 1) };
    int rc = lines_read (fp, name, &format, finish, &r, err);

    free (r.lft);
    if (rc == 0)
        return r.f;
    fabric_destroy (r.f);
    return NULL;
}

/* Read one snapshot, of a trusted owner unless that is NULL. */
static struct fabric *load (const char *path, const uid_t *owner,
                            struct error *err)
{
    FILE *fp = owner ? file_open_trusted (path, *owner, err)
                     : file_open_input (path, err);
    struct fabric *f;

    if (!fp)
        return NULL;
    f = fabric_read (fp, strcmp (path, "-") == 0 ? "standard input" : path,
                     err);
    file_close_input (fp);
    return f;
}

/* Read all snapshots, and join them if they are several. */
static struct fabric *load_all (const char *paths, const uid_t *owner,
                                struct error *err)
{
    struct fabric *part[FABRIC_MAX_SUBNETS], *f = NULL;
    char *name[FABRIC_MAX_SUBNETS], path[TEXT_PATH];
    size_t n = 0;
    int rc = 0;

    while (rc == 0 && text_next (&paths, path)) {
        if (n == FABRIC_MAX_SUBNETS)
            rc = error_input (err, "more than %d snapshots: %s", (int)n,
                              SHOWN (path));
        else if (!(part[n] = load (path, owner, err)))
            rc = -1;
        else
            name[n++] = xstrdup (path);
    }
    if (rc == 0 && n == 0)
        error_input (err, "no snapshot is named");
    else if (rc == 0)
        f = n == 1 ? part[0]
                   : fabric_join (part, (const char *const *)name, n, err);
    for (size_t i = 0; i < n; i++) {
        if (part[i] != f)
            fabric_destroy (part[i]);
        free (name[i]);
    }
    return f;
}

struct fabric *fabric_load (const char *paths, struct error *err)
{
    return load_all (paths, NULL, err);
}

struct fabric *fabric_load_trusted (const char *paths, uid_t owner,
                                    struct error *err)
{
    return load_all (paths, &owner, err);
}

int fabric_date (const char *paths, struct timespec *date)
{
    char path[TEXT_PATH];
    struct stat st;

    *date = (struct timespec){ 0 };
    while (text_next (&paths, path)) {
        if (stat (path, &st) < 0)
            return -1;
        if (st.st_mtim.tv_sec > date->tv_sec
            || (st.st_mtim.tv_sec == date->tv_sec
                && st.st_mtim.tv_nsec > date->tv_nsec))
            *date = st.st_mtim;
    }
    return 0;
}

/* Write */

/* Write a node, and what differs from the usual in its ports. */
static void put_node (struct lines_out *w, const struct fabric *f,
                      const struct fabric_node *n)
{
    static const struct port_rates none;
    bool is_switch = n->type == NODE_SWITCH;
    char lid[8] = "";

    if (is_switch)
        snprintf (lid, sizeof (lid), " %u", n->lid);
    lines_put (w, "%s %016" PRIx64 " %u%s%s%s", fabric_type_name (n->type),
               n->guid, n->nports, lid, *n->desc ? " " : "", n->desc);
    if (n->system != 0)
        lines_put (w, "system %016" PRIx64 " %016" PRIx64, n->guid, n->system);
    if (n->spread.known)
        lines_put (w, "adaptive %016" PRIx64 " %04x %04x", n->guid,
                   n->spread.ud, n->spread.rc);
    for (unsigned int i = 0; i < n->nports; i++) {
        const struct fabric_port *p = &f->port[n->first_port + i];

        if (p->link != FABRIC_NONE && p->state != PORT_UNKNOWN
            && p->state != PORT_ACTIVE)
            lines_put (w, "state %016" PRIx64 "/%u %s", n->guid, p->num,
                       fabric_state_name (p->state));
        if (!is_switch && (p->guid != 0 || p->lid != 0))
            lines_put (w, "port %016" PRIx64 "/%u %016" PRIx64 " %u %u",
                       n->guid, p->num, p->guid, p->lid, p->lmc);
    }
    for (unsigned int i = 0; i < n->nports; i++) {
        const struct fabric_port *p = &f->port[n->first_port + i];
        const struct port_rates *r = &p->rates;
        char supported[RATES_TEXT], enabled[RATES_TEXT], active[RATES_TEXT];

        if (memcmp (r, &none, sizeof (none)) != 0)
            lines_put (w, "rates %016" PRIx64 "/%u %s %s %s", n->guid, i + 1,
                       rates_format (&r->supported, supported),
                       rates_format (&r->enabled, enabled),
                       rates_format (&r->active, active));
        if (p->lrtl != 0)
            lines_put (w, "lrtl %016" PRIx64 "/%u %" PRIu32, n->guid, p->num,
                       p->lrtl);
    }
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

    if (f->nsubnets > 0)
        return error_input (err, "a snapshot is of one subnet, not of %zu",
                            f->nsubnets);
    lines_begin (&w, fp, &format);
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
    for (size_t i = 0; i < f->nnodes; i++)
        put_node (&w, f, &f->node[i]);
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct fabric_port *b = &f->port[l->b];
        const struct rates rate = rates_of (l->width, l->speed);
        char text[RATES_TEXT];

        lines_put (&w, "cable %s %016" PRIx64 "/%u %s", l->id,
                   f->node[b->node].guid, b->num, rates_format (&rate, text));
    }
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].lft)
            put_lft (&w, &f->node[i]);
    return lines_end (&w, err);
}
