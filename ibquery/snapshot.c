/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Notes
 *
 * The reader has a table with one row per keyword, in the order of the
 * sections. The lines of a table by LID start with a digit and follow the line
 * that begins it. Runs in tables could let a small file use much memory, so all
 * tables together may hold TABLES_MIN bytes plus TABLES_FACTOR times the file's
 * length; real fabrics stay far below.
 *
 * Most entries of a table of groups have the port of the forwarding table as
 * their static port, and LIDs that are neighbours have the same group. So the
 * static ports that are others have a table of their own, and the groups fold
 * into runs.
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
    MAX_HEX = 1024, /* digits of table entries of one line */
    MIN_RUN = 32,   /* digits; a shorter run is not worth a line */
    GROUP_BITS = 12, /* of an entry: below its state */
    GROUP_MASK = (1 << GROUP_BITS) - 1,
    TABLES_MIN = 1 << 20,
    TABLES_FACTOR = 64,
};

#define UNLISTED UINT32_MAX /* for a LID that a table leaves out */

/* Read */

enum section { HEADER, NODES, CABLES, TABLES };

struct fabric_reader;

/* A kind of table by LID. */
struct table {
    int digits;  /* hexadecimal ones of an entry */
    const char *what;
    int (*finish) (struct fabric_reader *r, struct error *err);
};

struct fabric_reader {
    struct fabric *f;
    char hash[DIGEST_HEX];
    const struct table *table; /* that is being read; NULL: none */
    uint32_t node;       /* of the table */
    uint32_t *value;     /* [top + 1] by LID; UNLISTED */
    unsigned int top, next;
    size_t size;         /* bytes of all tables */
    struct spread_group *group; /* [ngroups] of the table */
    unsigned int ngroups, next_group;
};

static int find_snapshot_node (const struct fabric_reader *r, uint64_t guid,
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
    return find_snapshot_node (r, guid, node, err);
}

/* GUID/PORT */
static int take_end (struct fabric_reader *r, struct words *w, uint32_t *node,
                     unsigned int *port, struct error *err)
{
    uint64_t guid = 0;

    if (words_port (w, &guid, port, err) < 0)
        return -1;
    return find_snapshot_node (r, guid, node, err);
}

/* A port that the file has named before; NULL with err. */
static struct fabric_port *take_port (struct fabric_reader *r, struct words *w,
                                      struct error *err)
{
    unsigned int port;
    uint32_t node;

    return take_end (r, w, &node, &port, err) < 0
               ? NULL
               : fabric_port_at (r->f, node, port, err);
}

static int read_snapshot_source (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;

    (void)err;
    fabric_set_source (r->f, words_rest (w), r->f->time);
    return 0;
}

static int read_snapshot_time (void *arg, struct words *w, struct error *err)
{
    return words_time (w, &((struct fabric_reader *)arg)->f->time, err);
}

static int read_subnet (void *arg, struct words *w, struct error *err)
{
    return words_guid (w, &((struct fabric_reader *)arg)->f->subnet, err);
}

static int read_snapshot_part (void *arg, struct words *w, struct error *err)
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
static int read_snapshot_node (void *arg, struct words *w, struct error *err)
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

static int read_snapshot_port (void *arg, struct words *w, struct error *err)
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
    struct port_rates rates;
    struct rates *const set[]
        = { &rates.supported, &rates.enabled, &rates.active };
    struct fabric_port *p = take_port (arg, w, err);

    if (!p)
        return -1;
    for (int i = 0; i < 3; i++) {
        const char *text = words_next (w);

        if (rates_parse (text, set[i]) < 0)
            return error_input (err, "\"%.60s\" is not a set of rates", text);
    }
    p->rates = rates;
    return 0;
}

static int read_lrtl (void *arg, struct words *w, struct error *err)
{
    struct fabric_port *p = take_port (arg, w, err);
    uint64_t lrtl = 0;

    if (!p || words_number (w, FABRIC_MAX_LRTL, "LinkRoundTripLatency", &lrtl,
                            err) < 0)
        return -1;
    p->lrtl = lrtl;
    return 0;
}

static int read_snapshot_plug (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    struct fabric_port *p = take_port (r, w, err);

    if (!p)
        return -1;
    fabric_set_plug (r->f, p, words_rest (w));
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

static int read_product (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t vendor = 0, device = 0;
    uint32_t node;

    if (take_node (r, w, &node, err) < 0
        || words_hex (w, 6, "VendorID", &vendor, err) < 0
        || words_hex (w, 4, "DeviceID", &device, err) < 0)
        return -1;
    r->f->node[node].vendor = vendor;
    r->f->node[node].device = device;
    return 0;
}

/* A switch that the file has named before. */
static int take_switch (struct fabric_reader *r, struct words *w,
                        struct fabric_node **n, struct error *err)
{
    uint32_t node;

    if (take_node (r, w, &node, err) < 0)
        return -1;
    *n = &r->f->node[node];
    return (*n)->type == NODE_SWITCH
               ? 0
               : error_input (err, "%s %016" PRIx64 " does not route",
                              fabric_type_name ((*n)->type), (*n)->guid);
}

static int read_level_mask (struct words *w, uint16_t *levels,
                            struct error *err)
{
    uint64_t mask = 0;

    if (words_hex (w, 4, "set of service levels", &mask, err) < 0)
        return -1;
    *levels = mask;
    return 0;
}

static int read_adaptive (void *arg, struct words *w, struct error *err)
{
    struct fabric_node *n;

    if (take_switch (arg, w, &n, err) < 0)
        return -1;
    n->spread.known = true;
    return read_level_mask (w, &n->spread.ud, err) < 0
               ? -1
               : read_level_mask (w, &n->spread.rc, err);
}

/* "hashed", "recovery" or "private" */
static int read_snapshot_spread (void *arg, struct words *w, struct error *err)
{
    struct fabric_node *n;

    if (take_switch (arg, w, &n, err) < 0)
        return -1;
    if (!n->spread.known)
        return error_input (err, "there is no adaptive line for switch "
                                 "%016" PRIx64 " above", n->guid);
    if (*w->keyword == 'h')
        return read_level_mask (w, &n->spread.hashed, err);
    *(*w->keyword == 'r' ? &n->spread.recovery : &n->spread.private_lfts)
        = true;
    return 0;
}

static int read_drops (void *arg, struct words *w, struct error *err)
{
    struct fabric_port *p = take_port (arg, w, err);

    return p ? read_level_mask (w, &p->dropped, err) : -1;
}

static int read_snapshot_state (void *arg, struct words *w, struct error *err)
{
    struct fabric_port *p = take_port (arg, w, err);
    const char *name;
    int state;

    if (!p)
        return -1;
    name = words_next (w);
    if ((state = fabric_find_state (name)) < 0)
        return error_input (err, "\"%.40s\" is not a state of a port", name);
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
    if (rates_parse_one (text, &rate) < 0)
        return error_input (err, "\"%.40s\" is not a width and speed", text);
    return fabric_add_cable (r->f, a, port_a, b, port_b, rates_lanes (&rate),
                             rates_speed (&rate), err);
}

/* Tables by LID */

static int finish_table (struct fabric_reader *r, struct error *err)
{
    const struct table *t = r->table;

    r->table = NULL;
    return t ? t->finish (r, err) : 0;
}

static int begin_table (struct fabric_reader *r, const struct words *w,
                        const struct table *table, unsigned int top,
                        size_t bytes, struct error *err)
{
    r->size += bytes;
    if (r->size > TABLES_MIN + TABLES_FACTOR * w->file)
        return error_input (err, "the tables are too large for the length of "
                                 "the file");
    r->table = table;
    r->top = top;
    r->next = 0;
    memset (r->value, 0xff, (top + 1) * sizeof (*r->value)); /* UNLISTED */
    return 0;
}

static int finish_lft (struct fabric_reader *r, struct error *err)
{
    uint8_t *lft = xarray (r->top + 1U, 1);
    const uint32_t *restrict value = r->value;
    unsigned int n = r->top + 1;
    int rc;

    for (unsigned int lid = 0; lid < n; lid++)
        lft[lid] = value[lid] == UNLISTED ? LFT_NO_ROUTE : value[lid];
    rc = fabric_set_lft (r->f, r->node, lft, r->top, err);
    free (lft);
    return rc;
}

static int read_lft (void *arg, struct words *w, struct error *err)
{
    static const struct table table = { 2, "port", finish_lft };
    struct fabric_reader *r = arg;
    uint64_t top;

    return finish_table (r, err) < 0 || take_node (r, w, &r->node, err) < 0
                   || words_number (w, FABRIC_MAX_LID, "LID", &top, err) < 0
               ? -1
               : begin_table (r, w, &table, top, top + 1, err);
}

static int finish_groups (struct fabric_reader *r, struct error *err)
{
    const struct fabric_node *n = &r->f->node[r->node];
    struct spread_entry *entry = xarray (r->top + 1U, sizeof (*entry));
    int rc;

    for (unsigned int lid = 0; lid <= r->top; lid++) {
        uint32_t v = r->value[lid];

        entry[lid] = (struct spread_entry){
            .state = v == UNLISTED ? SPREAD_STATIC : v >> GROUP_BITS,
            .port = fabric_entry (n, lid),
            .group = v == UNLISTED ? 0 : v & GROUP_MASK,
        };
    }
    rc = fabric_set_groups (r->f, r->node, r->group, r->ngroups, entry, err);
    free (entry);
    return rc;
}

static const struct table groups = { 4, "group", finish_groups };

static int read_groups (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    const struct fabric_node *node;
    unsigned int top;
    uint64_t n;

    if (finish_table (r, err) < 0 || take_node (r, w, &r->node, err) < 0
        || words_number (w, FABRIC_MAX_GROUPS, "number of groups", &n, err)
               < 0)
        return -1;
    node = &r->f->node[r->node];
    if (!node->lft)
        return error_input (err, "there is no forwarding table of %016" PRIx64
                                 " above", node->guid);
    top = node->lft_top;
    r->ngroups = n;
    r->next_group = 0;
    memset (r->group, 0, n * sizeof (*r->group));
    return begin_table (r, w, &groups, top,
                        n * sizeof (*r->group)
                            + (top + 1) * sizeof (struct spread_entry),
                        err);
}

static int finish_static (struct fabric_reader *r, struct error *err)
{
    const struct fabric_node *n = &r->f->node[r->node];

    for (unsigned int lid = 0; lid <= r->top; lid++) {
        if (r->value[lid] == UNLISTED)
            continue;
        if (r->value[lid] > n->nports && r->value[lid] != LFT_NO_ROUTE)
            return error_input (err, "switch %016" PRIx64 " has no port %u",
                                n->guid, r->value[lid]);
        n->spread.entry[lid].port = r->value[lid];
    }
    return 0;
}

static int read_static (void *arg, struct words *w, struct error *err)
{
    static const struct table table = { 2, "port", finish_static };
    struct fabric_reader *r = arg;

    if (r->table != &groups)
        return error_input (err, "static ports without a table of groups");
    return finish_table (r, err) < 0
               ? -1
               : begin_table (r, w, &table, r->top, 0, err);
}

/* "FIRST-LAST", then *last is set, or "FIRST", then it is not. */
static int take_range (struct words *w, uint64_t max, const char *what,
                       uint64_t *first, uint64_t *last, struct error *err)
{
    struct words low = { .next = words_next (w) };
    struct words high = { .next = strchr (low.next, '-') };
    bool is_run = high.next;

    if (is_run)
        *high.next++ = '\0';
    return words_number (&low, max, what, first, err) < 0
                   || (is_run && words_number (&high, max, what, last, err) < 0)
               ? -1
               : is_run;
}

/* "FIRST MASK", or "FIRST-LAST MASK" for a run */
static int read_group (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    struct spread_group g = { 0 };
    uint64_t first = 0, last = 0;
    const char *hex;
    size_t len;
    int run;

    if (r->table != &groups)
        return error_input (err, "a group without a table of groups");
    run = take_range (w, FABRIC_MAX_GROUPS - 1, "group", &first, &last, err);
    if (run < 0)
        return -1;
    if (!run)
        last = first;
    if (first < r->next_group || last < first || last >= r->ngroups)
        return error_input (err, "groups %u to %u do not belong here",
                            (unsigned int)first, (unsigned int)last);
    hex = words_next (w);
    len = strlen (hex);
    if (len == 0 || len > 64 || *hex == '0')
        return error_input (err, "\"%.70s\" is not a set of ports", hex);
    for (size_t left = len; left > 0; left -= (left - 1) % 16 + 1)
        if (lines_hex (hex + len - left, (left - 1) % 16 + 1,
                       &g.port[(left - 1) / 16]) < 0)
            return error_input (err, "\"%s\" is not a set of ports in hex",
                                hex);
    for (unsigned int i = first; i <= last; i++)
        r->group[i] = g;
    r->next_group = last + 1;
    return 0;
}

/* The values of n entries. Inline, as the digits of an entry are a constant then:
 * this is most of the time that a snapshot takes.
 */
static inline int take_entries (const char *hex, size_t digits, size_t n,
                                uint32_t *restrict value)
{
    unsigned int all = 16;

    for (size_t i = 0; i < n; i++) {
        value[i] = 0;
        for (size_t k = 0; k < digits; k++) {
            unsigned int digit = lines_digit[(uint8_t)*hex++];

            all &= digit;
            value[i] = value[i] << 4 | (digit & 15);
        }
    }
    return all ? 0 : -1;
}

/* "FIRST HEX...", or "FIRST-LAST HEX" for a run */
static int read_entries (void *arg, struct words *w, struct error *err)
{
    struct fabric_reader *r = arg;
    uint64_t first = 0, last = 0;
    size_t len, digits, n;
    uint32_t *value;
    const char *hex;
    int run;

    if (!r->table)
        return error_input (err, "table entries without a table");
    run = take_range (w, FABRIC_MAX_LID, "LID", &first, &last, err);
    if (run < 0)
        return -1;
    digits = r->table->digits;
    hex = words_next (w);
    len = strlen (hex);
    if (len == 0 || len % digits != 0 || (run && len != digits))
        return error_input (err, "%zu hex digits are not table entries", len);
    n = len / digits;
    if (!run)
        last = first + n - 1;
    if (first < r->next || last < first || last > r->top)
        return error_input (err, "LIDs %u to %u do not belong here",
                            (unsigned int)first, (unsigned int)last);
    value = r->value + first;
    if ((digits == 2 ? take_entries (hex, 2, n, value)
                     : take_entries (hex, digits, n, value))
        < 0) {
        hex += strspn (hex, "0123456789abcdef") / digits * digits;
        return error_input (err, "\"%.*s\" is not a %s in hex", (int)digits,
                            hex, r->table->what);
    }
    for (uint64_t lid = first + n; lid <= last; lid++)
        r->value[lid] = *value;
    r->next = last + 1;
    return 0;
}

static const struct lines_keyword keywords[] = {
    { "generator", HEADER, true, false, lines_ignore },
    { "source", HEADER, true, false, read_snapshot_source },
    { "time", HEADER, true, false, read_snapshot_time },
    { "subnet", HEADER, true, false, read_subnet },
    { "part", HEADER, true, false, read_snapshot_part },
    { "hash", HEADER, true, false, read_hash },
    { "warning", HEADER, false, false, read_warning },
    { "ca", NODES, false, false, read_snapshot_node },
    { "switch", NODES, false, false, read_snapshot_node },
    { "router", NODES, false, false, read_snapshot_node },
    { "system", NODES, false, false, read_system },
    { "product", NODES, false, false, read_product },
    { "adaptive", NODES, false, false, read_adaptive },
    { "hashed", NODES, false, false, read_snapshot_spread },
    { "recovery", NODES, false, false, read_snapshot_spread },
    { "private", NODES, false, false, read_snapshot_spread },
    { "state", NODES, false, false, read_snapshot_state },
    { "port", NODES, false, false, read_snapshot_port },
    { "rates", NODES, false, false, read_rates },
    { "lrtl", NODES, false, false, read_lrtl },
    { "drops", NODES, false, false, read_drops },
    { "plug", NODES, false, false, read_snapshot_plug },
    { "cable", CABLES, false, false, read_cable },
    { "lft", TABLES, false, false, read_lft },
    { "groups", TABLES, false, false, read_groups },
    { "group", TABLES, false, false, read_group },
    { "static", TABLES, false, false, read_static },
    { .fn = read_entries },
};

static const struct lines_format format = {
    .magic = "pmm-fabric", .what = "fabric snapshot", .keyword = keywords,
};

/* Check that the file is complete. */
static int finish_snapshot (void *arg, struct error *err)
{
    struct fabric_reader *r = arg;

    if (finish_table (r, err) < 0 || fabric_finish (r->f, err) < 0)
        return -1;
    return digest_agrees (r->hash, r->f->hash)
               ? 0
               : error_input (err, "the fabric is not the one whose hash the "
                                   "file gives");
}

struct fabric *fabric_read (FILE *fp, const char *name, struct error *err)
{
    struct fabric_reader r = {
        .f = fabric_create (),
        .value = xarray (FABRIC_MAX_LID + 1, sizeof (*r.value)),
        .group = xarray (FABRIC_MAX_GROUPS, sizeof (*r.group)),
    };
    int rc = lines_read (fp, name, &format, finish_snapshot, &r, err);

    free (r.value);
    free (r.group);
    if (rc == 0)
        return r.f;
    fabric_destroy (r.f);
    return NULL;
}

/* Read one snapshot, of a trusted owner unless that is NULL. */
static struct fabric *load_snapshot (const char *path, const uid_t *owner,
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
        else if (!(part[n] = load_snapshot (path, owner, err)))
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
static void write_snapshot_node (struct lines_out *w, const struct fabric *f,
                                 const struct fabric_node *n)
{
    static const struct port_rates none;
    const struct fabric_spread *a = &n->spread;
    bool is_switch = n->type == NODE_SWITCH;
    char lid[8] = "";

    if (is_switch)
        snprintf (lid, sizeof (lid), " %u", n->lid);
    lines_put (w, "%s %016" PRIx64 " %u%s%s%s", fabric_type_name (n->type),
               n->guid, n->nports, lid, *n->desc ? " " : "", n->desc);
    if (n->system != 0)
        lines_put (w, "system %016" PRIx64 " %016" PRIx64, n->guid, n->system);
    if (n->device != 0)
        lines_put (w, "product %016" PRIx64 " %06" PRIx32 " %04x", n->guid,
                   n->vendor, n->device);
    if (a->known)
        lines_put (w, "adaptive %016" PRIx64 " %04x %04x", n->guid, a->ud,
                   a->rc);
    if (a->known && a->hashed)
        lines_put (w, "hashed %016" PRIx64 " %04x", n->guid, a->hashed);
    if (a->known && a->recovery)
        lines_put (w, "recovery %016" PRIx64, n->guid);
    if (a->known && a->private_lfts)
        lines_put (w, "private %016" PRIx64, n->guid);
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

        if (memcmp (r, &none, sizeof (none)) != 0)
            lines_put (w, "rates %016" PRIx64 "/%u %s %s %s", n->guid, i + 1,
                       RATES_SHOWN (&r->supported), RATES_SHOWN (&r->enabled),
                       RATES_SHOWN (&r->active));
        if (p->lrtl != 0)
            lines_put (w, "lrtl %016" PRIx64 "/%u %" PRIu32, n->guid, p->num,
                       p->lrtl);
        if (p->dropped != 0)
            lines_put (w, "drops %016" PRIx64 "/%u %04x", n->guid, p->num,
                       p->dropped);
        if (p->plug)
            lines_put (w, "plug %016" PRIx64 "/%u %s", n->guid, p->num,
                       p->plug);
    }
}

static unsigned int lft_run_length (const uint32_t *v, unsigned int lid,
                                    unsigned int top)
{
    unsigned int end = lid;

    while (end <= top && v[end] == v[lid])
        end++;
    return end - lid;
}

/* Write the entries of a table, without those that are UNLISTED. */
static void put_entries (struct lines_out *w, const uint32_t *v,
                         unsigned int top, int digits)
{
    char hex[MAX_HEX + 1];
    unsigned int lid = 0;

    while (lid <= top) {
        unsigned int length = lft_run_length (v, lid, top), first = lid, k = 0;

        if (v[lid] == UNLISTED) {
            lid += length;
            continue;
        }
        if (length * digits >= MIN_RUN) {
            lines_put (w, "%u-%u %0*x", lid, lid + length - 1, digits, v[lid]);
            lid += length;
            continue;
        }
        while (lid <= top && v[lid] != UNLISTED) {
            length = lft_run_length (v, lid, top);
            if (length * digits >= MIN_RUN || k + length * digits > MAX_HEX)
                break;
            for (; length > 0; length--, lid++)
                for (int i = digits - 1; i >= 0; i--)
                    hex[k++] = "0123456789abcdef"[v[lid] >> 4 * i & 15];
        }
        hex[k] = '\0';
        lines_put (w, "%u %s", first, hex);
    }
}

static void put_group (struct lines_out *w, const struct spread_group *g,
                       unsigned int first, unsigned int last)
{
    char range[32], hex[4 * 16 + 1];
    const char *mask = hex;

    snprintf (hex, sizeof (hex),
              "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64,
              g->port[3], g->port[2], g->port[1], g->port[0]);
    mask += strspn (mask, "0");
    if (first == last)
        snprintf (range, sizeof (range), "%u", first);
    else
        snprintf (range, sizeof (range), "%u-%u", first, last);
    if (*mask)
        lines_put (w, "group %s %s", range, mask);
}

static void put_tables (struct lines_out *w, const struct fabric_node *n)
{
    const struct fabric_spread *a = &n->spread;
    const struct spread_entry *e = a->entry;
    uint32_t v[FABRIC_MAX_LID + 1];
    bool others = false;

    lines_put (w, "lft %016" PRIx64 " %u", n->guid, n->lft_top);
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        v[lid] = n->lft[lid] == LFT_NO_ROUTE ? UNLISTED : n->lft[lid];
    put_entries (w, v, n->lft_top, 2);
    if (!e)
        return;
    lines_put (w, "groups %016" PRIx64 " %u", n->guid, a->ngroups);
    for (unsigned int i = 0, end; i < a->ngroups; i = end) {
        for (end = i + 1; end < a->ngroups
                          && memcmp (&a->group[i], &a->group[end],
                                     sizeof (*a->group)) == 0; end++)
            ;
        put_group (w, &a->group[i], i, end - 1);
    }
    for (unsigned int lid = 0; lid <= n->lft_top; lid++)
        v[lid] = e[lid].state == SPREAD_STATIC
                     ? UNLISTED
                     : (uint32_t)e[lid].state << GROUP_BITS | e[lid].group;
    put_entries (w, v, n->lft_top, 4);
    for (unsigned int lid = 0; lid <= n->lft_top; lid++) {
        v[lid] = e[lid].port == n->lft[lid] ? UNLISTED : e[lid].port;
        others |= v[lid] != UNLISTED;
    }
    if (!others)
        return;
    lines_put (w, "static");
    put_entries (w, v, n->lft_top, 2);
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
        write_snapshot_node (&w, f, &f->node[i]);
    for (size_t i = 0; i < f->nlinks; i++) {
        const struct fabric_link *l = &f->link[i];
        const struct fabric_port *b = &f->port[l->b];
        const struct rates rate = fabric_rate (l);

        lines_put (&w, "cable %s %016" PRIx64 "/%u %s", l->id,
                   f->node[b->node].guid, b->num, RATES_SHOWN (&rate));
    }
    for (size_t i = 0; i < f->nnodes; i++)
        if (f->node[i].lft)
            put_tables (&w, &f->node[i]);
    return lines_end (&w, err);
}
